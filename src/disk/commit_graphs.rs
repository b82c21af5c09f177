//! The commit-graphs of a repository and of those it borrows from: read when a commit is
//! first looked up, and again when their files have changed.
//!
//! What a graph says of a commit is true for ever, so that one that is old only knows fewer
//! of them. It may also know some that are gone: whoever asks looks whether they are held.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;

use super::files::{MAX_SMALL_FILE_BYTES, read_small};
use super::helpers;
use crate::commit_graph::{CommitGraph, GraphCommit};
use crate::oid::{ObjectFormat, ObjectId};

#[derive(Debug)]
pub(super) struct CommitGraphs {
    /// The `info` folders of all object folders, the repository's own first.
    folders: Vec<PathBuf>,
    format: ObjectFormat,
    now: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    graphs: Option<Arc<Vec<CommitGraph<Bytes>>>>,
    /// Of the files that begin a graph, when they were read.
    stamps: Vec<Stamp>,
    /// Whether the files are compared with `stamps` before the next use.
    is_doubted: bool,
}

type Stamp = Option<(u64, Option<SystemTime>)>;

impl CommitGraphs {
    /// Those of the object folders `folders`. Nothing is read yet.
    pub(super) fn new(folders: &[PathBuf], format: ObjectFormat) -> Self {
        let folders = folders.iter().map(|folder| folder.join("info")).collect();
        Self { folders, format, now: Mutex::default() }
    }

    /// What a graph says of the commit `id`.
    pub(super) fn find(&self, id: &ObjectId) -> Option<GraphCommit> {
        self.graphs().iter().find_map(|graph| graph.find(id))
    }

    /// Has the files looked at before the next use: they may have changed.
    pub(super) fn doubt(&self) {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).is_doubted = true;
    }

    fn graphs(&self) -> Arc<Vec<CommitGraph<Bytes>>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let is_doubted = std::mem::take(&mut now.is_doubted);
        match &now.graphs {
            Some(graphs) if !is_doubted || now.stamps == self.stamps() => Arc::clone(graphs),
            _ => {
                now.stamps = self.stamps();
                let graphs = self.folders.iter().filter_map(|folder| self.open(folder));
                Arc::clone(now.graphs.insert(Arc::new(graphs.collect())))
            }
        }
    }

    fn stamps(&self) -> Vec<Stamp> {
        let paths = self.folders.iter().flat_map(|folder| [single(folder), chain(folder)]);
        let stamp = |path| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()))
        };
        paths.map(stamp).collect()
    }

    /// The graph of one folder, which has one file or a chain of them.
    fn open(&self, folder: &Path) -> Option<CommitGraph<Bytes>> {
        let of_one = helpers::open(&single(folder), |bytes| {
            let mut graph = CommitGraph::new(self.format);
            graph.add(bytes).map(|()| graph)
        });
        of_one.or_else(|| self.open_chain(&chain(folder)))
    }

    /// As many files of the chain at `path` as can be read, from the lowest on.
    fn open_chain(&self, path: &Path) -> Option<CommitGraph<Bytes>> {
        let names = match read_small(path, MAX_SMALL_FILE_BYTES) {
            Ok(names) => names?,
            Err(error) => {
                helpers::ignore(path, &error.to_string());
                return None;
            }
        };
        let mut graph = CommitGraph::new(self.format);
        for name in names.split(|&byte| byte == b'\n').filter(|name| !name.is_empty()) {
            let name = ObjectId::from_hex(name).ok().map(|id| format!("graph-{id}.graph"));
            // What is at the bottom may be borrowed.
            let mut paths = self.folders.iter().filter_map(|folder| {
                Some(folder.join("commit-graphs").join(name.as_ref()?)).filter(|it| it.exists())
            });
            let Some(layer) = paths.next() else {
                helpers::ignore(path, "a file that it names is not there");
                break;
            };
            if helpers::open(&layer, |bytes| graph.add(bytes)).is_none() {
                break;
            }
        }
        (!graph.is_empty()).then_some(graph)
    }
}

fn single(folder: &Path) -> PathBuf {
    folder.join("commit-graph")
}

fn chain(folder: &Path) -> PathBuf {
    folder.join("commit-graphs").join("commit-graph-chain")
}
