//! The real `git`, with fixed names and dates and without anybody's configuration, and
//! repositories made with it.
//!
//! History is made by `git fast-import`, so that thousands of files, any byte in a name,
//! symbolic links and submodules cost one process and never touch a working tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

/// Seals `command` off from the machine: no configuration but the repository's own, no
/// proxies, fixed names and dates.
pub fn isolate(command: &mut Command, home: &Path) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_ascii_lowercase();
        let is_ours = ["gitsip_cache", "gitsip_token", "netrc", "ssh_askpass", "xdg_config_home"];
        if text.starts_with("git_") || text.ends_with("_proxy") || is_ours.contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "A U Thor")
            .env(format!("GIT_{who}_EMAIL"), "author@example.com")
            .env(format!("GIT_{who}_DATE"), format!("{FIRST_COMMIT_TIME} +0000"));
    }
    command.env("GIT_CONFIG_COUNT", CONFIG.len().to_string());
    for (i, (key, value)) in CONFIG.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{i}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{i}"), value);
    }
}

/// A temporary folder with a home and room for repositories; removed on drop.
#[derive(Debug)]
pub struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    /// An empty one.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("gitsip-test-").tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        std::fs::create_dir(dir.path().join("repos")).unwrap();
        Self { dir }
    }

    /// The folder itself, for whatever else a test needs.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Where [`bare`](Self::bare) puts repositories; what an HTTP server serves.
    pub fn repos(&self) -> PathBuf {
        self.path().join("repos")
    }

    /// A sealed `git` that runs in the sandbox.
    pub fn git(&self) -> Git {
        Git::new(self.path(), self.path().join("home"))
    }

    /// A new bare repository `repos/NAME` whose branch is `main` and that allows
    /// filters and any id to be asked for.
    pub fn bare(&self, name: &str) -> Repo {
        let repo = self.strict_bare(name, &[]);
        repo.git().run(["config", "uploadpack.allowFilter", "true"]);
        repo.git().run(["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repo
    }

    /// A new bare repository with git's own defaults, made with further options of
    /// `git init` (`--object-format=sha256`, `-b weird`).
    pub fn strict_bare(&self, name: &str, options: &[&str]) -> Repo {
        let path = self.repos().join(name);
        let mut args = vec!["init", "--quiet", "--bare"];
        args.extend(options);
        self.git().run(args.iter().map(OsStr::new).chain([path.as_os_str()]));
        Repo { path, home: self.path().join("home"), commits: AtomicU64::new(0) }
    }

    /// The repository `repos/NAME`, which git has made.
    pub fn adopted(&self, name: &str) -> Repo {
        let path = self.repos().join(name);
        Repo { path, home: self.path().join("home"), commits: AtomicU64::new(1_000) }
    }

    /// A repository `repos/NAME` with all that is in `folder`, as if `commits` had been made by
    /// [`Repo::commit`].
    pub fn copied(&self, folder: &Path, name: &str, commits: u64) -> Repo {
        let path = self.repos().join(name);
        copy_folder(folder, &path);
        Repo { path, home: self.path().join("home"), commits: AtomicU64::new(commits) }
    }
}

/// Copies files and folders; there is nothing else in a bare repository.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A sealed `git` in a folder.
#[derive(Debug, Clone)]
pub struct Git {
    cwd: PathBuf,
    home: PathBuf,
}

impl Git {
    /// One that runs in `cwd`.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), home: home.into() }
    }

    /// The command, to be completed by the caller.
    pub fn command(&self) -> Command {
        let mut command = Command::new("git");
        isolate(&mut command, &self.home);
        command.current_dir(&self.cwd);
        command
    }

    /// Runs git and gives what it printed, as it is.
    ///
    /// # Panics
    /// When git fails; the message has its standard error.
    #[track_caller]
    pub fn bytes<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Vec<u8> {
        self.bytes_with_input(args, &[])
    }

    /// The same with `input` on git's standard input.
    #[track_caller]
    pub fn bytes_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Vec<u8> {
        let mut command = self.command();
        command.args(args);
        let output = output_of(&mut command, input);
        assert!(
            output.status.success(),
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// Runs git and gives what it printed without the last line end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let text = String::from_utf8(self.bytes(args)).unwrap();
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }

    /// Every object of the repository by its id: kind and content.
    #[track_caller]
    pub fn all_objects(&self) -> BTreeMap<String, (String, Vec<u8>)> {
        let out = self.bytes(["cat-file", "--batch", "--batch-all-objects", "--unordered"]);
        let mut rest = &out[..];
        let mut objects = BTreeMap::new();
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = std::str::from_utf8(&rest[..end]).unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            let size: usize = words[2].parse().unwrap();
            let content = rest[end + 1..][..size].to_vec();
            objects.insert(words[0].to_owned(), (words[1].to_owned(), content));
            rest = &rest[end + 1 + size + 1..];
        }
        objects
    }

    /// Runs git and gives status, output and errors whatever they are.
    pub fn output<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        output_of(self.command().args(args), &[])
    }
}

/// A repository on disk.
#[derive(Debug)]
pub struct Repo {
    path: PathBuf,
    home: PathBuf,
    commits: AtomicU64,
}

