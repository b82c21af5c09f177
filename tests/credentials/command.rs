//! The command line: where it looks for a credential, in which order, and what it tells
//! git about the one that git gave.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::support::git::{Sandbox, isolate};
use super::support::http_server::{Auth, Behaviour, CannedResponse, HttpServer, Recorded};
use super::{SECRET, SECRET_IN_BASE64, has_secret, sandbox_with_repo};

#[test]
fn the_first_that_is_given_is_sent_and_the_others_are_not() {
    let world = World::new();
    world.server.set_behaviour(Behaviour::default());
    world.helper(&answer("me", "from-git"));
    std::fs::write(world.home(".netrc"), "machine 127.0.0.1 login net password from-netrc\n")
        .unwrap();
    let in_address = world.url.replace("://", "://url:from-address@");
    let basic = |user: &str, password: &str| {
        Auth::Basic { user: user.into(), password: password.into() }.header()
    };
    let all = [("A_TOKEN", "from-flag"), ("GITSIP_TOKEN", "from-variable")];
    for (url, variables, flag, expected) in [
        (&in_address, &all[..], true, basic("x-access-token", "from-flag")),
        (&in_address, &all[1..], false, basic("x-access-token", "from-variable")),
        (&in_address, &[][..], false, basic("url", "from-address")),
        (&in_address, &[("GITSIP_TOKEN", "")], false, basic("url", "from-address")),
        (&world.url, &[("GITSIP_TOKEN", "you:word")], false, basic("you", "word")),
        (&world.url, &[("GITSIP_TOKEN", "Bearer word")], false, "Bearer word".to_owned()),
        (&world.url, &[], false, basic("net", "from-netrc")),
    ] {
        world.server.forget_requests();
        let mut command = world.gitsip(&["refs", url]);
        command.envs(variables.iter().copied());
        if flag {
            command.args(["--token-env", "A_TOKEN"]);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let requests = world.server.requests();
        assert_eq!(requests.len(), 2);
        for request in requests {
            assert_eq!(request.header("authorization"), Some(expected.as_str()));
        }
    }
    assert_eq!(world.helper_log(), "", "git is asked only by a host that refuses");
}

#[test]
fn the_netrc_file_is_for_its_machines_and_logins() {
    let world = World::new();
    let elsewhere = world.home("elsewhere");
    let right = format!("login me password {SECRET}");
    let with_user = |user: &str| world.url.replace("://", &format!("://{user}@"));
    for (text, url, status) in [
        (format!("machine 127.0.0.1 {right}"), world.url.clone(), 0),
        (format!("default {right}"), world.url.clone(), 0),
        (
            format!("machine 127.0.0.1 login you password x\nmachine 127.0.0.1 {right}"),
            with_user("me"),
            0,
        ),
        (format!("machine localhost {right}"), world.url.clone(), 4),
        (format!("machine 127.0.0.1 {right}"), with_user("you"), 4),
        ("machine 127.0.0.1 login me password wr0ng".to_owned(), world.url.clone(), 4),
    ] {
        std::fs::write(&elsewhere, &text).unwrap();
        let output = world.gitsip(&["refs", &url]).env("NETRC", &elsewhere).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}: {output:?}");
        assert_discreet(&output);
    }
    let output = world.gitsip(&["refs", &world.url]).env("NETRC", &elsewhere).output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(
        line.contains("check the entry for 127.0.0.1 in ") && line.contains("elsewhere"),
        "{line}"
    );
    std::fs::remove_file(&elsewhere).unwrap();
    let none = world.gitsip(&["refs", &world.url]).env("NETRC", &elsewhere).output().unwrap();
    assert_eq!(none.status.code(), Some(4), "{none:?}");
}

#[test]
fn git_is_asked_after_a_401_and_told_that_its_credential_was_right() {
    let world = World::new();
    world.helper(&answer("me", SECRET));
    let output = world.gitsip(&["cat", &world.url, "a", "--stats"]).output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b"a\n"[..]),
        "{output:?}"
    );
    assert_discreet(&output);
    let host = world.server.address();
    let description = format!("protocol=http\nhost={host}\n");
    let credential = format!("username=me\npassword={SECRET}\n");
    let log = world.helper_log();
    let parts: Vec<&str> = log.split("= ").skip(1).collect();
    assert_eq!(parts.len(), 2, "{log}");
    assert!(parts[0].starts_with(&format!("get\n{description}")), "{log}");
    assert!(!parts[0].contains(SECRET), "{log}");
    assert!(parts[1].starts_with("store\n"), "{log}");
    for line in description.lines().chain(credential.lines()) {
        assert!(parts[1].lines().any(|it| it == line), "{line}: {log}");
    }
    let statuses: Vec<_> = world.server.requests().iter().map(|it| it.status).collect();
    assert_eq!(statuses, [401, 200, 200, 200, 200], "one request more than without");
}

