//! Plans of DuckDB: the column `explain_value` of `EXPLAIN (FORMAT JSON)`
//! (<https://duckdb.org/docs/stable/guides/meta/explain>).
//!
//! The statement returns one row, whose key is `physical_plan`; if the setting `explain_output` is `all` it returns
//! three, and that is the last. The form was tried on 1.1.3, 1.2.2, 1.3.2, 1.4.4, 1.5.1, 1.5.6 and 2.0.0, and is the
//! same in all of them but for a blank behind some names until 1.4, and what is said of a scan: 1.1 tells index scans
//! from others, newer versions choose when they run. DuckDB promises nothing about it.
//!
//! A label keeps the operator, the join type, how many conditions, sort keys and groups there are, how many filters of
//! a scan are optional, whether values are distinct before they are aggregated, and whether the hash table of a join is
//! an array (in 1.1). It drops names of tables and columns, constants, projected expressions, the numbers of common
//! table expressions, and estimates.
//!
//! DuckDB writes names of columns as they are, so one with a quote or `AND` in it may change a count.

use super::PlanTree;
use super::json::{self, Json, label};

/// What says how an operator works.
const WORDS: [&str; 2] = ["Join Type", "Type"];

/// Lists of conditions that are connected by AND, each of which may be several.
const CONDITIONS: [&str; 4] = ["Conditions", "Condition", "Expression", "Filters"];

/// Lists of keys.
const KEYS: [&str; 2] = ["Order By", "Groups"];

/// The tree of a plan from the text in which DuckDB returns it.
pub fn tree(json: &str) -> PlanTree {
    let plans = match Json::read(json) {
        Some(Json::List(plans)) => plans,
        other => other.into_iter().collect(),
    };
    json::root(plans.iter().filter(|plan| plan.text("name").is_some()).map(node).collect())
}

/// The tree of one operator.
fn node(plan: &Json) -> PlanTree {
    let empty = Json::Other;
    let info = plan.get("extra_info").unwrap_or(&empty);
    let words = WORDS.iter().filter_map(|name| info.text(name)).filter(|word| *word != "Sequential Scan");
    let words: Vec<_> = plan.text("name").into_iter().chain(words).map(str::trim).collect();

    let mut details = Vec::new();
    let mut count = |name: &str, count: usize| details.extend((count > 0).then(|| format!("{name} {count}")));
    for name in CONDITIONS {
        let text = lines(info, name);
        let (optional, certain): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("optional:"));
        count(name, certain.into_iter().map(json::conjuncts).sum());
        count("optional", optional.len());
    }
    KEYS.iter().for_each(|name| count(name, lines(info, name).lines().count()));
    let distinct = lines(info, "Aggregates").contains("(DISTINCT ").then(|| "distinct".to_string());
    let array = info.get("Build Min").map(|_| "perfect hash".to_string());
    details.extend(distinct.into_iter().chain(array));
    PlanTree { label: label(&words, &details), children: plan.list("children").iter().map(node).collect() }
}