impl Repo {
    /// Its git directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A sealed `git` that runs in it.
    pub fn git(&self) -> Git {
        Git::new(&self.path, &self.home)
    }

    /// Commits exactly `files` on top of `branch` (a name under `refs/heads/`), and
    /// gives the commit's id. Each commit of a repository is a minute younger.
    pub fn commit(&self, branch: &str, files: &[File]) -> String {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let full = format!("refs/heads/{branch}");
        let parent =
            self.git().output(["rev-parse", "--quiet", "--verify", &format!("{full}^{{commit}}")]);
        let who =
            format!("A U Thor <author@example.com> {} +0000", FIRST_COMMIT_TIME + 60 * number);
        let message = format!("commit {number}\n");

        let mut stream = Vec::new();
        write!(stream, "commit {full}\nauthor {who}\ncommitter {who}\n").unwrap();
        write!(stream, "data {}\n{message}", message.len()).unwrap();
        if parent.status.success() {
            let id = String::from_utf8(parent.stdout).unwrap();
            writeln!(stream, "from {}", id.trim()).unwrap();
        }
        stream.extend_from_slice(b"deleteall\n");
        for file in files {
            file.write_to(&mut stream);
        }
        self.fast_import(&stream);
        self.git().run(["rev-parse", &full])
    }

    /// Feeds a stream of `git fast-import`'s commands, for history of unusual shape.
    pub fn fast_import(&self, commands: &[u8]) {
        self.git().bytes_with_input(["fast-import", "--quiet", "--force"], commands);
    }

    /// Writes an object of any kind and content, valid or not, and gives its id.
    pub fn object(&self, kind: &str, content: &[u8]) -> String {
        let id = self
            .git()
            .bytes_with_input(["hash-object", "-t", kind, "--literally", "-w", "--stdin"], content);
        String::from_utf8(id).unwrap().trim().to_owned()
    }

    /// Repacks everything into one pack, with deltas.
    pub fn repack(&self) {
        self.git().run(["repack", "-adfq", "--depth=50", "--window=10"]);
    }
}

/// One entry of a tree to be committed.
#[derive(Debug, Clone)]
pub struct File {
    mode: &'static str,
    path: Vec<u8>,
    content: Vec<u8>,
}

impl File {
    /// A plain file.
    pub fn new(path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self { mode: "100644", path: path.as_ref().into(), content: content.as_ref().into() }
    }

    /// An executable file.
    pub fn executable(path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        Self { mode: "100755", ..Self::new(path, content) }
    }

    /// A symbolic link.
    pub fn symlink(path: impl AsRef<[u8]>, target: impl AsRef<[u8]>) -> Self {
        Self { mode: "120000", ..Self::new(path, target) }
    }

    /// A submodule at `commit` (hexadecimal digits).
    pub fn submodule(path: impl AsRef<[u8]>, commit: &str) -> Self {
        Self { mode: "160000", ..Self::new(path, commit) }
    }

    /// Its path in the tree.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Its content, a link's target, or a submodule's commit.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    fn write_to(&self, stream: &mut Vec<u8>) {
        let mut quoted = vec![b'"'];
        for &byte in &self.path {
            match byte {
                b'"' | b'\\' => quoted.extend([b'\\', byte]),
                0x20..=0x7e => quoted.push(byte),
                _ => write!(quoted, "\\{byte:03o}").unwrap(),
            }
        }
        quoted.push(b'"');
        if self.mode == "160000" {
            write!(stream, "M 160000 {} ", String::from_utf8_lossy(&self.content)).unwrap();
            stream.extend([&quoted[..], b"\n"].concat());
            return;
        }
        write!(stream, "M {} inline ", self.mode).unwrap();
        stream.extend_from_slice(&quoted);
        write!(stream, "\ndata {}\n", self.content.len()).unwrap();
        stream.extend([&self.content[..], b"\n"].concat());
    }
}

/// The ids of all objects in `pack`, in the order of the pack, found by git.
///
/// # Panics
/// When git refuses the pack.
pub fn ids_in_pack(pack: &[u8]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("pack.git", &[]);
    let name = repo.git().bytes_with_input(["index-pack", "--stdin", "--fix-thin"], pack);
    let name = String::from_utf8(name).unwrap();
    let name = name.trim().split('\t').next_back().unwrap();
    let index = std::fs::read(repo.path().join(format!("objects/pack/pack-{name}.idx"))).unwrap();
    let listing = repo.git().bytes_with_input(["show-index"], &index);
    let mut entries: Vec<(u64, String)> = String::from_utf8(listing)
        .unwrap()
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap().parse().unwrap(), words.next().unwrap().to_owned())
        })
        .collect();
    entries.sort();
    entries.into_iter().map(|(_, id)| id).collect()
}

fn output_of(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git is needed to run these tests");
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A git that stops reading early is judged by its status, not by this pipe.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

/// 2023-11-14T22:13:20Z.
const FIRST_COMMIT_TIME: u64 = 1_700_000_000;

/// Set for every git that runs here, above any repository's own configuration.
const CONFIG: &[(&str, &str)] = &[
    ("init.defaultBranch", "main"),
    ("safe.directory", "*"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.file.allow", "always"),
    ("advice.detachedHead", "false"),
];
