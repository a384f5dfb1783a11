//! A SELECT taken apart into the pieces that rules exchange.
//!
//! Rules write their result as text: pieces of the old tree, in parentheses where they need them, between words of the
//! new one. The text is parsed at once, so what is passed on is a tree again. Writing the trees by hand would hide what
//! a rule does behind sixty fields per SELECT.

use super::facts::{Col, Cx};
use crate::sql::print::dialect;
use prover::walk::{ON, OVER, Tree, Walk, each_expr, walk};
use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Join, JoinConstraint,
    JoinOperator, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value,
};
use sqlparser::parser::Parser;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// An item of a select list.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) expr: Expr,
    pub(super) alias: Option<String>,
}

impl Item {
    /// The name of the output column.
    pub(super) fn output(&self) -> Option<String> {
        self.alias.clone().or_else(|| column(&self.expr).map(|(_, c)| c.to_owned()))
    }

    fn sql(&self) -> String {
        match &self.alias {
            Some(alias) => format!("{} AS {alias}", self.expr),
            None => self.expr.to_string(),
        }
    }
}

/// How a source is joined to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    First,
    Comma,
    Cross,
    Inner,
    Left,
    Right,
    Full,
}

impl Kind {
    /// Whether the join keeps exactly the pairs that satisfy its condition.
    pub(super) fn is_inner(self) -> bool {
        matches!(self, Self::First | Self::Comma | Self::Cross | Self::Inner)
    }
}

/// A table, derived table or nested join of a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) kind: Kind,
    /// As it stands in FROM, with its alias.
    pub(super) factor: TableFactor,
    pub(super) on: Option<Expr>,
}

/// A name with columns that a FROM clause makes visible.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) alias: String,
    /// The relation, for a table or table placeholder.
    pub(super) relation: Option<usize>,
    pub(super) columns: Vec<Col>,
    /// Position of its source.
    pub(super) source: usize,
    /// Whether an outer join can pad it.
    pub(super) padded: bool,
}

/// A SELECT without order.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) distinct: bool,
    pub(super) items: Vec<Item>,
    /// From left to right; a comma counts as a join, which is the same as long as ON sees no table before the comma.
    pub(super) from: Vec<Source>,
    /// The conjuncts of WHERE.
    pub(super) filter: Vec<Expr>,
    pub(super) group: Vec<Expr>,
    pub(super) having: Option<Expr>,
}

