//! `git credential fill`, `approve` and `reject`: the user's helpers, asked through git.
//!
//! The exchange is that of git-credential(1): lines of `key=value`. A value with a line
//! break or a NUL in it is never written, so that no address can say more than one line.
//! Without a terminal nobody is prompted, and whoever does not answer in time is ended.
//! Where there is no git, nobody is asked.

use std::fmt;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::address::RepoUrl;
use crate::client::credentials::Auth;

/// The credential that git has for one repository.
pub(super) struct GitCredential {
    /// What is asked; `None` when it cannot be said.
    question: Option<Vec<u8>>,
    answered: Mutex<Option<Answered>>,
    /// The git that runs now, so that it can be ended from outside.
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    child: Option<Child>,
    stopped: bool,
}

struct Answered {
    /// All lines of the answer, to be given back as they came.
    lines: Vec<u8>,
    is_settled: bool,
}

impl fmt::Debug for GitCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GitCredential(hidden)")
    }
}

impl GitCredential {
    /// Asks nobody yet.
    pub(super) fn new(repo: &RepoUrl, user: Option<&str>) -> Self {
        let question = question(repo, user);
        Self { question, answered: Mutex::default(), running: Mutex::default() }
    }

    /// Whether git has given a credential.
    pub(super) fn has_answered(&self) -> bool {
        lock(&self.answered).is_some()
    }

    /// What git has, or a person types. One that git gave before was refused, and is
    /// rejected first.
    pub(super) fn fill(&self) -> Option<Auth> {
        self.reject();
        let question = self.question.as_ref()?;
        let lines = self.run("fill", question)?;
        let auth = read_answer(&lines, question)?;
        *lock(&self.answered) = Some(Answered { lines, is_settled: false });
        Some(auth)
    }

    /// The credential was accepted: helpers may keep it. Said once.
    pub(super) fn approve(&self) {
        self.settle("approve");
    }

    /// The credential was refused: helpers forget it. Said once.
    pub(super) fn reject(&self) {
        self.settle("reject");
    }

    /// Ends the git that runs now, and lets no other one start.
    pub(super) fn stop(&self) {
        let mut running = lock(&self.running);
        running.stopped = true;
        if let Some(child) = &mut running.child {
            end(child);
        }
    }

    fn settle(&self, verdict: &str) {
        let lines = match &mut *lock(&self.answered) {
            Some(answered) if !answered.is_settled || verdict == "reject" => {
                answered.is_settled = true;
                answered.lines.clone()
            }
            _ => return,
        };
        // Nothing hangs on what helpers make of it.
        let _ = self.run(verdict, &lines);
        if verdict == "reject" {
            *lock(&self.answered) = None;
        }
    }

    /// Runs `git credential` with one word; what it printed when it succeeded.
    fn run(&self, word: &str, input: &[u8]) -> Option<Vec<u8>> {
        let is_prompting = io::stdin().is_terminal() && io::stderr().is_terminal();
        let mut command = command(word, is_prompting);
        let (mut stdin, stdout) = {
            let mut running = lock(&self.running);
            if running.stopped {
                return None;
            }
            let mut child = command.spawn().ok()?;
            let pipes = (child.stdin.take()?, child.stdout.take()?);
            running.child = Some(child);
            pipes
        };
        // A git that ends before it has read everything has said what it had to say.
        let _ = stdin.write_all(input);
        drop(stdin);
        // A helper that outlives its git may hold the pipe open.
        let (sender, answer) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes);
            drop(sender.send(read.map(|_| bytes)));
        });
        let patience = if is_prompting { PATIENCE_WITH_PEOPLE } else { PATIENCE };
        let end_of_patience = Instant::now() + patience;
        let succeeded = self.wait(end_of_patience);
        if !succeeded {
            return None;
        }
        let left = end_of_patience.saturating_duration_since(Instant::now());
        answer.recv_timeout(left.max(LAST_BYTES)).ok()?.ok()
    }

    /// Waits until the running git ends or has to; whether it ended well.
    fn wait(&self, end_of_patience: Instant) -> bool {
        loop {
            {
                let mut running = lock(&self.running);
                let Some(child) = &mut running.child else { return false };
                match child.try_wait() {
                    Ok(None) if Instant::now() < end_of_patience => {}
                    Ok(Some(status)) => {
                        running.child = None;
                        return status.success();
                    }
                    _ => {
                        end(child);
                        running.child = None;
                        return false;
                    }
                }
            }
            thread::sleep(GLANCE);
        }
    }
}

/// `git credential WORD`, run where no repository's own configuration is read: it could
/// name a helper.
fn command(word: &str, is_prompting: bool) -> Command {
    let mut command = Command::new("git");
    command.args(["credential", word]).current_dir(Path::new("/"));
    command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if !is_prompting {
        command.env("GIT_TERMINAL_PROMPT", "0").env("GCM_INTERACTIVE", "never");
        // An askpass program in the environment was put there for this; one that is
        // configured, or ssh's, opens a window. Set and empty, it keeps git from both.
        if std::env::var_os("GIT_ASKPASS").is_none() {
            command.env("GIT_ASKPASS", "");
        }
        // A group of its own, to be ended with its helpers. It could not read a terminal.
        in_a_group_of_its_own(command.stderr(Stdio::null()));
    }
    command
}

