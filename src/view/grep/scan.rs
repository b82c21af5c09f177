//! One pass over the text arena: which texts have a match, and in which lines.
//!
//! What stands side by side is searched as one text; which blob a hit is in is asked
//! afterwards, and only of hits. That is right because each blob is followed by a line
//! feed and no match holds one; in multi-line mode each text is searched alone. The pass is
//! made in chunks, on all threads there are, and no further ahead of the one who asks than
//! it pays: a search that is stopped early has not searched everything.
//!
//! Knows no paths and no files; `whole.rs` goes through those in their order.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::matcher::Matcher;
use crate::limits::{Budget, Interrupt, Interrupted, LimitExceeded, Reservation, Workers};
use crate::store::{Layout, Located};

/// What is to be known of a text that has a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// That it has one.
    First,
    /// How many lines match, at most so many.
    Count(u64),
    /// Which lines match, at most so many.
    Lines(u64),
}

/// What is known of a text that has a match.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known<'a> {
    /// That it is worth a search of its own.
    Something,
    /// So many lines match.
    Count(u64),
    /// These lines match, and no others: their starts and ends in the text.
    Lines(&'a [(u32, u32)]),
}

/// A pass under way.
#[derive(Debug)]
pub(super) struct Scan {
    layout: Arc<Layout>,
    matcher: Matcher,
    depth: Depth,
    /// The texts that are searched, in the order in which they stand.
    order: Vec<u32>,
    /// Of each text its chunk; of one that is searched alone, or not at all, [`NONE`].
    chunk_of: Vec<u32>,
    chunks: Vec<Chunk>,
    /// Bytes of the next wave of chunks.
    wave_bytes: usize,
    /// Bytes searched by the one who asks, without the other threads.
    alone_bytes: usize,
    _paid: Reservation,
}

/// Texts that are near each other in one segment.
#[derive(Debug)]
struct Chunk {
    /// In the order of the scan.
    texts: Range<usize>,
    bytes: usize,
    found: OnceLock<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Sorted by text.
    texts: Vec<(u32, Extent)>,
    lines: Vec<(u32, u32)>,
}

/// [`Known`], with places in place of lines.
#[derive(Debug)]
enum Extent {
    Something,
    Count(u64),
    Lines(Range<usize>),
}

impl Scan {
    /// A pass over the texts of `layout` that are `wanted`, or all of them. Nothing is
    /// searched yet.
    pub(super) fn new(
        layout: Arc<Layout>,
        wanted: Option<&[bool]>,
        matcher: &Matcher,
        depth: Depth,
        budget: &Budget,
    ) -> Result<Self, LimitExceeded> {
        let texts = layout.texts();
        let paid = budget.reserve_free((texts.len() * 2 * size_of::<u32>()) as u64)?;
        let is_wanted = |text: &usize| wanted.is_none_or(|it| it.get(*text) == Some(&true));
        let mut scan = Self {
            matcher: matcher.clone(),
            depth,
            order: Vec::with_capacity(texts.len()),
            chunk_of: vec![NONE; texts.len()],
            chunks: Vec::new(),
            wave_bytes: FIRST_WAVE_BYTES,
            alone_bytes: 0,
            _paid: paid,
            layout: Arc::clone(&layout),
        };
        for (text, located) in texts.iter().enumerate().filter(|(text, _)| is_wanted(text)) {
            if located.len as usize <= MAX_TEXT_BYTES {
                scan.add(text, located);
            }
        }
        Ok(scan)
    }

    /// Adds the next text to the last chunk, or to a new one.
    fn add(&mut self, text: usize, located: &Located) {
        let before = self.order.last().and_then(|&last| self.layout.texts().get(last as usize));
        let near = before.is_some_and(|before| {
            before.segment == located.segment
                && (located.start - before.end()) as usize <= MAX_GAP_BYTES
        });
        let at = self.order.len();
        match self.chunks.last_mut() {
            Some(chunk) if near && chunk.bytes < CHUNK_BYTES => {
                chunk.texts.end = at + 1;
                chunk.bytes += located.len as usize + 1;
            }
            _ => self.chunks.push(Chunk {
                texts: at..at + 1,
                bytes: located.len as usize + 1,
                found: OnceLock::new(),
            }),
        }
        self.order.push(text as u32);
        if let Some(chunk) = self.chunk_of.get_mut(text) {
            *chunk = self.chunks.len() as u32 - 1;
        }
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Searches `text`, and what stands behind it, if that was not done yet.
    pub(super) fn reach(
        &mut self,
        text: usize,
        workers: &impl Workers,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Interrupted> {
        if let Some(&chunk) = self.chunk_of.get(text)
            && self.chunks.get(chunk as usize).is_some_and(|chunk| chunk.found.get().is_none())
        {
            interrupt.check()?;
            self.search_from(chunk as usize, workers);
        }
        Ok(())
    }

    /// What is known of a text that was [reached](Self::reach): nothing if no line matches.
    pub(super) fn known(&self, text: usize) -> Option<Known<'_>> {
        let chunk = self.chunk_of.get(text).and_then(|&chunk| self.chunks.get(chunk as usize));
        let Some(found) = chunk.and_then(|chunk| chunk.found.get()) else {
            return Some(Known::Something);
        };
        let at = found.texts.binary_search_by_key(&(text as u32), |&(text, _)| text).ok()?;
        Some(match &found.texts.get(at)?.1 {
            Extent::Something => Known::Something,
            Extent::Count(lines) => Known::Count(*lines),
            Extent::Lines(range) => {
                Known::Lines(found.lines.get(range.clone()).unwrap_or_default())
            }
        })
    }

    /// Searches chunks from `first` on: that one alone where there is one thread or little
    /// was searched yet, else a wave of them. Waves grow, so that a search which ends soon
    /// costs little and a long one seldom waits for its slowest thread.
    fn search_from(&mut self, first: usize, workers: &impl Workers) {
        if workers.threads() == 1 || self.alone_bytes < ALONE_BYTES {
            self.alone_bytes += self.chunks.get(first).map_or(0, |chunk| chunk.bytes);
            self.search(first);
            return;
        }
        let (mut wave, mut bytes) = (Vec::new(), 0);
        for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
            if bytes >= self.wave_bytes {
                break;
            }
            if chunk.found.get().is_none() {
                wave.push(at);
                bytes += chunk.bytes;
            }
        }
        self.wave_bytes = self.wave_bytes.saturating_mul(4).min(MAX_WAVE_BYTES);
        workers.run(wave.len(), &|part| {
            if let Some(&at) = wave.get(part) {
                self.search(at);
            }
        });
    }

