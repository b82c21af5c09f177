//! Paths, walks and listings say what the real git says, in its order.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end the test")]

mod support;

use bstr::{BString, ByteSlice as _};
use gitsip::limits::NeverInterrupt;
use gitsip::object::Kind;
use gitsip::store::{Lookup, Objects};
use gitsip::view::glob::PathFilter;
use gitsip::view::list::ls;
use gitsip::view::path::{Peeled, peel};
use gitsip::view::read::{Read, read_path};
use gitsip::view::walk::{Walk, WalkOptions};
use gitsip::view::{Step, ViewError};
use gitsip::{Limits, ObjectFormat, ObjectId};
use support::git::{File, Repo, Sandbox};
use support::loaded::Loaded;

/// A snapshot with everything that is odd and allowed.
fn odd_files() -> Vec<File> {
    let commit = "1234567890123456789012345678901234567890";
    let mut files = vec![
        File::new(b"caf\xe9", "latin"),
        File::new("日本語/読む.md", "text"),
        File::new("A", "upper"),
        File::new("a/x", "lower"),
        File::new("foo.c", "before the folder"),
        File::new("foo/bar", "in the folder"),
        File::new("foo0", "after the folder"),
        File::new("empty", ""),
        File::new("two\nlines", "a name of two lines"),
        File::new("tab\tquote\"back\\slash", "quoted by git"),
        File::new("sub-dir/.gitattributes", ""),
        File::executable("run.sh", "#!/bin/sh\n"),
        File::symlink("link", "foo/bar"),
        File::symlink("foo/up", "../A"),
        File::symlink("dir-link", "foo"),
        File::symlink("loop-a", "loop-b"),
        File::symlink("loop-b", "loop-a"),
        File::symlink("absolute", "/etc/passwd"),
        File::symlink("escaping", "foo/../../outside"),
        File::symlink("foo/nothing", ""),
        File::submodule("libs/known", commit),
        File::submodule("libs/unknown", commit),
        File::new(
            ".gitmodules",
            "[submodule \"k\"]\n\tpath = libs/known\n\turl = https://example.com/k.git\n",
        ),
    ];
    for i in 0..60 {
        files.push(File::new(format!("many/{}/{}/f{i}.rs", i % 7, i % 3), format!("file {i}\n")));
    }
    files
}

fn root(repo: &Repo) -> ObjectId {
    repo.git().run(["rev-parse", "HEAD^{tree}"]).parse().unwrap()
}

/// `mode id path` of every entry that `git ls-tree` shows with `args`.
fn ls_tree(repo: &Repo, args: &[&str]) -> Vec<(String, String, BString)> {
    let mut command = vec!["ls-tree", "-z"];
    command.extend(args);
    let printed = repo.git().bytes(command);
    let line = |line: &[u8]| {
        let (header, path) = line.split_once_str("\t").unwrap();
        let words: Vec<String> = header.to_str().unwrap().split(' ').map(str::to_owned).collect();
        (words[0].clone(), words[2].clone(), BString::from(path))
    };
    printed.split(|&byte| byte == 0).filter(|l| !l.is_empty()).map(line).collect()
}

fn walked(
    objects: &impl Objects,
    root: ObjectId,
    options: WalkOptions,
) -> Vec<(String, String, BString)> {
    let mut walk = Walk::new(root, options, &Limits::default());
    let mut seen = Vec::new();
    loop {
        match walk.next(objects, &NeverInterrupt).unwrap() {
            Step::Item(entry) => seen.push((
                entry.mode.canonical().to_string(),
                entry.id.to_string(),
                entry.path.to_owned(),
            )),
            Step::Missing(missing) => panic!("{missing:?} is in the repository"),
            Step::Done => return seen,
        }
    }
}

