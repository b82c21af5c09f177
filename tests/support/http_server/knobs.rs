//! One way to misbehave each, to be combined: every knob takes a behaviour and gives it
//! back with one more fault. Those that change git's packets know just as much of them as
//! the fault takes.

use std::sync::atomic::{AtomicU32, Ordering};

use super::packets::{FLUSH, Packet, join, split};
use super::{Behaviour, CannedResponse, Hook, Recorded, Rewrite};

/// Where an advertisement is instead.
#[derive(Clone, Debug)]
pub enum Redirect {
    /// At the same place with `.git` behind the repository's name, as an absolute address.
    AddDotGit,
    /// At this base instead of the server's own, which is another host or port.
    Elsewhere(String),
    /// Where it was asked for.
    Loop,
    /// In the folder above, told as a relative reference.
    Relative,
}

impl Behaviour {
    /// Speaks at most this version of the protocol.
    #[must_use]
    pub fn speaking(self, version: u8) -> Self {
        match version {
            0 => Self { version_0_only: true, ..self },
            1 => Self { git_protocol: Some("version=1"), ..self },
            _ => self,
        }
    }

    /// Neither offers filters nor takes them.
    #[must_use]
    pub fn without_filter(self) -> Self {
        self.configured("uploadpack.allowFilter", "false")
    }

    /// Offers filters and sends everything all the same.
    #[must_use]
    pub fn ignoring_filters(self) -> Self {
        self.asking(|_, body| without_lines(&body, |line| line.starts_with("filter ")))
    }

    /// Answers as if no line of a request began so.
    #[must_use]
    pub fn asking_without(self, start: &'static str) -> Self {
        self.asking(move |_, body| without_lines(&body, |line| line.starts_with(start)))
    }

    /// Offers filters and refuses each.
    #[must_use]
    pub fn refusing_filters(self) -> Self {
        self.answering_first(|request| {
            let (packets, _) = split(&request.body);
            let filter = packets.iter().find_map(|packet| packet.text().strip_prefix("filter "))?;
            Some(gives_up(&format!("filter '{filter}' not supported")))
        })
    }

    /// Does not offer to cut history.
    #[must_use]
    pub fn without_shallow(self) -> Self {
        self.without_capability("shallow")
    }

    /// Does not advertise `word`, be it a capability or a feature of one.
    #[must_use]
    pub fn without_capability(self, word: &'static str) -> Self {
        self.rewriting(move |request, body| {
            if request.method != "GET" {
                return body;
            }
            let (mut packets, _) = split(&body);
            for packet in &mut packets {
                if let Packet::Data(line) = packet {
                    *line = without_word(line, word);
                }
            }
            join(&packets)
        })
    }

    /// Finds the repository `NAME.git` also as `NAME`.
    #[must_use]
    pub fn without_dot_git(self) -> Self {
        Self { dot_git_is_optional: true, ..self }
    }

    /// Lists its refs in a file, as a server does that knows nothing of git.
    #[must_use]
    pub fn dumb(self) -> Self {
        self.answering_first(|request| {
            let refs = format!("{}\trefs/heads/main\n", "1".repeat(40));
            let canned = CannedResponse::new(200, "text/plain", refs);
            request.path.ends_with("/info/refs").then_some(canned)
        })
    }

    /// Answers every request with a web page, and says that all is well.
    #[must_use]
    pub fn html(self) -> Self {
        self.answering_first(|_| {
            Some(CannedResponse::new(200, "text/html; charset=utf-8", "<!DOCTYPE html><p>Log in\n"))
        })
    }

    /// Sends those who ask for an advertisement to another place.
    #[must_use]
    pub fn redirecting(self, status: u16, redirect: Redirect) -> Self {
        self.answering_first(move |request| {
            let repo = request.path.strip_suffix("/info/refs")?;
            let place = match &redirect {
                Redirect::AddDotGit if repo.ends_with(".git") => return None,
                Redirect::AddDotGit => format!("{repo}.git/info/refs"),
                Redirect::Elsewhere(base) => format!("{base}{repo}/info/refs"),
                Redirect::Loop => request.path.clone(),
                Redirect::Relative => {
                    let name = repo.rsplit('/').next()?;
                    // Out of `info`, the repository and the folder.
                    if repo.matches('/').count() < 2 {
                        return None;
                    }
                    format!("../../../{name}/info/refs")
                }
            };
            Some(CannedResponse::redirect(status, &format!("{place}?{}", request.query)))
        })
    }

