//! The tables of FROM, token by token.

use super::lex::{Token, before, close, is_one_of, next, tidy, tokens};
use std::iter;
use std::ops::Range;

/// Words between the queries of a set operation.
pub const SETS: [&str; 3] = ["union", "intersect", "except"];

/// Words that join a table to those before.
const JOINS: [&str; 11] =
    ["natural", "left", "right", "full", "inner", "cross", "join", "semi", "anti", "asof", "positional"];

/// Words behind which no table of FROM and no condition of WHERE, ON or HAVING goes on, beside those.
const ENDS: [&str; 15] = [
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "window",
    "union",
    "intersect",
    "except",
    "fetch",
    "returning",
    "set",
    "qualify",
    "for",
];

pub(super) fn ends(token: &Token) -> bool {
    is_one_of(token, &JOINS) || is_one_of(token, &ENDS)
}

/// Where what begins here ends: a word of those, a comma, or the end of the parentheses it is in.
pub fn end_of(all: &[Token], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in all.iter().enumerate().skip(start) {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')' | ',') if depth == 0 => return at,
            Token::Symbol(')') => depth -= 1,
            Token::Word(_) if depth == 0 && ends(token) => {
                // Functions have such names too.
                let is_call = next(all, at + 1).is_some_and(|next| all[next] == Token::Symbol('('));
                if !(is_call && (token.is_word("left") || token.is_word("right"))) {
                    return at;
                }
            }
            _ => {}
        }
    }
    all.len()
}

/// A table of FROM.
pub(super) struct Item {
    /// Where it begins, with the words or the comma that join it to those before.
    pub(super) start: usize,
    /// The table, with its name here.
    pub(super) table: Range<usize>,
    /// Its name here.
    pub(super) name: String,
    /// The condition of its join.
    pub(super) condition: Option<Range<usize>>,
    /// Where it ends, with its condition.
    pub(super) end: usize,
}

/// The tables of a FROM.
pub(super) fn items(all: &[Token], from: usize) -> Vec<Item> {
    let mut found = Vec::new();
    let mut start = from;
    loop {
        let mut at = start + 1;
        // The words between LEFT and JOIN.
        while let Some(word) = next(all, at)
            && !found.is_empty()
            && (ends(&all[word]) || all[word].is_word("outer"))
        {
            at = word + 1;
        }
        let Some(item) = item(all, start, at) else { return found };
        start = item.end;
        found.push(item);
        let goes_on = all.get(start).is_some_and(|token| *token == Token::Symbol(',') || is_one_of(token, &JOINS));
        if !goes_on {
            return found;
        }
    }
}

fn item(all: &[Token], start: usize, at: usize) -> Option<Item> {
    let first = next(all, at)?;
    let mut end = match all[first] {
        Token::Symbol('(') => close(all, first)? + 1,
        Token::Word(_) => first + 1,
        _ => return None,
    };
    let mut name = all[first].text();
    // Arguments of a function, a name, columns of that name.
    while let Some(then) = next(all, end) {
        end = match all[then] {
            Token::Symbol('(') => close(all, then)? + 1,
            Token::Word(word) if word.eq_ignore_ascii_case("as") => then + 1,
            Token::Word(_) if is_one_of(&all[then], &["on", "using"]) || ends(&all[then]) => break,
            // Names an index to read it by, and is no name of it.
            Token::Word(word) if word.eq_ignore_ascii_case("indexed") => {
                let by = next(all, then + 1)?;
                next(all, by + 1)? + 1
            }
            Token::Word(word) => {
                name.clear();
                name.push_str(word);
                then + 1
            }
            _ => break,
        };
    }
    let table = first..end;
    let on = next(all, end).filter(|on| all[*on].is_word("on") || all[*on].is_word("using"));
    let condition = on.filter(|on| all[*on].is_word("on")).map(|on| on + 1..end_of(all, on + 1));
    let end = end_of(all, end);
    Some(Item { start, table, name, condition, end })
}

