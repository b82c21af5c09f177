//! Addresses as people paste them: what a clone button gives, what a browser shows, and
//! `owner/repo`.
//!
//! Only text is judged here. A ref may contain slashes, so an address alone does not tell
//! where its ref ends and its path begins: [`split_ref_and_path`] decides that, once the
//! host has said which refs it has. Whether a word is a path of this machine is for the
//! caller to find out first.
//!
//! A page is told from a repository by its address alone, without a request:
//!
//! - on github.com, gitlab.com, bitbucket.org, codeberg.org and gitea.com, everything
//!   behind the repository is a page;
//! - on any other host, `/-/blob/` and the like (GitLab) at any depth, and
//!   `/OWNER/REPO/blob/REF` or `/OWNER/REPO/src/branch/REF` and the like (GitHub
//!   Enterprise, Gitea, Forgejo) after exactly two names. An address that ends in `.git`
//!   is a repository there, and so is one whose middle word is written `%62lob`.

mod hosting;

use std::fmt;

use bstr::{BStr, BString, ByteSlice as _};
use url::Url;

use self::hosting::Hosting;
use super::address::{RepoUrl, hide_userinfo};
use crate::error::{Error, ErrorKind};
use crate::store::Ref;
use crate::text::escape_for_people;
use crate::view::lines::LineRange;
use crate::view::nearest::nearest;

/// The code of the error for words that have no form of an address.
pub const NO_ADDRESS: &str = "no_address";

/// What a pasted address says.
///
/// `Debug` does not show credentials that are written into the address.
#[derive(Clone, PartialEq, Eq)]
pub struct Pasted {
    /// The address of the repository, as [`RepoUrl::parse`] takes it.
    pub repo: String,
    /// The ref and the path behind it, for the address of a page.
    pub rest: Option<Rest>,
    /// The lines the page points at.
    pub lines: Option<LineRange>,
}

impl fmt::Debug for Pasted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pasted")
            .field("repo", &hide_userinfo(&self.repo))
            .field("rest", &self.rest)
            .field("lines", &self.lines)
            .finish()
    }
}

/// A ref and a path, not yet told apart. Never empty, and without slashes at its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    kind: RefKind,
    text: BString,
}

/// Which refs the beginning of a [`Rest`] may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind {
    /// Any, or a commit id.
    Any,
    /// A branch.
    Branch,
    /// A tag.
    Tag,
}

impl Rest {
    /// What is left of `text` without slashes at its ends, if anything is.
    pub fn new(kind: RefKind, text: impl AsRef<[u8]>) -> Option<Self> {
        let text = text.as_ref().trim_with(|c| c == '/');
        (!text.is_empty()).then(|| Self { kind, text: text.into() })
    }

    /// Which refs it may begin with.
    pub fn kind(&self) -> RefKind {
        self.kind
    }

    /// Ref, slash, path; percent-encoding is undone.
    pub fn text(&self) -> &BStr {
        self.text.as_bstr()
    }

    /// What is before the first slash.
    pub fn first_segment(&self) -> &BStr {
        let end = self.text.find_byte(b'/').unwrap_or(self.text.len());
        self.text[..end].as_bstr()
    }

    /// The prefixes of every ref that [`split_ref_and_path`] may choose, so that a host
    /// need not list the others.
    pub fn ref_prefixes(&self) -> Vec<BString> {
        let first = self.first_segment();
        let bases = self.kind.bases().iter();
        bases
            .map(|base| match first.as_bytes() {
                // Short of a whole name this would be a prefix of everything.
                b"refs" if base.is_empty() => {
                    bstr::join("/", self.text.splitn_str(4, "/").take(3)).into()
                }
                first => bstr::concat([base.as_bytes(), first]).into(),
            })
            .collect()
    }
}

impl RefKind {
    /// What may be left out in front of a ref's name.
    fn bases(self) -> &'static [&'static str] {
        match self {
            Self::Any => &["", "refs/", "refs/tags/", "refs/heads/"],
            Self::Branch => &["refs/heads/"],
            Self::Tag => &["refs/tags/"],
        }
    }

    /// What the page's address leaves out for sure.
    fn implied(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Branch => "refs/heads/",
            Self::Tag => "refs/tags/",
        }
    }
}

