//! Comparisons, connectives and the other predicates on several values.

use sqlparser::ast::{self, BinaryOperator as Binary, Expr as Ast, UnaryOperator as Unary};

use crate::ir::{Assumption, CompareOp, Expr};

use super::types::meet;
use super::{Lowerer, Result, no};

impl Lowerer<'_> {
    /// An operand of a comparison, which must not be a comparison itself unless in parentheses: engines read
    /// `a = b < c` and `a = b BETWEEN c AND d` differently.
    pub(super) fn operand(&mut self, expr: &Ast) -> Result<Expr> {
        if is_loose(expr) {
            return no(format!("{expr} as an operand without parentheses"));
        }
        self.scalar(expr)
    }

    /// The values of a row, or of a single expression.
    pub(super) fn row(&mut self, expr: &Ast) -> Result<Vec<Expr>> {
        match tuple(expr)? {
            Some(parts) => parts.iter().map(|part| self.scalar(part)).collect(),
            None => Ok(vec![self.operand(expr)?]),
        }
    }

    /// AND and OR, whose chains are flat.
    pub(super) fn connective(&mut self, left: &Ast, op: &Binary, right: &Ast) -> Result<Expr> {
        let mut reversed = vec![right];
        let mut rest = left;
        while let Ast::BinaryOp { left, op: other, right } = rest
            && other == op
        {
            reversed.push(right);
            rest = left;
        }
        reversed.push(rest);
        let parts = reversed.into_iter().rev().map(|part| self.condition(part)).collect::<Result<_>>()?;
        Ok(if *op == Binary::And { Expr::And(parts) } else { Expr::Or(parts) })
    }

    /// A comparison of two values.
    pub(super) fn compare(&mut self, op: CompareOp, a: Expr, b: Expr) -> Result<Expr> {
        let (a, b, _) = self.unify(a, b)?;
        Ok(Expr::Compare(op, Box::new(a), Box::new(b)))
    }

    /// A comparison of rows: equality of all, or the order of the first that differ.
    pub(super) fn compare_rows(&mut self, op: CompareOp, a: Vec<Expr>, b: Vec<Expr>) -> Result<Expr> {
        if a.len() != b.len() {
            return no("a comparison of rows of different widths");
        }
        if a.len() > 1 {
            self.assumptions.insert(Assumption::RowsCompareByParts);
        }
        match op {
            CompareOp::Eq | CompareOp::Ne => {
                let parts = a.into_iter().zip(b).map(|(a, b)| self.compare(op, a, b)).collect::<Result<Vec<_>>>()?;
                Ok(if op == CompareOp::Eq { all_of(parts) } else { any_of(parts) })
            }
            _ => {
                let strict = match op {
                    CompareOp::Lt | CompareOp::Le => CompareOp::Lt,
                    _ => CompareOp::Gt,
                };
                let last = a.len() - 1;
                let mut result = self.compare(op, a[last].clone(), b[last].clone())?;
                for (a, b) in a.into_iter().zip(b).take(last).rev() {
                    let before = self.compare(strict, a.clone(), b.clone())?;
                    let equal = self.compare(CompareOp::Eq, a, b)?;
                    result = Expr::Or(vec![before, Expr::And(vec![equal, result])]);
                }
                Ok(result)
            }
        }
    }

    pub(super) fn same(&mut self, left: &Ast, right: &Ast) -> Result<Expr> {
        let (a, b) = (self.row(left)?, self.row(right)?);
        if a.len() != b.len() {
            return no("a comparison of rows of different widths");
        }
        // SQLite takes it for IS TRUE, which holds of 2.
        if let (Ast::Value(value), [a]) = (strip(right), a.as_slice())
            && matches!(value.value, ast::Value::Boolean(_))
            && a.ty().is_numeric()
        {
            return no("a number that is distinct from TRUE or FALSE, or not");
        }
        let mut parts = Vec::new();
        for (a, b) in a.into_iter().zip(b) {
            let (a, b, _) = self.unify(a, b)?;
            parts.push(Expr::Same(Box::new(a), Box::new(b)));
        }
        Ok(all_of(parts))
    }

    pub(super) fn in_list(&mut self, expr: &Ast, list: &[Ast]) -> Result<Expr> {
        if let [only] = list
            && matches!(strip(only), Ast::Subquery(_))
        {
            // A list of one scalar subquery in some engines.
            return no("IN, ANY or ALL of a subquery in two pairs of parentheses");
        }
        let row = self.row(expr)?;
        let items = list.iter().map(|item| self.row(item)).collect::<Result<Vec<_>>>()?;
        for (at, value) in row.iter().enumerate() {
            compared_alike(value, items.iter().filter_map(|item| item.get(at)))?;
        }
        let mut parts = Vec::new();
        for item in items {
            parts.push(self.compare_rows(CompareOp::Eq, row.clone(), item)?);
        }
        Ok(any_of(parts))
    }

    pub(super) fn between(&mut self, expr: &Ast, low: &Ast, high: &Ast) -> Result<Expr> {
        let value = self.operand(expr)?;
        let (low, high) = (self.operand(low)?, self.operand(high)?);
        compared_alike(&value, [&low, &high])?;
        let above = self.compare(CompareOp::Ge, value.clone(), low)?;
        let below = self.compare(CompareOp::Le, value, high)?;
        Ok(Expr::And(vec![above, below]))
    }

    pub(super) fn any_or_all(&mut self, left: &Ast, op: &Binary, all: bool, right: &Ast) -> Result<Expr> {
        let op = match op {
            Binary::Eq => CompareOp::Eq,
            Binary::NotEq => CompareOp::Ne,
            Binary::Lt => CompareOp::Lt,
            Binary::LtEq => CompareOp::Le,
            Binary::Gt => CompareOp::Gt,
            Binary::GtEq => CompareOp::Ge,
            other => return no(format!("{other} with ANY or ALL")),
        };
        match right {
            Ast::Subquery(query) => self.quantified(left, op, all, query),
            other => no(format!("ANY or ALL of {other}")),
        }
    }

    pub(super) fn quantified(&mut self, left: &Ast, op: CompareOp, all: bool, query: &ast::Query) -> Result<Expr> {
        if matches!(query.body.as_ref(), ast::SetExpr::Query(_)) {
            return no("IN, ANY or ALL of a subquery in two pairs of parentheses");
        }
        let row = self.row(left)?;
        let relation = self.subquery(query)?;
        let types = relation.plan.types();
        if types.len() != row.len() {
            return no(format!("a row of {} values compared with {} columns", row.len(), types.len()));
        }
        if row.len() > 1 && (op, all) != (CompareOp::Eq, false) && (op, all) != (CompareOp::Ne, true) {
            return no("a row with this comparison and ANY or ALL");
        }
        if row.len() > 1 {
            self.assumptions.insert(Assumption::RowsCompareByParts);
        }
        let targets = row.iter().zip(&types).map(|(e, t)| meet(&e.ty(), t)).collect::<Result<Vec<_>>>()?;
        let row = row.into_iter().zip(&targets).map(|(e, t)| self.convert(e, t)).collect::<Result<Vec<_>>>()?;
        let plan = self.convert_plan(relation.plan, &targets)?;
        Ok(Expr::Quantified { row, op, all, query: Box::new(plan) })
    }
}

