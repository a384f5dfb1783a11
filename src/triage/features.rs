//! The SQL features of a case, for telling findings apart.

use crate::sql::lex::{Token, tokens};
use std::collections::BTreeSet;

/// Words that are features by themselves.
const WORDS: [(&str, &str); 36] = [
    ("in", "in"),
    ("exists", "exists"),
    ("between", "between"),
    ("like", "like"),
    ("glob", "glob"),
    ("distinct", "distinct"),
    ("having", "having"),
    ("union", "union"),
    ("intersect", "intersect"),
    ("except", "except"),
    ("over", "window"),
    ("filter", "filter"),
    ("case", "case"),
    ("cast", "cast"),
    ("collate", "collate"),
    ("analyze", "analyze"),
    ("reindex", "reindex"),
    ("vacuum", "vacuum"),
    ("limit", "limit"),
    ("view", "view"),
    ("with", "cte"),
    ("materialized", "materialized"),
    ("rtree", "rtree"),
    ("fts5", "full text"),
    ("attach", "attach"),
    ("strict", "strict"),
    ("unique", "unique"),
    ("check", "check"),
    ("references", "foreign key"),
    ("generated", "generated column"),
    ("replace", "replace"),
    ("update", "update"),
    ("delete", "delete"),
    ("likely", "likelihood"),
    ("unlikely", "likelihood"),
    ("encoding", "encoding"),
];

/// Pairs of words that are a feature together.
const PAIRS: [(&str, &str, &str); 12] = [
    ("left", "join", "left join"),
    ("right", "join", "right join"),
    ("full", "join", "full join"),
    ("cross", "join", "cross join"),
    ("group", "by", "group by"),
    ("order", "by", "order by"),
    ("primary", "key", "primary key"),
    ("without", "rowid", "without rowid"),
    ("is", "null", "is null"),
    ("is", "true", "is true/false"),
    ("is", "false", "is true/false"),
    ("create", "index", "index"),
];

const AGGREGATES: [&str; 6] = ["count", "sum", "min", "max", "avg", "total"];

/// The features of a case, sorted.
pub fn features<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for text in texts {
        let Ok(all) = tokens(text) else { continue };
        let words: Vec<String> = all
            .iter()
            .filter_map(|t| match t {
                Token::Word(w) => Some(w.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        for word in &words {
            found.extend(WORDS.iter().filter(|(w, _)| w == word).map(|(_, f)| *f));
            if AGGREGATES.contains(&word.as_str()) {
                found.insert("aggregate");
            }
            if word.starts_with("json") {
                found.insert("json");
            }
        }
        for pair in words.windows(2) {
            found.extend(PAIRS.iter().filter(|(a, b, _)| *a == pair[0] && *b == pair[1]).map(|(_, _, f)| *f));
        }
        let is_not = |of: &[String]| of[0] == "is" && of[1] == "not" && ["true", "false"].contains(&of[2].as_str());
        if words.windows(3).any(is_not) {
            found.insert("is true/false");
        }
        let is_index = words.first().is_some_and(|w| w == "create") && words.iter().take(3).any(|w| w == "index");
        if is_index {
            found.insert("index");
            if words.iter().any(|w| w == "where") {
                found.insert("partial index");
            }
            if text.split_once('(').is_some_and(|(_, columns)| columns.contains('(')) {
                found.insert("expression index");
            }
        }
        let dense: Vec<&Token> = all.iter().filter(|t| !matches!(t, Token::Space(_))).collect();
        if words.iter().filter(|w| *w == "select").count() > 1 {
            found.insert("subquery");
        }
        if is_row_value(&dense) {
            found.insert("row value");
        }
    }
    found.into_iter().map(str::to_owned).collect()
}

/// `(a, b) <operator>` outside a call: a parenthesis that no word precedes, with a comma at its top level.
fn is_row_value(tokens: &[&Token]) -> bool {
    let mut open: Vec<bool> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => {
                let called = at > 0 && matches!(tokens[at - 1], Token::Word(_) | Token::Symbol(',' | ')'));
                open.push(!called);
            }
            Token::Symbol(')') => {
                open.pop();
            }
            Token::Symbol(',') if open.last() == Some(&true) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_a_case() {
        let found = features([
            "CREATE INDEX i ON t1((c0 + 1)) WHERE c0 IS NULL",
            "SELECT COUNT(*) FROM t1 LEFT JOIN t2 ON (t1.c0, 1) = (t2.c0, 2) WHERE 'in' = 'exists'",
        ]);
        assert_eq!(
            found,
            ["aggregate", "expression index", "index", "is null", "left join", "partial index", "row value"]
        );
        assert_eq!(features(["SELECT a IS NOT TRUE, b IS NOT NULL"]), ["is true/false"]);
    }
}
