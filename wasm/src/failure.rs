//! Errors on their way to JavaScript: the JSON of a [`Failure`], of which the package makes
//! a `GitsipError`.

use gitsip::agent::Failure;
use gitsip::{Error, ErrorKind};
use wasm_bindgen::JsValue;

/// What a promise of this crate rejects with.
pub(crate) fn thrown(error: &Error) -> JsValue {
    json(&Failure::from(error)).unwrap_or_else(|error| JsValue::from_str(error.context()))
}

/// `value` as JSON text.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> Result<JsValue, Error> {
    serde_json::to_string(value).map(|text| JsValue::from_str(&text)).map_err(unwritable)
}

/// The value that `text` is the JSON of.
pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(bad_params)
}

/// A question or option that says what cannot be meant.
pub(crate) fn bad_params(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Usage, error.to_string()).with_code("bad_params")
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the answer cannot be written: {error}"))
}
