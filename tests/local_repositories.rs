//! Repositories on disk, read beside the real `git`: every object byte for byte, every
//! ref with what it peels to, in every layout that git makes.

#![cfg(feature = "disk")]
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gitsip::disk::Repository;
use gitsip::object::Kind;
use gitsip::store::{Header, Object, Objects, Ref, Refs, StoreError};
use gitsip::{Budget, Error, ErrorKind, Limits, ObjectFormat, ObjectId};
use support::git::{File, Git, Repo, Sandbox};

#[test]
fn every_object_is_what_cat_file_says() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new();
        let (repo, _) = mixed_repository(&sandbox, format);
        let git_objects = git_objects(&repo.git());
        assert!(git_objects.len() >= 300, "{}", git_objects.len());
        let budget = Budget::new(64 << 20);
        let repository = Repository::open(repo.path(), &Limits::default(), &budget).unwrap();
        for pass in 0..2 {
            for (id, (kind, content)) in &git_objects {
                let size = content.len() as u64;
                // Headers once before and once after the bytes were read.
                let header = repository.header(id).unwrap();
                assert_eq!(header, Some(Header { kind: *kind, size }), "{id} {pass}");
                let Object { kind: found, bytes } = repository.read(id).unwrap().unwrap();
                assert_eq!((found, &bytes[..]), (*kind, &content[..]), "{id}");
            }
        }
        drop(repository);
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn objects_are_read_within_a_small_budget() {
    let sandbox = Sandbox::new();
    let (repo, _) = mixed_repository(&sandbox, "sha1");
    let budget = Budget::new(600_000);
    let repository = Repository::open(repo.path(), &Limits::default(), &budget).unwrap();
    for (id, (_, content)) in git_objects(&repo.git()) {
        assert_eq!(repository.read(&id).unwrap().unwrap().bytes, content);
    }
    assert!(budget.peak_bytes() <= 600_000);
}

#[test]
fn failing_any_spend_is_a_limit_and_leaves_nothing_spent() {
    let sandbox = Sandbox::new();
    let (repo, _) = mixed_repository(&sandbox, "sha1");
    let ids: Vec<ObjectId> = git_objects(&repo.git()).into_keys().step_by(40).collect();
    let mut refused = 0;
    for spends in 0..60 {
        let budget = Budget::failing_after(64 << 20, spends);
        let repository = Repository::open(repo.path(), &Limits::default(), &budget).unwrap();
        for id in &ids {
            match repository.read(id) {
                Ok(object) => assert!(object.is_some()),
                Err(error) => {
                    assert_eq!(Error::from(error).kind(), ErrorKind::Limit);
                    refused += 1;
                }
            }
        }
        drop(repository);
        assert_eq!(budget.used_bytes(), 0, "{spends}");
    }
    assert!(refused > 60, "{refused}");
}

#[test]
fn refs_are_what_show_ref_says() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new();
        let (repo, worktree) = mixed_repository(&sandbox, format);
        for path in [repo.path(), &worktree] {
            let git = Git::new(path, sandbox.path().join("home"));
            assert_eq!(shown(&open(path).list(&[]).unwrap()), git_refs(&git), "{path:?}");
        }
    }
}

#[test]
fn refs_are_chosen_by_prefix() {
    let sandbox = Sandbox::new();
    let (repo, _) = mixed_repository(&sandbox, "sha1");
    let repository = open(repo.path());
    let names = |prefixes: &[&str]| -> Vec<String> {
        let prefixes: Vec<_> = prefixes.iter().map(|&prefix| prefix.into()).collect();
        repository.list(&prefixes).unwrap().iter().map(|one| one.name.to_string()).collect()
    };
    assert_eq!(names(&["HEAD"]), ["HEAD"]);
    assert_eq!(names(&["refs/tags/"]), ["refs/tags/light", "refs/tags/t1", "refs/tags/t2"]);
    assert_eq!(names(&["refs/heads/main", "HE"]), ["HEAD", "refs/heads/main"]);
    assert_eq!(names(&["refs/nothing"]), [""; 0]);
}

