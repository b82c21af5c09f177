//! The real git client reads our answers: it clones, fetches after long talk, cuts history
//! and gets it back, and hears why a server gives up.

use std::process::Output;
use std::sync::{Arc, Mutex};

use gitsip::protocol::FetchCapability;
use gitsip::protocol::v0::Features;

use super::carriages;
use super::server::{Fails, PROGRESS, Served, Speaks, WHY, plain_body, serve, serve_git};
use crate::support::git::{File, Git, Repo, Sandbox};
use crate::support::http_server::HttpServer;

/// More local commits than a client names in its first two requests.
const LOCAL_COMMITS: usize = 60;

/// A client's repository and its server.
struct World {
    sandbox: Sandbox,
    served: Arc<Served>,
    server: HttpServer,
    url: String,
    version: &'static str,
}

impl World {
    fn new(speaks: Speaks, fails: Option<Fails>) -> Self {
        let sandbox = Sandbox::new();
        let repo = sandbox.strict_bare("r.git", &[]);
        for round in 0..3 {
            let text = noise(round, 150_000);
            repo.commit("main", &[File::new("a/big", text), File::new(format!("f{round}"), "x\n")]);
        }
        repo.git().run(["tag", "-a", "-m", "t", "v1", "main~1"]);
        let version = match speaks {
            Speaks::Old { version: 0, .. } => "protocol.version=0",
            Speaks::Old { .. } => "protocol.version=1",
            Speaks::Two(_) => "protocol.version=2",
        };
        let served = Arc::new(Served { repo, speaks, fails, said: Mutex::default() });
        let server = serve(sandbox.repos(), Arc::clone(&served));
        let url = match speaks {
            // Over HTTP, git's client has no use for servers that know less.
            Speaks::Old { features: Features { multi_ack_detailed: false, .. }, .. } => {
                format!("git://{}/r.git", serve_git(Arc::clone(&served)))
            }
            _ => server.url("r.git"),
        };
        Self { sandbox, served, server, url, version }
    }

    fn try_clone(&self, name: &str, options: &[&str]) -> Output {
        let command = ["-c", self.version, "clone", "--bare"];
        let args = [&command, options, &[&self.url, name]].concat();
        self.sandbox.git().output(args)
    }

    fn clone(&self, name: &str, options: &[&str]) -> Git {
        let output = self.try_clone(name, options);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let home = self.sandbox.path().join("home");
        Git::new(self.sandbox.path().join(name), home)
    }

    fn fetch(&self, client: &Git, options: &[&str]) {
        let args = [&["-c", self.version, "fetch", "-q"], options, &[&self.url]];
        client.run([&args.concat()[..], &["+refs/*:refs/*"]].concat());
    }

