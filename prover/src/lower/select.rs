//! SELECT blocks.

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{Aggregate, Expr, OrderKey, Plan, WindowFunction};

use super::from::Rows;
use super::group::Grouping;
use super::query::{Ordered, Relation, order_item, ordinal, parenthesised_number};
use super::{Lowerer, Result, absent, empty, last_name, no, unset, walk};

/// Column numbers from here on stand for aggregates until the grouped row is known.
pub(super) const AGGREGATES: usize = 1 << 28;
/// Column numbers from here on stand for GROUPING calls.
pub(super) const GROUPINGS: usize = 1 << 29;
/// Column numbers from here on stand for window functions.
pub(super) const WINDOWS: usize = 1 << 30;

/// What a SELECT collects while its expressions are read.
#[derive(Default)]
pub(super) struct Block {
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) windows: Vec<WindowFunction>,
    /// The arguments of GROUPING calls.
    pub(super) groupings: Vec<Vec<Expr>>,
    pub(super) allow_aggregates: bool,
    pub(super) allow_windows: bool,
    pub(super) named_windows: Vec<(String, ast::NamedWindowExpr)>,
    /// Output names and what they stand for.
    pub(super) aliases: Vec<(String, Ast)>,
    /// Whether a name that is not a column may be an output name.
    pub(super) use_aliases: bool,
}

/// An item of the select list.
pub(super) struct Item<'a> {
    name: Option<String>,
    value: ItemValue<'a>,
}

enum ItemValue<'a> {
    /// From `*`.
    Read(Expr),
    Written(&'a Ast),
}

/// An ORDER BY item: an output column or something else.
enum Target {
    Output(usize),
    Hidden(Expr),
}

/// The parts of a SELECT after FROM and WHERE.
struct Rest<'a> {
    distinct: bool,
    items: Vec<Item<'a>>,
    group_by: &'a ast::GroupByExpr,
    having: Option<&'a Ast>,
    order_by: &'a [ast::OrderByExpr],
}

