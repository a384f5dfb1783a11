//! What can be checked. One file per oracle, one trait: given a random generator, produce a database and test cases.
//!
//! Oracles are pure. They say which statements to run and how the results must relate; [`crate::hunt`] runs them.

pub mod caq;
pub mod consistency;

use crate::caq::fill::Fill;
use crate::rng::Rng;
use crate::sql::profile::Switch;
use rand::RngExt as _;
use std::sync::Arc;

/// One query of a test case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestQuery {
    /// Its text.
    pub sql: String,
    /// The optimizer switch that is turned while it runs.
    pub switch: Option<Arc<Switch>>,
    /// Position of what it is an instance of: a member of the class, a context.
    pub member: usize,
    /// Statements that make what it reads.
    pub before: Vec<String>,
    /// Statements that remove that again.
    pub after: Vec<String>,
    /// Literals whose values are bound to its parameters.
    pub parameters: Vec<String>,
    /// Whether the case goes on without it where the engine refuses it.
    pub optional: bool,
}

/// Queries whose results must be the same bag of rows on the current database.
#[derive(Debug, Clone, Default)]
pub struct TestCase {
    /// The queries, at least two. The vector is reused from case to case; only `len` are valid.
    queries: Vec<TestQuery>,
    len: usize,
    /// What was put into the placeholders.
    pub fills: Vec<Fill>,
    /// The row that the case is about, where it is about one.
    pub row: Option<usize>,
}

impl TestCase {
    /// Empties the case, keeping its memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.fills.clear();
        self.row = None;
    }

    /// Adds a query and returns it, empty, to be written.
    pub fn add_query(&mut self, member: usize, switch: Option<Arc<Switch>>) -> &mut TestQuery {
        if self.len == self.queries.len() {
            self.queries.push(TestQuery::default());
        }
        let query = &mut self.queries[self.len];
        self.len += 1;
        query.clear();
        query.member = member;
        query.switch = switch;
        query.optional = false;
        query
    }

    /// The queries.
    pub fn queries(&self) -> &[TestQuery] {
        &self.queries[..self.len]
    }
}

impl TestQuery {
    /// Empties its texts, keeping their memory.
    fn clear(&mut self) {
        self.sql.clear();
        self.before.clear();
        self.after.clear();
        self.parameters.clear();
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// Every value of the single column is of the type or NULL, and there are as many rows as the second column says.
    Type(crate::sql::types::SqlType),
    /// As many rows as the second column says.
    RowCount,
    /// Every value is NULL.
    Null,
    /// There are no rows.
    NoRows,
    /// They are those of this query, value by value and type by type.
    Same(String),
}

/// A database of one class and the cases on it.
pub trait Round {
    /// The name of the oracle.
    fn oracle(&self) -> &'static str;

    /// The class.
    fn class(&self) -> &str;

    /// The class that a failure of these queries counts for. Where two disagree, most others contradict the last.
    fn blamed(&self, _queries: &[&TestQuery]) -> &str {
        self.class()
    }

    /// What a query is an instance of, where that is no member of a class.
    fn context(&self, _query: &TestQuery) -> Option<&str> {
        None
    }

    /// Whether the reducer may take a column out of a table of this name, with its values.
    fn may_drop(&self, table: &str, column: &str) -> bool {
        // The generator names every column that is not the class's after its table.
        column.strip_prefix(table).is_some_and(|rest| rest.starts_with('_'))
    }

    /// Statements before the first cases, and before each further batch of cases.
    fn epochs(&self) -> &[Vec<String>];

    /// Writes the next case into `case`. The generator alone decides what it is.
    fn case(&self, rng: &mut Rng, case: &mut TestCase);

    /// Rewrites the queries of `case` for its present fillings, after the reducer changed them.
    fn render(&self, case: &mut TestCase);

    /// What the equivalence of some queries of the case, by their positions, rests on.
    fn claims(&self, case: &TestCase, queries: &[usize]) -> Vec<Claim>;

    /// Simpler fillings of each placeholder that keep the constraints that can be seen without an engine.
    fn simpler(&self, case: &TestCase, placeholder: usize) -> Vec<Fill>;
}

/// An oracle.
pub trait Oracle: Send + Sync {
    /// Its name, as users select it.
    fn name(&self) -> &'static str;

    /// Its share of the databases of a hunt, beside those of other oracles.
    fn share(&self) -> u32;

    /// The classes it checks on this target.
    fn classes(&self) -> Vec<&str>;

    /// Makes a database of a random class.
    fn round<'a>(&'a self, rng: &mut Rng) -> Box<dyn Round + 'a>;
}

/// Says whether the target takes a query on what statements make, or why not.
pub type Accepts<'a> = &'a mut dyn FnMut(&[String], &str) -> Result<(), String>;

/// The names of all oracles.
pub const NAMES: [&str; 2] = [caq::NAME, consistency::NAME];

/// The oracles of a hunt. Each database is of one of them, as often as its share says.
pub struct Oracles(Vec<Box<dyn Oracle>>);

impl Oracles {
    /// Those of these that have a class.
    pub fn new(oracles: Vec<Box<dyn Oracle>>) -> Self {
        Self(oracles.into_iter().filter(|oracle| !oracle.classes().is_empty()).collect())
    }

    /// The classes that they check on this target.
    pub fn classes(&self) -> Vec<&str> {
        self.0.iter().flat_map(|oracle| oracle.classes()).collect()
    }

    /// The classes of one of them.
    pub fn classes_of(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|oracle| oracle.name() == name).flat_map(|oracle| oracle.classes()).collect()
    }

    /// Makes a database of a random class of a random oracle; there must be one.
    pub fn round<'a>(&'a self, rng: &mut Rng) -> Box<dyn Round + 'a> {
        let [first, others @ ..] = self.0.as_slice() else { unreachable!("a hunt has an oracle") };
        let mut drawn = first;
        let mut shares = first.share();
        for oracle in others {
            shares += oracle.share();
            if rng.random_ratio(oracle.share(), shares) {
                drawn = oracle;
            }
        }
        drawn.round(rng)
    }
}
