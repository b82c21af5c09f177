//! Files of chunks, for tests.

use crate::oid::{Hasher, ObjectFormat, ObjectId};

/// A file of `header`, the sorted `ids` and more chunks, with its checksum.
pub(crate) fn chunked(
    header: &[u8],
    ids: &[ObjectId],
    more: &[([u8; 4], Vec<u8>)],
    format: ObjectFormat,
) -> Vec<u8> {
    let counts = (0..=255).map(|byte| ids.iter().filter(|id| id.as_bytes()[0] <= byte).count());
    let fan_out = counts.flat_map(|count| (count as u32).to_be_bytes()).collect();
    let raw = ids.iter().flat_map(|id| id.as_bytes().to_vec()).collect();
    let chunks = [&[(*b"OIDF", fan_out), (*b"OIDL", raw)][..], more].concat();
    let mut out = header.to_vec();
    let mut offset = (header.len() + (chunks.len() + 1) * 12) as u64;
    for (name, bytes) in &chunks {
        out.extend(name);
        out.extend(offset.to_be_bytes());
        offset += bytes.len() as u64;
    }
    out.extend([0; 4]);
    out.extend(offset.to_be_bytes());
    chunks.iter().for_each(|(_, bytes)| out.extend(bytes));
    let mut hasher = Hasher::new(format);
    hasher.update(&out);
    out.extend(hasher.finish().unwrap().as_bytes());
    out
}
