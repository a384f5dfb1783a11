//! Looks for a small database on which two queries differ, by solving for its cells.
//!
//! Each table gets a few rows of unknown cells, each row with a flag that says whether it is there. Both queries are
//! evaluated over them to lists of rows under guards, and a solver is asked for cells such that the two bags differ.
//! What it finds is a candidate: the evaluator has the last word, so a shortcut here costs an answer, never a wrong
//! one. What cannot be followed (windows, limits, functions) makes the search give up.

mod aggregate;
mod codes;
mod expr;
mod plan;
mod term;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crate::ir::{Child, Expr, Plan, Query, Schema, Table, TableId, Type, Value};
use crate::smt::model::{Constant, Sort, model};
use codes::Codes;
use term::{Term, Terms};

/// How many rows under guards one plan node may have.
const MAX_ROWS: usize = 300;
/// How many rows under guards the results of both queries may have together.
const MAX_RESULT: usize = 80;

/// A value that may be NULL. The value of a NULL means nothing.
#[derive(Clone, Debug)]
struct Cell {
    null: Term,
    value: Term,
    sort: Sort,
}

/// A row that is there if its guard holds.
#[derive(Clone, Debug)]
struct Row {
    guard: Term,
    cells: Vec<Cell>,
}

/// The state of one search.
struct Search<'a> {
    terms: Terms,
    codes: &'a Codes,
    /// Parallel to the schema; empty for tables that are not read.
    tables: Vec<Vec<Row>>,
}

/// The sort in which values of a type are encoded: texts, dates and the like by their place in the byte order.
fn sort_of(ty: &Type) -> Sort {
    match ty.domain() {
        Type::Boolean => Sort::Bool,
        Type::Decimal | Type::Double => Sort::Real,
        _ => Sort::Int,
    }
}

/// Rows for all tables of a database on which the two queries probably differ. No table gets more than
/// `rows_per_table` rows; tables that neither query depends on stay empty.
pub fn candidate(
    schema: &Schema,
    left: &Query,
    right: &Query,
    rows_per_table: usize,
    rlimit: u32,
) -> Option<Vec<Vec<Vec<Value>>>> {
    let mut used = BTreeSet::new();
    let mut codes = Codes::default();
    for query in [left, right] {
        survey_plan(&query.plan, &mut used, &mut codes);
    }
    close_over_parents(schema, &mut used);
    for table in &used {
        schema.tables[*table].checks.iter().for_each(|check| survey_expr(check, &mut used.clone(), &mut codes));
    }
    let mut search = Search { terms: Terms::default(), codes: &codes, tables: Vec::new() };
    for (id, table) in schema.tables.iter().enumerate() {
        let rows = if used.contains(&id) { rows_per_table } else { 0 };
        let rows = (0..rows).map(|row| search.unknown_row(id, row, table)).collect();
        search.tables.push(rows);
    }
    for id in &used {
        search.constrain(schema, *id);
    }
    let left_rows = search.plan(&left.plan, &[])?;
    let right_rows = search.plan(&right.plan, &[])?;
    search.require_difference(&left_rows, &right_rows, left.visible, right.visible)?;
    let script = search.terms.script()?;
    let values = model(&script, search.terms.constants(), rlimit)?;
    schema.tables.iter().zip(&search.tables).map(|(table, rows)| read_rows(table, rows, &codes, &values)).collect()
}

