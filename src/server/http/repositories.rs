//! The repositories of a folder: found when they are asked for, and kept open.
//!
//! A name is a path below the folder, with or without `.git`, of a bare repository or of a work
//! tree. Symbolic links are followed as long as they stay inside, and a repository that reads
//! from outside (by a `.git` file, `commondir` or alternates) is not served.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use hashbrown::HashMap;

use super::options::HostingOptions;
use super::route::{MAX_DEPTH, is_served_name};
use crate::disk::{Repository, Setting};
use crate::error::Error;
use crate::limits::Budget;
use crate::server::{KnownSets, Served};

/// A repository that is open. A clone is the same one.
pub(super) type Hosted = Arc<Open>;

/// A repository that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) served: Served<Repository>,
    /// The same one.
    pub(super) repository: Repository,
    stamps: Stamps,
}

/// All that are open.
#[derive(Debug)]
pub(super) struct Repositories {
    root: PathBuf,
    open: Mutex<HashMap<PathBuf, Kept>>,
    /// What refs of all of them reach: a share of the budget.
    known: KnownSets,
}

#[derive(Debug)]
struct Kept {
    hosted: Hosted,
    /// Counts requests: the least was not used for longest.
    used: u64,
}

impl Repositories {
    /// Those below `root`; `budget` pays for what is kept of them.
    pub(super) fn new(root: &Path, budget: &Budget) -> Result<Self, Error> {
        let root = std::fs::canonicalize(root).map_err(|error| {
            let why = format!("'{}' cannot be served: {error}", root.display());
            Error::new(crate::ErrorKind::NotFound, why).with_source(error)
        })?;
        let known = KnownSets::new(budget.limit_bytes() / 4, budget);
        Ok(Self { root, open: Mutex::default(), known })
    }

    /// How many are open.
    pub(super) fn open(&self) -> usize {
        self.lock().len()
    }

    /// Whether the folder can be listed.
    pub(super) fn is_readable(&self) -> bool {
        std::fs::read_dir(&self.root).is_ok()
    }

    /// The names of all that are there, without `.git` at their ends, sorted; at most
    /// [`MAX_LISTED`]. Symbolic links are not followed.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut seen = 0;
        let mut folders = vec![(self.root.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                let name = entry.file_name();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let Some(name) = name.to_str().filter(|name| is_served_name(name)) else {
                    continue;
                };
                if !is_folder || seen > MAX_SEEN {
                    continue;
                }
                let full = format!("{prefix}{name}");
                let path = entry.path();
                if path.join(".git").exists() || is_bare(&path) {
                    names.push(full.strip_suffix(".git").unwrap_or(&full).to_owned());
                } else if depth + 1 < MAX_DEPTH {
                    folders.push((path, format!("{full}/"), depth + 1));
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        names.truncate(MAX_LISTED);
        names
    }

    /// The repository called `name`, whose parts were judged one by one; `None` when there is
    /// none that may be served.
    pub(super) fn find(
        &self,
        name: &str,
        options: &HostingOptions,
        budget: &Budget,
    ) -> Result<Option<Hosted>, Error> {
        let Some(git_dir) = self.git_dir(name) else { return Ok(None) };
        let stamps = Stamps::of(&git_dir);
        if let Some(hosted) = self.kept(&git_dir, &stamps) {
            return Ok(Some(hosted));
        }
        let repository = Repository::open(&git_dir, &options.limits, budget)?;
        // A folder that only looks like one is searched for around.
        let is_itself = repository.git_dir() == git_dir;
        if !is_itself || !repository.folders().all(|folder| self.contains(folder)) {
            return Ok(None);
        }
        let shallow = repository.shallow()?;
        let settings = repository.settings()?;
        let serve = options.serve.clone().within(settings.iter().map(Setting::pair))?;
        let served = Served::new(repository.clone(), serve, &options.limits, budget)
            .with_workers(options.workers.clone())
            .with_known_sets(&self.known)
            .with_shallow(shallow);
        let hosted = Arc::new(Open { served, repository, stamps });
        self.keep(git_dir, &hosted, options.max_open);
        Ok(Some(hosted))
    }

    /// The git folder of the repository called `name`, without any link in it.
    fn git_dir(&self, name: &str) -> Option<PathBuf> {
        let plain = name.strip_suffix(".git").filter(|plain| !plain.ends_with('/'));
        let other = plain.map_or_else(|| format!("{name}.git"), str::to_owned);
        [name, &other].into_iter().find_map(|name| {
            let folder = std::fs::canonicalize(self.root.join(name)).ok()?;
            [folder.join(".git"), folder].into_iter().find_map(|place| {
                let place = git_folder(&place)?;
                self.contains(&place).then_some(place)
            })
        })
    }

    /// Whether `path` is inside, wherever links in it lead.
    fn contains(&self, path: &Path) -> bool {
        std::fs::canonicalize(path).is_ok_and(|path| path.starts_with(&self.root))
    }

    fn kept(&self, git_dir: &Path, stamps: &Stamps) -> Option<Hosted> {
        let mut open = self.lock();
        let now = open.values().map(|kept| kept.used).max().unwrap_or(0) + 1;
        let kept = open.get_mut(git_dir).filter(|kept| kept.hosted.stamps == *stamps)?;
        kept.used = now;
        Some(Arc::clone(&kept.hosted))
    }

    fn keep(&self, git_dir: PathBuf, hosted: &Hosted, max_open: usize) {
        let mut open = self.lock();
        let used = open.values().map(|kept| kept.used).max().unwrap_or(0) + 1;
        open.insert(git_dir, Kept { hosted: Arc::clone(hosted), used });
        while open.len() > max_open.max(1) {
            let oldest = open.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(path, _)| path.clone()) else { return };
            open.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Kept>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

/// The folder that `place` is or names as a `.git` file, if it may be a repository.
fn git_folder(place: &Path) -> Option<PathBuf> {
    let metadata = std::fs::metadata(place).ok()?;
    let folder = match metadata.is_dir() {
        true => place.to_owned(),
        false => Repository::named_by(place)?,
    };
    let folder = std::fs::canonicalize(folder).ok()?;
    folder.join("HEAD").symlink_metadata().is_ok().then_some(folder)
}

/// What a repository is opened with, as it was then: when one of these changes, it is opened
/// anew. Refs and packs may change all the time.
#[derive(Debug, PartialEq, Eq)]
struct Stamps([Option<(u64, u64, Option<SystemTime>)>; 5]);

impl Stamps {
    fn of(git_dir: &Path) -> Self {
        let config = Repository::config_path(git_dir).ok();
        let names = ["", "commondir", "objects/info/alternates", "shallow"];
        let [own, common, alternates, shallow] = names.map(|name| Some(git_dir.join(name)));
        Self([own, common, config, alternates, shallow].map(|path| {
            let metadata = std::fs::metadata(path?).ok()?;
            // A folder's size and time change with every ref.
            match metadata.is_dir() {
                true => Some((metadata.ino(), 0, None)),
                false => Some((metadata.ino(), metadata.len(), metadata.modified().ok())),
            }
        }))
    }
}

/// Repositories that are listed.
const MAX_LISTED: usize = 10_000;
/// Entries of folders that are looked at for it.
const MAX_SEEN: usize = 1_000_000;
