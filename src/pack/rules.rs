//! What a pack may resolve to, and the proof that a delta stays within it.
//!
//! Everything here is shared by whoever resolves, on arrival or later, on one thread or
//! on several: caps that never change, and one count that all of them add to.

use std::sync::atomic::{AtomicU64, Ordering};

use super::delta::{Delta, DeltaSizes};
use super::{DeltaError, PackError};
use crate::limits::{LimitExceeded, Limits, Which, check};

/// Where an object stands in its chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Deltas above it.
    pub(super) depth: u32,
    /// Bytes of all objects from the chain's root to it.
    pub(super) chain_bytes: u64,
}

/// A delta that fits its base and every cap, before a byte of its result exists.
pub(super) struct Proven<'d> {
    pub(super) delta: Delta<'d>,
    pub(super) standing: Standing,
}

/// The caps, and the count of what was resolved.
#[derive(Debug)]
pub(super) struct Rules {
    limits: Limits,
    resolved_bytes: AtomicU64,
}

impl Rules {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), resolved_bytes: AtomicU64::new(0) }
    }

    /// Bytes of all objects so far.
    pub(super) fn resolved_bytes(&self) -> u64 {
        self.resolved_bytes.load(Ordering::Relaxed)
    }

    /// Counts an object of `len` bytes, unless a pack of which `received` bytes are here
    /// may not come to so much.
    pub(super) fn admit(&self, len: u64, received: u64) -> Result<(), LimitExceeded> {
        let limits = &self.limits;
        let by_ratio = limits
            .max_resolved_ratio
            .saturating_mul(received)
            .saturating_add(limits.resolved_allowance_bytes);
        let resolved = self.resolved_bytes.fetch_add(len, Ordering::Relaxed).saturating_add(len);
        check(Which::ResolvedBytes, limits.max_resolved_bytes.min(by_ratio), resolved)
    }

    /// Proves `delta`, which begins at `offset`, against a base. Caps are held against
    /// what it declares before its instructions are read, and then the instructions
    /// against what it declares.
    pub(super) fn prove<'d>(
        &self,
        delta: &'d [u8],
        base_len: usize,
        base: Standing,
        offset: u64,
    ) -> Result<Proven<'d>, PackError> {
        let damaged = |error: DeltaError| PackError::BadDelta { offset, error };
        let sizes = DeltaSizes::parse(delta).map_err(damaged)?;
        let standing = self.below(base, sizes.result)?;
        let delta = Delta::parse(delta, base_len).map_err(damaged)?;
        Ok(Proven { delta, standing })
    }

    /// Where a delta stands that makes `len` bytes from a base that stands at `base`.
    fn below(&self, base: Standing, len: u64) -> Result<Standing, LimitExceeded> {
        self.limits.check_object_bytes(len)?;
        let depth = base.depth.saturating_add(1);
        check(Which::DeltaDepth, u64::from(self.limits.max_delta_depth), u64::from(depth))?;
        let chain_bytes = base.chain_bytes.saturating_add(len);
        check(Which::ChainBytes, self.limits.max_chain_bytes, chain_bytes)?;
        Ok(Standing { depth, chain_bytes })
    }
}
