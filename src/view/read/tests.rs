use super::super::fixture::Fixture;
use super::*;
use crate::limits::NeverInterrupt;

fn read(fixture: &Fixture, root: &ObjectId, path: &str) -> Read {
    match read_path(fixture, root, path.as_bytes(), true, &Limits::default()) {
        Ok(Lookup::Ready(read)) => read,
        other => panic!("{path}: {other:?}"),
    }
}

fn many(
    fixture: &Fixture,
    root: &ObjectId,
    paths: &[&str],
) -> Lookup<Vec<Result<Read, ViewError>>> {
    read_many(fixture, root, paths, true, &Limits::default(), &NeverInterrupt).unwrap()
}

#[test]
fn a_file_says_where_it_came_from() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["src/main.rs", "link@=src/main.rs"]);
    let id = fixture.blob("src/main.rs");
    let want = File {
        path: "link".into(),
        resolved_path: "src/main.rs".into(),
        mode: Mode::BLOB,
        id,
        bytes: Bytes::from_static(b"src/main.rs"),
        lfs: None,
    };
    assert_eq!(read(&fixture, &root, "./link/"), Read::File(want));
    let link = read_path(&fixture, &root, b"link", false, &Limits::default()).unwrap();
    let Lookup::Ready(Read::File(link)) = link else { panic!("it is a file of its own") };
    assert_eq!((link.mode, link.bytes.as_ref()), (Mode::SYMLINK, &b"src/main.rs"[..]));
}

#[test]
fn a_folder_says_that_it_is_one_and_names_ls() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["src/main.rs"]);
    for (path, shown) in [("src/", "src"), ("", ""), ("/src", "src")] {
        let error = read_path(&fixture, &root, path.as_bytes(), true, &Limits::default());
        let line = error.unwrap_err().to_string();
        assert_eq!(line, format!("'{shown}' is a folder: list it with ls"));
    }
}

#[test]
fn any_number_of_paths_ask_for_their_blobs_at_once() {
    let fixture = Fixture::new();
    let paths: Vec<String> = (0..2_000).map(|i| format!("{}/{i}", i % 10)).collect();
    let mut all: Vec<&str> = paths.iter().map(String::as_str).collect();
    all.push("link@=0/0");
    let root = fixture.snapshot(&all);
    let mut asked: Vec<&str> = paths.iter().map(String::as_str).collect();
    asked.extend(["link", "none", "1"]);
    for path in &paths {
        fixture.hide(fixture.blob(path));
    }
    fixture.hide(fixture.blob("0/0"));
    fixture.hide(root);
    let mut sets = Vec::new();
    let answers = loop {
        match many(&fixture, &root, &asked) {
            Lookup::Ready(answers) => break answers,
            Lookup::Missing(missing) => {
                sets.push(missing.len());
                fixture.fetch(&missing);
            }
        }
    };
    // The root; what `link` points to (the same bytes as the file 0/0); all the others.
    assert_eq!(sets, [1, 1, 1_999]);
    assert_eq!(answers.len(), asked.len());
    for (path, answer) in asked.iter().zip(&answers).take(paths.len()) {
        let Ok(Read::File(file)) = answer else { panic!("{path}: {answer:?}") };
        assert_eq!(file.bytes, path.as_bytes());
    }
    let tail = &answers[paths.len()..];
    assert!(matches!(&tail[0], Ok(Read::File(file)) if file.resolved_path == "0/0"));
    assert!(matches!(&tail[1], Err(ViewError::NotFound { .. })));
    assert!(matches!(&tail[2], Err(ViewError::IsDirectory { .. })));
}

