//! A git server of some lines, over HTTP and over `git://`: our messages, and packs from
//! `git pack-objects`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use flate2::read::GzDecoder;
use gitsip::protocol::v0::{self, Features, Listing, decode_fetch};
use gitsip::protocol::{
    Capabilities, Deepen, FetchCapability, FetchRequest, FetchResponseWriter, LsRefsCapability,
    PackCarrier, Request, RequestDecoder, SERVICE_HEADER, encode_ls_refs,
};
use gitsip::store::Ref;
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};

use crate::raw_server;
use crate::support::git::Repo;
use crate::support::http_server::{Behaviour, CannedResponse, HttpServer, Recorded};

/// What is served in which words.
pub(crate) struct Served {
    pub(crate) repo: Repo,
    pub(crate) speaks: Speaks,
    /// What goes wrong.
    pub(crate) fails: Option<Fails>,
    /// All that was answered to requests.
    pub(crate) said: Mutex<Vec<u8>>,
}

/// The version, and what it is told to be able to do.
#[derive(Clone, Copy)]
pub(crate) enum Speaks {
    Old { version: u8, features: Features },
    Two(FetchCapability),
}

/// Where a server gives up.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fails {
    BeforeThePack,
    InThePack,
}

/// Why it does.
pub(crate) const WHY: &str = "the disk is on fire";
/// What is told beside a pack.
pub(crate) const PROGRESS: &[u8] = b"looking around\n";

/// Serves over HTTP until it is dropped.
pub(crate) fn serve(root: std::path::PathBuf, served: Arc<Served>) -> HttpServer {
    let hook = move |request: &Recorded| Some(served.answer(request));
    let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
    HttpServer::start_with(root, behaviour)
}

/// Serves over `git://`, where clients wait for answers in the middle of a request.
pub(crate) fn serve_git(served: Arc<Served>) -> SocketAddr {
    // A client that left early is judged by its status.
    raw_server::serve(move |stream| drop(served.converse(stream)))
}

/// One packet, length digits included.
fn read_packet(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    stream.read_exact(&mut packet)?;
    let length = usize::from_str_radix(std::str::from_utf8(&packet).unwrap(), 16).unwrap();
    packet.resize(length.max(4), 0);
    stream.read_exact(&mut packet[4..])?;
    Ok(packet)
}

/// The body as it was before it was compressed.
pub(crate) fn plain_body(request: &Recorded) -> Vec<u8> {
    if request.header("content-encoding") != Some("gzip") {
        return request.body.clone();
    }
    let mut body = Vec::new();
    GzDecoder::new(request.body.as_slice()).read_to_end(&mut body).unwrap();
    body
}

impl Served {
    fn answer(&self, request: &Recorded) -> CannedResponse {
        let service = "git-upload-pack";
        if request.method == "GET" {
            let mut body = SERVICE_HEADER.to_vec();
            self.encode_advertisement(&mut body);
            return CannedResponse::new(
                200,
                &format!("application/x-{service}-advertisement"),
                body,
            );
        }
        let body = plain_body(request);
        let answer = match self.speaks {
            Speaks::Old { .. } => {
                let (request, used) =
                    decode_fetch(&body, ObjectFormat::Sha1, &Limits::default()).unwrap();
                self.fetch_v0(&request, &used)
            }
            Speaks::Two(_) => self.command(&body),
        };
        self.said.lock().unwrap().extend_from_slice(&answer);
        CannedResponse::new(200, &format!("application/x-{service}-result"), answer)
    }

