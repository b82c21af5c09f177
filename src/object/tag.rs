//! Annotated tags: an object, its kind, a name, a tagger and a message.
//!
//! Follows git's `parse_tag_buffer`: object, type and name must be right and come
//! first; the tagger may be missing, as in tags of 2005. Signatures stay part of the
//! message and are not verified.

use bstr::{BStr, BString, ByteSlice as _};

use super::commit::push_header;
use super::header::{Cursor, Headers};
use super::{IdentRef, Kind, ObjectError};
use crate::oid::{ObjectFormat, ObjectId};

/// A tag's content, borrowed.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::object::{Kind, TagRef};
///
/// let bytes = b"object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
///     type tree\ntag empty\n\nnothing in it\n";
/// let tag = TagRef::parse(bytes, ObjectFormat::Sha1)?;
/// assert_eq!((tag.object(), tag.kind()), (ObjectFormat::Sha1.empty_tree(), Kind::Tree));
/// assert!(tag.tagger().is_none());
/// # Ok::<(), gitsip::object::ObjectError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagRef<'a> {
    object: ObjectId,
    kind: Kind,
    name: &'a [u8],
    headers: &'a [u8],
    message: Option<&'a [u8]>,
}

impl<'a> TagRef<'a> {
    /// Reads object, kind and name and finds the message.
    ///
    /// # Errors
    /// When one of the three is missing, or the object is no id of `format`.
    pub fn parse(bytes: &'a [u8], format: ObjectFormat) -> Result<Self, ObjectError> {
        let mut cursor = Cursor::new(bytes, format);
        let object = cursor.required_id("object")?;
        let offset = cursor.offset();
        let kind =
            Kind::from_name(cursor.required("type")?).ok_or(ObjectError::BadKind { offset })?;
        let name = cursor.required("tag")?;
        let (headers, message) = cursor.split_message();
        Ok(Self { object, kind, name, headers, message })
    }

    /// What the tag names.
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// What kind of object that is, as the tag says.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The name inside the tag, which may differ from its ref's.
    pub fn name(&self) -> &'a BStr {
        self.name.as_bstr()
    }

    /// Who made the tag, if it says.
    pub fn tagger(&self) -> Option<IdentRef<'a>> {
        self.headers().find(b"tagger").map(|header| IdentRef::parse(header.folded))
    }

    /// The headers after the name, in order, repeats included.
    pub fn headers(&self) -> Headers<'a> {
        Headers::new(self.headers)
    }

    /// Everything after the first empty line; empty when there is none.
    pub fn message(&self) -> &'a BStr {
        self.message.unwrap_or_default().as_bstr()
    }

    /// A copy that owns its bytes and [encodes](Tag::encode) to the same ones.
    pub fn to_owned(&self) -> Tag {
        Tag {
            object: self.object,
            kind: self.kind,
            name: self.name.into(),
            headers: self.headers.into(),
            message: self.message.map(BString::from),
        }
    }
}

/// A tag to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// What it names.
    pub object: ObjectId,
    /// What kind of object that is.
    pub kind: Kind,
    /// Its name.
    pub name: BString,
    /// The headers after the name as they are stored, each with its line end;
    /// [`push_header`](Self::push_header) adds one.
    pub headers: BString,
    /// What follows the empty line. `None` writes no empty line either.
    pub message: Option<BString>,
}

impl Tag {
    /// A tag without a tagger and with an empty message.
    pub fn new(object: ObjectId, kind: Kind, name: impl Into<BString>) -> Self {
        Self {
            object,
            kind,
            name: name.into(),
            headers: BString::default(),
            message: Some(BString::default()),
        }
    }

    /// Adds a header; a value of several lines is folded.
    pub fn push_header(&mut self, name: &[u8], value: &[u8]) {
        push_header(&mut self.headers, name, value);
    }

    /// Appends the tag's content to `out`. What was parsed comes out as it was, but for
    /// an id that was written in upper case.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            format!("object {}\ntype {}\ntag ", self.object, self.kind).as_bytes(),
        );
        out.extend_from_slice(&self.name);
        out.push(b'\n');
        out.extend_from_slice(&self.headers);
        if let Some(message) = &self.message {
            out.push(b'\n');
            out.extend_from_slice(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "object 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";

    #[test]
    fn tags_are_read_and_come_out_as_they_went_in() {
        for (rest, kind, tagger, message) in [
            ("type tag\ntag t2\ntagger T <t> 1 +0000\n\nm\n", Kind::Tag, Some("T"), "m\n"),
            ("type commit\ntag v0.99\n\nno tagger", Kind::Commit, None, "no tagger"),
            ("type blob\ntag \nx y\n z\n", Kind::Blob, None, ""),
            ("type tree\ntag a b\n", Kind::Tree, None, ""),
        ] {
            let text = format!("{OBJECT}{rest}");
            let tag = TagRef::parse(text.as_bytes(), ObjectFormat::Sha1).unwrap();
            assert_eq!((tag.kind(), tag.message()), (kind, message.into()));
            assert_eq!(tag.tagger().map(|t| t.name.to_string()).as_deref(), tagger);
            let mut out = Vec::new();
            tag.to_owned().encode(&mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_with_its_place() {
        let at = OBJECT.len();
        for (text, want) in [
            ("type tree\n".to_owned(), ObjectError::MissingHeader { header: "object", offset: 0 }),
            ("object x\n".to_owned(), ObjectError::BadId { header: "object", offset: 0 }),
            (OBJECT.to_owned(), ObjectError::MissingHeader { header: "type", offset: at }),
            (format!("{OBJECT}type note\ntag x\n"), ObjectError::BadKind { offset: at }),
            (
                format!("{OBJECT}type tree\n\nm"),
                ObjectError::MissingHeader { header: "tag", offset: at + 10 },
            ),
        ] {
            assert_eq!(TagRef::parse(text.as_bytes(), ObjectFormat::Sha1), Err(want), "{text}");
        }
    }
}