#[test]
fn every_way_to_name_a_repository_finds_it() {
    let sandbox = Sandbox::new();
    let (repo, worktree) = mixed_repository(&sandbox, "sha1");
    let inside = worktree.join("deep/er");
    fs::create_dir_all(&inside).unwrap();
    let plain = sandbox.path().join("plain");
    sandbox.git().run([
        "clone".as_ref(),
        "-q".as_ref(),
        repo.path().as_os_str(),
        plain.as_os_str(),
    ]);
    fs::create_dir_all(plain.join("sub/folder")).unwrap();
    let head = repo.git().run(["rev-parse", "main"]);
    for path in [
        repo.path().to_owned(),
        repo.path().join("objects/pack"),
        worktree.join(".git"),
        plain.clone(),
        plain.join(".git"),
        plain.join("sub/folder"),
        plain.join(".git/refs"),
    ] {
        let refs = open(&path).list(&["HEAD".into()]).unwrap();
        if path.starts_with(&plain) || path.starts_with(repo.path()) {
            assert_eq!(refs[0].target.unwrap().to_string(), head, "{path:?}");
        }
    }
    // The linked work tree has its own HEAD, detached, and a branch of everyone's.
    let refs = open(&inside).list(&[]).unwrap();
    assert_eq!(refs[0].symref_target, None);
    assert_ne!(refs[0].target.unwrap().to_string(), head);
    let main = refs.iter().find(|one| one.name == "refs/heads/main").unwrap();
    assert_eq!(main.target.unwrap().to_string(), head);
    assert!(open(&inside).read(&main.target.unwrap()).unwrap().is_some());
}

#[test]
fn where_there_is_no_repository_the_error_says_so() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("file"), "no gitdir").unwrap();
    for path in ["", "file", "absent"] {
        let path = sandbox.path().join(path);
        let error = refused(&path);
        assert!(matches!(error, StoreError::NoRepository { .. }), "{error}");
        assert_eq!(Error::from(error).kind(), ErrorKind::NotFound);
    }
    fs::write(sandbox.path().join(".git"), "gitdir: absent\n").unwrap();
    assert!(matches!(refused(sandbox.path()), StoreError::Malformed { .. }));
}

#[test]
fn an_unborn_branch_is_named_and_an_empty_repository_is_readable() {
    let sandbox = Sandbox::new();
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let option = format!("--object-format={format}");
        let repo = sandbox.strict_bare(format.name(), &["-b", "weird", &option]);
        let repository = open(repo.path());
        let unborn = Ref {
            name: "HEAD".into(),
            target: None,
            peeled: None,
            symref_target: Some("refs/heads/weird".into()),
        };
        assert_eq!(repository.list(&[]).unwrap(), [unborn]);
        assert_eq!(repository.format(), format);
        let tree = repository.read(&format.empty_tree()).unwrap().unwrap();
        assert_eq!((tree.kind, tree.bytes.len()), (Kind::Tree, 0));
    }
}

#[test]
fn reftable_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("reftable");
    let init = ["init", "-q", "--bare", "--ref-format=reftable", path.to_str().unwrap()];
    if !sandbox.git().output(init).status.success() {
        // A git older than 2.45 cannot make one.
        return;
    }
    let error = refused(&path);
    assert!(
        matches!(&error, StoreError::Unsupported(what) if what.contains("reftable")),
        "{error}"
    );
}

#[test]
fn symbolic_refs_that_loop_or_lead_outside_are_errors_and_spoil_no_listing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let id = repo.commit("main", &[File::new("a", "a")]);
    let write = |name: &str, text: &str| fs::write(repo.path().join(name), text).unwrap();
    write("refs/heads/a", "ref: refs/heads/b\n");
    write("refs/heads/b", "ref: refs/heads/a\n");
    write("refs/heads/evil", "ref: ../../etc/passwd\n");
    write("refs/heads/worse", "ref: refs/../../../etc/passwd\n");
    write("refs/heads/junk", "not an id\n");
    write("refs/heads/cut", &id[..20]);
    write("refs/heads/empty", "");
    write("refs/heads/locked.lock", &id);
    write("refs/heads/dangling", "ref: refs/heads/nowhere\n");
    let listed = shown(&open(repo.path()).list(&[]).unwrap());
    assert_eq!(listed, git_refs(&repo.git()));
    for name in ["a", "evil", "worse", "junk", "cut", "empty"] {
        let name = format!("refs/heads/{name}");
        let error = open(repo.path()).list(&[name.as_str().into()]).unwrap_err();
        assert!(matches!(error, StoreError::Malformed { .. }), "{name}: {error}");
        assert!(!error.to_string().contains("root:"), "{error}");
    }
    write("HEAD", "ref: refs/heads/a\n");
    let error = open(repo.path()).list(&["HEAD".into()]).unwrap_err();
    assert!(error.to_string().contains("steps"), "{error}");
    write("HEAD", "ref: refs/../../x\n");
    let error = open(repo.path()).list(&["HEAD".into()]).unwrap_err();
    assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_symbolic_refs_or_nothing() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    repo.commit("main", &[File::new("a", "a")]);
    let before = open(repo.path()).list(&[]).unwrap();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, repo.path().join(name)).unwrap();
    };
    link("/etc/passwd", "refs/heads/link-out");
    link(".", "refs/heads/round");
    assert_eq!(open(repo.path()).list(&[]).unwrap(), before);
    // How git itself once wrote HEAD.
    fs::remove_file(repo.path().join("HEAD")).unwrap();
    link("refs/heads/main", "HEAD");
    assert_eq!(open(repo.path()).list(&[]).unwrap(), before);
}

