//! Many small trees: the resolver beside the least that two threads could do.

use std::time::Instant;

use bytes::Bytes;
use gitsip::limits::{LimitExceeded, NeverInterrupt};
use gitsip::object::{Kind, hash_object};
use gitsip::pack::delta::Delta;
use gitsip::pack::entry::EntryHeader;
use gitsip::pack::inflate::{ExactInflater, deflate};
use gitsip::pack::{EntryStore, Ingest, ResolvedEntry, Streams};
use gitsip::parallel::Pool;
use gitsip::{Budget, Limits, ObjectFormat, ObjectId, Workers};

use crate::packs::{CHILDREN, SMALL, many_roots, marked, text};

/// Times resolving `roots` trees on two threads, and handing each root to one of them.
pub(crate) fn measure(rounds: usize, roots: u32, print: bool) {
    let pack = Bytes::from(many_roots(roots));
    let trees: Vec<Tree> = (0..roots).map(Tree::of).collect();
    let pool = Pool::new(2);
    let (mut resolver, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        resolver.push(resolve(&pack, roots * (1 + CHILDREN), &pool));
        plain.push(hand_out(&trees, &pool));
    }
    if print {
        resolver.sort_by(f64::total_cmp);
        plain.sort_by(f64::total_cmp);
        let (resolver, plain) = (resolver[rounds / 2], plain[rounds / 2]);
        let ratio = resolver / plain;
        println!("\nmany roots, resolved on two threads: {resolver:.3} s");
        println!("  each root handed to a thread: {plain:.3} s; the resolver is {ratio:.3} x");
    }
}

/// The streams of one root and its children, apart from any pack.
struct Tree {
    root: Vec<u8>,
    children: Vec<(Vec<u8>, usize)>,
}

impl Tree {
    fn of(root: u32) -> Self {
        let children = (1..CHILDREN + 1).map(|mark| marked(SMALL, mark));
        let children = children.map(|delta| (deflate(&delta, 6), delta.len())).collect();
        Self { root: deflate(&text(SMALL, root), 6), children }
    }
}

/// In parts of some roots, as nobody would hand out so little one by one.
fn hand_out(trees: &[Tree], pool: &Pool) -> f64 {
    let start = Instant::now();
    let parts: Vec<&[Tree]> = trees.chunks(64).collect();
    pool.run(parts.len(), &|part| {
        let mut inflater = ExactInflater::default();
        let (mut base, mut delta, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for tree in parts[part] {
            inflater.inflate(&tree.root, SMALL as usize, &mut base).unwrap();
            for (stream, size) in &tree.children {
                inflater.inflate(stream, *size, &mut delta).unwrap();
                made.clear();
                Delta::parse(&delta, base.len()).unwrap().apply(&base, &mut made);
                let id = hash_object(ObjectFormat::Sha1, Kind::Blob, &made).unwrap();
                assert_ne!(id, ObjectId::null(ObjectFormat::Sha1));
            }
        }
    });
    start.elapsed().as_secs_f64()
}

fn resolve(pack: &Bytes, objects: u32, pool: &Pool) -> f64 {
    let budget = Budget::new(1 << 30);
    let store = Mapped(pack.clone());
    let mut ingest = Ingest::new(ObjectFormat::Sha1, &Limits::default(), &budget, store);
    ingest.push(pack, &NeverInterrupt).unwrap();
    let start = Instant::now();
    let resolved = ingest.finish_on(pool, &NeverInterrupt).unwrap();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(resolved.entries.len(), objects);
    took
}

/// Keeps nothing: streams are read where they are.
struct Mapped(Bytes);

impl Streams for Mapped {
    fn stream(&self, _: u32, offset: u64) -> &[u8] {
        let entry = &self.0[offset as usize..];
        let (_, len) = EntryHeader::decode(entry, ObjectFormat::Sha1).unwrap().unwrap();
        &entry[len..]
    }
}

impl EntryStore for Mapped {
    type Streams = Self;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn append(&mut self, _: &[u8]) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn lend_streams(&mut self) -> Self {
        Self(self.0.clone())
    }

    fn take_streams_back(&mut self, _: Self) {}

    fn resolved(&mut self, _: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn content(&self, _: u32) -> Option<Bytes> {
        None
    }

    fn external(&self, _: &ObjectId) -> Option<(Kind, Bytes)> {
        None
    }
}
