//! Paths without their content: folders, globs, single paths, and fetching ahead.

use std::slice;

use bstr::BString;

use super::super::cursor::{Meaning, Position};
use super::super::prefetch::PrefetchOptions;
use super::super::query::{GlobQuery, LsQuery, PrefetchQuery, StatQuery};
use super::super::repo::Repo;
use super::super::results::{
    Entry, EntryType, Envelope, Failure, Folder, Prefetched, ReadError, StatItem, Truncated,
};
use super::super::snapshot::Walked;
use super::super::source::Source;
use super::super::stop::Stop;
use super::page::{Offered, Page};
use super::{Ask, Asking, Ended, bad_place, check_sizes, partial};
use crate::error::{Error, ErrorKind};
use crate::store::Objects as _;
use crate::view::glob::PathFilter;
use crate::view::walk::{Place, WalkEntry, WalkOptions};

impl Ask for LsQuery {
    type Item = Entry;

    async fn run<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        page: Page<F>,
    ) -> Result<Envelope, Error> {
        let mut page = page.bounded(self.limit, self.max_bytes);
        let meaning = Meaning::of("ls").text(&self.at).text(&self.path);
        let question = meaning.number(self.recursive.into()).question();
        let asking = Asking::begin(repo, stop, &self.at, self.cursor.as_deref(), question).await?;
        let folder = asking.snapshot.ls(&self.path).await?;
        let ended = if self.recursive {
            let folder = [folder.resolved_path];
            let filter = PathFilter::new(&[] as &[&str], &folder, &repo.limits)?;
            walk(&asking, filter, true, &mut page).await?
        } else {
            entries(&asking, folder, &mut page)?
        };
        Ok(asking.end("gitsip.ls/1", ended))
    }
}

impl Ask for GlobQuery {
    type Item = Entry;

    async fn run<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        page: Page<F>,
    ) -> Result<Envelope, Error> {
        let mut page = page.bounded(self.limit, self.max_bytes);
        check_sizes(self.patterns.len(), 0)?;
        if self.patterns.is_empty() {
            let why = "no pattern given; name one such as *.rs, or list with ls";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        // Judged before anything is fetched.
        PathFilter::new(&self.patterns, slice::from_ref(&self.path), &repo.limits)?;
        let meaning = Meaning::of("glob").text(&self.at).text(&self.path);
        let question = meaning.texts(&self.patterns).question();
        let asking = Asking::begin(repo, stop, &self.at, self.cursor.as_deref(), question).await?;
        let folder = match self.path.is_empty() {
            true => BString::default(),
            false => asking.snapshot.ls(&self.path).await?.resolved_path,
        };
        let filter = PathFilter::new(&self.patterns, &[folder], &repo.limits)?;
        let ended = walk(&asking, filter, false, &mut page).await?;
        Ok(asking.end("gitsip.glob/1", ended))
    }
}

impl Ask for StatQuery {
    type Item = StatItem;

    async fn run<S: Source, F: FnMut(StatItem) -> Result<bool, Error>>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        page: Page<F>,
    ) -> Result<Envelope, Error> {
        let mut page = page.bounded(self.limit, self.max_bytes);
        check_sizes(0, self.paths.len())?;
        let question = Meaning::of("stat").text(&self.at).texts(&self.paths).question();
        let asking = Asking::begin(repo, stop, &self.at, self.cursor.as_deref(), question).await?;
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
                Err(error) => return Err(error),
            };
            if let Offered::Refused(why) = page.offer(item)? {
                truncated = Some(why);
                next = Some(Position::Part { path: number, offset: 0 });
                break;
            }
        }
        let ended = Ended { truncated, next, taken: page.taken(), search: None };
        Ok(asking.end("gitsip.stat/1", ended))
    }
}

impl Ask for PrefetchQuery {
    type Item = Prefetched;

    async fn run<S: Source, F: FnMut(Prefetched) -> Result<bool, Error>>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        mut page: Page<F>,
    ) -> Result<Envelope, Error> {
        check_sizes(self.globs.len(), self.paths.len())?;
        let options = PrefetchOptions {
            max_blob_bytes: self.max_blob_bytes,
            filter: PathFilter::new(&self.globs, &self.paths, &repo.limits)?,
        };
        let question = Meaning::of("prefetch").text(&self.at).question();
        let asking = Asking::begin(repo, stop, &self.at, None, question).await?;
        page.offer(asking.snapshot.prefetch(&options).await?)?;
        let ended = Ended { truncated: None, next: None, taken: 1, search: None };
        Ok(asking.end("gitsip.prefetch/1", ended))
    }
}

/// A page of the entries of `folder`.
fn entries<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
    asking: &Asking<S>,
    folder: Folder,
    page: &mut Page<F>,
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
        if let Offered::Refused(why) = page.offer(entry)? {
            truncated = Some(why);
            next = Some(Position::At(Place::new(vec![number])));
            break;
        }
    }
    Ok(Ended { truncated, next, taken: page.taken(), search: None })
}

/// A page of the files, links and submodules that `filter` lets through.
async fn walk<S: Source, F: FnMut(Entry) -> Result<bool, Error>>(
    asking: &Asking<S>,
    filter: PathFilter,
    with_sizes: bool,
    page: &mut Page<F>,
) -> Result<Ended, Error> {
    let snapshot = &asking.snapshot;
    let tree = snapshot.tree().await?;
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
    let walked = snapshot.walk_tree(tree, options, &asking.place()?, &mut visit).await;
    if let Some(error) = failed {
        return Err(error);
    }
    let (truncated, place) = match walked {
        Walked::Done => (None, None),
        Walked::Stopped(place) => (refused, Some(place)),
        Walked::Failed(error, place) => match partial(&error) {
            Some(why) if page.taken() > 0 => (Some(why), Some(place)),
            _ => return Err(error),
        },
    };
    let next = place.map(Position::At);
    Ok(Ended { truncated, next, taken: page.taken(), search: None })
}
