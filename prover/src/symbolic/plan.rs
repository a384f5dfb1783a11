//! Plans over rows with guards.

use super::{Cell, MAX_ROWS, Row, Search, sort_of};
use crate::ir::{Expr, JoinKind, Plan, SetOp, Type};
use crate::smt::model::Sort;
use crate::symbolic::term::{Term, Terms};

/// The rows in scope, outermost first.
type Scopes = [Vec<Cell>];

/// The scopes with one more row inside.
pub(super) fn inside(scopes: &Scopes, row: &[Cell]) -> Vec<Vec<Cell>> {
    let mut inner = scopes.to_vec();
    inner.push(row.to_vec());
    inner
}

impl Search<'_> {
    /// The rows of a plan; `None` if it cannot be followed or grows too large.
    pub(super) fn plan(&mut self, plan: &Plan, scopes: &Scopes) -> Option<Vec<Row>> {
        let rows = match plan {
            Plan::Scan { table, .. } => self.tables.get(*table)?.clone(),
            Plan::Values { types, rows } => {
                let inner = inside(scopes, &[]);
                let guard = Terms::bool(true);
                let mut values = Vec::new();
                for row in rows {
                    let mut cells = self.exprs(row, &inner)?;
                    self.convert_row(&mut cells, types)?;
                    values.push(Row { guard: guard.clone(), cells });
                }
                values
            }
            Plan::Filter { input, condition } => {
                let mut rows = self.plan(input, scopes)?;
                for row in &mut rows {
                    let holds = self.condition(condition, &inside(scopes, &row.cells))?;
                    row.guard = self.terms.and(&[row.guard.clone(), holds]);
                }
                rows
            }
            Plan::Project { input, exprs } => {
                let mut rows = self.plan(input, scopes)?;
                for row in &mut rows {
                    row.cells = self.exprs(exprs, &inside(scopes, &row.cells))?;
                }
                rows
            }
            Plan::Join { kind, left, right, on, lateral } => self.join(*kind, left, right, on, *lateral, scopes)?,
            Plan::SetOp { op, all, left, right, types } => {
                let left = self.converted(left, types, scopes)?;
                let right = self.converted(right, types, scopes)?;
                self.set_operation(*op, *all, left, right)?
            }
            Plan::Distinct(input) => {
                let rows = self.plan(input, scopes)?;
                self.distinct(rows)?
            }
            Plan::Aggregate { input, keys, aggregates } => self.aggregate(input, keys, aggregates, scopes)?,
            Plan::Limit { limit: Some(0), .. } => Vec::new(),
            Plan::Limit { .. } | Plan::Window { .. } => return None,
        };
        let mut rows = rows;
        rows.retain(|row| &*row.guard != "false");
        (rows.len() <= MAX_ROWS && !self.terms.full()).then_some(rows)
    }

    fn converted(&mut self, plan: &Plan, types: &[Type], scopes: &Scopes) -> Option<Vec<Row>> {
        let mut rows = self.plan(plan, scopes)?;
        for row in &mut rows {
            self.convert_row(&mut row.cells, types)?;
        }
        Some(rows)
    }

    fn convert_row(&mut self, cells: &mut [Cell], types: &[Type]) -> Option<()> {
        for (cell, ty) in cells.iter_mut().zip(types) {
            *cell = self.convert(cell, sort_of(ty))?;
        }
        Some(())
    }

    fn nulls(types: &[Type]) -> Vec<Cell> {
        types.iter().map(|ty| Self::null(sort_of(ty))).collect()
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        on: &Expr,
        lateral: bool,
        scopes: &Scopes,
    ) -> Option<Vec<Row>> {
        let left_rows = self.plan(left, scopes)?;
        let shared = if lateral { Vec::new() } else { self.plan(right, scopes)? };
        // For each right row, the matches with left rows, for the joins that keep right rows.
        let mut partners: Vec<Vec<Term>> = vec![Vec::new(); shared.len()];
        let mut output = Vec::new();
        for row in &left_rows {
            let own = if lateral { self.plan(right, &inside(scopes, &row.cells))? } else { Vec::new() };
            let right_rows = if lateral { &own } else { &shared };
            let mut matches = Vec::new();
            for (index, other) in right_rows.iter().enumerate() {
                let cells = [row.cells.as_slice(), &other.cells].concat();
                let holds = self.condition(on, &inside(scopes, &cells))?;
                let joined = self.terms.and(&[other.guard.clone(), holds]);
                matches.push(joined.clone());
                let guard = self.terms.and(&[row.guard.clone(), joined]);
                if !lateral {
                    partners[index].push(guard.clone());
                }
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    output.push(Row { guard, cells });
                }
            }
            let some = self.terms.or(&matches);
            let none = self.terms.not(&some);
            match kind {
                JoinKind::Semi => {
                    let guard = self.terms.and(&[row.guard.clone(), some]);
                    output.push(Row { guard, cells: row.cells.clone() });
                }
                JoinKind::Anti => {
                    let guard = self.terms.and(&[row.guard.clone(), none]);
                    output.push(Row { guard, cells: row.cells.clone() });
                }
                JoinKind::Left | JoinKind::Full => {
                    let guard = self.terms.and(&[row.guard.clone(), none]);
                    let padding = Self::nulls(&right.types());
                    output.push(Row { guard, cells: [row.cells.as_slice(), &padding].concat() });
                }
                JoinKind::Inner | JoinKind::Right => {}
            }
            if output.len() > MAX_ROWS || self.terms.full() {
                return None;
            }
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            if lateral {
                return None;
            }
            for (row, matches) in shared.iter().zip(&partners) {
                let some = self.terms.or(matches);
                let none = self.terms.not(&some);
                let guard = self.terms.and(&[row.guard.clone(), none]);
                let padding = Self::nulls(&left.types());
                output.push(Row { guard, cells: [padding.as_slice(), &row.cells].concat() });
            }
        }
        Some(output)
    }

    fn set_operation(&mut self, op: SetOp, all: bool, left: Vec<Row>, right: Vec<Row>) -> Option<Vec<Row>> {
        if op == SetOp::Union {
            let mut rows = left;
            rows.extend(right);
            return if all { Some(rows) } else { self.distinct(rows) };
        }
        let mut rows = if all { left } else { self.distinct(left)? };
        let before = rows.clone();
        for (index, row) in rows.iter_mut().enumerate() {
            // As a set, a row is kept or dropped by whether there is a partner. With duplicates, the first of equal
            // rows are the ones that have partners.
            let partners = self.occurrences(row, &right)?;
            let rank = if all { self.occurrences(row, &before[..index])? } else { Term::from("0") };
            let has_partner = self.terms.apply(Sort::Bool, "<", &rank, &partners);
            let kept = if op == SetOp::Intersect { has_partner } else { self.terms.not(&has_partner) };
            row.guard = self.terms.and(&[row.guard.clone(), kept]);
        }
        Some(rows)
    }

    /// The first of each group of equal rows.
    fn distinct(&mut self, rows: Vec<Row>) -> Option<Vec<Row>> {
        let before = rows.clone();
        let mut rows = rows;
        for (index, row) in rows.iter_mut().enumerate() {
            let mut earlier = Vec::new();
            for other in &before[..index] {
                let same = self.same_rows(&row.cells, &other.cells)?;
                earlier.push(self.terms.and(&[other.guard.clone(), same]));
            }
            let repeated = self.terms.or(&earlier);
            let first = self.terms.not(&repeated);
            row.guard = self.terms.and(&[row.guard.clone(), first]);
        }
        Some(rows)
    }
}