impl Block {
    /// Takes a SELECT apart; none if it has parts that rules do not know, or `*`.
    pub(super) fn read(select: &Select) -> Option<Self> {
        let distinct = match &select.distinct {
            None | Some(Distinct::All) => false,
            Some(Distinct::Distinct) => true,
            Some(Distinct::On(_)) => return None,
        };
        let GroupByExpr::Expressions(group, modifiers) = &select.group_by else { return None };
        let items = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(expr) => Some(Item { expr: expr.clone(), alias: None }),
            SelectItem::ExprWithAlias { expr, alias } => {
                Some(Item { expr: expr.clone(), alias: Some(alias.value.clone()) })
            }
            _ => None,
        });
        let mut from = Vec::new();
        for table in &select.from {
            let kind = if from.is_empty() { Kind::First } else { Kind::Comma };
            from.push(Source { kind, factor: table.relation.clone(), on: None });
            for join in &table.joins {
                from.push(source(join)?);
            }
        }
        if !modifiers.is_empty() || !select.named_window.is_empty() || select.qualify.is_some() {
            return None;
        }
        let filter = select.selection.as_ref().map(conjuncts).unwrap_or_default();
        Some(Self {
            distinct,
            items: items.collect::<Option<_>>()?,
            from,
            filter,
            group: group.clone(),
            having: select.having.clone(),
        })
    }

    /// The text.
    pub(super) fn sql(&self) -> String {
        let items: Vec<String> = self.items.iter().map(Item::sql).collect();
        let mut text = format!("SELECT {}{}", if self.distinct { "DISTINCT " } else { "" }, items.join(", "));
        text.push_str(&self.tail());
        if !self.group.is_empty() {
            let _ = write!(text, " GROUP BY {}", list(&self.group));
        }
        if let Some(having) = &self.having {
            let _ = write!(text, " HAVING {having}");
        }
        text
    }

    /// The text of FROM and WHERE.
    pub(super) fn tail(&self) -> String {
        let mut text = String::new();
        if !self.from.is_empty() {
            let _ = write!(text, " FROM {}", from_sql(&self.from));
        }
        if !self.filter.is_empty() {
            let _ = write!(text, " WHERE {}", all(&self.filter));
        }
        text
    }

    /// The text with another select list; DISTINCT, GROUP BY and HAVING are dropped.
    pub(super) fn select(&self, items: &str) -> String {
        format!("SELECT {items}{}", self.tail())
    }

    /// The same block with one more condition.
    pub(super) fn and(&self, condition: &str) -> Option<Self> {
        let mut block = self.clone();
        block.filter.push(expr(condition)?);
        Some(block)
    }

    /// Without DISTINCT, groups, aggregates and windows: each row of FROM that passes WHERE gives one row.
    pub(super) fn plain(&self) -> bool {
        !self.distinct && self.rowwise()
    }

    /// Without groups, aggregates and windows.
    pub(super) fn rowwise(&self) -> bool {
        self.group.is_empty() && self.having.is_none() && !self.items.iter().any(|i| has_aggregate(&i.expr))
    }

    /// One row of aggregates: no GROUP BY, no HAVING, every item one aggregate.
    pub(super) fn scalar_aggregates(&self) -> Option<Vec<Aggregate>> {
        if self.distinct || !self.group.is_empty() || self.having.is_some() {
            return None;
        }
        self.items.iter().map(|i| aggregate(&i.expr)).collect()
    }

    /// The visible names, in order; none if a source cannot be seen through.
    pub(super) fn entries(&self, cx: &Cx<'_>) -> Option<Vec<Entry>> {
        let mut entries: Vec<Entry> = Vec::new();
        for (at, source) in self.from.iter().enumerate() {
            if matches!(source.kind, Kind::Right | Kind::Full) {
                entries.iter_mut().for_each(|e| e.padded = true);
            }
            let padded = matches!(source.kind, Kind::Left | Kind::Full);
            factor_entries(&source.factor, at, padded, cx, &mut entries)?;
        }
        Some(entries)
    }

    /// The names of one source.
    pub(super) fn aliases(&self, source: usize, cx: &Cx<'_>) -> Option<BTreeSet<String>> {
        Some(self.entries(cx)?.into_iter().filter(|e| e.source == source).map(|e| e.alias).collect())
    }

    /// Every expression of the block outside FROM's derived tables.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let on = self.from.iter_mut().filter_map(|s| s.on.as_mut());
        let items = self.items.iter_mut().map(|i| &mut i.expr);
        items.chain(on).chain(&mut self.filter).chain(&mut self.group).chain(&mut self.having)
    }

    /// Every expression of the block outside FROM's derived tables.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let on = self.from.iter().filter_map(|s| s.on.as_ref());
        let items = self.items.iter().map(|i| &i.expr);
        items.chain(on).chain(&self.filter).chain(&self.group).chain(&self.having)
    }

    /// Gives each item a name of its own, so that a derived table can expose it; returns the names.
    pub(super) fn name_items(&mut self, cx: &mut Cx<'_>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for item in &mut self.items {
            let name = item.output().filter(|n| !names.contains(n));
            let name = name.unwrap_or_else(|| cx.fresh("x"));
            item.alias = Some(name.clone());
            names.push(name);
        }
        names
    }
}

