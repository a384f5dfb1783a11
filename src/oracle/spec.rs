//! The `spec` oracle: a query returns the rows that the prover's reference evaluator computes for it.
//!
//! The evaluator is an executable specification of SQL with bags and NULL. The other oracles compare what an engine says
//! with what it says elsewhere, and miss a fault that is the same everywhere; this one sees it. Its queries are members of
//! classes of the catalogue, proven or not, filled with expressions of the evaluator's language. What dialects define in
//! different ways makes a case void, with the reason.

use super::caq::{CaqDatabase, CaqOracle};
use super::{Accepts, Case, Oracle, Registration, Setting, SharedCase, TestDatabase};
use crate::caq::instantiation::TableInstantiation;
use crate::caq::node::{Inner, Node};
use crate::generate::database::Database;
use crate::generate::{Capabilities, ColumnInfo, Corpus, TableInfo};
use crate::program::{Assumption, Evaluation, Meaning, Program, Ready, Relation, Step, tables_of};
use crate::rng::Rng;
use crate::sql::operator::{Kind, OpPiece, Operator};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::types::{SqlType, Value};
use prover::ir::{Schema, Type};
use rand::RngExt as _;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

/// Its name.
pub const NAME: &str = "spec";

/// How the program knows it.
pub const REGISTRATION: Registration = Registration {
    name: NAME,
    about: "a query returns what the reference evaluator computes",
    of_catalogue: true,
    open: |setting, accepts| (!setting.catalogue.is_empty()).then(|| Box::new(Spec::new(&setting, accepts)) as _),
};

/// Cases drawn until one has a meaning.
const DRAWS: usize = 6;

/// The types of values that the evaluator knows.
const TYPES: [SqlType; 4] = [SqlType::Int, SqlType::Text, SqlType::Boolean, SqlType::Real];

/// What the steps of a case are.
const OBSERVED: &str = "the rows of a table";
const QUERY: &str = "the query";
const MEANING: &str = "what it means, by the reference evaluator";

/// The oracle, for one target.
struct Spec {
    /// Makes the queries.
    queries: CaqOracle,
    profile: Arc<Profile>,
}

impl Spec {
    fn new(setting: &Setting, accepts: Accepts) -> Self {
        let profile = setting.capabilities.profile.clone();
        let capabilities = Arc::new(in_language(&setting.capabilities));
        let setting = Setting { capabilities, snippet_percent: 0, may_fail_percent: 0, ..*setting };
        Self { queries: CaqOracle::new(setting, accepts), profile }
    }
}

/// What a target takes, without what the evaluator has no meaning for.
fn in_language(capabilities: &Capabilities) -> Capabilities {
    let profile = &capabilities.profile;
    let int = class_type(SqlType::Int, profile);
    let sample = format!("CREATE TABLE t(i {int}, s TEXT, r DOUBLE PRECISION, b BOOLEAN)");
    let row = vec![Value::Int(1), Value::Text(b"a".to_vec()), Value::Real(1.5), Value::Bool(true)];
    let rows = [row, vec![Value::Null; 4]];
    let schema = tables_of(&sample).ok();
    // What an operator gives, if it has a meaning; on this very row it may have none, as a sum that is no whole number.
    let result = |op: &Operator| {
        let meaning = Meaning::over(schema.as_ref()?, &over_sample(op), profile).ok()?;
        let has_rows = rows.iter().any(|row| meaning.rows(&[std::slice::from_ref(row)]).is_ok());
        meaning.columns().first().filter(|_| has_rows).map(Type::domain).and_then(|ty| of_class(&ty))
    };
    let grammar = capabilities.grammar.rewritten(|op| typed(op).filter_map(|op| with_result(op, &result)).collect());
    // Where any value is a condition, the evaluator wants a truth value still.
    let profile = Arc::new(Profile { truth_of_any_value: false, ..(**profile).clone() });
    Capabilities { profile, grammar, corpus: Corpus::default(), ..capabilities.clone() }
}

