//! Does the real `git upload-pack` understand our requests, and do we understand its
//! answers and the requests of the real client?

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::process::Stdio;

use gitsip::protocol::{
    Advertised, Advertisement, Deepen, FetchEvent, FetchRequest, FetchResponse, Filter,
    LsRefsRequest, LsRefsResponse, ProtocolError, Request, RequestDecoder,
};
use gitsip::store::Ref;
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use support::git::{File, Repo, Sandbox, ids_in_pack};

const AGENT: &str = "git/gitsip-test";

/// Runs `git upload-pack` in `version` with `input`; what it answered.
fn upload_pack(repo: &Repo, version: &str, option: &str, input: &[u8]) -> Vec<u8> {
    let mut command = repo.git().command();
    command.args(["upload-pack", option]).arg(repo.path()).env("GIT_PROTOCOL", version);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap().stdout
    })
}

fn advertised(repo: &Repo, version: &str) -> Result<Advertised, ProtocolError> {
    let answer = upload_pack(repo, version, "--http-backend-info-refs", b"");
    let mut advertisement = Advertisement::new(&Budget::new(1 << 20));
    for piece in answer.chunks(3) {
        advertisement.push(piece)?;
    }
    advertisement.finish()
}

fn refs(repo: &Repo, format: ObjectFormat, request: &LsRefsRequest) -> Vec<Ref> {
    let mut body = Vec::new();
    request.encode(AGENT, format, &mut body).unwrap();
    let answer = upload_pack(repo, "version=2", "--stateless-rpc", &body);
    let mut refs = LsRefsResponse::new(format, &Limits::default(), &Budget::new(1 << 20));
    for piece in answer.chunks(5) {
        refs.push(piece).unwrap();
    }
    refs.finish().unwrap()
}

/// Everything an answer held.
#[derive(Debug, Default)]
struct Fetched {
    pack: Vec<u8>,
    events: Vec<String>,
}

fn fetch(
    repo: &Repo,
    format: ObjectFormat,
    request: &FetchRequest,
) -> Result<Fetched, ProtocolError> {
    let mut body = Vec::new();
    request.encode(AGENT, format, &mut body)?;
    let answer = upload_pack(repo, "version=2", "--stateless-rpc", &body);
    let mut response = FetchResponse::new(format);
    if request.sideband_all {
        response = response.with_sideband_all();
    }
    let mut fetched = Fetched::default();
    for mut piece in answer.chunks(7) {
        while let Some(event) = response.push(&mut piece)? {
            match event {
                FetchEvent::PackData(bytes) => fetched.pack.extend_from_slice(bytes),
                FetchEvent::Progress(_) => {}
                event => fetched.events.push(format!("{event:?}")),
            }
        }
    }
    response.finish()?;
    assert_eq!(response.has_packfile(), !fetched.pack.is_empty());
    Ok(fetched)
}

