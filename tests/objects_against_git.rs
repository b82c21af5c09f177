//! Do trees, commits and tags read as the real git reads them, odd ones included?

#![allow(clippy::unwrap_used)]

mod support;

use gitsip::ObjectFormat;
use gitsip::object::{
    CommitRef, EntryKind, Kind, Tag, TagRef, Tree, TreeEntry, TreeRef, compare_entries,
    hash_object, suspicious_name,
};
use support::git::{File, Repo, Sandbox};

const FORMATS: [(ObjectFormat, &str); 2] = [
    (ObjectFormat::Sha1, "--object-format=sha1"),
    (ObjectFormat::Sha256, "--object-format=sha256"),
];

/// Content of a tree whose entries all name `id`.
fn tree(id: &str, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let id: gitsip::ObjectId = id.parse().unwrap();
    let mut content = Vec::new();
    for (mode, name) in entries {
        content.extend_from_slice(mode.as_bytes());
        content.push(b' ');
        content.extend_from_slice(name);
        content.push(0);
        content.extend_from_slice(id.as_bytes());
    }
    content
}

/// A tree as `git ls-tree -z` prints it.
fn listed(content: &[u8], format: ObjectFormat) -> Vec<u8> {
    let mut listing = Vec::new();
    for entry in TreeRef::new(content, format) {
        let entry = entry.unwrap();
        let kind = match entry.kind() {
            EntryKind::Tree => "tree",
            EntryKind::Gitlink => "commit",
            EntryKind::Blob | EntryKind::Executable | EntryKind::Symlink => "blob",
        };
        let mode = entry.mode.canonical();
        listing.extend_from_slice(format!("{mode} {kind} {}\t", entry.id).as_bytes());
        listing.extend_from_slice(entry.name);
        listing.push(0);
    }
    listing
}

#[test]
fn trees_of_odd_modes_and_names_read_as_git_lists_them() {
    for (format, option) in FORMATS {
        let sandbox = Sandbox::new();
        let repo = sandbox.strict_bare("odd.git", &[option]);
        let blob = repo.object("blob", b"x");
        let modes: [(&str, &[u8]); 11] = [
            ("100644", b"a"),
            ("0100644", b"b"),
            ("100664", b"c"),
            ("100600", b"d"),
            ("100775", b"e"),
            ("120664", b"f"),
            ("160000", b"g"),
            ("160755", b"h"),
            ("40000", b"i"),
            ("040000", b"j"),
            ("644", b"k"),
        ];
        let names: [(&str, &[u8]); 9] = [
            ("40000", b".."),
            ("100644", b".git"),
            ("100644", b"A"),
            ("100644", b"a"),
            ("100644", b"a/b"),
            ("100644", b"caf\xe9"),
            ("100644", b"new\nline"),
            ("40000", b"zzz"),
            ("100644", "日本語".as_bytes()),
        ];
        for entries in [&modes[..], &names[..], &[]] {
            let content = tree(&blob, entries);
            let id = repo.object("tree", &content);
            assert_eq!(
                hash_object(format, Kind::Tree, &content).unwrap().to_string(),
                id,
                "ids come from the original bytes"
            );
            assert_eq!(listed(&content, format), repo.git().bytes(["ls-tree", "-z", &id]));
        }
    }
}

#[test]
fn a_tree_that_git_wrote_is_in_our_order_and_we_write_the_same() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("order.git");
    let names = ["foo.c", "foo-", "foo/x", "foo0", "fo", "foo.d/y", "a", "A", "foo:z/1", "z"];
    let files: Vec<_> = names.iter().map(|name| File::new(name, name)).collect();
    let commit = repo.commit("main", &files);
    let content = repo.git().bytes(["cat-file", "tree", &commit]);

    let read = TreeRef::new(&content, ObjectFormat::Sha1);
    let entries: Vec<TreeEntry> = read.iter().map(|entry| entry.unwrap().to_owned()).collect();
    assert!(entries.is_sorted_by(|a, b| {
        compare_entries((&a.name, a.mode.kind()), (&b.name, b.mode.kind())).is_lt()
    }));
    let mut shuffled = Tree { entries: entries.iter().rev().cloned().collect() };
    shuffled.sort();
    let mut written = Vec::new();
    shuffled.encode(&mut written);
    assert_eq!(written, content);
    for entry in &entries {
        assert_eq!(read.find(&entry.name).unwrap().unwrap().to_owned(), *entry);
    }
}

