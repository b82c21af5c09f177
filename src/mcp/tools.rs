//! The tools: their names, what a model is told of them, and how arguments become a question.
//!
//! Arguments are the fields of a [`Query`], with `repo` beside them. What models are used to
//! call otherwise has its usual name: `head_limit`, and the modes of `git_grep`.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::schema;
use crate::agent::Query;
use crate::client::address::RepoUrl;
use crate::client::pasted::{self, Pasted};
use crate::error::{Error, ErrorKind};
use crate::live::Place;
use crate::text::escape_for_people;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Glob,
    Grep,
    Ls,
    Read,
    Refs,
    Tree,
}

/// What one call asks.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    /// The address of `place` without credentials.
    pub(super) repo: String,
    pub(super) query: Query,
    pub(super) max_reply_bytes: usize,
}

impl Method {
    pub(super) const ALL: [Self; 6] =
        [Self::Grep, Self::Read, Self::Glob, Self::Tree, Self::Ls, Self::Refs];

    /// The tool that a client calls `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Glob => "git_glob",
            Self::Grep => "git_grep",
            Self::Ls => "git_ls",
            Self::Read => "git_read",
            Self::Refs => "git_refs",
            Self::Tree => "git_tree",
        }
    }

    /// As in the JSON of a [`Query`].
    const fn method(self) -> &'static str {
        match self {
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::Ls => "ls",
            Self::Read => "read",
            Self::Refs => "refs",
            Self::Tree => "tree",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Glob => "Find files by name",
            Self::Grep => "Search files",
            Self::Ls => "List a folder",
            Self::Read => "Read files",
            Self::Refs => "List branches and tags",
            Self::Tree => "Outline a folder",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Glob => {
                "Paths of a remote git repository that match globs such as *.rs or src/**/*.c, \
                 without cloning it."
            }
            Self::Grep => {
                "Search the files of a remote git repository at one commit with regular \
                 expressions (Rust's dialect), without cloning it. Gives the files that match; \
                 output_mode content gives the lines, count the number of lines per file."
            }
            Self::Ls => {
                "Entries of a folder of a remote git repository; recursive for all files below it."
            }
            Self::Read => {
                "Read files of a remote git repository, numbered by line, up to 2,000 lines. \
                 Several paths cost one request. lines A:B reads a part."
            }
            Self::Refs => {
                "Branches, tags and other refs of a remote git repository, with their ids."
            }
            Self::Tree => {
                "Outline of a remote git repository: folders and files down to a depth, with how \
                 many files are below each folder. A good first call."
            }
        }
    }

    pub(super) fn tool(self) -> Tool {
        let annotations = ToolAnnotations::with_title(self.title())
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(true);
        Tool::new(self.name(), self.description(), schema::input(self))
            .with_title(self.title())
            .with_raw_output_schema(schema::output(self).into())
            .with_annotations(annotations)
    }

    /// How much of a reply the structured form may take, in percent: the less, the more of an
    /// item its text is, which stands in a reply twice.
    const fn structured_percent(self) -> usize {
        match self {
            Self::Read => 49,
            Self::Grep => 60,
            Self::Glob | Self::Ls | Self::Refs | Self::Tree => 70,
        }
    }

    /// The question that `arguments` put.
    ///
    /// # Errors
    /// `Usage` with code `bad_arguments` for what is none, and those of an address.
    pub(super) fn parse(self, mut arguments: JsonObject, default: usize) -> Result<Call, Error> {
        let repo = match arguments.remove("repo") {
            Some(Value::String(repo)) => repo,
            Some(other) => return Err(bad(&format!("'repo' is {}, not a text", kind(&other)))),
            None => return Err(bad("'repo' is missing: an https address, or owner/repo")),
        };
        let max_reply_bytes = match arguments.remove("max_bytes") {
            None | Some(Value::Null) => default,
            Some(value) => {
                let asked = value.as_u64().and_then(|bytes| usize::try_from(bytes).ok());
                let asked = asked.ok_or_else(|| bad("'max_bytes' is no number of bytes"))?;
                asked.clamp(MIN_REPLY_BYTES, MAX_REPLY_BYTES)
            }
        };
        let for_items = max_reply_bytes.saturating_sub(FIXED_BYTES);
        let page_bytes = for_items * self.structured_percent() / 100;
        arguments.insert("max_bytes".into(), page_bytes.into());
        self.fill_in(&mut arguments);
        let query = Query::of(self.method(), Value::Object(arguments)).map_err(|error| {
            let why = escape_for_people(error.to_string().as_bytes()).to_string();
            bad(&why)
        })?;
        let (place, repo) = place(&repo)?;
        Ok(Call { place, repo, query: paced(query), max_reply_bytes })
    }

    /// What models call fields whatever a schema says, and what they are called here.
    const fn usual_names(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Grep => &[
                ("head_limit", "limit"),
                ("pattern", "patterns"),
                ("path", "paths"),
                ("glob", "globs"),
                ("type", "types"),
            ],
            Self::Glob => &[("pattern", "patterns"), ("type", "types")],
            Self::Read => &[("path", "paths")],
            Self::Ls | Self::Refs | Self::Tree => &[],
        }
    }

    /// Names and defaults that are those of the tools.
    fn fill_in(self, arguments: &mut JsonObject) {
        for (usual, own) in self.usual_names() {
            if let Some(value) = arguments.remove(*usual) {
                arguments.insert((*own).into(), value);
            }
        }
        for name in LISTS {
            // One is a list of one.
            if let Some(value) = arguments.get_mut(name)
                && matches!(value, Value::String(_) | Value::Object(_))
            {
                *value = Value::Array(vec![value.take()]);
            }
        }
        match self {
            Self::Grep => {
                let own = match arguments.get("output_mode") {
                    None | Some(Value::Null) => Some(MODES[0].1),
                    // What is none of them is refused by name.
                    Some(mode) => MODES.iter().find(|(name, _)| mode == name).map(|(_, own)| *own),
                };
                if let Some(own) = own {
                    arguments.insert("output_mode".into(), own.into());
                }
                arguments.entry("max_columns").or_insert(MAX_COLUMNS.into());
            }
            Self::Read => {
                arguments.entry("limit").or_insert(MAX_LINES.into());
            }
            Self::Glob | Self::Ls | Self::Refs | Self::Tree => {}
        }
    }
}

