//! Logins in a file: users with passwords as `htpasswd -B` writes them, and tokens, each with
//! the repositories they are for. It is read again when it changes.
//!
//! A line is `WHO:HASH GRANT...`, where a hash is bcrypt's of a password or `sha256:` and the
//! 64 digits of a token's, and `*` alone is everybody. A grant is `read` or `write` and globs of
//! names, in which `*` does not cross a slash and `**` does; without one all may be read.
//!
//! ```text
//! alice:$2y$10$zTLZ...          read team/** docs
//! ci:sha256:9f86d081884c7d65... read **
//! *                             read public/**
//! ```

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hashbrown::{HashMap, HashSet};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::auth::{Authorizer, Deciding, Presented, Principal};
use crate::error::{Error, ErrorKind};

/// Logins in a file.
pub struct AuthFile {
    path: PathBuf,
    /// Told of a change that could not be read; the logins before it stay.
    on_trouble: Box<dyn Fn(&Error) + Send + Sync>,
    state: Mutex<State>,
    /// Passwords are slow to check, on purpose.
    checks: Arc<Semaphore>,
}

struct State {
    rules: Arc<Rules>,
    stamp: Option<Stamp>,
    looked: Instant,
    /// Passwords that were right, as hashes with a salt of this process.
    known: HashSet<[u8; 32]>,
}

type Stamp = (u64, u64, SystemTime);

/// What a file says.
#[derive(Debug, Default)]
struct Rules {
    logins: HashMap<String, Login>,
    everybody: Option<GlobSet>,
    salt: u64,
}

#[derive(Debug)]
struct Login {
    secret: Secret,
    reads: GlobSet,
}

#[derive(Clone, Debug)]
enum Secret {
    Bcrypt(String),
    Sha256([u8; 32]),
}

impl AuthFile {
    /// Reads the logins in the file at `path`. Later changes that cannot be read are told to
    /// `on_trouble`.
    ///
    /// # Errors
    /// `Io` when there is no such file, `Usage` with the line that makes no sense.
    pub fn open(
        path: impl Into<PathBuf>,
        on_trouble: impl Fn(&Error) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let path = path.into();
        let (rules, stamp) = (read(&path)?, stamp(&path));
        let state = State { rules, stamp, looked: Instant::now(), known: HashSet::new() };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let checks = Arc::new(Semaphore::new(threads));
        let on_trouble = Box::new(on_trouble);
        Ok(Self { path, on_trouble, state: Mutex::new(state), checks })
    }

    /// What the file says now, or said a moment ago.
    fn rules(&self) -> Arc<Rules> {
        let mut state = self.lock();
        if state.looked.elapsed() >= LOOK_AGAIN {
            state.looked = Instant::now();
            let stamp = stamp(&self.path);
            if stamp != state.stamp {
                state.stamp = stamp;
                match read(&self.path) {
                    Ok(rules) => (state.rules, state.known) = (rules, HashSet::new()),
                    Err(error) => (self.on_trouble)(&error),
                }
            }
        }
        Arc::clone(&state.rules)
    }

    async fn check(&self, presented: &Presented) -> Result<Option<Principal>, Error> {
        let rules = self.rules();
        if let Some(name) = rules.token(&presented.secret) {
            return Ok(Some(Principal { name: Some(name) }));
        }
        let Some(user) = &presented.user else { return Ok(None) };
        let login = rules.logins.get(user);
        let hash = match login.map(|login| &login.secret) {
            Some(Secret::Bcrypt(hash)) => hash.clone(),
            // Whether there is such a user is not to be told by the time it takes.
            _ => match rules.any_bcrypt() {
                Some(hash) => hash,
                None => return Ok(None),
            },
        };
        let right = Some(Principal { name: Some(user.clone()) });
        let fingerprint = fingerprint(rules.salt, user, &presented.secret, &hash);
        if self.lock().known.contains(&fingerprint) {
            return Ok(right);
        }
        let turn = tokio::time::timeout(MAX_WAIT, Arc::clone(&self.checks).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Error::new(ErrorKind::RateLimited, "too many passwords at once"));
        };
        let is_known = matches!(login.map(|it| &it.secret), Some(Secret::Bcrypt(_)));
        let secret = presented.secret.clone();
        let is_right = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            bcrypt::verify(secret, &hash).unwrap_or(false)
        });
        let is_right = is_right.await.unwrap_or(false) && is_known;
        if is_right {
            let mut state = self.lock();
            // Only for the rules that it was checked by.
            if Arc::ptr_eq(&state.rules, &rules) {
                if state.known.len() >= MAX_KNOWN {
                    state.known.clear();
                }
                state.known.insert(fingerprint);
            }
        }
        Ok(if is_right { right } else { None })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authorizer for AuthFile {
    fn identify<'a>(
        &'a self,
        credentials: Option<&'a Presented>,
    ) -> Deciding<'a, Result<Option<Principal>, Error>> {
        Box::pin(async move {
            match credentials {
                None => Ok(Some(Principal::default())),
                Some(presented) => self.check(presented).await,
            }
        })
    }

    fn may_read<'a>(&'a self, who: &'a Principal, repository: &'a str) -> Deciding<'a, bool> {
        let rules = self.rules();
        let own = who.name.as_ref().and_then(|name| rules.logins.get(name));
        let own = own.is_some_and(|login| login.reads.is_match(repository));
        let may = own || rules.everybody.as_ref().is_some_and(|globs| globs.is_match(repository));
        Box::pin(std::future::ready(may))
    }
}

