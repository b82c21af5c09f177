//! The rank table and the rules that hang on it.

use std::collections::BTreeSet;

use super::walk::{Facts, PathUse, facts};

/// A source file of the crate.
#[derive(Debug)]
pub(crate) struct Source {
    /// Below `src/`, with forward slashes.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// Where a rule is broken, and how. Ordered by place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Breach {
    /// Below `src/`.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    /// One line that says what to do instead.
    pub(crate) what: String,
}

/// Module and rank; the longest match counts. The same table as in `ARCHITECTURE.md`.
const RANKS: &[(&str, u8)] = &[
    ("error", 0),
    ("limits", 0),
    ("oid", 0),
    ("text", 0),
    ("commit_graph", 1),
    ("object", 1),
    ("pack", 1),
    ("pktline", 1),
    ("protocol", 2),
    ("store", 2),
    ("graph", 3),
    ("view", 3),
    ("client", 4),
    ("server", 4),
    ("agent", 5),
    ("cache", 6),
    ("cli", 6),
    ("credentials", 6),
    ("disk", 6),
    ("live", 6),
    ("mcp", 6),
    ("parallel", 6),
    ("server::http", 6),
    ("server::stdio", 6),
    ("transport", 6),
];

/// Imports between top modules of one rank, each allowed by name: the user first.
/// Ranks 0 and 6 are not listed: the first is one vocabulary, and the last is checked by
/// [`FACES`].
const SIDEWAYS: &[(&str, &str)] =
    &[("pack", "object"), ("commit_graph", "pack"), ("protocol", "store")];

/// Top modules that nothing imports but the binary, and the command line, which starts the
/// others.
const FACES: &[&str] = &["cli", "mcp"];

/// What the ranks below the faces may not name, because the caller brings it in.
const WORLD: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "axum",
    "clap",
    "indicatif",
    "memmap2",
    "rayon_core",
    "reqwest",
    "rmcp",
    "rustls",
    "serde_json",
    "tokio",
    "tower_http",
];

/// The lowest rank of faces, which touch the world.
const FIRST_FACE: u8 = 6;
/// The lowest rank that awaits.
const FIRST_ASYNC: u8 = 5;
/// The one file below [`FIRST_ASYNC`] that names futures, in a trait's signatures.
const ASYNC_TRAIT: &str = "client/transport.rs";
/// The one file with `unsafe` code and code for one architecture.
const UNSAFE_FILE: &str = "disk/map.rs";
/// The zlib crates, each with the one file that names it: git's streams are one matter, the
/// gzip of HTTP bodies is another.
const ZLIB: &[(&str, &str)] = &[
    ("flate2", "transport/gzip.rs"),
    ("libdeflater", "pack/inflate.rs"),
    ("miniz_oxide", "pack/inflate.rs"),
    ("sirocco", "pack/inflate.rs"),
    ("zlib_rs", "pack/inflate.rs"),
];
/// The one file below the faces that names `tracing`.
const TRACES: &str = "agent/trace.rs";
/// Where the format is that every face reads and writes: questions, results, and the one
/// type for the results of any question.
const FORMAT: &[&str] = &["agent/ask/any.rs", "agent/query", "agent/results"];

/// Every breach in `sources`, which are all files of the crate.
pub(crate) fn breaches(sources: &[Source]) -> Vec<Breach> {
    let facts: Vec<Facts> = sources.iter().map(|source| facts(&source.text)).collect();
    let krate = Crate::of(sources, &facts);
    let mut found = Vec::new();
    for (source, facts) in sources.iter().zip(&facts) {
        let module = module_of(&source.path);
        if krate.is_for_tests(&module) {
            continue;
        }
        let mut file = File { krate: &krate, source, module, found: &mut found };
        file.check(facts);
    }
    found.sort();
    found.dedup();
    found
}

/// What is known of the crate as a whole.
struct Crate {
    modules: BTreeSet<Vec<String>>,
    test_modules: BTreeSet<Vec<String>>,
    /// What `lib.rs` brings to the root: the name and the path it stands for.
    root: Vec<(String, Vec<String>)>,
}

impl Crate {
    fn of(sources: &[Source], facts: &[Facts]) -> Self {
        let mut krate =
            Self { modules: BTreeSet::new(), test_modules: BTreeSet::new(), root: Vec::new() };
        for (source, facts) in sources.iter().zip(facts) {
            let module = module_of(&source.path);
            for name in &facts.test_modules {
                krate.test_modules.insert([&module[..], std::slice::from_ref(name)].concat());
            }
            if source.path == "lib.rs" {
                krate.root.clone_from(&facts.imports);
            }
            krate.modules.insert(module);
        }
        krate
    }

    fn is_for_tests(&self, module: &[String]) -> bool {
        (1..=module.len()).any(|length| self.test_modules.contains(&module[..length]))
    }

    /// The path below the crate that a path used in `module` means, if it means one.
    fn resolve(&self, module: &[String], used: &PathUse) -> Option<Vec<String>> {
        let mut here = [module, &used.inside[..]].concat();
        let mut rest = &used.segments[..];
        match rest.first()?.as_str() {
            "crate" => {
                here.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    here.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                here.push(child.to_owned());
                let known = used.segments.len() > 1 || used.imported;
                return (known && self.modules.contains(&here))
                    .then(|| [&here[..], &rest[1..]].concat());
            }
        }
        let full = [&here[..], rest].concat();
        // A name of the root that is no module of its own was brought there by lib.rs.
        match full.first() {
            Some(name) if !self.modules.contains(&full[..1]) => {
                let brought = self.root.iter().find(|(n, _)| n == name);
                brought.map(|(_, path)| [&path[..], &full[1..]].concat())
            }
            Some(_) => Some(full),
            None => None,
        }
    }
}