impl Lowerer<'_> {
    /// A SELECT with the ORDER BY that follows it.
    pub(super) fn select(&mut self, select: &ast::Select, order_by: &[ast::OrderByExpr]) -> Result<Ordered> {
        let ast::Select {
            select_token: _,
            // Hints are comments that choose a plan.
            optimizer_hints: _,
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
            flavor,
        } = select;
        absent(select_modifiers.as_ref(), "SELECT modifiers")?;
        absent(top.as_ref(), "TOP")?;
        absent(exclude.as_ref(), "EXCLUDE")?;
        absent(into.as_ref(), "SELECT INTO")?;
        empty(lateral_views, "LATERAL VIEW")?;
        absent(prewhere.as_ref(), "PREWHERE")?;
        empty(connect_by, "CONNECT BY")?;
        empty(cluster_by, "CLUSTER BY")?;
        empty(distribute_by, "DISTRIBUTE BY")?;
        empty(sort_by, "SORT BY")?;
        absent(qualify.as_ref(), "QUALIFY")?;
        absent(value_table_mode.as_ref(), "SELECT AS STRUCT or VALUE")?;
        unset(!matches!(flavor, ast::SelectFlavor::Standard), "FROM before SELECT")?;
        let distinct = match distinct {
            None | Some(ast::Distinct::All) => false,
            Some(ast::Distinct::Distinct) => true,
            Some(ast::Distinct::On(_)) => return no("DISTINCT ON"),
        };
        self.new_block();
        let Rows { plan, scope } = self.from(from)?;
        self.with_scope(scope, |this| {
            let items = this.items(projection)?;
            let plan = match selection {
                Some(condition) => plan.filter(this.condition(condition)?),
                None => plan,
            };
            for ast::NamedWindowDefinition(name, window) in named_window {
                this.block.named_windows.push((name.value.clone(), window.clone()));
            }
            this.rest(plan, Rest { distinct, items, group_by, having: having.as_ref(), order_by })
        })
    }

    /// Expands the select list and notes the output names.
    fn items<'a>(&mut self, projection: &'a [ast::SelectItem]) -> Result<Vec<Item<'a>>> {
        let mut items = Vec::new();
        for item in projection {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    items.push(Item { name: implicit_name(expr), value: ItemValue::Written(expr) });
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    self.block.aliases.push((alias.value.clone(), expr.clone()));
                    items.push(Item { name: Some(alias.value.clone()), value: ItemValue::Written(expr) });
                }
                ast::SelectItem::ExprWithAliases { expr: _, aliases: _ } => return no("several aliases of one item"),
                ast::SelectItem::Wildcard(options) => {
                    plain_wildcard(options)?;
                    self.star(None, &mut items)?;
                }
                ast::SelectItem::QualifiedWildcard(kind, options) => {
                    plain_wildcard(options)?;
                    match kind {
                        ast::SelectItemQualifiedWildcardKind::ObjectName(name) => {
                            self.star(Some(&last_name(name)?.value), &mut items)?;
                        }
                        ast::SelectItemQualifiedWildcardKind::Expr(expr) => return no(format!("{expr}.*")),
                    }
                }
            }
        }
        if items.is_empty() {
            return no("an empty select list");
        }
        Ok(items)
    }

    fn star(&self, qualifier: Option<&str>, items: &mut Vec<Item<'_>>) -> Result<()> {
        let Some(scope) = self.scopes.last() else { return no("* without FROM") };
        let mut fields: Vec<_> = match qualifier {
            None => scope.fields.iter().filter(|f| f.star).collect(),
            Some(qualifier) => {
                let Some(relation) = scope.relations(qualifier)? else {
                    return no(format!("unknown table {qualifier}"));
                };
                let mut fields: Vec<_> =
                    scope.fields.iter().filter(|f| f.relation == relation && !f.is_virtual).collect();
                fields.sort_by_key(|f| f.ordinal);
                fields
            }
        };
        if fields.is_empty() {
            return no("* without columns");
        }
        let new = fields.drain(..).map(|f| Item { name: f.name.clone(), value: ItemValue::Read(f.expr.clone()) });
        items.extend(new);
        Ok(())
    }

    fn item(&mut self, value: &ItemValue<'_>) -> Result<Expr> {
        match value {
            ItemValue::Read(expr) => Ok(expr.clone()),
            ItemValue::Written(expr) => self.expr(expr),
        }
    }

    fn rest(&mut self, mut plan: Plan, rest: Rest<'_>) -> Result<Ordered> {
        let Rest { distinct, items, group_by, having, order_by } = rest;
        let mut grouping = self.group_by(group_by, &items)?;
        self.block.allow_aggregates = true;
        self.block.allow_windows = true;
        let mut outputs = items.iter().map(|item| self.item(&item.value)).collect::<Result<Vec<_>>>()?;
        self.block.use_aliases = true;
        self.block.allow_windows = false;
        let mut having = having.map(|condition| self.condition(condition)).transpose()?;
        self.block.allow_windows = true;
        let names: Vec<_> = items.into_iter().map(|item| item.name).collect();
        let mut targets = Vec::new();
        for item in order_by {
            let (expr, descending, nulls_first) = order_item(item)?;
            if let Some(target) = self.order_target(expr, &names, &outputs)? {
                targets.push((target, descending, nulls_first));
            }
        }
        if distinct && targets.iter().any(|(target, ..)| matches!(target, Target::Hidden(_))) {
            return no("SELECT DISTINCT ordered by something not selected");
        }

        let mut block = std::mem::take(&mut self.block);
        let grouped = having.is_some() || !block.aggregates.is_empty() || !block.groupings.is_empty();
        if grouped && grouping.is_none() {
            if block.aggregates.is_empty() {
                return no("HAVING without groups and aggregates, which engines read differently");
            }
            grouping = Some(Grouping::one_group());
        }
        if let Some(grouping) = grouping {
            let mut parts: Vec<&mut Expr> = outputs.iter_mut().chain(&mut having).collect();
            parts.extend(targets.iter_mut().filter_map(|(target, ..)| match target {
                Target::Hidden(expr) => Some(expr),
                Target::Output(_) => None,
            }));
            for window in &mut block.windows {
                parts.extend(window.args.iter_mut().chain(&mut window.partition));
                parts.extend(window.order.iter_mut().map(|key| &mut key.expr));
            }
            plan = self.group(plan, grouping, block.aggregates, &block.groupings, &mut parts)?;
        }
        if let Some(condition) = having {
            plan = plan.filter(condition);
        }
        if !block.windows.is_empty() {
            let width = plan.types().len();
            for part in outputs.iter_mut().chain(targets.iter_mut().filter_map(|(target, ..)| match target {
                Target::Hidden(expr) => Some(expr),
                Target::Output(_) => None,
            })) {
                place_windows(part, width);
            }
            plan = Plan::Window { input: Box::new(plan), functions: block.windows };
        }

        let mut order = Vec::new();
        for (target, descending, nulls_first) in targets {
            let index = match target {
                Target::Output(index) => index,
                Target::Hidden(expr) => {
                    outputs.push(expr);
                    outputs.len() - 1
                }
            };
            let expr = Expr::column(index, outputs[index].ty());
            order.push(OrderKey { expr, descending, nulls_first });
        }
        plan = plan.project(outputs);
        if distinct {
            plan = Plan::Distinct(Box::new(plan));
        }
        Ok(Ordered { relation: Relation { plan, names }, order })
    }

    /// What an ORDER BY item means; `None` for a constant. A name alone is an output column first.
    fn order_target(&mut self, expr: &Ast, names: &[Option<String>], outputs: &[Expr]) -> Result<Option<Target>> {
        parenthesised_number(expr)?;
        if let Some(index) = ordinal(expr, names.len())? {
            return Ok(Some(Target::Output(index)));
        }
        if let Ast::Identifier(ident) = expr {
            let matches = |name: &Option<String>| name.as_ref().is_some_and(|n| n.eq_ignore_ascii_case(&ident.value));
            let mut found = names.iter().enumerate().filter(|(_, name)| matches(name)).map(|(index, _)| index);
            if let Some(first) = found.next() {
                if found.any(|other| outputs[other] != outputs[first]) {
                    return no(format!("ambiguous column {}", ident.value));
                }
                return Ok(Some(Target::Output(first)));
            }
        }
        let expr = self.expr(expr)?;
        if matches!(expr, Expr::Literal(..)) {
            return Ok(None);
        }
        let output = outputs.iter().position(|o| *o == expr);
        Ok(Some(output.map_or(Target::Hidden(expr), Target::Output)))
    }

    /// The select item that a GROUP BY ordinal means.
    pub(super) fn grouped_item(&mut self, items: &[Item<'_>], index: usize) -> Result<Expr> {
        self.item(&items[index].value)
    }

    /// What an output name stands for.
    pub(super) fn alias(&mut self, name: &str) -> Result<Option<Expr>> {
        let mut found = self.block.aliases.iter().filter(|(alias, _)| alias.eq_ignore_ascii_case(name));
        let Some((_, first)) = found.next() else { return Ok(None) };
        if found.any(|(_, other)| other != first) {
            return no(format!("ambiguous column {name}"));
        }
        let first = first.clone();
        // An output name in the meaning of an output name is a column.
        let aliases = std::mem::take(&mut self.block.aliases);
        let expr = self.expr(&first);
        self.block.aliases = aliases;
        expr.map(Some)
    }
}

