//! What a query is made of, as far as this oracle asks.

use crate::sql::tree::UsedNames;
use prover::walk::{ON, Walk, walk};
use sqlparser::ast::{
    Expr, JoinOperator, ObjectName, Query, Select, SetExpr, SetOperator, TableFactor, TableWithJoins,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What queries may have and not every target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Feature {
    FullJoin,
    RightJoin,
    /// FILTER of an aggregate.
    Filter,
    /// IS DISTINCT FROM, negated or not.
    DistinctFrom,
    /// A common table expression with AS MATERIALIZED or AS NOT MATERIALIZED.
    Materialized,
    Values,
    Intersect,
    Except,
}

impl Feature {
    /// All of them, each with a query that shows it. That a target runs a query does not show that it takes it: to MySQL,
    /// which has no FULL JOIN, `t1 FULL JOIN t2` is an inner join of a table called FULL.
    pub(super) const PROBES: [(Self, &str); 8] = [
        (Self::FullJoin, "SELECT x.a FROM (SELECT 1 AS a) AS x FULL JOIN (SELECT 1 AS a) AS y ON x.a = y.a"),
        (Self::RightJoin, "SELECT x.a FROM (SELECT 1 AS a) AS x RIGHT JOIN (SELECT 1 AS a) AS y ON x.a = y.a"),
        (Self::Filter, "SELECT COUNT(*) FILTER (WHERE TRUE)"),
        (Self::DistinctFrom, "SELECT 1 IS NOT DISTINCT FROM 2"),
        (Self::Materialized, "WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT x.a FROM x"),
        (Self::Values, "SELECT x.a FROM (VALUES (1)) AS x(a)"),
        (Self::Intersect, "SELECT 1 INTERSECT SELECT 1"),
        (Self::Except, "SELECT 1 EXCEPT SELECT 2"),
    ];
}

/// What a query is made of, subqueries and common table expressions included.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) features: BTreeSet<Feature>,
    /// Whether it has a window function.
    pub(super) windows: bool,
    /// The tables and columns that it reads.
    pub(super) names: UsedNames,
}

impl Contents {
    pub(super) fn of(query: &mut Query) -> Self {
        let mut contents = Self::default();
        // The walk never ends early.
        let _ = walk(query, &mut contents);
        contents
    }

    fn body(&mut self, body: &SetExpr) {
        match body {
            SetExpr::SetOperation { op, left, right, .. } => {
                self.features.extend(match op {
                    SetOperator::Union => None,
                    SetOperator::Intersect => Some(Feature::Intersect),
                    SetOperator::Except | SetOperator::Minus => Some(Feature::Except),
                });
                self.body(left);
                self.body(right);
            }
            SetExpr::Values(_) => _ = self.features.insert(Feature::Values),
            _ => {}
        }
    }

    fn joins(&mut self, table: &TableWithJoins) {
        self.features.extend(table.joins.iter().filter_map(|join| match join.join_operator {
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => Some(Feature::RightJoin),
            JoinOperator::FullOuter(_) => Some(Feature::FullJoin),
            _ => None,
        }));
    }
}

impl Walk for Contents {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.features.extend(ctes.any(|cte| cte.materialized.is_some()).then_some(Feature::Materialized));
        self.body(&query.body);
        ON
    }

    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter().for_each(|table| self.joins(table));
        ON
    }

    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            self.joins(table_with_joins);
        }
        ON
    }

    fn relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        self.names.relation(name)
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => {
                self.features.insert(Feature::DistinctFrom);
            }
            Expr::Function(function) => {
                self.features.extend(function.filter.as_ref().map(|_| Feature::Filter));
                self.windows |= function.over.is_some();
            }
            _ => {}
        }
        self.names.expr(expr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::print::parse_query;

    fn contents(sql: &str) -> Contents {
        Contents::of(&mut parse_query(sql).expect("parses"))
    }

    #[test]
    fn a_feature_is_found_in_the_query_that_shows_it() {
        for (feature, sql) in Feature::PROBES {
            assert_eq!(contents(sql).features, [feature].into(), "{sql}");
            let inside = format!("SELECT 'FULL JOIN' AS a UNION SELECT x.a FROM t AS x WHERE EXISTS (({sql}))");
            assert_eq!(contents(&inside).features, [feature].into(), "{inside}");
        }
    }

    #[test]
    fn a_feature_is_found_in_any_spelling() {
        let spelled: [(&str, &[Feature]); 6] = [
            (
                "select 1 from t full  outer join (u right\njoin v on true) on true",
                &[Feature::FullJoin, Feature::RightJoin],
            ),
            ("SELECT COUNT(*) FILTER(WHERE TRUE) FROM t", &[Feature::Filter]),
            ("SELECT 1\nEXCEPT\n(SELECT 2 INTERSECT ALL SELECT 3)", &[Feature::Intersect, Feature::Except]),
            ("WITH s AS NOT MATERIALIZED(SELECT 1 AS a) SELECT s.a FROM s", &[Feature::Materialized]),
            ("SELECT 1 WHERE 1 IN ( VALUES (1) )", &[Feature::Values]),
            ("SELECT DISTINCT ' EXCEPT ' FROM t LEFT JOIN u ON TRUE UNION ALL SELECT 'x'", &[]),
        ];
        for (sql, features) in spelled {
            assert_eq!(contents(sql).features, features.iter().copied().collect(), "{sql}");
        }
    }

    #[test]
    fn windows_are_found_wherever_they_are() {
        assert!(contents("SELECT 1 WHERE EXISTS (SELECT SUM(t.a) OVER w FROM t WINDOW w AS (ORDER BY t.a))").windows);
        assert!(!contents("SELECT SUM(t.a) AS \"over\" FROM t").windows);
    }
}
