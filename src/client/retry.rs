//! Whether a request is sent again, and after how long: decided here, waited for by
//! whoever has a clock.
//!
//! All requests of this client only read, so each may be sent twice. Three things are
//! worth it: 429 and 503, which ask for patience, and a connection that ended before any
//! part of an answer came. What fails later is never repeated here: bytes of a pack may
//! have been taken in.

use std::time::Duration;

/// How patient a client is with a host that asks for patience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// How often one request is sent at most because of 429 and 503. 4: with the waits
    /// below that rides out some 7 s of trouble.
    pub max_tries: u32,
    /// The longest single wait; a host that names a longer one is not asked again. 60 s.
    pub max_wait: Duration,
    /// A moment on the transport's clock ([`Transport::now`](super::transport::Transport::now));
    /// a wait that would end after it is not begun.
    pub deadline: Option<Duration>,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self { max_tries: 4, max_wait: Duration::from_secs(60), deadline: None }
    }
}

/// What became of one request so far.
#[derive(Debug)]
pub struct Tries<'a> {
    options: &'a RetryOptions,
    refused: u32,
    was_cut: bool,
}

impl<'a> Tries<'a> {
    /// Of a request that is yet to be sent.
    pub fn new(options: &'a RetryOptions) -> Self {
        Self { options, refused: 0, was_cut: false }
    }

    /// Whether to send the request again, when the connection ended before an answer came:
    /// once, and at once.
    pub fn after_cut(&mut self) -> bool {
        !std::mem::replace(&mut self.was_cut, true)
    }

    /// How long to wait before the request is sent again, when the host answered `status`
    /// and perhaps `named` a time; `None` when that is the answer.
    ///
    /// `now` is on the transport's clock. `jitter` is any number that differs between
    /// clients, so that those which were refused together do not come back together.
    pub fn after_status(
        &mut self,
        status: u16,
        named: Option<Duration>,
        now: Duration,
        jitter: u32,
    ) -> Option<Duration> {
        if !asks_for_patience(status) {
            return None;
        }
        self.refused += 1;
        let wait = named.unwrap_or_else(|| backoff(self.refused, jitter));
        let in_time =
            self.options.deadline.is_none_or(|deadline| now.saturating_add(wait) < deadline);
        let again = self.refused < self.options.max_tries;
        (again && in_time && wait <= self.options.max_wait).then_some(wait)
    }
}

/// Whether `status` says to come back later.
pub fn asks_for_patience(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// The wait that a host names: `retry_after` in seconds, or as a date, which is counted
/// from the host's own `date`, so that no clock here has to be right.
pub fn named_wait(retry_after: Option<&str>, date: Option<&str>) -> Option<Duration> {
    let text = retry_after?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds).min(MAX_NAMED));
    }
    let parse = |text: &str| httpdate::parse_http_date(text).ok();
    let (then, now) = (parse(text)?, parse(date?.trim())?);
    // A moment that has passed is no wait.
    Some(then.duration_since(now).unwrap_or_default().min(MAX_NAMED))
}

/// Half of 1 s, 2 s, 4 s and so on, and up to the whole of it by `jitter`.
fn backoff(refused: u32, jitter: u32) -> Duration {
    let whole = Duration::from_secs(1 << refused.saturating_sub(1).min(MAX_DOUBLINGS));
    whole / 2 + whole.mul_f64(f64::from(jitter) / f64::from(u32::MAX) / 2.0)
}

/// After 32 s the wait grows no more.
const MAX_DOUBLINGS: u32 = 5;
/// A year: longer waits are shown as this, and can be added to any clock.
const MAX_NAMED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn waits_double_and_jitter_is_half_of_them() {
        let options = RetryOptions { max_tries: 8, ..RetryOptions::default() };
        for (jitter, waits) in [(0, [500, 1000, 2000, 4000]), (u32::MAX, [1000, 2000, 4000, 8000])]
        {
            let mut tries = Tries::new(&options);
            for millis in waits {
                let wait = tries.after_status(503, None, secs(9), jitter);
                assert_eq!(wait, Some(Duration::from_millis(millis)));
            }
        }
        assert_eq!(backoff(1000, u32::MAX), secs(32));
    }

    #[test]
    fn the_wait_a_host_names_is_kept_to_the_second() {
        let options = RetryOptions::default();
        let mut tries = Tries::new(&options);
        assert_eq!(tries.after_status(429, Some(secs(7)), secs(0), 1), Some(secs(7)));
        assert_eq!(tries.after_status(429, Some(secs(0)), secs(0), 1), Some(secs(0)));
        assert_eq!(tries.after_status(503, Some(secs(60)), secs(0), 1), Some(secs(60)));
        assert_eq!(tries.after_status(503, Some(secs(1)), secs(0), 1), None, "four tries");
    }

    #[test]
    fn a_wait_that_is_too_long_or_ends_after_the_deadline_is_not_begun() {
        let options = RetryOptions { deadline: Some(secs(100)), ..RetryOptions::default() };
        let wait =
            |named, now| Tries::new(&options).after_status(429, Some(secs(named)), secs(now), 0);
        assert_eq!(wait(61, 0), None);
        assert_eq!(wait(60, 39), Some(secs(60)));
        assert_eq!(wait(60, 40), None);
        assert_eq!(wait(u64::MAX >> 1, 0), None);
    }

    #[test]
    fn other_statuses_are_answers() {
        let options = RetryOptions::default();
        for status in [200, 301, 401, 404, 500, 502, 504] {
            assert_eq!(Tries::new(&options).after_status(status, None, secs(0), 0), None);
        }
    }

    #[test]
    fn a_cut_is_forgiven_once() {
        let options = RetryOptions::default();
        let mut tries = Tries::new(&options);
        assert_eq!([tries.after_cut(), tries.after_cut(), tries.after_cut()], [true, false, false]);
    }

    #[test]
    fn times_are_seconds_or_dates_by_the_hosts_own_clock() {
        let date = Some("Fri, 31 Dec 1999 23:59:00 GMT");
        for (retry_after, date, wait) in [
            (Some("17"), None, Some(secs(17))),
            (Some(" 0 "), date, Some(secs(0))),
            (Some("Fri, 31 Dec 1999 23:59:30 GMT"), date, Some(secs(30))),
            (Some("Friday, 31-Dec-99 23:59:30 GMT"), date, Some(secs(30))),
            (Some("Fri Dec 31 23:59:30 1999"), date, Some(secs(30))),
            (Some("Fri, 31 Dec 1999 23:00:00 GMT"), date, Some(secs(0))),
            (Some("Fri, 31 Dec 1999 23:59:30 GMT"), None, None),
            (Some("99999999999"), None, Some(MAX_NAMED)),
            (Some("Fri, 31 Dec 9999 23:59:30 GMT"), date, Some(MAX_NAMED)),
            (Some("99999999999999999999999"), None, None),
            (Some("-1"), date, None),
            (Some("soon"), date, None),
            (None, date, None),
        ] {
            assert_eq!(named_wait(retry_after, date), wait, "{retry_after:?}");
        }
    }
}
