//! Odd and hostile bytes on the wire, through the whole client: each is read as git reads
//! it or is one clear error, and nothing that a host names is ever followed.
//!
//! Odd inputs have numbers, here and wherever a test begins with `case_`.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

#[path = "support/mod.rs"]
mod support;

use std::sync::{Arc, Mutex};

use gitsip::agent::{ReadAnswer, Remote, RemoteOptions, Repo};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::{Error, ErrorKind, Limits};
use support::git::{File, Sandbox};
use support::http_server::{Behaviour, CannedResponse, HttpServer, Recorded};
use support::runtime::run;

type RemoteRepo = Repo<Remote<HttpTransport>>;

/// What a real git answered to each step of reading one file, to be changed by a test.
#[derive(Clone, Debug)]
struct Answers {
    advertisement: Vec<u8>,
    refs: Vec<u8>,
    commit: Vec<u8>,
    blob: Vec<u8>,
}

/// A server that gives these answers.
struct Host {
    server: HttpServer,
    answers: Arc<Mutex<Answers>>,
    _sandbox: Sandbox,
}

impl Host {
    fn new() -> (Self, Answers) {
        let sandbox = Sandbox::new();
        sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
        let server = HttpServer::start(sandbox.repos());
        run(async { read_a(&server).await.unwrap() });
        let mut bodies = server.requests().into_iter().map(|request| request.response_body);
        let mut next = || bodies.next().unwrap();
        let answers = Answers { advertisement: next(), refs: next(), commit: next(), blob: next() };
        let shared = Arc::new(Mutex::new(answers.clone()));
        let given = Arc::clone(&shared);
        let hook = move |request: &Recorded| {
            let answers = given.lock().unwrap();
            let asked = request.body_text();
            let (kind, body) = if request.method == "GET" {
                ("advertisement", &answers.advertisement)
            } else if asked.contains("command=ls-refs") {
                ("result", &answers.refs)
            } else if asked.contains("deepen") {
                ("result", &answers.commit)
            } else {
                ("result", &answers.blob)
            };
            let content_type = format!("application/x-git-upload-pack-{kind}");
            Some(CannedResponse::new(200, &content_type, body.clone()))
        };
        server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() });
        server.forget_requests();
        (Self { server, answers: shared, _sandbox: sandbox }, answers)
    }

    /// Reads the file when these are the answers.
    fn read(&self, answers: Answers) -> Result<String, Error> {
        *self.answers.lock().unwrap() = answers;
        let answer = run(read_a(&self.server));
        if let Err(error) = &answer {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
        answer
    }

    #[track_caller]
    fn accepts(&self, answers: Answers) {
        assert_eq!(self.read(answers).unwrap(), "a\n");
    }

    #[track_caller]
    fn refuses(&self, answers: Answers, kind: ErrorKind, words: &str) {
        let error = self.read(answers).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

async fn open(server: &HttpServer) -> Result<RemoteRepo, Error> {
    let transport = HttpTransport::new(HttpOptions::default())?;
    let options = RemoteOptions::default();
    let remote = Remote::open(transport, &server.url("r.git"), options).await?;
    Ok(Repo::new(remote, Limits::default()))
}

async fn read_a(server: &HttpServer) -> Result<String, Error> {
    let snapshot = open(server).await?.snapshot("HEAD").await?;
    match snapshot.read_path("a", Default::default()).await? {
        ReadAnswer::File(file) => Ok(String::from_utf8(file.bytes.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn packet(payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    [format!("{:04x}", payload.len() + 4).as_bytes(), payload].concat()
}

/// The answer's packets, each with its length; special packets too.
fn packets(answer: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut rest = answer;
    while !rest.is_empty() {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..4]).unwrap(), 16).unwrap();
        let (packet, after) = rest.split_at(length.max(4));
        packets.push(packet.to_vec());
        rest = after;
    }
    packets
}

/// The answer with `more` before each of its packets that `is_at` picks.
fn with(answer: &[u8], more: &[u8], is_at: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let packets = packets(answer);
    let parts = packets.iter().flat_map(|packet| {
        let extra = if is_at(packet) { more } else { b"" };
        [extra, packet].concat()
    });
    parts.collect()
}

fn is_pack_data(packet: &[u8]) -> bool {
    packet.get(4) == Some(&1)
}

#[test]
fn case_18_packet_lengths_that_git_refuses_are_refused_in_every_answer() {
    let (host, honest) = Host::new();
    host.accepts(honest.clone());
    for length in ["-001", "0x1f", "0003", "ZZZZ", "fff1", "+00a", " 00a", "0 0a"] {
        let bad = format!("{length}abcdefghijklmnopqrstuvwxyz");
        let spoiled = |answer: &[u8]| with(answer, bad.as_bytes(), |packet| packet == b"0000");
        let place = |answers| host.refuses(answers, ErrorKind::Malformed, "packet length");
        place(Answers { refs: spoiled(&honest.refs), ..honest.clone() });
        place(Answers { commit: spoiled(&honest.commit), ..honest.clone() });
        place(Answers { blob: spoiled(&honest.blob), ..honest.clone() });
        place(Answers { advertisement: spoiled(&honest.advertisement), ..honest.clone() });
    }
}

#[test]
fn case_19_keepalives_and_a_response_end_are_tolerated() {
    let (host, honest) = Host::new();
    let keepalive = [b"0005\x01".repeat(20), packet(b"\x02remote: busy\r")];
    // And an empty packet, which says nothing.
    let keepalive = [keepalive.concat(), b"0004".to_vec()].concat();
    host.accepts(Answers {
        commit: with(&honest.commit, &keepalive, is_pack_data),
        blob: with(&honest.blob, &b"0005\x01".repeat(3), is_pack_data),
        ..honest.clone()
    });
    host.accepts(Answers { blob: [&honest.blob[..], b"0002"].concat(), ..honest });
}

#[test]
fn case_26_only_bands_1_and_3_decide() {
    let (host, honest) = Host::new();
    // In the middle of a pack that is fine.
    let dying = packet(b"\x02fatal: out of coffee\n");
    host.accepts(Answers {
        commit: with(&honest.commit, &dying, is_pack_data),
        blob: with(&honest.blob, &dying, |packet| packet == b"0000"),
        ..honest.clone()
    });
    let fatal = packet(b"\x03fatal: out of coffee\n");
    let blob = with(&honest.blob, &fatal, |packet| packet == b"0000");
    host.refuses(Answers { blob, ..honest }, ErrorKind::Transport, "fatal: out of coffee");
}

#[test]
fn case_34_every_request_says_that_it_is_gits() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    for version in [0, 1, 2] {
        let server =
            HttpServer::start_with(sandbox.repos(), Behaviour::default().speaking(version));
        assert_eq!(run(read_a(&server)).unwrap(), "a\n");
        for request in server.requests() {
            let agent = request.header("user-agent").unwrap_or_default();
            assert!(agent.starts_with("git/gitsip-"), "{agent}");
        }
    }
}

#[test]
fn case_18_the_longest_packet_there_is_is_read() {
    let sandbox = Sandbox::new();
    let text = "x".repeat(65_515 * 2);
    let origin = sandbox.bare("r.git");
    origin.git().run(["config", "core.compression", "0"]);
    origin.git().run(["config", "pack.compression", "0"]);
    origin.commit("main", &[File::new("a", &text)]);
    let server = HttpServer::start(sandbox.repos());
    assert_eq!(run(read_a(&server)).unwrap(), text);
    // How long git's packets are depends on its pipes; these are as long as they can be.
    let pack = server.requests()[3].pack().unwrap();
    let data = pack.chunks(65_515).flat_map(|data| packet([b"\x01", data].concat()));
    let blob: Vec<u8> = packet("packfile\n").into_iter().chain(data).collect();
    assert!(blob.windows(5).any(|start| start == b"fff0\x01"));
    let blob = [blob, b"0000".to_vec()].concat();
    let hook = move |request: &Recorded| {
        let asked = request.body_text();
        let is_blob = asked.contains("command=fetch") && !asked.contains("deepen");
        is_blob
            .then(|| CannedResponse::new(200, "application/x-git-upload-pack-result", blob.clone()))
    };
    server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() });
    assert_eq!(run(read_a(&server)).unwrap(), text);
}

