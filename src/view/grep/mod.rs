//! Search, in parts that know little of each other: patterns ([`Matcher`]), a searcher
//! of one file at a time ([`Searcher`]), a [`Sink`] that takes what is found and may
//! stop it, and the cursor that brings the files of a tree ([`Grep`]).
//!
//! Lines, their order, context and binary files are those of `git grep`; the syntax of
//! patterns is that of the regex crate, as in ripgrep. Nothing here prints.

mod cursor;
mod lines;
mod matcher;
mod pattern;
mod required;
mod scan;
mod searcher;
mod sink;
mod tell;
#[cfg(test)]
mod tests;
mod walking;
mod whole;

pub use crate::store::is_binary;
pub use cursor::{Grep, GrepOptions, GrepStats};
pub use matcher::{MatchRange, Matcher};
pub use pattern::{MatchOptions, PatternError, PatternKind, PatternSpec};
pub use searcher::{FilePlace, Output, SearchOptions, Searched, Searcher};
pub use sink::{ContextLine, FileRef, FileSummary, Hit, Sink};
pub use tell::Tell;
