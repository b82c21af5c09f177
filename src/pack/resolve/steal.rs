//! Several threads: a deque of tasks each, and stealing.
//!
//! A worker goes on from what it just made; then takes its own newest task; without one,
//! the oldest of a peer, which has the most below it; and only then begins at the next
//! place, so that trees that were begun end first and let go of their bases. When there is
//! nothing of all this it sleeps, and whoever puts a task where others can take it wakes
//! one. `tally` knows when all is over.

mod tally;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_deque::{Steal, Stealer, Worker as Deque};

use self::tally::Tally;
use super::{Done, Phase, Place, Queue, Task, Worker, stack};
use crate::limits::{Budget, Interrupt, Workers};
use crate::pack::PackError;
use crate::pack::ingest::EntryStore;

/// Goes down from each of `places`, on the threads of `workers`.
pub(super) fn run_on<S: EntryStore>(
    workers: &dyn Workers,
    phase: &Phase<'_, S>,
    places: &[Place],
    budget: &Budget,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Done, PackError> {
    let threads = workers.threads();
    if threads <= 1 {
        return stack::run(phase, places, budget, interrupt);
    }
    let deques: Vec<Deque<Task>> = (0..threads).map(|_| Deque::new_lifo()).collect();
    let shared = Shared {
        places,
        begun: AtomicUsize::new(0),
        stealers: deques.iter().map(Deque::stealer).collect(),
        tally: Tally::new(places.len()),
    };
    let deques: Vec<Mutex<Option<Deque<Task>>>> =
        deques.into_iter().map(|deque| Mutex::new(Some(deque))).collect();
    let done = Mutex::new(Done::default());
    workers.run(threads, &|number| {
        let deque = deques.get(number).and_then(|deque| lock(deque).take());
        let Some(deque) = deque else { return };
        let mut thread = Thread { number, deque, shared: &shared };
        let mut worker = Worker::new(phase, budget, interrupt);
        thread.work(&mut worker);
        lock(&done).add(worker.done());
    });
    match shared.tally.into_error() {
        Some(error) => Err(error),
        None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// What the threads of one round share.
struct Shared<'a> {
    places: &'a [Place],
    /// Places that somebody began at.
    begun: AtomicUsize,
    stealers: Vec<Stealer<Task>>,
    tally: Tally,
}

impl Shared<'_> {
    fn has_work(&self) -> bool {
        self.begun.load(Ordering::Relaxed) < self.places.len()
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
    }

    fn next_place(&self) -> Option<Place> {
        // Not counted on past the end, so that it cannot wrap.
        if self.begun.load(Ordering::Relaxed) >= self.places.len() {
            return None;
        }
        self.places.get(self.begun.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

struct Thread<'a> {
    number: usize,
    deque: Deque<Task>,
    shared: &'a Shared<'a>,
}

impl Thread<'_> {
    /// Works until everything is done or somebody failed.
    fn work<S: EntryStore>(&mut self, worker: &mut Worker<'_, '_, S>) {
        let tally = &self.shared.tally;
        let _present = tally.join();
        let mut next = None;
        while !tally.is_over() {
            let worked = match next.take().or_else(|| self.deque.pop()).or_else(|| self.steal()) {
                Some(task) => worker.run(task, self),
                None => match self.shared.next_place() {
                    Some(place) => worker.start(place, self),
                    None => {
                        worker.rest();
                        tally.sleep(|| self.shared.has_work());
                        continue;
                    }
                },
            };
            match worked {
                // Still the same piece of work.
                Ok(Some(task)) => next = Some(task),
                Ok(None) => tally.finish_one(),
                Err(error) => tally.fail(error),
            }
        }
    }

    /// The oldest task of the first peer that has one.
    fn steal(&self) -> Option<Task> {
        let stealers = &self.shared.stealers;
        let (before, after) = stealers.split_at_checked(self.number)?;
        after.iter().skip(1).chain(before).find_map(|peer| {
            loop {
                match peer.steal() {
                    Steal::Success(task) => return Some(task),
                    Steal::Empty => return None,
                    Steal::Retry => {}
                }
            }
        })
    }
}

impl Done {
    fn add(&mut self, other: Self) {
        self.inflated_bytes += other.inflated_bytes;
        self.deltas += other.deltas;
    }
}

impl Queue for Thread<'_> {
    fn push(&mut self, task: Task) -> Result<(), PackError> {
        self.shared.tally.add_one();
        self.deque.push(task);
        self.shared.tally.wake_one();
        Ok(())
    }

    fn wait_for_memory(&mut self) -> bool {
        self.shared.tally.wait_for_memory()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
