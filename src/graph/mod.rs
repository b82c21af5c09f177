//! Walks over history, for whoever needs more than one commit: which commits one side has
//! and the other lacks, and what has been seen on the way.

mod history;
mod marks;
mod reach;
mod until;

pub use crate::store::CommitFacts;
pub use history::{Cuts, InRange, Range, commit_facts, range};
pub use marks::Marks;
pub use reach::Reach;
pub use until::range_until;
