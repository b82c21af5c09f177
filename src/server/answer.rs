//! What goes back to a client: words, then perhaps a pack, made as it is sent.

use super::boundary::Boundary;
use super::fetch::Fetch;
use super::life_signs::{LifeSigns, State};
use super::pack_stream::{PackStream, PackWork};
use super::refusal::Refusal;
use super::served::Served;
use super::talk::Outlet;
use crate::error::Error;
use crate::limits::{Interrupt, Interrupted};
use crate::pktline;
use crate::protocol::PackCarrier;
use crate::store::{Objects, Refs};

/// What goes back to the client, a piece at a time.
pub struct Answer<'s, S> {
    said: Option<Vec<u8>>,
    to_come: Option<Box<PackToCome<'s, S>>>,
    pack: Option<(PackStream<'s, S>, PackCarrier)>,
    /// The client wants words beside the pack.
    says_progress: bool,
    work: PackWork,
    refusal: Option<Refusal>,
    has_begun: bool,
    is_end: bool,
}

/// A pack whose objects are not chosen yet, which may take long.
pub(super) struct PackToCome<'s, S> {
    pub(super) served: &'s Served<S>,
    pub(super) fetch: Fetch,
    pub(super) boundary: Boundary,
    pub(super) carrier: PackCarrier,
}

impl<'s, S: Objects + Refs + Sync> Answer<'s, S> {
    pub(super) fn of(said: Vec<u8>) -> Self {
        Self {
            said: Some(said),
            to_come: None,
            pack: None,
            says_progress: false,
            work: PackWork::default(),
            refusal: None,
            has_begun: false,
            is_end: false,
        }
    }

    /// Words, then a pack.
    pub(super) fn with_pack(said: Vec<u8>, to_come: PackToCome<'s, S>) -> Self {
        let says_progress = !to_come.fetch.request.no_progress;
        Self { to_come: Some(Box::new(to_come)), says_progress, ..Self::of(said) }
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

    /// Chooses what goes into the pack, and tells `out` meanwhile that work goes on. What goes
    /// wrong is the [refusal](Self::refusal).
    ///
    /// # Errors
    /// When `out` takes nothing any more.
    pub(super) fn prepare(
        &mut self,
        out: &mut dyn Outlet,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Error> {
        let Some(to_come) = self.to_come.take() else { return Ok(()) };
        let PackToCome { served, fetch, boundary, carrier } = *to_come;
        let state = State {
            out,
            said: self.said.take(),
            carrier: &carrier,
            after: served.options.keep_alive,
            owes_words: self.says_progress,
            failed: None,
        };
        let signs = LifeSigns::new(interrupt, state);
        let pack = served.pack(&fetch, boundary, &signs);
        let State { said, failed, .. } = signs.end();
        self.has_begun = said.is_none();
        if let Some(failed) = failed {
            return Err(failed);
        }
        let mut said = said.unwrap_or_default();
        match pack {
            Ok(pack) => {
                if self.says_progress {
                    let words = format!("Enumerating objects: {}, done.\n", pack.len());
                    carrier.progress(&mut said, words.as_bytes());
                }
                self.pack = Some((pack, carrier));
            }
            Err(refusal) => {
                if self.has_begun {
                    carrier.error(&mut said, refusal.words().as_bytes());
                } else {
                    said.clear();
                    pktline::encode_error(&mut said, refusal.words().as_bytes());
                }
                (self.refusal, self.is_end) = (Some(refusal), true);
            }
        }
        self.said = Some(said);
        Ok(())
    }

    /// The next bytes to send; `None` after the last. What goes wrong on the way is told to
    /// the client, and ends the answer.
    pub fn next(&mut self, interrupt: &dyn Interrupt) -> Option<Vec<u8>> {
        // Nobody is there to be told anything meanwhile.
        self.prepare(&mut Nowhere, interrupt).ok()?;
        self.has_begun = true;
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
            Ok(None) => {
                if self.says_progress {
                    let PackWork { copied, cached, .. } = self.work;
                    let words = format!("Total {}, reused {}\n", pack.len(), copied + cached);
                    carrier.progress(&mut out, words.as_bytes());
                }
                carrier.end(&mut out);
            }
            Err(error) => {
                let refusal = Refusal::from(error);
                carrier.error(&mut out, refusal.words().as_bytes());
                self.refusal = Some(refusal);
            }
        }
        Some(out).filter(|out| !out.is_empty())
    }

    /// Whether something of it was sent.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
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

/// Takes nothing, and is never asked to.
struct Nowhere;

impl Outlet for Nowhere {
    fn send(&mut self, _: Vec<u8>) -> Result<(), Error> {
        Ok(())
    }
}

impl<S> std::fmt::Debug for Answer<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("has_pack", &(self.pack.is_some() || self.to_come.is_some()))
            .field("work", &self.work)
            .field("refusal", &self.refusal)
            .finish_non_exhaustive()
    }
}
