//! What is done with the bytes of one response.

use crate::error::Error;

/// Takes the chunks of one response body.
#[derive(Debug)]
pub struct Conversation {
    _seam: (),
}

impl Conversation {
    /// Takes the next chunk; an error ends the transfer.
    pub fn push(&mut self, _chunk: &[u8]) -> Result<(), Error> {
        Ok(())
    }
}
