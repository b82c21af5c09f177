//! `gitsip tree`.

use crate::support::git::File;
use crate::support::world::{World, one_line, text};

#[test]
fn folders_are_drawn_with_their_counts() {
    let world = World::new();
    for repo in [world.url.as_str(), world.bare.path().to_str().unwrap()] {
        let tree = |words: &[&str]| world.out(["tree", repo].iter().chain(words));
        assert_eq!(
            tree(&[]),
            "\
.
├─ README.md
├─ builtin/ (1)
│  └─ grep.c
├─ link@
├─ module (submodule)
├─ odd/ (6)
│  ├─ a b
│  ├─ binary
│  ├─ \"caf\\351\"
│  ├─ empty
│  ├─ \"new\\nline\"
│  └─ \"q\\\"uo\\\\te\"
└─ src/ (2)
   ├─ deep/ (1)
   └─ main.rs

4 folders, 12 files
"
        );
        assert_eq!(
            tree(&["-d", "-L3"]),
            ".\n├─ builtin/ (1)\n├─ odd/ (6)\n└─ src/ (2)\n   └─ deep/ (1)\n\n4 folders, 12 files\n"
        );
        assert_eq!(tree(&["src", "-L1"]), "src\n├─ deep/ (1)\n└─ main.rs\n\n1 folder, 2 files\n");
    }
}

#[test]
fn what_is_left_out_is_told() {
    let world = World::new();
    assert_eq!(
        world.out(["tree", &world.url, "--max-entries", "9"]),
        "\
.
├─ README.md
├─ builtin/ (1)
│  └─ grep.c
├─ link@
├─ module (submodule)
├─ odd/ (6)
│  ├─ a b
│  └─ ... 5 more
└─ src/ (2)
   ├─ deep/ (1)
   └─ ... 1 more

4 folders, 12 files; 6 entries left out, see --max-entries
"
    );
    assert_eq!(
        world.out(["tree", &world.url, "--max-entries", "1"]),
        ".\n├─ README.md\n└─ ... 5 more\n\n4 folders, 12 files; 5 entries left out, see --max-entries\n"
    );
}

#[test]
fn no_file_is_fetched_and_nothing_is_no_find() {
    let world = World::new();
    world.out(["tree", &world.url, "-L", "9"]);
    let kind = |id: &String| world.bare.git().run(["cat-file", "-t", id]);
    assert_eq!(world.server.objects_sent().iter().filter(|id| kind(id) == "blob").count(), 0);
    let nothing = world.sandbox.bare("nothing.git");
    nothing.commit("main", &[]);
    let output = world.gitsip(["tree", nothing.path().to_str().unwrap()]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(1), ".\n\n0 folders, 0 files\n")
    );
    let file = world.gitsip(["tree", &world.url, "README.md"]);
    assert_eq!(file.status.code(), Some(3));
    assert!(one_line(&file).contains("'README.md' is a file"), "{file:?}");
}

#[test]
fn many_entries_are_few_lines() {
    let world = World::new();
    let repo = world.sandbox.bare("wide.git");
    let files: Vec<File> = (0..3_000).map(|i| File::new(format!("{}/f{i}", i % 7), "x")).collect();
    repo.commit("main", &files);
    let picture = world.out(["tree", repo.path().to_str().unwrap()]);
    assert_eq!(picture.lines().count(), 1 + 200 + 7 + 2);
    assert!(picture.lines().all(|line| line.chars().count() <= 64), "{picture}");
}