/// The same operator for values of one type each, as the evaluator wants them.
fn typed(op: &Operator) -> impl Iterator<Item = Operator> {
    let is_open = op.operands.contains(&Kind::Any) || op.pieces.contains(&OpPiece::Column(None));
    let types = if is_open { &TYPES[..] } else { &TYPES[..1] };
    types.iter().map(|ty| {
        let mut op = op.clone();
        for operand in &mut op.operands {
            if *operand == Kind::Any {
                *operand = Kind::Typed(*ty);
            }
        }
        for piece in &mut op.pieces {
            if *piece == OpPiece::Column(None) {
                *piece = OpPiece::Column(Some(*ty));
            }
        }
        op
    })
}

/// An operator that has a meaning, with the type that this gives where the operator claims none.
fn with_result(mut op: Operator, result: &dyn Fn(&Operator) -> Option<SqlType>) -> Option<Operator> {
    let found = result(&op)?;
    op.results.retain(|result| *result != Kind::Any);
    if op.results.is_empty() {
        op.results.push(Kind::Typed(found));
    }
    Some(op)
}

/// The type of classes that a type of the evaluator is.
fn of_class(ty: &Type) -> Option<SqlType> {
    Some(match ty {
        Type::Boolean => SqlType::Boolean,
        Type::Integer => SqlType::Int,
        Type::Double => SqlType::Real,
        Type::Text => SqlType::Text,
        _ => return None,
    })
}

/// A query that applies an operator to columns of the sample.
fn over_sample(op: &Operator) -> String {
    let name = |ty| match ty {
        SqlType::Text => "s",
        SqlType::Real => "r",
        SqlType::Boolean => "b",
        SqlType::Int | SqlType::Blob => "i",
    };
    let operands = op.operands.iter().map(|kind| {
        let ty = match (kind, op.results.first()) {
            (Kind::Typed(ty), _) | (Kind::Same, Some(Kind::Typed(ty))) => *ty,
            _ => SqlType::Int,
        };
        Node::Column { level: 0, name: name(ty).into() }
    });
    let operands = operands.collect();
    let column = op.pieces.iter().find_map(|piece| if let OpPiece::Column(ty) = piece { *ty } else { None });
    let inner = Inner { level: 1, table: "t".into(), column: name(column.unwrap_or(SqlType::Int)).into() };
    let inner = op.has_subquery().then_some(inner);
    let mut sql = "SELECT ".to_owned();
    Node::Operator { op: Arc::new(op.clone()), operands, inner }.render("q", &mut sql);
    sql + " FROM t AS q"
}

/// A class's type as the evaluator is told it: that of the engine, without what only the engine knows.
fn class_type(ty: SqlType, profile: &Profile) -> &str {
    match ty {
        SqlType::Int => profile.declared(&ColumnType::Class(ty)).split(' ').next().unwrap_or("INT"),
        SqlType::Text => "TEXT",
        SqlType::Real => "DOUBLE PRECISION",
        SqlType::Boolean => "BOOLEAN",
        SqlType::Blob => "BLOB",
    }
}

impl Oracle for Spec {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A case takes some five times as long as one of `caq`.
    fn share(&self) -> u32 {
        1
    }

    fn classes(&self) -> Vec<&str> {
        self.queries.classes()
    }

    fn unused(&self) -> &BTreeMap<String, String> {
        self.queries.unused()
    }

    fn database<'a>(&'a self, rng: &mut Rng) -> Box<dyn TestDatabase + 'a> {
        Box::new(SpecDatabase::new(self, self.queries.generate(rng)))
    }
}

struct SpecDatabase<'a> {
    oracle: &'a Spec,
    queries: CaqDatabase<'a>,
    /// The tables, without repetitions.
    tables: Vec<TableInfo>,
    /// How the evaluator is told of them, and how it understood that.
    schema: String,
    read: Option<Schema>,
}

