//! Grouping over rows with guards.

use super::plan::inside;
use super::term::{Term, Terms};
use super::{Cell, Row, Search, sort_of};
use crate::ir::{Aggregate, AggregateFunction, CompareOp, Expr, Plan};
use crate::smt::model::Sort;

impl Search<'_> {
    /// One row for each group: the first row of a group stands for it.
    pub(super) fn aggregate(
        &mut self,
        input: &Plan,
        keys: &[Expr],
        aggregates: &[Aggregate],
        scopes: &[Vec<Cell>],
    ) -> Option<Vec<Row>> {
        let rows = self.plan(input, scopes)?;
        let mut arguments = Vec::new();
        for row in &rows {
            let inner = inside(scopes, &row.cells);
            let keys = self.exprs(keys, &inner)?;
            let mut taken = Vec::new();
            for aggregate in aggregates {
                let wanted = match &aggregate.filter {
                    Some(filter) => self.condition(filter, &inner)?,
                    None => Terms::bool(true),
                };
                taken.push((wanted, self.exprs(&aggregate.args, &inner)?));
            }
            arguments.push((keys, taken));
        }
        let everything: Vec<Term> = rows.iter().map(|row| row.guard.clone()).collect();
        if keys.is_empty() {
            let guard = Terms::bool(true);
            let cells = self.results(aggregates, &everything, &arguments)?;
            return Some(vec![Row { guard, cells }]);
        }
        let mut output = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let (own, _) = &arguments[index];
            let mut members = Vec::new();
            for (guard, (other, _)) in everything.iter().zip(&arguments) {
                let same = self.same_rows(own, other)?;
                members.push(self.terms.and(&[guard.clone(), same]));
            }
            let earlier = self.terms.or(&members[..index]);
            let first = self.terms.not(&earlier);
            let guard = self.terms.and(&[row.guard.clone(), first]);
            let mut cells = own.clone();
            cells.extend(self.results(aggregates, &members, &arguments)?);
            output.push(Row { guard, cells });
            if self.terms.full() {
                return None;
            }
        }
        Some(output)
    }

    fn results(&mut self, aggregates: &[Aggregate], members: &[Term], arguments: &[Arguments]) -> Option<Vec<Cell>> {
        let mut cells = Vec::new();
        for (index, aggregate) in aggregates.iter().enumerate() {
            let mut taken = Vec::new();
            for (member, (_, of_row)) in members.iter().zip(arguments) {
                let (wanted, args) = &of_row[index];
                taken.push((self.terms.and(&[member.clone(), wanted.clone()]), args.as_slice()));
            }
            cells.push(self.result(aggregate, &taken)?);
        }
        Some(cells)
    }

    fn result(&mut self, aggregate: &Aggregate, taken: &[(Term, &[Cell])]) -> Option<Cell> {
        let zero = Term::from("0");
        if aggregate.function == AggregateFunction::CountStar {
            let guards: Vec<Term> = taken.iter().map(|(guard, _)| guard.clone()).collect();
            let value = self.terms.count(&guards);
            return Some(Cell { null: Terms::bool(false), value, sort: Sort::Int });
        }
        // The values that count: there and not NULL, and with DISTINCT the first of their kind.
        let mut values: Vec<(Term, Cell)> = Vec::new();
        for (guard, args) in taken {
            let [arg] = args else { return None };
            let present = self.terms.not(&arg.null);
            let mut counted = self.terms.and(&[guard.clone(), present]);
            if aggregate.distinct {
                let mut earlier = Vec::new();
                for (other_counted, other) in &values {
                    let same = self.same_values(arg, other)?;
                    earlier.push(self.terms.and(&[other_counted.clone(), same]));
                }
                let repeated = self.terms.or(&earlier);
                let first = self.terms.not(&repeated);
                counted = self.terms.and(&[counted, first]);
            }
            values.push((counted, arg.clone()));
        }
        let guards: Vec<Term> = values.iter().map(|(guard, _)| guard.clone()).collect();
        let some = self.terms.or(&guards);
        let null = self.terms.not(&some);
        match aggregate.function {
            AggregateFunction::Count => {
                let value = self.terms.count(&guards);
                Some(Cell { null: Terms::bool(false), value, sort: Sort::Int })
            }
            AggregateFunction::Sum => {
                let sort = sort_of(&aggregate.ty);
                let value = self.total(&values, sort)?;
                Some(Cell { null, value, sort })
            }
            AggregateFunction::Avg => {
                let total = self.total(&values, Sort::Real)?;
                let count = self.terms.count(&guards);
                // Division by each possible count keeps the formula linear.
                let mut value = total.clone();
                for divisor in 2..=values.len() {
                    let is_count = self.terms.equal(&count, &Term::from(divisor.to_string()));
                    let quotient = self.terms.define(Sort::Real, format!("(/ {total} {divisor}.0)"));
                    value = self.terms.ite(&is_count, &quotient, &value, Sort::Real);
                }
                Some(Cell { null, value, sort: Sort::Real })
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                let op = if aggregate.function == AggregateFunction::Min { CompareOp::Lt } else { CompareOp::Gt };
                let sort = sort_of(&aggregate.ty);
                let mut best = Self::null(sort);
                for (counted, value) in &values {
                    let value = self.convert(value, sort)?;
                    let better = self.compare_values(op, &value, &best)?;
                    let better = self.terms.or(&[best.null.clone(), better]);
                    let better = self.terms.and(&[counted.clone(), better]);
                    let missing = self.terms.not(counted);
                    best = Cell {
                        null: self.terms.and(&[best.null.clone(), missing]),
                        value: self.terms.ite(&better, &value.value, &best.value, sort),
                        sort,
                    };
                }
                Some(best)
            }
            AggregateFunction::CountStar => Some(Cell { null, value: zero, sort: Sort::Int }),
            AggregateFunction::Other(_) => None,
        }
    }

    fn total(&mut self, values: &[(Term, Cell)], sort: Sort) -> Option<Term> {
        let zero = Term::from(if sort == Sort::Real { "0.0" } else { "0" });
        let mut parts = Vec::new();
        for (counted, value) in values {
            let value = self.convert(value, sort)?;
            parts.push(self.terms.ite(counted, &value.value, &zero, sort));
        }
        Some(self.terms.sum(sort, &parts))
    }
}

/// Of one input row, the keys and for each aggregate whether its filter holds and its arguments.
type Arguments = (Vec<Cell>, Vec<(Term, Vec<Cell>)>);
