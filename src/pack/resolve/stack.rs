//! One thread: tasks on a stack.

use super::{Done, Phase, Place, Queue, Task, Worker};
#[cfg(not(feature = "parallel"))]
use crate::limits::Workers;
use crate::limits::{Budget, Interrupt};
use crate::pack::PackError;
use crate::pack::ingest::EntryStore;
use crate::pack::table::Table;

/// Goes down from each of `places`.
pub(super) fn run<S: EntryStore>(
    phase: &Phase<'_, S>,
    places: &[Place],
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<Done, PackError> {
    let mut stack = Stack(Table::new(budget));
    let mut worker = Worker::new(phase, budget, interrupt);
    for &place in places {
        let mut next = worker.start(place, &mut stack)?;
        while let Some(task) = next.or_else(|| stack.0.pop()) {
            next = worker.run(task, &mut stack)?;
        }
    }
    Ok(worker.done())
}

/// The same, for a build without threads of its own.
#[cfg(not(feature = "parallel"))]
pub(super) fn run_here<S: EntryStore>(
    _: &dyn Workers,
    phase: &Phase<'_, S>,
    places: &[Place],
    budget: &Budget,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Done, PackError> {
    run(phase, places, budget, interrupt)
}

struct Stack(Table<Task>);

impl Queue for Stack {
    fn push(&mut self, task: Task) -> Result<(), PackError> {
        Ok(self.0.push(task)?)
    }

    fn wait_for_memory(&mut self) -> bool {
        false
    }
}
