//! What each command asks of a repository, local or remote alike, and how the answer
//! looks.

use bstr::{BStr, BString, ByteSlice as _};

use super::args::{Cat, Command, Glob, Ls};
use super::failure::{self, FOUND, NOTHING_FOUND};
use super::grep::Search;
use super::output::{Buffer, Names, Output, push_fmt};
use super::place::Place;
use crate::agent::{
    Entry, EntryType, File, ReadAnswer, ReadOptions, Repo, Snapshot, Source, Submodule,
};
use crate::client::pasted::Pasted;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::store::Objects as _;
use crate::text::escape_for_people;
use crate::view::glob::PathFilter;
use crate::view::lines::{LineRange, slice_lines};
use crate::view::walk::WalkOptions;

/// A command of which everything was judged that can be without a repository.
#[derive(Debug)]
pub(super) enum Job {
    Read { asked: Box<Asked>, place: Place },
    Refs,
}

/// What is asked about one commit.
#[derive(Debug)]
pub(super) enum Asked {
    Cat(Cat),
    Glob(Glob),
    Grep(Box<Search>),
    Ls(Ls),
}

impl Job {
    /// What `command` asks of the repository whose address was `pasted`, if one was.
    pub(super) fn new(
        command: Command,
        pasted: Option<&Pasted>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let place = Place::new(&command, pasted);
        let asked = match command {
            Command::Cat(cat) if cat.paths.is_empty() && !place.may_have_path() => {
                return Err(no_path());
            }
            Command::Cat(cat) => Asked::Cat(cat),
            Command::Glob(glob) => Asked::Glob(glob),
            Command::Grep(grep) => Asked::Grep(Box::new(Search::new(&grep, limits)?)),
            Command::Ls(ls) => Asked::Ls(ls),
            Command::Refs(_) => return Ok(Self::Refs),
        };
        Ok(Self::Read { asked: Box::new(asked), place })
    }

    /// Asks `repo`, prints the answer, and gives the exit status.
    pub(super) async fn run<S: Source>(self, repo: &Repo<S>, out: &Output) -> Result<u8, Error> {
        let found = match self {
            Self::Refs => refs(repo, out).await?,
            Self::Read { asked, place } => {
                let (snapshot, path) = place.open(repo).await?;
                if let Some(warning) = snapshot.warning() {
                    failure::say(&format!("warning: {warning}"));
                }
                match *asked {
                    Asked::Cat(args) => {
                        return cat(&snapshot, &args, path.as_bstr(), place.lines, out).await;
                    }
                    Asked::Glob(args) => glob(&snapshot, &args, path.as_bstr(), out).await?,
                    Asked::Grep(search) => search.run(&snapshot, path, out).await?,
                    Asked::Ls(args) => ls(&snapshot, &args, path.as_bstr(), out).await?,
                }
            }
        };
        Ok(if found { FOUND } else { NOTHING_FOUND })
    }
}

fn no_path() -> Error {
    let why = "no PATH given, and the address names no file; write it after the repository: \
               gitsip cat REPO PATH";
    Error::new(ErrorKind::Usage, why)
}

/// As `git ls-remote` prints them.
async fn refs<S: Source>(repo: &Repo<S>, out: &Output) -> Result<bool, Error> {
    let mut found = false;
    let refs = repo.refs(&[]).await?;
    let mut out = out.lock();
    for named in &refs {
        let Some(id) = named.target else { continue };
        found = true;
        let bytes = out.bytes();
        push_ref(bytes, &id, &named.name, "");
        if let Some(peeled) = named.peeled {
            push_ref(bytes, &peeled, &named.name, "^{}");
        }
        if !out.settle()? {
            break;
        }
    }
    Ok(found)
}

fn push_ref(bytes: &mut Vec<u8>, id: &crate::ObjectId, name: &[u8], suffix: &str) {
    push_fmt(bytes, format_args!("{id}\t"));
    // A name that git would not make, from a host that is not to be believed.
    if name.iter().any(u8::is_ascii_control) {
        bytes.extend_from_slice(escape_for_people(name).as_bytes());
    } else {
        bytes.extend_from_slice(name);
    }
    push_fmt(bytes, format_args!("{suffix}\n"));
}

