//! FROM: table factors and joins.

use sqlparser::ast::{self, TableFactor};

use crate::ir::{Assumption, CompareOp, Expr, JoinKind, Plan};

use super::query::{Relation, VALUES_PREFIX, rename};
use super::scope::{Field, Later, Scope};
use super::{Lowerer, Result, absent, empty, last_name, no, unset};

/// Rows of FROM and their names.
pub(super) struct Rows {
    pub(super) plan: Plan,
    pub(super) scope: Scope,
}

/// The condition of a join as written.
enum Constraint<'a> {
    On(&'a ast::Expr),
    Using(Vec<&'a str>),
    Natural,
    None,
}

impl Lowerer<'_> {
    /// FROM; one empty row if it is absent.
    pub(super) fn from(&mut self, items: &[ast::TableWithJoins]) -> Result<Rows> {
        let Some((first, others)) = items.split_first() else {
            let plan = Plan::Values { types: Vec::new(), rows: vec![Vec::new()] };
            return Ok(Rows { plan, scope: Scope::default() });
        };
        let mut rows = self.table_with_joins(first, others)?;
        for (at, item) in others.iter().enumerate() {
            let ast::TableWithJoins { relation, joins } = item;
            self.behind_comma(joins)?;
            let lateral = is_lateral(relation) || joins.iter().any(|join| is_lateral(&join.relation));
            let right = self.sibling(&rows.scope, lateral, |this| this.table_with_joins(item, &others[at + 1..]))?;
            rows = self.join(JoinKind::Inner, rows, right, &Constraint::None, lateral)?;
        }
        Ok(rows)
    }

    /// Some engines join from left to right, whether by a comma or by JOIN. That makes a difference to what a join pads or has
    /// names in common with.
    fn behind_comma(&mut self, joins: &[ast::Join]) -> Result<()> {
        for join in joins {
            let (kind, constraint) = operator(&join.join_operator)?;
            let pads_left = matches!(kind, JoinKind::Right | JoinKind::Full);
            if pads_left || matches!(constraint, Constraint::Using(_) | Constraint::Natural) {
                self.assumptions.insert(Assumption::JoinsBindBeforeCommas);
            }
        }
        Ok(())
    }

    /// Reads the right side of a join, which sees the left one if it is lateral. Where it does not, some engines look
    /// there all the same.
    fn sibling<T>(&mut self, left: &Scope, lateral: bool, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if lateral {
            return self.with_scope(Scope { hidden: true, ..left.clone() }, f);
        }
        self.shadows.push((self.scopes.len(), left.clone()));
        let result = f(self);
        self.shadows.pop();
        result
    }

    /// An item of FROM, before others.
    fn table_with_joins(&mut self, item: &ast::TableWithJoins, others: &[ast::TableWithJoins]) -> Result<Rows> {
        let ast::TableWithJoins { relation, joins } = item;
        let mut rows = self.table_factor(relation)?;
        let mut left = relation;
        let mut has_condition = false;
        for (at, join) in joins.iter().enumerate() {
            let ast::Join { relation, global, join_operator } = join;
            unset(*global, "GLOBAL JOIN")?;
            let (kind, constraint) = operator(join_operator)?;
            let is_word = matches!(join_operator, ast::JoinOperator::Semi(_) | ast::JoinOperator::Anti(_));
            if is_word && !has_condition && matches!(left, TableFactor::Table { alias: None, .. }) {
                return no("SEMI or ANTI behind a table, which is its alias in some engines");
            }
            (left, has_condition) = (relation, !matches!(constraint, Constraint::None | Constraint::Natural));
            let lateral = is_lateral(relation);
            if lateral && matches!(kind, JoinKind::Right | JoinKind::Full) {
                return no("LATERAL on the right of RIGHT or FULL JOIN");
            }
            let right = self.sibling(&rows.scope, lateral, |this| this.table_factor(relation))?;
            let later = joins[at + 1..].iter().map(|join| &join.relation);
            let later = later.chain(others.iter().flat_map(of_item)).flat_map(|factor| self.later(factor));
            // Without a query around there is nothing else that a name could mean.
            let later = if self.scopes.is_empty() { Vec::new() } else { later.collect() };
            self.later.push((self.scopes.len(), later));
            let joined = self.join(kind, rows, right, &constraint, lateral);
            self.later.pop();
            rows = joined?;
        }
        Ok(rows)
    }

    /// What a table factor is called, and those in it.
    fn later(&self, factor: &TableFactor) -> Vec<Later> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let table = last_name(name).ok().map(|name| name.value.clone());
                let id = table.as_ref().and_then(|table| self.schema.table(table));
                let columns = id
                    .filter(|_| alias.as_ref().is_none_or(|alias| alias.columns.is_empty()))
                    .map(|id| self.schema.tables[id].columns.iter().map(|column| column.name.clone()).collect());
                // A named query of this name has other columns.
                let columns = columns.filter(|_| self.ctes.is_empty());
                vec![Later { qualifier: alias.as_ref().map(|alias| alias.name.value.clone()).or(table), columns }]
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                of_item(table_with_joins).flat_map(|factor| self.later(factor)).collect()
            }
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => {
                vec![Later { qualifier: alias.as_ref().map(|alias| alias.name.value.clone()), columns: None }]
            }
            // It is refused.
            _ => Vec::new(),
        }
    }

    fn table_factor(&mut self, factor: &TableFactor) -> Result<Rows> {
        self.nested(|this| match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                absent(args.as_ref(), "a table function")?;
                empty(with_hints, "table hints")?;
                absent(version.as_ref(), "a table version")?;
                unset(*with_ordinality, "WITH ORDINALITY")?;
                empty(partitions, "PARTITION in FROM")?;
                absent(json_path.as_ref(), "a JSON path in FROM")?;
                absent(sample.as_ref(), "TABLESAMPLE")?;
                empty(index_hints, "index hints")?;
                this.table(name, alias.as_ref())
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                absent(sample.as_ref(), "TABLESAMPLE")?;
                let relation =
                    if *lateral { this.lateral(|this| this.subquery(subquery))? } else { this.subquery(subquery)? };
                this.derived(relation, alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let rows = this.table_with_joins(table_with_joins, &[])?;
                match alias {
                    None => Ok(rows),
                    Some(alias) => this.renamed(rows, alias),
                }
            }
            other => no(format!("{other} in FROM")),
        })
    }

    /// Runs `f` with the earlier siblings in FROM in reach.
    fn lateral<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let base = self.from_base;
        let hidden: Vec<bool> = self.scopes[base..].iter().map(|s| s.hidden).collect();
        self.scopes[base..].iter_mut().for_each(|s| s.hidden = false);
        let result = f(self);
        self.scopes[base..].iter_mut().zip(hidden).for_each(|(s, h)| s.hidden = h);
        result
    }

    fn table(&mut self, name: &ast::ObjectName, alias: Option<&ast::TableAlias>) -> Result<Rows> {
        let last = last_name(name)?;
        if name.0.len() == 1
            && let Some(relation) = self.cte(&last.value)?
        {
            let default = last.value.clone();
            return self.named(relation, alias, Some(default));
        }
        let Some(id) = self.schema.table(&last.value) else { return no(format!("unknown table {}", last.value)) };
        let table = &self.schema.tables[id];
        // An alias names the real columns only.
        let real = table.columns.iter().filter(|c| !c.is_virtual).count();
        let mut names: Vec<_> = table.columns.iter().map(|c| Some(c.name.clone())).collect();
        let qualifier = match alias {
            Some(alias) => rename(alias, &mut names[..real])?,
            None => last.value.clone(),
        };
        let relation = self.new_relation();
        let fields = table.columns.iter().zip(names).enumerate().map(|(index, (column, name))| Field {
            qualifier: Some(qualifier.clone()),
            name,
            expr: Expr::column(index, column.result()),
            relation,
            ordinal: index,
            bare: true,
            star: !column.is_virtual,
            is_virtual: column.is_virtual,
            base: Some((id, index)),
        });
        let scope = Scope { fields: fields.collect(), hidden: false };
        Ok(Rows { plan: Plan::Scan { table: id, types: table.types() }, scope })
    }

    fn derived(&mut self, relation: Relation, alias: Option<&ast::TableAlias>) -> Result<Rows> {
        self.named(relation, alias, None)
    }

    /// A relation under its alias or default name.
    fn named(
        &mut self,
        mut relation: Relation,
        alias: Option<&ast::TableAlias>,
        default: Option<String>,
    ) -> Result<Rows> {
        let qualifier = match alias {
            Some(alias) => Some(rename(alias, &mut relation.names)?),
            None => default,
        };
        let id = self.new_relation();
        let mut scope = Scope::of_columns(&relation.columns());
        for field in &mut scope.fields {
            field.qualifier.clone_from(&qualifier);
            field.relation = id;
        }
        Ok(Rows { plan: relation.plan, scope })
    }

    /// A join in parentheses under an alias, which hides the names inside.
    fn renamed(&mut self, rows: Rows, alias: &ast::TableAlias) -> Result<Rows> {
        let mut fields: Vec<Field> = rows.scope.fields.into_iter().filter(|f| f.star).collect();
        let mut names: Vec<_> = fields.iter().map(|f| f.name.clone()).collect();
        let qualifier = rename(alias, &mut names)?;
        let relation = self.new_relation();
        for (ordinal, (field, name)) in fields.iter_mut().zip(names).enumerate() {
            field.qualifier = Some(qualifier.clone());
            field.name = name;
            field.relation = relation;
            field.ordinal = ordinal;
            field.base = None;
        }
        Ok(Rows { plan: rows.plan, scope: Scope { fields, hidden: false } })
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: Rows,
        right: Rows,
        constraint: &Constraint<'_>,
        lateral: bool,
    ) -> Result<Rows> {
        let width = left.plan.types().len();
        let both = left.scope.join(&right.scope, width);
        let (on, scope) = match constraint {
            Constraint::On(condition) => {
                let on = self.with_scope(both.clone(), |this| this.condition(condition))?;
                (on, both)
            }
            Constraint::Using(names) => self.merge(kind, &left.scope, &right.scope.shifted(width), names)?,
            Constraint::Natural => {
                let common = common(&left.scope, &right.scope)?;
                let names: Vec<&str> = common.iter().map(String::as_str).collect();
                self.merge(kind, &left.scope, &right.scope.shifted(width), &names)?
            }
            Constraint::None if kind == JoinKind::Inner => (Expr::bool(true), both),
            Constraint::None if matches!(kind, JoinKind::Semi | JoinKind::Anti) => (Expr::bool(true), both),
            Constraint::None => return no("an outer join without a condition"),
        };
        // The merged names of USING refer to the left row where the right one is not there.
        let scope = match kind {
            JoinKind::Semi | JoinKind::Anti => left.scope,
            _ => scope,
        };
        let plan = Plan::Join { kind, left: Box::new(left.plan), right: Box::new(right.plan), on, lateral };
        Ok(Rows { plan, scope })
    }

    /// The condition of USING and the row in which each of the names is one column: the left value, the right one
    /// after RIGHT JOIN, the first that is not NULL after FULL JOIN.
    fn merge(&mut self, kind: JoinKind, left: &Scope, right: &Scope, names: &[&str]) -> Result<(Expr, Scope)> {
        let mut merged = Vec::new();
        let mut conditions = Vec::new();
        let (mut left, mut right) = (left.clone(), right.clone());
        for (ordinal, name) in names.iter().enumerate() {
            let (a, b) = (take(&mut left, name)?, take(&mut right, name)?);
            let (x, y, ty) = self.unify(a.clone(), b.clone())?;
            conditions.push(Expr::Compare(CompareOp::Eq, Box::new(x.clone()), Box::new(y.clone())));
            if a.ty() != b.ty() {
                return no(format!("USING with columns of different types ({name})"));
            }
            let expr = match kind {
                JoinKind::Right => y,
                JoinKind::Full => Expr::Case {
                    branches: vec![(Expr::Not(Box::new(Expr::IsNull(Box::new(x.clone())))), x)],
                    otherwise: Box::new(y),
                    ty,
                },
                _ => x,
            };
            merged.push(Field {
                qualifier: None,
                name: Some((*name).to_owned()),
                expr,
                relation: 0,
                ordinal,
                bare: true,
                star: true,
                is_virtual: false,
                base: None,
            });
        }
        merged.extend(left.fields);
        merged.extend(right.fields);
        let on = if conditions.len() == 1 { conditions.remove(0) } else { Expr::And(conditions) };
        Ok((on, Scope { fields: merged, hidden: false }))
    }
}

