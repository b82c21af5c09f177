//! What a client hears while its pack is prepared: that work goes on.
//!
//! Follows git's `upload-pack.c`: after some seconds without a word an empty packet on the
//! sideband, and words on band 2 for those who want some. A client without a sideband hears
//! nothing, as there is no room for it. The work asks an [`Interrupt`] now and then whether it
//! should go on: that is when time is looked at, which whoever sends the answer has a clock for.

use std::cell::RefCell;
use std::time::Duration;

use super::Outlet;
use crate::error::Error;
use crate::limits::{Interrupt, Interrupted};
use crate::protocol::PackCarrier;

/// What is told, to whom, and when.
pub(super) struct LifeSigns<'a> {
    interrupt: &'a dyn Interrupt,
    state: RefCell<State<'a>>,
}

/// How it is told.
pub(super) struct State<'a> {
    pub(super) out: &'a mut dyn Outlet,
    /// What the answer begins with: it is sent with the first sign.
    pub(super) said: Option<Vec<u8>>,
    pub(super) carrier: &'a PackCarrier,
    /// The longest time without a word.
    pub(super) after: Option<Duration>,
    /// Words are still to be told.
    pub(super) owes_words: bool,
    /// Why a sign could not be sent.
    pub(super) failed: Option<Error>,
}

impl<'a> LifeSigns<'a> {
    pub(super) fn new(interrupt: &'a dyn Interrupt, state: State<'a>) -> Self {
        Self { interrupt, state: RefCell::new(state) }
    }

    pub(super) fn end(self) -> State<'a> {
        self.state.into_inner()
    }
}

impl Interrupt for LifeSigns<'_> {
    fn check(&self) -> Result<(), Interrupted> {
        self.interrupt.check()?;
        let mut state = self.state.borrow_mut();
        let Some(after) = state.after.filter(|_| state.carrier.is_banded()) else { return Ok(()) };
        let quiet = state.out.quiet();
        if quiet < if state.owes_words { after.min(FIRST_WORDS) } else { after } {
            return Ok(());
        }
        let mut piece = state.said.take().unwrap_or_default();
        match std::mem::take(&mut state.owes_words) {
            true => state.carrier.progress(&mut piece, b"Enumerating objects...\r"),
            false => state.carrier.keepalive(&mut piece),
        }
        let sent = state.out.send_meanwhile(piece);
        sent.map_err(|error| {
            state.failed = Some(error);
            Interrupted::Cancelled
        })
    }
}

/// Whoever reads words gets the first ones sooner.
const FIRST_WORDS: Duration = Duration::from_secs(1);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::fixture::Fixture;
    use super::super::{Talk, converse};
    use super::*;
    use crate::error::ErrorKind;
    use crate::limits::{Budget, NeverInterrupt};
    use crate::pktline;

    const SIGN: &[u8] = b"0005\x01";

    /// A client that always has heard nothing for some seconds, and listens to so many pieces.
    struct Slow {
        seconds: u64,
        pieces: Vec<Vec<u8>>,
        meanwhile: usize,
        room: usize,
    }

    impl Outlet for Slow {
        fn send(&mut self, piece: Vec<u8>) -> Result<(), Error> {
            self.pieces.push(piece);
            let gone = || Error::new(ErrorKind::Cancelled, "gone");
            (self.pieces.len() <= self.room).then_some(()).ok_or_else(gone)
        }

        fn send_meanwhile(&mut self, piece: Vec<u8>) -> Result<(), Error> {
            self.meanwhile += 1;
            self.send(piece)
        }

        fn quiet(&self) -> Duration {
            Duration::from_secs(self.seconds)
        }
    }

    /// What someone hears who wants a history that nobody asked for before, and with what else
    /// beside the want; and how many objects were read for it.
    fn ask(version: u8, words: &str, seconds: u64, room: usize) -> (Slow, Result<(), Error>, u64) {
        let budget = Budget::new(16 << 20);
        let fixture = Fixture::new(&budget);
        let tip = fixture.line("main", 600)[599];
        let served = fixture.served(&budget);
        let before = served.store.reads();
        let mut asked = Vec::new();
        for word in words.split('/') {
            match word {
                "0000" | "0001" => asked.extend_from_slice(word.as_bytes()),
                word => {
                    let word = word.replace("TIP", &tip.to_string());
                    pktline::encode(&mut asked, word.as_bytes()).unwrap();
                }
            }
        }
        let mut out = Slow { seconds, pieces: Vec::new(), meanwhile: 0, room };
        let talk = Talk { version, stateless: true, advertise_only: false };
        let ended = converse(&served, talk, &mut &asked[..], &mut out, &NeverInterrupt).ended;
        (out, ended, served.store.reads() - before)
    }

    #[test]
    fn a_client_that_waits_hears_that_work_goes_on() {
        let quietly = "command=fetch/0001/want TIP/no-progress/done/0000";
        let (out, ended, _) = ask(2, quietly, 5, usize::MAX);
        ended.unwrap();
        assert!(out.meanwhile >= 2, "{}", out.meanwhile);
        assert_eq!(out.pieces[0], [b"000dpackfile\n", SIGN].concat());
        assert!(out.pieces[1..out.meanwhile].iter().all(|piece| piece == SIGN));
        assert_eq!(out.pieces[out.meanwhile].get(4..9), Some(&b"\x01PACK"[..]));
        // With words, sooner.
        let (loud, ended, _) = ask(2, "command=fetch/0001/want TIP/done/0000", 1, usize::MAX);
        ended.unwrap();
        let said = |number: usize| String::from_utf8_lossy(&loud.pieces[number]).into_owned();
        assert!(said(0).ends_with("\x02Enumerating objects...\r"), "{}", said(0));
        assert!(said(1).contains("\x02Enumerating objects: 1800, done.\n"), "{}", said(1));
        let last = said(loud.pieces.len() - 1);
        assert!(last.contains("\x02Total 1800, reused 0\n") && last.ends_with("0000"), "{last}");
        let (out, ended, _) = ask(2, quietly, 4, usize::MAX);
        ended.unwrap();
        assert_eq!((out.meanwhile, loud.meanwhile), (0, 1));
        assert_eq!(out.pieces[0], b"000dpackfile\n");
    }

    #[test]
    fn without_a_sideband_there_is_the_pack_alone() {
        let (out, ended, _) = ask(0, "want TIP/0000/done", 60, usize::MAX);
        ended.unwrap();
        assert!(out.pieces.concat().starts_with(b"0008NAK\nPACK"));
        let (out, ended, _) = ask(0, "want TIP side-band/0000/done", 60, usize::MAX);
        ended.unwrap();
        assert_eq!(out.pieces[0], b"0008NAK\n001c\x02Enumerating objects...\r");
        assert_eq!(out.pieces[1], SIGN);
    }

    #[test]
    fn a_client_that_is_gone_ends_the_work() {
        let (out, ended, read) = ask(2, "command=fetch/0001/want TIP/done/0000", 60, 0);
        assert_eq!((out.pieces.len(), ended.unwrap_err().context()), (1, "gone"));
        assert!(read < 700, "{read}");
    }
}
