//! What `object-info` says, byte for byte as git's own server does, and to whom.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::history::{Storage, repository};
use super::support::git::{File, Sandbox};

fn said(mut command: Command, repo: &Path, arguments: &[String]) -> Vec<u8> {
    let lines = ["command=object-info".to_owned(), "0001".to_owned()];
    let mut body = Vec::new();
    for line in lines.iter().chain(arguments).chain(&["0000".to_owned()]) {
        match line.as_str() {
            "0000" | "0001" => body.extend_from_slice(line.as_bytes()),
            line => write!(body, "{:04x}{line}", 4 + line.len()).unwrap(),
        }
    }
    command.arg("upload-pack").arg("--stateless-rpc").arg(repo).env("GIT_PROTOCOL", "version=2");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&body).unwrap();
    child.wait_with_output().unwrap().stdout
}

#[test]
fn sizes_are_told_as_git_tells_them_of_what_may_be_wanted() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let gone = repo.commit("gone", &[File::new("secret", "of a deleted branch\n")]);
    repo.git().run(["branch", "-D", "gone"]);
    repo.git().run(["config", "transfer.advertiseObjectInfo", "true"]);
    let ours = |arguments: &[String]| {
        said(Command::new(env!("CARGO_BIN_EXE_gitsip")), repo.path(), arguments)
    };
    let theirs = |arguments: &[String]| said(sandbox.git().command(), repo.path(), arguments);
    let names = ["main:file0", "main~9:big", "main", "v1", "main~3^{tree}", "bare-file"];
    let ids = names.map(|name| format!("oid {}", repo.git().run(["rev-parse", name])));
    let absent = format!("oid {}", "12".repeat(20));
    let all = [&ids[..], &[absent]].concat();
    let size = "size".to_owned();
    let sized = [std::slice::from_ref(&size), &all].concat();
    for arguments in [&sized[..], &all, &sized[..1], &[]] {
        assert_eq!(ours(arguments), theirs(arguments), "{arguments:?}");
    }
    // git tells of everything that is stored.
    let gone = [size, format!("oid {gone}")];
    let nothing = String::from_utf8(ours(&gone)).unwrap();
    assert!(nothing.ends_with(" 0000") && ours(&gone) != theirs(&gone), "{nothing}");
    repo.git().run(["config", "transfer.advertiseObjectInfo", "false"]);
    let refused = String::from_utf8(ours(&all)).unwrap();
    assert!(refused.contains("ERR unknown command 'object-info'"), "{refused}");
}
