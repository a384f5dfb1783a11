//! The grammar of values: columns, expression placeholders, literals, and aggregates over them.

use super::grammar::{Grammar, Placeholder, Source, comparable, fresh};
use crate::rng::pick;
use crate::sql::tree::{boolean, call, case, column, count_rows, null, number, text};
use crate::sql::types::SqlType;
use sqlparser::ast::Expr;

impl Grammar<'_> {
    pub(super) fn placeholders_left(&self) -> usize {
        self.placeholders_max.saturating_sub(self.placeholders.len() + self.relations.len() - self.real)
    }

    /// Whether another expression placeholder of a type may be made. The last is kept for a condition: what can be put
    /// into one varies most, and conditions are what rewriting moves.
    pub(super) fn may_make(&self, ty: SqlType) -> bool {
        let condition = ty == SqlType::Boolean || self.placeholders.iter().any(|p| p.ty == SqlType::Boolean);
        comparable(ty) && self.placeholders_left() > usize::from(!condition)
    }

    /// Whether the sources have a column of a type, or may get a placeholder.
    pub(super) fn has(&self, sources: &[Source], ty: SqlType) -> bool {
        sources.iter().any(|s| s.types().contains(&ty) || (s.relation.is_some() && self.may_make(ty)))
    }

    /// A column or an expression placeholder of a type, if the sources have one.
    pub(super) fn reference(&mut self, sources: &[Source], ty: SqlType) -> Option<Expr> {
        let columns: Vec<(&str, &str)> = sources
            .iter()
            .flat_map(|s| s.columns.iter().filter(|c| c.1 == ty).map(|c| (s.alias.as_str(), c.0.as_str())))
            .collect();
        let percent = if ty == SqlType::Boolean { 85 } else { 27 };
        let wanted = columns.is_empty() || self.chance(percent);
        let placeholder = if wanted { self.placeholder(sources, ty) } else { None };
        placeholder.or_else(|| pick(self.rng, &columns).map(|(alias, name)| column(alias, name)))
    }

    /// An expression placeholder over one of the sources: one that is known, or a new one.
    fn placeholder(&mut self, sources: &[Source], ty: SqlType) -> Option<Expr> {
        if !comparable(ty) {
            return None;
        }
        let bases: Vec<(&str, usize)> = sources.iter().filter_map(|s| Some((s.alias.as_str(), s.relation?))).collect();
        let &(alias, relation) = pick(self.rng, &bases)?;
        let known: Vec<&Placeholder> =
            self.placeholders.iter().filter(|p| p.relation == relation && p.ty == ty).collect();
        let known = pick(self.rng, &known).map(|p| p.name.clone());
        if let Some(name) = &known
            && (!self.may_make(ty) || self.chance(35))
        {
            return Some(column(alias, name));
        }
        if !self.may_make(ty) {
            return None;
        }
        let taken: Vec<String> = self.placeholders.iter().map(|p| p.name.clone()).collect();
        let name = fresh(&self.relations, &taken, "p", 1);
        let placeholder = column(alias, &name);
        self.placeholders.push(Placeholder { name, relation, ty });
        Some(placeholder)
    }

    /// A literal of a type.
    pub(super) fn literal(&mut self, ty: SqlType) -> Expr {
        match ty {
            SqlType::Text => text(self.weighted(&[(60, "a"), (40, "b")])),
            SqlType::Boolean => boolean(self.weighted(&[(60, true), (40, false)])),
            SqlType::Int | SqlType::Real | SqlType::Blob => number(self.weighted(&[(40, 0), (40, 1), (20, 2)])),
        }
    }

    /// A value of a type for a select list, if the scope has one: a reference, or an expression over some.
    pub(super) fn value(&mut self, ty: SqlType) -> Option<Expr> {
        let scope = self.scope(0);
        let reference = self.reference(&scope, ty)?;
        if !comparable(ty) {
            return Some(reference);
        }
        Some(match self.weighted(&[(86, 0), (6, 1), (8, 2)]) {
            1 if self.spend() => {
                let other = self.other(&scope, ty, &reference);
                call("COALESCE", false, vec![reference, other])
            }
            2 if self.spend() => {
                let condition = self.predicate(0);
                let other = if self.chance(50) { self.literal(ty) } else { null() };
                case(condition, reference, Some(other))
            }
            _ => reference,
        })
    }

    /// The types that the innermost scope can give values of.
    pub(super) fn types(&self) -> Vec<SqlType> {
        let mut types: Vec<SqlType> = self.scope(0).iter().flat_map(|s| s.columns.iter().map(|c| c.1)).collect();
        if self.scope(0).iter().any(|s| s.relation.is_some()) && self.may_make(SqlType::Int) {
            types.extend([SqlType::Int, SqlType::Text]);
        }
        types
    }

    /// An aggregate over the innermost scope, of a type if one is wanted, with its type.
    pub(super) fn aggregate(&mut self, ty: Option<SqlType>) -> (Expr, SqlType) {
        let scope = self.scope(0);
        let any = [SqlType::Int, SqlType::Int, SqlType::Text, SqlType::Boolean];
        let of = pick(self.rng, &any).copied().unwrap_or(SqlType::Int);
        let ordered = ty.unwrap_or(if self.chance(70) { SqlType::Int } else { SqlType::Text });
        let int = |name: &str, distinct: bool, argument: Expr| (call(name, distinct, vec![argument]), SqlType::Int);
        if ty.is_none_or(|ty| ty == SqlType::Int) {
            match self.weighted(&[(24, 0), (14, 1), (14, 2), (16, 3), (10, 4), (6, 5), (26, 6)]) {
                1 => {
                    if let Some(value) = self.reference(&scope, of) {
                        return int("COUNT", false, value);
                    }
                }
                2 => {
                    if let Some(value) = self.reference(&scope, of) {
                        return int("COUNT", true, value);
                    }
                }
                3 => {
                    if let Some(value) = self.reference(&scope, SqlType::Int) {
                        return int("SUM", false, value);
                    }
                }
                4 if self.spend() => {
                    return int("SUM", false, case(self.flag(), number(1), Some(number(0))));
                }
                5 if self.spend() => {
                    return int("COUNT", false, case(self.flag(), number(1), None));
                }
                6 => {}
                _ => return (count_rows(), SqlType::Int),
            }
        }
        match self.reference(&scope, ordered) {
            Some(value) => (call(self.weighted(&[(50, "MIN"), (50, "MAX")]), false, vec![value]), ordered),
            None => (count_rows(), SqlType::Int),
        }
    }
}
