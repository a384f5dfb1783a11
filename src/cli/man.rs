//! `caqtus man`, hidden: for whoever makes packages.

use super::Cli;
use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages, one for each command, to a directory
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The directory, which is made if need be
    dir: PathBuf,
}

pub(super) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let written = std::fs::create_dir_all(&args.dir).and_then(|()| clap_mangen::generate_to(Cli::command(), &args.dir));
    written.with_context(|| format!("cannot write manual pages to {}", args.dir.display()))?;
    Ok(ExitCode::SUCCESS)
}
