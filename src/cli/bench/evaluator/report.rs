//! What the comparison of evaluator and engine found.

use prover::ir::Assumption;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What the two sides disagree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The value.
    Value,
    /// The type of the result.
    Type,
    /// The evaluator says that it is a run-time error, the engine returns a value.
    Error,
}

/// What makes disagreements one: what they are on, the outermost operator, the types of its operands, the assumptions that
/// cover them, and whether one of these may be broken on the row.
type Cause = (Kind, String, Vec<String>, BTreeSet<Assumption>, bool);

/// One expression on one row.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Disagreement {
    pub expression: String,
    pub evaluator: String,
    pub evaluator_type: String,
    pub engine: String,
    pub engine_type: String,
    /// The columns that the expression names.
    pub row: BTreeMap<&'static str, String>,
}

/// Disagreements with one cause.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Group {
    pub on: Kind,
    pub form: String,
    pub operands: Vec<String>,
    /// Assumptions that the prover lists for the expression and the dialect's profile does not guarantee. Empty for a
    /// mistake: of the evaluator, of the profile, or of the engine.
    pub covered_by: BTreeSet<Assumption>,
    /// Whether one of them may be broken on the row. Otherwise no class runs on the engine that rests on it, but the
    /// evaluator does not do what the engine does.
    pub explained: bool,
    pub count: u64,
    /// The shortest.
    pub example: Disagreement,
}

/// What was found on one engine.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli::bench) struct Report {
    target: String,
    version: String,
    /// Expressions, each on a row, that both sides evaluated.
    pub(super) expressions: u64,
    /// Of them, those whose value the evaluator knows.
    pub(super) values: u64,
    /// Of them, those whose type the prover knows.
    pub(super) types: u64,
    /// Operators with kinds of operands that were compared.
    pub(super) signatures: usize,
    /// Expressions that the prover does not read.
    pub(super) not_read: u64,
    /// Expressions that the engine does not take.
    pub(super) refused: u64,
    /// Expressions that were an error on the engine.
    pub(super) raised: u64,
    /// Of them, how many of each class.
    pub(super) errors: BTreeMap<String, u64>,
    /// Columns that were left out on a row because their value is not of their type here.
    pub(super) unfit_columns: BTreeMap<String, u64>,
    /// Expressions that broke the engine, with what it said.
    pub(super) broken: BTreeMap<String, String>,
    disagreements: Vec<Group>,
    covered: Vec<Group>,
    #[serde(skip)]
    groups: BTreeMap<Cause, Group>,
}

impl Report {
    pub(super) fn new(target: &str, version: String) -> Self {
        Self {
            target: target.to_owned(),
            version,
            expressions: 0,
            values: 0,
            types: 0,
            signatures: 0,
            not_read: 0,
            refused: 0,
            raised: 0,
            errors: BTreeMap::new(),
            unfit_columns: BTreeMap::new(),
            broken: BTreeMap::new(),
            disagreements: Vec::new(),
            covered: Vec::new(),
            groups: BTreeMap::new(),
        }
    }

    pub(super) fn add(&mut self, cause: Cause, example: Disagreement) {
        let (on, form, operands, covered_by, explained) = cause.clone();
        let group = self.groups.entry(cause).or_insert_with(|| Group {
            on,
            form,
            operands,
            covered_by,
            explained,
            count: 0,
            example: example.clone(),
        });
        group.count += 1;
        if example.expression.len() < group.example.expression.len() {
            group.example = example;
        }
    }

    /// Sorts what was found: the most frequent first.
    pub(super) fn close(&mut self) {
        let (mut covered, mut open): (Vec<Group>, Vec<Group>) =
            std::mem::take(&mut self.groups).into_values().partition(|group| !group.covered_by.is_empty());
        for groups in [&mut covered, &mut open] {
            groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        }
        (self.covered, self.disagreements) = (covered, open);
    }

    /// Whether something is wrong: a disagreement that no assumption covers, or an engine that broke.
    pub(in crate::cli::bench) fn disagrees(&self) -> bool {
        !self.disagreements.is_empty() || !self.broken.is_empty()
    }

    /// The causes that no assumption covers, and the others.
    #[cfg(test)]
    pub(super) fn into_groups(self) -> (Vec<Group>, Vec<Group>) {
        (self.disagreements, self.covered)
    }

    /// For people; with what assumptions cover if wanted.
    pub(in crate::cli::bench) fn print(&self, covered: bool) {
        println!("{self}");
        for group in &self.disagreements {
            println!("{group}");
        }
        let unexplained: Vec<&Group> = self.covered.iter().filter(|group| !group.explained).collect();
        let count: u64 = unexplained.iter().map(|group| group.count).sum();
        println!(
            "{count} of {} causes are covered by assumptions only that hold on the row, of errors that are not raised",
            unexplained.len()
        );
        for group in unexplained {
            println!("{group}");
        }
        let mut by_assumptions: BTreeMap<&BTreeSet<Assumption>, (u64, Vec<&Group>)> = BTreeMap::new();
        for group in self.covered.iter().filter(|group| group.explained) {
            let (count, groups) = by_assumptions.entry(&group.covered_by).or_default();
            *count += group.count;
            groups.push(group);
        }
        for (assumptions, (count, groups)) in by_assumptions {
            let names = assumptions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            println!("{count} of {} causes are covered by {names}", groups.len());
            for group in groups.iter().filter(|_| covered) {
                println!("{group}");
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: u64 = self.disagreements.iter().map(|group| group.count).sum();
        let covered: u64 = self.covered.iter().map(|group| group.count).sum();
        writeln!(
            f,
            "{} {}: {} expressions ({} values, {} types compared; {} operators with kinds of operands)",
            self.target, self.version, self.expressions, self.values, self.types, self.signatures
        )?;
        let errors: Vec<String> = self.errors.iter().map(|(class, count)| format!("{class} {count}")).collect();
        writeln!(
            f,
            "  {} not read by the prover, {} not taken by the engine, {} errors of the engine ({})",
            self.not_read,
            self.refused,
            self.raised,
            errors.join(", ")
        )?;
        for (column, count) in &self.unfit_columns {
            writeln!(f, "  column left out on {count} rows, whose value is not of its type: {column}")?;
        }
        for (expression, error) in &self.broken {
            writeln!(f, "  broke the engine: {expression}: {error}")?;
        }
        write!(
            f,
            "  {count} disagreements of {} causes that no assumption covers, {covered} of {} causes that one covers",
            self.disagreements.len(),
            self.covered.len()
        )
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disagreement { expression, evaluator, evaluator_type, engine, engine_type, row } = &self.example;
        let on = match self.on {
            Kind::Value => "value",
            Kind::Type => "type",
            Kind::Error => "error",
        };
        let row: Vec<String> = row.iter().map(|(column, value)| format!("{column} = {value}")).collect();
        write!(f, "{:>8} {on} of {} [{}]: {expression}", self.count, self.form, self.operands.join(", "))?;
        if !row.is_empty() {
            write!(f, " where {}", row.join(", "))?;
        }
        write!(f, " is {evaluator} {evaluator_type}, in the engine {engine} {engine_type}")
    }
}