fn source(join: &Join) -> Option<Source> {
    let (kind, constraint) = match &join.join_operator {
        JoinOperator::Join(c) | JoinOperator::Inner(c) => (Kind::Inner, c),
        JoinOperator::CrossJoin(c) => (Kind::Cross, c),
        JoinOperator::Left(c) | JoinOperator::LeftOuter(c) => (Kind::Left, c),
        JoinOperator::Right(c) | JoinOperator::RightOuter(c) => (Kind::Right, c),
        JoinOperator::FullOuter(c) => (Kind::Full, c),
        _ => return None,
    };
    let on = match constraint {
        JoinConstraint::On(on) => Some(on.clone()),
        JoinConstraint::None => None,
        JoinConstraint::Using(_) | JoinConstraint::Natural => return None,
    };
    Some(Source { kind, factor: join.relation.clone(), on })
}

/// The text of a FROM list.
pub(super) fn from_sql(from: &[Source]) -> String {
    let mut text = String::new();
    for (at, source) in from.iter().enumerate() {
        let word = match source.kind {
            _ if at == 0 => "",
            Kind::First | Kind::Comma => ", ",
            Kind::Cross => " CROSS JOIN ",
            Kind::Inner => " JOIN ",
            Kind::Left => " LEFT JOIN ",
            Kind::Right => " RIGHT JOIN ",
            Kind::Full => " FULL JOIN ",
        };
        text.push_str(word);
        text.push_str(&source.factor.to_string());
        if let Some(on) = &source.on {
            let _ = write!(text, " ON {on}");
        } else if at > 0 && matches!(source.kind, Kind::Inner | Kind::Left | Kind::Right | Kind::Full) {
            text.push_str(" ON TRUE");
        }
    }
    text
}

fn factor_entries(
    factor: &TableFactor,
    source: usize,
    padded: bool,
    cx: &Cx<'_>,
    entries: &mut Vec<Entry>,
) -> Option<()> {
    match factor {
        TableFactor::Table { name, alias, .. } => {
            let name = name.to_string();
            let alias = alias.as_ref().map_or_else(|| name.clone(), |a| a.name.value.clone());
            let (relation, columns) = match cx.facts.relation(&name) {
                Some(at) => (Some(at), cx.facts.relations[at].columns.clone()),
                None => (None, cx.cte(&name)?.to_vec()),
            };
            entries.push(Entry { alias, relation, columns, source, padded });
        }
        TableFactor::Derived { lateral: false, subquery, alias: Some(alias), .. } if alias.columns.is_empty() => {
            let columns = cx.outputs(subquery)?;
            entries.push(Entry { alias: alias.name.value.clone(), relation: None, columns, source, padded });
        }
        TableFactor::NestedJoin { table_with_joins, alias: None } => {
            let TableWithJoins { relation, joins } = table_with_joins.as_ref();
            let start = entries.len();
            factor_entries(relation, source, padded, cx, entries)?;
            for join in joins {
                let kind = self::source(join)?.kind;
                if matches!(kind, Kind::Right | Kind::Full) {
                    entries[start..].iter_mut().for_each(|e| e.padded = true);
                }
                let padded = padded || matches!(kind, Kind::Left | Kind::Full);
                factor_entries(&join.relation, source, padded, cx, entries)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// The operands of a set operation, from left to right; a SELECT is its own.
pub(super) fn operands(body: &SetExpr) -> Vec<&SetExpr> {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            let mut all = operands(left);
            all.extend(operands(right));
            all
        }
        other => vec![other],
    }
}

/// The column that a name refers to; none for an expression or a name of another scope.
pub(super) fn resolve<'e>(expr: &Expr, entries: &'e [Entry]) -> Option<&'e Col> {
    let (qualifier, name) = column(expr)?;
    let entry = entries.iter().find(|e| e.alias.eq_ignore_ascii_case(qualifier))?;
    entry.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name))
}

/// Whether a column is never NULL at the top of the block.
pub(super) fn surely_not_null(expr: &Expr, entries: &[Entry]) -> bool {
    let unpadded = column(expr).is_some_and(|(q, _)| entries.iter().any(|e| !e.padded && e.alias == q));
    unpadded && resolve(expr, entries).is_some_and(|c| c.not_null)
}

