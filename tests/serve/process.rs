//! The server as a process: its end, its socket file, and this program as its client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::history::{Storage, repository};
use super::hostile::{begin, with_a_large_file};
use super::server::{Server, within};
use super::support::git::{Sandbox, isolate};

fn terminate(id: u32) {
    assert!(Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap().success());
}

#[test]
fn what_is_under_way_comes_to_its_end() {
    let sandbox = Sandbox::new();
    let body = with_a_large_file(&sandbox);
    let mut server = Server::start(&sandbox, &[]);
    let mut busy = begin(&server, &body);
    let idle = server.connect();
    terminate(server.child.id());
    let closed = within(Duration::from_secs(10), || {
        std::net::TcpStream::connect(server.address).err().map(drop)
    });
    assert!(closed.is_some(), "nobody new is served");
    assert!(server.child.try_wait().unwrap().is_none());
    let mut rest = Vec::new();
    busy.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 24 << 20 && rest.ends_with(b"0\r\n\r\n"), "{}", rest.len());
    let status = server.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    drop(idle);
}

#[test]
fn a_socket_file_is_there_as_long_as_the_server() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let socket = sandbox.path().join("socket");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, &sandbox.path().join("home"));
    command.arg("serve").arg(sandbox.repos()).arg("--unix").arg(&socket);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.starts_with("gitsip: serving at "), "{said}");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
    terminate(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!socket.exists());
    let log = String::from_utf8(output.stdout).unwrap();
    assert!(log.starts_with("200 GET /healthz done 3 bytes"), "{log}");
}

#[test]
fn our_own_client_reads_and_searches() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "group/source.git", Storage::Mixed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let gitsip = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
        isolate(&mut command, &sandbox.path().join("home"));
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    let url = server.url("group/source");
    let theirs = repo.git().run(["grep", "-n", "-I", "-E", "file [1-3]: 13", "main"]);
    let theirs = theirs.replace("main:", "");
    assert_eq!(gitsip(&["grep", &url, "--ref", "main", "file [1-3]: 13"]), theirs);
    let file = repo.git().run(["cat-file", "blob", "old:src/file1"]);
    assert_eq!(gitsip(&["cat", &url, "--ref", "old", "src/file1"]), file);
    // The server tells sizes, so that nothing of the plan is a guess.
    let plan = gitsip(&["grep", &url, "--ref", "main", "line", "src", "--plan", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let files = repo.git().run(["ls-tree", "-r", "-l", "main", "src/"]);
    let files = files.lines().filter(|line| !line.starts_with("120000"));
    let sizes = files.map(|line| line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap());
    assert_eq!(plan["items"][0]["bytes_known"], sizes.sum::<u64>(), "{plan}");
    assert_eq!(plan["items"][0]["blobs_of_unknown_size"], 0, "{plan}");
    let refs = gitsip(&["refs", &url]);
    assert_eq!(refs.lines().count(), repo.git().run(["ls-remote", "."]).lines().count());
}
