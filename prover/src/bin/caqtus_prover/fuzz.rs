//! `caqtus-prover fuzz`: random pairs against the prover, to find proofs that are wrong.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use prover::Limits;
use prover::fuzz::{self, Case};
use prover::wire::{Answer, Outcome, Request, Task};
use serde::Serialize;
use serde_json::json;

use crate::args::{CountArgs, WorkerArgs};
use crate::clock;
use crate::display::Progress;
use crate::exit::{BAD, GOOD, INTERRUPTED};
use crate::pool::{self, End, Job};

/// Test the prover on random pairs of queries
///
/// The prover works without the search for a difference that otherwise checks its proofs; then each proven pair is
/// evaluated on many random databases. A difference is a bug in the prover: it is printed and kept as a file with the
/// pair, the database and the proof. Everything follows from the seed, so a pair can be looked at again by its number.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  caqtus-prover fuzz --pairs 10000
  caqtus-prover fuzz --for 10m --origin mutant --differing --keep findings/
  caqtus-prover fuzz --seed 4711 --pairs 1

The reasons of pairs that agree and are not proven are counted: they say what the prover does not know yet.

Exit status: 0 no wrong proof, 1 a wrong proof, 3 could not run, 130 stopped by Ctrl-C.")]
pub(crate) struct FuzzArgs {
    /// Number of the first pair
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Stop after so many pairs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        default_value_if("for", clap::builder::ArgPredicate::IsPresent, "18446744073709551615")
    )]
    pairs: u64,
    /// Stop after so much time, as in 30s, 10m or 2h
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Only pairs of this origin
    #[arg(long)]
    origin: Option<Origin>,
    #[command(flatten)]
    pairs_of: PairsOf,
    /// Try a proof only of pairs that differ: many more of them in the same time, and nothing about coverage
    #[arg(long)]
    differing: bool,
    /// Random databases on which a proven pair is evaluated
    #[arg(long, value_name = "N", default_value_t = 1000)]
    trials: u32,
    /// Directory for the files of wrong proofs
    #[arg(long, value_name = "DIR", default_value = ".")]
    keep: PathBuf,
    /// Print a JSON object for each wrong proof and one for the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    workers: WorkerArgs,
}

/// Which pairs, and whether they are decided.
#[derive(Debug, Args)]
struct PairsOf {
    /// Pairs in which types meet: columns of all types, casts, functions, changes of types
    #[arg(long)]
    mixed: bool,
    /// Print the pairs, as `prove --pairs` reads them, and decide none
    #[arg(long)]
    list: bool,
}

/// How a pair came about.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Origin {
    /// One query made from the other by steps that are often equivalences
    Rewrite,
    /// The same and one change that most often is not
    Mutant,
    /// Unrelated queries
    Random,
    /// Changes by which the type of an expression may be another one; with --mixed
    Typed,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Rewrite => "rewrite",
            Self::Mutant => "mutant",
            Self::Random => "random",
            Self::Typed => "typed",
        }
    }
}

/// Less for a pair than where somebody waits for the answer, so that more pairs are seen: solver units for a question and
/// for all, and steps of rewriting.
const LIMITS: (u32, u64, u64) = (300_000, 1_000_000, 150_000);

/// What became of the pairs of one origin.
#[derive(Clone, Debug, Default, Serialize)]
struct Counts {
    pairs: u64,
    proven: u64,
    refuted: u64,
    wrong: u64,
    crashed: u64,
    /// Neither proven nor refuted, by reason.
    unknown: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    origins: BTreeMap<&'static str, Counts>,
    /// Bounds that pairs which agree but are not proven have reached.
    caps: BTreeMap<String, u64>,
    /// Pairs on which the prover crashed, with what it said.
    crashes: Vec<(u64, String)>,
    /// Pairs with a wrong proof.
    wrong: Vec<u64>,
    /// The number after that of the last pair.
    next_seed: u64,
    seconds: f64,
}

