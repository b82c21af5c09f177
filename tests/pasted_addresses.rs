//! What people paste in place of a repository: each form by table, and the command over
//! the addresses of pages.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::{Command, Output, Stdio};

use bstr::{BString, ByteSlice as _};
use gitsip::ErrorKind;
use gitsip::client::pasted::{NO_ADDRESS, RefKind, parse, split_ref_and_path};
use gitsip::store::Ref;
use proptest::prelude::*;
use support::git::{File, Repo, Sandbox, isolate};
use support::http_server::HttpServer;

/// What is pasted, the repository, `KIND REF-AND-PATH`, and the lines; `-` is nothing.
const PAGES: &[[&str; 4]] = &[
    // Repositories, as they are.
    ["https://github.com/o/r", "https://github.com/o/r", "-", "-"],
    ["https://github.com/o/r.git", "https://github.com/o/r.git", "-", "-"],
    ["https://github.com/o/r/", "https://github.com/o/r/", "-", "-"],
    [" https://github.com/o/r\n", "https://github.com/o/r", "-", "-"],
    ["HTTPS://GitHub.com/o/r", "HTTPS://GitHub.com/o/r", "-", "-"],
    ["https://github.com/o/r#readme", "https://github.com/o/r#readme", "-", "-"],
    ["https://github.com/o/r?tab=readme#L3", "https://github.com/o/r?tab=readme#L3", "-", "-"],
    ["https://me@bitbucket.org/o/r.git", "https://me@bitbucket.org/o/r.git", "-", "-"],
    ["https://gitlab.com/g/s/t/r.git", "https://gitlab.com/g/s/t/r.git", "-", "-"],
    [
        "https://git.kernel.org/pub/scm/git/git.git",
        "https://git.kernel.org/pub/scm/git/git.git",
        "-",
        "-",
    ],
    ["http://127.0.0.1:8080/r", "http://127.0.0.1:8080/r", "-", "-"],
    ["https://h/r.git#L3", "https://h/r.git#L3", "-", "-"],
    // Without a scheme.
    ["owner/repo", "https://github.com/owner/repo", "-", "-"],
    ["o-w/r.e_p-o", "https://github.com/o-w/r.e_p-o", "-", "-"],
    ["owner/repo.git", "https://github.com/owner/repo.git", "-", "-"],
    ["github.com/o/r", "https://github.com/o/r", "-", "-"],
    ["www.github.com/o/r", "https://www.github.com/o/r", "-", "-"],
    ["gitlab.com/g/s/r", "https://gitlab.com/g/s/r", "-", "-"],
    ["codeberg.org/o/r", "https://codeberg.org/o/r", "-", "-"],
    ["bitbucket.org/o/r", "https://bitbucket.org/o/r", "-", "-"],
    ["github.com/o/r/blob/main/a.rs#L7", "https://github.com/o/r", "any main/a.rs", "7:7"],
    // GitHub.
    [
        "https://github.com/o/r/blob/main/src/lib.rs",
        "https://github.com/o/r",
        "any main/src/lib.rs",
        "-",
    ],
    ["https://github.com/o/r/blob/main/a#L10", "https://github.com/o/r", "any main/a", "10:10"],
    ["https://github.com/o/r/blob/main/a#L10-L20", "https://github.com/o/r", "any main/a", "10:20"],
    ["https://github.com/o/r/blob/main/a#L20-L10", "https://github.com/o/r", "any main/a", "10:20"],
    ["https://github.com/o/r/blob/main/a#L1C5-L2C7", "https://github.com/o/r", "any main/a", "1:2"],
    [
        "https://github.com/o/r/blob/main/a.md?plain=1#L3",
        "https://github.com/o/r",
        "any main/a.md",
        "3:3",
    ],
    ["https://github.com/o/r/blob/main/a.md#usage", "https://github.com/o/r", "any main/a.md", "-"],
    ["https://github.com/o/r/blob/main/a#L0", "https://github.com/o/r", "any main/a", "-"],
    ["https://github.com/o/r/blob/main/a#L+1", "https://github.com/o/r", "any main/a", "-"],
    [
        "https://github.com/o/r/blob/main/a#L99999999999999999999",
        "https://github.com/o/r",
        "any main/a",
        "-",
    ],
    [
        "https://github.com/o/r/blob/main/a%20b%23c.rs",
        "https://github.com/o/r",
        "any main/a b#c.rs",
        "-",
    ],
    ["https://github.com/o/r/blob/main/caf%C3%A9", "https://github.com/o/r", "any main/café", "-"],
    ["https://github.com/o/r/blob/main/café", "https://github.com/o/r", "any main/café", "-"],
    ["https://github.com/o/r/tree/main", "https://github.com/o/r", "any main", "-"],
    ["https://github.com/o/r/tree/main/src/", "https://github.com/o/r", "any main/src", "-"],
    [
        "https://github.com/o/r/tree/feature/x/src",
        "https://github.com/o/r",
        "any feature/x/src",
        "-",
    ],
    ["https://github.com/o/r/tree", "https://github.com/o/r", "-", "-"],
    ["https://github.com/o/r/raw/main/a", "https://github.com/o/r", "any main/a", "-"],
    [
        "https://github.com/o/r/raw/refs/heads/main/a",
        "https://github.com/o/r",
        "any refs/heads/main/a",
        "-",
    ],
    ["https://github.com/o/r/blame/main/a#L4", "https://github.com/o/r", "any main/a", "4:4"],
    ["https://github.com/o/r/commits/main/src", "https://github.com/o/r", "any main/src", "-"],
    ["https://github.com/o/r/commit/0123abcd", "https://github.com/o/r", "any 0123abcd", "-"],
    ["https://github.com/o/r/releases/tag/v1.0", "https://github.com/o/r", "tag v1.0", "-"],
    ["https://t:s@github.com/o/r/blob/main/a", "https://t:s@github.com/o/r", "any main/a", "-"],
    [
        "https://raw.githubusercontent.com/o/r/main/a.md",
        "https://github.com/o/r",
        "any main/a.md",
        "-",
    ],
    [
        "https://raw.githubusercontent.com/o/r/refs/heads/m/a?token=X",
        "https://github.com/o/r",
        "any refs/heads/m/a",
        "-",
    ],
    [
        "https://t:s@raw.githubusercontent.com:444/o/r/main/a",
        "https://github.com/o/r",
        "any main/a",
        "-",
    ],
    // GitLab, here and elsewhere.
    [
        "https://gitlab.com/g/r/-/blob/main/a.rs#L10-20",
        "https://gitlab.com/g/r",
        "any main/a.rs",
        "10:20",
    ],
    [
        "https://gitlab.com/g/s/t/r/-/tree/main/src",
        "https://gitlab.com/g/s/t/r",
        "any main/src",
        "-",
    ],
    ["https://gitlab.com/g/r/-/raw/main/a", "https://gitlab.com/g/r", "any main/a", "-"],
    [
        "https://gitlab.com/g/r/-/blob/x/a?ref_type=heads#L1",
        "https://gitlab.com/g/r",
        "branch x/a",
        "1:1",
    ],
    ["https://gitlab.com/g/r/-/tree/v1?ref_type=tags", "https://gitlab.com/g/r", "tag v1", "-"],
    ["https://gitlab.com/g/s/r/blob/main/a", "https://gitlab.com/g/s/r", "any main/a", "-"],
    ["https://gitlab.com/g/r/-/commit/0123abcd", "https://gitlab.com/g/r", "any 0123abcd", "-"],
    ["https://git.example/g/s/r/-/blob/main/a", "https://git.example/g/s/r", "any main/a", "-"],
    ["https://git.example/r/-/tree/main", "https://git.example/r", "any main", "-"],
    // Gitea and Forgejo, here and elsewhere.
    [
        "https://codeberg.org/o/r/src/branch/main/a/b#L1-L9",
        "https://codeberg.org/o/r",
        "branch main/a/b",
        "1:9",
    ],
    [
        "https://codeberg.org/o/r/src/branch/feat%2Fx/a",
        "https://codeberg.org/o/r",
        "branch feat/x/a",
        "-",
    ],
    ["https://codeberg.org/o/r/src/tag/v1/a", "https://codeberg.org/o/r", "tag v1/a", "-"],
    [
        "https://codeberg.org/o/r/src/commit/0123abcd/a",
        "https://codeberg.org/o/r",
        "any 0123abcd/a",
        "-",
    ],
    ["https://gitea.com/o/r/raw/branch/main/a", "https://gitea.com/o/r", "branch main/a", "-"],
    ["https://gitea.com/o/r/commit/0123abcd", "https://gitea.com/o/r", "any 0123abcd", "-"],
    ["https://git.example/o/r/src/branch/main", "https://git.example/o/r", "branch main", "-"],
    ["https://git.example/o/r/src/tag/v1/a#L2", "https://git.example/o/r", "tag v1/a", "2:2"],
    // Bitbucket.
    [
        "https://bitbucket.org/o/r/src/main/a#lines-10:20",
        "https://bitbucket.org/o/r",
        "any main/a",
        "10:20",
    ],
    [
        "https://bitbucket.org/o/r/src/main/a#lines-10",
        "https://bitbucket.org/o/r",
        "any main/a",
        "10:10",
    ],
    [
        "https://bitbucket.org/o/r/src/main/a#lines-1,5:7",
        "https://bitbucket.org/o/r",
        "any main/a",
        "-",
    ],
    ["https://bitbucket.org/o/r/src/main/", "https://bitbucket.org/o/r", "any main", "-"],
    ["https://bitbucket.org/o/r/src", "https://bitbucket.org/o/r", "-", "-"],
    [
        "https://bitbucket.org/o/r/raw/0123abcd/a",
        "https://bitbucket.org/o/r",
        "any 0123abcd/a",
        "-",
    ],
    ["https://bitbucket.org/o/r/branch/feat/x", "https://bitbucket.org/o/r", "branch feat/x", "-"],
    // GitHub Enterprise, and what is no page of anything.
    ["https://git.example/o/r/blob/main/a#L3", "https://git.example/o/r", "any main/a", "3:3"],
    ["http://127.0.0.1:80/o/r/raw/branch", "http://127.0.0.1/o/r", "any branch", "-"],
    ["https://git.example/o/r/tree", "https://git.example/o/r/tree", "-", "-"],
    ["https://git.example/o/r/src/main/a", "https://git.example/o/r/src/main/a", "-", "-"],
    ["https://git.example/a/b/tree/c.git", "https://git.example/a/b/tree/c.git", "-", "-"],
    ["https://git.example/a/b/%74ree/c", "https://git.example/a/b/%74ree/c", "-", "-"],
    ["https://git.example/a/blob/c/d", "https://git.example/a/blob/c/d", "-", "-"],
    ["https://git.example/a/b/c/blob/d", "https://git.example/a/b/c/blob/d", "-", "-"],
    ["https://git.example/a/-/b", "https://git.example/a/-/b", "-", "-"],
    ["https://github.com.evil.example/o/r", "https://github.com.evil.example/o/r", "-", "-"],
];

