//! Smaller forms of two members of a class. Nothing says that they are equivalent: that is asked of the prover.

use crate::sql::print::{parse_query, print_query};
use sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, Value, VisitMut, VisitorMut,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What begins the label of an edit that takes a column out of the result.
const COLUMN: &str = "without column ";

/// Pairs of smaller queries, at most `max`: first those in which the same is done to both, then those in which something is
/// done to one alone; of each the shortest first.
pub fn simpler_pairs(first: &str, second: &str, max: usize) -> Vec<[String; 2]> {
    let (Ok(first), Ok(second)) = (parse_query(first), parse_query(second)) else { return Vec::new() };
    let (Ok(first_text), Ok(second_text)) = (print_query(&first), print_query(&second)) else { return Vec::new() };
    let texts = |query| -> BTreeMap<String, String> {
        edits(query, false).into_iter().map(|(label, (text, _))| (label, text)).collect()
    };
    let (of_first, of_second) = (texts(&first), texts(&second));
    let both = of_first.iter().filter_map(|(label, edited)| Some([edited.clone(), of_second.get(label)?.clone()]));
    // Of queries with different columns no two are equivalent.
    let keeps_columns = |(label, _): &(&String, &String)| !label.starts_with(COLUMN);
    let one = of_first.iter().filter(keeps_columns).map(|(_, edited)| [edited.clone(), second_text.clone()]);
    let other = of_second.iter().filter(keeps_columns).map(|(_, edited)| [first_text.clone(), edited.clone()]);
    let sorted = |pairs: &mut dyn Iterator<Item = [String; 2]>| {
        let size = |pair: &[String; 2]| pair[0].len() + pair[1].len();
        let mut pairs: Vec<[String; 2]> =
            pairs.filter(|pair| size(pair) < first_text.len() + second_text.len()).collect();
        pairs.sort_by_cached_key(|pair| (size(pair), pair.clone()));
        pairs.dedup();
        pairs
    };
    let mut pairs = sorted(&mut { both });
    pairs.extend(sorted(&mut one.chain(other)));
    pairs.truncate(max);
    pairs
}

/// What a query becomes by one edit each, by what was done. NULL takes the place of expressions if `nulls` says so.
pub(super) fn edits(query: &Query, nulls: bool) -> BTreeMap<String, (String, Query)> {
    let mut all = BTreeMap::new();
    for number in 0.. {
        let mut editor = Editor { skip: number, depth: 0, nulls, label: None, replace: None };
        let mut edited = query.clone();
        let _ = edited.visit(&mut editor);
        let Some(label) = editor.label else { break };
        if let Some((from, to)) = editor.replace {
            let _ = edited.visit(&mut Replacer { from: &from, to: &to });
        }
        // A tree that prints as another one is none.
        if let Ok(text) = print_query(&edited) {
            all.entry(label).or_insert((text, edited));
        }
    }
    all
}

/// Does one of the edits that a walk comes by.
struct Editor {
    /// How many are passed by before.
    skip: usize,
    /// How many queries are around.
    depth: usize,
    /// Whether NULL may take the place of an expression.
    nulls: bool,
    /// What was done.
    label: Option<String>,
    /// An expression that is to be replaced wherever it stands.
    replace: Option<(Expr, Expr)>,
}

