//! A finding in words: the script for the engine's own shell, and the report for people.

use super::cause::Cause;
use super::finding::{Finding, FindingKind, FindingQuery, SeenRun, shell_word};
use super::selfcheck::{BUG, NO_BUG};
use crate::interpret::StepResult;
use crate::plan::diff::diff;
use crate::program::{Check, Effect, Text, constants};
use crate::sql::profile::{Profile, Switch, Wire};
use std::fmt::Write as _;
use std::path::Path;

/// Lines of the plans' differences in a report.
const PLAN_LINES_MAX: usize = 60;

/// A query of these and what stands around it, for the engine's own shell, with what the results of the others put into
/// it.
pub fn script(queries: &[FindingQuery], at: usize, profile: &Profile) -> String {
    let step = &queries[at].step;
    let rows = |at: usize| queries.get(at)?.result.rows();
    let filled = |text: &Text| text.filled(profile, rows).map_or_else(|_| text.to_string(), Into::into);
    let mut out = String::new();
    for (at, literal) in step.parameters.iter().enumerate() {
        // The form of SQLite's shell; elsewhere statements bind parameters. Writing to a string cannot fail.
        let _ = writeln!(out, ".parameter set ${} \"{}\"", at + 1, literal.replace('"', "\\\""));
    }
    if step.evaluation.is_some() {
        let rows = queries[at].result.rows().and_then(constants);
        let text = rows.map_or_else(|| "-- There are no rows.".to_owned(), |query| format!("{query};"));
        let _ = writeln!(out, "-- The rows that it must return, whatever the plan:\n{text}");
        return out;
    }
    let (begin, back) = if step.undone { (Some("BEGIN"), Some("ROLLBACK")) } else { (None, None) };
    // Some shells say it by themselves.
    let count = match profile.wire {
        _ if step.failing || !step.undone || step.effect == Effect::Rows => None,
        Wire::Sqlite => Some("SELECT changes()"),
        Wire::Mysql => Some("SELECT ROW_COUNT()"),
        Wire::Duckdb | Wire::Postgres | Wire::Python => None,
    };
    // Of several statements the last one counts, or each.
    let counts = |at: usize| step.effect == Effect::CountsAndRows || at + 1 == step.before.len();
    let counted = |(at, text)| [Some(filled(text)), count.filter(|_| counts(at)).map(str::to_owned)];
    let changes = step.before.iter().enumerate().flat_map(counted).flatten();
    let query = (step.effect != Effect::Count).then(|| filled(&step.sql));
    match step.effect {
        _ if step.failing => out.push_str("-- The statement must fail, and leave the table as it was:\n"),
        Effect::Count => out.push_str("-- How many rows the statement changes, as the engine says:\n"),
        Effect::CountsAndRows | Effect::Rows => {}
    }
    let all = begin.map(str::to_owned).into_iter().chain(changes).chain(query).chain(back.map(str::to_owned));
    for statement in all.chain(step.after.iter().map(filled)) {
        let _ = writeln!(out, "{statement};");
    }
    out
}

impl Finding {
    /// The relation between the queries that does not hold.
    pub(crate) fn expectation(&self) -> String {
        match self.kind {
            FindingKind::WrongResult => {
                let checks = self.checks();
                let words = checks.iter().map(|check| self.expected_by(check)).collect::<Vec<_>>().join("; ");
                format!("{words}; they do not.")
            }
            FindingKind::InternalError => {
                "No statement or query below must report an internal error; one does.".to_owned()
            }
            FindingKind::Crash | FindingKind::Hang if self.statements.is_empty() && self.queries.is_empty() => {
                "An empty database must open.".to_owned()
            }
            FindingKind::Crash => "The statements and queries below must not end the engine.".to_owned(),
            FindingKind::Hang => "The statements and queries below must end, or stop when interrupted.".to_owned(),
        }
    }

    /// A check in words.
    fn expected_by(&self, check: &Check) -> String {
        let which = match check.steps.as_slice() {
            all if all.len() == self.queries.len() => "All queries below".to_owned(),
            [one, other] => format!("Queries {} and {}", one + 1, other + 1),
            some => {
                let numbers: Vec<String> = some.iter().map(|at| (at + 1).to_string()).collect();
                format!("Queries {}", numbers.join(", "))
            }
        };
        format!("{which} {}", check.relation.words())
    }

