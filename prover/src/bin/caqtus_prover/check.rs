//! `caqtus-prover check`.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use prover::cert::{self, Checked};
use prover::smt::Answer;
use prover::wire::{FRAME_BYTES_MAX, Outcome, Request, Task};
use prover::{Certificate, Pair};
use serde::Serialize;

use crate::args::{Faults, MemoryArgs, WorkerArgs, file_text, seconds};
use crate::exit::{BAD, GOOD, INTERRUPTED};
use crate::second::Second;
use crate::{display, explain, prove, solver};

/// Check a proof: make it again, and put its claims to fresh solvers
///
/// The pair in the certificate is read and proven again: the steps, claims and assumptions must be the same, byte by
/// byte. Then every claim, a formula that must be unsatisfiable, is put to a Z3 that has seen nothing else, and to cvc5
/// too if it is installed. The steps themselves can be read with `prove --explain`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  caqtus-prover prove --schema schema.sql --left @q1.sql --right @q2.sql --certificate proof.json
  caqtus-prover check proof.json

Exit status: 0 valid, 1 not valid, 3 could not run, 130 stopped by Ctrl-C. cvc5 alone failing to answer is shown but is
no failure, unless --both demands it; cvc5 contradicting Z3 is one.")]
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
    /// Only put the claims to the solvers, as for a certificate of another version; that they suffice is not checked
    #[arg(long)]
    claims_only: bool,
    /// Seconds of wall time for proving the pair again
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "60")]
    deadline: Duration,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(Serialize)]
struct Report {
    valid: bool,
    /// What is certified.
    pair: Option<Pair>,
    /// What is wrong with making the proof again; absent if that was not tried.
    differences: Option<Vec<String>>,
    solver: String,
    second_solver: Option<String>,
    obligations: Vec<Line>,
    trials: u32,
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
    let differences = match &certificate.pair {
        _ if args.claims_only => None,
        None => Some(vec!["the certificate names no pair".to_owned()]),
        Some(pair) => match make_again(args, &certificate, pair)? {
            Some(differences) => Some(differences),
            None => return Ok(INTERRUPTED),
        },
    };
    let second = Second::find(&args.cvc5);
    let lines: Vec<Line> = cert::check(&certificate)
        .into_iter()
        .zip(&certificate.obligations)
        .map(|(checked, obligation)| {
            Line::new(checked, second.as_ref().map(|s| s.unsat(&obligation.smtlib)).as_ref(), args.both)
        })
        .collect();
    let report = Report {
        valid: lines.iter().all(|line| line.confirmed)
            && differences.as_ref().is_none_or(Vec::is_empty)
            && (second.is_some() || !args.both),
        pair: certificate.pair,
        differences,
        solver: format!("Z3 {}", solver::version()),
        second_solver: second.map(|s| s.version),
        obligations: lines,
        trials: certificate.trials,
    };
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{}", readable(&report))?;
    }
    Ok(if report.valid { GOOD } else { BAD })
}

/// What is different when the pair is proven again; `None` after Ctrl-C.
fn make_again(args: &CheckArgs, certificate: &Certificate, pair: &Pair) -> anyhow::Result<Option<Vec<String>>> {
    let request = Request {
        id: "certificate".to_owned(),
        pair: pair.clone(),
        limits: Some(certificate.limits.clone()),
        task: Task::Decide,
        certificate: true,
    };
    let workers = WorkerArgs { deadline: args.deadline, memory: args.memory, faults: Faults::default() };
    let Some(answer) = prove::ask(request, &workers)? else { return Ok(None) };
    Ok(Some(match (answer.verdict, answer.certificate) {
        (Outcome::Proven, Some(again)) => cert::differences(certificate, &again),
        (Outcome::Proven, None) => bail!("the proof made again is longer than {FRAME_BYTES_MAX} bytes"),
        (verdict, _) => {
            let reason = answer.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            vec![format!("the pair is not proven again but {verdict}{reason}")]
        }
    }))
}

fn readable(report: &Report) -> String {
    let mut text = report.pair.as_ref().map(explain::pair).unwrap_or_default();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line("");
    match &report.differences {
        None => line("The pair was not proven again: that the claims suffice for it is not checked."),
        Some(found) if found.is_empty() => {
            let databases = display::count(report.trials as usize, "random database");
            line(&format!("Proven again, with the same steps and claims; the queries agree on {databases}."));
        }
        Some(found) => {
            line("NOT THE SAME PROOF:");
            found.iter().for_each(|what| line(&format!("  {what}")));
        }
    }
    line(&format!("Solver: {}", report.solver));
    match &report.second_solver {
        Some(version) => line(&format!("Second solver: {version}")),
        None => line("Second solver: NOT PRESENT; Z3 alone was asked (install cvc5, or name it with --cvc5)"),
    }
    for (number, claim) in (1..).zip(&report.obligations) {
        let mark = if claim.confirmed { "confirmed    " } else { "NOT CONFIRMED" };
        let cvc5 = claim.cvc5.as_ref().map(|answer| format!(", cvc5: {answer}")).unwrap_or_default();
        line(&format!("{number:>4}. {mark}  {}  (Z3: {}{cvc5})", claim.claim, claim.z3));
    }
    let verdict = if report.valid { "valid" } else { "NOT VALID" };
    if report.obligations.is_empty() {
        line(&format!("{verdict}: there is no claim, nothing had to be asked of a solver"));
        return text;
    }
    let claims = display::count(report.obligations.len(), "claim");
    let confirmed = report.obligations.iter().filter(|line| line.confirmed).count();
    let seconded = report.obligations.iter().filter(|line| line.cvc5.as_deref() == Some("unsat")).count();
    let by_second = match &report.second_solver {
        Some(_) => format!(", {seconded} of them by the second solver too"),
        None => String::new(),
    };
    line(&format!("{verdict}: {confirmed} of {claims} confirmed{by_second}"));
    text
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
