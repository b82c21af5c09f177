//! One commit of a repository, to be asked about.

mod asking;

use std::sync::{Arc, Mutex};

use bstr::{BStr, BString};

use crate::error::{Error, ErrorKind};
use crate::oid::ObjectId;
use crate::text::escape_for_people;
use crate::view::glob::PathFilter;
use crate::view::lines::LineRange;
use crate::view::path::Peeled;
use crate::view::picture::{PictureOptions, picture};
use crate::view::walk::{Place, WalkEntry, WalkOptions};
use crate::view::{ViewError, list, read};

use super::query::QueryBudget;
use super::repo::Repo;
use super::resolve::Resolved;
use super::results::{Entry, Folder, Lines, ReadAnswer, TreePicture};
use super::search::Walked;
use super::source::Source;
use super::spending::Spending;
use super::stop::Stop;

/// A ref resolved once to a commit. Every answer is about that commit and carries its id,
/// so answers stay consistent while the branch moves. A clone is the same snapshot.
#[derive(Debug)]
pub struct Snapshot<S> {
    repo: Repo<S>,
    asked_for: Arc<BString>,
    pin: Arc<Mutex<Pin>>,
    stop: Stop,
    spending: Spending,
}

impl<S> Clone for Snapshot<S> {
    fn clone(&self) -> Self {
        Self {
            repo: self.repo.clone(),
            asked_for: Arc::clone(&self.asked_for),
            pin: Arc::clone(&self.pin),
            stop: self.stop.clone(),
            spending: self.spending.clone(),
        }
    }
}

#[derive(Debug)]
struct Pin {
    id: ObjectId,
    ref_name: Option<BString>,
    warning: Option<String>,
    /// The commit and tree, once they are held; from then on the pin never moves.
    peeled: Option<Peeled>,
}

/// How a path is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Follow symbolic links inside the tree (the default), or read the link itself.
    pub follow: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { follow: true }
    }
}

impl<S: Source> Snapshot<S> {
    pub(super) fn new(repo: Repo<S>, asked_for: &BStr, resolved: Resolved) -> Self {
        let Resolved { id, ref_name, warning } = resolved;
        let pin = Pin { id, ref_name, warning, peeled: None };
        Self {
            repo,
            asked_for: Arc::new(asked_for.to_owned()),
            pin: Arc::new(Mutex::new(pin)),
            stop: Stop::default(),
            spending: Spending::default(),
        }
    }

    /// The same snapshot, whose work `stop` stops: computation where it looks whether to
    /// go on, and what is waited for at once.
    #[must_use]
    pub fn stopped_by(&self, stop: &Stop) -> Self {
        Self { stop: stop.clone(), ..self.clone() }
    }

