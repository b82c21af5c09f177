//! A whole repository in a hash table: the plainest store there is.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use bytes::Bytes;
use gitsip::object::Kind;
use gitsip::store::{Header, Object, Objects, PackedEntry, StoreError};
use gitsip::{ObjectFormat, ObjectId};

use super::git::Repo;

/// Every object of a repository, as `git cat-file` prints it.
#[derive(Debug)]
pub struct Loaded {
    format: ObjectFormat,
    objects: HashMap<ObjectId, Object>,
}

impl Loaded {
    /// Nothing.
    pub fn empty(format: ObjectFormat) -> Self {
        Self { format, objects: HashMap::new() }
    }

    /// All that `repo` has now.
    pub fn new(repo: &Repo) -> Self {
        let printed = repo.git().bytes(["cat-file", "--batch", "--batch-all-objects"]);
        let mut objects = HashMap::new();
        let mut rest = printed.as_slice();
        while let Some((header, after)) = rest.split_once_str("\n") {
            let words: Vec<&[u8]> = header.split_str(" ").collect();
            let size: usize = words[2].to_str().unwrap().parse().unwrap();
            let object = Object {
                kind: Kind::from_name(words[1]).unwrap(),
                bytes: Bytes::copy_from_slice(&after[..size]),
            };
            objects.insert(ObjectId::from_hex(words[0]).unwrap(), object);
            rest = &after[size + 1..];
        }
        let format = repo.git().run(["rev-parse", "--show-object-format"]);
        Self { format: ObjectFormat::from_name(format.as_bytes()).unwrap(), objects }
    }
}

impl Objects for Loaded {
    fn format(&self) -> ObjectFormat {
        self.format
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        let header = |o: &Object| Header { kind: o.kind, size: o.bytes.len() as u64 };
        Ok(self.objects.get(id).map(header))
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        Ok(self.objects.get(id).cloned())
    }

    fn packed(&self, _: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        Ok(None)
    }

    fn ids_with_prefix(&self, _: &[u8], _: usize) -> Result<Vec<ObjectId>, StoreError> {
        Ok(Vec::new())
    }
}
