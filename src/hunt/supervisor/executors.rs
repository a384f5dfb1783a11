//! The executors of a hunt: who has which orders, and what becomes of those that end.

use super::Hunt;
use crate::clock;
use crate::config::{CASES_PER_BLOCK, STAND_IN_AFTER_MS, millis};
use crate::dbms::target::Target;
use crate::hunt::block::block_of;
use crate::hunt::error::HuntError;
use crate::hunt::outage::{self, Outage, Recovery};
use crate::hunt::postmortem::examine;
use crate::hunt::process::{End, Event, Process, monitor_worker};
use crate::hunt::protocol::Order;
use crate::hunt::recorder::{self, Position};
use crate::hunt::restart::Starter;
use crate::hunt::stats::Outcome;
use crate::triage::finding::Finding;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Orders an executor has at a time: one runs, one waits, so that it never idles.
const ORDERS_IN_FLIGHT: usize = 2;

/// Executors that may end in a row before one is ready.
const FAILED_STARTS_MAX: u32 = 20;

/// An executor.
pub(super) struct Worker {
    pub(super) orders: mpsc::UnboundedSender<Order>,
    pub(super) pending: Vec<Order>,
    pub(super) recorder: PathBuf,
    pub(super) ready: bool,
    /// It lost its server; whether a case of its own is suspected.
    pub(super) lost: Option<bool>,
    /// It ends by a fault of this program.
    pub(super) panicked: bool,
    /// Since when it reduces a failure.
    pub(super) reducing: Option<Instant>,
}

