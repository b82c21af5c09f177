//! Names, locks, and who goes first.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use super::*;

fn fill(folder: &Folder, address: &str, bytes: usize, age: u64) -> Slot {
    let slot = folder.slot(address).unwrap();
    let _lock = slot.lock().unwrap().unwrap();
    let mut file = slot.begin().unwrap();
    file.write_all(&vec![0; bytes]).unwrap();
    let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
    file.set_modified(used).unwrap();
    slot.commit().unwrap();
    slot
}

#[test]
fn the_least_recently_used_go_and_the_newest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().join("c"), 250);
    let old = fill(&folder, "https://h.example/old", 100, 30);
    let used = fill(&folder, "https://h.example/used", 100, 40);
    used.note_use(&used.open().unwrap().unwrap()).unwrap();
    let newest = fill(&folder, "https://h.example/new", 100, 50);
    std::fs::write(dir.path().join("c/notes.txt"), [0; 999]).unwrap();
    folder.make_room(&newest).unwrap();
    let is_kept = |slot: &Slot| slot.open().unwrap().is_some();
    assert_eq!([&old, &used, &newest].map(is_kept), [false, true, true]);
    assert!(dir.path().join("c/notes.txt").exists());
}

#[test]
fn what_is_being_written_is_not_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().join("c"), 50);
    let busy = fill(&folder, "https://h.example/busy", 100, 30);
    let lock = busy.lock().unwrap();
    assert!(lock.is_some() && busy.lock().unwrap().is_none());
    let newest = fill(&folder, "https://h.example/new", 10, 0);
    folder.make_room(&newest).unwrap();
    assert!(busy.open().unwrap().is_some());
    drop(lock);
    folder.make_room(&newest).unwrap();
    assert!(busy.open().unwrap().is_none());
}

#[test]
fn a_file_does_not_grow_over_its_size() {
    let mut file = Capped::new(tempfile::tempfile().unwrap(), 10);
    file.write_all(&[0; 10]).unwrap();
    assert!(file.write_all(&[0]).unwrap_err().to_string().contains("--cache-size"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path().join("deep/c"), 500);
    fill(&folder, "https://h.example/a", 1, 0);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path()), 0o700);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = folder.slot("https://h.example/a").unwrap_err();
    assert!(error.to_string().contains("chmod go-w"), "{error}");
}