#[test]
fn a_wrong_credential_of_gits_is_rejected_and_the_flag_is_named() {
    let world = World::new();
    world.helper(&answer("me", "wr0ng-word"));
    let output = world.gitsip(&["refs", &world.url]).output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{line}");
    assert!(line.contains("not accepted") && line.contains("pass --token-env NAME"), "{line}");
    assert!(!line.contains("wr0ng-word"), "{line}");
    assert_eq!(world.helper_words(), ["get", "erase"]);
    assert_eq!(world.server.requests().len(), 2);
}

#[test]
fn a_403_or_404_neither_approves_nor_rejects_what_git_gave() {
    let world = World::new();
    world.helper(&answer("me", SECRET));
    for status in [403, 404] {
        let hook = move |request: &Recorded| {
            let is_known = request.header("authorization").is_some();
            Some(CannedResponse::new(if is_known { status } else { 401 }, "text/plain", "no\n"))
        };
        let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
        world.server.set_behaviour(behaviour);
        let output = world.gitsip(&["refs", &world.url]).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        assert_discreet(&output);
    }
    assert_eq!(world.helper_words(), ["get", "get"]);
}

#[test]
fn what_was_named_on_the_command_line_is_final_and_the_rest_is_not() {
    let world = World::new();
    world.helper(&answer("me", SECRET));
    let wrong = ("A_TOKEN", "wr0ng-word");
    let named = world.gitsip(&["refs", &world.url, "--token-env", "A_TOKEN"]);
    let output = with(named, wrong).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("check what A_TOKEN holds"));
    assert_eq!(world.helper_log(), "");
    let ambient = world.gitsip(&["refs", &world.url]);
    let output = with(ambient, ("GITSIP_TOKEN", "wr0ng-word")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(world.helper_words(), ["get", "store"], "nobody else's credential is erased");
}

