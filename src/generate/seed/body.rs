//! The grammar of whole queries: select lists, groups and set operations.

use super::grammar::{Grammar, Output, comparable};
use crate::rng::pick;
use crate::sql::tree::{self, binary, count_rows, number};
use crate::sql::types::SqlType;
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier,
};

/// What a query returns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// Rows as they are.
    Rows,
    /// Rows without duplicates.
    Distinct,
    /// A row per group.
    Groups,
    /// One row about everything.
    Total,
    /// Two or three queries combined.
    Set,
}

impl Grammar<'_> {
    /// Draws a whole query, and its columns under the names that they have as a derived table.
    pub(super) fn body(&mut self, choices: &[(u32, Body)]) -> (Query, Vec<Output>) {
        let body = self.weighted(choices);
        let room = self.budget > 0;
        // A scope deeper than the first belongs to a derived table, whose columns need names.
        let named = !self.scopes.is_empty();
        let (body, types) = match body {
            Body::Set if room => self.set_operation(named),
            Body::Distinct if room => self.rows(true, named),
            Body::Groups if room => self.groups(named),
            Body::Total if room => self.total(),
            _ => self.rows(false, named),
        };
        (tree::query(body), types.into_iter().enumerate().map(|(at, ty)| (output_name(at), ty)).collect())
    }

    fn rows(&mut self, distinct: bool, named: bool) -> (SetExpr, Vec<SqlType>) {
        if distinct {
            self.spend();
        }
        self.scoped(|g| {
            let from = g.from(None, &[(42, 1), (45, 2), (13, 3)]);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| !distinct || comparable(ty)).collect();
            let count = g.weighted(&[(25, 1), (50, 2), (25, 3)]);
            let types: Vec<SqlType> =
                (0..count).map(|_| pick(g.rng, &possible).copied().unwrap_or(SqlType::Int)).collect();
            let mut values: Vec<(Expr, SqlType)> = Vec::new();
            for ty in types {
                if let Some(value) = g.value(ty).filter(|value| !values.iter().any(|(v, _)| v == value)) {
                    values.push((value, ty));
                }
            }
            if values.is_empty() {
                values.push((number(1), SqlType::Int));
            }
            if !distinct && g.has_room() && g.chance(14) {
                values.push(g.scalar(None));
            }
            let (selection, distinct) = (g.filter(82), distinct.then_some(Distinct::Distinct));
            let (items, types) = list(values, named);
            (body(Select { distinct, selection, ..tree::select(items, from) }), types)
        })
    }

    fn filter(&mut self, percent: u32) -> Option<Expr> {
        self.chance(percent).then(|| self.predicate(2))
    }

    /// Aggregates over everything.
    fn total(&mut self) -> (SetExpr, Vec<SqlType>) {
        self.spend();
        self.scoped(|g| {
            let from = g.from(None, &[(45, 1), (42, 2), (13, 3)]);
            let count = g.weighted(&[(55, 1), (45, 2)]);
            let mut values: Vec<(Expr, SqlType)> = Vec::new();
            for _ in 0..count {
                let aggregate = g.aggregate(None);
                if !values.contains(&aggregate) {
                    values.push(aggregate);
                }
            }
            let selection = g.filter(75);
            let (items, types) = list(values, false);
            (body(Select { selection, ..tree::select(items, from) }), types)
        })
    }

    fn groups(&mut self, named: bool) -> (SetExpr, Vec<SqlType>) {
        self.spend();
        self.scoped(|g| {
            let from = g.from(None, &[(50, 1), (40, 2), (10, 3)]);
            let scope = g.scope(0);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| comparable(ty)).collect();
            let mut keys: Vec<(Expr, SqlType)> = Vec::new();
            for _ in 0..g.weighted(&[(75, 1), (25, 2)]) {
                let ty = pick(g.rng, &possible).copied().unwrap_or(SqlType::Int);
                if let Some(key) = g.reference(&scope, ty).filter(|key| !keys.iter().any(|k| k.0 == *key)) {
                    keys.push((key, ty));
                }
            }
            let mut values = keys.clone();
            for _ in 0..g.weighted(&[(10, 0), (65, 1), (25, 2)]) {
                let aggregate = g.aggregate(None);
                if !values.contains(&aggregate) {
                    values.push(aggregate);
                }
            }
            if values.is_empty() {
                values.push(g.aggregate(None));
            }
            let selection = g.filter(55);
            let having = if g.chance(32) && g.spend() { Some(g.having(&keys)) } else { None };
            let group_by = GroupByExpr::Expressions(keys.into_iter().map(|key| key.0).collect(), Vec::new());
            let (items, types) = list(values, named);
            (body(Select { selection, group_by, having, ..tree::select(items, from) }), types)
        })
    }

    fn having(&mut self, keys: &[(Expr, SqlType)]) -> Expr {
        use BinaryOperator::{Eq, Gt};
        match (self.weighted(&[(40, 0), (35, 1), (25, 2)]), pick(self.rng, keys).cloned()) {
            (2, Some(key)) => self.large_or_not_null(key),
            (1, _) => {
                let aggregate = self.aggregate(None);
                self.large_or_not_null(aggregate)
            }
            _ => {
                let (op, n) = self.weighted(&[(40, (Gt, 1)), (30, (Eq, 1)), (30, (Gt, 2))]);
                binary(count_rows(), op, number(n))
            }
        }
    }

    fn large_or_not_null(&mut self, (value, ty): (Expr, SqlType)) -> Expr {
        match ty {
            SqlType::Int => binary(value, BinaryOperator::Gt, self.literal(ty)),
            _ => Expr::IsNotNull(Box::new(value)),
        }
    }

    fn set_operation(&mut self, named: bool) -> (SetExpr, Vec<SqlType>) {
        use SetOperator::{Except, Intersect, Union};
        use SetQuantifier::{All, None as Plain};
        self.spend();
        let all = u32::from(self.bag_set_operations) * 4;
        let (op, set_quantifier) = self.weighted(&[
            (28, (Union, Plain)),
            (28, (Union, All)),
            (22, (Except, Plain)),
            (18, (Intersect, Plain)),
            (all, (Except, All)),
            (all, (Intersect, All)),
        ]);
        let with = |left, right| {
            let (left, right) = (Box::new(left), Box::new(right));
            SetExpr::SetOperation { left, op, set_quantifier, right }
        };
        let (first, types, relation) = self.arm(None, None, named);
        let same = relation.filter(|_| self.chance(60));
        let (second, ..) = self.arm(same, Some(&types), false);
        let two = with(first, second);
        if (op, set_quantifier) == (Union, All) && self.sources_left > 0 && self.chance(15) {
            let (third, ..) = self.arm(relation, Some(&types), false);
            return (with(two, third), types);
        }
        (two, types)
    }

    /// One SELECT of a set operation, over a given table first and with given types if there are any.
    fn arm(
        &mut self,
        first: Option<usize>,
        types: Option<&[SqlType]>,
        named: bool,
    ) -> (SetExpr, Vec<SqlType>, Option<usize>) {
        self.scoped(|g| {
            let from = g.from(first, &[(78, 1), (22, 2)]);
            let possible: Vec<SqlType> = g.types().into_iter().filter(|&ty| comparable(ty)).collect();
            let count = g.weighted(&[(45, 1), (55, 2)]);
            let types: Vec<SqlType> = types.map_or_else(
                || (0..count).map(|_| pick(g.rng, &possible).copied().unwrap_or(SqlType::Int)).collect(),
                <[SqlType]>::to_vec,
            );
            let scope = g.scope(0);
            let mut values: Vec<(Expr, SqlType)> = Vec::new();
            for &ty in &types {
                let drawn = g.reference(&scope, ty).filter(|value| !values.iter().any(|(v, _)| v == value));
                values.push((drawn.unwrap_or_else(|| g.literal(ty)), ty));
            }
            let selection = g.filter(65);
            let relation = scope.first().and_then(|s| s.relation);
            let (items, types) = list(values, named);
            (body(Select { selection, ..tree::select(items, from) }), types, relation)
        })
    }
}

/// The name of an output column of a derived table: `w`, `w1`, …
fn output_name(at: usize) -> String {
    if at == 0 { "w".to_owned() } else { format!("w{at}") }
}

/// A select list, and its types. A computed value gets a name in any case, a column only for a derived table.
fn list(values: Vec<(Expr, SqlType)>, named: bool) -> (Vec<SelectItem>, Vec<SqlType>) {
    let item = |(at, (value, ty)): (usize, (Expr, SqlType))| {
        let computed = !matches!(value, Expr::CompoundIdentifier(_) | Expr::Value(_));
        (tree::item(value, (named || computed).then(|| output_name(at)).as_deref()), ty)
    };
    values.into_iter().enumerate().map(item).unzip()
}

fn body(select: Select) -> SetExpr {
    SetExpr::Select(Box::new(select))
}
