//! Smaller forms of a query that stands for a table.
//!
//! Members are equivalent whatever rows a table placeholder has, as long as its columns are of their types and every
//! evaluation gives the same bag. So what is taken out of the query may change its rows, but no type: what is selected is as
//! it was, or something else in the same cast. And what is the same bag each time for a reason that an edit may undo (a window, a
//! group, a limit, a scalar subquery, recursion) stays as it is or goes as a whole.

use super::simpler::edits;
use crate::sql::print::parse_query;
use sqlparser::ast::{Distinct, Expr, GroupByExpr, Query, Select, SelectItem, SetExpr, TableFactor, Visit, Visitor};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Smaller forms, the shortest first; at most `max`. None for a query that the parser does not know.
pub fn smaller_tables(sql: &str, max: usize) -> Vec<String> {
    let Ok(query) = parse_query(sql) else { return Vec::new() };
    let (whole, arms) = (Parts::of(&query), arms(&query.body));
    let smaller = edits(&query, true).into_values().filter(|(text, edited)| {
        let keeps =
            |arm: &Vec<Item>| arms.iter().any(|own| own.len() == arm.len() && own.iter().zip(arm).all(stands_for));
        size(text) < size(sql) && whole.allow(&Parts::of(edited)) && self::arms(&edited.body).iter().all(keeps)
    });
    let mut smaller: Vec<String> = smaller.map(|(text, _)| text).collect();
    smaller.sort_by(|a, b| (size(a), a).cmp(&(size(b), b)));
    smaller.dedup();
    smaller.truncate(max);
    smaller
}

/// Bytes of a text, in which NULL is shorter than any name.
fn size(text: &str) -> usize {
    text.replace("NULL", "").len()
}

/// What is selected: its name, its text, and the type if it is a cast.
type Item = (String, String, Option<String>);

/// Whether the second may take the place of the first: it is as it was, or another value in the same cast.
fn stands_for((own, item): (&Item, &Item)) -> bool {
    own.0 == item.0 && (own.1 == item.1 || item.2.is_some() && own.2 == item.2)
}

/// What each query of a set operation selects.
fn arms(body: &SetExpr) -> Vec<Vec<Item>> {
    match body {
        SetExpr::Select(select) => vec![select.projection.iter().map(item).collect()],
        SetExpr::SetOperation { left, right, .. } => [arms(left), arms(right)].concat(),
        SetExpr::Query(query) => arms(&query.body),
        _ => Vec::new(),
    }
}

fn item(item: &SelectItem) -> Item {
    let (name, expr) = match item {
        SelectItem::ExprWithAlias { alias, expr } => (alias.to_string(), expr),
        SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(path)) => {
            (path.last().map(ToString::to_string).unwrap_or_default(), expr)
        }
        SelectItem::UnnamedExpr(expr) => (expr.to_string(), expr),
        other => return (other.to_string(), other.to_string(), None),
    };
    let ty = match expr {
        Expr::Cast { data_type, .. } => Some(data_type.to_string()),
        _ => None,
    };
    (name, expr.to_string(), ty)
}

/// What a query is made of, as texts.
#[derive(Debug, Default)]
struct Parts {
    items: BTreeSet<Item>,
    /// Common table expressions.
    tables: BTreeSet<String>,
    /// What stays as it is or goes as a whole.
    delicate: BTreeSet<String>,
}

impl Parts {
    fn of(query: &Query) -> Self {
        let mut parts = Self::default();
        let _ = query.visit(&mut parts);
        parts
    }

