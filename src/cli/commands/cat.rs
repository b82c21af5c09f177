//! `gitsip cat`: what is in files.

use bstr::{BStr, ByteSlice as _};

use crate::agent::{File, ReadAnswer, ReadOptions, Snapshot, Source, Submodule};
use crate::cli::args::Cat;
use crate::cli::exit::{FOUND, NOTHING_FOUND};
use crate::cli::failure;
use crate::cli::output::Output;
use crate::error::{Error, ErrorKind};
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
) -> Result<u8, Error> {
    let mut paths: Vec<&[u8]> = args.paths.iter().map(|path| path.as_encoded_bytes()).collect();
    let mut lines = args.lines;
    if paths.is_empty() {
        if path.is_empty() {
            return Err(no_path());
        }
        paths.push(path);
        lines = lines.or(its_lines);
    }
    let answers = snapshot.read_many(&paths, ReadOptions::default()).await?;
    let mut first_status = FOUND;
    for answer in answers {
        let printed = match answer {
            Ok(ReadAnswer::File(file)) => print_file(&file, lines, out),
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

enum Printed {
    All,
    /// The range of lines is behind the file's end.
    Nothing,
    NobodyReads,
}

fn print_file(file: &File, lines: Option<LineRange>, out: &Output) -> Result<Printed, Error> {
    if let Some(lfs) = &file.lfs {
        let path = escape_for_people(&file.path);
        failure::say(&format!("note: '{path}' is kept by Git LFS ({} bytes), not here", lfs.size));
    }
    let content = match lines {
        Some(range) => slice_lines(&file.bytes, range).bytes,
        None => file.bytes.clone(),
    };
    if !out.lock().write_through(&content)? {
        return Ok(Printed::NobodyReads);
    }
    Ok(if lines.is_some() && content.is_empty() { Printed::Nothing } else { Printed::All })
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
