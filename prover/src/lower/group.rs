//! GROUP BY: keys, grouping sets, and what may be said of a group.

use std::collections::BTreeMap;

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{Aggregate, Expr, Plan, SetOp};

use super::query::{ordinal, parenthesised_number};
use super::scope::shift;
use super::select::{AGGREGATES, GROUPINGS, Item, WINDOWS};
use super::{Lowerer, Result, no, walk};

/// More grouping sets than this are refused.
const MAX_SETS: usize = 64;

/// GROUP BY as read.
pub(super) struct Grouping {
    /// All keys, over the row before grouping.
    keys: Vec<Expr>,
    /// The grouping sets, as indices of keys; one for an ordinary GROUP BY.
    sets: Vec<Vec<usize>>,
}

impl Grouping {
    /// The grouping of a SELECT with aggregates and no GROUP BY.
    pub(super) fn one_group() -> Self {
        Self { keys: Vec::new(), sets: vec![Vec::new()] }
    }

    fn key(&mut self, expr: Expr) -> usize {
        self.keys.iter().position(|k| *k == expr).unwrap_or_else(|| {
            self.keys.push(expr);
            self.keys.len() - 1
        })
    }
}

/// The column of the ungrouped row at this index is not a key.
struct NotGrouped(usize);

impl Lowerer<'_> {
    /// GROUP BY, or `None` if there is none.
    pub(super) fn group_by(&mut self, group_by: &ast::GroupByExpr, items: &[Item<'_>]) -> Result<Option<Grouping>> {
        let (exprs, modifiers) = match group_by {
            ast::GroupByExpr::All(_) => return no("GROUP BY ALL"),
            ast::GroupByExpr::Expressions(exprs, modifiers) => (exprs, modifiers),
        };
        if exprs.is_empty() && modifiers.is_empty() {
            return Ok(None);
        }
        let mut grouping = Grouping { keys: Vec::new(), sets: vec![Vec::new()] };
        let mut elements = Vec::new();
        match modifiers.as_slice() {
            [] => {
                for expr in exprs {
                    elements.push(self.grouping_element(expr, items, &mut grouping)?);
                }
            }
            [ast::GroupByWithModifier::Rollup] => {
                elements.push(rollup(&self.singles(exprs, items, &mut grouping)?));
            }
            [ast::GroupByWithModifier::Cube] => {
                elements.push(cube(&self.singles(exprs, items, &mut grouping)?)?);
            }
            _ => return no("a GROUP BY modifier"),
        }
        for element in elements {
            if grouping.sets.len() * element.len() > MAX_SETS {
                return no("so many grouping sets");
            }
            let product = |set: &Vec<usize>| {
                let set = set.clone();
                element.iter().map(move |more| set.iter().chain(more).copied().collect()).collect::<Vec<_>>()
            };
            grouping.sets = grouping.sets.iter().flat_map(product).collect();
        }
        for set in &mut grouping.sets {
            set.sort_unstable();
            set.dedup();
        }
        // Engines tell by the text whether an expression is a key, which is NULL in the rows of some sets; written otherwise it
        // is computed from other keys. A column has one meaning, however it is written.
        if grouping.sets.len() > 1 && grouping.keys.iter().any(|key| !matches!(key, Expr::Column { .. })) {
            return no("an expression in grouping sets");
        }
        Ok(Some(grouping))
    }

    /// The grouping sets of one GROUP BY item.
    fn grouping_element(&mut self, expr: &Ast, items: &[Item<'_>], grouping: &mut Grouping) -> Result<Vec<Vec<usize>>> {
        match expr {
            Ast::Rollup(parts) => Ok(rollup(&self.composites(parts, items, grouping)?)),
            Ast::Cube(parts) => cube(&self.composites(parts, items, grouping)?),
            Ast::GroupingSets(parts) => self.composites(parts, items, grouping),
            Ast::Tuple(parts) => Ok(vec![self.composite(parts, items, grouping)?]),
            expr => Ok(vec![self.composite(std::slice::from_ref(expr), items, grouping)?]),
        }
    }

    fn singles(&mut self, exprs: &[Ast], items: &[Item<'_>], grouping: &mut Grouping) -> Result<Vec<Vec<usize>>> {
        exprs.iter().map(|expr| self.composite(std::slice::from_ref(expr), items, grouping)).collect()
    }

    fn composites(
        &mut self,
        parts: &[Vec<Ast>],
        items: &[Item<'_>],
        grouping: &mut Grouping,
    ) -> Result<Vec<Vec<usize>>> {
        parts.iter().map(|part| self.composite(part, items, grouping)).collect()
    }

    fn composite(&mut self, part: &[Ast], items: &[Item<'_>], grouping: &mut Grouping) -> Result<Vec<usize>> {
        let mut set = Vec::new();
        for expr in part {
            // A single expression in parentheses arrives as a list of one or as a nested list.
            if let Ast::Tuple(inner) = expr {
                set.extend(self.composite(inner, items, grouping)?);
            } else {
                let key = self.group_key(expr, items)?;
                set.push(grouping.key(key));
            }
        }
        Ok(set)
    }

    /// A key. A name alone is a column of FROM first, then an output name.
    fn group_key(&mut self, expr: &Ast, items: &[Item<'_>]) -> Result<Expr> {
        parenthesised_number(expr)?;
        // A number that is no ordinal is an error in engines with ordinals and a constant in the others.
        if let Ok(Some(index)) = ordinal(expr, items.len()) {
            return self.grouped_item(items, index);
        }
        if let Ast::Identifier(ident) = expr {
            let column = match self.scopes.last() {
                Some(scope) => scope.bare(&ident.value)?.map(|field| field.expr.clone()),
                None => None,
            };
            if let Some(column) = column {
                return Ok(column);
            }
            if let Some(expr) = self.alias(&ident.value)? {
                return Ok(expr);
            }
        }
        self.block.use_aliases = true;
        let key = self.expr(expr);
        self.block.use_aliases = false;
        key
    }

    /// Groups `input` and makes `parts`, read over its row, expressions over the grouped row.
    pub(super) fn group(
        &mut self,
        input: Plan,
        mut grouping: Grouping,
        aggregates: Vec<Aggregate>,
        calls: &[Vec<Expr>],
        parts: &mut [&mut Expr],
    ) -> Result<Plan> {
        let call_keys = calls
            .iter()
            .map(|args| {
                let key = |arg: &Expr| grouping.keys.iter().position(|k| k == arg);
                args.iter().map(key).collect::<Option<Vec<_>>>()
            })
            .collect::<Option<Vec<_>>>();
        let Some(call_keys) = call_keys else { return no("GROUPING of something that is not a key") };
        let regrouped = loop {
            match regroup(parts, &grouping, aggregates.len()) {
                Ok(regrouped) => break regrouped,
                Err(NotGrouped(index)) => {
                    let Some(key) = self.determined(&grouping, index) else {
                        return no(self.not_grouped(index));
                    };
                    let key = grouping.key(key);
                    grouping.sets[0].push(key);
                }
            }
        };
        for (part, new) in parts.iter_mut().zip(regrouped) {
            **part = new;
        }
        self.group_plan(input, &grouping, aggregates, &call_keys)
    }

    /// The column at `index` of the ungrouped row, if the keys determine it: all of a key of its table, without NULLs,
    /// is among them. Where an outer join supplied no row, all columns of the table are NULL.
    fn determined(&self, grouping: &Grouping, index: usize) -> Option<Expr> {
        if grouping.sets.len() != 1 {
            return None;
        }
        let fields = &self.scopes.last()?.fields;
        let field = fields.iter().find(|f| f.base.is_some() && is_column(&f.expr, index))?;
        let (id, _) = field.base?;
        let table = &self.schema.tables[id];
        let is_grouped = |column: usize| {
            table.columns[column].not_null
                && fields.iter().any(|f| {
                    f.relation == field.relation && f.base == Some((id, column)) && grouping.keys.contains(&f.expr)
                })
        };
        let determined = table.keys.iter().any(|key| key.columns.iter().all(|column| is_grouped(*column)));
        determined.then(|| field.expr.clone())
    }

    fn not_grouped(&self, index: usize) -> String {
        let name = self
            .scopes
            .last()
            .and_then(|scope| scope.fields.iter().find(|f| is_column(&f.expr, index)))
            .and_then(|field| field.name.clone())
            .unwrap_or_default();
        format!("column {name} neither grouped nor aggregated")
    }

    /// The grouped rows: all keys, then the aggregates, then with several grouping sets the GROUPING calls.
    fn group_plan(
        &mut self,
        input: Plan,
        grouping: &Grouping,
        aggregates: Vec<Aggregate>,
        calls: &[Vec<usize>],
    ) -> Result<Plan> {
        let Grouping { keys, sets } = grouping;
        if let [_] = sets.as_slice() {
            let plan = Plan::Aggregate { input: Box::new(input), keys: keys.clone(), aggregates };
            if calls.is_empty() {
                return Ok(plan);
            }
            let mut exprs: Vec<Expr> =
                plan.types().into_iter().enumerate().map(|(index, ty)| Expr::column(index, ty)).collect();
            exprs.extend(calls.iter().map(|_| Expr::int(0)));
            return Ok(plan.project(exprs));
        }
        let mut union: Option<Plan> = None;
        for set in sets {
            let plan = Plan::Aggregate {
                input: Box::new(input.clone()),
                keys: set.iter().map(|key| keys[*key].clone()).collect(),
                aggregates: aggregates.clone(),
            };
            let mut exprs: Vec<Expr> = keys
                .iter()
                .enumerate()
                .map(|(key, expr)| match set.iter().position(|k| *k == key) {
                    Some(index) => Expr::column(index, expr.ty()),
                    None => Expr::null(expr.ty()),
                })
                .collect();
            let values = aggregates.iter().enumerate();
            exprs.extend(values.map(|(index, a)| Expr::column(set.len() + index, a.ty.clone())));
            exprs.extend(calls.iter().map(|call| {
                let bits = call.iter().fold(0, |bits, key| bits * 2 + i64::from(!set.contains(key)));
                Expr::int(bits)
            }));
            let plan = plan.project(exprs);
            union = Some(match union {
                None => plan,
                Some(rest) => self.set_operation(SetOp::Union, true, rest, plan)?,
            });
        }
        union.map_or_else(|| no("no grouping sets"), Ok)
    }
}

fn is_column(expr: &Expr, wanted: usize) -> bool {
    matches!(expr, Expr::Column { depth: 0, index, .. } if *index == wanted)
}

/// The parts over the grouped row, with [`Grouping::keys`] as its first columns and the aggregates next.
fn regroup(parts: &[&mut Expr], grouping: &Grouping, aggregates: usize) -> std::result::Result<Vec<Expr>, NotGrouped> {
    let keys = &grouping.keys;
    // The keys as seen from subqueries.
    let mut shifted: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
    let mut place = |part: &mut Expr, scopes: usize| {
        if let Expr::Column { depth, index, .. } = part
            && *depth == scopes
            && *index >= AGGREGATES
        {
            if *index < GROUPINGS {
                *index = *index - AGGREGATES + keys.len();
            } else if *index < WINDOWS {
                *index = *index - GROUPINGS + keys.len() + aggregates;
            }
            return Ok(true);
        }
        let here = shifted.entry(scopes).or_insert_with(|| keys.iter().map(|key| shift(key, scopes)).collect());
        // With one grouping set a constant means the same in and out of the keys.
        if !matches!(part, Expr::Literal(..))
            && let Some(index) = here.iter().position(|key| key == part)
        {
            *part = Expr::Column { depth: scopes, index, ty: keys[index].ty() };
            return Ok(true);
        }
        match part {
            Expr::Column { depth, index, .. } if *depth == scopes => Err(NotGrouped(*index)),
            _ => Ok(false),
        }
    };
    let mut regrouped = Vec::new();
    for part in parts {
        let mut part = (*part).clone();
        walk::rewrite(&mut part, 0, &mut place)?;
        regrouped.push(part);
    }
    Ok(regrouped)
}

/// Every prefix, longest first.
fn rollup(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    (0..=parts.len()).rev().map(|length| parts[..length].concat()).collect()
}

/// Every subset.
fn cube(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if 1usize.checked_shl(u32::try_from(parts.len()).unwrap_or(u32::MAX)).is_none_or(|n| n > MAX_SETS) {
        return no("so many grouping sets");
    }
    let subset = |bits: usize| {
        let chosen = parts.iter().enumerate().filter(|(index, _)| bits & (1 << index) != 0);
        chosen.flat_map(|(_, part)| part.iter().copied()).collect()
    };
    Ok((0..1usize << parts.len()).rev().map(subset).collect())
}
