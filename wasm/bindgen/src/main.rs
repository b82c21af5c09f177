//! Makes an ES module and its WebAssembly of what cargo built of `gitsip-wasm`.
//!
//! The same work as the command `wasm-bindgen --target web`, without that command's own
//! dependencies, and of the version that this workspace's lock file has for both halves.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(input), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: gitsip-wasm-bindgen INPUT.wasm FOLDER");
        return ExitCode::from(2);
    };
    match bind(&input, &folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bind(input: &str, folder: &str) -> Result<(), impl std::fmt::Display> {
    let mut bindgen = Bindgen::new();
    bindgen
        .web(true)
        .and_then(|bindgen| bindgen.input_path(input).out_name("gitsip").generate(folder))
}