    /// One fetch in version 0 or 1 on a connection that keeps its state.
    fn converse(&self, mut stream: TcpStream) -> io::Result<()> {
        read_packet(&mut stream)?;
        let mut out = Vec::new();
        self.encode_advertisement(&mut out);
        stream.write_all(&out)?;
        let mut wants = Vec::new();
        while !wants.ends_with(b"0000") {
            wants.extend(read_packet(&mut stream)?);
        }
        let (mut request, used) =
            decode_fetch(&wants, ObjectFormat::Sha1, &Limits::default()).unwrap();
        request.done = true;
        out.clear();
        let mut answer = v0::FetchResponseWriter::new(&request, &used);
        if self.fails == Some(Fails::BeforeThePack) {
            answer.error(&mut out, WHY.as_bytes());
            return stream.write_all(&out);
        }
        let (shallow, unshallow) = Self::boundary(&request);
        answer.shallow_info(&mut out, &shallow, &unshallow);
        let mut common = Vec::new();
        loop {
            stream.write_all(&out)?;
            self.said.lock().unwrap().append(&mut out);
            let packet = read_packet(&mut stream)?;
            match packet[4..].trim_ascii_end().strip_prefix(b"have ") {
                None if packet == b"0000" => answer.end_block(&mut out),
                None => break,
                Some(hex) => {
                    request.haves = vec![ObjectId::from_hex(hex).unwrap()];
                    match self.common(&request).first() {
                        Some(id) => {
                            common.push(*id);
                            answer.common(&mut out, *id);
                        }
                        None if common.is_empty() => {}
                        None => answer.ready(&mut out, request.haves[0]),
                    }
                }
            }
        }
        if let Some(pack) = answer.end_haves(&mut out) {
            self.send_pack(&request, &common, pack, &mut out);
        }
        stream.write_all(&out)
    }

    fn encode_advertisement(&self, out: &mut Vec<u8>) {
        let agent = Some("gitsip/test".into());
        match self.speaks {
            Speaks::Old { version, features } => Listing {
                version,
                features,
                capabilities: Capabilities { agent, ..Capabilities::default() },
                refs: self.refs(),
                shallow: Vec::new(),
            }
            .encode(out)
            .unwrap(),
            Speaks::Two(fetch) => Capabilities {
                agent,
                fetch: Some(fetch),
                ls_refs: Some(LsRefsCapability::default()),
                ..Capabilities::default()
            }
            .encode(out)
            .unwrap(),
        }
    }

