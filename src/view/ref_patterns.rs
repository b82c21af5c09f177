//! Which refs a question is about: the patterns of `git ls-remote`.
//!
//! A pattern matches a name from a slash, or the name's beginning, to its end: `main` is
//! `refs/heads/main` and `refs/remotes/x/main`. `*` and `?` also match slashes, as in git's
//! `wildmatch.c` without `WM_PATHNAME`. A pattern becomes a regular expression, so that no
//! names of a host make matching slow.

use bstr::{BString, ByteSlice as _};
use regex::bytes::{RegexSet, RegexSetBuilder};

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// Patterns of which a name must match one; without any, every name does.
///
/// ```
/// use gitsip::Limits;
/// use gitsip::view::ref_patterns::RefPatterns;
///
/// let patterns = RefPatterns::new(&["v2.*", "main"], &Limits::default())?;
/// assert!(patterns.matches(b"refs/tags/v2.0"));
/// assert!(patterns.matches(b"refs/heads/main"));
/// assert!(!patterns.matches(b"refs/heads/not-main"));
/// # Ok::<(), gitsip::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RefPatterns {
    /// Over names with a slash before them.
    set: Option<RegexSet>,
    prefixes: Vec<BString>,
}

impl RefPatterns {
    /// # Errors
    /// `Usage` for patterns that take more memory than
    /// [`max_regex_bytes`](Limits::max_regex_bytes) when compiled. One that does not parse
    /// matches nothing, as in git.
    pub fn new(patterns: &[impl AsRef<[u8]>], limits: &Limits) -> Result<Self, Error> {
        if patterns.is_empty() {
            return Ok(Self::default());
        }
        let compiled = patterns.iter().filter_map(|pattern| expression(pattern.as_ref()));
        let set = RegexSetBuilder::new(compiled)
            .unicode(false)
            .dot_matches_new_line(true)
            .size_limit(limits.max_regex_bytes)
            .build()
            .map_err(|error| {
                let why = "the patterns of refs are too large; give fewer or shorter ones";
                Error::new(ErrorKind::Usage, why).with_source(error)
            })?;
        let prefixes = patterns.iter().map(|pattern| prefix(pattern.as_ref())).collect();
        let prefixes: Option<Vec<BString>> = prefixes;
        Ok(Self { set: Some(set), prefixes: prefixes.unwrap_or_default() })
    }

    /// Whether `name`, a full one such as `refs/heads/main`, is asked for.
    pub fn matches(&self, name: &[u8]) -> bool {
        self.set.as_ref().is_none_or(|set| set.is_match(&[b"/", name].concat()))
    }

    /// What the names asked for begin with, one of these; empty when they may begin with
    /// anything. A pattern that begins with `refs/` is taken for a whole name here, so that
    /// a host need not list everything for it.
    pub fn prefixes(&self) -> &[BString] {
        &self.prefixes
    }
}

/// Patterns, and which kinds of refs.
#[derive(Clone, Debug, Default)]
pub struct RefChoice {
    /// What names must match.
    pub patterns: RefPatterns,
    /// Branches; together with `tags` both. Without either every kind.
    pub branches: bool,
    /// Tags.
    pub tags: bool,
    /// Only what begins with `refs/`: not `HEAD`, nor `NAME^{}`, which stands for what an
    /// annotated tag points to.
    pub only_refs: bool,
}

impl RefChoice {
    /// What the names asked for begin with, as [`RefPatterns::prefixes`].
    pub fn prefixes(&self) -> Vec<BString> {
        let kinds: Vec<BString> = self.kinds().map(BString::from).collect();
        if kinds.is_empty() { self.patterns.prefixes().to_vec() } else { kinds }
    }

    /// Whether `name` is asked for, which is that of a ref or of one with `^{}` behind it.
    pub fn wants(&self, name: &[u8]) -> bool {
        let is_ref = name.starts_with(b"refs/") && !name.ends_with(PEELED);
        let is_of_kind = !(self.branches || self.tags)
            || self.kinds().any(|prefix| name.starts_with(prefix.as_bytes()));
        (is_ref || !self.only_refs) && is_of_kind && self.patterns.matches(name)
    }

    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let kinds = [(self.branches, "refs/heads/"), (self.tags, "refs/tags/")];
        kinds.into_iter().filter(|(wanted, _)| *wanted).map(|(_, prefix)| prefix)
    }
}

/// What stands behind a tag's name on the line of what it points to.
pub const PEELED: &[u8] = b"^{}";

/// How the names that `pattern` is meant for begin.
fn prefix(pattern: &[u8]) -> Option<BString> {
    let literal = pattern.find_byteset(b"*?[\\").unwrap_or(pattern.len());
    let literal = pattern.get(..literal)?;
    literal.starts_with(b"refs/").then(|| literal.into())
}

