//! Whole queries: WITH, set operations, VALUES, ORDER BY and LIMIT.

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{Expr, OrderKey, Plan, Query, SetOp, Type, Value};

use super::compare::strip;
use super::scope::Scope;
use super::select::Block;
use super::types::common;
use super::{Lowerer, MAX_COPIED, Result, absent, assume, empty, no, unset};

/// The columns of VALUES have other names in every engine; these are of an optimiser's tests.
pub(super) const VALUES_PREFIX: &str = "EXPR_";

/// A table without a name: a plan and the names of its columns.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    pub(super) plan: Plan,
    pub(super) names: Vec<Option<String>>,
}

impl Relation {
    /// Names and types of the columns.
    pub(super) fn columns(&self) -> Vec<(Option<String>, Type)> {
        self.names.iter().cloned().zip(self.plan.types()).collect()
    }
}

/// A relation with an order. Columns past the names serve the order only.
pub(super) struct Ordered {
    pub(super) relation: Relation,
    /// Over the plan's row.
    pub(super) order: Vec<OrderKey>,
}

/// A named query in reach.
pub(super) struct Cte {
    name: String,
    /// `None` while it is being read: a use is a recursion.
    pub(super) relation: Option<Relation>,
    /// Whether its list begins with RECURSIVE.
    is_recursive: bool,
    /// How many scopes were in reach where it was read.
    level: usize,
    /// How often it was used.
    pub(super) uses: usize,
}

/// LIMIT, OFFSET and FETCH.
struct Bounds {
    limit: Option<u64>,
    offset: u64,
}

