//! Answers to [`Query`] values: page by page, or item by item as they are found.
//!
//! What every method shares is here: the cursor, the commit it pins, and what an answer
//! says about itself. Each method is a file beside, and `page.rs` knows when a page is full.
//! Nothing here prints or encodes.

mod any;
mod chosen;
mod grep;
mod list;
mod page;
mod plan;
mod read;
mod refs;
mod tree;
mod weigh;

use bstr::BString;
use tracing::Instrument as _;

use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupted, Reservation};
use crate::store::Objects as _;
use crate::view::ViewError;
use crate::view::walk::Place;

use super::cursor::{Cursor, Position, Question};
use super::query::QueryBudget;
use super::repo::Repo;
use super::results::{Answer, AnswerStats, Envelope, RepoInfo, SearchStats, Stats, Truncated};
use super::snapshot::Snapshot;
use super::source::Source;
use super::spending::Spending;
use super::stop::Stop;
use super::trace;

use page::Page;

pub use any::{AnyAnswer, AnyItem};

/// Bytes of JSON on a page when the question does not say. Enough for 10,000 hits.
const DEFAULT_PAGE_BYTES: u64 = 4 << 20;
/// Patterns of one question: more are no question of a person or program seen.
const MAX_PATTERNS: usize = 1_000;
/// Paths of one question.
const MAX_PATHS: usize = 10_000;

/// A question that can be put to a repository.
///
/// ```no_run
/// # async fn example<S: gitsip::agent::Source>(
/// #     repo: &gitsip::agent::Repo<S>,
/// # ) -> Result<(), gitsip::Error> {
/// use gitsip::agent::{Ask as _, GlobQuery, Stop};
///
/// let mut query =
///     GlobQuery { patterns: vec!["*.rs".into()], limit: Some(100), ..GlobQuery::default() };
/// loop {
///     let page = query.ask(repo, &Stop::default()).await?;
///     page.items.iter().for_each(|entry| println!("{}", entry.path));
///     query.cursor = page.next;
///     if query.cursor.is_none() {
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub trait Ask: Sized {
    /// What is found.
    type Item;

    /// The word that JSON and traces have for the question.
    #[doc(hidden)]
    const METHOD: &'static str;

    #[doc(hidden)]
    fn run<S: Source, F: FnMut(Self::Item) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> impl Future<Output = Result<Envelope, Error>>;

    /// One page of the answer.
    ///
    /// # Errors
    ///
    /// What kept the first item from being found; an answer that is cut short behind it
    /// says so in [`truncated`](Answer::truncated). `Usage` with code `bad_cursor` for a
    /// cursor that is none, or belongs to another question.
    fn ask<S: Source>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
    ) -> impl Future<Output = Result<Answer<Self::Item>, Error>> {
        async {
            let mut items = Vec::new();
            let paid = repo.source.budget().empty();
            let collect = |item| {
                items.push(item);
                Ok(true)
            };
            let envelope = put(self, repo, stop, DEFAULT_PAGE_BYTES, Some(paid), collect).await?;
            Ok(envelope.with(items))
        }
    }

    /// The same with each item handed to `take` when it is found, until it returns `false`.
    /// Without a `max_bytes` in the question their bytes are not limited.
    ///
    /// # Errors
    ///
    /// Those of [`ask`](Self::ask) and of `take`.
    fn stream<S: Source>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        take: impl FnMut(Self::Item) -> Result<bool, Error>,
    ) -> impl Future<Output = Result<Envelope, Error>> {
        put(self, repo, stop, u64::MAX, None, take)
    }
}

/// Answers `question` within its span, on a page of `max_bytes` that is paid from `paid`.
async fn put<Q: Ask, S: Source>(
    question: &Q,
    repo: &Repo<S>,
    stop: &Stop,
    max_bytes: u64,
    paid: Option<Reservation>,
    mut take: impl FnMut(Q::Item) -> Result<bool, Error>,
) -> Result<Envelope, Error> {
    let span = trace::question(Q::METHOD, || repo.source.name());
    let mut items = 0;
    let page = Page::new(max_bytes, paid, |item| {
        items += 1;
        take(item)
    });
    // A future with all of a question in it is large, and those around it would be too.
    let answer = Box::pin(question.run(Call { repo, stop, page }));
    let answered = answer.instrument(span.clone()).await;
    trace::answered(&span, items, &answered);
    answered
}

impl<S: Source> Repo<S> {
    /// What is known of the repository without asking its host.
    pub fn info(&self) -> RepoInfo {
        let Stats { requests, bytes_received, objects, memory, fallbacks, .. } = self.stats();
        RepoInfo {
            name: self.source.name(),
            object_format: self.source.store().format().name().to_owned(),
            objects,
            memory_bytes: memory.used_bytes,
            requests,
            bytes_received,
            fallbacks,
        }
    }
}

/// A question as it is put: to whom, until when, and where its answer goes.
pub struct Call<'a, S, F> {
    repo: &'a Repo<S>,
    stop: &'a Stop,
    page: Page<F>,
}

