//! Prints one file of a remote repository:
//! `cargo run --example read_path -- https://host/repo.git README.md`

use std::io::Write as _;

use gitsip::agent::{ReadAnswer, ReadOptions, RemoteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, url, path] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: read_path URL PATH".into());
    };
    tokio::runtime::Runtime::new()?.block_on(async {
        let repo = gitsip::open(url, RemoteOptions::default()).await?;
        let snapshot = repo.snapshot("HEAD").await?;
        match snapshot.read_path(path, ReadOptions::default()).await? {
            ReadAnswer::File(file) => std::io::stdout().write_all(&file.bytes)?,
            ReadAnswer::Submodule(module) => println!("a submodule at commit {}", module.id),
        }
        Ok(())
    })
}
