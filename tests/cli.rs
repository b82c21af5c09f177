//! The command as a user meets it: exit codes, one-line errors, what goes to standard
//! output and what does not, over local repositories and over HTTP.
//!
//! That grep prints what `git grep` prints is in `grep_parity.rs`.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use support::git::Git;
use support::http_server::{Auth, Behaviour, CannedResponse};
use support::world::{MAIN, MODULE, README, World, one_line, text};

#[test]
fn a_remote_and_every_local_form_answer_alike() {
    let world = World::new();
    let inside = world.work_tree.join("src");
    let linked = world.sandbox.path().join("linked");
    Git::new(&world.work_tree, world.sandbox.path().join("home")).run([
        Path::new("worktree"),
        Path::new("add"),
        Path::new("--quiet"),
        Path::new("--detach"),
        &linked,
    ]);
    let questions: &[&[&str]] = &[
        &["grep", "REPO", "hello"],
        &["grep", "REPO", "hello", "src", "-C1"],
        &["cat", "REPO", "README.md", "src/main.rs"],
        &["ls", "REPO"],
        &["ls", "REPO", "-r"],
        &["ls", "REPO", "src"],
        &["glob", "REPO", "*.rs"],
        &["cat", "REPO", "link"],
    ];
    for question in questions {
        let ask = |repo: &Path| {
            let words = question.iter().map(|word| match *word {
                "REPO" => repo.to_str().unwrap().to_owned(),
                word => word.to_owned(),
            });
            let output = world.gitsip(words);
            assert_eq!(output.status.code(), Some(0), "{repo:?} {question:?}: {output:?}");
            assert_eq!(text(&output.stderr), "", "{repo:?} {question:?}");
            output.stdout
        };
        let want = ask(Path::new(&world.url));
        assert!(!want.is_empty());
        let file_address = format!("file://{}", world.work_tree.display());
        let dot_git = world.work_tree.join(".git");
        let forms: [&Path; 6] = [
            world.bare.path(),
            &world.work_tree,
            &dot_git,
            &inside,
            &linked,
            Path::new(&file_address),
        ];
        for form in forms {
            assert_eq!(text(&ask(form)), text(&want), "{form:?} {question:?}");
        }
    }
}

#[test]
fn the_working_tree_is_not_what_is_read() {
    let world = World::new();
    std::fs::write(world.work_tree.join("README.md"), "changed\n").unwrap();
    std::fs::write(world.work_tree.join("untracked"), "changed\n").unwrap();
    let tree = world.work_tree.to_str().unwrap();
    assert_eq!(world.status(["grep", tree, "changed"]), 1);
    assert!(world.out(["cat", tree, "README.md"]).starts_with("# hello"));
}

#[test]
fn refs_are_printed_as_ls_remote_does() {
    let world = World::new();
    let git = world.bare.git();
    git.run(["tag", "light"]);
    git.run(["tag", "-a", "-m", "one", "annotated"]);
    git.run(["tag", "-a", "-m", "two", "of-a-tag", "annotated"]);
    git.run(["branch", "b/ä"]);
    git.run(["update-ref", "refs/changes/1", "main"]);
    for repo in [world.url.as_str(), world.bare.path().to_str().unwrap()] {
        assert_eq!(world.out(["refs", repo]).trim_end(), git.run(["ls-remote", "."]), "{repo}");
    }
}

