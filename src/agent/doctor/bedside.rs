//! The questions to one host, one after the other.

use crate::agent::exchange::Line;
use crate::agent::results::{AuthDiagnosis, Diagnosis};
use crate::client::conversation::{Context, Conversation, Outcome};
use crate::client::doctor::{Ask, End, Examination, Finding, Probe, Verdict, headers};
use crate::client::journal::{Purpose, RequestKind};
use crate::client::old_host::OldHost;
use crate::client::requests;
use crate::client::sample::Sampled;
use crate::client::transport::{Request, Transport};
use crate::error::Error;
use crate::limits::Reservation;
use crate::protocol::v0::Features;
use crate::protocol::{Advertised, FetchRequest, decode_object_info, encode_object_info};

use super::hearing::{Clock, Heard, Room, hear, words};
use super::{finding, offer};

/// One host under examination.
pub(super) struct Bedside<'a, T> {
    pub(super) line: Line<'a, 'a, T>,
    /// Without credentials.
    pub(super) anonymous: Line<'a, 'a, T>,
    pub(super) clock: &'a Clock<'a, T>,
    pub(super) room: &'a Room,
    /// Set when it speaks protocol v0 or v1.
    pub(super) old: Option<OldHost>,
    /// Questions in a row that it said nothing to.
    pub(super) silences: u32,
}

