//! Arguments that several subcommands share.

use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use prover::Limits;

/// Bounds on the work for one pair.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits (repeatable: the same limits give the same verdict on any machine)")]
pub(crate) struct LimitArgs {
    /// Z3 resource units for one solver query
    #[arg(long, value_name = "UNITS", default_value_t = Limits::default().rlimit_per_query)]
    rlimit_per_query: u32,
    /// Z3 resource units for a whole pair
    #[arg(long, value_name = "UNITS", default_value_t = Limits::default().rlimit_total)]
    rlimit_total: u64,
    /// Rows per table in the symbolic search for a difference
    #[arg(long, value_name = "N", default_value_t = Limits::default().symbolic_rows)]
    symbolic_rows: usize,
    /// Steps of rewriting and encoding for the whole pair
    #[arg(long, value_name = "N", default_value_t = Limits::default().work_total)]
    work_total: u64,
    /// Random databases on which the queries must agree before a proof counts
    #[arg(long, value_name = "N", default_value_t = Limits::default().trials, value_parser = clap::value_parser!(u32).range(1..))]
    trials: u32,
    /// Steps of the evaluator on one of them
    #[arg(long, value_name = "N", default_value_t = Limits::default().fuel_per_trial)]
    fuel_per_trial: u64,
    /// Seed of the random databases
    #[arg(long, value_name = "SEED", default_value_t = Limits::default().seed)]
    seed: u64,
}

impl LimitArgs {
    /// As the library wants them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            rlimit_per_query: self.rlimit_per_query,
            rlimit_total: self.rlimit_total,
            work_total: self.work_total,
            trials: self.trials,
            fuel_per_trial: self.fuel_per_trial,
            seed: self.seed,
            symbolic_rows: self.symbolic_rows,
        }
    }
}

/// One pair, on the command line.
#[derive(Clone, Debug, Args)]
pub(crate) struct PairArgs {
    /// File with the CREATE TABLE statements; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<String>,
    /// The left query; `@FILE` reads it from a file
    #[arg(long, value_name = "SQL", requires = "schema", requires = "right")]
    pub(crate) left: Option<String>,
    /// The right query; `@FILE` reads it from a file
    #[arg(long, value_name = "SQL", requires = "schema", requires = "left")]
    pub(crate) right: Option<String>,
    /// A virtual column or table of the queries: `p1=Expr(t1: INT)`, `v1=Table(c0 INT, c1 TEXT)`; repeatable
    #[arg(long = "placeholder", value_name = "NAME=KIND", value_parser = placeholder, requires = "schema")]
    pub(crate) placeholders: Vec<(String, String)>,
    /// A function of your own that the queries call: of values, one result for equal arguments; repeatable
    #[arg(long = "function", value_name = "NAME", requires = "schema")]
    pub(crate) functions: Vec<String>,
}

/// How worker processes are run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArgs {
    /// Seconds of wall time for one pair, after which it is unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "5")]
    pub(crate) deadline: Duration,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) faults: Faults,
}

/// How much memory a worker may take.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct MemoryArgs {
    /// MiB of memory for one worker; the pair for which it needs more is unknown
    #[arg(long = "memory", value_name = "MIB", default_value_t = MEMORY_MIB, value_parser = clap::value_parser!(u32).range(512..))]
    mib: u32,
}

impl MemoryArgs {
    /// In bytes.
    pub(crate) fn bytes(self) -> u64 {
        u64::from(self.mib) << 20
    }

    /// As arguments of `serve`.
    pub(crate) fn arguments(self) -> [String; 1] {
        [format!("--memory={}", self.mib)]
    }
}

impl Default for MemoryArgs {
    fn default() -> Self {
        Self { mib: MEMORY_MIB }
    }
}

/// Far more than an ordinary pair takes, and little enough for a worker on each core of an ordinary machine.
const MEMORY_MIB: u32 = 2048;

/// How many worker processes there are.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct CountArgs {
    /// Worker processes [default: the number of cores]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
}

impl CountArgs {
    /// The number of workers.
    pub(crate) fn count(&self) -> usize {
        self.workers.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
    }
}

/// Test aids: they make a worker fail on the pair of this id, which no real input can be relied on to do. Handed from
/// the pool to `serve`, hidden from the help.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Faults {
    /// End the process by a signal
    #[arg(long = "crash-on", value_name = "ID", hide = true)]
    pub(crate) crash: Option<String>,
    /// Never answer
    #[arg(long = "hang-on", value_name = "ID", hide = true)]
    pub(crate) hang: Option<String>,
    /// Panic
    #[arg(long = "panic-on", value_name = "ID", hide = true)]
    pub(crate) panic: Option<String>,
    /// Take ever more memory
    #[arg(long = "exhaust-on", value_name = "ID", hide = true)]
    pub(crate) memory: Option<String>,
}

impl Faults {
    /// As arguments of `serve`.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let flags = [
            ("--crash-on", &self.crash),
            ("--hang-on", &self.hang),
            ("--panic-on", &self.panic),
            ("--exhaust-on", &self.memory),
        ];
        flags.into_iter().filter_map(|(flag, id)| Some(format!("{flag}={}", id.as_ref()?))).collect()
    }
}

/// The text of a query argument.
pub(crate) fn query_text(argument: &str) -> anyhow::Result<String> {
    match argument.strip_prefix('@') {
        Some(path) => {
            bounded_text(std::fs::File::open(path)).with_context(|| format!("cannot read the query in {path}"))
        }
        None => Ok(argument.to_owned()),
    }
}

/// The text of a file argument, where `-` is standard input.
pub(crate) fn file_text(argument: &str, what: &str) -> anyhow::Result<String> {
    let text = if argument == "-" {
        bounded_text(Ok(std::io::stdin()))
    } else {
        bounded_text(std::fs::File::open(Path::new(argument)))
    };
    text.with_context(|| format!("cannot read {what} {argument}"))
}

/// Far more than any schema, query or proof takes.
const TEXT_MIB_MAX: u64 = 64;

/// The whole text of a source, which may have no end.
pub(crate) fn bounded_text(source: std::io::Result<impl std::io::Read>) -> std::io::Result<String> {
    let mut text = String::new();
    let read = source?.take((TEXT_MIB_MAX << 20) + 1).read_to_string(&mut text);
    if text.len() as u64 > TEXT_MIB_MAX << 20 {
        return Err(std::io::Error::other(format!("it is longer than {TEXT_MIB_MAX} MiB")));
    }
    read.map(|_| text)
}

fn placeholder(text: &str) -> Result<(String, String), String> {
    let (name, kind) = text.split_once('=').unwrap_or_default();
    if name.trim().is_empty() || kind.trim().is_empty() {
        return Err("write NAME=KIND, as in `p1=Expr(t1: INT)`".to_owned());
    }
    Ok((name.trim().to_owned(), kind.trim().to_owned()))
}

/// A positive number of seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.strip_suffix('s').unwrap_or(text).parse().map_err(|_| "write seconds, as in 5 or 0.5")?;
    if number <= 0.0 {
        return Err("a pair needs some time".to_owned());
    }
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        let parsed = placeholder(" p1 = Expr(t1: INT)").expect("a placeholder");
        assert_eq!(parsed, ("p1".to_owned(), "Expr(t1: INT)".to_owned()));
        for bad in ["", "p1", "=x", "p1="] {
            assert!(placeholder(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn deadlines() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("5s"), Ok(Duration::from_secs(5)));
        for bad in ["", "0", "-1", "nan", "inf", "1e300", "x"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
