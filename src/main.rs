//! The program `caqtus`: command line in, exit code out.

use clap::Parser as _;
use std::io::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = caqtus::cli::Cli::try_parse().unwrap_or_else(|error| {
        // What `git bisect run` reads as a bad commit is not what a mistake of whoever wrote the command means.
        let for_git = std::env::args().any(|word| word.starts_with("--git-bisect"));
        let status = if for_git && error.use_stderr() { i32::from(caqtus::cli::ABORT) } else { error.exit_code() };
        let _ = error.print();
        std::process::exit(status)
    });
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
