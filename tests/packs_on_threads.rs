//! Are deltas resolved on several threads as they are on one? The same results whoever is
//! faster, threads that work at once, no more memory than allowed, and an end in any case.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "parallel")]

#[path = "packs_on_threads/early.rs"]
mod early;
#[path = "support/pack_builder.rs"]
mod pack_builder;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use gitsip::limits::{Interrupt, Interrupted, LimitExceeded, NeverInterrupt, Which};
use gitsip::object::Kind;
use gitsip::pack::delta::{self, DeltaEncoder};
use gitsip::pack::{BaseLink, EntryStore, Ingest, PackError, Resolved, ResolvedEntry, Streams};
use gitsip::parallel::Pool;
use gitsip::{Budget, Limits, ObjectFormat, Workers};
use pack_builder::{LentStreams, PackBuilder, TestStore, Threads, blob_id, ingest_on};

const SHA1: ObjectFormat = ObjectFormat::Sha1;

/// A delta that puts `mark` at the end of a base of `size` bytes.
fn marked(size: u32, mark: u32) -> Vec<u8> {
    let mut encoder = DeltaEncoder::new(u64::from(size), u64::from(size));
    encoder.copy(0, size - 4).insert(&mark.to_be_bytes());
    encoder.finish()
}

/// One base of `size` bytes and `children` deltas on it.
fn wide(size: u32, children: u32) -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&vec![0; size as usize]);
    for mark in 0..children {
        pack.ofs_delta(base, &marked(size, mark));
    }
    pack.finish()
}

fn chain(size: u32, length: u32) -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let mut base = pack.blob(&vec![0; size as usize]);
    for mark in 0..length {
        base = pack.ofs_delta(base, &marked(size, mark));
    }
    pack.finish()
}

/// Trees of every shape, by offset and by id, forwards and backwards.
fn forest(seed: u64) -> Vec<u8> {
    let version = |n: usize| format!("{}{n}\n", "text ".repeat(n % 50)).into_bytes();
    let mut state = seed;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) as usize % below
    };
    let mut pack = PackBuilder::sha1();
    let mut offsets: Vec<u64> = Vec::new();
    for n in 0..400 {
        let to = |on: usize| delta::encode(&version(on), &version(n));
        let offset = match random(8) {
            0 => pack.blob(&version(n)),
            _ if n == 0 => pack.blob(&version(n)),
            1..=4 => {
                let on = random(n);
                pack.ofs_delta(offsets[on], &to(on))
            }
            5 | 6 => {
                let on = random(n);
                pack.ref_delta(blob_id(&version(on)), &to(on))
            }
            // A base that comes later, and is whole.
            _ => {
                let on = 1_000 + n;
                pack.ref_delta(blob_id(&version(on)), &to(on))
            }
        };
        offsets.push(offset);
    }
    for n in 0..400 {
        pack.blob(&version(1_000 + n));
    }
    pack.finish()
}

fn run(threads: usize, pack: &[u8], budget: &Budget) -> Result<Resolved<TestStore>, PackError> {
    ingest_on(threads, TestStore::forgetful(), SHA1, pack, &Limits::default(), budget)
}

