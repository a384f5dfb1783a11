//! The `consistency` oracle: an expression has the same value on the same row in every context.
//!
//! Our own. A case is an expression and a few of the [`contexts`]; each is a query whose result is the bag of the rows'
//! keys with the expression's values, so that comparing bags compares by key. An expression that depends on nothing but
//! the row, as a snippet does by its claims, must give one bag.

pub mod contexts;
mod expressions;
mod rows;
mod shrink;

use super::{Claim, Expected, Oracle, Round, TestCase, TestQuery};
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
        mut accepts: impl FnMut(&[String], &str) -> Result<(), String>,
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
            match oracle.accepted(context, &mut accepts) {
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

    fn profile(&self) -> &Profile {
        &self.capabilities.profile
    }

    fn accepted(
        &self,
        context: &Context,
        accepts: &mut dyn FnMut(&[String], &str) -> Result<(), String>,
    ) -> Result<(), String> {
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
        accepts(&statements, &query.sql)
    }
}

impl Oracle for Consistency {
    fn name(&self) -> &'static str {
        NAME
    }

    fn classes(&self) -> Vec<&str> {
        self.contexts.iter().map(|context| context.name).collect()
    }

    fn round<'a>(&'a self, rng: &mut Rng) -> Box<dyn Round + 'a> {
        let database = Database::generate(&self.capabilities, rng);
        let epochs = vec![database.statements.clone()];
        Box::new(ConsistencyRound { oracle: self, database, epochs })
    }
}

struct ConsistencyRound<'a> {
    oracle: &'a Consistency,
    database: Database,
    epochs: Vec<Vec<String>>,
}

impl ConsistencyRound<'_> {
    fn expression(&self, rng: &mut Rng) -> Arc<Snippet> {
        let expressions = &self.oracle.expressions;
        let of_corpus = chance(rng, self.oracle.snippet_percent);
        let drawn =
            (0..ATTEMPTS).find_map(|_| if of_corpus { expressions.of_corpus(rng) } else { expressions.generated(rng) });
        drawn.unwrap_or_else(|| expressions.column(rng))
    }

    /// The contexts in which an expression may be compared.
    fn contexts_for(&self, snippet: &Snippet, row: Option<usize>) -> Vec<&'static Context> {
        let exceptions = &self.oracle.profile().context_exceptions;
        let exceptions: Vec<_> = exceptions.iter().filter(|e| e.words.iter().any(|w| snippet.has_word(w))).collect();
        let excepted = |name: &str| exceptions.iter().any(|e| e.contexts.iter().any(|p| matches_glob(p, name)));
        let can_be_folded = rows::can_be_folded(self.oracle.profile(), snippet);
        let fits = |context: &&&Context| {
            (context.rows == Rows::Any || row.is_some())
                && (!context.folds || can_be_folded)
                && (!context.truth || snippet.boolean_valued)
                && !excepted(context.name)
        };
        self.oracle.contexts.iter().filter(fits).copied().collect()
    }

    fn snippet<'a>(&self, case: &'a TestCase) -> &'a Snippet {
        match case.fills.first() {
            Some(Fill::Snippet { snippet, .. }) => snippet,
            _ => unreachable!("a case of this oracle has one expression, a snippet"),
        }
    }
}

/// The position of the scan among the contexts, as cases number them; the others follow.
const SCAN_AT: usize = 0;

fn context(at: usize) -> &'static Context {
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
        // The scan is blamed only if nothing else is.
        let other = queries.iter().rev().find(|query| query.member != SCAN_AT);
        other.map_or(NAME, |query| context(query.member).name)
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

    fn render(&self, case: &mut TestCase) {
        let Some(Fill::Snippet { snippet, .. }) = case.fills.first().cloned() else { return };
        let site = Site { oracle: self.oracle, database: &self.database, snippet: &snippet, row: case.row };
        for query in &mut case.queries[..case.len] {
            query.clear();
            site.write(context(query.member), query);
        }
    }

    fn claims(&self, case: &TestCase, queries: &[usize]) -> Vec<Claim> {
        let snippet = self.snippet(case);
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
            Claim {
                text: format!("one value per row, the same each time: {expr}"),
                sql: value,
                expected: if truth { Expected::Type(SqlType::Boolean) } else { Expected::RowCount },
            },
            Claim {
                text: format!("no value without a row: {expr}"),
                sql: format!("SELECT ({expr}) FROM {TABLE} AS q0 WHERE 1 = 0"),
                expected: Expected::NoRows,
            },
        ];
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
        let snippet = self.snippet(case);
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

