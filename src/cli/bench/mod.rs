//! `caqtus bench`.

mod contexts;
mod evaluator;
mod known_bugs;
mod sampling;
mod serve;

use super::Common;
use crate::catalogue;
use crate::config::{CASES_PER_BLOCK, CampaignSpec, ClassChoice, STATEMENT_LIMITS};
use crate::dbms::target::Target;
use crate::hunt::executor::Executor;
use crate::hunt::protocol::{ExecutorConfig, Report, WorkerEnvironment};
use crate::hunt::stats::Stats;
use crate::oracle::{approx, caq, coddtest, consistency, edc, spec, state};
use clap::{Args, Subcommand, ValueEnum as _};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Blocks whose statements are sent again for the ceiling.
const RAW_BLOCKS: u64 = 40;

/// Measure: the speed of hunting, and what the choice of examples does for discovery
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// The executor's loop, in this process: the `NoREC` classes, the whole catalogue, each other oracle
    Hunt {
        /// The target
        #[arg(long, default_value = "sqlite")]
        dbms: String,
        /// CPU seconds per suite
        #[arg(long, default_value_t = 5)]
        seconds: u64,
        /// The seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Only these classes and contexts, as a single suite
        #[arg(long = "class", value_name = "GLOB")]
        classes: Vec<String>,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// In how many contexts each snippet of the corpus can be compared, on one row
    Contexts {
        /// The target
        #[arg(long, default_value = "sqlite")]
        dbms: String,
        /// The seed of the row
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Whether the prover's evaluator gives expressions the values and types that engines give them
    ///
    /// Random expressions of every operator, function and cast that the prover reads, over columns and literals of every
    /// type. A disagreement is covered where the prover assumes something of the expression that the dialect's profile does
    /// not guarantee. Exit status: 0 if the others are none, 1 if there are some, 2 could not run.
    #[command(after_help = "Example: caqtus bench evaluator --dbms sqlite --dbms postgres --expressions 250000")]
    Evaluator {
        /// The targets
        #[arg(long, default_value = "sqlite")]
        dbms: Vec<String>,
        /// Expressions, for each target
        #[arg(long, value_name = "N", default_value_t = 100_000)]
        expressions: u64,
        /// The seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print what assumptions cover, too
        #[arg(long)]
        covered: bool,
        /// JSON, for machines: an object for each target
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// How fast a service answers lists, filters, searches and details over a large store, while a hunt writes to it
    Serve {
        /// The PostgreSQL server for the store, which must be empty [default: a private one in the data directory]
        #[arg(long, value_name = "URL")]
        store: Option<String>,
        /// Classes to make
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(i32).range(1_000..=9_999_999))]
        classes: i32,
        /// Findings to make
        #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(i32).range(20_000..=100_000_000))]
        findings: i32,
        /// Seconds of requests
        #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
        seconds: u64,
        /// Requests a second
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        rate: u32,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// How many distinct bugs a hunt finds on an old version, counted by the installed version that fixed them
    ///
    /// And how well its findings are grouped into bugs, and reduced.
    #[command(
        after_help = "Example: caqtus bench known-bugs --dbms sqlite@3.28.0 --for 10m --list known-bugs/sqlite.jsonl"
    )]
    KnownBugs {
        /// The target, a version
        #[arg(long)]
        dbms: String,
        /// How long to hunt
        #[arg(long = "for", value_name = "TIME", value_parser = super::parse_duration, default_value = "10m")]
        time: Duration,
        /// Executors
        #[arg(long, value_name = "N", default_value_t = 2)]
        workers: usize,
        /// The seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Known bugs, JSON lines with `group`, `bad_versions` and `fixed_version`
        #[arg(long, value_name = "FILE")]
        list: Option<PathBuf>,
        /// Where the findings go [default: a directory that is removed]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Discovery with each way of choosing examples, from the same seeds: similarity of plans and valid queries
    ///
    /// Table 4 of the Argus paper, with the rewrite rules in the place of a model: examples are what they start from.
    Sampling {
        /// Seeds
        #[arg(long, value_name = "N", default_value_t = 50)]
        seeds: usize,
        /// Candidates per seed at most
        #[arg(long, value_name = "N", default_value_t = 20)]
        max_depth: u32,
        /// Examples at most
        #[arg(long, value_name = "N", default_value_t = 4)]
        examples: usize,
        /// The seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The target whose plans are compared
        #[arg(long, default_value = "sqlite")]
        dbms: String,
        /// The prover [default: caqtus-prover beside this program or in the path]
        #[arg(long, env = "CAQTUS_PROVER", value_name = "PROGRAM")]
        prover: Option<PathBuf>,
        /// JSON, for machines
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Serialize)]
struct Suite {
    #[serde(rename = "suite")]
    name: String,
    version: String,
    cases: u64,
    statements: u64,
    cpu_seconds: f64,
    cases_per_cpu_second: f64,
    engine_share: f64,
    /// CPU of a server of our own, in seconds, and what a query costs it and this program when nothing else is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerShare>,
    memory_mb: u64,
    pass: u64,
    skipped: u64,
    warning: u64,
    fail: u64,
}

