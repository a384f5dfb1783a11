//! φ, the expression that is folded (`CODDTest` paper, sections 3.1 to 3.3).

use super::{CoddDatabase, Scope, comparable, comparable_type, value_type};
use crate::caq::node::Node;
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::Profile;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::sync::Arc;

/// The alias of the relation that a subquery reads.
const INNER: &str = "y";

/// Aggregates whose value does not depend on the order of rows.
const AGGREGATES: [&str; 4] = ["MAX", "MIN", "COUNT", "COUNT(DISTINCT"];

/// Comparisons before ANY and ALL, and of a value.
pub(super) const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// What φ is.
#[derive(Debug, Clone)]
pub(super) enum Phi {
    /// An expression: constant, or over columns of the outer query.
    Expr(Node, SqlType),
    /// A subquery with one value.
    Scalar { aggregate: &'static str, item: Node, ty: SqlType, inner: Inner },
    /// Whether a subquery has rows.
    Exists(Inner),
    /// Whether a value is among those of a subquery; the subquery is what is folded.
    In { left: Node, negated: bool, list: List },
    /// How a value compares with those of a subquery; the subquery is what is folded.
    Quantified { left: Node, comparison: &'static str, all: bool, list: List },
}

/// A subquery with a column of values.
#[derive(Debug, Clone)]
pub(super) struct List {
    pub(super) item: Node,
    pub(super) ty: SqlType,
    pub(super) inner: Inner,
}

/// What a subquery reads.
#[derive(Debug, Clone)]
pub(super) struct Inner {
    /// The relation, as it stands in FROM.
    relation: Arc<str>,
    /// The relation's plain form, which the reducer tries.
    plain: Arc<str>,
    filter: Option<Node>,
}

impl Inner {
    fn source(&self) -> String {
        let mut out = format!(" FROM {} AS {INNER}", self.relation);
        if let Some(filter) = &self.filter {
            out.push_str(" WHERE ");
            filter.render("", &mut out);
        }
        out
    }

    fn smaller(&self, profile: &Profile) -> Vec<Self> {
        let mut smaller = Vec::new();
        if self.relation != self.plain {
            smaller.push(Self { relation: self.plain.clone(), ..self.clone() });
        }
        if let Some(filter) = &self.filter {
            smaller.push(Self { filter: None, ..self.clone() });
            smaller.extend(filter.smaller(profile).into_iter().map(|node| Self { filter: Some(node), ..self.clone() }));
        }
        smaller
    }
}

impl List {
    fn smaller(&self, profile: &Profile) -> Vec<Self> {
        let items = self.item.smaller(profile).into_iter().map(|item| Self { item, ..self.clone() });
        self.inner.smaller(profile).into_iter().map(|inner| Self { inner, ..self.clone() }).chain(items).collect()
    }

    /// The subquery, its column of exactly the type.
    pub(super) fn query(&self, profile: &Profile) -> String {
        let mut item = String::new();
        self.item.render("", &mut item);
        format!("SELECT {} AS v{}", profile.cast(&item, self.ty), self.inner.source())
    }
}

impl Phi {
    /// Draws φ over the columns of a scope. A correlated subquery, or an expression over them, depends on the outer query.
    pub(super) fn draw(on: &CoddDatabase, scope: &Scope, rng: &mut Rng) -> Self {
        let nothing = Scope { name: scope.name.clone(), columns: Vec::new() };
        let outer = if chance(rng, 50) { scope } else { &nothing };
        match rng.random_range(0..10) {
            0..3 => {
                let ty = value_type(rng);
                let depth = rng.random_range(1..=3);
                Self::Expr(on.node(outer, Kind::Typed(ty), depth, rng), ty)
            }
            3..5 => {
                let aggregate = pick(rng, &AGGREGATES).copied().unwrap_or("MAX");
                let item_type = comparable_type(rng);
                // Not every engine has extremes of truth values and bytes.
                let extreme = aggregate.starts_with('M');
                let item_type = match item_type {
                    SqlType::Boolean | SqlType::Blob if extreme => SqlType::Int,
                    other => other,
                };
                let (inner, own) = Self::inner(on, outer, rng);
                let item = on.node(&own, Kind::Typed(item_type), 1, rng);
                Self::Scalar { aggregate, item, ty: if extreme { item_type } else { SqlType::Int }, inner }
            }
            5..7 => Self::Exists(Self::inner(on, outer, rng).0),
            7..9 => {
                let (left, list) = Self::list(on, scope, rng);
                Self::In { left, negated: chance(rng, 30), list }
            }
            _ => {
                let (left, list) = Self::list(on, scope, rng);
                let comparison = pick(rng, &COMPARISONS).copied().unwrap_or("=");
                Self::Quantified { left, comparison, all: chance(rng, 50), list }
            }
        }
    }

    fn list(on: &CoddDatabase, scope: &Scope, rng: &mut Rng) -> (Node, List) {
        let ty = comparable_type(rng);
        let nothing = Scope { name: scope.name.clone(), columns: Vec::new() };
        let (inner, own) = Self::inner(on, &nothing, rng);
        let item = on.node(&own, Kind::Typed(ty), 1, rng);
        (on.node(scope, Kind::Typed(ty), 1, rng), List { item, ty, inner })
    }

    /// A relation to read, and its columns. The condition may name columns of the outer query.
    fn inner(on: &CoddDatabase, outer: &Scope, rng: &mut Rng) -> (Inner, Scope) {
        let (relation, plain, columns) = on.relation(rng);
        let own = on.scope_of(&columns, INNER);
        let mut all = own.clone();
        all.columns.extend(outer.columns.iter().filter(|column| comparable(column)).cloned());
        let filter = chance(rng, 70).then(|| on.node(&all, on.truth(), rng.random_range(1..=2), rng));
        (Inner { relation, plain, filter }, own)
    }

    /// The columns of the outer query on which the value depends.
    pub(super) fn outer_columns(&self) -> Vec<Arc<str>> {
        let mut columns = match self {
            Self::Expr(node, _) => node.own_columns(),
            Self::Scalar { inner, .. } | Self::Exists(inner) => {
                inner.filter.as_ref().map(Node::own_columns).unwrap_or_default()
            }
            // What is folded is the subquery, which has no outer columns.
            Self::In { .. } | Self::Quantified { .. } => Vec::new(),
        };
        columns.retain(|name| !name.starts_with("y."));
        columns
    }

    /// Every column of the outer query that is named in it.
    pub(super) fn named_columns(&self) -> Vec<Arc<str>> {
        match self {
            Self::In { left, .. } | Self::Quantified { left, .. } => left.own_columns(),
            _ => self.outer_columns(),
        }
    }

    /// The subquery with a column of values, if it is one that is folded.
    pub(super) fn as_list(&self) -> Option<&List> {
        match self {
            Self::In { list, .. } | Self::Quantified { list, .. } => Some(list),
            _ => None,
        }
    }

    /// Whether it is a comparison with ANY or ALL.
    pub(super) fn is_quantified(&self) -> bool {
        matches!(self, Self::Quantified { .. })
    }

    /// What stands before a list, with the parenthesis that opens it and one around the whole.
    pub(super) fn left(&self) -> String {
        let (left, operator) = match self {
            Self::In { left, negated, .. } => (left, if *negated { "NOT IN".to_owned() } else { "IN".to_owned() }),
            Self::Quantified { left, comparison, all, .. } => {
                (left, format!("{comparison} {}", if *all { "ALL" } else { "ANY" }))
            }
            Self::Expr(..) | Self::Scalar { .. } | Self::Exists(_) => return String::new(),
        };
        let mut text = String::new();
        left.render("", &mut text);
        format!("(({text}) {operator} (")
    }

    /// The type of its value.
    pub(super) fn ty(&self) -> SqlType {
        match self {
            Self::Expr(_, ty) | Self::Scalar { ty, .. } => *ty,
            Self::Exists(_) | Self::In { .. } | Self::Quantified { .. } => SqlType::Boolean,
        }
    }

    /// Whether it has a query.
    pub(super) fn has_query(&self) -> bool {
        match self {
            Self::Expr(node, _) => node.has_query(),
            Self::Scalar { .. } | Self::Exists(_) | Self::In { .. } | Self::Quantified { .. } => true,
        }
    }

    /// Its text, as far as it is not a list.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Expr(node, _) => node.render("", &mut out),
            Self::Scalar { aggregate, item, inner, .. } => {
                let mut text = String::new();
                item.render("", &mut text);
                let call = match aggregate.strip_suffix("(DISTINCT") {
                    Some(name) => format!("{name}(DISTINCT {text})"),
                    None => format!("{aggregate}({text})"),
                };
                out = format!("(SELECT {call}{})", inner.source());
            }
            Self::Exists(inner) => out = format!("EXISTS (SELECT 1{})", inner.source()),
            Self::In { .. } | Self::Quantified { .. } => {}
        }
        out
    }

