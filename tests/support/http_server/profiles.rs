//! Hosts as they are: what each advertises, in which order, and what it does that git's
//! own server does not. Facts only; who wants a fault combines one with a knob.

use super::{Auth, Behaviour, CannedResponse, Redirect};

/// A host, or a program that hosts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Artifacts, repositories made for programs, one for each task.
    Artifacts,
    /// Azure DevOps.
    Azure,
    /// Gerrit, and with it googlesource: JGit.
    Gerrit,
    /// github.com.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea, Forgejo and Codeberg.
    Gitea,
    /// git.kernel.org: git's own `http-backend`.
    KernelOrg,
}

impl Profile {
    /// Each of them.
    pub const ALL: [Self; 7] = [
        Self::Artifacts,
        Self::Azure,
        Self::Gerrit,
        Self::GitHub,
        Self::GitLab,
        Self::Gitea,
        Self::KernelOrg,
    ];

    /// A server that is this host. The repositories behind it are `NAME.git`.
    pub fn behaviour(self) -> Behaviour {
        let git = Behaviour::default();
        match self {
            // Speaks v1 and v2, cuts history, has no filters. Every repository is private:
            // a token as bearer, or as the password of anybody.
            Self::Artifacts => {
                Behaviour { auth: Some(artifacts_token()), ..git }.without_filter().advertising(
                    &[
                        "version 2",
                        "agent=artifacts",
                        "ls-refs",
                        "fetch=shallow",
                        "object-format=sha1",
                    ],
                    false,
                )
            }
            // Version 0 whatever is asked for; no filter, no ofs-delta, so that deltas name
            // their bases by id. A client that says anything has to say multi_ack.
            Self::Azure => git
                .speaking(0)
                .without_filter()
                .configured("uploadpack.allowAnySHA1InWant", "false")
                .configured("uploadpack.allowTipSHA1InWant", "true")
                .advertising_v0(
                    "multi_ack thin-pack side-band side-band-64k no-progress \
                     multi_ack_detailed no-done shallow allow-tip-sha1-in-want \
                     symref=HEAD:refs/heads/main",
                )
                .answering_first(|request| {
                    let asked = request.body_text();
                    let says_nothing = asked.get(49..50) == Some("\n");
                    let refuses =
                        request.method == "POST" && !asked.contains("multi_ack") && !says_nothing;
                    refuses.then(|| {
                        let words = "TF401041: The Git protocol sent is not as expected \
                                     (Clients must support multi-ack.).";
                        CannedResponse::new(400, "text/plain", words)
                    })
                }),
            // JGit sends neither its version nor the hash, and filters are off unless the
            // site's owner turns them on.
            Self::Gerrit => git
                .without_filter()
                .advertising(&["version 2", "ls-refs", "fetch=shallow", "server-option"], false),
            // With a service line also in v2. Addresses do without `.git` for those who say
            // that they are git; for others those are pages that may not be there.
            Self::GitHub => git
                .without_dot_git()
                .advertising(
                    &[
                        "version 2",
                        "agent=git/github-3e3db1a5ca8f",
                        "ls-refs=unborn",
                        "fetch=shallow wait-for-done filter",
                        "server-option",
                        "object-format=sha1",
                    ],
                    true,
                )
                .answering_first(|request| {
                    let is_git =
                        request.header("user-agent").is_some_and(|agent| agent.starts_with("git/"));
                    let refuses = !is_git && !request.path.contains(".git/");
                    refuses.then(|| CannedResponse::new(404, "text/html", "<!DOCTYPE html>\n"))
                }),
            // The service line is there for every version. Without `.git` it sends elsewhere.
            Self::GitLab => git
                .redirecting(301, Redirect::AddDotGit)
                .configured("transfer.advertiseObjectInfo", "true")
                .advertising(
                    &[
                        "version 2",
                        "agent=git/2.47.1",
                        "ls-refs=unborn",
                        "fetch=shallow wait-for-done filter",
                        "server-option",
                        "object-format=sha1",
                        "object-info",
                    ],
                    true,
                ),
            // The service line is there for every version; `.git` may be left out.
            Self::Gitea => git.without_dot_git().advertising(
                &[
                    "version 2",
                    "agent=git/2.47.1",
                    "ls-refs=unborn",
                    "fetch=shallow wait-for-done filter",
                    "server-option",
                    "object-format=sha1",
                ],
                true,
            ),
            // No service line in v2.
            Self::KernelOrg => git.advertising(
                &[
                    "version 2",
                    "agent=git/2.47.1",
                    "ls-refs=unborn",
                    "fetch=shallow wait-for-done filter",
                    "server-option",
                    "object-format=sha1",
                ],
                false,
            ),
        }
    }

    /// How people write the address of the repository `NAME.git` there.
    pub fn address(self, name: &str) -> String {
        match self {
            Self::GitHub | Self::GitLab | Self::Gitea => name.to_owned(),
            _ => format!("{name}.git"),
        }
    }

    /// The token without which nothing is answered.
    pub fn token(self) -> Option<&'static str> {
        (self == Self::Artifacts).then_some(ARTIFACTS_TOKEN)
    }

    /// Whether it can leave out what was not asked for.
    pub fn has_filter(self) -> bool {
        !matches!(self, Self::Artifacts | Self::Azure | Self::Gerrit)
    }

    /// The newest version of the protocol it speaks.
    pub fn version(self) -> u8 {
        if self == Self::Azure { 0 } else { 2 }
    }
}

fn artifacts_token() -> Auth {
    Auth::Bearer(ARTIFACTS_TOKEN.to_owned())
}

const ARTIFACTS_TOKEN: &str = "art_v1_0123456789abcdef0123456789abcdef01234567";
