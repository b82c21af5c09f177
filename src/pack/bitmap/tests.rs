//! Bitmap files, sound and damaged.

use super::*;
use crate::oid::Hasher;

const SHA1: ObjectFormat = ObjectFormat::Sha1;
const OBJECTS: u32 = 200;

fn pack() -> ObjectId {
    ObjectId::from_raw(&[7; 20]).unwrap()
}

/// Words as they are, after runs of words of zeros or ones.
fn ewah(parts: &[(bool, u64, &[u64])]) -> Vec<u8> {
    let words = parts.iter().flat_map(|(ones, run, literals)| {
        let marker = u64::from(*ones) | run << 1 | (literals.len() as u64) << 33;
        [&[marker], *literals].concat()
    });
    let words: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    let count = (words.len() / 8) as u32;
    [&OBJECTS.to_be_bytes()[..], &count.to_be_bytes(), &words, &[0; 4]].concat()
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut hasher = Hasher::new(SHA1);
    hasher.update(&bytes);
    bytes.extend(hasher.finish().unwrap().as_bytes());
    bytes
}

/// Of the commits at 3, 9 and 12; the last two by what differs from the one before.
fn file() -> Vec<u8> {
    let mut out = [b"BITM\0\x01\0\x01", &3_u32.to_be_bytes()[..], pack().as_bytes()].concat();
    for kind in 0..4 {
        out.extend(ewah(&[(false, kind, &[1 << kind])]));
    }
    let commits = [
        (3_u32, 0, ewah(&[(true, 2, &[0xf0])])),
        (9, 1, ewah(&[(false, 0, &[1]), (false, 1, &[3])])),
        (12, 1, ewah(&[(false, 3, &[5])])),
    ];
    for (place, back, bits) in commits {
        out.extend(place.to_be_bytes());
        out.extend([back, 0]);
        out.extend(bits);
    }
    with_checksum(out)
}

fn parse(bytes: Vec<u8>) -> Result<PackBitmap<Vec<u8>>, HelperError> {
    PackBitmap::parse(bytes, SHA1, OBJECTS, &pack())
}

#[test]
fn bits_are_those_of_the_commit_and_of_what_differs() {
    let bitmap = parse(file()).unwrap();
    let reached = |place| {
        let mut words = [0; 4];
        bitmap.flip_reached(place, &mut words).then_some(words)
    };
    let ones = u64::MAX;
    assert_eq!(reached(3), Some([ones, ones, 0xf0, 0]));
    assert_eq!(reached(9), Some([ones ^ 1, ones, 0xf3, 0]));
    assert_eq!(reached(12), Some([ones ^ 1, ones, 0xf3, 5]));
    assert_eq!((reached(4), bitmap.len(), bitmap.knows(9)), (None, 3, true));
    for (at, kind) in [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag].into_iter().enumerate() {
        let mut words = [0; 4];
        bitmap.flip_kind(kind, &mut words);
        assert_eq!((words[at], words.iter().sum::<u64>()), (1 << at, 1 << at));
    }
    // Whoever asks with fewer words gets no others.
    assert!(bitmap.flip_reached(12, &mut [0]) && bitmap.flip_reached(12, &mut []));
}

#[test]
fn what_is_damaged_is_refused_or_stays_within_the_pack() {
    let sound = file();
    let body = &sound[..sound.len() - 20];
    for at in 0..body.len() {
        assert!(parse(with_checksum(body[..at].to_vec())).is_err());
        for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
            let mut bytes = body.to_vec();
            bytes[at] = byte;
            let Ok(bitmap) = parse(with_checksum(bytes)) else { continue };
            for place in 0..OBJECTS {
                bitmap.flip_reached(place, &mut [0; 4]);
            }
        }
    }
    let mut flipped = sound.clone();
    flipped[60] ^= 1;
    assert_eq!(parse(flipped).unwrap_err(), HelperError::Checksum);
    let other = ObjectId::null(SHA1);
    let error = PackBitmap::parse(&sound, SHA1, OBJECTS, &other).unwrap_err();
    assert_eq!(error, HelperError::Damaged("name of its pack"));
    // Fewer entries than there are bits of.
    assert!(PackBitmap::parse(&sound, SHA1, 128, &pack()).is_err());
}
