//! How much of a budget a memory store takes for raw copies, and how it pays while it
//! holds the lock that evicting takes.

use crate::limits::{Budget, LimitExceeded, Reservation};

/// `bytes` that must be had by someone whom the budget cannot ask to evict: everything
/// that `evict` can give goes before this is refused.
///
/// `evict` lets go of about as many bytes as it is asked for and says whether it let go
/// of any.
pub(super) fn reserve(
    budget: &Budget,
    bytes: u64,
    evict: &mut dyn FnMut(u64) -> bool,
) -> Result<Reservation, LimitExceeded> {
    loop {
        match budget.reserve_free(bytes) {
            Ok(paid) => return Ok(paid),
            Err(refused) if !evict(bytes) => return Err(refused),
            Err(_) => {}
        }
    }
}

/// `bytes` for a raw copy that is nice to have.
///
/// Copies leave an eighth of the budget alone, so that who shares it (a parser's
/// buffers, a list of refs) is not refused because of them. One that would displace a
/// quarter of all others is not worth it.
pub(super) fn reserve_copy(
    budget: &Budget,
    bytes: u64,
    evict: &mut dyn FnMut(u64) -> bool,
) -> Option<Reservation> {
    while over_share(budget, bytes) {
        if too_large_a_copy(budget, bytes) || !evict(bytes) {
            return None;
        }
    }
    budget.reserve_free(bytes).ok()
}

/// Whether `more` bytes would take the part of the budget that raw copies leave alone.
pub(super) fn over_share(budget: &Budget, more: u64) -> bool {
    budget.used_bytes().saturating_add(more) > copies_share(budget)
}

/// Whether a copy of `bytes`, paid for already, may displace others.
pub(super) fn fits_as_copy(budget: &Budget, bytes: u64) -> bool {
    !over_share(budget, 0) || !too_large_a_copy(budget, bytes)
}

fn too_large_a_copy(budget: &Budget, bytes: u64) -> bool {
    bytes > copies_share(budget) / 4
}

fn copies_share(budget: &Budget) -> u64 {
    let limit = budget.limit_bytes();
    limit - limit / 8
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_had_takes_all_that_can_go() {
        let budget = Budget::new(100);
        let mut copies: Vec<_> = (0..9).map(|_| budget.reserve(10).unwrap()).collect();
        let paid = reserve(&budget, 95, &mut |_| copies.pop().is_some()).unwrap();
        assert_eq!((paid.bytes(), copies.len()), (95, 0));
        assert_eq!(reserve(&budget, 6, &mut |_| false).unwrap_err().seen, 101);
    }

    #[test]
    fn a_copy_leaves_an_eighth_and_does_not_displace_a_quarter() {
        let budget = Budget::new(800);
        let mut copies: Vec<_> = (0..7).map(|_| budget.reserve(100).unwrap()).collect();
        assert!(reserve_copy(&budget, 200, &mut |_| unreachable!()).is_none());
        let copy = reserve_copy(&budget, 150, &mut |_| copies.pop().is_some()).unwrap();
        assert_eq!(copies.len(), 5);
        assert_eq!(budget.used_bytes(), 500 + copy.bytes());
    }
}
