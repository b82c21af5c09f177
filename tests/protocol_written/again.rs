//! Answers of git's own server, taken apart and written again: the same bytes, words for
//! people included.

use std::io::Write;
use std::process::Stdio;

use gitsip::protocol::v0::{self, Features, encode_fetch};
use gitsip::protocol::{
    Advertised, Advertisement, Deepen, FetchEvent, FetchRequest, FetchResponse,
    FetchResponseWriter, Filter, LsRefsRequest, LsRefsResponse, PackCarrier, encode_ls_refs,
};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};

use super::carriages;
use crate::support::git::{File, Repo, Sandbox};

const AGENT: &str = "git/gitsip-test";

/// Runs `git upload-pack` in `version` with `input`; what it answered.
fn upload_pack(repo: &Repo, version: u8, option: &str, input: &[u8]) -> Vec<u8> {
    let mut command = repo.git().command();
    command.args(["upload-pack", option]).arg(repo.path());
    command.env("GIT_PROTOCOL", format!("version={version}"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap().stdout
    })
}

/// Some commits, a tag of a tag, and a branch that is not below HEAD.
fn project(sandbox: &Sandbox, format: ObjectFormat) -> Repo {
    let repo = sandbox.strict_bare("r.git", &[&format!("--object-format={format}")]);
    for (key, value) in [
        ("uploadpack.allowFilter", "true"),
        ("uploadpack.allowAnySHA1InWant", "true"),
        ("uploadpack.allowRefInWant", "true"),
        ("uploadpack.allowSidebandAll", "true"),
        ("transfer.advertiseSID", "true"),
        ("transfer.advertiseObjectInfo", "true"),
    ] {
        repo.git().run(["config", key, value]);
    }
    for round in 0..4 {
        let text: String = (0..4_000 * round).map(|n| format!("{}\n", n * n % 977)).collect();
        repo.commit("main", &[File::new("a", text), File::new("same", "same\n")]);
    }
    repo.commit("side", &[File::new("b", "b\n")]);
    repo.git().run(["tag", "-a", "-m", "t", "t1", "main~1"]);
    repo.git().run(["tag", "-a", "-m", "t", "t2", "t1"]);
    repo
}

fn id(repo: &Repo, name: &str) -> ObjectId {
    repo.git().run(["rev-parse", name]).parse().unwrap()
}

fn shown(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(3_000)].escape_ascii().to_string()
}

#[test]
fn advertisements_of_every_version_are_written_as_git_writes_them() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let repo = project(&sandbox, format);
        let shallow = sandbox.repos().join("shallow.git");
        let from = format!("file://{}", repo.path().display());
        let clone = [
            "-c",
            "protocol.version=0",
            "clone",
            "-q",
            "--bare",
            "--depth=2",
            "--no-single-branch",
            &from,
        ];
        sandbox.git().run([&clone[..], &[shallow.to_str().unwrap()]].concat());
        let empty = sandbox.strict_bare("empty.git", &[&format!("--object-format={format}")]);
        for version in 0..3 {
            for path in [repo.path(), &shallow, empty.path()] {
                let mut command = repo.git().command();
                command.args(["upload-pack", "--http-backend-info-refs"]).arg(path);
                command.env("GIT_PROTOCOL", format!("version={version}"));
                let bytes = command.output().unwrap().stdout;
                let mut answer = Advertisement::new(&Budget::new(10 << 20));
                answer.push(&bytes).unwrap();
                let mut again = Vec::new();
                match answer.finish().unwrap() {
                    Advertised::Capabilities(said) => said.encode(&mut again).unwrap(),
                    Advertised::Listing(said) => said.encode(&mut again).unwrap(),
                }
                assert_eq!(shown(&again), shown(&bytes), "version {version}, {path:?}");
                assert_eq!(again, bytes);
            }
        }
        let request = LsRefsRequest { symrefs: true, peel: true, ..LsRefsRequest::default() };
        let mut body = Vec::new();
        request.encode(AGENT, format, &mut body).unwrap();
        let bytes = upload_pack(&repo, 2, "--stateless-rpc", &body);
        let mut refs = LsRefsResponse::new(format, &Limits::default(), &Budget::new(1 << 20));
        refs.push(&bytes).unwrap();
        let mut again = Vec::new();
        encode_ls_refs(&refs.finish().unwrap(), &mut again).unwrap();
        assert_eq!(shown(&again), shown(&bytes));
    }
}

