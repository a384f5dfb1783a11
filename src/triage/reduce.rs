//! Reduction: fewer statements, fewer rows, two queries, simpler fillings; the same kind of failure.
//!
//! Only what keeps the checks is changed: the database, and the case as its oracle says. What the checks rest on is asked
//! again after every change. Settings, on which they may rest, go only if nothing that can be seen changes.

use super::finding::FindingKind;
use super::limits::{Limit, Limits};
use super::neutral::{Construct, without};
use super::part::Part;
use super::rows::{
    join_rows, null_literal, simpler_literals, split_rows, split_statements, with_column, with_rows, with_values,
    without_column,
};
use super::symptom::Symptom;
use crate::clock;
use crate::compare::Row;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::interpret::{StepResult, Verdict, all_results, broken_assumption, build, make, run};
use crate::oracle::{Columns, Folded, SharedCase, TestDatabase};
use crate::program::{Program, Step};
use crate::sql::cuts::cuts;
use crate::sql::lex::tidy;
use crate::sql::profile::Profile;
use crate::sql::schema::created_table;
use std::collections::BTreeSet;
use std::time::Instant;

/// Says whether an engine keeps what classes take for granted of it with these settings alone; the flag says whether foreign
/// keys count.
pub type Keeps<'a> = &'a mut dyn FnMut(&mut dyn Connection, &[String], bool) -> bool;

/// Says whether the prover calls the queries of a question equivalent and takes no more for granted than this.
pub type Proves<'a> = &'a mut dyn FnMut(&str, &BTreeSet<prover::ir::Assumption>) -> bool;

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
    /// Asks the prover.
    pub proves: Proves<'a>,
    /// Whether queries became simpler ones whose equivalence was proven while the case was reduced.
    pub reworded: bool,
    /// The case.
    pub case: SharedCase<'d>,
    /// What is wrong, and must stay so.
    pub symptom: Symptom,
    /// The part of the program that shows it.
    pub part: Part,
    /// Case runs left.
    pub attempts: usize,
    /// Whether the server went away meanwhile.
    pub lost: bool,
    /// Told before each run, so that a watcher sees progress.
    pub tick: &'a mut dyn FnMut(),
    /// When to be content with what there is.
    pub until: Option<Instant>,
    /// What limits kept from being tried.
    pub limits: Limits,
}

