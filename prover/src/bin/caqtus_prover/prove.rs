//! `caqtus-prover prove`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{ArgGroup, Args};
use prover::Pair;
use prover::wire::{Answer, Outcome, Request, Task};
use serde::Serialize;

use crate::args::{CountArgs, LimitArgs, PairArgs, WorkerArgs, file_text, query_text};
use crate::display::{self, Progress, Tally};
use crate::exit::INTERRUPTED;
use crate::pairs::{self, Expected, Schemas};
use crate::pool::{self, End, Job};
use crate::{clock, explain};

/// Prove or refute a pair of queries, or a file of pairs
///
/// Pairs are decided in worker processes: one that crashes the prover, or takes longer than the deadline, is unknown
/// and costs no other.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["schema", "pairs"])))]
#[command(after_long_help = "\
Examples:
  caqtus-prover prove --schema schema.sql --left 'SELECT a FROM t' --right 'SELECT t.a FROM t WHERE TRUE'
  caqtus-prover prove --schema schema.sql --left @q1.sql --right @q2.sql --explain --certificate proof.json
  echo 'CREATE TABLE t(a INT)' | caqtus-prover prove --schema - --placeholder 'p1=Expr(t: BOOLEAN)' \\
    --left 'SELECT a FROM t WHERE p1' --right 'SELECT a FROM t WHERE p1 IS TRUE'
  caqtus-prover prove --pairs pairs.jsonl --json --workers 4 > answers.jsonl

A line of a file of pairs:
  {\"id\": \"1\", \"schema\": \"CREATE TABLE t(a INT)\", \"q1\": \"SELECT a FROM t\", \"q2\": \"SELECT 1 FROM t\"}
`schema` may also name a file beside it, `placeholders` is an object like {\"p1\": \"Expr(t: INT)\"}, and `functions` a list
of names as for --function. With tables and plans as QED writes them in place of the texts, those are decided.

Exit status: 0 all proven, 1 some refuted, 2 some unknown and none refuted, 3 could not run, 130 stopped by Ctrl-C.")]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// File of pairs, one JSON object per line; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["left", "right", "placeholders", "functions", "explain", "certificate"])]
    pairs: Option<String>,
    /// Print one JSON object per pair
    #[arg(long)]
    json: bool,
    /// Print the proof: its steps, the claims put to the solver, what it takes for granted
    #[arg(long)]
    explain: bool,
    /// Write the proof to a file, for `caqtus-prover check`
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Print answers in the order of the pairs, not as they come
    #[arg(long, requires = "pairs")]
    ordered: bool,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    workers: WorkerArgs,
}

pub(crate) fn run(args: &ProveArgs) -> anyhow::Result<u8> {
    match &args.pairs {
        Some(file) => many(args, file),
        None => one(args),
    }
}

/// What to ask for the pair on the command line.
pub(crate) fn request(pair: &PairArgs, limits: prover::Limits, task: Task) -> anyhow::Result<Request> {
    let (Some(schema), Some(left), Some(right)) = (&pair.schema, &pair.left, &pair.right) else {
        bail!("--schema, --left and --right make a pair; one is missing");
    };
    Ok(Request {
        id: "pair".to_owned(),
        pair: Pair {
            schema: file_text(schema, "the schema in")?.into(),
            q1: query_text(left)?.into(),
            q2: query_text(right)?.into(),
            placeholders: pair.placeholders.iter().cloned().collect(),
            functions: pair.functions.iter().cloned().collect(),
        },
        limits: Some(limits),
        task,
        certificate: false,
    })
}

/// The answer to a single pair; `None` after Ctrl-C.
pub(crate) fn ask(request: Request, workers: &WorkerArgs) -> anyhow::Result<Option<Answer>> {
    let mut result = None;
    let job = Job { tag: (), request: Ok(Box::new(request)) };
    pool::run(1, workers, std::iter::once(job), |_, (), answer| {
        result = Some(answer);
        Ok(())
    })?;
    Ok(result)
}

fn one(args: &ProveArgs) -> anyhow::Result<u8> {
    let mut request = request(&args.pair, args.limits.limits(), Task::Decide)?;
    request.certificate = args.explain || args.certificate.is_some();
    let Some(mut answer) = ask(request, &args.workers)? else { return Ok(INTERRUPTED) };
    if let Some(path) = &args.certificate {
        match &answer.certificate {
            Some(certificate) => std::fs::write(path, serde_json::to_string_pretty(certificate)?)
                .with_context(|| format!("cannot write the certificate to {}", path.display()))?,
            None if answer.verdict == Outcome::Proven => bail!("the proof is too long for a certificate"),
            None => eprintln!("no certificate written: there is no proof"),
        }
    }
    if !args.explain {
        answer.certificate = None;
    }
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        write!(out, "{}", display::paragraph(&answer))?;
        if let Some(certificate) = &answer.certificate {
            write!(out, "{}", explain::proof(certificate))?;
        }
    }
    let mut tally = Tally::default();
    tally.add(answer.verdict);
    Ok(tally.status())
}

/// A line of output.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Expected>,
}

fn print(json: bool, answer: &Answer, expected: Option<Expected>) -> anyhow::Result<()> {
    let line = if json {
        serde_json::to_string(&Line { answer, expected })?
    } else {
        match expected.filter(|expected| expected.contradicts(answer.verdict)) {
            Some(expected) => format!("{}  WRONG: expected {expected}", display::line(answer)),
            None => display::line(answer),
        }
    };
    writeln!(io::stdout(), "{line}")?;
    Ok(())
}

fn many(args: &ProveArgs, file: &str) -> anyhow::Result<u8> {
    let input: Box<dyn BufRead + Send> = match file {
        "-" => Box::new(BufReader::new(io::stdin())),
        path => Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot read pairs from {path}"))?)),
    };
    let start = clock::now();
    let jobs = pairs::jobs(input, Schemas::beside(Path::new(file)), args.limits.limits());
    let mut progress = Progress::new(None);
    // With --ordered: answers that wait for one before them.
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let end = pool::run(args.count.count(), &args.workers, jobs, |number, expected, answer| {
        progress.add(answer.verdict);
        if !args.ordered {
            return progress.print(|| print(args.json, &answer, expected));
        }
        waiting.insert(number, (answer, expected));
        while let Some((answer, expected)) = waiting.remove(&next) {
            progress.print(|| print(args.json, &answer, expected))?;
            next += 1;
        }
        Ok(())
    })?;
    for (answer, expected) in waiting.into_values() {
        progress.print(|| print(args.json, &answer, expected))?;
    }
    let tally = progress.end();
    let stopped = if end == End::Interrupted { "stopped after " } else { "" };
    eprintln!("{stopped}{tally} in {:.1} s", start.elapsed().as_secs_f64());
    match end {
        End::Interrupted => Ok(INTERRUPTED),
        End::Complete if tally.total() == 0 => bail!("there is no pair in {file}"),
        End::Complete => Ok(tally.status()),
    }
}