#[test]
fn results_are_the_same_on_any_number_of_threads_in_200_runs() {
    for seed in 0..5 {
        let pack = forest(seed);
        let budget = Budget::new(64 << 20);
        let alone = run(1, &pack, &budget).unwrap();
        assert!(alone.stats.deltas_deferred > 200);
        for round in 0..40 {
            let threads = [1, 2, 4, 16][round % 4];
            let together = run(threads, &pack, &budget).unwrap();
            assert_eq!(together.store.objects, alone.store.objects, "{threads} threads");
            assert_eq!(together.checksum, alone.checksum);
            for entry in 0..alone.entries.len() {
                let of = |resolved: &Resolved<TestStore>| {
                    let entries = &resolved.entries;
                    (entries.id(entry), entries.kind(entry), entries.depth(entry))
                };
                assert_eq!(of(&together), of(&alone));
            }
            let counts = |stats: &gitsip::pack::IngestStats| {
                (stats.deltas_deferred, stats.resolved_bytes, stats.inflated_bytes)
            };
            assert_eq!(counts(&together.stats), counts(&alone.stats));
        }
        drop(alone);
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn a_pool_of_threads_that_is_kept_will_do_too() {
    let (pool, pack) = (Pool::new(3), forest(9));
    let expected = run(1, &pack, &Budget::new(64 << 20)).unwrap().store.ids();
    for _ in 0..30 {
        let budget = Budget::new(64 << 20);
        let mut ingest = Ingest::new(SHA1, &Limits::default(), &budget, TestStore::forgetful());
        ingest.push(&pack, &NeverInterrupt).unwrap();
        let resolved = ingest.finish_on(&pool, &NeverInterrupt).unwrap();
        assert_eq!(resolved.store.ids(), expected);
    }
}

/// Reads of streams that are let go in pairs, so that a pair of threads is proven to be
/// inside at once.
struct Pairs {
    inner: LentStreams,
    waiting: Mutex<(usize, HashSet<ThreadId>)>,
    met: Condvar,
}

impl Streams for Pairs {
    fn stream(&self, entry: u32, offset: u64) -> &[u8] {
        if entry > 0 {
            let mut waiting = self.waiting.lock().unwrap();
            waiting.0 += 1;
            waiting.1.insert(thread::current().id());
            let pair = waiting.0.div_ceil(2);
            self.met.notify_all();
            let alone = |waiting: &mut (usize, HashSet<ThreadId>)| waiting.0 < pair * 2;
            let patience = Duration::from_secs(60);
            let waited = self.met.wait_timeout_while(waiting, patience, alone).unwrap();
            let came = !waited.1.timed_out();
            assert!(came, "nobody else came to make a child of the same base");
        }
        self.inner.stream(entry, offset)
    }
}

struct PairStore(TestStore, usize);

impl EntryStore for PairStore {
    type Streams = Pairs;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.0.begin()
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.0.append(stream)
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        self.0.end()
    }

    fn lend_streams(&mut self) -> Pairs {
        let inner = self.0.lend_streams();
        Pairs { inner, waiting: Mutex::default(), met: Condvar::new() }
    }

    fn take_streams_back(&mut self, streams: Pairs) {
        self.1 = streams.waiting.into_inner().unwrap().1.len();
        self.0.take_streams_back(streams.inner);
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        self.0.resolved(entry)
    }

    fn content(&self, _: u32) -> Option<Bytes> {
        None
    }

    fn external(&self, _: &gitsip::ObjectId) -> Option<(Kind, Bytes)> {
        None
    }
}

#[test]
fn two_threads_make_children_of_one_base_at_once() {
    let pack = wide(1_000, 40);
    let budget = Budget::new(64 << 20);
    let store = PairStore(TestStore::forgetful(), 0);
    let mut ingest = Ingest::new(SHA1, &Limits::default(), &budget, store);
    ingest.push(&pack, &NeverInterrupt).unwrap();
    let resolved = ingest.finish_on(&Threads(2), &NeverInterrupt).unwrap();
    let PairStore(store, threads) = resolved.store;
    assert_eq!((store.ids().len(), threads), (41, 2));
    assert!(
        store.objects.iter().skip(1).flatten().all(|kept| kept.base == Some(BaseLink::Entry(0)))
    );
}

#[test]
fn a_chain_needs_two_buffers_however_many_threads_and_however_long() {
    const SIZE: u32 = 64 << 10;
    for threads in [1, 2, 4] {
        let live = |length| {
            let budget = Budget::new(64 << 20);
            run(threads, &chain(SIZE, length), &budget).unwrap().stats.peak_live_bytes
        };
        assert_eq!(live(100), 2 * u64::from(SIZE), "{threads} threads");
        assert_eq!(live(1_000), 2 * u64::from(SIZE), "{threads} threads");
    }
}

#[test]
fn a_wide_tree_needs_two_buffers_a_thread_and_its_base() {
    const SIZE: u32 = 64 << 10;
    let pack = wide(SIZE, 300);
    for threads in [1, 2, 4] {
        let budget = Budget::new(64 << 20);
        let stats = run(threads, &pack, &budget).unwrap().stats;
        assert!(stats.peak_live_bytes <= (1 + 2 * threads as u64) * u64::from(SIZE));
    }
}

#[test]
fn threads_wait_for_memory_rather_than_exceed_it_or_fail() {
    const SIZE: u32 = 1 << 20;
    let pack = wide(SIZE, 60);
    let enough_for_one = {
        let budget = Budget::new(1 << 30);
        run(1, &pack, &budget).unwrap();
        budget.peak_bytes()
    };
    // What another thread keeps for itself beside its objects.
    let limit = enough_for_one + (64 << 10);
    for _ in 0..5 {
        let budget = Budget::new(limit);
        let resolved = run(4, &pack, &budget).unwrap();
        assert_eq!(resolved.store.ids().len(), 61);
        assert!(budget.peak_bytes() <= limit);
    }
    let too_little = Budget::new(enough_for_one - u64::from(SIZE) / 2);
    for threads in [1, 4] {
        match run(threads, &pack, &too_little).map(|_| ()).unwrap_err() {
            PackError::Limit(limit) => {
                assert_eq!(limit.which, Which::Memory);
                assert!(limit.seen > limit.allowed);
            }
            other => panic!("{other}"),
        }
        assert_eq!(too_little.used_bytes(), 0);
    }
}

#[test]
fn every_spend_may_fail_on_any_thread_and_all_of_them_stop() {
    let pack = forest(3);
    let spends = 400;
    let mut failed = 0;
    for nth in (0..spends).step_by(3) {
        let budget = Budget::failing_after(64 << 20, nth);
        if let Err(error) = run(4, &pack, &budget) {
            assert!(matches!(error, PackError::Limit(_)), "{error}");
            failed += 1;
        }
        assert_eq!(budget.used_bytes(), 0);
    }
    assert!(failed > 5, "{failed}");
}

/// Stops at the nth question, whichever thread asks it.
struct StopsAfter(AtomicUsize);

impl Interrupt for StopsAfter {
    fn check(&self) -> Result<(), Interrupted> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        left.map(|_| ()).map_err(|_| Interrupted::Cancelled)
    }
}

