//! What a name stands for: HEAD, branches, tags, full refs, ids and their beginnings.

use std::collections::HashMap;

use gitsip::agent::Source;
use gitsip::object::{Kind, hash_object};
use gitsip::store::Objects;
use gitsip::{Error, ErrorKind, ObjectFormat};

use super::client::*;
use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::HttpServer;

fn one_commit(sandbox: &Sandbox) -> (Repo, String) {
    let repo = sandbox.bare("r.git");
    let id = repo.commit("main", &[File::new("a", "a\n")]);
    (repo, id)
}

async fn refused(repo: &RemoteRepo, name: &str) -> Error {
    let error = repo.snapshot(name).await.unwrap_err();
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[test]
fn head_branches_tags_refs_and_ids_are_pinned_in_one_request_without_an_object() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    let git = origin.git();
    git.run(["tag", "light", "main"]);
    git.run(["tag", "-a", "-m", "x", "annotated", "main"]);
    git.run(["tag", "-a", "-m", "x", "of-tag", "annotated"]);
    let second = origin.commit("main", &[File::new("a", "b\n")]);
    let tag_id = git.run(["rev-parse", "of-tag"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        for (name, ref_name, id) in [
            ("HEAD", Some("HEAD"), &second),
            ("main", Some("refs/heads/main"), &second),
            ("heads/main", Some("refs/heads/main"), &second),
            ("refs/heads/main", Some("refs/heads/main"), &second),
            ("light", Some("refs/tags/light"), &first),
            ("annotated", Some("refs/tags/annotated"), &first),
            ("of-tag", Some("refs/tags/of-tag"), &first),
            ("tags/of-tag", Some("refs/tags/of-tag"), &first),
        ] {
            server.forget_requests();
            let snapshot = repo.snapshot(name).await.unwrap();
            assert_eq!(snapshot.commit().to_string(), *id, "{name}");
            assert_eq!(snapshot.ref_name(), ref_name.map(Into::into));
            assert_eq!(snapshot.warning(), None);
            assert_eq!(server.requests().len(), 1);
        }
        server.forget_requests();
        // An id that no ref points to costs nothing, and neither does that of a tag.
        let snapshot = repo.snapshot(&first).await.unwrap();
        assert_eq!((snapshot.ref_name(), server.requests().len()), (None, 0));
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        let snapshot = repo.snapshot(&tag_id).await.unwrap();
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        assert_eq!(snapshot.commit().to_string(), first);
    });
}

#[test]
fn an_id_that_was_never_advertised_is_read_like_any_other() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    origin.git().run(["config", "--unset", "uploadpack.allowAnySHA1InWant"]);
    origin.commit("main", &[File::new("a", "b\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let snapshot = open_here(&server, "r.git").await.snapshot(&first).await.unwrap();
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
    });
}

#[test]
fn an_abbreviated_id_is_looked_for_among_tips_and_what_is_held() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    let second = origin.commit("main", &[File::new("a", "b\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        for length in [7, 12, 39] {
            let snapshot = repo.snapshot(&second[..length]).await.unwrap();
            assert_eq!(snapshot.commit().to_string(), second);
        }
        let upper = second[..9].to_uppercase();
        assert_eq!(repo.snapshot(&upper).await.unwrap().commit().to_string(), second);
        // No tip and not held: the error says where it was looked for.
        let error = refused(&repo, &first[..12]).await;
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("tips and the objects held"), "{error}");
        assert!(error.to_string().contains("full id"), "{error}");
        read(&repo.snapshot(&first).await.unwrap(), "a").await.unwrap();
        assert_eq!(repo.snapshot(&first[..12]).await.unwrap().commit().to_string(), first);
        // Three digits are no abbreviation.
        assert!(refused(&repo, &second[..3]).await.to_string().contains("no ref"));
    });
}

#[test]
fn an_abbreviation_of_two_commits_is_refused_with_both_and_one_of_a_blob_does_not_count() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let history: String = (0..1500)
        .map(|n| {
            let time = 1_700_000_000 + n;
            format!("commit refs/heads/many\ncommitter A <a@b> {time} +0000\ndata 1\nx\n")
        })
        .collect();
    origin.fast_import(history.as_bytes());
    let mut by_start = HashMap::new();
    let ids = origin.git().run(["rev-list", "many"]);
    let (one, other) = ids
        .lines()
        .find_map(|id| by_start.insert(id[..4].to_owned(), id).map(|other| (id, other)))
        .unwrap();
    origin.git().run(["tag", "one", one]);
    origin.git().run(["tag", "other", other]);
    let tip = origin.commit("main", &[File::new("a", "a\n")]);
    // A blob whose id begins like the tip's.
    let content = (0..2_000_000)
        .map(|n| format!("{n}\n"))
        .find(|text| {
            let id = hash_object(ObjectFormat::Sha1, Kind::Blob, text.as_bytes()).unwrap();
            id.to_string().starts_with(&tip[..4])
        })
        .unwrap();
    origin.commit("blobs", &[File::new("twin", &content)]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        let error = refused(&repo, &one[..4]).await;
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "ambiguous"));
        assert!(error.to_string().contains(one) && error.to_string().contains(other), "{error}");
        read(&repo.snapshot("blobs").await.unwrap(), "twin").await.unwrap();
        assert_eq!(repo.snapshot(&tip[..4]).await.unwrap().commit().to_string(), tip);
    });
}

