//! Bytes that are paid for until their last reader lets go.

use bytes::Bytes;

use crate::limits::Reservation;

/// `bytes` as shared bytes; `paid` is given back when the last clone or slice is
/// dropped, so that what an eviction leaves in a reader's hands stays accounted.
pub(crate) fn held(bytes: Vec<u8>, paid: Reservation) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    Bytes::from_owner(Held { bytes, _paid: paid })
}

struct Held {
    bytes: Vec<u8>,
    _paid: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::Budget;

    #[test]
    fn a_slice_keeps_the_whole_paid_for() {
        let budget = Budget::new(100);
        let all = held(vec![7; 80], budget.reserve(80).unwrap());
        let part = all.slice(3..5);
        drop(all);
        assert_eq!(budget.used_bytes(), 80);
        drop(part);
        assert_eq!(budget.used_bytes(), 0);
    }
}
