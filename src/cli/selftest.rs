//! `caqtus selftest`.

use super::{COULD_NOT_RUN, Common};
use crate::dbms::planted::Fault;
use crate::oracle::{approx, caq, coddtest, consistency, edc, spec, state};
use crate::triage::finding;
use clap::Args;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

/// Prove that the hunt reports bugs: plant some in an engine and demand a report for each, and none without
///
/// Every fault is hunted with this very program, and must be in both forms of the summary; one of them is hunted in every
/// other way of printing results too. A tool that finds nothing may be broken; this shows that it is not.
#[derive(Debug, Args)]
pub(super) struct SelftestArgs {
    /// Test cases per hunt
    #[arg(long, default_value_t = 12_000)]
    cases: u64,
    /// Only this oracle; may be given several times
    #[arg(long = "oracle", value_name = "NAME", value_parser = super::oracle_names())]
    oracles: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// The way of printing that gives both forms of the summary from one hunt: JSON, and text on standard error.
const BOTH: (&str, &[&str]) = ("both", &["--json"]);

/// The other ways of printing results; a finding must not be lost in any.
const OTHERS: [(&str, &[&str]); 3] = [
    ("json, quiet, one worker", &["--json", "--quiet", "--workers", "1"]),
    ("text", &["--workers", "2"]),
    ("text, quiet", &["--quiet"]),
];

/// Every fault that a hunt must report: by which oracle, and as what kind of finding.
const REPORTED: [(Fault, &str, &str); 27] = [
    (Fault::DropRow, caq::NAME, "wrong-result"),
    (Fault::DuplicateRow, caq::NAME, "wrong-result"),
    (Fault::NullToZero, caq::NAME, "wrong-result"),
    (Fault::WrongDistinct, caq::NAME, "wrong-result"),
    (Fault::Crash, caq::NAME, "crash"),
    (Fault::Hang, caq::NAME, "hang"),
    (Fault::InternalError, caq::NAME, "internal-error"),
    (Fault::WrongFolded, consistency::NAME, "wrong-result"),
    (Fault::WrongStored, consistency::NAME, "wrong-result"),
    (Fault::WrongByKey, consistency::NAME, "wrong-result"),
    (Fault::WrongPredicate, consistency::NAME, "wrong-result"),
    (Fault::PreviousRow, consistency::NAME, "wrong-result"),
    (Fault::GarbageBytes, consistency::NAME, "wrong-result"),
    (Fault::WrongCase, coddtest::NAME, "wrong-result"),
    (Fault::LostChange, coddtest::NAME, "wrong-result"),
    (Fault::WrongStored, edc::NAME, "wrong-result"),
    (Fault::WrongStoredAggregate, edc::NAME, "wrong-result"),
    (Fault::WrongAlike, spec::NAME, "wrong-result"),
    (Fault::DropRow, spec::NAME, "wrong-result"),
    (Fault::RowTooMany, approx::NAME, "wrong-result"),
    (Fault::ValueTooSmall, approx::NAME, "wrong-result"),
    (Fault::LostChange, state::NAME, "wrong-result"),
    (Fault::StaleIndex, state::NAME, "wrong-result"),
    (Fault::HalfDone, state::NAME, "wrong-result"),
    (Fault::MissedAction, state::NAME, "wrong-result"),
    (Fault::MissedTrigger, state::NAME, "wrong-result"),
    (Fault::WrongMaximum, state::NAME, "wrong-result"),
];

pub(super) fn run(args: &SelftestArgs) -> anyhow::Result<ExitCode> {
    let scratch = super::scratch("selftest")?;
    let mut hunts = vec![
        (Fault::None, caq::NAME, None, BOTH),
        (Fault::None, consistency::NAME, None, BOTH),
        (Fault::None, coddtest::NAME, None, BOTH),
        (Fault::None, edc::NAME, None, BOTH),
        (Fault::None, spec::NAME, None, BOTH),
        (Fault::None, approx::NAME, None, BOTH),
        (Fault::None, state::NAME, None, BOTH),
        (Fault::Flaky, caq::NAME, None, BOTH),
    ];
    hunts.extend(REPORTED.map(|(fault, oracle, kind)| (fault, oracle, Some(kind), BOTH)));
    let (fault, oracle, kind) = REPORTED[0];
    hunts.extend(OTHERS.map(|output| (fault, oracle, Some(kind), output)));
    hunts.retain(|(_, oracle, ..)| args.oracles.is_empty() || args.oracles.iter().any(|name| name == oracle));
    let mut failures = 0;
    for (fault, oracle, expected, (output, flags)) in &hunts {
        let out = scratch.path().join(format!("{fault}-{oracle}-{}", output.replace([' ', ','], "-")));
        let verdict = problem(args, *fault, oracle, *expected, flags, &out)?;
        println!("{:<22} {oracle:<12} {output:<26} {}", fault.to_string(), verdict.as_deref().unwrap_or("ok"));
        failures += usize::from(verdict.is_some());
    }
    println!("{} hunts, {failures} failures", hunts.len());
    Ok(ExitCode::from(if failures == 0 { 0 } else { COULD_NOT_RUN }))
}

/// What is wrong with one hunt; `None` if nothing is.
fn problem(
    args: &SelftestArgs,
    fault: Fault,
    oracle: &str,
    expected: Option<&str>,
    flags: &[&str],
    out: &Path,
) -> anyhow::Result<Option<String>> {
    let program = std::env::current_exe()?;
    let dbms = format!("planted:{fault}");
    let caqtus = |words: &[&str]| -> std::io::Result<Output> {
        Command::new(&program).args(words).arg("--data-dir").arg(args.common.data_dir()).output()
    };
    let out_text = out.display().to_string();
    let cases = match fault {
        // A planted hang costs seconds and a crash a new process; one of them is enough.
        Fault::Hang | Fault::Crash => args.cases / 20,
        // Few databases are judged by the reference evaluator.
        Fault::WrongMaximum => args.cases / 2,
        // Their cases run more queries.
        _ if oracle != caq::NAME => args.cases / 10,
        _ => args.cases,
    };
    let cases = cases.to_string();
    let mut words = vec![
        "hunt",
        "--dbms",
        &dbms,
        "--oracle",
        oracle,
        "--seed",
        "1",
        "--keep",
        "1",
        "--hang-after",
        "1s",
        // One report is enough; of a hunt without a bug none must come.
        "--max-bugs",
        "1",
        // Whether a bug was missed is asked below, whatever was tested.
        "--min-cases",
        "0",
        "--cases",
        &cases,
        "--out",
        &out_text,
    ];
    // The baseline classes: on the linked version and with this seed no real bug shows in them. Few enough that the
    // cases meet every one, so that a fault that only some of them can show is not missed by chance.
    if [caq::NAME, spec::NAME, approx::NAME].contains(&oracle) {
        words.extend(["--class", "tlp-*", "--class", "norec-*"]);
    }
    match fault {
        Fault::MissedAction => words.extend(["--class", "state-foreign-key"]),
        Fault::MissedTrigger => words.extend(["--class", "state-trigger"]),
        _ => {}
    }
    words.extend(flags);
    let hunt = caqtus(&words)?;
    let stdout = String::from_utf8_lossy(&hunt.stdout).into_owned();
    let mut problem = String::new();
    let mut demand = |holds: bool, what: &str| {
        if !holds && problem.is_empty() {
            let _ = write!(problem, "{what}: exit status {:?}, {}", hunt.status.code(), stdout.trim());
        }
    };
    let findings = finding::list(out)?;
    let last: serde_json::Value = serde_json::from_str(stdout.lines().last().unwrap_or_default()).unwrap_or_default();
    let json = flags.contains(&"--json");
    let text = if flags == BOTH.1 { String::from_utf8_lossy(&hunt.stderr).into_owned() } else { stdout.clone() };
    match expected {
        None => {
            demand(hunt.status.code() == Some(0), "a hunt without a bug must end with 0");
            demand(findings.is_empty(), "a hunt without a bug must write no finding");
            demand(!json || last["findings"].as_array().is_some_and(Vec::is_empty), "the summary must list no finding");
            if fault == Fault::Flaky {
                demand(!finding::list(&out.join("flaky"))?.is_empty(), "a flaky answer must be kept apart");
                demand(!json || last["outcomes"]["warning"].as_u64() > Some(0), "a flaky answer must be counted");
            }
        }
        Some(kind) => {
            demand(hunt.status.code() == Some(1), "a hunt that finds a bug must end with 1");
            let found = findings.iter().find(|(_, f)| f.kind.to_string() == kind);
            demand(found.is_some(), "the bug must be written as a finding of its kind");
            if json {
                let listed = last["findings"].as_array().is_some_and(|a| a.iter().any(|f| f["kind"] == kind));
                demand(listed, "the summary must list the finding");
                demand(last["outcomes"]["fail"].as_u64() > Some(0), "the failure must be counted");
            }
            if !json || flags == BOTH.1 {
                demand(text.contains(kind), "the summary must name the finding");
            }
            if let Some((dir, finding)) = found {
                for file in ["case.json", "repro.sql", "report.md"] {
                    demand(dir.join(file).exists(), "the finding must have all its files");
                }
                let again = caqtus(&["bug", "replay", &finding.id, "--findings", &out_text])?;
                demand(again.status.code() == Some(1), "a replay must show the bug");
                let listed = caqtus(&["bug", "list", "--findings", &out_text])?;
                demand(String::from_utf8_lossy(&listed.stdout).contains(&finding.id), "the list must have the finding");
            }
        }
    }
    Ok(if problem.is_empty() { None } else { Some(problem) })
}