/// The value of a column that USING merges; afterwards it is reached through its table only.
fn take(scope: &mut Scope, name: &str) -> Result<Expr> {
    let Some(expr) = scope.bare(name)?.map(|f| f.expr.clone()) else { return no(format!("unknown column {name}")) };
    for field in &mut scope.fields {
        if field.bare && field.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)) {
            field.bare = false;
            field.star = false;
        }
    }
    // A merged column has no table of its own; merging it again replaces it.
    scope.fields.retain(|f| f.bare || f.qualifier.is_some());
    Ok(expr)
}

/// The column names that NATURAL JOIN compares, in the order of the left row.
fn common(left: &Scope, right: &Scope) -> Result<Vec<String>> {
    for field in left.fields.iter().chain(&right.fields).filter(|f| f.star) {
        if field.name.as_ref().is_none_or(|name| name.starts_with(VALUES_PREFIX)) {
            return no("NATURAL JOIN of a column that engines name differently");
        }
    }
    let mut names: Vec<String> = Vec::new();
    for name in left.fields.iter().filter(|f| f.star && !f.is_virtual).filter_map(|f| f.name.as_ref()) {
        let in_right = right
            .fields
            .iter()
            .filter(|f| f.star && !f.is_virtual)
            .any(|f| f.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)));
        if in_right && !names.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// The table factors of an item of FROM.