impl Editor {
    /// Whether the edit at hand is the one.
    fn takes(&mut self, label: impl FnOnce() -> String) -> bool {
        if self.label.is_some() {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.label = Some(label());
        true
    }

    /// One branch in the place of a set operation.
    fn branches(&mut self, body: &mut SetExpr) {
        let SetExpr::SetOperation { left, right, .. } = body else { return };
        if self.takes(|| "left branch".to_owned()) {
            *body = (**left).clone();
        } else if self.takes(|| "right branch".to_owned()) {
            *body = (**right).clone();
        } else {
            self.branches(left);
            self.branches(right);
        }
    }

    /// Without a common table expression, or with it where it is read.
    fn common_tables(&mut self, query: &mut Query) {
        let Some(with) = &mut query.with else { return };
        for at in 0..with.cte_tables.len() {
            if self.takes(|| format!("without {}", with.cte_tables[at].alias)) {
                with.cte_tables.remove(at);
                break;
            }
            if !with.recursive && self.takes(|| format!("{} where it is read", with.cte_tables[at].alias)) {
                let cte = with.cte_tables.remove(at);
                let mut inliner = Inliner { alias: &cte.alias, query: &cte.query };
                for later in &mut with.cte_tables[at..] {
                    let _ = later.query.visit(&mut inliner);
                }
                let _ = query.body.visit(&mut inliner);
                break;
            }
        }
        if query.with.as_ref().is_some_and(|with| with.cte_tables.is_empty()) {
            query.with = None;
        }
    }

    fn columns(&mut self, body: &mut SetExpr) {
        let count = leftmost(body).map_or(0, |select| select.projection.len());
        let wild = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        let depth = self.depth;
        for at in 0..count {
            let label = || match depth {
                1 => format!("{COLUMN}{at}"),
                _ => format!("without inner column {at}"),
            };
            let mut removable = count > 1;
            each_select(body, &mut |select| {
                removable &= select.projection.len() == count && !select.projection.iter().any(wild);
            });
            if removable && self.takes(label) {
                each_select(body, &mut |select| drop(select.projection.remove(at)));
                return;
            }
        }
    }

    fn expression(&mut self, expr: &Expr) {
        let null = Expr::value(Value::Null);
        if self.nulls && !matches!(expr, Expr::Value(_)) && self.takes(|| format!("{expr} -> NULL")) {
            self.replace = Some((expr.clone(), null));
            return;
        }
        let operands: Vec<&Expr> = match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => vec![left, right],
            Expr::Nested(inner)
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::Cast { expr: inner, .. }
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner) => vec![inner],
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter().map(|when| &when.result);
                results.chain(else_result.as_deref()).collect()
            }
            _ => return,
        };
        for operand in operands {
            if self.takes(|| format!("{expr} -> {operand}")) {
                self.replace = Some((expr.clone(), operand.clone()));
                return;
            }
        }
    }
}

impl VisitorMut for Editor {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        self.common_tables(query);
        self.columns(&mut query.body);
        self.branches(&mut query.body);
        if query.order_by.is_some() && self.takes(|| "without order".to_owned()) {
            query.order_by = None;
        }
        if query.limit_clause.is_some() && self.takes(|| "without limit".to_owned()) {
            query.limit_clause = None;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.distinct.is_some() && self.takes(|| "without DISTINCT".to_owned()) {
            select.distinct = None;
        }
        if let Some(condition) = &select.selection
            && self.takes(|| format!("without WHERE {condition}"))
        {
            select.selection = None;
        }
        if let Some(condition) = &select.having
            && self.takes(|| format!("without HAVING {condition}"))
        {
            select.having = None;
        }
        if self.nulls && !select.from.is_empty() && self.takes(|| "without FROM".to_owned()) {
            select.from.clear();
        }
        for at in 0..select.from.len() {
            if select.from.len() > 1 && self.takes(|| format!("without {}", select.from[at].relation)) {
                select.from.remove(at);
                break;
            }
            let tables = &mut select.from[at];
            for join in 0..tables.joins.len() {
                if self.takes(|| format!("without {}", tables.joins[join].relation)) {
                    tables.joins.remove(join);
                    break;
                }
            }
            if !tables.joins.is_empty() && self.takes(|| format!("without {}", tables.relation)) {
                tables.relation = tables.joins.remove(0).relation;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.expression(expr);
        ControlFlow::Continue(())
    }
}

/// Puts one expression in the place of another.
struct Replacer<'a> {
    from: &'a Expr,
    to: &'a Expr,
}

impl VisitorMut for Replacer<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if expr == self.from {
            *expr = self.to.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Puts the query of a common table expression where its name is read.
struct Inliner<'a> {
    alias: &'a TableAlias,
    query: &'a Query,
}

impl VisitorMut for Inliner<'_> {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, .. } = factor
            && name.to_string() == self.alias.name.value
        {
            let mut named = self.alias.clone();
            if let Some(alias) = alias {
                named.name = alias.name.clone();
            }
            let subquery = Box::new(self.query.clone());
            // Printed with the word, whether or not the name of the expression was.
            named.explicit = true;
            *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(named), sample: None };
        }
        ControlFlow::Continue(())
    }
}

