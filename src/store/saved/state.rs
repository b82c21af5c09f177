//! What is known of the host, in bytes and back.

use bstr::BString;

use super::{MAX_STATE_BYTES, SavedError};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::Ref;

/// What is known of the host that objects came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedState {
    /// The repository's address, without credentials.
    pub address: BString,
    /// Commits whose trees are all held and whose parents are not (they are shallow), the
    /// newest last.
    pub commits: Vec<SavedCommit>,
    /// The commit that came without its blobs above a size, and that size in bytes.
    pub left_out: Option<(ObjectId, u64)>,
    /// Refs as they were last listed, of what is held.
    pub refs: Vec<Ref>,
}

/// A commit whose trees are all held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedCommit {
    /// Which.
    pub id: ObjectId,
    /// Whether all of its blobs came with it.
    pub is_whole: bool,
}

impl SavedState {
    /// At most [`MAX_STATE_BYTES`] unless address and commits alone take more; refs that
    /// find no room are left out.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, &self.address);
        out.extend((self.commits.len() as u32).to_be_bytes());
        for commit in &self.commits {
            out.push(u8::from(commit.is_whole));
            out.extend_from_slice(commit.id.as_bytes());
        }
        out.push(u8::from(self.left_out.is_some()));
        if let Some((commit, bytes)) = &self.left_out {
            out.extend_from_slice(commit.as_bytes());
            out.extend(bytes.to_be_bytes());
        }
        // Their number is known by where they end.
        for named in &self.refs {
            let before = out.len();
            put_ref(&mut out, named);
            if out.len() > MAX_STATE_BYTES {
                out.truncate(before);
                break;
            }
        }
        out
    }

    pub(super) fn parse(bytes: &[u8], format: ObjectFormat) -> Result<Self, SavedError> {
        let mut input = Input { rest: bytes, format };
        let address = BString::from(input.bytes()?);
        let mut commits = Vec::new();
        for _ in 0..input.u32()? {
            let is_whole = input.flag()?;
            commits.push(SavedCommit { id: input.id()?, is_whole });
        }
        let left_out = match input.flag()? {
            true => Some((input.id()?, input.u64()?)),
            false => None,
        };
        let mut refs = Vec::new();
        while !input.rest.is_empty() {
            refs.push(input.named()?);
        }
        Ok(Self { address, commits, left_out, refs })
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn put_ref(out: &mut Vec<u8>, named: &Ref) {
    let Ref { name, target, peeled, symref_target } = named;
    put_bytes(out, name);
    for id in [target, peeled] {
        out.push(u8::from(id.is_some()));
        out.extend_from_slice(id.as_ref().map_or(&[], ObjectId::as_bytes));
    }
    out.push(u8::from(symref_target.is_some()));
    if let Some(target) = symref_target {
        put_bytes(out, target);
    }
}

/// What is left of a state.
struct Input<'a> {
    rest: &'a [u8],
    format: ObjectFormat,
}

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], SavedError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(SavedError::Malformed("the state ends within a value"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SavedError> {
        let short = SavedError::Malformed("the state ends within a number");
        self.take(N)?.try_into().map_err(|_| short)
    }

    fn u32(&mut self) -> Result<u32, SavedError> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, SavedError> {
        self.array().map(u64::from_be_bytes)
    }

    fn flag(&mut self) -> Result<bool, SavedError> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(SavedError::Malformed("a flag is neither 0 nor 1")),
        }
    }

    fn bytes(&mut self) -> Result<&'a [u8], SavedError> {
        let len = self.u32()?;
        let len = usize::try_from(len).map_err(|_| SavedError::Malformed("a text is too long"))?;
        self.take(len)
    }

    fn id(&mut self) -> Result<ObjectId, SavedError> {
        let raw = self.take(self.format.raw_len())?;
        ObjectId::from_raw(raw).map_err(|_| SavedError::Malformed("an id has a wrong length"))
    }

    fn optional_id(&mut self) -> Result<Option<ObjectId>, SavedError> {
        Ok(if self.flag()? { Some(self.id()?) } else { None })
    }

    fn named(&mut self) -> Result<Ref, SavedError> {
        let name = BString::from(self.bytes()?);
        let (target, peeled) = (self.optional_id()?, self.optional_id()?);
        let symref_target = if self.flag()? { Some(BString::from(self.bytes()?)) } else { None };
        Ok(Ref { name, target, peeled, symref_target })
    }
}
