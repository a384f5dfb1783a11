//! The `consistency` oracle: an expression has the same value on the same row in every context.
//!
//! Our own. A case is an expression and a few of the [`contexts`]; each is a query whose result is the bag of the rows'
//! keys with the expression's values, so that comparing bags compares by key. An expression that depends on nothing but
//! the row, as a snippet does by its claims, must give one bag.

pub mod contexts;
mod expressions;
mod rows;
mod shrink;
mod site;

use super::{Accepts, Claim, Expected, Oracle, Round, TestCase, TestQuery};
use crate::caq::fill::Fill;
use crate::config::matches_glob;
use crate::corpus::snippet::Snippet;
use crate::generate::Capabilities;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::types::SqlType;
use contexts::{CONTEXTS, Context, Rows, SCAN};
use expressions::Expressions;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rows::{Database, TABLE};
use site::Site;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Its name.
pub const NAME: &str = "consistency";

/// Contexts of one case, besides the scan.
const CONTEXTS_PER_CASE: usize = 4;

/// Expressions tried before a column is taken.
const ATTEMPTS: usize = 8;

/// Smaller forms of an expression that the reducer tries at once.
const SHORTER_MAX: usize = 80;

/// The oracle, for one target.
pub struct Consistency {
    capabilities: Arc<Capabilities>,
    contexts: Vec<&'static Context>,
    expressions: Expressions,
    /// In how many of a hundred cases the expression is made of corpus snippets rather than generated.
    snippet_percent: u32,
    /// Contexts that are not used here, and why.
    pub unused: BTreeMap<String, String>,
}

/// The contexts whose names match one of the patterns; all without patterns.
pub fn select(patterns: &[String]) -> Vec<&'static Context> {
    let wanted = |context: &&Context| patterns.is_empty() || patterns.iter().any(|p| matches_glob(p, context.name));
    CONTEXTS.iter().filter(wanted).collect()
}

impl Consistency {
    /// Keeps the contexts that the target takes: `accepts` tries a query on what statements make.
    pub fn new(
        contexts: Vec<&'static Context>,
        capabilities: Arc<Capabilities>,
        snippet_percent: u32,
        accepts: Accepts,
    ) -> Self {
        let expressions = Expressions::new(&capabilities);
        let mut oracle =
            Self { capabilities, contexts: Vec::new(), expressions, snippet_percent, unused: BTreeMap::new() };
        if contexts.is_empty() {
            return oracle;
        }
        let mut usable: Vec<&'static Context> = Vec::new();
        for context in contexts {
            if usable.iter().any(|form| form.name == context.name) {
                continue;
            }
            match oracle.accepted(context, accepts) {
                Ok(()) => {
                    oracle.unused.remove(context.name);
                    usable.push(context);
                }
                Err(why) => {
                    oracle.unused.insert(context.name.to_owned(), why);
                }
            }
        }
        oracle.contexts = usable;
        oracle
    }

    /// A database, and for each corpus snippet a case with every context in which it may be compared.
    pub fn survey(&self, rng: &mut Rng) -> (Vec<String>, Vec<TestCase>) {
        let round = ConsistencyRound::generate(self, rng);
        let case = |snippet: &Arc<Snippet>| {
            let mut case = TestCase { row: Some(0), ..TestCase::default() };
            let contexts = round.contexts_for(snippet, case.row);
            round.fill(snippet.clone(), contexts, &mut case, rng);
            case
        };
        (round.database.statements.clone(), self.capabilities.snippets.iter().map(case).collect())
    }

    fn profile(&self) -> &Profile {
        &self.capabilities.profile
    }

    fn accepted(&self, context: &Context, accepts: Accepts) -> Result<(), String> {
        if context.switched && self.capabilities.switches.is_empty() {
            return Err("there are no switches".to_owned());
        }
        let database = Database::one_row(&self.capabilities);
        let ty = ColumnType::Class(if context.truth { SqlType::Boolean } else { SqlType::Int });
        let column = self.profile().snippet_table.columns.iter().find(|(_, of)| **of == ty);
        let snippet =
            column.and_then(|(name, _)| self.expressions.parse(&format!("{TABLE}.{name}"))).ok_or("no column")?;
        let row = (context.rows == Rows::One).then_some(0);
        let mut query = TestQuery::default();
        Site { oracle: self, database: &database, snippet: &snippet, row }.write(context, &mut query);
        let mut statements = database.statements.clone();
        for statement in query.before {
            accepts(&statements, &statement)?;
            statements.push(statement);
        }
        accepts(&statements, &query.sql)?;
        // A temporary table would stay, and be in the way of every case.
        query.after.iter().try_for_each(|statement| accepts(&statements, statement))
    }
}

