//! The program `caqtus`: command line in, exit code out.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = caqtus::cli::Cli::parse();
    match caqtus::cli::run(cli) {
        Ok(code) => code,
        Err(error) => {
            // The one place where an error chain is printed.
            eprintln!("caqtus: {error:#}");
            ExitCode::from(caqtus::cli::COULD_NOT_RUN)
        }
    }
}
