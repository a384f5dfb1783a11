//! A test case as a program: what to run, what must hold, and what that rests on.
//!
//! Oracles write programs, [`crate::interpret`] runs them: in the hunt, in confirmation, reduction, replay and bisection
//! alike. A text may have [`Hole`]s, which are filled anew from an earlier step's rows whenever the program runs, so that
//! a folded value is never of another state than the one that the program runs on.

mod evaluation;
mod fold;
mod relation;

pub use evaluation::{Evaluation, Meaning, Ready, constants, tables_of, told_type};
pub use fold::{Column, Fold, Unfit};
pub use relation::{Change, Check, Relation, Trend};

use crate::compare::Row;
use crate::sql::profile::{Profile, Switch};
use crate::sql::types::SqlType;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A place in a text that is filled from the rows of an earlier step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Where it is, in bytes from the start of the text.
    pub at: usize,
    /// The position of the step whose rows fill it.
    pub step: usize,
    /// What the rows become.
    pub fold: Fold,
}

/// An SQL text, which may have holes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "TextForm", into = "TextForm")]
pub struct Text {
    sql: String,
    /// In the order in which they stand.
    holes: Vec<Hole>,
}

/// A text without holes is written as one string.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TextForm {
    Plain(String),
    Holed { sql: String, holes: Vec<Hole> },
}

impl From<TextForm> for Text {
    fn from(form: TextForm) -> Self {
        match form {
            TextForm::Plain(sql) => Self::from(sql),
            TextForm::Holed { sql, holes } => Self { sql, holes },
        }
    }
}

impl From<Text> for TextForm {
    fn from(text: Text) -> Self {
        let Text { sql, holes } = text;
        if holes.is_empty() { Self::Plain(sql) } else { Self::Holed { sql, holes } }
    }
}

impl From<String> for Text {
    fn from(sql: String) -> Self {
        Self { sql, holes: Vec::new() }
    }
}

impl From<&str> for Text {
    fn from(sql: &str) -> Self {
        Self::from(sql.to_owned())
    }
}

impl fmt::Display for Text {
    /// The text with a note in the place of each hole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut from = 0;
        for hole in &self.holes {
            write!(f, "{}[{} of query {}]", &self.sql[from..hole.at], hole.fold, hole.step + 1)?;
            from = hole.at;
        }
        f.write_str(&self.sql[from..])
    }
}

impl Text {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.sql.clear();
        self.holes.clear();
    }

    /// Adds to the end.
    pub fn push_str(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    /// Adds another text, with its holes, to the end.
    pub fn push_text(&mut self, text: &Self) {
        let start = self.sql.len();
        self.holes.extend(text.holes.iter().map(|hole| Hole { at: start + hole.at, ..hole.clone() }));
        self.sql.push_str(&text.sql);
    }

    /// Adds a hole to the end.
    pub fn push_hole(&mut self, step: usize, fold: Fold) {
        self.holes.push(Hole { at: self.sql.len(), step, fold });
    }

    /// The text without what fills its holes.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// For whoever writes into it what has no holes.
    pub fn sql_mut(&mut self) -> &mut String {
        &mut self.sql
    }

    /// Its holes.
    pub fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// The text with its holes filled. `rows` gives the rows of a step; a step that gave none voids the case.
    pub fn filled<'a, 'r>(
        &'a self,
        profile: &Profile,
        rows: impl Fn(usize) -> Option<&'r [Row]>,
    ) -> Result<Cow<'a, str>, Unfit> {
        if self.holes.is_empty() {
            return Ok(Cow::Borrowed(&self.sql));
        }
        let mut out = String::with_capacity(self.sql.len() * 2);
        let mut from = 0;
        for hole in &self.holes {
            out.push_str(&self.sql[from..hole.at]);
            let rows = rows(hole.step).ok_or(Unfit::NotRun)?;
            hole.fold.write(rows, profile, &mut out)?;
            from = hole.at;
        }
        out.push_str(&self.sql[from..]);
        Ok(Cow::Owned(out))
    }
}

