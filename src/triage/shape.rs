//! A case without its names and values: two cases of one shape differ in nothing that could matter to an optimizer but
//! values.

use crate::sql::lex::{Token, tokens};
use std::collections::BTreeSet;

/// Words behind which a name stands.
const BEFORE_NAMES: [&str; 11] =
    ["table", "view", "index", "into", "update", "from", "join", "as", "with", "on", "analyze"];

/// Words that are no names, wherever they stand.
const NO_NAMES: [&str; 22] = [
    "select",
    "values",
    "if",
    "not",
    "exists",
    "lateral",
    "set",
    "only",
    "left",
    "right",
    "full",
    "inner",
    "cross",
    "natural",
    "where",
    "null",
    "true",
    "false",
    "case",
    "recursive",
    "materialized",
    "unique",
];

/// Texts in which every name that they define is `x`, a number by the order of its first use, and every number and string a
/// placeholder. Statements that only fill tables with values are one.
pub fn shape<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<Vec<Token>> = texts.filter_map(|text| tokens(text).ok()).collect();
    let names: BTreeSet<String> = texts.iter().flat_map(|all| named(all)).collect();
    let mut numbered: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for all in &texts {
        let has = |word: &str| all.iter().any(|token| token.is_word(word));
        let is_fill =
            all.first().is_some_and(|t| t.is_word("insert") || t.is_word("replace")) && has("values") && !has("select");
        let mut line = String::new();
        for token in all {
            match token {
                Token::Space(_) => {
                    if !line.ends_with(' ') {
                        line.push(' ');
                    }
                }
                Token::Word(word) if names.contains(&word.to_ascii_lowercase()) => {
                    let word = word.to_ascii_lowercase();
                    let at = numbered.iter().position(|known| *known == word).unwrap_or_else(|| {
                        numbered.push(word);
                        numbered.len() - 1
                    });
                    line.push('x');
                    line.push_str(&at.to_string());
                }
                Token::Word(word) => line.push_str(&word.to_ascii_lowercase()),
                Token::Literal(text) => line.push_str(if text.starts_with('\'') { "''" } else { "0" }),
                Token::Symbol(symbol) => line.push(*symbol),
            }
            if is_fill && line.ends_with('(') {
                break;
            }
        }
        let line = line.trim().to_owned();
        if !(is_fill && lines.contains(&line)) {
            lines.push(line);
        }
    }
    lines.join("; ")
}

/// A query in which every name that statements before it or it itself define is `x`, also behind the name of its table, and
/// every value is `0`.
pub fn plain<'a>(before: impl Iterator<Item = &'a str>, query: &'a str) -> String {
    let shape = shape(before.chain([query]));
    let query = shape.rsplit("; ").next().unwrap_or_default();
    let is_name = |word: &str| word.strip_prefix('x').is_some_and(|at| at.bytes().all(|byte| byte.is_ascii_digit()));
    let mut plain = String::new();
    for token in tokens(query).unwrap_or_default() {
        match token {
            Token::Word(word) if is_name(word) => {
                if plain.ends_with("x.") {
                    plain.truncate(plain.len() - "x.".len());
                }
                plain.push('x');
            }
            Token::Word("null" | "true" | "false") | Token::Literal(_) => plain.push('0'),
            other => plain.push_str(&other.text()),
        }
    }
    plain
}

/// Where the columns of a table or view that is created are listed: in parentheses behind its name.
fn columns_at(dense: &[&Token]) -> Option<usize> {
    let starts = dense.first().is_some_and(|token| token.is_word("create"));
    let kind = dense.iter().position(|token| token.is_word("table") || token.is_word("view")).filter(|_| starts)?;
    let open = kind + dense[kind..].iter().position(|token| matches!(token, Token::Symbol('(')))?;
    (!dense[kind..open].iter().any(|token| token.is_word("as"))).then_some(open)
}