#[test]
fn folders_are_listed_as_ls_tree_does() {
    let world = World::new();
    let git = world.bare.git();
    let local = world.bare.path().to_str().unwrap();
    for (ours, gits) in [
        (&["ls", local, "-l"][..], &["ls-tree", "-l", "HEAD"][..]),
        (&["ls", local, "odd", "-l"], &["ls-tree", "-l", "HEAD", "odd/"]),
        (&["ls", local, "-r"], &["ls-tree", "-r", "--name-only", "HEAD"]),
        (&["ls", local, "-rl"], &["ls-tree", "-rl", "HEAD"]),
        (&["ls", local, "-rz"], &["ls-tree", "-rz", "--name-only", "HEAD"]),
        (&["ls", local, "src", "-r"], &["ls-tree", "-r", "--name-only", "HEAD", "src/"]),
        (&["ls", local, "README.md"], &["ls-tree", "--name-only", "HEAD", "README.md"]),
    ] {
        let output = world.gitsip(ours);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{ours:?}");
        assert_eq!(output.stdout.as_bstr(), git.bytes(gits).as_bstr(), "{ours:?}");
    }
    assert_eq!(world.out(["ls", local, "src"]), "src/deep/\nsrc/main.rs\n");
    assert_eq!(world.out(["ls", local, "src/"]), "src/deep/\nsrc/main.rs\n");
    let sizes = world.out(["ls", world.url.as_str(), "-l"]);
    let shape = |listing: &str| {
        let columns = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        listing.lines().map(columns).collect::<Vec<_>>()
    };
    assert_eq!(shape(&sizes), shape(&world.out(["ls", local, "-l"])), "sizes may be unknown");
}

#[test]
fn listing_a_remote_fetches_no_blob() {
    let world = World::new();
    world.out(["ls", &world.url, "-rl"]);
    world.out(["glob", &world.url, "*.rs"]);
    let kinds = world
        .server
        .objects_sent()
        .iter()
        .filter(|id| world.bare.git().run(["cat-file", "-t", id]) == "blob")
        .count();
    assert_eq!(kinds, 0);
}

#[test]
fn a_search_of_everything_is_three_requests() {
    let world = World::new();
    for words in [&["hello"][..], &["hello", "."], &["-e", "hello", "./", "src"]] {
        world.server.forget_requests();
        world.out(["grep", world.url.as_str()].iter().chain(words));
        assert_eq!(world.server.requests().len(), 3, "{words:?}: hello, refs, snapshot");
    }
}

