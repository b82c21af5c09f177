//! What a line asks: `{"id": .., "method": .., "params": {..}}`.
//!
//! `params` are those of a [`Query`], and beside them what only sessions have: `repo`,
//! `timeout_ms`, `progress` and `stream`. What is wrong with a line is said by name, with
//! the name that was probably meant. No question is answered here.

use std::time::Duration;

use bstr::BStr;
use serde_json::{Map, Value};

use crate::agent::Query;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;
use crate::view::nearest::nearest;

/// What a client calls a request, in JSON: a text or a whole number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(String);

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) call: Call,
    pub(super) wishes: Wishes,
}

/// What is asked for.
#[derive(Debug)]
pub(super) enum Call {
    Ask(Option<String>, Box<Query>),
    Cancel(Id),
    Close(Option<String>),
    Open(Option<String>),
    Repos,
    Schema,
    Version,
}

/// How it is to be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) timeout: Option<Duration>,
    /// Lines that tell how transfers go.
    pub(super) progress: bool,
    /// A line for each item, when it is found.
    pub(super) stream: bool,
}

/// What is wrong with a line, and whose it is where that can be told.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) id: Option<Id>,
    pub(super) error: Error,
}

impl Request {
    /// # Errors
    /// `Usage` with code `bad_json`, `bad_request`, `unknown_method` or `bad_params`.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Refusal> {
        let refuse = |error| Refusal { id: None, error };
        let value = serde_json::from_slice(line)
            .map_err(|error| refuse(wrong("bad_json", &format!("this is no JSON: {error}"))))?;
        let Value::Object(mut object) = value else {
            let why = format!("a request is an object, not {}", kind(&value));
            return Err(refuse(wrong("bad_request", &why)));
        };
        let id = Id::take(&mut object).map_err(refuse)?;
        match Self::rest(object) {
            Ok((call, wishes)) => Ok(Self { id, call, wishes }),
            Err(error) => Err(Refusal { id: Some(id), error }),
        }
    }

    fn rest(mut object: Map<String, Value>) -> Result<(Call, Wishes), Error> {
        let method = match object.remove("method") {
            Some(Value::String(method)) => method,
            Some(other) => {
                let why = format!("'method' is {}, not a text", kind(&other));
                return Err(wrong("bad_request", &why));
            }
            None => {
                let why = format!("'method' is missing; there are {}", METHODS.join(", "));
                return Err(wrong("bad_request", &why));
            }
        };
        let params = match object.remove("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(other) => {
                let why = format!("'params' is {}, not an object", kind(&other));
                return Err(wrong("bad_request", &why));
            }
        };
        if let Some(name) = object.keys().next() {
            let why = unknown("field of a request", name, &FIELDS);
            let own = name == "repo" || WISHES.contains(&name.as_str());
            let why = if own { format!("'{name}' belongs into 'params'") } else { why };
            return Err(wrong("bad_request", &why));
        }
        Call::of(&method, params)
    }
}

impl Id {
    fn take(object: &mut Map<String, Value>) -> Result<Self, Error> {
        match object.remove("id") {
            Some(value) => Self::of(value),
            None => Err(wrong("bad_request", "'id' is missing: a text or a whole number")),
        }
    }

    /// Its JSON.
    pub(super) fn json(&self) -> &str {
        &self.0
    }

    fn of(value: Value) -> Result<Self, Error> {
        match value {
            Value::String(ref text) if text.len() > MAX_ID_BYTES => {
                let why = format!("'id' is longer than {MAX_ID_BYTES} bytes");
                Err(wrong("bad_request", &why))
            }
            Value::Number(ref number) if number.is_f64() => {
                Err(wrong("bad_request", "'id' is no whole number of 64 bits"))
            }
            Value::String(_) | Value::Number(_) => Ok(Self(value.to_string())),
            other => {
                let why = format!("'id' is {}, not a text or a whole number", kind(&other));
                Err(wrong("bad_request", &why))
            }
        }
    }
}

impl Call {
    fn of(method: &str, mut params: Map<String, Value>) -> Result<(Self, Wishes), Error> {
        if Query::METHODS.contains(&method) {
            let repo = take_repo(&mut params)?;
            let wishes = Wishes::take(&mut params)?;
            let query = query(method, params)?;
            return Ok((Self::Ask(repo, Box::new(query)), wishes));
        }
        let mut wishes = Wishes::default();
        let (call, known): (Self, &[&str]) = match method {
            "cancel" => {
                let id = params.remove("id");
                let id = id.ok_or_else(|| wrong("bad_params", "'id' of what to cancel is missing"));
                (Self::Cancel(Id::of(id?)?), &["id"])
            }
            "close" => (Self::Close(take_repo(&mut params)?), &["repo"]),
            "open" => {
                let repo = take_repo(&mut params)?;
                wishes.timeout = take_timeout(&mut params)?;
                wishes.progress = take_flag(&mut params, "progress")?;
                (Self::Open(repo), &["progress", "repo", "timeout_ms"])
            }
            "repos" => (Self::Repos, &[]),
            "schema" => (Self::Schema, &[]),
            "version" => (Self::Version, &[]),
            _ => return Err(wrong("unknown_method", &unknown("method", method, &METHODS))),
        };
        match params.keys().next() {
            Some(name) => Err(wrong("bad_params", &unknown_param(method, name, known))),
            None => Ok((call, wishes)),
        }
    }
}

