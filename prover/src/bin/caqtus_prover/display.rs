//! What people see: progress, verdicts, proofs.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prover::wire::{Answer, Outcome};
use serde::Serialize;

use crate::exit::{BAD, GOOD, OPEN};

/// How many pairs have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    pub(crate) proven: usize,
    pub(crate) refuted: usize,
    pub(crate) unknown: usize,
}

impl Tally {
    /// Counts a verdict.
    pub(crate) fn add(&mut self, verdict: Outcome) {
        *match verdict {
            Outcome::Proven => &mut self.proven,
            Outcome::Refuted => &mut self.refuted,
            Outcome::Unknown => &mut self.unknown,
        } += 1;
    }

    /// All pairs.
    pub(crate) fn total(self) -> usize {
        self.proven + self.refuted + self.unknown
    }

    /// The exit status that says the same.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self { refuted: 1.., .. } => BAD,
            Self { unknown: 1.., .. } => OPEN,
            Self { .. } => GOOD,
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { proven, refuted, unknown } = self;
        let pairs = if self.total() == 1 { "pair" } else { "pairs" };
        write!(f, "{} {pairs}: {proven} proven, {refuted} refuted, {unknown} unknown", self.total())
    }
}

/// Progress on standard error, where that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    tally: Tally,
}

impl Progress {
    /// Of so many pairs, if that is known.
    pub(crate) fn new(total: Option<u64>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = if total.is_some() {
            "{spinner} {elapsed_precise} {wide_bar} {pos}/{len} {msg}"
        } else {
            "{spinner} {elapsed_precise} {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, tally: Tally::default() }
    }

    /// A pair is done.
    pub(crate) fn add(&mut self, verdict: Outcome) {
        self.tally.add(verdict);
        self.bar.set_message(self.tally.to_string());
        self.bar.inc(1);
    }

    /// Prints something without breaking the bar.
    pub(crate) fn print<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar away; what was counted.
    pub(crate) fn end(self) -> Tally {
        self.bar.finish_and_clear();
        self.tally
    }
}

/// An answer as one line.
pub(crate) fn line(answer: &Answer) -> String {
    let mut line = format!("{:<8} {:>9.1} ms  {}", answer.verdict, answer.ms, answer.id);
    if let Some(reason) = &answer.reason {
        let _ = write!(line, "  {reason}");
    }
    if !answer.assumptions.is_empty() {
        let _ = write!(line, "  [{}]", names(answer));
    }
    line
}

/// An answer with what it rests on.
pub(crate) fn paragraph(answer: &Answer) -> String {
    let mut text = answer.verdict.to_string();
    if let Some(reason) = &answer.reason {
        let _ = write!(text, ": {reason}");
    }
    let _ = writeln!(text, " ({:.1} ms, {} solver units)", answer.ms, answer.rlimit);
    // A proof tells what it takes for granted itself.
    if !answer.assumptions.is_empty() && answer.certificate.is_none() {
        let _ = writeln!(text, "Taken for granted: {}", names(answer));
    }
    for (cap, count) in &answer.caps {
        let _ = writeln!(text, "Reached {count} times: {cap}");
    }
    if let Some(inserts) = &answer.witness {
        match inserts.as_slice() {
            [] => text.push_str("The queries differ on empty tables.\n"),
            inserts => {
                text.push_str("The queries differ after:\n");
                inserts.iter().for_each(|insert| _ = writeln!(text, "  {insert}"));
            }
        }
        for (side, rows) in [("left", &answer.left_rows), ("right", &answer.right_rows)] {
            let Some(rows) = rows else { continue };
            if rows.is_empty() {
                let _ = writeln!(text, "The {side} query returns no row.");
                continue;
            }
            let _ = writeln!(text, "The {side} query returns {}:", count(rows.len(), "row"));
            rows.iter().for_each(|row| _ = writeln!(text, "  {row}"));
        }
    }
    text
}

fn names(answer: &Answer) -> String {
    answer.assumptions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// `1 row`, `2 rows`.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_tally() {
        let tally = |verdicts: &[Outcome]| {
            let mut tally = Tally::default();
            verdicts.iter().for_each(|v| tally.add(*v));
            tally.status()
        };
        assert_eq!(tally(&[Outcome::Proven, Outcome::Proven]), GOOD);
        assert_eq!(tally(&[Outcome::Proven, Outcome::Unknown, Outcome::Refuted]), BAD);
        assert_eq!(tally(&[Outcome::Proven, Outcome::Unknown]), OPEN);
    }

    #[test]
    fn a_refutation_shows_its_witness() {
        let mut answer = Answer::unknown("x", "");
        answer.verdict = Outcome::Refuted;
        answer.reason = None;
        answer.witness = Some(vec!["INSERT INTO t VALUES (NULL);".to_owned()]);
        answer.left_rows = Some(vec!["(NULL)".to_owned()]);
        answer.right_rows = Some(Vec::new());
        let text = paragraph(&answer);
        assert!(text.starts_with("refuted ("), "{text}");
        assert!(text.contains("\n  INSERT INTO t VALUES (NULL);\n"), "{text}");
        assert!(text.contains("left query returns 1 row:\n  (NULL)\n"), "{text}");
        assert!(text.contains("right query returns no row.\n"), "{text}");
    }
}
