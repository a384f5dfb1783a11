//! `caqtus-prover bench`: how much is decided, how fast, and is any of it wrong.

mod features;
mod report;
mod rows;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::args::{CountArgs, LimitArgs, WorkerArgs};
use crate::clock;
use crate::display::Progress;
use crate::exit::{BAD, GOOD, INTERRUPTED};
use crate::pool::{self, End};
use report::{Done, Floor, Report};

/// Decide the suites of a directory and compare with what is known of their pairs
///
/// A suite is the pairs with one `suite` in the *.jsonl files (else the file's name). `expected` is `eq`, `neq` or
/// `unknown`. A file may also hold `candidates`, rewrites of a `seed` query, with what engines said of them in
/// NAME.labels.jsonl beside it: expected is `eq` if every engine that ran both found no difference, `neq` if every one
/// found some, else `unknown`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  caqtus-prover bench suites/
  caqtus-prover bench suites/ --suite 'calcite*' --table results.md
  caqtus-prover bench suites/ --floor floor.json --json

A floor is an object like {\"calcite\": {\"proven\": 120, \"refuted\": 0}}: at least so many `eq` pairs must be proven and
so many `neq` pairs refuted.

Exit status: 0 nothing wrong, 1 a wrong verdict or less than the floor, 3 could not run, 130 stopped by Ctrl-C.")]
pub(crate) struct BenchArgs {
    /// Directory of *.jsonl files
    dir: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Only these suites; `*` stands for any text
    #[arg(long, value_name = "GLOB", default_value = "*")]
    suite: String,
    /// Write the tables as Markdown too
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Fail if less is decided than this file says
    #[arg(long, value_name = "FILE")]
    floor: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    workers: WorkerArgs,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<u8> {
    let floor = match &args.floor {
        Some(path) => read_floor(path)?,
        None => BTreeMap::new(),
    };
    let jobs = rows::read(&args.dir, &args.suite, &args.limits.limits())?;
    if jobs.is_empty() {
        bail!("no pair in {} is of a suite `{}`", args.dir.display(), args.suite);
    }
    let start = clock::now();
    let mut progress = Progress::new(Some(jobs.len() as u64));
    let mut done = Vec::with_capacity(jobs.len());
    let end = pool::run(args.count.count(), &args.workers, jobs.into_iter(), |number, tag, answer| {
        progress.add(answer.verdict);
        done.push((number, Done { tag, answer }));
        Ok(())
    })?;
    let tally = progress.end();
    // So that two runs can be compared: the order of the files, not that of finishing.
    done.sort_by_key(|(number, _)| *number);
    let done: Vec<Done> = done.into_iter().map(|(_, done)| done).collect();
    let floor: BTreeMap<_, _> = floor.into_iter().filter(|(suite, _)| rows::matches(&args.suite, suite)).collect();
    let report = Report::new(&done, &floor, end == End::Interrupted);
    if let Some(path) = &args.table {
        let markdown = table::markdown(&report);
        std::fs::write(path, markdown).with_context(|| format!("cannot write the tables to {}", path.display()))?;
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{}", table::text(&report))?;
    }
    eprintln!("{tally} in {:.1} s", start.elapsed().as_secs_f64());
    Ok(match end {
        End::Interrupted => INTERRUPTED,
        End::Complete if report.is_good() => GOOD,
        End::Complete => BAD,
    })
}

fn read_floor(path: &Path) -> anyhow::Result<BTreeMap<String, Floor>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the floor {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no floor", path.display()))
}
