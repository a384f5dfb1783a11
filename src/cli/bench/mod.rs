//! `caqtus bench`.

mod sampling;

use super::Common;
use crate::config::{CASES_PER_BLOCK, ClassChoice, ExecutorConfig, FINDINGS_PER_CLASS_MAX};
use crate::dbms::target::Target;
use crate::hunt::executor::Executor;
use crate::hunt::protocol::Report;
use crate::hunt::stats::Stats;
use clap::{Args, Subcommand, ValueEnum as _};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure: the speed of hunting, and what the choice of examples does for discovery
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// The executor's loop, in this process: the NoREC classes, then the whole catalogue
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
        /// Only these classes, as a single suite
        #[arg(long = "class", value_name = "GLOB")]
        classes: Vec<String>,
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
    memory_mb: u64,
    pass: u64,
    skipped: u64,
    warning: u64,
    fail: u64,
}

pub(super) fn run(args: BenchArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        BenchCommand::Hunt { dbms, seconds, seed, classes, json, common } => {
            hunt(&dbms, seconds, seed, classes, json, &common)
        }
        BenchCommand::Sampling { seeds, max_depth, examples, seed, dbms, prover, json, common } => {
            let data_dir = common.data_dir();
            let plan = sampling::Plan { seeds, depth: max_depth, examples, seed, dbms, prover, data_dir };
            compare_samplings(&plan, json)
        }
    }
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
    let suites = if classes.is_empty() {
        vec![("norec", vec!["norec-*".to_owned()]), ("catalogue", Vec::new())]
    } else {
        vec![("chosen", classes)]
    };
    for (name, classes) in suites {
        let suite = measure(name, classes, dbms, seconds, seed, common)?;
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
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(
    suite: &str,
    classes: Vec<String>,
    dbms: &str,
    seconds: u64,
    seed: u64,
    common: &Common,
) -> anyhow::Result<Suite> {
    let target: Target = dbms.parse()?;
    let scratch = std::env::temp_dir().join(format!("caqtus-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let mut executor = Executor::new(ExecutorConfig {
        dbms: target.to_string(),
        data_dir: common.data_dir(),
        out_dir: scratch.clone(),
        seed,
        choice: ClassChoice { classes, ..ClassChoice::default() },
        snippet_percent: 35,
        findings_per_class_max: FINDINGS_PER_CLASS_MAX,
        known: Vec::new(),
        recorder: scratch.join("recorder"),
    })?;
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
    std::fs::remove_dir_all(&scratch)?;
    Ok(Suite {
        name: suite.to_owned(),
        version: target.open(&common.data_dir(), crate::config::STATEMENT_LIMITS)?.version(),
        cases: stats.outcomes.cases(),
        statements: stats.statements,
        cpu_seconds: std::time::Duration::from_nanos(stats.cpu_ns).as_secs_f64(),
        cases_per_cpu_second: stats.cases_per_cpu_second(),
        engine_share: stats.engine_share(),
        memory_mb: peak_memory_mb(),
        pass: stats.outcomes.pass,
        skipped: stats.outcomes.skipped,
        warning: stats.outcomes.warning,
        fail: stats.outcomes.fail,
    })
}

/// Peak resident memory of this process, from Linux's `/proc/self/status`; 0 where there is none.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string(PathBuf::from("/proc/self/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}