impl<T: Transport> Bedside<'_, T> {
    pub(super) async fn examine(
        &mut self,
        advertised: Advertised,
        held: Reservation,
        diagnosis: &mut Diagnosis,
    ) -> Result<(), Error> {
        let mut examination = Examination::new(&advertised);
        if let Advertised::Listing(listing) = &advertised {
            self.old = Some(OldHost::new(listing.clone(), held, &self.room.budget)?);
        }
        note_addresses(&advertised, &mut examination);
        if diagnosis.auth.given {
            self.ask_without_credentials(&mut diagnosis.auth).await;
        } else {
            diagnosis.auth.wanted = Some(false);
        }
        self.ask_versions(&mut examination).await;
        let cors = self.preflight().await;
        examination.note(cors);
        self.ask_refs(&mut examination).await?;
        for probe in examination.probes() {
            self.ask_probe(probe, &mut examination).await?;
        }
        examination.finish();
        self.ask_object_info(&mut examination).await?;
        diagnosis.findings = examination.findings().into_iter().map(finding).collect();
        diagnosis.meaning = examination.meaning();
        Ok(())
    }

    async fn ask_without_credentials(&mut self, auth: &mut AuthDiagnosis) {
        let line = &self.anonymous;
        let request = requests::advertisement(line.repo);
        let context = self.room.context(Purpose::of(RequestKind::Capabilities));
        let conversation = self.room.advertisement(&context);
        let heard = self.ask(Whom::Anonymous, request, conversation, &context).await;
        auth.wanted = match heard.status {
            200 => Some(false),
            401 => Some(true),
            _ => None,
        };
        auth.schemes = headers::schemes(&heard.headers);
        if auth.wanted == Some(false) {
            auth.accepted = None;
        }
    }

    /// Asks in each version of the protocol, and what a page and an old proxy would see.
    async fn ask_versions(&mut self, examination: &mut Examination) {
        let newest = examination.version();
        examination.note(version_finding("version 2", 2, Some(newest), &End::Whole));
        let repo = self.line.repo;
        let mut paged = requests::advertisement_in(repo, 1);
        paged.headers.push(("origin".into(), headers::ORIGIN.to_owned()));
        let mut plain = requests::listing_v0(repo);
        plain.headers.push(("accept-encoding".into(), "gzip".to_owned()));
        for (name, version, request) in [("version 1", 1, paged), ("version 0", 0, plain)] {
            let context = self.room.context(Purpose::of(RequestKind::Capabilities));
            let conversation = self.room.advertisement(&context);
            let heard = self.ask(Whom::Line, request, conversation, &context).await;
            let spoken = match &heard.outcome {
                Some(Outcome::Advertised(advertised, _)) => Some(offer(advertised).version),
                _ => None,
            };
            examination.note(version_finding(name, version, spoken, &heard.end));
            let has_head = heard.status != 0;
            examination.note(match version {
                1 if has_head => headers::answers_finding(&heard.headers),
                1 => Finding::new("CORS answers", Verdict::Unknown, words(&heard.end)),
                _ if has_head => headers::gzip_finding(&heard.headers),
                _ => Finding::new("gzip", Verdict::Unknown, words(&heard.end)),
            });
        }
    }

    /// Asks what a browser asks before a page may.
    pub(super) async fn preflight(&mut self) -> Finding {
        let request = requests::preflight(self.line.repo, headers::ORIGIN, &headers::PAGE_HEADERS);
        let context = self.room.context(Purpose::of(RequestKind::Capabilities));
        let page = Conversation::text(&context);
        let heard = self.ask(Whom::Anonymous, request, page, &context).await;
        match heard.status {
            0 => Finding::new("CORS preflight", Verdict::Failed, words(&heard.end)),
            status => headers::preflight_finding(status, &heard.headers),
        }
    }

    async fn ask_refs(&mut self, examination: &mut Examination) -> Result<(), Error> {
        let Some(request) = examination.refs_request() else {
            examination.take_refs(None, &End::Whole);
            return Ok(());
        };
        let (format, room) = (examination.format(), self.room);
        let mut body = Vec::new();
        request.encode(requests::AGENT, format, &mut body)?;
        let context = room.context(Purpose::of(RequestKind::Refs));
        let conversation = Conversation::refs(format, &room.limits, &room.budget, &context);
        let request = requests::command(self.line.repo, body);
        let heard = self.ask(Whom::Line, request, conversation, &context).await;
        let refs = match heard.outcome {
            Some(Outcome::Refs(refs)) => refs,
            _ => Vec::new(),
        };
        examination.take_refs(Some(refs), &heard.end);
        Ok(())
    }

    async fn ask_probe(
        &mut self,
        probe: Probe,
        examination: &mut Examination,
    ) -> Result<(), Error> {
        let request = match examination.ask(probe) {
            Ask::Send(request) => request,
            Ask::Settled => return Ok(()),
            Ask::Skip(why) => {
                examination.skip(probe, why);
                return Ok(());
            }
        };
        if let Some(why) = self.why_not_now() {
            examination.skip(probe, why);
            return Ok(());
        }
        let (http, features) = self.fetch_request(&request, examination)?;
        let (format, room) = (examination.format(), self.room);
        let asked = (&*request, features.as_ref());
        let context = room.context(Purpose::objects(RequestKind::Snapshot, &request.wants));
        let conversation =
            Conversation::sample(asked, format, &room.limits, &room.budget, &context);
        let heard = self.ask(Whom::Line, http, conversation, &context).await;
        let sampled = match heard.outcome {
            Some(Outcome::Sampled(sampled)) => sampled,
            _ => Sampled::default(),
        };
        examination.judge(probe, &request, &sampled, &heard.end);
        Ok(())
    }

    fn fetch_request(
        &self,
        request: &FetchRequest,
        examination: &Examination,
    ) -> Result<(Request, Option<Features>), Error> {
        let repo = self.line.repo;
        Ok(match &self.old {
            Some(old) => (requests::fetch_v0(repo, old.encode(request)?), Some(*old.features())),
            None => {
                let mut body = Vec::new();
                request.encode(requests::AGENT, examination.format(), &mut body)?;
                (requests::command(repo, body), None)
            }
        })
    }

    async fn ask_object_info(&mut self, examination: &mut Examination) -> Result<(), Error> {
        let id = match (examination.ask_object_info(), self.why_not_now()) {
            (Ok(id), None) => id,
            (Err(why), _) | (_, Some(why)) => {
                examination.note_object_info((Verdict::Unknown, why.to_owned()));
                return Ok(());
            }
        };
        let format = examination.format();
        let mut body = Vec::new();
        encode_object_info(&[id], requests::AGENT, format, &mut body).map_err(Error::from)?;
        let request = requests::command(self.line.repo, body);
        let context = self.room.context(Purpose::objects(RequestKind::Blobs, &[id]));
        let answer = Conversation::text(&context);
        let heard = self.ask(Whom::Line, request, answer, &context).await;
        let end = match heard.outcome {
            Some(Outcome::Text(text)) if heard.end == End::Whole => {
                match decode_object_info(&text, format) {
                    Ok(sizes) => {
                        examination.judge_object_info(&sizes, &id);
                        return Ok(());
                    }
                    Err(error) => End::of(200, &error.into()),
                }
            }
            _ => heard.end,
        };
        let verdict =
            if matches!(end, End::Refused(_)) { Verdict::Refused } else { Verdict::Failed };
        examination.note_object_info((verdict, words(&end)));
        Ok(())
    }

    /// Why nothing more is asked.
    fn why_not_now(&self) -> Option<&'static str> {
        if self.clock.left().is_zero() {
            Some("not asked: the time is up")
        } else if self.silences >= MAX_SILENCES {
            Some("not asked: the host has fallen silent")
        } else {
            None
        }
    }

    /// Sends `request` and hears the answer as far as it comes.
    async fn ask(
        &mut self,
        whom: Whom,
        request: Request,
        conversation: Conversation,
        context: &Context,
    ) -> Heard {
        if let Some(why) = self.why_not_now() {
            return Heard::nothing(End::Failed(why.to_owned()));
        }
        let line = match whom {
            Whom::Anonymous => &self.anonymous,
            Whom::Line => &self.line,
        };
        let time = self.clock.max_question_time.min(self.clock.left());
        let heard = self.clock.within(time, hear(line, request, conversation, context)).await;
        let heard = heard.unwrap_or_else(|| {
            let why = format!("it did not answer within {:.1} s", time.as_secs_f64());
            Heard { is_silence: true, ..Heard::nothing(End::Failed(why)) }
        });
        self.silences = if heard.is_silence { self.silences + 1 } else { 0 };
        heard
    }
}