    /// Answers every request with this status.
    #[must_use]
    pub fn failing(self, status: u16, words: &'static str) -> Self {
        self.answering_first(move |_| Some(CannedResponse::new(status, "text/plain", words)))
    }

    /// Asks for patience so many times, then is fine. `retry_after` is a number of
    /// seconds or a date.
    #[must_use]
    pub fn busy(self, status: u16, retry_after: &'static str, times: u32) -> Self {
        let asked = AtomicU32::new(0);
        self.answering_first(move |_| {
            let busy = asked.fetch_add(1, Ordering::Relaxed) < times;
            busy.then(|| {
                let canned = CannedResponse::new(status, "text/plain", "busy\n");
                canned.with("Retry-After", retry_after)
            })
        })
    }

    /// Answers commands with `ERR` and these words, in a response of status 200.
    #[must_use]
    pub fn giving_up(self, words: &'static str) -> Self {
        self.answering_first(move |request| (request.method == "POST").then(|| gives_up(words)))
    }

    /// Says these words on the band for what is fatal after so many bytes of a pack, and
    /// nothing more.
    #[must_use]
    pub fn dying_after(self, bytes: usize, words: &'static str) -> Self {
        self.rewriting_packs(move |pack| {
            let fatal = Packet::Data([b"\x03", words.as_bytes()].concat());
            let sent = &pack[..bytes.min(pack.len())];
            let mut packets: Vec<_> = in_band_1(sent);
            packets.push(fatal);
            packets
        })
    }

    /// Ends each pack with a checksum that is not its own.
    #[must_use]
    pub fn with_wrong_trailers(self) -> Self {
        self.rewriting_packs(|pack| {
            let mut pack = pack.to_vec();
            if let Some(last) = pack.last_mut() {
                *last ^= 1;
            }
            let mut packets = in_band_1(&pack);
            packets.push(FLUSH);
            packets
        })
    }

    /// Sends these objects with whatever else is fetched.
    #[must_use]
    pub fn adding(self, ids: impl IntoIterator<Item = String>) -> Self {
        let wants: Vec<_> = ids.into_iter().map(|id| Packet::line(&format!("want {id}"))).collect();
        self.asking(move |_, body| {
            let (mut packets, rest) = split(&body);
            if let Some(at) = packets.iter().position(|p| p.text().starts_with("want ")) {
                packets.splice(at + 1..at + 1, wants.iter().cloned());
            }
            [join(&packets), rest.to_vec()].concat()
        })
    }

    /// Says nothing of these objects and does not send them when they are wanted.
    #[must_use]
    pub fn dropping(self, ids: impl IntoIterator<Item = String>) -> Self {
        let dropped: Vec<_> = ids.into_iter().collect();
        let also = dropped.clone();
        self.asking(move |_, body| without_wants(&body, &dropped)).rewriting(
            move |request, body| {
                let (packets, _) = split(&request.body);
                let mut wanted = packets.iter().filter_map(wanted);
                let is_left = |(id, _): (&str, &str)| !also.iter().any(|other| other == id);
                // git takes a fetch without wants for one that is over.
                if request.method == "GET" || wanted.clone().count() == 0 || wanted.any(is_left) {
                    return body;
                }
                let is_v2 = packets.iter().any(|packet| packet.text().starts_with("command="));
                let mut packets = vec![Packet::line(if is_v2 { "packfile" } else { "NAK" })];
                packets.extend(in_band_1(EMPTY_PACK));
                packets.push(FLUSH);
                join(&packets)
            },
        )
    }

