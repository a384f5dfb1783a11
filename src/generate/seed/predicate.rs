//! The grammar of conditions: comparisons, three-valued logic, and subqueries.

use super::grammar::{Grammar, Source};
use super::source::equal;
use crate::rng::pick;
use crate::sql::tree::{self, binary, call, case, nested, number};
use crate::sql::types::SqlType;
use sqlparser::ast::BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, UnaryOperator};

/// A condition as an operand of AND and OR.
pub(super) fn tight(condition: Expr) -> Expr {
    match condition {
        Expr::BinaryOp { op: And | Or, .. } | Expr::Between { .. } => nested(condition),
        _ => condition,
    }
}

/// A condition as the operand of NOT and IS.
fn operand(condition: Expr) -> Expr {
    match condition {
        Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Function(_)
        | Expr::Case { .. }
        | Expr::Exists { negated: false, .. } => condition,
        _ => nested(condition),
    }
}

/// Whether a condition reads as one that begins with NOT.
fn begins_with_not(condition: &Expr) -> bool {
    match condition {
        Expr::UnaryOp { op: UnaryOperator::Not, .. } | Expr::Exists { negated: true, .. } => true,
        Expr::BinaryOp { left, .. } => begins_with_not(left),
        _ => false,
    }
}

/// A test of a value, as `IS NULL`.
type Test = fn(Box<Expr>) -> Expr;

#[derive(Clone, Copy)]
enum Leaf {
    Flag,
    Compare,
    NullTest,
    TruthTest,
    Distinct,
    Between,
    InList,
    Case,
    Coalesce,
    Subquery,
    Junction,
    Not,
}

