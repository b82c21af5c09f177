//! Packs whose deltas stand on objects that are elsewhere.

use std::collections::BTreeSet;

use super::*;
use packs::{history, pack_of};

#[test]
fn a_thin_pack_is_completed_so_that_git_indexes_it_the_same() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let repo = history(&sandbox, format);
        let thin = pack_of(&repo, &["--thin", "--delta-base-offset"], "main\n^main~3\n");
        let option = format_option(format);
        let path = sandbox.path().join("x.pack");

        let alone = gitsip_with_input(&["--stdin", &option, text(&path)], &thin);
        assert_eq!(alone.status.code(), Some(7));
        let names_before = names_in(sandbox.path());
        assert!(!names_before.iter().any(|name| name.starts_with("x.")), "{names_before:?}");

        let args = ["--stdin", "--fix-thin", text(repo.path()), &option, text(&path)];
        let checksum = answer(gitsip_with_input(&args, &thin));
        let ours = std::fs::read(path.with_extension("idx")).unwrap();
        let reverse = std::fs::read(path.with_extension("rev")).unwrap();
        let by_git = sandbox.path().join("git.idx");
        let args = ["index-pack", "--rev-index", &option, "-o", text(&by_git), text(&path)];
        assert_eq!(format!("pack\t{}\n", sandbox.git().run(args)), checksum);
        assert_eq!(ours, std::fs::read(&by_git).unwrap());
        assert_eq!(reverse, std::fs::read(by_git.with_extension("rev")).unwrap());

        // git completes it with the same objects.
        let args = ["index-pack", "--stdin", "--fix-thin"];
        let name = repo.git().bytes_with_input(args, &thin);
        let name = String::from_utf8(name).unwrap();
        let name = name.trim().rsplit('\t').next().unwrap();
        let gits = repo.path().join(format!("objects/pack/pack-{name}.idx"));
        let gits = std::fs::read(gits).unwrap();
        let ids = |index: &[u8]| -> BTreeSet<String> {
            let listing = sandbox.git().bytes_with_input(["show-index", &option], index);
            let listing = String::from_utf8(listing).unwrap();
            listing.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
        };
        assert_eq!(ids(&ours), ids(&gits));
    }
}
