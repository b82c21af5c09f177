//! Repositories larger than the memory they are read in: right answers, and what has to come
//! again is little more than what does not fit.

use gitsip::agent::{PrefetchOptions, RemoteOptions, Source as _, Stats};
use gitsip::client::ladder::Fallback;
use gitsip::limits::Which;
use gitsip::view::glob::PathFilter;
use gitsip::view::grep::GrepOptions;
use gitsip::{Budget, Limits};

use super::client::*;
use super::support::git::{self, File, Sandbox};
use super::support::http_server::{Behaviour, HttpServer};

const FILES: usize = 260;
const FILE_BYTES: usize = 30_000;
const MEMORY: u64 = 3 << 20;

/// Files of text that deflate cannot shrink by much, each with one line to find: together
/// about twice [`MEMORY`] when packed.
fn large_repository(sandbox: &Sandbox) -> git::Repo {
    let origin = sandbox.bare("r.git");
    let file = |number: usize| {
        let mut text = noise(number as u64 + 1, FILE_BYTES);
        text.extend_from_slice(format!("\nneedle {number}\n").as_bytes());
        File::new(format!("d{}/{number:03}.txt", number % 7), text)
    };
    origin.commit("main", &(0..FILES).map(file).collect::<Vec<_>>());
    origin.repack();
    origin
}

fn in_little_memory(max_memory: u64) -> RemoteOptions {
    limits(|limits| limits.max_memory = max_memory)
}

/// What the command of git finds.
fn git_grep(origin: &git::Repo, text: &str) -> Vec<String> {
    let found = origin.git().run(["grep", "-n", "-a", "-F", text, "main"]);
    found.lines().map(|line| line.strip_prefix("main:").unwrap().to_owned()).collect()
}

/// Bytes of git's own pack of everything at the head.
fn packed(origin: &git::Repo) -> u64 {
    packed_bytes(origin, objects_of(origin, &origin.git().run(["rev-parse", "main"])))
}

fn blob_bytes(requests: &[super::support::http_server::Recorded], from: usize) -> u64 {
    let packs = requests[from..].iter().filter_map(|request| request.pack());
    packs.map(|pack| pack.len() as u64).sum()
}

#[test]
fn searches_over_twice_the_memory_fetch_little_more_than_what_does_not_fit() {
    let sandbox = Sandbox::new();
    let origin = large_repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let expected = git_grep(&origin, "needle");
    assert_eq!(expected.len(), FILES);
    run(async {
        let repo = open_with(&server.url("r.git"), in_little_memory(MEMORY)).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(grep(&snapshot, "needle").await.unwrap(), expected);
        let packed = packed(&origin);
        assert!(packed > 2 * MEMORY, "{packed}");
        for round in 0..6 {
            let before = server.requests().len();
            assert_eq!(grep(&snapshot, "needle").await.unwrap(), expected);
            let requests = server.requests();
            let came = blob_bytes(&requests, before);
            // Which segments go is chance in part.
            let most = packed - MEMORY / 2;
            assert!(came <= most, "{came} bytes in round {round} of {packed}, not {most}");
            assert!(requests.len() - before <= 16, "{} requests", requests.len() - before);
        }
        let stats: Stats = repo.stats();
        assert!(stats.memory.peak_bytes <= MEMORY, "{stats:?}");
        let memory = repo.memory_report();
        assert!(memory.evicted_objects >= memory.refetched_objects, "{memory:?}");
        assert!(memory.refetched_bytes > 3 * (packed - MEMORY), "{memory:?}");
    });
}

#[test]
fn what_was_evicted_is_read_again_and_answers_stay_pinned() {
    let sandbox = Sandbox::new();
    large_repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_with(&server.url("r.git"), in_little_memory(MEMORY)).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        grep(&snapshot, "needle").await.unwrap();
        for round in 0..2 {
            for number in (0..FILES).step_by(13) {
                let path = format!("d{}/{number:03}.txt", number % 7);
                let text = read(&snapshot, &path).await.unwrap();
                assert!(text.ends_with(&format!("\nneedle {number}\n")), "{path} in {round}");
            }
        }
        assert_eq!(walk(&snapshot).await.unwrap().len(), FILES);
        assert!(repo.source().budget().peak_bytes() <= MEMORY);
    });
}

#[test]
fn one_limit_is_shared_and_one_repository_makes_room_for_another() {
    let sandbox = Sandbox::new();
    let origin = large_repository(&sandbox);
    let other = sandbox.bare("other.git");
    other.commit("main", &[File::new("large", noise(1_000, 900_000))]);
    let server = HttpServer::start(sandbox.repos());
    let expected = git_grep(&origin, "needle");
    run(async {
        let budget = Budget::new(MEMORY);
        let options = || RemoteOptions { budget: Some(budget.part()), ..in_little_memory(MEMORY) };
        let repo = open_with(&server.url("r.git"), options()).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(grep(&snapshot, "needle").await.unwrap(), expected);
        let full = repo.source().budget().used_bytes();
        let second = open_with(&server.url("other.git"), options()).await.unwrap();
        let text = read(&second.snapshot("HEAD").await.unwrap(), "large").await.unwrap();
        assert_eq!(text.len(), 900_000);
        assert!(repo.source().budget().used_bytes() < full, "it made room");
        assert_eq!(grep(&snapshot, "needle").await.unwrap(), expected);
        assert!(budget.peak_bytes() <= MEMORY);
    });
}

