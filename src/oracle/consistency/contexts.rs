//! The contexts: ways to have an expression evaluated on the rows of a table.
//!
//! Each is a query over the same rows whose result has the key of a row and the expression's value on it. So all results
//! are the same bag.
//!
//! In the templates `q0` is the table whose columns the expression names, and
//!
//! | | |
//! |---|---|
//! | `#E` | the expression |
//! | `#B` | the expression with columns that are not qualified |
//! | `#F` | the expression with the row's values in place of its columns |
//! | `#I` | `SELECT q0.k AS k, (#E) AS v FROM t AS q0` |
//! | `#R` | the row as a table: a query of one row, with the names of the table's columns |
//! | `#K` | the key of the row |
//! | `#0`, `#1`, `#2` | nothing, or ` WHERE q0.k = #K`; the same of `q1` and `q2` |
//! | `#A` | nothing, or ` AND q0.k = #K` |
//! | `#S` | nothing, or a condition on the row that no index serves |
//! | `#P`, `#L` | the expression with parameters `$1`, … in place of its columns; the row's values for them in parentheses, if any |
//! | `#Q`, `#U` | the text of `SELECT #K, (#P)` with `?` for them, as a literal; the row's values in the order of the `?` |
//! | `#D` | the statement that removes the index `t_index` |

/// The rows that a context is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// All of the table, or one of them.
    Any,
    /// One row.
    One,
}

/// A context.
#[derive(Debug, PartialEq, Eq)]
pub struct Context {
    /// Its name. Contexts of one name are forms of the same one, of which the first is used that the engine takes.
    pub name: &'static str,
    /// How many rows it gives.
    pub rows: Rows,
    /// Whether it needs the row's values as expressions of exactly their columns' types.
    pub folds: bool,
    /// Whether it is for truth values only.
    pub truth: bool,
    /// Statements that make what the query reads.
    pub before: &'static [&'static str],
    /// The query.
    pub sql: &'static str,
    /// Statements that remove what was made.
    pub after: &'static [&'static str],
    /// Whether it is once more there for every optimizer switch.
    pub switched: bool,
}

const PLAIN: Context = Context {
    name: "",
    rows: Rows::Any,
    folds: false,
    truth: false,
    before: &[],
    sql: "",
    after: &[],
    switched: false,
};

const fn any(name: &'static str, sql: &'static str) -> Context {
    Context { name, sql, ..PLAIN }
}

const fn folded(name: &'static str, sql: &'static str) -> Context {
    Context { name, sql, rows: Rows::One, folds: true, ..PLAIN }
}

const fn truth(name: &'static str, sql: &'static str) -> Context {
    Context { name, sql, truth: true, ..PLAIN }
}

/// The query that every case has, and with which the others are compared.
pub const SCAN: Context = any("scan", "SELECT q0.k, (#E) FROM t AS q0#S");

