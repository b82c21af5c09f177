//! The netrc file, as ftp, curl and git read it: `machine HOST login NAME password WORD`.
//!
//! `account` is skipped, and so is `macdef` to its empty line. Words may be quoted as curl
//! allows. Who else may read the file is not judged here.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::client::credentials::Auth;

/// The credential for `host` in the user's file, which is `$NETRC` or `~/.netrc`, and where
/// that is. With a `user` only an entry of that login counts. A file that cannot be read
/// has none.
pub(super) fn look_up(host: &str, user: Option<&str>) -> Option<(Auth, PathBuf)> {
    let path = match std::env::var_os("NETRC") {
        Some(path) if !path.is_empty() => PathBuf::from(path),
        _ => std::env::home_dir()?.join(".netrc"),
    };
    let (login, password) = find(&read(&path)?, host, user)?;
    Some((Auth::Basic { user: login, password }, path))
}

fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Login and password of the first entry for `host`, or of a `default` that stands before
/// any, which has a password and, when a `user` is given, that login.
fn find(text: &str, host: &str, user: Option<&str>) -> Option<(String, String)> {
    let mut words = Words { rest: text };
    let mut entry: Option<Entry> = None;
    loop {
        let word = words.next();
        let starts = match word.as_deref() {
            Some("machine") => {
                let name = words.next();
                Some(name.is_some_and(|name| name.eq_ignore_ascii_case(host)))
            }
            Some("default") => Some(true),
            None => Some(false),
            Some(_) => None,
        };
        if let Some(is_ours) = starts {
            if let Some(found) = entry.take().and_then(|entry| entry.answer(user)) {
                return Some(found);
            }
            entry = is_ours.then(Entry::default);
        }
        let value = match word.as_deref() {
            None => return None,
            Some("account" | "login" | "password") => words.next(),
            Some("macdef") => {
                words.skip_macro();
                None
            }
            Some(_) => None,
        };
        match (word.as_deref(), &mut entry) {
            (Some("login"), Some(entry)) => entry.login = value,
            (Some("password"), Some(entry)) => entry.password = value,
            _ => {}
        }
    }
}

#[derive(Default)]
struct Entry {
    login: Option<String>,
    password: Option<String>,
}

impl Entry {
    fn answer(self, user: Option<&str>) -> Option<(String, String)> {
        let login = match (self.login, user) {
            (Some(login), Some(user)) if login != user => return None,
            (Some(login), _) => login,
            (None, user) => user.unwrap_or_default().to_owned(),
        };
        Some((login, self.password?))
    }
}

/// The words of a file, without comments: a `#` where a word begins, to the line's end.
/// A value that begins with one has to be quoted.
struct Words<'a> {
    rest: &'a str,
}

impl Words<'_> {
    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                break;
            }
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
        if let Some(quoted) = self.rest.strip_prefix('"') {
            return Some(self.quoted(quoted.len()));
        }
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// The word whose opening quote is followed by the last `bytes` of the file.
    fn quoted(&mut self, bytes: usize) -> String {
        let text = &self.rest[self.rest.len() - bytes..];
        let mut word = String::new();
        let mut letters = text.char_indices();
        let mut end = text.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => word.push('\n'),
                    Some((_, 'r')) => word.push('\r'),
                    Some((_, 't')) => word.push('\t'),
                    Some((_, escaped)) => word.push(escaped),
                    None => {}
                },
                letter => word.push(letter),
            }
        }
        self.rest = &text[end..];
        word
    }

    /// Skips a macro's name and text, which ends at an empty line.
    fn skip_macro(&mut self) {
        loop {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            if line.trim_end_matches('\r').is_empty() || rest.is_empty() {
                return;
            }
        }
    }
}

/// Far more than anybody has hosts.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_fits_is_taken() {
        for (text, user, expected) in [
            ("machine h login me password pw", None, Some(("me", "pw"))),
            ("machine h\n\tlogin me\n\tpassword pw\n", None, Some(("me", "pw"))),
            ("machine h password pw login me", None, Some(("me", "pw"))),
            ("machine H login me account x password pw", None, Some(("me", "pw"))),
            ("machine h\r\nlogin me\r\npassword pw\r\n", None, Some(("me", "pw"))),
            (
                "machine g login a password b machine h login me password pw",
                None,
                Some(("me", "pw")),
            ),
            ("machine h login a password b\nmachine h login c password d", None, Some(("a", "b"))),
            (
                "machine h login a password b\nmachine h login c password d",
                Some("c"),
                Some(("c", "d")),
            ),
            ("machine h login a password b", Some("c"), None),
            ("machine h password b", Some("c"), Some(("c", "b"))),
            ("machine h password b", None, Some(("", "b"))),
            ("machine h login me\nmachine h login me password pw", None, Some(("me", "pw"))),
            (
                "machine g login a password b\ndefault login me password pw",
                None,
                Some(("me", "pw")),
            ),
            ("default login a password b\nmachine h login me password pw", None, Some(("a", "b"))),
            ("machine h.evil login a password b", None, None),
            ("machine sub.h login a password b", None, None),
            ("machine h", None, None),
            ("machine", None, None),
            ("", None, None),
            ("machine h login", None, None),
            ("password pw login me machine h", None, None),
            (
                "# machine h login a password b\nmachine h login me password pw",
                None,
                Some(("me", "pw")),
            ),
            ("machine h login me password \"a \\\"b\\\\\" # why", None, Some(("me", "a \"b\\"))),
            ("machine h login me password pw#1", None, Some(("me", "pw#1"))),
            ("machine h login me password \"#pw\"", None, Some(("me", "#pw"))),
            ("machine h login me password \"open", None, Some(("me", "open"))),
            (
                "macdef init\nmachine h login a password b\n\nmachine h login me password pw",
                None,
                Some(("me", "pw")),
            ),
            (
                "machine h login me password pw macdef m\nlogin x\npassword y",
                None,
                Some(("me", "pw")),
            ),
            ("machine h login machine password password", None, Some(("machine", "password"))),
            ("machine h new-word 1 login me password pw", None, Some(("me", "pw"))),
            ("machine h login m\u{e9} password p\u{e9}", None, Some(("m\u{e9}", "p\u{e9}"))),
        ] {
            let found = find(text, "h", user);
            let found = found.as_ref().map(|(login, password)| (login.as_str(), password.as_str()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
