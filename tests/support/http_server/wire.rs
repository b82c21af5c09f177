//! Just enough HTTP/1.1 for a test server: request heads, bodies by length or in chunks,
//! and response heads. Trusts its clients; it is no example of how to parse a peer.

use std::io::{self, BufRead, Read, Write};

/// A request's first line and headers.
#[derive(Debug)]
pub struct Head {
    pub method: String,
    pub path: String,
    pub query: String,
    /// Whether the client speaks HTTP/1.1, and so understands chunks.
    pub http_1_1: bool,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

/// Reads a head; `None` when the client closed the connection instead.
pub fn read_head(input: &mut impl BufRead) -> io::Result<Option<Head>> {
    let Some(first) = read_line(input)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Err(bad("a request line has three words"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head = Head {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        http_1_1: version == "HTTP/1.1",
        headers: Vec::new(),
    };
    loop {
        let line = read_line(input)?.ok_or_else(|| bad("the head is cut off"))?;
        if line.is_empty() {
            return Ok(Some(head));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has a colon"))?;
        head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// Reads the body that `head` announces.
pub fn read_body(input: &mut impl BufRead, head: &Head) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if header(&head.headers, "transfer-encoding") == Some("chunked") {
        loop {
            let line = read_line(input)?.ok_or_else(|| bad("a chunk is cut off"))?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(digits, 16).map_err(|_| bad("a chunk has a size"))?;
            read_exactly(input, size, &mut body)?;
            if !read_line(input)?.is_some_and(|line| line.is_empty()) {
                return Err(bad("a chunk ends with its line"));
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }
    if let Some(length) = header(&head.headers, "content-length") {
        let length = length.parse().map_err(|_| bad("a length is a number"))?;
        read_exactly(input, length, &mut body)?;
    }
    Ok(body)
}

/// Writes a response's head.
pub fn write_head(
    output: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    output.write_all(head.as_bytes())
}

/// The first header called `name`, which is in lower case.
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// Undoes percent-encoding.
pub fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    decoded
}

/// `bytes` in base 64, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, &b| bits << 8 | u32::from(b));
        let bits = bits << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// A line without its end; `None` at the end of the input.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn read_exactly(input: &mut impl BufRead, size: u64, body: &mut Vec<u8>) -> io::Result<()> {
    let read = input.take(size).read_to_end(body)?;
    if read as u64 == size { Ok(()) } else { Err(bad("the body is cut off")) }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
