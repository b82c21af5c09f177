//! That JSON answers what the flags ask, as plain lines do, and refuses those it has no
//! place for.

use serde_json::{Value, json};

use super::refs::many_refs;
use crate::support::git::File;
use crate::support::http_server::Behaviour;
use crate::support::world::{World, one_line, text};

/// The items of the only document.
#[track_caller]
fn items(world: &World, words: &[&str]) -> Vec<Value> {
    let output = world.gitsip(words.iter().chain(&["--json"]));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let lines = world.gitsip(words.iter().chain(&["--jsonl"]));
    let mut lines: Vec<Value> = text(&lines.stdout).lines().map(parse).collect();
    lines.pop().expect("an envelope");
    assert_eq!(document["items"], Value::Array(lines.clone()), "{words:?}");
    lines
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).expect("a document a line")
}

fn word(value: &Value) -> &str {
    value["text"].as_str().unwrap()
}

/// A hit as it is printed.
fn printed(item: &Value) -> String {
    let near = |line: &Value| {
        format!("{}-{}-{}\n", word(&item["path"]), line["line"], word(&line["text"]))
    };
    let near = |lines: &Value| lines.as_array().unwrap().iter().map(near).collect::<String>();
    match (&item["line"], &item["count"]) {
        (Value::Null, Value::Null) => format!("{}\n", word(&item["path"])),
        (Value::Null, count) => format!("{}:{count}\n", word(&item["path"])),
        (line, _) => format!(
            "{}{}:{line}:{}\n{}",
            near(&item["before"]),
            word(&item["path"]),
            word(&item["text"]),
            near(&item["after"])
        ),
    }
}

#[test]
fn a_search_honours_each_flag() {
    let world = World::new();
    let repo = world.sandbox.bare("flags.git");
    let files = [
        File::new("a.rs", "one\ntwo hello\nthree\nHELLO\n"),
        File::new("b/c.py", "hello\nhello\nend\n"),
        File::new("b/d.rs", "nothing\n(hello\nhello)\n"),
        File::new("binary.rs", b"hello\0\n"),
        File::new("e.md", "hello\n"),
    ];
    repo.commit("main", &files);
    let repo = repo.path().to_str().unwrap();
    for flags in [
        &["hello"][..],
        &["hello", "-t", "rust"],
        &["hello", "-T", "rust"],
        &["hello", "-t", "rust", "-T", "rust", "-t", "py"],
        &["hello", "-T", "rust", "-t", "rust"],
        &["hello", "-t", "rust", "-g", "b/**"],
        &["hello", "-T", "py", "b"],
        &["hello", "-i", "-m1"],
        &["hello", "-S", "-w"],
        &["hello", "-c"],
        &["hello", "-l"],
        &["hello", "-l", "--max-total", "2"],
        &["hello", "-c", "--max-total", "2"],
        &["hello", "-v", "-g", "*.rs"],
        &["hello", "-a"],
        &["(hello", "-F"],
        &["hello\\nhello", "-U"],
        &["hello\nthree"],
        &["two hello\nthree", "-U"],
        &["-e", "two", "-e", "end"],
        &["two|end", "-C1"],
        &["hello", "-A1", "-m1"],
    ] {
        let words = [&["grep", repo], flags].concat();
        let plain = text(&world.gitsip(&words).stdout).replace("--\n", "");
        let hits: String = items(&world, &words).iter().map(printed).collect();
        assert_eq!(hits, plain, "{flags:?}");
        assert!(!hits.is_empty(), "{flags:?}");
    }
    let cut = items(&world, &["grep", repo, "hello", "-M", "64"]);
    assert!(cut.iter().all(|hit| hit["cut"] == Value::Null));
}

#[test]
fn the_last_of_t_and_t_not_wins() {
    let world = World::new();
    let grep = |flags: &[&str]| world.gitsip([&["grep", &world.url, "hello"], flags].concat());
    assert_eq!(grep(&["-t", "rust", "-T", "rust"]).status.code(), Some(1));
    let found = grep(&["-T", "rust", "-t", "rust", "-l"]);
    assert_eq!(text(&found.stdout), "src/deep/lib.rs\nsrc/main.rs\n");
}