/// The parts of a qualified name.
pub(super) fn column(expr: &Expr) -> Option<(&str, &str)> {
    match bare(expr) {
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [qualifier, name] => Some((&qualifier.value, &name.value)),
            _ => None,
        },
        _ => None,
    }
}

/// The expression inside any parentheses.
pub(super) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// The conjuncts of a condition.
pub(super) fn conjuncts(expr: &Expr) -> Vec<Expr> {
    match bare(expr) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        _ => vec![expr.clone()],
    }
}

/// The text of an expression as an operand: in parentheses unless nothing can come between its parts.
pub(super) fn par(expr: &Expr) -> String {
    let atom = match expr {
        Expr::Value(value) => !matches!(&value.value, Value::Number(n, _) if n.starts_with('-')),
        Expr::CompoundIdentifier(_)
        | Expr::Identifier(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Case { .. }
        | Expr::Cast { .. }
        | Expr::Subquery(_)
        | Expr::Tuple(_) => true,
        Expr::Exists { negated, .. } => !negated,
        _ => false,
    };
    if atom { expr.to_string() } else { format!("({expr})") }
}

/// The text of an expression as an operand of AND.
fn operand(expr: &Expr) -> String {
    match expr {
        Expr::BinaryOp { op: BinaryOperator::Or | BinaryOperator::And, .. } => format!("({expr})"),
        _ => expr.to_string(),
    }
}

/// The conjunction; `TRUE` of nothing.
pub(super) fn all(conjuncts: &[Expr]) -> String {
    match conjuncts {
        [] => "TRUE".to_owned(),
        [one] => one.to_string(),
        many => many.iter().map(operand).collect::<Vec<_>>().join(" AND "),
    }
}

/// The conjunction as an operand.
pub(super) fn all_par(conjuncts: &[Expr]) -> String {
    match conjuncts {
        [] => "TRUE".to_owned(),
        [one] => par(one),
        many => format!("({})", all(many)),
    }
}

/// Expressions with commas between them.
pub(super) fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Parses an expression that a rule wrote.
pub(super) fn expr(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(dialect()).with_recursion_limit(128).try_with_sql(text).ok()?;
    let expr = parser.parse_expr().ok()?;
    parser.peek_token_ref().token.eq(&sqlparser::tokenizer::Token::EOF).then_some(expr)
}

/// Parses a factor of FROM that a rule wrote.
pub(super) fn factor(text: &str) -> Option<TableFactor> {
    let mut parser = Parser::new(dialect()).with_recursion_limit(128).try_with_sql(text).ok()?;
    let factor = parser.parse_table_factor().ok()?;
    parser.peek_token_ref().token.eq(&sqlparser::tokenizer::Token::EOF).then_some(factor)
}

/// The qualifiers that an expression uses, also inside its subqueries.
pub(super) fn qualifiers(expr: &Expr) -> BTreeSet<String> {
    columns_of(expr).into_iter().map(|(qualifier, _)| qualifier).collect()
}

/// The qualified names that a piece of a query uses, also inside its subqueries.
pub(super) fn columns_of<T: Tree>(part: &T) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    // It never ends early.
    let _ = each_expr(part, |e| {
        if let Expr::CompoundIdentifier(path) = e
            && let [qualifier, name] = path.as_slice()
        {
            found.insert((qualifier.value.clone(), name.value.clone()));
        }
        ON
    });
    found
}

/// Whether an expression has a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    each_expr(expr, |e| match e {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => OVER,
        _ => ON,
    })
    .is_break()
}

/// Exchanges qualified names, also inside subqueries. None if a subquery gives a name of its own to one of the
/// qualifiers, because its references would be exchanged too.
pub(super) fn exchange(expr: &mut Expr, map: &BTreeMap<(String, String), String>) -> Option<()> {
    let qualifiers: BTreeSet<&str> = map.keys().map(|(q, _)| q.as_str()).collect();
    let mut exchanged = Exchange { map, qualifiers, failed: false };
    // It never ends early.
    let _ = walk(expr, &mut exchanged);
    (!exchanged.failed).then_some(())
}