#[test]
fn packed_refs_are_read_as_git_reads_them() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let id = repo.commit("main", &[File::new("a", "a")]);
    repo.git().run(["tag", "-m", "t", "tag", "main"]);
    let tag = repo.git().run(["rev-parse", "refs/tags/tag"]);
    repo.git().run(["pack-refs", "--all"]);
    let path = repo.path().join("packed-refs");
    let file = fs::read_to_string(&path).unwrap();
    let all = git_refs(&repo.git());

    // Without its header, and unsorted under a header that says sorted.
    let (header, lines) = file.split_once('\n').unwrap();
    fs::write(&path, lines).unwrap();
    assert_eq!(shown(&open(repo.path()).list(&[]).unwrap()), all);
    let unsorted = format!("{header}\n{tag} refs/tags/tag\n^{id}\n{id} refs/heads/main\n");
    fs::write(&path, unsorted).unwrap();
    assert_eq!(shown(&open(repo.path()).list(&[]).unwrap()), all);

    // A loose ref hides the packed one of its name.
    fs::create_dir_all(repo.path().join("refs/tags")).unwrap();
    fs::write(repo.path().join("refs/tags/tag"), format!("{id}\n")).unwrap();
    let tags = open(repo.path()).list(&["refs/tags/".into()]).unwrap();
    assert_eq!((tags[0].target.unwrap().to_string(), tags[0].peeled), (id.clone(), None));

    fs::write(&path, file.trim_end()).unwrap();
    let error = open(repo.path()).list(&[]).unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
}

#[test]
fn objects_that_were_repacked_or_written_meanwhile_are_found() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let first = repo.commit("main", &[File::new("a", "a")]);
    let repository = open(repo.path());
    let read = |hex: &str| repository.read(&hex.parse().unwrap()).unwrap();
    assert!(read(&first).is_some());
    let loose = repo.object("blob", b"written later");
    assert!(read(&loose).is_some());
    let second = repo.commit("main", &[File::new("a", "b")]);
    repo.repack();
    assert!(read(&second).is_some());
    assert!(read(&first).is_some());
    let again = repo.object("blob", b"written last");
    assert_eq!(repository.ids_with_prefix(again.as_bytes(), 9).unwrap().len(), 1);
    assert!(read(&again).is_some());
}

#[test]
fn a_damaged_copy_is_passed_over_for_a_sound_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let lines: String = (0..5_000).map(|i| format!("line {i}\n")).collect();
    repo.commit("main", &[File::new("a", &lines)]);
    let blob: ObjectId = repo.git().run(["rev-parse", "main:a"]).parse().unwrap();
    repo.repack();
    let pack = only_pack(&repo);
    let copy = sandbox.path().join("copy.pack");
    fs::copy(&pack, &copy).unwrap();

    // Damage in the middle of the only large stream.
    make_writable(&pack);
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0xa5);
    fs::write(&pack, &bytes).unwrap();
    let error = open(repo.path()).read(&blob).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { id, .. } if id == blob), "{error}");

    let other = repo.path().join("objects/pack/pack-other.pack");
    fs::copy(&copy, &other).unwrap();
    fs::copy(pack.with_extension("idx"), other.with_extension("idx")).unwrap();
    assert_eq!(open(repo.path()).read(&blob).unwrap().unwrap().bytes, lines);
}