/// Requests of each shape, with what a client has in turn.
fn requests(repo: &Repo) -> Vec<FetchRequest> {
    let base =
        FetchRequest { wants: vec![id(repo, "main")], ofs_delta: true, ..Default::default() };
    let unknown = |byte: u8| {
        let raw = vec![byte; base.wants[0].format().raw_len()];
        ObjectId::from_raw(&raw).unwrap()
    };
    // Of two that belong together git tells a client without `multi_ack` twice, by its count
    // of those that were news.
    let old = vec![id(repo, "main~1"), id(repo, "side")];
    let mixed = vec![unknown(7), old[0], unknown(8), old[1], unknown(9)];
    let cut = Deepen::Depth(1);
    let not = Deepen::Bounded { since: None, not: vec!["refs/tags/t1".into()] };
    let mut requests = Vec::new();
    for done in [true, false] {
        let base = FetchRequest { done, ..base.clone() };
        requests.extend([
            base.clone(),
            FetchRequest { haves: old.clone(), ..base.clone() },
            FetchRequest { haves: mixed.clone(), thin_pack: true, ..base.clone() },
            FetchRequest { haves: vec![unknown(7)], no_progress: true, ..base.clone() },
            FetchRequest { deepen: cut.clone(), ..base.clone() },
            FetchRequest { deepen: not.clone(), haves: old.clone(), ..base.clone() },
            FetchRequest {
                deepen: Deepen::Depth(3),
                shallow: vec![id(repo, "main~1")],
                haves: vec![id(repo, "main~1")],
                ..base.clone()
            },
            FetchRequest { filter: Some(Filter::BlobNone), ..base },
        ]);
    }
    requests
}

/// The pack of an answer, as it came.
fn write_pack(pack: PackCarrier, events: &[FetchEvent<'_>], out: &mut Vec<u8>) {
    for event in events {
        match event {
            FetchEvent::PackData(bytes) => pack.pack_data(out, bytes),
            FetchEvent::Progress(bytes) => pack.progress(out, bytes),
            _ => {}
        }
    }
    pack.end(out);
}

/// The words of the lines that acknowledge, which events tell less exactly.
fn acknowledgments(mut answer: &[u8]) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    while let Some(digits) = answer.get(..4) {
        let length = std::str::from_utf8(digits).ok();
        // Where the pack begins without packets, there is no length.
        let length = length.and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(packet) = length.and_then(|length| answer.get(4..length.max(4))) else { break };
        if let Some(line) = packet.strip_prefix(b"ACK ") {
            let line = std::str::from_utf8(line).unwrap().trim_end();
            lines.push(line.split(' ').map(str::to_owned).collect());
        }
        answer = &answer[4 + packet.len()..];
    }
    lines
}

/// What a server of version 0 finds out, taken from git's `answer`, in our writer's words.
fn written_again(repo: &Repo, request: &FetchRequest, used: &Features, answer: &[u8]) -> Vec<u8> {
    let mut response = v0::FetchResponse::new(id(repo, "main").format(), request, used);
    let (mut input, mut events) = (answer, Vec::new());
    while let Some(event) = response.push(&mut input).unwrap() {
        events.push(event);
    }
    response.finish().unwrap();
    let mut out = Vec::new();
    let mut writer = v0::FetchResponseWriter::new(request, used);
    let ids = |wanted: fn(&FetchEvent<'_>) -> Option<ObjectId>| {
        events.iter().filter_map(wanted).collect::<Vec<_>>()
    };
    let shallow = ids(|event| match event {
        FetchEvent::Shallow(id) => Some(*id),
        _ => None,
    });
    let unshallow = ids(|event| match event {
        FetchEvent::Unshallow(id) => Some(*id),
        _ => None,
    });
    writer.shallow_info(&mut out, &shallow, &unshallow);
    let is_told_once = !used.multi_ack && !used.multi_ack_detailed;
    for words in acknowledgments(answer) {
        let id: ObjectId = words[0].parse().unwrap();
        let is_known = repo.git().output(["cat-file", "-e", &words[0]]).status.success();
        match words.get(1).map(String::as_str) {
            Some("ready") => writer.ready(&mut out, id),
            Some(_) if !is_known => writer.ready(&mut out, id),
            Some(_) => writer.common(&mut out, id),
            // The last of several is said by the writer itself.
            None if is_told_once => writer.common(&mut out, id),
            None => {}
        }
    }
    let pack = writer.end_haves(&mut out);
    assert_eq!(pack.is_some(), response.has_packfile(), "{request:?}");
    if let Some(pack) = pack {
        write_pack(pack, &events, &mut out);
    }
    out
}

