//! git's own `http-backend`, as old and as strict as it can be made; and repositories that
//! have little to examine.

use gitsip::agent::{DoctorOptions, examine};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, InProcess};
use super::{check, examined, origin};

fn backend(version: u8, filter: &'static str, any_id: &'static str) -> Behaviour {
    Behaviour::default()
        .speaking(version)
        .configured("uploadpack.allowFilter", filter)
        .configured("uploadpack.allowAnySHA1InWant", any_id)
}

#[test]
fn every_backend_is_told_as_it_is_configured() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for version in [0, 1, 2] {
        for filter in ["false", "true"] {
            for any_id in ["false", "true"] {
                let what = format!("version {version}, filter {filter}, ids {any_id}");
                let (answer, host) = examined(&sandbox, backend(version, filter, any_id));
                let diagnosis = &answer.diagnosis;
                assert!(answer.error.is_none(), "{what}");
                assert_eq!(diagnosis.git.as_ref().unwrap().version, version, "{what}");
                let filters = match filter {
                    "true" => ["offered, honoured"; 5],
                    _ => ["unknown", "unknown", "refused", "unknown", "unknown"],
                };
                let names = ["blob:none", "blob:limit", "tree:0", "object:type", "combine"];
                for (name, expected) in names.into_iter().zip(filters) {
                    check(&what, diagnosis, &[(&format!("filter {name}"), expected)]);
                }
                for name in ["depth 1", "deepen-since", "deepen-not"] {
                    check(&what, diagnosis, &[(name, "offered, honoured")]);
                }
                for name in ["commit by id", "tree by id", "blob by id"] {
                    let offered = version < 2 && any_id == "true";
                    let expected = if offered { "offered, honoured" } else { "honoured" };
                    check(&what, diagnosis, &[(name, expected)]);
                }
                let prefixes = if version == 2 { "honoured" } else { "unknown" };
                check(&what, diagnosis, &[("ref prefixes", prefixes), ("symrefs", "honoured")]);
                check(&what, diagnosis, &[("peeled tags", "honoured")]);
                // A request for each line of the table that can be asked for, and no more.
                let refs = usize::from(version == 2);
                let filters = if filter == "true" { 5 } else { 2 };
                assert_eq!(host.requests().len(), 4 + refs + filters + 5, "{what}");
            }
        }
    }
}

#[test]
fn each_version_is_asked_for_by_its_number() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for (newest, expected) in [
        (0, ["ignored", "ignored", "honoured"]),
        (1, ["ignored", "honoured", "ignored"]),
        (2, ["honoured"; 3]),
    ] {
        let (answer, _) = examined(&sandbox, Behaviour::default().speaking(newest));
        let names = ["version 2", "version 1", "version 0"];
        let expected: Vec<_> = names.into_iter().zip(expected).collect();
        check(&format!("a host of version {newest}"), &answer.diagnosis, &expected);
    }
}

#[test]
fn a_host_that_refuses_some_filters_is_told_from_one_that_refuses_all() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let behaviour = backend(2, "true", "false")
        .configured("uploadpackfilter.allow", "false")
        .configured("uploadpackfilter.blob:none.allow", "true");
    let (answer, _) = examined(&sandbox, behaviour);
    check(
        "blob:none only",
        &answer.diagnosis,
        &[
            ("filter blob:none", "offered, honoured"),
            ("filter blob:limit", "offered, refused"),
            ("filter tree:0", "offered, refused"),
            ("filter object:type", "offered, refused"),
            ("filter combine", "offered, refused"),
            ("depth 1", "offered, honoured"),
            ("tree by id", "honoured"),
        ],
    );
    let refused = answer.diagnosis.findings.iter().find(|f| f.name == "filter tree:0").unwrap();
    assert!(refused.note.contains("filter 'tree' not supported"), "{}", refused.note);
    let meaning = answer.diagnosis.meaning.join(" ");
    assert!(meaning.contains("takes 4 requests"), "{meaning}");
    assert!(meaning.contains("cannot leave out files by size"), "{meaning}");
}

#[test]
fn sizes_are_asked_for_where_they_are_offered() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for (advertised, expected) in [("true", "offered, honoured"), ("false", "unknown")] {
        let behaviour = Behaviour::default().configured("transfer.advertiseObjectInfo", advertised);
        let (answer, host) = examined(&sandbox, behaviour);
        check(advertised, &answer.diagnosis, &[("object-info", expected)]);
        let asked = host.requests().iter().any(|r| r.body_text().contains("object-info"));
        assert_eq!(asked, advertised == "true");
    }
}

