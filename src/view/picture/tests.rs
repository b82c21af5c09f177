#![allow(clippy::unwrap_used)]

use super::super::fixture::Fixture;
use super::*;
use crate::limits::NeverInterrupt;
use crate::object::Kind;

fn draw(fixture: &Fixture, root: &ObjectId, path: &str, options: &PictureOptions) -> Picture {
    loop {
        let limits = Limits::default();
        let drawn = picture(fixture, root, path.as_bytes(), options, &limits, &NeverInterrupt);
        match drawn.unwrap() {
            Lookup::Ready(picture) => return picture,
            Lookup::Missing(missing) => fixture.fetch(&missing),
        }
    }
}

fn lines(picture: &Picture) -> Vec<String> {
    let line = |item: &PictureItem| {
        let Counts { files, folders } = item.counts;
        format!("{} {} {folders}+{files} {:?}", item.depth, item.path, item.left_out)
    };
    picture.items.iter().map(line).collect()
}

fn options(max_depth: u32, max_entries: usize) -> PictureOptions {
    PictureOptions { max_depth, max_entries, only_folders: false }
}

const PATHS: [&str; 9] =
    ["README", "a/1", "a/2", "a/b/3", "a/b/4", "a/b/c/5", "big/1", "big/2", "link@=README"];

#[test]
fn folders_are_counted_at_any_depth_and_shown_down_to_one() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let picture = draw(&fixture, &root, "", &options(2, 100));
    assert_eq!(picture.counts, Counts { files: 9, folders: 4 });
    assert_eq!((picture.path.as_slice(), picture.left_out), (&b""[..], 0));
    assert_eq!(
        lines(&picture),
        [
            "1 README 0+0 None",
            "1 a 2+5 Some(0)",
            "2 a/1 0+0 None",
            "2 a/2 0+0 None",
            "2 a/b 1+3 None",
            "1 big 0+2 Some(0)",
            "2 big/1 0+0 None",
            "2 big/2 0+0 None",
            "1 link 0+0 None",
        ]
    );
    let below = draw(&fixture, &root, "a/b/", &options(1, 100));
    assert_eq!(lines(&below), ["1 a/b/3 0+0 None", "1 a/b/4 0+0 None", "1 a/b/c 0+1 None"]);
    let folders = PictureOptions { only_folders: true, ..options(9, 100) };
    let folders = draw(&fixture, &root, "", &folders);
    assert_eq!(
        lines(&folders),
        ["1 a 2+5 Some(0)", "2 a/b 1+3 Some(0)", "3 a/b/c 0+1 Some(0)", "1 big 0+2 Some(0)"]
    );
}

#[test]
fn entries_are_shared_level_by_level() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let shown = |max_entries| lines(&draw(&fixture, &root, "", &options(3, max_entries)));
    assert_eq!(shown(2), ["1 README 0+0 None", "1 a 2+5 Some(3)"]);
    assert_eq!(
        shown(7),
        [
            "1 README 0+0 None",
            "1 a 2+5 Some(1)",
            "2 a/1 0+0 None",
            "2 a/2 0+0 None",
            "1 big 0+2 Some(1)",
            "2 big/1 0+0 None",
            "1 link 0+0 None",
        ],
        "what is left over goes to the folder with more in it"
    );
    assert_eq!(draw(&fixture, &root, "", &options(3, 0)).left_out, 4);
}

#[test]
fn missing_trees_are_asked_for_together_and_no_blob_is() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let whole = draw(&fixture, &root, "", &options(3, 100));
    let folders = whole.items.iter().filter(|item| item.mode == Mode::TREE).map(|item| item.id);
    fixture.hide_all(Kind::Tree, folders);
    fixture.hide_all(Kind::Blob, whole.items.iter().map(|item| item.id));
    assert_eq!(draw(&fixture, &root, "", &options(3, 100)), whole);
}

#[test]
fn what_is_no_folder_or_too_deep_is_an_error() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let limits = Limits::default();
    let options = options(1, 1);
    let draw = |root: &ObjectId, path: &str, limits: &Limits| {
        picture(&fixture, root, path.as_bytes(), &options, limits, &NeverInterrupt)
    };
    assert!(matches!(draw(&root, "README", &limits), Err(ViewError::NotADirectory { .. })));
    assert!(matches!(draw(&root, "reedme", &limits), Err(ViewError::NotFound { .. })));
    let shallow = Limits { max_tree_depth: 2, ..Limits::default() };
    assert!(matches!(draw(&root, "", &shallow), Err(ViewError::Limit(_))));
}
