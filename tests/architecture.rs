//! The rank table holds: imports go down only, and each rank names only what it may.
//!
//! What is compiled for tests only is left out: a test may open files, and may reach
//! upwards for an oracle. `ARCHITECTURE.md` says what the ranks are for.

#![allow(clippy::unwrap_used)]

#[path = "architecture/lexer.rs"]
mod lexer;
#[path = "architecture/rules.rs"]
mod rules;
#[path = "architecture/walk.rs"]
mod walk;

use std::path::Path;

use rules::{Source, breaches};

#[test]
fn the_crate_keeps_its_rules() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    read_sources(&src, &src, &mut sources);
    assert!(sources.iter().any(|source| source.path == "pack/ingest.rs"));

    let found = breaches(&sources);
    let lines = found.iter().map(|b| format!("src/{}:{}: {}\n", b.path, b.line, b.what));
    assert!(found.is_empty(), "\n{}", lines.collect::<String>());
}

#[test]
fn an_import_that_goes_down_is_fine() {
    assert_eq!(found("view/path.rs", "use crate::store::Lookup;"), [""; 0]);
    assert_eq!(found("agent/drive.rs", "use crate::{client, view::walk};"), [""; 0]);
    assert_eq!(found("client/lazy.rs", "use crate::client::transport::Request;"), [""; 0]);
    assert_eq!(found("client/lazy.rs", "use super::transport::Request;"), [""; 0]);
    assert_eq!(
        found("pack/entry.rs", "use crate::Error; fn f(_: crate::object::Kind) {}"),
        [""; 0]
    );
    assert_eq!(found("cli/grep.rs", "use crate::disk::Repository; use std::fs;"), [""; 0]);
    assert_eq!(found("error.rs", "use crate::limits::LimitExceeded;"), [""; 0]);
}

#[test]
fn an_import_that_goes_up_is_found() {
    let up = ["2: rank 2 imports view::read of rank 3"];
    assert_eq!(found("store/memory.rs", "use crate::view::read;"), up);
    assert_eq!(found("store/memory.rs", "use crate::{oid, view::{read}};"), up);
    assert_eq!(found("store/memory.rs", "fn f() { crate::view::read(); }"), up);
    assert_eq!(found("store/memory.rs", "fn f() { super::super::view::read(); }"), up);
    assert_eq!(found("store/mod.rs", "pub(crate) use super::view::read as other;"), up);
    let inside = "mod inner { fn f(_: super::super::super::view::read) {} }";
    assert_eq!(found("store/memory.rs", inside), up);
    assert_eq!(
        found("limits.rs", "use crate::Snapshot;"),
        ["2: rank 0 imports agent::Snapshot of rank 5"],
        "through a name that lib.rs exports"
    );
    assert_eq!(
        found("server/upload_pack.rs", "fn f() { crate::server::http::serve(); }"),
        ["2: rank 4 imports server::http::serve of rank 6"]
    );
    assert_eq!(
        found("server/mod.rs", "pub use http::serve;"),
        ["2: rank 4 imports server::http::serve of rank 6"]
    );
}

#[test]
fn client_and_server_never_meet() {
    assert_eq!(
        found("client/fetch.rs", "use crate::server::Select;"),
        ["2: client imports server::Select of its own rank 4"]
    );
    assert_eq!(
        found("server/select.rs", "use super::super::client as other;"),
        ["2: server imports client of its own rank 4"]
    );
    assert_eq!(
        found("graph/ancestry.rs", "use crate::view::walk;"),
        ["2: graph imports view::walk of its own rank 3"]
    );
}

#[test]
fn nothing_imports_a_face() {
    assert_eq!(
        found("disk/refs.rs", "use crate::cli::Arguments;"),
        ["2: cli::Arguments is a face: nothing imports it"]
    );
    let breach = ["2: mcp::serve is a face: nothing imports it"];
    assert_eq!(found("disk/refs.rs", "use crate::mcp::serve;"), breach);
    assert_eq!(found("cli/mcp.rs", "use crate::mcp::serve;"), [""; 0], "the command starts it");
}

#[test]
fn a_module_without_a_rank_is_found() {
    assert_eq!(found("helpers/mod.rs", ""), ["1: the module has no rank: put it into the table"]);
}