#[test]
fn names_are_suspicious_exactly_when_fsck_says_so() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("names.git");
    let blob = repo.object("blob", b"x");
    let names: &[&str] = &[
        "",
        ".",
        "..",
        "...",
        ".git",
        ".GIT",
        ".giT",
        ".git.",
        ".git ",
        ".git. .x",
        ".git:",
        ".git:x",
        ".git::$INDEX_ALLOCATION",
        ".gitx",
        "x.git",
        "git",
        "git~1",
        "GIT~1",
        "git~1 .",
        "git~1x",
        "git~2",
        "g\u{200c}it",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".gi\u{206f}T",
        ".git\u{202e}",
        ".g\u{200b}it",
        ".git\u{e9}",
        "x\\.git",
        ".git\\x",
        "\\git~1",
        "x\\y",
        "..\\x",
        "a/b",
        "/",
        ".git/x",
        ".gitignore",
        ".gitattributes",
        "\u{130}.git",
        "...git",
        "..git",
        "con",
    ];
    for name in names {
        let id = repo.object("tree", &tree(&blob, &[("100644", name.as_bytes())]));
        let output = repo.git().output(["fsck", "--no-dangling", &id]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let by_fsck = said.contains(&id);
        assert_eq!(suspicious_name(name.as_bytes()).is_some(), by_fsck, "{name:?}: {said}");
        std::fs::remove_file(repo.path().join(format!("objects/{}/{}", &id[..2], &id[2..])))
            .unwrap();
    }
}

/// Commits that programs have written, or could: what follows the tree.
fn odd_commits(parent: &str) -> Vec<String> {
    let committer = "committer C <c@x> 1700000000 +0000\n";
    vec![
        format!("parent {parent}\nparent {parent}\nauthor X <x@y> 1 +0100\n{committer}\nhi\n"),
        format!("author X <x@y> 1112911993 --700\n{committer}\nminus minus\n"),
        format!("author X <x@y> 1112911993 +051800\n{committer}\nfar east\n"),
        format!("author A<b <A<b@c>> 1300000000 -0430\n{committer}\nangles\n"),
        format!("author  <> 5 +0000\n{committer}\nnobody\n"),
        format!("author X <x@y> 1 +0000\n{committer}gpgsig one\n two\n \ngpgsig three\n\nsigned\n"),
        format!(
            "author X <x@y> 1 +0000\n{committer}mergetag object {parent}\n type commit\n tag t\n\nm\n"
        ),
        format!(
            "author X <x@y> 1 +0000\n{committer}encoding ISO-8859-1\n\n\n\nthree blank lines\n"
        ),
    ]
}

#[test]
fn odd_commits_read_as_git_shows_them_and_come_out_as_they_went_in() {
    for (format, option) in FORMATS {
        let sandbox = Sandbox::new();
        let repo = sandbox.strict_bare("commits.git", &[option]);
        let empty = repo.object("tree", b"");
        let root =
            format!("tree {empty}\nauthor R <r@r> 1 +0000\ncommitter R <r@r> 1 +0000\n\nroot\n");
        let parent = repo.object("commit", root.as_bytes());
        for rest in odd_commits(&parent) {
            let content = format!("tree {empty}\n{rest}");
            let id = repo.object("commit", content.as_bytes());
            let stored = repo.git().bytes(["cat-file", "commit", &id]);
            let commit = CommitRef::parse(&stored, format).unwrap();
            assert_eq!(shown(&commit), show(&repo, &id), "{content}");
            let mut written = Vec::new();
            commit.to_owned().encode(&mut written);
            assert_eq!(written, content.as_bytes());
            assert_eq!(hash_object(format, Kind::Commit, &written).unwrap().to_string(), id);
        }
    }
}

/// Tree, parents, author and message as git's pretty printer gives them.
fn show(repo: &Repo, id: &str) -> String {
    let format = "--format=%T%n%P%n%an%n%ae%n%B";
    repo.git().run(["show", "-s", format, id]).trim_end().to_owned()
}

fn shown(commit: &CommitRef<'_>) -> String {
    let parents: Vec<_> = commit.parents().map(|id| id.to_string()).collect();
    let author = commit.author().unwrap();
    let text = format!(
        "{}\n{}\n{}\n{}\n{}",
        commit.tree(),
        parents.join(" "),
        author.name,
        author.email,
        commit.message()
    );
    text.trim_end().to_owned()
}

