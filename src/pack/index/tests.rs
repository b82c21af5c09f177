//! Indexes of both versions, sound and damaged.

use super::*;
use crate::oid::Hasher;
use proptest::prelude::*;

/// An index of `ids` at `offsets`, as git would write it.
fn build(version: u32, format: ObjectFormat, mut rows: Vec<(ObjectId, u64)>) -> Vec<u8> {
    rows.sort();
    let mut out = Vec::new();
    if version != 1 {
        out.extend(MAGIC);
        out.extend(version.to_be_bytes());
    }
    for byte in 0..=255 {
        let count = rows.iter().filter(|(id, _)| id.as_bytes()[0] <= byte).count();
        out.extend((count as u32).to_be_bytes());
    }
    if version == 1 {
        for (id, offset) in &rows {
            out.extend((*offset as u32).to_be_bytes());
            out.extend(id.as_bytes());
        }
    } else {
        let mut large = Vec::new();
        rows.iter().for_each(|(id, _)| out.extend(id.as_bytes()));
        (0..rows.len() as u32).for_each(|crc| out.extend(crc.to_be_bytes()));
        for (_, offset) in &rows {
            if *offset < 1 << 31 {
                out.extend((*offset as u32).to_be_bytes());
            } else {
                out.extend((LARGE | large.len() as u32).to_be_bytes());
                large.push(*offset);
            }
        }
        large.iter().for_each(|offset| out.extend(offset.to_be_bytes()));
    }
    out.extend(vec![0xab; format.raw_len()]);
    let mut hasher = Hasher::new(format);
    hasher.update(&out);
    out.extend(hasher.finish().unwrap().as_bytes());
    out
}

fn rows(format: ObjectFormat, seeds: &[u16], offset: u64) -> Vec<(ObjectId, u64)> {
    let mut rows: Vec<_> = seeds
        .iter()
        .map(|seed| {
            let mut hasher = Hasher::new(format);
            hasher.update(&seed.to_be_bytes());
            (hasher.finish().unwrap(), offset + u64::from(*seed))
        })
        .collect();
    rows.sort();
    rows.dedup();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_id_is_found_at_its_offset_and_no_other_is(
        seeds in prop::collection::vec(any::<u16>(), 0..200),
        sha256: bool,
        digits in 0..6usize,
        wide: bool,
    ) {
        let format = if sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let stranger = rows(format, &[999], 0)[0].0;
        let seeds: Vec<u16> = seeds.into_iter().filter(|&seed| seed != 999).collect();
        let expected = rows(format, &seeds, if wide { (1 << 31) - 30_000 } else { 0 });
        for version in [1, 2] {
            let bytes = build(version, format, expected.clone());
            let index = PackIndex::parse(&bytes, format).unwrap();
            index.verify_checksum().unwrap();
            prop_assert_eq!(index.len() as usize, expected.len());
            let checksum = ObjectId::from_raw(&vec![0xab; format.raw_len()]).unwrap();
            prop_assert_eq!(index.pack_checksum(), checksum);
            for (at, (id, offset)) in expected.iter().enumerate() {
                prop_assert_eq!(index.find(id), Some(*offset));
                prop_assert_eq!(index.id_at(at as u32), Some(*id));
                let prefix = &id.to_string()[..digits];
                let same = expected.iter().filter(|(id, _)| id.to_string().starts_with(prefix));
                let range = index.prefix_range(prefix.to_uppercase().as_bytes());
                prop_assert_eq!(range.len(), same.count());
                prop_assert!(range.contains(&(at as u32)));
            }
            prop_assert_eq!(index.find(&stranger), None);
            prop_assert_eq!(index.id_at(expected.len() as u32), None);
            prop_assert_eq!(index.crc32_at(0), (version == 2 && !expected.is_empty()).then_some(0));
        }
    }

    #[test]
    fn a_damaged_index_never_panics(
        flips in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        version in 1..3u32,
    ) {
        let format = ObjectFormat::Sha1;
        let expected = rows(format, &[1, 2, 3, 4, 5, 6, 7], (1 << 31) - 4);
        let mut bytes = build(version, format, expected.clone());
        for flip in flips {
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(index) = PackIndexRef::parse(&bytes, format) {
            for (id, _) in &expected {
                index.find(id);
                index.prefix_range(&id.to_string().as_bytes()[..4]);
            }
            for at in 0..index.len().min(100) {
                index.offset_at(at);
                index.id_at(at);
                index.crc32_at(at);
            }
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let format = ObjectFormat::Sha1;
    let good = build(2, format, rows(format, &[1, 2, 3], 0));
    let parse = |bytes: &[u8]| PackIndex::parse(bytes.to_vec(), format).map(|i| i.len());
    assert_eq!(parse(&good), Ok(3));
    assert_eq!(parse(&good[..900]), Err(IndexError::Truncated));
    let actual = good.len() as u64 - 1;
    assert_eq!(parse(&good[..good.len() - 1]), Err(IndexError::Length { objects: 3, actual }));
    let mut version = good.clone();
    version[7] = 3;
    assert_eq!(parse(&version), Err(IndexError::BadVersion(3)));
    let mut fan_out = good.clone();
    fan_out[8] = 1;
    assert_eq!(parse(&fan_out), Err(IndexError::FanOut(1)));
    let mut flipped = good;
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let index = PackIndex::parse(flipped, format).unwrap();
    assert_eq!(index.verify_checksum(), Err(IndexError::Checksum));
}

#[test]
fn a_row_of_large_offsets_that_is_not_there_is_no_offset() {
    let format = ObjectFormat::Sha1;
    let rows = rows(format, &[1], 1 << 40);
    let mut bytes = build(2, format, rows.clone());
    let at = 8 + 1024 + 20 + 4;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
    let index = PackIndex::parse(&bytes, format).unwrap();
    assert_eq!(index.find(&rows[0].0), None);
}
