//! Plans of the MySQL family: the only value that `EXPLAIN FORMAT=JSON` returns, of TiDB `FORMAT='tidb_json'`.
//!
//! * MariaDB (<https://mariadb.com/kb/en/explain-format-json/>): objects say by their names what they do. Tried on
//!   10.11.19. What it prints is JSON only if no constant has a quote, a backslash or a tab in it; that is put right.
//! * MySQL (<https://dev.mysql.com/doc/refman/8.4/en/explain.html>): both forms of `explain_json_format_version`, 1,
//!   which is like MariaDB's, and 2, a tree of `inputs`. Known from the manual and what MySQL's own tests expect.
//! * TiDB: a list, which is handed on to [`tidb`].
//!
//! A label keeps the operator, the kind of access, the join and its buffer, all that is said to be so (`using_index`,
//! `dependent`), and how many conditions and keys there are. It drops names of tables, columns and indexes, constants,
//! the numbers of subqueries, costs and estimates. Where an inner join would test a condition always and an outer join
//! does not, the condition is called guarded.
//!
//! A name that is not known becomes an operator if there is an object below it, so little of a future version is lost.

use super::json::{self, Json, label};
use super::{PlanTree, tidb};

/// What says how an operator works, if it says it by a text that is the same whatever the tables are.
const WORDS: [&str; 13] = [
    "access_type",
    "index_access_type",
    "join_algorithm",
    "join_type",
    "using_join_buffer",
    "buffer_type",
    "mrr_type",
    "operation",
    "subquery_location",
    "table_function",
    "message",
    "zero_rows_cause",
    "using_index_for_group_by",
];

/// What matters only by being there: it names another table, or is a number.
const MARKS: [&str; 3] = ["first_match", "range_checked_for_each_record", "lateral"];

/// Lists of keys and conditions.
const LISTS: [&str; 6] =
    ["used_key_parts", "filesort_key", "sort_fields", "group_items", "hash_condition", "extra_condition"];

/// What is there, and says nothing.
const IGNORED: [&str; 2] = ["cacheable", "cost_info"];

/// What conditions that do not always hold stand in, in MariaDB and in MySQL.
const GUARDS: [&str; 2] = ["trigcond(", "<if>("];

/// The tree of a plan from the text in which the engine returns it.
pub fn tree(json: &str) -> PlanTree {
    // Only MySQL prints costs under such names, and it escapes what it prints.
    let is_mysql = json.contains("_cost\"");
    let repaired = if is_mysql { None } else { Json::read(&escaped(json)) };
    match repaired.or_else(|| Json::read(json)) {
        Some(Json::List(_)) => tidb::tree(json),
        Some(plan) => match plan.get("query_plan") {
            Some(plan) => node("", plan),
            None if plan.get("access_type").is_some() => node("", &plan),
            None => json::root(node("", &plan).children),
        },
        None => json::root(Vec::new()),
    }
}

/// The text of MariaDB as JSON: it has an entry per line, and what stands in its quotes is meant as it is.
fn escaped(text: &str) -> String {
    let line = |line: &str| {
        let (name, value) = line.split_once("\": \"")?;
        let (value, comma) = value.strip_suffix(',').map_or((value, ""), |value| (value, ","));
        Some(format!("{name}\": {}{comma}\n", serde_json::Value::from(value.strip_suffix('"')?)))
    };
    text.lines().map(|text| line(text).unwrap_or_else(|| format!("{text}\n"))).collect()
}