#[test]
fn case_19_an_answer_is_the_same_in_whatever_pieces_it_comes() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    for max_chunk_bytes in [1, 2, 3, 5] {
        let behaviour =
            Behaviour { max_chunk_bytes: Some(max_chunk_bytes), ..Behaviour::default() };
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        assert_eq!(run(read_a(&server)).unwrap(), "a\n");
    }
}

#[test]
fn case_20_a_host_that_gives_up_is_quoted_whatever_was_asked() {
    let (host, honest) = Host::new();
    let gives_up = packet(b"ERR out of \x1b[31mcoffee");
    let place = |answers| host.refuses(answers, ErrorKind::Transport, "out of \\x1b[31mcoffee");
    place(Answers { advertisement: gives_up.clone(), ..honest.clone() });
    place(Answers { refs: gives_up.clone(), ..honest.clone() });
    place(Answers { commit: gives_up.clone(), ..honest.clone() });
    let behind = with(&honest.refs, &gives_up, |packet| packet == b"0000");
    place(Answers { refs: behind, ..honest.clone() });
    place(Answers {
        blob: with(&honest.blob, &gives_up, |p| p == packet(b"packfile\n")),
        ..honest
    });
}

#[test]
fn case_22_an_advertisement_without_its_service_header_or_with_much_unknown_is_read() {
    let (host, honest) = Host::new();
    let header = b"001e# service=git-upload-pack\n0000";
    let bare = honest.advertisement.strip_prefix(header).unwrap_or(&honest.advertisement).to_vec();
    host.accepts(Answers { advertisement: bare.clone(), ..honest.clone() });
    let headed = [header, &bare[..]].concat();
    host.accepts(Answers { advertisement: headed, ..honest.clone() });
    let unknown: Vec<u8> = (0..2_000).flat_map(|n| packet(format!("odd-{n}=\x1b[31m\n"))).collect();
    let at_end = |packet: &[u8]| packet == b"0000";
    let much = with(&bare, &unknown, at_end);
    host.accepts(Answers { advertisement: much, ..honest.clone() });
    let endless = with(&bare, &packet("x".repeat(60_000)).repeat(40), at_end);
    host.refuses(Answers { advertisement: endless, ..honest.clone() }, ErrorKind::Limit, "1048576");
    let format = with(&bare, &packet("object-format=sha512\n"), at_end);
    host.refuses(Answers { advertisement: format, ..honest }, ErrorKind::Unsupported, "sha512");
}