impl Oracle for Consistency {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Its contexts are few beside the classes, and a case of it takes three times as long.
    fn share(&self) -> u32 {
        1
    }

    fn classes(&self) -> Vec<&str> {
        self.contexts.iter().map(|context| context.name).collect()
    }

    fn round<'a>(&'a self, rng: &mut Rng) -> Box<dyn Round + 'a> {
        Box::new(ConsistencyRound::generate(self, rng))
    }
}

struct ConsistencyRound<'a> {
    oracle: &'a Consistency,
    database: Database,
    epochs: Vec<Vec<String>>,
}

impl<'a> ConsistencyRound<'a> {
    fn generate(oracle: &'a Consistency, rng: &mut Rng) -> Self {
        let database = Database::generate(&oracle.capabilities, rng);
        let epochs = vec![database.statements.clone()];
        Self { oracle, database, epochs }
    }

    /// Makes a case of an expression in these contexts and the scan.
    fn fill(&self, snippet: Arc<Snippet>, contexts: Vec<&'static Context>, case: &mut TestCase, rng: &mut Rng) {
        case.fills.push(fill(snippet));
        case.add_query(SCAN_AT, None);
        for context in contexts {
            let switch = if context.switched { pick(rng, &self.oracle.capabilities.switches).cloned() } else { None };
            let at = CONTEXTS.iter().position(|other| std::ptr::eq(other, context));
            let query = case.add_query(at.map_or(SCAN_AT, |at| at + 1), switch);
            query.optional = true;
        }
        self.render(case);
    }

    fn expression(&self, rng: &mut Rng) -> Arc<Snippet> {
        let expressions = &self.oracle.expressions;
        let of_corpus = chance(rng, self.oracle.snippet_percent);
        let drawn = (0..ATTEMPTS).find_map(|_| match of_corpus {
            true => expressions.of_corpus(rng),
            false if chance(rng, 50) => expressions.call(rng),
            false => expressions.generated(rng),
        });
        drawn.unwrap_or_else(|| expressions.column(rng))
    }

    /// The contexts in which an expression may be compared.
    fn contexts_for(&self, snippet: &Snippet, row: Option<usize>) -> Vec<&'static Context> {
        let exceptions = &self.oracle.profile().context_exceptions;
        let exceptions: Vec<_> = exceptions.iter().filter(|e| e.words.iter().any(|w| snippet.has_word(w))).collect();
        let excepted = |name: &str| exceptions.iter().any(|exception| exception.covers(name));
        let can_be_folded = rows::can_be_folded(self.oracle.profile(), snippet);
        let fits = |context: &&&Context| {
            (context.rows == Rows::Any || row.is_some())
                && (!context.folds || can_be_folded)
                && (!context.truth || snippet.boolean_valued)
                && !excepted(context.name)
        };
        self.oracle.contexts.iter().filter(fits).copied().collect()
    }
}

/// The expression of a case.
fn snippet_of(case: &TestCase) -> &Snippet {
    match case.fills.first() {
        Some(Fill::Snippet { snippet, .. }) => snippet,
        _ => unreachable!("a case of this oracle has one expression, a snippet"),
    }
}

/// The position of the scan among the contexts, as cases number them; the others follow.
const SCAN_AT: usize = 0;

/// The context that a query of a case is of, by its `member`.
pub fn context(at: usize) -> &'static Context {
    if at == SCAN_AT { &SCAN } else { &CONTEXTS[at - 1] }
}

fn fill(snippet: Arc<Snippet>) -> Fill {
    let columns = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
    Fill::Snippet { snippet, columns, table: TABLE.into() }
}