/// The text with what it leaves to the engine written out: `ON 1 = 1` behind an outer join without a condition, and in the
/// place of `*` a constant, or one of the columns of the tables that are read there. Each is a text of its own.
pub fn explicit(text: &str, columns: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let Ok(all) = tokens(text) else { return Vec::new() };
    let mut joined = String::new();
    let conditions: Vec<usize> = unconditional(&all);
    for (at, token) in all.iter().enumerate() {
        if conditions.contains(&at) {
            joined.push_str(" ON 1 = 1 ");
        }
        joined.push_str(&token.text());
    }
    if conditions.contains(&all.len()) {
        joined.push_str(" ON 1 = 1");
    }
    let joined = tidy(&joined);
    let Ok(all) = tokens(&joined) else { return Vec::new() };
    let stars: Vec<usize> = (0..all.len()).filter(|at| is_all_columns(&all, *at)).collect();
    let read = |star: usize| {
        let from = next(&all, star + 1).filter(|from| all[*from].is_word("from"))?;
        let of_item = |item: Item| {
            let columns = columns(&all[item.table.start].text());
            columns.into_iter().map(move |column| format!("{}.{column}", item.name))
        };
        Some(items(&all, from).into_iter().flat_map(of_item).collect())
    };
    let read: Vec<Vec<String>> = stars.iter().map(|star| read(*star).unwrap_or_default()).collect();
    let most = read.iter().map(Vec::len).max().unwrap_or_default();
    let with = |column: Option<usize>| {
        let mut out = String::new();
        for (at, token) in all.iter().enumerate() {
            let star = stars.iter().position(|star| *star == at);
            let named = star.and_then(|star| read[star].get(column?)).map(String::as_str);
            out.push_str(&if star.is_some() { named.unwrap_or("1").to_owned() } else { token.text() });
        }
        out
    };
    let mut found: Vec<String> = iter::once(None).chain((0..most).map(Some)).map(with).collect();
    found.dedup();
    found.retain(|explicit| explicit != text);
    found
}

/// Whether all columns are selected here: it is no operator, and no argument of COUNT.
fn is_all_columns(all: &[Token], at: usize) -> bool {
    let selects = |word: usize| is_one_of(&all[word], &["select", "distinct", "all"]);
    all[at] == Token::Symbol('*') && before(all, at).is_some_and(selects)
}

/// Where conditions of outer joins are missing.
fn unconditional(all: &[Token]) -> Vec<usize> {
    let outer = |item: &Item| {
        let joins = &all[item.start..item.table.start];
        joins.iter().any(|word| is_one_of(word, &["left", "right", "full"]))
            && !joins.iter().any(|word| word.is_word("natural"))
    };
    let has_one = |item: &Item| next(all, item.table.end).is_some_and(|on| is_one_of(&all[on], &["on", "using"]));
    let froms = (0..all.len()).filter(|at| all[*at].is_word("from"));
    let items = froms.flat_map(|from| items(all, from)).filter(|item| outer(item) && !has_one(item));
    items.map(|item| item.table.end).collect()
}

/// The text without what names an index to read a table by, which is no matter of what it means.
pub fn without_index_hints(text: &str) -> String {
    let Ok(all) = tokens(text) else { return text.to_owned() };
    let (mut out, mut at) = (String::new(), 0);
    while at < all.len() {
        let by = next(&all, at + 1).filter(|by| all[at].is_word("indexed") && all[*by].is_word("by"));
        let name = by.and_then(|by| next(&all, by + 1));
        if let Some(name) = name {
            at = name + 1;
        } else {
            out.push_str(&all[at].text());
            at += 1;
        }
    }
    tidy(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_the_engine_is_written_out() {
        let columns = |table: &str| if table == "t" { vec!["a".to_owned(), "b".to_owned()] } else { Vec::new() };
        let explicit = |text: &str| explicit(text, &columns);
        assert_eq!(
            explicit("SELECT * FROM t LEFT JOIN u WHERE u.c IS NULL"),
            [
                "SELECT 1 FROM t LEFT JOIN u ON 1 = 1 WHERE u.c IS NULL",
                "SELECT t.a FROM t LEFT JOIN u ON 1 = 1 WHERE u.c IS NULL",
                "SELECT t.b FROM t LEFT JOIN u ON 1 = 1 WHERE u.c IS NULL",
            ]
        );
        let hinted = explicit("SELECT * FROM u, t AS x INDEXED BY i");
        assert_eq!(hinted[1..], ["SELECT x.a FROM u, t AS x INDEXED BY i", "SELECT x.b FROM u, t AS x INDEXED BY i"]);
        assert_eq!(
            explicit("SELECT a FROM t LEFT JOIN (SELECT * FROM u) AS s"),
            ["SELECT a FROM t LEFT JOIN (SELECT 1 FROM u) AS s ON 1 = 1"]
        );
        assert_eq!(
            explicit("SELECT a FROM t LEFT JOIN u AS x LEFT JOIN u ON x.c = u.c, t AS y"),
            ["SELECT a FROM t LEFT JOIN u AS x ON 1 = 1 LEFT JOIN u ON x.c = u.c, t AS y"]
        );
        for plain in [
            "SELECT a * 2, COUNT(*) FROM t JOIN u",
            "SELECT a FROM t LEFT JOIN u USING (c)",
            "SELECT a FROM t NATURAL LEFT JOIN u",
            "SELECT a FROM t WHERE left(b, 1) = 'x'",
        ] {
            assert!(explicit(plain).is_empty(), "{plain}: {:?}", explicit(plain));
        }
    }

    #[test]
    fn an_index_hint_is_left_out() {
        let plain = "SELECT t.a FROM t ORDER BY a";
        assert_eq!(without_index_hints("SELECT t.a FROM t INDEXED BY i ORDER BY a"), plain);
        assert_eq!(without_index_hints(plain), plain);
    }
}