#[test]
fn globs_find_names() {
    let world = World::new();
    let glob = |pattern: &str| world.out(["glob", &world.url, pattern]);
    assert_eq!(glob("*.rs"), "src/deep/lib.rs\nsrc/main.rs\n");
    assert_eq!(glob("src/*.rs"), "src/main.rs\n");
    assert_eq!(glob("src/**/lib.rs"), "src/deep/lib.rs\n");
    assert_eq!(world.status(["glob", &world.url, "*.py"]), 1);
    let bad = world.gitsip(["glob", &world.url, "a{b"]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(one_line(&bad).starts_with("gitsip: usage: 'a{b'"), "{bad:?}");
}

#[test]
fn files_are_printed_as_they_are() {
    let world = World::new();
    let cat = |words: &[&str]| world.gitsip(["cat", world.url.as_str()].iter().chain(words)).stdout;
    assert_eq!(cat(&["odd/binary"]), b"a\0b\xff\r\n");
    assert_eq!(cat(&["odd/binary", "README.md", "./src//main.rs"]), {
        let mut all = b"a\0b\xff\r\n".to_vec();
        all.extend(README.as_bytes());
        all.extend(MAIN.as_bytes());
        all
    });
    assert_eq!(text(&cat(&["README.md", "--lines", "2:3"])), "second\nthird\n");
    assert_eq!(text(&cat(&["README.md", "--lines", "3:"])), "third\nlast");
    assert_eq!(text(&cat(&["README.md", "--lines", ":1"])), "# hello\n");
    assert_eq!(text(&cat(&["README.md", "--lines", "4"])), "last");
    assert_eq!(text(&cat(&["README.md", "--lines", "4:99"])), "last");
    let beyond = world.gitsip(["cat", &world.url, "README.md", "--lines", "5:"]);
    assert_eq!((beyond.status.code(), beyond.stdout.len()), (Some(1), 0), "{beyond:?}");
    let empty = world.gitsip(["cat", &world.url, "odd/empty"]);
    assert_eq!((empty.status.code(), empty.stdout.len()), (Some(0), 0), "{empty:?}");
}

#[test]
fn one_bad_path_does_not_hide_the_others() {
    let world = World::new();
    let output = world.gitsip(["cat", &world.url, "README.me", "src/main.rs", "src", "module"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stdout), MAIN);
    let errors: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(errors[0].contains("README.me") && errors[0].contains("README.md"), "{errors:?}");
    assert!(errors[1].contains("ls"), "{errors:?}");
    assert!(errors[2].contains("submodule") && errors[2].contains(MODULE), "{errors:?}");
}

#[test]
fn refs_name_what_is_read() {
    let world = World::new();
    let first = world.bare.git().run(["rev-parse", "main~1"]);
    world.bare.git().run(["branch", "old", "main~1"]);
    world.bare.git().run(["tag", "-a", "-m", "x", "v1", "main~1"]);
    for repo in [world.url.as_str(), world.bare.path().to_str().unwrap()] {
        for name in ["old", "v1", "refs/heads/old", "refs/tags/v1", &first, &first[..8]] {
            assert_eq!(world.out(["cat", repo, "README.md", "--ref", name]), "old\n", "{name}");
        }
    }
    world.bare.git().run(["tag", "main", "main~1"]);
    let both = world.gitsip(["cat", &world.url, "README.md", "--ref", "main"]);
    assert_eq!((both.status.code(), text(&both.stdout)), (Some(0), "old\n"), "the tag");
    assert!(one_line(&both).starts_with("gitsip: warning: "), "{both:?}");
    let missing = world.gitsip(["ls", &world.url, "--ref", "mian"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(one_line(&missing).contains("'main'"), "{missing:?}");
}

#[test]
fn nothing_found_is_1() {
    let world = World::new();
    world.sandbox.strict_bare("empty.git", &[]);
    let empty = world.server.url("empty.git");
    for words in [
        &["grep", &world.url, "no such text"][..],
        &["grep", &world.url, "hello", "odd/empty"],
        &["grep", &world.url, "hello", "-g", "*.none"],
        &["glob", &world.url, "*.none"],
        &["refs", &empty],
    ] {
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(1), "{words:?} {output:?}");
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("", ""), "{words:?}");
    }
}

#[test]
fn each_kind_of_error_has_its_status_and_says_what_to_do() {
    let world = World::new();
    world.sandbox.strict_bare("empty.git", &[]);
    let empty = world.server.url("empty.git");
    let gone = world.server.url("no-such.git");
    let url = world.url.as_str();
    let not_a_repo = world.sandbox.path().join("home");
    for (words, status, parts) in [
        (&["grep", url][..], 2, &["usage", "no pattern", "gitsip grep REPO PATTERN"][..]),
        (&["grep", url, "("], 2, &["usage", "pattern", "fixed"]),
        (&["grep", url, "(?=x)"], 2, &["look-ahead"]),
        (&["grep", url, "x", "-g", "{"], 2, &["usage", "'{'"]),
        (&["grpe", url, "x"], 2, &["usage", "'grep'"]),
        (&["grep", url, "x", "--fixed-string"], 2, &["usage", "'--fixed-strings'"]),
        (&["cat", url, "x", "--lines", "3:2"], 2, &["usage", "3:2"]),
        (&["cat", url, "../x"], 2, &["usage", "'..'"]),
        (&["ls", url, "--timeout", "soon"], 2, &["usage", "soon"]),
        (&["ls", url, "--token-env", "NO_SUCH_VARIABLE"], 2, &["usage", "NO_SUCH_VARIABLE"]),
        (&["ls", "git@host.example:a/b.git"], 2, &["usage", "https://host.example/a/b.git"]),
        (&["ls", "ssh://host.example/a"], 2, &["usage", "https://"]),
        (&["cat", url, "src/mian.rs"], 3, &["not found", "src/mian.rs", "src/main.rs"]),
        (&["ls", url, "scr"], 3, &["not found", "'scr'", "'src'"]),
        (&["grep", url, "x", "scr"], 3, &["not found", "'src'"]),
        (&["grep", url, "x", "s*.rs"], 3, &["not found", "-g"]),
        (&["ls", "host.example/a/b"], 3, &["not found", "https://host.example/a/b"]),
        (&["ls", "no/such/folder"], 3, &["not found", "http"]),
        (&["ls", not_a_repo.to_str().unwrap()], 3, &["not found"]),
        (&["ls", &empty], 3, &["not found", "no commit"]),
        (&["ls", "http://127.0.0.1:1/a"], 5, &["transport", "127.0.0.1:1"]),
        (&["ls", &gone], 3, &["not found", "404"]),
    ] {
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(status), "{words:?} {output:?}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        for part in parts {
            assert!(one_line(&output).contains(part), "{words:?} has no {part:?}: {output:?}");
        }
    }
}