/// `path` is that of the address, and is read when the command line has none.
async fn ls<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Ls,
    path: &BStr,
    out: &Output,
) -> Result<bool, Error> {
    let lines = EntryLines { long: args.long, names: Names::from_null_flag(args.null) };
    let path = if args.path.is_empty() { path } else { args.path.as_encoded_bytes().as_bstr() };
    let folder = snapshot.ls(path).await?;
    if args.recursive {
        return ls_recursive(snapshot, &folder.resolved_path, lines, out).await;
    }
    print_entries(&folder.entries, lines, out)?;
    if folder.is_damaged {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "the folder '{}' is damaged behind what was listed",
                escape_for_people(&folder.resolved_path)
            ),
        ));
    }
    Ok(!folder.entries.is_empty())
}

async fn ls_recursive<S: Source>(
    snapshot: &Snapshot<S>,
    folder: &[u8],
    lines: EntryLines,
    out: &Output,
) -> Result<bool, Error> {
    let filter = PathFilter::new(&[] as &[&str], &[folder], &Limits::default())?;
    let store = snapshot.repo().source().store();
    let (mut found, mut failed) = (false, None);
    let walked = snapshot
        .walk(WalkOptions { filter, ..WalkOptions::default() }, |met| {
            let mut entry = Entry::from(*met);
            if lines.long && entry.entry_type != EntryType::Submodule {
                // A size that cannot be told is no reason not to list.
                entry.size = store.header(&entry.id).ok().flatten().map(|header| header.size);
            }
            found = true;
            lines.print(&entry, &mut out.lock()).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        })
        .await;
    failed.map_or(walked, Err)?;
    Ok(found)
}

/// `folder` is that of the address: what is outside of it is left out.
async fn glob<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Glob,
    folder: &BStr,
    out: &Output,
) -> Result<bool, Error> {
    let folder = match folder.is_empty() {
        true => BString::default(),
        false => snapshot.ls(folder).await?.resolved_path,
    };
    let mut found = snapshot.glob(&args.pattern).await?;
    found.retain(|entry| {
        let below = entry.path.strip_prefix(folder.as_bytes());
        folder.is_empty() || below.is_some_and(|name| matches!(name.first(), None | Some(b'/')))
    });
    print_entries(
        &found,
        EntryLines { long: false, names: Names::from_null_flag(args.null) },
        out,
    )?;
    Ok(!found.is_empty())
}

fn print_entries(entries: &[Entry], lines: EntryLines, out: &Output) -> Result<(), Error> {
    let mut out = out.lock();
    for entry in entries {
        if !lines.print(entry, &mut out)? {
            break;
        }
    }
    Ok(())
}

/// How entries are listed.
#[derive(Clone, Copy)]
struct EntryLines {
    long: bool,
    names: Names,
}

impl EntryLines {
    /// Whether anybody still reads.
    fn print(self, entry: &Entry, out: &mut Buffer) -> Result<bool, Error> {
        let bytes = out.bytes();
        if self.long {
            let kind = match entry.entry_type {
                EntryType::File | EntryType::Symlink => "blob",
                EntryType::Folder => "tree",
                EntryType::Submodule => "commit",
            };
            push_fmt(bytes, format_args!("{:06o} {kind} {} ", entry.mode, entry.id));
            match entry.size {
                Some(size) => push_fmt(bytes, format_args!("{size:>7}\t")),
                None => push_fmt(bytes, format_args!("{:>7}\t", "-")),
            }
            self.names.push(bytes, &entry.path);
        } else if entry.entry_type == EntryType::Folder {
            let mut path = entry.path.clone();
            path.push(b'/');
            self.names.push(bytes, &path);
        } else {
            self.names.push(bytes, &entry.path);
        }
        bytes.push(self.names.end());
        out.settle()
    }
}

/// Prints the files one after another. What is wrong with one does not keep the others
/// from being printed; the status is that of the first error. `path` and `its_lines` are
/// those of the address, and are printed when the command line has no path.
async fn cat<S: Source>(
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
