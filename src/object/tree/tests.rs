//! What trees say, sound or not, and the order of their entries.

use proptest::prelude::*;

use super::*;

const ID: &[u8] = b"\x01\x02\x03\x04\x05\0\x07\x08\x09 0123456789";

fn raw(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, name) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(ID);
    }
    bytes
}

#[test]
fn odd_modes_keep_their_number_and_mean_what_git_takes_them_for() {
    for (written, bits, kind, canonical) in [
        ("40000", 0o040000, EntryKind::Tree, "040000"),
        ("040000", 0o040000, EntryKind::Tree, "040000"),
        ("40755", 0o040755, EntryKind::Tree, "040000"),
        ("100644", 0o100644, EntryKind::Blob, "100644"),
        ("100664", 0o100664, EntryKind::Blob, "100644"),
        ("100600", 0o100600, EntryKind::Blob, "100644"),
        ("100775", 0o100775, EntryKind::Executable, "100755"),
        ("120000", 0o120000, EntryKind::Symlink, "120000"),
        ("120664", 0o120664, EntryKind::Symlink, "120000"),
        ("160000", 0o160000, EntryKind::Gitlink, "160000"),
        ("0", 0, EntryKind::Gitlink, "160000"),
    ] {
        let bytes = raw(&[(written, b"x")]);
        let entry = TreeIter::new(&bytes, ObjectFormat::Sha1).next().unwrap().unwrap();
        assert_eq!((entry.mode.bits(), entry.kind()), (bits, kind), "{written}");
        assert_eq!(entry.mode.canonical().to_string(), canonical, "{written}");
        assert_eq!(entry.id.as_bytes(), ID);
    }
}

#[test]
fn every_name_is_found_whatever_the_order() {
    let orders: [&[(&str, &[u8])]; 3] = [
        &[("100644", b"foo"), ("100644", b"foo.c"), ("40000", b"foo")],
        &[("100644", b"foo.c"), ("40000", b"foo")],
        &[("100644", b"z"), ("40000", b"foo"), ("100644", b"a"), ("100644", b"foo.c")],
    ];
    for order in orders {
        let bytes = raw(order);
        let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
        for (_, name) in order {
            let first = order.iter().find(|(_, other)| other == name).unwrap();
            let found = tree.find(name).unwrap().unwrap();
            assert_eq!(format!("{:o}", found.mode.bits()), first.0);
        }
        assert_eq!(tree.find_tree(b"foo").unwrap().unwrap().kind(), EntryKind::Tree);
        assert_eq!(tree.find(b"fo").unwrap(), None);
        assert_eq!(tree.find_tree(b"foo.c").unwrap(), None);
    }
}

#[test]
fn damage_is_reported_where_it_is_and_what_comes_before_is_readable() {
    let sound = raw(&[("100644", b"a")]);
    let at = sound.len();
    for (tail, want) in [
        (&b"100644"[..], ObjectError::BadMode { offset: at }),
        (b" b\0", ObjectError::BadMode { offset: at }),
        (b"100648 b\0", ObjectError::BadMode { offset: at }),
        (b"77777777777777777 b\0", ObjectError::BadMode { offset: at }),
        (b"100644 b", ObjectError::TruncatedTree { offset: at }),
        (b"100644 b\0short", ObjectError::TruncatedTree { offset: at }),
    ] {
        let bytes = [&sound, tail].concat();
        let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
        let mut entries = tree.iter();
        assert_eq!(entries.next().unwrap().unwrap().name, "a");
        assert_eq!(entries.next(), Some(Err(want)));
        assert_eq!(entries.next(), None);
        assert_eq!(tree.find(b"a").unwrap().unwrap().name, "a");
        assert_eq!(tree.find(b"b"), Err(want));
    }
}

#[test]
fn dangerous_names_are_readable_and_hide_nothing() {
    let names = [&b""[..], b".", b"..", b".git", b".g\xe2\x80\x8cit", b"a/b", b"caf\xe9"];
    for name in names {
        let bytes = raw(&[("100644", name), ("100644", b"after")]);
        let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
        assert_eq!(tree.find(name).unwrap().unwrap().name, name);
        assert_eq!(tree.find(b"after").unwrap().unwrap().name, "after");
    }
}

#[test]
fn folders_sort_as_if_they_ended_in_a_slash() {
    let mut tree = Tree::default();
    for (mode, name) in
        [(Mode::TREE, "foo"), (Mode::BLOB, "foo.c"), (Mode::BLOB, "foo0"), (Mode::BLOB, "fo")]
    {
        let id = ObjectId::null(ObjectFormat::Sha256);
        tree.entries.push(TreeEntry { mode, name: name.into(), id });
    }
    tree.sort();
    let names: Vec<_> = tree.entries.iter().map(|e| e.name.to_string()).collect();
    assert_eq!(names, ["fo", "foo.c", "foo", "foo0"]);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        entries in prop::collection::vec(
            (0u32..0o200000, "[^\0]{0,12}", any::<[u8; 32]>()), 0..20
        ),
    ) {
        let tree = Tree {
            entries: entries
                .into_iter()
                .map(|(bits, name, raw)| TreeEntry {
                    mode: Mode::from_bits(bits),
                    name: name.into(),
                    id: ObjectId::from_raw(&raw).unwrap(),
                })
                .collect(),
        };
        let mut bytes = Vec::new();
        tree.encode(&mut bytes);
        prop_assert_eq!(Tree::parse(TreeRef::new(&bytes, ObjectFormat::Sha256)), Ok(tree));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let entries = TreeIter::new(&bytes, format).count();
            prop_assert!(entries <= bytes.len());
        }
    }
}
