//! Counters of all requests, in the text format of Prometheus.
//!
//! Names and labels are stable:
//!
//! | name | what |
//! |---|---|
//! | `gitsip_requests_total{kind,outcome}` | requests that are over |
//! | `gitsip_request_seconds_total{kind}` | from their heads to the ends of their answers |
//! | `gitsip_work_seconds_total{kind}` | of these, computing |
//! | `gitsip_requests_active` | requests that are under way |
//! | `gitsip_received_bytes_total`, `gitsip_sent_bytes_total` | bodies |
//! | `gitsip_pack_entries_total{how}` | `copied`, `rebuilt`, `cached` |
//! | `gitsip_memory_bytes`, `gitsip_memory_limit_bytes` | of the budget of all requests |
//! | `gitsip_repositories_open` | repositories that are kept open |
//!
//! `kind` is that of [`Handled`], `outcome` a word of [`Outcome`].

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{Handled, KINDS, Kind, Outcome};

/// What all requests came to.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    kinds: [OfKind; KINDS.len()],
    active: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    copied: AtomicU64,
    rebuilt: AtomicU64,
    cached: AtomicU64,
}

#[derive(Debug, Default)]
struct OfKind {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    took_micros: AtomicU64,
    worked_micros: AtomicU64,
}

impl Metrics {
    pub(super) fn begin(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self, handled: &Handled) {
        let add = |counter: &AtomicU64, more: u64| counter.fetch_add(more, Ordering::Relaxed);
        self.active.fetch_sub(1, Ordering::Relaxed);
        add(&self.received, handled.bytes_in);
        add(&self.sent, handled.bytes_out);
        add(&self.copied, handled.pack.copied);
        add(&self.rebuilt, handled.pack.rebuilt);
        add(&self.cached, handled.pack.cached);
        let of_kind = KINDS.iter().zip(&self.kinds).find(|(kind, _)| **kind == handled.kind);
        let Some((_, of_kind)) = of_kind else { return };
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(0);
        add(&of_kind.took_micros, micros(handled.took));
        add(&of_kind.worked_micros, micros(handled.worked));
        for (outcome, counter) in Outcome::ALL.iter().zip(&of_kind.outcomes) {
            if *outcome == handled.outcome {
                add(counter, 1);
            }
        }
    }

    /// All of it, with what is so `now`: names and values.
    pub(super) fn text(&self, now: &[(&str, u64)]) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, values: &[(String, String)]| {
            // Writing to a string does not fail.
            _ = writeln!(out, "# TYPE {name} {kind}");
            for (labels, value) in values {
                _ = writeln!(out, "{name}{labels} {value}");
            }
        };
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let kinds = || KINDS.iter().map(|kind: &Kind| kind.code()).zip(&self.kinds);
        let requests = kinds().flat_map(|(kind, of_kind)| {
            Outcome::ALL.iter().zip(&of_kind.outcomes).map(move |(outcome, counter)| {
                (format!("{{kind=\"{kind}\",outcome=\"{}\"}}", outcome.code()), value(counter))
            })
        });
        family("gitsip_requests_total", "counter", &requests.collect::<Vec<_>>());
        type Micros = fn(&OfKind) -> &AtomicU64;
        let times: [(&str, Micros); 2] = [
            ("gitsip_request_seconds_total", |of_kind| &of_kind.took_micros),
            ("gitsip_work_seconds_total", |of_kind| &of_kind.worked_micros),
        ];
        for (name, micros) in times {
            let seconds = kinds().map(|(kind, of_kind)| {
                let micros = micros(of_kind).load(Ordering::Relaxed);
                let seconds = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
                (format!("{{kind=\"{kind}\"}}"), seconds)
            });
            family(name, "counter", &seconds.collect::<Vec<_>>());
        }
        let entries =
            [("copied", &self.copied), ("rebuilt", &self.rebuilt), ("cached", &self.cached)];
        let entries = entries.map(|(how, counter)| (format!("{{how=\"{how}\"}}"), value(counter)));
        family("gitsip_pack_entries_total", "counter", &entries);
        let plain = |counter| [(String::new(), value(counter))];
        family("gitsip_received_bytes_total", "counter", &plain(&self.received));
        family("gitsip_sent_bytes_total", "counter", &plain(&self.sent));
        family("gitsip_requests_active", "gauge", &plain(&self.active));
        for (name, value) in now {
            family(name, "gauge", &[(String::new(), value.to_string())]);
        }
        out
    }
}