/// What `info` says under `name`, an entry per line, without quotes. DuckDB splits texts into entries at line breaks,
/// also at those in strings, so the entries are put together first.
fn lines(info: &Json, name: &str) -> String {
    let entries: Vec<_> = info.list(name).iter().filter_map(Json::as_text).chain(info.text(name)).collect();
    json::unquoted(&entries.join("\n"), false)
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
    fn joins_say_how_and_by_how_many_conditions() {
        let expected = |filters: &str| {
            [
                "PROJECTION".to_string(),
                "  HASH_JOIN INNER (Conditions 2)".to_string(),
                format!("    SEQ_SCAN (Filters {filters})"),
                "    FILTER (Expression 1)".to_string(),
                format!("      SEQ_SCAN (Filters {filters})"),
            ]
        };
        // As 1.1.3 prints it for `SELECT * FROM t0 JOIN t1 ON t0.c0 = t1.c0 AND t0.c1 < t1.c1`.
        let old = r#"[{"name":"PROJECTION","children":[{"name":"HASH_JOIN","children":[{"name":"SEQ_SCAN ",
            "children":[],"extra_info":{"Text":"t1","Projections":["c0","c1","c2"],"Filters":"c0>=1 AND c0 IS NOT NULL",
            "Estimated Cardinality":"20000"}},{"name":"FILTER","children":[{"name":"SEQ_SCAN ","children":[],
            "extra_info":{"Text":"t0","Projections":["c0","c1","c2"],"Filters":"c1<=6 AND c1 IS NOT NULL",
            "Estimated Cardinality":"10000"}}],"extra_info":{"Expression":"(c0 <= 999)",
            "Estimated Cardinality":"10000"}}],"extra_info":{"Join Type":"INNER","Conditions":["c0 = c0","c1 > c1"],
            "Estimated Cardinality":"10000"}}],"extra_info":{"Projections":["c0","c1","c2","c0","c1","c2"],
            "Estimated Cardinality":"10000"}}]"#;
        assert_eq!(lines(&tree(old)), expected("2"));
        // As 1.5.6 prints it.
        let new = r#"[{"name":"PROJECTION","children":[{"name":"HASH_JOIN","children":[{"name":"SEQ_SCAN","children":
            [],"extra_info":{"Table":"memory.main.t1","Type":"Sequential Scan","Projections":["c0","c1","c2"],
            "Filters":"c0>=1","Estimated Cardinality":"20000"}},{"name":"FILTER","children":[{"name":"SEQ_SCAN",
            "children":[],"extra_info":{"Table":"memory.main.t0","Type":"Sequential Scan","Projections":["c0","c1",
            "c2"],"Filters":"c1<=6","Estimated Cardinality":"10000"}}],"extra_info":{"Expression":"(c0 <= 999)",
            "Estimated Cardinality":"10000"}}],"extra_info":{"Join Type":"INNER","Conditions":["c0 = c0","c1 > c1"],
            "Estimated Cardinality":"10000"}}],"extra_info":{"Projections":["c0","c1","c2","c0","c1","c2"],
            "Estimated Cardinality":"10000"}}]"#;
        assert_eq!(lines(&tree(new)), expected("1"));
        // As 1.1.3 prints the join of `SELECT * FROM w JOIN t2 ON w.a = t2.c0 WHERE w.b > 10`.
        check(
            r#"{"name":"HASH_JOIN","children":[{"name":"FILTER","children":[{"name":"SEQ_SCAN ","children":[],
            "extra_info":{"Text":"w","Projections":["a","b"],"Filters":"b>10 AND b IS NOT NULL",
            "Estimated Cardinality":"400000"}}],"extra_info":{"Expression":"(a BETWEEN 1 AND 500)",
            "Estimated Cardinality":"400000"}},{"name":"SEQ_SCAN ","children":[],"extra_info":{"Text":"t2",
            "Projections":["c0","c1","c2"],"Estimated Cardinality":"500"}}],"extra_info":{"Join Type":"INNER",
            "Conditions":"a = c0","Build Min":"1","Build Max":"500","Estimated Cardinality":"100"}}"#,
            &[
                "HASH_JOIN INNER (Conditions 1, perfect hash)",
                "  FILTER (Expression 1)",
                "    SEQ_SCAN (Filters 2)",
                "  SEQ_SCAN",
            ],
        );
    }

    #[test]
    fn scans_count_their_filters() {
        // As 1.3.2 prints them for `c1 > 1 AND c1 < 5 AND c2 LIKE '%x%'`, and 2.0.0.
        for filters in
            [r#"["c1>1 AND c1<5","contains(c2, 'x')"]"#, r#"["((c1 > 1) AND (c1 < 5))","contains(c2, 'x')"]"#]
        {
            let scan = format!(r#"[{{"name":"SEQ_SCAN ","children":[],"extra_info":{{"Filters":{filters}}}}}]"#);
            check(&scan, &["SEQ_SCAN (Filters 3)"]);
        }
        // As 1.5.6 prints it for `SELECT * FROM t1 ORDER BY c1 LIMIT 5000`.
        check(
            r#"[{"name":"TOP_N","children":[{"name":"SEQ_SCAN","children":[],"extra_info":{"Table":"memory.main.t1",
            "Type":"Sequential Scan","Projections":["c0","c1","c2"],"Filters":"optional: Dynamic Filter (c1)",
            "Estimated Cardinality":"20000"}}],"extra_info":{"Top":"5000","Order By":"memory.main.t1.c1 ASC"}}]"#,
            &["TOP_N (Order By 1)", "  SEQ_SCAN (optional 1)"],
        );
        // As 1.1.3 prints it for `SELECT * FROM t1 WHERE c0 = 5`, c0 being indexed.
        check(
            r#"[{"name":"FILTER","children":[{"name":"INDEX_SCAN ","children":[],"extra_info":{"Text":"t1",
            "Projections":["c0","c1","c2"],"Estimated Cardinality":"20000"}}],"extra_info":{"Expression":"(c0 = 5)",
            "Estimated Cardinality":"4000"}}]"#,
            &["FILTER (Expression 1)", "  INDEX_SCAN"],
        );
    }

    #[test]
    fn aggregations_say_whether_values_are_distinct() {
        // As 1.5.6 prints part of `SELECT c2, count(DISTINCT c1) FROM t0 GROUP BY c2`.
        check(
            r##"[{"name":"HASH_GROUP_BY","children":[{"name":"PROJECTION","children":[],"extra_info":{"Projections":
            ["c2","c0","c1"],"Estimated Cardinality":"10000"}}],"extra_info":{"Groups":"#0","Aggregates":
            ["count_star()","max(#1)","count(DISTINCT #2)"],"Estimated Cardinality":"6321"}}]"##,
            &["HASH_GROUP_BY (Groups 1, distinct)", "  PROJECTION"],
        );
    }

    #[test]
    fn what_is_not_a_plan_is_a_tree_too() {
        ["", "[]", "[{}]", "{\"result\": \"disabled\"}"].iter().for_each(|text| check(text, &["UNREADABLE"]));
        check(r#"[{"name":"NEW","children":[7]},{"name":" "}]"#, &["QUERY", "  NEW", "    ?", "  ?"]);
    }

    proptest! {
        #[test]
        fn any_json_makes_a_tree(
            info in texts(&["children", "name", "extra_info", "Filters", "optional:", "Order By", "Join Type"]),
            other in "\\PC*"
        ) {
            let tree_of_plan = tree(&format!(r#"{{"name":"X","children":[{info}],"extra_info":{info}}}"#));
            prop_assert_eq!(tree_of_plan.children.len(), 1);
            prop_assert!(tree(&other).size() > 0);
        }

        #[test]
        fn names_do_not_matter(name in "[a-zA-Z_ß]{1,8}", constant in "['\"\\\\() ANDß\n]{0,9}") {
            let filter = format!("({name}o > '{}')\n({name}o IS NULL)", constant.replace('\'', "''"));
            let filters: Vec<_> = filter.split('\n').collect();
            let info = json!({"Table": name, "Filters": filters, "Projections": name});
            let scan = json!({"name": "SEQ_SCAN", "children": [], "extra_info": info});
            let info = json!({"Order By": format!("{name} ASC")});
            let sort = json!([{"name": "ORDER_BY", "children": [scan], "extra_info": info}]);
            prop_assert_eq!(lines(&tree(&sort.to_string())), ["ORDER_BY (Order By 1)", "  SEQ_SCAN (Filters 2)"]);
        }
    }
}
