//! Kinds of files by their names, as ripgrep knows them: `-t rust`, `-T test`.
//!
//! The table is that of the crate `ignore`, ripgrep's own, so that both agree and nobody
//! keeps a second one. Its matching is not used: globs become part of the path filter,
//! which knows which trees to fetch.

use ignore::types::{FileTypeDef, TypesBuilder};

use super::output::push_fmt;
use crate::error::{Error, ErrorKind};
use crate::view::nearest::nearest;

/// The globs of file names that are in one of the types `wanted`, or of any type when
/// there is none, and in none of the types `unwanted`.
///
/// # Errors
/// `Usage` for a name that no type has, with the nearest.
pub(super) fn globs(wanted: &[String], unwanted: &[String]) -> Result<Vec<String>, Error> {
    let mut globs = Vec::new();
    if wanted.is_empty() && unwanted.is_empty() {
        return Ok(globs);
    }
    let table = table();
    for name in wanted {
        globs.extend(of_type(&table, name)?.cloned());
    }
    for name in unwanted {
        globs.extend(of_type(&table, name)?.map(|glob| format!("!{glob}")));
    }
    Ok(globs)
}

/// One line for each type: its name and globs.
pub(super) fn list() -> Vec<u8> {
    let mut lines = Vec::new();
    for kind in table() {
        push_fmt(&mut lines, format_args!("{}: {}\n", kind.name(), kind.globs().join(", ")));
    }
    lines
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
        let advice = match nearest(names, name.into()).first() {
            Some(near) => format!("did you mean '{near}'? "),
            None => String::new(),
        };
        let why = format!("no file type '{name}'; {advice}gitsip grep --type-list has all");
        return Err(Error::new(ErrorKind::Usage, why));
    }
    Ok(kinds.into_iter().flat_map(FileTypeDef::globs))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(wanted: &[&str], unwanted: &[&str]) -> Result<Vec<String>, Error> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        globs(&owned(wanted), &owned(unwanted))
    }

    #[test]
    fn types_are_globs_of_names() {
        assert_eq!(of(&["rust"], &[]).unwrap(), ["*.rs"]);
        assert_eq!(of(&[], &["rust"]).unwrap(), ["!*.rs"]);
        assert_eq!(of(&["rust", "lua"], &["ada"]).unwrap(), ["*.rs", "*.lua", "!*.adb", "!*.ads"]);
        assert_eq!(of(&[], &[]).unwrap(), [""; 0]);
        assert!(of(&["all"], &[]).unwrap().len() > 200);
        assert!(of(&["all"], &[]).unwrap().iter().all(|glob| !glob.contains('/')), "names only");
    }

    #[test]
    fn an_unknown_type_is_told_with_the_nearest() {
        let line = of(&["pyhton"], &[]).unwrap_err().to_string();
        assert_eq!(
            line,
            "usage: no file type 'pyhton'; did you mean 'python'? gitsip grep --type-list has all"
        );
    }
}
