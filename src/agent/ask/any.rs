//! Any question, and the answer to any: what faces use that do not know which is asked.

use super::super::query::Query;
use super::super::repo::Repo;
use super::super::results::{
    Answer, Entry, Envelope, GrepItem, Plan, Prefetched, ReadItem, RefItem, StatItem, TreeNode,
    Truncated,
};
use super::super::source::Source;
use super::super::stop::Stop;
use super::{DEFAULT_PAGE_BYTES, put};
use crate::error::Error;
use crate::limits::Reservation;

/// The answer to any question; in JSON just that answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AnyAnswer {
    /// Of `refs`.
    Refs(Answer<RefItem>),
    /// Of `ls` and `glob`.
    Entries(Answer<Entry>),
    /// Of `tree`.
    Tree(Answer<TreeNode>),
    /// Of `stat`.
    Stat(Answer<StatItem>),
    /// Of `read`.
    Read(Answer<ReadItem>),
    /// Of `grep`.
    Grep(Answer<GrepItem>),
    /// Of `prefetch`.
    Prefetch(Answer<Prefetched>),
    /// Of `plan`.
    Plan(Answer<Plan>),
}

impl AnyAnswer {
    /// The answer to `query`, whose items are all of its kind.
    fn of(query: &Query, envelope: Envelope, items: Vec<AnyItem>) -> Self {
        macro_rules! answer {
            ($kind:ident) => {{
                let items = items.into_iter().filter_map(|item| match item {
                    AnyItem::$kind(item) => Some(item),
                    _ => None,
                });
                envelope.with(items.collect())
            }};
        }
        match query {
            Query::Refs(_) => Self::Refs(answer!(Ref)),
            Query::Ls(_) | Query::Glob(_) => Self::Entries(answer!(Entry)),
            Query::Tree(_) => Self::Tree(answer!(Tree)),
            Query::Stat(_) => Self::Stat(answer!(Stat)),
            Query::Read(_) => Self::Read(answer!(Read)),
            Query::Grep(_) => Self::Grep(answer!(Grep)),
            Query::Prefetch(_) => Self::Prefetch(answer!(Prefetch)),
            Query::Plan(_) => Self::Plan(answer!(Plan)),
        }
    }

    /// Why this is not all there is.
    pub fn truncated(&self) -> Option<Truncated> {
        match self {
            Self::Refs(answer) => answer.truncated,
            Self::Entries(answer) => answer.truncated,
            Self::Tree(answer) => answer.truncated,
            Self::Stat(answer) => answer.truncated,
            Self::Read(answer) => answer.truncated,
            Self::Grep(answer) => answer.truncated,
            Self::Prefetch(answer) => answer.truncated,
            Self::Plan(answer) => answer.truncated,
        }
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Refs(answer) => answer.items.is_empty(),
            Self::Entries(answer) => answer.items.is_empty(),
            Self::Tree(answer) => answer.items.is_empty(),
            Self::Stat(answer) => answer.items.is_empty(),
            Self::Read(answer) => answer.items.is_empty(),
            Self::Grep(answer) => answer.items.is_empty(),
            Self::Prefetch(answer) => answer.items.is_empty(),
            Self::Plan(answer) => answer.items.is_empty(),
        }
    }
}

/// An item of the answer to any question; in JSON just that item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
pub enum AnyItem {
    /// Of `refs`.
    Ref(RefItem),
    /// Of `ls` and `glob`.
    Entry(Entry),
    /// Of `tree`.
    Tree(TreeNode),
    /// Of `stat`.
    Stat(StatItem),
    /// Of `read`.
    Read(ReadItem),
    /// Of `grep`.
    Grep(GrepItem),
    /// Of `prefetch`.
    Prefetch(Prefetched),
    /// Of `plan`.
    Plan(Plan),
}

/// What is done with each item as it is found: whether there is room for more. All answers
/// that a program has the parts of come by way of one type of it, and so the code of the
/// questions is in it once.
type Take<'a> = dyn FnMut(AnyItem) -> Result<bool, Error> + Send + 'a;

impl<S: Source> Repo<S> {
    /// The answer to any question, one page of it.
    ///
    /// # Errors
    ///
    /// Those of [`Ask::ask`](super::Ask::ask).
    pub async fn ask(&self, query: &Query, stop: &Stop) -> Result<AnyAnswer, Error> {
        let mut items = Vec::new();
        let paid = self.source.budget().empty();
        let take: &mut Take<'_> = &mut |item| {
            items.push(item);
            Ok(true)
        };
        let envelope = self.put_any(query, stop, DEFAULT_PAGE_BYTES, Some(paid), take).await?;
        Ok(AnyAnswer::of(query, envelope, items))
    }

    /// The answer to any question, each item handed to `take` when it is found, until it
    /// returns `false`.
    ///
    /// # Errors
    ///
    /// Those of [`Ask::stream`](super::Ask::stream).
    pub async fn stream(
        &self,
        query: &Query,
        stop: &Stop,
        take: impl FnMut(AnyItem) -> Result<bool, Error>,
    ) -> Result<Envelope, Error> {
        self.put_any(query, stop, u64::MAX, None, take).await
    }

    /// Answers `query` on a page of `max_bytes` that is paid from `paid`.
    async fn put_any(
        &self,
        query: &Query,
        stop: &Stop,
        max_bytes: u64,
        paid: Option<Reservation>,
        mut take: impl FnMut(AnyItem) -> Result<bool, Error>,
    ) -> Result<Envelope, Error> {
        macro_rules! put {
            ($query:expr, $kind:ident) => {
                put($query, self, stop, max_bytes, paid, |item| take(AnyItem::$kind(item))).await
            };
        }
        match query {
            Query::Refs(query) => put!(query, Ref),
            Query::Ls(query) => put!(query, Entry),
            Query::Tree(query) => put!(query, Tree),
            Query::Stat(query) => put!(query, Stat),
            Query::Read(query) => put!(query, Read),
            Query::Glob(query) => put!(query, Entry),
            Query::Grep(query) => put!(&**query, Grep),
            Query::Prefetch(query) => put!(query, Prefetch),
            Query::Plan(query) => put!(query, Plan),
        }
    }
}