#[test]
fn the_user_in_an_address_is_whom_git_is_asked_for() {
    let world = World::new();
    world.helper(&answer("me", SECRET));
    let url = world.url.replace("://", "://me@");
    let output = world.gitsip(&["refs", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let log = world.helper_log();
    let asked = log.split("= store").next().unwrap();
    assert!(asked.lines().any(|line| line == "username=me"), "{log}");
}

#[test]
fn case_30_a_line_break_in_an_address_reaches_neither_host_nor_helper() {
    let world = World::new();
    world.helper(&answer("me", SECRET));
    let host = world.server.address();
    for url in [
        format!("http://{host}/r.git%0ahost=evil.example"),
        format!("http://{host}/r.git%0d%0ahost=evil.example"),
        format!("http://{host}/r.git%00"),
        format!("http://me%0ahost=evil.example@{host}/r.git"),
        format!("http://me%0d:{SECRET}%0a@{host}/r.git"),
        format!("http://{host}%0ahost=evil.example/r.git"),
        format!("http://{host}/r.git\nhost=evil.example"),
    ] {
        let output = world.gitsip(&["refs", &url]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{url:?}: {output:?}");
        assert_discreet(&output);
    }
    assert_eq!(world.helper_log(), "");
    assert!(world.server.requests().is_empty());
}

#[test]
fn without_a_terminal_nobody_is_prompted_and_nothing_hangs() {
    let world = World::new();
    let window = world.script("window", "touch \"$HOME/opened\"; echo me");
    let started = Instant::now();
    for (name, program) in [("SSH_ASKPASS", &window), ("NOTHING", &window)] {
        let mut command = world.gitsip(&["refs", &world.url]);
        command.env(name, program).env("DISPLAY", ":0").env_remove("GIT_TERMINAL_PROMPT");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            line.contains("private or missing") && line.contains("pass --token-env NAME"),
            "{line}"
        );
    }
    std::fs::write(world.home(".gitconfig"), format!("[core]\naskPass = {}\n", window.display()))
        .unwrap();
    let output = world.gitsip(&["refs", &world.url]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(!world.home("opened").exists(), "no window is opened");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn an_askpass_program_in_the_environment_is_asked() {
    let world = World::new();
    let program = world
        .script("askpass", &format!("case \"$1\" in User*) echo me ;; *) echo {SECRET} ;; esac"));
    let output =
        with(world.gitsip(&["refs", &world.url]), ("GIT_ASKPASS", program.to_str().unwrap()))
            .output()
            .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_discreet(&output);
}

#[test]
fn a_helper_that_hangs_is_ended_with_the_command() {
    let world = World::new();
    world.helper("echo $$ > \"$HOME/helper-id\"\nexec sleep 300");
    let started = Instant::now();
    let output = world.gitsip(&["refs", &world.url, "--timeout", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let id = std::fs::read_to_string(world.home("helper-id")).unwrap();
    let alive = || {
        let mut kill = Command::new("kill");
        kill.args(["-0", id.trim()]).stderr(Stdio::null()).status().unwrap().success()
    };
    let until = Instant::now() + Duration::from_secs(5);
    while alive() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!alive(), "the helper runs on");
}

#[test]
fn without_git_there_is_one_source_less() {
    let world = World::new();
    let output =
        with(world.gitsip(&["refs", &world.url]), ("PATH", "/nonexistent")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(line.contains("pass --token-env NAME"), "{line}");
}

#[test]
fn a_helper_named_by_the_repository_one_stands_in_is_not_run() {
    let world = World::new();
    let here = world.sandbox.path().join("here");
    world.sandbox.git().run([Path::new("init"), Path::new("--quiet"), here.as_path()]);
    let helper = world.script("evil", "touch \"$HOME/evil-ran\"");
    let config = format!("[credential]\nhelper = {}\n", helper.display());
    std::fs::write(here.join(".git/config"), config).unwrap();
    let git_dir = here.join(".git");
    let mut command = world.gitsip(&["refs", &world.url]);
    command.current_dir(&here).env("GIT_DIR", &git_dir);
    assert_eq!(command.output().unwrap().status.code(), Some(4));
    assert!(!world.home("evil-ran").exists());
}

#[test]
fn a_private_or_missing_repository_says_both_and_names_the_flag() {
    let world = World::new();
    world.server.set_behaviour(Behaviour::default());
    let output = world.gitsip(&["refs", &world.server.url("none.git")]).output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{line}");
    assert!(line.contains("no such repository, or a private one"), "{line}");
    assert!(line.contains("pass --token-env NAME"), "{line}");
}

#[test]
fn a_host_that_sends_the_credential_back_makes_nothing_show_it() {
    let world = World::new();
    for status in [401, 403, 404, 500] {
        let body = format!("you sent {SECRET} and Basic {SECRET_IN_BASE64}\n");
        let hook =
            move |_: &Recorded| Some(CannedResponse::new(status, "text/plain", body.clone()));
        let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
        world.server.set_behaviour(behaviour);
        let url = world.url.replace("://", &format!("://me:{SECRET}@"));
        let in_variable = with(
            world.gitsip(&["ls", &world.url, "--stats"]),
            ("GITSIP_TOKEN", &format!("me:{SECRET}")),
        );
        for mut command in [world.gitsip(&["ls", &url, "--stats"]), in_variable] {
            let output = command.output().unwrap();
            assert_ne!(output.status.code(), Some(0));
            assert!(String::from_utf8_lossy(&output.stderr).contains("(hidden)"), "{output:?}");
            assert_discreet(&output);
        }
    }
}

fn with(mut command: Command, (name, value): (&str, &str)) -> Command {
    command.env(name, value);
    command
}

#[track_caller]
fn assert_discreet(output: &Output) {
    assert!(
        !has_secret(&format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        "{output:?}"
    );
}

/// The lines of a helper that answers everything with this credential.
fn answer(user: &str, password: &str) -> String {
    format!("test \"$1\" = get && printf 'username={user}\\npassword={password}\\n'")
}

/// A host that lets in only `me` with the secret, and a user at home.
struct World {
    sandbox: Sandbox,
    server: HttpServer,
    url: String,
}

impl World {
    fn new() -> Self {
        let sandbox = sandbox_with_repo();
        let auth = Some(Auth::Basic { user: "me".into(), password: SECRET.into() });
        let behaviour = Behaviour { auth, ..Behaviour::default() };
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        let url = server.url("r.git");
        Self { sandbox, server, url }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.sandbox.path().join("home").join(name)
    }

    /// The command, with git's configuration in the user's home and no terminal.
    fn gitsip(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
        isolate(&mut command, &self.sandbox.path().join("home"));
        command.env("GIT_CONFIG_GLOBAL", self.home(".gitconfig"));
        command.args(words).current_dir(self.sandbox.path()).stdin(Stdio::null());
        command
    }

    /// A program in the user's home.
    fn script(&self, name: &str, lines: &str) -> PathBuf {
        let path = self.home(name);
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Makes a script git's credential helper. Before its `lines` it logs what it is told.
    fn helper(&self, lines: &str) {
        let log = "{ echo \"= $1\"; cat; } >> \"$HOME/helper-log\"";
        let path = self.script("helper", &format!("{log}\n{lines}"));
        let config = format!("[credential]\nhelper = {}\n", path.display());
        std::fs::write(self.home(".gitconfig"), config).unwrap();
    }

    fn helper_log(&self) -> String {
        std::fs::read_to_string(self.home("helper-log")).unwrap_or_default()
    }

    fn helper_words(&self) -> Vec<String> {
        let log = self.helper_log();
        log.lines().filter_map(|line| line.strip_prefix("= ")).map(str::to_owned).collect()
    }
}
