//! How a command ends: the one table of exit statuses.

use crate::error::ErrorKind;

/// Something was found, also when a search was to stop there.
pub(super) const FOUND: u8 = 0;
/// Everything was looked at, and nothing was found.
pub(super) const NOTHING_FOUND: u8 = 1;
/// A limit was reached, or a part was looked at and nothing was found in it.
pub(super) const LIMIT: u8 = 6;
/// The user interrupted it.
pub(super) const INTERRUPTED: u8 = 130;

/// The status for an error of `kind`. An error is never less than that, whatever was
/// printed before it.
pub(super) const fn of_error(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage => 2,
        ErrorKind::NotFound => 3,
        ErrorKind::Auth => 4,
        ErrorKind::Transport => 5,
        ErrorKind::Limit => LIMIT,
        ErrorKind::Corrupt | ErrorKind::Malformed => 7,
        ErrorKind::RateLimited => 8,
        ErrorKind::Unsupported => 9,
        ErrorKind::Cancelled => 10,
        ErrorKind::Conflict => 11,
        ErrorKind::Io => 12,
    }
}

/// The status of an answer without an error. What was found in a part is found; that
/// nothing was is known only once everything was looked at.
pub(super) const fn of_answer(found: bool, looked_at_everything: bool) -> u8 {
    match (found, looked_at_everything) {
        (true, _) => FOUND,
        (false, true) => NOTHING_FOUND,
        (false, false) => LIMIT,
    }
}

#[cfg(test)]
mod tests {
    use super::super::args;
    use super::*;

    /// Every status as the help names it.
    const TABLE: [(u8, &str); 14] = [
        (FOUND, "found"),
        (NOTHING_FOUND, "nothing found"),
        (of_error(ErrorKind::Usage), "usage"),
        (of_error(ErrorKind::NotFound), "not found"),
        (of_error(ErrorKind::Auth), "auth"),
        (of_error(ErrorKind::Transport), "transport"),
        (of_error(ErrorKind::Limit), "limit"),
        (of_error(ErrorKind::Corrupt), "corrupt"),
        (of_error(ErrorKind::RateLimited), "rate limited"),
        (of_error(ErrorKind::Unsupported), "unsupported"),
        (of_error(ErrorKind::Cancelled), "deadline"),
        (of_error(ErrorKind::Conflict), "conflict"),
        (of_error(ErrorKind::Io), "I/O"),
        (INTERRUPTED, "interrupted"),
    ];

    #[test]
    fn the_statuses_are_a_promise_and_the_help_has_all_of_them() {
        let all = TABLE.map(|(status, word)| format!("{status} {word}")).join(", ");
        assert_eq!(
            all,
            "0 found, 1 nothing found, 2 usage, 3 not found, 4 auth, 5 transport, 6 limit, \
             7 corrupt, 8 rate limited, 9 unsupported, 10 deadline, 11 conflict, 12 I/O, \
             130 interrupted"
        );
        let help = args::command().render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(&all), "{help}");
    }

    #[test]
    fn what_cannot_be_understood_is_like_what_is_damaged() {
        assert_eq!(of_error(ErrorKind::Malformed), of_error(ErrorKind::Corrupt));
    }

    #[test]
    fn nothing_in_a_part_is_not_nothing() {
        assert_eq!(of_answer(false, true), 1);
        assert_eq!(of_answer(false, false), 6);
        assert_eq!([of_answer(true, true), of_answer(true, false)], [0, 0]);
    }
}
