//! Reduction: fewer statements, fewer rows, two queries, simpler fillings; the same kind of failure.
//!
//! Only what keeps the checks is changed: the database, and the case as its oracle says. What the checks rest on is asked
//! again after every change. Settings, on which they may rest, go only if nothing that can be seen changes.

use super::finding::FindingKind;
use super::symptom::Symptom;
use crate::clock;
use crate::compare::Row;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::interpret::{StepResult, Verdict, all_results, broken_assumption, run};
use crate::oracle::{SharedCase, TestDatabase};
use crate::program::{Check, Program, Step};
use crate::sql::lex::{Token, tokens};
use crate::sql::profile::Profile;
use std::time::Instant;

/// Says whether an engine keeps what classes take for granted of it with these settings alone; the flag says whether foreign
/// keys count.
pub type Keeps<'a> = &'a mut dyn FnMut(&mut dyn Connection, &[String], bool) -> bool;

/// A case while it is reduced.
pub struct Reduction<'a, 'd> {
    /// The connection; its database is replaced many times.
    pub connection: &'a mut dyn Connection,
    /// The dialect.
    pub profile: &'a Profile,
    /// The database the case is on.
    pub database: &'d dyn TestDatabase,
    /// Statements that make it.
    pub statements: Vec<String>,
    /// Settings that every database is made with. One that does not matter for what is seen goes at last.
    pub protected: Vec<String>,
    /// Says what keeps its promises.
    pub keeps: Keeps<'a>,
    /// The case.
    pub case: SharedCase<'d>,
    /// What is wrong, and must stay so.
    pub symptom: Symptom,
    /// The part of the program that shows it.
    pub part: Part,
    /// Case runs left.
    pub attempts: usize,
    /// Told before each run, so that a watcher sees progress.
    pub tick: &'a mut dyn FnMut(),
    /// When to be content with what there is.
    pub until: Option<Instant>,
}

/// A part of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Positions of its steps, with those whose rows they need.
    pub steps: Vec<usize>,
    /// Position of the check that is violated, and of the two steps between which it is.
    pub violated: Option<(usize, (usize, usize))>,
}

impl Part {
    /// No step.
    pub fn none() -> Self {
        Self { steps: Vec::new(), violated: None }
    }

    /// The part that a verdict speaks of.
    pub fn of(program: &Program, verdict: &Verdict) -> Self {
        let (involved, violated) = match verdict {
            Verdict::Violated { check, pair } => (vec![pair.0, pair.1], Some((*check, *pair))),
            Verdict::Broken { step, .. } => (step.iter().copied().collect(), None),
            Verdict::Holds | Verdict::Void(_) => ((0..program.steps().len()).collect(), None),
        };
        Self { steps: program.with_sources(&involved), violated }
    }

    /// Positions of the steps that are to blame.
    pub fn involved(&self) -> Vec<usize> {
        match self.violated {
            Some((_, pair)) => vec![pair.0, pair.1],
            None => self.steps.last().copied().into_iter().collect(),
        }
    }

    /// The steps and checks of it as a program of their own.
    pub fn cut(&self, program: &Program) -> (Vec<Step>, Vec<Check>) {
        let steps = self.steps.iter().map(|at| program.steps()[*at].moved(&self.steps)).collect();
        let check = self.violated.map(|(check, pair)| {
            let of_pair = Check { steps: vec![pair.0, pair.1], ..program.checks()[check].clone() };
            of_pair.moved(&self.steps)
        });
        (steps, check.into_iter().collect())
    }
}