pub(crate) fn run(args: &FuzzArgs) -> anyhow::Result<u8> {
    match args.origin {
        Some(Origin::Typed) if !args.pairs_of.mixed => bail!("pairs of the origin typed come with --mixed"),
        Some(Origin::Random) if args.pairs_of.mixed => bail!("--mixed makes no pairs of the origin random"),
        _ => {}
    }
    if args.pairs_of.list {
        return list(args);
    }
    std::fs::create_dir_all(&args.keep).with_context(|| format!("cannot make {}", args.keep.display()))?;
    let start = clock::now();
    let last = Arc::new(Mutex::new(args.seed));
    let jobs = jobs(args, start, Arc::clone(&last));
    let mut summary = Summary::default();
    let total = args.time.is_none().then_some(args.pairs);
    let mut progress = Progress::new(total);
    let mut out = io::stdout();
    let end = pool::run(args.count.count(), &args.workers, jobs, |_, (seed, case), answer| {
        progress.add(answer.verdict);
        if summary.add(seed, case.origin, &answer) {
            let file = args.keep.join(format!("wrong-proof-{seed}.json"));
            let finding = finding(seed, &case, &answer);
            std::fs::write(&file, serde_json::to_string_pretty(&finding)?)
                .with_context(|| format!("cannot write {}", file.display()))?;
            let text = if args.json { format!("{finding}\n") } else { shout(seed, &case, &answer, &file) };
            progress.print(|| out.write_all(text.as_bytes()))?;
        }
        Ok(())
    })?;
    progress.end();
    summary.seconds = start.elapsed().as_secs_f64();
    summary.next_seed = *last.lock().unwrap_or_else(PoisonError::into_inner);
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&summary)?)?;
    } else {
        write!(out, "{}", summary.text())?;
    }
    Ok(match end {
        _ if !summary.wrong.is_empty() => BAD,
        End::Interrupted => INTERRUPTED,
        End::Complete => GOOD,
    })
}

/// The pairs, made as they are needed. `last` is kept at the number of the next one.
fn jobs(
    args: &FuzzArgs,
    start: Instant,
    last: Arc<Mutex<u64>>,
) -> impl Iterator<Item = Job<(u64, Case)>> + Send + use<> {
    let limits = Limits {
        trials: args.trials,
        rlimit_per_query: LIMITS.0,
        rlimit_total: LIMITS.1,
        work_total: LIMITS.2,
        symbolic_rows: 0,
        ..Limits::default()
    };
    let task = if args.differing { Task::AuditDiffering } else { Task::Audit };
    let time = args.time;
    cases(args).take_while(move |_| time.is_none_or(|time| start.elapsed() < time)).map(move |(seed, case)| {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = seed.saturating_add(1);
        let request = Request {
            id: seed.to_string(),
            pair: pair(&case),
            limits: Some(Limits { seed: limits.seed.wrapping_add(seed), ..limits.clone() }),
            task,
            certificate: true,
        };
        Job { tag: (seed, case), request: Ok(Box::new(request)) }
    })
}

/// The wanted cases with their numbers.
fn cases(args: &FuzzArgs) -> impl Iterator<Item = (u64, Case)> + Send + use<> {
    let (origin, mixed) = (args.origin.map(Origin::name), args.pairs_of.mixed);
    let wanted = usize::try_from(args.pairs).unwrap_or(usize::MAX);
    (args.seed..)
        .map(move |seed| (seed, if mixed { fuzz::mixed_case(seed) } else { fuzz::case(seed) }))
        .filter(move |(_, case)| origin.is_none_or(|origin| case.origin == origin))
        .take(wanted)
}

fn pair(case: &Case) -> prover::Pair {
    prover::Pair {
        schema: case.ddl.clone().into(),
        q1: case.left.clone().into(),
        q2: case.right.clone().into(),
        ..prover::Pair::default()
    }
}

fn list(args: &FuzzArgs) -> anyhow::Result<u8> {
    let mut out = io::stdout().lock();
    for (seed, case) in cases(args) {
        let mut line = serde_json::to_value(pair(&case))?;
        line["id"] = format!("fuzz-{seed}").into();
        writeln!(out, "{line}")?;
    }
    Ok(GOOD)
}

/// Whether the prover proved what a database shows to be different.
fn is_wrong(answer: &Answer) -> bool {
    answer.verdict == Outcome::Unknown && answer.witness.is_some()
}

impl Summary {
    /// Counts an answer; whether it is a wrong proof.
    fn add(&mut self, seed: u64, origin: &'static str, answer: &Answer) -> bool {
        let counts = self.origins.entry(origin).or_default();
        counts.pairs += 1;
        let reason = answer.reason.as_deref().unwrap_or_default();
        match answer.verdict {
            Outcome::Proven => counts.proven += 1,
            Outcome::Refuted => counts.refuted += 1,
            Outcome::Unknown if is_wrong(answer) => {
                counts.wrong += 1;
                self.wrong.push(seed);
                return true;
            }
            Outcome::Unknown if reason.starts_with("prover crashed") => {
                counts.crashed += 1;
                self.crashes.push((seed, reason.to_owned()));
            }
            Outcome::Unknown => {
                *counts.unknown.entry(reason.to_owned()).or_default() += 1;
                for cap in answer.caps.keys() {
                    *self.caps.entry(cap.clone()).or_default() += 1;
                }
            }
        }
        false
    }

