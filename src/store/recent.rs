//! The contents that came last, as bases of deltas that come soon.
//!
//! Once the text arena has what memory there is, blobs that arrive get no raw copy that
//! stays. git writes the deltas of one family side by side, so a short memory of what came
//! last still resolves most of them on arrival. This is it: first in, first out, in a small
//! part of what raw copies leave alone.

use std::collections::VecDeque;

use bytes::Bytes;

use super::raw_cache::{paid_bytes, raw_copy};
use crate::limits::Budget;

/// Contents by the number of their object, which grows.
#[derive(Debug, Default)]
pub(super) struct Recent {
    kept: VecDeque<(u32, Bytes)>,
    /// What they are accounted as.
    bytes: u64,
}

impl Recent {
    /// Keeps the content of `object`, which comes after every other, in place of the first
    /// ones; not when it would displace most of them, or memory is short.
    pub(super) fn keep(&mut self, object: u32, content: &[u8], budget: &Budget) {
        let (bytes, allowed) = (paid_bytes(content.len()), budget.limit_bytes() / SHARE);
        if bytes > allowed / 2 {
            return;
        }
        while self.bytes + bytes > allowed
            && let Some((_, first)) = self.kept.pop_front()
        {
            self.bytes -= paid_bytes(first.len());
        }
        if let Ok(paid) = budget.reserve_free(bytes) {
            self.bytes += bytes;
            self.kept.push_back((object, raw_copy(content, paid)));
        }
    }

    /// The content of `object`, if it is kept.
    pub(super) fn content(&self, object: u32) -> Option<Bytes> {
        let at = self.kept.binary_search_by_key(&object, |&(kept, _)| kept).ok()?;
        self.kept.get(at).map(|(_, content)| content.clone())
    }
}

/// One part in so many of the budget.
const SHARE: u64 = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::{Limits, NeverInterrupt};
    use crate::object::Kind;
    use crate::oid::ObjectFormat;
    use crate::pack::delta;
    use crate::pack::write::PackWriter;
    use crate::pack::{Ingest, IngestStats};
    use crate::store::{MemoryStore, Staging as _};

    /// Families of a text and what it came from, side by side, as git writes them.
    fn families(count: u32, members: u32) -> Vec<u8> {
        let mut pack = PackWriter::new(ObjectFormat::Sha1, count * members);
        for family in 0..count {
            let version = |member: u32| {
                let line = |n: u32| {
                    let of = if n == member { member } else { 0 };
                    format!("{of} {:x}\n", (family * 100 + n).wrapping_mul(2_654_435_761))
                };
                (0..200).map(line).collect::<String>().into_bytes()
            };
            let mut base = pack.whole(Kind::Blob, &version(0));
            for member in 1..members {
                let step = delta::encode(&version(member - 1), &version(member));
                base = pack.ofs_delta(base, &step);
            }
        }
        pack.finish().unwrap()
    }

    fn ingest(pack: &[u8], budget: &Budget) -> IngestStats {
        let store = MemoryStore::new(ObjectFormat::Sha1, budget, &Limits::default());
        let limits = Limits::default();
        let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, budget, store.stage());
        for chunk in pack.chunks(4_096) {
            ingest.push(chunk, &NeverInterrupt).unwrap();
        }
        let (staging, stats) = ingest.finish(&NeverInterrupt).unwrap();
        staging.commit().unwrap();
        stats
    }

    #[test]
    fn little_is_inflated_twice_where_a_fifth_of_all_content_fits() {
        let pack = families(120, 25);
        let ample = ingest(&pack, &Budget::new(64 << 20));
        assert_eq!(ample.inflated_bytes, ample.minimum_inflated_bytes);
        // For the pack and for tables about its entries.
        let needed = pack.len() as u64 + 1_100_000;
        let scarce = ingest(&pack, &Budget::new(needed + ample.resolved_bytes / 5));
        assert_eq!(scarce.resolved_bytes, ample.resolved_bytes);
        let (all, least) = (scarce.inflated_bytes, scarce.minimum_inflated_bytes);
        assert!(all * 4 <= least * 5, "{all} of {least}: {scarce:?}");
    }

    #[test]
    fn the_last_ones_are_kept_within_their_share() {
        let budget = Budget::new(1 << 20);
        let mut recent = Recent::default();
        for object in 0..1_000 {
            recent.keep(object * 2, &[object as u8; 1_000], &budget);
            assert!(budget.used_bytes() <= (1 << 20) / SHARE);
            assert_eq!(recent.content(object * 2).as_deref(), Some(&[object as u8; 1_000][..]));
            assert_eq!(recent.content(object * 2 + 1), None);
        }
        let kept = (0..1_000).filter(|object| recent.content(object * 2).is_some()).count();
        assert!((25..33).contains(&kept), "{kept}");
        assert!((0..1_000 - kept as u32).all(|object| recent.content(object * 2).is_none()));
        recent.keep(2_000, &[0; 20_000], &budget);
        assert_eq!(recent.content(2_000), None, "it would displace most");
        drop(recent);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_free() {
        let budget = Budget::new(1 << 20);
        let all = budget.reserve(1 << 20);
        let mut recent = Recent::default();
        recent.keep(0, b"text", &budget);
        assert_eq!(recent.content(0), None);
        drop(all);
    }
}