/// Microseconds of CPU per statement, of the server and of this program: in the hunt, and for the hunt's own statements sent
/// again without generating, comparing or anything else, which is the protocol's ceiling.
#[derive(Serialize)]
struct ServerShare {
    cpu_seconds: f64,
    server_us_per_statement: f64,
    client_us_per_statement: f64,
    ceiling_server_us: f64,
    ceiling_client_us: f64,
}

pub(super) fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        BenchCommand::Hunt { dbms, seconds, seed, classes, json, common } => {
            hunt(&dbms, seconds, seed, classes, json, &common)
        }
        BenchCommand::Contexts { dbms, seed, json, common } => {
            let survey = contexts::survey(&dbms, seed, &common)?;
            if json {
                println!("{}", serde_json::to_string(&survey)?);
            } else {
                contexts::print(&survey);
            }
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Evaluator { dbms, expressions, seed, covered, json, common } => {
            let mut disagree = false;
            for name in &dbms {
                let target: Target = name.parse()?;
                let connection = target.open(&common.data_dir(), STATEMENT_LIMITS)?;
                let profile = catalogue::profile(target.dialect())?;
                let report = evaluator::check(name, connection, profile, expressions, seed)?;
                disagree |= report.disagrees();
                if json {
                    println!("{}", serde_json::to_string(&report)?);
                } else {
                    report.print(covered);
                }
            }
            Ok(ExitCode::from(if disagree { super::FOUND } else { 0 }))
        }
        BenchCommand::Serve { store, classes, findings, seconds, rate, json, common } => {
            let (store, common) = (store.as_deref(), &common);
            let plan = serve::Plan { store, classes, findings, seconds, per_second: rate, json, common };
            super::runtime()?.block_on(serve::run(plan))
        }
        BenchCommand::KnownBugs { dbms, time, workers, seed, list, out, json, common } => {
            let scratch = super::scratch("known-bugs")?;
            let out = out.unwrap_or_else(|| scratch.path().to_owned());
            let data_dir = common.data_dir();
            let plan = known_bugs::Plan { dbms, time, workers, seed, list, out, data_dir };
            print_known_bugs(&known_bugs::measure(&plan)?, json)
        }
        BenchCommand::Sampling { seeds, max_depth, examples, seed, dbms, prover, json, common } => {
            let data_dir = common.data_dir();
            let plan = sampling::Plan { seeds, depth: max_depth, examples, seed, dbms, prover, data_dir };
            compare_samplings(&plan, json)
        }
    }
}

