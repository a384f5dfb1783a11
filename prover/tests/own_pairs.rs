//! The project's own pairs of queries with known answers: no verdict may be wrong, and as much as before is decided.

#![cfg(feature = "solver")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Beyond what any of these pairs needs in a build without optimisation.
const DEADLINE_SECONDS: &str = "20";
/// Fewer than by default, for time: these pairs differ, if they do, on many databases.
const TRIALS: &str = "60";

#[test]
fn no_verdict_is_wrong_and_none_is_lost() {
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pairs");
    let floor = pairs.join("floor.json");
    let output = Command::new(env!("CARGO_BIN_EXE_caqtus-prover"))
        .arg("bench")
        .arg(&pairs)
        .arg("--floor")
        .arg(&floor)
        .args(["--trials", TRIALS, "--deadline", DEADLINE_SECONDS, "--json"])
        .output()
        .expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no report: {errors}"));
    eprintln!("{}", table(&report));
    assert_eq!(report["wrong"], Value::Array(Vec::new()), "WRONG VERDICTS");
    assert_eq!(report["below_floor"], Value::Array(Vec::new()), "less is decided than before");
    assert_eq!(output.status.code(), Some(0), "{errors}");

    let text = std::fs::read_to_string(floor).expect("a floor");
    let floors: BTreeMap<String, Value> = serde_json::from_str(&text).expect("JSON");
    let suites = suites(&report).map(|suite| suite["suite"].as_str().expect("a name").to_owned());
    assert_eq!(suites.collect::<Vec<_>>(), floors.into_keys().collect::<Vec<_>>(), "every file has a floor");
}

/// Every file's results.
fn suites(report: &Value) -> impl Iterator<Item = &Value> {
    let suites = report["suites"].as_array().expect("suites").iter();
    suites.filter(|suite| suite["suite"] != "all suites")
}

/// What is decided, a line per file, and why the rest is not.
fn table(report: &Value) -> String {
    let mut lines = vec![format!("{:<20} {:>10} {:>12}", "file", "eq proven", "neq refuted")];
    for suite in suites(report) {
        let share = |expected: &str, verdict: &str| {
            let labels = suite["labels"].as_array().expect("labels");
            let label = labels.iter().find(|label| label["expected"] == expected);
            label.map_or_else(String::new, |label| {
                let [decided, refuted, proven, unknown] =
                    [verdict, "refuted", "proven", "unknown"].map(|verdict| label[verdict].as_u64().expect("a number"));
                format!("{decided}/{}", refuted + proven + unknown)
            })
        };
        let name = suite["suite"].as_str().expect("a name");
        lines.push(format!("{name:<20} {:>10} {:>12}", share("eq", "proven"), share("neq", "refuted")));
    }
    let all = report["suites"].as_array().expect("suites").last().expect("a suite");
    for reason in all["reasons"].as_array().expect("reasons") {
        let ids: Vec<&str> = reason["examples"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
        let (text, count) = (reason["reason"].as_str().expect("a text"), &reason["count"]);
        lines.push(format!("unknown: {count} × {text}, such as {}", ids.join(" ")));
    }
    lines.join("\n")
}
