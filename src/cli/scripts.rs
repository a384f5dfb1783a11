//! `caqtus bug replay FILE.slt`: scripts with answers.

use super::{Common, FOUND, VOID};
use crate::config::HANG_MS;
use crate::dbms::target::Target;
use crate::hunt::scripts::{self, Ran};
use crate::triage::script::{Script, Verdict};
use anyhow::bail;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What a script showed.
#[derive(Serialize)]
struct Shown<'a> {
    file: &'a str,
    dbms: String,
    version: String,
    /// `shows` (the actual answers came), `right` (the expected ones), `other` (neither) or `void` (it does not run here).
    state: String,
    /// The block that decided, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gave: Vec<String>,
}

/// Replays scripts on a target, or each on its own engine; the exit status of each.
pub(super) fn replay(files: &[&String], dbms: Option<&str>, json: bool, common: &Common) -> anyhow::Result<Vec<u8>> {
    let mut scripts = Vec::new();
    for file in files {
        let script = Script::read(&PathBuf::from(file))?;
        let target: Target = dbms.unwrap_or(script.engine()).parse()?;
        if target.dialect() != script.engine() {
            bail!("{file} is about {}, and {target} is none", script.engine());
        }
        scripts.push((file.as_str(), script, target));
    }
    let runtime = super::runtime()?;
    let mut statuses = Vec::new();
    for same in scripts.chunk_by(|(.., one), (.., other)| one == other) {
        let Some((.., target)) = same.first() else { continue };
        // What cannot be opened is said here, with what to do.
        super::open_apart(target, common)?;
        let paths: Vec<PathBuf> = same.iter().map(|(file, ..)| PathBuf::from(file)).collect();
        let hang_after = Duration::from_millis(HANG_MS);
        let all = runtime.block_on(scripts::replay(&paths, target, &common.data_dir(), hang_after))?;
        for ((file, script, _), Ran { version, outcomes, refused }) in same.iter().zip(all) {
            let verdict = match refused {
                None => script.verdict(&version, &outcomes),
                Some(why) => Verdict::Void { line: 1, why },
            };
            statuses.push(match verdict {
                Verdict::Shows => FOUND,
                Verdict::Right => 0,
                Verdict::Other { .. } | Verdict::Void { .. } => VOID,
            });
            let state = verdict.to_string();
            let (line, gave) = match verdict {
                Verdict::Shows | Verdict::Right => (None, Vec::new()),
                Verdict::Other { line, gave } => (Some(line), gave),
                Verdict::Void { line, why } => (Some(line), vec![why]),
            };
            let shown = Shown { file, dbms: target.to_string(), version, state, line, gave };
            if json {
                println!("{}", serde_json::to_string(&shown)?);
            } else {
                println!("{:<5}  {}  {} {}", shown.state, shown.file, shown.dbms, shown.version);
                if let Some(line) = shown.line {
                    println!("    line {line} gave:");
                    shown.gave.iter().for_each(|row| println!("      {}", super::printable(row)));
                }
            }
        }
    }
    Ok(statuses)
}
