//! Prints one file of a remote repository:
//! `cargo run --example read_path -- https://host/repo.git README.md`

use gitsip::agent::{ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo};
use gitsip::transport::{HttpOptions, HttpTransport};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, url, path] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: read_path URL PATH".into());
    };
    tokio::runtime::Runtime::new()?.block_on(async {
        let transport = HttpTransport::new(HttpOptions::default())?;
        let remote = Remote::open(transport, url, RemoteOptions::default()).await?;
        let snapshot = Repo::new(remote, gitsip::Limits::default()).snapshot("HEAD").await?;
        match snapshot.read_path(path, ReadOptions::default()).await? {
            ReadAnswer::File(file) => print!("{}", String::from_utf8_lossy(&file.bytes)),
            ReadAnswer::Submodule(module) => println!("a submodule at commit {}", module.id),
        }
        Ok(())
    })
}
