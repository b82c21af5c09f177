//! The handle by which JavaScript stops what is under way.

use wasm_bindgen::prelude::*;

/// Stops the calls that it was handed to.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Stop(pub(crate) gitsip::agent::Stop);

#[wasm_bindgen]
impl Stop {
    /// Stops nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller no longer wants the answers.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}