impl Hunt<'_> {
    /// Hands out no more work; executors end when they have none left.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        self.given_up.store(true, Ordering::Relaxed);
        self.workers.retain(|_, worker| !worker.pending.is_empty());
    }

    /// The next piece of work, if there is any.
    fn next_order(&mut self) -> Option<Order> {
        if let Some(order) = self.again.pop() {
            return Some(order);
        }
        if self.stopping {
            return None;
        }
        while self.campaign.done.contains(&self.next_block) {
            self.next_block += 1;
        }
        let block = self.next_block;
        let size = u64::from(CASES_PER_BLOCK);
        let left = self.plan.spec.limits.cases_max.map_or(size, |max| max.saturating_sub(block * size).min(size));
        if left == 0 {
            return None;
        }
        self.next_block += 1;
        Some(Order::Run { block, first: 0, end: u32::try_from(left).unwrap_or(CASES_PER_BLOCK) })
    }

    /// Gives a worker orders up to the limit; one without any is let go.
    pub(super) fn supply(&mut self, id: usize) {
        // Who came last goes first: those that were here before know what is no news.
        let is_one_too_many = self.workers.keys().filter(|other| **other < id).count() >= self.wanted();
        while !is_one_too_many && self.workers.get(&id).is_some_and(|w| w.pending.len() < ORDERS_IN_FLIGHT) {
            let Some(order) = self.next_order() else { break };
            if let Some(worker) = self.workers.get_mut(&id) {
                worker.pending.push(order);
                // A closed channel means that the process ended; its end event is on the way.
                let _ = worker.orders.send(order);
            }
        }
        if self.workers.get(&id).is_some_and(|w| w.pending.is_empty() && w.ready) {
            self.workers.remove(&id);
        }
    }

    /// Counts the block of a database as done when no order for a part of it is left.
    pub(super) fn finish(&mut self, database: u64) {
        let block = block_of(database);
        let of_block = |order: &Order| matches!(order, Order::Run { block: of, .. } if block_of(*of) == block);
        let left = self.workers.values().flat_map(|w| &w.pending).chain(&self.again).any(of_block);
        if !left {
            self.campaign.finish_block(block);
        }
    }

    pub(super) fn start_worker(&mut self) -> Result<(), HuntError> {
        let id = self.next_worker;
        self.next_worker += 1;
        let recorder = self.run_dir.join(format!("recorder-{id}"));
        let known = self.campaign.findings.iter().map(|f| f.id.clone()).collect();
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(clock::now()));
        let config = self.plan.executor(recorder.clone(), known, left.map(millis));
        let process = Process::start(&config)?;
        let (orders, orders_in) = mpsc::unbounded_channel();
        let (hang_after, events, hurry) =
            (self.plan.spec.limits.hang_after(), self.events.clone(), self.hurry.subscribe());
        self.attending.spawn(monitor_worker(id, process, orders_in, recorder.clone(), hang_after, events, hurry));
        let (pending, ready, panicked) = (Vec::new(), false, false);
        self.workers.insert(id, Worker { orders, pending, recorder, ready, lost: None, panicked, reducing: None });
        Ok(())
    }

    /// How many executors there should be: as many as the user wants, and one for each that has been reducing for long, so
    /// that reductions do not stop the hunt, up to as many again. There are none in addition in a hunt of a number of cases,
    /// which with one executor comes to the same however fast the machine is, and on a server that is not ours, which may
    /// not take so many connections.
    fn wanted(&self) -> usize {
        let long = Duration::from_millis(STAND_IN_AFTER_MS);
        let reduces_for_long = |worker: &&Worker| worker.reducing.is_some_and(|since| clock::now() - since >= long);
        let workers = self.plan.environment.workers;
        if self.plan.spec.limits.cases_max.is_some() || self.is_shared() {
            return workers;
        }
        workers + self.workers.values().filter(reduces_for_long).count().min(workers)
    }

    /// Starts executors up to their number.
    pub(super) fn start_workers(&mut self) -> Result<(), HuntError> {
        while !self.stopping && self.workers.len() < self.wanted() {
            self.start_worker()?;
        }
        Ok(())
    }

    /// Starts executors in place of those that have been reducing for long.
    pub(super) fn start_stand_ins(&mut self) -> Result<(), HuntError> {
        let is_down = self.outage.is_some() || self.recovering;
        if is_down || self.wanted() == self.plan.environment.workers { Ok(()) } else { self.start_workers() }
    }

    /// Whether executors share a server that is not ours.
    pub(super) fn is_shared(&self) -> bool {
        self.plan.spec.dbms.parse().is_ok_and(|target: Target| target.is_shared())
    }

    /// An executor lost the server. All do; what each ran is looked at when the server is back.
    pub(super) fn server_ended(&mut self, id: usize, message: String, suspect: Option<Finding>) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.lost = Some(suspect.is_some());
        }
        if self.outage.is_none() && !self.recovering {
            let wait = self.plan.environment.server_return_max.as_secs();
            self.progress.note(&format!("the server ended ({message}); it is waited for, {wait} s at most"));
        }
        let outage = self.outage.get_or_insert_with(|| Outage { message, suspects: Vec::new() });
        outage.suspects.extend(suspect);
    }

    /// When no executor is left, waits for the server, beside the loop.
    pub(super) fn recover_when_alone(&mut self) {
        if !self.workers.is_empty() || self.examining > 0 {
            return;
        }
        let Some(outage) = self.outage.take() else { return };
        self.recovering = true;
        self.examining += 1;
        let (plan, events, given_up) = (self.plan.clone(), self.events.clone(), self.given_up.clone());
        let (known, scratch) = (self.campaign.findings.clone(), self.run_dir.join(format!("outage-{}", self.restarts)));
        let starter = Starter {
            restart: plan.environment.restart.clone(),
            started: self.server_starts,
            log: self.plan.environment.out_dir.join("restart.log"),
            running: None,
            events: events.clone(),
        };
        self.attending.spawn(async move {
            let recovery = outage::recover(plan, outage, known, scratch, given_up, starter).await;
            let _ = events.send(Event::Recovered(recovery));
        });
    }

    pub(super) fn recovered(&mut self, recovery: Recovery) -> Result<(), HuntError> {
        self.examining -= 1;
        self.recovering = false;
        self.server_starts = recovery.started;
        recovery.outcomes.iter().for_each(|outcome| self.campaign.stats.outcomes.count(outcome));
        if let Some(found) = recovery.found {
            self.found(found);
        }
        if recovery.back {
            self.progress.note("the server is back");
            return self.start_workers();
        }
        // Who ends the hunt meanwhile knows that nobody waits for the server.
        if self.stopping {
            return Ok(());
        }
        Err(HuntError::Gone {
            target: self.plan.spec.dbms.clone(),
            seconds: self.plan.environment.server_return_max.as_secs(),
            message: recovery.message,
        })
    }

    /// Hands out again what an executor left of a block: the cases before the one at which it ended that were not reported
    /// yet, and those behind it, where the database can be made.
    fn put_back(&mut self, block: u64, first: u32, end: u32, position: Position) {
        let case = u32::try_from(position.case).unwrap_or(end);
        let behind = if position.statement < recorder::SETUP { case + 1..end } else { end..end };
        for (block, piece) in [(block, first..case), (position.block, behind)] {
            if piece.start < piece.end {
                self.again.push(Order::Run { block, first: piece.start, end: piece.end });
            }
        }
        self.finish(block);
    }

    /// An executor ended: find out at which case, go on behind it.
    pub(super) fn ended(&mut self, id: usize, how: End) -> Result<(), HuntError> {
        let Some(worker) = self.workers.remove(&id) else { return Ok(()) };
        if how == End::Closed && (worker.pending.is_empty() || self.time_is_up()) {
            return Ok(());
        }
        self.restarts += 1;
        if self.time_is_up() && worker.lost.is_none() {
            if worker.ready {
                let reason = "an executor ended when the time was up, and its case was not run again";
                self.campaign.stats.outcomes.count(&Outcome::Warning(reason.to_owned()));
            }
            return Ok(());
        }
        if !worker.ready && worker.lost.is_none() {
            self.failed_starts += 1;
            if self.failed_starts > FAILED_STARTS_MAX {
                return Err(HuntError::Unstable(self.plan.spec.dbms.clone()));
            }
            if !worker.panicked {
                self.progress.note("the engine ended the process while a snippet was validated; it is left out");
            }
        }
        let position = recorder::read(&worker.recorder).ok().flatten();
        let mut pending = worker.pending;
        if let (Some(position), true) = (position, worker.ready) {
            let running = pending
                .iter()
                .position(|o| matches!(o, Order::Run { block, .. } if block_of(*block) == block_of(position.block)));
            if running.is_none() && worker.panicked && !pending.is_empty() {
                // A block of which nothing was noted yet: it would end the next one too.
                if let Order::Run { block, .. } = pending.remove(0) {
                    self.finish(block);
                }
            } else if let (Some(at), Some(false)) = (running, worker.lost) {
                // It did not run anything.
                self.again.push(pending.remove(at));
            } else if let Some(Order::Run { block, first, end }) = running.map(|at| pending.remove(at)) {
                if worker.lost.is_some() || worker.panicked {
                    self.put_back(block, first, end, position);
                } else if position.statement >= recorder::SETUP && self.retried.insert(block_of(block)) {
                    // It may have been a kill from outside: once more.
                    self.again.push(Order::Run { block, first, end });
                } else {
                    // Beside the hunt: other executors go on meanwhile.
                    self.examining += 1;
                    let (plan, events) = (self.plan.clone(), self.events.clone());
                    let scratch = self.run_dir.join(format!("examination-{id}"));
                    let known = self.campaign.findings.clone();
                    self.attending.spawn(async move {
                        let _ = events.send(Event::Examined(examine(plan, known, scratch, position, how).await));
                    });
                    self.put_back(block, first, end, position);
                }
            }
        }
        self.again.extend(pending);
        let down = self.outage.is_some() || self.recovering;
        let missing = if self.stopping { !self.again.is_empty() } else { self.workers.len() < self.wanted() };
        if !down && missing {
            self.start_worker()?;
        }
        Ok(())
    }
}