/// Where a context's templates are filled.
struct Site<'a> {
    oracle: &'a Consistency,
    database: &'a Database,
    snippet: &'a Snippet,
    row: Option<usize>,
}

impl Site<'_> {
    fn write(&self, context: &Context, query: &mut TestQuery) {
        let fill = |template: &&str| self.filled(template);
        query.before.extend(context.before.iter().map(fill));
        query.sql.push_str(&self.filled(context.sql));
        query.after.extend(context.after.iter().map(fill));
        if context.sql.contains("#P") {
            query.parameters.extend(self.literals());
        }
    }

    fn filled(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('#') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            out.push_str(&self.part(from.as_bytes().get(1).copied().unwrap_or_default()));
            rest = &from[2.min(from.len())..];
        }
        out.push_str(rest);
        out
    }

    fn part(&self, name: u8) -> String {
        match name {
            b'E' => self.expression(),
            b'B' => self.rendered(|column, out| out.push_str(&self.snippet.columns[column].0)),
            b'F' => self.rendered(|column, out| out.push_str(&self.value(column))),
            b'I' => format!("SELECT q0.k AS k, ({}) AS v FROM {TABLE} AS q0", self.expression()),
            b'R' => self.row.map(|row| self.row_query(row)).unwrap_or_default(),
            b'K' => self.key(),
            b'0' => self.filter("q0", " WHERE "),
            b'1' => self.filter("q1", " WHERE "),
            b'2' => self.filter("q2", " WHERE "),
            b'A' => self.filter("q0", " AND "),
            // Arithmetic keeps an index on the key from being used.
            b'S' => {
                if self.row.is_some() {
                    format!(" WHERE q0.k + 0 = {}", self.key())
                } else {
                    String::new()
                }
            }
            b'P' => self.rendered(|column, out| out.push_str(&self.typed(column, &format!("${}", column + 1)))),
            b'L' => self.literals().join(", "),
            b'Q' => quoted(&format!("SELECT {}, ({})", self.key(), self.positional(&mut Vec::new()))),
            b'U' => {
                let mut order = Vec::new();
                self.positional(&mut order);
                let literals = self.literals();
                order.into_iter().map(|column: usize| literals[column].as_str()).collect::<Vec<_>>().join(", ")
            }
            b'D' => self.oracle.profile().drop_index.replace("#I", "t_index").replace("#T", "t_indexed"),
            _ => String::new(),
        }
    }

    fn rendered(&self, write: impl FnMut(usize, &mut String)) -> String {
        let columns: Vec<Arc<str>> = self.snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        let mut out = String::new();
        self.snippet.render_with(&columns, TABLE, &mut out, write);
        out
    }

    /// The expression over `q0`.
    fn expression(&self) -> String {
        self.rendered(|column, out| {
            out.push_str("q0.");
            out.push_str(&self.snippet.columns[column].0);
        })
    }

    /// The expression with `?` for its columns, whose positions in their order go to `order`.
    fn positional(&self, order: &mut Vec<usize>) -> String {
        self.rendered(|column, out| {
            order.push(column);
            out.push_str(&self.typed(column, "?"));
        })
    }

    /// A text of exactly the type of a column of the snippet; not a query's text where there is none.
    fn typed(&self, column: usize, text: &str) -> String {
        self.oracle.profile().value(&self.snippet.columns[column].1, text).unwrap_or_default()
    }

    /// The literal of each column of the snippet, in the row.
    fn literals(&self) -> Vec<String> {
        let Some(row) = self.row else { return Vec::new() };
        let literal = |(name, _): &(String, ColumnType)| self.database.literal(row, name).to_owned();
        self.snippet.columns.iter().map(literal).collect()
    }

    /// The row's value of a column of the snippet.
    fn value(&self, column: usize) -> String {
        let row = self.row.unwrap_or_default();
        self.typed(column, self.database.literal(row, &self.snippet.columns[column].0))
    }

    fn key(&self) -> String {
        self.row.map_or_else(String::new, |row| self.database.rows[row].key.to_string())
    }

    fn filter(&self, alias: &str, keyword: &str) -> String {
        if self.row.is_some() { format!("{keyword}{alias}.k = {}", self.key()) } else { String::new() }
    }

    /// The row as a query, with the columns that the snippet names.
    fn row_query(&self, row: usize) -> String {
        let mut sql = format!("SELECT {} AS k", self.database.rows[row].key);
        for (at, (name, _)) in self.snippet.columns.iter().enumerate() {
            sql.push_str(&format!(", {} AS {name}", self.value(at)));
        }
        sql
    }
}

/// A text as a literal, for engines that take backslashes in literals.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
