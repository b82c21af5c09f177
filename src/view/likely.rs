//! Which files are worth being fetched first for a search, told by their names alone.
//!
//! A file that is named as a picture, archive, program or font is no text; one that is named
//! as what programs write (lock files, minified scripts, maps of those, tables of data) is
//! large and rarely what is looked for. A name can be wrong, so such files come later and
//! are never left out.

use bstr::ByteSlice as _;

/// Which of two turns a file is searched in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Its name is that of text.
    First,
    /// Its name is that of something else, or of what nobody wrote.
    Later,
}

impl Turn {
    /// The turn of the file `path`.
    ///
    /// ```
    /// use gitsip::view::likely::Turn;
    ///
    /// assert_eq!(Turn::of(b"src/main.rs"), Turn::First);
    /// assert_eq!(Turn::of(b"LICENSE"), Turn::First);
    /// assert_eq!(Turn::of(b"docs/Logo.PNG"), Turn::Later);
    /// assert_eq!(Turn::of(b"Cargo.lock"), Turn::Later);
    /// assert_eq!(Turn::of(b"js/app.min.js"), Turn::Later);
    /// ```
    pub fn of(path: &[u8]) -> Self {
        let name = path.rsplit_str("/").next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let extension = name.rfind_byte(b'.').and_then(|dot| name.get(dot + 1..));
        let is_later = extension.is_some_and(|it| is_one_of(it, &EXTENSIONS))
            || is_one_of(&name, &NAMES)
            || ENDS.iter().any(|end| name.ends_with_str(end));
        if is_later { Self::Later } else { Self::First }
    }
}

fn is_one_of(name: &[u8], sorted: &[&str]) -> bool {
    sorted.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

/// Of what is no text, and of data that programs write; sorted.
const EXTENSIONS: [&str; 77] = [
    "7z", "a", "aac", "ai", "avi", "avif", "bin", "bmp", "br", "bz2", "class", "cur", "dat", "db",
    "dll", "dmg", "doc", "docx", "dylib", "eot", "exe", "fbx", "flac", "gif", "glb", "gz", "heic",
    "icns", "ico", "idx", "iso", "jar", "jks", "jpeg", "jpg", "ktx", "lib", "lock", "lz4", "lzma",
    "m4a", "map", "mkv", "mov", "mp3", "mp4", "o", "obj", "ogg", "otf", "p12", "pack", "pdf",
    "png", "pptx", "psd", "pyc", "rar", "snap", "so", "sqlite", "tar", "tga", "tgz", "tif", "tiff",
    "ttf", "war", "wasm", "wav", "webm", "webp", "woff", "woff2", "xlsx", "xz", "zip",
];

/// Of what programs write; sorted.
const NAMES: [&str; 5] =
    ["go.sum", "npm-shrinkwrap.json", "package-lock.json", "packages.lock.json", "pnpm-lock.yaml"];

/// Of the names of what programs write.
const ENDS: [&str; 3] = [".min.css", ".min.js", ".zst"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_searched() {
        assert!(EXTENSIONS.is_sorted() && NAMES.is_sorted());
    }

    #[test]
    fn names_decide_and_folders_do_not() {
        for first in ["a", "png", ".png/x", "x.lock/main.c", "jpg.txt", "a.c", "", "Makefile"] {
            assert_eq!(Turn::of(first.as_bytes()), Turn::First, "{first}");
        }
        for later in ["a.o", ".png", "x/y.JPG", "yarn.lock", "go.sum", "d/package-lock.json"] {
            assert_eq!(Turn::of(later.as_bytes()), Turn::Later, "{later}");
        }
    }
}
