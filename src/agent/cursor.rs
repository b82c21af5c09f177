//! Cursors: where an answer goes on, for whoever asked and nobody else to read.
//!
//! A cursor is all there is to remember. It pins the commit and the meaning of the
//! question, and says how far the pages before it came, so that any process can answer the
//! next one while the branch moves. It is no secret and grants nothing; a checksum tells
//! slips from cursors.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bstr::BString;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, ErrorKind};
use crate::oid::ObjectId;
use crate::view::grep::FilePlace;
use crate::view::walk::Place;

/// Changes when the encoding does.
const VERSION: u8 = 1;
/// Bytes of the hash of a question.
const QUESTION_BYTES: usize = 8;
/// Bytes of the checksum.
const CHECKSUM_BYTES: usize = 4;
/// Before a position of the later turn.
const LATER: u8 = 4;
/// Characters of the longest cursor read: paths and depths are bounded below this.
const MAX_CHARS: usize = 64 << 10;

/// What a cursor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The question it belongs to.
    pub(super) question: Question,
    /// What all pages are about.
    pub(super) commit: Option<ObjectId>,
    /// The ref that the first page found it by.
    pub(super) ref_name: Option<BString>,
    /// Items on the pages before.
    pub(super) found: u64,
    /// Where the next page begins.
    pub(super) at: Position,
}

/// How far the pages before came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Behind this name in a sorted list.
    Behind(BString),
    /// At this place of a walk.
    At(Place),
    /// Within the file `path` that is at this place.
    Within(Place, BString, FilePlace),
    /// At a byte of one of the paths asked for.
    Part { path: u64, offset: u64 },
    /// There, in the later turn of a search.
    Later(Box<Position>),
}

/// The hash of what makes a question this question and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question([u8; QUESTION_BYTES]);

/// Hashes the parts of a question, each so that no two lists of parts look alike.
pub(super) struct Meaning(Sha256);

impl Meaning {
    pub(super) fn of(method: &str) -> Self {
        Self(Sha256::new()).text(method)
    }

    pub(super) fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    pub(super) fn texts(self, texts: &[impl AsRef<[u8]>]) -> Self {
        texts.iter().fold(self.number(texts.len() as u64), |meaning, text| meaning.text(text))
    }

    pub(super) fn number(mut self, number: u64) -> Self {
        self.0.update(number.to_le_bytes());
        self
    }

    pub(super) fn optional(self, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.number(1).number(number),
            None => self.number(0),
        }
    }

    pub(super) fn question(self) -> Question {
        let mut question = [0; QUESTION_BYTES];
        question.copy_from_slice(&self.0.finalize()[..QUESTION_BYTES]);
        Question(question)
    }
}