#[test]
fn no_blob_is_asked_for_before_all_trees_are_there() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["a/x", "b/c/y", "z"]);
    let Ok(Lookup::Ready(found)) =
        super::super::path::resolve(&fixture, &root, b"b/c", true, &Limits::default())
    else {
        panic!("it is there")
    };
    fixture.hide(found.id);
    for blob in ["a/x", "b/c/y", "z"] {
        fixture.hide(fixture.blob(blob));
    }
    let paths = ["a/x", "b/c/y", "z"];
    let Lookup::Missing(missing) = many(&fixture, &root, &paths) else { panic!() };
    assert!(missing.iter().all(|item| item.id == found.id));
    fixture.fetch(&missing);
    let Lookup::Missing(missing) = many(&fixture, &root, &paths) else { panic!() };
    assert_eq!(missing.len(), 3);
    assert!(missing.iter().all(|item| item.kind == Some(Kind::Blob)));
}

#[test]
fn a_submodule_answers_with_commit_and_address_and_is_not_looked_for() {
    let fixture = Fixture::new();
    let commit = ObjectId::from_raw(&[3; 20]).unwrap();
    let modules = fixture.blob("[submodule \"x\"]\n path = libs/x\n url = https://example.com/x\n");
    let libs = fixture.tree(&[(Mode::GITLINK, b"x", commit), (Mode::GITLINK, b"y", commit)]);
    let root = fixture.tree(&[(Mode::BLOB, b".gitmodules", modules), (Mode::TREE, b"libs", libs)]);
    fixture.hide(modules);
    let paths = ["libs/x", "libs/y", ".gitmodules"];
    let Lookup::Missing(missing) = many(&fixture, &root, &paths) else { panic!() };
    assert_eq!(missing.iter().map(|item| item.id).collect::<Vec<_>>(), [modules]);
    fixture.fetch(&missing);
    let Lookup::Ready(answers) = many(&fixture, &root, &paths) else { panic!() };
    for (answer, (path, url)) in
        answers.iter().zip([("libs/x", Some("https://example.com/x")), ("libs/y", None)])
    {
        let want = Submodule { path: path.into(), commit, url: url.map(BString::from) };
        assert!(matches!(answer, Ok(Read::Submodule(submodule)) if *submodule == want));
    }

    let bare = fixture.tree(&[(Mode::GITLINK, b"x", commit)]);
    let want = Submodule { path: "x".into(), commit, url: None };
    assert_eq!(read(&fixture, &bare, "x"), Read::Submodule(want), "without .gitmodules");
}

#[test]
fn an_lfs_pointer_is_returned_as_it_is_with_what_it_says() {
    let fixture = Fixture::new();
    let oid = "ab".repeat(32);
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\next-0-x sha256:00\noid sha256:{oid}\nsize 9\n"
    );
    let id = fixture.blob(&pointer);
    let root = fixture.tree(&[(Mode::BLOB, b"big.bin", id)]);
    let Read::File(file) = read(&fixture, &root, "big.bin") else { panic!() };
    assert_eq!(file.bytes, pointer.as_bytes());
    assert_eq!(file.lfs, Some(LfsPointer { oid: oid.clone(), size: 9 }));

    let spec = "version https://git-lfs.github.com/spec/v1\n";
    for text in [
        format!("{spec}oid sha256:{oid}\nsize -1\n"),
        format!("{spec}oid sha256:{oid}\nsize 99999999999999999999\n"),
        format!("{spec}oid md5:{oid}\nsize 1\n"),
        format!("{spec}oid sha256:{}\nsize 1\n", &oid[1..]),
        format!("{spec}size 1\n"),
        format!("{spec}oid sha256:{oid}\nsize 1\n{}", "x y\n".repeat(250)),
        format!("version https://example.com/spec/v1\noid sha256:{oid}\nsize 1\n"),
    ] {
        assert_eq!(LfsPointer::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn an_entry_whose_object_is_of_another_kind_is_an_error_of_that_path() {
    let fixture = Fixture::new();
    let tree = fixture.snapshot(&["x"]);
    let root = fixture.tree(&[(Mode::BLOB, b"file", tree), (Mode::TREE, b"dir", tree)]);
    let Lookup::Ready(answers) = many(&fixture, &root, &["file", "dir/x"]) else { panic!() };
    assert!(matches!(answers[0], Err(ViewError::WrongKind { wanted: Kind::Blob, .. })));
    assert!(answers[1].is_ok());
}
