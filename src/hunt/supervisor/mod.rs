//! The supervisor: starts executors, hands out blocks, watches, restarts, sums up.
//!
//! An executor that ends by itself or stands still is replaced. Its flight recorder names the case, which is looked at in
//! [`postmortem`](crate::hunt::postmortem).

mod executors;

use self::executors::Worker;
use crate::clock;
use crate::config::{CLOSING_MS, DEADLINE_GRACE_MS, MAKING_READY_MS, STATE_EVERY_MS};
use crate::dbms::target::{Target, TargetError};
use crate::hunt::block::block_of;
use crate::hunt::campaign::{self, Campaign};
use crate::hunt::error::HuntError;
use crate::hunt::gone::{self, Gone, Watched};
use crate::hunt::outage::Outage;
use crate::hunt::plan::{HuntEnvironment, HuntPlan, KNOWN_BUGS, Progress, Summary};
use crate::hunt::postmortem::{Examined, keep};
use crate::hunt::probe::{self, Opened};
use crate::hunt::process::{Broken, Event};
use crate::hunt::protocol::{Order, Ready, Report};
use crate::hunt::stats::{NOT_TRIED, Outcome, Stats};
use crate::hunt::uses::{self, Uses};
use crate::hunt::{breakage, learned, recorder};
use crate::triage::finding::{self, FoundReport};
use crate::triage::fingerprint::Fingerprint;
use crate::triage::known;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{mpsc, watch as watching};
use tokio::task::{JoinHandle, JoinSet};

/// How long a hunt that is over waits for what is still looked at.
const LOOKING_MS: u64 = 500;

/// Runs a hunt to its end. `stop` resolves when the user wants it to end. What was done until something broke is in the
/// summary; an error is that the hunt did not begin.
pub async fn hunt(
    plan: HuntPlan,
    progress: &mut (dyn Progress + Send),
    mut stop: mpsc::Receiver<()>,
) -> Result<Summary, HuntError> {
    let started = clock::now();
    let target: Target = plan.spec.dbms.parse().map_err(|e: TargetError| HuntError::Executor(e.to_string()))?;
    // Better fail here, before there is a campaign, than in an executor. Servers of our own take a while to start.
    if !target.starts_server().map_err(|error| HuntError::Executor(error.to_string()))? {
        let deadline = plan.spec.limits.time_max().map(|time| started + time);
        let open = || probe::open(&target, &plan.environment.data_dir, deadline);
        let mut opened = open().await?;
        if let Opened::Broken(_) = opened {
            // Once may have been a kill from outside.
            opened = open().await?;
        }
        match opened {
            Opened::Version(_) => {}
            Opened::Refused(message) => return Err(HuntError::Executor(message)),
            Opened::TooLate => return Err(HuntError::NotReady(target.to_string())),
            Opened::Broken(broken) => return does_not_open(&plan, &target, broken, started),
        }
    }
    let out_dir = plan.environment.out_dir.clone();
    let occupied = campaign::occupy(&out_dir)?;
    let run_dir = occupied.run_dir.clone();
    let begun = fs::metadata(&run_dir).and_then(|made| made.modified());
    let begun = begun.map_err(|source| HuntError::Io { what: run_dir.display().to_string(), source })?;
    if !plan.environment.known.is_empty() {
        let path = run_dir.join(KNOWN_BUGS);
        let text = serde_json::to_vec(&plan.environment.known).map_err(std::io::Error::other);
        text.and_then(|text| fs::write(&path, text))
            .map_err(|source| HuntError::Io { what: path.display().to_string(), source })?;
    }
    let mut hunt = Hunt::new(plan, run_dir, progress, started)?;
    let error = hunt.run(&mut stop).await.err();
    Ok(hunt.end(error, begun).await)
}