#[test]
fn case_22_ids_that_are_none_and_ids_of_the_other_hash_are_refused() {
    let (host, honest) = Host::new();
    for (id, words) in [
        ("../../../../../../../../../../etc/passwd", "makes no sense"),
        ("..", "makes no sense"),
        ("", "makes no sense"),
        (&"g".repeat(40), "makes no sense"),
        (&"1".repeat(39), "makes no sense"),
        (&"1".repeat(64), "sha256"),
    ] {
        let line = packet(format!("{id} refs/heads/x\n"));
        let refs = with(&honest.refs, &line, |packet| packet == b"0000");
        host.refuses(Answers { refs, ..honest.clone() }, ErrorKind::Malformed, words);
    }
    let shallow = packet(format!("shallow {}\n", "2".repeat(64)));
    let commit = with(&honest.commit, &shallow, |packet| packet == b"0001");
    host.refuses(Answers { commit, ..honest }, ErrorKind::Malformed, "sha256");
}

#[test]
fn case_35_sections_that_are_unknown_are_skipped_and_addresses_in_them_never_asked() {
    let (host, honest) = Host::new();
    let evil = host.server.url("evil.pack");
    let uris = [
        packet("packfile-uris\n"),
        packet(format!("{} {evil}\n", "3".repeat(40))),
        b"0001".to_vec(),
        packet("section-of-the-future\n"),
        packet("anything \x1b[31m at all\n"),
        b"0001".to_vec(),
    ]
    .concat();
    let before_pack = |answer: &[u8]| with(answer, &uris, |p| p == packet(b"packfile\n"));
    let bundles = packet("bundle-uri\n");
    let advertisement = with(&honest.advertisement, &bundles, {
        let last = packets(&honest.advertisement).len();
        let seen = std::cell::Cell::new(0);
        move |_| {
            seen.set(seen.get() + 1);
            seen.get() == last
        }
    });
    host.accepts(Answers {
        advertisement,
        commit: before_pack(&honest.commit),
        blob: before_pack(&honest.blob),
        ..honest
    });
    let requests = host.server.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.iter().all(|request| request.path.starts_with("/r.git/")));
    assert!(requests.iter().all(|request| !request.body_text().contains("bundle-uri")));
}

