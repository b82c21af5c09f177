//! A repository, as JavaScript holds it.

use std::rc::Rc;

use gitsip::agent::{Query, Remote, Repo as AgentRepo};
use gitsip::{Error, Limits};
use js_sys::{Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::failure::{bad_params, json, parse, thrown};
use crate::host::Host;
use crate::options::Options;
use crate::reports::Reports;
use crate::stop::Stop;
use crate::transport::FetchTransport;
use crate::{read, saved};

pub(crate) type Held = AgentRepo<Remote<FetchTransport>>;

/// A repository on the other side of a network, held in memory as far as it was asked about.
#[wasm_bindgen]
pub struct Repo(Rc<Held>);

/// Opens the repository at `url` with `options`, which are JSON. Resolves to a [`Repo`].
#[wasm_bindgen]
pub fn open(url: String, host: Host, options: String, stop: &Stop) -> Promise {
    let stop = stop.0.clone();
    promise(async move {
        let reports = Reports::default();
        let options = parse::<Options>(&options)?.into_remote(&url, reports.listener())?;
        let limits = Limits::clone(&options.limits);
        let opening = Remote::open(FetchTransport::new(host, reports), &url, options);
        let repo = AgentRepo::new(stop.guard(opening).await?, limits);
        Ok(Repo(Rc::new(repo)).into())
    })
}

#[wasm_bindgen]
impl Repo {
    /// Puts the question `method` with `params`, which are JSON. Resolves to the JSON of the
    /// answer.
    pub fn ask(&self, method: String, params: String, stop: &Stop) -> Promise {
        let (repo, stop) = (Rc::clone(&self.0), stop.0.clone());
        promise(async move {
            let mut params = serde_json::Deserializer::from_str(&params);
            let query = Query::of(&method, &mut params).map_err(bad_params)?;
            json(&repo.ask(&query, &stop).await?)
        })
    }

    /// Pins what `name` stands for. Resolves to the JSON of a commit, a ref and a warning.
    pub fn snapshot(&self, name: String, stop: &Stop) -> Promise {
        let (repo, stop) = (Rc::clone(&self.0), stop.0.clone());
        promise(async move {
            let snapshot = stop.guard(repo.snapshot(&name)).await?;
            json(&read::Pinned::of(&snapshot))
        })
    }

    /// The content of files at `commit`; `paths` are JSON. Resolves to an array that has,
    /// for each path, JSON and the bytes of a file.
    pub fn read(&self, commit: String, paths: String, follow: bool, stop: &Stop) -> Promise {
        let (repo, stop) = (Rc::clone(&self.0), stop.0.clone());
        promise(async move {
            let paths: Vec<String> = parse(&paths)?;
            read::files(&repo, &commit, &paths, follow, &stop).await
        })
    }

    /// What was spent so far, in JSON.
    ///
    /// # Errors
    /// None that is known.
    pub fn stats(&self) -> Result<JsValue, JsValue> {
        json(&self.0.stats()).map_err(|error| thrown(&error))
    }

    /// Hands what is held to `take`, a `Uint8Array` at a time. Gives the JSON of how much it
    /// was.
    ///
    /// # Errors
    /// What `take` throws, and `limit`.
    pub fn save(&self, take: &Function) -> Result<JsValue, JsValue> {
        saved::save(&self.0, take).map_err(|error| thrown(&error))
    }

    /// Takes in what [`save`](Self::save) handed out.
    ///
    /// # Errors
    /// For bytes that were cut short or changed, and for more than fits into memory.
    pub fn load(&self, bytes: &Uint8Array) -> Result<JsValue, JsValue> {
        saved::load(&self.0, bytes).map_err(|error| thrown(&error))
    }
}

/// Drives `work` as a promise that rejects with the JSON of its error.
fn promise(work: impl Future<Output = Result<JsValue, Error>> + 'static) -> Promise {
    future_to_promise(async move { work.await.map_err(|error| thrown(&error)) })
}