#[test]
fn an_interrupt_stops_all_threads() {
    let pack = wide(64 << 10, 300);
    for questions in [0, 1, 50, 200] {
        let budget = Budget::new(64 << 20);
        let mut ingest = Ingest::new(SHA1, &Limits::default(), &budget, TestStore::forgetful());
        ingest.push(&pack, &NeverInterrupt).unwrap();
        let interrupt = StopsAfter(AtomicUsize::new(questions));
        let error = ingest.finish_on(&Threads(4), &interrupt).map(|_| ()).unwrap_err();
        assert_eq!(error, PackError::Interrupted(Interrupted::Cancelled));
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn a_panic_of_one_thread_ends_the_others() {
    struct Panics;
    impl Interrupt for Panics {
        fn check(&self) -> Result<(), Interrupted> {
            panic!("on purpose")
        }
    }
    let pack = wide(64 << 10, 300);
    let panicked = thread::spawn(move || {
        let budget = Budget::new(64 << 20);
        let mut ingest = Ingest::new(SHA1, &Limits::default(), &budget, TestStore::forgetful());
        ingest.push(&pack, &NeverInterrupt).unwrap();
        drop(ingest.finish_on(&Threads(4), &Panics));
    });
    assert!(panicked.join().is_err());
}

#[test]
fn a_hundred_thousand_deltas_by_id_in_reverse_take_linear_work() {
    let made = |length: u32| {
        let version = |n: u32| [&[7; 40][..], &n.to_be_bytes()].concat();
        let mut pack = PackBuilder::sha1();
        // Chains of a thousand, each in reverse.
        for first in (0..length).step_by(1_000) {
            for n in (first + 1..(first + 1_000).min(length)).rev() {
                pack.ref_delta(blob_id(&version(n - 1)), &marked(44, n));
            }
            pack.blob(&version(first));
        }
        let pack = pack.finish();
        let budget = Budget::new(256 << 20);
        let resolved = run(2, &pack, &budget).unwrap();
        assert_eq!(resolved.entries.len(), length);
        resolved.stats.inflated_bytes
    };
    let (small, large) = (made(10_000), made(100_000));
    // Each stream twice at most: on arrival, and when its base is there.
    assert!(large <= small * 10 + small / 10, "{small} and {large}");
}

#[test]
fn without_threads_to_lend_the_caller_does_it_all() {
    struct One;
    impl Workers for One {
        fn run(&self, _: usize, _: &(dyn Fn(usize) + Sync)) {
            panic!("it need not be split");
        }
    }
    let pack = forest(1);
    let budget = Budget::new(64 << 20);
    let mut ingest = Ingest::new(SHA1, &Limits::default(), &budget, TestStore::forgetful());
    ingest.push(&pack, &NeverInterrupt).unwrap();
    assert_eq!(ingest.finish_on(&One, &NeverInterrupt).unwrap().entries.len(), 800);
}
