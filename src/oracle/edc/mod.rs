//! The `edc` oracle: a query over an operation, and the same query over a table that stores the operation's results (EDC
//! paper, Algorithms 1 and 2, Table 2).
//!
//! A case has two queries: one computes the operation in place, the other reads the column `r` of the table `t_stored`,
//! which a statement before it fills with the results. Where the type of that column is declared, a step before both reads
//! it from the engine. What a column does not keep of an expression, by the documentation, is in the profile.

mod case;
mod operation;
mod predicate;
mod query;

use super::expressions::{Expressions, TABLE, table_info};
use super::{Accepts, Case as _, Oracle, Registration, Setting, SharedCase, TRIED, TestDatabase, some_runs};
use crate::config::matches_glob;
use crate::generate::{Capabilities, Function, Literals, TableInfo, any_type};
use crate::program::{Program, Text};
use crate::rng::{Rng, chance, pick, stream};
use crate::sql::profile::{ColumnType, Profile, Typing};
use crate::sql::types::SqlType;
use case::{EdcCase, INDEXES, Way};
use operation::{KEY, Operation};
use query::{Fidelity, Query, Shape, Site};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use strum::VariantArray as _;

/// Its name.
pub const NAME: &str = "edc";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a query over an operation agrees with the same query over a table that stores its results",
    of_catalogue: false,
    open: |setting, accepts| {
        let any = Shape::VARIANTS.iter().any(|shape| wanted(setting.patterns, *shape));
        any.then(|| Box::new(Edc::new(setting, accepts)) as _)
    },
};

/// The table of results.
const STORED: &str = "t_stored";

/// Columns that an operation's rows have besides, at most, as in the paper.
const CARRIED_MAX: usize = 3;

/// Rows of the base table, of which the paper has up to 100; most tables have few, so that a case is fast.
const ROWS: [usize; 10] = [1, 2, 4, 8, 8, 12, 12, 20, 40, 100];

/// Rows of one INSERT, at most.
const INSERTED_MAX: usize = 20;

/// In how many of a hundred cases the results have an index.
const INDEXED_PERCENT: u32 = 40;

/// Operations drawn until one is fit for a shape.
const ATTEMPTS: usize = 8;

fn wanted(patterns: &[String], shape: Shape) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_glob(pattern, shape.name()))
}

/// The oracle, for one target.
struct Edc {
    capabilities: Arc<Capabilities>,
    expressions: Expressions,
    shapes: Vec<Shape>,
    /// Ways to store results, each with an index of theirs or without one.
    ways: Vec<(Way, Option<&'static str>)>,
    /// Aggregates that the target takes.
    aggregates: Vec<Function>,
    /// Whether it has window functions.
    windows: bool,
    /// Columns by which rows are grouped: equal values of theirs are the same.
    groupable: Vec<Arc<str>>,
    snippet_percent: u32,
    may_fail_percent: u32,
    unused: BTreeMap<String, String>,
}

impl Edc {
    fn new(setting: Setting, accepts: Accepts) -> Self {
        let Setting { capabilities, patterns, snippet_percent, may_fail_percent, .. } = setting;
        let expressions = Expressions::new(&capabilities);
        let of = [SqlType::Int, SqlType::Text, SqlType::Boolean];
        let columns = table_info(&capabilities.profile).columns;
        let groupable = columns.into_iter().filter(|column| column.ty.is_some_and(|ty| of.contains(&ty)));
        let mut oracle = Self {
            groupable: groupable.map(|column| column.name).collect(),
            capabilities,
            expressions,
            shapes: Vec::new(),
            ways: Vec::new(),
            aggregates: Vec::new(),
            windows: false,
            snippet_percent,
            may_fail_percent,
            unused: BTreeMap::new(),
        };
        oracle.probe(accepts);
        for shape in Shape::VARIANTS.iter().copied().filter(|shape| wanted(patterns, *shape)) {
            match oracle.accepted(shape, accepts) {
                Ok(()) => oracle.shapes.push(shape),
                Err(why) => drop(oracle.unused.insert(shape.name().to_owned(), why)),
            }
        }
        oracle
    }

    fn profile(&self) -> &Profile {
        &self.capabilities.profile
    }

