//! How fast is a pack indexed, on one thread and on two, and in how much memory?
//!
//! Measures whole processes, in turn and in the same run: `gitsip index-pack`, `git
//! index-pack`, and `gix` where it is installed, over packs of extreme shapes that are made
//! here (see `packs.rs`) and over packs that are named. Of each: wall time, CPU time of all
//! threads, CPU time of the busiest one (what the wall would be on an idle machine if no
//! thread ever waited), and the peak of anonymous memory, which leaves the mapped pack out.
//! gix also writes a copy of the pack.
//!
//! In the library: many small roots beside handing each of them to a thread, without a
//! queue, a tree or a store.
//!
//! ```text
//! cargo bench --bench index_pack                   1,000 revisions of 1 MB, and so on
//! GITSIP_BENCH_PACK=x.pack:y.pack GITSIP_BENCH_REVISIONS=5000 cargo bench --bench index_pack
//! ```
//!
//! Run as a test it takes small packs once, and checks that each index is git's. Threads and
//! memory are looked up in `/proc` and are 0 elsewhere.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "index_pack/arrival.rs"]
mod arrival;
#[path = "index_pack/one_by_one.rs"]
mod one_by_one;
#[path = "../tests/support/pack_builder.rs"]
mod pack_builder;
#[path = "index_pack/packs.rs"]
mod packs;
#[path = "index_pack/process.rs"]
mod process;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use packs::Named;
use process::Took;

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let folder = tempfile::tempdir().unwrap();
    let revisions = std::env::var("GITSIP_BENCH_REVISIONS").ok().map(|n| n.parse().unwrap());
    let revisions = revisions.unwrap_or(if measured { 1_000 } else { 30 });
    let mut all = packs::extreme(folder.path(), revisions, if measured { 1 << 20 } else { 9_000 });
    let named = std::env::var_os("GITSIP_BENCH_PACK").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|path| path != Path::new(""));
    all.extend(named.map(Named::at));
    let rounds = if measured { 5 } else { 1 };
    for pack in &all {
        let tools = Tool::all(folder.path());
        let mut rows: Vec<Vec<Took>> = tools.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (tool, row) in tools.iter().zip(&mut rows) {
                row.push(tool.index(&pack.path));
            }
        }
        check(folder.path(), &pack.name);
        if measured {
            report(pack, &tools, &rows);
        }
        arrival::measure(&pack.path);
    }
    one_by_one::measure(rounds, if measured { 20_000 } else { 50 }, measured);
}

/// One way to index a pack.
struct Tool {
    name: &'static str,
    threads: &'static str,
    folder: PathBuf,
}

impl Tool {
    fn all(folder: &Path) -> Vec<Self> {
        let has_gix = Command::new("gix").arg("--version").output().is_ok();
        let names = ["gitsip", "git", "gix"].into_iter().filter(|name| has_gix || *name != "gix");
        let both =
            |name| ["1", "2"].map(|threads| Self { name, threads, folder: folder.to_path_buf() });
        names.flat_map(both).collect()
    }

    fn index(&self, pack: &Path) -> Took {
        let index = self.folder.join(format!("{}-{}.idx", self.name, self.threads));
        drop(std::fs::remove_file(&index));
        let copies = tempfile::tempdir_in(&self.folder).unwrap();
        let words: Vec<&OsStr> = match self.name {
            "gitsip" => vec!["--threads".as_ref(), self.threads.as_ref(), "-o".as_ref()],
            "git" => vec!["-o".as_ref()],
            _ => ["--threads", self.threads, "free", "pack", "index", "create", "-p"]
                .map(OsStr::new)
                .to_vec(),
        };
        let mut command = match self.name {
            "gitsip" => Command::new(env!("CARGO_BIN_EXE_gitsip")),
            name => Command::new(name),
        };
        match self.name {
            "gix" => command.args(words).arg(pack).arg(copies.path()),
            name => {
                command.arg("index-pack");
                if name == "git" {
                    command.arg(format!("--threads={}", self.threads));
                }
                command.args(words).args([&index, pack])
            }
        };
        process::run(&mut command)
    }
}

/// What was written is the same whoever wrote it.
fn check(folder: &Path, name: &str) {
    let read = |tool: &str| std::fs::read(folder.join(format!("{tool}.idx"))).unwrap();
    let gits = read("git-1");
    for ours in ["gitsip-1", "gitsip-2"] {
        assert!(read(ours) == gits, "{name}: the index of {ours} is not git's");
    }
}

fn report(pack: &Named, tools: &[Tool], rows: &[Vec<Took>]) {
    let bytes = std::fs::metadata(&pack.path).unwrap().len();
    println!("\n{}, {:.1} MB", pack.name, bytes as f64 / 1e6);
    println!("  {:<10}{:>10}{:>10}{:>12}{:>10}", "", "wall s", "CPU s", "busiest s", "anon MB");
    let medians: Vec<Took> = rows.iter().map(|row| Took::median(row)).collect();
    for (tool, took) in tools.iter().zip(&medians) {
        let Took { wall, cpu, busiest, anonymous_mb } = *took;
        let name = format!("{} {}", tool.name, tool.threads);
        println!("  {name:<10}{wall:>10.3}{cpu:>10.3}{busiest:>12.3}{anonymous_mb:>10.1}");
    }
    let of = |name: &str, threads: &str| {
        let at = tools.iter().position(|tool| tool.name == name && tool.threads == threads);
        at.map(|at| medians[at])
    };
    let ours = |threads| of("gitsip", threads).unwrap();
    for peer in ["git", "gix"] {
        for threads in ["1", "2"] {
            let (Some(peers), ours) = (of(peer, threads), ours(threads)) else { continue };
            println!(
                "  over {peer} {threads}: wall {:.2}, CPU {:.2}, memory {:.2}",
                ours.wall / peers.wall,
                ours.cpu / peers.cpu,
                ours.anonymous_mb / peers.anonymous_mb
            );
        }
    }
    println!(
        "  two threads over one: {:.2} x by wall, {:.2} x by the busiest thread",
        ours("1").wall / ours("2").wall,
        ours("1").cpu / ours("2").busiest
    );
}
