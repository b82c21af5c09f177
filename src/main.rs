//! The `gitsip` command.

fn main() -> std::process::ExitCode {
    gitsip::cli::main()
}