    /// Finds out which ways to store, aggregates and windows the target takes. What an aggregate takes is asked
    /// once for each of its signatures; the answers are kept with the build.
    fn probe(&mut self, accepts: Accepts) {
        let mut rng = stream(0, &[]);
        let database = EdcDatabase::with_rows(self, 1, &mut rng);
        let statements = database.epochs[0].clone();
        let case = |way, index| {
            let operation = Operation::column(self, &mut stream(0, &[]));
            let site = Site { operation: &operation, carried: &[] };
            let query = Query::draw(&database, &site, Shape::Select, Fidelity::Values, &mut stream(0, &[]));
            let case = EdcCase { on: &database, operation, carried: Vec::new(), way, index, query };
            let mut program = Program::default();
            case.program(&mut program);
            program
        };
        let mut runs = |program: &Program| {
            let steps = program.steps();
            let [before @ .., last] = steps else { return Err("no steps".to_owned()) };
            // The type is not known before it is asked: any will do.
            let int = self.profile().declared(&ColumnType::Class(SqlType::Int));
            let text = |text: &Text| filled(text, int);
            let mut made = statements.clone();
            for step in before {
                let mut made = made.clone();
                for statement in step.before.iter().map(text).chain([text(&step.sql)]) {
                    accepts(&made, &statement)?;
                    made.push(statement);
                }
            }
            for statement in last.before.iter().map(text) {
                accepts(&made, &statement)?;
                made.push(statement);
            }
            accepts(&made, &text(&last.sql))
        };
        let generated = (0..self.capabilities.generated_columns.len()).map(Way::Generated);
        let typed = [Way::Typed].into_iter().chain(generated).filter(|_| self.profile().stored.is_some());
        let mut ways: Vec<(Way, Option<&str>)> = Vec::new();
        for way in [Way::TableAs].into_iter().chain(typed) {
            let indexes = [None].into_iter().chain(INDEXES.map(Some));
            ways.extend(indexes.map(|index| (way, index)).filter(|(way, index)| runs(&case(*way, *index)).is_ok()));
        }
        let window = Operation::window(self, &mut stream(0, &[]));
        let windows = window.is_some_and(|window| accepts(&statements, &window.query(&[], TABLE)).is_ok());
        let mut aggregates = self.exact_aggregates();
        aggregates.retain(|aggregate| {
            let draw = |seed| Operation::aggregate(self, aggregate, &mut stream(seed, &[]));
            let operation = (0..TRIED).find_map(draw);
            operation.is_some_and(|operation| accepts(&statements, &operation.query(&[], TABLE)).is_ok())
        });
        (self.ways, self.windows, self.aggregates) = (ways, windows, aggregates);
    }

    /// The aggregates of the engine's list, those that add up for exact numbers only.
    fn exact_aggregates(&self) -> Vec<Function> {
        let Some(catalogue) = &self.profile().aggregates else { return Vec::new() };
        let matches = |patterns: &[String], name: &str| patterns.iter().any(|pattern| matches_glob(pattern, name));
        let all = self.capabilities.aggregates.iter().filter_map(|aggregate| {
            let mut aggregate = aggregate.clone();
            if matches(&catalogue.rounding, &aggregate.name) {
                for argument in &mut aggregate.arguments {
                    *argument = argument.replace("#ANY", "#INT");
                }
                if aggregate.arguments.iter().any(|argument| argument.contains("#REAL")) {
                    return None;
                }
            }
            Some(aggregate)
        });
        all.collect()
    }

    /// Whether an aggregate takes its rows in an order.
    fn is_ordered(&self, name: &str) -> bool {
        let catalogue = self.profile().aggregates.as_ref();
        catalogue.is_some_and(|of| of.ordered.iter().any(|pattern| matches_glob(pattern, name)))
    }

    /// Whether some case of a shape runs here, or what the target said to the last one tried.
    fn accepted(&self, shape: Shape, accepts: Accepts) -> Result<(), String> {
        some_runs(|seed| {
            let mut rng = stream(seed, &[]);
            let database = EdcDatabase::with_rows(self, 1, &mut rng);
            let case = database.case_at(shape, &mut rng);
            let mut program = Program::default();
            EdcCase { way: Way::TableAs, index: None, ..case }.program(&mut program);
            let [base, stored] = program.steps() else { return Err("no steps".to_owned()) };
            let mut statements = database.epochs[0].clone();
            accepts(&statements, base.sql.sql())?;
            for statement in &stored.before {
                accepts(&statements, statement.sql())?;
                statements.push(statement.sql().to_owned());
            }
            accepts(&statements, stored.sql.sql())
        })
    }
}

/// A text with the same in all its holes.
fn filled(text: &Text, with: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    for hole in text.holes() {
        out.push_str(&text.sql()[from..hole.at]);
        out.push_str(with);
        from = hole.at;
    }
    out.push_str(&text.sql()[from..]);
    out
}

impl Oracle for Edc {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A case of it makes a table, and takes as long as one of the contexts.
    fn share(&self) -> u32 {
        3
    }