#[cfg(unix)]
fn in_a_group_of_its_own(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn in_a_group_of_its_own(_: &mut Command) {}

/// Ends `child` with its helpers. It is asked first: a git that prompts has to switch the
/// terminal's echo on again.
fn end(child: &mut Child) {
    let id = child.id();
    for target in [format!("-{id}"), id.to_string()] {
        let mut kill = Command::new("kill");
        kill.args(["-TERM", "--", &target]).stdin(Stdio::null());
        drop(kill.stdout(Stdio::null()).stderr(Stdio::null()).status());
    }
    let end_of_patience = Instant::now() + LAST_BYTES;
    while Instant::now() < end_of_patience {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(GLANCE);
    }
    drop(child.kill());
    drop(child.wait());
}

/// The description of `repo` that git is given.
fn question(repo: &RepoUrl, user: Option<&str>) -> Option<Vec<u8>> {
    let origin = repo.origin_text();
    let (protocol, host) = origin.split_once("://")?;
    let whole = repo.to_string();
    let path = whole.strip_prefix(&origin)?.trim_start_matches('/');
    let path: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
    let mut text = Vec::new();
    for (key, value) in [
        ("protocol", Some(protocol.as_bytes())),
        ("host", Some(host.as_bytes())),
        ("path", Some(path.as_slice())),
        ("username", user.map(str::as_bytes)),
    ] {
        let Some(value) = value else { continue };
        if value.iter().any(|byte| b"\n\r\0".contains(byte)) {
            return None;
        }
        text.extend([key.as_bytes(), b"=", value, b"\n"].concat());
    }
    text.push(b'\n');
    Some(text)
}

/// The credential in git's answer, when it is complete and for the host that was asked for.
fn read_answer(lines: &[u8], question: &[u8]) -> Option<Auth> {
    let is_for_another = |key| value(lines, key).is_some_and(|it| Some(it) != value(question, key));
    if lines.contains(&0) || is_for_another("protocol") || is_for_another("host") {
        return None;
    }
    let text = |key| value(lines, key).and_then(|value| String::from_utf8(value.to_vec()).ok());
    Some(Auth::Basic { user: text("username")?, password: text("password")? })
}

/// The last value of `key`, as git reads its own format.
fn value<'a>(lines: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let of_key = |line: &'a [u8]| line.strip_prefix(key.as_bytes())?.strip_prefix(b"=");
    lines.split(|&byte| byte == b'\n').rev().find_map(of_key)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For helpers without a terminal: they read a file or a key ring, or renew a token.
const PATIENCE: Duration = Duration::from_secs(20);
/// For a person who looks for a token, or logs in in a browser.
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_secs(300);
/// For what is left to do at the end.
const LAST_BYTES: Duration = Duration::from_millis(500);
/// How often it is looked whether git has ended.
const GLANCE: Duration = Duration::from_millis(2);
/// Names, passwords and refresh tokens are far shorter.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(address: &str, user: Option<&str>) -> Option<String> {
        let (repo, _) = RepoUrl::parse(address).unwrap();
        question(&repo, user).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_question_describes_the_repository_in_gits_words() {
        for (address, user, expected) in [
            ("https://h/a/b", None, "protocol=https\nhost=h\npath=a/b\n\n"),
            ("http://H:8080/", None, "protocol=http\nhost=h:8080\npath=\n\n"),
            ("https://[::1]:8/a%20b", None, "protocol=https\nhost=[::1]:8\npath=a b\n\n"),
            ("https://h/a?x#y", Some("me"), "protocol=https\nhost=h\npath=a\nusername=me\n\n"),
        ] {
            assert_eq!(asked(address, user).as_deref(), Some(expected), "{address}");
        }
    }

    #[test]
    fn a_line_break_never_reaches_the_question() {
        for user in ["a\nhost=evil", "a\rhost=evil", "a\0b"] {
            assert_eq!(asked("https://h/a", Some(user)), None, "{user:?}");
        }
        // Addresses with one are refused before; from their user it is taken off here.
        for address in ["https://h/a%0ahost=evil", "https://h/%0D", "https://h%0ahost=evil/a"] {
            assert!(RepoUrl::parse(address).is_err(), "{address}");
        }
    }

    #[test]
    fn an_answer_counts_when_it_is_complete_and_for_that_host() {
        let question = b"protocol=https\nhost=h\npath=a\n\n";
        for (answer, is_taken) in [
            ("protocol=https\nhost=h\nusername=me\npassword=pw=1\n", true),
            ("username=me\npassword=pw=1\noauth_refresh_token=x\n", true),
            ("username=you\nusername=me\npassword=pw=1", true),
            ("protocol=https\nhost=evil\nusername=me\npassword=pw=1\n", false),
            ("protocol=http\nhost=h\nusername=me\npassword=pw=1\n", false),
            ("username=me\n", false),
            ("password=pw=1\n", false),
            ("username=me\npassword=pw=1\0\n", false),
            ("", false),
        ] {
            let expected = Auth::Basic { user: "me".into(), password: "pw=1".into() };
            let taken = read_answer(answer.as_bytes(), question);
            assert_eq!(taken, is_taken.then_some(expected), "{answer:?}");
        }
    }
}
