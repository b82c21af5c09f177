//! The flags of `gitsip grep` that are ripgrep's, git's other ones, or its own.

use crate::support::git::{File, Git};
use crate::support::world::{World, one_line, text};

#[test]
fn colours_and_headings_are_those_of_git() {
    let world = World::new();
    let git = world.bare.git();
    let local = world.bare.path().to_str().unwrap();
    for words in [
        &["hello"][..],
        &["-C1", "hello"],
        &["-i", "todo|HELLO"],
        &["-o", "l+"],
        &["-v", "e"],
        &["-c", "hello"],
        &["-l", "hello"],
        &["-z", "hello"],
        &["odd text"],
        &[""],
        &["--heading", "--break", "hello"],
        &["--heading", "--break", "-A1", "hello|last"],
        &["--heading", "--break", "-l", "hello"],
    ] {
        let gits = git.bytes(
            ["grep", "--color=always", "-nIE"].iter().chain(words).chain(&["HEAD"]).copied(),
        );
        let ours = words.iter().filter(|word| **word != "--break").copied();
        let ours = world.out(["grep", local, "--color", "always"].into_iter().chain(ours));
        // Both are ways to reset.
        let ours = ours.replace("\u{1b}[0m", "\u{1b}[m");
        let want = text(&gits).replace("HEAD:", "").replace("\u{1b}[1;31m", "\u{1b}[1m\u{1b}[31m");
        assert_eq!(ours, want, "{words:?}");
    }
}