    /// A script for the engine's own shell.
    pub fn repro_sql(&self, profile: &Profile) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "-- {} {}: {} found by oracle {}, class {}.",
            profile.name, self.version, self.kind, self.oracle, self.class
        );
        let _ = writeln!(out, "-- {}", self.expectation());
        if let Some(note) = &self.note {
            let _ = writeln!(out, "-- {}", note.replace('\n', "\n-- "));
        }
        for line in self.run_lines() {
            let _ = writeln!(out, "-- {line}");
        }
        out.push('\n');
        out.push_str(shell_lines(profile.wire));
        for statement in &self.statements {
            let _ = writeln!(out, "{statement};");
        }
        for (at, query) in self.queries.iter().enumerate() {
            let context = query.context.as_ref().map(|context| format!(" ({context})")).unwrap_or_default();
            let _ = writeln!(out, "\n-- Query {}{context} returned:", at + 1);
            for line in result_lines(&query.result) {
                let _ = writeln!(out, "--   {line}");
            }
            if let Some(switch) = &query.step.switch {
                let _ = writeln!(out, "-- with the optimizer switch {}", switch.name);
                out.push_str(&switch_lines(switch, true));
            }
            out.push_str(&script(&self.queries, at, profile));
            if let Some(switch) = &query.step.switch {
                out.push_str(&switch_lines(switch, false));
            }
        }
        if let Some(check) = &self.self_check {
            let [one, other] = check.queries.map(|at| at + 1);
            let _ = writeln!(
                out,
                "\n-- Whether it is here: the last query says `{BUG}` if the results of queries {one} and {other} are not the same \
                 bag of rows, else `{NO_BUG}`."
            );
            out.push_str(&check.script(&self.queries, profile));
        }
        out
    }

    /// What each run returned, where they did not agree.
    fn run_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.runs.is_empty() {
            lines.push("It did not come again: it is flaky, and may be no bug. What was seen:".to_owned());
        }
        for SeenRun { what, results, sql } in &self.runs {
            let sql = sql.as_ref().map(|sql| format!(": {}", sql.replace('\n', " "))).unwrap_or_default();
            lines.push(format!("{what}{sql}"));
            for (at, result) in results.iter().enumerate() {
                let number = if results.len() > 1 { format!("query {}: ", at + 1) } else { String::new() };
                let indented = |(line, text): (usize, String)| match line {
                    0 => format!("  {number}{text}"),
                    _ => format!("  {}{text}", " ".repeat(number.len())),
                };
                lines.extend(result_lines(result).into_iter().enumerate().map(indented));
            }
        }
        lines
    }

    /// A report for people. `findings` is the directory that has it among others.
    pub fn report_md(&self, profile: &Profile, findings: &Path) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# {} in {} {}\n", self.kind, profile.name, self.version);
        let _ = writeln!(out, "{}\n", self.expectation());
        if let Some(note) = &self.note {
            let _ = writeln!(out, "{note}\n");
        }
        let _ = writeln!(out, "| | |\n|---|---|");
        for (name, value) in [
            ("id", self.id.clone()),
            ("oracle, class", format!("{}, {}", self.oracle, self.class)),
            ("target", format!("{} ({})", self.dbms, self.build_id)),
            ("seed, block, case", format!("{}, {}, {}", self.seed, self.block, self.case)),
            ("features", self.features.join(", ")),
            ("snippets from", if self.origins.is_empty() { "no corpus".to_owned() } else { self.origins.join(", ") }),
            (
                "right with",
                if self.cured_by.is_empty() { "no switch alone".to_owned() } else { self.cured_by.join(", ") },
            ),
            ("reduced", if self.reduced { "yes" } else { "no" }.to_owned()),
            ("limits reached meanwhile", if self.limits.is_empty() { "none".to_owned() } else { self.limits.words() }),
        ] {
            let _ = writeln!(out, "| {name} | {value} |");
        }
        out.push_str(&self.cause_md());
        let runs = self.run_lines();
        if !runs.is_empty() {
            let _ = write!(out, "\n## What each run returned\n\n```\n{}\n```\n", runs.join("\n"));
        }
        out.push_str("\n## Database\n\n```sql\n");
        for statement in &self.statements {
            let _ = writeln!(out, "{statement};");
        }
        out.push_str("```\n");
        for (at, query) in self.queries.iter().enumerate() {
            let _ = match &query.context {
                Some(context) => write!(out, "\n## Query {} ({context})\n\n", at + 1),
                None => write!(out, "\n## Query {} (member {} of the class)\n\n", at + 1, query.step.member),
            };
            if let Some(switch) = &query.step.switch {
                let _ = write!(out, "Run with the optimizer switch {}:\n\n```sql\n", switch.name);
                let _ = write!(out, "{}```\n\n", switch_lines(switch, true));
            }
            let _ = write!(
                out,
                "```sql\n{}```\n\nReturned:\n\n```\n{}\n```\n",
                script(&self.queries, at, profile),
                result_lines(&query.result).join("\n")
            );
        }
        if let Some((one, other, edits)) = self.plan_edits() {
            let _ = write!(
                out,
                "\n## Plans\n\nFrom the plan of query {} (-) to that of query {} (+):\n\n```diff\n{edits}```\n",
                one + 1,
                other + 1
            );
        }
        let _ = write!(out, "\n## Placeholders\n\n");
        for filling in &self.fillings {
            let _ = writeln!(out, "* `{filling}`");
        }
        let _ = write!(out, "\nShow it again: `caqtus bug replay {} --findings {}`.\n", self.id, shell_word(findings));
        out
    }

    /// What is known of what it hangs on.
    pub(super) fn cause_md(&self) -> String {
        let Cause { wrong, known_by, core, needs, shows_without, plans, shape: _, message, fixed, also_on } =
            &self.cause;
        let mut lines = Vec::new();
        if let Some(wrong) = wrong {
            lines.push(format!("* Query {} is wrong: {known_by}.", wrong + 1));
        }
        if !self.cured_by.is_empty() {
            lines.push(format!("* The queries agree with {}, each turned alone.", self.cured_by.join(", ")));
        }
        for (what, list) in
            [("It needs", needs), ("It shows without", shows_without), ("Only one of the plans has", plans)]
        {
            if !list.is_empty() {
                lines.push(format!("* {what}: {}.", list.join(", ")));
            }
        }
        if !message.is_empty() {
            lines.push(format!("* The engine said: {message}"));
        }
        if let Some(target) = also_on {
            lines.push(format!("* It shows on {target} too."));
        }
        if let Some(fixed) = fixed {
            lines.push(match &fixed.first_good {
                Some(good) => format!("* {} shows it, {good} does not any more.", fixed.last_bad),
                None => format!("* {} shows it, the newest that was tried.", fixed.last_bad),
            });
        }
        if let Some(core) = core {
            let script: String = core.texts().flat_map(|text| [text, ";\n"]).collect();
            lines.push(format!(
                "* Cut down to what matters, this returns something else with {}:\n\n```sql\n{script}```",
                core.reference
            ));
            if core.left_out > 0 {
                lines.push(format!(
                    "* It may be cut further: {} cuts or more were not tried, for a limit.",
                    core.left_out
                ));
            }
        }
        if lines.is_empty() { String::new() } else { format!("\n## Cause\n\n{}\n", lines.join("\n")) }
    }

    /// How the plans of two queries that disagree differ, where both are known and do.
    fn plan_edits(&self) -> Option<(usize, usize, String)> {
        let rows = |at: usize| self.queries.get(at)?.result.rows();
        let (one, other) = self.checks().iter().find_map(|check| check.violation(rows))?;
        let plan = |at: usize| self.queries.get(at)?.plan.as_ref();
        let (before, after) = (plan(one)?, plan(other)?);
        if before == after {
            return None;
        }
        let edits = diff(before, after);
        let mut lines: Vec<&str> = edits.lines().take(PLAN_LINES_MAX).collect();
        if edits.lines().count() > PLAN_LINES_MAX {
            lines.push("  …");
        }
        Some((one, other, lines.into_iter().flat_map(|line| [line, "\n"]).collect()))
    }
}

