//! Standard error, which whole lines and one progress bar share. The bar is gone before a
//! line is written there, or to a standard output that is the same terminal, and comes
//! back with the next news of the transfer.
//!
//! It is one of a process, as standard error is.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use indicatif::ProgressBar;

static SCREEN: Mutex<Screen> = Mutex::new(Screen { bar: None, is_final: false });

struct Screen {
    /// What is drawn now.
    bar: Option<ProgressBar>,
    /// No bar comes any more.
    is_final: bool,
}

/// How long a line waits for a writer that hangs because nobody reads, in pauses.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// Puts `line` on standard error. Nobody is left to be told when that fails.
pub(super) fn say(line: &str) {
    let _cleared = cleared();
    drop(writeln!(io::stderr(), "{line}"));
}

/// Writes to the terminal by `write` while no bar is there.
pub(super) fn undisturbed<T>(write: impl FnOnce() -> T) -> T {
    let _cleared = cleared();
    write()
}

/// Draws by `draw`, which is given the bar and makes one when there is none. Somebody who
/// is writing is not waited for.
pub(super) fn draw(draw: impl FnOnce(&mut Option<ProgressBar>)) {
    if let Ok(mut screen) = SCREEN.try_lock()
        && !screen.is_final
    {
        draw(&mut screen.bar);
    }
}

/// Takes the bar away.
pub(super) fn clear_bar() {
    drop(cleared());
}

/// Takes the bar away for good: the command has ended.
pub(super) fn close() {
    if let Some(mut screen) = cleared() {
        screen.is_final = true;
    }
}

/// The screen without a bar, unless somebody else hangs with it.
fn cleared() -> Option<MutexGuard<'static, Screen>> {
    let mut screen = lock_soon()?;
    if let Some(bar) = screen.bar.take() {
        bar.finish_and_clear();
    }
    Some(screen)
}

fn lock_soon() -> Option<MutexGuard<'static, Screen>> {
    for _ in 0..TRIES {
        match SCREEN.try_lock() {
            Ok(screen) => return Some(screen),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
    None
}