    /// HEAD, and all refs by name.
    fn refs(&self) -> Vec<Ref> {
        let format = "--format=%(objectname) %(refname) %(*objectname)";
        let listing = self.repo.git().run(["for-each-ref", format]);
        let mut refs = vec![Ref {
            name: "HEAD".into(),
            target: Some(self.id("HEAD")),
            peeled: None,
            symref_target: Some("refs/heads/main".into()),
        }];
        refs.extend(listing.lines().map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            Ref {
                name: words[1].into(),
                target: Some(words[0].parse().unwrap()),
                peeled: words.get(2).and_then(|hex| hex.parse().ok()),
                symref_target: None,
            }
        }));
        refs
    }

    fn id(&self, name: &str) -> ObjectId {
        self.repo.git().run(["rev-parse", name]).parse().unwrap()
    }

    fn common(&self, request: &FetchRequest) -> Vec<ObjectId> {
        let has = |id: &&ObjectId| {
            let spec = id.to_string();
            self.repo.git().output(["cat-file", "-e", &spec]).status.success()
        };
        request.haves.iter().filter(has).copied().collect()
    }

    /// Where history is cut, for clients that know a depth of one or of all.
    fn boundary(request: &FetchRequest) -> (Vec<ObjectId>, Vec<ObjectId>) {
        match request.deepen {
            Deepen::Depth(1) => (request.wants.clone(), Vec::new()),
            Deepen::Depth(_) => (Vec::new(), request.shallow.clone()),
            Deepen::None | Deepen::Bounded { .. } => Default::default(),
        }
    }

    fn fetch_v0(&self, request: &FetchRequest, used: &Features) -> Vec<u8> {
        let mut out = Vec::new();
        let mut answer = v0::FetchResponseWriter::new(request, used);
        if self.fails == Some(Fails::BeforeThePack) {
            answer.error(&mut out, WHY.as_bytes());
            return out;
        }
        let (shallow, unshallow) = Self::boundary(request);
        answer.shallow_info(&mut out, &shallow, &unshallow);
        let common = self.common(request);
        common.iter().for_each(|id| answer.common(&mut out, *id));
        if let Some(last) = common.last() {
            answer.ready(&mut out, *last);
        }
        if let Some(pack) = answer.end_haves(&mut out) {
            self.send_pack(request, &common, pack, &mut out);
        }
        out
    }

    fn command(&self, body: &[u8]) -> Vec<u8> {
        let (limits, budget) = (Limits::default(), Budget::new(10 << 20));
        let mut requests = RequestDecoder::new(ObjectFormat::Sha1, &limits, &budget);
        let mut out = Vec::new();
        match requests.push(&mut &body[..]).unwrap() {
            Some(Request::LsRefs(request)) => {
                let starts = |item: &&Ref| {
                    let prefixes = &request.prefixes;
                    prefixes.is_empty() || prefixes.iter().any(|p| item.name.starts_with(p))
                };
                encode_ls_refs(self.refs().iter().filter(starts), &mut out).unwrap();
            }
            Some(Request::Fetch(request)) => self.fetch_v2(request, &mut out),
            other => panic!("{other:?}"),
        }
        out
    }

    fn fetch_v2(&self, mut request: FetchRequest, out: &mut Vec<u8>) {
        let mut answer = FetchResponseWriter::new();
        if request.sideband_all {
            answer = answer.with_sideband_all();
        }
        if self.fails == Some(Fails::BeforeThePack) {
            return answer.error(out, WHY.as_bytes());
        }
        let named: Vec<_> =
            request.want_refs.iter().map(|name| (self.id(&name.to_string()), name)).collect();
        request.wants.extend(named.iter().map(|(id, _)| *id));
        let common = self.common(&request);
        if !request.done {
            answer.acknowledgments(out, &common, !common.is_empty());
            if common.is_empty() {
                return answer.end(out);
            }
        }
        if request.deepen != Deepen::None {
            let (shallow, unshallow) = Self::boundary(&request);
            answer.shallow_info(out, &shallow, &unshallow);
        }
        if !named.is_empty() {
            let refs = named.iter().map(|(id, name)| (*id, name.as_slice()));
            answer.wanted_refs(out, refs).unwrap();
        }
        let pack = answer.packfile(out);
        self.send_pack(&request, &common, pack, out);
    }

    fn send_pack(
        &self,
        request: &FetchRequest,
        common: &[ObjectId],
        pack: PackCarrier,
        out: &mut Vec<u8>,
    ) {
        pack.keepalive(out);
        if !request.no_progress {
            pack.progress(out, PROGRESS);
        }
        let bytes = self.pack(request, common);
        let pieces = bytes.chunks(100_000);
        for piece in pieces {
            pack.pack_data(out, piece);
            if self.fails == Some(Fails::InThePack) {
                return pack.error(out, WHY.as_bytes());
            }
        }
        pack.end(out);
    }

    fn pack(&self, request: &FetchRequest, common: &[ObjectId]) -> Vec<u8> {
        let git = self.repo.git();
        let mut args = vec!["pack-objects", "-q", "--stdout"];
        if request.ofs_delta {
            args.push("--delta-base-offset");
        }
        let mut names: Vec<_> = request.wants.iter().map(ToString::to_string).collect();
        if request.deepen == Deepen::Depth(1) {
            let list = [&["rev-list", "--objects", "--no-walk"][..], &strs(&names)].concat();
            let list = git.run(list);
            let ids = list.lines().map(|line| line.split(' ').next().unwrap().to_owned() + "\n");
            return git.bytes_with_input(args, ids.collect::<String>().as_bytes());
        }
        args.push("--revs");
        if request.thin_pack {
            args.push("--thin");
        }
        if request.include_tag {
            args.push("--include-tag");
        }
        // What a client with a cut history has is not all that its commits reach: it gets
        // what it lacks, unasked, and more than that from a server of some lines.
        names.extend(request.shallow.iter().map(|id| format!("{id}^@")));
        if request.shallow.is_empty() {
            names.extend(common.iter().map(|id| format!("^{id}")));
        }
        git.bytes_with_input(args, (names.join("\n") + "\n").as_bytes())
    }
}

fn strs(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}
