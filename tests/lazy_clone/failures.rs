//! Fetches that fail or lie: nothing of them is stored, nobody asks for ever, and the
//! repository lives on.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use gitsip::agent::Source as _;
use gitsip::limits::Which;
use gitsip::pack::delta;
use gitsip::{Error, ErrorKind, ObjectFormat};

use super::client::*;
use super::pack_builder::{PackBuilder, blob_id, seal};
use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::{Behaviour, CannedResponse, HttpServer, Recorded};

const RESULT: &str = "application/x-git-upload-pack-result";

/// Two files; nearly the smallest answers that git gives.
fn tiny(sandbox: &Sandbox) -> Repo {
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "a\n"), File::new("b", "b\n")]);
    origin
}

/// Gives these answers to fetches, one after the other; `None` lets git answer, also
/// after the last.
fn script(answers: impl IntoIterator<Item = Option<Vec<u8>>>) -> Behaviour {
    let answers = Mutex::new(answers.into_iter().collect::<VecDeque<_>>());
    let hook = move |request: &_| {
        let answer = is_fetch(request).then(|| answers.lock().unwrap().pop_front())??;
        answer.map(|body| CannedResponse::new(200, RESULT, body))
    };
    Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() }
}

fn packet(payload: &[u8]) -> Vec<u8> {
    [format!("{:04x}", payload.len() + 4).as_bytes(), payload].concat()
}

/// The packets of `pack` without what ends them.
fn begun(pack: &[u8]) -> Vec<u8> {
    let packets = pack.chunks(200).flat_map(|piece| packet(&[b"\x01", piece].concat()));
    packet(b"packfile\n").into_iter().chain(packets).collect()
}

fn response(pack: &[u8]) -> Vec<u8> {
    [begun(pack), b"0000".to_vec()].concat()
}

/// What git answers to the first fetch of a cold snapshot.
async fn recorded(server: &HttpServer) -> Vec<u8> {
    let (_, snapshot) = head_of(server, "r.git").await;
    read(&snapshot, "a").await.unwrap();
    fetches(server)[0].response_body.clone()
}

/// A client that has listed refs, and that must be the same after each failure.
struct Client {
    repo: RemoteRepo,
    snapshot: RemoteSnapshot,
    used_bytes: u64,
}

impl Client {
    async fn new(server: &HttpServer) -> Self {
        let (repo, snapshot) = head_of(server, "r.git").await;
        let used_bytes = repo.source().budget().used_bytes();
        Self { repo, snapshot, used_bytes }
    }

    /// The error of a read that must leave nothing behind.
    #[track_caller]
    fn check(&self, answer: Result<String, Error>) -> Error {
        let error = answer.unwrap_err();
        let line = error.to_string();
        assert!(!line.contains(['\n', '\x1b']), "{line}");
        assert_eq!(self.repo.stats().objects, 0, "{line}");
        assert_eq!(self.repo.source().budget().used_bytes(), self.used_bytes, "{line}");
        error
    }
}

#[test]
fn an_answer_cut_at_any_byte_stores_nothing_and_the_next_one_is_read() {
    let sandbox = Sandbox::new();
    tiny(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let whole = recorded(&server).await;
        let client = Client::new(&server).await;
        server.set_behaviour(script((0..whole.len()).map(|end| Some(whole[..end].to_vec()))));
        for end in 0..whole.len() {
            let error = client.check(read(&client.snapshot, "a").await);
            assert!(
                matches!(error.kind(), ErrorKind::Transport | ErrorKind::Malformed),
                "after {end} bytes of {}: {error}",
                whole.len()
            );
        }
        assert_eq!(read(&client.snapshot, "a").await.unwrap(), "a\n");
        // The same, as a connection that breaks.
        let client = Client::new(&server).await;
        for end in (0..whole.len() as u64).step_by(41) {
            let faults_when = Some(Box::new(is_fetch) as _);
            let cut_after = Some(end);
            server.set_behaviour(Behaviour { faults_when, cut_after, ..Behaviour::default() });
            let error = client.check(read(&client.snapshot, "a").await);
            assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
        }
        server.set_behaviour(Behaviour::default());
        assert_eq!(read(&client.snapshot, "a").await.unwrap(), "a\n");
    });
}

#[test]
fn case_20_a_host_that_gives_up_is_quoted_and_nothing_of_its_pack_is_kept() {
    let sandbox = Sandbox::new();
    let origin = tiny(&sandbox);
    let pack = origin.git().bytes(["pack-objects", "--all", "--stdout", "-q"]);
    let server = HttpServer::start(sandbox.repos());
    let fatal = packet(b"\x03out of \x1b[31mcoffee\xff\n");
    run(async {
        for (answer, kind) in [
            ([packet(b"packfile\n"), fatal.clone()].concat(), ErrorKind::Transport),
            ([begun(&pack[..pack.len() / 2]), fatal.clone()].concat(), ErrorKind::Transport),
            ([begun(&pack), fatal.clone()].concat(), ErrorKind::Transport),
            ([begun(&pack), fatal, b"0000".to_vec()].concat(), ErrorKind::Transport),
            (packet(b"ERR out of \x1b[31mcoffee\xff"), ErrorKind::Transport),
            (packet(b"ERR access denied: out of \x1b[31mcoffee\xff"), ErrorKind::Auth),
        ] {
            let client = Client::new(&server).await;
            server.set_behaviour(script([Some(answer)]));
            let error = client.check(read(&client.snapshot, "a").await);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("out of \\x1b[31mcoffee\\xff"), "{error}");
            assert_eq!(read(&client.snapshot, "a").await.unwrap(), "a\n");
        }
    });
}