/// Who asks.
#[derive(Clone, Copy)]
enum Whom {
    Anonymous,
    Line,
}

fn version_finding(name: &'static str, asked: u8, spoken: Option<u8>, end: &End) -> Finding {
    match (spoken, end) {
        (Some(spoken), _) if spoken == asked => Finding::new(name, Verdict::Honoured, ""),
        (Some(spoken), _) => {
            Finding::new(name, Verdict::Ignored, format!("it answers in version {spoken}"))
        }
        (None, End::Refused(words)) => Finding::new(name, Verdict::Refused, words.clone()),
        (None, end) => Finding::new(name, Verdict::Failed, words(end)),
    }
}

/// Notes what is offered elsewhere: that is shown, and never fetched.
fn note_addresses(advertised: &Advertised, examination: &mut Examination) {
    let (bundles, packs) = match advertised {
        Advertised::Capabilities(capabilities) => (
            capabilities.unknown.iter().any(|line| line.starts_with(b"bundle-uri")),
            capabilities.fetch.is_some_and(|fetch| fetch.packfile_uris),
        ),
        Advertised::Listing(_) => (false, false),
    };
    for (name, offered) in [("bundle-uri", bundles), ("packfile-uris", packs)] {
        let note = if offered { "not asked: no other address is fetched from" } else { "" };
        let finding = Finding::new(name, Verdict::Unknown, note);
        examination.note(Finding { offered: Some(offered), ..finding });
    }
}

/// Questions in a row without a byte of answer after which no more are asked.
const MAX_SILENCES: u32 = 2;