#[test]
fn the_world_is_kept_out_of_the_lower_ranks() {
    let world = [
        ("use std::thread;", "std::thread"),
        ("use std::{fmt, net::TcpStream};", "std::net::TcpStream"),
        ("fn f() { ::std::fs::read(x); }", "std::fs::read"),
        ("use std::process as p;", "std::process"),
        ("use std::time::*;", "std::time::*"),
        ("fn f() { std::env::var(x); }", "std::env::var"),
        ("fn f() { tokio::spawn(x); }", "tokio::spawn"),
        ("use tokio as runtime;", "tokio"),
        ("fn f(_: Option<reqwest::Client>) {}", "reqwest::Client"),
    ];
    for (source, name) in world {
        let expected = format!("2: {name} is not for rank 5: take it as an argument");
        assert_eq!(found("agent/drive.rs", source), [expected], "{source}");
        assert_eq!(found("transport/http.rs", source), [""; 0], "{source}");
    }
    let clock = ["2: rank 3 has no clock: take the time as an argument"];
    assert_eq!(found("view/grep.rs", "fn f() { time::Instant::now(); }"), clock);
    assert_eq!(found("view/grep.rs", "fn f(at: SystemTime) {}"), clock);
    assert_eq!(found("view/grep.rs", "use std::time::Duration;"), [""; 0]);
    assert_eq!(found("view/grep.rs", "fn f() { env!(NAME); self.env.thread.fs(); }"), [""; 0]);
}

#[test]
fn async_begins_at_the_driver() {
    let breach = ["2: rank 4 has no async: return what is missing"];
    assert_eq!(found("client/fetch.rs", "async fn f() {}"), breach);
    assert_eq!(found("client/fetch.rs", "fn f() { g().await; }"), breach);
    assert_eq!(found("client/fetch.rs", "fn f() -> impl Future<Output = ()> {}"), breach);
    assert_eq!(found("client/transport.rs", "fn f() -> impl Future<Output = ()>;"), [""; 0]);
    assert_eq!(found("agent/drive.rs", "async fn f() { g().await; }"), [""; 0]);
}

#[test]
fn unsafe_and_architectures_are_for_the_memory_map() {
    let sources = [
        ("fn f() { unsafe { g() } }", "unsafe"),
        ("unsafe impl Send for X {}", "unsafe"),
        ("#[cfg(target_arch = \"wasm32\")] fn f() {}", "target_arch"),
        ("#[cfg(all(unix, not(target_family = \"wasm\")))] fn f() {}", "target_family"),
    ];
    for (source, name) in sources {
        let expected = format!("2: {name} is for disk/map.rs only");
        assert_eq!(found("disk/packs.rs", source), [expected.as_str()], "{source}");
        assert_eq!(found("pack/entry.rs", source), [expected.as_str()], "{source}");
        assert_eq!(found("disk/map.rs", source), [""; 0], "{source}");
    }
}

#[test]
fn one_file_names_each_zlib_crate() {
    let breach = ["2: sirocco is named in pack/inflate.rs only"];
    assert_eq!(found("pack/write.rs", "use sirocco::Inflate;"), breach);
    assert_eq!(found("disk/loose.rs", "fn f() { sirocco::inflate(); }"), breach);
    assert_eq!(found("pack/inflate.rs", "use sirocco::Inflate;"), [""; 0]);
    let breach = ["2: flate2 is named in transport/gzip.rs only"];
    assert_eq!(found("pack/inflate.rs", "use flate2::Compression;"), breach);
    assert_eq!(found("transport/gzip.rs", "use flate2::Compression;"), [""; 0]);
}

#[test]
fn one_file_below_the_faces_traces() {
    let breach = ["2: tracing is named in agent/trace.rs only"];
    assert_eq!(found("client/lazy.rs", "use tracing::event;"), breach);
    assert_eq!(found("client/lazy.rs", "use tracing::Instrument as _;"), breach);
    assert_eq!(found("agent/drive.rs", "fn f() { tracing::info!(x); }"), breach);
    assert_eq!(found("agent/drive.rs", "use tracing::Instrument as _;"), [""; 0]);
    assert_eq!(found("agent/trace.rs", "use tracing::event;"), [""; 0]);
    assert_eq!(found("cli/verbose.rs", "use tracing::Subscriber;"), [""; 0]);
}