/// The tree of an operator of MySQL or MariaDB that is called `name` where it stands, or nothing if it is in a list.
fn node(name: &str, plan: &Json) -> PlanTree {
    // `operation` is a set operation in MariaDB, and a sentence with names in MySQL.
    let words = WORDS.iter().filter_map(|name| Some((name, plan.text(name)?)));
    let words = words.filter(|(name, word)| **name != "operation" || !word.contains(char::is_lowercase));
    // The indexes that are merged, in MySQL: `union(i1,i2)`.
    let merged = plan.text("key").filter(|_| plan.text("access_type") == Some("index_merge"));
    let merge = merged.and_then(|key| Some(key.split_once('(')?.0));
    let name = Some(name).filter(|name| !name.is_empty());
    let words: Vec<_> = name.into_iter().chain(words.map(|(_, word)| word)).chain(merge).collect();

    let (mut details, mut children) = (Vec::new(), Vec::new());
    for (name, value) in plan.entries() {
        let name = name.as_str();
        let plain = |text| json::unquoted(text, true);
        match value {
            _ if IGNORED.contains(&name) => {}
            _ if MARKS.contains(&name) => details.push(name.into()),
            Json::Flag(true) => details.push(name.into()),
            Json::Text(text) if ["sort_key", "lookup_condition"].contains(&name) => {
                details.push(format!("{name} {}", json::items(&plain(text)).len()));
            }
            Json::Text(text) if name.ends_with("condition") => {
                let text = plain(text);
                // An outer join or a comparison with null may switch a condition off.
                let guarded = if GUARDS.iter().any(|guard| text.contains(guard)) { " guarded" } else { "" };
                details.push(format!("{name} {}{guarded}", json::conjuncts(&text)));
            }
            Json::List(list) if LISTS.contains(&name) && !list.is_empty() => {
                details.push(format!("{name} {}", list.len()));
            }
            Json::List(list) if list.iter().any(|value| matches!(value, Json::Object(_))) => {
                let elements = list.iter().map(element);
                if name == "inputs" {
                    children.extend(elements);
                } else {
                    children.push(PlanTree { label: name.into(), children: elements.collect() });
                }
            }
            Json::Object(_) => children.push(node(name, value)),
            _ => {}
        }
    }
    PlanTree { label: label(&words, &details), children }
}