impl std::fmt::Debug for AuthFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Rules {
    fn parse(text: &str) -> Result<Self, Error> {
        let mut rules = Self { salt: salt(), ..Self::default() };
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            rules.add(line).map_err(|why| {
                Error::new(ErrorKind::Usage, format!("line {}: {why}", number + 1))
            })?;
        }
        Ok(rules)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let mut words = line.split_whitespace();
        let who = words.next().unwrap_or_default();
        let reads = globs(words)?;
        if who == "*" {
            self.everybody = Some(reads);
            return Ok(());
        }
        let (name, hash) = who.split_once(':').ok_or("it is no NAME:HASH")?;
        let secret = Secret::parse(hash).ok_or_else(|| {
            format!("the hash of '{name}' is neither bcrypt (htpasswd -B) nor sha256:64 digits")
        })?;
        match self.logins.insert(name.to_owned(), Login { secret, reads }) {
            Some(_) => Err(format!("'{name}' is there twice")),
            None => Ok(()),
        }
    }

    /// Whose token it is.
    fn token(&self, secret: &str) -> Option<String> {
        let hash: [u8; 32] = Sha256::digest(secret).into();
        let is_it = |login: &Login| matches!(&login.secret, Secret::Sha256(own) if *own == hash);
        self.logins.iter().find(|(_, login)| is_it(login)).map(|(name, _)| name.clone())
    }

    fn any_bcrypt(&self) -> Option<String> {
        self.logins.values().find_map(|login| match &login.secret {
            Secret::Bcrypt(hash) => Some(hash.clone()),
            Secret::Sha256(_) => None,
        })
    }
}

impl Secret {
    fn parse(hash: &str) -> Option<Self> {
        if let Some(hex) = hash.strip_prefix("sha256:") {
            // An id of the same length and the same digits.
            let id = crate::oid::ObjectId::from_hex(hex.as_bytes()).ok()?;
            return Some(Self::Sha256(id.as_bytes().try_into().ok()?));
        }
        let is_bcrypt = ["$2a$", "$2b$", "$2x$", "$2y$"].iter().any(|kind| hash.starts_with(kind));
        (is_bcrypt && hash.len() == 60).then(|| Self::Bcrypt(hash.to_owned()))
    }
}

/// The globs of all grants: who may write may read.
fn globs<'w>(words: impl Iterator<Item = &'w str>) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    let mut words = words.peekable();
    let mut add = |glob: &str| {
        let glob = glob.strip_suffix(".git").unwrap_or(glob);
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        set.add(built.map_err(|error| error.to_string())?);
        Ok::<_, String>(())
    };
    if words.peek().is_none() {
        add("**")?;
    }
    while let Some(word) = words.next() {
        if !matches!(word, "read" | "write") {
            return Err(format!("'{word}' stands where 'read' or 'write' should"));
        }
        let mut any = false;
        while let Some(glob) = words.next_if(|word| !matches!(*word, "read" | "write")) {
            add(glob)?;
            any = true;
        }
        if !any {
            add("**")?;
        }
    }
    set.build().map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<Arc<Rules>, Error> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("{shown}: {error}")).with_source(error)
    })?;
    Rules::parse(&text).map(Arc::new).map_err(|error| error.while_doing(shown))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

/// Differs in each process.
fn salt() -> u64 {
    use std::hash::BuildHasher as _;
    std::hash::RandomState::new().hash_one(0)
}

fn fingerprint(salt: u64, user: &str, secret: &str, hash: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in [&salt.to_le_bytes()[..], user.as_bytes(), hash.as_bytes(), secret.as_bytes()] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// How old the knowledge of the file may be.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Longer waits for a turn are answered with 503.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Passwords that are remembered.
const MAX_KNOWN: usize = 4096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HASH: &str = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

    fn may(rules: &Rules, who: &str, repository: &str) -> bool {
        rules.logins[who].reads.is_match(repository)
    }

    #[test]
    fn lines_say_who_may_read_what() {
        let token = "ab".repeat(32);
        let text = format!(
            "# logins\n\nalice:{HASH}\nbob:{HASH} read team/* docs.git write team/deep/**\n\
             ci:sha256:{token} read\n* read public/**\n"
        );
        let rules = Rules::parse(&text).unwrap();
        assert!(may(&rules, "alice", "any/thing") && may(&rules, "ci", "a/b"));
        for (name, is_read) in [
            ("team/a", true),
            ("team/a/b", false),
            ("team/deep/a/b", true),
            ("docs", true),
            ("docs/a", false),
            ("other", false),
        ] {
            assert_eq!(may(&rules, "bob", name), is_read, "{name}");
        }
        let everybody = rules.everybody.unwrap();
        assert!(everybody.is_match("public/a/b") && !everybody.is_match("docs"));
    }

    #[test]
    fn what_makes_no_sense_names_its_line() {
        for (line, says) in [
            ("alice", "no NAME:HASH"),
            ("alice:$apr1$x$y", "neither bcrypt"),
            ("alice:plain", "neither bcrypt"),
            ("ci:sha256:12", "neither bcrypt"),
            ("* team/*", "'team/*' stands where"),
            ("* read a{b", "unclosed"),
        ] {
            let error = Rules::parse(&format!("\n{line}\n")).unwrap_err().to_string();
            assert!(error.contains("line 2") && error.contains(says), "{error}");
        }
        let twice = format!("a:{HASH}\na:{HASH}\n");
        assert!(Rules::parse(&twice).unwrap_err().to_string().contains("twice"));
    }
}
