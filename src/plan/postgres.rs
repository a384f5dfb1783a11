//! Plans of PostgreSQL: the only value of `EXPLAIN (FORMAT JSON, COSTS OFF)`
//! (<https://www.postgresql.org/docs/current/sql-explain.html>).
//!
//! Which properties an operator has stands in PostgreSQL's source only, in `explain.c`. The form was tried on 12.22,
//! 13.23, 14.23, 15.20, 16.14, 17.10 and 18.4. It is the same in all of them; newer versions have more properties, and
//! write a subquery in a condition as `(hashed SubPlan 1).col1` rather than `hashed SubPlan 1`.
//!
//! A label keeps the operator, what it is to its parent if that runs it as a subquery, the strategy, the join type, the
//! direction of a scan, whether it is parallel, and how many conditions and keys there are. It drops names of tables,
//! aliases, indexes, columns, functions and windows, constants, the numbers of subqueries, and how many workers are
//! planned. `Recheck Cond` is dropped too, for the bitmap below says the same.
//!
//! An operator that is not known keeps its name.

use super::PlanTree;
use super::json::{self, Json, label};

/// What says how an operator works, in the order of a label.
const WORDS: [&str; 8] =
    ["Partial Mode", "Node Type", "Strategy", "Join Type", "Command", "Operation", "Scan Direction", "Cache Mode"];

/// The values of these that are the usual ones.
const USUAL: [&str; 4] = ["Simple", "Forward", "NoMovement", "logical"];

/// Properties that are true or false.
const FLAGS: [&str; 3] = ["Async Capable", "Single Copy", "Inner Unique"];

/// Texts that are conditions.
const CONDITIONS: [&str; 9] = [
    "Index Cond",
    "Order By",
    "TID Cond",
    "Hash Cond",
    "Merge Cond",
    "Join Filter",
    "Filter",
    "One-Time Filter",
    "Run Condition",
];

/// Lists of keys; of an aggregation by several grouping sets, lists of such lists.
const KEYS: [&str; 5] = ["Sort Key", "Presorted Key", "Group Key", "Group Keys", "Hash Keys"];

/// The tree of a plan from the text in which PostgreSQL returns it.
pub fn tree(json: &str) -> PlanTree {
    let statements = match Json::read(json) {
        Some(Json::List(statements)) => statements,
        other => other.into_iter().collect(),
    };
    json::root(statements.iter().filter_map(|statement| statement.get("Plan")).map(|plan| node(plan, None)).collect())
}

