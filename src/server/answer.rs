//! What goes back to a client: words, then perhaps a pack, made as it is sent.

use super::pack_stream::{PackStream, PackWork};
use super::refusal::Refusal;
use crate::limits::{Interrupt, Interrupted};
use crate::pktline;
use crate::protocol::PackCarrier;
use crate::store::Objects;

/// What goes back to the client, a piece at a time.
pub struct Answer<'s, S> {
    said: Option<Vec<u8>>,
    pack: Option<(PackStream<'s, S>, PackCarrier)>,
    work: PackWork,
    refusal: Option<Refusal>,
    is_end: bool,
}

impl<'s, S: Objects + Sync> Answer<'s, S> {
    pub(super) fn of(said: Vec<u8>) -> Self {
        Self {
            said: Some(said),
            pack: None,
            work: PackWork::default(),
            refusal: None,
            is_end: false,
        }
    }

    /// Words, then a pack.
    pub(super) fn with_pack(said: Vec<u8>, pack: PackStream<'s, S>, carrier: PackCarrier) -> Self {
        Self { pack: Some((pack, carrier)), ..Self::of(said) }
    }

    /// Why there is none.
    pub(super) fn refused(refusal: Refusal) -> Self {
        let mut said = Vec::new();
        pktline::encode_error(&mut said, refusal.words().as_bytes());
        Self { refusal: Some(refusal), ..Self::of(said) }
    }

    /// The same as the last one of its conversation.
    pub(super) fn ending(self) -> Self {
        Self { is_end: true, ..self }
    }

    /// The next bytes to send; `None` after the last. What goes wrong on the way is told to
    /// the client, and ends the answer.
    pub fn next(&mut self, interrupt: &dyn Interrupt) -> Option<Vec<u8>> {
        if let Some(said) = self.said.take().filter(|said| !said.is_empty()) {
            return Some(said);
        }
        let (mut pack, carrier) = self.pack.take()?;
        let piece = match interrupt.check() {
            Ok(()) => pack.next(),
            Err(interrupted) => Err(Interrupted::into(interrupted)),
        };
        self.work = pack.work();
        let mut out = Vec::new();
        match piece {
            Ok(Some(piece)) => {
                carrier.pack_data(&mut out, &piece);
                self.pack = Some((pack, carrier));
            }
            Ok(None) => carrier.end(&mut out),
            Err(error) => {
                let refusal = Refusal::from(error);
                carrier.error(&mut out, refusal.words().as_bytes());
                self.refusal = Some(refusal);
            }
        }
        Some(out).filter(|out| !out.is_empty())
    }

    /// What was done for the pack so far.
    pub fn work(&self) -> PackWork {
        self.work
    }

    /// Why there is no answer, or none to its end.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Whether the conversation is over after it.
    pub fn is_end(&self) -> bool {
        self.is_end
    }
}

impl<S> std::fmt::Debug for Answer<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("has_pack", &self.pack.is_some())
            .field("work", &self.work)
            .field("refusal", &self.refusal)
            .finish_non_exhaustive()
    }
}
