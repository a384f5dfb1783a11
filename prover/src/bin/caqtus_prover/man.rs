//! `caqtus-prover man`, hidden: for whoever makes packages.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command};

use crate::exit::GOOD;

/// Write the manual pages, one for each command, to a directory
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory, which is made if need be
    dir: PathBuf,
}

pub(crate) fn run(args: &ManArgs, program: Command) -> anyhow::Result<u8> {
    let written = std::fs::create_dir_all(&args.dir).and_then(|()| clap_mangen::generate_to(program, &args.dir));
    written.with_context(|| format!("cannot write manual pages to {}", args.dir.display()))?;
    Ok(GOOD)
}
