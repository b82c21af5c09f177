//! How fast are deltas applied, against copying the same bytes?
//!
//! `cargo bench --bench delta`; run as a test it does one round and checks results.

#![allow(clippy::unwrap_used, missing_docs)]

use std::time::{Duration, Instant};

use gitsip::pack::delta::{Delta, DeltaEncoder};

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let json = std::env::args().any(|arg| arg == "--json");
    let (rounds, repeats) = if measured { (101, 4) } else { (1, 1) };
    // What an instruction copies on average: git's deltas of trees copy some 100 bytes
    // between ids, those of text some hundreds, those of large binaries kilobytes.
    for (name, copy, insert) in
        [("trees", 120, 20), ("source", 600, 30), ("short", 24, 8), ("binary", 20_000, 400)]
    {
        let case = Case::new(copy, insert);
        let mut times = [(); 3].map(|()| Vec::new());
        let mut out = Vec::with_capacity(case.target.len());
        for _ in 0..rounds {
            times[0].push(time(repeats, || {
                let delta = Delta::parse(&case.delta, case.base.len()).unwrap();
                assert_eq!(delta.result_len(), case.target.len());
            }));
            times[1].push(time(repeats, || {
                out.clear();
                Delta::parse(&case.delta, case.base.len()).unwrap().apply(&case.base, &mut out);
            }));
            assert_eq!(out, case.target, "{name}");
            times[2].push(time(repeats, || {
                out.clear();
                out.extend_from_slice(std::hint::black_box(&case.target));
            }));
        }
        if !measured {
            continue;
        }
        let [parse, apply, copy] = times.map(|mut times| {
            times.sort();
            let median: Duration = times[times.len() / 2];
            (case.target.len() * repeats) as f64 / median.as_secs_f64() / 1e6
        });
        if json {
            println!(
                "{{\"bench\":\"delta\",\"case\":\"{name}\",\"parse_mb_s\":{parse:.0},\"parse_and_apply_mb_s\":{apply:.0},\"memcpy_mb_s\":{copy:.0}}}"
            );
        } else {
            println!(
                "{name:<8} parse {parse:>7.0} MB/s   parse and apply {apply:>6.0} MB/s   copy {copy:>6.0} MB/s   {:.1} x the copy",
                copy / apply
            );
        }
    }
}

struct Case {
    base: Vec<u8>,
    delta: Vec<u8>,
    target: Vec<u8>,
}

impl Case {
    /// 256 KiB made of copies and inserts of about these lengths.
    fn new(copy: u32, insert: u32) -> Self {
        let mut seed = 7_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let base: Vec<u8> = (0..200_000).map(|_| random(256) as u8).collect();
        let mut instructions = Vec::new();
        let mut target = Vec::new();
        while target.len() < 256 << 10 {
            let len = 1 + copy / 2 + random(copy);
            let offset = random(base.len() as u32 - len);
            target.extend_from_slice(&base[offset as usize..][..len as usize]);
            let fresh: Vec<u8> =
                (0..1 + insert / 2 + random(insert)).map(|_| random(256) as u8).collect();
            target.extend_from_slice(&fresh);
            instructions.push((offset, len, fresh));
        }
        let mut encoder = DeltaEncoder::new(base.len() as u64, target.len() as u64);
        for (offset, len, fresh) in &instructions {
            encoder.copy(*offset, *len).insert(fresh);
        }
        Self { base, delta: encoder.finish(), target }
    }
}

fn time(repeats: usize, mut run: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..repeats {
        run();
    }
    start.elapsed()
}