    /// Whether an edit of the query with these parts keeps its types and its determinism.
    fn allow(&self, edited: &Self) -> bool {
        let keeps_type = |item: &Item| self.items.iter().any(|own| stands_for((own, item)));
        // What is delicate may read a common table expression.
        let keeps_tables = edited.delicate.is_empty() || edited.tables == self.tables;
        edited.items.iter().all(keeps_type) && edited.delicate.is_subset(&self.delicate) && keeps_tables
    }
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.tables.extend(tables.map(ToString::to_string));
        let ordered = query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some();
        if ordered || query.with.as_ref().is_some_and(|with| with.recursive) {
            self.delicate.insert(match &query.with {
                Some(with) if !ordered => with.to_string(),
                _ => query.to_string(),
            });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
        let of_groups = matches!(select.distinct, Some(Distinct::On(_)));
        let mut delicate = grouped
            || of_groups
            || select.having.is_some()
            || select.qualify.is_some()
            || !select.named_window.is_empty();
        for selected in &select.projection {
            delicate |= match selected {
                // It may be one of several rows.
                SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => calls(expr),
                // What it stands for may change.
                _ => true,
            };
            self.items.insert(item(selected));
        }
        if delicate {
            self.delicate.insert(select.to_string());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Subquery(_)) {
            self.delicate.insert(expr.to_string());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if !matches!(factor, TableFactor::Table { .. } | TableFactor::Derived { .. } | TableFactor::NestedJoin { .. }) {
            self.delicate.insert(factor.to_string());
        }
        ControlFlow::Continue(())
    }
}

/// Whether an expression calls a function, which may be an aggregate.
fn calls(expr: &Expr) -> bool {
    struct Calls;
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if matches!(expr, Expr::Function(_)) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    expr.visit(&mut Calls).is_break()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that smaller forms lead to.
    fn all(sql: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::from([sql.to_owned()]);
        let mut next = vec![sql.to_owned()];
        while let Some(sql) = next.pop() {
            next.extend(smaller_tables(&sql, 1000).into_iter().filter(|smaller| found.insert(smaller.clone())));
        }
        found
    }

    #[test]
    fn what_is_not_needed_goes_and_types_stay() {
        let sql = "SELECT CAST(q.y1 AS TEXT) AS c0, CAST(q.y2 AS INTEGER) AS c1 FROM (WITH RECURSIVE w1(p1) AS (SELECT 1 UNION ALL SELECT \
                   w1.p1 + 1 FROM w1 WHERE w1.p1 < 4) SELECT a.x AS y1, w1.p1 AS y2 FROM w1 LEFT JOIN t1 AS a ON a.c = w1.p1) AS q";
        let found = all(sql);
        for expected in [
            "SELECT CAST(NULL AS TEXT) AS c0, CAST(NULL AS INTEGER) AS c1",
            "SELECT CAST(q.y1 AS TEXT) AS c0, CAST(NULL AS INTEGER) AS c1 FROM (SELECT a.x AS y1 FROM t1 AS a) AS q",
        ] {
            assert!(found.contains(expected), "{expected} is not in {found:#?}");
        }
        assert!(found.iter().all(|text| !text.contains("RECURSIVE") || text.contains("WHERE w1.p1 < 4")));
        assert!(found.iter().all(|text| text.contains("AS c0") && text.contains("AS c1")));
        let typed = ["CAST(q.y1 AS TEXT) AS c0", "CAST(NULL AS TEXT) AS c0"];
        assert!(found.iter().all(|text| typed.iter().any(|item| text.contains(item))), "{found:#?}");
    }

    #[test]
    fn what_is_delicate_stays_or_goes_as_a_whole() {
        let sql = "SELECT CAST(s.a AS INTEGER) AS c0, s.b AS c1 FROM (SELECT MAX(t.a) AS a, t.b + 1 AS b FROM t WHERE t.d GROUP BY t.b + 1) AS s \
                   WHERE (SELECT u.a FROM u WHERE u.b AND u.c) AND s.b IN (SELECT v.b FROM v ORDER BY v.c LIMIT 1)";
        let found = all(sql);
        let grouped = "(SELECT MAX(t.a) AS a, t.b + 1 AS b FROM t WHERE t.d GROUP BY t.b + 1)";
        assert!(found.iter().all(|text| text.contains(grouped) || !text.contains("t.d")), "{found:#?}");
        assert!(
            found.iter().all(|text| !text.contains("FROM u") || text.contains("(SELECT u.a FROM u WHERE u.b AND u.c)"))
        );
        assert!(found.iter().all(|text| !text.contains("FROM v") || text.contains("ORDER BY v.c LIMIT 1")));
        assert!(found.iter().any(|text| !text.contains("WHERE (SELECT u.a")), "{found:#?}");
        let sql = "WITH w AS (SELECT t.x AS x FROM t WHERE t.id = 1) SELECT (SELECT w.x FROM w) AS c0 FROM u WHERE u.a";
        let with = "WITH w AS (SELECT t.x AS x FROM t WHERE t.id = 1)";
        assert!(all(sql).iter().all(|text| text.starts_with(with)), "{:#?}", all(sql));
        let sql = "SELECT a.c0 AS c0 FROM t AS a UNION ALL SELECT b.c0 AS c0 FROM t AS b";
        assert!(all(sql).iter().all(|text| !text.contains("NULL")), "the type of a column that is no cast is its own");
        assert!(smaller_tables("SELECT a.* FROM t AS a WHERE a.b", 10).is_empty());
    }
}
