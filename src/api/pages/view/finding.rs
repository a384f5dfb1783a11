//! A finding as a page shows it: what to run, what came back, and which rows make the difference.

use crate::catalogue;
use crate::compare::{Comparison, Row, compare};
use crate::interpret::StepResult;
use crate::program::Check;
use crate::sql::types::Value;
use crate::triage::finding::{Finding, FindingKind};
use crate::triage::report::{result_lines, script};
use serde::Serialize;

/// Rows of a result that are shown of those that both sides have, and of those that only one has.
const ROWS_MAX: usize = 40;

/// A finding.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    id: String,
    kind: String,
    oracle: String,
    class: String,
    dbms: String,
    version: String,
    build: String,
    seed: String,
    block: u64,
    case: u64,
    features: Vec<String>,
    cured_by: Vec<String>,
    reduced: bool,
    note: Option<String>,
    fillings: Vec<String>,
    /// What must hold, and does not.
    expectation: String,
    /// What makes the database.
    statements: Vec<String>,
    queries: Vec<Query>,
}

/// A query, and what it returned.
#[derive(Debug, Serialize)]
struct Query {
    /// From 1.
    number: usize,
    /// What it is an instance of.
    of: String,
    /// The optimizer switch that is turned while it runs.
    switch: Option<String>,
    sql: String,
    /// The query with which it is compared, from 1, where they disagree.
    against: Option<usize>,
    result: Table,
}

/// A result.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Table {
    rows: Vec<Line>,
    /// Numbers of the columns.
    columns: usize,
    total: usize,
    /// Rows that are not shown: both sides have most of them.
    hidden: usize,
    /// What there is instead of rows.
    words: Option<String>,
    /// Whether that is an error.
    failed: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Line {
    cells: Vec<Cell>,
    /// Whether the query with which it is compared did not return it, or not as often.
    only: bool,
}

#[derive(Debug, PartialEq, Serialize)]
struct Cell {
    text: String,
    null: bool,
}

impl Table {
    fn new(result: &StepResult, other: Option<&[Row]>) -> Self {
        let nothing = |words: String, failed| Self {
            rows: Vec::new(),
            columns: 0,
            total: 0,
            hidden: 0,
            words: Some(words),
            failed,
        };
        let rows = match result {
            StepResult::Rows(rows) if rows.is_empty() => return nothing("no rows".to_owned(), false),
            StepResult::Rows(rows) => rows,
            StepResult::Error(_) => return nothing(result_lines(result).join("\n"), true),
            StepResult::Hash { .. } | StepResult::None => return nothing(result_lines(result).join("\n"), false),
        };
        let mut only = match other.map(|other| compare(rows, other)) {
            Some(Comparison::Different { only_first, .. }) => only_first,
            Some(Comparison::Equal) | None => Vec::new(),
        };
        let (mut marked, mut plain) = (0, 0);
        let mut lines = Vec::new();
        for row in rows {
            let at = only.iter().position(|one| one == row);
            if let Some(at) = at {
                only.swap_remove(at);
            }
            let count = if at.is_some() { &mut marked } else { &mut plain };
            *count += 1;
            if *count > ROWS_MAX {
                continue;
            }
            let cell = |value: &Value| Cell { text: value.to_string(), null: *value == Value::Null };
            lines.push(Line { cells: row.iter().map(cell).collect(), only: at.is_some() });
        }
        Self {
            columns: rows.iter().map(Vec::len).max().unwrap_or_default(),
            total: rows.len(),
            hidden: rows.len() - lines.len(),
            rows: lines,
            words: None,
            failed: false,
        }
    }
}

/// For each query, the one that it is compared with: of two that violate a check each is compared with the other, and of
/// those that must be the same as they are, each with the one that is not.
fn partners(checks: &[Check], rows: &[Option<&[Row]>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; rows.len()];
    for check in checks {
        let Some((one, other)) = check.violation(|at| rows.get(at).copied().flatten()) else { continue };
        let mut set = |at: usize, with: usize| {
            if let Some(partner) = partners.get_mut(at) {
                partner.get_or_insert(with);
            }
        };
        set(other, one);
        set(one, other);
        if check.relation.by_hash() {
            check.steps.iter().filter(|at| **at != other).for_each(|at| set(*at, other));
        }
    }
    // One that agrees with its partner has nothing to be marked.
    for (at, partner) in partners.iter_mut().enumerate() {
        let same =
            partner.and_then(|with: usize| Some(compare(rows[at]?, rows.get(with).copied()??) == Comparison::Equal));
        if same != Some(false) {
            *partner = None;
        }
    }
    partners
}

