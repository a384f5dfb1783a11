//! Resolves the names of a member and compiles it to a [`Template`].
//!
//! One walk over the tree, scopes on a stack: expands `*` (never to virtual columns), replaces placeholders by slots,
//! and notes for every reference whether an outer join below it can have padded its table (`design`: null-preserving
//! is demanded only there), whether the value is used as a truth value only, and whether a bare constant in its place
//! would be read as an ordinal.
//!
//! What the walk does not know it refuses: a clause that is skipped silently could hide a placeholder.

mod expr;

use super::collation::{Wrap, collation_reaches_a_comparison};
use super::names::{Names, Placeholder, PlaceholderKind, PlaceholderRequirement};
use super::template::{Slot, Template};
use crate::sql::print::{PrintError, parse_query, print_query};
use expr::ExprWalk;
use prover::walk::walk;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, LimitClause, NamedWindowDefinition,
    NamedWindowExpr, ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, TableWithJoins,
};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;
use thiserror::Error;

/// A bound member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The member's text with slots.
    pub template: Template,
    /// One demand per placeholder of the class; the default for those the member does not use.
    pub demands: Vec<PlaceholderRequirement>,
    /// Whether the member uses each placeholder.
    pub uses: Vec<bool>,
    /// The aliases that the member introduces.
    pub aliases: Vec<String>,
}

/// Why a member cannot be bound.
#[derive(Debug, Error)]
pub enum BindError {
    /// The text is not one query, or does not print faithfully.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// A name refers to nothing or to too much.
    #[error("{message}{}", position(*.span))]
    Name {
        /// What is wrong.
        message: String,
        /// Where.
        span: Span,
    },
    /// A construct that classes may not use.
    #[error("unsupported in a class: {0}")]
    Unsupported(String),
}

fn position(span: Span) -> String {
    match (span.start.line, span.start.column) {
        (0, _) => String::new(),
        (line, column) => format!(" (line {line}, column {column})"),
    }
}

/// Prefix of the aliases that generated subqueries use; members may not.
pub const GENERATED_ALIAS: &str = "sq";

/// Parses and binds one member.
pub fn bind(sql: &str, names: &Names) -> Result<Bound, BindError> {
    let mut query = parse_query(sql)?;
    let mut binder = Binder {
        names,
        scopes: Vec::new(),
        ctes: Vec::new(),
        slots: Vec::new(),
        demands: vec![PlaceholderRequirement::default(); names.placeholders.len()],
        uses: vec![false; names.placeholders.len()],
        aliases: Vec::new(),
        outputs: Vec::new(),
        merged: Vec::new(),
    };
    binder.query(&mut query)?;
    let printed = print_query(&query)?;
    let template = Template::split(&printed, &binder.slots)
        .ok_or_else(|| BindError::Unsupported("a name that looks like a slot marker".to_owned()))?;
    Ok(Bound { template, demands: binder.demands, uses: binder.uses, aliases: binder.aliases })
}

/// A table, derived table or common table expression visible in a FROM clause.
#[derive(Clone)]
struct Entry {
    alias: String,
    /// The relation, for a base table or table placeholder; only these have virtual columns.
    relation: Option<usize>,
    columns: Vec<String>,
    /// Whether an outer join handled so far can pad it.
    padded: bool,
}

impl Entry {
    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|c| c.eq_ignore_ascii_case(column))
    }
}

/// Merges columns of two sides of a join, each of which must have them once or merged.
fn merge(left: &[Entry], right: &[Entry], columns: &[String], merged: &mut Vec<String>) -> Result<(), BindError> {
    for column in columns {
        let count = |side: &[Entry]| side.iter().filter(|entry| entry.has(column)).count();
        if count(right) != 1 || count(left) != 1 && !(count(left) > 0 && merged.contains(column)) {
            return unsupported(format!("USING or NATURAL with {column}, which one side has not or more than once"));
        }
        if !merged.contains(column) {
            merged.push(column.clone());
        }
    }
    Ok(())
}