#[test]
fn colours_are_for_terminals_and_those_who_ask() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    let is_coloured = |words: &[&str], variables: &[(&str, &str)]| {
        let mut command = world.command(["grep", local, "hello"].iter().chain(words));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        text(&output.stdout).contains('\u{1b}')
    };
    assert!(!is_coloured(&[], &[]), "a pipe is no terminal");
    assert!(!is_coloured(&["--color=auto"], &[]));
    assert!(is_coloured(&["--color=auto"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(is_coloured(&["--color=always"], &[("NO_COLOR", "1")]));
    assert!(!is_coloured(&["--color=always", "--color", "never"], &[]));
}

#[test]
fn types_are_those_of_ripgrep() {
    let world = World::new();
    let grep = |words: &[&str]| {
        world.out(["grep", world.url.as_str(), "-il", "hello"].iter().chain(words))
    };
    assert_eq!(grep(&["-t", "rust"]), "src/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(grep(&["-trust", "--type=c"]), "builtin/grep.c\nsrc/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(grep(&["-T", "rust"]), "README.md\nbuiltin/grep.c\n");
    assert_eq!(grep(&["-trust", "-g", "main*"]), "src/main.rs\n", "both must agree");
    assert_eq!(grep(&["-trust", "-g", "!main*"]), "src/deep/lib.rs\n");
    assert_eq!(grep(&["--type", "all", "--type-not", "md"]).lines().count(), 3);
    let unknown = world.gitsip(["grep", &world.url, "x", "-t", "pyhton"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(one_line(&unknown).contains("did you mean 'python'? "), "{unknown:?}");
    let list = world.out(["grep", "--type-list"]);
    assert!(list.contains("\nrust: *.rs\n"), "{list}");
}

#[test]
fn a_search_of_one_type_fetches_no_other_file() {
    let world = World::new();
    world.out(["grep", &world.url, "hello", "-t", "c"]);
    let kind = |id: &String| world.bare.git().run(["cat-file", "-t", id]);
    let sent = world.server.objects_sent();
    assert_eq!(sent.iter().filter(|id| kind(id) == "blob").count(), 1);
}

#[test]
fn quiet_says_only_by_its_status_whether_there_is_a_hit() {
    let world = World::new();
    for (pattern, status) in [("hello", 0), ("no such text", 1)] {
        for more in [&[][..], &["-c"], &["-o"], &["-C1"], &["--max-total", "9"]] {
            let words = ["grep", world.url.as_str(), "-q", pattern];
            let output = world.gitsip(words.iter().chain(more));
            assert_eq!(output.status.code(), Some(status), "{pattern} {more:?}");
            assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""));
        }
    }
}

#[test]
fn totals_end_a_search_and_say_so() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    let three = world.gitsip(["grep", local, "e", "--max-total", "3"]);
    assert_eq!(three.status.code(), Some(0));
    assert_eq!(text(&three.stdout).lines().count(), 3);
    assert!(one_line(&three).contains("--max-total"), "{three:?}");
    let files = world.gitsip(["grep", local, "e", "-l", "--max-total", "2"]);
    assert_eq!(text(&files.stdout), "README.md\nbuiltin/grep.c\n");
    // Counts are whole: a total is one of files there.
    let counts = world.out(["grep", local, "e", "-c"]);
    let first: String = counts.split_inclusive('\n').take(2).collect();
    let cut = world.gitsip(["grep", local, "e", "-c", "--max-total", "2"]);
    assert_eq!(text(&cut.stdout), first);
    assert!(one_line(&cut).contains("--max-total"), "{cut:?}");
    let plenty = world.out(["grep", local, "hello", "--max-total", "1000"]);
    assert_eq!(plenty, world.out(["grep", local, "hello"]));
}

#[test]
fn long_lines_are_cut_around_what_was_found() {
    let world = World::new();
    let repo = world.sandbox.bare("long.git");
    let line = format!("{}needle{}\n", "é".repeat(60), "b".repeat(200));
    repo.commit("main", &[File::new("f", [&line, "short needle\n"].concat())]);
    let local = repo.path().to_str().unwrap();
    let grep = |words: &[&str]| world.out(["grep", local].iter().chain(words));
    assert_eq!(
        grep(&["needle", "--max-columns", "20"]),
        "f:1:[... 116 bytes] ééneedlebbbbbbbbbb [... 190 bytes]\nf:2:short needle\n"
    );
    assert_eq!(
        grep(&["-M12", "-o", "n.*b"]),
        "f:1:needlebbbbbb [... 194 bytes]\n",
        "of a match its beginning"
    );
    assert_eq!(
        grep(&["short", "-M6", "-B1"]),
        "f-1-ééé [... 320 bytes]\nf:2:short  [... 6 bytes]\n",
        "context is cut at its end"
    );
    assert_eq!(
        grep(&["needle|short", "-M12", "--color=always"]).replace('\u{1b}', "E"),
        "E[35mfE[0mE[36m:E[0mE[32m1E[0mE[36m:E[0m[... 118 bytes] éE[1mE[31mneedleE[0mbbbb \
         [... 196 bytes]\n\
         E[35mfE[0mE[36m:E[0mE[32m2E[0mE[36m:E[0mE[1mE[31mshortE[0m E[1mE[31mneedleE[0m\n"
    );
    let whole = Git::new(repo.path(), world.sandbox.path()).run(["grep", "-n", "needle", "HEAD"]);
    assert_eq!(grep(&["needle", "-M", "326"]).trim_end(), whole.replace("HEAD:", ""));
}

#[test]
fn matches_may_span_lines_when_that_is_asked_for() {
    let world = World::new();
    let grep = |words: &[&str]| world.out(["grep", world.url.as_str()].iter().chain(words));
    let both = "README.md:2:second\nREADME.md:3:third\n";
    assert_eq!(grep(&["-U", r"d\nth"]), both);
    assert_eq!(grep(&["--multiline", "-F", "second\nthird"]), both);
    assert_eq!(grep(&["-U", "-c", r"d\nth"]), "README.md:2\n");
    assert_eq!(grep(&["-U", "-o", r"d\nth"]), "README.md:2:d\nREADME.md:3:th\n");
    assert_eq!(world.status(["grep", &world.url, "-U", "second.third"]), 1);
    assert_eq!(world.status(["grep", &world.url, r"d\nth"]), 2, "a line holds no line end");
}