    fn classes(&self) -> Vec<&str> {
        self.shapes.iter().map(|shape| shape.name()).collect()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        &self.unused
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        let rows = pick(rng, &ROWS).copied().unwrap_or(1);
        Box::new(EdcDatabase::with_rows(self, rows, rng))
    }
}

/// The base table.
struct EdcDatabase<'a> {
    oracle: &'a Edc,
    epochs: Vec<Vec<String>>,
    /// Keys are from 1 to this number.
    rows: usize,
    literals: Literals,
    table: TableInfo,
}

impl<'a> EdcDatabase<'a> {
    fn with_rows(oracle: &'a Edc, rows: usize, rng: &mut Rng) -> Self {
        let profile = oracle.profile();
        let literals = Literals::draw(profile, rng);
        let table = table_info(profile);
        let columns = &profile.snippet_table.columns;
        let mut declared = String::new();
        for (name, ty) in columns {
            // Writing to a string does not fail.
            let _ = write!(declared, ", {name} {}", profile.declared(ty));
        }
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let key = if oracle.capabilities.enforced.keys { " PRIMARY KEY" } else { "" };
        let mut statements = profile.start.clone();
        statements.extend(pick(rng, &profile.start_options).filter(|_| chance(rng, 30)).cloned());
        statements.push(format!("CREATE TABLE {TABLE}({KEY} {int}{key}{declared})"));
        let null_percent = pick(rng, &[5, 20, 50]).copied().unwrap_or(20);
        let names: String = columns.keys().flat_map(|name| [", ", name]).collect();
        let insert = profile.inserts.first().map_or("INSERT INTO #R", String::as_str);
        let mixed = chance(rng, 40);
        let mut rows_of: Vec<String> = Vec::new();
        for row in 1..=rows {
            let mut text = format!("({row}");
            for column in &table.columns {
                let ty = column.ty.filter(|_| mixed && chance(rng, 12)).and_then(|ty| other_type(profile, ty, rng));
                let literal = match ty {
                    Some(other) => literals.operand(Some(other), 0, rng),
                    None => literals.of_column(column, null_percent, rng),
                };
                let _ = write!(text, ", {literal}");
            }
            rows_of.push(text + ")");
        }
        for some in rows_of.chunks(INSERTED_MAX) {
            let rows = format!("{TABLE}({KEY}{names}) VALUES {}", some.join(", "));
            statements.push(insert.replace("#R", &rows));
        }
        // Later cases are on a table that has an index too.
        let index = pick(rng, &oracle.groupable).map(|column| format!("CREATE INDEX t_index ON {TABLE}({column})"));
        let epochs = vec![statements, index.into_iter().collect()];
        Self { oracle, epochs, rows, literals, table }
    }

    fn case_at(&self, shape: Shape, rng: &mut Rng) -> EdcCase<'_> {
        let oracle = self.oracle;
        let drawn = (0..ATTEMPTS).find_map(|_| {
            let operation = match (shape, rng.random_range(0..100)) {
                (Shape::Having, _) | (_, 0..25) => Operation::any_aggregate(oracle, rng),
                (_, 25..40) if oracle.windows => Operation::window(oracle, rng),
                _ => Operation::scalar(oracle, rng),
            }?;
            let fidelity = self.fidelity(&operation, shape)?;
            Some((operation, fidelity))
        });
        let (operation, fidelity) = drawn.unwrap_or_else(|| {
            let operation = match shape {
                Shape::Having => Operation::count(oracle, rng),
                _ => Operation::column(oracle, rng),
            };
            let fidelity = self.fidelity(&operation, shape).unwrap_or(Fidelity::Values);
            (operation, fidelity)
        });
        let mut some = oracle.groupable.clone();
        some.shuffle(rng);
        some.truncate(rng.random_range(0..=CARRIED_MAX));
        let carried = operation.carried(&some);
        let query = Query::draw(self, &Site { operation: &operation, carried: &carried }, shape, fidelity, rng);
        let indexed = chance(rng, INDEXED_PERCENT);
        let generated = can_be_generated(&operation);
        let fits = |(way, index): &&(Way, Option<&'static str>)| {
            index.is_some() == indexed && (generated || !matches!(way, Way::Generated(_)))
        };
        let fitting: Vec<_> = oracle.ways.iter().filter(fits).collect();
        let (way, index) = pick(rng, &fitting).map_or((Way::TableAs, None), |of| **of);
        EdcCase { on: self, operation, carried, way, index, query }
    }

    /// How an operation may be used in a shape; `None` if it may not.
    fn fidelity(&self, operation: &Operation, shape: Shape) -> Option<Fidelity> {
        let profile = self.oracle.profile();
        let excepted = profile.context_exceptions.iter().any(|exception| {
            exception.covers(shape.name()) && exception.words.iter().any(|word| operation.has_word(word))
        });
        if excepted {
            return None;
        }
        let kept = [SqlType::Int, SqlType::Text, SqlType::Boolean];
        let exact = profile.stored.as_ref().is_some_and(|stored| stored.exact);
        // A JSON value compares as one, and a text that is stored as a text.
        let subtyped = profile.forbidden.subtype_prefixes.iter().any(|prefix| operation.has_prefix(prefix));
        let is_kept = |ty| kept.contains(&ty) && !(subtyped && ty == SqlType::Text);
        if exact || operation.ty().is_some_and(is_kept) {
            return Some(Fidelity::Type);
        }
        matches!(shape, Shape::Select | Shape::Where).then_some(Fidelity::Values)
    }
}