#[test]
fn a_hostile_pack_is_an_error_for_the_whole_client_and_stores_nothing() {
    let sandbox = Sandbox::new();
    let origin = tiny(&sandbox);
    let good = origin.git().bytes(["pack-objects", "--all", "--stdout", "-q"]);
    let server = HttpServer::start(sandbox.repos());
    let with = |build: &dyn Fn(&mut PackBuilder) -> u64| {
        let mut pack = PackBuilder::sha1();
        pack.blob(b"an honest blob");
        build(&mut pack);
        pack.finish()
    };
    let flipped = |at: usize| {
        let mut pack = good.clone();
        pack[at] ^= 1;
        pack
    };
    let id = blob_id(b"nobody has this");
    let patch = delta::encode(b"an honest blob", b"an honest delta");
    let packs = [
        ("trailer", ErrorKind::Corrupt, flipped(good.len() - 1)),
        ("version", ErrorKind::Unsupported, with(&|pack| pack.version(4).blob(b"x"))),
        ("bytes behind", ErrorKind::Malformed, [&good[..], b"more"].concat()),
        ("count too low", ErrorKind::Corrupt, with(&|pack| pack.declare(0).blob(b"x"))),
        ("count too high", ErrorKind::Limit, with(&|pack| pack.declare(u32::MAX).blob(b"x"))),
        ("type 0", ErrorKind::Malformed, with(&|pack| pack.entry(0, 1, &[], b"x"))),
        ("type 5", ErrorKind::Malformed, with(&|pack| pack.entry(5, 1, &[], b"x"))),
        (
            "size too small",
            ErrorKind::Malformed,
            with(&|pack| pack.entry(3, 1, &[], &gitsip::pack::inflate::deflate(b"xyz", 6))),
        ),
        (
            "size too large",
            ErrorKind::Malformed,
            with(&|pack| pack.entry(3, 9, &[], &gitsip::pack::inflate::deflate(b"xyz", 6))),
        ),
        ("size of a continent", ErrorKind::Limit, with(&|pack| pack.entry(3, 1 << 50, &[], b"x"))),
        ("no zlib", ErrorKind::Malformed, with(&|pack| pack.entry(3, 3, &[], b"\xff\xff\xff\xff"))),
        ("base unknown", ErrorKind::Malformed, with(&|pack| pack.ref_delta(id, &patch))),
        (
            "base before the pack",
            ErrorKind::Malformed,
            with(&|pack| pack.distance_delta(1 << 30, &patch)),
        ),
        ("base in an entry", ErrorKind::Malformed, with(&|pack| pack.distance_delta(5, &patch))),
        ("base is itself", ErrorKind::Malformed, with(&|pack| pack.distance_delta(0, &patch))),
        ("empty delta", ErrorKind::Malformed, with(&|pack| pack.ofs_delta(12, b""))),
        (
            "delta of another base",
            ErrorKind::Malformed,
            with(&|pack| pack.ofs_delta(12, b"\x05\x01\x01x")),
        ),
        (
            "result of a terabyte",
            ErrorKind::Limit,
            with(&|pack| pack.ofs_delta(12, b"\x0e\x80\x80\x80\x80\x80\x40\x90\x05")),
        ),
        ("nothing", ErrorKind::Corrupt, Vec::new()),
        ("noise", ErrorKind::Malformed, seal(ObjectFormat::Sha1, noise(1, 400))),
    ];
    run(async {
        let client = Client::new(&server).await;
        for (name, kind, pack) in packs {
            server.set_behaviour(script([Some(response(&pack))]));
            let error = client.check(read(&client.snapshot, "a").await);
            assert_eq!(error.kind(), kind, "{name}: {error}");
            server.set_behaviour(Behaviour::default());
        }
        // No section but the end.
        server.set_behaviour(script([Some(b"0000".to_vec())]));
        let error = client.check(read(&client.snapshot, "a").await);
        assert!(error.to_string().contains("without a pack"), "{error}");
        assert_eq!(read(&client.snapshot, "a").await.unwrap(), "a\n");
    });
}