#[test]
fn a_walk_is_ls_tree_recursive_in_ids_modes_and_order() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new();
        let repo = sandbox.strict_bare("odd.git", &[&format!("--object-format={format}")]);
        let files = odd_files().into_iter().filter(|f| format == "sha1" || f.content().len() != 40);
        repo.commit("main", &files.collect::<Vec<_>>());
        let objects = Loaded::new(&repo);

        let git = ls_tree(&repo, &["-r", "HEAD"]);
        assert!(git.len() > 70);
        assert_eq!(walked(&objects, root(&repo), WalkOptions::default()), git);

        let with_trees = WalkOptions { trees: true, ..WalkOptions::default() };
        assert_eq!(
            walked(&objects, root(&repo), with_trees),
            ls_tree(&repo, &["-r", "-t", "HEAD"])
        );

        for prefix in ["foo", "many/3", "A", "日本語", "many/3/1/f10.rs", "none", "fo"] {
            let filter = PathFilter::new(&[""; 0], &[prefix], &Limits::default()).unwrap();
            let options = WalkOptions { filter, ..WalkOptions::default() };
            let git = ls_tree(&repo, &["-r", "HEAD", "--", prefix]);
            assert_eq!(walked(&objects, root(&repo), options), git, "{prefix}");
        }
    }
}

#[cfg(feature = "disk")]
#[test]
fn a_walk_of_packs_on_disk_is_the_same() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("odd.git");
    repo.commit("main", &odd_files());
    repo.repack();
    let limits = Limits::default();
    let budget = gitsip::Budget::new(limits.max_memory);
    let objects = gitsip::disk::Repository::open(repo.path(), &limits, &budget).unwrap();
    let git = ls_tree(&repo, &["-r", "HEAD"]);
    assert_eq!(walked(&objects, root(&repo), WalkOptions::default()), git);
}

#[test]
fn one_level_of_a_walk_and_ls_are_ls_tree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("odd.git");
    repo.commit("main", &odd_files());
    let objects = Loaded::new(&repo);
    let git = ls_tree(&repo, &["HEAD"]);

    let options = WalkOptions { trees: true, max_depth: Some(1), ..WalkOptions::default() };
    assert_eq!(walked(&objects, root(&repo), options), git);

    let listing = ls(&objects, &root(&repo), b"", false, &Limits::default(), &NeverInterrupt);
    let Lookup::Ready(listing) = listing.unwrap() else { panic!("nothing is missing") };
    let entries: Vec<_> = listing
        .entries
        .iter()
        .map(|e| (e.mode.canonical().to_string(), e.id.to_string(), e.name.clone()))
        .collect();
    assert_eq!(entries, git);
}

#[test]
fn every_file_that_git_lists_is_read_with_its_bytes_and_id() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("odd.git");
    let files = odd_files();
    repo.commit("main", &files);
    let objects = Loaded::new(&repo);
    for file in &files {
        let read = read_path(&objects, &root(&repo), file.path(), false, &Limits::default());
        match read.unwrap() {
            Lookup::Ready(Read::File(read)) => {
                assert_eq!(read.bytes, file.content());
                assert_eq!(read.path, file.path());
                let listed = ls_tree(&repo, &["HEAD", "--", file.path().to_str_lossy().as_ref()]);
                // Names that are no UTF-8 cannot be passed on this way.
                assert!(listed.is_empty() || listed[0].1 == read.id.to_string());
            }
            Lookup::Ready(Read::Submodule(submodule)) => {
                assert_eq!(submodule.commit.to_string().as_bytes(), file.content());
                let known = file.path() == b"libs/known";
                assert_eq!(submodule.url, known.then(|| "https://example.com/k.git".into()));
            }
            Lookup::Missing(missing) => panic!("{missing:?} is in the repository"),
        }
    }
}

#[test]
fn links_lead_where_git_says() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("odd.git");
    repo.commit("main", &odd_files());
    let objects = Loaded::new(&repo);
    // What `cat-file --follow-symlinks` says of each.
    for path in [
        "link",
        "foo/up",
        "dir-link",
        "dir-link/bar",
        "dir-link/up",
        "loop-a",
        "absolute",
        "escaping",
        "foo/nothing",
        "foo/nothing/bar",
        "none",
        "foo/none",
        "A/none",
    ] {
        let asked = format!("HEAD:{path}\n");
        let said = repo
            .git()
            .bytes_with_input(["cat-file", "--batch-check", "--follow-symlinks"], asked.as_bytes());
        let said = said.to_str().unwrap();
        let ours = read_path(&objects, &root(&repo), path.as_bytes(), true, &Limits::default());
        let agree = match &ours {
            Ok(Lookup::Ready(Read::File(file))) => said.starts_with(&format!("{} blob", file.id)),
            Err(ViewError::IsDirectory { .. }) => said.contains(" tree "),
            Err(ViewError::LinkLoop { .. }) => said.starts_with("loop "),
            Err(ViewError::LinkAbsolute { target, .. }) => {
                said.starts_with("symlink ") && said.contains(&target.to_string())
            }
            Err(ViewError::LinkEscapes { .. }) => said.starts_with("symlink "),
            Err(ViewError::NotFound { .. }) => said.contains("missing"),
            Err(ViewError::NotADirectory { .. }) => {
                said.contains("missing") || said.starts_with("notdir ")
            }
            _ => false,
        };
        assert!(agree, "{path}: git says {said:?}, we say {ours:?}");
    }
}

