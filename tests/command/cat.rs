//! `gitsip cat`: numbered lines and files of several refs.

use std::process::{Command, Stdio};

use crate::support::git::File;
use crate::support::world::{MAIN, README, World, one_line, text};

#[test]
fn lines_are_numbered_as_cat_does() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    for file in ["README.md", "src/main.rs", "odd/empty", "odd/binary"] {
        let content = world.bare.git().bytes(["show", &format!("HEAD:{file}")]);
        let copy = world.sandbox.path().join("copy");
        std::fs::write(&copy, content).unwrap();
        let cat = Command::new("cat").arg("-n").arg(&copy).stdin(Stdio::null()).output().unwrap();
        let ours = world.gitsip(["cat", local, file, "-n"]);
        assert_eq!(ours.status.code(), Some(0), "{ours:?}");
        assert_eq!(ours.stdout, cat.stdout, "{file}");
    }
    assert_eq!(
        world.out(["cat", local, "README.md", "-n", "--lines", "3:9"]),
        "     3\tthird\n     4\tlast"
    );
    assert_eq!(
        world.out(["cat", local, "--number", "README.md", "src/main.rs", "--lines=1:4"]),
        "     1\t# hello\n     2\tsecond\n     3\tthird\n     4\tlast\n\
         \u{20}    1\tfn main() {\n     2\t    println!(\"hello\");\n     3\t}\n",
        "each file from its own first line, and on lines of their own"
    );
}

#[test]
fn a_path_may_name_its_ref() {
    let world = World::new();
    let git = world.bare.git();
    git.run(["tag", "v1", "main~1"]);
    git.run(["branch", "topic/x", "main~1"]);
    let id = git.run(["rev-parse", "main~1"]);
    for repo in [world.url.as_str(), world.bare.path().to_str().unwrap()] {
        let cat = |words: &[&str]| world.out(["cat", repo].iter().chain(words));
        assert_eq!(cat(&["v1:README.md"]), "old\n");
        assert_eq!(cat(&["topic/x:README.md"]), "old\n");
        assert_eq!(cat(&[&format!("{id}:README.md")]), "old\n");
        assert_eq!(cat(&["HEAD:./src//main.rs", "--ref", "v1"]), MAIN);
        assert_eq!(
            cat(&["v1:README.md", "README.md", "v1:README.md", "main:src/main.rs"]),
            ["old\n", README, "old\n", MAIN].concat()
        );
        let gits = git.run(["show", "v1:README.md"]);
        assert_eq!(cat(&["v1:README.md"]).trim_end(), gits);
    }
}

#[test]
fn a_file_that_exists_wins_over_a_ref() {
    let world = World::new();
    let repo = world.sandbox.bare("colons.git");
    repo.commit("main", &[File::new("a", "by ref\n"), File::new("main:a", "by name\n")]);
    repo.commit("other", &[File::new("a", "other\n")]);
    let local = repo.path().to_str().unwrap();
    assert_eq!(world.out(["cat", local, "main:a", "other:a", "a"]), "by name\nother\nby ref\n");
    assert_eq!(world.out(["cat", local, "main:a", "--ref", "other"]), "by ref\n");
    assert_eq!(world.status(["cat", local, ":a"]), 3, "there is no index");
}

#[test]
fn what_does_not_exist_is_told_with_its_place_and_the_nearest_name() {
    let world = World::new();
    let git = world.bare.git();
    git.run(["tag", "v1", "main~1"]);
    let short = |rev: &str| git.run(["rev-parse", "--short=7", rev]);
    let (head, v1) = (short("main"), short("v1"));
    for (words, line) in [
        (
            &["src/mian.rs", "--ref", "main"][..],
            format!("'src/mian.rs' at main ({head}); did you mean 'src/main.rs'?"),
        ),
        (&["none/x"], format!("'none/x' at HEAD ({head}): there is no 'none'; list what is there")),
        (
            &["none", "--ref", &git.run(["rev-parse", "main"])],
            format!("'none' at {head}; list what is there"),
        ),
        (&["v1:REAMDE.md"], format!("'REAMDE.md' at v1 ({v1}); did you mean 'README.md'?")),
        (&["v2:README.md"], format!("no ref 'v2' in {}; did you mean 'v1'?", world.url)),
        (&["x", "--ref", "mian"], format!("no ref 'mian' in {}; did you mean 'main'?", world.url)),
    ] {
        let output = world.gitsip(["cat", world.url.as_str()].iter().chain(words));
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        assert_eq!(one_line(&output), format!("gitsip: not found: {line}"));
    }
    let mixed = world.gitsip(["cat", &world.url, "v2:x", "README.md", "v1:README.md"]);
    assert_eq!((mixed.status.code(), text(&mixed.stdout)), (Some(3), &*format!("{README}old\n")));
}
