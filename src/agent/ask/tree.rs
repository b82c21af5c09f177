//! An outline of a folder: its entries down to a depth, in the order of a walk, and how
//! much is below each folder.

use super::super::cursor::{Meaning, Position};
use super::super::drive::Rounds;
use super::super::query::TreeQuery;
use super::super::results::{Below, EntryType, Envelope, TreeNode, Truncated};
use super::super::source::Source;
use super::page::{Offered, Page};
use super::{Ask, Asking, Call, Ended};
use crate::error::Error;
use crate::limits::{Interrupt, Limits};
use crate::store::{Lookup, MissingSet};
use crate::view::Step;
use crate::view::count::Counter;
use crate::view::glob::PathFilter;
use crate::view::walk::{Walk, WalkEntry, WalkOptions};

impl Ask for TreeQuery {
    type Item = TreeNode;
    const METHOD: &str = "tree";

    async fn run<S: Source, F: FnMut(TreeNode) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        let meaning = Meaning::of(Self::METHOD).text(&self.at).text(&self.path);
        let meaning = meaning.number(self.depth.into()).number(self.folders_only.into());
        let question = meaning.question();
        let repo = call.repo;
        let call = call.bounded(self.budget.items(self.limit), self.max_bytes);
        let cursor = self.cursor.as_ref();
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let folder = match asking.snapshot.ls(&self.path).await {
            Ok(folder) => [folder.resolved_path],
            Err(error) => return asking.answer("gitsip.tree/1", Err(error)),
        };
        let options = WalkOptions {
            filter: PathFilter::new(&[] as &[&str], &folder, &repo.limits)?,
            max_depth: Some(self.depth.max(1)),
            trees: true,
        };
        let tree = asking.snapshot.tree().await?;
        let walk = Walk::new(tree, options, &repo.limits).starting_at(&asking.place()?);
        let mut outline = Outline::new(walk, self, &repo.limits);
        let mut rounds = Rounds::default();
        let Asking { snapshot, page, .. } = &mut asking;
        let (source, watch) = (snapshot.source(), snapshot.watch());
        let error = loop {
            let step = source.compute(|| outline.go_on(source.store(), &watch, page));
            let fetched = match step {
                Ok(None) => break None,
                Ok(Some(missing)) => snapshot.fetch(&mut rounds, &missing).await,
                Err(error) => Err(error),
            };
            if let Err(error) = fetched {
                break Some(error);
            }
        };
        let truncated = match error {
            None => outline.refused,
            Some(error) => Some(asking.ended_early(&error).ok_or(error)?),
        };
        let next = truncated.map(|_| Position::At(outline.next_place()));
        let ended = Ended { truncated, next, search: None };
        Ok(asking.end("gitsip.tree/1", ended))
    }
}

/// An outline that is being drawn.
struct Outline {
    walk: Walk,
    counter: Counter,
    depth: u32,
    folders_only: bool,
    /// A folder that is not counted yet, because trees are missing.
    waiting: Option<TreeNode>,
    refused: Option<Truncated>,
}

impl Outline {
    fn new(walk: Walk, query: &TreeQuery, limits: &Limits) -> Self {
        let (depth, folders_only) = (query.depth.max(1), query.folders_only);
        let counter = Counter::new(limits);
        Self { walk, counter, depth, folders_only, waiting: None, refused: None }
    }

    /// Hands out entries until the page is full, the walk has ended or something is
    /// missing.
    fn go_on<F: FnMut(TreeNode) -> Result<bool, Error>>(
        &mut self,
        store: &impl crate::store::Objects,
        interrupt: &dyn Interrupt,
        page: &mut Page<F>,
    ) -> Result<Option<MissingSet>, Error> {
        loop {
            let node = match self.waiting.take() {
                Some(node) => node,
                None => match self.walk.next(store, interrupt)? {
                    Step::Item(entry) => node_of(&entry),
                    Step::Missing(missing) => return Ok(Some(missing)),
                    Step::Done => return Ok(None),
                },
            };
            let is_folder = node.entry_type == EntryType::Folder;
            if self.folders_only && !is_folder {
                continue;
            }
            // Kept until it is handed out, whatever comes in between.
            let mut node = self.waiting.insert(node).clone();
            if is_folder {
                match self.counter.count(store, &node.id, interrupt)? {
                    Lookup::Ready(counts) => {
                        node.below = Some(Below { files: counts.files, folders: counts.folders });
                        node.is_closed = node.depth >= self.depth;
                    }
                    Lookup::Missing(missing) => return Ok(Some(missing)),
                }
            }
            if let Offered::Refused(why) = page.offer(node)? {
                self.refused = Some(why);
                return Ok(None);
            }
            self.waiting = None;
        }
    }

    /// Where another page begins: at what was not handed out.
    fn next_place(&self) -> crate::view::walk::Place {
        match self.waiting {
            Some(_) => self.walk.place(),
            None => self.walk.next_place(),
        }
    }
}

fn node_of(entry: &WalkEntry<'_>) -> TreeNode {
    TreeNode {
        path: entry.path.into(),
        depth: entry.depth,
        entry_type: EntryType::of(entry.mode),
        id: entry.id,
        below: None,
        is_closed: false,
    }
}