#[test]
fn without_a_filter_files_are_left_out_until_they_are_asked_for() {
    let sandbox = Sandbox::new();
    let origin = large_repository(&sandbox);
    let server = HttpServer::start_with(sandbox.repos(), Behaviour::default().without_filter());
    let expected = git_grep(&origin, "needle");
    run(async {
        let repo = open_with(&server.url("r.git"), in_little_memory(MEMORY)).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        let text = read(&snapshot, "d3/003.txt").await.unwrap();
        assert!(text.ends_with("\nneedle 3\n"));
        // What does not fit came once in vain, once without its files, then the one file.
        assert_eq!(server.requests().iter().filter(|request| is_fetch(request)).count(), 3);
        assert_eq!(repo.stats().fallbacks.last(), Some(&Fallback::DoesNotFit.to_string()));
        assert_eq!(walk(&snapshot).await.unwrap().len(), FILES);
        let before = server.requests().len();
        assert_eq!(grep(&snapshot, "needle").await.unwrap(), expected);
        let came = blob_bytes(&server.requests(), before);
        assert!(came <= packed(&origin) * 5 / 4, "{came}: each file about once");
        assert!(repo.source().budget().peak_bytes() <= MEMORY);

        let error = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap_err();
        assert_eq!(error.limit().unwrap().which, Which::Memory);
        let said = error.to_string();
        let words: Vec<&str> = said.split(' ').collect();
        let at = words.iter().position(|word| *word == "MiB:").expect(&said);
        let needed: u64 = words[at - 1].parse().unwrap();
        let packed = packed(&origin) >> 20;
        assert!((packed..=packed * 2).contains(&needed), "{said}, and it has {packed} MiB");
        assert_eq!(read(&snapshot, "d3/003.txt").await.unwrap(), text);
    });
}

#[test]
fn where_everything_comes_or_nothing_it_comes_again_for_each_batch() {
    let sandbox = Sandbox::new();
    large_repository(&sandbox);
    let server = HttpServer::start_with(sandbox.repos(), all_or_nothing());
    run(async {
        let repo = open_with(&server.url("r.git"), in_little_memory(MEMORY)).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        let text = read(&snapshot, "d3/003.txt").await.unwrap();
        assert!(text.ends_with("\nneedle 3\n"));
        let before = server.requests().len();
        let filter = PathFilter::new(&["d1/*"], &[""; 0], &Limits::default()).unwrap();
        let options = GrepOptions { filter, ..GrepOptions::default() };
        let hits = grep_with(&snapshot, "needle", options).await.unwrap();
        assert_eq!(hits.len(), 37, "{hits:?}");
        let came = server.requests().len() - before;
        assert!(came <= 3, "{came} snapshots");
        assert!(repo.source().budget().peak_bytes() <= MEMORY);
    });
}

/// Speaks version 0, has no filter, and sends no object by its id.
fn all_or_nothing() -> Behaviour {
    let git = Behaviour::default().speaking(0).without_filter();
    git.configured("uploadpack.allowAnySHA1InWant", "false")
}

#[test]
fn files_that_come_as_deltas_of_others_are_found_among_them() {
    const FAMILIES: usize = 56;
    const MEMBERS: usize = 3;
    const LITTLE: u64 = 1 << 20;
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    // git looks for bases among names that end alike.
    let name = |number: usize| format!("{}-{:02}.txt", number % MEMBERS, number / MEMBERS);
    let own = |number: usize| format!("\nmember {number:03}\n");
    let file = |number: usize| {
        let mut text = noise((number / MEMBERS) as u64 + 1, FILE_BYTES);
        let at = 1_000 * (number % MEMBERS);
        text.splice(at..at, own(number).bytes());
        File::new(name(number), text)
    };
    origin.commit("main", &(0..FAMILIES * MEMBERS).map(file).collect::<Vec<_>>());
    origin.repack();
    let packed = packed(&origin);
    assert!((LITTLE..2 * LITTLE).contains(&packed), "{packed}");
    for behaviour in [Behaviour::default().without_filter(), all_or_nothing()] {
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        run(async {
            let repo = open_with(&server.url("r.git"), in_little_memory(LITTLE)).await.unwrap();
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            for number in [0, 1, 2, 100] {
                let text = read(&snapshot, &name(number)).await.unwrap();
                assert!(text.contains(&own(number)));
                assert_eq!(text.len(), FILE_BYTES + own(number).len());
            }
            assert!(repo.source().budget().peak_bytes() <= LITTLE);
            assert!(repo.stats().fallbacks.contains(&Fallback::DoesNotFit.to_string()));
        });
    }
}
