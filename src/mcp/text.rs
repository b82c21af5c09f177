//! The text form of an answer: compact lines as ripgrep, `ls` and `cat -n` print them.
//!
//! Paths are escaped, so that each stays on its line. The text of files is given as it is;
//! bytes that are no UTF-8 are replaced, and the structured form has them.

use std::fmt::Write as _;

use bstr::{BStr, ByteSlice as _};

use crate::agent::{
    AnyAnswer, Cut, Entry, EntryType, FilePart, GrepItem, Hit, NearLine, ReadItem, RefItem,
    StatItem, TreeNode,
};
use crate::text::escape_for_people;

/// The items of `answer`, a line or more for each.
pub(super) fn of(answer: &AnyAnswer) -> String {
    let mut text = String::new();
    match answer {
        AnyAnswer::Refs(answer) => answer.items.iter().for_each(|item| push_ref(&mut text, item)),
        AnyAnswer::Entries(answer) => {
            answer.items.iter().for_each(|entry| push_entry(&mut text, entry));
        }
        AnyAnswer::Tree(answer) => answer.items.iter().for_each(|node| push_node(&mut text, node)),
        AnyAnswer::Read(answer) => answer.items.iter().for_each(|item| push_read(&mut text, item)),
        AnyAnswer::Grep(answer) => push_grep(&mut text, &answer.items),
        // No tool asks for these.
        AnyAnswer::Stat(answer) => {
            for item in &answer.items {
                if let StatItem::Entry(entry) = item {
                    push_entry(&mut text, entry);
                }
            }
        }
        AnyAnswer::Plan(_) | AnyAnswer::Prefetch(_) => {}
    }
    text
}

fn push_ref(text: &mut String, item: &RefItem) {
    let name = escape_for_people(&item.name);
    match (&item.symref, &item.id) {
        (Some(symref), _) => line(text, format_args!("{name} -> {}", escape_for_people(symref))),
        (None, Some(id)) => line(text, format_args!("{id} {name}")),
        (None, None) => line(text, format_args!("{name} (no commit yet)")),
    }
    if let Some(peeled) = &item.peeled {
        line(text, format_args!("{peeled} {name}^{{}}"));
    }
}

fn push_entry(text: &mut String, entry: &Entry) {
    let path = escape_for_people(&entry.path);
    match entry.entry_type {
        EntryType::File => line(text, format_args!("{path}")),
        EntryType::Folder => line(text, format_args!("{path}/")),
        EntryType::Submodule => line(text, format_args!("{path} (submodule at {})", entry.id)),
        EntryType::Symlink => line(text, format_args!("{path} (link)")),
    }
}

fn push_node(text: &mut String, node: &TreeNode) {
    let indent = 2 * (node.depth.saturating_sub(1).min(MAX_INDENT) as usize);
    let name = node.path.rsplit_str("/").next().unwrap_or_default();
    let name = escape_for_people(name);
    match (node.entry_type, &node.below) {
        (EntryType::Folder, Some(below)) => {
            let files = below.files;
            line(text, format_args!("{:indent$}{name}/ ({files} files)", ""));
        }
        (EntryType::Folder, None) => line(text, format_args!("{:indent$}{name}/", "")),
        (EntryType::Submodule, _) => line(text, format_args!("{:indent$}{name} (submodule)", "")),
        (EntryType::Symlink, _) => line(text, format_args!("{:indent$}{name} (link)", "")),
        (EntryType::File, _) => line(text, format_args!("{:indent$}{name}", "")),
    }
}

fn push_read(text: &mut String, item: &ReadItem) {
    match item {
        ReadItem::Error(error) => {
            let path = escape_for_people(&error.path);
            let message = escape_for_people(error.error.message.as_bytes());
            line(text, format_args!("== {path}: {message}"));
        }
        ReadItem::Submodule(submodule) => {
            let path = escape_for_people(&submodule.path);
            let url = submodule.url.as_ref().map_or(&b""[..], |url| url);
            let url = escape_for_people(url);
            line(text, format_args!("== {path}: submodule at {} of {url}", submodule.id));
        }
        ReadItem::File(file) => push_file(text, file),
    }
}

fn push_file(text: &mut String, file: &FilePart) {
    let path = escape_for_people(&file.path);
    let FilePart { first_line, last_line, total_lines, size, .. } = file;
    if let Some(lfs) = &file.lfs {
        let (oid, size) = (&lfs.oid, lfs.size);
        line(text, format_args!("== {path}: in Git LFS, {size} bytes, sha256 {oid}"));
    }
    if file.text.contains(&0) {
        line(text, format_args!("== {path}: binary, {size} bytes; the structured form has them"));
        return;
    }
    line(text, format_args!("== {path} (lines {first_line}-{last_line} of {total_lines})"));
    let lines = file.text.lines();
    let last = lines.clone().count();
    for ((number, content), at) in (*first_line..).zip(lines).zip(1..) {
        let before = file.cut.filter(|cut| at == 1 && cut.before_bytes > 0);
        let after = file.cut.filter(|cut| at == last && cut.after_bytes > 0);
        line(text, format_args!("{number:>6}\t{}", shown(content.as_bstr(), before.or(after))));
    }
}

fn push_grep(text: &mut String, items: &[GrepItem]) {
    let mut path = None;
    let mut behind = 0;
    for item in items {
        match item {
            GrepItem::File(file) => {
                let path = escape_for_people(&file.path);
                match file.count {
                    Some(count) => line(text, format_args!("{path}:{count}")),
                    None => line(text, format_args!("{path}")),
                }
            }
            GrepItem::Hit(hit) => {
                if path != Some(&hit.path) {
                    if path.is_some() {
                        text.push('\n');
                    }
                    line(text, format_args!("{}", escape_for_people(&hit.path)));
                } else if behind > 0 && first_line(hit) > behind + 1 && has_context(hit) {
                    text.push_str("--\n");
                }
                path = Some(&hit.path);
                behind = push_hit(text, hit);
            }
        }
    }
}

/// The number of the last line that was printed.
fn push_hit(text: &mut String, hit: &Hit) -> u64 {
    hit.before.iter().for_each(|near| push_near(text, near));
    line(text, format_args!("{}:{}", hit.line, shown(hit.text.as_bstr(), hit.cut)));
    hit.after.iter().for_each(|near| push_near(text, near));
    hit.after.last().map_or(hit.line, |near| near.line)
}

fn push_near(text: &mut String, near: &NearLine) {
    line(text, format_args!("{}-{}", near.line, shown(near.text.as_bstr(), near.cut)));
}

fn first_line(hit: &Hit) -> u64 {
    hit.before.first().map_or(hit.line, |near| near.line)
}

fn has_context(hit: &Hit) -> bool {
    !(hit.before.is_empty() && hit.after.is_empty())
}

/// Text of a file with a mark where a part of its line is left out.
fn shown(content: &BStr, cut: Option<Cut>) -> String {
    let content = content.strip_suffix(b"\r").unwrap_or(content);
    let mark = |bytes| if bytes > 0 { "…" } else { "" };
    let Cut { before_bytes, after_bytes } = cut.unwrap_or(Cut { before_bytes: 0, after_bytes: 0 });
    let content = String::from_utf8_lossy(content);
    format!("{}{content}{}", mark(before_bytes), mark(after_bytes))
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    // Writing to a text does not fail.
    let _ = writeln!(text, "{content}");
}

/// Levels that are shown by indenting; what is deeper stands below each other.
const MAX_INDENT: u32 = 40;
