//! Requests of version 0: written, read back, damaged.

use bstr::BString;
use proptest::prelude::*;

use super::*;
use crate::oid::ObjectId;
use crate::protocol::Filter;
use crate::protocol::fixture::packets;

const A: &str = "1111111111111111111111111111111111111111";

const ALL: Features = Features {
    agent: true,
    allow_reachable: true,
    allow_tip: true,
    deepen_not: true,
    deepen_relative: true,
    deepen_since: true,
    filter: true,
    include_tag: true,
    multi_ack: true,
    multi_ack_detailed: true,
    no_done: true,
    no_progress: true,
    object_format: true,
    ofs_delta: true,
    shallow: true,
    side_band: true,
    side_band_64k: true,
    thin_pack: true,
};

fn encoded(request: &FetchRequest, features: &Features) -> Vec<u8> {
    let mut body = Vec::new();
    encode_fetch(request, features, "git/x", ObjectFormat::Sha1, &mut body).unwrap();
    body
}

fn decode(body: &[u8]) -> Result<(FetchRequest, Features), ProtocolError> {
    decode_fetch(body, ObjectFormat::Sha1, &Limits { max_refs: 50, ..Limits::default() })
}

#[test]
fn only_what_is_advertised_is_used_and_the_best_of_it() {
    let wants = vec![A.parse().unwrap()];
    let request = FetchRequest { wants, ofs_delta: true, thin_pack: true, ..Default::default() };
    let body = encoded(&request, &ALL);
    let want = format!("want {A} thin-pack side-band-64k ofs-delta multi_ack_detailed agent=git/x");
    assert!(body.windows(want.len()).any(|at| at == want.as_bytes()), "{}", body.escape_ascii());
    let plain = encoded(&request, &Features::default());
    assert_eq!(plain, [format!("0032want {A}\n").as_bytes(), b"0000"].concat());
    let poor = Features { multi_ack: true, side_band: true, ..Features::default() };
    let (_, used) = decode(&encoded(&request, &poor)).unwrap();
    assert_eq!(used, poor);
}

#[test]
fn damaged_requests_are_typed_errors() {
    let want = format!("want {A} ofs-delta");
    let bad = |line: &str| Err(ProtocolError::bad_line(PLACE, line.as_bytes()));
    let have = format!("have {A}");
    for (lines, error) in [
        (&["done", "0000"][..], bad("done")),
        (&[&want, &have], bad(&have)),
        (&[&want, "0000", &want], bad(&want)),
        (&[&want, "0000", "want-ref x"], bad("want-ref x")),
        (&["want 12", "0000"], bad("want 12")),
        (&[&want, "deepen 0", "0000"], bad("deepen 0")),
        (&[&want], Err(ProtocolError::Truncated { place: PLACE })),
        (&[&want, "0000", "done", "0000"], Err(unexpected(Token::Flush, PLACE))),
        (&[&want, "0000", "done", "done"], Err(ProtocolError::TrailingBytes { place: PLACE })),
        (&[&want, "0001"], Err(unexpected(Token::Delimiter, PLACE))),
    ] {
        assert_eq!(decode(&packets(lines)), error, "{lines:?}");
    }
    let sha256 = format!("want {A} object-format=sha256");
    let wrong =
        ProtocolError::WrongFormat { expected: ObjectFormat::Sha1, found: ObjectFormat::Sha256 };
    assert_eq!(decode(&packets(&[&sha256, "0000"])), Err(wrong));
    let flood = packets(&[format!("want {A}").as_str(); 51]);
    assert!(
        matches!(decode(&flood), Err(ProtocolError::Limit(limit)) if limit.which == Which::Refs)
    );
}

fn requests() -> impl Strategy<Value = FetchRequest> {
    let ids = |least| {
        prop::collection::vec(any::<[u8; 20]>(), least..4).prop_map(|raws| {
            raws.iter().map(|raw| ObjectId::from_raw(raw).unwrap()).collect::<Vec<_>>()
        })
    };
    let names = prop::collection::vec("[a-z/]{1,9}", 1..3)
        .prop_map(|names| names.into_iter().map(BString::from).collect::<Vec<_>>());
    let deepen = prop_oneof![
        Just(Deepen::None),
        (1u32..).prop_map(Deepen::Depth),
        (any::<u64>(), names).prop_map(|(since, not)| Deepen::Bounded { since: Some(since), not }),
    ];
    let filter = prop::option::of(any::<u64>().prop_map(Filter::BlobLimit));
    (any::<[bool; 6]>(), ids(1), ids(0), ids(0), deepen, filter).prop_map(
        |(
            [thin_pack, no_progress, include_tag, ofs_delta, deepen_relative, done],
            wants,
            haves,
            shallow,
            deepen,
            filter,
        )| {
            FetchRequest {
                deepen,
                deepen_relative,
                done,
                filter,
                haves,
                include_tag,
                no_progress,
                ofs_delta,
                shallow,
                thin_pack,
                wants,
                ..FetchRequest::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_damage_never_panics(
        request in requests(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let mut body = encoded(&request, &ALL);
        prop_assert_eq!(decode(&body).unwrap().0, request);
        let at = at.index(body.len());
        body[at] ^= 1 << bit;
        let _ = decode(&body);
    }
}
