//! Packs of extreme shapes.

use std::path::{Path, PathBuf};

use gitsip::ObjectFormat;
use gitsip::pack::delta::DeltaEncoder;

use crate::pack_builder::{PackBuilder, blob_id};

pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Named {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { name: path.display().to_string(), path }
    }
}

/// A chain of `revisions` of a text of `size` bytes, one of a tenth of them, the same
/// revisions all on the first, many small trees, and many deltas by id that come before
/// their bases.
pub(crate) fn extreme(folder: &Path, revisions: u32, size: u32) -> Vec<Named> {
    [
        ("a chain", chain(size, revisions)),
        ("a tenth of it", chain(size, revisions / 10)),
        ("a wide tree", wide(size, revisions)),
        ("many roots", many_roots(revisions * 20)),
        ("reversed, by id", reversed(revisions * 100)),
    ]
    .into_iter()
    .map(|(name, pack)| {
        let path = folder.join(format!("{}.pack", name.replace([' ', ','], "-")));
        std::fs::write(&path, pack).unwrap();
        Named { name: name.to_owned(), path }
    })
    .collect()
}

/// `size` bytes that compress like source text.
pub(crate) fn text(size: u32, seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let words = ["static ", "int ", "return ", "if (", ")\n", "\t", "->", "value", "0x", ", "];
    let mut text = Vec::with_capacity(size as usize + 8);
    while text.len() < size as usize {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        text.extend_from_slice(words[(state >> 33) as usize % words.len()].as_bytes());
    }
    text.truncate(size as usize);
    text
}

/// A delta that puts `mark` somewhere into a text of `size` bytes.
pub(crate) fn marked(size: u32, mark: u32) -> Vec<u8> {
    let at = mark.wrapping_mul(2_654_435_761) % (size - 4);
    let mut encoder = DeltaEncoder::new(u64::from(size), u64::from(size));
    encoder.copy(0, at).insert(&mark.to_be_bytes()).copy(at + 4, size - at - 4);
    encoder.finish()
}

fn chain(size: u32, revisions: u32) -> Vec<u8> {
    let mut pack = PackBuilder::new(ObjectFormat::Sha1);
    let mut base = pack.blob(&text(size, 0));
    for mark in 1..revisions {
        base = pack.ofs_delta(base, &marked(size, mark));
    }
    pack.finish()
}

fn wide(size: u32, revisions: u32) -> Vec<u8> {
    let mut pack = PackBuilder::new(ObjectFormat::Sha1);
    let base = pack.blob(&text(size, 0));
    for mark in 1..revisions {
        pack.ofs_delta(base, &marked(size, mark));
    }
    pack.finish()
}

/// Trees of four objects of 8 KB.
pub(crate) fn many_roots(roots: u32) -> Vec<u8> {
    let mut pack = PackBuilder::new(ObjectFormat::Sha1);
    for root in 0..roots {
        let base = pack.blob(&text(SMALL, root));
        for mark in 1..CHILDREN + 1 {
            pack.ofs_delta(base, &marked(SMALL, mark));
        }
    }
    pack.finish()
}

/// Chains of a thousand deltas by id, each from its end to its root.
fn reversed(objects: u32) -> Vec<u8> {
    let version = |n: u32| [&[7; 40][..], &n.to_be_bytes()].concat();
    let mut pack = PackBuilder::new(ObjectFormat::Sha1);
    for first in (0..objects).step_by(1_000) {
        for n in (first + 1..(first + 1_000).min(objects)).rev() {
            let mut encoder = DeltaEncoder::new(44, 44);
            encoder.copy(0, 40).insert(&n.to_be_bytes());
            pack.ref_delta(blob_id(&version(n - 1)), &encoder.finish());
        }
        pack.blob(&version(first));
    }
    pack.finish()
}

pub(crate) const SMALL: u32 = 8_000;
pub(crate) const CHILDREN: u32 = 3;