/// The others.
pub static CONTEXTS: &[Context] = &[
    Context { folds: false, ..folded("row-by-key", "SELECT q0.k, (#E) FROM t AS q0 WHERE q0.k = #K") },
    folded("folded", "SELECT #K, (#F)"),
    folded("folded-row", "SELECT q0.k, (#E) FROM (#R) AS q0"),
    Context {
        before: &["PREPARE p AS SELECT #K, (#P)"],
        after: &["DEALLOCATE p"],
        ..folded("prepared", "EXECUTE p#L")
    },
    Context {
        before: &["PREPARE p FROM #Q"],
        after: &["DEALLOCATE PREPARE p"],
        ..folded("prepared", "EXECUTE p USING #U")
    },
    folded("prepared", "SELECT #K, (#P)"),
    any("derived-table", "SELECT q1.k, q1.v FROM (#I) AS q1#1"),
    // LIMIT keeps a derived table from being merged into the query around it.
    any("materialised-derived-table", "SELECT q1.k, q1.v FROM (#I LIMIT 1000) AS q1#1"),
    any("cte", "WITH q1 AS (#I) SELECT q1.k, q1.v FROM q1#1"),
    any("materialised-cte", "WITH q1 AS MATERIALIZED (#I) SELECT q1.k, q1.v FROM q1#1"),
    any("inlined-cte", "WITH q1 AS NOT MATERIALIZED (#I) SELECT q1.k, q1.v FROM q1#1"),
    any("cte-used-twice", "WITH q1 AS (#I) SELECT q1.k, q1.v FROM q1 JOIN q1 AS q2 ON q2.k = q1.k#1"),
    Context {
        before: &["CREATE VIEW t_view AS #I"],
        after: &["DROP VIEW t_view"],
        ..any("view", "SELECT q1.k, q1.v FROM t_view AS q1#1")
    },
    Context {
        before: &["CREATE TEMPORARY TABLE t_stored AS #I"],
        after: &["DROP TABLE t_stored"],
        ..any("stored", "SELECT q1.k, q1.v FROM t_stored AS q1#1")
    },
    any("distinct", "SELECT DISTINCT q0.k, (#E) FROM t AS q0#0"),
    any("grouped-by-key", "SELECT q0.k, (#E) FROM t AS q0#0 GROUP BY q0.k"),
    any("grouped-by-value", "SELECT q0.k, (#E) FROM t AS q0#0 GROUP BY q0.k, (#E)"),
    any("grouped-derived-table", "SELECT q1.k, q1.v FROM (#I) AS q1#1 GROUP BY q1.k, q1.v"),
    any("union-all", "SELECT q0.k, (#E) FROM t AS q0#0 UNION ALL SELECT q0.k, (#E) FROM t AS q0 WHERE 1 = 0"),
    any("union", "SELECT q0.k, (#E) FROM t AS q0#0 UNION SELECT q0.k, (#E) FROM t AS q0#0"),
    any("intersect", "SELECT q0.k, (#E) FROM t AS q0#0 INTERSECT SELECT q0.k, (#E) FROM t AS q0#0"),
    any("ordered-by-key", "SELECT q0.k, (#E) FROM t AS q0#0 ORDER BY q0.k DESC LIMIT 1000"),
    any("ordered-by-value", "SELECT q0.k, (#E) FROM t AS q0#0 ORDER BY (#E), q0.k LIMIT 1000"),
    any("maximum", "SELECT q0.k, MAX((#E)) FROM t AS q0#0 GROUP BY q0.k"),
    any("minimum", "SELECT q0.k, MIN((#E)) FROM t AS q0#0 GROUP BY q0.k"),
    any("window", "SELECT q0.k, MAX((#E)) OVER (PARTITION BY q0.k) FROM t AS q0#0"),
    any("scalar-subquery", "SELECT q0.k, (SELECT (#E)) FROM t AS q0#0"),
    any("correlated-subquery", "SELECT q2.k, (SELECT (#E) FROM t AS q0 WHERE q0.k = q2.k) FROM t AS q2#2"),
    any("coalesced", "SELECT q0.k, COALESCE((#E), (#E)) FROM t AS q0#0"),
    any("case", "SELECT q0.k, CASE WHEN q0.k IS NULL THEN NULL ELSE (#E) END FROM t AS q0#0"),
    any("joined", "SELECT q0.k, (#E) FROM t AS q0 JOIN t_keys AS q2 ON q2.k = q0.k#0"),
    any("joined-from-keys", "SELECT q0.k, (#E) FROM t_keys AS q2 JOIN t AS q0 ON q0.k = q2.k#0"),
    any("preserved", "SELECT q0.k, (#E) FROM t AS q0 LEFT JOIN t_keys AS q2 ON q2.k = q0.k AND q2.k > 1000#0"),
    any("padded", "SELECT q0.k, (#E) FROM t_keys AS q2 LEFT JOIN t AS q0 ON q0.k = q2.k WHERE q0.k IS NOT NULL#A"),
    any("full-join", "SELECT q0.k, (#E) FROM t AS q0 FULL JOIN t_keys AS q2 ON q2.k = q0.k WHERE q0.k IS NOT NULL#A"),
    any("other-order", "SELECT q0.k, (#E) FROM t_reverse AS q0#0"),
    Context {
        before: &["CREATE INDEX t_index ON t_indexed((#B))"],
        after: &["#D"],
        ..any("indexed", "SELECT q0.k, (#E) FROM t_indexed AS q0#0 ORDER BY (#E)")
    },
    truth(
        "predicate",
        "SELECT q0.k, TRUE FROM t AS q0 WHERE (#E)#A UNION ALL SELECT q0.k, FALSE FROM t AS q0 WHERE NOT (#E)#A \
         UNION ALL SELECT q0.k, NULL FROM t AS q0 WHERE (#E) IS NULL#A",
    ),
    Context {
        before: &["CREATE INDEX t_index ON t_indexed((#B))"],
        after: &["#D"],
        ..truth(
            "indexed-predicate",
            "SELECT q0.k, TRUE FROM t_indexed AS q0 WHERE (#E) = TRUE#A UNION ALL \
             SELECT q0.k, FALSE FROM t_indexed AS q0 WHERE (#E) = FALSE#A UNION ALL \
             SELECT q0.k, NULL FROM t_indexed AS q0 WHERE (#E) IS NULL#A",
        )
    },
    truth(
        "join-condition",
        "SELECT q0.k, TRUE FROM t AS q0 JOIN t_keys AS q2 ON q2.k = q0.k AND (#E)#0 UNION ALL \
         SELECT q0.k, FALSE FROM t AS q0 JOIN t_keys AS q2 ON q2.k = q0.k AND NOT (#E)#0 UNION ALL \
         SELECT q0.k, NULL FROM t AS q0 JOIN t_keys AS q2 ON q2.k = q0.k AND (#E) IS NULL#0",
    ),
    truth(
        "having",
        "SELECT q1.k, TRUE FROM (#I) AS q1#1 GROUP BY q1.k, q1.v HAVING q1.v UNION ALL \
         SELECT q1.k, FALSE FROM (#I) AS q1#1 GROUP BY q1.k, q1.v HAVING NOT q1.v UNION ALL \
         SELECT q1.k, NULL FROM (#I) AS q1#1 GROUP BY q1.k, q1.v HAVING q1.v IS NULL",
    ),
    truth("case-condition", "SELECT q0.k, CASE WHEN (#E) THEN TRUE WHEN NOT (#E) THEN FALSE END FROM t AS q0#0"),
    Context { switched: true, ..any("switch", "SELECT q0.k, (#E) FROM t AS q0#0") },
    Context { switched: true, ..any("switched-derived-table", "SELECT q1.k, q1.v FROM (#I) AS q1#1") },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_context_gives_the_key_and_the_value() {
        let mut names = BTreeSet::new();
        for context in CONTEXTS.iter().chain([&SCAN]) {
            let Context { name, sql, before, .. } = context;
            let all = before.iter().chain([sql]).copied().collect::<String>();
            assert!(["#E", "#F", "#I", "#P", "#Q"].iter().any(|part| all.contains(part)), "{name} has no expression");
            let parts = all.split('#').skip(1).map(|rest| rest.chars().next().unwrap_or(' '));
            let unknown: Vec<char> = parts.filter(|part| !"EBFIRKSPLQUDA012".contains(*part)).collect();
            assert!(unknown.is_empty(), "{name}: {unknown:?}");
            // What is for one row must say which; what is for any must give one if asked.
            let one = ["#K", "#R", "#Q", "#0", "#1", "#2", "#A", "#S"];
            assert!(one.iter().any(|part| all.contains(part)), "{name} gives all rows always");
            assert_eq!(
                context.folds,
                all.contains("#F") || all.contains("#R") || all.contains("#P") || all.contains("#Q")
            );
            // A form of a context follows the others of its name.
            names.insert(name);
        }
        assert!(names.len() >= 40);
    }
}