/// What there is to say of a hunt on a target that breaks when it is opened: that is a bug, and the end.
fn does_not_open(plan: &HuntPlan, target: &Target, broken: Broken, started: Instant) -> Result<Summary, HuntError> {
    let (_, found) = keep(plan, &[], &probe::finding(target, plan.spec.seed, &broken))?;
    Ok(Summary {
        elapsed: started.elapsed(),
        findings: found.into_iter().collect(),
        error: Some(HuntError::Opening { target: target.to_string(), broken }),
        ..Summary::nothing(&target.to_string(), plan.spec.seed)
    })
}

#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
struct Hunt<'a> {
    plan: HuntPlan,
    run_dir: PathBuf,
    progress: &'a mut (dyn Progress + Send),
    campaign: Campaign,
    workers: HashMap<usize, Worker>,
    next_worker: usize,
    next_block: u64,
    /// Pieces of blocks whose executor ended: they are handed out first.
    again: Vec<Order>,
    /// Blocks that were handed out again after an executor ended while their database was made.
    retried: BTreeSet<u64>,
    events: mpsc::UnboundedSender<Event>,
    inbox: mpsc::UnboundedReceiver<Event>,
    stopping: bool,
    /// Cases that ended an executor and are being run again.
    examining: usize,
    failed_starts: u32,
    /// What looks after executors, each until its executor ended.
    attending: JoinSet<()>,
    /// What the first executor said.
    ready: Option<Ready>,
    restarts: u64,
    /// How often a server that is not ours was started again.
    server_starts: u32,
    /// What looks whether known bugs are still there, and how many of them it has not told of.
    looking: Option<JoinHandle<()>>,
    to_be_looked_at: usize,
    /// Those that are not.
    gone: Vec<Gone>,
    /// What cases were made of, and what became of them.
    uses: Uses,
    /// It was said that nothing learned is kept.
    forgetful: bool,
    /// Bugs found in this hunt that no list covers, while there is a limit to them.
    news: HashSet<Fingerprint>,
    /// It was said what broke the engine before the hunt.
    broke: bool,
    /// Where this program has faults.
    faults: HashSet<String>,
    started: Instant,
    /// When its time is up.
    deadline: Option<Instant>,
    /// The server of the user that is gone; nothing is started meanwhile.
    outage: Option<Outage>,
    /// It is waited for.
    recovering: bool,
    /// Ends that waiting.
    given_up: Arc<AtomicBool>,
    /// Makes executors end whatever they do.
    hurry: watching::Sender<bool>,
}

impl<'a> Hunt<'a> {
    fn new(
        plan: HuntPlan,
        run_dir: PathBuf,
        progress: &'a mut (dyn Progress + Send),
        started: Instant,
    ) -> Result<Self, HuntError> {
        let out_dir = &plan.environment.out_dir;
        let fresh = || Campaign {
            spec: plan.spec.clone(),
            done_below: 0,
            done: BTreeSet::new(),
            stats: Stats::default(),
            findings: Vec::new(),
            finished: false,
        };
        let campaign = if plan.resume {
            campaign::resume(out_dir, &plan.spec)?
        } else {
            if let Some(note) = campaign::make_room(out_dir)? {
                progress.note(&note);
            }
            fresh()
        };
        let mut plan = plan;
        plan.spec.clone_from(&campaign.spec);
        let (events, inbox) = mpsc::unbounded_channel();
        let next_block = campaign.done_below;
        Ok(Self {
            deadline: plan.spec.limits.time_max().map(|time| started + time),
            plan,
            run_dir,
            progress,
            campaign,
            workers: HashMap::new(),
            next_worker: 0,
            next_block,
            again: Vec::new(),
            retried: BTreeSet::new(),
            events,
            inbox,
            stopping: false,
            examining: 0,
            failed_starts: 0,
            attending: JoinSet::new(),
            ready: None,
            restarts: 0,
            server_starts: 0,
            looking: None,
            to_be_looked_at: 0,
            gone: Vec::new(),
            uses: Uses::new(),
            forgetful: false,
            news: HashSet::new(),
            broke: false,
            faults: HashSet::new(),
            started,
            outage: None,
            recovering: false,
            given_up: Arc::default(),
            hurry: watching::Sender::new(false),
        })
    }

