//! Plans of SQLite: the rows of `EXPLAIN QUERY PLAN` (<https://sqlite.org/eqp.html>).
//!
//! A row has an id, the id of its parent (0 at the top), and a text such as `SEARCH t2 USING INDEX i (c0=? AND c1>?)`.
//! SQLite promises nothing about these texts. They were read in the source of version 3.54 and tried on 3.39, 3.40 and
//! 3.54; older ones (`SCAN TABLE t1 AS x`, `EXECUTE LIST SUBQUERY 1`) come out the same as the newer where they say the
//! same.
//!
//! A label keeps the operator, the kind of access, what comes of an outer join or `EXISTS`, and how many terms an index
//! is searched by. It drops what a rewriting changes without changing the execution: names of tables, aliases, indexes,
//! columns and functions, and the numbers that SQLite gives to subqueries and alternatives. So `SCAN t1` and
//! `SCAN (subquery-2)` are the same: the second is printed only if the subquery has no alias. The rows say which
//! subquery it is by `CO-ROUTINE` or `MATERIALIZE`.
//!
//! A text that is not known keeps its words and drops its whole numbers, so nothing of a future version is lost.

use std::collections::HashMap;

use super::PlanTree;

/// The label of the root, which SQLite does not print as a row.
const ROOT: &str = "QUERY";

/// How a table is reached, as it stands behind the name. None of them is part of another.
const ACCESSES: [&str; 7] = [
    " USING INTEGER PRIMARY KEY",
    " USING PRIMARY KEY",
    " USING AUTOMATIC PARTIAL COVERING INDEX",
    " USING AUTOMATIC COVERING INDEX",
    " USING COVERING INDEX",
    " USING INDEX",
    " VIRTUAL TABLE INDEX",
];

/// Operators that are followed by a name and nothing else.
const NAMED: [&str; 3] = ["CO-ROUTINE", "MATERIALIZE", "RIGHT-JOIN"];

/// The tree of a plan from its rows of id, parent's id and text, in the order in which SQLite returns them.
///
/// A row whose parent is not among the rows before it stands at the top, so any rows make a tree.
pub fn tree(rows: &[(i64, i64, String)]) -> PlanTree {
    let mut positions = HashMap::new();
    let parents: Vec<Option<usize>> = rows
        .iter()
        .enumerate()
        .map(|(position, (id, parent, _))| {
            let parent = positions.get(parent).copied();
            positions.insert(*id, position);
            parent
        })
        .collect();

    let mut root = PlanTree::leaf(ROOT);
    let mut nodes: Vec<_> = rows.iter().map(|(_, _, detail)| PlanTree::leaf(label(detail))).collect();
    // Parents stand before their children, so from the back every node is complete when it is handed over.
    while let Some(mut node) = nodes.pop() {
        node.children.reverse();
        let parent = parents[nodes.len()].and_then(|parent| nodes.get_mut(parent));
        parent.unwrap_or(&mut root).children.push(node);
    }
    root.children.reverse();
    root
}

/// The label of one row.
fn label(detail: &str) -> String {
    let detail = detail.trim();
    // Older versions said when a subquery is run; that it is there says as much.
    let detail = detail.strip_prefix("EXECUTE ").unwrap_or(detail);
    if let Some((operator, rest)) = detail.split_once(' ') {
        if matches!(operator, "SCAN" | "SEARCH") && !rest.contains("CONSTANT ROW") {
            return access(operator, rest);
        }
        if NAMED.contains(&operator) {
            return operator.into();
        }
    }
    if let Some(rest) = detail.strip_prefix("BLOOM FILTER ON ") {
        return format!("BLOOM FILTER{}", terms(rest));
    }
    if let Some(purpose) = detail.strip_prefix("USE TEMP B-TREE FOR ") {
        return format!("USE TEMP B-TREE FOR {}", sorted_by(purpose));
    }
    if let Some(place) = detail.strip_suffix(" FOR IN-OPERATOR") {
        let kind = if place.starts_with("USING ROWID SEARCH") { "ROWID SEARCH" } else { "INDEX" };
        return format!("USING {kind} FOR IN-OPERATOR");
    }
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    detail.split_whitespace().filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ")
}

/// The label of a loop over a table or subquery; `rest` is everything behind the operator.
///
/// The name comes first and is not quoted. If it contains the words of an access itself, the label says that access.
fn access(operator: &str, rest: &str) -> String {
    let (rest, join) = match rest.strip_suffix(" LEFT-JOIN") {
        Some(rest) => (rest, " LEFT-JOIN"),
        None => (rest, ""),
    };
    let found = ACCESSES.iter().filter_map(|access| Some((rest.find(access)?, *access))).min_by_key(|(at, _)| *at);
    let (name, how, searched) = match found {
        Some((at, access)) => (&rest[..at], access, terms(&rest[at + access.len()..])),
        None => (rest, "", String::new()),
    };
    let exists = if name.ends_with(" EXISTS") { " EXISTS" } else { "" };
    format!("{operator}{exists}{how}{searched}{join}")
}