impl Grammar<'_> {
    /// A condition over the innermost scope, with junctions nested to a depth and subqueries as the budget allows.
    pub(super) fn predicate(&mut self, depth: u32) -> Expr {
        let subquery = if depth > 0 && self.has_room() { 64 } else { 0 };
        let junction = if depth > 0 { 22 } else { 0 };
        let leaf = self.weighted(&[
            (42, Leaf::Flag),
            (16, Leaf::Compare),
            (7, Leaf::NullTest),
            (7, Leaf::TruthTest),
            (6, Leaf::Distinct),
            (5, Leaf::Between),
            (5, Leaf::InList),
            (3, Leaf::Case),
            (4, Leaf::Coalesce),
            (4, Leaf::Not),
            (junction, Leaf::Junction),
            (subquery, Leaf::Subquery),
        ]);
        self.leaf(leaf, depth).unwrap_or_else(|| self.flag())
    }

    /// A truth value: a placeholder or a column, or a comparison where neither is to be had.
    pub(super) fn flag(&mut self) -> Expr {
        let scope = self.scope(0);
        if let Some(flag) = self.reference(&scope, SqlType::Boolean) {
            return flag;
        }
        let otherwise = self.compare(&scope).or_else(|| self.null_test(&scope));
        otherwise.unwrap_or_else(|| tree::boolean(true))
    }

    fn leaf(&mut self, leaf: Leaf, depth: u32) -> Option<Expr> {
        let scope = self.scope(0);
        Some(match leaf {
            Leaf::Flag => return None,
            Leaf::Compare => self.compare(&scope)?,
            Leaf::NullTest => self.null_test(&scope)?,
            Leaf::TruthTest => {
                let operand = operand(self.simple(&scope));
                let test = self.weighted::<Test>(&[
                    (30, Expr::IsTrue),
                    (30, Expr::IsNotTrue),
                    (15, Expr::IsFalse),
                    (15, Expr::IsNotFalse),
                    (10, Expr::IsNull),
                ]);
                self.note();
                test(Box::new(operand))
            }
            Leaf::Distinct => {
                let (left, ty) = self.any(&scope)?;
                let right = self.other(&scope, ty, &left);
                let test = self.weighted::<fn(Box<Expr>, Box<Expr>) -> Expr>(&[
                    (40, Expr::IsDistinctFrom),
                    (60, Expr::IsNotDistinctFrom),
                ]);
                self.note();
                test(Box::new(left), Box::new(right))
            }
            Leaf::Between => {
                let value = self.reference(&scope, SqlType::Int)?;
                let negated = self.chance(20);
                let (low, high) = (number(0), number(self.weighted(&[(60, 2), (40, 1)])));
                Expr::Between { expr: Box::new(value), negated, low: Box::new(low), high: Box::new(high) }
            }
            Leaf::InList => {
                let ty = self.weighted(&[(65, SqlType::Int), (35, SqlType::Text)]);
                let value = self.reference(&scope, ty)?;
                let negated = self.chance(25);
                let list = if ty == SqlType::Text {
                    ["a", "b"].map(tree::text).to_vec()
                } else {
                    let items = self.weighted::<&[u32]>(&[(60, &[0, 1]), (25, &[1, 2]), (15, &[0, 1, 2])]);
                    items.iter().copied().map(number).collect()
                };
                Expr::InList { expr: Box::new(value), list, negated }
            }
            Leaf::Case => {
                if !self.spend() {
                    return None;
                }
                let (condition, then) = (self.simple(&scope), self.simple(&scope));
                case(condition, then, Some(self.simple(&scope)))
            }
            Leaf::Coalesce => {
                self.note();
                let (flag, fallback) = (self.flag(), self.literal(SqlType::Boolean));
                call("COALESCE", false, vec![flag, fallback])
            }
            Leaf::Not => {
                let inner = if depth > 0 { self.predicate(depth - 1) } else { self.simple(&scope) };
                // NOT NOT is for the rewriting to find.
                if begins_with_not(&inner) {
                    return Some(inner);
                }
                match inner {
                    Expr::Exists { negated: false, subquery } => Expr::Exists { negated: true, subquery },
                    inner => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(operand(inner)) },
                }
            }
            Leaf::Junction => {
                let operator = self.weighted(&[(62, And), (38, Or)]);
                let left = tight(self.predicate(depth.saturating_sub(1)));
                let right = tight(self.predicate(depth.saturating_sub(1)));
                // The same condition twice reads as a mistake.
                if left == right {
                    return None;
                }
                self.note();
                binary(left, operator, right)
            }
            Leaf::Subquery => self.subquery(),
        })
    }

    /// A truth value or a comparison.
    fn simple(&mut self, scope: &[Source]) -> Expr {
        let comparison = if self.chance(40) { self.compare(scope) } else { None };
        comparison.unwrap_or_else(|| self.flag())
    }

    fn comparable_type(&mut self) -> SqlType {
        self.weighted(&[(60, SqlType::Int), (32, SqlType::Text), (8, SqlType::Boolean)])
    }

    /// A reference of any comparable type that the scope has.
    fn any(&mut self, scope: &[Source]) -> Option<(Expr, SqlType)> {
        let ty = self.comparable_type();
        [ty, SqlType::Int, SqlType::Text, SqlType::Boolean]
            .into_iter()
            .find_map(|ty| Some((self.reference(scope, ty)?, ty)))
    }

    /// Something of a type to compare a reference with.
    pub(super) fn other(&mut self, scope: &[Source], ty: SqlType, reference: &Expr) -> Expr {
        let other = if self.chance(50) { self.reference(scope, ty) } else { None };
        other.filter(|o| o != reference).unwrap_or_else(|| self.literal(ty))
    }

    fn compare(&mut self, scope: &[Source]) -> Option<Expr> {
        let (left, ty) = self.any(scope)?;
        let right = self.other(scope, ty, &left);
        let operator = match ty {
            SqlType::Int => self.weighted(&[(38, Eq), (12, NotEq), (12, Lt), (18, Gt), (10, LtEq), (10, GtEq)]),
            SqlType::Boolean => self.weighted(&[(80, Eq), (20, NotEq)]),
            _ => self.weighted(&[(75, Eq), (25, NotEq)]),
        };
        Some(binary(left, operator, right))
    }

    fn null_test(&mut self, scope: &[Source]) -> Option<Expr> {
        let source = pick(self.rng, scope).cloned()?;
        let mut types = source.types();
        types.push(SqlType::Int);
        let ty = pick(self.rng, &types).copied()?;
        let value = self.reference(&[source], ty)?;
        let test = self.weighted::<Test>(&[(50, Expr::IsNull), (50, Expr::IsNotNull)]);
        Some(test(Box::new(value)))
    }

    // Subqueries.

    fn subquery(&mut self) -> Expr {
        match self.weighted(&[(44, 0), (34, 1), (22, 2)]) {
            0 => self.exists(),
            1 => self.in_subquery(),
            _ => self.scalar_comparison(),
        }
    }

    /// A subquery without a select list, correlated in so many of a hundred draws.
    fn inner(&mut self, correlated: u32) -> Select {
        let from = self.from(None, &[(82, 1), (18, 2)]);
        let correlation = if self.chance(correlated) { self.correlation() } else { None };
        let condition = if correlation.is_none() || self.chance(55) { Some(self.predicate(0)) } else { None };
        let selection = match (correlation, condition) {
            (Some(correlation), Some(condition)) => Some(binary(correlation, And, tight(condition))),
            (None, Some(_)) if !self.chance(80) => None,
            (correlation, condition) => correlation.or(condition),
        };
        Select { selection, ..tree::select(Vec::new(), from) }
    }

    fn correlation(&mut self) -> Option<Expr> {
        let (inner, outer) = (self.scope(0), self.scope(1));
        if self.chance(10) {
            let (left, right) = (self.reference(&inner, SqlType::Int)?, self.reference(&outer, SqlType::Int)?);
            return Some(binary(left, self.weighted(&[(50, Gt), (50, Lt)]), right));
        }
        let (left, right) = self.equality(&outer, &inner)?;
        let of_outer = |expr: &Expr| match expr {
            Expr::CompoundIdentifier(path) => outer.iter().any(|s| s.alias == path[0].value),
            _ => false,
        };
        // The inner side first, as a person would write.
        Some(equal(if of_outer(&left) { (right, left) } else { (left, right) }))
    }

    fn exists(&mut self) -> Expr {
        self.spend();
        let body = self.scoped(|g| g.inner(80));
        Expr::Exists { negated: self.chance(42), subquery: returning(number(1), body) }
    }

    fn in_subquery(&mut self) -> Expr {
        self.spend();
        let preferred = self.comparable_type();
        let (left, subquery) = self.scoped(|g| {
            let body = g.inner(22);
            let (inner, outer) = (g.scope(0), g.scope(1));
            let types = [preferred, SqlType::Int, SqlType::Text, SqlType::Boolean];
            let fits = |ty: &SqlType| g.has(&inner, *ty) && g.has(&outer, *ty);
            let ty = types.into_iter().find(fits).unwrap_or(preferred);
            let mut value = |sources: &[Source]| g.reference(sources, ty).unwrap_or_else(|| g.literal(ty));
            (value(&outer), returning(value(&inner), body))
        });
        Expr::InSubquery { expr: Box::new(left), negated: self.chance(35), subquery }
    }

    /// A subquery of one row, and its type.
    pub(super) fn scalar(&mut self, ty: Option<SqlType>) -> (Expr, SqlType) {
        self.spend();
        self.scoped(|g| {
            let body = g.inner(72);
            let (aggregate, ty) = g.aggregate(ty);
            (Expr::Subquery(returning(aggregate, body)), ty)
        })
    }

    fn scalar_comparison(&mut self) -> Expr {
        let scope = self.scope(0);
        if self.chance(65)
            && let Some((value, ty)) = self.any(&scope).filter(|(_, ty)| *ty != SqlType::Boolean)
        {
            let (scalar, of) = self.scalar(Some(ty));
            return match ty {
                // The subquery had no text and became a count.
                _ if of != ty => binary(scalar, Gt, number(0)),
                SqlType::Int => binary(value, self.weighted(&[(60, Eq), (20, Lt), (20, GtEq)]), scalar),
                _ => binary(value, Eq, scalar),
            };
        }
        let (scalar, ty) = self.scalar(None);
        match ty {
            SqlType::Int => {
                let (op, n) = self.weighted(&[(50, (Gt, 0)), (25, (Eq, 0)), (25, (Eq, 1))]);
                binary(scalar, op, number(n))
            }
            _ => Expr::IsNotNull(Box::new(scalar)),
        }
    }
}

/// A subquery of one column.
fn returning(value: Expr, body: Select) -> Box<Query> {
    let projection: Vec<SelectItem> = vec![tree::item(value, None)];
    Box::new(tree::query(SetExpr::Select(Box::new(Select { projection, ..body }))))
}