/// What is pasted, and what the one line of the error has in it.
const REFUSED: &[[&str; 2]] = &[
    ["git@github.com:o/r.git", "ssh is not spoken here; try https://github.com/o/r.git"],
    ["git@host.example:g/s/r", "try https://host.example/g/s/r"],
    ["host.example:/o/r", "try https://host.example/o/r"],
    ["git@host.example:22/o/r", "try https://host.example/22/o/r"],
    ["ssh://git@host.example/o/r", "ssh is not spoken here; try https://host.example/o/r"],
    ["ssh://git@host.example:2222/o/r.git", "try https://host.example/o/r.git"],
    ["ssh://git@ssh.github.com:443/o/r.git", "try https://github.com/o/r.git"],
    ["git+ssh://git@host.example/o/r", "try https://host.example/o/r"],
    ["git://host.example/o/r", "git:// is not spoken here; try https://host.example/o/r"],
    ["git://host.example:9418/o/r", "try https://host.example/o/r"],
    ["http:/host.example/o/r", "did you mean http://host.example/o/r?"],
    ["https:/host.example/o/r", "did you mean https://host.example/o/r?"],
    ["https:host.example/o/r", "did you mean https://host.example/o/r?"],
    ["https//host.example/o/r", "did you mean https://host.example/o/r?"],
    ["htps://host.example/o/r", "did you mean https://host.example/o/r?"],
    ["htpps://host.example/o/r", "did you mean https://host.example/o/r?"],
    ["ttps://host.example/o/r", "did you mean https://host.example/o/r?"],
    ["htp://host.example/o/r", "did you mean http://host.example/o/r?"],
    ["htttp:/host.example/o/r", "did you mean http://host.example/o/r?"],
    ["htps://me:s3cret@host.example/r", "did you mean https://host.example/r?"],
    ["ssh://me:s3cret@host.example/r", "try https://host.example/r"],
    ["https://me:s3cret@github.com/o/r/wiki", "the repository is https://github.com/o/r"],
    [
        "https://github.com/o/r/pull/5/files",
        "shows no files; the repository is https://github.com/o/r",
    ],
    ["https://gitlab.com/g/s/r/-/issues/3", "the repository is https://gitlab.com/g/s/r"],
    ["https://codeberg.org/o/r/issues", "the repository is https://codeberg.org/o/r"],
    ["ftp://host.example/r", "only http:// and https:// addresses can be read"],
    ["https://", "is no repository address"],
    ["https://h/a\u{1b}b", "control character"],
    ["https://github.com/o%0a/r/blob/main/a", "control character"],
];

