//! A finding as a script for sqllogictest: queries that must return the same rows share a label, so the script holds on an
//! engine that is right, whatever the rows are. [`regression`](super::regression) says what has a place in that form.

use super::finding::Finding;
use crate::program::{Effect, Step, Text, constants};
use crate::sql::profile::Profile;
use std::fmt::Write as _;

impl Finding {
    /// The script.
    pub(super) fn sqllogictest(&self, profile: &Profile) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "# {} in {} {}, oracle {}, class {}",
            self.kind, profile.name, self.version, self.oracle, self.class
        );
        let _ = writeln!(out, "# Queries with the same label return the same rows.\n");
        let refused = self.refused.as_deref().unwrap_or_default();
        for (at, sql) in self.statements.iter().enumerate() {
            let outcome = if refused.contains(&at) { "error" } else { "ok" };
            let _ = writeln!(out, "statement {outcome}\n{}\n", one_block(sql));
        }
        let pair = self.different_queries().unwrap_or([usize::MAX; 2]);
        let rows = |at: usize| self.queries.get(at)?.result.rows();
        let columns = pair.into_iter().find_map(|at| rows(at)?.first()).map_or(1, Vec::len);
        // Rows that are computed and not asked for, and of which there are none, have no query.
        let computed = |at: usize| self.queries[at].step.evaluation.is_some().then(|| rows(at).and_then(constants));
        let expects_none = pair.into_iter().any(|at| at < self.queries.len() && computed(at) == Some(None));
        for (at, query) in self.queries.iter().enumerate() {
            let Step { before, sql, after, switch, undone, effect, .. } = &query.step;
            let filled = |text: &Text| text.filled(profile, rows).map_or_else(|_| text.to_string(), Into::into);
            let sql = match computed(at) {
                None => (*effect != Effect::Count).then(|| filled(sql)),
                Some(constants) => constants,
            };
            let (begin, back) = if *undone { (Some("BEGIN"), Some("ROLLBACK")) } else { (None, None) };
            let (on, off) = switch.as_ref().map_or((&[][..], &[][..]), |switch| (&switch.on, &switch.off));
            let statement = |out: &mut String, sql: &str| {
                let _ = writeln!(out, "statement ok\n{}\n", one_block(sql));
            };
            begin.into_iter().for_each(|sql| statement(&mut out, sql));
            before.iter().for_each(|text| statement(&mut out, &filled(text)));
            on.iter().for_each(|sql| statement(&mut out, sql));
            match sql {
                Some(sql) if pair.contains(&at) => {
                    let none = if expects_none { "----\n" } else { "" };
                    let types = "T".repeat(columns.max(1));
                    let _ = writeln!(out, "query {types} rowsort same-1\n{}\n{none}", one_block(&sql));
                }
                // Whatever it returns, it runs.
                Some(sql) => statement(&mut out, &sql),
                None => {}
            }
            off.iter().for_each(|sql| statement(&mut out, sql));
            after.iter().for_each(|text| statement(&mut out, &filled(text)));
            back.into_iter().for_each(|sql| statement(&mut out, sql));
        }
        out
    }
}

/// A statement without empty lines, which end a block.
fn one_block(sql: &str) -> String {
    sql.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
