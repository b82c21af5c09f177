//! Which paths a question is about: glob patterns and prefixes.
//!
//! Patterns are those of ripgrep's `-g`, that is gitignore's: `*` and `?` stay within
//! one name, `**` crosses folders, a pattern without a slash in it means that name at any
//! depth, a leading `/` anchors it at the root, `!` excludes, and the last pattern that
//! matches decides. One addition: a trailing slash means everything below that folder.
//! Nothing here reads a tree.

use bstr::{BString, ByteSlice as _};
use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::ViewError;
use super::likely::Turn;
use super::path::normalise;
use crate::limits::Limits;

/// Globs and prefixes that a path must agree with; the default agrees with every path.
///
/// ```
/// use gitsip::Limits;
/// use gitsip::view::glob::PathFilter;
///
/// let filter = PathFilter::new(&["*.rs", "!*_test.rs"], &["src"], &Limits::default())?;
/// assert!(filter.matches(b"src/store/mod.rs"));
/// assert!(!filter.matches(b"src/store/mod_test.rs"));
/// assert!(!filter.matches(b"build.rs"));
/// assert!(!filter.may_contain(b"docs"));
/// # Ok::<(), gitsip::view::ViewError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathFilter {
    /// Sorted, none below another; empty when every path will do.
    prefixes: Vec<BString>,
    globs: Option<Globs>,
    /// What the names of files must agree with beside that.
    names: Option<Globs>,
    /// Only files of this turn.
    turn: Option<Turn>,
}

#[derive(Clone, Debug)]
struct Globs {
    set: GlobSet,
    /// One for each pattern of the set.
    rules: Vec<Rule>,
    has_includes: bool,
    /// Folders outside of which no including pattern can match; empty when there is no
    /// such bound.
    roots: Vec<BString>,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    excludes: bool,
    only_folders: bool,
}

/// Where a path stands to a filter's prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// It leads to a prefix.
    Above,
    /// It is a prefix.
    At,
    /// It is below one.
    Below,
    /// None of these.
    Outside,
}

impl PathFilter {
    /// A filter of `globs`, later ones winning over earlier ones, and `prefixes`, of
    /// which a path must be below or equal to at least one if there are any.
    ///
    /// # Errors
    /// [`ViewError::BadGlob`] for a pattern that does not parse, [`ViewError::BadPath`]
    /// for a prefix that is no path.
    pub fn new(
        globs: &[impl AsRef<str>],
        prefixes: &[impl AsRef<[u8]>],
        limits: &Limits,
    ) -> Result<Self, ViewError> {
        let globs = if globs.is_empty() { None } else { Some(Globs::new(globs)?) };
        let mut sorted: Vec<BString> = prefixes
            .iter()
            .map(|prefix| normalise(prefix.as_ref(), limits))
            .collect::<Result<_, _>>()?;
        sorted.sort_unstable();
        Ok(Self { prefixes: outermost(sorted), globs, names: None, turn: None })
    }

    /// The same for files only whose names agree with `names` too, which are globs without
    /// a slash: `*.rs`, `Makefile`, and with `!` those to leave out. Folders may have any
    /// name.
    ///
    /// # Errors
    /// [`ViewError::BadGlob`] for a pattern that does not parse.
    pub fn with_names(mut self, names: &[impl AsRef<str>]) -> Result<Self, ViewError> {
        self.names = if names.is_empty() { None } else { Some(Globs::new(names)?) };
        Ok(self)
    }

    /// The same for files of that turn only.
    #[must_use]
    pub fn in_turn(self, turn: Turn) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// Whether every path agrees with it.
    pub fn is_unrestricted(&self) -> bool {
        let Self { prefixes, globs, names, turn } = self;
        globs.is_none() && names.is_none() && turn.is_none() && prefixes.is_empty()
    }

    /// Whether the file `path` is asked for. An excluded folder excludes what is below it.
    pub fn matches(&self, path: &[u8]) -> bool {
        let mut folders = path.find_iter("/").map(|end| &path[..end]);
        self.is_inside(path)
            && folders.all(|folder| !self.excludes_folder(folder))
            && self.keeps(path)
    }

    /// Whether a path below the folder `folder` may be asked for, so that its tree is
    /// worth reading.
    pub fn may_contain(&self, folder: &[u8]) -> bool {
        let mut parents = folder.find_iter("/").map(|end| &folder[..end]).chain([folder]);
        self.position(folder) != Position::Outside && parents.all(|folder| self.may_enter(folder))
    }

    /// Whether `path` is below or equal to a prefix.
    pub(super) fn is_inside(&self, path: &[u8]) -> bool {
        matches!(self.position(path), Position::At | Position::Below)
    }

    /// Whether the globs let anything below `folder` through, given that they let
    /// `folder` itself be entered from its parents.
    pub(super) fn may_enter(&self, folder: &[u8]) -> bool {
        let Some(globs) = &self.globs else { return true };
        position(&globs.roots, folder) != Position::Outside && !self.excludes_folder(folder)
    }

