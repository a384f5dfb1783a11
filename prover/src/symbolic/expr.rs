//! Expressions over cells.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::term::{Term, Terms};
use super::{Cell, Search, sort_of};
use crate::ir::number::Number;
use crate::ir::{ArithmeticOp, CompareOp, Expr, Plan, Type, Value};
use crate::smt::model::Sort;

/// An SMT-LIB numeral.
fn numeral(number: &BigRational, sort: Sort) -> Term {
    let places = if sort == Sort::Real { ".0" } else { "" };
    let magnitude = |n: &BigInt| format!("{}{places}", n.abs());
    let text = match sort {
        Sort::Real if !number.is_integer() => {
            format!("(/ {} {})", magnitude(number.numer()), magnitude(number.denom()))
        }
        _ => magnitude(number.numer()),
    };
    Term::from(if number.is_negative() { format!("(- {text})") } else { text })
}

impl Search<'_> {
    /// Expressions over the innermost of these rows.
    pub(super) fn exprs(&mut self, exprs: &[Expr], scopes: &[Vec<Cell>]) -> Option<Vec<Cell>> {
        exprs.iter().map(|expr| self.expr(expr, scopes)).collect()
    }

    /// Whether a condition is TRUE.
    pub(super) fn condition(&mut self, expr: &Expr, scopes: &[Vec<Cell>]) -> Option<Term> {
        let cell = self.expr(expr, scopes)?;
        let cell = self.convert(&cell, Sort::Bool)?;
        Some(self.is_true(&cell))
    }

    pub(super) fn is_true(&mut self, cell: &Cell) -> Term {
        let present = self.terms.not(&cell.null);
        self.terms.and(&[present, cell.value.clone()])
    }

    pub(super) fn is_false(&mut self, cell: &Cell) -> Term {
        let present = self.terms.not(&cell.null);
        let negated = self.terms.not(&cell.value);
        self.terms.and(&[present, negated])
    }

    /// A truth value from when it is TRUE and when it is FALSE.
    fn kleene(&mut self, is_true: Term, is_false: &Term) -> Cell {
        let known = self.terms.or(&[is_true.clone(), is_false.clone()]);
        Cell { null: self.terms.not(&known), value: is_true, sort: Sort::Bool }
    }

    fn never_null(value: Term) -> Cell {
        Cell { null: Terms::bool(false), value, sort: Sort::Bool }
    }

    /// NULL.
    pub(super) fn null(sort: Sort) -> Cell {
        let value = match sort {
            Sort::Bool => "false",
            Sort::Int => "0",
            Sort::Real => "0.0",
        };
        Cell { null: Terms::bool(true), value: Term::from(value), sort }
    }

    /// The cell as one of another sort.
    pub(super) fn convert(&mut self, cell: &Cell, sort: Sort) -> Option<Cell> {
        match (cell.sort, sort) {
            (from, to) if from == to => Some(cell.clone()),
            _ if &*cell.null == "true" => Some(Self::null(sort)),
            (Sort::Int, Sort::Real) => {
                let value = self.terms.define(Sort::Real, format!("(to_real {})", cell.value));
                Some(Cell { null: cell.null.clone(), value, sort })
            }
            _ => None,
        }
    }

    fn unify(&mut self, left: &Cell, right: &Cell) -> Option<(Cell, Cell)> {
        if let Some(left) = self.convert(left, right.sort) {
            return Some((left, right.clone()));
        }
        let right = self.convert(right, left.sort)?;
        Some((left.clone(), right))
    }

    /// Equality of two values that are not NULL.
    pub(super) fn same_values(&mut self, left: &Cell, right: &Cell) -> Option<Term> {
        let (left, right) = self.unify(left, right)?;
        Some(self.terms.equal(&left.value, &right.value))
    }

    /// `IS NOT DISTINCT FROM` of whole rows.
    pub(super) fn same_rows(&mut self, left: &[Cell], right: &[Cell]) -> Option<Term> {
        let mut parts = Vec::new();
        for (a, b) in left.iter().zip(right) {
            let equal = self.same_values(a, b)?;
            let both_null = self.terms.and(&[a.null.clone(), b.null.clone()]);
            let (a_there, b_there) = (self.terms.not(&a.null), self.terms.not(&b.null));
            let both_equal = self.terms.and(&[a_there, b_there, equal]);
            parts.push(self.terms.or(&[both_null, both_equal]));
        }
        Some(self.terms.and(&parts))
    }

    /// A comparison of two values that are not NULL.
    pub(super) fn compare_values(&mut self, op: CompareOp, left: &Cell, right: &Cell) -> Option<Term> {
        let (left, right) = self.unify(left, right)?;
        let (a, b) = match op {
            CompareOp::Gt | CompareOp::Ge => (&right, &left),
            _ => (&left, &right),
        };
        let strict = matches!(op, CompareOp::Lt | CompareOp::Gt);
        Some(match op {
            CompareOp::Eq => self.terms.equal(&a.value, &b.value),
            CompareOp::Ne => {
                let equal = self.terms.equal(&a.value, &b.value);
                self.terms.not(&equal)
            }
            _ if a.sort == Sort::Bool => {
                let negated = self.terms.not(&a.value);
                let parts = [negated, b.value.clone()];
                if strict { self.terms.and(&parts) } else { self.terms.or(&parts) }
            }
            _ => self.terms.apply(Sort::Bool, if strict { "<" } else { "<=" }, &a.value, &b.value),
        })
    }

    fn compare(&mut self, op: CompareOp, left: &Cell, right: &Cell) -> Option<Cell> {
        let value = self.compare_values(op, left, right)?;
        Some(Cell { null: self.terms.or(&[left.null.clone(), right.null.clone()]), value, sort: Sort::Bool })
    }

    /// An expression; `None` if it cannot be followed.
    pub(super) fn expr(&mut self, expr: &Expr, scopes: &[Vec<Cell>]) -> Option<Cell> {
        match expr {
            Expr::Column { depth, index, .. } => scopes.get(scopes.len().checked_sub(depth + 1)?)?.get(*index).cloned(),
            Expr::Literal(value, ty) => self.literal(value, ty),
            Expr::And(parts) | Expr::Or(parts) => {
                let (mut all_true, mut all_false) = (Vec::new(), Vec::new());
                for part in parts {
                    let cell = self.expr(part, scopes)?;
                    let cell = self.convert(&cell, Sort::Bool)?;
                    all_true.push(self.is_true(&cell));
                    all_false.push(self.is_false(&cell));
                }
                let conjunction = matches!(expr, Expr::And(_));
                let is_true = if conjunction { self.terms.and(&all_true) } else { self.terms.or(&all_true) };
                let is_false = if conjunction { self.terms.or(&all_false) } else { self.terms.and(&all_false) };
                Some(self.kleene(is_true, &is_false))
            }
            Expr::Not(part) => {
                let cell = self.expr(part, scopes)?;
                let cell = self.convert(&cell, Sort::Bool)?;
                Some(Cell { value: self.terms.not(&cell.value), ..cell })
            }
            Expr::Compare(op, left, right) => {
                let left = self.expr(left, scopes)?;
                let right = self.expr(right, scopes)?;
                self.compare(*op, &left, &right)
            }
            Expr::Same(left, right) => {
                let left = self.expr(left, scopes)?;
                let right = self.expr(right, scopes)?;
                let same = self.same_rows(&[left], &[right])?;
                Some(Self::never_null(same))
            }
            Expr::IsNull(part) => {
                let cell = self.expr(part, scopes)?;
                Some(Self::never_null(cell.null))
            }
            Expr::IsTruth(part, wanted) => {
                let cell = self.expr(part, scopes)?;
                let cell = self.convert(&cell, Sort::Bool)?;
                let test = if *wanted { self.is_true(&cell) } else { self.is_false(&cell) };
                Some(Self::never_null(test))
            }
            Expr::Arithmetic(op, left, right, ty) => self.arithmetic(*op, left, right, ty, scopes),
            Expr::Case { branches, otherwise, ty } => {
                let sort = sort_of(ty);
                let last = self.expr(otherwise, scopes)?;
                let mut result = self.convert(&last, sort)?;
                for (condition, value) in branches.iter().rev() {
                    let holds = self.condition(condition, scopes)?;
                    let value = self.expr(value, scopes)?;
                    let value = self.convert(&value, sort)?;
                    result = Cell {
                        null: self.terms.ite(&holds, &value.null, &result.null, Sort::Bool),
                        value: self.terms.ite(&holds, &value.value, &result.value, sort),
                        sort,
                    };
                }
                Some(result)
            }
            Expr::Cast { value, to, .. } => {
                let rounds = to.as_number().is_some_and(Number::has_float) && *to != Type::Double;
                let exact = !rounds
                    && match (value.ty().domain(), &to.domain()) {
                        (Type::Integer, Type::Integer | Type::Decimal | Type::Double)
                        | (Type::Decimal, Type::Double) => true,
                        (from, to) => from == *to && from != Type::Decimal,
                    };
                let cell = if exact { self.expr(value, scopes)? } else { return None };
                self.convert(&cell, sort_of(to))
            }
            Expr::Call { .. } => None,
            Expr::Exists(plan) => {
                let rows = self.plan(plan, scopes)?;
                let guards: Vec<Term> = rows.into_iter().map(|row| row.guard).collect();
                let some = self.terms.or(&guards);
                Some(Self::never_null(some))
            }
            Expr::Scalar(plan) => self.scalar(plan, scopes),
            Expr::Quantified { row, op, all, query } => self.quantified(row, *op, *all, query, scopes),
        }
    }

    fn literal(&mut self, value: &Value, ty: &Type) -> Option<Cell> {
        let sort = sort_of(ty);
        let value = match value {
            Value::Null => return Some(Self::null(sort)),
            Value::Bool(value) => Terms::bool(*value),
            Value::Int(_) | Value::Number(_) => numeral(&value.to_rational()?, sort),
            Value::Double(number) => numeral(&BigRational::from_float(*number)?, sort),
            Value::Text(text) => Term::from(self.codes.code(ty, text)?.to_string()),
        };
        Some(Cell { null: Terms::bool(false), value, sort })
    }

    fn arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: &Expr,
        right: &Expr,
        ty: &Type,
        scopes: &[Vec<Cell>],
    ) -> Option<Cell> {
        let sort = sort_of(ty);
        let cell = self.expr(left, scopes)?;
        let a = self.convert(&cell, sort)?;
        let cell = self.expr(right, scopes)?;
        let b = self.convert(&cell, sort)?;
        let value = match op {
            ArithmeticOp::Add => self.terms.apply(sort, "+", &a.value, &b.value),
            ArithmeticOp::Sub => self.terms.apply(sort, "-", &a.value, &b.value),
            ArithmeticOp::Mul => self.terms.apply(sort, "*", &a.value, &b.value),
            ArithmeticOp::Div if sort == Sort::Real && !matches!(ty, Type::Number(_)) => {
                let divisor_is_constant =
                    matches!(right, Expr::Literal(n @ (Value::Int(_) | Value::Number(_)), _) if *n != Value::int(0));
                if !divisor_is_constant {
                    return None;
                }
                self.terms.apply(sort, "/", &a.value, &b.value)
            }
            // Whole numbers divide differently here and there, and any other divisor may be zero.
            ArithmeticOp::Div | ArithmeticOp::Rem => return None,
        };
        Some(Cell { null: self.terms.or(&[a.null, b.null]), value, sort })
    }

    /// A scalar subquery. Databases on which it has two rows are not looked for.
    fn scalar(&mut self, plan: &Plan, scopes: &[Vec<Cell>]) -> Option<Cell> {
        let sort = sort_of(plan.types().first()?);
        let mut result = Self::null(sort);
        let mut earlier = Terms::bool(false);
        for row in self.plan(plan, scopes)? {
            let cell = self.convert(row.cells.first()?, sort)?;
            let both = self.terms.and(&[earlier.clone(), row.guard.clone()]);
            let single = self.terms.not(&both);
            self.terms.require(single);
            earlier = self.terms.or(&[earlier, row.guard.clone()]);
            result = Cell {
                null: self.terms.ite(&row.guard, &cell.null, &result.null, Sort::Bool),
                value: self.terms.ite(&row.guard, &cell.value, &result.value, sort),
                sort,
            };
        }
        Some(result)
    }

    fn quantified(
        &mut self,
        row: &[Expr],
        op: CompareOp,
        all: bool,
        query: &Plan,
        scopes: &[Vec<Cell>],
    ) -> Option<Cell> {
        let own = self.exprs(row, scopes)?;
        // ALL is the negation of ANY with the negated comparison.
        let op = if all { op.negated() } else { op };
        let (mut found, mut open) = (Vec::new(), Vec::new());
        for candidate in self.plan(query, scopes)? {
            let (mut is_true, mut is_false) = (Vec::new(), Vec::new());
            for (a, b) in own.iter().zip(&candidate.cells) {
                let compared = self.compare(op, a, b)?;
                is_true.push(self.is_true(&compared));
                is_false.push(self.is_false(&compared));
            }
            let matches = self.terms.and(&is_true);
            found.push(self.terms.and(&[candidate.guard.clone(), matches]));
            let differs = self.terms.or(&is_false);
            let undecided = self.terms.not(&differs);
            open.push(self.terms.and(&[candidate.guard.clone(), undecided]));
        }
        let any = self.terms.or(&found);
        let undecided = self.terms.or(&open);
        let none = self.terms.not(&undecided);
        let cell = self.kleene(any, &none);
        Some(if all { Cell { value: self.terms.not(&cell.value), ..cell } } else { cell })
    }
}