impl<'d> Reduction<'_, 'd> {
    /// Reduces as far as the attempts reach.
    pub fn run(&mut self) {
        let reserve = SETTINGS_ATTEMPTS.min(self.attempts / 2);
        self.attempts -= reserve;
        self.fewer_rows_and_fillings();
        self.attempts += REWORD_ATTEMPTS;
        if self.simpler_queries() {
            self.fewer_rows_and_fillings();
        }
        self.attempts = self.attempts.saturating_sub(REWORD_ATTEMPTS) + reserve;
        self.fewer_settings();
        self.attempts += DEFINITIONS_ATTEMPTS;
        self.shorter_indexes();
        self.plainer_definitions();
    }

    fn fewer_rows_and_fillings(&mut self) {
        let split: Vec<String> = self.statements.iter().flat_map(|s| split_rows(s)).collect();
        if split.len() != self.statements.len() && self.fails(&split, &self.case.clone()) {
            self.statements = split;
        }
        loop {
            let before = self.measure();
            self.fewer_statements();
            self.smaller_case();
            self.fewer_columns();
            self.shorter_queries();
            self.folded();
            self.plainer_values();
            self.nulls_for_smaller_cases();
            if self.measure() == before || self.attempts == 0 {
                break;
            }
        }
    }

    /// What becomes smaller: statements, their bytes, those of the queries.
    fn measure(&self) -> (usize, usize, usize) {
        (self.statements.len(), self.statements.iter().map(String::len).sum(), self.size())
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
        self.fails_in(statements, case, &self.part.clone())
    }

    /// The same of another part of the case's program.
    fn fails_in(&mut self, statements: &[String], case: &SharedCase, part: &Part) -> bool {
        if self.until.is_some_and(|until| clock::now() >= until) {
            self.attempts = 0;
            self.limits.count(Limit::Time, 1);
            return false;
        }
        if self.attempts == 0 {
            // A server that is gone is no limit.
            self.limits.count(Limit::Runs, usize::from(!self.lost));
            return false;
        }
        self.attempts -= 1;
        (self.tick)();
        let program = Self::program(case);
        let part = part.within(&program);
        let (steps, checks) = part.cut(&program);
        let (verdict, seen) = run(self.connection, self.profile, statements, &steps, &checks);
        match verdict {
            Verdict::Violated { .. } => {
                let assumptions = case.assumptions(&program, &part.involved());
                // The part's steps have other positions.
                let rows = |at: usize| seen[part.steps.iter().position(|kept| *kept == at)?].rows();
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
                self.lost = true;
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
        for table in rest.iter().filter_map(|statement| created_table(statement)) {
            seen.push(printed(self.connection.rows(&format!("SELECT * FROM {table}"))));
        }
        let steps = Self::steps_of(&self.case, &self.part);
        for result in all_results(self.connection, self.profile, &steps) {
            seen.push(match result {
                StepResult::Rows(some) => printed(Ok(some)),
                StepResult::Error(error) => printed(Err(error)),
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
        let statements = self.statements.clone();
        while let Some(shorter) = self.case.shorter().find(|case| self.fails(&statements, case)) {
            self.case = shorter;
        }
    }

    /// Takes the shortest two queries between which the check does not hold.
    fn shorter_queries(&mut self) {
        if self.symptom.kind != FindingKind::WrongResult {
            return;
        }
        let part = Part::pair();
        let (statements, size) = (self.statements.clone(), self.size_of_part());
        for case in self.case.pairs() {
            if measure(&Self::steps_of(&case, &part)) >= size {
                return;
            }
            if self.fails_in(&statements, &case, &part) {
                (self.case, self.part) = (case, part);
                return;
            }
        }
    }

    /// Takes the case that has the queries of the part and no others.
    fn only_the_pair(&mut self) {
        let texts = |case: &SharedCase, part: &Part| {
            let steps = Self::steps_of(case, part);
            steps.iter().map(|step| step.sql.sql().to_owned()).collect::<Vec<_>>()
        };
        let (of_part, pair) = (texts(&self.case, &self.part), Part::pair());
        let statements = self.statements.clone();
        // Of several with these texts, each with another switch, it is one that fails.
        let pairs = self.case.pairs();
        let mut fails =
            |case: &SharedCase<'d>| texts(case, &pair) == of_part && self.fails_in(&statements, case, &pair);
        if let Some(case) = pairs.into_iter().find(|case| fails(case)) {
            (self.case, self.part) = (case, pair);
        }
    }

    /// Takes simpler queries that the prover calls equivalent and between which the check does not hold either.
    fn simpler_queries(&mut self) -> bool {
        if self.symptom.kind != FindingKind::WrongResult {
            return false;
        }
        let (statements, before) = (self.statements.clone(), self.reworded);
        self.only_the_pair();
        let mut proofs = PROOFS_MAX;
        // The engine is asked before the prover, which takes longer.
        while let Some(simpler) = self.case.reworded().into_iter().find(|simpler| {
            if proofs == 0 {
                self.limits.count(Limit::Proofs, 1);
                return false;
            }
            self.fails(&statements, &simpler.case) && {
                proofs -= 1;
                (self.proves)(&simpler.question, &simpler.guarantees)
            }
        }) {
            (self.case, self.reworded) = (simpler.case, true);
        }
        let left_out = self.case.rewordings_left_out();
        self.limits.count(Limit::Rewordings, left_out);
        self.reworded != before
    }

    /// Switches turned and bytes of the part's queries.
    fn size_of_part(&self) -> (usize, usize) {
        measure(&Self::steps_of(&self.case, &self.part))
    }

    /// The steps of a part of a case.
    fn steps_of(case: &SharedCase, part: &Part) -> Vec<Step> {
        let program = Self::program(case);
        part.within(&program).cut(&program).0
    }

    /// Puts the rows of views, derived tables and common table expressions, and the values of expressions, into plain tables.
    fn folded(&mut self) {
        for part in 0..self.case.parts() {
            let Some(Folded { case, table, query, columns }) = self.case.folded(part) else { continue };
            (self.tick)();
            let statements = self.statements.clone();
            if build(self.connection, &statements).is_err() {
                continue;
            }
            let Ok(rows) = self.connection.rows(&query) else { continue };
            let defined = self.database.epochs().first().into_iter().flatten();
            let made = defined.into_iter().find(|statement| created_table(statement) == Some(&*table));
            let folded = match &columns {
                Columns::All(columns) => with_rows(&statements, made, &table, columns, &rows),
                Columns::Further { name, declared } => with_column(&statements, &table, (name, declared), &rows),
            };
            if let Some(folded) = folded
                && self.fails(&folded, &case)
            {
                (self.statements, self.case) = (folded, case);
            }
        }
    }

    /// Makes the values of rows simpler. They stay of their type, and the engine holds them to what the class demands.
    fn plainer_values(&mut self) {
        for at in 0..self.statements.len() {
            let mut cell = 0;
            while let Some(simpler) = with_values(&self.statements[at], cell, simpler_literals) {
                for statement in simpler {
                    let mut statements = self.statements.clone();
                    statements[at] = statement;
                    if self.fails(&statements, &self.case.clone()) {
                        self.statements = statements;
                        break;
                    }
                }
                cell += 1;
            }
        }
    }

    /// Makes values NULL where a smaller case then fails: an expression may be there for nothing but to make NULL of them.
    fn nulls_for_smaller_cases(&mut self) {
        for at in 0..self.statements.len() {
            let mut cell = 0;
            while let Some(null) = with_values(&self.statements[at], cell, null_literal) {
                cell += 1;
                let Some(null) = null.into_iter().next() else { continue };
                let (statements, case, size) = (self.statements.clone(), self.case.clone(), self.size());
                self.statements[at] = null;
                if self.fails(&self.statements.clone(), &case) {
                    self.smaller_case();
                }
                if self.size() >= size {
                    (self.statements, self.case) = (statements, case);
                }
            }
        }
    }

    /// Makes definitions of tables plainer, and joins INSERTs, where the tables keep their rows. Without a constraint, the
    /// rows still satisfy it, which is what the class rests on. So this comes last: no row may change any more.
    fn plainer_definitions(&mut self) {
        let Some(rows) = self.table_rows(&self.statements.clone()) else { return };
        let attempt = |reduction: &mut Self, statements: Vec<String>| {
            let same = reduction.fails(&statements, &reduction.case.clone())
                && reduction.table_rows(&statements).as_ref() == Some(&rows);
            if same {
                reduction.statements = statements;
            }
            same
        };
        // What a check rests on must stay as it is.
        let declared = if self.case.rests_on_definitions() { &[][..] } else { &DECLARED[..] };
        for construct in declared.iter().copied() {
            for at in 0..self.statements.len() {
                if let Some(plainer) = without(construct, &self.statements[at]) {
                    let mut statements = self.statements.clone();
                    statements[at] = tidy(&plainer);
                    attempt(self, statements);
                }
            }
        }
        for (insert, plain) in [
            ("INSERT OR IGNORE INTO", "INSERT INTO"),
            ("INSERT OR REPLACE INTO", "INSERT INTO"),
            ("REPLACE INTO", "INSERT INTO"),
            ("INSERT IGNORE INTO", "INSERT INTO"),
        ] {
            let statements: Vec<String> = self.statements.iter().map(|s| s.replacen(insert, plain, 1)).collect();
            if statements != self.statements {
                attempt(self, statements);
            }
        }
        let joined = join_rows(&self.statements);
        if joined.len() < self.statements.len() {
            attempt(self, joined);
        }
    }

    /// Cuts definitions of indexes: no result rests on what an index is of, unless it is unique.
    fn shorter_indexes(&mut self) {
        for at in 0..self.statements.len() {
            let is_index = |text: &str| text.starts_with("CREATE INDEX");
            if !is_index(&self.statements[at]) {
                continue;
            }
            let shorter = |reduction: &mut Self| {
                let (statements, case) = (reduction.statements.clone(), reduction.case.clone());
                let with = |cut: String| [&statements[..at], &[cut], &statements[at + 1..]].concat();
                let mut all = cuts(&statements[at]).into_iter().filter(|cut| is_index(cut)).map(with);
                all.find(|statements| reduction.fails(statements, &case) && reduction.accepts(statements, at))
            };
            while let Some(statements) = shorter(self) {
                self.statements = statements;
            }
        }
    }

    /// Whether a set-up statement does not fail.
    fn accepts(&mut self, statements: &[String], at: usize) -> bool {
        (self.tick)();
        make(self.connection, statements).is_ok_and(|failed| failed.iter().all(|(number, _)| *number != at))
    }

    /// The rows of every table that statements make, as they are printed: types count.
    fn table_rows(&mut self, statements: &[String]) -> Option<Vec<String>> {
        (self.tick)();
        build(self.connection, statements).ok()?;
        let mut all = Vec::new();
        for table in statements.iter().filter_map(|statement| created_table(statement)) {
            all.push(printed(self.connection.rows(&format!("SELECT * FROM {table}"))));
        }
        Some(all)
    }

    /// The first case with a smaller part that still fails.
    fn smaller(&mut self, part: usize) -> Option<SharedCase<'d>> {
        let statements = self.statements.clone();
        let smaller = self.case.smaller(part).into_iter().find(|case| self.fails(&statements, case));
        if smaller.is_none() {
            // Now it matters that there were more.
            let left_out = self.case.left_out(part);
            self.limits.count(Limit::Forms, left_out);
        }
        smaller
    }
}

/// What a query gives, as it is printed: types and signs of zeros count.
fn printed(rows: Result<Vec<Row>, EngineError>) -> String {
    match rows {
        Ok(rows) => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows.join("\n")
        }
        Err(error) => error.class.to_string(),
    }
}

/// How many switches steps turn, and the bytes of their queries.
fn measure(steps: &[Step]) -> (usize, usize) {
    let switched = steps.iter().filter(|step| step.switch.is_some()).count();
    (switched, steps.iter().map(|step| step.sql.sql().len()).sum())
}

/// What definitions of tables may go without, where their rows stay the same.
const DECLARED: [Construct; 7] = [
    Construct::TableOption,
    Construct::Check,
    Construct::Unique,
    Construct::PrimaryKey,
    Construct::NotNull,
    Construct::Collate,
    Construct::Statistics,
];

/// The attempts that are kept for settings.
const SETTINGS_ATTEMPTS: usize = 100;

/// Further attempts for simpler queries, and proofs of their equivalence.
const REWORD_ATTEMPTS: usize = 300;
const PROOFS_MAX: usize = 40;

/// Further attempts for definitions of indexes and tables.
const DEFINITIONS_ATTEMPTS: usize = 100;
