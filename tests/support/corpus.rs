//! A repository to search, made up from a seed: some thousand files of words that look
//! like source text, and files that are odd in every way a search meets.

use super::git::File;

/// `count` plausible files and all odd ones, in no particular order.
pub fn corpus(count: usize) -> Vec<File> {
    let mut files = sources(count, 900, 1);
    files.extend(odd());
    files
}

/// `count` files of about `bytes` each, in nested folders, of words that patterns look
/// for. The same for the same arguments, on every machine.
pub fn sources(count: usize, bytes: usize, seed: u64) -> Vec<File> {
    let mut random = Random(seed);
    (0..count)
        .map(|i| {
            let extension = EXTENSIONS[random.below(EXTENSIONS.len())];
            let path = match i % 5 {
                0 => format!("file{i}.{extension}"),
                1 | 2 => format!("src/part{}/file{i}.{extension}", i % 17),
                _ => format!("lib/{}/{}/file{i}.{extension}", i % 7, i % 11),
            };
            let size = bytes / 2 + random.below(bytes.max(1));
            File::new(path, text(&mut random, size, i))
        })
        .collect()
}

/// One file of each kind that is easily got wrong.
pub fn odd() -> Vec<File> {
    let commit = "1234567890123456789012345678901234567890";
    let utf16 = |text: &str| {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let late_nul = [b"foo bar\n".repeat(1_000), b"foo\0 foo bar\n".to_vec()].concat();
    let mut early_nul = late_nul.clone();
    early_nul[7_999] = 0;
    let long = [b"=".repeat(300_000), b" foo bar ".to_vec(), b"=".repeat(300_000)].concat();
    let mut files = vec![
        File::new("odd/empty", ""),
        File::new("odd/one-line-end", "\n"),
        File::new("odd/only-line-ends", "\n\n\n\n"),
        File::new("odd/no-final-line-end", "foo\nbar foo"),
        File::new("odd/crlf", "foo\r\nfoo bar\r\n\r\nbar foo\r\n"),
        File::new("odd/old-mac", "foo\rbar\rfoo"),
        File::new("odd/bom", "\u{feff}foo bar\nfoo\n"),
        File::new("odd/utf-16", utf16("foo\nbar\n")),
        File::new("odd/latin-1", b"caf\xe9 foo\n\xe9\nfoo \xe9bar\n\xff\xfe\n"),
        File::new("odd/late-nul", late_nul),
        File::new("odd/early-nul", early_nul),
        File::new("odd/nul", "foo\0\n"),
        File::new("odd/long-line", [&long[..], b"\nfoo\n", &long[..]].concat()),
        File::new("odd/accents", "école É foo\nécole\nÉCOLE\nüber foo_ _foo\n日本語 foo\n"),
        File::new("odd/words", "foo\nfoobar\nbarfoo\nfoo-bar\n_foo\nfoo1 foo\nfoo.\n(foo)\n"),
        File::new("odd/context", "foo\n1\n2\nfoo\n3\n4\n5\n6\n7\nfoo\nfoo\n8\n"),
        File::new("odd/repeats", "foofoofoo\naaaa\nabababab\nfoo bar foo bar\n"),
        File::new("odd/dashes", "--\nfoo\n--\n-foo\n"),
        File::executable("odd/run.sh", "#!/bin/sh\necho foo\n"),
        File::symlink("odd/link", "foo"),
        File::symlink("odd/foo-link", "../src/foo bar"),
        File::submodule("odd/foo-module", commit),
        File::new("odd/same-1", "the same foo\n"),
        File::new("odd/same-2", "the same foo\n"),
        File::new("odd.c", "foo: sorts before the folder odd\n"),
        File::new("odd0", "foo: sorts after the folder odd\n"),
        File::new(b"odd/caf\xe9", "foo\n"),
        File::new("odd/日本語", "foo\n"),
        File::new("odd/quote\"back\\slash\ttab", "foo\n"),
        File::new("odd/line\nend", "foo\n"),
        File::new("odd/ space ", "foo\n"),
        File::new("odd/-dash", "foo\n"),
        File::new("odd/colon:1:foo", "foo\n"),
    ];
    files.push(File::new("odd/many-lines", "bar\n".repeat(20_000) + "foo\n"));
    files
}

/// About `size` bytes of lines; every so often without a final line end, with carriage
/// returns, with tabs.
fn text(random: &mut Random, size: usize, number: usize) -> Vec<u8> {
    let line_end = if number % 13 == 5 { "\r\n" } else { "\n" };
    let mut text = String::with_capacity(size + 32);
    while text.len() < size {
        for _ in 0..random.below(4) {
            text.push_str(if random.below(3) == 0 { "\t" } else { "    " });
        }
        for word in 0..random.below(9) {
            if word > 0 {
                text.push_str([" ", " ", " ", "  ", "\t", ".", "_", "-"][random.below(8)]);
            }
            // Common words are common, the rest are rare.
            let common = random.below(50) > 0;
            let words = if common { COMMON } else { RARE };
            text.push_str(words[random.below(words.len())]);
        }
        text.push_str(line_end);
    }
    if number.is_multiple_of(11) {
        text.truncate(text.len() - line_end.len());
    }
    text.into_bytes()
}

/// Xorshift: the corpus must not depend on a crate's version.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 32) % bound as u64).unwrap()
    }
}

const EXTENSIONS: &[&str] = &["rs", "c", "md", "txt", "h"];

const COMMON: &[&str] = &[
    "let",
    "return",
    "if",
    "value",
    "index",
    "struct",
    "for",
    "while",
    "x1",
    "size",
    "char",
    "bar",
    "(a, b)",
    "{",
    "}",
    "[0]",
    "==",
    "!=",
    "\"text\"",
    "//",
    "/*",
    "*/",
    "int",
    "the",
    "of",
    "and",
    "path",
    "object",
    "tree",
    "blob",
    "commit",
    "0x1F",
    "42",
    "a+b",
    "$x",
    "^",
    "é",
    "日本語",
];

const RARE: &[&str] = &[
    "foo", "foo bar", "foobar", "Foo", "FOO", "TODO", "todo", "foofoo", "axb", "a.b", "aXb",
    "École", "fooo", "f", "xfoo", "foo1", "abcabc", "color", "colour",
];
