//! `caqtus execute`: the executor process. Hidden; the supervisor starts it.

use super::{COULD_NOT_RUN, Common};
use crate::app::finding::Replayed;
use crate::catalogue;
use crate::clock;
use crate::config::{CLOSING_MS, HANG_MS, MAKING_READY_MS, STATEMENT_LIMITS, StatementLimits};
use crate::corpus::worker;
use crate::dbms::target::Target;
use crate::discover::trial::try_query;
use crate::hunt::executor::Executor;
use crate::hunt::if_full;
use crate::hunt::probe::Opening;
use crate::hunt::protocol::{ExecutorConfig, Order, Report};
use crate::hunt::recorder::{NO_BLOCK, Recorder, SETUP};
use crate::hunt::replay::OPENED;
use crate::hunt::scripts::{self, Said};
use crate::hunt::session::SessionError;
use crate::triage::confirm::replay_finding;
use crate::triage::finding::{Finding, FindingKind};
use crate::triage::script::Script;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Run test cases as told on standard input (for the supervisor)
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(super) struct ExecuteArgs {
    /// The configuration as JSON
    #[arg(long, required_unless_present_any = ["replay", "script", "trials", "open", "check", "corpus"])]
    config: Option<String>,
    /// Try the queries of standard input, JSON lines, on --dbms (for discovery)
    #[arg(long, requires = "dbms")]
    trials: bool,
    /// Judge the snippets of standard input, JSON lines, on --dbms
    #[arg(long, requires = "dbms")]
    corpus: bool,
    /// Open --dbms, and say what it is or why not
    #[arg(long, requires = "dbms")]
    open: bool,
    /// Try what --dbms takes, and print it
    #[arg(long, requires_all = ["dbms", "recorder"])]
    check: bool,
    /// Where to note progress
    #[arg(long, value_name = "FILE")]
    recorder: Option<PathBuf>,
    /// Run a finding once and print what its queries did
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Run a script with answers on --dbms and print what its blocks did; may be given several times
    #[arg(long, value_name = "FILE", requires = "dbms")]
    script: Vec<PathBuf>,
    /// The target; without it, the one that the finding was found on
    #[arg(long)]
    dbms: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: ExecuteArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.replay {
        return replay_case(&args, path);
    }
    if !args.script.is_empty() {
        return run_scripts(&args);
    }
    if args.trials {
        return try_queries(&args);
    }
    if args.corpus {
        return judge(&args);
    }
    if args.open {
        return open(&args);
    }
    if args.check {
        end_with_input();
        let mut recorder = Recorder::create(&args.recorder.unwrap_or_default())?;
        let mut tick = || recorder.note(NO_BLOCK, 0, SETUP);
        super::dbms::check_here(&args.dbms.unwrap_or_default(), &args.common, &mut tick)?;
        return Ok(ExitCode::SUCCESS);
    }
    let config: ExecutorConfig = serde_json::from_str(&args.config.unwrap_or_default())?;
    let mut send = |report: Report| send_line(&report);
    // Nobody sees the standard error of an executor.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or_default().to_owned();
        let _ = send_line(&Report::Panicked { place, message });
    }));
    let (dbms, seed) = (config.spec.dbms.clone(), config.spec.seed);
    let is_shared = dbms.parse().is_ok_and(|target: Target| target.is_shared());
    // Only on a server that is not ours would anything stay.
    let ready = Arc::new(AtomicBool::new(!is_shared));
    let orders = orders::<Order>(ready.clone());
    let mut executor = match Executor::new(config) {
        Ok(executor) => executor,
        Err(SessionError::Gone { message, broken, version, build_id, .. }) if is_shared => {
            let crash = broken.iter().rfind(|broken| broken.kind == FindingKind::Crash);
            let suspect = crash.map(|crash| Box::new(crash.finding(&dbms, &version, &build_id, seed)));
            send(Report::ServerEnded { message, suspect })?;
            return Ok(ExitCode::from(COULD_NOT_RUN));
        }
        Err(error) => {
            let message = format!("{:#}", anyhow::Error::from(error));
            send(Report::Failed { message })?;
            return Ok(ExitCode::from(COULD_NOT_RUN));
        }
    };
    ready.store(true, Ordering::Relaxed);
    send(executor.ready())?;
    let broken = executor.broken();
    if !broken.is_empty() {
        send(Report::Broke(broken))?;
    }
    for order in orders {
        if let Err(error) = executor.carry_out(order, &mut send) {
            // Whether anybody still listens makes no difference.
            let message = format!("{error}{}", if_full(&error));
            let _ = send(Report::Failed { message });
            return Ok(ExitCode::from(COULD_NOT_RUN));
        }
        if executor.time_is_up() {
            break;
        }
    }
    // The supervisor listens until this process ends.
    let _ = executor.tell_rest(&mut send);
    Ok(ExitCode::SUCCESS)
}

