//! Object folders that a repository borrows from: `objects/info/alternates`.
//!
//! Follows `gitrepository-layout`. Paths are relative to the object folder that names
//! them; folders that do not exist are passed over, as git does. Depth and number are
//! bounded, and a folder reached twice counts once, so that cycles end.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::files::{MAX_SMALL_FILE_BYTES, malformed, path_from, read_small};
use crate::store::StoreError;

/// `objects` and everything it borrows from, nearest first.
pub(super) fn object_dirs(objects: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    let mut queue = VecDeque::from([(objects.to_owned(), 0)]);
    while let Some((folder, depth)) = queue.pop_front() {
        let Ok(real) = std::fs::canonicalize(&folder) else { continue };
        if seen.contains(&real) || !real.is_dir() {
            continue;
        }
        if found.len() == MAX_FOLDERS {
            let file = objects.join("info/alternates");
            return Err(malformed(&file, format!("it leads to more than {MAX_FOLDERS} folders")));
        }
        seen.push(real.clone());
        found.push(real.clone());
        let file = real.join("info/alternates");
        let Some(bytes) = read_small(&file, MAX_SMALL_FILE_BYTES)? else { continue };
        let mut named =
            bytes.split(|&byte| byte == b'\n').filter_map(|line| alternate(&real, line));
        if depth < MAX_DEPTH {
            queue.extend(named.map(|path| (path, depth + 1)));
        } else if named.next().is_some() {
            return Err(malformed(&file, format!("alternates are nested over {MAX_DEPTH} deep")));
        }
    }
    Ok(found)
}

/// The folder that a line names.
fn alternate(base: &Path, line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.first()? {
        b'#' => None,
        b'"' => match unquote(line) {
            Some(unquoted) => path_from(base, &unquoted),
            None => path_from(base, line),
        },
        _ => path_from(base, line),
    }
}

/// A line in C-style quotes without them.
fn unquote(line: &[u8]) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut out = Vec::new();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (&escape, after) = rest.split_first()?;
        rest = after;
        out.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'"' | b'\\' => escape,
            b'0'..=b'3' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                let digit = |byte: u8| (byte & !7 == b'0').then_some(byte & 7);
                (escape & 7) << 6 | digit(digits[0])? << 3 | digit(digits[1])?
            }
            _ => return None,
        });
    }
    Some(out)
}

/// git's own bound.
const MAX_DEPTH: u32 = 5;
const MAX_FOLDERS: usize = 256;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn objects(root: &Path, name: &str, alternates: &str) -> PathBuf {
        let path = root.join(name);
        std::fs::create_dir_all(path.join("info")).unwrap();
        std::fs::write(path.join("info/alternates"), alternates).unwrap();
        path.canonicalize().unwrap()
    }

    #[test]
    fn a_cycle_ends_and_what_is_missing_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let a = objects(root.path(), "a", "# borrowed\n../b\n../missing\n\"../\\143\"\n");
        let b = objects(root.path(), "b", "../a\n../c");
        let c = objects(root.path(), "c", "\n../../x\n../b\r\n");
        assert_eq!(object_dirs(&a).unwrap(), [a, b, c]);
    }

    #[test]
    fn nesting_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        for i in 0..8 {
            objects(root.path(), &i.to_string(), &format!("../{}\n", i + 1));
        }
        let at = |i: u32| root.path().join(i.to_string());
        assert!(object_dirs(&at(0)).is_err());
        assert_eq!(object_dirs(&at(3)).unwrap().len(), 5);
    }

    #[test]
    fn broken_quotes_are_a_plain_name() {
        assert_eq!(unquote(b"\"a\\"), None);
        assert_eq!(unquote(b"\"a\\q\""), None);
        assert_eq!(unquote(b"\"\\48\""), None);
        assert_eq!(unquote(b"\"a\\\"\\\\\\n\\303\\251\"").unwrap(), "a\"\\\né".as_bytes());
    }
}
