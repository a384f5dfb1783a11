//! Which parts of SQL a pair uses, seen in its text: cheap, for counting only.

use serde_json::Value;

/// A feature and the sequences of words that show it.
const FEATURES: [(&str, &[&str]); 20] = [
    ("GROUP BY", &["GROUP BY"]),
    ("aggregates", &["COUNT (", "SUM (", "MIN (", "MAX (", "AVG (", "EVERY (", "STDDEV (", "SINGLE_VALUE ("]),
    ("outer join", &["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER"]),
    ("UNION ALL", &["UNION ALL"]),
    ("CASE", &["CASE"]),
    ("VALUES", &["VALUES"]),
    ("COUNT(DISTINCT)", &["COUNT ( DISTINCT"]),
    ("ORDER BY", &["ORDER BY"]),
    ("CAST", &["CAST (", "TRY_CAST (", ": :"]),
    ("HAVING", &["HAVING"]),
    ("EXISTS", &["EXISTS"]),
    ("IN subquery", &["IN ( SELECT", "IN ( ( SELECT", "IN ( WITH", "IN ( VALUES"]),
    ("LIMIT", &["LIMIT", "OFFSET", "FETCH NEXT", "FETCH FIRST"]),
    ("FILTER", &["FILTER ( WHERE"]),
    ("grouping sets", &["GROUPING SETS", "ROLLUP", "CUBE"]),
    ("INTERSECT", &["INTERSECT"]),
    ("EXCEPT", &["EXCEPT", "MINUS"]),
    ("window", &["OVER (", "OVER W"]),
    ("LATERAL", &["LATERAL"]),
    ("DISTINCT", &["SELECT DISTINCT"]),
];

/// The features that either query uses; none for plans.
pub(super) fn of(left: &Value, right: &Value) -> Vec<&'static str> {
    let texts: Vec<String> = [left, right].into_iter().filter_map(Value::as_str).map(words).collect();
    let uses = |shown: &&str| texts.iter().any(|text| text.contains(&format!(" {shown} ")));
    FEATURES.iter().filter(|(_, shown)| shown.iter().any(&uses)).map(|(name, _)| *name).collect()
}

/// A query's words and signs in upper case, each between single spaces. Strings, quoted names and comments are gone.
fn words(sql: &str) -> String {
    let mut words = String::from(" ");
    let mut rest = sql.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' | '`' => {
                // A doubled quote reads as a second string, which is gone as well.
                let _ = rest.by_ref().find(|d| *d == c);
                words.push_str("? ");
            }
            '-' if rest.peek() == Some(&'-') => {
                let _ = rest.by_ref().find(|d| *d == '\n');
            }
            c if c.is_alphanumeric() || c == '_' => {
                words.extend(c.to_uppercase());
                while let Some(d) = rest.next_if(|d| d.is_alphanumeric() || *d == '_') {
                    words.extend(d.to_uppercase());
                }
                words.push(' ');
            }
            c if c.is_whitespace() => {}
            c => words.extend([c, ' ']),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(sql: &str) -> Vec<&'static str> {
        of(&sql.into(), &"SELECT 1".into())
    }

    #[test]
    fn each_feature_is_seen() {
        for (sql, expected) in [
            ("SELECT a FROM t group\n by a", "GROUP BY"),
            ("SELECT Max(a) FROM t", "aggregates"),
            ("SELECT * FROM t LEFT OUTER JOIN u ON TRUE", "outer join"),
            ("(SELECT 1)UNION ALL(SELECT 2)", "UNION ALL"),
            ("SELECT CASE WHEN a THEN 1 END FROM t", "CASE"),
            ("VALUES (1)", "VALUES"),
            ("SELECT a FROM t ORDER BY a", "ORDER BY"),
            ("SELECT a::TEXT FROM t", "CAST"),
            ("SELECT 1 FROM t HAVING TRUE", "HAVING"),
            ("SELECT 1 WHERE NOT EXISTS(SELECT 1)", "EXISTS"),
            ("SELECT a NOT IN(SELECT 1) FROM t", "IN subquery"),
            ("SELECT a FROM t FETCH NEXT 1 ROWS ONLY", "LIMIT"),
            ("SELECT 1 GROUP BY CUBE(a)", "grouping sets"),
            ("SELECT 1 INTERSECT SELECT 1", "INTERSECT"),
            ("SELECT 1 EXCEPT ALL SELECT 1", "EXCEPT"),
            ("SELECT RANK() OVER(ORDER BY a) FROM t", "window"),
            ("SELECT * FROM t, LATERAL (SELECT 1) AS x", "LATERAL"),
            ("SELECT DISTINCT a FROM t", "DISTINCT"),
            ("SELECT COUNT(*) FILTER(WHERE a) FROM t", "FILTER"),
            ("SELECT COUNT( DISTINCT a) FROM t", "COUNT(DISTINCT)"),
        ] {
            assert!(features(sql).contains(&expected), "{sql}: {:?}", features(sql));
        }
    }

    #[test]
    fn names_and_strings_show_nothing() {
        for sql in [
            "SELECT 'it''s UNION ALL (', \"CASE\", discount, case_id, max_a FROM t WHERE a IN (1, 2)",
            "SELECT a -- GROUP BY\nFROM t LEFT SEMI JOIN u ON TRUE",
        ] {
            assert_eq!(features(sql), [""; 0], "{sql}");
        }
        assert_eq!(of(&serde_json::json!({"scan": 0}), &serde_json::json!({"group by": 0})), [""; 0]);
    }
}
