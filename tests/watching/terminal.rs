//! On a terminal: a bar that redraws itself, never in the way of anything else. What is
//! judged is the screen of an emulated terminal, and at every moment.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Read as _;
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::support::http_server::{Auth, Behaviour};
use super::support::world::{README, World};

const ROWS: u16 = 24;

#[test]
fn a_bar_shows_phase_objects_and_bytes_and_is_gone_in_the_end() {
    let world = slow_world();
    let seen = Terminal::new(100).watch(command(&world, &["cat", &world.url, "README.md"]));
    assert_eq!(seen.stdout, README, "standard output is not touched");
    let receiving = seen.moments.iter().find(|it| it.contains("receiving"));
    let receiving = receiving.unwrap_or_else(|| panic!("{:?}", seen.moments));
    assert!(receiving.contains(" objects, ") && receiving.contains("B"), "{receiving}");
    assert!(receiving.contains('█') || receiving.contains('░'), "there is a bar: {receiving}");
    assert!(seen.moments.iter().all(|moment| moment.lines().count() <= 1), "{:?}", seen.moments);
    assert_eq!(seen.last(), "");
}

#[test]
fn a_narrow_terminal_is_never_wrapped() {
    let world = slow_world();
    for columns in [10, 20, 40] {
        let seen = Terminal::new(columns).watch(command(&world, &["cat", &world.url, "README.md"]));
        assert!(seen.moments.iter().any(|it| it.contains("rec")), "{:?}", seen.moments);
        let wrapped = seen.moments.iter().find(|moment| moment.lines().count() > 1);
        assert_eq!(wrapped, None, "{columns}");
        assert_eq!((seen.last(), seen.stdout.as_str()), ("", README));
    }
}

#[test]
fn an_answer_on_the_same_terminal_is_left_as_it_is() {
    let world = slow_world();
    let terminal = Terminal::new(80);
    let mut command = command(&world, &["grep", &world.url, "hello", "--color", "never"]);
    command.stdout(terminal.end());
    let seen = terminal.watch(command);
    assert!(seen.moments.iter().any(|moment| moment.contains("receiving")), "{:?}", seen.moments);
    let answer = world.gitsip(["grep", &world.url, "hello"]).stdout;
    assert_eq!(seen.last(), String::from_utf8(answer).unwrap().trim_end());
}

#[test]
fn a_warning_has_its_own_line() {
    let world = World::new();
    world.server.set_behaviour(slow().without_filter());
    let seen = Terminal::new(100).watch(command(&world, &["cat", &world.url, "README.md"]));
    assert!(seen.moments.iter().any(|moment| moment.contains("receiving")), "{:?}", seen.moments);
    let warning = "gitsip: warning: the host cannot filter: whole snapshots are fetched";
    assert_eq!(seen.last(), warning);
}

#[test]
fn an_error_and_words_of_v_stand_where_the_bar_was() {
    let world = slow_world();
    let seen = Terminal::new(100).watch(command(&world, &["cat", &world.url, "README.me", "-v"]));
    let lines: Vec<&str> = seen.last().lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("gitsip: ")), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("asked for")).count(), 3, "{lines:?}");
    assert!(lines.last().unwrap().starts_with("gitsip: not found: "), "{lines:?}");
}

#[test]
fn a_prompt_for_credentials_is_not_drawn_over() {
    let world = World::new();
    let auth = Auth::Basic { user: "me".to_owned(), password: "word".to_owned() };
    world.server.set_behaviour(Behaviour {
        auth: Some(auth),
        delay: Duration::from_millis(500),
        ..Behaviour::default()
    });
    let home = world.sandbox.path();
    let helper = home.join("helper");
    let script = "#!/bin/sh\ntest $1 = get || exit 0\nprintf Password: >&2; sleep 1; echo >&2\n\
                  echo username=me; echo password=word\n";
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, Permissions::from_mode(0o755)).unwrap();
    let config = format!("[credential]\nhelper = {}\n", helper.display());
    std::fs::write(home.join("config"), config).unwrap();
    let terminal = Terminal::new(80);
    let mut command = command(&world, &["refs", &world.url]);
    command.stdin(terminal.end()).env("GIT_CONFIG_GLOBAL", home.join("config"));
    let seen = terminal.watch(command);
    assert_eq!((seen.status.code(), seen.last()), (Some(0), "Password:"));
    let prompted = seen.moments.iter().position(|moment| moment == "Password:").unwrap();
    let before = &seen.moments[..prompted];
    assert!(before.iter().any(|moment| moment.contains("asking the host")), "{before:?}");
    let after = &seen.moments[prompted..];
    assert!(after.iter().all(|moment| moment.starts_with("Password:")), "{after:?}");
}

