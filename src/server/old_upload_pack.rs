//! The conversation of upload-pack in version 0 and 1, over a connection that keeps its state
//! and over one that does not.
//!
//! Follows git's `protocol-pack`. What a client has it says in blocks, and between them it may
//! wait for an answer. Over HTTP each request says everything again, and the answer ends with
//! the first block that does not settle it.

use super::answer::{Answer, PackToCome};
use super::boundary::Boundary;
use super::fetch::Fetch;
use super::refusal::Refusal;
use super::served::Served;
use crate::limits::Interrupt;
use crate::oid::ObjectId;
use crate::protocol::v0::{Features, FetchResponseWriter, Listing, RequestDecoder, Step};
use crate::protocol::{Capabilities, FetchRequest, ProtocolError};
use crate::store::{Objects, Refs};

impl<S: Objects + Refs + Sync> Served<S> {
    /// Appends all refs and what the server can do, in version 0 or 1, without
    /// [`SERVICE_HEADER`](crate::protocol::SERVICE_HEADER).
    ///
    /// # Errors
    /// When the refs cannot be read.
    pub fn advertise_old(&self, version: u8, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let mut refs = self.refs(&[])?;
        refs.retain(|item| item.target.is_some());
        // git tells of no other symbolic ref.
        for item in refs.iter_mut().filter(|item| item.name != "HEAD") {
            item.symref_target = None;
        }
        let listing = Listing {
            version,
            capabilities: Capabilities {
                agent: Some(self.options.agent.as_str().into()),
                object_format: self.store.format(),
                ..Capabilities::default()
            },
            features: Features {
                agent: true,
                allow_reachable: self.options.allow_reachable_want,
                allow_tip: self.options.allow_reachable_want || self.options.allow_hidden_want,
                deepen_not: true,
                deepen_relative: true,
                deepen_since: true,
                filter: self.options.allow_filter,
                include_tag: true,
                multi_ack: true,
                multi_ack_detailed: true,
                no_done: true,
                no_progress: true,
                object_format: true,
                ofs_delta: true,
                shallow: true,
                side_band: true,
                side_band_64k: true,
                thin_pack: true,
            },
            refs,
            shallow: self.cuts.iter().copied().collect(),
        };
        Ok(listing.encode(out)?)
    }
}

/// Takes a client's words as they arrive.
#[derive(Debug)]
pub struct OldUploadPack<'s, S> {
    served: &'s Served<S>,
    steps: RequestDecoder,
    /// Whether each request is answered by itself, as over HTTP.
    stateless: bool,
    talk: Option<Talk>,
}

/// What was said so far.
#[derive(Debug)]
struct Talk {
    fetch: Fetch,
    used: Features,
    boundary: Boundary,
    writer: FetchResponseWriter,
    /// Of the present block, what was found here last.
    found: Option<ObjectId>,
    /// Whether something of it is not here.
    missed: bool,
    is_ready: bool,
}

impl<'s, S: Objects + Refs + Sync> OldUploadPack<'s, S> {
    /// A conversation with one client; `stateless` when each request comes by itself.
    pub fn new(served: &'s Served<S>, stateless: bool) -> Self {
        let steps = RequestDecoder::new(served.store.format(), &served.limits);
        Self { served, steps, stateless, talk: None }
    }

    /// Takes input up to where there is something to say; `None` when all of it was used. An
    /// answer that [is the end](Answer::is_end) is the last one.
    pub fn push(&mut self, input: &mut &[u8], interrupt: &dyn Interrupt) -> Option<Answer<'s, S>> {
        loop {
            let answered = match self.steps.push(input) {
                Ok(None) => return None,
                Ok(Some(step)) => self.take(step, interrupt),
                Err(error) => Err(error.into()),
            };
            match answered {
                Ok(Some(answer)) => return Some(answer),
                Ok(None) => {}
                Err(refusal) => return Some(Answer::refused(refusal).ending()),
            }
        }
    }

    /// Says that no input follows.
    ///
    /// # Errors
    /// When a request is cut off.
    pub fn finish(self) -> Result<(), ProtocolError> {
        self.steps.finish()
    }

    fn take(
        &mut self,
        step: Step,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<Answer<'s, S>>, Refusal> {
        let mut said = Vec::new();
        let Some(talk) = &mut self.talk else {
            let Step::Asked(request, used) = step else { return Ok(None) };
            if request.wants.is_empty() {
                return Ok(Some(Answer::of(said).ending()));
            }
            let talk = Talk::begin(self.served, *request, used, &mut said, interrupt)?;
            self.talk = Some(talk);
            return Ok(Some(Answer::of(said)));
        };
        match step {
            Step::Asked(..) => {}
            Step::Have(id) => talk.have(self.served, id, &mut said, interrupt)?,
            Step::Flush => {
                talk.end_block(self.served, &mut said, interrupt)?;
                if talk.used.no_done && talk.is_ready {
                    return Ok(Some(self.pack(said)));
                }
                let answer = Answer::of(said);
                return Ok(Some(if self.stateless { answer.ending() } else { answer }));
            }
            Step::Done => return Ok(Some(self.pack(said))),
        }
        Ok((!said.is_empty()).then(|| Answer::of(said)))
    }

    /// The end of the talk: the last acknowledgment, then the pack.
    fn pack(&mut self, mut said: Vec<u8>) -> Answer<'s, S> {
        let Some(Talk { fetch, boundary, writer, .. }) = self.talk.take() else {
            return Answer::of(said).ending();
        };
        let answer = match writer.end_haves(&mut said) {
            Some(carrier) => {
                let served = self.served;
                Answer::with_pack(said, PackToCome { served, fetch, boundary, carrier })
            }
            None => Answer::of(said),
        };
        answer.ending()
    }
}