impl Shown {
    pub(crate) fn new(finding: &Finding) -> Self {
        let rows: Vec<Option<&[Row]>> = finding.queries.iter().map(|query| query.result.rows()).collect();
        let partners = match finding.kind {
            FindingKind::WrongResult => partners(&finding.checks(), &rows),
            _ => vec![None; rows.len()],
        };
        let dialect = finding.dbms.parse::<crate::dbms::target::Target>();
        let profile = dialect.ok().and_then(|target| catalogue::profile(target.dialect()).ok());
        let text = |at: usize| match &profile {
            Some(profile) => script(&finding.queries, at, profile).trim_end().to_owned(),
            None => finding.queries[at].step.sql.to_string(),
        };
        let query = |at: usize| {
            let query = &finding.queries[at];
            Query {
                number: at + 1,
                of: match &query.context {
                    Some(context) => context.clone(),
                    None => format!("member {} of the class", query.step.member),
                },
                switch: query.step.switch.as_ref().map(|switch| switch.name.clone()),
                sql: text(at),
                against: partners[at].map(|with| with + 1),
                result: Table::new(&query.result, partners[at].and_then(|with| rows[with])),
            }
        };
        Self {
            id: finding.id.clone(),
            kind: finding.kind.to_string(),
            oracle: finding.oracle.clone(),
            class: finding.class.clone(),
            dbms: finding.dbms.clone(),
            version: finding.version.clone(),
            build: finding.build_id.clone(),
            seed: finding.seed.to_string(),
            block: finding.block,
            case: finding.case,
            features: finding.features.clone(),
            cured_by: finding.cured_by.clone(),
            reduced: finding.reduced,
            note: finding.note.clone(),
            fillings: finding.fillings.clone(),
            expectation: finding.expectation(),
            statements: finding.statements.iter().map(|statement| format!("{statement};")).collect(),
            queries: (0..finding.queries.len()).map(query).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Relation;

    fn rows(rows: &[&[i64]]) -> Vec<Row> {
        rows.iter().map(|row| row.iter().map(|i| Value::Int(*i)).collect()).collect()
    }

    fn marks(result: &[Row], other: &[Row]) -> Vec<bool> {
        Table::new(&StepResult::Rows(result.to_vec()), Some(other)).rows.iter().map(|line| line.only).collect()
    }

    #[test]
    fn rows_that_one_query_has_more_often_are_marked_as_often() {
        assert_eq!(marks(&rows(&[&[1], &[2], &[1]]), &rows(&[&[1]])), [true, true, false]);
        assert_eq!(marks(&rows(&[&[1]]), &rows(&[&[1], &[2]])), [false]);
    }

    #[test]
    fn the_difference_is_shown_however_long_the_results_are() {
        let long: Vec<Row> = (0..1_000).map(|n| vec![Value::Int(n)]).collect();
        let table = Table::new(&StepResult::Rows(long.clone()), Some(&long[..999]));
        assert_eq!((table.total, table.hidden), (1_000, 1_000 - ROWS_MAX - 1));
        assert_eq!(table.rows.iter().filter(|line| line.only).count(), 1);
        assert!(table.rows.last().expect("rows").only);
    }

    #[test]
    fn the_outlier_is_compared_with_the_others_and_they_with_it() {
        let (one, two) = (rows(&[&[1]]), rows(&[&[1], &[2]]));
        let results = [Some(&one[..]), Some(&two[..]), Some(&one[..]), None];
        let check = |relation, steps: &[usize]| Check { relation, steps: steps.to_vec() };
        let all = [check(Relation::EqualBag, &[0, 1, 2, 3])];
        assert_eq!(partners(&all, &results), [Some(1), Some(0), Some(1), None]);
        assert_eq!(partners(&[check(Relation::SubBag, &[0, 1])], &results), [None; 4]);
        assert_eq!(partners(&[check(Relation::SubBag, &[1, 0])], &results), [Some(1), Some(0), None, None]);
    }
}
