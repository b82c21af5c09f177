//! Reads about one snapshot, over any store: paths, files, folders, walks, globs.
//!
//! Everything here is a plain function or cursor over `&impl Objects`. What the store
//! lacks comes back as a [`MissingSet`] to be fetched by someone above; nothing here
//! waits, fetches, or knows a repository's address. Small reads start again from the
//! root after a fetch; cursors keep ids and offsets and go on where they were.

pub mod count;
pub mod excerpt;
pub mod file_types;
#[cfg(test)]
mod fixture;
mod gitmodules;
pub mod glob;
pub mod grep;
pub mod likely;
pub mod lines;
pub mod list;
pub mod nearest;
pub mod path;
pub mod picture;
pub mod read;
pub mod ref_patterns;
mod trees;
pub mod version_order;
pub mod walk;

use std::fmt;

use bstr::BString;

use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupted, LimitExceeded};
use crate::object::{Kind, ObjectError};
use crate::oid::ObjectId;
use crate::store::{MissingSet, StoreError};
use crate::text::escape_for_people;

/// What a cursor came to.
#[derive(Clone, Debug)]
#[must_use]
pub enum Step<T> {
    /// The next result.
    Item(T),
    /// Everything before this point was handed out; fetch these, then ask again.
    Missing(MissingSet),
    /// There is nothing more.
    Done,
}

impl<T> Step<T> {
    /// The same with `change` made to an item.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Self::Item(item) => Step::Item(change(item)),
            Self::Missing(missing) => Step::Missing(missing),
            Self::Done => Step::Done,
        }
    }
}

/// Why a view has no answer. Paths are as bytes; messages show them escaped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A glob pattern that does not parse.
    #[error("'{pattern}' is no glob pattern: {what}")]
    BadGlob {
        /// The pattern as written.
        pattern: String,
        /// What is wrong with it.
        what: String,
    },
    /// A path that cannot be looked up in a tree.
    #[error("'{}' cannot be looked up: {what}", Shown(path))]
    BadPath {
        /// The path as asked.
        path: BString,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A path that leads into another repository.
    #[error(
        "'{}' is inside the submodule '{}', a repository of its own: open that one at {commit}",
        Shown(path),
        Shown(submodule)
    )]
    InSubmodule {
        /// The path as asked.
        path: BString,
        /// Where the submodule begins.
        submodule: BString,
        /// The commit it is pinned to.
        commit: ObjectId,
    },
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A file was asked for and the path names a folder.
    #[error("'{}' is a folder: list it with ls", Shown(path))]
    IsDirectory {
        /// The path as asked.
        path: BString,
    },
    /// A limit was reached; a cursor that reports it has handed out what came before.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A symbolic link that points to an absolute path.
    #[error(
        "'{}' is a link to '{}', a path of the machine it was made on: read the link itself instead",
        Shown(path),
        Shown(target)
    )]
    LinkAbsolute {
        /// The link.
        path: BString,
        /// Where it points.
        target: BString,
    },
    /// A symbolic link that points outside the repository.
    #[error(
        "'{}' is a link to '{}', outside the repository: read the link itself instead",
        Shown(path),
        Shown(target)
    )]
    LinkEscapes {
        /// The link.
        path: BString,
        /// Where it points.
        target: BString,
    },
    /// More symbolic links than are followed for one path, or a loop of them.
    #[error("'{}' leads through more than {allowed} links, or a loop of them", Shown(path))]
    LinkLoop {
        /// The path as asked.
        path: BString,
        /// How many are followed.
        allowed: u32,
    },
    /// A commit or tag whose bytes are damaged.
    #[error("{kind} {id} is damaged: {error}")]
    Object {
        /// The object.
        id: ObjectId,
        /// What it is.
        kind: Kind,
        /// In which way.
        error: ObjectError,
    },
    /// A path goes on below something that is no folder.
    #[error("'{}' does not exist: '{}' is a file", Shown(path), Shown(file))]
    NotADirectory {
        /// The path as asked.
        path: BString,
        /// The part of it that is no folder.
        file: BString,
    },
    /// An object has another kind than the tree or commit that names it says.
    #[error("object {id} is a {actual}, not a {wanted}")]
    WrongKind {
        /// The object.
        id: ObjectId,
        /// What was expected.
        wanted: Kind,
        /// What it is.
        actual: Kind,
    },
    /// A walk was to begin at a place that the tree does not have.
    #[error("the place to go on from is not in this commit: ask again from the beginning")]
    NoSuchPlace,
    /// No such path.
    #[error("{}", path::describe_not_found(path, missing, similar, None))]
    NotFound {
        /// The path as asked.
        path: BString,
        /// The first part of it, links followed, that does not exist.
        missing: BString,
        /// Existing paths with nearly that name, nearest first, at most three.
        similar: Vec<BString>,
    },
    /// The store could not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// More annotated tags on top of each other than are followed.
    #[error("tag {id} leads through more than {allowed} tags")]
    TagChain {
        /// Where it begins.
        id: ObjectId,
        /// How many are followed.
        allowed: u32,
    },
    /// A tree's bytes are damaged.
    #[error("the folder '{}' is damaged (tree {id}): {error}", Shown(path))]
    Tree {
        /// The folder's path.
        path: BString,
        /// The tree.
        id: ObjectId,
        /// In which way.
        error: ObjectError,
    },
}

