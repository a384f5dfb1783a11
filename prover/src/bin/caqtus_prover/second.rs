//! A second solver, as a program beside this one: what two independent solvers say is worth more.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use prover::smt::Answer;

/// Wall time for one script; its own limit should end it earlier.
const SECONDS_MAX: u64 = 60;

/// Resource units of cvc5 for one script; a few seconds.
const RLIMIT: u32 = 20_000_000;

/// A cvc5 that can be run.
pub(crate) struct Second {
    program: PathBuf,
    /// Its name and version.
    pub(crate) version: String,
}

impl Second {
    /// The program, if it is there and says that it is cvc5.
    pub(crate) fn find(program: &Path) -> Option<Self> {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut words = text.split_whitespace();
        words.find(|word| *word == "cvc5")?;
        let number = words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(Self { program: program.to_owned(), version: format!("cvc5 {number}") })
    }

    /// Whether a script's assertions contradict each other.
    pub(crate) fn unsat(&self, script: &str) -> Answer {
        self.try_unsat(script).unwrap_or_else(|error| Answer::Unknown(error.to_string()))
    }

    fn try_unsat(&self, script: &str) -> std::io::Result<Answer> {
        let mut command = Command::new(&self.program);
        command.args(["--lang=smt2", "-q"]).arg(format!("--rlimit={RLIMIT}")).arg("-");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("no pipes"));
        };
        let script = format!("{script}\n(check-sat)\n");
        // It may stop reading at an error; its output says which.
        let write = std::thread::spawn(move || _ = input.write_all(script.as_bytes()));
        let (sender, receiver) = mpsc::channel();
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = sender.send(output.read_to_string(&mut text).map(|_| text));
        });
        let text = receiver.recv_timeout(Duration::from_secs(SECONDS_MAX));
        let _ = child.kill();
        child.wait()?;
        let _ = (write.join(), read.join());
        Ok(match text {
            Ok(text) => answer(&text?),
            Err(_) => Answer::Unknown(format!("no answer within {SECONDS_MAX} s")),
        })
    }
}

/// What cvc5's output means: anything but the single word is no answer.
fn answer(output: &str) -> Answer {
    match output.trim() {
        "unsat" => Answer::Unsat,
        "sat" => Answer::Sat,
        "" => Answer::Unknown("it ended without an answer".to_owned()),
        other => Answer::Unknown(other.split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_single_word_is_an_answer() {
        assert_eq!(answer("unsat\n"), Answer::Unsat);
        assert_eq!(answer("sat\n"), Answer::Sat);
        for other in ["", "unknown\n", "(error \"x\")\nunsat\n", "unsat\nsat\n"] {
            assert!(matches!(answer(other), Answer::Unknown(_)), "{other}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(Second::find(Path::new("/nonexistent/cvc5")).is_none());
        assert!(Second::find(Path::new("/bin/true")).is_none());
    }
}
