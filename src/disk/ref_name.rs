//! Which names a ref may have: `git check-ref-format`.

/// Whether `name` is a full ref name: under `refs/`, and well-formed.
pub(super) fn is_ref_name(name: &[u8]) -> bool {
    name.strip_prefix(b"refs/").is_some_and(|rest| {
        // "@" alone is refused as a whole name only.
        rest.split(|&byte| byte == b'/').all(is_component)
            && !name.ends_with(b".")
            && !name.windows(2).any(|pair| pair == b".." || pair == b"@{")
    })
}

fn is_component(component: &[u8]) -> bool {
    !component.is_empty()
        && !component.starts_with(b".")
        && !component.ends_with(b".lock")
        && !component.iter().any(|&byte| {
            byte <= b' '
                || byte == 0x7f
                || matches!(byte, b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_check_ref_format_does() {
        for good in [
            "refs/heads/x-",
            "refs/heads/a/b.c",
            "refs/heads/@",
            "refs/stash",
            "refs/heads/\u{e9}@",
        ] {
            assert!(is_ref_name(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "HEAD",
            "refs",
            "refs/",
            "heads/x",
            "refs/heads/../../x",
            "refs/heads/a..b",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs//a",
            "refs/heads/a/",
            "refs/heads/a.",
            "refs/heads/a@{b",
            "refs/heads/a b",
            "refs/heads/a\u{1b}",
            "refs/heads/a\u{7f}",
            "refs/heads/a~b",
            "refs/heads/a^b",
            "refs/heads/a:b",
            "refs/heads/a?b",
            "refs/heads/a*b",
            "refs/heads/a[b",
            "refs/heads/a\\b",
        ] {
            assert!(!is_ref_name(bad.as_bytes()), "{bad}");
        }
    }
}
