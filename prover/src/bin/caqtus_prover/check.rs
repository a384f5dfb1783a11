//! `caqtus-prover check`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use prover::Certificate;
use prover::cert::{self, Checked};
use prover::smt::Answer;
use serde::Serialize;

use crate::args::file_text;
use crate::second::Second;
use crate::{BAD, GOOD, display, solver};

/// Put the claims of a proof to fresh solvers
///
/// Every claim is a formula that must be unsatisfiable. A Z3 that has seen nothing else is asked for each, and cvc5
/// too if it is installed. This confirms the solver's part of a proof; its steps can be read with `prove --explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  caqtus-prover prove --schema schema.sql --left @q1.sql --right @q2.sql --certificate proof.json
  caqtus-prover check proof.json

Exit status: 0 every claim confirmed, 1 some not, 3 could not run. cvc5 alone failing to answer is shown but is no
failure, unless --both demands it; cvc5 contradicting Z3 is one.")]
pub(crate) struct CheckArgs {
    /// The certificate; `-` for standard input
    certificate: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Demand that the second solver is present and confirms every claim too
    #[arg(long)]
    both: bool,
    /// The second solver
    #[arg(long, value_name = "PROGRAM", default_value = "cvc5")]
    cvc5: PathBuf,
}

#[derive(Serialize)]
struct Report {
    valid: bool,
    solver: String,
    second_solver: Option<String>,
    obligations: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    claim: String,
    confirmed: bool,
    z3: String,
    cvc5: Option<String>,
}

impl Line {
    fn new(checked: Checked, second: Option<&Answer>, both: bool) -> Self {
        let seconded = match second {
            Some(Answer::Unsat) => true,
            Some(Answer::Sat) => false,
            Some(Answer::Unknown(_)) | None => !both,
        };
        Self {
            confirmed: checked.answer == Answer::Unsat && seconded,
            claim: checked.claim,
            z3: checked.answer.to_string(),
            cvc5: second.map(ToString::to_string),
        }
    }
}

pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let text = file_text(&args.certificate, "the certificate")?;
    let certificate: Certificate =
        serde_json::from_str(&text).with_context(|| format!("{} is no certificate", args.certificate))?;
    let second = Second::find(&args.cvc5);
    let lines: Vec<Line> = cert::check(&certificate)
        .into_iter()
        .zip(&certificate.obligations)
        .map(|(checked, obligation)| {
            Line::new(checked, second.as_ref().map(|s| s.unsat(&obligation.smtlib)).as_ref(), args.both)
        })
        .collect();
    let report = Report {
        valid: lines.iter().all(|line| line.confirmed) && (second.is_some() || !args.both),
        solver: format!("Z3 {}", solver::version()),
        second_solver: second.map(|s| s.version),
        obligations: lines,
    };
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{}", readable(&report))?;
    }
    Ok(if report.valid { GOOD } else { BAD })
}

fn readable(report: &Report) -> String {
    let mut lines = vec![format!("Solver: {}", report.solver)];
    lines.push(match &report.second_solver {
        Some(version) => format!("Second solver: {version}"),
        None => "Second solver: NOT PRESENT; Z3 alone was asked (install cvc5, or name it with --cvc5)".to_owned(),
    });
    for (number, line) in (1..).zip(&report.obligations) {
        let mark = if line.confirmed { "confirmed    " } else { "NOT CONFIRMED" };
        let cvc5 = line.cvc5.as_ref().map(|answer| format!(", cvc5: {answer}")).unwrap_or_default();
        lines.push(format!("{number:>4}. {mark}  {}  (Z3: {}{cvc5})", line.claim, line.z3));
    }
    let claims = display::count(report.obligations.len(), "claim");
    let confirmed = report.obligations.iter().filter(|line| line.confirmed).count();
    let seconded = report.obligations.iter().filter(|line| line.cvc5.as_deref() == Some("unsat")).count();
    let by_second = match &report.second_solver {
        Some(_) => format!(", {seconded} of them by the second solver too"),
        None => String::new(),
    };
    lines.push(format!(
        "{}: {confirmed} of {claims} confirmed{by_second}",
        if report.valid { "valid" } else { "NOT VALID" }
    ));
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_a_claim_is_confirmed() {
        let unknown = || Answer::Unknown("limit".to_owned());
        let confirmed = |z3: Answer, cvc5: Option<Answer>, both: bool| {
            Line::new(Checked { claim: String::new(), answer: z3 }, cvc5.as_ref(), both).confirmed
        };
        assert!(confirmed(Answer::Unsat, None, false));
        assert!(confirmed(Answer::Unsat, Some(unknown()), false));
        assert!(confirmed(Answer::Unsat, Some(Answer::Unsat), true));
        assert!(!confirmed(Answer::Unsat, Some(Answer::Sat), false));
        assert!(!confirmed(Answer::Unsat, Some(unknown()), true));
        assert!(!confirmed(Answer::Sat, Some(Answer::Unsat), false));
        assert!(!confirmed(unknown(), Some(Answer::Unsat), false));
    }
}
