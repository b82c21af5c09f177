//! What is held as bytes for another time, over JavaScript's arrays.

use std::io::{self, Read, Write};

use gitsip::Error;
use gitsip::limits::NeverInterrupt;
use js_sys::{Function, Uint8Array};
use wasm_bindgen::JsValue;

use crate::failure::json;
use crate::repo::Held;

/// How much was saved or loaded.
#[derive(serde::Serialize)]
struct Amount {
    objects: u64,
    bytes: u64,
}

/// Hands what `repo` holds to `take`, chunk by chunk.
pub(crate) fn save(repo: &Held, take: &Function) -> Result<JsValue, Error> {
    let saved = repo.save(&mut Chunks(take))?;
    json(&Amount { objects: saved.objects, bytes: saved.bytes })
}

/// Takes in what [`save`] handed out.
pub(crate) fn load(repo: &Held, bytes: &Uint8Array) -> Result<JsValue, Error> {
    let loaded = repo.load(&mut Rest { bytes, at: 0 }, &NeverInterrupt)?;
    json(&Amount { objects: loaded.objects, bytes: loaded.bytes })
}

struct Chunks<'a>(&'a Function);

impl Write for Chunks<'_> {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        let copy = Uint8Array::from(chunk);
        match self.0.call1(&JsValue::UNDEFINED, &copy) {
            Ok(_) => Ok(chunk.len()),
            Err(_) => Err(io::Error::other("the function that takes the bytes threw an error")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Rest<'a> {
    bytes: &'a Uint8Array,
    at: u32,
}

impl Read for Rest<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let room = u32::try_from(into.len()).unwrap_or(u32::MAX);
        let end = self.at.saturating_add(room).min(self.bytes.length());
        let len = (end - self.at) as usize;
        self.bytes.subarray(self.at, end).copy_to(&mut into[..len]);
        self.at = end;
        Ok(len)
    }
}
