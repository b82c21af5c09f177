//! What a server lets its clients do.

use bstr::{BString, ByteSlice as _};

/// What is allowed. A repository's own configuration can only take from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Objects may be wanted by id whether or not a ref reaches them, as git's version 2
    /// allows: what was deleted stays readable for whoever knows its id.
    pub allow_any_want: bool,
    /// Objects may be left out by kind and size, for partial clones.
    pub allow_filter: bool,
    /// Beginnings of the names of refs that are not shown and do not count as reaching
    /// anything. `refs/pull` hides `refs/pull/1/head` and not `refs/pulled`.
    pub hidden_refs: Vec<BString>,
    /// The name and version the server gives.
    pub agent: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            allow_any_want: false,
            allow_filter: true,
            hidden_refs: Vec::new(),
            agent: concat!("gitsip/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl ServeOptions {
    /// Whether the ref called `name` is shown.
    pub(super) fn shows(&self, name: &[u8]) -> bool {
        !self.hidden_refs.iter().any(|hidden| {
            let hidden = hidden.trim_end_with(|byte| byte == '/');
            name.strip_prefix(hidden).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_are_whole_names_and_folders() {
        let hidden_refs = vec!["refs/pull".into(), "refs/heads/secret/".into()];
        let options = ServeOptions { hidden_refs, ..ServeOptions::default() };
        for (name, shown) in [
            ("refs/pull/1/head", false),
            ("refs/pull", false),
            ("refs/pulled/1", true),
            ("refs/heads/secret", false),
            ("refs/heads/secret/x", false),
            ("refs/heads/secrets", true),
            ("HEAD", true),
        ] {
            assert_eq!(options.shows(name.as_bytes()), shown, "{name}");
        }
    }
}