#[test]
fn a_tag_of_a_tag_peels_to_the_commit_and_its_tree() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("tags.git");
    let commit = repo.commit("main", &[File::new("file", "text")]);
    repo.git().run(["tag", "-a", "-m", "one", "t1", "main"]);
    repo.git().run(["tag", "-a", "-m", "two", "t2", "t1"]);
    repo.git().run(["tag", "-a", "-m", "tree", "of-tree", "main^{tree}"]);
    repo.git().run(["tag", "-a", "-m", "blob", "of-blob", "main:file"]);
    let objects = Loaded::new(&repo);
    let id = |name: &str| -> ObjectId { repo.git().run(["rev-parse", name]).parse().unwrap() };
    let tree = root(&repo);
    for (name, commit) in [
        ("t2", Some(id(&commit))),
        ("t1", Some(id(&commit))),
        ("main", Some(id(&commit))),
        ("main^{tree}", None),
        ("of-tree", None),
    ] {
        let Lookup::Ready(peeled) = peel(&objects, &id(name)).unwrap() else { panic!("{name}") };
        assert_eq!(peeled, Peeled { commit, tree }, "{name}");
    }
    assert!(matches!(
        peel(&objects, &id("of-blob")),
        Err(ViewError::WrongKind { actual: Kind::Blob, .. })
    ));
}

#[test]
fn the_empty_tree_is_readable_though_nobody_sent_it() {
    let objects = Loaded::empty(ObjectFormat::Sha1);
    let root = ObjectFormat::Sha1.empty_tree();
    assert_eq!(walked(&objects, root, WalkOptions::default()), []);
    let listing = ls(&objects, &root, b"/", true, &Limits::default(), &NeverInterrupt).unwrap();
    let Lookup::Ready(listing) = listing else { panic!("it is always there") };
    assert!(listing.entries.is_empty() && listing.id == root);
    assert!(matches!(peel(&objects, &root), Ok(Lookup::Ready(Peeled { commit: None, .. }))));
}