#[test]
fn answers_of_version_0_are_written_as_git_writes_them_for_every_capability() {
    let format = ObjectFormat::Sha1;
    let sandbox = Sandbox::new();
    let repo = project(&sandbox, format);
    let (mut packs, mut rounds) = (0, 0);
    for request in requests(&repo) {
        for (name, features) in carriages() {
            let mut body = Vec::new();
            encode_fetch(&request, &features, AGENT, format, &mut body).unwrap();
            let mut used = features;
            if features.no_done {
                // Not among the words of our client, which never needs it.
                let word = b" ofs-delta";
                let at = body.windows(word.len()).position(|at| at == word).unwrap();
                body.splice(at..at, *b" no-done");
                let end = body.iter().position(|&byte| byte == b'\n').unwrap() + 1;
                body.splice(..4, format!("{end:04x}").into_bytes());
                let (read, words) = v0::decode_fetch(&body, format, &Limits::default()).unwrap();
                assert_eq!((&read.wants, words.no_done), (&request.wants, true));
            }
            if !request.done && !request.haves.is_empty() {
                // A client that has more to say ends what it has with a flush.
                body.extend_from_slice(b"0000");
            }
            used.multi_ack &= !used.multi_ack_detailed;
            let answer = upload_pack(&repo, 0, "--stateless-rpc", &body);
            let again = written_again(&repo, &request, &used, &answer);
            assert_eq!(shown(&again), shown(&answer), "{name}: {request:?}");
            assert!(again == answer, "{name}: {request:?}");
            packs += usize::from(answer.windows(4).any(|at| at == b"PACK"));
            rounds += usize::from(!request.done && !request.haves.is_empty());
        }
    }
    assert!(packs >= 8 * 8 && rounds > 20, "{packs} packs, {rounds} rounds");
}

#[test]
fn answers_of_version_2_are_written_as_git_writes_them() {
    let format = ObjectFormat::Sha1;
    let sandbox = Sandbox::new();
    let repo = project(&sandbox, format);
    let by_name = FetchRequest { want_refs: vec!["refs/heads/main".into()], ..Default::default() };
    let by_name = FetchRequest { done: true, ..by_name };
    for request in requests(&repo).into_iter().chain([by_name]) {
        for sideband_all in [false, true] {
            let request = FetchRequest { sideband_all, ..request.clone() };
            let mut body = Vec::new();
            request.encode(AGENT, format, &mut body).unwrap();
            let answer = upload_pack(&repo, 2, "--stateless-rpc", &body);
            let mut response = FetchResponse::new(format);
            let mut writer = FetchResponseWriter::new();
            if sideband_all {
                response = response.with_sideband_all();
                writer = writer.with_sideband_all();
            }
            let (mut input, mut events) = (answer.as_slice(), Vec::new());
            while let Some(event) = response.push(&mut input).unwrap() {
                events.push(event);
            }
            response.finish().unwrap();

            let (mut common, mut shallow, mut unshallow) = (Vec::new(), Vec::new(), Vec::new());
            let (mut named, mut talks, mut is_ready) = (Vec::new(), false, false);
            for event in &events {
                match event {
                    FetchEvent::Acknowledged(id) => common.push(*id),
                    FetchEvent::Shallow(id) => shallow.push(*id),
                    FetchEvent::Unshallow(id) => unshallow.push(*id),
                    FetchEvent::WantedRef { id, name } => named.push((*id, name)),
                    FetchEvent::Ready => is_ready = true,
                    _ => {}
                }
                talks |= matches!(event, FetchEvent::Acknowledged(_) | FetchEvent::Nak);
            }
            let mut out = Vec::new();
            if talks {
                writer.acknowledgments(&mut out, &common, is_ready);
            }
            if response.has_packfile() && request.deepen != Deepen::None {
                writer.shallow_info(&mut out, &shallow, &unshallow);
            }
            if !named.is_empty() {
                let refs = named.iter().map(|(id, name)| (*id, name.as_slice()));
                writer.wanted_refs(&mut out, refs).unwrap();
            }
            match response.has_packfile() {
                true => write_pack(writer.packfile(&mut out), &events, &mut out),
                false => writer.end(&mut out),
            }
            assert_eq!(shown(&out), shown(&answer), "{request:?}");
            assert!(out == answer, "{request:?}");
        }
    }
}