/// Parts `rest` into a ref and a path, which may be empty: the longest of `refs` that it
/// begins with, else its first segment, which is then a commit id, whole or abbreviated, or
/// a ref that does not exist.
///
/// ```
/// use gitsip::client::pasted::{parse, split_ref_and_path};
/// use gitsip::store::Ref;
///
/// let branch = |name: &str| Ref {
///     name: name.into(),
///     target: None,
///     peeled: None,
///     symref_target: None,
/// };
/// let refs = [branch("refs/heads/fix"), branch("refs/heads/fix/docs")];
/// let rest = parse("https://github.com/o/r/blob/fix/docs/a/b.md")?.rest.unwrap();
/// assert_eq!(split_ref_and_path(&rest, &refs), ("fix/docs".into(), "a/b.md".into()));
/// assert_eq!(split_ref_and_path(&rest, &refs[..1]), ("fix".into(), "docs/a/b.md".into()));
/// # Ok::<(), gitsip::Error>(())
/// ```
pub fn split_ref_and_path(rest: &Rest, refs: &[Ref]) -> (BString, BString) {
    let text = rest.text();
    let begins_with = |name: &BStr| {
        let behind = text.strip_prefix(name.as_bytes());
        !name.is_empty() && behind.is_some_and(|path| path.is_empty() || path.starts_with(b"/"))
    };
    let longest = refs
        .iter()
        .flat_map(|named| {
            let short = |base: &&str| named.name.strip_prefix(base.as_bytes());
            rest.kind.bases().iter().filter_map(short)
        })
        .filter(|short| begins_with(short.as_bstr()))
        .map(<[u8]>::len)
        .max();
    let (name, implied) = match longest {
        Some(length) => (&text.as_bytes()[..length], rest.kind.implied()),
        None => (rest.first_segment().as_bytes(), ""),
    };
    let path = &text[name.len()..];
    let path = path.strip_prefix(b"/").unwrap_or(path);
    (bstr::concat([implied.as_bytes(), name]).into(), path.into())
}

/// What the address `text` means.
///
/// ```
/// use gitsip::client::pasted::parse;
///
/// assert_eq!(parse("owner/repo")?.repo, "https://github.com/owner/repo");
///
/// let page = parse("https://gitlab.com/group/sub/repo/-/blob/main/a%20b.rs#L10-20")?;
/// assert_eq!(page.repo, "https://gitlab.com/group/sub/repo");
/// assert_eq!(page.rest.unwrap().text(), "main/a b.rs");
/// assert_eq!(page.lines, Some("10:20".parse()?));
///
/// let error = parse("git@github.com:owner/repo.git").unwrap_err();
/// assert!(error.context().contains("https://github.com/owner/repo.git"));
/// # Ok::<(), gitsip::Error>(())
/// ```
///
/// # Errors
///
/// `Usage`, each with the address that was probably meant: for ssh and `git://`, for a
/// scheme with a typing error, for a page that shows no files; with the code
/// [`NO_ADDRESS`] for what has no form of an address.
pub fn parse(text: &str) -> Result<Pasted, Error> {
    let text = text.trim();
    if let Some((scheme, rest)) = text.split_once("://") {
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => return of_url(text),
            "ssh" | "git+ssh" | "ssh+git" => return Err(not_spoken("ssh", rest)),
            "git" => return Err(not_spoken("git://", rest)),
            _ => {}
        }
    }
    if let Some(error) = slip_of_a_scheme(text) {
        return Err(error);
    }
    if text.contains("://") {
        return plain(text);
    }
    if let Some((host, path)) = ssh_short_form(text) {
        return Err(not_spoken("ssh", &format!("{host}/{path}")));
    }
    match text.split_once('/') {
        Some((host, path)) if !path.is_empty() && Hosting::of(host) != Hosting::Unknown => {
            of_url(&format!("https://{text}"))
        }
        Some((owner, repo)) if is_owner(owner) && is_repo(repo) => {
            plain(&format!("https://github.com/{text}"))
        }
        _ => Err(refuse(format!("'{}' is no address", shown(text))).with_code(NO_ADDRESS)),
    }
}

/// The repository at `address` and nothing more.
fn plain(address: &str) -> Result<Pasted, Error> {
    RepoUrl::parse(address)?;
    Ok(Pasted { repo: address.to_owned(), rest: None, lines: None })
}

