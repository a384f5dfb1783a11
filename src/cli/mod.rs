//! The command line. One file per subcommand.

// First, because the others print with its macros.
#[macro_use]
mod output;

mod bench;
mod bug;
mod case;
mod completions;
mod corpus;
mod dbms;
mod discover;
mod execute;
mod hunt;
mod import;
mod man;
mod oracle;
mod progress;
mod replay;
mod scripts;
mod selftest;
mod serve;

pub use output::unread_status;
pub use replay::ABORT;

use crate::app::engine;
use crate::catalogue;
use crate::config::{self, CatalogueSource, ClassChoice};
use crate::dbms::target::Target;
use crate::store::{Store, StoreError};
use anyhow::{Context as _, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code: bugs were found.
pub const FOUND: u8 = 1;

/// Exit code: the command could not run, or not go on.
pub const COULD_NOT_RUN: u8 = 2;

/// Exit code of a replay that says nothing: what it needs does not run there.
pub const VOID: u8 = 3;

/// Exit code: bugs were found, and then the hunt could not go on.
pub const FOUND_AND_BROKEN: u8 = 3;

/// Exit code: nothing was found, but too little was tested for that to mean anything.
pub const TOO_LITTLE: u8 = 4;

/// Finds logic bugs in database systems: queries that silently return wrong results.
///
/// Start with `caqtus hunt`, which tests the SQLite linked into this program. `caqtus dbms install sqlite@3.39.2`
/// fetches and builds another version, and `caqtus hunt --dbms sqlite@3.39.2` tests that one.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What may stand where a target is wanted.
const TARGETS: &str = "\
Targets:
  sqlite                      the SQLite linked into this program
  duckdb@1.3.4                a version that `caqtus dbms install` got, of most engines
  postgres, mariadb, mysql    the newest that is here, on a server started for it
  turso, datafusion           the Python module that is here
  sqlite:/path/libsqlite3.so  a library: sqlite, duckdb
  postgres:/path/bin          a server's programs, or the directory of a Python module
  postgres://me@host/empty    a server that runs and an empty database; nothing is left in it
  mariadb://me@host:3306/     a server that runs, without a database: mariadb, mysql, tidb, dolt
`caqtus dbms list --known` shows the versions, `caqtus dbms check TARGET` what a target takes.";

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Where installed engines and caches are [default: `$XDG_DATA_HOME/caqtus` or `~/.local/share/caqtus`]
    #[arg(long, env = "CAQTUS_DATA", value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl Common {
    fn data_dir(&self) -> PathBuf {
        config::data_dir(self.data_dir.clone())
    }
}

/// Where the store is.
#[derive(Debug, Clone, Args)]
struct StoreArgs {
    /// The PostgreSQL server that holds the store [default: a private one in the data directory, started when needed]
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database_url: Option<String>,
}

impl StoreArgs {
    async fn open(&self, common: &Common) -> Result<Store, StoreError> {
        Store::open(self.database_url.as_deref().filter(|url| !url.is_empty()), &common.data_dir()).await
    }
}

/// Where classes and their proofs come from.
#[derive(Debug, Clone, Args)]
struct SourceArgs {
    /// Use the classes of this file in place of the shipped catalogue; may be given several times
    #[arg(long, value_name = "FILE")]
    catalogue: Vec<PathBuf>,
    /// What is proven about the classes of --catalogue: a file that `caqtus oracle record` wrote
    #[arg(long, value_name = "FILE", requires = "catalogue")]
    proofs: Option<PathBuf>,
}

impl SourceArgs {
    fn source(self) -> CatalogueSource {
        CatalogueSource { catalogue: self.catalogue, proofs: self.proofs, snippets: None }
    }
}

/// The names of all oracles, with what each checks.
fn oracle_names() -> PossibleValuesParser {
    crate::oracle::ALL.iter().map(|oracle| PossibleValue::new(oracle.name).help(oracle.about)).into()
}

/// Which classes a campaign uses.
#[derive(Debug, Clone, Args)]
struct ChoiceArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Only this oracle; may be given several times [default: all; caq for classes of your own]
    ///
    /// Each database of a hunt is of one of them.
    #[arg(long = "oracle", value_name = "NAME", value_parser = oracle_names())]
    oracles: Vec<String>,
    /// Only classes and contexts whose name matches; * stands for any text; may be given several times
    #[arg(long = "class", value_name = "GLOB")]
    classes: Vec<String>,
    /// Also use members whose equivalence to the rest of their class is assumed, not proven
    ///
    /// Without it, a report never rests on a class being right by somebody's word alone. `caqtus oracle list` shows what is
    /// proven. The classes of --catalogue are used as they are unless --proofs says what is proven of them.
    #[arg(long)]
    assumed: bool,
}