fn leftmost(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => leftmost(left),
        _ => None,
    }
}

fn each_select(body: &mut SetExpr, with: &mut dyn FnMut(&mut Select)) {
    match body {
        SetExpr::Select(select) => with(select),
        SetExpr::SetOperation { left, right, .. } => {
            each_select(left, with);
            each_select(right, with);
        }
        SetExpr::Query(query) => each_select(&mut query.body, with),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_done_to_both_or_something_to_one() {
        let first = "SELECT t1.c0, t1.c1 FROM t1 WHERE t1.p1 AND t1.p2";
        let second = "WITH s AS (SELECT t1.c0, t1.c1, t1.p1 AND t1.p2 AS w FROM t1) SELECT s.c0, s.c1 FROM s WHERE s.w";
        let pairs = simpler_pairs(first, second, 1000);
        for expected in [
            // A column less, in both.
            [
                "SELECT t1.c1 FROM t1 WHERE t1.p1 AND t1.p2",
                "WITH s AS (SELECT t1.c0, t1.c1, t1.p1 AND t1.p2 AS w FROM t1) SELECT s.c1 FROM s WHERE s.w",
            ],
            // An operand in the place of a conjunction, wherever that stands.
            [
                "SELECT t1.c0, t1.c1 FROM t1 WHERE t1.p1",
                "WITH s AS (SELECT t1.c0, t1.c1, t1.p1 AS w FROM t1) SELECT s.c0, s.c1 FROM s WHERE s.w",
            ],
            // The common table expression as a derived table, in one.
            [first, "SELECT s.c0, s.c1 FROM (SELECT t1.c0, t1.c1, t1.p1 AND t1.p2 AS w FROM t1) AS s WHERE s.w"],
        ] {
            assert!(pairs.iter().any(|pair| pair[..] == expected), "{expected:?} is not in {pairs:#?}");
        }
        let size = |pair: &[String; 2]| pair[0].len() + pair[1].len();
        assert!(pairs.iter().all(|pair| size(pair) < first.len() + second.len()));
        assert!(pairs.iter().all(|pair| pair[0].contains("t1.c0,") == pair[1].contains("s.c0,")), "{pairs:#?}");
        assert_eq!(simpler_pairs(first, second, 3).len(), 3);
    }

    #[test]
    fn branches_joins_and_columns_of_all_branches_go() {
        let query =
            "SELECT a.c0, b.c0 FROM t1 AS a LEFT JOIN t2 AS b ON a.c0 = b.c0 UNION ALL SELECT c.c0, 1 FROM t2 AS c";
        let edited = edits(&parse_query(query).expect("parses"), false);
        let of = |label: &str| edited.get(label).map(|(text, _)| text.as_str());
        assert_eq!(of("right branch"), Some("SELECT c.c0, 1 FROM t2 AS c"));
        assert_eq!(
            of("without column 1"),
            Some("SELECT a.c0 FROM t1 AS a LEFT JOIN t2 AS b ON a.c0 = b.c0 UNION ALL SELECT c.c0 FROM t2 AS c")
        );
        assert_eq!(
            of("without t1 AS a"),
            Some("SELECT a.c0, b.c0 FROM t2 AS b UNION ALL SELECT c.c0, 1 FROM t2 AS c"),
            "whether its columns are still there, the class says"
        );
    }
}