impl<'a> SpecDatabase<'a> {
    fn new(oracle: &'a Spec, mut queries: CaqDatabase<'a>) -> Self {
        for table in &mut queries.database_mut().tables {
            table.columns.retain(|column| type_known(column).is_some());
        }
        let mut tables: Vec<TableInfo> = queries.database().tables.clone();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables.dedup_by(|a, b| a.name == b.name);
        let create = |table: &TableInfo| {
            let typed = columns(table).map(|(name, ty)| format!("{name} {}", class_type(ty, &oracle.profile)));
            format!("CREATE TABLE {}({});", table.name, typed.collect::<Vec<_>>().join(", "))
        };
        let schema = tables.iter().map(create).collect::<Vec<_>>().join(" ");
        let read = tables_of(&schema).ok();
        if let Some(read) = &read {
            narrow(queries.database_mut(), |sql| Meaning::seeming(read, sql, &oracle.profile).is_ok());
        }
        Self { oracle, queries, tables, schema, read }
    }
}

/// Leaves out of a database what cases of it would have no meaning with.
fn narrow(database: &mut Database, has_meaning: impl Fn(&str) -> bool) {
    let Database { tables, table_fills, table_origins, favourites, .. } = database;
    for ((table, fills), origins) in tables.iter().zip(table_fills).zip(table_origins) {
        let is_meant = |fill: &TableInstantiation| match fill {
            TableInstantiation::Name(name) => tables.iter().any(|table| table.name == *name),
            TableInstantiation::Derived(query) | TableInstantiation::Cte { query, .. } => has_meaning(query),
        };
        if fills.is_empty() {
            continue;
        }
        let all = std::mem::take(fills).into_iter().zip(std::mem::take(origins));
        (*fills, *origins) = all.filter(|(fill, _)| is_meant(fill)).unzip();
        if fills.is_empty() {
            fills.push(TableInstantiation::Name(table.name.clone()));
            origins.push(None);
        }
    }
    for (table, favourites) in tables.iter().zip(favourites) {
        favourites.retain(|favourite| {
            let mut sql = "SELECT 1 FROM ".to_owned();
            sql.push_str(&table.name);
            sql.push_str(" AS q WHERE ");
            favourite.render("q", &mut sql);
            has_meaning(&sql)
        });
    }
}

impl TestDatabase for SpecDatabase<'_> {
    fn oracle(&self) -> &'static str {
        NAME
    }

    fn class(&self) -> &str {
        self.queries.class()
    }

    fn may_drop(&self, table: &str, column: &str) -> bool {
        self.queries.may_drop(table, column)
    }

    fn epochs(&self) -> &[Vec<String>] {
        self.queries.epochs()
    }

    fn case<'a>(&'a self, rng: &mut Rng) -> SharedCase<'a> {
        let mut draw = || SpecCase::new(self, self.queries.case(rng), |members| rng.random_range(0..members));
        let mut case = draw();
        for _ in 1..DRAWS {
            if case.meaning.is_some() {
                break;
            }
            case = draw();
        }
        Rc::new(case)
    }
}

/// One of the queries of a case of a class, on what it reads.
struct SpecCase<'a> {
    on: &'a SpecDatabase<'a>,
    queries: SharedCase<'a>,
    /// The query's position among those of the class's case.
    member: usize,
    query: Step,
    /// What it means, if it has a meaning.
    meaning: Option<Arc<Meaning>>,
}

impl<'a> SpecCase<'a> {
    /// Most cases are only looked at once, so what is certain of their meaning is found out where a check is violated.
    fn new(on: &'a SpecDatabase<'a>, queries: SharedCase<'a>, choose: impl FnOnce(usize) -> usize) -> Self {
        let mut program = Program::default();
        queries.program(&mut program);
        let member = choose(program.steps().len().max(1));
        let query = program.steps().get(member).cloned().unwrap_or_default();
        let profile = &on.oracle.profile;
        let meaning = on.read.as_ref().and_then(|read| Meaning::seeming(read, query.sql.sql(), profile).ok());
        Self { on, queries, member, query, meaning: meaning.map(Arc::new) }
    }
}

/// The columns of a table with their types.
fn columns(table: &TableInfo) -> impl Iterator<Item = (&str, SqlType)> {
    table.columns.iter().filter_map(|column| Some((&*column.name, type_known(column)?)))
}

