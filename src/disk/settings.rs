//! The settings of a repository's `config`, in their order.
//!
//! Follows `git-config`, "Syntax", character by character as git reads it. Includes, other
//! files (the system's, the user's, that of one work tree) and the environment are not read:
//! what a repository says is read out of itself.

use bstr::BString;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Section and name with a dot between, in lower case, as in `core.bare`; a subsection
    /// stands between them, as it was written.
    pub key: BString,
    /// `None` for a name alone, which means yes.
    pub value: Option<BString>,
}

impl Setting {
    /// Key and value.
    pub fn pair(&self) -> (&[u8], Option<&[u8]>) {
        (&self.key, self.value.as_ref().map(|value| &value[..]))
    }
}

/// The settings of a file, or the number of the line that is none.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Setting>, usize> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader { bytes, at: 0 };
    let settings = reader.settings();
    settings.ok_or_else(|| {
        let before = bytes.get(..reader.at.saturating_sub(1)).unwrap_or_default();
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    })
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Reader<'_> {
    fn settings(&mut self) -> Option<Vec<Setting>> {
        let mut settings = Vec::new();
        // Nothing stands before the first section.
        let mut section = None;
        while self.at < self.bytes.len() {
            match self.next() {
                b'#' | b';' => while self.next() != b'\n' {},
                b'[' => section = Some(self.section()?),
                byte if is_space(byte) => {}
                byte if byte.is_ascii_alphabetic() => {
                    let key = [section.as_deref()?, b"."].concat();
                    settings.push(self.setting(key, byte)?);
                }
                _ => return None,
            }
        }
        Some(settings)
    }

    /// The next character; files end with a line's end, whether or not it is there.
    fn next(&mut self) -> u8 {
        let Some(&byte) = self.bytes.get(self.at) else { return b'\n' };
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    /// The name of a section, after its bracket.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                b']' => return Some(name),
                b' ' | b'\t' => break,
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        let quote = loop {
            match self.next() {
                b' ' | b'\t' => {}
                byte => break byte,
            }
        };
        (quote == b'"').then(|| name.push(b'.'))?;
        loop {
            let byte = match self.next() {
                b'"' => return (self.next() == b']').then_some(name),
                b'\\' => self.next(),
                byte => byte,
            };
            (byte != b'\n').then(|| name.push(byte))?;
        }
    }

    /// A setting whose name begins with `first`.
    fn setting(&mut self, mut key: Vec<u8>, first: u8) -> Option<Setting> {
        let mut byte = first;
        while is_of_key(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return None,
        };
        Some(Setting { key: key.into(), value })
    }

    /// A value, without quotes, escapes, comment and the space around it.
    fn value(&mut self) -> Option<BString> {
        let mut value = Vec::new();
        let mut is_quoted = false;
        // Space is kept when something follows it.
        let mut kept = 0;
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => break,
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !is_quoted => {
                    while self.next() != b'\n' {}
                    break;
                }
                b'"' => is_quoted = !is_quoted,
                b'\\' => match self.next() {
                    b'\n' => {}
                    b'n' => value.push(b'\n'),
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    byte @ (b'"' | b'\\') => value.push(byte),
                    _ => return None,
                },
                byte => value.push(byte),
            }
            kept = value.len();
        }
        value.truncate(kept);
        Some(value.into())
    }
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let settings = parse(text.as_bytes()).unwrap();
        let value = |it: &Setting| it.value.as_ref().map_or("-".into(), BString::to_string);
        settings.iter().map(|it| format!("{}={}", it.key, value(it))).collect()
    }

    #[test]
    fn settings_come_in_their_order_as_git_reads_them() {
        let text = "\u{feff}[Core] bare\n\tA-b = x  y \t# no \\\n B=\"  z ; \" ; \\\"\r\n\
                    [a \"B \\\"]c\"] d = one\\\n two \"\" \n[e.F]\n g=\\t\\\\\\\"\n; x\nh =\n[i]j=1";
        assert_eq!(
            shown(text),
            [
                "core.bare=-",
                "core.a-b=x  y",
                "core.b=  z ; ",
                "a.B \"]c.d=one two ",
                "e.f.g=\t\\\"",
                "e.f.h=",
                "i.j=1"
            ]
        );
    }

    #[test]
    fn what_is_no_setting_is_named_by_its_line() {
        for (text, line) in [
            ("a = 1\n", 1),
            ("[a\n", 1),
            ("[a]\n\nbad name = 1\n", 3),
            ("[a]\nx = \"open\n", 2),
            ("[a]\nx = \\q\n", 2),
            ("[a \"b]\n", 1),
            ("[a b]\n", 1),
            ("[a]\n1 = 2\n", 2),
            ("[a]\nx", 0),
        ] {
            let parsed = parse(text.as_bytes());
            assert_eq!(parsed.err(), Some(line).filter(|line| *line > 0), "{text}");
        }
    }
}