impl Lowerer<'_> {
    /// A whole statement.
    pub(super) fn statement(&mut self, query: &ast::Query) -> Result<Query> {
        let Ordered { relation, order } = self.ordered(query)?;
        let mut assumptions = self.schema.assumptions.clone();
        assumptions.append(&mut self.assumptions);
        assume::plan(&relation.plan, &mut assumptions);
        order.iter().for_each(|key| assume::expr(&key.expr, &mut assumptions));
        Ok(Query { visible: relation.names.len(), plan: relation.plan, order, assumptions })
    }

    /// A query inside another. Its order ends with it.
    pub(super) fn subquery(&mut self, query: &ast::Query) -> Result<Relation> {
        let Ordered { relation: Relation { plan, names }, .. } = self.ordered(query)?;
        let types = plan.types();
        let plan = if types.len() > names.len() {
            let visible = types.into_iter().take(names.len()).enumerate();
            plan.project(visible.map(|(index, ty)| Expr::column(index, ty)).collect())
        } else {
            plan
        };
        Ok(Relation { plan, names })
    }

    fn ordered(&mut self, query: &ast::Query) -> Result<Ordered> {
        self.apart(|this| this.ordered_here(query))
    }

    /// Reads a query of its own: it has its own named queries, FROM and SELECT.
    pub(super) fn apart<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.nested(|this| {
            let block = std::mem::take(&mut this.block);
            this.outer_aliases.push((this.scopes.len(), block.aliases.clone()));
            let from_base = std::mem::replace(&mut this.from_base, this.scopes.len());
            let ctes = this.ctes.len();
            let result = read(this);
            this.ctes.truncate(ctes);
            this.from_base = from_base;
            this.outer_aliases.pop();
            this.block = block;
            result
        })
    }

    fn ordered_here(&mut self, query: &ast::Query) -> Result<Ordered> {
        let ast::Query {
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
        empty(locks, "a locking clause")?;
        absent(for_clause.as_ref(), "FOR XML or JSON")?;
        absent(settings.as_ref(), "SETTINGS")?;
        absent(format_clause.as_ref(), "FORMAT")?;
        empty(pipe_operators, "pipe operators")?;
        if let Some(with) = with {
            self.with(with)?;
        }
        let order_by = match order_by {
            None => &[][..],
            Some(ast::OrderBy { kind, interpolate }) => {
                absent(interpolate.as_ref(), "INTERPOLATE")?;
                match kind {
                    ast::OrderByKind::Expressions(items) => items,
                    ast::OrderByKind::All(_) => return no("ORDER BY ALL"),
                }
            }
        };
        let bounds = bounds(limit_clause.as_ref(), fetch.as_ref())?;
        let Ordered { relation, order } = match body.as_ref() {
            ast::SetExpr::Select(select) => self.select(select, order_by)?,
            ast::SetExpr::Query(inner) if order_by.is_empty() && bounds.is_none() => return self.ordered(inner),
            body => {
                let relation = self.set_expr(body)?;
                let order = self.output_order(&relation, order_by)?;
                Ordered { relation, order }
            }
        };
        let Some(Bounds { limit, offset }) = bounds else { return Ok(Ordered { relation, order }) };
        let Relation { plan, names } = relation;
        let plan = Plan::Limit { input: Box::new(plan), order: order.clone(), limit, offset };
        Ok(Ordered { relation: Relation { plan, names }, order })
    }

    fn with(&mut self, with: &ast::With) -> Result<()> {
        let ast::With { with_token: _, recursive, cte_tables } = with;
        let level = self.scopes.len();
        let first = self.ctes.len();
        // With RECURSIVE, and in SQLite without, every query of the list sees every name: a use before its definition
        // ends is a recursion. (Without, one that has only a use of itself to begin with is an error there.)
        for cte in cte_tables {
            let name = cte.alias.name.value.clone();
            self.ctes.push(Cte { name, relation: None, is_recursive: *recursive, level, uses: 0 });
        }
        for (index, cte) in cte_tables.iter().enumerate() {
            let ast::Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
            absent(from.as_ref(), "FROM in WITH")?;
            // Where the rows are kept has no meaning.
            match materialized {
                None | Some(ast::CteAsMaterialized::Materialized | ast::CteAsMaterialized::NotMaterialized) => {}
            }
            if cte_tables[..index].iter().any(|c| c.alias.name.value.eq_ignore_ascii_case(&alias.name.value)) {
                return no(format!("two queries named {}", alias.name.value));
            }
            if !recursive && !matches!(query.body.as_ref(), ast::SetExpr::SetOperation { .. }) {
                self.ctes[first + index].name.clear();
            }
            let bounded = if *recursive { self.bounded_recursion(cte, first + index)? } else { None };
            let mut relation = match bounded {
                Some(relation) => relation,
                None => self.subquery(query)?,
            };
            let name = rename(alias, &mut relation.names)?;
            self.ctes[first + index] = Cte { name, relation: Some(relation), is_recursive: *recursive, level, uses: 0 };
        }
        Ok(())
    }

    /// The plan of a named query, as seen from here.
    pub(super) fn cte(&mut self, name: &str) -> Result<Option<Relation>> {
        let Some(cte) = self.ctes.iter_mut().rev().find(|c| c.name.eq_ignore_ascii_case(name)) else { return Ok(None) };
        cte.uses += 1;
        let Some(relation) = &cte.relation else {
            return no(if cte.is_recursive {
                "WITH RECURSIVE".to_owned()
            } else {
                format!("{name}, which some engines take for the query of that name in the same WITH")
            });
        };
        self.copied += relation.plan.size();
        if self.copied > MAX_COPIED {
            return no("named queries whose copies are so large");
        }
        let mut relation = relation.clone();
        relation.plan.shift_outer(self.scopes.len() - cte.level);
        Ok(Some(relation))
    }

    pub(super) fn set_expr(&mut self, body: &ast::SetExpr) -> Result<Relation> {
        self.nested(|this| match body {
            ast::SetExpr::Select(select) => {
                let Ordered { relation, order: _ } = this.select(select, &[])?;
                Ok(relation)
            }
            ast::SetExpr::Query(query) => this.subquery(query),
            ast::SetExpr::Values(values) => this.values(values),
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let all = match set_quantifier {
                    ast::SetQuantifier::All => true,
                    ast::SetQuantifier::Distinct | ast::SetQuantifier::None => false,
                    other => return no(format!("{op} {other}")),
                };
                let op = match op {
                    ast::SetOperator::Union => SetOp::Union,
                    ast::SetOperator::Intersect => SetOp::Intersect,
                    ast::SetOperator::Except | ast::SetOperator::Minus => SetOp::Except,
                };
                if matches!(right.as_ref(), ast::SetExpr::SetOperation { .. }) {
                    // INTERSECT before UNION in most engines, left to right in some.
                    return no("set operations of different precedence without parentheses");
                }
                let (left, right) = (this.set_expr(left)?, this.set_expr(right)?);
                let plan = this.set_operation(op, all, left.plan, right.plan)?;
                Ok(Relation { plan, names: left.names })
            }
            other => no(format!("{other} as a query")),
        })
    }

    /// A set operation on plans of equal width.
    pub(super) fn set_operation(&mut self, op: SetOp, all: bool, left: Plan, right: Plan) -> Result<Plan> {
        let (a, b) = (left.types(), right.types());
        if a.len() != b.len() {
            return no("a set operation on different numbers of columns");
        }
        let types = a.iter().zip(&b).map(|(a, b)| common(a, b)).collect::<Result<Vec<_>>>()?;
        let left = Box::new(self.convert_plan(left, &types)?);
        let right = Box::new(self.convert_plan(right, &types)?);
        Ok(Plan::SetOp { op, all, left, right, types })
    }

    fn values(&mut self, values: &ast::Values) -> Result<Relation> {
        // ROW before each row and the keyword VALUE are spellings.
        let ast::Values { explicit_row: _, value_keyword: _, rows } = values;
        let block = std::mem::take(&mut self.block);
        let rows = self.with_scope(Scope::default(), |this| {
            rows.iter()
                .map(|ast::Parens { opening_token: _, content, closing_token: _ }| {
                    content.iter().map(|e| this.expr(e)).collect::<Result<Vec<_>>>()
                })
                .collect::<Result<Vec<_>>>()
        });
        self.block = block;
        let rows = rows?;
        let width = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != width) {
            return no("VALUES with rows of different widths");
        }
        let mut types = vec![Type::Unknown; width];
        for row in &rows {
            for (ty, value) in types.iter_mut().zip(row) {
                *ty = common(ty, &value.ty())?;
            }
        }
        let convert = |row: Vec<Expr>| {
            row.into_iter().zip(&types).map(|(value, ty)| self.convert(value, ty)).collect::<Result<Vec<_>>>()
        };
        let rows = rows.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
        let names = (0..width).map(|index| Some(format!("{VALUES_PREFIX}{index}"))).collect();
        Ok(Relation { plan: Plan::Values { types, rows }, names })
    }

    /// ORDER BY over the output of a set operation or VALUES.
    fn output_order(&mut self, relation: &Relation, items: &[ast::OrderByExpr]) -> Result<Vec<OrderKey>> {
        let columns = relation.columns();
        let mut order = Vec::new();
        for item in items {
            let (expr, descending, nulls_first) = order_item(item)?;
            parenthesised_number(expr)?;
            let expr = match ordinal(expr, columns.len())? {
                Some(index) => Expr::column(index, columns[index].1.clone()),
                None => self.with_scope(Scope::of_columns(&columns), |this| this.expr(expr))?,
            };
            if !matches!(expr, Expr::Literal(..)) {
                order.push(OrderKey { expr, descending, nulls_first });
            }
        }
        Ok(order)
    }

    /// Starts a SELECT with nothing in it.
    pub(super) fn new_block(&mut self) {
        self.block = Block::default();
    }
}

