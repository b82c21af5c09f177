//! Every example that the README and the help pages show is run as it is shown: the public
//! hosts in it are stood in for by one behind a proxy, with an authority of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::proxies::{connect_proxy, tls_front};
use super::support::git::{File, Sandbox, isolate};
use super::support::http_server::HttpServer;

#[test]
fn every_example_of_the_readme_runs() {
    let stage = Stage::new();
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let readme = readme.unwrap();
    let examples: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(examples.len() >= 8, "{examples:?}");
    examples.iter().for_each(|example| stage.run(example));
}

#[test]
fn every_example_of_the_help_runs() {
    let stage = Stage::new();
    let top = stage.out("gitsip --help");
    let listed = top.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    let pages = commands.iter().map(|name| stage.out(&format!("gitsip {name} --help")));
    for page in pages.chain([top.clone()]) {
        let examples: Vec<&str> =
            page.lines().filter(|line| line.starts_with("  gitsip ")).collect();
        assert!(!examples.is_empty(), "a page without an example: {page}");
        let (servers, rest): (Vec<&str>, Vec<&str>) =
            examples.into_iter().partition(|example| is_endless(example));
        rest.iter().for_each(|example| stage.run(example));
        servers.iter().for_each(|example| stage.serve(example));
    }
}

fn is_endless(example: &str) -> bool {
    ["  gitsip mcp", "  gitsip serve"].iter().any(|server| example.starts_with(server))
}

/// A repository at the addresses that are documented, and as the working tree at `.`.
struct Stage {
    sandbox: Sandbox,
    _server: HttpServer,
    proxy: String,
    authority: PathBuf,
    work_tree: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        for folder in ["git", "forgejo", "group"] {
            std::fs::create_dir(sandbox.repos().join(folder)).unwrap();
        }
        let repo = sandbox.bare("git/git.git");
        let text = |line: &str| format!("{line}\n").repeat(30);
        repo.commit(
            "main",
            &[
                File::new("Documentation/git.adoc", text("git")),
                File::new("Makefile", text("all:")),
                File::new("README.md", text("# git")),
                File::new("builtin/grep.c", text("/* TODO */")),
                File::new("routers/api/v1/api.go", text("// TODO")),
                File::new("src/deep/lib.rs", text("// todo: a[0]")),
                File::new("src/main.rs", text("fn main() {}")),
                File::new("t/lib/test.sh", text("test")),
            ],
        );
        for branch in ["master", "forgejo"] {
            repo.git().run(["branch", branch]);
        }
        for link in ["git/git", "forgejo/forgejo", "group/project"] {
            std::os::unix::fs::symlink(repo.path(), sandbox.repos().join(link)).unwrap();
        }
        let work_tree = sandbox.path().join("work");
        let clone = [Path::new("clone"), Path::new("--quiet"), repo.path(), &work_tree];
        sandbox.git().run(clone);
        std::fs::write(work_tree.join("requests.jsonl"), "{\"id\": 1, \"method\": \"ls\"}\n")
            .unwrap();
        repo.git().run(["repack", "-a", "-d", "-q"]);
        let packs = std::fs::read_dir(repo.path().join("objects/pack")).unwrap();
        let mut packs = packs.map(|entry| entry.unwrap().path());
        let pack = packs.find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
        std::fs::copy(pack, work_tree.join("some.pack")).unwrap();

        let server = HttpServer::start(sandbox.repos());
        let (front, pem) = tls_front(&HOSTS, server.address());
        let authority = sandbox.path().join("authority.pem");
        std::fs::write(&authority, pem).unwrap();
        let (proxy, _) = connect_proxy(front);
        Self { sandbox, _server: server, proxy, authority, work_tree }
    }

    fn sh(&self, line: &str) -> Output {
        let mut sh = Command::new("sh");
        sh.args(["-c", line]).current_dir(&self.work_tree).stdin(Stdio::null());
        isolate(&mut sh, self.sandbox.path());
        let binary = Path::new(env!("CARGO_BIN_EXE_gitsip")).parent().unwrap();
        let path = std::env::join_paths([binary, Path::new("/usr/bin"), Path::new("/bin")]);
        sh.env("PATH", path.unwrap());
        sh.env("HTTPS_PROXY", &self.proxy).env("SSL_CERT_FILE", &self.authority);
        sh.output().unwrap()
    }

    #[track_caller]
    fn out(&self, line: &str) -> String {
        let output = self.sh(line);
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Answers a client, or listens for one.
    #[track_caller]
    fn serve(&self, example: &str) {
        let output = self.sh(&format!("echo '{HELLO}' | timeout 2 {example}"));
        let (out, said) = (&output.stdout, &output.stderr);
        let (out, said) = (String::from_utf8_lossy(out), String::from_utf8_lossy(said));
        if example.contains("gitsip serve") || example.contains("--addr") {
            assert!(said.starts_with("gitsip: serving "), "{example}: {said}");
        } else {
            assert!(out.contains("serverInfo") && said.is_empty(), "{example}: {out} {said}");
        }
    }

    /// Finds something, and has nothing to say beside that.
    #[track_caller]
    fn run(&self, example: &str) {
        let output = self.sh(example);
        assert_eq!(output.status.code(), Some(0), "{example}: {output:?}");
        assert!(!output.stdout.is_empty(), "{example} prints something");
        assert!(output.stderr.is_empty(), "{example}: {output:?}");
    }
}

/// What a client of the Model Context Protocol says first.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// The hosts that are stood in for.
const HOSTS: [&str; 3] = ["github.com", "codeberg.org", "gitlab.example"];
