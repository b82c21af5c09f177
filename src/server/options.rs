//! What a server lets its clients do.

use std::time::Duration;

use bstr::BString;

/// What is allowed. [`within`](Self::within) takes from it what the repository's own
/// configuration forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Objects may be wanted by id whether or not a ref reaches them, as git's version 2
    /// allows: what was deleted stays readable for whoever knows its id.
    pub allow_any_want: bool,
    /// Objects may be left out by kind and size, for partial clones.
    pub allow_filter: bool,
    /// What [`own_hidden_refs`](Self::own_hidden_refs) hide may be wanted by id.
    pub allow_hidden_want: bool,
    /// Sizes of what may be wanted are told.
    pub allow_object_info: bool,
    /// Whatever a ref reaches may be wanted by id, as partial clones do all the time; else only
    /// what refs name.
    pub allow_reachable_want: bool,
    /// Refs may be wanted by name.
    pub allow_ref_in_want: bool,
    /// Refs that are not shown and do not count as reaching anything: whole names or beginnings
    /// of them. `refs/pull` hides `refs/pull/1/head` and not `refs/pulled`. A `!` before one
    /// shows again what those before it hide, and a `^` there means nothing, as there are no
    /// namespaces.
    pub hidden_refs: Vec<BString>,
    /// Refs that the repository hides by itself, in the same form. What one list hides the other
    /// does not show.
    pub own_hidden_refs: Vec<BString>,
    /// After so long without a word a client that waits for its pack is told that work goes on:
    /// 5 s; `None` for never.
    pub keep_alive: Option<Duration>,
    /// The name and version the server gives.
    pub agent: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            allow_any_want: false,
            allow_filter: true,
            allow_hidden_want: false,
            allow_object_info: true,
            allow_reachable_want: true,
            allow_ref_in_want: true,
            hidden_refs: Vec::new(),
            own_hidden_refs: Vec::new(),
            keep_alive: Some(Duration::from_secs(5)),
            agent: concat!("gitsip/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl ServeOptions {
    /// Whether the ref called `name` is shown.
    pub(super) fn shows(&self, name: &[u8]) -> bool {
        self.may_count(name) && !hides(&self.own_hidden_refs, name)
    }

    /// Whether the ref called `name` may ever be of use to a client.
    pub(super) fn may_count(&self, name: &[u8]) -> bool {
        !hides(&self.hidden_refs, name)
    }
}

/// What the last one of `rules` that is about `name` says of it.
fn hides(rules: &[BString], name: &[u8]) -> bool {
    for rule in rules.iter().rev() {
        let (hides, rule) = match rule.strip_prefix(b"!") {
            Some(rest) => (false, rest),
            None => (true, &rule[..]),
        };
        let mut rule = rule.strip_prefix(b"^").unwrap_or(rule);
        while let Some((b'/', rest)) = rule.split_last() {
            rule = rest;
        }
        if name.strip_prefix(rule).is_some_and(|rest| matches!(rest.first(), None | Some(b'/'))) {
            return hides;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_are_whole_names_and_folders_by_the_last_word_on_them() {
        let hidden_refs =
            ["refs/pull", "refs/heads/secret/", "!refs/pull/7", "^refs/pull/7/merge", "!^HEAD", ""];
        let options = ServeOptions {
            hidden_refs: hidden_refs.map(BString::from).to_vec(),
            own_hidden_refs: vec!["refs/mine".into(), "!refs/pull".into()],
            ..ServeOptions::default()
        };
        for (name, shown) in [
            ("refs/pull/1/head", false),
            ("refs/pull", false),
            ("refs/pulled/1", true),
            ("refs/heads/secret", false),
            ("refs/heads/secret/x", false),
            ("refs/heads/secrets", true),
            ("refs/pull/7/head", true),
            ("refs/pull/7/merge", false),
            ("refs/mine/x", false),
            ("HEAD", true),
        ] {
            assert_eq!(options.shows(name.as_bytes()), shown, "{name}");
        }
        assert!(options.may_count(b"refs/mine/x") && !options.may_count(b"refs/pull/1"));
    }
}