#[test]
fn hosts_that_say_no_have_their_status() {
    let world = World::new();
    for (http, status, part) in [(401, 4, "--token-env"), (403, 4, "--token-env"), (500, 5, "500")]
    {
        let refuse = move |_: &_| Some(CannedResponse::new(http, "text/plain", "no\n"));
        let behaviour = Behaviour { hook: Some(Box::new(refuse)), ..Behaviour::default() };
        world.server.set_behaviour(behaviour);
        let output = world.gitsip(["refs", &world.url]);
        assert_eq!(output.status.code(), Some(status), "{http}: {output:?}");
        assert!(one_line(&output).contains(part), "{http}: {output:?}");
    }
}

#[test]
fn a_token_is_sent_from_the_first_request_on() {
    let world = World::new();
    let basic = |user: &str, password: &str| Auth::Basic {
        user: user.to_owned(),
        password: password.to_owned(),
    };
    for (auth, value) in [
        (basic("x-access-token", "s3cret"), "s3cret\n"),
        (basic("me", "s3:cret"), "me:s3:cret"),
        (Auth::Bearer("s3cret".to_owned()), "Bearer s3cret"),
    ] {
        world.server.set_behaviour(Behaviour { auth: Some(auth), ..Behaviour::default() });
        let words = ["cat", &world.url, "src/main.rs", "--token-env", "TEST_TOKEN"];
        let output = world.command(words).env("TEST_TOKEN", value).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), MAIN), "{output:?}");
        assert!(world.server.requests().iter().all(|request| request.status == 200));
        let wrong = world.command(words).env("TEST_TOKEN", "wr0ng").output().unwrap();
        assert_eq!(wrong.status.code(), Some(4), "{wrong:?}");
        assert!(!one_line(&wrong).contains("wr0ng"));
        world.server.forget_requests();
    }
}

#[test]
fn statistics_are_one_json_line_beside_the_data() {
    let world = World::new();
    let output = world.gitsip(["cat", &world.url, "README.md", "--stats"]);
    assert_eq!(text(&output.stdout), README);
    let stats: serde_json::Value = serde_json::from_str(one_line(&output)).unwrap();
    let number = |name: &str| stats[name].as_u64().unwrap();
    assert_eq!(number("requests"), world.server.requests().len() as u64);
    assert_eq!(number("bytes_received"), world.server.response_bytes());
    assert!(number("objects") > 0 && stats["memory"]["used_bytes"].as_u64() > Some(0));
    assert!(stats["elapsed_ms"].is_u64());
    assert!(number("requests") <= 4);

    let failed = world.gitsip(["cat", &world.url, "none", "--stats"]);
    assert_eq!(failed.status.code(), Some(3));
    assert_eq!(text(&failed.stderr).lines().count(), 2, "{failed:?}");
    let local = world.gitsip(["refs", world.bare.path().to_str().unwrap(), "--stats"]);
    let stats: serde_json::Value = serde_json::from_str(one_line(&local)).unwrap();
    assert_eq!(stats["requests"], 0);
}

