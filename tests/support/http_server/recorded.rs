//! What the server remembers of a request and its response.

use super::wire::header;

/// A request, and what was answered so far.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// 0 for the first request.
    pub number: usize,
    /// Which connection it came on, 0 for the first.
    pub connection: usize,
    /// `GET` or `POST`.
    pub method: String,
    /// The path as it was sent.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Without its chunks, but with its content encoding.
    pub body: Vec<u8>,
    /// 0 before there is one.
    pub status: u16,
    /// Bytes of the response's body, without its chunks' framing.
    pub response_bytes: u64,
    /// The response's body, unless [`Behaviour::forget_bodies`] is set.
    pub response_body: Vec<u8>,
    /// Whether the response was sent whole.
    pub complete: bool,
}

impl Recorded {
    /// The first request header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as text, for asserting what was asked.
    pub fn body_text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The pack in a response to `fetch`, taken out of its packets and its band.
    pub fn pack(&self) -> Option<Vec<u8>> {
        let mut pack = Vec::new();
        let mut rest = &self.response_body[..];
        while let Some(digits) = rest.get(..4) {
            let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
            let packet = rest.get(4..length.max(4))?;
            if let Some(bytes) = packet.strip_prefix(b"\x01")
                && (!pack.is_empty() || bytes.starts_with(b"PACK"))
            {
                pack.extend_from_slice(bytes);
            }
            rest = &rest[length.max(4)..];
        }
        (!pack.is_empty()).then_some(pack)
    }
}