    /// The same snapshot, on which no more is spent than `budget`: by everything that is
    /// asked of it and of its clones together, from now on. What comes to its end before
    /// that ends in a `Limit` error with code `requests_spent` or `bytes_spent`, or a
    /// `Cancelled` one with code `deadline`; a [`grep`](Self::grep) gives what it found.
    ///
    /// ```no_run
    /// # async fn example<S: gitsip::agent::Source>(
    /// #     snapshot: &gitsip::agent::Snapshot<S>,
    /// # ) -> Result<(), gitsip::Error> {
    /// use gitsip::agent::QueryBudget;
    ///
    /// let budget = QueryBudget { max_requests: Some(3), ..QueryBudget::default() };
    /// let folder = snapshot.within(&budget).ls("src").await?;
    /// # drop(folder);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn within(&self, budget: &QueryBudget) -> Self {
        self.spending_from(Spending::of(budget, self.source()))
    }

    /// The same snapshot, paid from `spending`.
    pub(super) fn spending_from(&self, spending: Spending) -> Self {
        Self { spending, ..self.clone() }
    }

    /// The same snapshot, which messages call `name`.
    pub(super) fn called(self, name: &str) -> Self {
        Self { asked_for: Arc::new(name.into()), ..self }
    }

    /// The repository it was taken of.
    pub fn repo(&self) -> &Repo<S> {
        &self.repo
    }

    /// The commit every answer is about. Final once anything was read: before that, a ref
    /// that moved away from a commit which the host no longer has is listed again once.
    pub fn commit(&self) -> ObjectId {
        let pin = self.pin();
        pin.peeled.as_ref().and_then(|peeled| peeled.commit).unwrap_or(pin.id)
    }

    /// The full name of the ref it was taken of; `None` for an id.
    pub fn ref_name(&self) -> Option<BString> {
        self.pin().ref_name.clone()
    }

    /// Something the caller should know: the name was both a branch and a tag.
    pub fn warning(&self) -> Option<String> {
        self.pin().warning.clone()
    }

    /// Reads a file or, when `options.follow` is off, a link; says where a submodule
    /// lives.
    ///
    /// # Errors
    ///
    /// `NotFound` with the nearest name when there is no such path; `Usage` with code
    /// `is_folder` for a folder, which [`ls`](Self::ls) lists.
    pub async fn read_path(
        &self,
        path: impl AsRef<[u8]>,
        options: ReadOptions,
    ) -> Result<ReadAnswer, Error> {
        let tree = self.tree().await?;
        let (path, limits) = (path.as_ref(), &*self.repo.limits);
        let found = self
            .answer(|store| read::read_path(store, &tree, path, options.follow, limits))
            .await?;
        Ok(ReadAnswer::of(self.commit(), found))
    }

    /// Reads any number of paths with at most one request for their blobs. A path that
    /// cannot be read does not keep the others from being read.
    pub async fn read_many(
        &self,
        paths: &[impl AsRef<[u8]>],
        options: ReadOptions,
    ) -> Result<Vec<Result<ReadAnswer, Error>>, Error> {
        let tree = self.tree().await?;
        let limits = &*self.repo.limits;
        let read = self
            .answer(|store| {
                read::read_many(store, &tree, paths, options.follow, limits, &self.watch())
            })
            .await?;
        let commit = self.commit();
        let answer = |found: Result<_, ViewError>| {
            let found = found.map_err(|error| self.with_place(error.into()))?;
            Ok(ReadAnswer::of(commit, found))
        };
        Ok(read.into_iter().map(answer).collect())
    }

    /// Reads the lines `range` of a file; a range that reaches past the end is clipped.
    pub async fn read_lines(
        &self,
        path: impl AsRef<[u8]>,
        range: LineRange,
    ) -> Result<Lines, Error> {
        match self.read_path(path, ReadOptions::default()).await? {
            ReadAnswer::File(file) => Ok(Lines::of(file, range)),
            ReadAnswer::Submodule(submodule) => Err(Error::new(
                ErrorKind::Usage,
                format!("'{}' is a submodule and has no lines", escape_for_people(&submodule.path)),
            )),
        }
    }

    /// The entries of a folder in the order of its tree, or the one thing that is at
    /// `path`. Sizes are given for what is held; nothing is fetched for them.
    pub async fn ls(&self, path: impl AsRef<[u8]>) -> Result<Folder, Error> {
        let tree = self.tree().await?;
        let (path, limits) = (path.as_ref(), &*self.repo.limits);
        let listing =
            self.answer(|store| list::ls(store, &tree, path, true, limits, &self.watch())).await?;
        Ok(Folder::of(self.commit(), listing))
    }

    /// The folder `path` and what is in it down to a depth, in a bounded number of entries,
    /// with how much is below each folder. Fetches trees only.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such folder.
    pub async fn tree_picture(
        &self,
        path: impl AsRef<[u8]>,
        options: &PictureOptions,
    ) -> Result<TreePicture, Error> {
        let tree = self.tree().await?;
        let (path, limits) = (path.as_ref(), &*self.repo.limits);
        let picture = self
            .answer(|store| picture(store, &tree, path, options, limits, &self.watch()))
            .await?;
        Ok(TreePicture::of(self.commit(), picture))
    }

    /// What is at `path`, without its content; a link is not followed.
    pub async fn stat(&self, path: impl AsRef<[u8]>) -> Result<Entry, Error> {
        let tree = self.tree().await?;
        let (path, limits) = (path.as_ref(), &*self.repo.limits);
        let found = self.answer(|store| list::stat(store, &tree, path, false, limits)).await?;
        Ok(Entry::from(found))
    }

    /// Hands every path that `options` let through to `visit`, in git's order, until it
    /// returns `false`.
    ///
    /// # Errors
    ///
    /// What was handed out before an error is true and partial: `Limit` for more entries
    /// than are visited, `Malformed` for a damaged folder.
    pub async fn walk(
        &self,
        options: WalkOptions,
        mut visit: impl FnMut(&WalkEntry<'_>) -> bool,
    ) -> Result<(), Error> {
        let tree = self.tree().await?;
        match self.walk_tree(tree, options, &Place::default(), &mut visit).await {
            Walked::Failed(error, _) => Err(error),
            Walked::Done | Walked::Stopped(_) => Ok(()),
        }
    }

    /// The files, links and submodules whose paths match `pattern`, in git's order: `*`
    /// stays within a name, `**` crosses folders.
    ///
    /// # Errors
    ///
    /// `Usage` for a pattern that does not parse; `Limit` when there are more matches than
    /// fit into memory, in which case [`walk`](Self::walk) hands them out one by one.
    pub async fn glob(&self, pattern: &str) -> Result<Vec<Entry>, Error> {
        let filter = PathFilter::new(&[pattern], &[] as &[&[u8]], &self.repo.limits)?;
        let mut found = Vec::new();
        // Trees within trees name more paths than they have bytes.
        let mut paid = self.source().budget().empty();
        let mut refused = Ok(());
        let options = WalkOptions { filter, ..WalkOptions::default() };
        self.walk(options, |entry| {
            let bytes = (size_of::<Entry>() + entry.path.len()) as u64;
            refused = paid.grow(bytes);
            if refused.is_ok() {
                found.push(Entry::from(*entry));
            }
            refused.is_ok()
        })
        .await?;
        refused?;
        Ok(found)
    }
}
