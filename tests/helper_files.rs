//! Do multi-pack indexes, commit-graphs and bitmaps make reads cheaper and never different,
//! whatever state they are in?

#![cfg(all(feature = "disk", unix))]
#![allow(clippy::unwrap_used)]

#[path = "helper_files/bitmap.rs"]
mod bitmap;
#[path = "helper_files/commit_graph.rs"]
mod commit_graph;
#[path = "helper_files/counted.rs"]
mod counted;
#[allow(dead_code, reason = "shared with the tests of serving")]
#[path = "serving/history.rs"]
mod history;
#[path = "helper_files/log.rs"]
mod log;
#[path = "helper_files/multi_pack.rs"]
mod multi_pack;
mod support;

use std::fs;
use std::path::Path;

use gitsip::disk::Repository;
use gitsip::{Budget, Limits};

fn open(path: &Path) -> Repository {
    let limits = Limits::default();
    Repository::open(path, &limits, &Budget::new(limits.max_memory)).unwrap()
}

/// Puts `bytes` in the place of a file that git wrote to be read only.
fn replace(path: &Path, bytes: &[u8]) {
    _ = fs::remove_file(path);
    fs::write(path, bytes).unwrap();
}
