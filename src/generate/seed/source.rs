//! The grammar of FROM clauses: tables, table placeholders, derived tables and common table expressions, and their joins.

use super::body::Body;
use super::grammar::{Grammar, Output, Source, comparable, fresh};
use super::predicate::tight;
use super::schema;
use crate::rng::pick;
use crate::sql::schema::Table;
use crate::sql::tree::{self, binary, column};
use crate::sql::types::SqlType;
use rand::RngExt as _;
use sqlparser::ast::{BinaryOperator, Expr, Join, JoinConstraint, JoinOperator, Query, TableFactor, TableWithJoins};

/// Columns to be equal.
pub(super) type Equality = (Expr, Expr);

pub(super) fn equal((left, right): Equality) -> Expr {
    binary(left, BinaryOperator::Eq, right)
}

impl Grammar<'_> {
    /// Draws a FROM clause into the innermost scope. The first table is `first`, if given.
    pub(super) fn from(&mut self, first: Option<usize>, counts: &[(u32, usize)]) -> Vec<TableWithJoins> {
        let alone = |relation| TableWithJoins { relation, joins: Vec::new() };
        let count = self.weighted(counts);
        let source = match first {
            Some(relation) => self.table(relation),
            None => self.source(),
        };
        let mut from = vec![alone(source)];
        for at in 1..count {
            if self.sources_left == 0 {
                break;
            }
            let left = self.scope(0);
            let source = self.source();
            let right = self.scope(0).split_off(left.len());
            let kind = self.weighted(&[
                (54, JoinKind::Inner),
                (25, JoinKind::Outer(JoinOperator::Left)),
                (9, JoinKind::Outer(JoinOperator::Right)),
                (6, JoinKind::Outer(JoinOperator::FullOuter)),
                (6, JoinKind::Cross),
                (5, JoinKind::Comma),
            ]);
            let kind = if matches!(kind, JoinKind::Outer(_)) && !self.spend() { JoinKind::Inner } else { kind };
            let on = match kind {
                // A table after a comma is not visible in the conditions of joins, so a comma stands alone.
                JoinKind::Comma if count == 2 && at == 1 => None,
                JoinKind::Cross | JoinKind::Comma => Some(JoinOperator::CrossJoin(JoinConstraint::None)),
                JoinKind::Inner => Some(JoinOperator::Join(self.join_condition(&left, &right))),
                JoinKind::Outer(operator) => Some(operator(self.join_condition(&left, &right))),
            };
            match (on, from.last_mut()) {
                (Some(join_operator), Some(table)) => {
                    table.joins.push(Join { relation: source, global: false, join_operator });
                }
                _ => from.push(alone(source)),
            }
            self.note();
        }
        from
    }

    /// Draws one source, adds it to the innermost scope and returns how it stands in FROM.
    fn source(&mut self) -> TableFactor {
        let nested = self.has_room() && self.scopes.len() <= 2;
        let (derived, cte) = if nested { (11, 12) } else { (0, 0) };
        let again = if self.ctes.is_empty() { 0 } else { 45 };
        let may_be_virtual = self.placeholders_left() > 0 || self.relations.len() > self.real;
        match self.weighted(&[
            (if may_be_virtual { 17 } else { 0 }, Kind::Virtual),
            (derived, Kind::Derived),
            (cte, Kind::Cte),
            (again, Kind::CteAgain),
            (60, Kind::Table),
        ]) {
            Kind::Table => {
                let relation = self.choose();
                self.table(relation)
            }
            Kind::Virtual => {
                let relation = self.choose_virtual();
                self.table(relation)
            }
            Kind::Derived => {
                self.spend();
                let (query, columns) = self.closed();
                let alias = self.derived_name();
                let factor = tree::derived(query, &alias);
                self.add(Source { alias, relation: None, columns });
                factor
            }
            Kind::Cte => {
                self.spend();
                let (query, columns) = self.closed();
                let name = self.derived_name();
                let cte = tree::cte(&name, self.chance(35), query);
                let factor = tree::table(&name, None);
                let source = Source { alias: name, relation: None, columns };
                self.ctes.push((source.clone(), cte));
                self.add(source);
                factor
            }
            Kind::CteAgain => {
                let ctes: Vec<Source> = self.ctes.iter().map(|(source, _)| source.clone()).collect();
                let Some(cte) = pick(self.rng, &ctes).cloned() else { return self.table(0) };
                self.sources_left = self.sources_left.saturating_sub(1);
                // Its own name will do, unless it is a source around here already.
                let visible = self.scopes.iter().flatten().any(|s| s.alias == cte.alias);
                let alias = visible.then(|| self.alias());
                let factor = tree::table(&cte.alias, alias.as_deref());
                self.add(Source { alias: alias.unwrap_or_else(|| cte.alias.clone()), ..cte });
                factor
            }
        }
    }

    /// A query for a derived table or common table expression: it sees nothing of what is around it, and names its
    /// columns.
    fn closed(&mut self) -> (Query, Vec<Output>) {
        // Three levels say that nothing is nested in it again.
        let around = std::mem::replace(&mut self.scopes, vec![Vec::new(); 3]);
        let in_use = std::mem::take(&mut self.in_use);
        let result = self.body(&[(34, Body::Rows), (16, Body::Distinct), (30, Body::Groups), (20, Body::Set)]);
        self.scopes = around;
        self.in_use = in_use;
        result
    }

    fn add(&mut self, source: Source) {
        self.in_use.push(source.alias.clone());
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(source);
        }
    }

    /// Adds a relation to the innermost scope, under an alias if its name is visible already.
    fn table(&mut self, relation: usize) -> TableFactor {
        self.sources_left = self.sources_left.saturating_sub(1);
        if let Some(used) = self.used.get_mut(relation) {
            *used = true;
        }
        let table = &self.relations[relation];
        let name = table.name.clone();
        let columns = table.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        let alias = self.in_use.contains(&name).then(|| self.alias());
        let factor = tree::table(&name, alias.as_deref());
        self.add(Source { alias: alias.unwrap_or(name), relation: Some(relation), columns });
        factor
    }

    /// One of the schema's tables: one that a foreign key ties to a table in scope, or a new one, or any.
    fn choose(&mut self) -> usize {
        let in_scope: Vec<usize> = self.scopes.iter().flatten().filter_map(|s| s.relation).collect();
        let tied = |a: usize, b: usize| self.relations[a].foreign_keys.iter().any(|k| k.table == b);
        let tied: Vec<usize> =
            (0..self.real).filter(|&a| in_scope.iter().any(|&b| tied(a, b) || b < self.real && tied(b, a))).collect();
        if let Some(&relation) = pick(self.rng, &tied)
            && self.chance(55)
        {
            return relation;
        }
        let new: Vec<usize> = (0..self.real).filter(|&at| !self.used[at]).collect();
        match new.first() {
            Some(&relation) if self.chance(70) => relation,
            _ => self.rng.random_range(0..self.real),
        }
    }

    fn choose_virtual(&mut self) -> usize {
        let known = self.relations.len() - self.real;
        if known > 0 && (self.placeholders_left() == 0 || self.chance(60)) {
            return self.real + self.rng.random_range(0..known);
        }
        let name = fresh(&self.relations, &[], "v", known + 1);
        let table = schema::virtual_table(name, self.rng);
        self.relations.push(table);
        self.relations.len() - 1
    }

    fn alias(&self) -> String {
        let fresh = |letter, first| fresh(&self.relations, &self.in_use, letter, first);
        ["a", "b", "c", "d", "e"].into_iter().find(|l| fresh(l, 0) == *l).map_or_else(|| fresh("a", 1), str::to_owned)
    }

    /// A name for a derived table or common table expression, never the one of another.
    fn derived_name(&mut self) -> String {
        let name = fresh(&self.relations, &self.derived, "s", 0);
        self.derived.push(name.clone());
        name
    }

    /// An equality between the sides, often along a foreign key or a key, and sometimes more.
    fn join_condition(&mut self, left: &[Source], right: &[Source]) -> JoinConstraint {
        let kind = self.weighted(&[(66, 0), (22, 1), (12, 2)]);
        let equality = if kind == 2 { None } else { self.equality(left, right).map(equal) };
        JoinConstraint::On(match equality {
            Some(equality) if kind == 0 => equality,
            Some(equality) => binary(equality, BinaryOperator::And, tight(self.predicate(0))),
            None => self.predicate(u32::from(kind == 2)),
        })
    }

    /// An equality between a source of the one side and a source of the other.
    pub(super) fn equality(&mut self, left: &[Source], right: &[Source]) -> Option<Equality> {
        let keyed = self.keyed(left, right);
        if let Some(equality) = pick(self.rng, &keyed).cloned()
            && self.chance(60)
        {
            return Some(equality);
        }
        let ty = self.weighted(&[(65, SqlType::Int), (30, SqlType::Text), (5, SqlType::Boolean)]);
        let ty = [ty, SqlType::Int, SqlType::Text].into_iter().find(|&ty| self.has(left, ty) && self.has(right, ty))?;
        let l = self.reference(left, ty)?;
        let r = self.reference(right, ty)?;
        Some((l, r))
    }

    /// The equalities along foreign keys, and along keys of a table met twice.
    fn keyed(&self, left: &[Source], right: &[Source]) -> Vec<Equality> {
        let mut all = Vec::new();
        for (l, r) in left.iter().flat_map(|l| right.iter().map(move |r| (l, r))) {
            let (Some(a), Some(b)) = (l.relation, r.relation) else { continue };
            let comparable = |table: &Table, at: usize| comparable(table.columns[at].ty);
            let equal = |x: &Source, at: usize, y: &Source, to: usize| {
                (column(&x.alias, &x.columns[at].0), column(&y.alias, &y.columns[to].0))
            };
            for (from, to, child, parent) in [(a, b, l, r), (b, a, r, l)] {
                let table = &self.relations[from];
                let keys = table.foreign_keys.iter().filter(|k| k.table == to && to < self.real);
                all.extend(
                    keys.filter(|k| comparable(table, k.columns[0]))
                        .map(|k| equal(child, k.columns[0], parent, k.referred[0])),
                );
            }
            if a == b {
                let table = &self.relations[a];
                let keys = std::iter::once(&table.primary_key).chain(&table.unique).filter(|k| !k.is_empty());
                all.extend(keys.filter(|k| comparable(table, k[0])).map(|k| equal(r, k[0], l, k[0])));
            }
        }
        all
    }
}

/// How a table is joined to what stands before it.
#[derive(Clone, Copy)]
enum JoinKind {
    Inner,
    Outer(fn(JoinConstraint) -> JoinOperator),
    Cross,
    Comma,
}

/// What stands in FROM.
#[derive(Clone, Copy)]
enum Kind {
    /// A table of the schema.
    Table,
    /// A table placeholder.
    Virtual,
    /// A derived table.
    Derived,
    /// A new common table expression.
    Cte,
    /// A known one.
    CteAgain,
}
