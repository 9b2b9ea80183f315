//! Runs jobs, several at once.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::program::{self, Job, Outcome};
use crate::report;

/// Runs all jobs, at most `at_once` at a time, and reports each one that ends.
pub(crate) fn run(jobs: &[Job], at_once: usize) -> Vec<Outcome> {
    let waiting = Mutex::new(jobs.iter().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let Some(job) = waiting.lock().pop_front() else { return };
                    let outcome = program::run(job);
                    report::outcome(&outcome);
                    done.lock().push(outcome);
                }
            });
        }
    });
    done.into_inner()
}