    /// Forms that are smaller by one step and of the same type, as `is_of` says of a node, with the same outer columns or
    /// fewer.
    pub(super) fn smaller(&self, profile: &Profile, is_of: &dyn Fn(&Node, SqlType) -> bool) -> Vec<Self> {
        let typed = |nodes: Vec<Node>, ty: SqlType| nodes.into_iter().filter(move |node| is_of(node, ty));
        match self {
            Self::Expr(node, ty) => typed(node.smaller(profile), *ty).map(|node| Self::Expr(node, *ty)).collect(),
            Self::Scalar { aggregate, item, ty, inner } => {
                let (aggregate, ty) = (*aggregate, *ty);
                let with = |item: Node, inner: Inner| Self::Scalar { aggregate, item, ty, inner };
                let items = item.smaller(profile).into_iter().map(|item| with(item, inner.clone()));
                inner.smaller(profile).into_iter().map(|inner| with(item.clone(), inner)).chain(items).collect()
            }
            Self::Exists(inner) => inner.smaller(profile).into_iter().map(Self::Exists).collect(),
            Self::In { left, negated, list } => {
                let with = |left: Node, list: List| Self::In { left, negated: *negated, list };
                let lefts = typed(left.smaller(profile), list.ty).map(|left| with(left, list.clone()));
                list.smaller(profile).into_iter().map(|list| with(left.clone(), list)).chain(lefts).collect()
            }
            Self::Quantified { left, comparison, all, list } => {
                let with = |left: Node, list: List| Self::Quantified { left, comparison, all: *all, list };
                let lefts = typed(left.smaller(profile), list.ty).map(|left| with(left, list.clone()));
                list.smaller(profile).into_iter().map(|list| with(left.clone(), list)).chain(lefts).collect()
            }
        }
    }
}