#[test]
fn a_total_is_said_to_leave_something_out_only_when_it_does() {
    let world = World::new();
    let all = items(&world, &["grep", &world.url, "hello"]).len();
    for (mode, all) in [(&[][..], all), (&["-l"], all), (&["-c"], all)] {
        for total in [all - 1, all, all + 1] {
            let total_word = total.to_string();
            let words = [&["grep", &world.url, "hello", "--max-total", &total_word], mode].concat();
            let document = parse(&world.out(words.iter().chain(&["--json"])));
            assert_eq!(document["items"].as_array().unwrap().len(), total.min(all));
            let truncated = if total < all { json!("total") } else { Value::Null };
            assert_eq!((&document["truncated"], &document["next"]), (&truncated, &Value::Null));
        }
    }
    let none = world.gitsip(["grep", &world.url, "hello", "--max-total", "0", "--json"]);
    assert_eq!(none.status.code(), Some(6), "{none:?}");
    assert_eq!(parse(text(&none.stdout))["truncated"], "total");
}

#[test]
fn a_quiet_search_prints_nothing_in_json_too() {
    let world = World::new();
    for (pattern, status) in [("hello", 0), ("no such text", 1)] {
        let output = world.gitsip(["grep", &world.url, pattern, "-q", "--json"]);
        assert_eq!(output.status.code(), Some(status));
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn refs_honour_each_flag() {
    let world = World::new();
    let repo = many_refs(&world);
    let (local, url) = (repo.path().to_str().unwrap(), world.server.url("refs.git"));
    for flags in [
        &[][..],
        &["v2.*", "main"],
        &["--tags"],
        &["--branches"],
        &["-b", "-t", "v2*"],
        &["--refs"],
        &["--symref", "HEAD"],
        &["--sort=version:refname", "--tags"],
        &["--sort=-version:refname"],
        &["--sort=-refname"],
    ] {
        for repo in [local, &url] {
            let words = [&["refs", repo], flags].concat();
            let plain = world.out(words.iter());
            let plain: Vec<&str> = plain
                .lines()
                .filter(|line| !line.starts_with("ref: ") && !line.ends_with("^{}"))
                .filter_map(|line| Some(line.split_once('\t')?.1))
                .collect();
            let items = items(&world, &words);
            let names: Vec<&str> = items.iter().map(|item| word(&item["name"])).collect();
            assert_eq!(names, plain, "{repo} {flags:?}");
            let has_peeled = items.iter().any(|item| item["peeled"] != Value::Null);
            let has_tags = names.contains(&"refs/tags/v1.2");
            assert_eq!(has_peeled, has_tags && !flags.contains(&"--refs"), "{flags:?}");
        }
    }
    // Pages of another order join to the whole.
    let words = ["refs", &url, "--sort=-version:refname", "--tags"];
    let whole = items(&world, &words);
    let (mut joined, mut cursor) = (Vec::new(), Value::Null);
    while joined.is_empty() || !cursor.is_null() {
        let mut words = [&words[..], &["--limit", "3", "--json"]].concat();
        words.extend(cursor.as_str().iter().flat_map(|cursor| ["--cursor", cursor]));
        let page = parse(&world.out(&words));
        joined.extend(page["items"].as_array().unwrap().iter().cloned());
        cursor = page["next"].clone();
    }
    assert_eq!(joined, whole);
}

#[test]
fn files_of_several_refs_are_an_answer_for_each() {
    let world = World::new();
    let old = world.bare.git().run(["rev-parse", "main~1"]);
    let of_old = format!("{old}:README.md");
    let one = items(&world, &["cat", &world.url, &of_old, "--lines", "1"]);
    assert_eq!((one.len(), word(&one[0]["text"])), (1, "old\n"));

    let words = ["cat", &world.url, "src/main.rs", &of_old, "README.md", "--lines", "1:1"];
    let printed = world.out(words.iter().chain(&["--json"]));
    let answers: Vec<Value> = printed.lines().map(parse).collect();
    let texts = |answer: &Value| {
        let items = answer["items"].as_array().unwrap().iter();
        items.map(|item| word(&item["text"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(answers.len(), 2);
    assert_eq!(texts(&answers[0]), ["fn main() {\n", "# hello\n"]);
    assert_eq!(texts(&answers[1]), ["old\n"]);
    assert_eq!(answers[1]["commit"], old.trim());
    let lines = world.out(words.iter().chain(&["--jsonl"]));
    let envelopes = lines.lines().map(parse).filter(|line| line["schema"].is_string()).count();
    assert_eq!((lines.lines().count(), envelopes), (5, 2));

    let lost = world.gitsip(["cat", &world.url, "mian:README.md", "README.md", "--json"]);
    assert_eq!(lost.status.code(), Some(3));
    assert_eq!(parse(one_line(&lost))["code"], "not_found");
    assert_eq!(texts(&parse(text(&lost.stdout))), [crate::support::world::README]);
    let words = ["cat", &world.url, "HEAD:README.md", "main:README.md", "--json", "--cursor", "x"];
    assert_eq!(world.status(words), 2, "a cursor is one of one answer");
}

#[test]
fn a_tree_honours_each_flag() {
    let world = World::new();
    let paths = |flags: &[&str]| {
        let items = items(&world, &[&["tree", &world.url], flags].concat());
        items.iter().map(|item| word(&item["path"]).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["-d", "-L", "1"]), ["builtin", "odd", "src"]);
    assert_eq!(paths(&["-d"]), ["builtin", "odd", "src", "src/deep"]);
    assert_eq!(paths(&["src"]), ["src/deep", "src/deep/lib.rs", "src/main.rs"]);
    assert_eq!(paths(&["src", "--max-entries", "2"]), ["src/deep", "src/deep/lib.rs"]);
    assert_eq!(paths(&["src", "--max-entries", "2", "--limit", "1"]), ["src/deep"]);
    assert_eq!(paths(&["src", "--max-entries", "1", "--limit", "2"]), ["src/deep"]);
}

#[test]
fn what_has_no_place_in_json_is_refused_by_name() {
    let world = World::new();
    let url = world.url.as_str();
    for (words, flag) in [
        (&["grep", url, "hello", "-o", "--json"][..], "--only-matching"),
        (&["grep", url, "hello", "--heading", "--jsonl"], "--heading"),
        (&["grep", url, "hello", "-z", "--json"], "--null"),
        (&["grep", url, "hello", "--color=always", "--json"], "--color"),
        (&["grep", "--type-list", "--json"], "--type-list"),
        (&["cat", url, "README.md", "-n", "--json"], "--number"),
        (&["ls", url, "-z", "--json"], "--null"),
        (&["glob", url, "*", "-z", "--json"], "--null"),
        (&["ls", url, "--limit", "1"], "--limit"),
        (&["grep", url, "hello", "--cursor", "x"], "--cursor"),
    ] {
        world.server.forget_requests();
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(2), "{words:?} {output:?}");
        assert!(one_line(&output).contains(flag), "{words:?} {output:?}");
        assert!(output.stdout.is_empty());
        assert!(world.server.requests().is_empty(), "{words:?}");
    }
    for words in [
        &["grep", url, "hello", "-nrEHI", "--no-heading", "--color=never", "--json"][..],
        &["ls", url, "-l", "--json"],
        &["refs", url, "--symref", "--json"],
    ] {
        world.out(words);
    }
}

#[test]
fn an_error_and_a_warning_are_one_object_a_line() {
    let world = World::new();
    let output = world.gitsip(["grep", &world.url, "hello", "--max-memory", "1k", "--json"]);
    let failure = parse(one_line(&output));
    assert_eq!((output.status.code(), &failure["code"]), (Some(6), &json!("limit")));
    for field in ["message", "hint"] {
        assert!(failure[field].as_str().unwrap().ends_with("pass --max-memory SIZE"), "{failure}");
    }
    let types = world.gitsip(["grep", &world.url, "hello", "-t", "rsut", "--json"]);
    let message = parse(one_line(&types))["message"].clone();
    assert!(message.as_str().unwrap().ends_with("gitsip grep --type-list has all"), "{message}");

    world.server.set_behaviour(Behaviour::default().without_filter());
    let warned = world.gitsip(["cat", &world.url, "README.md", "--json"]);
    let warning = parse(one_line(&warned))["warning"].clone();
    assert!(warning.as_str().unwrap().starts_with("the host cannot filter"), "{warning}");
    assert_eq!(warned.status.code(), Some(0));
}
