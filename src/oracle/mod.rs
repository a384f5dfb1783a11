//! What can be checked. One file per oracle, one trait: given a random generator, produce a database and test cases.
//!
//! Oracles are pure. They say which statements to run and how the results must relate; [`crate::hunt`] runs them.

pub mod caq;

use crate::caq::fill::Fill;
use crate::rng::Rng;
use crate::sql::profile::Switch;
use std::sync::Arc;

/// One query of a test case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestQuery {
    /// Its text.
    pub sql: String,
    /// The optimizer switch that is turned while it runs.
    pub switch: Option<Arc<Switch>>,
    /// Position of the class member it is an instance of.
    pub member: usize,
}

/// Queries whose results must be the same bag of rows on the current database.
#[derive(Debug, Clone, Default)]
pub struct TestCase {
    /// The queries, at least two. The vector is reused from case to case; only `len` are valid.
    queries: Vec<TestQuery>,
    len: usize,
    /// What was put into the placeholders.
    pub fills: Vec<Fill>,
}

impl TestCase {
    /// Empties the case, keeping its memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.fills.clear();
    }

    /// Adds a query and returns it, empty, to be written.
    pub fn add_query(&mut self, member: usize, switch: Option<Arc<Switch>>) -> &mut TestQuery {
        if self.len == self.queries.len() {
            self.queries.push(TestQuery::default());
        }
        let query = &mut self.queries[self.len];
        self.len += 1;
        query.sql.clear();
        query.member = member;
        query.switch = switch;
        query
    }

    /// The queries.
    pub fn queries(&self) -> &[TestQuery] {
        &self.queries[..self.len]
    }
}

/// Something the equivalence rests on, to be checked on the case's own data before a difference is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// In words.
    pub text: String,
    /// The query whose rows show it.
    pub sql: String,
    /// What every row must satisfy.
    pub expected: Expected,
}

/// What the rows of a claim's query must satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Every value of the single column is of the type or NULL, and there are as many rows as the second column says.
    Type(crate::sql::types::SqlType),
    /// As many rows as the second column says.
    RowCount,
    /// Every value is NULL.
    Null,
    /// There are no rows.
    NoRows,
}

/// A database of one class and the cases on it.
pub trait Round {
    /// The class.
    fn class(&self) -> &str;

    /// Statements before the first cases, and before each further batch of cases.
    fn epochs(&self) -> &[Vec<String>];

    /// Writes the next case into `case`. The generator alone decides what it is.
    fn case(&self, rng: &mut Rng, case: &mut TestCase);

    /// Rewrites the queries of `case` for its present fillings, after the reducer changed them.
    fn render(&self, case: &mut TestCase);

    /// What the case's equivalence rests on.
    fn claims(&self, case: &TestCase) -> Vec<Claim>;

    /// Simpler fillings of each placeholder that keep the constraints that can be seen without an engine.
    fn simpler(&self, case: &TestCase, placeholder: usize) -> Vec<Fill>;
}

/// An oracle.
pub trait Oracle {
    /// Its name, as users select it.
    fn name(&self) -> &'static str;

    /// The classes it checks on this target.
    fn classes(&self) -> Vec<&str>;

    /// Makes a database of a random class.
    fn round<'a>(&'a self, rng: &mut Rng) -> Box<dyn Round + 'a>;
}