impl Cursor {
    pub(super) fn encode(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.question.0);
        match &self.commit {
            Some(commit) => push_text(&mut bytes, commit.as_bytes()),
            None => push_text(&mut bytes, b""),
        }
        // A name is never empty.
        push_text(&mut bytes, self.ref_name.as_deref().map_or(b"", |name| name));
        push_number(&mut bytes, self.found);
        let at = match &self.at {
            Position::Later(at) => {
                bytes.push(LATER);
                at
            }
            at => at,
        };
        match at {
            Position::Behind(name) => {
                bytes.push(0);
                push_text(&mut bytes, name);
            }
            Position::At(place) => {
                bytes.push(1);
                push_place(&mut bytes, place);
            }
            Position::Within(place, path, within) => {
                bytes.push(2);
                push_place(&mut bytes, place);
                push_text(&mut bytes, path);
                push_number(&mut bytes, within.offset as u64);
                push_number(&mut bytes, within.lines_before);
                push_number(&mut bytes, within.shown_to as u64);
                push_number(&mut bytes, within.found);
            }
            Position::Part { path, offset } => {
                bytes.push(3);
                push_number(&mut bytes, *path);
                push_number(&mut bytes, *offset);
            }
            // Nothing is later than that.
            Position::Later(_) => {}
        }
        bytes.extend_from_slice(&checksum(&bytes));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor that `text` is, if it belongs to `question`.
    ///
    /// # Errors
    /// `Usage` with code `bad_cursor`.
    pub(super) fn decode(text: &str, question: Question) -> Result<Self, Error> {
        let cursor = Self::parse(text).ok_or_else(|| {
            let why = "this is no cursor, or not all of one; ask again without it";
            Error::new(ErrorKind::Usage, why).with_code("bad_cursor")
        })?;
        if cursor.question != question {
            let why = "the cursor belongs to another question: repeat the question that it was \
                       an answer to, word for word, or ask without it";
            return Err(Error::new(ErrorKind::Usage, why).with_code("bad_cursor"));
        }
        Ok(cursor)
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_CHARS {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (bytes, sum) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
        if checksum(bytes) != *sum {
            return None;
        }
        let mut rest = Rest(bytes);
        if rest.byte()? != VERSION {
            return None;
        }
        let question = Question(*rest.chunk()?);
        let commit = match rest.text()? {
            [] => None,
            id => Some(ObjectId::from_raw(id).ok()?),
        };
        let ref_name = Some(rest.text()?).filter(|name| !name.is_empty()).map(BString::from);
        let found = rest.number()?;
        let first = rest.byte()?;
        let (is_later, kind) = if first == LATER { (true, rest.byte()?) } else { (false, first) };
        let at = match kind {
            0 => Position::Behind(rest.text()?.into()),
            1 => Position::At(rest.place()?),
            2 => {
                let (place, path) = (rest.place()?, rest.text()?.into());
                let within = FilePlace {
                    offset: usize::try_from(rest.number()?).ok()?,
                    lines_before: rest.number()?,
                    shown_to: usize::try_from(rest.number()?).ok()?,
                    found: rest.number()?,
                };
                Position::Within(place, path, within)
            }
            3 => Position::Part { path: rest.number()?, offset: rest.number()? },
            _ => return None,
        };
        let at = if is_later { Position::Later(Box::new(at)) } else { at };
        rest.0.is_empty().then_some(Self { question, commit, ref_name, found, at })
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::new().chain_update(b"gitsip cursor").chain_update(bytes).finalize();
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&hash[..CHECKSUM_BYTES]);
    sum
}

fn push_place(bytes: &mut Vec<u8>, place: &Place) {
    push_number(bytes, place.levels().len() as u64);
    for number in place.levels() {
        push_number(bytes, u64::from(*number));
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    push_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

/// Seven bits a byte, the lowest first.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is left to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.chunk().map(|[byte]| *byte)
    }

    fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(chunk)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits.leading_zeros() < shift {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(text)
    }

    fn place(&mut self) -> Option<Place> {
        let levels = usize::try_from(self.number()?).ok()?;
        // Each takes a byte at least, so nothing is sized by a number that lies.
        if levels > self.0.len() {
            return None;
        }
        let numbers = (0..levels).map(|_| u32::try_from(self.number()?).ok());
        numbers.collect::<Option<Vec<_>>>().map(Place::new)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn question(word: &str) -> Question {
        Meaning::of("grep").text(word).question()
    }

    fn cursor(at: Position) -> Cursor {
        let commit = ObjectId::from_hex("0123456789".repeat(4).as_bytes()).unwrap();
        Cursor {
            question: question("a"),
            commit: Some(commit),
            ref_name: Some("refs/heads/main".into()),
            found: 300,
            at,
        }
    }

    #[test]
    fn parts_of_questions_do_not_run_together() {
        let texts = |texts: &[&str]| Meaning::of("x").texts(texts).texts(&[""; 0]).question();
        assert_ne!(texts(&["ab", "c"]), texts(&["a", "bc"]));
        assert_ne!(
            Meaning::of("x").texts(&["a"]).texts(&["b"]).question(),
            Meaning::of("x").texts(&["a", "b"]).texts(&[""; 0]).question()
        );
        assert_ne!(
            Meaning::of("x").optional(None).number(1).question(),
            Meaning::of("x").optional(Some(1)).question()
        );
    }

    #[test]
    fn a_cursor_of_another_question_says_so_and_a_changed_one_is_none() {
        let text = cursor(Position::At(Place::new(vec![1, 200, 3]))).encode();
        assert!(Cursor::decode(&text, question("a")).is_ok());
        let error = Cursor::decode(&text, question("b")).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "bad_cursor"));
        assert!(error.to_string().contains("another question"));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last character has bits that are not used, which must be zero.
            let error = Cursor::decode(&changed, question("a")).unwrap_err();
            assert_eq!(error.code(), "bad_cursor");
            assert!(Cursor::decode(&text[..at], question("a")).is_err());
        }
        for other in ["", "x", "=", "éé", &"A".repeat(MAX_CHARS + 4)] {
            assert!(Cursor::decode(other, question("a")).is_err());
        }
    }

    proptest! {
        #[test]
        fn a_cursor_says_what_was_put_into_it(
            levels in prop::collection::vec(any::<u32>(), 0..5),
            (offset, lines_before, shown_to, found) in any::<(u32, u64, u32, u64)>(),
            name in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let place = Place::new(levels);
            let within = FilePlace {
                offset: offset as usize, lines_before, shown_to: shown_to as usize, found,
            };
            for at in [
                Position::Behind(name.clone().into()),
                Position::At(place.clone()),
                Position::Within(place, name.into(), within),
                Position::Part { path: lines_before, offset: found },
            ] {
                for commit in [true, false] {
                    let mut cursor = cursor(at.clone());
                    cursor.commit = cursor.commit.filter(|_| commit);
                    cursor.ref_name = cursor.ref_name.filter(|_| commit);
                    prop_assert_eq!(&Cursor::decode(&cursor.encode(), question("a")).unwrap(), &cursor);
                }
            }
        }

        #[test]
        fn no_bytes_with_a_right_checksum_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = [&[VERSION][..], &bytes].concat();
            bytes.extend_from_slice(&checksum(&bytes));
            if let Some(cursor) = Cursor::parse(&URL_SAFE_NO_PAD.encode(&bytes)) {
                prop_assert_eq!(Cursor::parse(&cursor.encode()), Some(cursor));
            }
        }
    }
}