#[test]
fn an_answer_that_goes_on_behind_its_end_or_breaks_off_is_refused() {
    let (host, honest) = Host::new();
    let more = |answer: &[u8]| [answer, &packet("more\n")].concat();
    let less = |answer: &[u8]| answer[..answer.len() - 4].to_vec();
    let follow = |answers| host.refuses(answers, ErrorKind::Malformed, "follow the end");
    follow(Answers { advertisement: more(&honest.advertisement), ..honest.clone() });
    follow(Answers { refs: more(&honest.refs), ..honest.clone() });
    follow(Answers { blob: more(&honest.blob), ..honest.clone() });
    let broken = |answers| host.refuses(answers, ErrorKind::Transport, "ended in the middle");
    broken(Answers { advertisement: less(&honest.advertisement), ..honest.clone() });
    broken(Answers { refs: less(&honest.refs), ..honest.clone() });
    broken(Answers { blob: less(&honest.blob), ..honest });
}

#[test]
fn case_25_only_the_prefixes_of_what_was_asked_are_sent_and_master_is_never_invented() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open(&server).await.unwrap();
        repo.snapshot("topic").await.unwrap_err();
        repo.snapshot("HEAD").await.unwrap();
        repo.refs(&["refs/tags/".into()]).await.unwrap();
    });
    let asked: Vec<_> = server.requests()[1..].iter().map(Recorded::body_text).collect();
    let prefixes = |text: &str| text.matches("ref-prefix ").count();
    for full in ["topic", "refs/topic", "refs/tags/topic", "refs/heads/topic"] {
        assert!(asked[0].contains(&format!("ref-prefix {full}\n")), "{}", asked[0]);
    }
    assert_eq!(prefixes(&asked[1]), 0, "everything is looked at for what may be meant");
    assert!(asked[2].contains("ref-prefix HEAD\n"));
    assert!(asked[3].contains("ref-prefix refs/tags/\n") && prefixes(&asked[3]) == 1);
    assert!(asked.iter().all(|text| !text.contains("master")));
}

#[test]
fn case_31_names_with_deceptive_characters_are_shown_escaped() {
    let (host, honest) = Host::new();
    let id = "4".repeat(40);
    let refs = [packet(format!("{id} refs/heads/ma\u{202e}in\n")), b"0000".to_vec()];
    *host.answers.lock().unwrap() = Answers { refs: refs.concat(), ..honest };
    let error = run(async {
        open(&host.server).await.unwrap().snapshot("ma\u{202d}in").await.unwrap_err()
    });
    let line = error.to_string();
    assert!(line.contains("did you mean 'ma\\u{202e}in'?"), "{line}");
}

#[test]
fn case_33_symbolic_refs_in_a_loop_are_an_error_and_no_loop() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "a\n")]);
    let git = origin.git();
    git.run(["symbolic-ref", "refs/heads/x", "refs/heads/y"]);
    git.run(["symbolic-ref", "refs/heads/y", "refs/heads/x"]);
    git.run(["symbolic-ref", "HEAD", "refs/heads/x"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open(&server).await.unwrap();
        for name in ["HEAD", "x", "refs/heads/y"] {
            let error = repo.snapshot(name).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
        repo.snapshot("main").await.unwrap();
    });
}

#[test]
fn case_35_addresses_inside_a_repository_are_shown_and_never_asked() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let server = HttpServer::start(sandbox.repos());
    let evil = server.url("evil.git");
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "5".repeat(64)
    );
    origin.commit(
        "main",
        &[
            File::new(".gitmodules", format!("[submodule \"s\"]\n\tpath = s\n\turl = {evil}\n")),
            File::new(".lfsconfig", format!("[lfs]\n\turl = {evil}\n")),
            File::submodule("s", &"6".repeat(40)),
            File::new("big.bin", &pointer),
        ],
    );
    run(async {
        let snapshot = open(&server).await.unwrap().snapshot("HEAD").await.unwrap();
        snapshot.prefetch(&Default::default()).await.unwrap();
        match snapshot.read_path("s", Default::default()).await.unwrap() {
            ReadAnswer::Submodule(submodule) => {
                assert_eq!(submodule.url.unwrap(), evil);
                assert_eq!(submodule.id.to_string(), "6".repeat(40));
            }
            other => panic!("{other:?}"),
        }
        match snapshot.read_path("big.bin", Default::default()).await.unwrap() {
            ReadAnswer::File(file) => {
                assert_eq!(&file.bytes[..], pointer.as_bytes());
                assert_eq!(file.lfs.unwrap().size, 12_345);
            }
            other => panic!("{other:?}"),
        }
        let error = snapshot.read_path("s/inside", Default::default()).await.unwrap_err();
        assert_eq!(error.code(), "in_submodule");
    });
    assert_eq!(server.requests().len(), 3);
    assert!(server.requests().iter().all(|request| request.path.starts_with("/r.git/")));
}
