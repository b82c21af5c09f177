//! What the repository's `config` says about its own format, and nothing else.
//!
//! Follows `git-config`, "Syntax", and git's `repository-version`. Includes, other files
//! and the environment are not read, as git does not read them for this either.

use std::path::Path;

use super::files::{MAX_SMALL_FILE_BYTES, malformed, read_small};
use crate::oid::ObjectFormat;
use crate::store::StoreError;

/// The hash a repository uses, if this build can read the rest of it too.
pub(super) fn object_format(common_dir: &Path) -> Result<ObjectFormat, StoreError> {
    let path = common_dir.join("config");
    let bytes = read_small(&path, MAX_SMALL_FILE_BYTES)?.unwrap_or_default();
    let mut version = 0;
    let mut format = ObjectFormat::Sha1;
    let mut format_named = false;
    let mut unknown = None;
    for Setting { section, name, value } in
        parse(&bytes).map_err(|line| malformed(&path, format!("line {line} is no setting")))?
    {
        match (section.as_str(), name.as_str()) {
            ("core", "repositoryformatversion") => {
                version = value.trim().parse().map_err(|_| {
                    malformed(&path, format!("the repository version '{value}' is no number"))
                })?;
            }
            ("extensions", "objectformat") => {
                format = ObjectFormat::from_name(value.as_bytes())
                    .ok_or_else(|| unsupported("objectFormat", &value))?;
                format_named = true;
            }
            ("extensions", "refstorage") if value == "files" => {}
            ("extensions", "refstorage") if value == "reftable" => {
                return Err(StoreError::Unsupported(
                    "the repository keeps its refs as reftable, which is not supported: convert \
                     a copy with 'git refs migrate --ref-format=files'"
                        .to_owned(),
                ));
            }
            ("extensions", name) if !KNOWN_EXTENSIONS.contains(&name) => {
                unknown.get_or_insert(unsupported(name, &value));
            }
            _ => {}
        }
    }
    match (version, unknown) {
        // Version 0 knows no extensions: git ignores those it does not know.
        (0, _) if format_named => Err(StoreError::Unsupported(
            "extensions.objectFormat needs core.repositoryFormatVersion = 1".to_owned(),
        )),
        (0, _) | (1, None) => Ok(format),
        (1, Some(error)) => Err(error),
        (other, _) => Err(StoreError::Unsupported(format!(
            "repository format version {other} is not supported: 0 and 1 are"
        ))),
    }
}

fn unsupported(name: &str, value: &str) -> StoreError {
    StoreError::Unsupported(format!("the repository extension {name} = {value} is not supported"))
}

struct Setting {
    /// In lower case, without any subsection's settings: those have their name in it.
    section: String,
    /// In lower case.
    name: String,
    value: String,
}

/// The settings of a file, or the number of the line that is none.
fn parse(bytes: &[u8]) -> Result<Vec<Setting>, usize> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let mut settings = Vec::new();
    let mut section = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut rest = line.trim();
        if let Some(header) = rest.strip_prefix('[') {
            let end = header_end(header).ok_or(number + 1)?;
            section = header[..end].to_ascii_lowercase();
            rest = header[end + 1..].trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (name, mut raw) = match rest.split_once('=') {
            Some((name, raw)) => (name.trim_end(), raw.to_owned()),
            // A name alone means true.
            None => (rest.split(['#', ';']).next().unwrap_or("").trim_end(), "true".to_owned()),
        };
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || !name.chars().all(valid) {
            return Err(number + 1);
        }
        while continues(&raw) {
            raw.pop();
            raw.push_str(lines.next().map_or("", |(_, line)| line));
        }
        let value = unquote(&raw).ok_or(number + 1)?;
        settings.push(Setting { section: section.clone(), name: name.to_ascii_lowercase(), value });
    }
    Ok(settings)
}

/// Where a section's header, without its `[`, has its `]`: not within quotes.
fn header_end(header: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether a value ends in a backslash that is not itself escaped.
fn continues(raw: &str) -> bool {
    raw.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// A value without quotes, escapes, comment and surrounding space.
fn unquote(raw: &str) -> Option<String> {
    let mut value = String::new();
    let mut quoted = false;
    // Length up to which trailing space must stay.
    let mut kept = 0;
    let mut chars = raw.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                kept = value.len();
            }
            '\\' => {
                value.push(match chars.next()? {
                    'n' => '\n',
                    't' => '\t',
                    'b' => '\u{8}',
                    c @ ('"' | '\\') => c,
                    _ => return None,
                });
                kept = value.len();
            }
            '#' | ';' if !quoted => break,
            _ => value.push(c),
        }
        if quoted {
            kept = value.len();
        }
    }
    value.truncate(kept.max(value.trim_end().len()));
    (!quoted).then_some(value)
}

/// Extensions that change nothing for who only reads objects and refs from files.
const KNOWN_EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "worktreeconfig",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn format_of(config: &str) -> Result<ObjectFormat, StoreError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config"), config).unwrap();
        object_format(dir.path())
    }

    #[test]
    fn versions_and_extensions_are_gits() {
        let sha1 = |config| matches!(format_of(config), Ok(ObjectFormat::Sha1));
        assert!(sha1(""));
        assert!(sha1("[core]\n\trepositoryformatversion = 0\n[extensions]\n\tfancy = 1\n"));
        assert!(sha1("[core] repositoryformatversion = 1\n[extensions] worktreeConfig\n"));
        assert!(sha1("[core \"x]y\"]\nrepositoryformatversion = 7\n"));
        let sha256 = "[Core]\nRepositoryFormatVersion = \"1\" ; one\n\
                      [extensions]\n objectFormat = sh\\\na256 # hash\n";
        assert_eq!(format_of(sha256).unwrap(), ObjectFormat::Sha256);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (config, word) in [
            ("[core]\nrepositoryformatversion = 2\n", "version 2"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nfancy=1\n", "fancy"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nrefStorage=reftable\n", "reftable"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=md5\n", "md5"),
            ("[extensions]\nobjectFormat=sha256\n", "repositoryFormatVersion"),
            ("[core\n", "line 1"),
            ("[core]\n\nbad name = 1\n", "line 3"),
            ("[core]\nx = \"open\n", "line 2"),
        ] {
            let error = format_of(config).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