/// Another type whose values a column of a class's type may be given: where it holds values of any, or where an INSERT
/// makes of what does not fit the nearest that does.
fn other_type(profile: &Profile, ty: SqlType, rng: &mut Rng) -> Option<SqlType> {
    let takes_any = profile.typing == Typing::Dynamic || profile.truth_of_any_value;
    let both = [SqlType::Int, SqlType::Real, SqlType::Text];
    let other = any_type(rng);
    (takes_any && both.contains(&ty) && both.contains(&other)).then_some(other)
}

/// Whether an operation may define a column.
fn can_be_generated(operation: &Operation) -> bool {
    matches!(operation, Operation::Scalar(snippet) if !snippet.has_subquery && !snippet.uses_own_table)
}

impl TestDatabase for EdcDatabase<'_> {
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
        let shape = pick(rng, &self.oracle.shapes).copied().unwrap_or(Shape::Select);
        Rc::new(self.case_at(shape, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::test_setting;
    use crate::program::Expected;

    /// The oracle for a target that takes everything.
    pub(super) fn oracle(dialect: &str) -> Edc {
        let sum = |argument: &str| Function { name: "sum".to_owned(), arguments: vec![argument.to_owned()] };
        let setting = test_setting(dialect, |capabilities| capabilities.aggregates = vec![sum("#ANY"), sum("#REAL")]);
        Edc::new(setting, &mut |_, _| Ok(()))
    }

    #[test]
    fn every_case_computes_in_place_and_reads_what_was_stored() {
        for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
            let oracle = oracle(dialect);
            assert_eq!(oracle.classes().len(), Shape::VARIANTS.len(), "{dialect}: {:?}", oracle.unused);
            let (mut typed, mut values) = (0, 0);
            for seed in 0..600 {
                let mut rng = stream(seed, &[]);
                let database = EdcDatabase::with_rows(&oracle, 2, &mut rng);
                let shape = pick(&mut rng, &oracle.shapes).copied().expect("a shape");
                let case = database.case_at(shape, &mut rng);
                let mut program = Program::default();
                case.program(&mut program);
                let [.., in_place, stored] = program.steps() else { panic!("{dialect}: two queries at least") };
                assert!(
                    !in_place.sql.sql().contains(STORED) && in_place.before.is_empty(),
                    "{dialect}: {}",
                    in_place.sql
                );
                assert!(stored.sql.sql().contains(STORED), "{dialect}: {}", stored.sql);
                assert!(stored.before[0].sql().starts_with("CREATE TABLE t_stored"), "{}", stored.before[0]);
                assert_eq!(stored.after.last().map(Text::sql), Some("DROP TABLE t_stored"));
                let last = program.steps().len() - 1;
                assert_eq!(program.checks()[0].steps, [last - 1, last]);
                // A type is declared only as the engine says it.
                let holes = stored.before.iter().flat_map(Text::holes).count();
                assert_eq!(holes, last - 1, "{dialect}");
                typed += holes;
                // Where a column does not have all of a type, either only values show, or the type is asked for.
                let exact = database.oracle.profile().stored.as_ref().is_some_and(|stored| stored.exact);
                let asked = case.assumptions(&program, &[]);
                let asked = asked.iter().any(|assumption| matches!(assumption.expected, Expected::Type(_)));
                values += usize::from(!case.query.needs_type());
                assert!(exact || asked || !case.query.needs_type(), "{dialect}: {}", in_place.sql);
            }
            assert!(typed > 60 && values > 10, "{dialect}: {typed}, {values}");
        }
    }

    #[test]
    fn sums_are_of_exact_numbers() {
        let oracle = oracle("postgres");
        let kept: Vec<&str> = oracle.aggregates.iter().map(|aggregate| aggregate.arguments[0].as_str()).collect();
        assert_eq!(kept, ["#INT"]);
    }
}
