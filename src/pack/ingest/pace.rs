//! How often long work asks whether to go on.

use crate::limits::{Interrupt, Interrupted};

/// Asks the interrupt at a steady pace.
#[derive(Debug, Default)]
pub(in crate::pack) struct Pace {
    bytes: u64,
    objects: u32,
}

impl Pace {
    /// One more object, or a part of one, of `bytes` bytes was worked on.
    pub(in crate::pack) fn did(
        &mut self,
        bytes: u64,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Interrupted> {
        self.bytes += bytes;
        self.objects += 1;
        if self.bytes >= CHECK_BYTES || self.objects >= CHECK_OBJECTS {
            *self = Self::default();
            interrupt.check()?;
        }
        Ok(())
    }
}

const CHECK_BYTES: u64 = 64 << 10;
const CHECK_OBJECTS: u32 = 256;
