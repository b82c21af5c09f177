//! Messages for the tests of this module, written as lines.

use super::encode_line;
use crate::pktline;

/// `lines` as packets, just as they are; `0000`, `0001` and `0002` are themselves.
pub(super) fn packets(lines: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for &line in lines {
        match line {
            "0000" | "0001" | "0002" => out.extend_from_slice(line.as_bytes()),
            _ => pktline::encode(&mut out, line.as_bytes()).unwrap(),
        }
    }
    out
}

/// `lines` with line ends, and the flush that ends a message.
pub(super) fn message(lines: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        encode_line(&mut out, &[line.as_bytes()]).unwrap();
    }
    out.extend_from_slice(pktline::FLUSH);
    out
}