#[test]
fn odd_modes_and_dangerous_names_are_walked_as_git_lists_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("literal.git");
    let blob: ObjectId = repo.object("blob", b"content").parse().unwrap();
    let entry = |mode: &str, name: &[u8], id: &ObjectId| {
        [mode.as_bytes(), b" ", name, b"\0", id.as_bytes()].concat()
    };
    let inner: ObjectId = repo.object("tree", &entry("100644", b"x", &blob)).parse().unwrap();
    let raw = [
        entry("100664", b"group-writable", &blob),
        entry("100755", b".git", &blob),
        entry("120664", b"link", &blob),
        entry("040000", b"zero-padded", &inner),
        entry("100644", b".g\xe2\x80\x8cit", &blob),
        entry("100600", b"git~1", &blob),
        entry("40755", b"executable-folder", &inner),
        entry("160000", b"module", &blob),
        entry("100644", b"not-sorted", &blob),
        entry("40000", b"..", &inner),
    ];
    let root: ObjectId = repo.object("tree", &raw.concat()).parse().unwrap();
    let objects = Loaded::new(&repo);
    let git = ls_tree(&repo, &["-r", "-t", &root.to_string()]);
    assert_eq!(git.len(), 13);
    let options = WalkOptions { trees: true, ..WalkOptions::default() };
    assert_eq!(walked(&objects, root, options), git);
    // Only the name that no path can spell is out of reach.
    for (_, id, path) in git.iter().filter(|(mode, ..)| mode != "040000") {
        let read = read_path(&objects, &root, path, false, &Limits::default());
        match read {
            Ok(Lookup::Ready(Read::File(file))) => assert_eq!(file.id.to_string(), *id),
            Ok(Lookup::Ready(Read::Submodule(module))) => assert_eq!(module.path, "module"),
            Err(ViewError::BadPath { .. }) => assert_eq!(path, "../x"),
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn globs_match_what_gitignore_patterns_match() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("globs.git");
    let files: Vec<File> = [
        "a.rs",
        "b.rs",
        "x/a.rs",
        "x/y/a.rs",
        "x/y/b.c",
        "x.c",
        "y/x/b.c",
        "y/x/deep/er/a.c",
        "Makefile",
        "x/Makefile",
        "a b.c",
        "[a].c",
        "x/.hidden",
        ".hidden",
        "caf\u{e9}.rs",
        "z/*.c",
    ]
    .iter()
    .map(|path| File::new(path, path))
    .collect();
    repo.commit("main", &files);
    repo.git().run(["read-tree", "HEAD"]);
    let objects = Loaded::new(&repo);
    // Patterns that match no folder: there ripgrep and gitignore differ.
    for patterns in [
        &["*.rs"][..],
        &["/*.rs"],
        &["x/*.rs"],
        &["x/**"],
        &["x/**/*.rs"],
        &["**/a.rs"],
        &["**/x/b.c"],
        &["a.*"],
        &["?.rs"],
        &["Make*"],
        &["[ab].rs"],
        &["[!a].rs"],
        &["[[]a].c"],
        &["\\[a\\].c"],
        &["\\*.c"],
        &["a b.c"],
        &[".hidden"],
        &["x/y/"],
        &["/x/"],
        &["x/"],
        &["y/x/deep/"],
        &["*.rs", "!b.rs"],
        &["*.rs", "!b.rs", "/b.rs"],
        &["!a.rs", "*.rs"],
        &["*.rs", "!x/y/a.rs"],
        &["*.c", "!/x.c", "!z/*"],
    ] {
        // git insists on a working tree, and does not look into it.
        let mut args = vec!["--git-dir=.", "--work-tree=../../home"];
        args.extend(["ls-files", "-z", "--cached", "--ignored"]);
        args.extend(patterns.iter().flat_map(|pattern| ["-x", *pattern]));
        let git: Vec<BString> = repo
            .git()
            .bytes(args)
            .split(|&byte| byte == 0)
            .filter(|path| !path.is_empty())
            .map(BString::from)
            .collect();
        let filter = PathFilter::new(patterns, &[""; 0], &Limits::default()).unwrap();
        let options = WalkOptions { filter, ..WalkOptions::default() };
        let ours: Vec<BString> =
            walked(&objects, root(&repo), options).into_iter().map(|(.., path)| path).collect();
        assert_eq!(ours, git, "{patterns:?}");
        assert!(!git.is_empty(), "{patterns:?} match something");
    }
}

#[test]
fn addresses_of_submodules_are_what_git_config_reads() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("modules.git");
    for (number, url) in [
        "https://example.com/a.git",
        "../relative.git",
        "\"quoted # not a comment\"",
        "plain ; a comment",
        "trailing blanks \t ",
        "tw\\\no lines",
        "with \\\"escapes\\\" and \\\\ and \\t",
        "\"in\"side\" quotes \"",
        "a  b",
    ]
    .iter()
    .enumerate()
    {
        let config =
            format!("[other]\n\tx = 1\n[SubModule \"n a\\\"m]e\"]\n\tPath = m\n\turl = {url}\n");
        std::fs::write(sandbox.path().join("modules"), &config).unwrap();
        let git = repo.git().bytes([
            "config",
            "-z",
            "-f",
            sandbox.path().join("modules").to_str().unwrap(),
            "--get",
            "submodule.n a\"m]e.url",
        ]);
        let commit = "1234567890123456789012345678901234567890";
        let branch = format!("b{number}");
        repo.commit(&branch, &[File::new(".gitmodules", &config), File::submodule("m", commit)]);
        let objects = Loaded::new(&repo);
        let root = repo.git().run(["rev-parse", &format!("{branch}^{{tree}}")]).parse().unwrap();
        let read = read_path(&objects, &root, b"m", true, &Limits::default());
        let Ok(Lookup::Ready(Read::Submodule(module))) = read else { panic!("{read:?}") };
        assert_eq!(module.url.unwrap(), git.strip_suffix(b"\0").unwrap(), "{url}");
    }
}
