//! From what a person writes to an object id: `HEAD`, a branch, a tag, a full ref, a full
//! id, an abbreviated id.
//!
//! Names are tried in git's order (gitrevisions, "refname"), so a name that is both a
//! tag and a branch is the tag, with a warning. An abbreviation is looked for where it
//! can be without a clone: among advertised tips and objects held.

use bstr::{BStr, BString, ByteSlice as _};

use crate::client::allowance::Allowance;
use crate::error::{Error, ErrorKind};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{Objects, Ref};
use crate::text::escape_for_people;
use crate::view::nearest::nearest;

use super::source::Source;

/// git's rules for completing a ref name, in order of preference: what goes before the
/// name and what after.
const RULES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// Digits below which an abbreviation is not looked for, as in git.
const MIN_ABBREVIATION: usize = 4;

/// Objects held that an abbreviation is compared with and that an error lists.
const MAX_CANDIDATES: usize = 8;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The object: a tag is peeled.
    pub(super) id: ObjectId,
    /// The full name of the ref it came from.
    pub(super) ref_name: Option<BString>,
    /// Something the caller should know.
    pub(super) warning: Option<String>,
}

/// What `name` stands for now: no request for a full id, one for a name, two for an
/// abbreviation or a name that does not exist.
pub(super) async fn resolve<S: Source>(
    source: &S,
    name: &BStr,
    allowance: &Allowance,
) -> Result<Resolved, Error> {
    let format = source.store().format();
    // Forty digits are a whole SHA-1 id or the beginning of a SHA-256 one.
    if name.len() >= format.hex_len()
        && let Ok(id) = ObjectId::from_hex(name)
    {
        if id.format() != format {
            let why = format!("{id} is no {format} id, and {} uses {format}", source.name());
            return Err(Error::new(ErrorKind::Usage, why));
        }
        return Ok(Resolved { id, ref_name: None, warning: None });
    }
    let listed = source.refs(&candidates(name), allowance).await?;
    resolve_among(source, name, &listed, allowance).await
}

/// The same with `listed`, which has every ref that `name` may be and costs no request.
pub(super) async fn resolve_among<S: Source>(
    source: &S,
    name: &BStr,
    listed: &[Ref],
    allowance: &Allowance,
) -> Result<Resolved, Error> {
    let candidates = candidates(name);
    let mut found = candidates.iter().filter_map(|full| listed.iter().find(|r| r.name == *full));
    if let Some(first) = found.next() {
        let warning = found.next().map(|other| {
            let (first, other) = (escape_for_people(&first.name), escape_for_people(&other.name));
            let name = escape_for_people(name);
            format!("'{name}' is both {first} and {other}; reading {first}")
        });
        return Ok(Resolved { warning, ..target_of(source, first)? });
    }
    not_a_ref(source, name, allowance).await
}

/// The full names that `name` may be short for, the preferred one first.
fn candidates(name: &BStr) -> Vec<BString> {
    RULES
        .iter()
        .map(|(before, after)| bstr::concat([before.as_bytes(), name, after.as_bytes()]).into())
        .collect()
}

fn target_of<S: Source>(source: &S, named: &Ref) -> Result<Resolved, Error> {
    let id = named.peeled.or(named.target).ok_or_else(|| {
        let branch = named.symref_target.as_ref().unwrap_or(&named.name);
        Error::new(
            ErrorKind::NotFound,
            format!(
                "{} has no commit on {} yet; name another ref",
                source.name(),
                escape_for_people(branch)
            ),
        )
        .with_code("unborn")
    })?;
    Ok(Resolved { id, ref_name: Some(named.name.clone()), warning: None })
}

/// The last resort: an abbreviated id, or an error that names what is near.
async fn not_a_ref<S: Source>(
    source: &S,
    name: &BStr,
    allowance: &Allowance,
) -> Result<Resolved, Error> {
    let shown = escape_for_people(name);
    // No ref has these in its name.
    if let Some(mark) = ["~", "^", "@{"].into_iter().find(|mark| name.contains_str(mark)) {
        let why = format!(
            "no ref '{shown}' in {}: '{mark}' asks for history, which is not fetched; name a \
             branch, a tag or a full commit id",
            source.name()
        );
        return Err(Error::new(ErrorKind::NotFound, why));
    }
    let refs = source.refs(&[], allowance).await?;
    let is_abbreviation = (MIN_ABBREVIATION..source.store().format().hex_len())
        .contains(&name.len())
        && name.iter().all(|digit| digit.is_ascii_hexdigit());
    if refs.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("'{shown}' in {}: it has no refs yet", source.name()),
        ));
    }
    if is_abbreviation {
        return abbreviated(source, name, &refs);
    }
    let near = match nearest(refs.iter().map(short_name), name).first() {
        Some(near) => format!("; did you mean '{}'?", escape_for_people(near)),
        None => format!("; name one of its {} refs, or a full commit id", refs.len()),
    };
    Err(Error::new(ErrorKind::NotFound, format!("no ref '{shown}' in {}{near}", source.name())))
}

/// The one id that `name` is short for.
fn abbreviated<S: Source>(source: &S, name: &BStr, refs: &[Ref]) -> Result<Resolved, Error> {
    let prefix = name.to_ascii_lowercase().to_str_lossy().into_owned();
    let mut ids: Vec<ObjectId> = refs
        .iter()
        .flat_map(|r| [r.peeled, r.target])
        .flatten()
        .filter(|id| id.to_string().starts_with(&prefix))
        .collect();
    ids.extend(source.store().ids_with_prefix(prefix.as_bytes(), MAX_CANDIDATES)?);
    ids.sort_unstable();
    ids.dedup();
    if ids.len() > 1 {
        // As git does where a commit is wanted: what is known to be none does not count.
        let mut commits = Vec::new();
        for id in &ids {
            let kind = source.store().header(id)?.map(|header| header.kind);
            if !matches!(kind, Some(Kind::Blob | Kind::Tree)) {
                commits.push(*id);
            }
        }
        if !commits.is_empty() {
            ids = commits;
        }
    }
    match ids[..] {
        [id] => Ok(Resolved { id, ref_name: None, warning: None }),
        [] => {
            let why = format!(
                "'{name}' in {}: looked among its refs, their tips and the objects held; \
                 give the full id",
                source.name()
            );
            Err(Error::new(ErrorKind::NotFound, why))
        }
        _ => {
            let all: Vec<_> = ids.iter().map(ToString::to_string).collect();
            let why = format!("'{name}' is short for more than one: {}", all.join(", "));
            Err(Error::new(ErrorKind::Usage, why).with_code("ambiguous"))
        }
    }
}

/// The name as people write it.
fn short_name(named: &Ref) -> &BStr {
    let full = named.name.as_slice();
    ["refs/heads/", "refs/tags/", "refs/"]
        .iter()
        .find_map(|prefix| full.strip_prefix(prefix.as_bytes()))
        .unwrap_or(full)
        .as_bstr()
}