fn print_known_bugs(outcome: &known_bugs::Outcome, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        println!("{}", serde_json::to_string(outcome)?);
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{}: {} findings with {} distinct fixes in {} cases, {:.0} CPU seconds; {} of {} known bugs have such a fix",
        outcome.version,
        outcome.findings,
        outcome.distinct,
        outcome.cases,
        outcome.cpu_seconds,
        outcome.matched,
        outcome.known
    );
    for (what, grouping) in [("at once", &outcome.at_once), ("with versions", &outcome.with_versions)] {
        let known_bugs::Grouping { reports, distinct, lost, precision, recall } = grouping;
        println!(
            "  reports {what}: {reports} of {distinct} distinct bugs, {lost} of them lost; pairs: precision {precision:.2}, recall \
             {recall:.2}"
        );
    }
    println!("  median: {} statements, {} characters of a query", outcome.statements, outcome.query);
    for fix in &outcome.fixes {
        let classes = fix.classes.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
        match &fix.first_good {
            Some(good) => println!("  fixed in {good}: {} findings ({classes})", fix.findings.len()),
            None => println!("  shows on {} still: {} findings ({classes})", fix.last_bad, fix.findings.len()),
        }
        for known in &fix.known {
            println!("      {known}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn compare_samplings(plan: &sampling::Plan, json: bool) -> anyhow::Result<ExitCode> {
    for line in super::deep_runtime()?.block_on(sampling::measure(plan))? {
        if json {
            println!("{}", serde_json::to_string(&line)?);
            continue;
        }
        let name = line.sampling.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
        let similarity = line.similarity.map_or("-".to_owned(), |s| format!("{s:.3}"));
        println!(
            "{name:<12} similarity {similarity}  valid queries {:>5} of {:>5} candidates  {:.0} s",
            line.valid, line.candidates, line.seconds
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn hunt(
    dbms: &str,
    seconds: u64,
    seed: u64,
    classes: Vec<String>,
    json: bool,
    common: &Common,
) -> anyhow::Result<ExitCode> {
    let of =
        |oracle: &str, classes| ClassChoice { oracles: vec![oracle.to_owned()], classes, ..ClassChoice::default() };
    let suites = if classes.is_empty() {
        vec![
            ("norec", of(caq::NAME, vec!["norec-*".to_owned()])),
            ("catalogue", of(caq::NAME, Vec::new())),
            ("consistency", of(consistency::NAME, Vec::new())),
            ("coddtest", of(coddtest::NAME, Vec::new())),
            ("edc", of(edc::NAME, Vec::new())),
            ("spec", of(spec::NAME, Vec::new())),
            ("approx", of(approx::NAME, Vec::new())),
            ("state", of(state::NAME, Vec::new())),
        ]
    } else {
        vec![("chosen", ClassChoice { classes, ..ClassChoice::default() })]
    };
    for (name, choice) in suites {
        let suite = measure(name, choice, dbms, seconds, seed, common)?;
        if json {
            println!("{}", serde_json::to_string(&suite)?);
        } else {
            println!(
                "{}: {:.0} cases per CPU second, {:.0} % inside the engine, {} cases, {} skipped, {} MB",
                suite.name,
                suite.cases_per_cpu_second,
                suite.engine_share * 100.0,
                suite.cases,
                suite.skipped,
                suite.memory_mb
            );
            if let Some(share) = &suite.server {
                println!(
                    "  CPU per statement: server {:.0} µs, client {:.0} µs; statements alone: server {:.0} µs, client {:.0} µs",
                    share.server_us_per_statement,
                    share.client_us_per_statement,
                    share.ceiling_server_us,
                    share.ceiling_client_us
                );
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(
    suite: &str,
    choice: ClassChoice,
    dbms: &str,
    seconds: u64,
    seed: u64,
    common: &Common,
) -> anyhow::Result<Suite> {
    let target: Target = dbms.parse()?;
    let scratch = super::scratch("bench")?;
    let mut spec = CampaignSpec { choice, ..CampaignSpec::new(target.to_string(), seed) };
    // Reducing what is found is not what is measured.
    spec.limits.findings_per_class_max = 0;
    let environment = WorkerEnvironment {
        known_bugs: None,
        against: None,
        data_dir: common.data_dir(),
        out_dir: scratch.path().to_owned(),
        known: Vec::new(),
        recorder: scratch.path().join("recorder"),
        time_left_ms: None,
    };
    let mut executor = Executor::new(ExecutorConfig { spec, environment })?;
    let mut stats = Stats::default();
    let mut block = 0;
    while stats.cpu_ns < seconds * 1_000_000_000 {
        executor.block(block, 0, CASES_PER_BLOCK, &mut |report| {
            if let Report::Ran { stats: more, .. } = report {
                stats.add(&more);
            }
            Ok(())
        })?;
        block += 1;
    }
    let server = ceiling(&mut executor, block, &stats);
    Ok(Suite {
        name: suite.to_owned(),
        version: target.open(&common.data_dir(), crate::config::STATEMENT_LIMITS)?.version(),
        cases: stats.outcomes.cases(),
        statements: stats.statements,
        cpu_seconds: std::time::Duration::from_nanos(stats.cpu_ns).as_secs_f64(),
        cases_per_cpu_second: stats.cases_per_cpu_second(),
        engine_share: stats.engine_share(),
        server,
        memory_mb: peak_memory_mb(),
        pass: stats.outcomes.pass,
        skipped: stats.outcomes.skipped,
        warning: stats.outcomes.warning,
        fail: stats.outcomes.fail,
    })
}

/// What statements cost a server of our own and this program, beside what they cost in the hunt.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn ceiling(executor: &mut Executor, blocks: u64, stats: &Stats) -> Option<ServerShare> {
    let raw = executor.raw(blocks.min(RAW_BLOCKS))?;
    let per = |ns: u64, statements: u64| ns as f64 / 1000.0 / statements.max(1) as f64;
    Some(ServerShare {
        cpu_seconds: stats.server_ns as f64 / 1e9,
        server_us_per_statement: per(stats.server_ns, stats.statements),
        client_us_per_statement: per(stats.cpu_ns, stats.statements),
        ceiling_server_us: per(raw.server_ns, raw.statements),
        ceiling_client_us: per(raw.cpu_ns, raw.statements),
    })
}

/// Peak resident memory of this process, from Linux's `/proc/self/status`; 0 where there is none.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string(PathBuf::from("/proc/self/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}