#[test]
fn who_wants_no_bar_gets_none() {
    let world = slow_world();
    let words = |more: &[&'static str]| {
        command(&world, &[&["grep", world.url.as_str(), "hello"], more].concat())
    };
    for command in [words(&["--no-progress"]), words(&["-q"])] {
        let seen = Terminal::new(80).watch(command);
        assert_eq!((seen.status.code(), seen.raw.as_str()), (Some(0), ""));
    }
    let mut dumb = words(&[]);
    dumb.env("TERM", "dumb");
    assert_eq!(Terminal::new(80).watch(dumb).raw, "");
}

#[test]
fn a_quick_answer_flashes_nothing() {
    let world = World::new();
    let path = world.bare.path().to_str().unwrap().to_owned();
    let seen = Terminal::new(80).watch(command(&world, &["cat", &path, "README.md"]));
    assert_eq!((seen.raw.as_str(), seen.stdout.as_str()), ("", README));
}

#[test]
fn an_interrupt_takes_the_bar_away() {
    let world = World::new();
    world.server.set_behaviour(Behaviour {
        stall_after: Some(10),
        faults_when: Some(Box::new(|request| request.method == "POST")),
        ..Behaviour::default()
    });
    let seen = Terminal::new(80).watch_until(
        command(&world, &["ls", &world.url]),
        |screen| screen.contains("listing refs"),
        |child| {
            let pid = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        },
    );
    assert_eq!((seen.status.code(), seen.last()), (Some(130), ""));
}

/// On a terminal that can redraw, with standard output in a pipe.
fn command(world: &World, words: &[&str]) -> Command {
    let mut command = world.command(words);
    command.env("TERM", "xterm").stdout(Stdio::piped());
    command
}

/// Its packs come in small pieces and take about a second each.
fn slow_world() -> World {
    let world = World::new();
    world.server.set_behaviour(slow());
    world
}

fn slow() -> Behaviour {
    Behaviour {
        max_chunk_bytes: Some(100),
        chunk_delay: Duration::from_millis(150),
        faults_when: Some(Box::new(|request| request.body_text().contains("command=fetch"))),
        ..Behaviour::default()
    }
}

/// A pseudo-terminal, and an emulator of the person's end.
struct Terminal {
    person: File,
    end: File,
    columns: u16,
}

/// What was there to see.
struct Seen {
    /// The screen after each write.
    moments: Vec<String>,
    raw: String,
    /// What went to a pipe.
    stdout: String,
    status: ExitStatus,
}

impl Seen {
    fn last(&self) -> &str {
        self.moments.last().map_or("", |last| last)
    }
}

impl Terminal {
    fn new(columns: u16) -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&person, size).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
        let end = OpenOptions::new().read(true).write(true).open(name).unwrap();
        Self { person: File::from(person), end, columns }
    }

    /// The end for a command.
    fn end(&self) -> Stdio {
        self.end.try_clone().unwrap().into()
    }

    /// Runs `command` with its standard error here, to its end.
    fn watch(self, command: Command) -> Seen {
        self.watch_until(command, |_| false, |_| {})
    }

    /// The same; does `act` once the screen `shows` something.
    fn watch_until(
        self,
        mut command: Command,
        shows: impl Fn(&str) -> bool,
        act: impl FnOnce(&std::process::Child),
    ) -> Seen {
        command.stderr(self.end());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(read_all);
        let mut parser = vt100::Parser::new(number(ROWS), number(self.columns), 0);
        let (mut moments, mut raw) = (Vec::new(), Vec::new());
        // The last copy of the end here: when the command has gone, reading fails.
        drop((self.end, command));
        let pieces = pieces(self.person);
        let mut act = Some(act);
        while let Ok(piece) = pieces.recv_timeout(Duration::from_secs(60)) {
            parser.process(&piece);
            raw.extend(piece);
            let screen = parser.screen().contents();
            let screen = screen.trim_end().to_owned();
            if shows(&screen)
                && let Some(act) = act.take()
            {
                act(&child);
            }
            moments.push(screen);
        }
        Seen {
            moments,
            raw: String::from_utf8(raw).unwrap(),
            stdout: stdout.map_or_else(String::new, |text| text.recv().unwrap()),
            status: child.wait().unwrap(),
        }
    }
}

fn number(of: u16) -> NonZeroU16 {
    NonZeroU16::new(of).unwrap()
}

fn read_all(mut from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (to, text) = channel();
    std::thread::spawn(move || {
        let mut all = String::new();
        from.read_to_string(&mut all).unwrap();
        to.send(all).unwrap();
    });
    text
}

/// What arrives at the person's end, as it was written.
fn pieces(mut person: File) -> Receiver<Vec<u8>> {
    let (to, pieces) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Linux reports the other end's closing as an error.
        while let Ok(length @ 1..) = person.read(&mut buffer) {
            if to.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    pieces
}
