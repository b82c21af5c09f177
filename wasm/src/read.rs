//! Files with their bytes as they are, which JSON would make text or base64 of.

use gitsip::Error;
use gitsip::agent::{
    Failure, File, Lfs, ReadAnswer, ReadOptions, Snapshot, Source, Stop, Submodule,
};
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;

use crate::failure::json;
use crate::repo::Held;

/// What a snapshot is pinned to.
#[derive(serde::Serialize)]
pub(crate) struct Pinned {
    commit: String,
    #[serde(rename = "ref")]
    ref_name: Option<String>,
    warning: Option<String>,
}

impl Pinned {
    pub(crate) fn of<S: Source>(snapshot: &Snapshot<S>) -> Self {
        let ref_name = snapshot.ref_name().map(|name| String::from_utf8_lossy(&name).into_owned());
        Self { commit: snapshot.commit().to_string(), ref_name, warning: snapshot.warning() }
    }
}

/// Everything of a file but its bytes.
#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Item {
    File {
        commit: String,
        path: String,
        resolved_path: String,
        mode: String,
        blob: String,
        size: usize,
        lfs: Option<Lfs>,
    },
    Submodule(Submodule),
    Error {
        error: Failure,
    },
}

/// An array with [`Item`] as JSON and, behind each, its bytes or `undefined`.
pub(crate) async fn files(
    repo: &Held,
    commit: &str,
    paths: &[String],
    follow: bool,
    stop: &Stop,
) -> Result<JsValue, Error> {
    let snapshot = stop.guard(repo.snapshot(commit)).await?.stopped_by(stop);
    let answers = snapshot.read_many(paths, ReadOptions { follow }).await?;
    let items = Array::new();
    for answer in answers {
        let (item, bytes) = match answer {
            Ok(ReadAnswer::File(file)) => {
                let bytes = Uint8Array::from(&file.bytes[..]).into();
                (Item::of(file), bytes)
            }
            Ok(ReadAnswer::Submodule(submodule)) => {
                (Item::Submodule(submodule), JsValue::UNDEFINED)
            }
            Err(error) => (Item::Error { error: Failure::from(&error) }, JsValue::UNDEFINED),
        };
        items.push(&json(&item)?);
        items.push(&bytes);
    }
    Ok(items.into())
}

impl Item {
    fn of(file: File) -> Self {
        let File { commit, path, resolved_path, mode, id, bytes, lfs } = file;
        Self::File {
            commit: commit.to_string(),
            path: path.to_string(),
            resolved_path: resolved_path.to_string(),
            mode: format!("{mode:06o}"),
            blob: id.to_string(),
            size: bytes.len(),
            lfs,
        }
    }
}