#[test]
fn a_host_that_sends_an_empty_pack_is_asked_once_with_a_filter_and_once_without() {
    let sandbox = Sandbox::new();
    tiny(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let empty = response(&PackBuilder::sha1().finish());
    run(async {
        for _ in 0..2 {
            let client = Client::new(&server).await;
            server.forget_requests();
            server.set_behaviour(script(vec![Some(empty.clone()); 9]));
            let error = client.check(read(&client.snapshot, "a").await);
            assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "object_missing"));
            assert!(error.to_string().contains(&client.snapshot.commit().to_string()), "{error}");
            assert_eq!(server.requests().len(), 2);
        }
        let client = Client::new(&server).await;
        server.forget_requests();
        server.set_behaviour(script(vec![Some(empty.clone()); 9]));
        let error = client.snapshot.prefetch(&Default::default()).await.unwrap_err();
        assert_eq!(error.code(), "object_missing");
        assert!(server.requests().len() <= 4);
    });
}

#[test]
fn a_host_that_drops_one_object_is_asked_for_it_twice_and_then_blamed() {
    let sandbox = Sandbox::new();
    tiny(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let dropped = blob_id(b"b\n").to_string();
    let mut one = PackBuilder::sha1();
    one.blob(b"a\n");
    let one = response(&one.finish());
    let empty = response(&PackBuilder::sha1().finish());
    run(async {
        for question in ["read", "grep", "prefetch"] {
            for last in [&one, &empty] {
                let (repo, snapshot) = head_of(&server, "r.git").await;
                snapshot.ls("").await.unwrap();
                server.forget_requests();
                let rest = vec![Some(last.clone()); 9];
                server.set_behaviour(script([Some(one.clone())].into_iter().chain(rest)));
                let error = match question {
                    "read" => {
                        snapshot.read_many(&["a", "b"], Default::default()).await.unwrap_err()
                    }
                    "grep" => grep(&snapshot, "b").await.unwrap_err(),
                    _ => snapshot.prefetch(&Default::default()).await.unwrap_err(),
                };
                assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "object_missing"));
                assert!(error.to_string().contains(&dropped), "{question}: {error}");
                let asked = server.requests();
                let asked = asked.iter().filter(|r| r.body_text().contains(&dropped)).count();
                assert!(asked <= 2, "{question} asked {asked} times");
                // What came is held, and what did not can be asked for another day.
                assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
                server.set_behaviour(Behaviour::default());
                assert_eq!(read(&snapshot, "b").await.unwrap(), "b\n");
                assert_eq!(repo.stats().objects, 4);
            }
        }
    });
}

#[test]
fn who_waits_for_others_does_not_ask_again_meanwhile() {
    let sandbox = Sandbox::new();
    tiny(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let (dropped, slow) = (blob_id(b"a\n").to_string(), blob_id(b"b\n").to_string());
    let empty = response(&PackBuilder::sha1().finish());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        snapshot.ls("").await.unwrap();
        server.forget_requests();
        let drops = dropped.clone();
        let hook = move |request: &Recorded| {
            let answer = CannedResponse::new(200, RESULT, empty.clone());
            let body = request.body_text();
            // It is no better at whole snapshots.
            (body.contains(&drops) || !body.contains("filter ")).then_some(answer)
        };
        let is_slow = move |request: &Recorded| request.body_text().contains(&slow);
        server.set_behaviour(Behaviour {
            hook: Some(Box::new(hook)),
            faults_when: Some(Box::new(is_slow)),
            delay: Duration::from_millis(300),
            ..Behaviour::default()
        });
        let other = tokio::spawn({
            let snapshot = snapshot.clone();
            async move { read(&snapshot, "b").await }
        });
        while server.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let error = snapshot.read_many(&["a", "b"], Default::default()).await.unwrap_err();
        assert!(error.to_string().contains(&dropped), "{error}");
        assert_eq!(other.await.unwrap().unwrap(), "b\n");
        let requests = server.requests();
        let asked = requests.iter().filter(|request| request.body_text().contains(&dropped));
        assert_eq!(asked.count(), 2);
    });
}

#[test]
fn objects_that_nobody_asked_for_are_accepted_and_used() {
    let sandbox = Sandbox::new();
    let origin = tiny(&sandbox);
    let everything = origin.git().bytes(["pack-objects", "--all", "--stdout", "-q"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        // A filter was advertised, asked for and ignored.
        server.set_behaviour(script([Some(response(&everything))]));
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        assert_eq!(grep(&snapshot, "b").await.unwrap(), ["b:1:b"]);
        assert_eq!(fetches(&server).len(), 1);
        assert!(fetches(&server)[0].body_text().contains("filter blob:none"));
    });
}

#[test]
fn an_answer_of_endless_lines_is_paid_for_and_ends_at_the_budget() {
    let sandbox = Sandbox::new();
    tiny(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let line = packet(format!("shallow {}\n", "1".repeat(40)).as_bytes());
    let lines = [packet(b"shallow-info\n"), line.repeat(60_000)].concat();
    run(async {
        let options = limits(|limits| limits.max_memory = 1 << 20);
        let repo = open_with(&server.url("r.git"), options).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        server.set_behaviour(script([Some(lines)]));
        let error = read(&snapshot, "a").await.unwrap_err();
        assert_eq!(error.limit().unwrap().which, Which::Memory);
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
    });
}