#[test]
fn a_name_that_is_both_a_branch_and_a_tag_is_the_tag_with_a_warning() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    origin.git().run(["tag", "both", "main"]);
    let second = origin.commit("both", &[File::new("a", "b\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        let snapshot = repo.snapshot("both").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), first);
        let warning = snapshot.warning().unwrap();
        assert!(warning.contains("refs/tags/both and refs/heads/both"), "{warning}");
        assert!(warning.ends_with("reading refs/tags/both"), "{warning}");
        let branch = repo.snapshot("heads/both").await.unwrap();
        assert_eq!((branch.commit().to_string(), branch.warning()), (second, None));
    });
}

#[test]
fn every_name_that_git_accepts_is_found() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    let second = origin.commit("side", &[File::new("a", "b\n")]);
    let names: Vec<&[u8]> = vec![
        b"x-",
        b"-x",
        b"y-/z-",
        b"feature/a.b",
        b"@",
        b"a@b",
        b"{",
        b"a{b}",
        b"a'b\"c",
        b"a&b;c|d",
        b"a%20b",
        b"a#b",
        b"!$()",
        b"a,b=c+d",
        b"<a>",
        b"HEAD",
        b"refs",
        b"r",
        b"heads/main",
        b"0123abcd",
        b"caf\xe9",
        "日本語".as_bytes(),
        "a\u{202e}b".as_bytes(),
        b"\xff\xfe",
    ];
    for (number, name) in names.iter().enumerate() {
        let full = [b"refs/heads/", *name].concat();
        let target = if number % 2 == 0 { &first } else { &second };
        let command = [b"create ".as_slice(), &full, b"\0", target.as_bytes(), b"\0"].concat();
        origin.git().bytes_with_input(["update-ref", "-z", "--stdin"], &command);
    }
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        for (number, name) in names.iter().enumerate() {
            let expected = if number % 2 == 0 { &first } else { &second };
            let full = [b"refs/heads/", *name].concat();
            let by_full = repo.snapshot(&full).await.unwrap();
            assert_eq!(by_full.commit().to_string(), *expected);
            // As in git, HEAD and heads/main are found by an earlier rule.
            if !matches!(*name, b"HEAD" | b"heads/main") {
                let by_name = repo.snapshot(name).await.unwrap();
                assert_eq!(by_name.commit().to_string(), *expected);
                assert_eq!(by_name.ref_name().unwrap(), full);
            }
        }
    });
}

#[test]
fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let sandbox = Sandbox::new();
    let (origin, _) = one_commit(&sandbox);
    origin.git().run(["branch", "develop", "main"]);
    origin.git().run(["tag", "v1.2.3", "main"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        for (name, near) in [("mian", "'main'"), ("develp", "'develop'"), ("v1.2.4", "'v1.2.3'")] {
            let error = refused(&repo, name).await;
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.to_string().ends_with(&format!("did you mean {near}?")), "{error}");
        }
        let error = refused(&repo, "nothing like\x1b[31m it\nat all").await.to_string();
        assert!(!error.contains("did you mean") && !error.contains('\x1b'), "{error}");
        assert_eq!(refused(&repo, "").await.kind(), ErrorKind::NotFound);
        assert_eq!(refused(&repo, &"long/".repeat(20_000)).await.kind(), ErrorKind::Usage);
    });
}

