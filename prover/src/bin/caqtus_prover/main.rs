//! The program `caqtus-prover`: proves, refutes or leaves open the equivalence of SQL queries.
//!
//! One file per subcommand, each with its arguments and `run`; a new one is a file, a `mod`, and a line in [`Command`]
//! and in [`run`]. Whatever decides a pair does so in a worker process ([`serve`], started by [`worker`] for [`pool`]),
//! so that a crash or an endless search costs that pair and nothing else.

/// In place of the standard library's, which panics when nobody reads messages any more, as after `2>&1 | head`.
macro_rules! eprintln {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($arg)*);
    }};
}

mod args;
mod audit;
mod bench;
mod check;
mod clock;
mod completions;
mod display;
mod exit;
mod explain;
mod fuzz;
mod man;
mod memory;
mod pairs;
mod pool;
mod prove;
mod refute;
mod second;
mod serve;
mod solver;
mod worker;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use exit::{COULD_NOT_RUN, GOOD};

/// Proves that two SQL queries return the same rows on every database, or finds a database where they do not.
///
/// Every answer is one of three: proven, with a certificate that other solvers can check; refuted, with INSERT
/// statements that show the difference; or unknown, with the reason. Rows are compared as a bag: their order does not
/// count, how often each occurs does.
#[derive(Debug, Parser)]
#[command(name = "caqtus-prover", version = solver::program_version(), max_term_width = 100)]
#[command(after_long_help = "\
Examples:
  caqtus-prover prove --schema schema.sql --left 'SELECT a FROM t' --right 'SELECT t.a FROM t WHERE TRUE'
  caqtus-prover prove --pairs pairs.jsonl --json > answers.jsonl
  caqtus-prover refute --schema schema.sql --left @left.sql --right @right.sql
  caqtus-prover check proof.json
  caqtus-prover bench suites/
  caqtus-prover fuzz --for 10m

Exit status: 0 proven, 1 refuted, 2 unknown, 3 could not run, 130 stopped by Ctrl-C.
`caqtus-prover help COMMAND` tells more, with examples.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Prove(Box<prove::ProveArgs>),
    Refute(Box<refute::RefuteArgs>),
    Check(check::CheckArgs),
    Bench(bench::BenchArgs),
    Fuzz(fuzz::FuzzArgs),
    Serve(serve::ServeArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Prove(args) => prove::run(&args),
        Command::Refute(args) => refute::run(*args),
        Command::Check(args) => check::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Completions(args) => completions::run(&args, &Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

fn main() -> ExitCode {
    if let Err(message) = solver::usable() {
        eprintln!("caqtus-prover: {message}");
        return ExitCode::from(COULD_NOT_RUN);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Clap's own status for wrong arguments is 2, which here means unknown.
            let status = if error.use_stderr() { COULD_NOT_RUN } else { GOOD };
            let _ = error.print();
            return ExitCode::from(status);
        }
    };
    match run(cli.command) {
        Ok(status) => ExitCode::from(status),
        // Whoever read the output has seen enough, as `| head` does. Not a success: that would mean proven.
        Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::from(COULD_NOT_RUN)
        }
        Err(error) => {
            // The one place where an error chain is printed.
            eprintln!("caqtus-prover: {error:#}");
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_a_user_sees_has_an_example() {
        for command in Cli::command().get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "{}", command.get_name());
        }
    }
}
