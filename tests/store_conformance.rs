//! Every store passes the one suite: the memory store, and the disk store in each form
//! in which git keeps objects.

#![allow(clippy::unwrap_used)]

use gitsip::store::conformance::{self, fill_staging};
use gitsip::store::{MemoryStore, Staging as _};
use gitsip::{Budget, Limits};

#[test]
fn the_memory_store_conforms() {
    conformance::run(|format, samples| {
        let store = MemoryStore::new(format, &Budget::new(64 << 20), &Limits::default());
        // Half of them in each form.
        let mut staging = store.stage();
        fill_staging(&mut staging, format, samples);
        for sample in samples.iter().step_by(2) {
            store.insert(sample.kind, &sample.content).unwrap();
        }
        staging.commit().unwrap();
        store
    });
}

#[cfg(feature = "disk")]
mod disk {
    use std::path::Path;

    use gitsip::disk::Repository;
    use gitsip::object::Kind;
    use gitsip::store::conformance::{self, Sample};
    use gitsip::{Budget, Limits, ObjectFormat};

    use crate::support::git::{Repo, Sandbox};

    fn open(path: &Path) -> Repository {
        Repository::open(path, &Limits::default(), &Budget::new(64 << 20)).unwrap()
    }

    /// A repository with the samples as loose objects.
    fn loose(sandbox: &Sandbox, name: &str, format: ObjectFormat, samples: &[Sample]) -> Repo {
        let option = format!("--object-format={format}");
        let repo = sandbox.strict_bare(name, &[&option]);
        for kind in [Kind::Blob, Kind::Tree, Kind::Commit, Kind::Tag] {
            let mut paths = String::new();
            for (i, sample) in samples.iter().enumerate().filter(|(_, s)| s.kind == kind) {
                let path = sandbox.path().join(format!("sample-{i}"));
                std::fs::write(&path, &sample.content).unwrap();
                paths += &format!("{}\n", path.display());
            }
            let args = ["hash-object", "-w", "--literally", "-t", kind.name(), "--stdin-paths"];
            repo.git().bytes_with_input(args, paths.as_bytes());
        }
        repo
    }

    /// Packs the samples with `options`; the loose copies go.
    fn pack(repo: &Repo, format: ObjectFormat, samples: &[Sample], options: &[&str]) {
        let ids: String = samples.iter().map(|sample| format!("{}\n", sample.id(format))).collect();
        let base = repo.path().join("objects/pack/pack");
        let args = [&["-c", "pack.depth=60"], options, &["pack-objects", "-q"]].concat();
        let args = args.iter().map(std::ffi::OsStr::new).chain([base.as_os_str()]);
        repo.git().bytes_with_input(args, ids.as_bytes());
        repo.git().run(["prune-packed"]);
        assert!(repo.git().run(["count-objects"]).starts_with("0 "));
    }

    #[test]
    fn loose_objects_conform() {
        let mut sandboxes = Vec::new();
        conformance::run(|format, samples| {
            let sandbox = Sandbox::new();
            let repo = loose(&sandbox, "a", format, samples);
            sandboxes.push(sandbox);
            open(repo.path())
        });
    }

    #[test]
    fn packs_conform_with_every_kind_of_delta_and_index() {
        for options in [
            &["-c", "repack.useDeltaBaseOffset=true"][..],
            &["-c", "pack.indexVersion=1"],
            &["-c", "core.compression=0"],
        ] {
            let mut sandboxes = Vec::new();
            conformance::run(|format, samples| {
                let sandbox = Sandbox::new();
                let repo = loose(&sandbox, "a", format, samples);
                pack(&repo, format, samples, options);
                sandboxes.push(sandbox);
                open(repo.path())
            });
        }
    }

    #[test]
    fn borrowed_packed_and_loose_objects_together_conform() {
        let mut sandboxes = Vec::new();
        conformance::run(|format, samples| {
            let sandbox = Sandbox::new();
            let (first, rest) = samples.split_at(samples.len() / 3);
            let (second, third) = rest.split_at(rest.len() / 2);
            // Those in the middle are held twice.
            let lender = loose(&sandbox, "lender", format, &[first, second].concat());
            pack(&lender, format, &[first, second].concat(), &[]);
            let borrower = loose(&sandbox, "borrower", format, &[second, third].concat());
            let alternates = borrower.path().join("objects/info/alternates");
            std::fs::write(alternates, "../../lender/objects\n").unwrap();
            sandboxes.push(sandbox);
            open(borrower.path())
        });
    }
}

#[cfg(feature = "disk")]
mod support;
