//! Reduction: fewer statements, fewer rows, two queries, simpler fillings; the same kind of failure.
//!
//! Only what keeps the equivalence is changed: the database, and fillings on all queries alike. The members' own text is
//! never touched, because it is what was shown to be equivalent. After a change of filling the claims are checked again.

use super::confirm::{Replay, Run, broken_claim, replay};
use crate::dbms::Connection;
use crate::oracle::{Round, TestCase};
use crate::sql::lex::{Token, tokens};

/// A case while it is reduced.
pub struct Reduction<'a> {
    /// The connection; its database is replaced many times.
    pub connection: &'a mut dyn Connection,
    /// The round the case is of.
    pub round: &'a dyn Round,
    /// Statements that make the database.
    pub statements: Vec<String>,
    /// The case.
    pub case: TestCase,
    /// The two queries that disagree, or the one that fails.
    pub queries: Vec<usize>,
    /// Case runs left.
    pub attempts: usize,
    /// Told before each run, so that a watcher sees progress.
    pub tick: &'a mut dyn FnMut(),
}

impl Reduction<'_> {
    /// Reduces as far as the attempts reach.
    pub fn run(&mut self) {
        let split: Vec<String> = self.statements.iter().flat_map(|s| split_rows(s)).collect();
        if split.len() != self.statements.len() && self.fails(&split, &self.case.clone()) {
            self.statements = split;
        }
        loop {
            let before = (self.statements.len(), self.case.queries().iter().map(|q| q.sql.len()).sum::<usize>());
            self.fewer_statements();
            self.simpler_fillings();
            let after = (self.statements.len(), self.case.queries().iter().map(|q| q.sql.len()).sum::<usize>());
            if after == before || self.attempts == 0 {
                break;
            }
        }
    }

    /// Whether the failure shows with these statements and this case, and every claim holds.
    fn fails(&mut self, statements: &[String], case: &TestCase) -> bool {
        if self.attempts == 0 {
            return false;
        }
        self.attempts -= 1;
        (self.tick)();
        let queries: Vec<Run> =
            self.queries.iter().map(|at| &case.queries()[*at]).map(|q| (q.sql.as_str(), q.disable_mask)).collect();
        match replay(self.connection, statements, &queries) {
            Replay::Different { .. } => broken_claim(self.connection, &self.round.claims(case)).is_none(),
            Replay::Internal { .. } => queries.len() == 1,
            Replay::Equal | Replay::Void(_) => false,
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
                fewer.drain(start..end);
                if self.fails(&fewer, &self.case.clone()) {
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

    fn simpler_fillings(&mut self) {
        for placeholder in 0..self.case.fills.len() {
            while let Some(simpler) = self.simpler(placeholder) {
                self.case = simpler;
            }
        }
    }

    /// The first simpler filling of a placeholder with which the case still fails.
    fn simpler(&mut self, placeholder: usize) -> Option<TestCase> {
        for fill in self.round.simpler(&self.case, placeholder) {
            let mut case = self.case.clone();
            case.fills[placeholder] = fill;
            self.round.render(&mut case);
            let statements = self.statements.clone();
            if self.fails(&statements, &case) {
                return Some(case);
            }
        }
        None
    }
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
    let mut depth = 0;
    for token in &all[values + 1..] {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                rows.push(std::mem::take(&mut row));
                continue;
            }
            _ => {}
        }
        row.push_str(&token.text());
    }
    rows.push(row);
    rows.into_iter().map(|row| format!("{head} {}", row.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_insert_are_split() {
        assert_eq!(
            split_rows("INSERT OR IGNORE INTO t(a, b) VALUES (1, '),('), (f(2, 3), NULL)"),
            ["INSERT OR IGNORE INTO t(a, b) VALUES (1, '),(')", "INSERT OR IGNORE INTO t(a, b) VALUES (f(2, 3), NULL)"]
        );
        assert_eq!(split_rows("ANALYZE"), ["ANALYZE"]);
    }
}
