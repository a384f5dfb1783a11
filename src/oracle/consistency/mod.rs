//! The `consistency` oracle: an expression has the same value on the same row in every context.
//!
//! Our own. A case is an expression and a few of the [`contexts`]; each is a query whose result is the bag of the rows'
//! keys with the expression's values, so that comparing bags compares by key. An expression that depends on nothing but
//! the row, as a snippet does by its claims, must give one bag.

pub mod contexts;
mod rows;
mod site;

use super::expressions::{Expressions, TABLE};
use super::{Accepts, Case, Oracle, Registration, Setting, SharedCase, TestDatabase, Use, note_snippet, shrink};
use crate::caq::instantiation::Instantiation;
use crate::config::matches_glob;
use crate::generate::Capabilities;
use crate::program::{Assumption, Expected, Program, Relation, Step};
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{ColumnType, Profile, Switch};
use crate::sql::snippet::Snippet;
use crate::sql::types::SqlType;
use contexts::{CONTEXTS, Context, Rows, SCAN};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rows::Database;
use site::Site;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Its name.
pub const NAME: &str = "consistency";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "an expression has one value on one row, whatever the context",
    of_catalogue: false,
    open: |setting, accepts| {
        (!select(setting.patterns).is_empty()).then(|| Box::new(Consistency::new(setting, accepts)) as _)
    },
};

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
    /// In how many of these it may be one that fails on some rows.
    may_fail_percent: u32,
    /// Contexts that are not used here, and why.
    unused: BTreeMap<String, String>,
}

/// The contexts whose names match one of the patterns; all without patterns.
fn select(patterns: &[String]) -> Vec<&'static Context> {
    let wanted = |context: &&Context| patterns.is_empty() || patterns.iter().any(|p| matches_glob(p, context.name));
    CONTEXTS.iter().filter(wanted).collect()
}

impl Consistency {
    /// Keeps the contexts that the target takes: `accepts` tries a query on what statements make.
    pub fn new(setting: Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, patterns, snippet_percent, may_fail_percent, .. } = setting;
        let expressions = Expressions::new(&capabilities);
        let (contexts, unused) = (Vec::new(), BTreeMap::new());
        let mut oracle = Self { capabilities, contexts, expressions, snippet_percent, may_fail_percent, unused };
        let mut usable: Vec<&'static Context> = Vec::new();
        for context in select(patterns) {
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
    pub fn survey(&self, rng: &mut Rng) -> (Vec<String>, Vec<Program>) {
        let database = ConsistencyDatabase::generate(self, rng);
        let case = |snippet: &Arc<Snippet>| {
            let contexts = database.contexts_for(snippet, Some(0));
            let mut program = Program::default();
            database.case_of(snippet.clone(), Some(0), contexts, rng).program(&mut program);
            program
        };
        let cases = self.capabilities.corpus.expressions.iter().map(case).collect();
        (database.database.statements.clone(), cases)
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
        let mut step = Step::default();
        Site { oracle: self, database: &database, snippet: &snippet, row }.write(context, &mut step);
        let mut statements = database.statements.clone();
        for statement in &step.before {
            accepts(&statements, statement.sql())?;
            statements.push(statement.sql().to_owned());
        }
        accepts(&statements, step.sql.sql())?;
        // A temporary table would stay, and be in the way of every case.
        step.after.iter().try_for_each(|statement| accepts(&statements, statement.sql()))
    }
}

impl Oracle for Consistency {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Its contexts are few beside the classes, and a case of it takes three times as long.
    fn share(&self) -> u32 {
        3
    }

    fn classes(&self) -> Vec<&str> {
        self.contexts.iter().map(|context| context.name).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        Box::new(ConsistencyDatabase::generate(self, rng))
    }
}

struct ConsistencyDatabase<'a> {
    oracle: &'a Consistency,
    database: Database,
    epochs: Vec<Vec<String>>,
}

impl<'a> ConsistencyDatabase<'a> {
    fn generate(oracle: &'a Consistency, rng: &mut Rng) -> Self {
        let database = Database::generate(&oracle.capabilities, rng);
        let epochs = vec![database.statements.clone()];
        Self { oracle, database, epochs }
    }