/// Words that begin a join in some dialects and would be an alias in others.
fn is_join_word(word: &str) -> bool {
    ["semi", "anti", "asof", "natural", "straight_join", "positional", "lateral", "qualify", "global", "any"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w))
}

/// The parts of an ORDER BY item: expression, DESC, NULLS FIRST.
pub(super) fn order_item(item: &ast::OrderByExpr) -> Result<(&Ast, bool, Option<bool>)> {
    let ast::OrderByExpr { expr, options: ast::OrderByOptions { sort, nulls_first }, with_fill } = item;
    absent(with_fill.as_ref(), "WITH FILL")?;
    let descending = match sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(_)) => return no("ORDER BY USING"),
    };
    Ok((expr, descending, *nulls_first))
}

/// The column that an ordinal means.
pub(super) fn ordinal(expr: &Ast, width: usize) -> Result<Option<usize>> {
    let Ast::Value(ast::ValueWithSpan { value: ast::Value::Number(digits, false), span: _ }) = expr else {
        return Ok(None);
    };
    match digits.parse::<usize>() {
        Ok(n) if (1..=width).contains(&n) => Ok(Some(n - 1)),
        _ => no(format!("the ordinal {digits}")),
    }
}

/// Refuses a number in parentheses, an ordinal in some engines and a constant in others.
pub(super) fn parenthesised_number(expr: &Ast) -> Result<()> {
    match (expr, strip(expr)) {
        (Ast::Nested(_), Ast::Value(_)) => no(format!("{expr} as an ordinal")),
        _ => Ok(()),
    }
}

