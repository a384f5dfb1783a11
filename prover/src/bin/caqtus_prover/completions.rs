//! `caqtus-prover completions`.

use std::io::{self, Write as _};

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::GOOD;

/// Print completions for a shell
///
/// A package of Caqtus has them already.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  source <(caqtus-prover completions bash)
  caqtus-prover completions fish > ~/.config/fish/completions/caqtus-prover.fish
  caqtus-prover completions zsh > ~/.zfunc/_caqtus-prover    # with fpath+=~/.zfunc before compinit in ~/.zshrc")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, program: &Command) -> anyhow::Result<u8> {
    // The generators know nothing of hidden commands, so these are left out here.
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut program = Command::new("caqtus-prover").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "caqtus-prover", &mut script);
    io::stdout().write_all(&script)?;
    Ok(GOOD)
}