impl<'d> Reduction<'_, 'd> {
    /// Reduces as far as the attempts reach.
    pub fn run(&mut self) {
        let reserve = SETTINGS_ATTEMPTS.min(self.attempts / 2);
        self.attempts -= reserve;
        self.fewer_rows_and_fillings();
        self.attempts += reserve;
        self.fewer_settings();
    }

    fn fewer_rows_and_fillings(&mut self) {
        let split: Vec<String> = self.statements.iter().flat_map(|s| split_rows(s)).collect();
        if split.len() != self.statements.len() && self.fails(&split, &self.case.clone()) {
            self.statements = split;
        }
        loop {
            let before = (self.statements.len(), self.size());
            self.fewer_statements();
            self.smaller_case();
            self.fewer_columns();
            if (self.statements.len(), self.size()) == before || self.attempts == 0 {
                break;
            }
        }
    }

    /// The program of a case.
    fn program(case: &SharedCase) -> Program {
        let mut program = Program::default();
        case.program(&mut program);
        program
    }

    /// Bytes of the case's queries.
    fn size(&self) -> usize {
        Self::program(&self.case).steps().iter().map(|step| step.sql.sql().len()).sum()
    }

    /// Whether the failure shows with these statements and this case, and everything that it rests on holds.
    fn fails(&mut self, statements: &[String], case: &SharedCase) -> bool {
        if self.until.is_some_and(|until| clock::now() >= until) {
            self.attempts = 0;
        }
        if self.attempts == 0 {
            return false;
        }
        self.attempts -= 1;
        (self.tick)();
        let program = Self::program(case);
        let (steps, checks) = self.part.cut(&program);
        let (verdict, seen) = run(self.connection, self.profile, statements, &steps, &checks);
        match verdict {
            Verdict::Violated { .. } => {
                let assumptions = case.assumptions(&program, &self.part.involved());
                // The part's steps have other positions.
                let rows = |at: usize| seen[self.part.steps.iter().position(|kept| *kept == at)?].rows();
                self.symptom.kind == FindingKind::WrongResult
                    && broken_assumption(self.connection, self.profile, &assumptions, &rows).is_none()
            }
            // Broken by the set-up alone, or by the one query.
            Verdict::Broken { step, error } => {
                self.symptom == Symptom::of(&error) && step.is_none() == steps.is_empty()
            }
            Verdict::Void(error) if error.class == ErrorClass::ConnectionLost => {
                // The server does not come back by being asked hundreds of times.
                self.attempts = 0;
                false
            }
            Verdict::Holds | Verdict::Void(_) => false,
        }
    }

    /// Removes statements, large pieces first, from the end.
    fn fewer_statements(&mut self) {
        let mut size = self.statements.len().div_ceil(2).max(1);
        loop {
            let mut end = self.statements.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut fewer = self.statements.clone();
                let removed: Vec<String> = fewer.drain(start..end).collect();
                let kept = removed.into_iter().filter(|s| self.protected.contains(s));
                fewer.splice(start..start, kept);
                if fewer.len() < self.statements.len() && self.fails(&fewer, &self.case.clone()) {
                    self.statements = fewer;
                }
                end = start;
            }
            if size == 1 || self.attempts == 0 {
                break;
            }
            size /= 2;
        }
    }

    /// Removes extra columns, with their values in INSERT. Columns and constraints of the class stay: the equivalence of
    /// its members rests on them.
    fn fewer_columns(&mut self) {
        let mut at = 0;
        while at < self.statements.len() {
            let mut extra = 0;
            let may_drop = |table: &str, column: &str| self.database.may_drop(table, column);
            while let Some(fewer) = without_column(&self.statements, at, extra, may_drop) {
                if self.fails(&fewer, &self.case.clone()) {
                    self.statements = fewer;
                } else {
                    extra += 1;
                }
            }
            at += 1;
        }
    }

    /// Removes settings that do not matter: without them every statement goes as before, every table has the same rows and
    /// every query returns the same, and what is taken for granted of the engine still holds.
    fn fewer_settings(&mut self) {
        let (settings, rest): (Vec<String>, Vec<String>) =
            self.statements.iter().cloned().partition(|statement| self.protected.contains(statement));
        if settings.is_empty() {
            return;
        }
        let Some(seen) = self.observe(&settings, &rest) else { return };
        let mut settings: Vec<String> = settings.iter().flat_map(|statement| split_statements(statement)).collect();
        if !self.unchanged(&settings, &rest, &seen) {
            return;
        }
        let mut size = settings.len();
        loop {
            let mut end = settings.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut fewer = settings.clone();
                fewer.drain(start..end);
                if self.unchanged(&fewer, &rest, &seen) {
                    settings = fewer;
                }
                end = start;
            }
            if size <= 1 || self.attempts == 0 {
                break;
            }
            size = size.div_ceil(2).min(settings.len().max(1));
        }
        self.statements = [settings, rest].concat();
    }

    /// Whether the case is the same failure with these settings, to all that can be seen.
    fn unchanged(&mut self, settings: &[String], rest: &[String], seen: &[String]) -> bool {
        let statements = [settings, rest].concat();
        if self.connection.renew().is_err() || !self.fails(&statements, &self.case.clone()) {
            return false;
        }
        // A crash is one with any settings.
        if self.symptom.kind != FindingKind::WrongResult {
            return true;
        }
        let foreign_keys = rest.iter().any(|statement| statement.contains("REFERENCES"));
        self.observe(settings, rest).is_some_and(|now| now == seen)
            && (self.keeps)(self.connection, settings, foreign_keys)
    }

    /// What statements, tables and queries do with these settings, in a new session.
    fn observe(&mut self, settings: &[String], rest: &[String]) -> Option<Vec<String>> {
        if self.symptom.kind != FindingKind::WrongResult {
            return Some(Vec::new());
        }
        (self.tick)();
        self.connection.renew().ok()?;
        for statement in settings {
            let _ = self.connection.execute(statement);
        }
        let mut seen: Vec<String> =
            rest.iter().map(|statement| self.connection.execute(statement).is_ok().to_string()).collect();
        let rows = |rows: Result<Vec<Row>, EngineError>| match rows {
            // As they are printed: types and signs of zeros count.
            Ok(rows) => {
                let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
                rows.sort();
                rows.join("\n")
            }
            Err(error) => error.class.to_string(),
        };
        for table in rest.iter().filter_map(|statement| created_table(statement)) {
            seen.push(rows(self.connection.rows(&format!("SELECT * FROM {table}"))));
        }
        let (steps, _) = self.part.cut(&Self::program(&self.case));
        for result in all_results(self.connection, self.profile, &steps) {
            seen.push(match result {
                StepResult::Rows(some) => rows(Ok(some)),
                StepResult::Error(error) => rows(Err(error)),
                StepResult::Hash { .. } | StepResult::None => String::new(),
            });
        }
        Some(seen)
    }

    /// Makes one part of the case after the other smaller.
    fn smaller_case(&mut self) {
        for part in 0..self.case.parts() {
            while let Some(smaller) = self.smaller(part) {
                self.case = smaller;
            }
        }
    }

    /// The first case with a smaller part that still fails.
    fn smaller(&mut self, part: usize) -> Option<SharedCase<'d>> {
        let statements = self.statements.clone();
        self.case.smaller(part).into_iter().find(|case| self.fails(&statements, case))
    }
}