/// What the result of a step is whose statements change tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// How many rows each statement changed, and the rows of the query.
    #[default]
    CountsAndRows,
    /// The rows of the query.
    Rows,
    /// How many rows the last statement changed. The query is not run.
    Count,
}

impl Effect {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A query with what stands around it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Position of what it is an instance of: a member of the class, a context.
    pub member: usize,
    /// Statements before it: what makes what it reads, or changes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Text>,
    /// Its text.
    pub sql: Text,
    /// Literals whose values are bound to its parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// Statements that remove what was made before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Text>,
    /// The optimizer switch that is turned while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Arc<Switch>>,
    /// Whether the case goes on without it where the engine refuses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether the statements before it change tables: they are undone after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// What its result is where they do.
    #[serde(default, skip_serializing_if = "Effect::is_default")]
    pub effect: Effect,
    /// Whether one of them must fail, the last that runs: the query reads what that leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failing: bool,
    /// How its rows are computed, where the engine is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
}

impl Step {
    /// A query by itself.
    pub fn query(sql: impl Into<Text>) -> Self {
        Self { sql: sql.into(), ..Self::default() }
    }

    /// Empties it, keeping its memory.
    fn clear(&mut self) {
        let Self { member, before, sql, parameters, after, switch, optional, undone, effect, failing, evaluation } =
            self;
        *member = 0;
        before.clear();
        sql.clear();
        parameters.clear();
        after.clear();
        *switch = None;
        *optional = false;
        *undone = false;
        *effect = Effect::default();
        *failing = false;
        *evaluation = None;
    }

    /// Its texts, in the order in which they run.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.before.iter().chain([&self.sql]).chain(&self.after)
    }

    /// The steps whose rows it needs.
    fn sources(&self) -> impl Iterator<Item = usize> {
        let tables = self.evaluation.iter().flat_map(|evaluation| evaluation.tables.iter().flatten().copied());
        self.texts().flat_map(Text::holes).map(|hole| hole.step).chain(tables)
    }

    /// The same step for a program that has only some of the steps: `kept` are their former positions, its sources among
    /// them.
    #[must_use]
    pub fn moved(&self, kept: &[usize]) -> Self {
        let mut step = self.clone();
        let Self { before, sql, after, evaluation, .. } = &mut step;
        let holes = before.iter_mut().chain([sql]).chain(after).flat_map(|text| &mut text.holes);
        let tables = evaluation.iter_mut().flat_map(|evaluation| evaluation.tables.iter_mut().flatten());
        for source in holes.map(|hole| &mut hole.step).chain(tables) {
            *source = kept.iter().position(|at| at == source).unwrap_or_default();
        }
        step
    }
}

/// What to run, and what must hold.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The vector is reused from case to case; only `len` are valid.
    steps: Vec<Step>,
    len: usize,
    checks: Vec<Check>,
}

impl Program {
    /// Empties the program, keeping its memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.checks.clear();
    }

    /// Adds a step and returns it, empty, to be written.
    pub fn add_step(&mut self, member: usize, switch: Option<Arc<Switch>>) -> &mut Step {
        if self.len == self.steps.len() {
            self.steps.push(Step::default());
        }
        let step = &mut self.steps[self.len];
        self.len += 1;
        step.clear();
        step.member = member;
        step.switch = switch;
        step
    }

    /// Adds a check.
    pub fn add_check(&mut self, relation: Relation, steps: impl IntoIterator<Item = usize>) {
        self.checks.push(Check { relation, steps: steps.into_iter().collect() });
    }

    /// Takes all checks away, so that others are made of the steps.
    pub fn clear_checks(&mut self) {
        self.checks.clear();
    }

    /// The steps, in the order in which they run.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..self.len]
    }

    /// What must hold.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Whether the rows of a step are needed themselves, and not a hash of them only.
    pub fn needs_rows(&self, step: usize) -> bool {
        self.checks.iter().any(|check| !check.relation.by_hash() && check.steps.contains(&step))
            || self.steps().iter().any(|other| other.sources().any(|source| source == step))
    }

    /// These steps with those whose rows they need, which come first.
    pub fn with_sources(&self, steps: &[usize]) -> Vec<usize> {
        with_sources(self.steps(), steps)
    }
}

