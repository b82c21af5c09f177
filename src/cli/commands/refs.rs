//! `gitsip refs`: the branches and tags.

use crate::agent::{Repo, Source};
use crate::cli::output::{Output, push_fmt};
use crate::error::Error;
use crate::text::escape_for_people;

/// As `git ls-remote` prints them.
pub(super) async fn refs<S: Source>(repo: &Repo<S>, out: &Output) -> Result<bool, Error> {
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