fn of_url(address: &str) -> Result<Pasted, Error> {
    // What does not parse is refused, with the reason, by plain().
    let Ok(mut url) = Url::parse(address) else { return plain(address) };
    let hosting = url.host_str().map_or(Hosting::Unknown, Hosting::of);
    let path = url.path().to_owned();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some((repo, page)) = hosting.page(&segments) else { return plain(address) };

    let lines = url.fragment().and_then(lines_in);
    let kind_in_query = url.query().and_then(kind_in);
    url.set_path(&repo.join("/"));
    url.set_query(None);
    url.set_fragment(None);
    if hosting == Hosting::GitHubRaw {
        // Another origin: what may be sent to the one may not be sent to the other.
        // These fail only for addresses without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let _ = url.set_port(None);
        let _ = url.set_host(Some("github.com"));
    }
    let pasted = plain(url.as_str())?;
    if page.is_empty() {
        return Ok(pasted);
    }
    let Some((kind, named)) = hosting.rest_of(page) else {
        let (page, repo) = (shown(address), shown(&pasted.repo));
        return Err(refuse(format!("'{page}' shows no files; the repository is {repo}")));
    };
    let rest = Rest::new(kind_in_query.unwrap_or(kind), decoded(named));
    Ok(Pasted { lines: lines.filter(|_| rest.is_some()), rest, ..pasted })
}

fn decoded(segments: &[&str]) -> BString {
    let text = segments.join("/");
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(&text).collect();
    bytes.trim_with(|char| char == '/').into()
}

/// What GitLab says of the ref in `?ref_type=heads`.
fn kind_in(query: &str) -> Option<RefKind> {
    query.split('&').find_map(|pair| match pair {
        "ref_type=heads" => Some(RefKind::Branch),
        "ref_type=tags" => Some(RefKind::Tag),
        _ => None,
    })
}

/// `L10`, `L10-L20`, `L10-20`, `L10C5-L20C7` and Bitbucket's `lines-10:20`; every other
/// fragment is a place in a page and says nothing about lines.
fn lines_in(fragment: &str) -> Option<LineRange> {
    let number = |text: &str| {
        let digits = text.split('C').next()?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|&line: &u64| is_number && line > 0)
    };
    let (first, last) = match fragment.strip_prefix("lines-") {
        Some(range) => range.split_once(':').unwrap_or((range, range)),
        None => {
            let range = fragment.strip_prefix('L')?;
            range.split_once('-').unwrap_or((range, range))
        }
    };
    let (first, last) = (number(first)?, number(last.strip_prefix('L').unwrap_or(last))?);
    Some(LineRange { first: first.min(last), last: Some(first.max(last)) })
}

/// Host and path of `user@host:path` or `host:path`, as git reads it: a colon before any
/// slash. What stands before the host of `user:password@host/path` is not repeated.
fn ssh_short_form(text: &str) -> Option<(&str, &str)> {
    let (before, path) = text.split_once(':')?;
    let password_end = path.split('/').next().and_then(|first| first.rfind('@'));
    if let (false, Some(end)) = (before.contains('@'), password_end) {
        return path[end + 1..].split_once(['/', ':']);
    }
    let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
    let is_host = host.len() > 1 && !before.contains(['/', '\\']);
    let path = path.trim_start_matches('/');
    (is_host && !path.is_empty()).then_some((host, path))
}

/// Refuses what is spoken by `protocol`; `rest` is its address without the scheme.
fn not_spoken(protocol: &str, rest: &str) -> Error {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    };
    // Where ssh goes when its own port is blocked.
    let host = match host {
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        "altssh.bitbucket.org" => "bitbucket.org",
        host => host,
    };
    let https = format!("https://{host}/{}", path.trim_start_matches('/'));
    refuse(format!("{protocol} is not spoken here; try {}", shown(&https)))
}

/// The error for `http:/host`, `https//host`, `htps://host`.
fn slip_of_a_scheme(text: &str) -> Option<Error> {
    let (word, rest) = text.split_at(text.find([':', '/'])?);
    let word = word.to_ascii_lowercase();
    let is_exact = matches!(word.as_str(), "http" | "https");
    let looks_like_one = if is_exact {
        rest.starts_with(':') || rest.starts_with("//")
    } else {
        rest.starts_with("://") || rest.starts_with(":/")
    };
    let scheme = match is_exact {
        true => BStr::new(&word),
        false => *nearest(["https".into(), "http".into()], BStr::new(&word)).first()?,
    };
    let rest = rest.trim_start_matches([':', '/', '\\']);
    (looks_like_one && !rest.is_empty()).then(|| {
        let (word, meant) = (shown(&word), shown(&format!("{scheme}://{rest}")));
        refuse(format!("no address begins like this '{word}' does; did you mean {meant}?"))
    })
}

fn is_owner(word: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    word.bytes().all(inside) && !word.is_empty() && !word.starts_with('-') && !word.ends_with('-')
}

fn is_repo(word: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    word.bytes().all(inside) && !word.bytes().all(|byte| byte == b'.')
}

/// An address in a message: without credentials and controls.
fn shown(address: &str) -> String {
    escape_for_people(hide_userinfo(address).as_bytes())
}

fn refuse(why: String) -> Error {
    Error::new(ErrorKind::Usage, why)
}
