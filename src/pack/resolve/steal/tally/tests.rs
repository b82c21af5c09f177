use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// Work that falls apart into more: a number is that many levels of two children each.
struct Pile {
    tally: Tally,
    work: Mutex<VecDeque<u32>>,
    done: AtomicUsize,
}

impl Pile {
    fn of(levels: &[u32]) -> Self {
        Self {
            tally: Tally::new(levels.len()),
            work: Mutex::new(levels.iter().copied().collect()),
            done: AtomicUsize::new(0),
        }
    }

    fn work(&self, mut each: impl FnMut(u32) -> Result<(), PackError>) {
        let _present = self.tally.join();
        while !self.tally.is_over() {
            let Some(levels) = self.take() else {
                self.tally.sleep(|| !self.work.lock().unwrap().is_empty());
                continue;
            };
            if let Err(error) = each(levels) {
                self.tally.fail(error);
                continue;
            }
            for _ in 0..if levels > 0 { 2 } else { 0 } {
                self.tally.add_one();
                self.work.lock().unwrap().push_back(levels - 1);
                self.tally.wake_one();
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            self.tally.finish_one();
        }
    }

    fn take(&self) -> Option<u32> {
        self.work.lock().unwrap().pop_front()
    }
}

#[test]
fn it_is_over_when_and_only_when_everything_is_done() {
    for round in 0..300 {
        let levels = [round % 7, 0, 3];
        let pile = Pile::of(&levels);
        thread::scope(|scope| {
            for _ in 0..1 + round % 5 {
                scope.spawn(|| pile.work(|_| Ok(())));
            }
        });
        let expected: usize = levels.iter().map(|levels| (1 << (levels + 1)) - 1).sum();
        assert_eq!(pile.done.into_inner(), expected);
        assert!(pile.work.into_inner().unwrap().is_empty());
        assert_eq!(pile.tally.pending.into_inner(), 0);
        assert_eq!(pile.tally.busy.into_inner(), 0);
    }
}

#[test]
fn nothing_to_do_is_over_at_once() {
    let pile = Pile::of(&[]);
    assert!(pile.tally.is_over());
    pile.work(|_| panic!("there is no work"));
}

#[test]
fn an_error_stops_everybody_and_the_one_nearest_to_the_start_is_kept() {
    for round in 0..100 {
        let pile = Pile::of(&[12, 12]);
        let failing = |levels| match levels {
            9 => Err(PackError::BadVarint { offset: 100 + round }),
            8 => Err(PackError::BadVarint { offset: 100 }),
            _ => Ok(()),
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| pile.work(failing));
            }
        });
        assert!(pile.done.load(Ordering::Relaxed) < 1 << 12);
        assert!(pile.tally.into_error().unwrap().offset().unwrap() <= 100 + round);
    }
    let tally = Tally::new(1);
    for offset in [5, 3, 4] {
        tally.fail(PackError::BadVarint { offset });
    }
    assert_eq!(tally.into_error(), Some(PackError::BadVarint { offset: 3 }));
}

#[test]
fn a_panic_stops_everybody() {
    // More roots than there are others, who wait at their first: one is left to die of.
    let pile = Pile::of(&[20; 4]);
    let begun = AtomicBool::new(false);
    let waits = |_| {
        while !begun.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others = [(); 3].map(|()| scope.spawn(|| pile.work(waits)));
        let dies = scope.spawn(|| {
            pile.work(|_| {
                begun.store(true, Ordering::Relaxed);
                panic!("on purpose")
            })
        });
        assert!(dies.join().is_err());
        others.into_iter().for_each(|other| other.join().unwrap());
    });
    assert!(pile.done.into_inner() < 4 * ((1 << 21) - 1));
}

#[test]
fn memory_is_waited_for_only_while_another_works() {
    let tally = Tally::new(1);
    let _first = tally.join();
    assert!(!tally.wait_for_memory());
    let second = tally.join();
    assert!(tally.wait_for_memory());
    tally.fail(PackError::BadMagic);
    assert!(!tally.wait_for_memory());
    drop(second);
}
