//! Without a terminal: lines for whoever asks for them.

use std::process::Output;

use super::support::git::File;
use super::support::http_server::{Auth, Behaviour};
use super::support::world::{README, World, one_line, text};

const SECRET: &str = "s3cret-t0ken";

#[test]
fn progress_is_lines_for_whoever_asks_and_nothing_otherwise() {
    let world = World::new();
    let words = ["cat", world.url.as_str(), "README.md"];
    let quiet = world.gitsip(words);
    assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), (README, ""));
    let output = world.gitsip(words.iter().chain(&["--progress"]));
    assert_eq!(text(&output.stdout), README);
    let lines: Vec<&str> = text(&output.stderr).lines().collect();
    for (at, beginning) in [
        (0, "gitsip: asking the host"),
        (1, "gitsip: listing refs, 0 B"),
        (2, "gitsip: waiting for the host"),
    ] {
        assert_eq!(lines[at], beginning, "{lines:?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("gitsip: receiving ")), "{lines:?}");
    let ends = lines.iter().filter(|line| line.starts_with("gitsip: received ")).count();
    assert_eq!(ends, 2, "trees, and a file: {lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("gitsip: received 1 objects, "), "{last}");

    let both = world.gitsip(words.iter().chain(&["--progress", "--no-progress"]));
    assert_eq!(text(&both.stderr), "", "the last word counts");
}

#[test]
fn what_was_asked_of_the_host_is_said_in_words() {
    let world = World::new();
    let said = |words: &[&str]| {
        let output = world.gitsip(["cat", &world.url, "README.md"].iter().chain(words));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), README));
        text(&output.stderr).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let commit = world.bare.git().run(["rev-parse", "main"]);
    let blob = world.bare.git().run(["rev-parse", "main:README.md"]);
    let lines = said(&["-v"]);
    let beginnings = [
        "gitsip: asked for what the host can do: 200, ".to_owned(),
        "gitsip: asked for refs: 200, ".to_owned(),
        format!("gitsip: asked for commit {} and its trees: 200, ", &commit[..7]),
        format!("gitsip: asked for file {}: 200, ", &blob[..7]),
    ];
    assert_eq!(lines.len(), beginnings.len(), "{lines:?}");
    for (line, beginning) in lines.iter().zip(&beginnings) {
        assert!(line.starts_with(beginning), "{line}");
        assert!(line.contains("B in ") && line.ends_with("s"), "bytes and time: {line}");
    }
    let more = said(&["-vv"]);
    assert!(more.len() > lines.len(), "{more:?}");
    assert!(more.iter().any(|line| line.starts_with("gitsip: asking for refs")), "{more:?}");
    assert!(more.iter().any(|line| line.contains(" objects came, ")), "{more:?}");
    assert_eq!(said(&["--verbose"]).len(), lines.len());
}

#[test]
fn grep_has_the_long_form_because_the_short_one_inverts() {
    let world = World::new();
    let words = ["grep", world.url.as_str(), "hello", "README.md"];
    let inverted = world.gitsip(words.iter().chain(&["-v"]));
    assert_eq!(text(&inverted.stdout).lines().count(), 3);
    assert_eq!(text(&inverted.stderr), "");
    let told = world.gitsip(words.iter().chain(&["--verbose"]));
    assert_eq!(text(&told.stdout).lines().count(), 1);
    assert!(text(&told.stderr).contains("asked for refs"), "{told:?}");
}

