//! Files and parts of them, as much as fits a page. A page ends behind a line, and within
//! one only where a line is longer than a page.

use bytes::Bytes;

use super::super::cursor::{Meaning, Position};
use super::super::query::ReadQuery;
use super::super::results::{
    Cut, Envelope, Failure, File, FilePart, ReadAnswer, ReadError, ReadItem, Truncated,
};
use super::super::snapshot::ReadOptions;
use super::super::source::Source;
use super::page::Offered;
use super::weigh::{char_bytes, text_bytes};
use super::{Ask, Call, Ended, bad_place, check_sizes};
use crate::error::{Error, ErrorKind};
use crate::view::lines::{LineRange, slice_lines};

/// Bytes of a line that a page takes at least.
const MIN_LINE_BYTES: u64 = 256;

impl Ask for ReadQuery {
    type Item = ReadItem;
    const METHOD: &str = "read";

    async fn run<S: Source, F: FnMut(ReadItem) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        check_sizes(0, self.paths.len())?;
        if self.paths.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "no path given; name a file to read"));
        }
        let lines = self.lines.unwrap_or(LineRange::ALL);
        let meaning = Meaning::of(Self::METHOD).text(&self.at).texts(&self.paths);
        let meaning = meaning.number(lines.first).optional(lines.last);
        let question = meaning.number(self.no_follow.into()).question();
        let call = call.bounded(self.budget.max_results, self.max_bytes);
        let cursor = self.cursor.as_ref();
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let (first, mut offset) = match asking.at {
            None => (0, 0),
            Some(Position::Part { path, offset }) => (path, offset),
            Some(_) => return Err(bad_place()),
        };
        let rest = usize::try_from(first).ok().and_then(|first| self.paths.get(first..));
        let rest = rest.ok_or_else(bad_place)?;
        let options = ReadOptions { follow: !self.no_follow };
        let read = match asking.snapshot.read_many(rest, options).await {
            Ok(read) => read,
            Err(error) => return asking.answer("gitsip.read/1", Err(error)),
        };
        let mut lines_left = self.limit.unwrap_or(u64::MAX).max(1);
        let (mut truncated, mut next, mut beside) = (None, None, 0_u64);
        for ((answer, path), number) in read.into_iter().zip(rest).zip(first..) {
            let mut goes_on = None;
            let item = match answer {
                Ok(ReadAnswer::File(file)) => {
                    let left = asking.page.bytes_left().saturating_sub(beside);
                    let room =
                        Room { lines: lines_left, bytes: left, per_line: self.bytes_per_line };
                    let part = part_of(file, lines, offset, room)?;
                    lines_left -= part.lines.min(lines_left);
                    beside = beside.saturating_add(part.lines.saturating_mul(self.bytes_per_line));
                    goes_on = part.goes_on;
                    ReadItem::File(part.file)
                }
                Ok(ReadAnswer::Submodule(submodule)) => ReadItem::Submodule(submodule),
                Err(error) => {
                    let error = Failure::from(&error);
                    ReadItem::Error(ReadError { path: path.clone(), error })
                }
            };
            if let Offered::Refused(why) = asking.page.offer(item)? {
                (truncated, next) = (Some(why), Some((number, offset)));
                break;
            }
            offset = 0;
            if let Some((why, at)) = goes_on {
                (truncated, next) = (Some(why), Some((number, at)));
                break;
            }
            if (lines_left == 0 || asking.page.is_full()) && number + 1 < self.paths.len() as u64 {
                (truncated, next) = (Some(Truncated::Limit), Some((number + 1, 0)));
                break;
            }
        }
        let next = next.map(|(path, offset)| Position::Part { path, offset });
        let ended = Ended { truncated, next, search: None };
        Ok(asking.end("gitsip.read/1", ended))
    }
}

/// What a page has left.
#[derive(Clone, Copy)]
struct Room {
    lines: u64,
    bytes: u64,
    /// Bytes that a line takes beside its text.
    per_line: u64,
}

/// What a page has of a file.
struct Part {
    file: FilePart,
    lines: u64,
    /// Why that is not the rest of it, and where that begins.
    goes_on: Option<(Truncated, u64)>,
}

/// The lines of `file` in `range`, from byte `offset` on, as many as have room.
fn part_of(file: File, range: LineRange, offset: u64, room: Room) -> Result<Part, Error> {
    let all = slice_lines(&file.bytes, range);
    let skipped = usize::try_from(offset).ok().filter(|at| *at <= all.bytes.len());
    let from = skipped.ok_or_else(bad_place)?;
    let rest = all.bytes.slice(from..);
    let (end, lines, full) = fitting(&rest, room);
    let text = rest.slice(..end);
    let first_line = all.first + count_line_ends(&all.bytes.slice(..from));
    let cut = cut_of(&all.bytes, from, from + end);
    let File { path, resolved_path, mode, id, bytes, lfs, .. } = file;
    let has_lines = !text.is_empty();
    let file = FilePart {
        path,
        resolved_path,
        mode,
        blob: id,
        size: bytes.len() as u64,
        first_line: if has_lines { first_line } else { 0 },
        last_line: if has_lines { first_line + lines.saturating_sub(1) } else { 0 },
        total_lines: all.total,
        text,
        cut,
        lfs,
    };
    let goes_on = full.map(|why| (why, (from + end) as u64));
    Ok(Part { file, lines, goes_on })
}

/// How many bytes and lines of `text` have room, and why not all. One line always is
/// begun, so that a page gets on.
fn fitting(text: &Bytes, room: Room) -> (usize, u64, Option<Truncated>) {
    let Room { lines: max_lines, bytes: max_bytes, per_line } = room;
    let (mut end, mut lines, mut bytes) = (0, 0, 0);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if lines == max_lines {
            return (end, lines, Some(Truncated::Limit));
        }
        let more = text_bytes(line).saturating_add(per_line);
        if bytes + more > max_bytes {
            if lines > 0 {
                return (end, lines, Some(Truncated::Bytes));
            }
            let end = beginning(line, max_bytes.max(MIN_LINE_BYTES));
            return (end, 1, (end < text.len()).then_some(Truncated::Bytes));
        }
        (end, lines, bytes) = (end + line.len(), lines + 1, bytes + more);
    }
    (end, lines, None)
}

/// How much of `line` takes `max_bytes` as JSON, in whole characters.
fn beginning(line: &[u8], max_bytes: u64) -> usize {
    let mut bytes = 0;
    let mut end = line.len();
    for (at, &byte) in line.iter().enumerate() {
        // Base64 has four characters for three bytes.
        bytes += char_bytes(byte).max(if byte < 0x80 { 1 } else { 2 });
        if bytes > max_bytes {
            end = at;
            break;
        }
    }
    // A character has at most three bytes behind its first.
    for _ in 0..3 {
        if end > 1 && line.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end -= 1;
        }
    }
    end.max(1)
}

/// What of the first and the last line is outside of `from..to`.
fn cut_of(text: &[u8], from: usize, to: usize) -> Option<Cut> {
    let before = text.get(..from).unwrap_or_default();
    let before_bytes = memchr::memrchr(b'\n', before).map_or(from, |at| from - at - 1);
    let ends_line = text.get(..to).is_some_and(|text| text.ends_with(b"\n"));
    let after = text.get(to..).unwrap_or_default();
    let after_bytes = match ends_line {
        true => 0,
        false => memchr::memchr(b'\n', after).map_or(after.len(), |at| at + 1),
    };
    (before_bytes + after_bytes > 0)
        .then_some(Cut { before_bytes: before_bytes as u64, after_bytes: after_bytes as u64 })
}

fn count_line_ends(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
