//! Paths without their content: folders, globs, single paths, and fetching ahead.

use std::slice;

use bstr::BString;

use super::super::cursor::{Meaning, Position};
use super::super::prefetch::PrefetchOptions;
use super::super::query::{GlobQuery, LsQuery, PrefetchQuery, QueryBudget, StatQuery};
use super::super::results::{
    Entry, EntryType, Envelope, Failure, Folder, Prefetched, ReadError, StatItem, Truncated,
};
use super::super::search::Walked;
use super::super::source::Source;
use super::page::Offered;
use super::{Ask, Asking, Call, Ended, bad_place, check_sizes, partial};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::store::Objects as _;
use crate::view::file_types;
use crate::view::glob::PathFilter;
use crate::view::walk::{Place, WalkEntry, WalkOptions};

impl Ask for LsQuery {
    type Item = Entry;
    const METHOD: &str = "ls";

    async fn run<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        let limits = &*call.repo.limits;
        let meaning = Meaning::of(Self::METHOD).text(&self.at).text(&self.path);
        let question = meaning.number(self.recursive.into()).question();
        let call = call.bounded(self.budget.items(self.limit), self.max_bytes);
        let cursor = self.cursor.as_ref();
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let ended = match asking.snapshot.ls(&self.path).await {
            Ok(folder) if self.recursive => {
                let folder = [folder.resolved_path];
                let filter = PathFilter::new(&[] as &[&str], &folder, limits)?;
                walk(&mut asking, filter, true).await
            }
            Ok(folder) => entries(&mut asking, folder),
            Err(error) => Err(error),
        };
        asking.answer("gitsip.ls/1", ended)
    }
}

impl Ask for GlobQuery {
    type Item = Entry;
    const METHOD: &str = "glob";

    async fn run<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        check_sizes(self.patterns.len().max(self.types.len()), 0)?;
        if self.patterns.is_empty() && self.types.is_empty() {
            let why = "no pattern given; name one such as *.rs, or list with ls";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        let limits = &*call.repo.limits;
        // Judged before anything is fetched.
        self.filter(&self.path, limits)?;
        let meaning = Meaning::of(Self::METHOD).text(&self.at).text(&self.path);
        let question = meaning.texts(&self.patterns).texts(&self.types).question();
        let call = call.bounded(self.budget.items(self.limit), self.max_bytes);
        let cursor = self.cursor.as_ref();
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let folder = match self.path.is_empty() {
            true => Ok(BString::default()),
            false => asking.snapshot.ls(&self.path).await.map(|folder| folder.resolved_path),
        };
        let ended = match folder {
            Ok(folder) => walk(&mut asking, self.filter(&folder, limits)?, false).await,
            Err(error) => Err(error),
        };
        asking.answer("gitsip.glob/1", ended)
    }
}

impl GlobQuery {
    /// Which paths below `folder` are wanted.
    ///
    /// # Errors
    /// `Usage` for patterns and types that are none.
    pub(crate) fn filter(&self, folder: &BString, limits: &Limits) -> Result<PathFilter, Error> {
        let filter = PathFilter::new(&self.patterns, slice::from_ref(folder), limits)?;
        Ok(filter.with_names(&file_types::globs(&self.types)?)?)
    }
}

impl Ask for StatQuery {
    type Item = StatItem;
    const METHOD: &str = "stat";