    async fn run(&mut self, stop: &mut mpsc::Receiver<()>) -> Result<(), HuntError> {
        let started = self.started;
        self.campaign.finished = false;
        self.save()?;
        // The first executor validates the snippets; the others then find them in the cache.
        self.start_worker()?;
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        let mut saved = started;
        while !self.workers.is_empty() || self.examining > 0 || self.outage.is_some() {
            self.recover_when_alone();
            tokio::select! {
                event = self.inbox.recv() => match event {
                    Some(Event::Report(worker, report)) => self.report(worker, report)?,
                    Some(Event::Examined(examined)) => {
                        let Examined { outcome, found } = examined?;
                        self.examining -= 1;
                        self.campaign.stats.outcomes.count(&outcome);
                        if let Some(found) = found {
                            self.found(found);
                        }
                    }
                    Some(Event::Ended(worker, end)) => self.ended(worker, end)?,
                    Some(Event::Confirmed(confirmed)) => {
                        self.examining -= 1;
                        let breakage::Confirmed { written, not_tried } = confirmed?;
                        written.into_iter().for_each(|found| self.found(found));
                        not_tried.iter().for_each(|what| self.campaign.stats.messages.count(NOT_TRIED, what));
                    }
                    Some(Event::Recovered(recovery)) => self.recovered(recovery?)?,
                    Some(Event::Note(note)) => self.progress.note(&note),
                    Some(Event::Looked(gone)) => self.looked(gone),
                    None => break,
                },
                _ = stop.recv(), if !self.stopping => {
                    self.progress.note("stopping: executors finish their blocks");
                    self.stop();
                }
                _ = tick.tick() => {
                    let now = clock::now();
                    self.progress.update(&self.campaign.stats, self.campaign.findings.len(), now - started);
                    if self.time_is_up() {
                        self.stop();
                    }
                    self.start_stand_ins()?;
                    if self.deadline.is_some_and(|d| now >= d + Duration::from_millis(DEADLINE_GRACE_MS)) {
                        break;
                    }
                    if now - saved >= Duration::from_millis(STATE_EVERY_MS) {
                        saved = now;
                        self.save()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends executors that still run, and sums up.
    async fn end(mut self, mut error: Option<HuntError>, begun: SystemTime) -> Summary {
        if error.is_none() && self.ready.is_none() && self.time_is_up() {
            error = Some(HuntError::NotReady(self.plan.spec.dbms.clone()));
        }
        let elapsed = self.started.elapsed();
        if error.is_some() || !self.workers.is_empty() {
            // Nobody waits for what they do.
            let _ = self.hurry.send(true);
        }
        for _ in 0..self.examining {
            let reason = "an executor ended, and there was no time to run its case again";
            self.campaign.stats.outcomes.count(&Outcome::Warning(reason.to_owned()));
        }
        self.stopping = true;
        self.hear_last();
        self.workers.clear();
        // Executors that were let go close their engines.
        let closing = async { while self.attending.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_millis(3 * CLOSING_MS + MAKING_READY_MS), closing).await;
        self.attending.shutdown().await;
        if let Some(looking) = &mut self.looking
            && tokio::time::timeout(Duration::from_millis(LOOKING_MS), &mut *looking).await.is_err()
        {
            looking.abort();
        }
        self.hear_last();
        for found in self.unreported(begun) {
            self.found(found);
        }
        // A campaign that must not depend on earlier ones adds nothing to what later ones know.
        if self.plan.spec.learned.is_some() {
            let (data_dir, dbms) = (&self.plan.environment.data_dir, &self.plan.spec.dbms);
            if let Err(error) = uses::add(data_dir, dbms, &self.uses) {
                self.progress.note(&format!("what snippets came to on {dbms} is not kept: {error}"));
            }
        }
        self.campaign.finished = error.is_none();
        if let Err(unsaved) = self.save() {
            error.get_or_insert(unsaved);
        }
        Summary {
            dbms: self.campaign.spec.dbms.clone(),
            ready: self.ready.take().unwrap_or_default(),
            seed: self.campaign.spec.seed,
            elapsed,
            stats: std::mem::take(&mut self.campaign.stats),
            findings: std::mem::take(&mut self.campaign.findings),
            restarts: self.restarts,
            server_starts: self.server_starts,
            gone: self.gone,
            not_looked_at: self.to_be_looked_at,
            error,
        }
    }

    /// What executors said last counts.
    fn hear_last(&mut self) {
        while let Ok(event) = self.inbox.try_recv() {
            if let Event::Looked(gone) = event {
                self.looked(gone);
                continue;
            }
            let Event::Report(id, report) = event else { continue };
            let counts = match &report {
                // Of an executor that was let go it is not known any more which of its cases are left.
                Report::Ran { .. } => self.workers.contains_key(&id),
                report => matches!(report, Report::Found(_) | Report::Used { .. }),
            };
            if counts {
                let _ = self.report(id, report);
            }
        }
    }

    /// Looks, beside the hunt, whether known bugs are still there that older versions have.
    fn look_for_gone(&mut self, version: &str) {
        let HuntEnvironment { watched, data_dir, .. } = &self.plan.environment;
        let entries: Vec<Watched> = watched.iter().filter(|entry| entry.may_be_gone_on(version)).cloned().collect();
        self.to_be_looked_at = entries.len();
        // A server of the user's may not survive the question.
        let target = self.plan.spec.dbms.parse().ok().filter(|target: &Target| !target.is_shared());
        let (Some(target), false) = (target, entries.is_empty()) else { return };
        let looking = gone::look(entries, target, data_dir.clone(), self.run_dir.clone(), self.events.clone());
        self.looking = Some(tokio::spawn(looking));
    }

    fn looked(&mut self, gone: Option<Gone>) {
        self.to_be_looked_at = self.to_be_looked_at.saturating_sub(1);
        self.gone.extend(gone);
    }

    /// Findings that executors wrote and could not tell of any more: those of this campaign written since it began.
    fn unreported(&self, begun: SystemTime) -> Vec<FoundReport> {
        let written = |dir: &Path| fs::metadata(dir.join("case.json")).and_then(|file| file.modified()).ok();
        let all = finding::list(&self.plan.environment.out_dir).unwrap_or_default();
        let own = all.into_iter().filter(|(dir, finding)| {
            finding.seed == self.campaign.spec.seed
                && finding.dbms == self.campaign.spec.dbms
                && written(dir).is_some_and(|time| time >= begun)
        });
        own.map(|(dir, finding)| finding.found(&dir)).collect()
    }

    /// Whether the time of the hunt is up.
    fn time_is_up(&self) -> bool {
        self.deadline.is_some_and(|deadline| clock::now() >= deadline)
    }

    fn save(&self) -> Result<(), HuntError> {
        self.campaign.write(&self.plan.environment.out_dir)
    }

    fn report(&mut self, id: usize, report: Report) -> Result<(), HuntError> {
        match report {
            Report::Ready(ready) => {
                self.failed_starts = 0;
                if self.ready.is_none() {
                    self.progress.ready(&ready);
                    for note in &ready.notes {
                        self.progress.note(note);
                    }
                    self.look_for_gone(&ready.version);
                    self.ready = Some(ready);
                    self.start_workers()?;
                }
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.ready = true;
                }
                self.supply(id);
            }
            // All meet the same; one says it.
            Report::Broke(broken) if !std::mem::replace(&mut self.broke, true) => {
                self.examining += 1;
                let (plan, events) = (self.plan.clone(), self.events.clone());
                let (known, scratch) = (self.campaign.findings.clone(), self.run_dir.join("before"));
                self.attending.spawn(async move {
                    let confirmed = breakage::confirm(plan, known, broken, &scratch).await;
                    let _ = events.send(Event::Confirmed(confirmed));
                });
            }
            Report::ServerEnded { message, suspect } => self.server_ended(id, message, suspect.map(|s| *s)),
            Report::Panicked { place, message } => self.panicked(id, place, &message)?,
            Report::Failed { message } => match self.workers.get(&id) {
                // It has said so already.
                Some(worker) if worker.lost.is_some() => {}
                // It starts while the server is away.
                Some(worker) if !worker.ready && self.ready.is_some() && self.is_shared() => {
                    self.server_ended(id, message, None);
                }
                _ => return Err(HuntError::Executor(message)),
            },
            Report::Reducing(begins) => {
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.reducing = begins.then(clock::now);
                }
            }
            Report::Found(found) => self.found(found),
            Report::Ran { block, next, stats } => {
                self.campaign.stats.add(&stats);
                if let Some(worker) = self.workers.get_mut(&id) {
                    let running = worker
                        .pending
                        .iter_mut()
                        .position(|o| matches!(o, Order::Run { block: of, .. } if block_of(*of) == block_of(block)));
                    if let Some(at) = running
                        && let Order::Run { block: database, first, end } = &mut worker.pending[at]
                    {
                        *database = block;
                        *first = next;
                        if next >= *end {
                            worker.pending.remove(at);
                        }
                    }
                }
                self.finish(block);
                self.supply(id);
            }
            Report::UnsupportedSubquery(learned) => {
                let (data_dir, dbms) = (&self.plan.environment.data_dir, &self.plan.spec.dbms);
                // A later campaign learns it again.
                if let Err(error) = learned::append(data_dir, dbms, &learned)
                    && !std::mem::replace(&mut self.forgetful, true)
                {
                    self.progress.note(&format!("what is learned about {dbms} is not kept: {error}"));
                }
            }
            Report::Used { build_id, counts } => {
                self.progress.used(&counts);
                let known = self.uses.entry(build_id).or_default();
                counts.into_iter().for_each(|(used, cases)| known.entry(used).or_default().add(cases));
            }
            Report::Described(_) | Report::Broke(_) => {}
        }
        Ok(())
    }

    /// This program has a fault, by which an executor ends.
    fn panicked(&mut self, id: usize, place: String, message: &str) -> Result<(), HuntError> {
        let fault = format!("a fault of this program, not of the engine: {place}");
        if self.ready.is_none() {
            return Err(HuntError::Executor(format!("{fault}: {message}")));
        }
        let at = self.workers.get_mut(&id).and_then(|worker| {
            worker.panicked = true;
            recorder::read(&worker.recorder).ok().flatten()
        });
        if self.faults.insert(place) {
            let at = at.map_or_else(String::new, |at| format!(" (block {}, case {})", at.block, at.case));
            let seed = self.plan.spec.seed;
            self.progress.note(&format!("{fault}: {message}; please report it, with the seed {seed}{at}"));
        }
        self.campaign.stats.outcomes.count(&Outcome::Warning(fault));
        Ok(())
    }

    fn found(&mut self, found: FoundReport) {
        if !self.campaign.findings.iter().any(|f| f.id == found.id) {
            self.progress.note(&format!("{} in class {}: {}", found.kind, found.class, found.dir));
            self.progress.found(&found);
            self.note_news(&found);
            self.campaign.findings.push(found);
        }
    }

    /// Ends the hunt when as many bugs are found as are wanted.
    fn note_news(&mut self, found: &FoundReport) {
        let Some(max) = self.plan.spec.limits.bugs_max else { return };
        let target: Result<Target, _> = self.plan.spec.dbms.parse();
        let engine = target.map(|target| target.dialect().to_owned()).unwrap_or_default();
        let known = &self.plan.environment.known;
        // A finding that cannot be read counts.
        let why = finding::read(Path::new(&found.dir)).map(|f| known::reason(known, &engine, &f, &clock::today()));
        if !matches!(why, Ok(Some(_))) && self.news.insert(found.fingerprint()) && self.news.len() == max {
            let bugs = if max == 1 { "a bug is" } else { "bugs are" };
            self.progress.note(&format!("{bugs} found, as many as are wanted: executors finish their blocks"));
            self.stop();
        }
    }
}
