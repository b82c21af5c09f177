//! One small repository in every form a user may have it in, and the command to ask it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::git::{File, Repo, Sandbox, isolate};
use super::http_server::HttpServer;

/// A repository in every form a user may have it in.
pub struct World {
    pub sandbox: Sandbox,
    pub server: HttpServer,
    pub bare: Repo,
    pub url: String,
    pub work_tree: PathBuf,
}

impl World {
    /// It is served, cloned, and holds two commits.
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        let bare = sandbox.bare("a.git");
        bare.commit("main", &[File::new("README.md", "old\n")]);
        bare.commit(
            "main",
            &[
                File::new("README.md", README),
                File::new("builtin/grep.c", "/* TODO: hello */\n"),
                File::new("src/main.rs", MAIN),
                File::new("src/deep/lib.rs", "// todo: hello a[0]\n"),
                File::symlink("link", "src/main.rs"),
                File::submodule("module", MODULE),
                File::new("odd/binary", b"a\0b\xff\r\n"),
                File::new("odd/empty", ""),
                File::new("odd/a b", "odd text\n"),
                File::new(b"odd/caf\xe9", "odd text\n"),
                File::new("odd/new\nline", "odd text\n"),
                File::new("odd/q\"uo\\te", "odd text\n"),
            ],
        );
        let work_tree = sandbox.path().join("work");
        sandbox.git().run([
            Path::new("clone"),
            Path::new("--quiet"),
            bare.path(),
            work_tree.as_path(),
        ]);
        let server = HttpServer::start(sandbox.repos());
        let url = server.url("a.git");
        Self { sandbox, server, bare, url, work_tree }
    }

    /// A repository with one file of a million lines.
    pub fn big_repo(&self) -> Repo {
        let big = self.sandbox.bare("big.git");
        big.commit("main", &[File::new("many", "hello there\n".repeat(1_000_000))]);
        big
    }

    pub fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
        isolate(&mut command, self.sandbox.path());
        command.args(words).current_dir(self.sandbox.path()).stdin(Stdio::null());
        command
    }

    pub fn gitsip<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Output {
        self.command(words).output().unwrap()
    }

    pub fn status<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> i32 {
        self.gitsip(words).status.code().unwrap()
    }

    /// What a command printed that succeeded and said nothing else.
    #[track_caller]
    pub fn out<S: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = S>) -> String {
        let output = self.gitsip(words);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The only line on standard error.
#[track_caller]
pub fn one_line(output: &Output) -> &str {
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said:?}");
    said.trim_end()
}

#[track_caller]
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub const README: &str = "# hello\nsecond\nthird\nlast";
pub const MAIN: &str = "fn main() {\n    println!(\"hello\");\n}\n";
pub const MODULE: &str = "0123456789012345678901234567890123456789";