    /// Whether the globs keep the file `path`, given that they keep its folder.
    pub(super) fn keeps(&self, path: &[u8]) -> bool {
        self.turn.is_none_or(|turn| turn == Turn::of(path))
            && [&self.globs, &self.names]
                .into_iter()
                .flatten()
                .all(|globs| globs.decide(path, false).unwrap_or(!globs.has_includes))
    }

    /// Whether the globs keep the folder `path` itself as a result.
    pub(super) fn keeps_folder(&self, path: &[u8]) -> bool {
        self.globs
            .as_ref()
            .is_none_or(|globs| globs.decide(path, true).unwrap_or(!globs.has_includes))
    }

    fn excludes_folder(&self, folder: &[u8]) -> bool {
        self.globs.as_ref().is_some_and(|globs| {
            globs.rules.iter().any(|rule| rule.excludes)
                && globs.decide(folder, true) == Some(false)
        })
    }

    /// Where `path` stands to the prefixes.
    pub(super) fn position(&self, path: &[u8]) -> Position {
        position(&self.prefixes, path)
    }

    /// Whether only some folders can hold what is asked for.
    pub(super) fn narrows_folders(&self) -> bool {
        !self.prefixes.is_empty() || self.globs.as_ref().is_some_and(|it| !it.roots.is_empty())
    }

    /// Whether there are globs of paths, so that it matters where a folder stands.
    pub(super) fn has_globs(&self) -> bool {
        self.globs.is_some()
    }
}

fn position(prefixes: &[BString], path: &[u8]) -> Position {
    if prefixes.is_empty() {
        return Position::Below;
    }
    let mut best = Position::Outside;
    for prefix in prefixes {
        if path == prefix.as_slice() {
            return Position::At;
        }
        if is_below(path, prefix) {
            return Position::Below;
        }
        if is_below(prefix, path) {
            best = Position::Above;
        }
    }
    best
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

/// The sorted `paths` without those below another; none at all when one is the root.
fn outermost(paths: Vec<BString>) -> Vec<BString> {
    let mut kept: Vec<BString> = Vec::new();
    if paths.first().is_some_and(|path| path.is_empty()) {
        return kept;
    }
    for path in paths {
        // `a`, `a.b`, `a/c` is the order of bytes: the last kept one is not enough.
        if !kept.iter().any(|outer| path == *outer || is_below(&path, outer)) {
            kept.push(path);
        }
    }
    kept
}

impl Globs {
    fn new(patterns: &[impl AsRef<str>]) -> Result<Self, ViewError> {
        let mut set = GlobSetBuilder::new();
        let mut rules = Vec::new();
        let mut roots = Some(Vec::new());
        for pattern in patterns {
            let written = pattern.as_ref();
            let bad = |what: &dyn std::fmt::Display| ViewError::BadGlob {
                pattern: written.into(),
                what: what.to_string(),
            };
            let (glob, rule) = translate(written);
            if glob.is_empty() {
                return Err(bad(&"it is empty"));
            }
            let parsed = GlobBuilder::new(&glob).literal_separator(true).build();
            set.add(parsed.map_err(|error| bad(error.kind()))?);
            if !rule.excludes {
                match (literal_folder(&glob), &mut roots) {
                    (Some(root), Some(roots)) => roots.push(root),
                    _ => roots = None,
                }
            }
            rules.push(rule);
        }
        let set = set.build().map_err(|error| ViewError::BadGlob {
            pattern: error.glob().unwrap_or_default().into(),
            what: error.kind().to_string(),
        })?;
        let has_includes = rules.iter().any(|rule| !rule.excludes);
        let mut roots = roots.unwrap_or_default();
        roots.sort_unstable();
        Ok(Self { set, rules, has_includes, roots: outermost(roots) })
    }

    /// Whether the last pattern that matches includes or excludes `path`.
    fn decide(&self, path: &[u8], is_folder: bool) -> Option<bool> {
        self.set
            .matches_candidate(&Candidate::from_bytes(path))
            .into_iter()
            .rev()
            .filter_map(|at| self.rules.get(at))
            .find(|rule| is_folder || !rule.only_folders)
            .map(|rule| !rule.excludes)
    }
}

/// gitignore's reading of one pattern as a glob over whole paths.
fn translate(written: &str) -> (String, Rule) {
    let (excludes, pattern) = match written.strip_prefix('!') {
        Some(pattern) => (true, pattern),
        None => (false, written),
    };
    let (below, pattern) = match pattern.strip_suffix('/') {
        Some(pattern) => (true, pattern),
        None => (false, pattern),
    };
    let mut glob = match pattern.strip_prefix('/') {
        Some(anchored) => anchored.to_owned(),
        None if pattern.contains('/') || pattern.is_empty() => pattern.to_owned(),
        None => format!("**/{pattern}"),
    };
    if below && !excludes && !glob.is_empty() {
        glob.push_str("/**");
    }
    if glob.ends_with("/**") {
        // What is in the folder, not the folder.
        glob.push_str("/*");
    }
    (glob, Rule { excludes, only_folders: below && excludes })
}

/// The folder that every match of `glob` is in, as far as it is written without
/// wildcards.
fn literal_folder(glob: &str) -> Option<BString> {
    let wild = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    let end = glob.get(..wild)?.rfind('/')?;
    Some(glob.get(..end)?.into())
}

#[cfg(test)]
mod tests;
