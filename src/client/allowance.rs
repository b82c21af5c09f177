//! What may be spent on a host: so many requests, so many bytes.
//!
//! Requests are paid before they are sent, bytes as they come. What an answer takes beyond
//! the last byte that may come ends the transfer there, so that no more than a chunk comes
//! that was not to come. An allowance within another one is paid from both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};

/// What may still be spent; by default everything. A clone is the same allowance.
#[derive(Clone, Debug, Default)]
pub struct Allowance(Vec<Arc<Purse>>);

#[derive(Debug)]
struct Purse {
    max_requests: u64,
    max_bytes: u64,
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// An allowance that is not enough for what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Spent {
    /// Of the bytes that may be received.
    #[error("the {allowed} bytes that may be received for this do not suffice")]
    Bytes {
        /// How many there were.
        allowed: u64,
    },
    /// Of the requests that may be sent.
    #[error("the {allowed} requests that may be sent for this do not suffice")]
    Requests {
        /// How many there were.
        allowed: u64,
    },
}

impl Allowance {
    /// So many requests and bytes of response bodies; `None` for as many as it takes.
    pub fn new(max_requests: Option<u64>, max_bytes: Option<u64>) -> Self {
        if max_requests.is_none() && max_bytes.is_none() {
            return Self::default();
        }
        Self(vec![Arc::new(Purse {
            max_requests: max_requests.unwrap_or(u64::MAX),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })])
    }

    /// The same, and no more than what is left of `outer`, from which it is paid too.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        let mut purses = self.0.clone();
        let is_known = |purse: &&Arc<Purse>| self.0.iter().any(|own| Arc::ptr_eq(own, purse));
        purses.extend(outer.0.iter().filter(|purse| !is_known(purse)).cloned());
        Self(purses)
    }

    /// Bytes that may still come; `None` when their number does not matter.
    pub fn bytes_left(&self) -> Option<u64> {
        let limited = self.0.iter().filter(|purse| purse.max_bytes != u64::MAX);
        limited.map(|purse| purse.bytes_left()).min()
    }

    /// Pays for a request that is about to be sent.
    ///
    /// # Errors
    /// When there is none left, or no byte of an answer may come.
    pub fn pay_request(&self) -> Result<(), Spent> {
        for purse in &self.0 {
            if purse.bytes_left() == 0 {
                return Err(purse.no_bytes());
            }
            let allowed = purse.max_requests;
            let more = |spent: u64| (spent < allowed).then(|| spent + 1);
            purse
                .requests
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
                .map_err(|_| Spent::Requests { allowed })?;
        }
        Ok(())
    }

    /// Pays for bytes that came.
    ///
    /// # Errors
    /// When they are more than could come.
    pub fn pay_bytes(&self, bytes: u64) -> Result<(), Spent> {
        let mut paid = Ok(());
        for purse in &self.0 {
            let before = purse.bytes.fetch_add(bytes, Ordering::Relaxed);
            if before.saturating_add(bytes) > purse.max_bytes {
                paid = Err(purse.no_bytes());
            }
        }
        paid
    }

    /// That the bytes do not suffice for what would have to come next.
    pub fn too_few_bytes(&self) -> Spent {
        let least = self.0.iter().min_by_key(|purse| purse.bytes_left());
        least.map_or(Spent::Bytes { allowed: 0 }, |purse| purse.no_bytes())
    }
}

impl Purse {
    fn bytes_left(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes.load(Ordering::Relaxed))
    }

    fn no_bytes(&self) -> Spent {
        Spent::Bytes { allowed: self.max_bytes }
    }
}

impl From<Spent> for Error {
    fn from(spent: Spent) -> Self {
        let (code, field) = match spent {
            Spent::Bytes { .. } => ("bytes_spent", "max_bytes"),
            Spent::Requests { .. } => ("requests_spent", "max_requests"),
        };
        Self::new(ErrorKind::Limit, format!("{spent}; allow more with {field}"))
            .with_code(code)
            .with_source(spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_limited_is_never_spent() {
        let all = Allowance::default();
        assert_eq!((all.pay_request(), all.pay_bytes(u64::MAX)), (Ok(()), Ok(())));
        assert_eq!((all.pay_bytes(u64::MAX), all.bytes_left()), (Ok(()), None));
        let some = Allowance::new(Some(1), None);
        assert_eq!((some.pay_bytes(u64::MAX), some.bytes_left()), (Ok(()), None));
    }

    #[test]
    fn an_allowance_ends_at_its_numbers() {
        let some = Allowance::new(Some(2), Some(10));
        assert_eq!((some.pay_request(), some.clone().pay_request()), (Ok(()), Ok(())));
        assert_eq!(some.pay_request(), Err(Spent::Requests { allowed: 2 }));
        assert_eq!((some.pay_bytes(9), some.bytes_left()), (Ok(()), Some(1)));
        assert_eq!(some.pay_bytes(2), Err(Spent::Bytes { allowed: 10 }));
        assert_eq!((some.pay_bytes(0).is_err(), some.bytes_left()), (true, Some(0)));
        let none = Allowance::new(None, Some(0));
        assert_eq!(none.pay_request(), Err(Spent::Bytes { allowed: 0 }));
    }

    #[test]
    fn one_within_another_is_paid_from_both() {
        let outer = Allowance::new(Some(3), Some(100));
        let inner = Allowance::new(Some(2), None).within(&outer).within(&outer);
        assert_eq!((inner.pay_request(), inner.pay_bytes(60)), (Ok(()), Ok(())));
        assert_eq!((inner.bytes_left(), outer.bytes_left()), (Some(40), Some(40)));
        assert_eq!((outer.pay_request(), outer.pay_request()), (Ok(()), Ok(())));
        assert_eq!(inner.pay_request(), Err(Spent::Requests { allowed: 3 }));
        assert_eq!(inner.too_few_bytes(), Spent::Bytes { allowed: 100 });
    }
}