#[test]
fn an_index_that_is_not_its_packs_is_not_used() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    repo.commit("main", &[File::new("a", "a")]);
    let commit: ObjectId = repo.git().run(["rev-parse", "main"]).parse().unwrap();
    repo.repack();
    let (pack, index) = (only_pack(&repo), only_pack(&repo).with_extension("idx"));
    make_writable(&pack);
    make_writable(&index);
    let (pack_bytes, index_bytes) = (fs::read(&pack).unwrap(), fs::read(&index).unwrap());
    let damaged = |path: &Path, bytes: &[u8]| {
        fs::write(path, bytes).unwrap();
        let error = open(repo.path()).read(&commit).unwrap_err();
        fs::write(&pack, &pack_bytes).unwrap();
        fs::write(&index, &index_bytes).unwrap();
        error.to_string()
    };
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let end = pack_bytes.len();
    assert!(damaged(&pack, &flipped(&pack_bytes, end - 1)).contains("another pack"));
    assert!(damaged(&pack, &flipped(&pack_bytes, 0)).contains("no pack"));
    assert!(damaged(&pack, &flipped(&pack_bytes, 6)).contains("version"));
    assert!(damaged(&pack, &flipped(&pack_bytes, 11)).contains("count"));
    assert!(damaged(&pack, &pack_bytes[..20]).contains("no pack"));
    assert!(damaged(&pack, b"").contains("no pack"));
    assert!(damaged(&index, &index_bytes[..1_000]).contains("index"));
    assert!(damaged(&index, &flipped(&index_bytes, 7)).contains("version"));
    assert!(open(repo.path()).read(&commit).unwrap().is_some());
    // Other objects are not spoilt, and a pack without an index is no trouble.
    let loose: ObjectId = repo.object("blob", b"loose").parse().unwrap();
    fs::write(&index, b"").unwrap();
    assert!(open(repo.path()).read(&loose).unwrap().is_some());
    fs::remove_file(&index).unwrap();
    assert_eq!(open(repo.path()).read(&commit).unwrap(), None);
}

/// A flip of any bit of a small pack or its index never panics, and what is read all
/// the same is what it was: zlib's checksum and the sizes tell.
#[test]
fn a_bit_flip_anywhere_in_pack_or_index_is_survived() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let text: String = (0..60).map(|i| format!("line {i}\n")).collect();
    repo.commit("main", &[File::new("a", &text)]);
    repo.commit("main", &[File::new("a", format!("{text}more\n"))]);
    repo.repack();
    let objects = git_objects(&repo.git());
    for path in [only_pack(&repo), only_pack(&repo).with_extension("idx")] {
        make_writable(&path);
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            // A new file: the old one may be mapped.
            fs::remove_file(&path).unwrap();
            fs::write(&path, &flipped).unwrap();
            let repository = open(repo.path());
            for id in objects.keys() {
                let _ = repository.header(id);
                let _ = repository.read(id);
                let _ = repository.packed(id);
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn an_object_over_the_cap_is_a_limit_in_every_form() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    repo.commit("main", &[File::new("a", vec![b'x'; 100_000])]);
    let blob: ObjectId = repo.git().run(["rev-parse", "main:a"]).parse().unwrap();
    let limits = Limits { max_object_bytes: 99_999, ..Limits::default() };
    let loose = repo.object("blob", &vec![b'y'; 100_000]).parse().unwrap();
    for id in [blob, loose] {
        let repository = Repository::open(repo.path(), &limits, &Budget::new(1 << 20)).unwrap();
        assert_eq!(repository.header(&id).unwrap().unwrap().size, 100_000);
        let error = repository.read(&id).unwrap_err();
        assert!(matches!(error, StoreError::Limit(_)), "{error}");
    }
}

#[test]
fn originals_are_read_whatever_git_replace_says() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("a", &[]);
    let (old, new) = (repo.object("blob", b"original"), repo.object("blob", b"replacement"));
    repo.git().run(["replace", &old, &new]);
    let object = open(repo.path()).read(&old.parse().unwrap()).unwrap().unwrap();
    assert_eq!(&object.bytes[..], b"original");
}