/// The tree of one operator. What its parent runs as a subquery begins with the kind of `subquery`.
fn node(plan: &Json, subquery: Option<&str>) -> PlanTree {
    let conditions: Vec<_> =
        CONDITIONS.iter().filter_map(|name| Some((name, json::unquoted(plan.text(name)?, false)))).collect();
    let parallel = plan.flag("Parallel Aware").then_some("Parallel");
    let words = WORDS.iter().filter_map(|name| plan.text(name)).filter(|word| !USUAL.contains(word));
    let words: Vec<_> = subquery.into_iter().chain(parallel).chain(words).collect();

    let flags = FLAGS.iter().filter(|name| plan.flag(name)).map(ToString::to_string);
    let conditioned = conditions.iter().map(|(name, text)| format!("{name} {}", json::conjuncts(text)));
    let sets = plan.list("Grouping Sets");
    let keys = |name: &str| sets.iter().chain([plan]).map(|set| set.list(name).len()).sum::<usize>();
    let keyed = KEYS.iter().filter(|name| keys(name) > 0).map(|name| format!("{name} {}", keys(name)));
    let details: Vec<_> = flags.chain(conditioned).chain(keyed).collect();

    let child = |child: &Json| {
        let relation = child.text("Parent Relationship").filter(|relation| ["InitPlan", "SubPlan"].contains(relation));
        let name = child.text("Subplan Name").unwrap_or_default();
        // Whether the rows of a subquery are put into a hash table stands in the condition only.
        let hashed = format!("hashed {name})");
        node(
            child,
            match relation {
                Some(_) if name.starts_with("CTE ") => Some("CTE"),
                Some(_) if conditions.iter().any(|(_, text)| text.contains(&hashed)) => Some("Hashed SubPlan"),
                relation => relation,
            },
        )
    };
    PlanTree { label: label(&words, &details), children: plan.list("Plans").iter().map(child).collect() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::plan::json::tests::{lines, texts};

    fn check(json: &str, expected: &[&str]) {
        assert_eq!(lines(&tree(json)), expected, "{json}");
    }

    #[test]
    fn subqueries_say_how_they_are_run() {
        let expected = [
            "CTE Scan (Filter 2)",
            "  CTE Seq Scan (Filter 1)",
            "  InitPlan Aggregate Plain",
            "    Seq Scan",
            "  Hashed SubPlan Seq Scan",
        ];
        // As 12.22 prints it for `WITH m AS MATERIALIZED (SELECT * FROM t0 WHERE c1 = 1) SELECT * FROM m
        // WHERE c0 NOT IN (SELECT c1 FROM t1) AND c1 > (SELECT max(c1) FROM t1)`.
        check(
            r#"[{"Plan":{"Node Type":"CTE Scan","Parallel Aware":false,"CTE Name":"m","Alias":"m",
            "Filter":"((NOT (hashed SubPlan 2)) AND (c1 > $2))","Plans":[{"Node Type":"Seq Scan",
            "Parent Relationship":"InitPlan","Subplan Name":"CTE m","Parallel Aware":false,"Relation Name":"t0",
            "Alias":"t0","Filter":"(c1 = 1)"},{"Node Type":"Aggregate","Strategy":"Plain","Partial Mode":"Simple",
            "Parent Relationship":"InitPlan","Subplan Name":"InitPlan 3 (returns $2)","Parallel Aware":false,"Plans":
            [{"Node Type":"Seq Scan","Parent Relationship":"Outer","Parallel Aware":false,"Relation Name":"t1",
            "Alias":"t1_1"}]},{"Node Type":"Seq Scan","Parent Relationship":"SubPlan","Subplan Name":"SubPlan 2",
            "Parallel Aware":false,"Relation Name":"t1","Alias":"t1"}]}}]"#,
            &expected,
        );
        // As 18.4 prints it.
        check(
            r#"[{"Plan":{"Node Type":"CTE Scan","Parallel Aware":false,"Async Capable":false,"CTE Name":"m","Alias":"m",
            "Disabled":false,"Filter":"((NOT (ANY (c0 = (hashed SubPlan 2).col1))) AND (c1 > (InitPlan 3).col1))",
            "Plans":[{"Node Type":"Seq Scan","Parent Relationship":"InitPlan","Subplan Name":"CTE m",
            "Parallel Aware":false,"Async Capable":false,"Relation Name":"t0","Alias":"t0","Disabled":false,
            "Filter":"(c1 = 1)"},{"Node Type":"Aggregate","Strategy":"Plain","Partial Mode":"Simple",
            "Parent Relationship":"InitPlan","Subplan Name":"InitPlan 3","Parallel Aware":false,"Async Capable":false,
            "Disabled":false,"Plans":[{"Node Type":"Seq Scan","Parent Relationship":"Outer","Parallel Aware":false,
            "Async Capable":false,"Relation Name":"t1","Alias":"t1_1","Disabled":false}]},{"Node Type":"Seq Scan",
            "Parent Relationship":"SubPlan","Subplan Name":"SubPlan 2","Parallel Aware":false,"Async Capable":false,
            "Relation Name":"t1","Alias":"t1","Disabled":false}]}}]"#,
            &expected,
        );
        // As 15.20 prints it for a constant that looks like such a subquery.
        check(
            r#"[{"Plan":{"Node Type":"Seq Scan","Parallel Aware":false,"Async Capable":false,"Relation Name":"t0",
            "Alias":"t0","Filter":"((c2 <> '(hashed SubPlan 1) AND'::text) AND (NOT (SubPlan 1)))","Plans":
            [{"Node Type":"Seq Scan","Parent Relationship":"SubPlan","Subplan Name":"SubPlan 1","Parallel Aware":false,
            "Async Capable":false,"Relation Name":"t1","Alias":"t1","Filter":"(c2 = t0.c2)"}]}}]"#,
            &["Seq Scan (Filter 2)", "  SubPlan Seq Scan (Filter 1)"],
        );
    }

    #[test]
    fn joins_and_sorts_count_their_conditions_and_keys() {
        // As 15.20 prints it for `SELECT * FROM t0 a LEFT JOIN t1 b ON a.c0 = b.c0 AND a.c1 < b.c1 WHERE a.c2 > 'x'
        // ORDER BY a.c1 DESC, b.c1`.
        check(
            r#"[{"Plan":{"Node Type":"Sort","Parallel Aware":false,"Async Capable":false,"Sort Key":["a.c1 DESC",
            "b.c1"],"Plans":[{"Node Type":"Hash Join","Parent Relationship":"Outer","Parallel Aware":false,
            "Async Capable":false,"Join Type":"Right","Inner Unique":true,"Hash Cond":"(b.c0 = a.c0)","Join Filter":
            "(a.c1 < b.c1)","Plans":[{"Node Type":"Seq Scan","Parent Relationship":"Outer","Parallel Aware":false,
            "Async Capable":false,"Relation Name":"t1","Alias":"b"},{"Node Type":"Hash","Parent Relationship":"Inner",
            "Parallel Aware":false,"Async Capable":false,"Plans":[{"Node Type":"Seq Scan","Parent Relationship":
            "Outer","Parallel Aware":false,"Async Capable":false,"Relation Name":"t0","Alias":"a","Filter":
            "(c2 > 'x'::text)"}]}]}]}}]"#,
            &[
                "Sort (Sort Key 2)",
                "  Hash Join Right (Inner Unique, Hash Cond 1, Join Filter 1)",
                "    Seq Scan",
                "    Hash",
                "      Seq Scan (Filter 1)",
            ],
        );
        // As 12.22 prints it for `SELECT max(c0) FROM t0 WHERE c0 < 5`.
        check(
            r#"[{"Plan":{"Node Type":"Result","Parallel Aware":false,"Plans":[{"Node Type":"Limit",
            "Parent Relationship":"InitPlan","Subplan Name":"InitPlan 1 (returns $0)","Parallel Aware":false,"Plans":
            [{"Node Type":"Index Only Scan","Parent Relationship":"Outer","Parallel Aware":false,
            "Scan Direction":"Backward","Index Name":"t0_pkey","Relation Name":"t0","Alias":"t0",
            "Index Cond":"((c0 IS NOT NULL) AND (c0 < 5))"}]}]}}]"#,
            &["Result", "  InitPlan Limit", "    Index Only Scan Backward (Index Cond 2)"],
        );
    }

    #[test]
    fn aggregations_keep_their_strategy() {
        // As 15.20 prints it for `SELECT c1, count(*) FROM t0 WHERE c2 > 'x' AND c1 > 0 GROUP BY c1`.
        check(
            r#"[{"Plan":{"Node Type":"Aggregate","Strategy":"Sorted","Partial Mode":"Finalize","Parallel Aware":false,
            "Async Capable":false,"Group Key":["c1"],"Plans":[{"Node Type":"Gather Merge","Parent Relationship":"Outer",
            "Parallel Aware":false,"Async Capable":false,"Workers Planned":2,"Plans":[{"Node Type":"Sort",
            "Parent Relationship":"Outer","Parallel Aware":false,"Async Capable":false,"Sort Key":["c1"],"Plans":
            [{"Node Type":"Aggregate","Strategy":"Hashed","Partial Mode":"Partial","Parent Relationship":"Outer",
            "Parallel Aware":false,"Async Capable":false,"Group Key":["c1"],"Plans":[{"Node Type":"Seq Scan",
            "Parent Relationship":"Outer","Parallel Aware":true,"Async Capable":false,"Relation Name":"t0","Alias":"t0",
            "Filter":"((c2 > 'x'::text) AND (c1 > 0))"}]}]}]}]}}]"#,
            &[
                "Finalize Aggregate Sorted (Group Key 1)",
                "  Gather Merge",
                "    Sort (Sort Key 1)",
                "      Partial Aggregate Hashed (Group Key 1)",
                "        Parallel Seq Scan (Filter 2)",
            ],
        );
        // As 18.4 prints it for `GROUP BY GROUPING SETS ((c0, c1), (c0), (c2), ())`.
        check(
            r#"[{"Plan":{"Node Type":"Aggregate","Strategy":"Mixed","Partial Mode":"Simple","Parallel Aware":false,
            "Async Capable":false,"Disabled":false,"Grouping Sets":[{"Hash Keys":[["c0","c1"]]},{"Hash Keys":[["c0"]]},
            {"Hash Keys":[["c2"]]},{"Group Keys":[[]]}],"Plans":[{"Node Type":"Seq Scan","Parent Relationship":"Outer",
            "Parallel Aware":false,"Async Capable":false,"Relation Name":"t1","Alias":"t1","Disabled":false}]}}]"#,
            &["Aggregate Mixed (Group Keys 1, Hash Keys 3)", "  Seq Scan"],
        );
    }

    #[test]
    fn what_is_not_a_plan_is_a_tree_too() {
        ["", "[]", "[1, {}]", "Seq Scan on t0"].iter().for_each(|text| check(text, &["UNREADABLE"]));
        check(
            r#"[{"Plan": {}}, {"Plan": {"Node Type": "New Scan", "Plans": [7]}}]"#,
            &["QUERY", "  ?", "  New Scan", "    ?"],
        );
    }

    proptest! {
        #[test]
        fn any_json_makes_a_tree(
            plan in texts(&["Plans", "Node Type", "Filter", "Subplan Name", "SubPlan", "Sort Key", "Grouping Sets"]),
            other in "\\PC*"
        ) {
            let tree_of_plan = tree(&format!("[{{\"Plan\":{plan}}}]"));
            prop_assert_ne!(tree_of_plan.label, "UNREADABLE");
            prop_assert!(tree(&other).size() > 0);
        }

        #[test]
        fn names_do_not_matter(name in "['\"\\\\() ANDß]{1,9}", constant in "['\"\\\\() ANDß\n]{0,9}") {
            let (quoted, constant) = (name.replace('"', "\"\""), constant.replace('\'', "''"));
            let filter = format!("((\"{quoted}\" > '{constant}'::text) AND (b.\"{quoted}\" IS NULL))");
            let scan = json!({"Node Type": "Seq Scan", "Relation Name": name, "Alias": name, "Filter": filter});
            let sort = json!([{"Plan": {"Node Type": "Sort", "Sort Key": [format!("\"{quoted}\"")], "Plans": [scan]}}]);
            prop_assert_eq!(lines(&tree(&sort.to_string())), ["Sort (Sort Key 1)", "  Seq Scan (Filter 2)"]);
        }
    }
}
