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
pub(crate) struct Chain {
    pub(crate) links: Vec<Link>,
    /// What the last link is a delta of; without it the last link is whole.
    pub(crate) base: Option<Bytes>,
}

/// One stream of a chain.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Bytes,
    /// Bytes the stream inflates to.
    pub(crate) inflated_size: u64,
    /// Bytes of the object it makes, where they are known beforehand.
    pub(crate) size: Option<u64>,
}

impl Chain {
    /// Makes the object, called `id` in errors. At most two objects and one delta are in
    /// memory at once; `reserve` pays for each of them, given its length. `made` is shown
    /// every object on the way, with the number of its link.
    pub(crate) fn unpack(
        self,
        id: &ObjectId,
        limits: &Limits,
        reserve: &mut dyn FnMut(usize) -> Result<Reservation, LimitExceeded>,
        made: &mut dyn FnMut(usize, &Bytes),
    ) -> Result<Bytes, StoreError> {
        let corrupt = |what| StoreError::Corrupt { id: *id, what };
        let mut inflater = ExactInflater::default();
        let mut inflate =
            |link: &Link, out: &mut Vec<u8>| match link.stream_into(&mut inflater, out) {
                Ok(()) => Ok(()),
                Err(InflateError::Limit(limit)) => Err(StoreError::Limit(limit)),
                Err(_) => Err(corrupt("a packed stream does not inflate to its size")),
            };
        let mut links = self.links.into_iter().enumerate().rev();
        let mut bytes = match self.base {
            Some(base) => base,
            None => {
                let (number, whole) = links.next().ok_or(corrupt("nothing is stored for it"))?;
                let mut out = Vec::new();
                let paid = reserve(allowed_len(limits, whole.inflated_size)?)?;
                inflate(&whole, &mut out)?;
                let bytes = held(out, paid);
                made(number, &bytes);
                bytes
            }
        };
        let mut chain_bytes = bytes.len() as u64;
        // One place for all deltas, paid for as long as it is there.
        let (mut delta_bytes, mut _delta_paid) = (Vec::new(), None);
        for (number, link) in links {
            let delta_len = allowed_len(limits, link.inflated_size)?;
            if delta_bytes.capacity() < delta_len {
                (delta_bytes, _delta_paid) = (Vec::new(), None);
                _delta_paid = Some(reserve(delta_len)?);
            }
            inflate(&link, &mut delta_bytes)?;
            let delta = Delta::parse(&delta_bytes, bytes.len())
                .map_err(|_| corrupt("a delta does not fit its base"))?;
            let len = delta.result_len();
            if link.size.is_some_and(|size| size != len as u64) {
                return Err(corrupt("a delta makes an object of another size"));
            }
            chain_bytes = chain_bytes.saturating_add(len as u64);
            check(Which::ChainBytes, limits.max_chain_bytes, chain_bytes)?;
            limits.check_object_bytes(len as u64)?;
            let paid = reserve(len)?;
            let mut out = Vec::with_capacity(len);
            delta.apply(&bytes, &mut out);
            bytes = held(out, paid);
            made(number, &bytes);
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::Budget;
    use crate::oid::ObjectFormat;
    use crate::pack::delta::DeltaEncoder;
    use crate::pack::inflate::deflate;

    #[test]
    fn the_place_of_a_large_delta_is_paid_for_until_it_is_let_go() {
        let long = vec![7; 100_000];
        let mut large = DeltaEncoder::new(4, long.len() as u64);
        large.insert(&long);
        let mut small = DeltaEncoder::new(long.len() as u64, 3);
        small.copy(0, 3);
        let link = |content: &[u8]| Link {
            stream: deflate(content, 1).into(),
            inflated_size: content.len() as u64,
            size: None,
        };
        let links = vec![link(&small.finish()), link(&large.finish()), link(b"base")];
        let budget = Budget::new(1 << 20);
        let mut used = Vec::new();
        let id = ObjectId::null(ObjectFormat::Sha1);
        let made = Chain { links, base: None }
            .unpack(
                &id,
                &Limits::default(),
                &mut |bytes| budget.reserve(bytes as u64),
                &mut |_, _| used.push(budget.used_bytes()),
            )
            .unwrap();
        assert_eq!(&made[..], [7; 3]);
        assert_eq!(used.len(), 3);
        assert!(used[1] >= 200_000 && used[2] >= 100_003, "{used:?}");
        assert_eq!(budget.used_bytes(), 3);
    }
}
