use proptest::prelude::*;

use super::super::fixture::Fixture;
use super::*;

fn found(fixture: &Fixture, root: &ObjectId, path: &str) -> Resolved {
    match resolve(fixture, root, path.as_bytes(), true, &Limits::default()) {
        Ok(Lookup::Ready(found)) => found,
        other => panic!("{path}: {other:?}"),
    }
}

fn refused(fixture: &Fixture, root: &ObjectId, path: &str) -> ViewError {
    match resolve(fixture, root, path.as_bytes(), true, &Limits::default()) {
        Err(error) => error,
        Ok(found) => panic!("{path}: {found:?}"),
    }
}

#[test]
fn paths_are_normalised_and_dot_dot_is_refused() {
    let limits = Limits::default();
    for (path, want) in [
        ("", ""),
        ("/", ""),
        (".", ""),
        ("./x", "x"),
        ("/x", "x"),
        ("x/", "x"),
        ("a//b/./c/", "a/b/c"),
        ("...", "..."),
        (".git", ".git"),
        ("a/..b", "a/..b"),
    ] {
        assert_eq!(normalise(path.as_bytes(), &limits).unwrap(), want, "{path}");
    }
    for path in ["..", "a/..", "a/../b", "../x"] {
        let error = normalise(path.as_bytes(), &limits).unwrap_err();
        assert!(error.to_string().ends_with("write the path from the root, without '..'"));
    }
    assert!(matches!(normalise(b"a\0b", &limits), Err(ViewError::BadPath { .. })));
    let limit = normalise(&[b'x'; 4_097], &limits).unwrap_err();
    assert!(matches!(limit, ViewError::Limit(l) if l.which == Which::PathBytes && l.seen == 4_097));
}

#[test]
fn foo_foo_c_and_the_folder_foo_resolve_in_any_order() {
    let fixture = Fixture::new();
    let inner = fixture.snapshot(&["x"]);
    let file = fixture.blob("file");
    let entries: [(Mode, &[u8], ObjectId); 4] = [
        (Mode::BLOB, b"foo.c", file),
        (Mode::TREE, b"foo", inner),
        (Mode::BLOB, b"foo0", file),
        (Mode::BLOB, b"fo", file),
    ];
    for turn in 0..entries.len() {
        let mut entries = entries;
        entries.rotate_left(turn);
        let root = fixture.tree(&entries);
        for (mode, name, id) in entries {
            let name = name.to_str().unwrap();
            let want = Resolved { path: name.into(), mode, id };
            assert_eq!(found(&fixture, &root, name), want);
        }
        assert_eq!(found(&fixture, &root, "foo/x").path, "foo/x");
    }
    let root = fixture.tree(&[(Mode::BLOB, b"foo", file), (Mode::TREE, b"foo", inner)]);
    assert_eq!(found(&fixture, &root, "foo").id, file);
    assert_eq!(found(&fixture, &root, "foo/x").path, "foo/x", "the folder behind the file");
}

#[test]
fn links_are_followed_inside_the_tree_and_the_path_they_lead_to_is_told() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&[
        "src/main.rs",
        "src/deep/er/file",
        "main@=src/main.rs",
        "src/up@=../main",
        "folder@=src/deep",
        "around@=folder/../main.rs",
        "dots@=./src/.//main.rs",
        "slash@=src/",
        "self@=.",
    ]);
    for (path, want) in [
        ("main", "src/main.rs"),
        ("src/up", "src/main.rs"),
        ("folder", "src/deep"),
        ("folder/er/file", "src/deep/er/file"),
        // `..` is the parent of where the link led, as a file system has it.
        ("around", "src/main.rs"),
        ("dots", "src/main.rs"),
        ("slash/main.rs", "src/main.rs"),
        ("self/self/main", "src/main.rs"),
        ("self", ""),
    ] {
        assert_eq!(found(&fixture, &root, path).path, want, "{path}");
    }
    let link = resolve(&fixture, &root, b"folder", false, &Limits::default()).unwrap();
    let Lookup::Ready(link) = link else { panic!("nothing is missing") };
    assert_eq!((link.path.to_str().unwrap(), link.mode), ("folder", Mode::SYMLINK));
    let through = resolve(&fixture, &root, b"folder/er/file", false, &Limits::default()).unwrap();
    assert!(matches!(through, Lookup::Ready(r) if r.path == "src/deep/er/file"));
}

