//! What is refused leaves nothing behind.

use super::*;
use gitsip::pack::delta::{self, DeltaEncoder};
use gitsip::pack::inflate::deflate;
use pack_builder::{BLOB, PackBuilder, blob_id};

/// Packs that git refuses too, each with a word of the answer.
fn refused() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |word, build: &dyn Fn(&mut PackBuilder)| {
        let mut pack = PackBuilder::sha1();
        build(&mut pack);
        all.push((word, pack.finish()));
    };
    let to_self = delta::encode(b"abc", b"abc");
    add("have no base", &|pack| _ = pack.ref_delta(blob_id(b"abc"), &to_self));
    add("have no base", &|pack| {
        pack.ref_delta(blob_id(b"abcd"), &delta::encode(b"abcd", b"abc"));
        pack.ref_delta(blob_id(b"abc"), &delta::encode(b"abc", b"abcd"));
    });
    add("more than", &|pack| _ = pack.entry(BLOB, 10, &[], &deflate(&[0; 4_096], 9)));
    add("fewer than", &|pack| _ = pack.entry(BLOB, 5_000, &[], &deflate(&[0; 4_096], 9)));
    add("invalid type", &|pack| _ = pack.entry(5, 1, &[], &deflate(b"x", 6)));
    add("no entry begins", &|pack| {
        pack.blob(b"x");
        pack.distance_delta(3, &to_self);
    });
    add("1099511627776", &|pack| {
        let base = pack.blob(&[1; 100]);
        let mut encoder = DeltaEncoder::new(100, 1 << 40);
        encoder.copy(0, 100);
        pack.ofs_delta(base, &encoder.finish());
    });
    for (word, bytes) in [
        ("reserved opcode", &[100, 1, 0][..]),
        ("past the end", &[100, 10, 0x91, 95, 10]),
        ("inside an instruction", &[100, 10, 9, 1]),
        ("more bytes", &[100, 10, 0x90, 10, 1, 7]),
        ("fewer bytes", &[100, 11, 0x90, 10]),
        ("base of 99", &[99, 10, 0x90, 10]),
    ] {
        // Many sound ones around it, so that every thread is at work.
        add(word, &|pack| {
            let base = pack.blob(&[0; 100]);
            for n in 0..400_u32 {
                if n == 200 {
                    pack.ofs_delta(base, bytes);
                }
                pack.ofs_delta(base, &delta::encode(&[0; 100], &n.to_be_bytes()));
            }
        });
    }
    let mut sound = PackBuilder::sha1();
    sound.blob(b"text");
    let sound = sound.finish();
    all.push(("missing", sound[..sound.len() / 2].to_vec()));
    let mut flipped = sound.clone();
    *flipped.last_mut().unwrap() ^= 1;
    all.push(("checksum", flipped));
    all.push(("not a pack", b"<html>".to_vec()));
    all.push(("pack", Vec::new()));
    all.push(("trailer", [&sound[..], b"x"].concat()));
    all
}

#[test]
fn what_is_refused_gets_a_status_and_one_line_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let (folder, other) = (sandbox.path().join("refused"), sandbox.path().join("written"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(&other).unwrap();
    let (path, written) = (folder.join("x.pack"), other.join("x.pack"));
    for (word, pack) in refused() {
        std::fs::write(&path, &pack).unwrap();
        for threads in ["1", "2", "4"] {
            check(&gitsip(&["--threads", threads, text(&path)]), word);
            assert_eq!(names_in(&folder), ["x.pack"], "{word}");
        }
        check(&gitsip_with_input(&["--stdin", text(&written)], &pack), word);
        assert_eq!(names_in(&other), [""; 0], "{word}");
        if word != "trailer" {
            let gits = sandbox.git().output(["index-pack", text(&path)]);
            assert!(!gits.status.success(), "{word}");
        }
    }
}

#[track_caller]
fn check(output: &Output, word: &str) {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(matches!(output.status.code(), Some(6 | 7)), "{:?}: {error}", output.status);
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains(word), "{error:?} has no {word:?}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn words_that_make_no_sense_are_usage_errors_and_missing_files_are_missing() {
    for (args, status) in [
        (&["x.txt"][..], 2),
        (&["x.pack", "-o", "x.txt"], 2),
        (&["x.pack", "--fix-thin", "."], 2),
        (&["x.pack", "--object-format", "md5"], 2),
        (&["x.pack", "--threads", "0"], 2),
        (&["x.pack", "--verify", "--stdin"], 2),
        (&["no/such/file.pack"], 3),
    ] {
        assert_eq!(gitsip(args).status.code(), Some(status), "{args:?}");
    }
}

#[test]
fn an_index_that_exists_stays_when_the_pack_is_refused() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("x.pack");
    std::fs::write(&path, b"PACK").unwrap();
    std::fs::write(path.with_extension("idx"), b"an index").unwrap();
    assert_eq!(gitsip(&[text(&path)]).status.code(), Some(7));
    assert_eq!(std::fs::read(path.with_extension("idx")).unwrap(), b"an index");
}