/// Sends a line of JSON at once, because the next statement may end this process.
fn send_line(said: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(said).map_err(io::Error::other)?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

/// Opens the target: whatever that does to this process.
fn open(args: &ExecuteArgs) -> anyhow::Result<ExitCode> {
    end_with_input();
    let opened = args.dbms.as_deref().unwrap_or_default().parse::<Target>();
    let opened = opened.and_then(|target| target.open(&args.common.data_dir(), STATEMENT_LIMITS));
    let opening = match opened {
        Ok(connection) => Opening::Open { version: connection.version() },
        Err(error) => Opening::Refused { message: format!("{:#}", anyhow::Error::from(error)) },
    };
    println!("{}", serde_json::to_string(&opening)?);
    Ok(ExitCode::SUCCESS)
}

/// Ends this process when its input closes, which is when whoever started it is gone.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
}

/// Orders from standard input, read by a thread of its own: when the supervisor is gone, this process ends, whatever the
/// engine is doing, so that no orphan stays behind. One that is not `ready` yet may get ready first, to end in order.
fn orders<T: DeserializeOwned + Send + 'static>(ready: Arc<AtomicBool>) -> mpsc::Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str(&line) {
                Ok(order) => {
                    if sender.send(order).is_err() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        drop(sender);
        let by = clock::now() + Duration::from_millis(MAKING_READY_MS);
        while !ready.load(Ordering::Relaxed) && clock::now() < by {
            std::thread::sleep(Duration::from_millis(50));
        }
        // An engine that is idle is closed, and what was made on a server goes; one that is busy is not waited for.
        std::thread::sleep(Duration::from_millis(CLOSING_MS));
        std::process::exit(0);
    });
    receiver
}

/// Tries each query of the standard input and prints what came of it. The end of the input ends the process at once.
fn try_queries(args: &ExecuteArgs) -> anyhow::Result<ExitCode> {
    let target: Target = args.dbms.as_deref().unwrap_or_default().parse()?;
    let profile = catalogue::profile(target.dialect())?;
    let mut connection = target.open(&args.common.data_dir(), STATEMENT_LIMITS)?;
    for trial in orders(Arc::new(true.into())) {
        println!("{}", serde_json::to_string(&try_query(connection.as_mut(), &profile, &trial))?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Judges snippets as told. The end of the input ends the process at once.
fn judge(args: &ExecuteArgs) -> anyhow::Result<ExitCode> {
    let target: Target = args.dbms.as_deref().unwrap_or_default().parse()?;
    let profile = catalogue::profile(target.dialect())?;
    let orders = orders(Arc::new(true.into()));
    let mut connection = match target.open(&args.common.data_dir(), STATEMENT_LIMITS) {
        Ok(connection) => connection,
        Err(error) => {
            send_line(&worker::Said::Refused { message: format!("{:#}", anyhow::Error::from(error)) })?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    send_line(&worker::Said::Open { version: connection.version(), build_id: connection.build_id() })?;
    let mut judge = worker::Judge::new(connection.as_mut(), &profile);
    for order in orders {
        match order {
            worker::Order::Rows(sql) => send_line(&worker::Said::Rows(judge.rows(&sql)))?,
            worker::Order::Validate(candidates) => {
                for candidate in &candidates {
                    send_line(&worker::Said::Verdict(judge.verdict(candidate)))?;
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs scripts one after the other and says what their blocks did.
fn run_scripts(args: &ExecuteArgs) -> anyhow::Result<ExitCode> {
    end_with_input();
    let scripts: Vec<Script> = args.script.iter().map(|path| Script::read(path)).collect::<Result<_, _>>()?;
    let target: Target = args.dbms.as_deref().unwrap_or_default().parse()?;
    // Nothing is hunted here, so a slow machine has the time that it needs.
    let limits = StatementLimits { time_max_ms: HANG_MS, ..STATEMENT_LIMITS };
    let mut connection = match target.open(&args.common.data_dir(), limits) {
        Ok(connection) => connection,
        Err(error) => {
            let message = format!("{target} cannot be opened: {:#}", anyhow::Error::from(error));
            scripts.iter().try_for_each(|_| send_line(&Said::Refused { message: message.clone() }))?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    send_line(&Said::Opened { version: connection.version() })?;
    scripts::run(connection.as_mut(), &scripts, |said| send_line(&said))?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the finding's database, runs its queries, and prints the queries with their results as JSON.
fn replay_case(args: &ExecuteArgs, path: &std::path::Path) -> anyhow::Result<ExitCode> {
    end_with_input();
    let finding: Finding = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let target: Target = args.dbms.as_deref().unwrap_or(&finding.dbms).parse()?;
    let replayed = match target.open(&args.common.data_dir(), STATEMENT_LIMITS) {
        Ok(mut connection) => {
            println!("{OPENED}");
            let profile = catalogue::profile(target.dialect())?;
            let (verdict, seen) = replay_finding(connection.as_mut(), &profile, &finding);
            let mut queries = finding.queries;
            queries.iter_mut().zip(seen).for_each(|(query, seen)| query.result = seen);
            Replayed::new(connection.version(), &verdict, queries)
        }
        // Of a version that does not start nothing can be said.
        Err(error) => Replayed::unopened(format!("it cannot be opened: {:#}", anyhow::Error::from(error))),
    };
    println!("{}", serde_json::to_string(&replayed)?);
    Ok(ExitCode::SUCCESS)
}