/// The attempts that are kept for settings.
const SETTINGS_ATTEMPTS: usize = 100;

/// The table that a statement creates.
fn created_table(statement: &str) -> Option<&str> {
    let rest = ["CREATE TABLE ", "CREATE VIRTUAL TABLE "].iter().find_map(|start| statement.strip_prefix(start))?;
    rest.split(['(', ' ']).next()
}

/// The statements of a text that has several, in which texts stand between single quotes.
fn split_statements(text: &str) -> Vec<String> {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '\'';
        c == ';' && !quoted
    };
    let statements = text.split(ends).map(|statement| statement.trim().to_owned());
    statements.filter(|statement| !statement.is_empty()).collect()
}

/// An INSERT of several rows as one INSERT per row; anything else as it is.
fn split_rows(statement: &str) -> Vec<String> {
    let whole = || vec![statement.to_owned()];
    let Ok(all) = tokens(statement) else { return whole() };
    if !all.first().is_some_and(|t| t.is_word("insert") || t.is_word("replace")) {
        return whole();
    }
    let Some(values) = all.iter().position(|t| t.is_word("values")) else { return whole() };
    let head: String = all[..=values].iter().map(Token::text).collect();
    let mut rows = Vec::new();
    let mut row = String::new();
    // What follows the rows, as in `ON CONFLICT DO NOTHING`.
    let mut tail = String::new();
    let mut depth = 0;
    for token in &all[values + 1..] {
        if depth == 0 && (!tail.is_empty() || matches!(token, Token::Word(_))) {
            tail.push_str(&token.text());
            continue;
        }
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                rows.push(std::mem::take(&mut row));
                continue;
            }
            _ => {}
        }
        row.push_str(&token.text());
    }
    rows.push(row);
    rows.into_iter().map(|row| format!("{head} {} {tail}", row.trim()).trim_end().to_owned()).collect()
}

/// The statements without the droppable column numbered `extra` of the CREATE TABLE at `at`, without columns of its name in
/// other tables, and without their values in INSERTs. `None` if there is no such column.
fn without_column(
    statements: &[String],
    at: usize,
    extra: usize,
    may_drop: impl Fn(&str, &str) -> bool,
) -> Option<Vec<String>> {
    let columns = droppable(&statements[at], &may_drop)?;
    let column = columns.get(extra)?;
    let mut fewer = statements.to_vec();
    for (create, statement) in statements.iter().enumerate() {
        if droppable(statement, &may_drop).is_some_and(|columns| columns.contains(column)) {
            drop_column(&mut fewer, create, column)?;
        }
    }
    Some(fewer)
}

/// The columns of a CREATE TABLE that may be dropped; `None` for any other statement.
fn droppable(create: &str, may_drop: impl Fn(&str, &str) -> bool) -> Option<Vec<String>> {
    let table = create.strip_prefix("CREATE TABLE ")?.split('(').next()?;
    let (_, parts, _) = list_after(create)?;
    Some(parts.iter().map(|part| name_of(part)).filter(|column| may_drop(table, column)).collect())
}

/// The name with which a part of a table's definition starts.
fn name_of(part: &str) -> String {
    part.trim().split(' ').next().unwrap_or_default().to_owned()
}