struct Binder<'a> {
    names: &'a Names,
    scopes: Vec<Vec<Entry>>,
    ctes: Vec<(String, Vec<String>)>,
    slots: Vec<Slot>,
    demands: Vec<PlaceholderRequirement>,
    uses: Vec<bool>,
    aliases: Vec<String>,
    /// Names of output columns, in lower case.
    outputs: Vec<String>,
    /// Names of columns that NATURAL and USING merged in the present SELECT, in lower case. Only these need no table.
    merged: Vec<String>,
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, BindError> {
    Err(BindError::Unsupported(what.into()))
}

impl Binder<'_> {
    /// Binds a query and returns the names of its output columns.
    fn query(&mut self, query: &mut Query) -> Result<Vec<String>, BindError> {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if fetch.is_some()
            || !locks.is_empty()
            || for_clause.is_some()
            || settings.is_some()
            || format_clause.is_some()
            || !pipe_operators.is_empty()
        {
            return unsupported("FETCH, FOR, SETTINGS, FORMAT and pipes");
        }
        if let Some(LimitClause::LimitOffset { limit_by, .. }) = limit_clause
            && !limit_by.is_empty()
        {
            return unsupported("LIMIT BY");
        }
        let visible = self.ctes.len();
        if let Some(with) = with {
            for cte in &mut with.cte_tables {
                if cte.from.is_some() {
                    return unsupported("WITH … FROM");
                }
                self.unshadowed(&cte.alias.name)?;
                // A recursive one is visible in its own query, under the columns that its alias lists.
                let name = cte.alias.name.value.clone();
                if with.recursive {
                    self.ctes.push((name.clone(), renamed(&cte.alias, Vec::new())));
                }
                let columns = self.query(&mut cte.query)?;
                if with.recursive {
                    self.ctes.pop();
                }
                self.ctes.push((name, renamed(&cte.alias, columns)));
            }
        }
        let columns = self.set_expr(body, order_by.as_mut())?;
        self.ctes.truncate(visible);
        Ok(columns)
    }

    /// A common table expression or alias named like a relation would make two things of one name.
    fn unshadowed(&mut self, name: &Ident) -> Result<(), BindError> {
        let fail = |message: String| Err(BindError::Name { message, span: name.span });
        if self.names.relations.iter().any(|r| r.name.eq_ignore_ascii_case(&name.value)) {
            return fail(format!("{name} is already the name of a table"));
        }
        if name.value.to_ascii_lowercase().starts_with(GENERATED_ALIAS) || name.value.starts_with("__") {
            return fail(format!("names that start with {GENERATED_ALIAS} or __ are reserved"));
        }
        self.aliases.push(name.value.to_ascii_lowercase());
        Ok(())
    }

    fn set_expr(&mut self, body: &mut SetExpr, order_by: Option<&mut OrderBy>) -> Result<Vec<String>, BindError> {
        match body {
            SetExpr::Select(select) => self.select(select, order_by),
            SetExpr::Query(query) => {
                if order_by.is_some() {
                    return unsupported("ORDER BY after a parenthesised query");
                }
                self.query(query)
            }
            SetExpr::SetOperation { left, right, .. } => {
                let columns = self.set_expr(left, None)?;
                self.set_expr(right, None)?;
                if let Some(order_by) = order_by {
                    self.order_by(order_by)?;
                }
                Ok(columns)
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.content.len());
                for row in &mut values.rows {
                    for expr in &mut row.content {
                        self.expr(expr)?;
                    }
                }
                Ok((1..=width).map(|i| format!("column{i}")).collect())
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) | SetExpr::Table(_) => {
                unsupported(body.to_string())
            }
        }
    }

    fn select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<Vec<String>, BindError> {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = select;
        if !optimizer_hints.is_empty()
            || select_modifiers.as_ref().is_some_and(|m| !m.to_string().is_empty())
            || top.is_some()
            || exclude.is_some()
            || into.is_some()
            || !lateral_views.is_empty()
            || prewhere.is_some()
            || !connect_by.is_empty()
            || !cluster_by.is_empty()
            || !distribute_by.is_empty()
            || !sort_by.is_empty()
            || qualify.is_some()
            || value_table_mode.is_some()
        {
            return unsupported("a SELECT with clauses beyond FROM, WHERE, GROUP BY, HAVING and WINDOW");
        }
        if !matches!(distinct, None | Some(Distinct::Distinct | Distinct::All)) {
            return unsupported("DISTINCT ON");
        }
        let from_list_is_long = from.len() > 1;
        let mut scope = Vec::new();
        let outer = std::mem::take(&mut self.merged);
        for table in from.iter_mut() {
            let merged = self.table_with_joins(table, &mut scope)?;
            // A name that another table of the list has too would be ambiguous.
            if !merged.is_empty() && from_list_is_long {
                return unsupported("USING and NATURAL beside a comma");
            }
            self.merged = merged;
        }
        self.scopes.push(scope);
        let columns = self.projection(projection)?;
        if let Some(selection) = selection {
            self.condition(selection)?;
        }
        match group_by {
            GroupByExpr::Expressions(expressions, modifiers) if modifiers.is_empty() => {
                for expr in expressions {
                    self.item(expr)?;
                }
            }
            other => return unsupported(other.to_string()),
        }
        if let Some(having) = having {
            self.condition(having)?;
        }
        for NamedWindowDefinition(_, window) in named_window {
            let NamedWindowExpr::WindowSpec(window) = window else {
                return unsupported("a window named after another");
            };
            window.partition_by.iter_mut().try_for_each(|expr| self.expr(expr))?;
            window.order_by.iter_mut().try_for_each(|item| self.expr(&mut item.expr))?;
        }
        if let Some(order_by) = order_by {
            self.order_by(order_by)?;
        }
        self.scopes.pop();
        self.merged = outer;
        Ok(columns)
    }

    fn order_by(&mut self, order_by: &mut OrderBy) -> Result<(), BindError> {
        match (&mut order_by.kind, &order_by.interpolate) {
            (OrderByKind::Expressions(items), None) => items.iter_mut().try_for_each(|item| self.item(&mut item.expr)),
            _ => unsupported(order_by.to_string()),
        }
    }

    /// Binds the FROM list, adding what it makes visible to `scope`. Returns the names of columns that it merges.
    fn table_with_joins(
        &mut self,
        table: &mut TableWithJoins,
        scope: &mut Vec<Entry>,
    ) -> Result<Vec<String>, BindError> {
        let start = scope.len();
        let mut merged = self.factor(&mut table.relation, scope)?;
        for Join { relation, global, join_operator } in &mut table.joins {
            if *global {
                return unsupported("GLOBAL JOIN");
            }
            let right = scope.len();
            if !self.factor(relation, scope)?.is_empty() {
                return unsupported("USING and NATURAL on the right of a join");
            }
            let (constraint, pads_left, pads_right) = match join_operator {
                JoinOperator::Join(c) | JoinOperator::Inner(c) | JoinOperator::CrossJoin(c) => (c, false, false),
                JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (c, false, true),
                JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (c, true, false),
                JoinOperator::FullOuter(c) => (c, true, true),
                _ => return unsupported("joins other than inner, cross, left, right and full"),
            };
            match constraint {
                // The condition sees real rows of its own join's inputs, and rows padded by the joins below it.
                JoinConstraint::On(condition) => {
                    self.scopes.push(scope.clone());
                    self.condition(condition)?;
                    self.scopes.pop();
                }
                JoinConstraint::None => {}
                JoinConstraint::Using(columns) => {
                    let name = |column: &ObjectName| match column.0.as_slice() {
                        [part] => part.as_ident().map(|ident| ident.value.to_ascii_lowercase()),
                        _ => None,
                    };
                    let columns: Option<Vec<String>> = columns.iter().map(name).collect();
                    let Some(columns) = columns else { return unsupported("USING of a qualified column") };
                    merge(&scope[start..right], &scope[right..], &columns, &mut merged)?;
                }
                JoinConstraint::Natural => {
                    // Tables have further columns where they are used, each with a name of its own.
                    self.no_table_twice(&scope[start..])?;
                    let right_has = |name: &String| scope[right..].iter().any(|e| e.has(name));
                    let left = scope[start..right].iter().flat_map(|e| &e.columns).map(|c| c.to_ascii_lowercase());
                    let columns: BTreeSet<String> = left.filter(right_has).collect();
                    let columns: Vec<String> = columns.into_iter().collect();
                    if columns.is_empty() {
                        return unsupported("NATURAL JOIN of tables without a common column");
                    }
                    merge(&scope[start..right], &scope[right..], &columns, &mut merged)?;
                }
            }
            // Engines do not agree on whether the join's left side holds the tables before the comma.
            if pads_left && start > 0 {
                return unsupported("RIGHT or FULL JOIN after a comma");
            }
            for (at, entry) in scope.iter_mut().enumerate().skip(start) {
                entry.padded |= if at < right { pads_left } else { pads_right };
            }
        }
        Ok(merged)
    }

    /// Refuses a NATURAL JOIN in which a table occurs twice, which would compare its further columns too, or one that
    /// stands for any table.
    fn no_table_twice(&self, scope: &[Entry]) -> Result<(), BindError> {
        let tables: Vec<usize> = scope.iter().filter_map(|entry| entry.relation).collect();
        let any = |relation: &usize| {
            self.names.placeholders.iter().any(|p| p.kind == PlaceholderKind::Table { relation: *relation })
        };
        let twice = |(at, relation): (usize, &usize)| tables[..at].contains(relation);
        if tables.iter().any(any) || tables.iter().enumerate().any(twice) {
            return unsupported("NATURAL JOIN of a table with itself, or of a table placeholder");
        }
        // Engines name it, and what stands in place of a placeholder has another name than it.
        if scope.iter().any(|entry| entry.has("")) {
            return unsupported("NATURAL JOIN of a query with a column without a name");
        }
        Ok(())
    }

    fn factor(&mut self, factor: &mut TableFactor, scope: &mut Vec<Entry>) -> Result<Vec<String>, BindError> {
        let printed = factor.to_string();
        let entry = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => self.named(name, alias)?,
            TableFactor::Derived { lateral, subquery, alias: Some(alias), sample: None } => {
                if *lateral {
                    self.scopes.push(scope.clone());
                }
                let columns = self.query(subquery)?;
                if *lateral {
                    self.scopes.pop();
                }
                self.unshadowed(&alias.name)?;
                Entry {
                    alias: alias.name.value.clone(),
                    relation: None,
                    columns: renamed(alias, columns),
                    padded: false,
                }
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.table_with_joins(table_with_joins, scope);
            }
            _ => return unsupported(format!("{printed} in FROM (a derived table needs an alias)")),
        };
        if scope.iter().any(|e| e.alias.eq_ignore_ascii_case(&entry.alias)) {
            return unsupported(format!("two tables named {} in one FROM", entry.alias));
        }
        scope.push(entry);
        Ok(Vec::new())
    }

    /// A table, table placeholder or common table expression by name.
    fn named(&mut self, name: &mut ObjectName, alias: &mut Option<TableAlias>) -> Result<Entry, BindError> {
        let [part] = name.0.as_slice() else { return unsupported(format!("qualified name {name}")) };
        let Some(ident) = part.as_ident().cloned() else { return unsupported(name.to_string()) };
        if let Some(alias) = alias {
            if !alias.columns.is_empty() {
                return unsupported("column aliases on a base table");
            }
            self.unshadowed(&alias.name)?;
        }
        let visible = alias.as_ref().map_or_else(|| ident.value.clone(), |a| a.name.value.clone());
        if let Some((_, columns)) = self.ctes.iter().rev().find(|(n, _)| n.eq_ignore_ascii_case(&ident.value)) {
            return Ok(Entry { alias: visible, relation: None, columns: columns.clone(), padded: false });
        }
        let Some(relation) = self.names.relations.iter().position(|r| r.name.eq_ignore_ascii_case(&ident.value)) else {
            return Err(BindError::Name { message: format!("there is no table {ident}"), span: ident.span });
        };
        let placeholder = self.names.placeholders.iter().position(|p| p.kind == PlaceholderKind::Table { relation });
        if let Some(placeholder) = placeholder {
            // The table's place takes any table, so the name the member uses must be its alias.
            *name = ObjectName::from(vec![Ident::new(Template::marker(self.slots.len()))]);
            if alias.is_none() {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: Ident::new(visible.clone()),
                    columns: Vec::new(),
                    at: None,
                });
            }
            self.slots.push(Slot::Table { placeholder });
            self.uses[placeholder] = true;
        }
        let columns = self.names.relations[relation].columns.iter().map(|c| c.name.clone()).collect();
        Ok(Entry { alias: visible, relation: Some(relation), columns, padded: false })
    }

    /// Binds the select list, expanding `*`, and returns the names of its columns.
    fn projection(&mut self, items: &mut Vec<SelectItem>) -> Result<Vec<String>, BindError> {
        let mut columns = Vec::new();
        for item in std::mem::take(items) {
            match item {
                // It has a merged column once, which the list below has twice.
                SelectItem::Wildcard(_) if !self.merged.is_empty() => {
                    return unsupported("* over USING or NATURAL");
                }
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    let only = match &item {
                        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                            Some(name.to_string())
                        }
                        SelectItem::Wildcard(_) => None,
                        other => return unsupported(other.to_string()),
                    };
                    let scope = self.scopes.last().cloned().unwrap_or_default();
                    let before = items.len();
                    for entry in scope.iter().filter(|e| only.as_ref().is_none_or(|o| o.eq_ignore_ascii_case(&e.alias)))
                    {
                        for column in &entry.columns {
                            let path = vec![Ident::new(entry.alias.clone()), Ident::new(column.clone())];
                            items.push(SelectItem::UnnamedExpr(Expr::CompoundIdentifier(path)));
                            columns.push(column.clone());
                        }
                    }
                    if items.len() == before {
                        return unsupported(format!("{item}, which stands for no columns"));
                    }
                }
                SelectItem::UnnamedExpr(mut expr) => {
                    let name = match &expr {
                        Expr::Identifier(ident) => ident.value.clone(),
                        Expr::CompoundIdentifier(path) => path.last().map(|i| i.value.clone()).unwrap_or_default(),
                        _ => String::new(),
                    };
                    let virtual_column = self.names.placeholders.iter().any(|p| p.name == name);
                    self.expr(&mut expr)?;
                    columns.push(name.clone());
                    // A virtual column keeps its name, whatever is put in its place.
                    items.push(if virtual_column {
                        SelectItem::ExprWithAlias { expr, alias: Ident::new(name) }
                    } else {
                        SelectItem::UnnamedExpr(expr)
                    });
                }
                SelectItem::ExprWithAlias { mut expr, alias } => {
                    self.expr(&mut expr)?;
                    // Some engines look for a name in a window's ORDER BY among what is selected.
                    if self.merged.contains(&alias.value.to_ascii_lowercase()) {
                        return unsupported(format!("{alias} as the name of something else than the merged column"));
                    }
                    columns.push(alias.value.clone());
                    self.outputs.push(alias.value.to_ascii_lowercase());
                    items.push(SelectItem::ExprWithAlias { expr, alias });
                }
                other @ SelectItem::ExprWithAliases { .. } => return unsupported(other.to_string()),
            }
        }
        Ok(columns)
    }

    /// Binds an expression whose value is used as a truth value only.
    fn condition(&mut self, expr: &mut Expr) -> Result<(), BindError> {
        self.truth_value(expr, &[Wrap::Truth])?;
        self.walk(expr, Wrap::Truth)
    }

    /// Binds a whole item of GROUP BY or ORDER BY.
    fn item(&mut self, expr: &mut Expr) -> Result<(), BindError> {
        let bare = innermost(expr);
        if let Expr::CompoundIdentifier(path) = bare {
            let path = path.clone();
            if let Some(placeholder) = self.placeholder(&path)? {
                self.demands[placeholder].no_constant = true;
            }
        }
        self.expr(expr)
    }

    /// If the expression is a placeholder, however parenthesised, binds it as a truth value.
    fn truth_value(&mut self, expr: &mut Expr, around: &[Wrap]) -> Result<(), BindError> {
        let bare = innermost(expr);
        if let Expr::CompoundIdentifier(path) = bare {
            let path = path.clone();
            if self.placeholder(&path)?.is_some() {
                *bare = self.slot(&path, true, around)?;
            }
        }
        Ok(())
    }

    /// Binds an expression whose value is returned, grouped or sorted.
    fn expr(&mut self, expr: &mut Expr) -> Result<(), BindError> {
        self.walk(expr, Wrap::Consumer)
    }

    fn walk(&mut self, expr: &mut Expr, root: Wrap) -> Result<(), BindError> {
        let mut exprs = ExprWalk { binder: self, depth: 0, around: vec![root], error: None };
        // It ends early only with an error.
        let _ = walk(expr, &mut exprs);
        exprs.error.map_or(Ok(()), Err)
    }

    /// The entry a qualified name refers to, innermost scope first.
    fn entry(&self, qualifier: &Ident) -> Result<&Entry, BindError> {
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter())
            .find(|e| e.alias.eq_ignore_ascii_case(&qualifier.value))
            .ok_or_else(|| BindError::Name {
                message: format!("no table or alias {qualifier} is visible here"),
                span: qualifier.span,
            })
    }

    /// The placeholder a qualified name refers to, if it is one; an error if it refers to nothing.
    fn placeholder(&self, path: &[Ident]) -> Result<Option<usize>, BindError> {
        let [qualifier, column] = path else {
            return unsupported(format!("a name of {} parts", path.len()));
        };
        let entry = self.entry(qualifier)?;
        let is_virtual = |p: &Placeholder| {
            p.name.eq_ignore_ascii_case(&column.value)
                && matches!(p.kind, PlaceholderKind::Expr { relation, .. } if Some(relation) == entry.relation)
        };
        if let Some(at) = self.names.placeholders.iter().position(is_virtual) {
            return Ok(Some(at));
        }
        if entry.columns.iter().any(|c| c.eq_ignore_ascii_case(&column.value)) {
            return Ok(None);
        }
        Err(BindError::Name { message: format!("{qualifier} has no column {column}"), span: column.span })
    }

    /// Makes the slot for a reference to a placeholder.
    fn slot(&mut self, path: &[Ident], truth_value: bool, around: &[Wrap]) -> Result<Expr, BindError> {
        let Some(placeholder) = self.placeholder(path)? else {
            return unsupported("a slot for a real column");
        };
        let entry = self.entry(&path[0])?;
        let (alias, padded) = (entry.alias.clone(), entry.padded);
        let marker = Ident::new(Template::marker(self.slots.len()));
        self.slots.push(Slot::Expr { placeholder, alias });
        self.uses[placeholder] = true;
        let demand = &mut self.demands[placeholder];
        demand.null_preserving |= padded;
        demand.truth_value_only &= truth_value;
        demand.no_collation |= !truth_value || collation_reaches_a_comparison(around);
        Ok(Expr::Nested(Box::new(Expr::Identifier(marker))))
    }
}

/// The expression inside any parentheses.
fn innermost(expr: &mut Expr) -> &mut Expr {
    match expr {
        Expr::Nested(inner) => innermost(inner),
        other => other,
    }
}

fn renamed(alias: &TableAlias, columns: Vec<String>) -> Vec<String> {
    if alias.columns.is_empty() { columns } else { alias.columns.iter().map(|c| c.name.value.clone()).collect() }
}
