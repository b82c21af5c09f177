//! What is asked of JavaScript: the methods of `js/host.js`. None of them throws; what can
//! fail rejects its promise.

use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A clock, a network, and who listens to reports.
    pub type Host;

    /// Begins a request. `headers` are names and values in turn.
    #[wasm_bindgen(method)]
    pub(crate) fn request(
        this: &Host,
        method: &str,
        url: &str,
        headers: Vec<String>,
        body: Option<Uint8Array>,
    ) -> Transfer;

    /// Begins to wait.
    #[wasm_bindgen(method)]
    pub(crate) fn timer(this: &Host, ms: f64) -> Timer;

    /// Milliseconds since some fixed moment; never goes backwards.
    #[wasm_bindgen(method)]
    pub(crate) fn now(this: &Host) -> f64;

    /// Tells how a transfer goes, in JSON.
    #[wasm_bindgen(method)]
    pub(crate) fn report(this: &Host, progress: &str);

    /// A request that is under way.
    pub(crate) type Transfer;

    /// Resolves to a [`Head`].
    #[wasm_bindgen(method)]
    pub(crate) fn head(this: &Transfer) -> Promise;

    /// Resolves to the next chunk, a `Uint8Array`; to `undefined` behind the last one.
    #[wasm_bindgen(method)]
    pub(crate) fn read(this: &Transfer) -> Promise;

    /// Ends it, wherever it is.
    #[wasm_bindgen(method)]
    pub(crate) fn abort(this: &Transfer);

    /// The head of a response.
    pub(crate) type Head;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn status(this: &Head) -> u16;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn url(this: &Head) -> String;

    /// Names and values in turn.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn headers(this: &Head) -> Vec<String>;

    /// Something that is waited for.
    pub(crate) type Timer;

    /// Resolves when the time has passed.
    #[wasm_bindgen(method)]
    pub(crate) fn done(this: &Timer) -> Promise;

    /// Forgets it.
    #[wasm_bindgen(method)]
    pub(crate) fn cancel(this: &Timer);

    /// Why a request failed.
    pub(crate) type NetworkFailure;

    /// One of the words that `transport.rs` knows.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn code(this: &NetworkFailure) -> String;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn message(this: &NetworkFailure) -> String;
}