#[test]
fn links_that_lead_nowhere_are_answers() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&[
        "file",
        "sub/passwd@=/etc/passwd",
        "sub/out@=../../x",
        "self@=.",
        "sneaky@=self/../file",
        "a@=b",
        "b@=a",
        "me@=me",
        "dangling@=nowhere/at/all",
        "through@=file/x",
        "empty@=",
    ]);
    let link = |name: &str| name.to_owned();
    match refused(&fixture, &root, "sub/passwd") {
        ViewError::LinkAbsolute { path, target } => {
            assert_eq!(
                (path.to_string(), target.to_string()),
                (link("sub/passwd"), link("/etc/passwd"))
            );
        }
        other => panic!("{other}"),
    }
    for (asked, path, target) in [("sub/out", "sub/out", "../../x"), ("sneaky", "self", ".")] {
        match refused(&fixture, &root, asked) {
            ViewError::LinkEscapes { path: p, target: t } => {
                assert_eq!((p.to_string(), t.to_string()), (link(path), link(target)));
            }
            other => panic!("{other}"),
        }
    }
    for path in ["a", "b", "me", "a/x"] {
        assert!(matches!(refused(&fixture, &root, path), ViewError::LinkLoop { allowed: 40, .. }));
    }
    assert_eq!(
        refused(&fixture, &root, "dangling").to_string(),
        "'dangling' leads to 'nowhere', which does not exist; list what is there"
    );
    assert_eq!(
        refused(&fixture, &root, "through").to_string(),
        "'through' does not exist: 'file' is a file"
    );
    assert_eq!(found(&fixture, &root, "empty").path, "", "as git has it: the link's own folder");
}

#[test]
fn forty_links_are_followed_and_not_one_more() {
    let fixture = Fixture::new();
    let paths: Vec<String> = (0..41).map(|i| format!("l{i}@=l{}", i + 1)).collect();
    let mut paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    paths.push("l41");
    let root = fixture.snapshot(&paths);
    assert_eq!(found(&fixture, &root, "l1").path, "l41");
    assert!(matches!(refused(&fixture, &root, "l0"), ViewError::LinkLoop { .. }));
}

#[test]
fn what_is_missing_is_asked_for_one_level_at_a_time() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["a/b/file", "link@=a/b"]);
    let a = found(&fixture, &root, "a").id;
    let b = found(&fixture, &root, "a/b").id;
    let link = fixture.blob("a/b");
    for id in [root, a, b, link] {
        fixture.hide(id);
    }
    for (id, kind) in [(root, Kind::Tree), (link, Kind::Blob), (a, Kind::Tree), (b, Kind::Tree)] {
        match resolve(&fixture, &root, b"link/file", true, &Limits::default()).unwrap() {
            Lookup::Missing(missing) => {
                let items: Vec<_> = missing.iter().map(|item| (item.id, item.kind)).collect();
                assert_eq!(items, [(id, Some(kind))]);
                fixture.fetch(&missing);
            }
            Lookup::Ready(found) => panic!("{found:?}"),
        }
    }
    assert_eq!(found(&fixture, &root, "link/file").path, "a/b/file");
}

#[test]
fn a_link_longer_than_a_path_may_be_is_refused_unread() {
    let fixture = Fixture::new();
    let target = fixture.blob([b'x'; 4_097]);
    let root = fixture.tree(&[(Mode::SYMLINK, b"link", target)]);
    assert!(matches!(
        refused(&fixture, &root, "link"),
        ViewError::Limit(limit) if limit.which == Which::PathBytes
    ));
    assert_eq!(fixture.reads(&target), 0);
}

#[test]
fn a_long_way_through_large_folders_is_refused_as_too_much_work() {
    let fixture = Fixture::new();
    let mut paths: Vec<String> = (0..1_000).map(|i| format!("{i:09}")).collect();
    paths.push("a/x".into());
    paths.push(format!("link@={}a", "a/../".repeat(200)));
    let root = fixture.snapshot(&paths);
    assert_eq!(found(&fixture, &root, "link/x").path, "a/x");
    let limits = Limits { max_walk_entries: 100_000, ..Limits::default() };
    assert!(resolve(&fixture, &root, b"a/x", true, &limits).is_ok());
    assert!(matches!(
        resolve(&fixture, &root, b"link/x", true, &limits),
        Err(ViewError::Limit(limit)) if limit.which == Which::WalkEntries
    ));
}