/// Some of these steps with those whose rows they need, which come first. The steps keep their order, unless one needs
/// another's rows.
fn with_sources(all: &[Step], steps: &[usize]) -> Vec<usize> {
    let mut sources: Vec<usize> = Vec::new();
    let mut open = steps.to_vec();
    while let Some(step) = open.pop() {
        for source in all[step].sources() {
            if !sources.contains(&source) {
                sources.push(source);
                open.push(source);
            }
        }
    }
    let among = sources.iter().any(|source| steps.contains(source));
    sources.retain(|source| !steps.contains(source));
    sources.sort_unstable();
    sources.extend(steps);
    if among {
        sources.sort_unstable();
    }
    sources
}

/// Something that a check rests on, to be seen to hold on the case's own data before a violation is reported. It is asked
/// on the state before the case's statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    /// In words.
    pub text: String,
    /// The query whose rows show it.
    pub sql: Text,
    /// What every row must satisfy.
    pub expected: Expected,
}

/// What the rows of an assumption's query must satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Every value of the single column is of the type or NULL, and there are as many rows as the second column says.
    Type(SqlType),
    /// As many rows as the second column says.
    RowCount,
    /// Every value is NULL.
    Null,
    /// There are no rows.
    NoRows,
    /// They are those of this query, value by value and type by type.
    Same(Text),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::sql::profile::ColumnType;
    use crate::sql::types::Value;

    fn folded() -> Program {
        let mut program = Program::default();
        program.add_step(0, None).sql.push_str("SELECT 7");
        program.add_step(1, None).sql.push_str("SELECT a FROM t WHERE a < (SELECT 7)");
        let step = program.add_step(2, None);
        step.sql.push_str("SELECT a FROM t WHERE a < (");
        step.sql.push_hole(0, Fold::Value(ColumnType::Class(SqlType::Int)));
        step.sql.push_str(")");
        program.add_check(Relation::EqualBag, [1, 2]);
        program
    }

    #[test]
    fn holes_are_filled_from_rows_and_shown_as_notes() {
        let profile = profile("sqlite").expect("shipped");
        let program = folded();
        let text = &program.steps()[2].sql;
        assert_eq!(text.to_string(), "SELECT a FROM t WHERE a < ([the value of query 1])");
        let rows = [vec![Value::Int(7)]];
        let filled = text.filled(&profile, |step| (step == 0).then_some(&rows[..])).expect("fits");
        assert_eq!(filled, "SELECT a FROM t WHERE a < (CAST(7 AS INTEGER))");
        assert_eq!(text.filled(&profile, |_| None), Err(Unfit::NotRun));
    }

    #[test]
    fn a_step_is_kept_with_what_fills_it() {
        let program = folded();
        assert!(program.needs_rows(0) && !program.needs_rows(1) && !program.needs_rows(2));
        assert_eq!(program.with_sources(&[2]), [0, 2]);
        assert_eq!(program.with_sources(&[2, 1]), [0, 2, 1]);
        assert_eq!(program.with_sources(&[2, 0]), [0, 2]);
        assert_eq!(program.with_sources(&[1]), [1]);
        let mut two = program.clone();
        two.add_step(3, None).sql.push_hole(2, Fold::List(ColumnType::Class(SqlType::Int)));
        assert_eq!(two.with_sources(&[3]), [0, 2, 3]);
        assert_eq!(two.steps()[3].moved(&[0, 2, 3]).sql.holes()[0].step, 1);
    }

    #[test]
    fn a_text_without_holes_is_a_string_in_json() {
        let program = folded();
        for step in program.steps() {
            let json = serde_json::to_value(step).expect("writes");
            assert_eq!(json["sql"].is_string(), step.sql.holes().is_empty());
            assert_eq!(&serde_json::from_value::<Step>(json).expect("reads"), step);
        }
    }
}