/// A question about a commit, on its way to an answer.
struct Asking<S, F> {
    snapshot: Snapshot<S>,
    page: Page<F>,
    question: Question,
    /// The ref of the page before, when there was one.
    ref_name: Option<BString>,
    /// Items on the pages before.
    found: u64,
    /// Where this page begins; `None` for the first.
    at: Option<Position>,
    before: Stats,
}

/// How a page ended.
struct Ended {
    truncated: Option<Truncated>,
    /// Where the next page begins.
    next: Option<Position>,
    search: Option<SearchStats>,
}

impl<S: Source, F> Call<'_, S, F> {
    /// The same with the page that a question wants.
    fn bounded(self, limit: Option<u64>, max_bytes: Option<u64>) -> Self {
        Self { page: self.page.bounded(limit, max_bytes), ..self }
    }

    /// Pins the commit that `question` is about: the one that `at` names, or that of the
    /// page before. All that is asked for it is paid from `budget`, and its time begins now.
    async fn begin(
        self,
        at: &str,
        cursor: Option<&String>,
        question: Question,
        budget: &QueryBudget,
    ) -> Result<Asking<S, F>, Error> {
        let Self { repo, stop, page } = self;
        let before = repo.stats();
        let source = &*repo.source;
        let spending = Spending::of(budget, source);
        let Some(text) = cursor else {
            let snapshot = repo.snapshot_for(at.as_bytes(), spending.clone());
            let snapshot = spending.guard(stop, source, snapshot).await?.stopped_by(stop);
            let (ref_name, found, at) = (None, 0, None);
            return Ok(Asking { snapshot, page, question, ref_name, found, at, before });
        };
        let Cursor { commit, ref_name, found, at: place, .. } = Cursor::decode(text, question)?;
        // Only refs have no commit, and theirs is another question.
        let commit = commit.ok_or_else(bad_place)?;
        // What is said of it is what the first page said.
        let snapshot = repo.snapshot_for(commit.to_string().as_bytes(), spending).await?;
        let snapshot = snapshot.called(at).stopped_by(stop);
        Ok(Asking { snapshot, page, question, ref_name, found, at: Some(place), before })
    }
}

impl<S: Source, F> Asking<S, F> {
    /// Where a walk begins.
    fn place(&self) -> Result<Place, Error> {
        match &self.at {
            None => Ok(Place::default()),
            Some(Position::At(place)) => Ok(place.clone()),
            Some(_) => Err(bad_place()),
        }
    }

    /// Why `error` ends the answer and is none itself: something was found before, or a
    /// budget was to end it.
    fn ended_early(&self, error: &Error) -> Option<Truncated> {
        let spent = self.snapshot.spending().why_ended(error);
        spent.or_else(|| partial(error).filter(|_| self.page.taken() > 0))
    }

    /// The answer that `ended` ends; an empty one where a budget was spent before anything
    /// was found.
    fn answer(self, schema: &'static str, ended: Result<Ended, Error>) -> Result<Envelope, Error> {
        let ended = ended.or_else(|error: Error| {
            let why = self.snapshot.spending().why_ended(&error).ok_or(error)?;
            Ok::<_, Error>(Ended { truncated: Some(why), next: self.at.clone(), search: None })
        })?;
        Ok(self.end(schema, ended))
    }

    fn end(self, schema: &'static str, ended: Ended) -> Envelope {
        let Ended { truncated, next, search } = ended;
        let commit = Some(self.snapshot.commit());
        let ref_name = self.ref_name.or_else(|| self.snapshot.ref_name());
        let next = next.map(|at| {
            let found = self.found.saturating_add(self.page.taken());
            let (question, ref_name) = (self.question, ref_name.clone());
            Cursor { question, commit, ref_name, found, at }.encode()
        });
        let mut stats = AnswerStats::between(&self.before, self.snapshot.repo().stats());
        stats.warnings.extend(self.snapshot.warning());
        stats.search = search;
        Envelope { schema, commit, ref_name, truncated, next, stats }
    }
}

/// Why an error leaves what was found before it true, if it does.
fn partial(error: &Error) -> Option<Truncated> {
    if let Some(spent) = Truncated::of_spent(error) {
        return Some(spent);
    }
    let source = std::error::Error::source(error);
    if error.kind() == ErrorKind::Limit {
        return Some(Truncated::Budget);
    }
    match source.and_then(|source| source.downcast_ref()) {
        Some(Interrupted::Deadline) => return Some(Truncated::Deadline),
        Some(Interrupted::Cancelled) => return None,
        None => {}
    }
    let is_damaged = matches!(source?.downcast_ref(), Some(ViewError::Tree { .. }));
    is_damaged.then_some(Truncated::Damaged)
}

/// A cursor of the right question that says something else than its answers say.
fn bad_place() -> Error {
    ViewError::NoSuchPlace.into()
}

/// Refuses questions that are too large to be meant.
fn check_sizes(patterns: usize, paths: usize) -> Result<(), Error> {
    for (what, count, most) in [("patterns", patterns, MAX_PATTERNS), ("paths", paths, MAX_PATHS)] {
        if count > most {
            let why = format!("{count} {what} are more than the {most} of one question");
            return Err(Error::new(ErrorKind::Usage, why).with_code("too_many"));
        }
    }
    Ok(())
}
