//! Multi-pack indexes, sound and damaged.

use super::*;
use crate::pack::fixture::chunked;

fn id(format: ObjectFormat, number: u8) -> ObjectId {
    let mut raw = vec![number; format.raw_len()];
    raw[1] = 7;
    ObjectId::from_raw(&raw).unwrap()
}

/// Of two packs, that have the ids of even and odd numbers.
fn build(format: ObjectFormat) -> Vec<u8> {
    let ids: Vec<ObjectId> = (0..40).map(|number| id(format, number * 3)).collect();
    let places = (0..40_u32).flat_map(|at| [at % 2, 12 + at]).flat_map(u32::to_be_bytes);
    let names = b"pack-a.idx\0pack-b.idx\0\0\0";
    let hash = if format == ObjectFormat::Sha1 { 1 } else { 2 };
    let header = [b"MIDX", &[1, hash, 4, 0][..], &2_u32.to_be_bytes()].concat();
    chunked(&header, &ids, &[(*b"PNAM", names.to_vec()), (*b"OOFF", places.collect())], format)
}

#[test]
fn each_object_is_found_in_its_pack() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let index = MultiPackIndex::parse(build(format), format).unwrap();
        assert!(index.names().eq([&b"pack-a.idx"[..], b"pack-b.idx"]));
        assert_eq!((index.len(), index.is_empty()), (40, false));
        for at in 0..40 {
            let found = index.id_at(at).unwrap();
            assert_eq!(index.pack_of(&found), Some(at % 2));
        }
        assert_eq!((index.pack_of(&id(format, 1)), index.id_at(40)), (None, None));
    }
}

#[test]
fn damage_is_refused_or_leads_to_no_pack() {
    let format = ObjectFormat::Sha1;
    let sound = build(format);
    for at in 0..sound.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] = byte;
            let Ok(index) = MultiPackIndex::parse(&bytes, format) else { continue };
            for number in 0..40 {
                let pack = index.pack_of(&id(format, number));
                assert!(pack.is_none_or(|pack| pack < 2));
            }
        }
        assert!(MultiPackIndex::parse(&sound[..at], format).is_err());
    }
    let refused = |at: usize, byte: u8, error| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        assert_eq!(MultiPackIndex::parse(&bytes, format).unwrap_err(), error);
    };
    refused(0, b'X', HelperError::BadMagic);
    refused(4, 3, HelperError::BadVersion(3));
    refused(5, 2, HelperError::Format);
    refused(7, 1, HelperError::Damaged("count of base files"));
    refused(11, 3, HelperError::Damaged("list of packs"));
}