/// The type of a column whose values the evaluator knows: of a class's type, text byte by byte.
fn type_known(column: &ColumnInfo) -> Option<SqlType> {
    column.ty.filter(|ty| column.binary && *ty != SqlType::Blob)
}

impl<'a> Case<'a> for SpecCase<'a> {
    fn program(&self, into: &mut Program) {
        let mut tables = Vec::new();
        let mut observed = 0;
        for (at, table) in self.on.tables.iter().enumerate() {
            if !self.meaning.as_ref().is_some_and(|meaning| meaning.reads(at)) {
                tables.push(None);
                continue;
            }
            let names: Vec<&str> = columns(table).map(|(name, _)| name).collect();
            let step = into.add_step(self.query.member, None);
            // Writing to a string does not fail.
            let _ = write!(step.sql.sql_mut(), "SELECT {} FROM {}", names.join(", "), table.name);
            tables.push(Some(observed));
            observed += 1;
        }
        let query = into.add_step(self.query.member, self.query.switch.clone());
        query.sql.push_text(&self.query.sql);
        let evaluated = into.add_step(self.query.member, None);
        evaluated.sql.push_text(&self.query.sql);
        let ready = self.meaning.clone().map_or_else(Ready::default, Into::into);
        evaluated.evaluation = Some(Evaluation { schema: self.on.schema.clone(), tables, ready });
        into.add_check(Relation::EqualBag, [observed, observed + 1]);
    }

    fn describe(&self) -> Vec<String> {
        self.queries.describe()
    }

    fn assumptions(&self, program: &Program, steps: &[usize]) -> Vec<Assumption> {
        self.queries.assumptions(program, steps)
    }

    fn parts(&self) -> usize {
        self.queries.parts()
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let with = |queries| Rc::new(Self::new(self.on, queries, |_| self.member)) as SharedCase<'a>;
        self.queries.smaller(part).into_iter().map(with).collect()
    }

    fn context(&self, step: &Step) -> Option<&str> {
        Some(match &step.evaluation {
            Some(_) => MEANING,
            None if step.sql == self.query.sql => QUERY,
            None => OBSERVED,
        })
    }

    fn only_subquery(&self) -> Option<usize> {
        self.queries.only_subquery()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(sql: &str, results: &[&str], args: &[&str]) -> Operator {
        let raw = serde_json::json!({ "sql": sql, "results": results, "args": args });
        serde_json::from_value(raw).expect("an operator")
    }

    #[test]
    fn operators_on_any_value_become_one_for_each_type_with_a_meaning() {
        let result = |op: &Operator| (op.operands[0] != Kind::Typed(SqlType::Text)).then_some(SqlType::Real);
        let become_of = |op: &Operator| typed(op).filter_map(|op| with_result(op, &result)).collect::<Vec<_>>();
        let sums = become_of(&operator("$1 + $2", &["LOOSE"], &["ANY", "ANY"]));
        assert_eq!(sums.len(), 3, "not of text");
        for sum in &sums {
            assert_eq!(sum.results, [Kind::Typed(SqlType::Real)]);
            assert!(matches!(sum.operands[..], [Kind::Typed(one), Kind::Typed(other)] if one == other), "{sum:?}");
        }
        let less = become_of(&operator("$1 < (SELECT MIN(#N) FROM #T AS #A)", &["BOOLEAN"], &["ANY"]));
        assert!(less.iter().all(|op| op.results == [Kind::Typed(SqlType::Boolean)]), "a claim stays: {less:?}");
        let columns: Vec<&OpPiece> =
            less.iter().flat_map(|op| &op.pieces).filter(|piece| matches!(piece, OpPiece::Column(_))).collect();
        assert!(columns.len() == 3 && columns.iter().all(|piece| **piece != OpPiece::Column(None)), "{columns:?}");
        assert_eq!(become_of(&operator("$1 + 1", &["INT"], &["INT"])).len(), 1);
    }
}