#[test]
fn cfg_stays_outside_of_functions() {
    let breach = ["2: no cfg inside a function: put the variants into files"];
    assert_eq!(found("limits.rs", "fn f() { #[cfg(unix)] g(); }"), breach);
    assert_eq!(found("limits.rs", "fn f() { if x { if cfg!(unix) {} } }"), breach);
    assert_eq!(
        found("limits.rs", "impl X { fn f(&self) -> [u8; 2] { #[cfg(test)] g(); } }"),
        breach
    );
    assert_eq!(
        found("limits.rs", "#[cfg(unix)] fn f() {} impl X { #[cfg(unix)] fn g() {} }"),
        [""; 0]
    );
    assert_eq!(found("limits.rs", "fn f() {} mod m { #[cfg(unix)] fn g(); }"), [""; 0]);
}

#[test]
fn only_results_are_serialized() {
    let breach = ["2: only questions and results of agent are JSON"];
    let plain = "#[derive(Clone, Serialize)] struct X;";
    let guarded = "#[cfg_attr(feature = \"serde\", derive(serde::Serialize))] struct X;";
    assert_eq!(found("oid.rs", plain), breach);
    assert_eq!(found("cli/grep.rs", plain), breach);
    assert_eq!(found("agent/results.rs", plain), [""; 0]);
    assert_eq!(found("agent/results/hit.rs", plain), [""; 0]);
    assert_eq!(found("agent/query.rs", plain), [""; 0]);
    assert_eq!(found("agent/cursor.rs", plain), breach);
    assert_eq!(found("oid.rs", guarded), breach);
    assert_eq!(found("agent/results.rs", guarded), [""; 0]);
}

#[test]
fn a_file_says_what_it_is() {
    let source = Source { path: "oid.rs".into(), text: "// no\n".into() };
    let what: Vec<_> = breaches(&[source]).into_iter().map(|breach| breach.what).collect();
    assert_eq!(what, ["a file opens with //! that says what it is"]);
}

#[test]
fn what_is_said_in_comments_strings_and_tests_is_not_done() {
    let innocent = r####"
        /// `use crate::view::read;` and ``unsafe`` and std::fs.
        /* std::thread /* nested */ async */
        fn f<'unsafe_life>(x: &'unsafe_life str) -> char {
            g("std::fs \" unsafe", r#"use "crate::view" async"#, b"unsafe", br"async", c"unsafe");
            ('"', '\'', b'"', '\u{22}', 'é', r#type, 1_000u64, 0..2);
            '{'
        }
        #[cfg(test)]
        use std::{fs, thread};
        #[cfg(test)]
        #[allow(x)]
        mod tests {
            use crate::view::read;
            fn f() { unsafe { std::fs::read(async) } }
        }
        #[cfg(test)]
        fn oracle() -> [u8; 2] { unsafe {} }
    "####;
    assert_eq!(found("pack/entry.rs", innocent), [""; 0]);
    let guilty = format!("{innocent} fn g() {{ unsafe {{}} }}");
    assert_eq!(found("pack/entry.rs", &guilty), ["20: unsafe is for disk/map.rs only"]);
}

#[test]
fn a_file_that_is_for_tests_only_is_left_out() {
    let sources = [
        source("pack/mod.rs", "#[cfg(test)] mod builder; mod entry;"),
        source("pack/builder.rs", "use std::fs;"),
        source("pack/builder/more.rs", "use std::fs;"),
        source("pack/entry.rs", "use std::fs;"),
    ];
    let paths: Vec<_> = breaches(&sources).into_iter().map(|breach| breach.path).collect();
    assert_eq!(paths, ["pack/entry.rs"]);
}

/// The breaches of a small crate in which the file `path` holds `text` from line 2 on,
/// as `line: what`.
fn found(path: &str, text: &str) -> Vec<String> {
    let modules =
        ["object", "oid", "limits", "error", "store", "view", "client", "server", "cli", "mcp"];
    let mut sources: Vec<Source> = modules.map(|name| source(&format!("{name}/mod.rs"), "")).into();
    sources.push(source("server/http.rs", ""));
    sources.push(source("agent/mod.rs", ""));
    sources.push(source("disk/mod.rs", ""));
    sources.push(source("lib.rs", "pub use error::Error; pub use agent::{Repo, Snapshot};"));
    sources.retain(|source| source.path != path);
    sources.push(source(path, text));
    let of_file = breaches(&sources).into_iter().filter(|breach| breach.path == path);
    of_file.map(|breach| format!("{}: {}", breach.line, breach.what)).collect()
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: format!("//! What it is.\n{text}") }
}

fn read_sources(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(root, &path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            sources.push(Source { path: name, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
}
