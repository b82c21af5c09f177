//! Packs in any pieces, sound or not.

use super::*;
use crate::object::Kind;
use crate::pack::write::PackWriter;
use proptest::prelude::*;

/// Everything the parser says, with the pieces of each stream put together.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    objects: Option<u32>,
    entries: Vec<(u64, EntryHeader, Vec<u8>)>,
    contents: Vec<Vec<u8>>,
    end: Option<Result<ObjectId, PackError>>,
}

fn listen<'a>(format: ObjectFormat, chunks: impl Iterator<Item = &'a [u8]>) -> Heard {
    let mut parser = PackParser::new(format, &Limits::default(), &Budget::new(1 << 30));
    let mut heard = Heard::default();
    for mut rest in chunks {
        loop {
            let step = match parser.step(rest) {
                Ok(step) => step,
                Err(error) => {
                    assert_eq!(parser.step(b"x"), Err(error));
                    heard.end = Some(Err(error));
                    return heard;
                }
            };
            rest = &rest[step.consumed..];
            match step.event {
                Event::NeedInput => break,
                Event::Header { objects, .. } => heard.objects = Some(objects),
                Event::Entry { offset, header } => {
                    heard.entries.push((offset, header, Vec::new()));
                }
                Event::Stream { bytes, complete } => {
                    heard.entries.last_mut().unwrap().2.extend_from_slice(bytes);
                    if complete {
                        heard.contents.push(parser.inflated().to_vec());
                    }
                }
                Event::Finished { checksum } => assert_eq!(parser.finish(), Ok(checksum)),
            }
        }
        assert!(rest.is_empty());
    }
    heard.end = Some(parser.finish());
    heard
}

fn pack(format: ObjectFormat, contents: &[Vec<u8>], level: u8) -> Vec<u8> {
    let mut writer = PackWriter::new(format, contents.len() as u32).with_level(level);
    for (n, content) in contents.iter().enumerate() {
        match n % 3 {
            0 => writer.whole(Kind::Tree, content),
            1 => writer.ofs_delta(12, content),
            _ => writer.ref_delta(format.empty_tree(), content),
        };
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_split_of_a_pack_sound_or_not_says_the_same(
        contents in prop::collection::vec(prop::collection::vec(0..9u8, 0..400), 0..6),
        sha256: bool,
        level in 0..10u8,
        flip in prop::option::of(any::<prop::sample::Index>()),
        splits in prop::collection::vec(1..60usize, 1..6),
    ) {
        let format = if sha256 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let mut bytes = pack(format, &contents, level);
        if let Some(flip) = flip {
            let bit = flip.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let whole = listen(format, std::iter::once(&bytes[..]));
        if flip.is_none() {
            prop_assert_eq!(&whole.contents, &contents);
            prop_assert!(matches!(whole.end, Some(Ok(_))));
        }
        let mut splits = splits.into_iter().cycle();
        let mut rest = &bytes[..];
        let pieces = std::iter::from_fn(|| {
            let (piece, after) = rest.split_at(rest.len().min(splits.next()?));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        });
        let mut split = listen(format, pieces);
        let mut single = listen(format, bytes.chunks(1));
        // Of an entry that fails, how much of its stream was shown may differ.
        let mut whole = whole;
        if matches!(whole.end, Some(Err(_))) {
            for heard in [&mut whole, &mut split, &mut single] {
                heard.entries.truncate(heard.contents.len());
            }
        }
        prop_assert_eq!(&split, &whole);
        prop_assert_eq!(&single, &whole);
    }
}

#[test]
fn a_large_object_is_inflated_in_steps_of_64_kib() {
    let bytes = pack(ObjectFormat::Sha1, &[vec![0; 1 << 20]], 9);
    let budget = Budget::new(1 << 30);
    let mut parser = PackParser::new(ObjectFormat::Sha1, &Limits::default(), &budget);
    let (mut rest, mut before, mut steps) = (&bytes[..], 0, 0);
    while parser.completed() == 0 {
        let step = parser.step(rest).unwrap();
        rest = &rest[step.consumed..];
        assert!(parser.inflated().len() - before <= Inflater::STEP_BYTES);
        before = parser.inflated().len();
        steps += 1;
    }
    assert!(steps >= 16, "{steps}");
}