    /// Advertises exactly these lines instead of git's, over protocol v2, with or without
    /// the line that names the service.
    #[must_use]
    pub fn advertising(self, lines: &'static [&'static str], service: bool) -> Self {
        self.rewriting(move |request, body| {
            let is_v2 = |packet: &Packet| packet.text() == "version 2";
            if request.method != "GET" || !split(&body).0.iter().any(is_v2) {
                return body;
            }
            let mut packets = Vec::new();
            if service {
                packets.extend([Packet::line("# service=git-upload-pack"), FLUSH]);
            }
            packets.extend(lines.iter().map(|line| Packet::line(line)));
            packets.push(FLUSH);
            join(&packets)
        })
    }

    /// Advertises exactly these capabilities instead of git's, over protocol v0.
    #[must_use]
    pub fn advertising_v0(self, capabilities: &'static str) -> Self {
        self.rewriting(move |request, body| {
            if request.method != "GET" {
                return body;
            }
            let (mut packets, _) = split(&body);
            for packet in &mut packets {
                if let Packet::Data(line) = packet
                    && let Some(nul) = line.iter().position(|&byte| byte == 0)
                {
                    line.truncate(nul + 1);
                    line.extend_from_slice(format!(" {capabilities}\n").as_bytes());
                }
            }
            join(&packets)
        })
    }

    /// With one line of git's configuration, stronger than the repository's.
    #[must_use]
    pub fn configured(mut self, key: &'static str, value: &'static str) -> Self {
        self.git_config.push((key, value));
        self
    }

    /// With one more thing that may be answered in git's place.
    #[must_use]
    pub fn answering_first(
        mut self,
        hook: impl Fn(&Recorded) -> Option<CannedResponse> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.push(Box::new(hook) as Hook);
        self
    }

    fn asking(
        mut self,
        rewrite: impl Fn(&Recorded, Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        self.question.push(Box::new(rewrite) as Rewrite);
        self
    }

    fn rewriting(
        mut self,
        rewrite: impl Fn(&Recorded, Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        self.answer.push(Box::new(rewrite) as Rewrite);
        self
    }

    /// With other packets in the place of those that carry a pack; `change` is given the
    /// pack and says all that follows what preceded it.
    fn rewriting_packs(
        self,
        change: impl Fn(&[u8]) -> Vec<Packet> + Send + Sync + 'static,
    ) -> Self {
        self.rewriting(move |_, body| {
            let (mut packets, _) = split(&body);
            let starts = |packet: &Packet| packet.band_1().is_some_and(|d| d.starts_with(b"PACK"));
            let Some(start) = packets.iter().position(starts) else { return body };
            let pack: Vec<u8> =
                packets[start..].iter().filter_map(Packet::band_1).flatten().copied().collect();
            packets.truncate(start);
            packets.extend(change(&pack));
            join(&packets)
        })
    }
}

/// An answer that is an error of the protocol.
fn gives_up(words: &str) -> CannedResponse {
    let body = join(&[Packet::Data(format!("ERR {words}").into_bytes())]);
    CannedResponse::new(200, "application/x-git-upload-pack-result", body)
}

/// A pack in packets of band 1.
fn in_band_1(pack: &[u8]) -> Vec<Packet> {
    pack.chunks(65_515).map(|data| Packet::Data([b"\x01", data].concat())).collect()
}

fn without_lines(body: &[u8], is_out: impl Fn(&str) -> bool) -> Vec<u8> {
    let (mut packets, rest) = split(body);
    packets.retain(|packet| !is_out(packet.text()));
    [join(&packets), rest.to_vec()].concat()
}

/// The id that a packet wants, and what version 0 says beside the first of them.
fn wanted(packet: &Packet) -> Option<(&str, &str)> {
    let text = packet.text().strip_prefix("want ")?;
    Some(text.split_at(text.find(' ').unwrap_or(text.len())))
}

/// A request without the wants of `dropped`; what is said beside the first want is said
/// beside the first that is left.
fn without_wants(body: &[u8], dropped: &[String]) -> Vec<u8> {
    let (mut packets, rest) = split(body);
    let beside = packets.iter().find_map(wanted).map(|(_, beside)| beside.to_owned());
    packets.retain(|packet| {
        wanted(packet).is_none_or(|(id, _)| !dropped.iter().any(|other| other == id))
    });
    if let Some(first) = packets.iter_mut().find(|packet| wanted(packet).is_some()) {
        let id = wanted(first).map(|(id, _)| id.to_owned()).unwrap_or_default();
        *first = Packet::line(&format!("want {id}{}", beside.unwrap_or_default()));
    }
    [join(&packets), rest.to_vec()].concat()
}

/// A line of an advertisement without `word` among what its spaces, its `=` and its NUL
/// set apart.
fn without_word(line: &[u8], word: &str) -> Vec<u8> {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| b" =\0\n".contains(byte));
    let mut kept = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let begins = line[at..].starts_with(word.as_bytes());
        let before = at.checked_sub(1).and_then(|at| line.get(at));
        if at > 0 && begins && is_edge(before) && is_edge(line.get(at + word.len())) {
            at += word.len();
            if kept.last() == Some(&b' ') && line.get(at) != Some(&b' ') {
                kept.pop();
            } else if line.get(at) == Some(&b' ') {
                at += 1;
            }
        } else {
            kept.push(line[at]);
            at += 1;
        }
    }
    kept
}

/// Version 2, no objects, and its SHA-1.
const EMPTY_PACK: &[u8] = b"PACK\0\0\0\x02\0\0\0\0\
    \x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e";
