//! gitsip for JavaScript.
