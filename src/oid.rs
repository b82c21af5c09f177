//! Object ids and the hashes that make them: SHA-1 with collision detection, SHA-256.
//!
//! An [`ObjectId`] is `Copy` and knows its format. Tables and indexes store the raw
//! width of their repository (20 or 32 bytes) and make an [`ObjectId`] when asked.
//! Formats are git's: `gitformat-pack`, "hash-function-transition".

use std::fmt;

use sha2::Digest as _;

/// Which hash names the objects of a repository. A repository has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectFormat {
    /// 20 bytes; git's default.
    Sha1,
    /// 32 bytes; `extensions.objectFormat = sha256`.
    Sha256,
}

impl ObjectFormat {
    /// Bytes of a raw id.
    pub const fn raw_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Digits of a hexadecimal id.
    pub const fn hex_len(self) -> usize {
        2 * self.raw_len()
    }

    /// The name that capabilities and config use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// The format called `name`, as in `object-format=sha256`.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"sha1" => Some(Self::Sha1),
            b"sha256" => Some(Self::Sha256),
            _ => None,
        }
    }

    /// The id of the empty tree, which exists in every repository.
    pub fn empty_tree(self) -> ObjectId {
        let hex: &[u8] = match self {
            Self::Sha1 => b"4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => b"6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        };
        ObjectId::from_hex(hex).unwrap_or(ObjectId::null(self))
    }
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of an object: a hash and which hash it is.
///
/// ```
/// use gitsip::ObjectId;
///
/// let id = ObjectId::from_hex(b"4b825dc642cb6eb9a060e54bf8d69288fbee4904")?;
/// assert_eq!(id.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
/// assert_eq!(id.short().to_string(), "4b825dc");
/// assert!(ObjectId::from_hex(b"4B82").is_err());
/// # Ok::<(), gitsip::oid::InvalidId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    format: ObjectFormat,
    /// Zero after the format's width, so that derived comparisons are right.
    bytes: [u8; 32],
}

/// Bytes that are no id: wrong length or not lower-case hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an object id: expected 40 or 64 hexadecimal digits, found {len} bytes")]
pub struct InvalidId {
    /// Length of what was given.
    pub len: usize,
}

impl ObjectId {
    /// The all-zero id, which names nothing.
    pub const fn null(format: ObjectFormat) -> Self {
        Self { format, bytes: [0; 32] }
    }

    /// The id whose raw bytes are `raw`: 20 or 32 of them.
    pub fn from_raw(raw: &[u8]) -> Result<Self, InvalidId> {
        // Known widths, so that each copy is a few moves and no call: trees make
        // millions of ids.
        if let Ok(raw) = <&[u8; 20]>::try_from(raw) {
            let mut bytes = [0; 32];
            bytes[..20].copy_from_slice(raw);
            Ok(Self { format: ObjectFormat::Sha1, bytes })
        } else if let Ok(raw) = <[u8; 32]>::try_from(raw) {
            Ok(Self { format: ObjectFormat::Sha256, bytes: raw })
        } else {
            Err(InvalidId { len: raw.len() })
        }
    }

    /// The id written as `hex`: exactly 40 or 64 digits. Upper case is accepted, as
    /// git does.
    pub fn from_hex(hex: &[u8]) -> Result<Self, InvalidId> {
        let invalid = InvalidId { len: hex.len() };
        let format = match hex.len() {
            40 => ObjectFormat::Sha1,
            64 => ObjectFormat::Sha256,
            _ => return Err(invalid),
        };
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = hex_digit(pair[0]).ok_or(invalid)? << 4 | hex_digit(pair[1]).ok_or(invalid)?;
        }
        Ok(Self { format, bytes })
    }

    /// Which hash this is.
    pub const fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The raw bytes: 20 or 32.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.format.raw_len()]
    }

    /// Whether this is the all-zero id.
    pub fn is_null(&self) -> bool {
        self.bytes == [0; 32]
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> ShortId {
        ShortId(*self)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.as_bytes(), self.format.hex_len())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

impl std::str::FromStr for ObjectId {
    type Err = InvalidId;

    fn from_str(hex: &str) -> Result<Self, InvalidId> {
        Self::from_hex(hex.as_bytes())
    }
}

/// An id shown as its first seven digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortId(ObjectId);

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.0.as_bytes(), 7)
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, raw: &[u8], digits: usize) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 64];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(raw) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    f.write_str(std::str::from_utf8(&hex[..digits]).unwrap_or_default())
}

const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// A SHA-1 whose input carries the marks of a collision attack (SHAttered, SHA-mbles).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("SHA-1 collision attack detected in an object that hashes to {id}")]
pub struct Collision {
    /// The plain SHA-1 of the input, which another input may share.
    pub id: ObjectId,
}

impl From<Collision> for crate::error::Error {
    fn from(collision: Collision) -> Self {
        Self::new(crate::error::ErrorKind::Corrupt, collision.to_string())
            .with_code("sha1_collision")
            .with_source(collision)
    }
}

/// An incremental hash of one object, file or pack.
pub struct Hasher(State);

enum State {
    Sha1(sha1dc::Hasher),
    Sha256(sha2::Sha256),
}

impl Hasher {
    /// A hash of bytes as they are, as for a pack's trailer.
    pub fn new(format: ObjectFormat) -> Self {
        Self(match format {
            ObjectFormat::Sha1 => State::Sha1(sha1dc::Hasher::new()),
            ObjectFormat::Sha256 => State::Sha256(sha2::Sha256::new()),
        })
    }

    /// Takes more input.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha1(hasher) => hasher.update(bytes),
            State::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// The id of everything taken.
    pub fn finish(self) -> Result<ObjectId, Collision> {
        let mut bytes = [0; 32];
        match self.0 {
            State::Sha1(hasher) => {
                let (digest, sound) = match hasher.finalize() {
                    Ok(digest) => (digest, true),
                    Err(collision) => (collision.digest(), false),
                };
                bytes[..20].copy_from_slice(digest.as_bytes());
                let id = ObjectId { format: ObjectFormat::Sha1, bytes };
                if sound { Ok(id) } else { Err(Collision { id }) }
            }
            State::Sha256(hasher) => {
                bytes.copy_from_slice(&hasher.finalize());
                Ok(ObjectId { format: ObjectFormat::Sha256, bytes })
            }
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Sha1(_) => "Hasher(sha1)",
            State::Sha256(_) => "Hasher(sha256)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_nothing() {
        let empty = |format| Hasher::new(format).finish().unwrap().to_string();
        assert_eq!(empty(ObjectFormat::Sha1), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(
            empty(ObjectFormat::Sha256),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn the_empty_trees_are_the_hash_of_an_empty_tree() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let mut hasher = Hasher::new(format);
            hasher.update(b"tree 0\0");
            assert_eq!(hasher.finish().unwrap(), format.empty_tree());
        }
    }

    #[test]
    fn hex_is_exact() {
        let hex = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
        let id: ObjectId = hex.parse().unwrap();
        assert_eq!(id.to_string(), hex);
        assert_eq!(ObjectId::from_raw(id.as_bytes()).unwrap(), id);
        for bad in ["", "4b825dc", "4b825dc642cb6eb9a060e54bf8d69288fbee490g"] {
            assert_eq!(bad.parse::<ObjectId>(), Err(InvalidId { len: bad.len() }));
        }
    }
}