/// The names that a text defines or reads tables by.
fn named(all: &[Token]) -> Vec<String> {
    let dense: Vec<&Token> = all.iter().filter(|token| !matches!(token, Token::Space(_))).collect();
    let mut found = Vec::new();
    let mut add = |token: Option<&&Token>| {
        if let Some(Token::Word(word)) = token {
            let word = word.to_ascii_lowercase();
            if !NO_NAMES.contains(&word.as_str()) {
                found.push(word);
            }
        }
    };
    let columns = columns_at(&dense);
    // Parentheses that are open, and whether each is of a CAST, in which AS stands before a type.
    let mut open: Vec<bool> = Vec::new();
    // Whether the first of them is of a list of columns.
    let mut is_list = false;
    for (at, token) in dense.iter().enumerate() {
        match token {
            Token::Symbol('(') => {
                open.push(at > 0 && dense[at - 1].is_word("cast"));
                is_list |= columns == Some(at);
                if is_list && open.len() == 1 {
                    add(dense.get(at + 1));
                }
            }
            Token::Symbol(')') => {
                open.pop();
                is_list &= !open.is_empty();
            }
            Token::Symbol(',') if is_list && open.len() == 1 => add(dense.get(at + 1)),
            Token::Symbol('.') => {
                add(at.checked_sub(1).and_then(|before| dense.get(before)));
                add(dense.get(at + 1));
            }
            Token::Word(word) => {
                let word = word.to_ascii_lowercase();
                let of_type = word == "as" && open.last() == Some(&true);
                let call = matches!(dense.get(at + 2), Some(Token::Symbol('('))) && word == "on";
                if BEFORE_NAMES.contains(&word.as_str()) && !of_type && !call {
                    add(dense.get(at + 1));
                }
            }
            Token::Literal(_) | Token::Space(_) | Token::Symbol(_) => {}
        }
    }
    // What begins a constraint of a table begins no column.
    found.retain(|word| !["primary", "unique", "check", "foreign", "constraint"].contains(&word.as_str()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_query_has_one_name_and_one_value() {
        let is = |query: &str, expected: &str| {
            assert_eq!(plain(["CREATE TABLE t1(c0 INT, c1 TEXT)"].into_iter(), query), expected);
        };
        is(
            "SELECT t1.c0 FROM t1 WHERE EXISTS (SELECT s.c1 FROM t1 AS s WHERE NULL INTERSECT SELECT 'A')",
            "select x from x where exists (select x from x as x where 0 intersect select 0)",
        );
        is("SELECT c0 + 1.5 FROM t1 WHERE xor(c1, -1)", "select x + 0 from x where xor(x, -0)");
    }

    #[test]
    fn cases_that_differ_in_names_and_values_have_one_shape() {
        let one = [
            "CREATE TABLE t1(c0 INT, c1 TEXT UNIQUE)",
            "INSERT INTO t1(c0, c1) VALUES (1, 'a')",
            "INSERT INTO t1(c0, c1) VALUES (2, 'b')",
            "SELECT a.c0, CAST(a.c1 AS INT) FROM t1 AS a LEFT JOIN t1 ON abs(a.c0) > 5",
        ];
        let other = [
            "CREATE TABLE v(x TEXT, y TEXT UNIQUE)",
            "INSERT INTO v(x, y) VALUES (1, '')",
            "SELECT q.x, CAST(q.y AS INT) FROM v AS q LEFT JOIN v ON abs(q.x) > 12.5",
        ];
        let shape = |texts: &[&str]| shape(texts.iter().copied());
        assert_eq!(
            shape(&one),
            "create table x0(x1 int, x2 text unique); insert into x0(; select x3.x1, cast(x3.x2 as int) from x0 as x3 left \
             join x0 on abs(x3.x1) > 0"
        );
        assert_eq!(shape(&other).replace("x1 text", "x1 int"), shape(&one));
        assert_ne!(shape(&one[..3]), shape(&one));
        let query = ["CREATE TABLE t(a INT)", "INSERT INTO t(a) SELECT abs(a) FROM t WHERE a > 5"];
        assert_eq!(shape(&query), "create table x0(x1 int); insert into x0(x1) select abs(x1) from x0 where x1 > 0");
    }

    #[test]
    fn functions_of_views_and_indexes_keep_their_names() {
        let texts = [
            "CREATE TABLE IF NOT EXISTS t(k INT, r INT GENERATED ALWAYS AS (hex(k)) STORED)",
            "CREATE INDEX i ON t(abs(k), sin(k))",
            "CREATE VIEW v AS SELECT q.k AS k, (chr(q.k)), CAST(q.k AS INT) FROM t AS q",
            "CREATE VIEW w(a, b) AS SELECT (chr(v.k)), (left(v.k, 1)) FROM v",
            "CREATE TABLE u AS SELECT (chr(v.k)) AS k FROM v",
        ];
        assert_eq!(
            shape(texts.into_iter()),
            "create table if not exists x0(x1 int, x2 int generated always as (hex(x1)) stored); create index x3 on \
             x0(abs(x1), sin(x1)); create view x4 as select x5.x1 as x1, (chr(x5.x1)), cast(x5.x1 as int) from x0 as x5; \
             create view x6(x7, x8) as select (chr(x4.x1)), (left(x4.x1, 0)) from x4; create table x9 as select \
             (chr(x4.x1)) as x1 from x4"
        );
    }
}