/// Collects the tables and the literals of a plan.
fn survey_plan(plan: &Plan, used: &mut BTreeSet<TableId>, codes: &mut Codes) {
    let mut exprs: Vec<&Expr> = Vec::new();
    let mut inputs: Vec<&Plan> = Vec::new();
    match plan {
        Plan::Scan { table, .. } => {
            used.insert(*table);
        }
        Plan::Values { rows, .. } => exprs.extend(rows.iter().flatten()),
        Plan::Filter { input, condition } => {
            inputs.push(input);
            exprs.push(condition);
        }
        Plan::Project { input, exprs: projected } => {
            inputs.push(input);
            exprs.extend(projected);
        }
        Plan::Join { left, right, on, .. } => {
            inputs.extend([&**left, &**right]);
            exprs.push(on);
        }
        Plan::SetOp { left, right, .. } => inputs.extend([&**left, &**right]),
        Plan::Distinct(input) | Plan::Limit { input, .. } | Plan::Window { input, .. } => inputs.push(input),
        Plan::Aggregate { input, keys, aggregates } => {
            inputs.push(input);
            exprs.extend(keys);
            for aggregate in aggregates {
                exprs.extend(aggregate.args.iter().chain(&aggregate.filter));
            }
        }
    }
    inputs.into_iter().for_each(|input| survey_plan(input, used, codes));
    exprs.into_iter().for_each(|expr| survey_expr(expr, used, codes));
}

fn survey_expr(expr: &Expr, used: &mut BTreeSet<TableId>, codes: &mut Codes) {
    if let Expr::Literal(Value::Text(text), ty) = expr {
        codes.add(ty, text);
    }
    expr.for_each_child(&mut |child| match child {
        Child::Expr(part) => survey_expr(part, used, codes),
        Child::Plan(plan) => survey_plan(plan, used, codes),
    });
}

/// Adds the tables that rows of these refer to.
fn close_over_parents(schema: &Schema, used: &mut BTreeSet<TableId>) {
    let mut open: Vec<TableId> = used.iter().copied().collect();
    while let Some(id) = open.pop() {
        for key in &schema.tables[id].foreign_keys {
            if used.insert(key.parent) {
                open.push(key.parent);
            }
        }
    }
}

/// The names of a row's unknowns: whether it is there, and for a column whether it is NULL and its value.
fn present_name(table: TableId, row: usize) -> String {
    format!("p_{table}_{row}")
}

