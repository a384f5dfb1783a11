//! Plans of TiDB: the only value that `EXPLAIN FORMAT='tidb_json'` returns, from 6.5 on
//! (<https://docs.pingcap.com/tidb/stable/sql-statement-explain/>).
//!
//! Known from the manual, which shows a list of operators with `subOperators`, and not tried on an engine. TiDB refuses
//! the `FORMAT=JSON` of MySQL.
//!
//! A label keeps the operator, whether it is the side of a join that is built or that probes, the task unless it is the
//! root's, the join type, whether the order of a scan matters, and how many conditions and keys there are. It drops the
//! numbers of operators, the object that is read, ranges, functions and estimates. Common table expressions stand as
//! plans of their own behind that of the query.

use super::PlanTree;
use super::json::{self, Json, label};

/// What is said of an operator as a name, a colon and a list; `conditions` and `keys` have no name there.
const COUNTED: [&str; 12] = [
    "conditions",
    "keys",
    "equal",
    "equal cond",
    "left cond",
    "right cond",
    "other cond",
    "left key",
    "right key",
    "outer key",
    "inner key",
    "group by",
];

/// What is said of a scan if its order matters.
const ORDERS: [&str; 2] = ["keep order:true", "desc"];

/// The tree of a plan from the text in which TiDB returns it.
pub fn tree(json: &str) -> PlanTree {
    match Json::read(json) {
        Some(Json::List(operators)) => json::root(operators.iter().map(operator).collect()),
        _ => json::root(Vec::new()),
    }
}

/// The tree of one operator.
fn operator(plan: &Json) -> PlanTree {
    // A name, a number and the side of a join: `TableReader_24(Build)`.
    let id = plan.text("id").unwrap_or_default();
    let (name, side) = id.split_at(id.find('(').unwrap_or(id.len()));
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    let task = plan.text("taskType").filter(|task| *task != "root");

    let info = json::unquoted(plan.text("operatorInfo").unwrap_or_default(), true);
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
    let mut join = None;
    let mut key = match name {
        "Selection" => "conditions",
        "Sort" | "TopN" => "keys",
        _ => "",
    };
    let mut details = Vec::<(&str, usize)>::new();
    for item in json::items(&info) {
        // A list goes on until the next name. In brackets, blanks separate what is in it.
        let (name, list) = item.split_once(':').filter(|(name, _)| is_plain(name)).unwrap_or((key, item));
        key = name;
        let count = if list.starts_with('[') { 1 + list.matches(") ").count() } else { 1 };
        match details.last_mut() {
            _ if item.ends_with(" join") && is_plain(item) => join = Some(item),
            _ if ORDERS.contains(&item) => details.push((item, 0)),
            Some((last, counted)) if *last == key => *counted += count,
            _ if COUNTED.contains(&key) => details.push((key, count)),
            _ => {}
        }
    }
    let detail = |(name, count): &(&str, usize)| if *count > 0 { format!("{name} {count}") } else { (*name).into() };
    let details: Vec<_> = details.iter().map(detail).collect();
    let words: Vec<_> = [name, side].into_iter().filter(|word| !word.is_empty()).chain(task).chain(join).collect();
    PlanTree { label: label(&words, &details), children: plan.list("subOperators").iter().map(operator).collect() }
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
    fn operators_lose_their_numbers() {
        check(
            r#"[{"id":"TopN_9","estRows":"5.00","taskType":"root",
            "operatorInfo":"d.t0.c1:desc, d.t0.c0, offset:0, count:5","subOperators":
            [{"id":"TableReader_24(Build)","estRows":"3.32","taskType":"root","operatorInfo":"data:Selection_23",
            "subOperators":[{"id":"Selection_23","estRows":"3.32","taskType":"cop[tikv]",
            "operatorInfo":"lt(d.t1.c0, 100), not(isnull(d.t1.c0))"}]},{"id":"Batch_Point_Get_27(Probe)",
            "taskType":"root","accessObject":"table:t0","operatorInfo":"handle:[1 2], keep order:true, desc"}]},
            {"id":"CTE_0","taskType":"root","operatorInfo":"Non-Recursive CTE"}]"#,
            &[
                "QUERY",
                "  TopN (keys 2)",
                "    TableReader (Build)",
                "      Selection cop[tikv] (conditions 2)",
                "    Batch_Point_Get (Probe) (keep order:true, desc)",
                "  CTE",
            ],
        );
    }

    #[test]
    fn what_is_said_of_an_operator_is_counted() {
        let check = |id: &str, info: &str, expected: &str| {
            let text = json!([{"id": id, "taskType": "root", "operatorInfo": info}]).to_string();
            assert_eq!(tree(&text).label, expected, "{info}");
        };
        check("HashJoin_21", "inner join, equal:[eq(d.t0.c0, d.t1.c0)]", "HashJoin inner join (equal 1)");
        check(
            "HashJoin_8",
            "CARTESIAN left outer join, equal:[eq(d.a, d.b) eq(d.c, plus(d.d, 1))], other cond:lt(d.a, \"), (\"), d.b",
            "HashJoin CARTESIAN left outer join (equal 2, other cond 2)",
        );
        check(
            "IndexJoin_12",
            "inner join, inner:TableReader_9, outer key:d.t0.c0, inner key:d.t1.c0, equal cond:eq(d.t0.c0, d.t1.c0)",
            "IndexJoin inner join (outer key 1, inner key 1, equal cond 1)",
        );
        check("HashAgg_6", "group by:d.t0.c0, d.t0.c1, funcs:count(1)->Column#5", "HashAgg (group by 2)");
        check("IndexRangeScan_5", "range:[1,1], (2,+inf], keep order:false, stats:pseudo", "IndexRangeScan");
    }

    proptest! {
        #[test]
        fn any_json_makes_a_tree(
            plan in texts(&["subOperators", "id", "operatorInfo", "taskType", "inner join", "equal:[", "Selection_7"]),
            other in "\\PC*"
        ) {
            let text = format!("[{plan}]");
            prop_assert!(!tree(&text).label.is_empty());
            prop_assert!(tree(&other).size() > 0);
        }

        #[test]
        fn names_do_not_matter(name in "[a-z_ß]{1,9}", constant in "['() andß,:]{0,9}", number in 0..99_u8) {
            let info = format!("gt(d.{name}.c0, \"{constant}\"), isnull(d.{name}.c1)");
            let plan = json!([{"id": format!("Selection_{number}"), "taskType": "cop[tikv]", "operatorInfo": info}]);
            prop_assert_eq!(lines(&tree(&plan.to_string())), ["Selection cop[tikv] (conditions 2)"]);
        }
    }
}