/// Turns the stand-ins for window functions into columns after the `width` columns of the row.
fn place_windows(expr: &mut Expr, width: usize) {
    let placed = walk::rewrite(expr, 0, &mut |part, scopes| {
        if let Expr::Column { depth, index, .. } = part
            && *depth == scopes
            && *index >= WINDOWS
        {
            *index = *index - WINDOWS + width;
        }
        Ok::<bool, std::convert::Infallible>(false)
    });
    match placed {
        Ok(()) => {}
    }
}

fn implicit_name(expr: &Ast) -> Option<String> {
    match expr {
        Ast::Identifier(ident) => Some(ident.value.clone()),
        Ast::CompoundIdentifier(parts) => parts.last().map(|ident| ident.value.clone()),
        Ast::Nested(inner) => implicit_name(inner),
        _ => None,
    }
}

fn plain_wildcard(options: &ast::WildcardAdditionalOptions) -> Result<()> {
    let ast::WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    absent(opt_ilike.as_ref(), "* ILIKE")?;
    absent(opt_exclude.as_ref(), "* EXCLUDE")?;
    absent(opt_except.as_ref(), "* EXCEPT")?;
    absent(opt_replace.as_ref(), "* REPLACE")?;
    absent(opt_rename.as_ref(), "* RENAME")?;
    absent(opt_alias.as_ref(), "an alias of *")
}