/// What is known of the terms in parentheses: how many are compared, and whether some are skipped over (a skip-scan).
/// Nothing if there are none.
fn terms(text: &str) -> String {
    let Some((_, terms)) = text.split_once(" (") else { return String::new() };
    let skipped = if terms.starts_with("ANY(") { "ANY, " } else { "" };
    // Every value that is compared with is printed as a question mark, also within row values.
    format!(" ({skipped}{})", terms.matches('?').count())
}

/// What a temporary B-tree is used for, without the names of functions and the number of terms.
fn sorted_by(purpose: &str) -> &str {
    match purpose {
        "GROUP BY" | "ORDER BY" | "DISTINCT" => purpose,
        _ if purpose.ends_with("(DISTINCT)") => "AGGREGATE (DISTINCT)",
        _ if purpose.ends_with("(ORDER BY)") => "AGGREGATE (ORDER BY)",
        // `RIGHT PART OF ORDER BY`, in newer versions `LAST TERM OF` and `LAST 2 TERMS OF`.
        _ if purpose.ends_with(" OF ORDER BY") => "PART OF ORDER BY",
        _ => purpose,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::diff;

    fn check(detail: &str, expected: &str) {
        assert_eq!(label(detail), expected, "{detail}");
    }

    #[test]
    fn loops_say_how_a_table_is_reached() {
        check("SCAN t1", "SCAN");
        check("SCAN (subquery-2)", "SCAN");
        check("SCAN 3-ROW VALUES CLAUSE", "SCAN");
        check("SCAN t0 USING INDEX i0", "SCAN USING INDEX");
        check("SCAN t2 USING COVERING INDEX sqlite_autoindex_t2_1", "SCAN USING COVERING INDEX");
        check("SEARCH t0", "SEARCH");
        check("SEARCH t0 USING COVERING INDEX i0", "SEARCH USING COVERING INDEX");
        check("SEARCH t0 USING INDEX i0 (c0=? AND c1>? AND c1<?)", "SEARCH USING INDEX (3)");
        check("SEARCH t0 USING INDEX i0 ((c0,c1)>(?,?))", "SEARCH USING INDEX (2)");
        check("SEARCH t0 USING INDEX i0 (ANY(c0) AND c1=?)", "SEARCH USING INDEX (ANY, 1)");
        check("SEARCH t1 USING INDEX e (<expr>=?)", "SEARCH USING INDEX (1)");
        check("SEARCH t2 USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "SEARCH USING INTEGER PRIMARY KEY (2)");
        check("SEARCH w USING PRIMARY KEY (a=?)", "SEARCH USING PRIMARY KEY (1)");
        check("SEARCH b USING AUTOMATIC COVERING INDEX (c2=?)", "SEARCH USING AUTOMATIC COVERING INDEX (1)");
        check(
            "SEARCH t0 USING AUTOMATIC PARTIAL COVERING INDEX (c2=?)",
            "SEARCH USING AUTOMATIC PARTIAL COVERING INDEX (1)",
        );
        check("SCAN f VIRTUAL TABLE INDEX 0:M1", "SCAN VIRTUAL TABLE INDEX");
        check("SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN VIRTUAL TABLE INDEX");
    }

    #[test]
    fn outer_joins_and_exists_are_kept() {
        check("SCAN b LEFT-JOIN", "SCAN LEFT-JOIN");
        check(
            "SEARCH b USING AUTOMATIC COVERING INDEX (c2=?) LEFT-JOIN",
            "SEARCH USING AUTOMATIC COVERING INDEX (1) LEFT-JOIN",
        );
        check("SCAN t0 EXISTS", "SCAN EXISTS");
        check("SEARCH t0 EXISTS USING INDEX i (c2=?)", "SEARCH EXISTS USING INDEX (1)");
        check("RIGHT-JOIN t1", "RIGHT-JOIN");
    }

    #[test]
    fn names_that_look_like_syntax_do_not_matter() {
        check("SEARCH t1 USING INDEX USING i (c2=?)", "SEARCH USING INDEX (1)");
        check("SCAN my t(x=?)", "SCAN");
        check("SCAN EXISTS", "SCAN");
        check("CO-ROUTINE a b", "CO-ROUTINE");
    }

    #[test]
    fn other_operators_lose_names_and_numbers() {
        check("SCAN CONSTANT ROW", "SCAN CONSTANT ROW");
        check("SCAN 3 CONSTANT ROWS", "SCAN CONSTANT ROWS");
        check("USE TEMP B-TREE FOR GROUP BY", "USE TEMP B-TREE FOR GROUP BY");
        check("USE TEMP B-TREE FOR count(DISTINCT)", "USE TEMP B-TREE FOR AGGREGATE (DISTINCT)");
        check("USE TEMP B-TREE FOR sum(ORDER BY)", "USE TEMP B-TREE FOR AGGREGATE (ORDER BY)");
        check("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "USE TEMP B-TREE FOR PART OF ORDER BY");
        check("USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY", "USE TEMP B-TREE FOR PART OF ORDER BY");
        check("CORRELATED SCALAR SUBQUERY 3", "CORRELATED SCALAR SUBQUERY");
        check("LIST SUBQUERY 2", "LIST SUBQUERY");
        check("REUSE LIST SUBQUERY 1", "REUSE LIST SUBQUERY");
        check("CO-ROUTINE (subquery-2)", "CO-ROUTINE");
        check("MATERIALIZE m", "MATERIALIZE");
        check("BLOOM FILTER ON t2 (c0=? AND c1=?)", "BLOOM FILTER (2)");
        check("CREATE BLOOM FILTER", "CREATE BLOOM FILTER");
        check("USING INDEX i FOR IN-OPERATOR", "USING INDEX FOR IN-OPERATOR");
        check("USING ROWID SEARCH ON TABLE t FOR IN-OPERATOR", "USING ROWID SEARCH FOR IN-OPERATOR");
        check("MULTI-INDEX OR", "MULTI-INDEX OR");
        check("INDEX 1", "INDEX");
        check("MERGE (EXCEPT)", "MERGE (EXCEPT)");
        check("LEFT-MOST SUBQUERY", "LEFT-MOST SUBQUERY");
        check("UNION USING TEMP B-TREE", "UNION USING TEMP B-TREE");
    }

    #[test]
    fn older_versions_come_out_the_same() {
        check("SCAN TABLE t1 AS x", "SCAN");
        check("SCAN SUBQUERY 1 AS s", "SCAN");
        check("SEARCH TABLE t1 AS x USING INDEX i (c0=?)", "SEARCH USING INDEX (1)");
        check("EXECUTE CORRELATED SCALAR SUBQUERY 1", "CORRELATED SCALAR SUBQUERY");
        check("USE TEMP B-TREE FOR RIGHT PART OF ORDER BY", "USE TEMP B-TREE FOR PART OF ORDER BY");
    }

    fn rows(rows: &[(i64, i64, &str)]) -> Vec<(i64, i64, String)> {
        rows.iter().map(|(id, parent, detail)| (*id, *parent, (*detail).to_string())).collect()
    }

    /// Checks the tree of `of` as its lines, each indented by two more than its parent.
    fn check_tree(of: &[(i64, i64, &str)], expected: &[&str]) {
        let tree = tree(&rows(of));
        let text = diff::diff(&tree, &tree);
        assert_eq!(text.lines().map(|line| &line[2..]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_become_a_tree_in_their_order() {
        check_tree(&[], &["QUERY"]);
        // As 3.54 prints it for `SELECT c0 FROM t1 WHERE c0 = 1 OR c2 = 2 UNION SELECT c2 FROM t0`.
        check_tree(
            &[
                (2, 0, "MERGE (UNION)"),
                (4, 2, "LEFT"),
                (9, 4, "MULTI-INDEX OR"),
                (10, 9, "INDEX 1"),
                (16, 10, "SEARCH t1 USING INDEX i1 (c0=?)"),
                (21, 9, "INDEX 2"),
                (27, 21, "SEARCH t1 USING INDEX i2 (c2=?)"),
                (37, 4, "USE TEMP B-TREE FOR ORDER BY"),
                (46, 2, "RIGHT"),
                (49, 46, "SCAN t0"),
                (55, 46, "USE TEMP B-TREE FOR ORDER BY"),
            ],
            &[
                "QUERY",
                "  MERGE (UNION)",
                "    LEFT",
                "      MULTI-INDEX OR",
                "        INDEX",
                "          SEARCH USING INDEX (1)",
                "        INDEX",
                "          SEARCH USING INDEX (1)",
                "      USE TEMP B-TREE FOR ORDER BY",
                "    RIGHT",
                "      SCAN",
                "      USE TEMP B-TREE FOR ORDER BY",
            ],
        );
    }

    #[test]
    fn plans_that_differ_in_names_only_are_equal() {
        let one = rows(&[(3, 0, "CO-ROUTINE s"), (6, 3, "SCAN t0 USING INDEX a"), (9, 0, "SCAN s")]);
        let other =
            rows(&[(2, 0, "CO-ROUTINE (subquery-1)"), (7, 2, "SCAN x USING INDEX b"), (9, 0, "SCAN (subquery-1)")]);
        assert_eq!(tree(&one), tree(&other));
        let covering = rows(&[(3, 0, "CO-ROUTINE s"), (6, 3, "SCAN t0 USING COVERING INDEX a"), (9, 0, "SCAN s")]);
        assert_ne!(tree(&one), tree(&covering));
    }

    proptest! {
        #[test]
        fn any_rows_make_a_tree_of_all_of_them(
            rows in prop::collection::vec((0..6_i64, 0..6_i64, "(SCAN |SEARCH |BLOOM FILTER ON |ß|\\PC){0,4}"), 0..12)
        ) {
            prop_assert_eq!(tree(&rows).size(), rows.len() + 1);
        }

        #[test]
        fn names_do_not_change_a_label(name in "[a-zA-Z_]{1,8}", index in "[a-zA-Z_]{1,8}") {
            let found = label(&format!("SEARCH {name} USING INDEX {index} (c0=?)"));
            prop_assert_eq!(found, "SEARCH USING INDEX (1)");
            prop_assert_eq!(label(&format!("CO-ROUTINE {name}")), "CO-ROUTINE");
        }
    }
}