    /// What was answered to requests since the last look.
    fn answers(&self) -> String {
        text(&std::mem::take(&mut *self.served.said.lock().unwrap()))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Text that does not compress to a few packets.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'!' + (state >> 32) as u8 % 90
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn refs(git: &Git) -> String {
    git.run(["for-each-ref", "--format=%(objectname) %(refname)"])
}

fn is_sound(git: &Git) {
    let output = git.output(["fsck", "--strict", "--no-progress"]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// What is asked of every server: a clone, a fetch from a client with much of its own, a cut
/// clone that gets its history back. Gives what was answered to the fetch.
fn read_all_of_it(world: &World) -> String {
    let origin: &Repo = &world.served.repo;
    let client = world.clone("client.git", &["-q"]);
    is_sound(&client);
    assert_eq!(refs(&client), refs(&origin.git()));
    let head = client.run(["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/main");

    // The client's own line of history is unknown to the server and younger than all else.
    let mut stream = String::new();
    for number in 0..LOCAL_COMMITS {
        let time = 1_800_000_000 + number;
        stream += &format!("commit refs/local/own\ncommitter A <a@b> {time} +0000\ndata 2\nx\n");
        if number == 0 {
            stream += "from refs/heads/main\n";
        }
        stream += &format!("M 644 inline own{number}\ndata 2\ny\n");
    }
    client.bytes_with_input(["fast-import", "--quiet"], stream.as_bytes());
    origin.commit("main", &[File::new("a/big", noise(2, 150_000)), File::new("new", "new\n")]);
    world.answers();
    let held = client.all_objects().len();
    world.fetch(&client, &[]);
    let answers = world.answers();
    is_sound(&client);
    let theirs = refs(&client).lines().filter(|line| !line.contains("refs/local/")).count();
    assert_eq!(theirs, refs(&origin.git()).lines().count());
    assert_eq!(client.run(["rev-parse", "main"]), origin.git().run(["rev-parse", "main"]));
    assert_eq!(client.all_objects().len() - held, 3, "a commit, a tree and a file are new");

    let shallow = world.clone("shallow.git", &["-q", "--depth=1"]);
    is_sound(&shallow);
    assert_eq!(shallow.run(["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(shallow.run(["rev-parse", "--is-shallow-repository"]), "true");
    world.fetch(&shallow, &["--unshallow"]);
    is_sound(&shallow);
    assert_eq!(shallow.run(["rev-list", "--count", "HEAD"]), "4");
    assert_eq!(shallow.run(["rev-parse", "--is-shallow-repository"]), "false");
    answers
}

#[test]
fn git_reads_what_is_written_in_versions_0_and_1_for_every_capability() {
    for (number, (name, features)) in carriages().into_iter().enumerate() {
        let speaks = Speaks::Old { version: u8::from(number % 2 == 1), features };
        let world = World::new(speaks, None);
        let answers = read_all_of_it(&world);
        let (detailed, multi) = (features.multi_ack_detailed, features.multi_ack);
        assert_eq!(answers.contains(" common\n"), detailed, "{name}");
        assert_eq!(answers.contains(" ready\n"), detailed, "{name}");
        assert_eq!(world.url.starts_with("http://"), detailed, "{name}");
        assert_eq!(answers.contains(" continue\n"), multi && !detailed, "{name}");
        assert!(answers.contains("NAK\n"), "{name}: it was enough at once");
        assert!(!answers.contains("shallow "), "{name}: nobody asked to cut history");
    }
}

#[test]
fn git_reads_what_is_written_in_version_2_for_every_capability() {
    let base = FetchCapability { shallow: true, ..FetchCapability::default() };
    for fetch in [
        base,
        FetchCapability { sideband_all: true, ..base },
        FetchCapability { ref_in_want: true, ..base },
        FetchCapability { ref_in_want: true, sideband_all: true, wait_for_done: true, ..base },
    ] {
        let world = World::new(Speaks::Two(fetch), None);
        let answers = read_all_of_it(&world);
        assert!(answers.contains("acknowledgments\n"), "{fetch:?}");
        assert_eq!(answers.contains("\x01packfile\n"), fetch.sideband_all, "{fetch:?}");
        assert_eq!(answers.contains("wanted-refs\n"), fetch.ref_in_want, "{fetch:?}");
    }
}

#[test]
fn git_shows_the_progress_that_is_written() {
    let shown = |speaks| {
        let world = World::new(speaks, None);
        let output = world.try_clone("client.git", &["--progress"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).contains(&format!("remote: {}", text(PROGRESS).trim_end()))
    };
    for (name, features) in carriages() {
        assert_eq!(shown(Speaks::Old { version: 0, features }), features.side_band, "{name}");
    }
    for sideband_all in [true, false] {
        assert!(shown(Speaks::Two(FetchCapability { sideband_all, ..Default::default() })));
    }
}

#[test]
fn git_says_why_a_server_gave_up() {
    let said = |speaks, fails| {
        let output = World::new(speaks, Some(fails)).try_clone("client.git", &[]);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let two = |sideband_all| Speaks::Two(FetchCapability { sideband_all, ..Default::default() });
    let old = |features: Features| Speaks::Old { version: 0, features };
    let servers = carriages().into_iter().map(|(_, features)| (old(features), features.side_band));
    for (speaks, banded) in servers.chain([(two(true), true), (two(false), true)]) {
        let early = said(speaks, Fails::BeforeThePack);
        assert!(
            early.contains(&format!("remote error: {WHY}"))
                || early.contains(&format!("remote: {WHY}")),
            "{early}"
        );
        let late = said(speaks, Fails::InThePack);
        assert_eq!(late.contains(&format!("remote: {WHY}")), banded, "{late}");
        assert!(late.contains("fatal: "), "{late}");
    }
}

#[test]
fn a_compressed_request_is_read_too() {
    let (_, features) = carriages().swap_remove(0);
    let world = World::new(Speaks::Old { version: 0, features }, None);
    for number in 0..30 {
        world.served.repo.git().run(["update-ref", &format!("refs/heads/b{number}"), "main"]);
        world.served.repo.commit(&format!("c{number}"), &[File::new("c", format!("{number}\n"))]);
    }
    let client = world.clone("client.git", &["-q"]);
    assert_eq!(refs(&client), refs(&world.served.repo.git()));
    let requests = world.server.requests();
    let last = requests.last().unwrap();
    assert_eq!(last.header("content-encoding"), Some("gzip"));
    assert!(plain_body(last).ends_with(b"0009done\n"));
}
