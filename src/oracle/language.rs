//! The language of the prover's reference evaluator: what generators may use so that it knows what comes out, and what it is
//! told of a database.

use crate::caq::node::{Inner, Node};
use crate::generate::{Capabilities, ColumnInfo, Corpus, TableInfo};
use crate::program::{Evaluation, Meaning, Program, Ready, tables_of, told_type};
use crate::sql::operator::{Kind, OpPiece, Operator};
use crate::sql::profile::Profile;
use crate::sql::types::{SqlType, Value};
use prover::ir::{Schema, Type};
use std::fmt::Write as _;
use std::sync::Arc;

/// The types of values that the evaluator knows.
const TYPES: [SqlType; 4] = [SqlType::Int, SqlType::Text, SqlType::Boolean, SqlType::Real];

/// What a target takes, without what the evaluator has no meaning for.
pub(super) fn in_language(capabilities: &Capabilities) -> Capabilities {
    let profile = &capabilities.profile;
    let int = told_type(SqlType::Int, profile);
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

/// The columns of a table with their types.
fn columns(table: &TableInfo) -> impl Iterator<Item = (&str, SqlType)> {
    table.columns.iter().filter_map(|column| Some((&*column.name, type_known(column)?)))
}

/// The type of a column whose values the evaluator knows: of a class's type, text byte by byte.
fn type_known(column: &ColumnInfo) -> Option<SqlType> {
    column.ty.filter(|ty| column.binary && *ty != SqlType::Blob)
}

/// Takes the columns out of a table whose values the evaluator does not know.
pub(super) fn keep_known(table: &mut TableInfo) {
    table.columns.retain(|column| type_known(column).is_some());
}

/// The tables of a database, as the evaluator is told of them.
pub(super) struct Told {
    tables: Vec<TableInfo>,
    /// The statements that make them.
    schema: String,
    /// How it understood that.
    read: Option<Schema>,
}

impl Told {
    /// Describes tables of different names.
    pub(super) fn new(tables: Vec<TableInfo>, profile: &Profile) -> Self {
        let create = |table: &TableInfo| {
            let typed = columns(table).map(|(name, ty)| format!("{name} {}", told_type(ty, profile)));
            format!("CREATE TABLE {}({});", table.name, typed.collect::<Vec<_>>().join(", "))
        };
        let schema = tables.iter().map(create).collect::<Vec<_>>().join(" ");
        let read = tables_of(&schema).ok();
        Self { tables, schema, read }
    }

    /// Whether it understood what it was told.
    pub(super) fn is_read(&self) -> bool {
        self.read.is_some()
    }

    /// What a query over these tables seems to mean; what is certain is found out where a check is violated, for most cases
    /// are only looked at once.
    pub(super) fn meaning(&self, sql: &str, profile: &Profile) -> Option<Arc<Meaning>> {
        Meaning::seeming(self.read.as_ref()?, sql, profile).ok().map(Arc::new)
    }

    /// What a query over these tables certainly means.
    pub(super) fn certain_meaning(&self, sql: &str, profile: &Profile) -> Option<Arc<Meaning>> {
        Meaning::over(self.read.as_ref()?, sql, profile).ok().map(Arc::new)
    }

    /// Adds steps that look at those of the tables that are wanted, by their positions, and says where they are.
    pub(super) fn observe(
        &self,
        into: &mut Program,
        member: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<usize>> {
        let mut observe = |(at, table): (usize, &TableInfo)| {
            if !wanted(at) {
                return None;
            }
            let names: Vec<&str> = columns(table).map(|(name, _)| name).collect();
            let position = into.steps().len();
            let step = into.add_step(member, None);
            // Writing to a string does not fail.
            let _ = write!(step.sql.sql_mut(), "SELECT {} FROM {}", names.join(", "), table.name);
            Some(position)
        };
        self.tables.iter().enumerate().map(&mut observe).collect()
    }

    /// How the rows of a query are computed from those that steps have observed.
    pub(super) fn evaluation(&self, tables: Vec<Option<usize>>, meaning: Option<Arc<Meaning>>) -> Evaluation {
        Evaluation { schema: self.schema.clone(), tables, ready: meaning.map_or_else(Ready::default, Into::into) }
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