    /// Makes a case of an expression in these contexts and the scan.
    fn case_of(
        &self,
        snippet: Arc<Snippet>,
        row: Option<usize>,
        contexts: Vec<&'static Context>,
        rng: &mut Rng,
    ) -> ConsistencyCase<'_> {
        let mut switched = |context: &Context| {
            if context.switched { pick(rng, &self.oracle.capabilities.switches).cloned() } else { None }
        };
        let at = |context| CONTEXTS.iter().position(|other| std::ptr::eq(other, context)).map_or(SCAN_AT, |at| at + 1);
        let others = contexts.into_iter().map(|context| (at(context), switched(context)));
        ConsistencyCase { on: self, snippet, row, contexts: [(SCAN_AT, None)].into_iter().chain(others).collect() }
    }

    fn expression(&self, rng: &mut Rng) -> Arc<Snippet> {
        let expressions = &self.oracle.expressions;
        let of_corpus = chance(rng, self.oracle.snippet_percent);
        let may_fail = chance(rng, self.oracle.may_fail_percent);
        let drawn = (0..ATTEMPTS).find_map(|_| match of_corpus {
            true => expressions.of_corpus(may_fail, rng),
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

/// The position of the scan among the contexts, as cases number them; the others follow.
const SCAN_AT: usize = 0;

/// The context that a query of a case is of, by its `member`.
pub fn context(at: usize) -> &'static Context {
    if at == SCAN_AT { &SCAN } else { &CONTEXTS[at - 1] }
}

impl TestDatabase for ConsistencyDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        NAME
    }

    fn may_drop(&self, _table: &str, column: &str) -> bool {
        self.oracle.profile().snippet_table.columns.contains_key(column)
    }

    fn epochs(&self) -> &[Vec<String>] {
        &self.epochs
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let snippet = self.expression(rng);
        let row = if chance(rng, 50) { Some(rng.random_range(0..self.database.rows.len())) } else { None };
        let mut contexts = self.contexts_for(&snippet, row);
        contexts.shuffle(rng);
        contexts.truncate(CONTEXTS_PER_CASE);
        Rc::new(self.case_of(snippet, row, contexts, rng))
    }
}

/// An expression in several contexts, the first of which is the scan.
struct ConsistencyCase<'a> {
    on: &'a ConsistencyDatabase<'a>,
    snippet: Arc<Snippet>,
    /// The row that it is about, where it is about one.
    row: Option<usize>,
    /// The contexts, as [`context`] numbers them, each with the switch that is turned meanwhile.
    contexts: Vec<(usize, Option<Arc<Switch>>)>,
}

impl ConsistencyCase<'_> {
    fn site(&self) -> Site<'_> {
        Site { oracle: self.on.oracle, database: &self.on.database, snippet: &self.snippet, row: self.row }
    }
}

