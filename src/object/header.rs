//! The headers that commits and tags share: `name value` lines, folded onto lines that
//! begin with a space, up to the first empty line.
//!
//! Reading is lazy and linear, repeats and unknown names are kept in order, and nothing
//! is unfolded unless asked for.

use std::borrow::Cow;

use bstr::{BStr, ByteSlice as _};

use super::ObjectError;
use crate::oid::{ObjectFormat, ObjectId};

/// One header, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderRef<'a> {
    /// What stands before the first space.
    pub name: &'a BStr,
    /// The value as it is stored: folded lines still begin with their space.
    pub folded: &'a BStr,
}

impl<'a> HeaderRef<'a> {
    /// The value with its lines unfolded, as for `gpgsig` and `mergetag`.
    pub fn value(&self) -> Cow<'a, BStr> {
        if memchr::memchr(b'\n', self.folded).is_none() {
            return Cow::Borrowed(self.folded);
        }
        Cow::Owned(self.folded.replace(b"\n ", b"\n").into())
    }
}

/// The headers of a commit or tag, in order, repeats included.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    rest: &'a [u8],
}

impl<'a> Headers<'a> {
    pub(super) const fn new(block: &'a [u8]) -> Self {
        Self { rest: block }
    }

    /// The first header called `name`.
    pub fn find(mut self, name: &[u8]) -> Option<HeaderRef<'a>> {
        Iterator::find(&mut self, |header| header.name == name)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = HeaderRef<'a>;

    fn next(&mut self) -> Option<HeaderRef<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr_iter(b'\n', self.rest)
            .find(|&newline| self.rest.get(newline + 1) != Some(&b' '))
            .unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        let (name, folded) = line.split_once_str(b" ").unwrap_or((line, b""));
        Some(HeaderRef { name: name.as_bstr(), folded: folded.as_bstr() })
    }
}

/// The content of a commit or tag, taken apart from the front.
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [u8],
    size: usize,
    format: ObjectFormat,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], format: ObjectFormat) -> Self {
        Self { rest: bytes, size: bytes.len(), format }
    }

    pub(super) fn offset(&self) -> usize {
        self.size - self.rest.len()
    }

    /// The value of the line that begins with `header` and a space, when that is the
    /// next line.
    pub(super) fn optional(&mut self, header: &'static str) -> Option<&'a [u8]> {
        let value = self.rest.strip_prefix(header.as_bytes())?.strip_prefix(b" ")?;
        let end = memchr::memchr(b'\n', value)?;
        self.rest = value.get(end + 1..)?;
        value.get(..end)
    }

    pub(super) fn required(&mut self, header: &'static str) -> Result<&'a [u8], ObjectError> {
        let offset = self.offset();
        self.optional(header).ok_or(ObjectError::MissingHeader { header, offset })
    }

    pub(super) fn required_id(&mut self, header: &'static str) -> Result<ObjectId, ObjectError> {
        let offset = self.offset();
        let hex = self.required(header)?;
        self.id(header, hex, offset)
    }

    pub(super) fn optional_id(
        &mut self,
        header: &'static str,
    ) -> Result<Option<ObjectId>, ObjectError> {
        let offset = self.offset();
        self.optional(header).map(|hex| self.id(header, hex, offset)).transpose()
    }

    fn id(&self, header: &'static str, hex: &[u8], offset: usize) -> Result<ObjectId, ObjectError> {
        ObjectId::from_hex(hex)
            .ok()
            .filter(|id| id.format() == self.format)
            .ok_or(ObjectError::BadId { header, offset })
    }

    /// The remaining headers, each with its line end, and the message after the first
    /// empty line, if there is one.
    pub(super) fn split_message(self) -> (&'a [u8], Option<&'a [u8]>) {
        if let Some(message) = self.rest.strip_prefix(b"\n") {
            return (b"", Some(message));
        }
        match memchr::memmem::find(self.rest, b"\n\n") {
            Some(end) => {
                let (headers, message) = self.rest.split_at(end + 1);
                (headers, message.get(1..))
            }
            None => (self.rest, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_repeated_and_nameless_headers_are_kept_in_order() {
        let block = b"a 1\nsig one\n two\n \n three\nlone\na  2\n odd\nlast";
        let headers: Vec<_> =
            Headers::new(block).map(|h| (h.name.to_string(), h.value().to_string())).collect();
        let want = [
            ("a", "1"),
            ("sig", "one\ntwo\n\nthree"),
            ("lone", ""),
            ("a", " 2\nodd"),
            ("last", ""),
        ];
        assert_eq!(headers, want.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!(Headers::new(block).find(b"a").unwrap().folded, "1");
        assert_eq!(Headers::new(block).find(b"b"), None);
    }
}
