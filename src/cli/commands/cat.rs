//! `gitsip cat`: what is in files.

use bstr::{BStr, ByteSlice as _};

use crate::agent::{File, ReadAnswer, ReadOptions, Snapshot, Source, Stop, Submodule};
use crate::cli::args::Cat;
use crate::cli::exit::{FOUND, NOTHING_FOUND};
use crate::cli::failure;
use crate::cli::output::{Output, push_fmt};
use crate::error::{Error, ErrorKind};
use crate::text::amounts::Count;
use crate::text::escape_for_people;
use crate::view::lines::{LineRange, slice_lines};

/// Prints the files one after another. What is wrong with one does not keep the others
/// from being printed; the status is that of the first error. `path` and `its_lines` are
/// those of the address, and are printed when the command line has no path.
pub(super) async fn cat<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Cat,
    path: &BStr,
    its_lines: Option<LineRange>,
    out: &Output,
    stop: &Stop,
) -> Result<u8, Error> {
    let words: Vec<&[u8]> = args.paths.iter().map(|path| path.as_encoded_bytes()).collect();
    let (answers, lines) = match words[..] {
        [] if path.is_empty() => return Err(no_path()),
        [] => {
            (snapshot.read_many(&[path], ReadOptions::default()).await?, args.lines.or(its_lines))
        }
        _ => (read_words(snapshot, &words, stop).await?, args.lines),
    };
    let mut printer = Printer { out, lines, number: args.number, unfinished: false };
    let mut first_status = FOUND;
    for answer in answers {
        let printed = match answer {
            Ok(ReadAnswer::File(file)) => printer.print(&file),
            Ok(ReadAnswer::Submodule(submodule)) => Err(is_submodule(&submodule)),
            Err(error) => Err(error),
        };
        let status = match printed {
            Ok(Printed::All) => FOUND,
            Ok(Printed::Nothing) => NOTHING_FOUND,
            Ok(Printed::NobodyReads) => break,
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(error) => failure::report(&error),
        };
        if first_status == FOUND {
            first_status = status;
        }
    }
    Ok(first_status)
}

type Answers = Vec<Result<ReadAnswer, Error>>;

/// Reads what each of `words` names, a path or `REF:PATH`, with one request for the files
/// of each ref.
async fn read_words<S: Source>(
    snapshot: &Snapshot<S>,
    words: &[&[u8]],
    stop: &Stop,
) -> Result<Answers, Error> {
    // The command's own snapshot has no name.
    let mut places = vec![Place { name: b"", snapshot: snapshot.clone(), paths: Vec::new() }];
    let mut answers = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, path) = ref_and_path(snapshot, word).await?.unwrap_or((b"", word));
        if let Some(place) = places.iter_mut().find(|place| place.name == name) {
            place.paths.push((at, path));
            continue;
        }
        match snapshot.repo().snapshot(name).await {
            Ok(snapshot) => {
                let snapshot = snapshot.stopped_by(stop);
                failure::warn_of(&snapshot);
                places.push(Place { name, snapshot, paths: vec![(at, path)] });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => answers.push((at, Err(error))),
            Err(error) => return Err(error),
        }
    }
    for Place { snapshot, paths, .. } in places.iter().filter(|place| !place.paths.is_empty()) {
        let (at, paths): (Vec<usize>, Vec<&[u8]>) = paths.iter().copied().unzip();
        let found = snapshot.read_many(&paths, ReadOptions::default()).await?;
        answers.extend(at.into_iter().zip(found));
    }
    answers.sort_unstable_by_key(|(at, _)| *at);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// A ref that words name, and which of them name what in it.
struct Place<'w, S> {
    name: &'w [u8],
    snapshot: Snapshot<S>,
    paths: Vec<(usize, &'w [u8])>,
}

/// The parts of `word` when it is `REF:PATH`: it has a colon, and is no path itself.
pub(in crate::cli) async fn ref_and_path<'w, S: Source>(
    snapshot: &Snapshot<S>,
    word: &'w [u8],
) -> Result<Option<(&'w [u8], &'w [u8])>, Error> {
    let Some((name, path)) = word.split_once_str(":").filter(|(name, _)| !name.is_empty()) else {
        return Ok(None);
    };
    match snapshot.stat(word).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Some((name, path))),
        // Whatever else is wrong is told by who reads it.
        Ok(_) | Err(_) => Ok(None),
    }
}

enum Printed {
    All,
    /// The range of lines is behind the file's end.
    Nothing,
    NobodyReads,
}

struct Printer<'a> {
    out: &'a Output,
    lines: Option<LineRange>,
    number: bool,
    /// What was printed last has no line end.
    unfinished: bool,
}

impl Printer<'_> {
    fn print(&mut self, file: &File) -> Result<Printed, Error> {
        if let Some(lfs) = &file.lfs {
            let path = escape_for_people(&file.path);
            let size = Count(lfs.size, "byte");
            failure::say(&format!("note: '{path}' is kept by Git LFS ({size}), not here"));
        }
        let (content, first_line) = match self.lines {
            Some(range) => {
                let lines = slice_lines(&file.bytes, range);
                (lines.bytes, lines.first)
            }
            None => (file.bytes.clone(), 1),
        };
        let is_read = match self.number {
            true => self.print_numbered(&content, first_line)?,
            false => self.out.lock().write_through(&content)?,
        };
        Ok(match is_read {
            false => Printed::NobodyReads,
            true if self.lines.is_some() && content.is_empty() => Printed::Nothing,
            true => Printed::All,
        })
    }

    /// As `cat -n` does, but from a file's own first line. Whether anybody still reads.
    fn print_numbered(&mut self, content: &[u8], first_line: u64) -> Result<bool, Error> {
        let mut out = self.out.lock();
        for (number, line) in (first_line..).zip(content.lines_with_terminator()) {
            let bytes = out.bytes();
            if std::mem::replace(&mut self.unfinished, !line.ends_with(b"\n")) {
                bytes.push(b'\n');
            }
            push_fmt(bytes, format_args!("{number:>6}\t"));
            bytes.extend_from_slice(line);
            if !out.settle()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn is_submodule(submodule: &Submodule) -> Error {
    let address =
        submodule.url.as_ref().map_or("its repository".to_owned(), |url| escape_for_people(url));
    Error::new(
        ErrorKind::Usage,
        format!(
            "'{}' is a submodule, a repository of its own: read {address} at --ref {}",
            escape_for_people(submodule.path.as_bytes()),
            submodule.id
        ),
    )
}

pub(in crate::cli) fn no_path() -> Error {
    let why = "no PATH given, and the address names no file; write it after the repository: \
               gitsip cat REPO PATH";
    Error::new(ErrorKind::Usage, why)
}
