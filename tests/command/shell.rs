//! Completions and the manual, judged by the programs they are for.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::support::world::{World, one_line, text};

#[test]
fn every_shell_gets_a_script_with_every_command_and_flag() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.out(["completions", shell]);
        for word in ["grep", "completions", "max-total", "token-env", "sort"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
    let unknown = world.gitsip(["completions", "bsh"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(one_line(&unknown).contains("'bash'"), "{unknown:?}");
}

#[test]
fn bash_takes_its_script_and_completes_with_it() {
    let world = World::new();
    let script = world.out(["completions", "bash"]);
    let checked = run(Command::new("bash").arg("-n"), &script);
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
    let ask = "\nCOMP_WORDS=(gitsip gr); COMP_CWORD=1; _gitsip gitsip gr gitsip; echo \"${COMPREPLY[*]}\"";
    let completed = run(Command::new("bash").arg("-s"), &(script + ask));
    assert_eq!(text(&completed.stdout), "grep\n", "{completed:?}");
}

#[test]
fn pages_of_the_manual_are_set_without_complaint() {
    let world = World::new();
    for (words, parts) in [
        (
            &["man"][..],
            &["gitsip(1)", "SUBCOMMANDS", "grep", "130 interrupted", "GITSIP_TOKEN"][..],
        ),
        (&["man", "grep"], &["gitsip-grep(1)", "--max-columns", "--timeout", "fn main"]),
        (&["man", "refs"], &["gitsip-refs(1)", "--sort", "gitsip refs ."]),
    ] {
        let page = world.out(words);
        assert!(page.starts_with(".ie") || page.starts_with(".TH"), "{page}");
        // groff's complaints are about what a man page may not hold.
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-P-cbou"]).env("MANWIDTH", "80");
        if Command::new("groff").arg("-v").output().is_err() {
            // Where there is no groff, the page is at least there.
            continue;
        }
        let set = run(&mut groff, &page);
        assert_eq!(text(&set.stderr), "", "{words:?}");
        for part in parts {
            let set = text(&set.stdout);
            assert!(set.contains(part), "{words:?} has no {part}: {set}");
        }
    }
    let unknown = world.gitsip(["man", "gerp"]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(one_line(&unknown).contains("did you mean 'grep'?"), "{unknown:?}");
}

fn run(command: &mut Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    })
}