fn of_item(item: &ast::TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    let ast::TableWithJoins { relation, joins } = item;
    std::iter::once(relation).chain(joins.iter().map(|join| &join.relation))
}

/// Whether a table factor reads its earlier siblings in FROM.
fn is_lateral(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Derived { lateral, .. } => *lateral,
        TableFactor::NestedJoin { table_with_joins, alias: _ } => {
            let ast::TableWithJoins { relation, joins } = table_with_joins.as_ref();
            is_lateral(relation) || joins.iter().any(|join| is_lateral(&join.relation))
        }
        _ => false,
    }
}

fn operator(operator: &ast::JoinOperator) -> Result<(JoinKind, Constraint<'_>)> {
    use ast::JoinOperator as Op;
    let (kind, constraint) = match operator {
        Op::Join(constraint) | Op::Inner(constraint) => (JoinKind::Inner, constraint),
        Op::CrossJoin(constraint) => {
            if !matches!(constraint, ast::JoinConstraint::None) {
                return no("CROSS JOIN with a condition");
            }
            (JoinKind::Inner, constraint)
        }
        Op::Left(constraint) | Op::LeftOuter(constraint) => (JoinKind::Left, constraint),
        Op::Right(constraint) | Op::RightOuter(constraint) => (JoinKind::Right, constraint),
        Op::FullOuter(constraint) => (JoinKind::Full, constraint),
        Op::Semi(constraint) | Op::LeftSemi(constraint) => (JoinKind::Semi, constraint),
        Op::Anti(constraint) | Op::LeftAnti(constraint) => (JoinKind::Anti, constraint),
        Op::RightSemi(_) => return no("RIGHT SEMI JOIN"),
        Op::RightAnti(_) => return no("RIGHT ANTI JOIN"),
        Op::CrossApply => return no("CROSS APPLY"),
        Op::OuterApply => return no("OUTER APPLY"),
        Op::AsOf { match_condition: _, constraint: _ } => return no("ASOF JOIN"),
        Op::StraightJoin(_) => return no("STRAIGHT_JOIN"),
        Op::ArrayJoin | Op::LeftArrayJoin | Op::InnerArrayJoin => return no("ARRAY JOIN"),
    };
    let constraint = match constraint {
        ast::JoinConstraint::On(condition) => Constraint::On(condition),
        ast::JoinConstraint::Using(names) => {
            Constraint::Using(names.iter().map(|name| Ok(last_name(name)?.value.as_str())).collect::<Result<_>>()?)
        }
        ast::JoinConstraint::Natural => Constraint::Natural,
        ast::JoinConstraint::None => Constraint::None,
    };
    Ok((kind, constraint))
}
