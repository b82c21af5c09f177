//! From packed streams to an object's bytes: a delta chain, without recursion.

use bytes::Bytes;

use super::StoreError;
use super::held::held;
use crate::limits::{LimitExceeded, Limits, Reservation, Which, check};
use crate::oid::ObjectId;
use crate::pack::delta::Delta;
use crate::pack::inflate::{ExactInflater, InflateError};

/// What an object's bytes are made of, its own stream first.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) links: Vec<Link>,
    /// What the last link is a delta of; without it the last link is whole.
    pub(super) base: Option<Bytes>,
}

/// One stream of a chain.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Bytes,
    /// Bytes the stream inflates to.
    pub(super) inflated_size: u64,
    /// Bytes of the object it makes.
    pub(super) size: u64,
}

impl Chain {
    /// Makes the object, called `id` in errors. At most two objects and one delta are in
    /// memory at once; `reserve` pays for each of them, given its length.
    pub(super) fn unpack(
        self,
        id: &ObjectId,
        limits: &Limits,
        reserve: &mut dyn FnMut(usize) -> Result<Reservation, LimitExceeded>,
    ) -> Result<Bytes, StoreError> {
        let corrupt = |what| StoreError::Corrupt { id: *id, what };
        let mut inflater = ExactInflater::default();
        let mut inflate =
            |link: &Link, out: &mut Vec<u8>| match link.stream_into(&mut inflater, out) {
                Ok(()) => Ok(()),
                Err(InflateError::Limit(limit)) => Err(StoreError::Limit(limit)),
                Err(_) => Err(corrupt("a packed stream does not inflate to its size")),
            };
        let mut links = self.links.into_iter().rev();
        let mut bytes = match self.base {
            Some(base) => base,
            None => {
                let whole = links.next().ok_or(corrupt("nothing is stored for it"))?;
                let mut out = Vec::new();
                let paid = reserve(allowed_len(limits, whole.inflated_size)?)?;
                inflate(&whole, &mut out)?;
                held(out, paid)
            }
        };
        let mut chain_bytes = bytes.len() as u64;
        let mut delta_bytes = Vec::new();
        for link in links {
            chain_bytes = chain_bytes.saturating_add(link.size);
            check(Which::ChainBytes, limits.max_chain_bytes, chain_bytes)?;
            let _delta_paid = reserve(allowed_len(limits, link.inflated_size)?)?;
            inflate(&link, &mut delta_bytes)?;
            let delta = Delta::parse(&delta_bytes, bytes.len())
                .map_err(|_| corrupt("a delta does not fit its base"))?;
            if delta.result_len() as u64 != link.size {
                return Err(corrupt("a delta makes an object of another size"));
            }
            let paid = reserve(allowed_len(limits, link.size)?)?;
            let mut out = Vec::with_capacity(delta.result_len());
            delta.apply(&bytes, &mut out);
            bytes = held(out, paid);
        }
        Ok(bytes)
    }
}

impl Link {
    fn stream_into(
        &self,
        inflater: &mut ExactInflater,
        out: &mut Vec<u8>,
    ) -> Result<(), InflateError> {
        let size = usize::try_from(self.inflated_size).map_err(|_| InflateError::TooShort)?;
        inflater.inflate(&self.stream, size, out).map(|_| ())
    }
}

fn allowed_len(limits: &Limits, size: u64) -> Result<usize, LimitExceeded> {
    limits.check_object_bytes(size)?;
    usize::try_from(size).map_err(|_| LimitExceeded {
        which: Which::ObjectBytes,
        allowed: usize::MAX as u64,
        seen: size,
    })
}