impl<'a> Case<'a> for ConsistencyCase<'a> {
    fn program(&self, into: &mut Program) {
        let site = self.site();
        for (at, switch) in &self.contexts {
            let step = into.add_step(*at, switch.clone());
            step.optional = *at != SCAN_AT;
            site.write(context(*at), step);
        }
        into.add_check(Relation::EqualBag, 0..self.contexts.len());
    }

    fn describe(&self) -> Vec<String> {
        let snippet = self.snippet.clone();
        let columns = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        vec![Instantiation::Snippet { snippet, columns, table: TABLE.into() }.describe()]
    }

    fn uses(&self, note: &mut dyn FnMut(Use<'_>)) {
        note_snippet(&self.snippet, note);
    }

    fn parts(&self) -> usize {
        1
    }

    fn smaller(&self, _part: usize) -> Vec<SharedCase<'a>> {
        let of = |text: &String| {
            let mut snippet = self.on.oracle.expressions.parse(text)?;
            // What claims to be a truth value is asked again.
            snippet.boolean_valued = self.snippet.boolean_valued;
            snippet.is_of(&self.snippet);
            let (snippet, contexts) = (Arc::new(snippet), self.contexts.clone());
            Some(Rc::new(Self { on: self.on, snippet, row: self.row, contexts }) as SharedCase<'a>)
        };
        shrink::shorter(&self.snippet.sql, SHORTER_MAX).iter().filter_map(of).collect()
    }

    fn left_out(&self, _part: usize) -> usize {
        shrink::shorter(&self.snippet.sql, usize::MAX).len().saturating_sub(SHORTER_MAX)
    }

    fn context(&self, step: &Step) -> Option<&str> {
        Some(context(step.member).name)
    }

    fn blamed(&self, steps: &[&Step]) -> Option<&str> {
        steps.last().map(|step| context(step.member).name)
    }

    fn assumptions(&self, program: &Program, steps: &[usize]) -> Vec<Assumption> {
        let (site, snippet) = (self.site(), &self.snippet);
        let expr = site.expression();
        let filter = site.filter("q0", " WHERE ");
        let value = format!(
            "SELECT ({expr}), (SELECT COUNT(*) FROM {TABLE} AS q1{}) FROM {TABLE} AS q0{filter}",
            site.filter("q1", " WHERE ")
        );
        let steps: Vec<&Step> = steps.iter().map(|at| &program.steps()[*at]).collect();
        let contexts: Vec<&Context> = steps.iter().map(|step| context(step.member)).collect();
        let truth = contexts.iter().any(|context| context.truth);
        let mut assumptions = vec![
            if truth {
                let text = format!("a truth value on every row: {expr}");
                Assumption { text, sql: value.into(), expected: Expected::Type(SqlType::Boolean) }
            } else {
                let text = format!("one value per row, the same each time: {expr}");
                Assumption { text, sql: value.into(), expected: Expected::RowCount }
            },
            Assumption {
                text: format!("no value without a row: {expr}"),
                sql: format!("SELECT ({expr}) FROM {TABLE} AS q0 WHERE 1 = 0").into(),
                expected: Expected::NoRows,
            },
        ];
        for exception in &self.on.oracle.profile().context_exceptions {
            let name = contexts.iter().map(|context| context.name).find(|name| exception.covers(name));
            if let (Some(name), Some(changed)) =
                (name, exception.changed(&format!("SELECT q0.k, ({expr}) FROM {TABLE} AS q0{filter}")))
            {
                assumptions.push(Assumption {
                    text: format!("{name} keeps the value: {expr}"),
                    sql: changed.into(),
                    expected: Expected::NoRows,
                });
            }
            let Some(type_of) = &exception.type_of else { continue };
            let types = |step: &Step| format!("SELECT DISTINCT {type_of} FROM ({}) AS q(k, v)", step.sql);
            let widening = steps.iter().filter(|step| exception.covers(context(step.member).name));
            for step in widening {
                assumptions.push(Assumption {
                    text: format!("{} keeps the type: {expr}", context(step.member).name),
                    sql: types(&program.steps()[0]).into(),
                    expected: Expected::Same(types(step).into()),
                });
            }
        }
        let mut columns: Vec<&str> = vec!["k"];
        columns.extend(snippet.columns.iter().map(|(name, _)| name.as_str()));
        let columns = columns.join(", ");
        if let Some(row) = self.row.filter(|_| contexts.iter().any(|context| context.folds)) {
            assumptions.push(Assumption {
                text: "the row has the values that were inserted".to_owned(),
                sql: format!("SELECT {columns} FROM {TABLE} AS q0{filter}").into(),
                expected: Expected::Same(format!("SELECT {columns} FROM ({}) AS q0", site.row_query(row)).into()),
            });
        }
        let reads = |table: &str| steps.iter().any(|step| step.sql.sql().contains(table));
        for table in rows::COPIES.into_iter().filter(|table| reads(table)) {
            assumptions.push(Assumption {
                text: format!("{table} has the rows of {TABLE}"),
                sql: format!("SELECT {columns} FROM {TABLE}").into(),
                expected: Expected::Same(format!("SELECT {columns} FROM {table}").into()),
            });
        }
        if reads(rows::KEYS) {
            let keys = format!("SELECT k FROM {} WHERE k <= {}", rows::KEYS, rows::KEY_MAX);
            assumptions.push(Assumption {
                text: format!("{} has the keys of {TABLE}", rows::KEYS),
                sql: format!("SELECT k FROM {TABLE}").into(),
                expected: Expected::Same(keys.into()),
            });
        }
        assumptions
    }
}