/// The tree of what is in a list: the only operator in it, unless more is said of it.
fn element(plan: &Json) -> PlanTree {
    let mut node = node("", plan);
    if node.label == json::NAMELESS && node.children.len() == 1 { node.children.remove(0) } else { node }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::json::tests::{lines, texts};

    fn check(json: &str, expected: &[&str]) {
        assert_eq!(lines(&tree(json)), expected, "{json}");
    }

    #[test]
    fn plans_of_mariadb_are_read() {
        // `SELECT * FROM t2 RIGHT JOIN t1 ON t2.c0 = t1.c0 AND t2.c2`
        check(
            r#"{"query_block":{"select_id":1,"const_condition":"1","nested_loop":[{"table":{"table_name":"t1",
            "access_type":"ALL","rows":19840,"filtered":100}},{"block-nl-join":{"table":{"table_name":"t2",
            "access_type":"ALL","rows":500,"filtered":100,"attached_condition":"t2.c2 <> 0"},"buffer_type":"flat",
            "buffer_size":"256KiB","join_type":"BNL",
            "attached_condition":"trigcond(t2.c0 = t1.c0 and t2.c2 <> 0)"}}]}}"#,
            &[
                "query_block (const_condition 1)",
                "  nested_loop",
                "    table ALL",
                "    block-nl-join BNL flat (attached_condition 1 guarded)",
                "      table ALL (attached_condition 1)",
            ],
        );
        // `SELECT * FROM t1 WHERE c0 = 1 OR c2 = 'y3'`
        check(
            r#"{"query_block":{"select_id":1,"nested_loop":[{"table":{"table_name":"t1","access_type":"index_merge",
            "possible_keys":["i1","i2"],"key_length":"5,103","index_merge":{"sort_union":[{"range":{"key":"i1",
            "used_key_parts":["c0"]}},{"range":{"key":"i2","used_key_parts":["c2"]}}]},"rows":420,"filtered":100,
            "attached_condition":"t1.c0 = 1 or t1.c2 = 'y3'"}}]}}"#,
            &[
                "query_block",
                "  nested_loop",
                "    table index_merge (attached_condition 1)",
                "      index_merge",
                "        sort_union",
                "          range (used_key_parts 1)",
                "          range (used_key_parts 1)",
            ],
        );
        // `SELECT c1, count(*) FROM t2 WHERE c2 = 3 AND c0 NOT IN (SELECT c1 FROM t0) GROUP BY c1 ORDER BY 2 DESC, 1`
        check(
            r#"{"query_block":{"select_id":1,"filesort":{"sort_key":"count(0) desc, t2.c1","temporary_table":
            {"nested_loop":[{"table":{"table_name":"t2","access_type":"ALL","rows":500,"filtered":100,
            "attached_condition":"t2.c2 = 3 and !<in_optimizer>(t2.c0,t2.c0 in (subquery#3))"}}],"subqueries":
            [{"materialization":{"query_block":{"select_id":3,"nested_loop":[{"table":{"table_name":"t0",
            "access_type":"ALL","rows":10193,"filtered":100}}]}}}]}}}}"#,
            &[
                "query_block",
                "  filesort (sort_key 2)",
                "    temporary_table",
                "      nested_loop",
                "        table ALL (attached_condition 2)",
                "      subqueries",
                "        materialization",
                "          query_block",
                "            nested_loop",
                "              table ALL",
            ],
        );
    }

    /// As MariaDB prints a condition, apart from entries without interest.
    fn mariadb(condition: &str, name: &str) -> String {
        format!(
            r#"{{
  "query_block": {{
    "table": {{
      "attached_condition": "{condition}",
      "table_name": "{name}"
    }}
  }}
}}"#
        )
    }

    #[test]
    fn constants_of_mariadb_are_not_escaped() {
        let expected = ["query_block", "  table (attached_condition 2)"];
        check(&mariadb("t0.c2 = 'it\\'s \"x\" and\ty' and t0.c1 = 3", "t0"), &expected);
        check(&mariadb("t0.c2 = 'a\\\\' and t0.c1 = 3", "t0"), &expected);
    }

    #[test]
    fn plans_of_mysql_are_read() {
        check(
            r#"{"query_block":{"select_id":1,"cost_info":{"query_cost":"4.65"},"ordering_operation":
            {"using_filesort":true,"windowing":{"windows":[{"name":"w","using_filesort":true,"filesort_key":["`c1`"],
            "functions":["sum"]}],"nested_loop":[{"table":{"table_name":"t0","access_type":"index_merge",
            "key":"union(i1,i2)","attached_condition":"((`d`.`t0`.`c0` = 1) and (`d`.`t0`.`c1` between 1 and 2))"}},
            {"table":{"table_name":"t1","access_type":"ALL","first_match":"t0","using_join_buffer":"hash join",
            "attached_subqueries":[{"dependent":true,"cacheable":false,"query_block":{"table":
            {"message":"No tables used"}}}]}}]}}}}"#,
            &[
                "query_block",
                "  ordering_operation (using_filesort)",
                "    windowing",
                "      windows",
                "        using_filesort, filesort_key 1",
                "      nested_loop",
                "        table index_merge union (attached_condition 2)",
                "        table ALL hash join (first_match)",
                "          attached_subqueries",
                "            dependent",
                "              query_block",
                "                table No tables used",
            ],
        );
        check(
            r#"{"query":"/* select#1 */","query_plan":{"inputs":[{"operation":"Table scan on t0","table_name":"t0",
            "access_type":"table","estimated_total_cost":0.25},{"inputs":[{"covering":true,"operation":
            "Covering index lookup on t1 using i1 (c0=t0.c0, c1=t0.c1)","access_type":"index","lookup_condition":
            "c0=t0.c0, c1=t0.c1","index_access_type":"index_lookup"}],"condition":"(t1.c2 > 'a and b')","operation":
            "Filter: (t1.c2 > 'a and b')","access_type":"filter"}],"join_type":"left join","operation":
            "Nested loop left join","access_type":"join","join_algorithm":"nested_loop"},"query_type":"select"}"#,
            &[
                "join nested_loop left join",
                "  table",
                "  filter (condition 1)",
                "    index index_lookup (covering, lookup_condition 2)",
            ],
        );
    }

    proptest! {
        #[test]
        fn any_json_makes_a_tree(
            plan in texts(&["inputs", "query_plan", "access_type", "sort_key", "condition", "table", "used_key_parts"]),
            other in "\\PC*"
        ) {
            prop_assert!(!tree(&plan).label.is_empty());
            prop_assert!(tree(&other).size() > 0);
        }

        #[test]
        fn names_do_not_matter(name in "[a-z_ß<>,' ]{1,9}", constant in "['\"\\\\() andß\t]{0,9}") {
            let constant = constant.replace('\\', "\\\\").replace('\'', "\\'");
            let condition = format!("`{name}`.c0 > '{constant}' and (c1 = '{constant}' or c1 is null)");
            let plan = tree(&mariadb(&condition, &name));
            prop_assert_eq!(lines(&plan), ["query_block", "  table (attached_condition 2)"]);
        }
    }
}
