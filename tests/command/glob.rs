//! `gitsip glob`: patterns, types of files, and the folder of an address.

use serde_json::Value;

use crate::support::git::File;
use crate::support::world::{World, one_line, text};

#[test]
fn patterns_and_types_choose_what_json_lists_too() {
    let world = World::new();
    let repo = world.sandbox.bare("kinds.git");
    let paths = ["a.py", "a.rs", "src/Makefile", "src/b.rs", "src/c.md", "src/deep/d.rs"];
    repo.commit("main", &paths.map(|path| File::new(path, "x\n")));
    let local = repo.path().to_str().unwrap();
    for (words, found) in [
        (&["*.rs"][..], &["a.rs", "src/b.rs", "src/deep/d.rs"][..]),
        (&["-t", "rust"], &["a.rs", "src/b.rs", "src/deep/d.rs"]),
        (&["src/*", "-t", "rust"], &["src/b.rs"]),
        (&["a.*", "-T", "rust"], &["a.py"]),
        (&["-T", "rust", "-T", "py", "-T", "make"], &["src/c.md"]),
        (&["*.rs", "-t", "py"], &[]),
    ] {
        let plain = world.gitsip(["glob", local].iter().chain(words));
        let lines: Vec<&str> = text(&plain.stdout).lines().collect();
        assert_eq!(lines, found, "{words:?}");
        assert_eq!(plain.status.code(), Some(u8::from(found.is_empty()).into()));
        let json = world.gitsip(["glob", local, "--json"].iter().chain(words));
        let json: Value = serde_json::from_slice(&json.stdout).unwrap();
        let items = json["items"].as_array().unwrap();
        let paths: Vec<&str> =
            items.iter().map(|item| item["path"]["text"].as_str().unwrap()).collect();
        assert_eq!(paths, found, "{words:?}");
    }
}

#[test]
fn what_is_no_pattern_or_type_is_refused_before_anything_is_asked() {
    let world = World::new();
    for (words, said) in
        [(&["a[", "-z"][..], "a["), (&["-t", "rsut"], "did you mean"), (&[], "PATTERN")]
    {
        let output = world.gitsip(["glob", &world.url].iter().chain(words));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(one_line(&output).contains(said), "{output:?}");
    }
    assert!(world.server.requests().is_empty());
}
