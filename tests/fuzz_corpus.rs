//! The files of `fuzz/corpus/`, and every beginning of each, do what the fuzz targets
//! assert, without a fuzzer.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "the targets are shared with a crate")]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::path::Path;

#[test]
fn pktline() {
    replay("pktline", targets::pktline);
}

#[test]
fn pack_stream() {
    replay("pack_stream", targets::pack_stream);
}

#[test]
fn pack_threads() {
    replay("pack_threads", targets::pack_threads);
}

#[test]
fn delta() {
    replay("delta", targets::delta);
}

#[test]
fn idx() {
    replay("idx", targets::idx);
}

#[test]
fn fetch_response() {
    replay("fetch_response", targets::fetch_response);
}

#[test]
fn saved() {
    replay("saved", targets::saved);
}

/// Runs `target` with every file of its corpus, whole and cut.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        let input = std::fs::read(&path).unwrap();
        target(&input);
        // Long files are cut at some places only: a cut anywhere is for the fuzzer.
        let step = input.len() / MAX_CUTS + 1;
        for cut in (0..input.len()).step_by(step) {
            target(&input[..cut]);
        }
        files += 1;
    }
    assert!(files > 1, "{} holds nothing to replay", folder.display());
}

const MAX_CUTS: usize = 100;
