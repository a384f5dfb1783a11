//! `caqtus completions`.

use super::Cli;
use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use std::process::ExitCode;

/// Print completions for a shell
///
/// A package of Caqtus has them already.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(caqtus completions bash)
  caqtus completions fish > ~/.config/fish/completions/caqtus.fish
  caqtus completions zsh > ~/.zfunc/_caqtus    # with fpath+=~/.zfunc before compinit in ~/.zshrc")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> ExitCode {
    // The generators know nothing of hidden commands, so these are left out here.
    let program = Cli::command();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut program = Command::new("caqtus").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "caqtus", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
