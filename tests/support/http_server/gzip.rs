//! A gzip'ed body (RFC 1952), made of the zlib stream that the crate under test writes.

use gitsip::pack::inflate::deflate;

/// `bytes` in gzip's form.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let zlib = deflate(bytes, 6);
    // Without zlib's own header and checksum.
    let stream = &zlib[2..zlib.len() - 4];
    let mut gzipped = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    gzipped.extend_from_slice(stream);
    gzipped.extend_from_slice(&crc32(bytes).to_le_bytes());
    gzipped.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    gzipped
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