    fn text(&self) -> String {
        let mut lines = Vec::new();
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        let mut pairs = 0;
        lines.push(format!(
            "{:<8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "origin", "pairs", "proven", "refuted", "unknown", "crashed", "WRONG"
        ));
        for (origin, counts) in &self.origins {
            let Counts { pairs: n, proven, refuted, wrong, crashed, unknown } = counts;
            let open: u64 = unknown.values().sum();
            lines.push(format!("{origin:<8} {n:>8} {proven:>8} {refuted:>8} {open:>8} {crashed:>8} {wrong:>8}"));
            unknown.iter().for_each(|(reason, n)| *reasons.entry(reason).or_default() += n);
            pairs += n;
        }
        for (title, counts) in [
            ("Pairs that agree and are not proven, by reason:", reasons),
            ("Bounds that they reached:", self.caps.iter().map(|(cap, n)| (&cap[..], *n)).collect()),
        ] {
            let mut ranked: Vec<(&str, u64)> = counts.into_iter().collect();
            ranked.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
            if !ranked.is_empty() {
                lines.push(title.to_owned());
                lines.extend(ranked.into_iter().map(|(name, n)| format!("{n:>8}  {name}")));
            }
        }
        for (seed, what) in &self.crashes {
            lines.push(format!("crashed on {seed}: {what}"));
        }
        let seconds = self.seconds.max(0.001);
        // Only shown, so a rate that is off by one in a million million does no harm.
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
        let rate = pairs as f64 / seconds;
        lines
            .push(format!("{pairs} pairs in {seconds:.1} s, {rate:.1} a second; go on with --seed {}", self.next_seed));
        lines.push(match self.wrong.len() {
            0 => "no wrong proof".to_owned(),
            n => format!("PROVER BUG: {n} WRONG {}", if n == 1 { "PROOF" } else { "PROOFS" }),
        });
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A wrong proof as it is kept.
fn finding(seed: u64, case: &Case, answer: &Answer) -> serde_json::Value {
    json!({
        "id": format!("fuzz-{seed}"),
        "origin": case.origin,
        "schema": case.ddl,
        "q1": case.left,
        "q2": case.right,
        "expected": "neq",
        "witness": answer.witness,
        "left_rows": answer.left_rows,
        "right_rows": answer.right_rows,
        "certificate": answer.certificate,
    })
}

fn shout(seed: u64, case: &Case, answer: &Answer, file: &std::path::Path) -> String {
    let mut lines = vec![format!("PROVER BUG: pair {seed} is proven, and differs ({})", file.display())];
    lines.extend([case.ddl.clone(), case.left.clone(), case.right.clone()]);
    lines.extend(answer.witness.iter().flatten().cloned());
    for (side, rows) in [("left", &answer.left_rows), ("right", &answer.right_rows)] {
        lines.push(format!("{side}: {}", rows.iter().flatten().cloned().collect::<Vec<_>>().join(" ")));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    let number: u64 = number.parse().map_err(|_| "write a time, as in 30s, 10m or 2h")?;
    Ok(Duration::from_secs(number.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time("30"), Ok(Duration::from_secs(30)));
        assert_eq!(time("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(time("10m"), Ok(Duration::from_mins(10)));
        assert_eq!(time("2h"), Ok(Duration::from_hours(2)));
        for bad in ["", "m", "1d", "-1m"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_proven_pair_with_a_witness_is_a_wrong_proof() {
        let mut answer = Answer::unknown("7", "PROVER BUG");
        let mut summary = Summary::default();
        assert!(!summary.add(6, "mutant", &answer));
        answer.witness = Some(Vec::new());
        assert!(summary.add(7, "mutant", &answer));
        answer.verdict = Outcome::Refuted;
        assert!(!summary.add(8, "mutant", &answer));
        assert!(!summary.add(9, "random", &Answer::crashed("9", "signal 11")));
        assert_eq!((summary.wrong.as_slice(), summary.crashes.len()), (&[7][..], 1));
        let text = summary.text();
        assert!(text.contains("PROVER BUG: 1 WRONG PROOF"), "{text}");
        assert!(text.contains("crashed on 9"), "{text}");
    }
}