/// What makes the engine's own shell tell values of different types apart, where it can: 1 from '1', NULL from nothing.
fn shell_lines(wire: Wire) -> &'static str {
    match wire {
        Wire::Sqlite | Wire::Duckdb => ".mode quote\n",
        Wire::Postgres => "\\pset null NULL\n",
        Wire::Mysql | Wire::Python => "",
    }
}

/// What turns a switch in the engine's own shell, or puts it back.
pub(super) fn switch_lines(switch: &Switch, on: bool) -> String {
    if switch.disable_mask != 0 {
        return format!(".testctrl optimizations {}\n", if on { switch.disable_mask } else { 0 });
    }
    let statements = if on { &switch.on } else { &switch.off };
    statements.iter().flat_map(|statement| [statement.as_str(), ";\n"]).collect()
}

/// Rows printed of one result.
const ROWS_PRINTED_MAX: usize = 50;

/// What a query did, as lines to be printed.
pub fn result_lines(result: &StepResult) -> Vec<String> {
    match result {
        StepResult::Rows(rows) if rows.is_empty() => vec!["no rows".to_owned()],
        StepResult::Hash { rows, hash } => vec![format!("{rows} rows, of which only a hash was kept: {hash}")],
        StepResult::Rows(rows) => {
            let mut lines: Vec<String> = rows
                .iter()
                .take(ROWS_PRINTED_MAX)
                .map(|row| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ").replace('\n', "\\n"))
                .collect();
            if rows.len() > ROWS_PRINTED_MAX {
                lines.push(format!("… {} rows in all", rows.len()));
            }
            lines
        }
        StepResult::Error(error) => format!("{}: {error}", error.class).lines().map(str::to_owned).collect(),
        StepResult::None => vec!["nothing: it did not return".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::plan::PlanTree;
    use crate::program::Step;
    use crate::sql::types::Value;
    use crate::triage::finding::tests::finding;
    use crate::triage::limits::Limit;

    #[test]
    fn a_script_is_statements_and_comments() {
        let profile = profile("sqlite").expect("shipped");
        let script = finding().repro_sql(&profile);
        let expected = [
            "--   internal error: it is broken",
            "--   caused by",
            "--   SELECT 2; a join",
            "SELECT 1;",
            "",
            "-- Query 2 returned:",
            "--   '1' | 1 | NULL",
            "SELECT 1;",
        ];
        assert!(script.ends_with(&(expected.join("\n") + "\n")), "{script}");
        // What the shell prints tells '1' from 1.
        assert!(script.contains("\n.mode quote\nCREATE TABLE t(a);\n"), "{script}");
    }

    #[test]
    fn a_script_says_how_many_rows_a_statement_changes() {
        let query = |effect| {
            let before = vec!["DELETE FROM t".to_owned().into()];
            FindingQuery::from(Step { before, effect, undone: true, ..Step::query("SELECT a FROM t") })
        };
        let said = |engine: &str, effect| script(&[query(effect)], 0, &profile(engine).expect("shipped"));
        let counts = "-- How many rows the statement changes, as the engine says:\n";
        let of = |count: &str, rows: &str| format!("BEGIN;\nDELETE FROM t;\n{count}{rows}ROLLBACK;\n");
        assert_eq!(said("sqlite", Effect::Count), counts.to_owned() + &of("SELECT changes();\n", ""));
        assert_eq!(said("mariadb", Effect::Count), counts.to_owned() + &of("SELECT ROW_COUNT();\n", ""));
        assert_eq!(said("postgres", Effect::Count), counts.to_owned() + &of("", ""), "psql says it");
        let rows = "SELECT a FROM t;\n";
        assert_eq!(said("sqlite", Effect::CountsAndRows), of("SELECT changes();\n", rows));
        assert_eq!(said("sqlite", Effect::Rows), of("", rows));
        let made = FindingQuery::from(Step { undone: false, ..query(Effect::CountsAndRows).step });
        let made = script(&[made], 0, &profile("sqlite").expect("shipped"));
        assert_eq!(made, format!("DELETE FROM t;\n{rows}"), "what is kept is no change to look at");
    }

    #[test]
    fn a_report_says_which_limits_were_reached() {
        let profile = profile("sqlite").expect("shipped");
        let mut finding = finding();
        let report = |finding: &Finding| finding.report_md(&profile, Path::new("out"));
        assert!(report(&finding).contains("| limits reached meanwhile | none |"));
        finding.limits.count(Limit::Proofs, 0);
        assert!(finding.limits.is_empty());
        finding.limits.count(Limit::Runs, 3);
        finding.limits.count(Limit::Proofs, 2);
        let expected = "runs of the case (3 or more not tried), proofs of simpler queries (2 or more not tried)";
        assert!(report(&finding).contains(expected), "{}", report(&finding));
        let text = serde_json::to_string(&finding).expect("JSON");
        assert!(text.contains("\"limits\":{\"runs\":3,\"proofs\":2}"), "{text}");
        assert_eq!(serde_json::from_str::<Finding>(&text).expect("reads"), finding);
    }

    #[test]
    fn a_report_shows_how_the_plans_of_queries_that_disagree_differ() {
        let profile = profile("sqlite").expect("shipped");
        let mut finding = finding();
        finding.kind = FindingKind::WrongResult;
        finding.checks = None;
        for (at, (value, operator)) in [(1, "SCAN"), (2, "SEARCH")].into_iter().enumerate() {
            finding.queries[at].result = StepResult::Rows(vec![vec![Value::Int(value)]]);
            finding.queries[at].plan =
                Some(PlanTree { label: "QUERY".to_owned(), children: vec![PlanTree::leaf(operator)] });
        }
        let report = |finding: &Finding| finding.report_md(&profile, Path::new("out"));
        let shown = report(&finding);
        let edits =
            "From the plan of query 1 (-) to that of query 2 (+):\n\n```diff\n  QUERY\n-   SCAN\n+   SEARCH\n```\n";
        assert!(shown.contains(edits), "{shown}");
        // One that is not known, the same plan, and queries that agree have nothing to show.
        let mut unknown = finding.clone();
        unknown.queries[1].plan = None;
        let mut same = finding.clone();
        same.queries[1].plan = same.queries[0].plan.clone();
        let mut agree = finding.clone();
        agree.queries[1].result = agree.queries[0].result.clone();
        for without in [unknown, same, agree] {
            assert!(!report(&without).contains("## Plans"));
        }
    }
}