impl Search<'_> {
    fn unknown_row(&mut self, id: TableId, row: usize, table: &Table) -> Row {
        let guard = self.terms.declare(present_name(id, row), Sort::Bool);
        let mut cells = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            let sort = sort_of(&column.ty);
            let null = if column.not_null {
                Terms::bool(false)
            } else {
                self.terms.declare(format!("u_{id}_{row}_{index}"), Sort::Bool)
            };
            let value = self.terms.declare(format!("v_{id}_{row}_{index}"), sort);
            if let Some(end) = self.codes.end(&column.ty) {
                let bounds = format!("(and (< 0 {value}) (< {value} {end}))");
                let bounds = self.terms.define(Sort::Bool, bounds);
                self.terms.require(bounds);
            }
            for (start, end) in self.codes.holes(&column.ty) {
                let outside = format!("(or (<= {value} {start}) (<= {end} {value}))");
                let outside = self.terms.define(Sort::Bool, outside);
                self.terms.require(outside);
            }
            cells.push(Cell { null, value, sort });
        }
        Row { guard, cells }
    }

    /// Keys, foreign keys and checks of a table. NOT NULL columns have no NULL flag.
    fn constrain(&mut self, schema: &Schema, id: TableId) {
        let table = &schema.tables[id];
        let rows = self.tables[id].clone();
        for pair in rows.windows(2) {
            // Rows are there from the first on: the others would be the same databases again.
            let ordered = self.terms.implies(&pair[1].guard, &pair[0].guard);
            self.terms.require(ordered);
        }
        for (index, row) in rows.iter().enumerate() {
            for (other, key) in rows[..index].iter().flat_map(|other| table.keys.iter().map(move |key| (other, key))) {
                let same = self.equal_columns(row, &key.columns, other, &key.columns);
                let both = self.terms.and(&[row.guard.clone(), other.guard.clone(), same]);
                let distinct = self.terms.not(&both);
                self.terms.require(distinct);
            }
            for key in &table.foreign_keys {
                let mut parents = Vec::new();
                for parent in self.tables[key.parent].clone() {
                    let same = self.equal_columns(row, &key.columns, &parent, &key.parent_columns);
                    parents.push(self.terms.and(&[parent.guard, same]));
                }
                parents.extend(key.columns.iter().map(|column| row.cells[*column].null.clone()));
                let found = self.terms.or(&parents);
                let found = self.terms.implies(&row.guard, &found);
                self.terms.require(found);
            }
            for check in &table.checks {
                // A check that cannot be followed is left to the evaluator's judgement.
                if let Some(holds) = self.expr(check, std::slice::from_ref(&row.cells)) {
                    let falsified = self.is_false(&holds);
                    let broken = self.terms.and(&[row.guard.clone(), falsified]);
                    let kept = self.terms.not(&broken);
                    self.terms.require(kept);
                }
            }
        }
    }

    /// All these columns are equal and not NULL.
    fn equal_columns(&mut self, left: &Row, columns: &[usize], right: &Row, others: &[usize]) -> Term {
        let mut parts = Vec::new();
        for (column, other) in columns.iter().zip(others) {
            let (a, b) = (&left.cells[*column], &right.cells[*other]);
            parts.push(self.terms.not(&a.null));
            parts.push(self.terms.not(&b.null));
            parts.push(match self.same_values(a, b) {
                Some(equal) => equal,
                None => Terms::bool(false),
            });
        }
        self.terms.and(&parts)
    }

    /// Some row occurs more often in one result than in the other.
    fn require_difference(&mut self, left: &[Row], right: &[Row], width: usize, other: usize) -> Option<()> {
        if width != other || left.len() + right.len() > MAX_RESULT {
            return None;
        }
        let visible = |rows: &[Row]| -> Vec<Row> {
            let cut = |row: &Row| Row { guard: row.guard.clone(), cells: row.cells[..width].to_vec() };
            rows.iter().map(cut).collect()
        };
        let (left, right) = (visible(left), visible(right));
        let mut differences = Vec::new();
        for row in left.iter().chain(&right) {
            let ours = self.occurrences(row, &left)?;
            let theirs = self.occurrences(row, &right)?;
            let equal = self.terms.equal(&ours, &theirs);
            let differs = self.terms.not(&equal);
            differences.push(self.terms.and(&[row.guard.clone(), differs]));
        }
        let differs = self.terms.or(&differences);
        self.terms.require(differs);
        Some(())
    }

    /// How many of the rows are there and the same as this one.
    fn occurrences(&mut self, row: &Row, rows: &[Row]) -> Option<Term> {
        let mut conditions = Vec::new();
        for other in rows {
            let same = self.same_rows(&row.cells, &other.cells)?;
            conditions.push(self.terms.and(&[other.guard.clone(), same]));
        }
        Some(self.terms.count(&conditions))
    }
}

/// The rows that the model says are there.
fn read_rows(
    table: &Table,
    rows: &[Row],
    codes: &Codes,
    values: &HashMap<String, Constant>,
) -> Option<Vec<Vec<Value>>> {
    let flag = |term: &Term| match &**term {
        "true" => Some(true),
        "false" => Some(false),
        name => match values.get(name)? {
            Constant::Bool(flag) => Some(*flag),
            Constant::Number(_) => None,
        },
    };
    let mut read = Vec::new();
    for row in rows {
        if !flag(&row.guard)? {
            continue;
        }
        let mut cells = Vec::new();
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            cells.push(match values.get(&*cell.value)? {
                _ if flag(&cell.null)? => Value::Null,
                Constant::Bool(value) => Value::Bool(*value),
                Constant::Number(number) => match &column.ty {
                    Type::Integer | Type::Decimal => Value::number(number.clone()),
                    Type::Double => Value::Double(crate::ir::to_f64(number)),
                    ty => Value::Text(codes.text(ty, number)?),
                },
            });
        }
        read.push(cells);
    }
    Some(read)
}