impl ViewError {
    /// Whether a cursor that returned this handed out true results before it, so that a
    /// caller may show them with the note that they are partial.
    pub fn leaves_a_partial_answer(&self) -> bool {
        matches!(self, Self::Interrupted(_) | Self::Limit(_) | Self::Tree { .. })
    }
}

impl From<ViewError> for Error {
    fn from(error: ViewError) -> Self {
        let (kind, code) = match error {
            ViewError::Interrupted(why) => return why.into(),
            ViewError::Limit(limit) => return limit.into(),
            ViewError::Store(error) => return error.into(),
            ViewError::BadGlob { .. } => (ErrorKind::Usage, "bad_glob"),
            ViewError::BadPath { .. } => (ErrorKind::Usage, "bad_path"),
            ViewError::InSubmodule { .. } => (ErrorKind::NotFound, "in_submodule"),
            ViewError::IsDirectory { .. } => (ErrorKind::Usage, "is_folder"),
            ViewError::LinkAbsolute { .. } => (ErrorKind::NotFound, "link_absolute"),
            ViewError::LinkEscapes { .. } => (ErrorKind::NotFound, "link_escapes"),
            ViewError::LinkLoop { .. } => (ErrorKind::NotFound, "link_loop"),
            ViewError::Object { .. } => (ErrorKind::Malformed, "malformed"),
            ViewError::NotADirectory { .. } => (ErrorKind::NotFound, "not_a_folder"),
            ViewError::NotFound { .. } => (ErrorKind::NotFound, "not_found"),
            ViewError::NoSuchPlace => (ErrorKind::Usage, "bad_cursor"),
            ViewError::TagChain { .. } => (ErrorKind::Limit, "tag_chain"),
            ViewError::Tree { .. } => (ErrorKind::Malformed, "malformed"),
            ViewError::WrongKind { .. } => (ErrorKind::Usage, "wrong_kind"),
        };
        Self::new(kind, error.to_string()).with_code(code).with_source(error)
    }
}

/// Peer bytes in a message.
struct Shown<'a>(&'a BString);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_for_people(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_escaped_line_that_says_what_to_do() {
        let error = ViewError::IsDirectory { path: "src".into() };
        assert_eq!(error.to_string(), "'src' is a folder: list it with ls");
        let error = ViewError::IsDirectory { path: b"a\x1b[2J\n\xe2\x80\xae\xff\xc3\xa9".into() };
        assert_eq!(
            error.to_string(),
            "'a\\x1b[2J\\n\\u{202e}\\xff\u{e9}' is a folder: list it with ls"
        );
        assert_eq!(Error::from(error).code(), "is_folder");
    }
}
