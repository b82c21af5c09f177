//! The file `packed-refs`.
//!
//! Follows git's `refs/packed-backend.c`: an optional header line with traits, then
//! `<id> SP <name> LF`, each perhaps followed by `^<id> LF`, what the tag comes to. The
//! header's `sorted` is not believed: the order is checked and made.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};

use super::files::{malformed, read_small};
use super::ref_name::is_ref_name;
use super::refs::Peeled;
use crate::limits::{Budget, Limits, Reservation, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::StoreError;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PackedRef {
    pub(super) name: BString,
    pub(super) id: ObjectId,
    pub(super) peeled: Peeled,
}

/// The whole file, sorted by name.
#[derive(Debug)]
pub(super) struct PackedRefs {
    refs: Vec<PackedRef>,
    _paid: Reservation,
}

impl PackedRefs {
    /// What the file at `path` holds: nothing when there is none.
    pub(super) fn read(
        path: &Path,
        format: ObjectFormat,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        // The file and the names in it exist together; no line is shorter than an id.
        let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = bytes.min(limits.max_ref_bytes);
        let lines = bytes / format.hex_len() as u64;
        let paid = budget.reserve(2 * bytes + lines * size_of::<PackedRef>() as u64)?;
        let bytes = read_small(path, limits.max_ref_bytes)?.unwrap_or_default();
        let refs = parse(&bytes, format, limits.max_refs).map_err(|error| match error {
            Refused::Line(number) => malformed(path, format!("line {number} is no ref")),
            Refused::Cut => malformed(path, "its last line has no line end: it may be cut off"),
            Refused::Limit(limit) => limit.into(),
        })?;
        Ok(Self { refs, _paid: paid })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PackedRef> {
        self.refs.iter()
    }

    pub(super) fn find(&self, name: &BStr) -> Option<&PackedRef> {
        let at = self.refs.binary_search_by(|one| one.name.as_bstr().cmp(name)).ok()?;
        self.refs.get(at)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Refused {
    Line(usize),
    Cut,
    Limit(crate::limits::LimitExceeded),
}

fn parse(bytes: &[u8], format: ObjectFormat, max_refs: u64) -> Result<Vec<PackedRef>, Refused> {
    let Some(body) = bytes.strip_suffix(b"\n") else {
        return if bytes.is_empty() { Ok(Vec::new()) } else { Err(Refused::Cut) };
    };
    let mut refs: Vec<PackedRef> = Vec::new();
    let mut traits = Traits::default();
    let mut tag_may_follow = false;
    for (number, line) in (1..).zip(body.split(|&byte| byte == b'\n')) {
        let refused = Refused::Line(number);
        if let Some(header) = line.strip_prefix(b"#") {
            if number == 1 {
                traits = Traits::parse(header);
            }
            continue;
        }
        if let Some(hex) = line.strip_prefix(b"^") {
            let id = id_of(hex, format).ok_or(Refused::Line(number))?;
            if !std::mem::take(&mut tag_may_follow) {
                return Err(refused);
            }
            if let Some(last) = refs.last_mut() {
                last.peeled = Peeled::To(id);
            }
            continue;
        }
        let (hex, rest) = line.split_at_checked(format.hex_len()).ok_or(Refused::Line(number))?;
        let id = id_of(hex, format).ok_or(Refused::Line(number))?;
        let name = rest.strip_prefix(b" ").ok_or(refused)?;
        tag_may_follow = true;
        check(Which::Refs, max_refs, refs.len() as u64 + 1).map_err(Refused::Limit)?;
        refs.push(PackedRef { name: name.into(), id, peeled: traits.without_a_line(name) });
    }
    // Names that are none are kept until here, so that a tag's line has its ref.
    refs.retain(|one| is_ref_name(&one.name));
    if !refs.is_sorted_by(|a, b| a.name < b.name) {
        refs.sort_by(|a, b| a.name.cmp(&b.name));
        refs.dedup_by(|later, first| later.name == first.name);
    }
    Ok(refs)
}

/// Which refs without a tag's line are known to be no tags.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    /// Those under `refs/tags/`.
    peeled: bool,
    /// All.
    fully_peeled: bool,
}

impl Traits {
    fn parse(header: &[u8]) -> Self {
        let Some(rest) = header.trim_ascii_start().strip_prefix(b"pack-refs with:") else {
            return Self::default();
        };
        let has = |name: &[u8]| rest.split(|&byte| byte == b' ').any(|word| word == name);
        Self { peeled: has(b"peeled"), fully_peeled: has(b"fully-peeled") }
    }

    fn without_a_line(self, name: &[u8]) -> Peeled {
        if self.fully_peeled || self.peeled && name.starts_with(b"refs/tags/") {
            Peeled::Itself
        } else {
            Peeled::Unknown
        }
    }
}

fn id_of(hex: &[u8], format: ObjectFormat) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok().filter(|id| id.format() == format)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<PackedRef>, Refused> {
        let text = text.replace("{A}", &"a".repeat(40)).replace("{B}", &"b".repeat(40));
        parse(text.as_bytes(), ObjectFormat::Sha1, 3)
    }

    fn names(text: &str) -> Vec<String> {
        parsed(text).unwrap().iter().map(|one| one.name.to_string()).collect()
    }

    #[test]
    fn a_header_is_not_needed_and_not_believed() {
        assert_eq!(names("{A} refs/heads/a\n{A} refs/heads/b\n"), ["refs/heads/a", "refs/heads/b"]);
        let lied = "# pack-refs with: peeled fully-peeled sorted \n{A} refs/b\n{B} refs/a\n";
        assert_eq!(names(lied), ["refs/a", "refs/b"]);
        assert_eq!(names(""), [""; 0]);
        assert_eq!(names("# pack-refs with:\n"), [""; 0]);
    }

    #[test]
    fn what_is_known_of_tags_depends_on_the_traits() {
        let text = |header: &str| {
            format!("{header}{{A}} refs/heads/h\n{{A}} refs/tags/t\n^{{B}}\n{{A}} refs/tags/u\n")
        };
        let peeled = |header: &str| -> Vec<Peeled> {
            parsed(&text(header)).unwrap().iter().map(|one| one.peeled).collect()
        };
        let to = Peeled::To(ObjectId::from_hex(&[b'b'; 40]).unwrap());
        assert_eq!(peeled(""), [Peeled::Unknown, to, Peeled::Unknown]);
        assert_eq!(peeled("# pack-refs with: peeled \n"), [Peeled::Unknown, to, Peeled::Itself]);
        assert_eq!(
            peeled("# pack-refs with: peeled fully-peeled \n"),
            [Peeled::Itself, to, Peeled::Itself]
        );
    }

    #[test]
    fn the_file_is_paid_for_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("packed-refs");
        let text = format!("{} refs/heads/name\n", "a".repeat(40)).repeat(100);
        std::fs::write(&path, &text).unwrap();
        let read = |budget: &Budget| {
            PackedRefs::read(&path, ObjectFormat::Sha1, &Limits::default(), budget)
        };
        assert!(matches!(read(&Budget::new(10_000)), Err(StoreError::Limit(_))));
        let budget = Budget::new(1 << 20);
        let refs = read(&budget).unwrap();
        let least = refs.refs.len() * size_of::<PackedRef>() + text.len();
        assert!(budget.used_bytes() >= least as u64);
        drop(refs);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_line_cut_off_is_never_dropped() {
        assert_eq!(parsed("{A} refs/heads/a\n{A} refs/heads/b"), Err(Refused::Cut));
        for (text, line) in [
            ("{A} refs/a\n{A}\n", 2),
            ("{A}  \n\n", 2),
            ("^{A}\n", 1),
            ("{A} refs/a\n^{B}\n^{B}\n", 3),
            ("{A} refs/a\n^bb\n", 2),
            ("zz{A} refs/a\n", 1),
            ("{A}\trefs/a\n", 1),
        ] {
            assert_eq!(parsed(text), Err(Refused::Line(line)), "{text}");
        }
        let four = "{A} refs/a\n{A} refs/b\n{A} refs/c\n{A} refs/d\n";
        assert!(matches!(parsed(four), Err(Refused::Limit(_))));
    }

    #[test]
    fn names_that_are_none_are_passed_over() {
        assert_eq!(names("{A} refs/heads/../x\n^{B}\n{A} refs/heads/b\n"), ["refs/heads/b"]);
    }
}