/// Refuses to compare an exact number with several of which some are doubles: some engines then compare all as doubles,
/// others each for itself.
fn compared_alike<'a>(value: &Expr, others: impl IntoIterator<Item = &'a Expr>) -> Result<()> {
    let meets = |other: &Expr| Some(value.ty().unify(&other.ty())?.as_number()?.has_float());
    let mut as_doubles = others.into_iter().filter_map(meets);
    let first = as_doubles.next();
    if as_doubles.any(|other| Some(other) != first) {
        return no("a number compared with doubles and others at once");
    }
    Ok(())
}

fn all_of(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { Expr::And(parts) }
}

fn any_of(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { Expr::Or(parts) }
}

/// Without the parentheses around it.
pub(super) fn strip(mut expr: &Ast) -> &Ast {
    while let Ast::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// The values of a row constructor.
pub(super) fn tuple(expr: &Ast) -> Result<Option<Vec<&Ast>>> {
    match strip(expr) {
        Ast::Tuple(parts) if parts.len() > 1 => Ok(Some(parts.iter().collect())),
        Ast::Tuple(_) => no("a row of one value"),
        Ast::Function(function) if is_row(&function.name) => {
            let ast::Function {
                name: _,
                uses_odbc_syntax: false,
                parameters: ast::FunctionArguments::None,
                args:
                    ast::FunctionArguments::List(ast::FunctionArgumentList { duplicate_treatment: None, args, clauses }),
                within_group,
                filter: None,
                null_treatment: None,
                over: None,
            } = function
            else {
                return no("ROW in this form");
            };
            if !within_group.is_empty() || !clauses.is_empty() || args.len() < 2 {
                return no("ROW in this form");
            }
            let part = |arg| match arg {
                &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expr)) => Ok(expr),
                _ => no("ROW in this form"),
            };
            args.iter().map(part).collect::<Result<Vec<_>>>().map(Some)
        }
        _ => Ok(None),
    }
}

fn is_row(name: &ast::ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case("row")
}

/// Whether an operator of the expression may bind less tightly than one beside it.
fn is_loose(expr: &Ast) -> bool {
    match expr {
        Ast::BinaryOp { op, .. } => !is_arithmetic(op) && !is_tight(op),
        Ast::UnaryOp { op, .. } => matches!(op, Unary::Not),
        Ast::Exists { negated, .. } => *negated,
        Ast::IsTrue(_)
        | Ast::IsNotTrue(_)
        | Ast::IsFalse(_)
        | Ast::IsNotFalse(_)
        | Ast::IsUnknown(_)
        | Ast::IsNotUnknown(_)
        | Ast::IsNull(_)
        | Ast::IsNotNull(_)
        | Ast::IsDistinctFrom(..)
        | Ast::IsNotDistinctFrom(..)
        | Ast::InList { .. }
        | Ast::InSubquery { .. }
        | Ast::InUnnest { .. }
        | Ast::Between { .. }
        | Ast::Like { .. }
        | Ast::ILike { .. }
        | Ast::SimilarTo { .. }
        | Ast::RLike { .. }
        | Ast::AnyOp { .. }
        | Ast::AllOp { .. } => true,
        _ => false,
    }
}

pub(super) fn is_arithmetic(op: &Binary) -> bool {
    matches!(op, Binary::Plus | Binary::Minus | Binary::Multiply | Binary::Divide | Binary::Modulo)
}

/// Operators that bind more tightly than comparisons in every engine.
fn is_tight(op: &Binary) -> bool {
    matches!(
        op,
        Binary::StringConcat
            | Binary::BitwiseAnd
            | Binary::BitwiseOr
            | Binary::PGBitwiseShiftLeft
            | Binary::PGBitwiseShiftRight
    )
}