impl ChoiceArgs {
    fn choice(self) -> ClassChoice {
        ClassChoice {
            source: self.source.source(),
            oracles: self.oracles,
            classes: self.classes,
            assumed: self.assumed,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Hunt(Box<hunt::HuntArgs>),
    Bug(bug::BugArgs),
    Dbms(dbms::DbmsArgs),
    Discover(Box<discover::DiscoverArgs>),
    Corpus(corpus::CorpusArgs),
    Oracle(oracle::OracleArgs),
    Serve(serve::ServeArgs),
    Token(serve::TokenArgs),
    Case(case::CaseArgs),
    Selftest(selftest::SelftestArgs),
    Bench(bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Execute(execute::ExecuteArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

/// Runs a command; the exit code says what it found.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    catalogue::check_own().map_err(|path| {
        anyhow!(
            "CAQTUS_CORPUS names {}, which has no directory `dialects` or `snippets` that can be read",
            path.display()
        )
    })?;
    match cli.command {
        Command::Hunt(args) => hunt::run(*args),
        Command::Bug(args) => bug::run(args),
        Command::Dbms(args) => dbms::run(args),
        Command::Discover(args) => discover::run(&args),
        Command::Corpus(args) => corpus::run(args),
        Command::Oracle(args) => oracle::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Token(args) => serve::run_token(args),
        Command::Case(args) => case::run(args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Execute(args) => execute::run(args),
        Command::Man(args) => man::run(&args),
    }
}

/// Says on standard error what went wrong, with its causes: the one form of that.
pub fn say(error: &anyhow::Error) {
    eprintln!("caqtus: {error:#}");
}

/// Opens a target in a process of its own, which it may crash or stop, and returns the engine's version.
fn open_apart(target: &Target, common: &Common) -> anyhow::Result<String> {
    Ok(runtime()?.block_on(engine::open_apart(target, &common.data_dir()))?)
}

/// A directory for the time of a command, which goes when it is dropped.
fn scratch(what: &str) -> anyhow::Result<tempfile::TempDir> {
    let made = tempfile::Builder::new().prefix(&format!("caqtus-{what}-")).tempdir();
    made.with_context(|| format!("cannot make a directory in {}", std::env::temp_dir().display()))
}

/// A runtime for the commands that wait for processes and signals.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A text from a store or a model, without what a terminal would obey.
fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Stack of the threads that handle queries which a model wrote: a tree is walked by recursion, and a long chain of
/// operators is a deep tree. The memory is only taken when it is used.
const STACK_BYTES: usize = 64 << 20;

/// A runtime for work on many seeds at once.
fn deep_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).thread_stack_size(STACK_BYTES).enable_all().build()
}

/// A duration as people write it: `90s`, `10m`, `2h`, or seconds.
fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(format!("`{text}` is no duration; write 90s, 10m or 2h")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is no duration; write 90s, 10m or 2h"))?;
    match number.checked_mul(factor) {
        // All of them are limits.
        Some(0) => Err(format!("in `{text}` nothing can run; 1s is the least")),
        Some(seconds) if seconds <= config::DURATION_MAX_S => Ok(std::time::Duration::from_secs(seconds)),
        _ => Err(format!("`{text}` is too long; ten years are the most")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_dialect_is_among_the_targets() {
        let help = Cli::command().find_subcommand_mut("hunt").expect("a command").render_help().to_string();
        for dialect in catalogue::dialects() {
            let word = |word: &str| word == dialect || word.starts_with(&format!("{dialect}@"));
            assert!(help.split([' ', ',', '\n', ':']).any(word), "{dialect}: {help}");
        }
        for kind in ["sqlite:/", "postgres:/", "postgres://", "@"] {
            assert!(help.contains(kind), "{kind}: {help}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("90").expect("seconds").as_secs(), 90);
        assert_eq!(parse_duration("10m").expect("minutes").as_secs(), 600);
        assert_eq!(parse_duration("2h").expect("hours").as_secs(), 7200);
        for bad in ["", "m", "1x", "-1", "1.5h", "99999999999999999999", "4000d", "18446744073709551615s"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        for nothing in ["0", "0s", "0d"] {
            assert!(parse_duration(nothing).expect_err("no limit").contains("1s is the least"), "{nothing}");
        }
    }
}
