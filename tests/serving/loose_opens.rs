//! Does a repository whose objects are all packed, some of them in another one, cost a look at
//! loose objects? Counted where the system is called.

use super::history::{Storage, repository};
use super::succeeded;
use super::support::git::{File, Sandbox};

#[test]
fn what_is_packed_is_never_looked_for_among_loose_objects() {
    let is_there = std::process::Command::new("strace").arg("-V").output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        eprintln!("there is no strace to count with");
        return;
    }
    let sandbox = Sandbox::new();
    repository(&sandbox, "lender.git", Storage::Packed, "sha1");
    let borrow = ["clone", "-q", "--bare", "--shared", "repos/lender.git", "repos/borrower.git"];
    sandbox.git().run(borrow);
    let borrower = sandbox.adopted("borrower.git");
    borrower.commit("main", &[File::new("new", "text\n")]);
    let trace = sandbox.path().join("trace");
    // What is still loose is seen, so that what is not seen later is not looked for.
    for (repack, packed) in [(false, false), (true, true)] {
        if repack {
            borrower.git().run(["repack", "-adlq"]);
        }
        for options in [&[][..], &["--depth=1"], &["--filter=blob:none", "--single-branch"]] {
            let program = format!(
                "strace -f -qq -e trace=%file -o '{}' '{}' upload-pack",
                trace.display(),
                env!("CARGO_BIN_EXE_gitsip")
            );
            let to = sandbox.path().join("copy");
            let mut clone = sandbox.git().command();
            clone.args(["clone", "-q", "--bare", "--no-local"]).args(options);
            clone.arg(format!("--upload-pack={program}")).arg(borrower.path()).arg(&to);
            succeeded(&clone.output().unwrap());
            std::fs::remove_dir_all(to).unwrap();
            let calls = std::fs::read_to_string(&trace).unwrap();
            assert!(calls.contains("lender.git/objects/pack/pack-"), "{calls}");
            let loose = calls.lines().filter(|line| names_loose(line)).collect::<Vec<_>>();
            assert_eq!(loose.is_empty(), packed, "{options:?}: {loose:?}");
        }
    }
}

/// Whether a call names one of the 256 folders of loose objects, or what is in it.
fn names_loose(call: &str) -> bool {
    call.split("/objects/").skip(1).any(|rest| {
        let name = rest.split(['/', '"']).next().unwrap_or_default();
        name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}
