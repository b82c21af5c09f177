//! Kinds of files by their names, as ripgrep knows them: `rust`, `py`, `make`.
//!
//! The table is that of the crate `ignore`, ripgrep's own, so that both agree and nobody
//! keeps a second one. Its matching is not used, and its walking even less: the globs become
//! part of a [`PathFilter`](super::glob::PathFilter), which knows which trees to fetch.

use ignore::types::{FileTypeDef, TypesBuilder};

use super::nearest::nearest;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// A kind of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileType {
    /// What it is called, such as `rust`.
    pub name: String,
    /// Globs of the names that its files have.
    pub globs: Vec<String>,
}

/// All there are, by name.
pub fn all() -> Vec<FileType> {
    let of = |kind: &FileTypeDef| FileType {
        name: kind.name().to_owned(),
        globs: kind.globs().to_vec(),
    };
    table().iter().map(of).collect()
}

/// The globs of file names that `types` stand for, to be given to
/// [`PathFilter::with_names`](super::glob::PathFilter::with_names). `!` before a type leaves
/// its files out, a later word wins over an earlier one, and `all` is every type there is.
///
/// ```
/// use gitsip::view::file_types::globs;
///
/// assert_eq!(globs(&["rust", "!lua"])?, ["*.rs", "!*.lua"]);
/// # Ok::<(), gitsip::Error>(())
/// ```
///
/// # Errors
/// `Usage` with code `no_such_type` for a name that no type has, with the nearest.
pub fn globs(types: &[impl AsRef<str>]) -> Result<Vec<String>, Error> {
    let mut globs = Vec::new();
    if types.is_empty() {
        return Ok(globs);
    }
    let table = table();
    for word in last_of_each(types) {
        match word.strip_prefix('!') {
            Some(name) => globs.extend(of_type(&table, name)?.map(|glob| format!("!{glob}"))),
            None => globs.extend(of_type(&table, word)?.cloned()),
        }
    }
    Ok(globs)
}

/// Each word where it is said last, which is where it counts: so that a few words said a
/// thousand times are no more work than said once.
fn last_of_each(types: &[impl AsRef<str>]) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in types.iter().rev().map(AsRef::as_ref) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.reverse();
    words
}

fn table() -> Vec<FileTypeDef> {
    TypesBuilder::new().add_defaults().definitions()
}

/// The globs of the type `name`; `all` is every one of the table.
fn of_type<'t>(
    table: &'t [FileTypeDef],
    name: &str,
) -> Result<impl Iterator<Item = &'t String>, Error> {
    let is_named = |kind: &&FileTypeDef| name == "all" || kind.name() == name;
    let kinds: Vec<&FileTypeDef> = table.iter().filter(is_named).collect();
    if kinds.is_empty() {
        let names = table.iter().map(|kind| kind.name().into());
        let name = escape_for_people(name.as_bytes());
        let why = match nearest(names, name.as_bytes().into()).first() {
            Some(near) => format!("no file type '{name}'; did you mean '{near}'?"),
            None => format!("no file type '{name}'; they are ripgrep's, such as rust, py or make"),
        };
        return Err(Error::new(ErrorKind::Usage, why).with_code("no_such_type"));
    }
    Ok(kinds.into_iter().flat_map(FileTypeDef::globs))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::view::glob::PathFilter;

    #[test]
    fn types_are_globs_of_names() {
        assert_eq!(globs(&["rust"]).unwrap(), ["*.rs"]);
        assert_eq!(globs(&["!rust"]).unwrap(), ["!*.rs"]);
        assert_eq!(globs(&["rust", "lua", "!ada"]).unwrap(), ["*.rs", "*.lua", "!*.adb", "!*.ads"]);
        assert_eq!(globs(&[""; 0]).unwrap(), [""; 0]);
        assert!(globs(&["all"]).unwrap().len() > 200);
        assert!(globs(&["all"]).unwrap().iter().all(|glob| !glob.contains('/')), "names only");
    }

    #[test]
    fn the_last_word_about_a_type_counts() {
        let is_searched = |types: &[&str]| {
            let filter = PathFilter::new(&[] as &[&str], &[] as &[&str], &Limits::default());
            let filter = filter.unwrap().with_names(&globs(types).unwrap()).unwrap();
            ["a.rs", "a.lua"].map(|path| filter.matches(path.as_bytes()))
        };
        assert_eq!(is_searched(&["rust", "!rust"]), [false, false]);
        assert_eq!(is_searched(&["!rust", "rust"]), [true, false]);
        assert_eq!(is_searched(&["rust", "!rust", "rust"]), [true, false]);
        assert_eq!(is_searched(&["all", "!rust"]), [false, true]);
        assert_eq!(is_searched(&["!rust"]), [false, true]);
    }

    #[test]
    fn a_word_counts_once_however_often_it_is_said() {
        let said = vec!["all"; 1_000];
        assert_eq!(globs(&said).unwrap(), globs(&["all"]).unwrap());
    }

    #[test]
    fn an_unknown_type_is_told_with_the_nearest() {
        let line = |name: &str| globs(&[name]).unwrap_err().to_string();
        assert_eq!(line("pyhton"), "usage: no file type 'pyhton'; did you mean 'python'?");
        assert_eq!(line("!pyhton"), line("pyhton"));
        assert!(line("no such type").ends_with("such as rust, py or make"));
    }
}