/// `pattern` as a regular expression over `/` and the name; `None` for one that matches
/// nothing.
fn expression(pattern: &[u8]) -> Option<String> {
    let mut expression = String::from("^.*/");
    let mut rest = pattern;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'*' => expression.push_str(".*"),
            b'?' => expression.push('.'),
            b'[' => rest = class(&mut expression, after)?,
            b'\\' => {
                let (&escaped, after) = after.split_first()?;
                push_byte(&mut expression, escaped);
                rest = after;
            }
            byte => push_byte(&mut expression, byte),
        }
    }
    expression.push('$');
    Some(expression)
}

/// Appends the class whose text begins behind its bracket; what follows the class.
fn class<'p>(expression: &mut String, text: &'p [u8]) -> Option<&'p [u8]> {
    let (negated, mut rest) = match text.split_first()? {
        (b'!' | b'^', rest) => (true, rest),
        _ => (false, text),
    };
    let mut body = String::new();
    let mut first = true;
    loop {
        let (&byte, after) = rest.split_first()?;
        match byte {
            b']' if !first => {
                rest = after;
                break;
            }
            b'[' if after.starts_with(b":") => {
                let (name, after) = after.get(1..)?.split_once_str(":]")?;
                if !POSIX_CLASSES.iter().any(|class| class.as_bytes() == name) {
                    return None;
                }
                body.push_str(&format!("[:{}:]", name.to_str().ok()?));
                rest = after;
            }
            _ => {
                let (low, after) = class_byte(rest)?;
                let range = match after {
                    [b'-', end, ..] if *end != b']' => Some(class_byte(after.get(1..)?)?),
                    _ => None,
                };
                let (high, after) = range.unwrap_or((low, after));
                if low <= high {
                    body.push_str(&format!("\\x{low:02x}-\\x{high:02x}"));
                }
                rest = after;
            }
        }
        first = false;
    }
    match (negated, body.is_empty()) {
        (false, false) => expression.push_str(&format!("[{body}]")),
        (true, false) => expression.push_str(&format!("[^{body}]")),
        // All of a class may be a range from high to low.
        (false, true) => expression.push_str("[^\\x00-\\xff]"),
        (true, true) => expression.push('.'),
    }
    Some(rest)
}

/// One byte of a class, escaped or not, and what follows it.
fn class_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let (&byte, after) = text.split_first()?;
    if byte != b'\\' {
        return Some((byte, after));
    }
    let (&escaped, after) = after.split_first()?;
    Some((escaped, after))
}

fn push_byte(expression: &mut String, byte: u8) {
    expression.push_str(&format!("\\x{byte:02x}"));
}

const POSIX_CLASSES: [&str; 12] = [
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "xdigit",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> RefPatterns {
        RefPatterns::new(patterns, &Limits::default()).unwrap()
    }

    #[test]
    fn a_pattern_matches_the_tail_of_a_name() {
        for (pattern, matching, others) in [
            ("main", &["refs/heads/main", "main"][..], &["refs/heads/xmain", "main/x"][..]),
            ("heads/main", &["refs/heads/main"], &["refs/tags/main", "refs/xheads/main"]),
            ("*", &["HEAD", "refs/heads/a/b"], &[]),
            ("v?", &["refs/tags/v1", "refs/tags/v/"], &["refs/tags/v", "refs/tags/v12"]),
            ("v[12]", &["refs/tags/v1"], &["refs/tags/v3"]),
            ("v[!1-2]", &["refs/tags/v3"], &["refs/tags/v1"]),
            ("v[]x]", &["v]", "vx"], &["v"]),
            ("v[[:digit:]x-]", &["v1", "vx", "v-"], &["vd"]),
            ("v[[:nope:]]", &[], &["vn", "v:]"]),
            ("v[9-1]", &[], &["v9", "v1", "v-"]),
            ("v[^9-1]", &["v9"], &[]),
            ("v[", &[], &["v["]),
            ("v\\*", &["v*"], &["vx"]),
            ("v\\", &[], &["v", "v\\"]),
            ("{a,b}.c", &["{a,b}.c"], &["a.c"]),
            ("a.c", &["a.c"], &["abc"]),
            ("**/x", &["a/b/x"], &["x"]),
            ("caf?", &["caf\u{7f}"], &["caf\u{e9}"]),
            ("", &["refs/"], &["refs"]),
        ] {
            let patterns = patterns(&[pattern]);
            for name in matching {
                assert!(patterns.matches(name.as_bytes()), "{pattern} matches {name}");
            }
            for name in others {
                assert!(!patterns.matches(name.as_bytes()), "{pattern} does not match {name}");
            }
        }
    }

    #[test]
    fn prefixes_are_told_when_every_pattern_has_one() {
        assert_eq!(patterns(&["refs/tags/v2.*", "refs/x"]).prefixes(), ["refs/tags/v2.", "refs/x"]);
        assert_eq!(patterns(&["refs/tags/v2.*", "main"]).prefixes(), [""; 0]);
        assert_eq!(patterns(&["ref*"]).prefixes(), [""; 0]);
        assert!(RefPatterns::default().matches(b"anything"));
    }

    #[test]
    fn patterns_without_end_are_refused() {
        let limits = Limits { max_regex_bytes: 10_000, ..Limits::default() };
        let error = RefPatterns::new(&["?".repeat(100_000)], &limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
