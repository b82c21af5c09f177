//! Names of tree entries that a host's file system would take for something else.
//!
//! Follows git's `fsck.c` and `path.c`. A flagged name stays readable; nothing here
//! refuses, repairs or joins anything.

use std::fmt;

/// Why a name must not be joined to a path of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspicion {
    /// `.`
    Dot,
    /// `.git`, or what HFS+ or NTFS take for it.
    DotGit,
    /// `..`
    DotDot,
    /// The empty name.
    Empty,
    /// A name that holds a `/`.
    Separator,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dot => "the name is '.'",
            Self::DotGit => "some file system takes the name for '.git'",
            Self::DotDot => "the name is '..'",
            Self::Empty => "the name is empty",
            Self::Separator => "the name holds a '/'",
        })
    }
}

/// What `git fsck` would say against `name` as the name of a tree entry. `.gitmodules`
/// and the like are fine.
///
/// ```
/// use gitsip::object::{Suspicion, suspicious_name};
///
/// assert_eq!(suspicious_name(b"GIT~1"), Some(Suspicion::DotGit));
/// assert_eq!(suspicious_name(b".gitmodules"), None);
/// ```
pub fn suspicious_name(name: &[u8]) -> Option<Suspicion> {
    match name {
        b"" => Some(Suspicion::Empty),
        b"." => Some(Suspicion::Dot),
        b".." => Some(Suspicion::DotDot),
        _ if name.contains(&b'/') => Some(Suspicion::Separator),
        _ if is_hfs_dot_git(name) || name.split(|&b| b == b'\\').any(is_ntfs_dot_git) => {
            Some(Suspicion::DotGit)
        }
        _ => None,
    }
}

/// NTFS ignores case, final dots and spaces, and what follows a colon; `git~1` is the
/// short name of `.git` (git's `is_ntfs_dotgit`).
fn is_ntfs_dot_git(name: &[u8]) -> bool {
    let starts = |prefix: &[u8]| {
        name.split_at_checked(prefix.len())
            .filter(|(start, _)| start.eq_ignore_ascii_case(prefix))
            .map(|(_, rest)| rest)
    };
    let Some(rest) = starts(b".git").or_else(|| starts(b"git~1")) else { return false };
    let mut tail = rest.iter().skip_while(|&&byte| byte == b'.' || byte == b' ');
    matches!(tail.next(), None | Some(b':'))
}

/// HFS+ ignores case and certain invisible characters; a name that stops being UTF-8
/// is taken to end there (git's `is_hfs_dotgit`).
fn is_hfs_dot_git(name: &[u8]) -> bool {
    let valid = name.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let mut seen = valid.chars().filter(|&char| !is_ignored_by_hfs(char));
    let mut wanted = ".git".chars();
    wanted.all(|want| seen.next().is_some_and(|char| char.to_ascii_lowercase() == want))
        && seen.next().is_none()
}

fn is_ignored_by_hfs(char: char) -> bool {
    matches!(
        char,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice as _;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dangerous_names_are_flagged_and_harmless_ones_are_not() {
        use Suspicion::*;
        for (name, want) in [
            (&b""[..], Some(Empty)),
            (b".", Some(Dot)),
            (b"..", Some(DotDot)),
            (b"a/b", Some(Separator)),
            (b".git", Some(DotGit)),
            (b".GIT", Some(DotGit)),
            (b"git~1", Some(DotGit)),
            (b"GiT~1 . .", Some(DotGit)),
            (b".git...", Some(DotGit)),
            (b".git::$INDEX_ALLOCATION", Some(DotGit)),
            (b"x\\.git", Some(DotGit)),
            (".g\u{200c}it".as_bytes(), Some(DotGit)),
            ("\u{feff}.GIT".as_bytes(), Some(DotGit)),
            (b".gitmodules", None),
            (b".gitignore", None),
            (b"git~2", None),
            (b"...", None),
            (b"a\\b", None),
            (b"caf\xe9", None),
        ] {
            assert_eq!(suspicious_name(name), want, "{}", name.as_bstr());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(name in prop::collection::vec(any::<u8>(), 0..40)) {
            let separated = name.contains(&b'/');
            prop_assert!(!separated || suspicious_name(&name) == Some(Suspicion::Separator));
        }
    }
}