    fn search(&self, at: usize) {
        let Some(chunk) = self.chunks.get(at) else { return };
        let order = self.order.get(chunk.texts.clone()).unwrap_or_default();
        let Some(&first) = order.first() else { return };
        let Some(located) = self.layout.texts().get(first as usize) else { return };
        let mut pass = Pass {
            matcher: &self.matcher,
            segment: self.layout.segment(located.segment),
            texts: self.layout.texts(),
            order,
            depth: self.depth,
            found: Found::default(),
        };
        if self.matcher.is_multi_line() {
            pass.one_by_one()
        } else {
            pass.at_once()
        }
        // Nobody else has it: a chunk is in one wave.
        let _ = chunk.found.set(pass.found);
    }
}

/// The search of one chunk.
struct Pass<'a> {
    matcher: &'a Matcher,
    segment: &'a [u8],
    texts: &'a [Located],
    order: &'a [u32],
    depth: Depth,
    found: Found,
}

impl Pass<'_> {
    fn one_by_one(&mut self) {
        for &text in self.order {
            let Some(located) = self.texts.get(text as usize) else { continue };
            let range = located.start as usize..located.end() as usize;
            if self.segment.get(range).is_some_and(|text| self.matcher.is_match(text)) {
                self.found.texts.push((text, Extent::Something));
            }
        }
    }

    /// Searches from the first text to the last, what stands between them included.
    fn at_once(&mut self) {
        let located = |at: usize| {
            let text = *self.order.get(at)?;
            Some((text, *self.texts.get(text as usize)?))
        };
        let Some((_, last)) = self.order.len().checked_sub(1).and_then(located) else { return };
        let end = (last.end() as usize + 1).min(self.segment.len());
        let all = self.segment.get(..end).unwrap_or_default();
        let (mut at, mut from) = (0, located(0).map_or(0, |(_, first)| first.start as usize));
        while let Some(line) = self.matcher.next_line(all, from) {
            // What begins where a text ends is no line of it: behind its last line feed.
            at += self.order[at..].partition_point(|&text| {
                self.texts.get(text as usize).is_none_or(|it| it.end() as usize <= line.start)
            });
            let Some((text, place)) = located(at) else { break };
            let start = place.start as usize;
            if line.start < start {
                from = start;
                continue;
            }
            let known = (line.start - start, line.end - start);
            let go_on = self.found.add(text, known, self.depth);
            from = if go_on { line.end + 1 } else { place.end() as usize + 1 };
        }
    }
}

impl Found {
    /// Adds a line of `text`; whether another one of it is wanted.
    fn add(&mut self, text: u32, (start, end): (usize, usize), depth: Depth) -> bool {
        if self.texts.last().is_none_or(|&(last, _)| last != text) {
            let extent = match depth {
                Depth::First => Extent::Count(1),
                Depth::Count(_) => Extent::Count(0),
                Depth::Lines(_) if self.lines.len() < MAX_LINES => {
                    Extent::Lines(self.lines.len()..self.lines.len())
                }
                Depth::Lines(_) => Extent::Something,
            };
            self.texts.push((text, extent));
        }
        let Some((_, extent)) = self.texts.last_mut() else { return false };
        match (extent, depth) {
            (Extent::Count(lines), Depth::Count(most)) => {
                *lines += 1;
                *lines < most
            }
            (extent @ Extent::Lines(_), _) if self.lines.len() >= MAX_LINES => {
                *extent = Extent::Something;
                false
            }
            (Extent::Lines(range), Depth::Lines(most)) => {
                self.lines.push((start as u32, end as u32));
                range.end += 1;
                (range.len() as u64) < most
            }
            _ => false,
        }
    }
}

/// What one thread searches between two looks around: an interrupt is heard some 100
/// microseconds late, and 256 KiB of a segment are still in a core's own cache when its
/// lines are shown.
const CHUNK_BYTES: usize = 256 << 10;
/// What is searched before other threads are woken, which takes them some 20 microseconds: a
/// literal search takes 40 for as much.
const ALONE_BYTES: usize = 1 << 20;
const FIRST_WAVE_BYTES: usize = 4 << 20;
/// What is searched ahead of the one who asks, at most.
const MAX_WAVE_BYTES: usize = 16 << 20;
/// A larger text is searched alone, where interrupts are heard within it.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// What is not wanted between two texts and is searched nevertheless: to begin again costs
/// as much.
const MAX_GAP_BYTES: usize = 4 << 10;
/// Lines remembered of a chunk, 16 KiB. Where more match, texts are searched again when
/// they are shown, which then takes most of the time anyway.
const MAX_LINES: usize = 2_048;
const NONE: u32 = u32::MAX;