struct File<'a> {
    krate: &'a Crate,
    source: &'a Source,
    module: Vec<String>,
    found: &'a mut Vec<Breach>,
}

impl File<'_> {
    fn check(&mut self, facts: &Facts) {
        if !self.source.text.starts_with("//!") {
            self.breach(1, "a file opens with //! that says what it is");
        }
        for line in &facts.cfg_in_function {
            self.breach(*line, "no cfg inside a function: put the variants into files");
        }
        for (line, words) in &facts.derives {
            let serializes = |w: &String| matches!(w.as_str(), "Serialize" | "Deserialize");
            let is_format = FORMAT.iter().any(|path| self.source.path.starts_with(path));
            if words.iter().any(serializes) && !is_format {
                self.breach(*line, "only questions and results of agent are JSON");
            }
        }
        let Some(rank) = self.rank_of_file() else {
            return self.breach(1, "the module has no rank: put it into the table");
        };
        for used in &facts.paths {
            self.check_words(rank, used);
            self.check_tracing(rank, used);
            if let Some(path) = self.krate.resolve(&self.module, used) {
                self.check_import(rank, used.line, &path);
            }
        }
    }

    fn check_words(&mut self, rank: u8, used: &PathUse) {
        let path = used.segments.join("::");
        let first = used.segments[0].as_str();
        let crate_named = used.segments.len() > 1 || used.imported;
        let is_below = |name: &str| {
            let rest = path.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if rank < FIRST_FACE && crate_named {
            let named = WORLD.iter().any(|name| is_below(name));
            if named || matches!(path.as_str(), "std::time::*" | "std::*") {
                self.breach(
                    used.line,
                    format!("{path} is not for rank {rank}: take it as an argument"),
                );
            }
        }
        if rank < FIRST_FACE && used.segments.iter().any(|s| s == "Instant" || s == "SystemTime") {
            self.breach(
                used.line,
                format!("rank {rank} has no clock: take the time as an argument"),
            );
        }
        let awaits = |word: &String| matches!(word.as_str(), "async" | "await" | "Future");
        let in_trait = self.source.path == ASYNC_TRAIT;
        if rank < FIRST_ASYNC && !in_trait && used.segments.iter().any(awaits) {
            self.breach(used.line, format!("rank {rank} has no async: return what is missing"));
        }
        if matches!(first, "unsafe" | "target_arch" | "target_family")
            && self.source.path != UNSAFE_FILE
        {
            self.breach(used.line, format!("{first} is for {UNSAFE_FILE} only"));
        }
        if let Some((_, file)) = ZLIB.iter().find(|(name, _)| crate_named && *name == first)
            && self.source.path != *file
        {
            self.breach(used.line, format!("{first} is named in {file} only"));
        }
    }

    /// Spans and events have stable names, so they are made in one place. `Instrument`
    /// carries them over an await.
    fn check_tracing(&mut self, rank: u8, used: &PathUse) {
        let carries = rank == FIRST_ASYNC && used.segments.iter().any(|s| s == "Instrument");
        if rank < FIRST_FACE
            && used.segments[0] == "tracing"
            && self.source.path != TRACES
            && !carries
        {
            self.breach(used.line, format!("tracing is named in {TRACES} only"));
        }
    }

    fn check_import(&mut self, rank: u8, line: usize, path: &[String]) {
        let (Some(top), Some(other_rank)) = (path.first(), rank_of(path)) else { return };
        let own = self.module.first().map_or("", String::as_str);
        let shown = path.join("::");
        if other_rank > rank {
            self.breach(line, format!("rank {rank} imports {shown} of rank {other_rank}"));
        } else if FACES.contains(&top.as_str()) && !["cli", top].contains(&own) && !self.is_root() {
            self.breach(line, format!("{shown} is a face: nothing imports it"));
        } else if other_rank == rank && own != top && !may_go_sideways(rank, own, top) {
            self.breach(line, format!("{own} imports {shown} of its own rank {rank}"));
        }
    }

    /// The crate's roots stand above all ranks.
    fn rank_of_file(&self) -> Option<u8> {
        if self.is_root() { Some(u8::MAX) } else { rank_of(&self.module) }
    }

    fn is_root(&self) -> bool {
        matches!(self.source.path.as_str(), "lib.rs" | "main.rs")
    }

    fn breach(&mut self, line: usize, what: impl Into<String>) {
        self.found.push(Breach { path: self.source.path.clone(), line, what: what.into() });
    }
}

fn may_go_sideways(rank: u8, from: &str, to: &str) -> bool {
    matches!(rank, 0 | FIRST_FACE..) || SIDEWAYS.contains(&(from, to))
}

fn rank_of(path: &[String]) -> Option<u8> {
    let path = path.join("::");
    let is_inside = |module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let matching = RANKS.iter().filter(|(module, _)| is_inside(module));
    matching.max_by_key(|(module, _)| module.len()).map(|(_, rank)| *rank)
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`; the roots are the empty one.
fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") {
        return Vec::new();
    }
    path.split('/').map(str::to_owned).collect()
}
