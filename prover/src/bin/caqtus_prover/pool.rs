//! Many pairs in several worker processes.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use prover::wire::{Answer, Request};

use crate::args::WorkerArgs;
use crate::worker::{Slot, Worker};

/// A pair to be decided, with whatever the caller wants to have beside the answer.
pub(crate) struct Job<T> {
    /// The caller's.
    pub(crate) tag: T,
    /// What to ask; the answer, if there is nothing to ask.
    pub(crate) request: Result<Box<Request>, Box<Answer>>,
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With every job done.
    Complete,
    /// By Ctrl-C.
    Interrupted,
}

enum Event<T> {
    Answer(usize, T, Box<Answer>),
    /// A worker's thread ended.
    Done,
    Interrupted,
}

/// Tells the end of a thread, however it ends.
struct Farewell<T>(Sender<Event<T>>);

impl<T> Drop for Farewell<T> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Done);
    }
}

/// Decides all pairs with so many workers. `each` gets a job's number from 0, its tag and its answer, in order of
/// finish. Ctrl-C kills the workers and ends the work; it can be caught once in the life of a process, so this runs
/// once.
pub(crate) fn run<T: Send + 'static>(
    workers: usize,
    args: &WorkerArgs,
    jobs: impl Iterator<Item = Job<T>> + Send + 'static,
    mut each: impl FnMut(usize, T, Answer) -> anyhow::Result<()>,
) -> anyhow::Result<End> {
    let (sender, events) = mpsc::channel();
    let interrupts = sender.clone();
    ctrlc::set_handler(move || {
        let _ = interrupts.send(Event::Interrupted);
    })?;
    let jobs = Arc::new(Mutex::new(jobs.enumerate()));
    let slots: Vec<Slot> = (0..workers).map(|_| Slot::default()).collect();
    for slot in &slots {
        let (jobs, slot, farewell) = (Arc::clone(&jobs), slot.clone(), Farewell(sender.clone()));
        let mut worker = Worker::new(slot.clone(), args.clone());
        // Not joined: a thread may be waiting for input that never comes.
        std::thread::spawn(move || {
            while !slot.is_closed() {
                // Named, so that the lock is released before the work.
                let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, Job { tag, request })) = next else { break };
                let answer = request.map_or_else(|answer| *answer, |request| worker.ask(&request));
                if farewell.0.send(Event::Answer(number, tag, Box::new(answer))).is_err() {
                    break;
                }
            }
            drop(worker);
        });
    }
    let close = || slots.iter().for_each(Slot::close);
    let mut running = slots.len();
    while running > 0 {
        match events.recv()? {
            Event::Answer(number, tag, answer) => each(number, tag, *answer).inspect_err(|_| close())?,
            Event::Done => running -= 1,
            Event::Interrupted => {
                close();
                return Ok(End::Interrupted);
            }
        }
    }
    Ok(End::Complete)
}