#[test]
fn an_unborn_head_names_its_branch_and_an_empty_repository_says_that_it_is() {
    let sandbox = Sandbox::new();
    let origin = sandbox.strict_bare("weird.git", &["-b", "weird"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "weird.git").await;
        let refs = repo.refs(&[]).await.unwrap();
        assert!(refs.iter().all(|r| r.name == "HEAD" && r.target.is_none()), "{refs:?}");
        let error = refused(&repo, "HEAD").await;
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "unborn"));
        assert!(error.to_string().contains("refs/heads/weird"), "{error}");
        let error = refused(&repo, "main").await;
        assert_eq!(error.kind(), ErrorKind::NotFound);

        // A host that does not tell.
        origin.git().run(["config", "lsrefs.unborn", "ignore"]);
        let repo = open_here(&server, "weird.git").await;
        assert_eq!(repo.refs(&[]).await.unwrap(), []);
        assert!(refused(&repo, "HEAD").await.to_string().contains("no refs yet"));
        assert!(refused(&repo, "abcdef").await.to_string().contains("no refs yet"));
    });
}

#[test]
fn a_head_that_points_to_a_missing_branch_says_which_and_other_refs_are_read() {
    let sandbox = Sandbox::new();
    let (origin, _) = one_commit(&sandbox);
    origin.git().run(["symbolic-ref", "HEAD", "refs/heads/gone"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        let error = refused(&repo, "HEAD").await;
        assert_eq!(error.code(), "unborn");
        assert!(error.to_string().contains("refs/heads/gone"), "{error}");
        assert!(error.to_string().contains("another ref"), "{error}");
        assert_eq!(read(&repo.snapshot("main").await.unwrap(), "a").await.unwrap(), "a\n");
    });
}

#[test]
fn a_detached_head_is_read_and_has_no_branch() {
    let sandbox = Sandbox::new();
    let (origin, first) = one_commit(&sandbox);
    origin.commit("main", &[File::new("a", "b\n")]);
    origin.git().run(["update-ref", "--no-deref", "HEAD", &first]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        assert_eq!(snapshot.commit().to_string(), first);
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        let head = repo.refs(&["HEAD".into()]).await.unwrap();
        assert_eq!(head[0].symref_target, None);
    });
}

#[test]
fn a_tag_of_a_tree_is_read_and_one_of_a_blob_says_that_it_is_no_commit() {
    let sandbox = Sandbox::new();
    let (origin, _) = one_commit(&sandbox);
    let git = origin.git();
    git.run(["tag", "-a", "-m", "x", "tree", "main^{tree}"]);
    git.run(["tag", "light-tree", "main^{tree}"]);
    git.run(["tag", "-a", "-m", "x", "blob", "main:a"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for name in ["tree", "light-tree"] {
            let snapshot = open_here(&server, "r.git").await.snapshot(name).await.unwrap();
            assert_eq!(walk(&snapshot).await.unwrap(), ["a"], "{name}");
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
            let snapshot = open_here(&server, "r.git").await.snapshot(name).await.unwrap();
            snapshot.prefetch(&Default::default()).await.unwrap();
            assert_eq!(grep(&snapshot, "a").await.unwrap(), ["a:1:a"]);
        }
        let (repo, blob) = {
            let repo = open_here(&server, "r.git").await;
            let blob = repo.snapshot("blob").await.unwrap();
            (repo, blob)
        };
        let error = walk(&blob).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "wrong_kind"));
        assert!(error.to_string().contains("is a blob, not a commit"), "{error}");
        assert_eq!(repo.snapshot("main").await.unwrap().ls("").await.unwrap().entries.len(), 1);
    });
}

#[test]
fn sha256_repositories_are_read_and_refreshed_also_when_they_begin_empty() {
    let sandbox = Sandbox::new();
    let origin = sandbox.strict_bare("r.git", &["--object-format=sha256"]);
    origin.git().run(["config", "uploadpack.allowFilter", "true"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        assert_eq!(repo.source().store().format(), ObjectFormat::Sha256);
        assert_eq!(refused(&repo, "HEAD").await.code(), "unborn");
        let sha1 = "1".repeat(40);
        assert_eq!(refused(&repo, &sha1).await.kind(), ErrorKind::NotFound);

        let first = origin.commit("main", &[File::new("d/a", "a\n"), File::new("b", "b\n")]);
        let snapshot = repo.snapshot("main").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), first);
        assert_eq!(first.len(), 64);
        assert_eq!(read(&snapshot, "d/a").await.unwrap(), "a\n");
        origin.commit("main", &[File::new("d/a", "a2\n"), File::new("b", "b\n")]);
        let next = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(grep(&next, "a").await.unwrap(), ["d/a:1:a2"]);
        assert_eq!(repo.snapshot(&first[..20]).await.unwrap().commit().to_string(), first);
    });
    let sha1 = sandbox.bare("sha1.git");
    sha1.commit("main", &[File::new("a", "a\n")]);
    run(async {
        let repo = open_here(&server, "sha1.git").await;
        let error = refused(&repo, &"2".repeat(64)).await;
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains("sha1"), "{error}");
    });
}
