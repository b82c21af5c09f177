//! What an address means, before anything is looked for.
//!
//! Each segment of a path is decoded once and judged by itself, so that nothing that is joined
//! to the served folder later can lead out of it: no empty name, none that begins with a dot,
//! no separator of any system, no control byte. Pure, and tested without a server.

use bstr::BString;
use percent_encoding::percent_decode_str;

use super::read::What;

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Whether the process lives.
    Health,
    /// All repositories.
    Index,
    /// `REPO/info/refs`.
    InfoRefs(String),
    /// Counters.
    Metrics,
    /// Nothing that is served.
    Nothing,
    /// `REPO/-/WHAT/REST`; the rest is still percent-encoded.
    Read(String, What, String),
    /// Whether requests are welcome.
    Ready,
    /// `REPO/git-receive-pack`.
    ReceivePack(String),
    /// `REPO/git-upload-pack`.
    UploadPack(String),
}

impl Route {
    /// The meaning of `path`, which is percent-encoded and begins with a slash.
    pub(super) fn parse(path: &str) -> Self {
        match path {
            "/" => return Self::Index,
            "/healthz" => return Self::Health,
            "/metrics" => return Self::Metrics,
            "/readyz" => return Self::Ready,
            _ => {}
        }
        let Some(path) = path.strip_prefix('/') else { return Self::Nothing };
        let segments: Vec<&str> = path.split('/').collect();
        if let Some(at) = segments.iter().position(|segment| *segment == "-") {
            let (repo, rest) = (&segments[..at], &segments[at + 1..]);
            let Some((what, rest)) = rest.split_first() else { return Self::Nothing };
            let read = |repo| Some(Self::Read(repo, What::named(what)?, rest.join("/")));
            return repository(repo).and_then(read).unwrap_or(Self::Nothing);
        }
        let (repo, of_repo): (_, fn(String) -> Self) = match &segments[..] {
            [repo @ .., "info", "refs"] => (repo, Self::InfoRefs),
            [repo @ .., "git-upload-pack"] => (repo, Self::UploadPack),
            [repo @ .., "git-receive-pack"] => (repo, Self::ReceivePack),
            _ => return Self::Nothing,
        };
        repository(repo).map_or(Self::Nothing, of_repo)
    }
}

/// The name of a repository, if its segments are ones that can be served.
fn repository(segments: &[&str]) -> Option<String> {
    if segments.is_empty() || segments.len() > MAX_DEPTH {
        return None;
    }
    let decoded = segments.iter().map(|segment| decoded(segment).filter(|it| is_served_name(it)));
    Some(decoded.collect::<Option<Vec<String>>>()?.join("/"))
}

/// A segment of a path, if it is one after it was decoded.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8().ok()?;
    is_segment(&name).then(|| name.into_owned())
}

/// Whether a file of this name may be a repository or lead to one.
pub(super) fn is_served_name(name: &str) -> bool {
    is_segment(name) && !name.starts_with('.') && name != "-"
}

fn is_segment(name: &str) -> bool {
    let is_bad = |c: char| matches!(c, '/' | '\\') || c.is_control();
    !name.is_empty() && !name.contains(is_bad)
}

/// The value of `name` in a query string, decoded; the first of several.
pub(super) fn query_value(query: Option<&str>, name: &str) -> Option<BString> {
    query_values(query, name).next()
}

/// All values of `name` in a query string, decoded.
pub(super) fn query_values<'q>(
    query: Option<&'q str>,
    name: &'q str,
) -> impl Iterator<Item = BString> + 'q {
    let pairs = query.into_iter().flat_map(|query| query.split('&'));
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(move |(key, _)| *key == name).map(|(_, value)| {
        let spaced = value.replace('+', " ");
        percent_decode_str(&spaced).collect::<Vec<u8>>().into()
    })
}

/// Folders that a repository may be deep.
pub(super) const MAX_DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_repositories() {
        let repo = |name: &str| name.to_owned();
        for (path, route) in [
            ("/a.git/info/refs", Route::InfoRefs(repo("a.git"))),
            ("/group/deep/a/info/refs", Route::InfoRefs(repo("group/deep/a"))),
            ("/a%20b/git-upload-pack", Route::UploadPack(repo("a b"))),
            ("/%E6%97%A5/git-upload-pack", Route::UploadPack(repo("日"))),
            ("/info/refs/info/refs", Route::InfoRefs(repo("info/refs"))),
            ("/%252e%252e/info/refs", Route::InfoRefs(repo("%2e%2e"))),
            ("/a/git-receive-pack", Route::ReceivePack(repo("a"))),
            ("/", Route::Index),
            ("/healthz", Route::Health),
            ("/metrics", Route::Metrics),
            ("/g/a/-/raw/v1/b%2fc/d", Route::Read(repo("g/a"), What::Raw, repo("v1/b%2fc/d"))),
            (
                "/a/-/raw/main/-/info/refs",
                Route::Read(repo("a"), What::Raw, repo("main/-/info/refs")),
            ),
            ("/a/-/ls", Route::Read(repo("a"), What::Ls, repo(""))),
            ("/a/-/grep", Route::Read(repo("a"), What::Grep, repo(""))),
            ("/readyz", Route::Ready),
        ] {
            assert_eq!(Route::parse(path), route, "{path}");
        }
    }

    #[test]
    fn nothing_leads_out() {
        let deep = format!("{}/info/refs", "/a".repeat(MAX_DEPTH + 1));
        for path in [
            "",
            "/-/raw/main/x",
            "/a/-",
            "/a/-/blame/main",
            "/info/refs",
            "//info/refs",
            "/a//info/refs",
            "/../a/info/refs",
            "/%2e%2e/a/info/refs",
            "/a/%2E/info/refs",
            "/a/.git/info/refs",
            "/a%2f..%2fb/info/refs",
            "/a%5cb/info/refs",
            "/a\\b/info/refs",
            "/a%00/info/refs",
            "/a%0a/info/refs",
            "/a%c2%85/info/refs",
            "/caf%e9/info/refs",
            "/-/info/refs",
            "/a/HEAD",
            "/a/objects/info/packs",
            "/a/info/refs/",
            &deep,
        ] {
            assert_eq!(Route::parse(path), Route::Nothing, "{path}");
        }
    }

    #[test]
    fn queries_are_decoded_once() {
        let query = Some("service=git-upload-pack&q=a%2Bb+c&q=2&x");
        assert_eq!(query_value(query, "service").unwrap(), "git-upload-pack");
        assert_eq!(query_value(query, "q").unwrap(), "a+b c");
        assert_eq!(query_value(query, "x").unwrap(), "");
        assert_eq!(query_value(query, "y"), None);
        assert_eq!(query_value(None, "x"), None);
    }
}
