//! Where in the address of a page its repository ends, by who serves it. Nothing here
//! decodes a segment or asks a host.

use super::RefKind;

/// Whose pages a host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosting {
    Bitbucket,
    Gitea,
    GitHub,
    GitHubRaw,
    GitLab,
    Unknown,
}

impl Hosting {
    pub(super) fn of(host: &str) -> Self {
        let host = host.to_ascii_lowercase();
        match host.strip_prefix("www.").unwrap_or(&host) {
            "bitbucket.org" => Self::Bitbucket,
            "codeberg.org" | "gitea.com" => Self::Gitea,
            "github.com" => Self::GitHub,
            "raw.githubusercontent.com" => Self::GitHubRaw,
            "gitlab.com" => Self::GitLab,
            _ => Self::Unknown,
        }
    }

    /// The segments of the repository and those of the page behind it; `None` for the
    /// address of a repository.
    pub(super) fn page<'a, 's>(
        self,
        segments: &'a [&'s str],
    ) -> Option<(&'a [&'s str], &'a [&'s str])> {
        let behind = |at: usize, skip: usize| {
            let (repo, page) = segments.split_at_checked(at)?;
            Some((repo, page.get(skip..)?))
        };
        // No project of GitLab is called so.
        let dash = segments.iter().position(|segment| *segment == "-").filter(|at| *at > 0);
        let is_view = |word: &&str| VIEWS.contains(word);
        match self {
            Self::GitLab => match dash {
                Some(dash) => behind(dash, 1),
                // Addresses from before the dash; projects may not be called so either.
                None => behind(segments.iter().skip(2).position(is_view)? + 2, 0),
            },
            Self::Unknown if segments.last().is_some_and(|last| last.ends_with(".git")) => None,
            Self::Unknown => match dash {
                Some(dash) if segments.get(dash + 1).is_some_and(is_view) => behind(dash, 1),
                _ => behind(2, 0).filter(|(_, page)| match page {
                    ["src" | "media", kind, _, ..] => KINDS.contains(kind),
                    [view, _, ..] => is_view(view),
                    _ => false,
                }),
            },
            Self::GitHubRaw => behind(2, 0),
            _ => behind(2, 0).filter(|(_, page)| !page.is_empty()),
        }
    }

    /// Which refs a page may show, and the segments of ref and path; `None` for a page of
    /// another kind.
    pub(super) fn rest_of<'a, 's>(self, page: &'a [&'s str]) -> Option<(RefKind, &'a [&'s str])> {
        let has_kinds = matches!(self, Self::Gitea | Self::Unknown);
        Some(match page {
            _ if self == Self::GitHubRaw => (RefKind::Any, page),
            ["src" | "raw" | "media" | "blame" | "commits", kind, rest @ ..]
                if has_kinds && KINDS.contains(kind) && !rest.is_empty() =>
            {
                let kind = match *kind {
                    "branch" => RefKind::Branch,
                    "tag" => RefKind::Tag,
                    _ => RefKind::Any,
                };
                (kind, rest)
            }
            ["branch", rest @ ..] if self == Self::Bitbucket => (RefKind::Branch, rest),
            ["src" | "annotate", rest @ ..] if self == Self::Bitbucket => (RefKind::Any, rest),
            ["releases", "tag", rest @ ..] => (RefKind::Tag, rest),
            [view, rest @ ..] if VIEWS.contains(view) => (RefKind::Any, rest),
            _ => return None,
        })
    }
}

/// The pages that show a commit, a folder or a file, with a ref behind them.
const VIEWS: &[&str] = &["blame", "blob", "commit", "commits", "edit", "raw", "tree"];
/// What Gitea and Forgejo put before a ref.
const KINDS: &[&str] = &["branch", "commit", "tag"];
