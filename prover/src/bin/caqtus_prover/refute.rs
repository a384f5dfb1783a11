//! `caqtus-prover refute`.

use std::io::{self, Write as _};

use clap::{ArgGroup, Args};
use prover::Limits;
use prover::wire::{Outcome, Task};

use crate::args::{PairArgs, WorkerArgs};
use crate::exit::{BAD, INTERRUPTED, OPEN};
use crate::{display, prove};

/// Look for a database on which two queries differ, without trying to prove that there is none
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["schema"])))]
#[command(after_long_help = "\
Example:
  caqtus-prover refute --schema schema.sql --left 'SELECT a FROM t WHERE a = a' --right 'SELECT a FROM t'

Exit status: 1 refuted, 2 no difference found, 3 could not run, 130 stopped by Ctrl-C.")]
pub(crate) struct RefuteArgs {
    #[command(flatten)]
    pair: PairArgs,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Random databases to try
    #[arg(long, value_name = "N", default_value_t = 2000)]
    trials: u32,
    /// Seed of the random databases
    #[arg(long, value_name = "SEED", default_value_t = Limits::default().seed)]
    seed: u64,
    /// Rows per table in the symbolic search that follows
    #[arg(long, value_name = "N", default_value_t = Limits::default().symbolic_rows)]
    symbolic_rows: usize,
    #[command(flatten)]
    workers: WorkerArgs,
}

pub(crate) fn run(args: RefuteArgs) -> anyhow::Result<u8> {
    let RefuteArgs { pair, json, trials, seed, symbolic_rows, workers } = args;
    let limits = Limits { trials, seed, symbolic_rows, ..Limits::default() };
    let request = prove::request(&pair, limits, Task::Refute)?;
    let Some(answer) = prove::ask(request, &workers)? else { return Ok(INTERRUPTED) };
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        write!(out, "{}", display::paragraph(&answer))?;
    }
    Ok(if answer.verdict == Outcome::Refuted { BAD } else { OPEN })
}