#[test]
fn an_empty_repository_is_examined_as_far_as_it_goes() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git");
    for version in [0, 1, 2] {
        let (answer, host) = examined(&sandbox, Behaviour::default().speaking(version));
        assert!(answer.error.is_none());
        let diagnosis = &answer.diagnosis;
        check(
            "an empty one",
            diagnosis,
            &[
                ("depth 1", "offered, unknown"),
                ("filter blob:none", "offered, unknown"),
                ("blob by id", if version == 2 { "unknown" } else { "offered, unknown" }),
            ],
        );
        if version == 2 {
            check("an empty one", diagnosis, &[("unborn HEAD", "offered, honoured")]);
        }
        assert!(diagnosis.meaning[0].contains("empty"), "{:?}", diagnosis.meaning);
        assert_eq!(host.requests().len(), if version == 2 { 5 } else { 4 });
    }
}

#[test]
fn one_commit_without_files_shows_nothing_that_is_not_there() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[] as &[File]);
    let (answer, _) = examined(&sandbox, Behaviour::default());
    check(
        "one without files",
        &answer.diagnosis,
        &[
            ("depth 1", "offered, honoured"),
            ("deepen-since", "offered, unknown"),
            ("deepen-not", "offered, unknown"),
            ("filter blob:none", "offered, unknown"),
            ("filter tree:0", "offered, unknown"),
            ("commit by id", "unknown"),
            ("blob by id", "unknown"),
        ],
    );
}

#[test]
fn a_repository_of_sha256_is_examined_like_others() {
    let sandbox = Sandbox::new();
    let origin = sandbox.strict_bare("r.git", &["--object-format=sha256", "-b", "main"]);
    origin.git().run(["config", "uploadpack.allowFilter", "true"]);
    origin.commit("main", &[File::new("a", "old\n")]);
    origin.commit("main", &[File::new("a", "new\n")]);
    let (answer, _) = examined(&sandbox, Behaviour::default());
    assert_eq!(answer.diagnosis.git.as_ref().unwrap().object_format, "sha256");
    check(
        "sha256",
        &answer.diagnosis,
        &[("filter blob:none", "offered, honoured"), ("blob by id", "honoured")],
    );
}

#[test]
fn answers_that_are_long_are_cut_off_and_filters_are_told_by_what_is_announced() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    // Folders that take more than an answer may, in names that do not compress.
    let names: Vec<_> = (0..9_000_u64)
        .map(|n| {
            let digits = format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            (format!("d{}/{digits}{digits:.9}", n % 64), format!("{n}\n"))
        })
        .collect();
    let files: Vec<_> = names.iter().map(|(name, text)| File::new(name, text)).collect();
    origin.commit("main", &[File::new("d0/a", "old\n")]);
    origin.commit("main", &files);
    for (behaviour, expected) in [
        (Behaviour::default(), "offered, honoured"),
        (Behaviour::default().ignoring_filters(), "offered, ignored"),
    ] {
        let (answer, host) = examined(&sandbox, behaviour);
        check(
            "a long one",
            &answer.diagnosis,
            &[
                ("filter blob:none", expected),
                ("filter blob:limit", expected),
                ("filter tree:0", expected),
                ("depth 1", "offered, honoured"),
            ],
        );
        let cut = host.requests().iter().filter(|request| !request.complete).count();
        assert!(cut >= 2, "{cut} answers were cut off");
    }
}

#[test]
fn a_list_of_refs_that_is_long_is_cut_off_and_serves_all_the_same() {
    let sandbox = Sandbox::new();
    let origin = super::origin(&sandbox);
    let id = origin.git().run(["rev-parse", "main"]);
    let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for number in 0..9_000 {
        packed.push_str(&format!("{id} refs/heads/b{number:06}\n"));
    }
    std::fs::write(origin.path().join("packed-refs"), packed).unwrap();
    for version in [0, 2] {
        let host = InProcess::new(sandbox.repos(), Behaviour::default().speaking(version));
        let answer = run(examine(&host, &host.url("r.git"), DoctorOptions::default())).unwrap();
        super::check_cost(&answer.diagnosis, &host);
        assert!(answer.error.is_none(), "{:?}", answer.error);
        check(
            "one of many refs",
            &answer.diagnosis,
            &[
                ("version 0", "honoured"),
                ("filter tree:0", "offered, honoured"),
                ("blob by id", if version == 2 { "honoured" } else { "offered, honoured" }),
            ],
        );
    }
}