impl Round for ConsistencyRound<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        NAME
    }

    fn blamed(&self, queries: &[&TestQuery]) -> &str {
        queries.last().map_or(NAME, |query| context(query.member).name)
    }

    fn context(&self, query: &TestQuery) -> Option<&str> {
        Some(context(query.member).name)
    }

    fn may_drop(&self, _table: &str, column: &str) -> bool {
        self.oracle.profile().snippet_table.columns.contains_key(column)
    }

    fn epochs(&self) -> &[Vec<String>] {
        &self.epochs
    }

    fn case(&self, rng: &mut Rng, case: &mut TestCase) {
        case.clear();
        let snippet = self.expression(rng);
        case.row = if chance(rng, 50) { Some(rng.random_range(0..self.database.rows.len())) } else { None };
        let mut contexts = self.contexts_for(&snippet, case.row);
        contexts.shuffle(rng);
        contexts.truncate(CONTEXTS_PER_CASE);
        self.fill(snippet, contexts, case, rng);
    }

    fn render(&self, case: &mut TestCase) {
        let Some(Fill::Snippet { snippet, .. }) = case.fills.first().cloned() else { return };
        let site = Site { oracle: self.oracle, database: &self.database, snippet: &snippet, row: case.row };
        for query in &mut case.queries[..case.len] {
            query.clear();
            site.write(context(query.member), query);
        }
    }

    fn claims(&self, case: &TestCase, queries: &[usize]) -> Vec<Claim> {
        let snippet = snippet_of(case);
        let site = Site { oracle: self.oracle, database: &self.database, snippet, row: case.row };
        let expr = site.expression();
        let filter = site.filter("q0", " WHERE ");
        let value = format!(
            "SELECT ({expr}), (SELECT COUNT(*) FROM {TABLE} AS q1{}) FROM {TABLE} AS q0{filter}",
            site.filter("q1", " WHERE ")
        );
        let queries: Vec<&TestQuery> = queries.iter().map(|at| &case.queries()[*at]).collect();
        let contexts: Vec<&Context> = queries.iter().map(|query| context(query.member)).collect();
        let truth = contexts.iter().any(|context| context.truth);
        let mut claims = vec![
            if truth {
                let text = format!("a truth value on every row: {expr}");
                Claim { text, sql: value, expected: Expected::Type(SqlType::Boolean) }
            } else {
                let text = format!("one value per row, the same each time: {expr}");
                Claim { text, sql: value, expected: Expected::RowCount }
            },
            Claim {
                text: format!("no value without a row: {expr}"),
                sql: format!("SELECT ({expr}) FROM {TABLE} AS q0 WHERE 1 = 0"),
                expected: Expected::NoRows,
            },
        ];
        for exception in &self.oracle.profile().context_exceptions {
            let Some(type_of) = &exception.type_of else { continue };
            let types = |query: &TestQuery| format!("SELECT DISTINCT {type_of} FROM ({}) AS q(k, v)", query.sql);
            let widening = queries.iter().filter(|query| exception.covers(context(query.member).name));
            for query in widening {
                claims.push(Claim {
                    text: format!("{} keeps the type: {expr}", context(query.member).name),
                    sql: types(&case.queries()[0]),
                    expected: Expected::Same(types(query)),
                });
            }
        }
        let mut columns: Vec<&str> = vec!["k"];
        columns.extend(snippet.columns.iter().map(|(name, _)| name.as_str()));
        let columns = columns.join(", ");
        if let Some(row) = case.row.filter(|_| contexts.iter().any(|context| context.folds)) {
            claims.push(Claim {
                text: "the row has the values that were inserted".to_owned(),
                sql: format!("SELECT {columns} FROM {TABLE} AS q0{filter}"),
                expected: Expected::Same(format!("SELECT {columns} FROM ({}) AS q0", site.row_query(row))),
            });
        }
        let reads = |table: &str| queries.iter().any(|query| query.sql.contains(table));
        for table in rows::COPIES.into_iter().filter(|table| reads(table)) {
            claims.push(Claim {
                text: format!("{table} has the rows of {TABLE}"),
                sql: format!("SELECT {columns} FROM {TABLE}"),
                expected: Expected::Same(format!("SELECT {columns} FROM {table}")),
            });
        }
        if reads(rows::KEYS) {
            let keys = format!("SELECT k FROM {} WHERE k <= {}", rows::KEYS, rows::KEY_MAX);
            claims.push(Claim {
                text: format!("{} has the keys of {TABLE}", rows::KEYS),
                sql: format!("SELECT k FROM {TABLE}"),
                expected: Expected::Same(keys),
            });
        }
        claims
    }

    fn simpler(&self, case: &TestCase, _placeholder: usize) -> Vec<Fill> {
        let snippet = snippet_of(case);
        let mut shorter = Vec::new();
        for text in shrink::shorter(&snippet.sql, SHORTER_MAX) {
            if let Some(mut smaller) = self.oracle.expressions.parse(&text) {
                // What claims to be a truth value is asked again.
                smaller.boolean_valued = snippet.boolean_valued;
                shorter.push(fill(Arc::new(smaller)));
            }
        }
        shorter
    }
}