#[test]
fn a_deadline_ends_it_and_says_so() {
    let world = World::new();
    world.server.set_behaviour(Behaviour {
        stall_after: Some(10),
        faults_when: Some(Box::new(|request| request.method == "POST")),
        ..Behaviour::default()
    });
    let start = Instant::now();
    let output = world.gitsip(["grep", &world.url, "hello", "--timeout", "300ms"]);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    let line = one_line(&output);
    assert!(line.starts_with("gitsip: cancelled: ") && line.contains("deadline"), "{line}");
    assert!(line.contains("--timeout"), "{line}");
    let enough = world.gitsip(["refs", &world.bare.path().to_string_lossy(), "--timeout", "1h"]);
    assert_eq!(enough.status.code(), Some(0));
}

#[test]
fn a_deadline_also_ends_a_command_that_nobody_reads_from() {
    let world = World::new();
    let big = world.big_repo();
    let words = ["grep", big.path().to_str().unwrap(), "hello", "--timeout", "1s"];
    let mut child =
        world.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let unread = child.stdout.take();
    let start = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    drop(unread);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let world = World::new();
    let big = world.big_repo();
    let big = big.path().to_str().unwrap();
    for words in [&["grep", big, "hello"][..], &["cat", big, "many"], &["ls", big, "-r"]] {
        let mut child =
            world.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = [0; 4];
        stdout.read_exact(&mut first).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn a_million_hits_stream() {
    let world = World::new();
    let big = world.big_repo();
    let output = world.gitsip(["grep", big.path().to_str().unwrap(), "hello"]);
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 1_000_001);
    assert!(output.stdout.ends_with(b"many:1000000:hello there\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_an_io_error() {
    let world = World::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for words in [["grep", &world.url, "hello"], ["cat", &world.url, "README.md"]] {
        let output = world.command(words).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(12), "{output:?}");
        assert!(one_line(&output).starts_with("gitsip: io: standard output"), "{output:?}");
    }
}

#[test]
#[cfg(unix)]
fn an_interrupt_is_130() {
    let world = World::new();
    world.server.set_behaviour(Behaviour { stall_after: Some(0), ..Behaviour::default() });
    let mut child = world.command(["refs", &world.url]).stderr(Stdio::piped()).spawn().unwrap();
    while world.server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(130), ""));
}

#[test]
fn names_are_quoted_unless_they_are_raw() {
    let world = World::new();
    let local = world.bare.path().to_str().unwrap();
    for repo in [world.url.as_str(), local] {
        let quoted = world.gitsip(["grep", repo, "odd text"]).stdout;
        assert_eq!(
            text(&quoted),
            "odd/a b:1:odd text\n\
             \"odd/caf\\351\":1:odd text\n\
             \"odd/new\\nline\":1:odd text\n\
             \"odd/q\\\"uo\\\\te\":1:odd text\n"
        );
        let raw = world.gitsip(["grep", repo, "odd text", "-lz"]).stdout;
        assert_eq!(raw, b"odd/a b\0odd/caf\xe9\0odd/new\nline\0odd/q\"uo\\te\0");
        let raw = world.gitsip(["glob", repo, "odd/q*", "-z"]).stdout;
        assert_eq!(raw, b"odd/q\"uo\\te\0");
    }
}

#[test]
fn help_and_version_are_answers() {
    let world = World::new();
    let version = world.out(["--version"]);
    assert_eq!(version, format!("gitsip {}\n", env!("CARGO_PKG_VERSION")));
    assert!(world.out(["--help"]).contains("working tree"));
    for words in [&[][..], &["grep"]] {
        assert_eq!(world.gitsip(words).status.code(), Some(2));
    }
}
