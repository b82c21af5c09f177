//! The address of a submodule, from the root's `.gitmodules`.
//!
//! Reads as much of git's configuration format (`git-config`, "Syntax") as that file
//! uses. The address is a peer's text: it is shown, never followed. A file larger than
//! any in use names no address: what it says would take many times its own memory.

use bstr::{BStr, BString, ByteSlice as _};
use hashbrown::HashMap;

use super::ViewError;
use super::path::Resolver;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};

/// The address that the snapshot gives for the submodule at `path`, if it gives one.
pub(super) fn url_of(
    objects: &impl Objects,
    resolver: &mut Resolver<'_>,
    root: &ObjectId,
    path: &BString,
) -> Result<Lookup<Option<BString>>, ViewError> {
    // git does not follow a link here either.
    let file = match resolver.resolve(objects, root, b".gitmodules", false) {
        Ok(Lookup::Ready(file)) => file,
        Ok(Lookup::Missing(missing)) => return Ok(Lookup::Missing(missing)),
        Err(ViewError::NotFound { .. }) => return Ok(Lookup::Ready(None)),
        Err(error) => return Err(error),
    };
    if !file.mode.kind().is_blob() {
        return Ok(Lookup::Ready(None));
    }
    let size = objects.header(&file.id)?.map(|header| header.size);
    if size.is_some_and(|size| size > MAX_FILE_BYTES) {
        return Ok(Lookup::Ready(None));
    }
    match objects.read(&file.id)? {
        Some(object) => Ok(Lookup::Ready(url_in(&object.bytes, path.as_bstr()))),
        None => Ok(Lookup::Missing(MissingSet::of(file.id, Some(Kind::Blob)))),
    }
}

/// The `url` of the section whose `path` is `path`; of values given twice, and of
/// sections with one path, the last one counts, as in git.
fn url_in(config: &[u8], path: &BStr) -> Option<BString> {
    let mut modules: Vec<(BString, Option<BString>)> = Vec::new();
    let mut numbers = HashMap::new();
    let mut section = None;
    let mut parser = Parser { rest: config };
    while let Some(item) = parser.next() {
        match item {
            Item::Section(None) => section = None,
            Item::Section(Some(name)) => {
                let number = *numbers.entry(name).or_insert(modules.len());
                if number == modules.len() {
                    modules.push(Default::default());
                }
                section = Some(number);
            }
            Item::Value(key, value) => {
                let Some(module) = section.and_then(|number| modules.get_mut(number)) else {
                    continue;
                };
                if key.eq_ignore_ascii_case(b"path") {
                    module.0 = value.trim_end_with(|c| c == '/').into();
                } else if key.eq_ignore_ascii_case(b"url") {
                    module.1 = Some(value);
                }
            }
        }
    }
    modules.into_iter().rfind(|(known, _)| known == path)?.1
}

enum Item<'a> {
    /// A section begins: the name of a submodule, or anything else.
    Section(Option<BString>),
    Value(&'a [u8], BString),
}

struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            self.rest = self.rest.trim_ascii_start();
            match *self.rest.first()? {
                b'#' | b';' => self.skip_line(),
                b'[' => return Some(Item::Section(self.section())),
                _ => {
                    let end = self.rest.find_byteset(b"=\n").unwrap_or(self.rest.len());
                    let (key, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    if let Some(value) = rest.strip_prefix(b"=") {
                        self.rest = value;
                        return Some(Item::Value(key.trim_ascii(), self.value()));
                    }
                }
            }
        }
    }

    fn skip_line(&mut self) {
        let end = self.rest.find_byte(b'\n').map_or(self.rest.len(), |at| at + 1);
        self.rest = self.rest.get(end..).unwrap_or_default();
    }

    /// The name in `[submodule "NAME"]`; the rest of the line stays.
    fn section(&mut self) -> Option<BString> {
        let end = self.rest.find_byteset(b"\"]\n").unwrap_or(self.rest.len());
        let (kind, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        if !rest.starts_with(b"\"") {
            return None;
        }
        let mut name = BString::default();
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'"' => break,
                b'\\' => {
                    let (&escaped, rest) = rest.split_first()?;
                    self.rest = rest;
                    name.push(escaped);
                }
                b'\n' => return None,
                _ => name.push(byte),
            }
        }
        let end = self.rest.find_byteset(b"]\n").map_or(self.rest.len(), |at| at + 1);
        self.rest = self.rest.get(end..).unwrap_or_default();
        kind.get(1..)?.trim_ascii().eq_ignore_ascii_case(b"submodule").then_some(name)
    }

    /// A value up to the end of its line: quotes taken off, comments and outer blanks
    /// left out, a `\` at the end of a line continues it.
    fn value(&mut self) -> BString {
        let mut value = BString::default();
        let mut quoted = false;
        // Blanks count once something follows them.
        let mut kept = 0;
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            match byte {
                b'\n' => break,
                b'"' => quoted = !quoted,
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                b' ' | b'\t' | b'\r' if !quoted => {
                    if kept > 0 {
                        value.push(byte);
                    }
                    continue;
                }
                b'\\' => {
                    let Some((&escaped, rest)) = rest.split_first() else { break };
                    self.rest = rest;
                    match escaped {
                        b'\n' => continue,
                        b'n' => value.push(b'\n'),
                        b't' => value.push(b'\t'),
                        b'b' => value.push(8),
                        _ => value.push(escaped),
                    }
                }
                _ => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        value
    }
}

/// Some 5,000 submodules.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::Fixture;
    use super::*;
    use crate::limits::Limits;
    use crate::object::Mode;

    #[test]
    fn a_file_larger_than_any_in_use_names_no_address() {
        let fixture = Fixture::new();
        let module = b"[submodule \"a\"]\npath = a\nurl = u\n";
        let more = b"[submodule \"b\"]\n".repeat(1 << 16);
        for (content, url) in
            [(module.to_vec(), Some(BString::from("u"))), ([&module[..], &more].concat(), None)]
        {
            let blob = fixture.blob(content);
            let root = fixture.tree(&[(Mode::BLOB, b".gitmodules", blob)]);
            let limits = Limits::default();
            let mut resolver = Resolver::new(&limits);
            let Ok(Lookup::Ready(found)) = url_of(&fixture, &mut resolver, &root, &"a".into())
            else {
                panic!("nothing is missing")
            };
            assert_eq!(found, url);
            assert_eq!(fixture.reads(&blob), u32::from(url.is_some()));
        }
    }

    #[test]
    fn addresses_are_found_however_the_file_is_written() {
        let file = b"# comment\n[core]\n\tpath = lib/a\n\turl = wrong\n\
            [submodule \"a\"]\n\tpath = lib/a\n\turl = https://example.com/a.git\n\
            [submodule \"with \\\"quotes\\\" and \\\\\"] url=../b.git ; why\n path=\"lib/b c\"/\n\
            [Submodule \"c\"]\nPATH=lib/c\nUrl = \"  x#y  \" z\\\n  w  \nbranch\n\
            [submodule \"d\"]\npath = lib/d\n\
            [submodule \"e\"]\npath = old\npath = lib/e\nurl = one\nurl = two";
        for (path, url) in [
            ("lib/a", Some("https://example.com/a.git")),
            ("lib/b c", Some("../b.git")),
            ("lib/c", Some("  x#y   z  w")),
            ("lib/d", None),
            ("lib/e", Some("two")),
            ("old", None),
            ("lib", None),
        ] {
            assert_eq!(url_in(file, path.into()), url.map(BString::from), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_it_panic(file in "([\\[\\]\"\\\\=#\n ]|path|url|submodule|a){0,40}") {
            url_in(file.as_bytes(), "a".into());
        }
    }
}
