//! Questions to the prover while a finding is made smaller. It runs in a process of its own for each: it links Z3, and few
//! are asked.

use crate::config::scrub_env;
use prover::ir::Assumption;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The prover's program.
pub const PROGRAM: &str = "caqtus-prover";

/// How long it may think about one question.
const DEADLINE: &str = "1s";

/// The prover's program, beside this one or in the path.
pub fn find() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = beside.into_iter().chain(std::env::split_paths(&path));
    dirs.find_map(|dir| Some(dir.join(PROGRAM)).filter(|program| program.is_file()))
}

/// What of its answer counts here.
#[derive(Deserialize)]
struct Answer {
    verdict: String,
    #[serde(default)]
    assumptions: BTreeSet<Assumption>,
}

/// Whether a prover calls the queries of a question equivalent, and takes no more for granted than what is guaranteed. One
/// that does not answer does not.
pub(super) fn proves(program: &Path, question: &str, guarantees: &BTreeSet<Assumption>) -> bool {
    let mut command = Command::new(program);
    command.args(["prove", "--pairs", "-", "--json", "--workers", "1", "--deadline", DEADLINE]);
    scrub_env(&mut command);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    // One that ends early has no answer either.
    let _ = child.stdin.take().map(|mut input| writeln!(input, "{question}"));
    let Ok(output) = child.wait_with_output() else { return false };
    let answer: Result<Answer, _> = serde_json::from_slice(&output.stdout);
    answer.is_ok_and(|answer| answer.verdict == "proven" && answer.assumptions.is_subset(guarantees))
}