#[test]
fn what_the_host_lacks_and_what_is_sent_again_is_said() {
    let world = World::new();
    world.server.set_behaviour(Behaviour::default().without_filter().busy(429, "0", 1));
    let output = world.gitsip(["cat", &world.url, "README.md", "-v"]);
    let said = text(&output.stderr);
    assert!(said.contains("gitsip: asked for what the host can do: 429, "), "{said}");
    assert!(said.contains("gitsip: the host asks for patience: "), "{said}");
    let lacks = "the host cannot filter: whole snapshots are fetched";
    assert_eq!(said.matches(lacks).count(), 1, "as a warning, and not twice: {said}");
    let old = Behaviour::default().speaking(0);
    world.server.set_behaviour(old);
    let output = world.gitsip(["cat", &world.url, "README.md", "-v"]);
    let said = text(&output.stderr);
    assert!(said.contains("gitsip: the host speaks protocol version 0"), "{said}");
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn statistics_tell_each_request() {
    let world = World::new();
    let stats = stats_of(&world.gitsip(["cat", &world.url, "README.md", "--stats"]));
    let exchanges = stats["exchanges"].as_array().unwrap();
    let kinds: Vec<&str> = exchanges.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["capabilities", "refs", "commits", "blobs"]);
    for (exchange, request) in exchanges.iter().zip(world.server.requests()) {
        assert_eq!(exchange["status"], 200);
        assert_eq!(exchange["bytes"], request.response_bytes);
        assert!(exchange["ms"].is_u64());
        assert_eq!(exchange["is_open"], false);
    }
    assert_eq!(stats["protocol"], 2);
    assert_eq!(stats["retries"], 0);
    assert_eq!(stats["memory"]["max_bytes"], 512 << 20);
    assert!(stats["memory"]["peak_bytes"].as_u64() >= stats["memory"]["used_bytes"].as_u64());
    let commit = world.bare.git().run(["rev-parse", "main"]);
    assert_eq!(exchanges[2]["first"], commit);

    let local = world.bare.path().to_str().unwrap();
    let words = ["cat", local, "README.md", "--stats", "--max-memory", "64MiB"];
    let stats = stats_of(&world.gitsip(words));
    assert_eq!(stats["protocol"], serde_json::Value::Null);
    assert_eq!(stats["memory"]["max_bytes"], 64 << 20);
}

#[test]
fn statistics_tell_which_request_a_deadline_met() {
    let world = World::new();
    world.server.set_behaviour(Behaviour {
        stall_after: Some(10),
        faults_when: Some(Box::new(|request| request.body_text().contains("command=fetch"))),
        ..Behaviour::default()
    });
    let words = ["ls", world.url.as_str(), "--stats", "--timeout", "500ms"];
    let output = world.gitsip(words);
    assert_eq!(output.status.code(), Some(10));
    let stats = text(&output.stderr).lines().find(|line| line.starts_with('{')).unwrap();
    let stats: serde_json::Value = serde_json::from_str(stats).unwrap();
    let last = stats["exchanges"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["kind"], &last["bytes"]), (&"commits".into(), &10.into()));
    assert!(last["is_open"] == true || last["error"] == "cancelled", "{last}");
}

#[test]
fn nothing_that_is_told_has_a_secret_or_an_escape_in_it() {
    let world = World::new();
    let auth = Some(Auth::Basic { user: "me".to_owned(), password: SECRET.to_owned() });
    let red = Behaviour { auth, ..Behaviour::default() };
    world.server.set_behaviour(red.failing(500, "\u{1b}[31mred"));
    let told = ["-vv", "--stats", "--progress"];
    let address = world.url.replace("://", &format!("://me:{SECRET}@"));
    for address in [address.clone(), format!("{address}?private_token={SECRET}")] {
        let output = world.gitsip(["cat", &address, "README.md"].iter().chain(&told));
        assert_tells_no_secret(&output);
    }
    let mut command = world.command(["cat", &world.url, "README.md", "--token-env", "TOKEN"]);
    let output = command.args(told).env("TOKEN", format!("me:{SECRET}")).output().unwrap();
    assert_tells_no_secret(&output);
}

#[track_caller]
fn assert_tells_no_secret(output: &Output) {
    let told = text(&output.stderr);
    assert!(told.lines().count() > 3, "{told}");
    for secret in [SECRET, "bWU6czNjcmV0LXQwa2Vu", "\u{1b}"] {
        assert!(!told.contains(secret), "{told}");
    }
}

#[test]
fn a_local_repository_asks_nobody() {
    let world = World::new();
    let repo = world.sandbox.bare("local.git");
    repo.commit("main", &[File::new("a", "a\n")]);
    let words = ["cat", repo.path().to_str().unwrap(), "a", "-vv", "--progress"];
    let output = world.gitsip(words);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("a\n", ""));
}

#[test]
fn a_long_search_tells_how_far_it_has_come() {
    let world = World::new();
    let repo = world.sandbox.bare("local.git");
    let file = |number: u32| File::new(format!("{number:04}"), format!("{number}\n"));
    repo.commit("main", &(0..1_100).map(file).collect::<Vec<_>>());
    repo.repack();
    let output = world.gitsip(["grep", repo.path().to_str().unwrap(), "nowhere", "--progress"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert_eq!(one_line(&output), "gitsip: searching, 1024 files and 4.0 kB so far");
}

fn stats_of(output: &Output) -> serde_json::Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_str(one_line(output)).unwrap()
}