/// Drops a column of the CREATE TABLE at `at`, and its values in the table's INSERTs.
fn drop_column(statements: &mut [String], at: usize, column: &str) -> Option<()> {
    let table = statements[at].strip_prefix("CREATE TABLE ")?.split('(').next()?.to_owned();
    let (head, parts, tail) = list_after(&statements[at])?;
    let part = parts.iter().position(|part| name_of(part) == column)?;
    statements[at] = format!("{head}({}){tail}", without(&parts, part));
    for statement in statements {
        let of_table = statement.contains(&format!(" INTO {table}("));
        let Some((head, columns, values)) = list_after(statement).filter(|_| of_table) else { continue };
        let Some(position) = columns.iter().position(|c| c.trim() == column) else { continue };
        let Some((keyword, cells, rest)) = list_after(&values) else { continue };
        if columns.len() > 1 && cells.len() == columns.len() {
            *statement =
                format!("{head}({}){keyword}({}){rest}", without(&columns, position), without(&cells, position));
        }
    }
    Some(())
}

fn without(parts: &[String], part: usize) -> String {
    let kept = parts.iter().enumerate().filter(|(at, _)| *at != part).map(|(_, p)| p.trim());
    kept.collect::<Vec<_>>().join(", ")
}

/// Splits a text at its first parenthesised list: what precedes it, its items, what follows it.
fn list_after(text: &str) -> Option<(String, Vec<String>, String)> {
    let all = tokens(text).ok()?;
    let open = all.iter().position(|t| *t == Token::Symbol('('))?;
    let mut items = vec![String::new()];
    let mut depth = 0;
    for (at, token) in all.iter().enumerate().skip(open) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 1 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            let spell = |tokens: &[Token]| tokens.iter().map(Token::text).collect::<String>();
            return Some((spell(&all[..open]), items, spell(&all[at + 1..])));
        }
        if at > open
            && let Some(item) = items.last_mut()
        {
            item.push_str(&token.text());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_one_text_are_split() {
        assert_eq!(split_statements("SET a = ';';\nSET b = 1;\n"), ["SET a = ';'", "SET b = 1"]);
        assert_eq!(split_statements("SET a = 'x"), ["SET a = 'x"]);
        assert_eq!(created_table("CREATE TABLE t1(c0 INT)"), Some("t1"));
        assert_eq!(created_table("CREATE TABLE t1 AS SELECT 1"), Some("t1"));
        assert_eq!(created_table("CREATE VIEW v AS SELECT 1"), None);
    }

    #[test]
    fn rows_of_an_insert_are_split() {
        assert_eq!(
            split_rows("INSERT OR IGNORE INTO t(a, b) VALUES (1, '),('), (f(2, 3), NULL)"),
            ["INSERT OR IGNORE INTO t(a, b) VALUES (1, '),(')", "INSERT OR IGNORE INTO t(a, b) VALUES (f(2, 3), NULL)"]
        );
        assert_eq!(
            split_rows("INSERT INTO t(a) VALUES (1), (f('x')) ON CONFLICT (a) DO NOTHING"),
            [
                "INSERT INTO t(a) VALUES (1) ON CONFLICT (a) DO NOTHING",
                "INSERT INTO t(a) VALUES (f('x')) ON CONFLICT (a) DO NOTHING"
            ]
        );
        assert_eq!(split_rows("ANALYZE"), ["ANALYZE"]);
    }

    #[test]
    fn extra_columns_are_removed_with_their_values_and_class_columns_stay() {
        let statements = [
            "CREATE TABLE t1(c0 INT UNIQUE, t1_x0 AS (c0 + f(1, 2)), t1_x1 TEXT CHECK (t1_x1 IN ('a', ')'))) STRICT"
                .to_owned(),
            "INSERT OR IGNORE INTO t1(t1_x1, c0) VALUES ([{'a': 'b', 'c,': 2}, 3], 1)".to_owned(),
            "INSERT INTO t10(t1_x1) VALUES (1)".to_owned(),
        ];
        let may_drop = |table: &str, column: &str| column.starts_with(&format!("{table}_"));
        let fewer = without_column(&statements, 0, 1, may_drop).expect("a second extra column");
        assert_eq!(fewer[0], "CREATE TABLE t1(c0 INT UNIQUE, t1_x0 AS (c0 + f(1, 2))) STRICT");
        assert_eq!(fewer[1], "INSERT OR IGNORE INTO t1(c0) VALUES (1)");
        assert_eq!(fewer[2], statements[2]);
        assert_eq!(without_column(&statements, 0, 2, may_drop), None);
        let copied = ["CREATE TABLE t(k INT, c INT)", "CREATE TABLE u(k INT, c INT)", "INSERT INTO u SELECT * FROM t"];
        let fewer = without_column(&copied.map(str::to_owned), 0, 0, |_, column| column == "c").expect("a column");
        assert_eq!(fewer, ["CREATE TABLE t(k INT)", "CREATE TABLE u(k INT)", "INSERT INTO u SELECT * FROM t"]);
        assert_eq!(without_column(&statements, 1, 0, may_drop), None);
    }
}