struct Exchange<'m> {
    map: &'m BTreeMap<(String, String), String>,
    qualifiers: BTreeSet<&'m str>,
    failed: bool,
}

impl Walk for Exchange<'_> {
    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let name = match factor {
            TableFactor::Table { name, alias, .. } => {
                alias.as_ref().map_or_else(|| name.to_string(), |a| a.name.value.clone())
            }
            TableFactor::Derived { alias: Some(alias), .. } => alias.name.value.clone(),
            _ => String::new(),
        };
        self.failed |= self.qualifiers.contains(name.as_str());
        ON
    }

    fn after_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
        if let Some((qualifier, name)) = column_path(e)
            && let Some(new) = self.map.get(&(qualifier, name))
        {
            match expr(new) {
                Some(new) => *e = new,
                None => self.failed = true,
            }
        }
        ON
    }
}

fn column_path(expr: &Expr) -> Option<(String, String)> {
    match expr {
        Expr::CompoundIdentifier(path) => match path.as_slice() {
            [qualifier, name] => Some((qualifier.value.clone(), name.value.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Exchanges names in all of a block, also in ON; the sources themselves and the names of its columns stay.
pub(super) fn exchange_all(block: &mut Block, map: &BTreeMap<(String, String), String>) -> Option<()> {
    for item in &mut block.items {
        if column(&item.expr).is_some_and(|(q, c)| map.contains_key(&(q.to_owned(), c.to_owned()))) {
            item.alias = item.output();
        }
    }
    block.exprs_mut().try_for_each(|e| exchange(e, map))
}

/// A call of an aggregate function.
#[derive(Debug, Clone)]
pub(super) struct Aggregate {
    /// In capitals.
    pub(super) name: String,
    pub(super) distinct: bool,
    /// None for `*`.
    pub(super) argument: Option<Expr>,
    pub(super) filter: Option<Expr>,
}

impl Aggregate {
    /// How results over parts become the result over the whole.
    pub(super) fn combined(&self, part: &str) -> Option<String> {
        match (self.name.as_str(), self.distinct) {
            ("COUNT" | "SUM", false) => Some(format!("SUM({part})")),
            ("MIN" | "MAX", _) => Some(format!("{}({part})", self.name)),
            _ => None,
        }
    }
}

/// Reads a call of an aggregate function.
pub(super) fn aggregate(expr: &Expr) -> Option<Aggregate> {
    let Expr::Function(function) = bare(expr) else { return None };
    let name = function.name.to_string().to_ascii_uppercase();
    if !matches!(name.as_str(), "COUNT" | "SUM" | "MIN" | "MAX" | "AVG") || function.over.is_some() {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let argument = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => None,
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(e))] => Some(e.clone()),
        _ => return None,
    };
    let distinct = matches!(list.duplicate_treatment, Some(sqlparser::ast::DuplicateTreatment::Distinct));
    Some(Aggregate { name, distinct, argument, filter: function.filter.as_deref().cloned() })
}

/// Whether an expression calls an aggregate or window function outside its subqueries.
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    struct Calls(usize);
    impl Walk for Calls {
        fn query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.0 += 1;
            ON
        }
        fn after_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.0 -= 1;
            ON
        }
        fn expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
            let name = match e {
                Expr::Function(f) if self.0 == 0 && f.over.is_some() => return OVER,
                Expr::Function(f) if self.0 == 0 => f.name.to_string().to_ascii_uppercase(),
                _ => return ON,
            };
            // A function that nobody here knows may well aggregate.
            match name.as_str() {
                "COALESCE" | "NULLIF" | "ABS" | "UPPER" | "LOWER" | "LENGTH" | "ROUND" => ON,
                _ => OVER,
            }
        }
    }
    walk(&mut expr.clone(), &mut Calls(0)).is_break()
}