#[test]
fn times_and_zones_are_gits_wherever_git_reads_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("times.git");
    let empty = repo.object("tree", b"");
    let mut compared = 0;
    for time in [
        "0 +0000",
        "1 -0000",
        "1700000000 +0530",
        "1700000000 -0930",
        "1700000000 -700",
        "1700000000 +1",
        "1700000000 +99",
        "1700000000 +2359",
        " 1700000000  +0100",
        "1700000000",
        "soon +0000",
        "1700000000 UTC",
        "1700000000 --700",
    ] {
        let content =
            format!("tree {empty}\nauthor A <a@b> {time}\ncommitter C <c@d> 1 +0000\n\nm\n");
        let id = repo.object("commit", content.as_bytes());
        let said = repo.git().run(["show", "-s", "--format=%at", &id]);
        let ours = CommitRef::parse(content.as_bytes(), ObjectFormat::Sha1).unwrap();
        let ours = ours.author().unwrap().time;
        let Ok(seconds) = said.parse::<u64>() else { continue };
        assert_eq!(ours.map(|time| time.seconds), Some(seconds), "{time}");
        // The clock on the author's wall, counted as if it were UTC.
        let wall =
            repo.git().run(["show", "-s", "--date=format:%Y-%m-%d %H:%M:%S", "--format=%ad", &id]);
        let offset = i64::from(ours.unwrap().offset_minutes) * 60;
        let shifted = format!("{} +0000", i64::try_from(seconds).unwrap() + offset);
        if !shifted.starts_with('-') {
            let utc =
                format!("tree {empty}\nauthor A <a@b> {shifted}\ncommitter C <c@d> 1 +0000\n\nm\n");
            let utc = repo.object("commit", utc.as_bytes());
            let want = repo.git().run([
                "show",
                "-s",
                "--date=format:%Y-%m-%d %H:%M:%S",
                "--format=%ad",
                &utc,
            ]);
            assert_eq!(wall, want, "{time}");
            compared += 1;
        }
    }
    assert!(compared >= 8, "git read only {compared} of the times");
}

#[test]
fn tags_that_git_made_read_as_git_shows_them() {
    for (format, option) in FORMATS {
        let sandbox = Sandbox::new();
        let repo = sandbox.strict_bare("tags.git", &[option]);
        let commit = repo.commit("main", &[File::new("a", "a")]);
        repo.git().run(["tag", "-a", "-m", "one\n\nmore", "t1", &commit]);
        repo.git().run(["tag", "-a", "-m", "two", "t2", "t1"]);
        let old = format!("object {commit}\ntype commit\ntag v0.99\n\nno tagger, as in 2005\n");
        let old = repo.object("tag", old.as_bytes());
        repo.git().run(["update-ref", "refs/tags/v0.99", &old]);
        for name in ["t1", "t2", "v0.99"] {
            let content = repo.git().bytes(["cat-file", "tag", name]);
            let tag = TagRef::parse(&content, format).unwrap();
            let fields = "--format=%(object)%0a%(type)%0a%(tag)%0a%(taggername)%0a%(contents)";
            let want = repo.git().run(["for-each-ref", fields, &format!("refs/tags/{name}")]);
            let tagger = tag.tagger().map(|tagger| tagger.name.to_string()).unwrap_or_default();
            let ours = format!(
                "{}\n{}\n{}\n{tagger}\n{}",
                tag.object(),
                tag.kind(),
                tag.name(),
                tag.message()
            );
            assert_eq!(ours.trim_end(), want.trim_end());
            let mut written = Vec::new();
            tag.to_owned().encode(&mut written);
            assert_eq!(written, content);
        }
        let mut ours = Tag::new(commit.parse().unwrap(), Kind::Commit, "ours");
        ours.push_header(b"tagger", b"T <t@t> 5 +0000");
        ours.message = Some("made here\n".into());
        let mut content = Vec::new();
        ours.encode(&mut content);
        // Without --literally git checks what it is given.
        let id = repo.git().bytes_with_input(["mktag", "--strict"], &content);
        assert_eq!(
            id.trim_ascii(),
            hash_object(format, Kind::Tag, &content).unwrap().to_string().as_bytes()
        );
    }
}
