//! What each command prints, word for word, in `tests/golden/*.txt`. After a change that is
//! meant, run this with `GITSIP_UPDATE=1` and read what differs.

use crate::support::world::{World, text};

const CASES: &[(&str, &[&str])] = &[
    ("cat", &["cat", "REPO", "README.md", "main:src/main.rs"]),
    ("cat_numbered", &["cat", "REPO", "-n", "src/main.rs", "odd/a b", "--lines", "1:2"]),
    ("glob", &["glob", "REPO", "*.rs"]),
    ("grep", &["grep", "REPO", "hello"]),
    ("grep_color", &["grep", "REPO", "--color=always", "-C1", "hello|odd"]),
    ("grep_count", &["grep", "REPO", "-c", "e"]),
    ("grep_files", &["grep", "REPO", "-l", "-t", "rust", "hello"]),
    ("grep_heading", &["grep", "REPO", "--heading", "-A1", "hello"]),
    ("grep_long", &["grep", "REPO", "-M", "8", "hello"]),
    ("ls", &["ls", "REPO"]),
    ("ls_long", &["ls", "REPO", "odd", "-l"]),
    ("ls_recursive", &["ls", "REPO", "-r"]),
    ("refs", &["refs", "REPO", "--symref"]),
    ("refs_sorted", &["refs", "REPO", "v*", "--sort=-version:refname"]),
    ("tree", &["tree", "REPO"]),
    ("tree_bounded", &["tree", "REPO", "-L", "3", "--max-entries", "8"]),
];

#[test]
fn every_command_prints_what_it_printed_before() {
    let world = World::new();
    let git = world.bare.git();
    git.run(["tag", "-a", "-m", "one", "v1.9"]);
    git.run(["tag", "v1.10"]);
    let writes = std::env::var_os("GITSIP_UPDATE").is_some();
    for (name, words) in CASES {
        let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let local = world.bare.path().to_str().unwrap();
        let words = words.iter().map(|word| if *word == "REPO" { local } else { word });
        let printed = world.out(words);
        if writes {
            std::fs::write(&path, &printed).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_default();
        assert_eq!(printed, text(&golden), "{name}");
    }
}