#[test]
fn folders_deeper_than_allowed_are_refused() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["a/b/c/d"]);
    let limits = Limits { max_tree_depth: 2, ..Limits::default() };
    assert!(resolve(&fixture, &root, b"a/b", true, &limits).is_ok());
    assert!(matches!(
        resolve(&fixture, &root, b"a/b/c", true, &limits),
        Err(ViewError::Limit(limit)) if limit.which == Which::TreeDepth && limit.seen == 3
    ));
}

#[test]
fn a_path_that_does_not_exist_says_what_is_near_in_its_deepest_folder() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["src/main.rs", "src/view/path.rs", "Makefile"]);
    for (path, want) in [
        ("src/mian.rs", "'src/mian.rs' does not exist; did you mean 'src/main.rs'?"),
        ("srx/main.rs", "'srx/main.rs' does not exist: there is no 'srx'; did you mean 'src'?"),
        ("/makefile", "'makefile' does not exist; did you mean 'Makefile'?"),
        ("src/view/grep.rs/", "'src/view/grep.rs' does not exist; list what is there"),
        ("Makefile/x", "'Makefile/x' does not exist: 'Makefile' is a file"),
    ] {
        assert_eq!(refused(&fixture, &root, path).to_string(), want);
    }
}

#[test]
fn a_submodule_is_found_and_not_entered() {
    let fixture = Fixture::new();
    let commit = ObjectId::from_raw(&[7; 20]).unwrap();
    let root = fixture.tree(&[(Mode::GITLINK, b"lib", commit)]);
    let want = Resolved { path: "lib".into(), mode: Mode::GITLINK, id: commit };
    assert_eq!(found(&fixture, &root, "lib"), want);
    match refused(&fixture, &root, "lib/src/x.c") {
        ViewError::InSubmodule { path, submodule, commit: at } => {
            assert_eq!(
                (path.to_string(), submodule.to_string()),
                ("lib/src/x.c".into(), "lib".into())
            );
            assert_eq!(at, commit);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_stands_before_the_damage_in_a_tree_is_found() {
    let fixture = Fixture::new();
    let id = fixture.blob("file");
    let mut bytes = Vec::new();
    crate::object::Tree {
        entries: vec![crate::object::TreeEntry { mode: Mode::BLOB, name: "a".into(), id }],
    }
    .encode(&mut bytes);
    bytes.extend_from_slice(b"100644 cut off");
    let root = fixture.insert(Kind::Tree, bytes);
    assert_eq!(found(&fixture, &root, "a").id, id);
    assert!(matches!(refused(&fixture, &root, "b"), ViewError::Tree { id, .. } if id == root));
    assert!(matches!(
        refused(&fixture, &id, "a"),
        ViewError::WrongKind { wanted: Kind::Tree, actual: Kind::Blob, .. }
    ));
}

#[test]
fn the_line_says_which_part_does_not_exist() {
    let line = |path: &str, missing: &str, similar: &[&str]| {
        let similar: Vec<BString> = similar.iter().map(|&name| name.into()).collect();
        let (path, missing) = (path.into(), missing.into());
        let known = describe_not_found(&path, &missing, &similar, Some("main (3f2a91c)"));
        (describe_not_found(&path, &missing, &similar, None), known)
    };
    for (path, missing, similar, unknown, known) in [
        (
            "a",
            "a",
            &[][..],
            "'a' does not exist; list what is there",
            "'a' at main (3f2a91c); list what is there",
        ),
        (
            "a/b/c",
            "a",
            &[],
            "'a/b/c' does not exist: there is no 'a'; list what is there",
            "'a/b/c' at main (3f2a91c): there is no 'a'; list what is there",
        ),
        (
            "ab",
            "a",
            &[],
            "'ab' leads to 'a', which does not exist; list what is there",
            "'ab' at main (3f2a91c) leads to 'a', which does not exist; list what is there",
        ),
        (
            "src/mian.rs",
            "src/mian.rs",
            &["src/main.rs", "src/x"],
            "'src/mian.rs' does not exist; did you mean 'src/main.rs' or 'src/x'?",
            "'src/mian.rs' at main (3f2a91c); did you mean 'src/main.rs' or 'src/x'?",
        ),
    ] {
        assert_eq!(line(path, missing, similar), (unknown.to_owned(), known.to_owned()));
    }
}

fn tag(fixture: &Fixture, kind: Kind, id: ObjectId, name: &str) -> ObjectId {
    fixture.insert(Kind::Tag, format!("object {id}\ntype {kind}\ntag {name}\n\n"))
}

#[test]
fn each_object_on_the_way_is_asked_for_by_its_kind() {
    let fixture = Fixture::new();
    let tree = fixture.snapshot(&["file"]);
    let commit = fixture.insert(Kind::Commit, format!("tree {tree}\n\nmessage\n"));
    let inner = tag(&fixture, Kind::Commit, commit, "inner");
    let outer = tag(&fixture, Kind::Tag, inner, "outer");
    for id in [outer, inner, commit] {
        fixture.hide(id);
    }
    for (id, kind) in [(outer, None), (inner, Some(Kind::Tag)), (commit, Some(Kind::Commit))] {
        let Lookup::Missing(missing) = peel(&fixture, &outer).unwrap() else { panic!("{id}") };
        let items: Vec<_> = missing.iter().map(|item| (item.id, item.kind)).collect();
        assert_eq!(items, [(id, kind)]);
        fixture.fetch(&missing);
    }
    let Lookup::Ready(peeled) = peel(&fixture, &outer).unwrap() else { panic!("all is there") };
    assert_eq!(peeled, Peeled { commit: Some(commit), tree });
}

#[test]
fn forty_tags_are_followed_and_not_one_more() {
    let fixture = Fixture::new();
    let tree = fixture.snapshot(&["file"]);
    let mut id = tag(&fixture, Kind::Tree, tree, "0");
    for i in 1..MAX_TAGS {
        id = tag(&fixture, Kind::Tag, id, &i.to_string());
    }
    assert!(matches!(peel(&fixture, &id), Ok(Lookup::Ready(Peeled { tree: t, .. })) if t == tree));
    let id = tag(&fixture, Kind::Tag, id, "one more");
    assert!(matches!(peel(&fixture, &id), Err(ViewError::TagChain { allowed: MAX_TAGS, .. })));
}

#[test]
fn a_tag_that_lies_about_its_target_and_damaged_objects_are_errors() {
    let fixture = Fixture::new();
    let tree = fixture.snapshot(&["file"]);
    let lie = tag(&fixture, Kind::Commit, tree, "lie");
    assert!(matches!(
        peel(&fixture, &lie),
        Err(ViewError::WrongKind { wanted: Kind::Commit, actual: Kind::Tree, .. })
    ));
    let commit = fixture.insert(Kind::Commit, "author nobody\n\n");
    assert!(matches!(peel(&fixture, &commit), Err(ViewError::Object { id, .. }) if id == commit));
    let tag = fixture.insert(Kind::Tag, format!("object {tree}\n"));
    assert!(matches!(peel(&fixture, &tag), Err(ViewError::Object { kind: Kind::Tag, .. })));
}
proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_path_of_a_snapshot_resolves_to_its_own_blob(
        paths in prop::collection::btree_set("[ab.]{1,2}(/[ab.]{1,2}){0,3}", 1..20),
    ) {
        let clean = |path: &&String| names(path.as_bytes()).all(|name| name != "..")
            && normalise(path.as_bytes(), &Limits::default()).unwrap() == path.as_str();
        let paths: Vec<&String> = paths.iter().filter(clean).collect();
        prop_assume!(!paths.is_empty());
        let fixture = Fixture::new();
        let root = fixture.snapshot(&paths);
        for path in paths {
            match resolve(&fixture, &root, path.as_bytes(), true, &Limits::default()) {
                Ok(Lookup::Ready(found)) => {
                    prop_assert_eq!(&found.path, path.as_str());
                    // A path that is a folder of another one was left out.
                    prop_assert!(found.mode == Mode::TREE || found.id == fixture.blob(path));
                }
                Err(ViewError::NotADirectory { .. }) => {}
                other => prop_assert!(false, "{}: {:?}", path, other),
            }
        }
    }

    #[test]
    fn no_link_makes_it_panic_or_leave_the_tree(
        targets in prop::collection::vec("[abc.]{1,2}(/([abc]|\\.\\.)){0,3}", 3),
        path in "[abcd](/[abcd]){0,3}",
    ) {
        let fixture = Fixture::new();
        let mut paths = vec!["d/d/file".to_owned(), "d/a@=../b".to_owned()];
        paths.extend("abc".chars().zip(&targets).map(|(name, target)| format!("{name}@={target}")));
        let root = fixture.snapshot(&paths);
        if let Ok(Lookup::Ready(found)) =
            resolve(&fixture, &root, path.as_bytes(), true, &Limits::default())
        {
            // The path told is free of links and leads to the same object.
            let again = resolve(&fixture, &root, &found.path, false, &Limits::default());
            prop_assert!(matches!(again, Ok(Lookup::Ready(again)) if again == found));
        }
    }
}
