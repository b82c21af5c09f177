//! `--json` and `--jsonl`: the library's own format, item by item or as one document.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::git::File;
use crate::support::http_server::{Behaviour, Recorded, When};
use crate::support::world::{World, one_line, text};

fn document(world: &World, words: &[&str]) -> Value {
    serde_json::from_str(&world.out(words.iter().chain(&["--json"]))).expect("one document")
}

fn lines(world: &World, words: &[&str]) -> Vec<Value> {
    let printed = world.out(words.iter().chain(&["--jsonl"]));
    printed.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
}

#[test]
fn a_document_and_its_lines_say_the_same_near_and_far() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    let questions: [&[&str]; 8] = [
        &["refs"],
        &["ls"],
        &["ls", "-r"],
        &["cat", "README.md", "odd/caf\u{e9}"],
        &["cat", "src/main.rs", "--lines", "2:"],
        &["glob", "*.rs"],
        &["grep", "hello", "-C1"],
        &["grep", "-i", "todo", "-c", "-t", "c"],
    ];
    for words in questions {
        let of = |repo| [&words[..1], &[repo], &words[1..]].concat();
        if words.contains(&"odd/caf\u{e9}") {
            let output = world.gitsip(of(local).iter().chain(&["--json"]));
            assert_eq!(output.status.code(), Some(3), "the status of the path that is not there");
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["items"][1]["error"]["code"], "not_found");
            continue;
        }
        let (mut near, far) = (document(&world, &of(local)), document(&world, &of(&world.url)));
        let mut items = near["items"].clone();
        for (item, other) in items.as_array_mut().unwrap().iter_mut().zip(0..) {
            if words[0] == "ls" && item["size"] != Value::Null {
                // Far away nothing is fetched for a size.
                item["size"] = far["items"][other]["size"].clone();
            }
        }
        assert_eq!(items, far["items"], "{words:?}");
        assert_eq!(near["commit"], far["commit"]);
        let mut lines = lines(&world, &of(local));
        let mut envelope = lines.pop().unwrap();
        assert_eq!(near["items"], Value::Array(lines), "{words:?}");
        near.as_object_mut().unwrap().remove("items");
        envelope["stats"]["elapsed_ms"] = near["stats"]["elapsed_ms"].clone();
        assert_eq!(envelope, near);
    }
}

#[test]
fn pages_are_gone_through_with_next() {
    let world = World::new();
    let whole = document(&world, &["grep", &world.url, "hello|odd"]);
    let mut items = Vec::new();
    let mut cursor = Value::Null;
    while items.is_empty() || !cursor.is_null() {
        let mut words = vec!["grep", &world.url, "hello|odd", "--limit", "2"];
        if let Some(cursor) = cursor.as_str() {
            words.extend(["--cursor", cursor]);
        }
        let output = world.gitsip(words.iter().chain(&["--json"]));
        let page: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(page["items"].as_array().unwrap().len() <= 2);
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        cursor = page["next"].clone();
    }
    assert_eq!(Value::Array(items), whole["items"]);
}

#[test]
fn the_ref_that_was_asked_for_is_named() {
    let world = World::new();
    let of = |name| document(&world, &["ls", &world.url, "--ref", name])["ref"].clone();
    assert_eq!(of("main"), json!({"text": "refs/heads/main"}));
    assert_eq!(document(&world, &["ls", &world.url])["ref"], json!({"text": "HEAD"}));
    let id = world.bare.git().run(["rev-parse", "main"]);
    assert_eq!(of(&id), Value::Null);
}

#[test]
fn an_error_is_one_object() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    for (words, status, code) in [
        (&["ls", local, "scr", "--json"][..], 3, "not_found"),
        (&["grep", local, "(", "--json"], 2, "pattern"),
        (&["grep", local, "--jsonl"], 2, "usage"),
        (&["grep", local, "x", "--jsno", "--json"], 2, "usage"),
        (&["ls", local, "--cursor", "x", "--jsonl"], 2, "bad_cursor"),
        (&["ls", "no/such/place/here", "--json"], 3, "not_found"),
    ] {
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(status), "{words:?} {output:?}");
        let failure: Value = serde_json::from_str(one_line(&output)).expect("one object");
        assert_eq!(failure["code"], code, "{words:?}");
        assert!(output.stdout.is_empty());
    }
    let output = world.gitsip(["grep", local, "no such text", "--json"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    use std::io::Read as _;
    use std::process::Stdio;

    let world = World::new();
    let big = world.big_repo();
    let mut command = world.command(["grep", big.path().to_str().unwrap(), "hello", "--jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_deadline_leaves_a_whole_document() {
    let world = World::new();
    let many: Vec<File> = (0..600)
        .map(|number| File::new(format!("f{number}"), format!("hello {number}\n")))
        .collect();
    world.sandbox.bare("many.git").commit("main", &many);
    let url = world.server.url("many.git");
    // The commit with its trees and the first batch of files come, and then nothing more.
    for form in ["--json", "--jsonl"] {
        let fetches = AtomicUsize::new(0);
        let is_late = move |request: &Recorded| {
            let is_fetch = request.body_text().contains("command=fetch");
            is_fetch && fetches.fetch_add(1, Ordering::SeqCst) >= 2
        };
        let faults_when: Option<When> = Some(Box::new(is_late));
        world.server.set_behaviour(Behaviour { silent: true, faults_when, ..Behaviour::default() });
        let output = world.gitsip(["grep", &url, "hello", "-g", "f*", form, "--timeout", "4s"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let last = text(&output.stdout).lines().last().unwrap_or_default().to_owned();
        let envelope: Value = serde_json::from_str(&last).expect("the last line is whole");
        assert_eq!(envelope["truncated"], "deadline");
        assert!(envelope["next"].is_string());
    }
}
