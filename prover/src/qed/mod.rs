//! Reads pairs of query plans in the JSON form of the QED prover.
//!
//! The form is a relational algebra with typed expressions. Columns are numbered through all scopes, the outermost
//! row first, so the numbers of a subquery go on where those of its surroundings end. `union` keeps duplicates,
//! `intersect` and `except` do not, and `distinct` removes them. A literal is an operator without operands.
//!
//! The form leaves some things out: the lengths and scales of types and, where it was written by `CockroachDB`, the
//! names of functions. An obligation is about the plans as they are written; every call of the one operator
//! `FUNCTION` with the same arguments and result type is the same function, which is an assumption of the result.
//! What cannot be read with certainty is refused.

mod aggregate;
mod expr;
mod json;
mod literal;
mod operators;
mod plan;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::ir::{Assumption, Column, Key, Plan, Query, Schema, Table, Type};
use json::{field, list, object, text};
use literal::family;
use plan::Scopes;

/// A construct that has no certain meaning here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unsupported {0}")]
pub struct Unsupported(pub String);

/// Shorthand for refusing.
fn refuse<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

/// What lowering needs to know and collects.
struct Lowering<'a> {
    schema: &'a Schema,
    assumptions: BTreeSet<Assumption>,
}

/// The two queries over their schema. Where the outermost orders of the two differ, both are dropped and the queries
/// are about bags of rows, which the assumptions say.
pub fn obligation(schema: &Json, q1: &Json, q2: &Json) -> Result<(Schema, Query, Query), Unsupported> {
    let schema = read_schema(schema)?;
    let mut left = read_query(&schema, q1)?;
    let mut right = read_query(&schema, q2)?;
    let (left_types, right_types) = (left.plan.types(), right.plan.types());
    let comparable =
        left_types.len() == right_types.len() && left_types.iter().zip(&right_types).all(|(a, b)| a.unify(b).is_some());
    if !comparable {
        return refuse("pair with different result types");
    }
    if left.order != right.order {
        for query in [&mut left, &mut right] {
            query.order.clear();
            query.assumptions.insert(Assumption::OrderNotCompared);
        }
    }
    Ok((schema, left, right))
}

fn read_query(schema: &Schema, json: &Json) -> Result<Query, Unsupported> {
    let mut lowering = Lowering { schema, assumptions: BTreeSet::new() };
    let mut plan = lowering.plan(json, &Scopes::default())?;
    let order = lowering.outer_order(json, &plan)?;
    plan.settle_limits();
    Ok(Query { visible: plan.types().len(), plan, order, assumptions: lowering.assumptions })
}

fn read_schema(json: &Json) -> Result<Schema, Unsupported> {
    let mut schema = Schema::default();
    for (index, table) in list(json)?.iter().enumerate() {
        let table = read_table(table, index)?;
        schema.tables.push(table);
    }
    for (index, table) in list(json)?.iter().enumerate() {
        let Some(conditions) = table.get("guaranteed") else { continue };
        let mut checks = Vec::new();
        for condition in list(conditions)? {
            let mut lowering = Lowering { schema: &schema, assumptions: BTreeSet::new() };
            let row = Scopes::default().with(schema.tables[index].types());
            checks.push(lowering.condition(condition, &row)?);
        }
        schema.tables[index].checks = checks;
    }
    Ok(schema)
}

fn read_table(json: &Json, index: usize) -> Result<Table, Unsupported> {
    let fields = object(json, &["types", "nullable", "key", "guaranteed", "fields", "name", "foreign"])?;
    if fields.get("foreign").is_some_and(|f| f.as_array().is_none_or(|f| !f.is_empty())) {
        return refuse("foreign key");
    }
    let types = list(field(fields, "types")?)?;
    let nullable = list(field(fields, "nullable")?)?;
    if types.len() != nullable.len() {
        return refuse("table whose lists differ in length");
    }
    let mut columns = Vec::new();
    for (position, (ty, nullable)) in types.iter().zip(nullable).enumerate() {
        let name = fields.get("fields").and_then(|names| names.get(position)).and_then(Json::as_str);
        let Some(nullable) = nullable.as_bool() else { return refuse("nullability that is not a truth value") };
        columns.push(Column {
            name: name.map_or_else(|| format!("c{position}"), str::to_owned),
            ty: family(text(ty)?),
            not_null: !nullable,
            is_virtual: false,
            decimal: None,
            single: false,
            size: crate::ir::Size::Any,
        });
    }
    let mut keys = Vec::new();
    for key in fields.get("key").map_or(Ok([].as_slice()), list)? {
        let columns: Option<Vec<usize>> = list(key)?
            .iter()
            .map(|c| c.as_u64().and_then(|c| usize::try_from(c).ok()).filter(|c| *c < columns.len()))
            .collect();
        let Some(columns) = columns else { return refuse("key of something other than columns") };
        keys.push(Key { columns });
    }
    // A key over values with several equal forms is fine: equal keys are what the table forbids.
    let name = fields.get("name").and_then(Json::as_str).map_or_else(|| format!("t{index}"), str::to_owned);
    Ok(Table { name, columns, keys, foreign_keys: Vec::new(), checks: Vec::new() })
}

impl Lowering<'_> {
    /// Records what it takes to compute with a value of this type.
    fn use_type(&mut self, ty: &Type) {
        match ty {
            Type::Text => {
                self.assumptions.insert(Assumption::TextEqualityIsIdentity);
                self.assumptions.insert(Assumption::NoPaddingOrTruncation);
            }
            Type::Double => {
                self.assumptions.insert(Assumption::DoubleEqualityIsIdentity);
            }
            _ => {}
        }
    }

    /// Refuses types with values that are equal and yet can be told apart, where values are compared.
    fn compared(&mut self, ty: &Type) -> Result<(), Unsupported> {
        self.use_type(ty);
        match ty {
            Type::Other(name) if name.starts_with("collatedstring") || name == "interval" || name == "any" => {
                refuse(format!("comparison of values of type {name}"))
            }
            _ => Ok(()),
        }
    }

    fn compared_rows(&mut self, plan: &Plan) -> Result<(), Unsupported> {
        plan.types().iter().try_for_each(|ty| self.compared(ty))
    }
}
