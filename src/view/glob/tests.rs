use super::*;

fn filter(globs: &[&str], prefixes: &[&str]) -> PathFilter {
    PathFilter::new(globs, prefixes, &Limits::default()).unwrap()
}

#[test]
fn patterns_mean_what_they_mean_to_ripgrep() {
    for (globs, matching, others) in [
        // Without a slash: that name at any depth.
        (&["*.rs"][..], &["a.rs", "x/y/b.rs", ".rs"][..], &["a.rs.bak", "a.rs/x"][..]),
        (&["Makefile"], &["Makefile", "a/Makefile"], &["a/makefile", "Makefile/x"]),
        // With one: from the root, and `*` stays within a name.
        (&["/*.rs"], &["a.rs"], &["x/a.rs"]),
        (&["x/*.rs"], &["x/a.rs"], &["a.rs", "x/y/a.rs", "z/x/a.rs"]),
        (&["x/?"], &["x/a"], &["x/ab", "x/a/b", "x"]),
        (&["x/**"], &["x/a", "x/y/a"], &["x", "y/x/a"]),
        (&["x/**/a"], &["x/a", "x/y/z/a"], &["x/b", "a"]),
        (&["**/x/a"], &["x/a", "z/x/a"], &["x/z/a"]),
        (&["{a,b}.c"], &["a.c", "z/b.c"], &["c.c"]),
        (&["[a-c].c"], &["a.c", "z/b.c"], &["d.c"]),
        (&["[!a].c"], &["b.c"], &["a.c", "/.c"]),
        (&["\\*.c"], &["*.c"], &["a.c"]),
        // Exclusion alone keeps everything else; a folder takes what is below with it.
        (&["!*.rs"], &["a.c", "x/a"], &["a.rs", "x/b.rs", "a.rs/x"]),
        (&["!vendor"], &["a", "x/vendors"], &["vendor/a", "x/vendor/y/z", "vendor"]),
        (&["!vendor/"], &["a", "vendor"], &["vendor/a", "x/vendor/y/z"]),
        (&["!/vendor"], &["x/vendor/y"], &["vendor/a"]),
        // The last one that matches decides, but not below an excluded folder.
        (&["*.rs", "!b.rs"], &["a.rs"], &["b.rs", "c.c"]),
        (&["!b.rs", "*.rs"], &["a.rs", "b.rs"], &["c.c"]),
        (&["!x", "x/a"], &[], &["x/a", "x/b", "y"]),
        (&["!x/*", "x/a"], &["x/a"], &["x/b", "y"]),
        // A trailing slash: everything below.
        (&["src/"], &["src/a", "src/b/c", "x/src/d"], &["src", "srcs/a"]),
        (&["/src/"], &["src/a"], &["x/src/d"]),
        (&["a/b/"], &["a/b/c"], &["x/a/b/c", "a/b"]),
    ] {
        let filter = filter(globs, &[]);
        for path in matching {
            assert!(filter.matches(path.as_bytes()), "{globs:?} match {path}");
        }
        for path in others {
            assert!(!filter.matches(path.as_bytes()), "{globs:?} do not match {path}");
        }
    }
}

#[test]
fn patterns_match_bytes_as_in_git() {
    assert!(filter(&["caf*"], &[]).matches(b"x/caf\xe9"));
    assert!(filter(&["*.c"], &[]).matches(b"caf\xe9.c"));
    assert!(filter(&["日*語"], &[]).matches("日本語".as_bytes()));
    assert!(filter(&["日???語"], &[]).matches("日本語".as_bytes()));
    assert!(!filter(&["café"], &[]).matches(b"caf\xe9"));
}

#[test]
fn prefixes_are_whole_names_and_compare_bytes() {
    let filter = filter(&[], &["src/", "./docs", "src/view", "a.b"]);
    for path in ["src", "src/a", "src/view/b", "docs/x", "a.b/c"] {
        assert!(filter.matches(path.as_bytes()), "{path}");
    }
    for path in ["srcs", "src.rs", "Src/a", "doc", "a", "a.c", "x/src"] {
        assert!(!filter.matches(path.as_bytes()), "{path}");
    }
    assert!(self::filter(&[], &["x", "/"]).is_unrestricted(), "the root is no restriction");
    assert!(self::filter(&[], &["x", "."]).matches(b"anything"));
    assert!(PathFilter::default().matches(b"anything"));
}

#[test]
fn folders_that_cannot_hold_a_match_are_told() {
    for (globs, prefixes, maybe, never) in [
        (&[][..], &["a/b"][..], &["a", "a/b", "a/b/c"][..], &["b", "ab", "a/c"][..]),
        (&["src/**/*.rs"], &[], &["src", "src/x/y"], &["docs", "x/src"]),
        (&["src/**/*.rs", "docs/a/*"], &[], &["src", "docs", "docs/a"], &["docs/b", "x"]),
        (&["src/**/*.rs", "*.c"], &[], &["src", "docs"], &[]),
        (&["!target", "!/a/b/"], &[], &["a", "x"], &["target", "x/target/y", "a/b", "a/b/c"]),
        (&["src/{a,b}/*"], &[], &["src/a"], &["docs"]),
        (&["src/[ab"], &[], &[], &[]),
        (&["a/b/"], &["a"], &["a", "a/b"], &["a/c", "b"]),
    ] {
        let filter = match PathFilter::new(globs, prefixes, &Limits::default()) {
            Ok(filter) => filter,
            Err(error) => {
                assert!(matches!(error, ViewError::BadGlob { .. }) && maybe.is_empty());
                continue;
            }
        };
        for folder in maybe {
            assert!(filter.may_contain(folder.as_bytes()), "{globs:?} {prefixes:?} {folder}");
        }
        for folder in never {
            assert!(!filter.may_contain(folder.as_bytes()), "{globs:?} {prefixes:?} {folder}");
        }
    }
}

#[test]
fn a_pattern_that_does_not_parse_is_named_with_what_is_wrong() {
    for (pattern, what) in [
        ("src/[ab", "unclosed character class; missing ']'"),
        ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("[z-a]", "invalid range; 'z' > 'a'"),
        ("a\\", "dangling '\\'"),
        ("", "it is empty"),
        ("!", "it is empty"),
        ("/", "it is empty"),
    ] {
        let error = PathFilter::new(&["*.rs", pattern], &[""; 0], &Limits::default());
        let line = error.unwrap_err().to_string();
        assert_eq!(line, format!("'{pattern}' is no glob pattern: {what}"));
    }
    assert!(matches!(
        PathFilter::new(&[""; 0], &["../x"], &Limits::default()),
        Err(ViewError::BadPath { .. })
    ));
}

#[test]
fn names_restrict_files_and_no_folders() {
    let filter = filter(&["!gen"], &["src"]).with_names(&["*.rs", "!*_test.rs"]).unwrap();
    for path in ["src/a.rs", "src/b.c/a.rs", "src/x_test.rs/a.rs"] {
        assert!(filter.matches(path.as_bytes()), "{path}");
    }
    for path in ["src/a.c", "a.rs", "src/gen/a.rs", "src/a_test.rs", "src/a.rs/b.c"] {
        assert!(!filter.matches(path.as_bytes()), "{path}");
    }
    assert!(filter.may_contain(b"src/x_test.rs") && !filter.may_contain(b"src/gen"));
    let names = |names: &[&str]| PathFilter::default().with_names(names).unwrap();
    assert!(names(&["!*.rs"]).matches(b"a.c") && !names(&["!*.rs"]).matches(b"x/a.rs"));
    assert!(names(&[]).is_unrestricted() && !names(&["*"]).is_unrestricted());
}