    async fn run<S: Source, F: FnMut(StatItem) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        check_sizes(0, self.paths.len())?;
        let question = Meaning::of(Self::METHOD).text(&self.at).texts(&self.paths).question();
        let call = call.bounded(self.budget.items(self.limit), self.max_bytes);
        let cursor = self.cursor.as_ref();
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let first = match asking.at {
            None => 0,
            Some(Position::Part { path, offset: 0 }) => path,
            Some(_) => return Err(bad_place()),
        };
        let (mut truncated, mut next) = (None, None);
        let rest = self.paths.iter().zip(0..).skip(usize::try_from(first).unwrap_or(usize::MAX));
        for (path, number) in rest {
            let item = match asking.snapshot.stat(path).await {
                Ok(entry) => StatItem::Entry(entry),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Usage) => {
                    StatItem::Error(ReadError { path: path.clone(), error: Failure::from(&error) })
                }
                Err(error) => {
                    truncated = Some(asking.ended_early(&error).ok_or(error)?);
                    next = Some(Position::Part { path: number, offset: 0 });
                    break;
                }
            };
            if let Offered::Refused(why) = asking.page.offer(item)? {
                truncated = Some(why);
                next = Some(Position::Part { path: number, offset: 0 });
                break;
            }
        }
        let ended = Ended { truncated, next, search: None };
        Ok(asking.end("gitsip.stat/1", ended))
    }
}

impl Ask for PrefetchQuery {
    type Item = Prefetched;
    const METHOD: &str = "prefetch";

    async fn run<S: Source, F: FnMut(Prefetched) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        check_sizes(self.globs.len(), self.paths.len())?;
        let options = PrefetchOptions {
            max_blob_bytes: self.max_blob_bytes,
            filter: PathFilter::new(&self.globs, &self.paths, &call.repo.limits)?,
        };
        let question = Meaning::of(Self::METHOD).text(&self.at).question();
        let mut asking = call.begin(&self.at, None, question, &QueryBudget::default()).await?;
        asking.page.offer(asking.snapshot.prefetch(&options).await?)?;
        let ended = Ended { truncated: None, next: None, search: None };
        Ok(asking.end("gitsip.prefetch/1", ended))
    }
}

/// A page of the entries of `folder`.
fn entries<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
    asking: &mut Asking<S, F>,
    folder: Folder,
) -> Result<Ended, Error> {
    let first = match asking.place()?.levels() {
        [] => 0,
        [first] => *first,
        _ => return Err(bad_place()),
    };
    let mut truncated = folder.is_damaged.then_some(Truncated::Damaged);
    let mut next = None;
    let rest = folder.entries.into_iter().zip(0u32..);
    for (entry, number) in rest.skip(usize::try_from(first).unwrap_or(usize::MAX)) {
        if let Offered::Refused(why) = asking.page.offer(entry)? {
            truncated = Some(why);
            next = Some(Position::At(Place::new(vec![number])));
            break;
        }
    }
    Ok(Ended { truncated, next, search: None })
}

/// A page of the files, links and submodules that `filter` lets through.
async fn walk<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
    asking: &mut Asking<S, F>,
    filter: PathFilter,
    with_sizes: bool,
) -> Result<Ended, Error> {
    let start = asking.place()?;
    let Asking { snapshot, page, .. } = asking;
    let tree = snapshot.tree().await?;
    let spending = snapshot.spending();
    let store = snapshot.source().store();
    let (mut refused, mut failed) = (None, None);
    let options = WalkOptions { filter, ..WalkOptions::default() };
    let mut visit = |met: &WalkEntry<'_>| {
        let mut entry = Entry::from(*met);
        if with_sizes && entry.entry_type != EntryType::Submodule {
            // A size that cannot be told is no reason not to list.
            entry.size = store.header(&entry.id).ok().flatten().map(|header| header.size);
        }
        match page.offer(entry) {
            Ok(Offered::Taken) => true,
            Ok(Offered::Refused(why)) => {
                refused = Some(why);
                false
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        }
    };
    let walked = snapshot.walk_tree(tree, options, &start, &mut visit).await;
    if let Some(error) = failed {
        return Err(error);
    }
    let (truncated, place) = match walked {
        Walked::Done => (None, None),
        Walked::Stopped(place) => (refused, Some(place)),
        Walked::Failed(error, place) => {
            let found = partial(&error).filter(|_| page.taken() > 0);
            let why = spending.why_ended(&error).or(found).ok_or(error)?;
            (Some(why), Some(place))
        }
    };
    let next = place.map(Position::At);
    Ok(Ended { truncated, next, search: None })
}
