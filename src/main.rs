//! The program `caqtus`: command line in, exit code out.

use clap::Parser as _;
use std::io::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = caqtus::cli::Cli::parse();
    match caqtus::cli::run(cli) {
        Ok(code) => code,
        // Whoever read the output has seen enough, as `| head` does.
        Err(error) if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::from(caqtus::cli::unread_status())
        }
        Err(error) => {
            caqtus::cli::say(&error);
            ExitCode::from(caqtus::cli::COULD_NOT_RUN)
        }
    }
}
