//! The runtime that tests of the native client run on.

use tokio::runtime::{Builder, Runtime};

/// Two workers: one may block while the other goes on.
pub fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs `future` to its end.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    threads().block_on(future)
}
