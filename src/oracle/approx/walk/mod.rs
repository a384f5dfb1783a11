//! Mutates a query and says how its result changes (`ValScope`, section 4.4, Algorithm 1 and Table 2).
//!
//! One walk from the leaves to the root. Every node says how its rows, its truth or its value change from the first query to
//! the second, from how its parts change and from a mutation of its own; so any number of mutations may be made at once, and
//! what nobody reads changes nothing. The relation is an injection: each row of the smaller result has a row of its own in
//! the larger one, and in each column a change that is known. What has no rule, or no direction, is free, and with it
//! whatever reads it.
//!
//! What the rules take for granted, and the paper does not say:
//!
//! * A padded row goes when its partner comes, so the padded side of an outer join must not change, nor its condition.
//! * LIMIT takes any of several rows; below it nothing may change.
//! * Equality is identity for grouping, DISTINCT and set operations, so a column that changes must not be in them.
//! * An aggregate of more rows than none is no NULL any more; a changed value that is compared must be NULL no more often
//!   for the comparison to hold as often.
//! * AVG, and SUM of numbers that are no integers, depend on the order of rows in their last digits: they are free unless a
//!   mutator bounds them, and no condition may read them.
//! * SUM goes with the rows only where no value is negative. Of arithmetic that may overflow into a rounded number it is as
//!   free as AVG.

mod condition;
mod value;

use super::mutators::{self, Direction, Mutation, Mutator, Sites};
use crate::caq::names::{Names, PlaceholderKind};
use crate::program::{Change, Trend};
use crate::sql::types::SqlType;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, TableAlias, TableFactor, TableWithJoins,
};
use std::collections::BTreeSet;

/// What a target takes that not all do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Takes {
    pub(super) right_join: bool,
    pub(super) full_join: bool,
    /// That arithmetic overflows into numbers that are rounded, or into other ones.
    pub(super) overflow: bool,
}

/// How many bits the absolute value of what is stored as an integer has, at most. What may have more may overflow.
const INTEGER: u16 = 64;
/// Of what may be anything.
const ANY: u16 = 1_000;
/// Of how many rows there are.
const ROWS: u16 = 32;

/// What is known of a value, before and after.
#[derive(Debug, Clone, Copy)]
struct Term {
    change: Change,
    /// Its type, where it is one of those that classes have.
    ty: Option<SqlType>,
    /// Whether it is never negative.
    nonnegative: bool,
    /// How many bits the absolute value of a whole number has at most.
    bits: u16,
}

impl Term {
    fn same(ty: Option<SqlType>) -> Self {
        Self { change: Change::SAME, ty, nonnegative: false, bits: ANY }
    }

    /// The same integer as is stored.
    fn stored(ty: SqlType) -> Self {
        Self { bits: INTEGER, ..Self::same(Some(ty)) }
    }

    fn free(ty: Option<SqlType>) -> Self {
        Self { change: Change::FREE, ..Self::same(ty) }
    }

    fn is_same(self) -> bool {
        self.change == Change::SAME
    }

    fn is_number(self) -> bool {
        matches!(self.ty, Some(SqlType::Int | SqlType::Real))
    }

    /// Either of two.
    fn or(self, other: Self) -> Self {
        let ty = match (self.ty, other.ty) {
            (one, other) if one == other => one,
            _ if self.is_number() && other.is_number() => Some(SqlType::Real),
            _ => None,
        };
        let (change, bits) = (self.change.and(other.change), self.bits.max(other.bits));
        Self { change, ty, nonnegative: self.nonnegative && other.nonnegative, bits }
    }
}

/// A column of a result.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    term: Term,
}

/// How the rows of a relation change.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// Which there are.
    pub(super) extent: Trend,
    columns: Vec<Column>,
}

impl Rows {
    fn is_same(&self) -> bool {
        self.extent == Trend::Same && self.values_same()
    }

    fn values_same(&self) -> bool {
        self.columns.iter().all(|column| column.term.is_same())
    }

    /// Nothing is known of them any more.
    fn freed(mut self) -> Self {
        self.extent = Trend::Free;
        self.columns.iter_mut().for_each(|column| column.term.change = Change::FREE);
        self
    }

    /// How each column changes. What is no number has no order.
    pub(super) fn changes(&self) -> Vec<Change> {
        let change = |column: &Column| match column.term {
            Term { change, .. } if change.order == Trend::Same => change,
            term if term.is_number() => term.change,
            _ => Change::FREE,
        };
        self.columns.iter().map(change).collect()
    }