/// What `git_grep` calls the modes of a search; the first is the default.
pub(super) const MODES: [(&str, &str); 3] =
    [("files_with_matches", "files"), ("content", "lines"), ("count", "count")];

/// A line that is read takes room for its number too.
fn paced(mut query: Query) -> Query {
    if let Query::Read(read) = &mut query {
        read.bytes_per_line = NUMBER_BYTES;
    }
    query
}

/// Where the repository is that a model names, and its name for people.
fn place(word: &str) -> Result<(Place, String), Error> {
    let Pasted { repo, rest, .. } = match pasted::parse(word) {
        Err(error) if error.code() == pasted::NO_ADDRESS => {
            let shown = escape_for_people(word.as_bytes());
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "'{shown}' is no address: give https://HOST/PATH, or owner/repo on \
                     github.com; paths of this machine are not read"
                ),
            )
            .with_code(pasted::NO_ADDRESS));
        }
        parsed => parsed?,
    };
    let (address, auth) = RepoUrl::parse(&repo)?;
    let shown = address.to_string();
    if rest.is_some() {
        return Err(bad(&format!(
            "'repo' is the address of a page; give {shown} as repo, and what is behind it as ref \
             and path"
        )));
    }
    // One that has a credential in it is kept apart from the one that has none.
    let place = if auth.is_some() { repo } else { shown.clone() };
    Ok((Place::Address(place), shown))
}

fn bad(why: &str) -> Error {
    Error::new(ErrorKind::Usage, why).with_code("bad_arguments")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Fields that hold several.
const LISTS: [&str; 4] = ["patterns", "paths", "globs", "types"];
/// Lines of a read when nothing is said.
const MAX_LINES: u64 = 2_000;
/// Bytes that are given of a line that matches.
const MAX_COLUMNS: u64 = 500;
/// A number and a tab in JSON are 8 bytes; the other form of the line has none.
const NUMBER_BYTES: u64 = 5;
/// What a reply takes beside its items: the envelope, the marks, and what to ask next.
const FIXED_BYTES: usize = 2_600;
/// Below this there would be no room for an item.
const MIN_REPLY_BYTES: usize = 4_000;
/// More than any model takes at once.
const MAX_REPLY_BYTES: usize = 4_000_000;
