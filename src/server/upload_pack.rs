//! The conversation of upload-pack in version 2: refs are listed, objects are sent.
//!
//! Follows git's `protocol-v2`. Requests stand alone: nothing of one client is kept.

use super::answer::{Answer, PackToCome};
use super::refusal::Refusal;
use super::served::Served;
use crate::error::Error;
use crate::limits::Interrupt;
use crate::oid::ObjectId;
use crate::protocol::{FetchRequest, FetchResponseWriter, ProtocolError, Request, RequestDecoder};
use crate::store::{Objects, Refs};

/// Takes a client's requests as they arrive.
#[derive(Debug)]
pub struct UploadPack<'s, S> {
    served: &'s Served<S>,
    requests: RequestDecoder,
}

impl<'s, S: Objects + Refs + Sync> UploadPack<'s, S> {
    /// A conversation with one client.
    pub fn new(served: &'s Served<S>) -> Self {
        let Served { store, limits, budget, .. } = served;
        Self { served, requests: RequestDecoder::new(store.format(), limits, budget) }
    }

    /// Takes input up to the end of a request, and gives the answer to it; `None` when all
    /// input was used. What cannot be answered is answered with why, and ends the
    /// conversation.
    pub fn push(&mut self, input: &mut &[u8], interrupt: &dyn Interrupt) -> Option<Answer<'s, S>> {
        let answered = match self.requests.push(input) {
            Ok(None) => return None,
            Ok(Some(request)) => self.answer(request, interrupt),
            Err(error) => Err(error.into()),
        };
        Some(answered.unwrap_or_else(|refusal| Answer::refused(refusal).ending()))
    }

    /// Whether the input may end here.
    ///
    /// # Errors
    /// When a request is cut off.
    pub fn finish(self) -> Result<(), Error> {
        Ok(self.requests.finish()?)
    }

    fn answer(
        &self,
        request: Request,
        interrupt: &dyn Interrupt,
    ) -> Result<Answer<'s, S>, Refusal> {
        match request {
            Request::End => Ok(Answer::of(Vec::new()).ending()),
            Request::LsRefs(request) => {
                let mut said = Vec::new();
                self.served.ls_refs(&request, &mut said)?;
                Ok(Answer::of(said))
            }
            Request::Fetch(request) => self.fetch(request, interrupt),
            Request::ObjectInfo(request) if self.served.options.allow_object_info => {
                let mut said = Vec::new();
                self.served.object_info(&request, &mut said, interrupt)?;
                Ok(Answer::of(said))
            }
            Request::ObjectInfo(_) => {
                Err(ProtocolError::UnknownCommand { name: "object-info".into() }.into())
            }
        }
    }

    fn fetch(
        &self,
        request: FetchRequest,
        interrupt: &dyn Interrupt,
    ) -> Result<Answer<'s, S>, Refusal> {
        let served = self.served;
        let mut said = Vec::new();
        let mut writer = match request.sideband_all {
            true => FetchResponseWriter::new().with_sideband_all(),
            false => FetchResponseWriter::new(),
        };
        let wants_nothing = request.wants.is_empty() && request.want_refs.is_empty();
        if wants_nothing && !request.wait_for_done {
            return Ok(Answer::of(said));
        }
        let is_talking = !request.done && !request.haves.is_empty();
        let may_be_ready = !request.wait_for_done;
        let mut fetch = served.fetch(request, interrupt)?;
        if is_talking {
            let is_ready = may_be_ready && served.is_enough(&mut fetch, interrupt)?;
            let common: Vec<ObjectId> = fetch.common().collect();
            writer.acknowledgments(&mut said, &common, is_ready);
            if !is_ready {
                writer.end(&mut said);
                return Ok(Answer::of(said));
            }
        }
        let boundary = served.boundary(&fetch, interrupt)?;
        if boundary.is_told {
            writer.shallow_info(&mut said, &boundary.shallow, &boundary.unshallow);
        }
        if !fetch.named.is_empty() {
            let named = fetch.named.iter().map(|(id, name)| (*id, name.as_slice()));
            writer.wanted_refs(&mut said, named)?;
        }
        let carrier = writer.packfile(&mut said);
        Ok(Answer::with_pack(said, PackToCome { served, fetch, boundary, carrier }))
    }
}