impl Talk {
    fn begin<S: Objects + Refs + Sync>(
        served: &Served<S>,
        request: FetchRequest,
        used: Features,
        said: &mut Vec<u8>,
        interrupt: &dyn Interrupt,
    ) -> Result<Self, Refusal> {
        // Whatever comes, the talk goes on up to its done.
        let request = FetchRequest { done: true, ..request };
        let mut writer = FetchResponseWriter::new(&request, &used);
        let fetch = served.fetch(request, interrupt)?;
        let boundary = served.boundary(&fetch, interrupt)?;
        writer.shallow_info(said, &boundary.shallow, &boundary.unshallow);
        let (found, missed, is_ready) = (None, false, false);
        Ok(Self { fetch, used, boundary, writer, found, missed, is_ready })
    }

    fn have<S: Objects + Refs + Sync>(
        &mut self,
        served: &Served<S>,
        id: ObjectId,
        said: &mut Vec<u8>,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Refusal> {
        if served.have(&mut self.fetch, &id)? {
            self.found = Some(id);
            self.writer.common(said, id);
            return Ok(());
        }
        self.missed = true;
        let tells = self.used.multi_ack || self.used.multi_ack_detailed;
        if tells && served.is_enough(&mut self.fetch, interrupt)? {
            self.writer.ready(said, id);
        }
        Ok(())
    }

    fn end_block<S: Objects + Refs + Sync>(
        &mut self,
        served: &Served<S>,
        said: &mut Vec<u8>,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Refusal> {
        let missed = std::mem::take(&mut self.missed);
        if let Some(last) = self.found.take()
            && self.used.multi_ack_detailed
            && !missed
            && served.is_enough(&mut self.fetch, interrupt)?
        {
            self.writer.ready(said, last);
            self.is_ready = true;
        }
        self.writer.end_block(said);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::limits::{Budget, NeverInterrupt};
    use crate::pktline;

    /// Commits are no secret: someone can name all of them, and after each one that is not here.
    #[test]
    fn haves_without_end_cost_one_walk_and_one_listing() {
        let budget = Budget::new(16 << 20);
        let fixture = Fixture::new(&budget);
        let (wanted, had) = (fixture.line("wanted", 200), fixture.line("had", 200));
        let served = fixture.served(&budget);
        let mut client = OldUploadPack::new(&served, false);
        let mut said = Vec::new();
        let words = "multi_ack_detailed side-band-64k";
        pktline::encode(&mut said, format!("want {} {words}\n", wanted[199]).as_bytes()).unwrap();
        said.extend_from_slice(b"0000");
        for (number, id) in had.iter().enumerate() {
            let absent = format!("{number:040x}");
            for id in [&id.to_string(), &absent, &absent] {
                pktline::encode(&mut said, format!("have {id}\n").as_bytes()).unwrap();
            }
        }
        let mut input = &said[..];
        let mut answers = Vec::new();
        while let Some(mut answer) = client.push(&mut input, &NeverInterrupt) {
            while let Some(piece) = answer.next(&NeverInterrupt) {
                answers.extend_from_slice(&piece);
            }
            assert!(answer.refusal().is_none());
        }
        let answers = String::from_utf8(answers).unwrap();
        assert_eq!(answers.matches("common").count(), 200);
        assert_eq!(answers.matches("ready").count(), 0);
        assert_eq!(served.store.lists(), 1);
        assert!(served.store.reads() <= 400, "{}", served.store.reads());
    }
}