#[test]
fn every_form_of_address_says_repository_ref_path_and_lines() {
    assert!(PAGES.len() + REFUSED.len() > 100);
    for [text, repo, rest, lines] in PAGES {
        let pasted = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let said = pasted.rest.as_ref().map_or("-".to_owned(), |rest| {
            let kind = match rest.kind() {
                RefKind::Any => "any",
                RefKind::Branch => "branch",
                RefKind::Tag => "tag",
            };
            format!("{kind} {}", rest.text())
        });
        assert_eq!((pasted.repo.as_str(), said.as_str()), (*repo, *rest), "{text}");
        let want = (*lines != "-").then(|| lines.parse().unwrap());
        assert_eq!(pasted.lines, want, "{text}");
        assert!(!format!("{pasted:?}").contains("t:s"), "{pasted:?}");
    }
}

#[test]
fn what_cannot_be_read_is_answered_with_what_can() {
    for [text, advice] in REFUSED {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        let line = error.to_string();
        assert!(line.contains(advice), "{text}: {line}");
        assert!(!line.contains("s3cret") && !line.contains(char::is_control), "{line}");
        assert_ne!(error.code(), NO_ADDRESS, "{text}");
    }
    for text in
        ["", "a", "a/b/c", "./a", "../a", "/a/b", "-a/b", "a/..", "a b/c", "a.b/c", "a/", "é/r"]
    {
        assert_eq!(parse(text).unwrap_err().code(), NO_ADDRESS, "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_stay_as_they_are() {
    let page = parse("https://github.com/o/r/blob/main/caf%E9%0A").unwrap();
    assert_eq!(page.rest.unwrap().text(), b"main/caf\xe9\n".as_bstr());
}

#[test]
fn the_longest_advertised_ref_wins() {
    let refs: Vec<Ref> = [
        "HEAD",
        "refs/heads/main",
        "refs/heads/fix",
        "refs/heads/fix/docs",
        "refs/tags/fix/docs/v1",
        "refs/tags/v1",
        "refs/heads/v1",
        "refs/heads/refs/heads/odd",
        "refs/pull/5/head",
        "refs/heads/",
    ]
    .map(named)
    .to_vec();
    let any = |rest: &str| format!("https://github.com/o/r/blob/{rest}");
    let branch = |rest: &str| format!("https://codeberg.org/o/r/src/branch/{rest}");
    let tag = |rest: &str| format!("https://codeberg.org/o/r/src/tag/{rest}");
    for (page, name, path) in [
        (any("main"), "main", ""),
        (any("main/a/b"), "main", "a/b"),
        (any("HEAD/a"), "HEAD", "a"),
        (any("mainly/a"), "mainly", "a"),
        (any("fix/a"), "fix", "a"),
        (any("fix/docs/a"), "fix/docs", "a"),
        (any("fix/docs"), "fix/docs", ""),
        (any("fix/docsy"), "fix", "docsy"),
        (any("fix/docs/v1/a"), "fix/docs/v1", "a"),
        (any("refs/heads/main/a"), "refs/heads/main", "a"),
        (any("heads/main/a"), "heads/main", "a"),
        (any("refs/heads/odd/a"), "refs/heads/odd", "a"),
        (any("refs/pull/5/head/a"), "refs/pull/5/head", "a"),
        (any("0123abcd/a"), "0123abcd", "a"),
        (any("gone"), "gone", ""),
        (branch("fix/docs/v1/a"), "refs/heads/fix/docs", "v1/a"),
        (branch("v1/a"), "refs/heads/v1", "a"),
        (tag("v1/a"), "refs/tags/v1", "a"),
        (tag("fix/docs/v1"), "refs/tags/fix/docs/v1", ""),
        (tag("main/a"), "main", "a"),
    ] {
        let rest = parse(&page).unwrap().rest.unwrap();
        assert_eq!(split_ref_and_path(&rest, &refs), (name.into(), path.into()), "{page}");
        // What a host lists of these prefixes is enough.
        let prefixes = rest.ref_prefixes();
        let listed: Vec<Ref> = refs
            .iter()
            .filter(|named| prefixes.iter().any(|prefix| named.name.starts_with(prefix)))
            .cloned()
            .collect();
        assert_eq!(split_ref_and_path(&rest, &listed), (name.into(), path.into()), "{page}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_judged(
        text in "(https?:/{0,3}|htps://|ssh://|)(me:p@)?(github.com|gitlab.com|codeberg.org|h|)\\PC{0,30}",
    ) {
        if let Err(error) = parse(&text) {
            prop_assert_eq!(error.kind(), ErrorKind::Usage);
            prop_assert!(!error.to_string().contains(char::is_control));
        }
    }

    #[test]
    fn ref_and_path_are_the_whole_text_again(
        rest in "[ab](/?[ab]){0,6}", names in prop::collection::vec("[ab](/?[ab]){0,3}", 0..6),
    ) {
        let refs: Vec<Ref> = names.iter().map(|n| named(&format!("refs/heads/{n}"))).collect();
        let page = parse(&format!("https://github.com/o/r/tree/{rest}")).unwrap().rest.unwrap();
        let (name, path) = split_ref_and_path(&page, &refs);
        let joined = if path.is_empty() { name.to_string() } else { format!("{name}/{path}") };
        prop_assert_eq!(joined, rest.clone());
        let ends = |at: usize| at == rest.len() || rest[at..].starts_with('/');
        let longest = names.iter().filter(|n| rest.starts_with(*n) && ends(n.len())).max_by_key(|n| n.len());
        if let Some(longest) = longest {
            prop_assert_eq!(name, longest.as_str());
        }
    }
}

#[test]
fn a_hundred_thousand_refs_are_looked_through_once() {
    let refs: Vec<Ref> = (0..100_000).map(|n| named(&format!("refs/heads/b{n}/x"))).collect();
    let deep = "b7/x/".to_owned() + &"a/".repeat(2_000) + "end";
    let rest = parse(&format!("https://github.com/o/r/blob/{deep}")).unwrap().rest.unwrap();
    let start = std::time::Instant::now();
    let (name, path) = split_ref_and_path(&rest, &refs);
    assert_eq!((name.as_bstr(), path.len()), (b"b7/x".as_bstr(), 4_003));
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn cat_prints_the_lines_of_a_page() {
    let world = World::new();
    assert_eq!(world.out(&["cat", &world.page("blob/main/src/lib.rs#L2-L3")]), "two\nthree\n");
    assert_eq!(world.out(&["cat", &world.page("blob/main/src/lib.rs")]), LIB);
    assert_eq!(world.out(&["cat", &world.page("-/blob/main/src/lib.rs#L1")]), "one\n");
    assert_eq!(world.out(&["cat", &world.page("src/branch/main/src/a%20b")]), "a b\n");
    assert_eq!(world.out(&["cat", &world.page("blob/fix/docs/src/lib.rs#L1")]), "fixed\n");
    assert_eq!(world.out(&["cat", &world.page("blob/fix/docs/docs/x")]), "x\n");
    let id = world.bare.git().run(["rev-parse", "fix/docs"]);
    for name in [&id, &id[..8]] {
        let page = world.page(&format!("src/commit/{name}/src/lib.rs"));
        assert_eq!(world.out(&["cat", &page]), "fixed\n", "{name}");
    }
}

#[test]
fn a_page_costs_no_request_more_than_its_ref_and_path() {
    let world = World::new();
    let requests = |words: &[&str]| {
        world.server.forget_requests();
        world.out(words);
        world.server.requests().len()
    };
    let plain = world.server.url("o/r");
    let id = world.bare.git().run(["rev-parse", "main"]);
    for (name, page) in [("main", "blob/main/src/lib.rs"), (&id, &format!("blob/{id}/src/lib.rs"))]
    {
        let apart = requests(&["cat", &plain, "src/lib.rs", "--ref", name]);
        assert_eq!(requests(&["cat", &world.page(page)]), apart, "{page}");
    }
    assert_eq!(requests(&["grep", &world.page("tree/main"), "one"]), 3, "hello, refs, snapshot");
}

#[test]
fn commands_stay_in_the_folder_of_a_page() {
    let world = World::new();
    let folder = world.page("tree/main/src");
    assert_eq!(world.out(&["ls", &folder]), "src/a b\nsrc/deep/\nsrc/lib.rs\n");
    assert_eq!(world.out(&["ls", &folder, "-r"]), "src/a b\nsrc/deep/one.rs\nsrc/lib.rs\n");
    assert_eq!(world.out(&["glob", &folder, "*.rs"]), "src/deep/one.rs\nsrc/lib.rs\n");
    assert_eq!(
        world.out(&["grep", &folder, "^one"]),
        "src/deep/one.rs:1:one deep\nsrc/lib.rs:1:one\n"
    );
    assert_eq!(world.out(&["grep", &folder, "^one", "-g", "lib.*"]), "src/lib.rs:1:one\n");
    let file = world.page("blob/main/src/lib.rs#L2");
    assert_eq!(world.out(&["grep", &file, "one"]), "src/lib.rs:1:one\n");
    assert_eq!(world.out(&["glob", &file, "*.rs"]), "src/lib.rs\n");
    assert_eq!(world.out(&["ls", &world.page("tree/fix/docs")]), "docs/\nsrc/\n");
    let gone = world.page("tree/main/scr");
    for words in [&["ls", &gone][..], &["cat", &gone], &["glob", &gone, "x"], &["grep", &gone, "x"]]
    {
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(3), "{words:?} {output:?}");
        assert!(said(&output).contains("'src'"), "{words:?} {output:?}");
    }
}

#[test]
fn the_command_line_wins_over_the_address() {
    let world = World::new();
    let file = world.page("blob/main/src/lib.rs#L2-L3");
    assert_eq!(world.out(&["cat", &file, "--lines", "1"]), "one\n");
    assert_eq!(world.out(&["cat", &file, "--ref", "fix/docs", "--lines", "1"]), "fixed\n");
    assert_eq!(world.out(&["cat", &file, "README.md"]), "# one\nread me\n", "all of its lines");
    let folder = world.page("tree/main/src");
    assert_eq!(world.out(&["ls", &folder, "."]), "README.md\nsrc/\n");
    assert_eq!(world.out(&["ls", &folder, "--ref", "fix/docs"]), "src/lib.rs\n");
    assert_eq!(world.out(&["grep", &folder, "one", "README.md"]), "README.md:1:# one\n");
    assert_eq!(world.out(&["refs", &folder]), world.out(&["refs", &world.server.url("o/r")]));
}

#[test]
fn an_address_without_a_file_or_with_a_bad_ref_says_so() {
    let world = World::new();
    for (words, status, part) in [
        (&["cat", &world.page("tree/main")][..], 2, "names no file"),
        (&["cat", &world.server.url("o/r")], 2, "no PATH given"),
        (&["cat", "git@github.com:o/r.git", "x"], 2, "https://github.com/o/r.git"),
        (&["ls", "htps://github.com/o/r"], 2, "https://github.com/o/r"),
        (&["ls", "https://github.com/o/r/wiki"], 2, "shows no files"),
        (&["cat", &world.page("blob/mian/src/lib.rs")], 3, "'main'"),
        (&["cat", &world.page("src/tag/main/src/lib.rs")], 3, "'main'"),
    ] {
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(status), "{words:?} {output:?}");
        assert!(said(&output).contains(part), "{words:?} {output:?}");
    }
}

#[test]
fn a_name_that_is_a_branch_and_a_tag_is_the_tag_with_a_warning_unless_the_page_says_which() {
    let world = World::new();
    world.bare.git().run(["tag", "main", "fix/docs"]);
    let both = world.gitsip(&["cat", &world.page("blob/main/src/lib.rs")]);
    assert_eq!((both.status.code(), both.stdout.as_bstr()), (Some(0), b"fixed\n".as_bstr()));
    assert!(said(&both).starts_with("gitsip: warning: "), "{both:?}");
    assert_eq!(world.out(&["cat", &world.page("src/branch/main/src/lib.rs#L1")]), "one\n");
    assert_eq!(world.out(&["cat", &world.page("src/tag/main/src/lib.rs")]), "fixed\n");
}

#[test]
fn a_path_of_this_machine_is_not_asked_for_at_github() {
    let world = World::new();
    let here = world.sandbox.repos();
    let mut command = world.command(&["cat", "o/r", "README.md"]);
    let output = command.current_dir(here).output().unwrap();
    assert_eq!(output.stdout.as_bstr(), b"# one\nread me\n".as_bstr(), "{output:?}");
}

struct World {
    sandbox: Sandbox,
    server: HttpServer,
    bare: Repo,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let bare = sandbox.bare("o/r");
        let main = [
            File::new("README.md", "# one\nread me\n"),
            File::new("src/lib.rs", LIB),
            File::new("src/a b", "a b\n"),
            File::new("src/deep/one.rs", "one deep\n"),
        ];
        bare.commit("main", &main);
        bare.commit("fix/docs", &[File::new("src/lib.rs", "fixed\n"), File::new("docs/x", "x\n")]);
        let server = HttpServer::start(sandbox.repos());
        Self { sandbox, server, bare }
    }

    /// The address of a page of the repository.
    fn page(&self, page: &str) -> String {
        format!("{}/{page}", self.server.url("o/r"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
        isolate(&mut command, self.sandbox.path());
        command.args(words).current_dir(self.sandbox.path()).stdin(Stdio::null());
        command
    }

    fn gitsip(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    #[track_caller]
    fn out(&self, words: &[&str]) -> String {
        let output = self.gitsip(words);
        assert_eq!((output.status.code(), said(&output)), (Some(0), ""), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn named(name: &str) -> Ref {
    Ref { name: BString::from(name), target: None, peeled: None, symref_target: None }
}

const LIB: &str = "one\ntwo\nthree\nfour\n";