impl Wishes {
    fn take(params: &mut Map<String, Value>) -> Result<Self, Error> {
        Ok(Self {
            timeout: take_timeout(params)?,
            progress: take_flag(params, "progress")?,
            stream: take_flag(params, "stream")?,
        })
    }
}

fn take_repo(params: &mut Map<String, Value>) -> Result<Option<String>, Error> {
    match params.remove("repo") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(repo)) => Ok(Some(repo)),
        Some(other) => Err(wrong("bad_params", &format!("'repo' is {}, not a text", kind(&other)))),
    }
}

fn take_flag(params: &mut Map<String, Value>, name: &str) -> Result<bool, Error> {
    match params.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(other) => {
            let why = format!("'{name}' is {}, not true or false", kind(&other));
            Err(wrong("bad_params", &why))
        }
    }
}

fn take_timeout(params: &mut Map<String, Value>) -> Result<Option<Duration>, Error> {
    match params.remove("timeout_ms") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(ms) if ms > 0 => Ok(Some(Duration::from_millis(ms.min(MAX_TIMEOUT_MS)))),
            _ => Err(wrong("bad_params", "'timeout_ms' is no whole number above 0")),
        },
    }
}

/// The question that `params` put to `method`.
fn query(method: &str, params: Map<String, Value>) -> Result<Query, Error> {
    let parse = |params| Query::of(method, Value::Object(params));
    let names: Vec<String> = params.keys().cloned().collect();
    let whole = match parse(params.clone()) {
        Ok(query) => return Ok(query),
        Err(error) => error.to_string(),
    };
    // What is wrong is said of all of them together; each alone tells which it is.
    for (name, value) in params {
        let alone = Map::from_iter([(name.clone(), value)]);
        let Err(error) = parse(alone) else { continue };
        let why = error.to_string();
        let why = match why.strip_prefix("unknown field ") {
            Some(list) => {
                let known: Vec<&str> = list.split('`').skip(3).step_by(2).collect();
                unknown_param(method, &name, &[&known, &WISHES[..], &["repo"]].concat())
            }
            // What serde has to say of them names a type of ours.
            None if why.contains("untagged enum") => {
                format!(
                    r#"'{name}': where a text is expected, give one, {{"text": ..}} or {{"bytes": base64}}"#
                )
            }
            None => format!("'{name}': {why}"),
        };
        return Err(wrong("bad_params", &why));
    }
    let names = names.join(", ");
    Err(wrong("bad_params", &format!("{whole}, in {names}")))
}

fn unknown_param(method: &str, name: &str, known: &[&str]) -> String {
    match known {
        [] => format!("{method} takes no params, and '{name}' is one"),
        _ => unknown(&format!("param of {method}"), name, known),
    }
}

/// Says that there is no `name`, and which one was probably meant, else all.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let near = nearest(known.iter().map(|name| BStr::new(*name)), BStr::new(name));
    match near.first() {
        Some(near) => format!("no {what} is called '{name}'; did you mean '{near}'?"),
        None => format!("no {what} is called '{name}'; there are {}", known.join(", ")),
    }
}

/// The error for a line that is wrong for this reason, which may repeat parts of it.
pub(super) fn wrong(code: &'static str, why: &str) -> Error {
    let why = escape_for_people(why.as_bytes()).to_string();
    let why = match why.char_indices().nth(MAX_WHY_CHARS) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    };
    Error::new(ErrorKind::Usage, why).with_code(code)
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

/// All methods: those of questions and those of sessions.
pub(super) const METHODS: [&str; 15] = [
    "refs", "ls", "tree", "stat", "read", "glob", "grep", "prefetch", "plan", "open", "close",
    "repos", "cancel", "version", "schema",
];
const FIELDS: [&str; 3] = ["id", "method", "params"];
const WISHES: [&str; 3] = ["progress", "stream", "timeout_ms"];
/// Bytes of an id: enough for anything that is one, and little on every line about it.
const MAX_ID_BYTES: usize = 256;
/// A year: no clock is asked for more.
const MAX_TIMEOUT_MS: u64 = 366 * 24 * 3_600 * 1_000;
/// Characters of a message that repeats what a line said.
const MAX_WHY_CHARS: usize = 500;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