    /// With other names of the columns.
    fn renamed(mut self, alias: &TableAlias) -> Self {
        for (column, name) in self.columns.iter_mut().zip(&alias.columns) {
            column.name.clone_from(&name.name.value);
        }
        self
    }
}

/// A table, derived table or common table expression in a FROM clause.
#[derive(Debug, Clone)]
struct Entry {
    alias: String,
    /// The relation, for a base table or a table placeholder.
    relation: Option<usize>,
    /// The columns of anything else.
    columns: Vec<Column>,
}

/// What a SELECT sees.
#[derive(Debug, Default)]
struct Scope {
    entries: Vec<Entry>,
    /// How its rows change, or, in an aggregate query, those of its groups.
    rows: Trend,
    /// Whether the present expression is of a group rather than of a row.
    grouped: bool,
}

/// The walk.
pub(super) struct Walk<'a> {
    names: &'a Names,
    takes: Takes,
    sites: Sites,
    scopes: Vec<Scope>,
    ctes: Vec<(String, Rows)>,
    /// Nodes around the present one below which nothing is mutated.
    frozen: usize,
    /// Relations that have a placeholder of a mutation.
    introduced: BTreeSet<usize>,
    /// Whether something was met that has no meaning here.
    lost: bool,
}

/// What came out.
pub(super) struct Walked {
    pub(super) rows: Rows,
    pub(super) sites: usize,
    pub(super) made: Vec<Mutation>,
    /// Relations over which a mutation has a condition, as the placeholder [`introduced`].
    pub(super) introduced: BTreeSet<usize>,
}

/// The placeholder of a mutation over a relation.
pub(super) fn introduced(relation: usize) -> String {
    format!("approx{relation}")
}

/// Mutates a query at some sites. `None` where it has something that the walk does not know.
pub(super) fn mutate(query: &mut Query, names: &Names, takes: Takes, chosen: Vec<usize>) -> Option<Walked> {
    let mut walk = Walk {
        names,
        takes,
        sites: Sites::at(chosen),
        scopes: Vec::new(),
        ctes: Vec::new(),
        frozen: 0,
        introduced: BTreeSet::new(),
        lost: false,
    };
    let rows = walk.query(query);
    let Walk { sites, introduced, lost, .. } = walk;
    (!lost).then(|| Walked { rows, sites: sites.count(), made: sites.made(), introduced })
}

/// A join, whatever its spelling.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inner,
    Left,
    Right,
    Full,
}

