//! The `gitsip` command.
fn main() {}