fn id(hex: &str) -> ObjectId {
    hex.parse().unwrap()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

/// A repository of two commits on `main`, each with its own file beside a common one.
fn two_commits(sandbox: &Sandbox, format: ObjectFormat) -> (Repo, String, String) {
    let option = format!("--object-format={format}");
    let repo = sandbox.strict_bare("two.git", &[&option]);
    repo.git().run(["config", "uploadpack.allowFilter", "true"]);
    repo.git().run(["config", "uploadpack.allowRefInWant", "true"]);
    repo.git().run(["config", "uploadpack.allowSidebandAll", "true"]);
    let common = File::new("common", "common\n");
    let old = repo.commit("main", &[common.clone(), File::new("old", "old\n")]);
    let new = repo.commit("main", &[common, File::new("new", "new\n")]);
    (repo, old, new)
}

#[test]
fn what_git_can_do_is_read_in_every_version() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let (repo, ..) = two_commits(&sandbox, format);
        let Advertised::Capabilities(capabilities) = advertised(&repo, "version=2").unwrap() else {
            panic!();
        };
        assert_eq!(capabilities.object_format, format);
        assert!(capabilities.agent.unwrap().starts_with(b"git/"));
        assert!(capabilities.ls_refs.unwrap().unborn);
        let fetch = capabilities.fetch.unwrap();
        assert!(fetch.filter && fetch.shallow && fetch.wait_for_done && fetch.ref_in_want);
        assert!(fetch.sideband_all && !fetch.packfile_uris);
        assert!(capabilities.server_option);
        for version in [0, 1] {
            match advertised(&repo, &format!("version={version}")).unwrap() {
                Advertised::Listing(listing) => assert_eq!(listing.version, version),
                Advertised::Capabilities(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn refs_are_the_ones_git_has() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let (repo, old, new) = two_commits(&sandbox, format);
        repo.git().run(["tag", "-a", "-m", "t", "t1", &old]);
        repo.git().run(["tag", "-a", "-m", "t", "t2", "t1"]);
        let tag = repo.git().run(["rev-parse", "t2"]);
        let all = LsRefsRequest { symrefs: true, peel: true, ..Default::default() };
        let found = refs(&repo, format, &all);
        let names: Vec<_> = found.iter().map(|item| item.name.to_string()).collect();
        assert_eq!(names, ["HEAD", "refs/heads/main", "refs/tags/t1", "refs/tags/t2"]);
        let plain = |name: &str, hex| Ref {
            name: name.into(),
            target: Some(id(hex)),
            peeled: None,
            symref_target: None,
        };
        assert_eq!(
            found[0],
            Ref { symref_target: Some("refs/heads/main".into()), ..plain("HEAD", &new) }
        );
        assert_eq!(found[3], Ref { peeled: Some(id(&old)), ..plain("refs/tags/t2", &tag) });

        let heads = LsRefsRequest { prefixes: vec!["refs/heads/".into()], ..Default::default() };
        assert_eq!(refs(&repo, format, &heads), [plain("refs/heads/main", &new)]);
        repo.git().run(["update-ref", "--no-deref", "HEAD", &old]);
        let detached = refs(&repo, format, &LsRefsRequest { prefixes: vec!["HEAD".into()], ..all });
        assert_eq!(detached, [plain("HEAD", &old)]);
    }
}

#[test]
fn the_branch_of_an_empty_repository_is_told() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("weird.git", &["-b", "weird"]);
    let request = LsRefsRequest { symrefs: true, unborn: true, ..Default::default() };
    assert_eq!(
        refs(&repo, ObjectFormat::Sha1, &request),
        [Ref {
            name: "HEAD".into(),
            target: None,
            peeled: None,
            symref_target: Some("refs/heads/weird".into()),
        }]
    );
}

#[test]
fn git_sends_what_a_request_asks_for() {
    for (format, sideband_all) in
        [(ObjectFormat::Sha1, false), (ObjectFormat::Sha256, false), (ObjectFormat::Sha1, true)]
    {
        let sandbox = Sandbox::new();
        let (repo, old, new) = two_commits(&sandbox, format);
        let objects = |range: &[&str]| {
            let listing = repo.git().run([&["rev-list", "--objects"], range].concat());
            sorted(listing.lines().map(|line| line.split(' ').next().unwrap().into()).collect())
        };
        let base = FetchRequest {
            wants: vec![id(&new)],
            done: true,
            no_progress: true,
            ofs_delta: true,
            sideband_all,
            ..Default::default()
        };

        if format == ObjectFormat::Sha1 {
            let everything = fetch(&repo, format, &base).unwrap();
            assert_eq!(sorted(ids_in_pack(&everything.pack)), objects(&[&new]));
            let shallow = FetchRequest { deepen: Deepen::Depth(1), ..base.clone() };
            let shallow = fetch(&repo, format, &shallow).unwrap();
            assert_eq!(shallow.events, [format!("{:?}", FetchEvent::Shallow(id(&new)))]);
            assert_eq!(ids_in_pack(&shallow.pack).len(), 4);
            let deepen = Deepen::Bounded { since: None, not: vec!["refs/heads/old".into()] };
            repo.git().run(["update-ref", "refs/heads/old", &old]);
            let excluded = FetchRequest { deepen, ..base.clone() };
            assert_eq!(ids_in_pack(&fetch(&repo, format, &excluded).unwrap().pack).len(), 4);
        }

        let filter = Some(Filter::Combine(vec![Filter::BlobNone, Filter::TreeDepth(1)]));
        let lean = FetchRequest { filter, ..base.clone() };
        let lean = fetch(&repo, format, &lean).unwrap();
        // The number of objects stands at bytes 8 to 11: two commits and their trees.
        assert_eq!(lean.pack[8..12], [0, 0, 0, 4]);

        let want_refs = vec!["refs/heads/main".into()];
        let by_name = FetchRequest { wants: vec![], want_refs, ..base.clone() };
        let wanted = FetchEvent::WantedRef { id: id(&new), name: "refs/heads/main".into() };
        assert_eq!(fetch(&repo, format, &by_name).unwrap().events, [format!("{wanted:?}")]);

        let talk = FetchRequest {
            haves: vec![id(&old)],
            done: false,
            wait_for_done: true,
            ..base.clone()
        };
        let said = fetch(&repo, format, &talk).unwrap().events;
        assert_eq!(said[0], format!("{:?}", FetchEvent::Acknowledged(id(&old))));
        let update = FetchRequest { haves: vec![id(&old)], ..base.clone() };
        let update = fetch(&repo, format, &update).unwrap();
        assert_eq!(update.pack[8..12], [0, 0, 0, 3], "a commit, a tree and a blob are new");

        let absent = FetchRequest {
            wants: vec![ObjectId::from_raw(&vec![7; format.raw_len()]).unwrap()],
            ..base
        };
        let error = fetch(&repo, format, &absent).unwrap_err();
        assert!(
            error.remote_text().is_some_and(|text| text.starts_with(b"upload-pack: not our ref"))
        );
        assert_eq!(gitsip::Error::from(error).kind(), gitsip::ErrorKind::NotFound);
    }
}

#[test]
fn a_filter_that_git_refuses_is_known_as_that() {
    let sandbox = Sandbox::new();
    let (repo, _, new) = two_commits(&sandbox, ObjectFormat::Sha1);
    repo.git().run(["config", "uploadpackfilter.allow", "false"]);
    let filter = Some(Filter::BlobNone);
    let request = FetchRequest { wants: vec![id(&new)], filter, done: true, ..Default::default() };
    let error = fetch(&repo, ObjectFormat::Sha1, &request).unwrap_err();
    assert!(error.is_filter_refusal(), "{error}");
}

#[test]
fn requests_of_the_real_client_are_read() {
    let sandbox = Sandbox::new();
    let (repo, _, new) = two_commits(&sandbox, ObjectFormat::Sha1);
    // git's server sends wanted-refs before shallow-info; its client insists on the
    // opposite and would fail.
    repo.git().run(["config", "uploadpack.allowRefInWant", "false"]);
    let log = sandbox.path().join("requests");
    let script = format!("tee -a '{}' | git upload-pack \"$@\"", log.display());
    let hook = sandbox.path().join("upload-pack");
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mut command = sandbox.git().command();
    let hook = format!("sh {}", hook.display());
    let output = command
        .args(["-c", "protocol.version=2", "clone", "--bare", "-q", "--depth=1"])
        .args(["--filter=blob:limit=1k", "-u", &hook])
        .arg(format!("file://{}", repo.path().display()))
        .arg(sandbox.path().join("clone.git"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let sent = std::fs::read(&log).unwrap();
    let mut decoder =
        RequestDecoder::new(ObjectFormat::Sha1, &Limits::default(), &Budget::new(1 << 20));
    let mut input = sent.as_slice();
    let mut requests = Vec::new();
    while let Some(request) = decoder.push(&mut input).unwrap() {
        requests.push(request);
    }
    decoder.finish().unwrap();
    let [Request::LsRefs(refs), Request::Fetch(fetch)] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(refs.symrefs && refs.peel && refs.unborn);
    assert!(refs.prefixes.contains(&"HEAD".into()));
    assert_eq!(fetch.wants, [id(&new)], "git sends it twice");
    assert_eq!((&fetch.deepen, fetch.done), (&Deepen::Depth(1), true));
    assert_eq!(fetch.filter, Some(Filter::BlobLimit(1024)));
    assert!(fetch.thin_pack && fetch.ofs_delta && fetch.include_tag && fetch.sideband_all);
}