impl Walk<'_> {
    /// Whether a mutator applies here.
    fn takes(
        &mut self,
        mutator: &'static Mutator,
        before: &dyn std::fmt::Display,
        after: &dyn std::fmt::Display,
    ) -> bool {
        self.frozen == 0 && self.sites.takes(mutator, before, after)
    }

    /// Walks something below which nothing is mutated.
    fn frozen<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.frozen += 1;
        let result = walk(self);
        self.frozen -= 1;
        result
    }

    fn scope(&mut self) -> Option<&mut Scope> {
        self.scopes.last_mut()
    }

    /// Whether anything in sight changes.
    fn nothing_changes(&self) -> bool {
        let entry = |entry: &Entry| entry.columns.iter().all(|column| column.term.is_same());
        self.scopes.iter().all(|scope| scope.rows == Trend::Same && scope.entries.iter().all(entry))
            && self.ctes.iter().all(|(_, rows)| rows.is_same())
    }

    fn query(&mut self, query: &mut Query) -> Rows {
        let Query { with, body, order_by, limit_clause, fetch, .. } = query;
        let visible = self.ctes.len();
        if let Some(with) = with {
            self.lost |= with.recursive;
            for cte in &mut with.cte_tables {
                let rows = self.query(&mut cte.query).renamed(&cte.alias);
                self.ctes.push((cte.alias.name.value.clone(), rows));
            }
        }
        let rows = if limit_clause.is_some() || fetch.is_some() {
            let rows = self.frozen(|walk| walk.body(body));
            if rows.is_same() && self.nothing_changes() { rows } else { rows.freed() }
        } else {
            let mut rows = self.body(body);
            if order_by.is_none() && matches!(**body, SetExpr::Select(_)) {
                let twice = SetExpr::SetOperation {
                    left: body.clone(),
                    op: SetOperator::Union,
                    set_quantifier: SetQuantifier::All,
                    right: body.clone(),
                };
                if self.takes(&mutators::TWICE, &**body, &twice) {
                    **body = twice;
                    rows.extent = rows.extent.and(mutators::TWICE.rows(Direction::Over));
                }
            }
            rows
        };
        self.ctes.truncate(visible);
        rows
    }

    fn body(&mut self, body: &mut SetExpr) -> Rows {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { .. } => self.set_operation(body),
            SetExpr::Values(values) => {
                let mut columns: Vec<Column> = Vec::new();
                for row in &mut values.rows {
                    for (at, expr) in row.content.iter_mut().enumerate() {
                        let term = self.frozen(|walk| walk.value(expr));
                        match columns.get_mut(at) {
                            Some(column) => column.term = column.term.or(term),
                            None => columns.push(Column { name: format!("column{}", at + 1), term }),
                        }
                    }
                }
                Rows { extent: Trend::Same, columns }
            }
            _ => {
                self.lost = true;
                Rows { extent: Trend::Free, columns: Vec::new() }
            }
        }
    }

    fn set_operation(&mut self, body: &mut SetExpr) -> Rows {
        use Direction::{Over, Under};
        let SetExpr::SetOperation { left, op, set_quantifier, right } = body else {
            self.lost = true;
            return Rows { extent: Trend::Free, columns: Vec::new() };
        };
        let (one, other) = (self.body(left), self.body(right));
        let all = *set_quantifier == SetQuantifier::All;
        self.lost |= !(all || *set_quantifier == SetQuantifier::None || *set_quantifier == SetQuantifier::Distinct)
            || one.columns.len() != other.columns.len();
        let typed = |(a, b): (&Column, &Column)| a.term.ty.is_some() && a.term.ty == b.term.ty;
        let typed = one.columns.iter().zip(&other.columns).all(typed);
        let same = one.values_same() && other.values_same();
        let columns = one.columns.iter().zip(&other.columns);
        let columns = columns.map(|(a, b)| Column { name: a.name.clone(), term: a.term.or(b.term) }).collect();
        let extent = match op {
            SetOperator::Union | SetOperator::Intersect => one.extent.and(other.extent),
            SetOperator::Except | SetOperator::Minus => one.extent.and(other.extent.reversed()),
        };
        let bag = *op == SetOperator::Union && all;
        let mut rows = Rows { extent, columns };
        // The columns of the left side alone, where that stays alone.
        let left_alone = |extent: Trend| Rows { extent, columns: one.columns.clone() };
        if !bag && !same {
            rows = rows.freed();
        }
        let with = |op: SetOperator, quantifier: SetQuantifier| SetExpr::SetOperation {
            left: left.clone(),
            op,
            set_quantifier: quantifier,
            right: right.clone(),
        };
        let (op, left) = (*op, (**left).clone());
        let (union_all, union) =
            (with(SetOperator::Union, SetQuantifier::All), with(SetOperator::Union, SetQuantifier::None));
        // What the other side gives does not matter where it goes; but a type common to both must be the left one's.
        match op {
            SetOperator::Union if !all && self.takes(&mutators::UNION_ALL, body, &union_all) => {
                *body = union_all;
                rows.extent = rows.extent.and(mutators::UNION_ALL.rows(Over));
            }
            SetOperator::Union if all && self.takes(&mutators::UNION_ALL, body, &union) => {
                *body = union;
                rows = if same {
                    Rows { extent: extent.and(mutators::UNION_ALL.rows(Under)), ..rows }
                } else {
                    rows.freed()
                };
            }
            SetOperator::Union if all && typed && self.takes(&mutators::TWICE, body, &left) => {
                *body = left;
                rows = left_alone(one.extent.and(mutators::TWICE.rows(Under)));
            }
            SetOperator::Intersect if !all && same && self.takes(&mutators::INTERSECT, body, &union) => {
                *body = union;
                rows.extent = extent.and(mutators::INTERSECT.rows(Over));
            }
            SetOperator::Intersect if typed && self.takes(&mutators::INTERSECT_LEFT, body, &left) => {
                *body = left;
                rows = left_alone(one.extent.and(mutators::INTERSECT_LEFT.rows(Over)));
            }
            SetOperator::Except if typed && self.takes(&mutators::EXCEPT, body, &left) => {
                *body = left;
                rows = left_alone(one.extent.and(mutators::EXCEPT.rows(Over)));
            }
            _ => {}
        }
        rows
    }

    fn select(&mut self, select: &mut Select) -> Rows {
        self.scopes.push(Scope::default());
        let mut extent = Trend::Same;
        for table in &mut select.from {
            extent = extent.and(self.joined(table));
        }
        if let Some(selection) = &mut select.selection {
            extent = extent.and(self.condition(selection).yes);
        }
        let keys = match &mut select.group_by {
            GroupByExpr::Expressions(keys, _) => std::mem::take(keys),
            GroupByExpr::All(_) => {
                self.lost = true;
                Vec::new()
            }
        };
        if let Some(scope) = self.scope() {
            scope.rows = extent;
        }
        let grouped = !keys.is_empty() || select.having.is_some() || value::aggregates(&mut select.projection);
        if grouped {
            let mut keys = keys;
            let identical = keys.iter_mut().all(|key| self.frozen(|walk| walk.value(key)).is_same());
            // A number would be the position of an item, which may change.
            self.lost |= keys.iter().any(|key| matches!(key, Expr::Value(_)));
            if keys.is_empty() {
                extent = Trend::Same;
            } else if !identical {
                extent = Trend::Free;
            }
            select.group_by = GroupByExpr::Expressions(keys, Vec::new());
            if let Some(scope) = self.scope() {
                scope.grouped = true;
            }
            if let Some(having) = &mut select.having {
                extent = extent.and(self.condition(having).yes);
            }
            if extent != Trend::Same && self.scopes.last().is_some_and(|scope| scope.rows == Trend::Same) {
                // Window functions see the groups that are left.
                self.lost |= value::has_window(&mut select.projection);
            }
        }
        let columns = self.projection(&mut select.projection);
        self.scopes.pop();
        let mut rows = Rows { extent, columns };
        let distinct = matches!(select.distinct, Some(Distinct::Distinct));
        if distinct && !rows.values_same() {
            rows = rows.freed();
        }
        match select.distinct {
            Some(Distinct::Distinct) if self.takes(&mutators::DISTINCT, &"SELECT DISTINCT", &"SELECT") => {
                select.distinct = None;
                rows.extent = rows.extent.and(mutators::DISTINCT.rows(Direction::Over));
            }
            None if self.takes(&mutators::DISTINCT, &"SELECT", &"SELECT DISTINCT") => {
                select.distinct = Some(Distinct::Distinct);
                rows = if rows.values_same() {
                    Rows { extent: rows.extent.and(mutators::DISTINCT.rows(Direction::Under)), ..rows }
                } else {
                    rows.freed()
                };
            }
            _ => {}
        }
        rows
    }

    fn projection(&mut self, items: &mut [SelectItem]) -> Vec<Column> {
        let mut columns = Vec::new();
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = match &*expr {
                        Expr::Identifier(ident) => ident.value.clone(),
                        Expr::CompoundIdentifier(path) => path.last().map(|i| i.value.clone()).unwrap_or_default(),
                        _ => String::new(),
                    };
                    let term = self.operand(expr);
                    columns.push(Column { name: name.clone(), term });
                    if !name.is_empty() && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
                        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::new(name) };
                    }
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let term = self.operand(expr);
                    columns.push(Column { name: alias.value.clone(), term });
                }
                SelectItem::Wildcard(_) => columns.extend(self.all_columns(None)),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    columns.extend(self.all_columns(Some(&name.to_string())));
                }
                _ => self.lost = true,
            }
        }
        columns
    }

    /// What `*` stands for.
    fn all_columns(&self, only: Option<&str>) -> Vec<Column> {
        let entries = self.scopes.last().map(|scope| scope.entries.as_slice()).unwrap_or_default();
        let named = entries.iter().filter(|entry| only.is_none_or(|name| name.eq_ignore_ascii_case(&entry.alias)));
        let columns = |entry: &Entry| match entry.relation {
            Some(at) => {
                let columns = self.names.relations[at].columns.iter();
                columns.map(|c| Column { name: c.name.clone(), term: Term::stored(c.ty) }).collect()
            }
            None => entry.columns.clone(),
        };
        named.flat_map(columns).collect()
    }

    /// A table with what is joined to it, which comes into the scope.
    fn joined(&mut self, table: &mut TableWithJoins) -> Trend {
        let mut left = self.factor(&mut table.relation);
        for Join { relation, join_operator, .. } in &mut table.joins {
            let right = self.factor(relation);
            let (side, constraint) = match join_operator {
                JoinOperator::Join(c) | JoinOperator::Inner(c) | JoinOperator::CrossJoin(c) => (Side::Inner, c),
                JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (Side::Left, c),
                JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (Side::Right, c),
                JoinOperator::FullOuter(c) => (Side::Full, c),
                _ => {
                    self.lost = true;
                    return Trend::Free;
                }
            };
            let on = match constraint {
                JoinConstraint::On(condition) if side == Side::Inner => self.condition(condition).yes,
                JoinConstraint::On(condition) => self.frozen(|walk| walk.truth(condition)).yes,
                JoinConstraint::None => Trend::Same,
                JoinConstraint::Using(_) | JoinConstraint::Natural => {
                    self.lost = true;
                    return Trend::Free;
                }
            };
            let still = |part: Trend| on == Trend::Same && part == Trend::Same;
            let change = match side {
                Side::Inner => left.and(right).and(on),
                Side::Left if still(right) => left,
                Side::Right if still(left) => right,
                Side::Full if still(left.and(right)) => Trend::Same,
                _ => Trend::Free,
            };
            left = change.and(self.other_join(side, join_operator));
        }
        left
    }

    /// Mutates the kind of a join.
    fn other_join(&mut self, side: Side, operator: &mut JoinOperator) -> Trend {
        let (JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)) = operator
        else {
            return Trend::Same;
        };
        if !matches!(constraint, JoinConstraint::On(_)) {
            return Trend::Same;
        }
        let constraint = constraint.clone();
        let Takes { right_join, full_join, .. } = self.takes;
        let (left, right, full) = (
            ("LEFT JOIN", JoinOperator::Left(constraint.clone()), true),
            ("RIGHT JOIN", JoinOperator::Right(constraint.clone()), right_join),
            ("FULL JOIN", JoinOperator::FullOuter(constraint.clone()), full_join),
        );
        let inner = ("JOIN", JoinOperator::Join(constraint), true);
        let before = match side {
            Side::Inner => inner.0,
            Side::Left => left.0,
            Side::Right => right.0,
            Side::Full => full.0,
        };
        let others = match side {
            Side::Inner => vec![(left, Direction::Over), (right, Direction::Over)],
            Side::Left | Side::Right => vec![(full, Direction::Over), (inner, Direction::Under)],
            Side::Full => vec![(left, Direction::Under), (right, Direction::Under)],
        };
        for ((name, other, taken), direction) in others {
            if taken && self.takes(&mutators::JOIN, &before, &name) {
                *operator = other;
                return mutators::JOIN.rows(direction);
            }
        }
        Trend::Same
    }

    fn factor(&mut self, factor: &mut TableFactor) -> Trend {
        let (entry, extent) = match factor {
            TableFactor::Table { name, alias, .. } => {
                let name = name.to_string();
                let visible = alias.as_ref().map_or_else(|| name.clone(), |alias| alias.name.value.clone());
                let cte = self.ctes.iter().rev().find(|(cte, _)| cte.eq_ignore_ascii_case(&name));
                let relation = self.names.relations.iter().position(|r| r.name.eq_ignore_ascii_case(&name));
                match (cte, relation) {
                    (Some((_, rows)), _) => {
                        (Entry { alias: visible, relation: None, columns: rows.columns.clone() }, rows.extent)
                    }
                    (None, Some(at)) => {
                        (Entry { alias: visible, relation: Some(at), columns: Vec::new() }, Trend::Same)
                    }
                    (None, None) => {
                        self.lost = true;
                        return Trend::Free;
                    }
                }
            }
            TableFactor::Derived { lateral, subquery, alias: Some(alias), .. } => {
                // Only a lateral one sees what stands before it.
                let hidden = if *lateral { None } else { self.scopes.pop() };
                let rows = self.query(subquery).renamed(alias);
                self.scopes.extend(hidden);
                (Entry { alias: alias.name.value.clone(), relation: None, columns: rows.columns }, rows.extent)
            }
            TableFactor::NestedJoin { table_with_joins, .. } => return self.joined(table_with_joins),
            _ => {
                self.lost = true;
                return Trend::Free;
            }
        };
        if let Some(scope) = self.scope() {
            scope.entries.push(entry);
        }
        extent
    }

    /// A column by its qualified name.
    fn column(&mut self, path: &[Ident]) -> Term {
        let [qualifier, column] = path else {
            self.lost = true;
            return Term::free(None);
        };
        let entries = self.scopes.iter().rev().flat_map(|scope| &scope.entries);
        let entry = entries.into_iter().find(|entry| entry.alias.eq_ignore_ascii_case(&qualifier.value));
        let found = entry.and_then(|entry| match entry.relation {
            Some(relation) => {
                let table = &self.names.relations[relation];
                let real = table.column(&column.value).map(|at| Term::stored(table.columns[at].ty));
                let placeholders = || {
                    self.names.placeholders.iter().find_map(|p| match p.kind {
                        PlaceholderKind::Expr { relation: of, ty }
                            if of == relation && p.name.eq_ignore_ascii_case(&column.value) =>
                        {
                            Some(Term::same(Some(ty)))
                        }
                        _ => None,
                    })
                };
                real.or_else(placeholders)
            }
            None => entry.columns.iter().find(|c| c.name.eq_ignore_ascii_case(&column.value)).map(|c| c.term),
        });
        found.unwrap_or_else(|| {
            self.lost = true;
            Term::free(None)
        })
    }
}