/// A bare repository with loose objects, several packs, deltas, an alternate, packed and
/// loose refs, tags of tags, and a linked work tree with a detached HEAD.
fn mixed_repository(sandbox: &Sandbox, format: &str) -> (Repo, PathBuf) {
    let option = format!("--object-format={format}");
    let versions = |branch: &str, repo: &Repo, from: u32, to: u32| {
        for version in from..to {
            let lines: String = (0..400)
                .map(|i| {
                    format!("{branch} {i} {}\n", if i % 23 == version % 23 { version } else { 0 })
                })
                .collect();
            let files = [
                File::new("text.txt", lines),
                File::new(format!("dir/{version}.txt"), format!("{branch}{version}\n")),
                File::new("empty", ""),
                File::symlink("link", "text.txt"),
            ];
            repo.commit(branch, &files);
        }
    };
    let lender = sandbox.strict_bare(&format!("lender-{format}"), &[&option]);
    versions("borrowed", &lender, 0, 12);
    lender.repack();
    let repo = sandbox.strict_bare(&format!("mixed-{format}"), &[&option]);
    fs::write(
        repo.path().join("objects/info/alternates"),
        format!("# comment\n../../lender-{format}/objects\n/absent/objects\n"),
    )
    .unwrap();
    let borrowed = lender.git().run(["rev-parse", "borrowed"]);
    repo.git().run(["update-ref", "refs/heads/borrowed", &borrowed]);
    versions("main", &repo, 0, 20);
    repo.git().run(["-c", "pack.indexVersion=1", "repack", "-adlfq"]);
    versions("main", &repo, 20, 40);
    repo.git().run(["repack", "-dlq"]);
    repo.git().run(["symbolic-ref", "HEAD", "refs/heads/main"]);
    repo.git().run(["tag", "light", "main"]);
    repo.git().run(["tag", "-m", "one", "t1", "main"]);
    repo.git().run(["pack-refs", "--all"]);
    repo.git().run(["tag", "-m", "two", "t2", "t1"]);
    repo.git().run(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"]);
    repo.git().run(["update-ref", "refs/heads/\u{e9}/x-", "main~3"]);
    versions("side", &repo, 0, 3);
    for i in 0..20 {
        repo.object("blob", format!("loose {i}").as_bytes());
    }
    repo.object("blob", &vec![0; 300_000]);
    let worktree = sandbox.path().join(format!("worktree-{format}"));
    let add = ["worktree", "add", "-q", "--detach", worktree.to_str().unwrap(), "main~5"];
    repo.git().run(add);
    Git::new(&worktree, sandbox.path().join("home")).run([
        "update-ref",
        "refs/worktree/own",
        "HEAD~1",
    ]);
    (repo, worktree)
}

/// Everything git can read, by id.
fn git_objects(git: &Git) -> BTreeMap<ObjectId, (Kind, Vec<u8>)> {
    let objects = git.all_objects().into_iter();
    let typed = |(id, (kind, content)): (String, (String, Vec<u8>))| {
        (id.parse().unwrap(), (Kind::from_name(kind.as_bytes()).unwrap(), content))
    };
    objects.map(typed).collect()
}

/// git's refs as lines: name, id, what a tag peels to, what a symbolic ref names.
fn git_refs(git: &Git) -> Vec<String> {
    let head = git.output(["symbolic-ref", "-q", "HEAD"]);
    let symref = String::from_utf8(head.stdout).unwrap();
    let id = git.run(["rev-parse", "HEAD"]);
    let mut lines = vec![format!("HEAD {id}  {}", symref.trim())];
    let format = "--format=%(refname) %(objectname) %(*objectname) %(symref)";
    lines.extend(git.run(["for-each-ref", format]).lines().map(str::to_owned));
    // for-each-ref peels one step; show-ref peels to the end.
    // It gives up at a broken ref; the tests with those have no tags.
    let shown = git.output(["show-ref", "--dereference"]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    for (id, name) in shown.lines().filter_map(|line| line.split_once(' ')) {
        if let Some(name) = name.strip_suffix("^{}") {
            let line = lines.iter_mut().find(|line| line.starts_with(&format!("{name} ")));
            let line = line.unwrap();
            let words: Vec<&str> = line.split(' ').collect();
            *line = format!("{} {} {id} {}", words[0], words[1], words[3]);
        }
    }
    lines
}

fn shown(refs: &[Ref]) -> Vec<String> {
    let text = |id: Option<ObjectId>| id.map_or(String::new(), |id| id.to_string());
    let line = |one: &Ref| {
        let symref = one.symref_target.as_ref().map_or(String::new(), ToString::to_string);
        format!("{} {} {} {symref}", one.name, text(one.target), text(one.peeled))
    };
    refs.iter().map(line).collect()
}

fn open(path: &Path) -> Repository {
    let limits = Limits::default();
    Repository::open(path, &limits, &Budget::new(limits.max_memory)).unwrap()
}

fn refused(path: &Path) -> StoreError {
    Repository::open(path, &Limits::default(), &Budget::new(1 << 20)).unwrap_err()
}

fn only_pack(repo: &Repo) -> PathBuf {
    let folder = fs::read_dir(repo.path().join("objects/pack")).unwrap();
    let mut packs = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pack"));
    let pack = packs.next().unwrap();
    assert_eq!(packs.next(), None);
    pack
}

fn make_writable(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false, reason = "a file of a test's own folder")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).unwrap();
}