fn bounds(clause: Option<&ast::LimitClause>, fetch: Option<&ast::Fetch>) -> Result<Option<Bounds>> {
    let (mut limit, mut offset) = (None, None);
    match clause {
        None => {}
        Some(ast::LimitClause::LimitOffset { limit: rows, offset: skip, limit_by }) => {
            empty(limit_by, "LIMIT BY")?;
            limit = rows.as_ref().map(constant).transpose()?.flatten();
            if let Some(ast::Offset { value, rows: _ }) = skip {
                offset = constant(value)?;
            }
        }
        Some(ast::LimitClause::OffsetCommaLimit { offset: skip, limit: rows }) => {
            limit = constant(rows)?;
            offset = constant(skip)?;
        }
    }
    if let Some(ast::Fetch { with_ties, percent, quantity }) = fetch {
        unset(*with_ties, "FETCH WITH TIES")?;
        unset(*percent, "FETCH PERCENT")?;
        if limit.is_some() {
            return no("LIMIT with FETCH");
        }
        limit = match quantity {
            Some(quantity) => constant(quantity)?,
            None => Some(1),
        };
    }
    if limit.is_none() && offset.unwrap_or(0) == 0 {
        return Ok(None);
    }
    Ok(Some(Bounds { limit, offset: offset.unwrap_or(0) }))
}

/// A constant row count; NULL and ALL are none.
fn constant(expr: &Ast) -> Result<Option<u64>> {
    match expr {
        Ast::Value(value) => match super::literal::literal(value)? {
            Expr::Literal(Value::Null, _) => Ok(None),
            Expr::Literal(Value::Int(n), Type::Integer) => match n.try_into() {
                Ok(n) => Ok(Some(n)),
                Err(_) => no(format!("the row count {expr}")),
            },
            _ => no(format!("the row count {expr}")),
        },
        _ => no(format!("the row count {expr}")),
    }
}

/// Applies the column names of an alias and returns the table name.
pub(super) fn rename(alias: &ast::TableAlias, names: &mut [Option<String>]) -> Result<String> {
    let ast::TableAlias { explicit, name, columns, at } = alias;
    absent(at.as_ref(), "AT in an alias")?;
    if !explicit && name.quote_style.is_none() && is_join_word(&name.value) {
        return no(format!("{} as an alias", name.value));
    }
    if columns.len() > names.len() {
        return no(format!("more names than columns for {}", name.value));
    }
    for (ast::TableAliasColumnDef { name, data_type }, slot) in columns.iter().zip(names) {
        absent(data_type.as_ref(), "types in an alias")?;
        *slot = Some(name.value.clone());
    }
    Ok(name.value.clone())
}
