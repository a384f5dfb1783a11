//! What may stand in the place of an item, a condition or a query while a text is cut: constants, columns, and parts of it.

use super::cuts::{conditions, selected};
use super::lex::{Token, before, groups, is_one_of, next};
use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;

/// Subqueries that are values, and items of rows, lists and arguments, with the constants and columns that may stand for each.
pub(super) fn constants(all: &[Token]) -> Vec<(Range<usize>, String)> {
    const CONSTANTS: [&str; 3] = ["NULL", "0", "1"];
    let mut found = Vec::new();
    if all.first().is_some_and(|first| first.is_word("create")) {
        return found;
    }
    for (open, close) in groups(all) {
        let Some(first) = next(all, open + 1) else { continue };
        if all[first].is_word("select") {
            let is_table =
                before(all, open).is_some_and(|word| is_one_of(&all[word], &["from", "join", "as", "in", "exists"]));
            found.extend(
                CONSTANTS.iter().filter(|_| !is_table).map(|constant| (open..close + 1, (*constant).to_owned())),
            );
            continue;
        }
        if is_one_of(&all[first], &["with", "values", "partition", "order", "rows", "range", "groups"]) {
            continue;
        }
        for item in items_of(all, open, close) {
            let columns = columns(&all[item.clone()]);
            let words = words_in(&all[item.clone()]);
            let is_column = words == 3 && !columns.is_empty();
            if words > 1 && !is_column {
                let constants = CONSTANTS.iter().map(|constant| (*constant).to_owned()).chain(columns);
                found.extend(constants.map(|constant| (item.clone(), constant)));
            }
        }
    }
    found
}

/// Items that are selected, conditions, and queries over one query, each with a part of it in parentheses that could be all of
/// it.
pub(super) fn parts(all: &[Token]) -> Vec<(Range<usize>, Range<usize>)> {
    let selects = (0..all.len()).filter(|at| all[*at].is_word("select"));
    let mut wholes: Vec<Range<usize>> =
        selects.flat_map(|select| selected(all, select)).chain(conditions(all)).collect();
    let is_query = |open: usize| next(all, open + 1).is_some_and(|first| all[first].is_word("select"));
    wholes.extend(groups(all).into_iter().filter(|(open, _)| is_query(*open)).map(|(open, close)| open..close + 1));
    let mut found = Vec::new();
    for (open, close) in groups(all) {
        let is_name = |name: &usize| name + 1 == open && matches!(all[*name], Token::Word(_));
        let start = before(all, open).filter(is_name).unwrap_or(open);
        let items = if is_query(open) { Vec::new() } else { items_of(all, open, close) };
        let long = items.into_iter().filter(|item| words_in(&all[item.clone()]) > 3);
        for part in iter::once(start..close + 1).chain(long) {
            // All of a query can be another one.
            let fits =
                |whole: &Range<usize>| all[whole.start] != Token::Symbol('(') || part.start == open && is_query(open);
            let is_around = |whole: &Range<usize>| whole.start <= part.start && part.end <= whole.end && *whole != part;
            let of = wholes.iter().filter(|whole| is_around(whole) && fits(whole));
            found.extend(of.map(|whole| (whole.clone(), part.clone())));
        }
    }
    found
}

/// What stands between the commas of parentheses.
fn items_of(all: &[Token], open: usize, close: usize) -> Vec<Range<usize>> {
    let (mut start, mut depth, mut found) = (open + 1, 0_usize, Vec::new());
    for (at, token) in all.iter().enumerate().take(close + 1).skip(open + 1) {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if at < close => depth -= 1,
            Token::Symbol(',' | ')') if depth == 0 => {
                found.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// How many tokens are no space.
fn words_in(all: &[Token]) -> usize {
    all.iter().filter(|token| !matches!(token, Token::Space(_))).count()
}

/// The columns, with the names of their tables, that are read.
fn columns(all: &[Token]) -> BTreeSet<String> {
    let of = |three: &[Token]| match three {
        [Token::Word(table), Token::Symbol('.'), Token::Word(column)] => Some(format!("{table}.{column}")),
        _ => None,
    };
    all.windows(3).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cuts::cuts;
    use super::super::cuts::tests::has;

    #[test]
    fn a_constant_or_a_column_may_stand_for_an_item() {
        let rows = "SELECT 1 FROM t AS a WHERE (a.x, f(a.y, 2) LIKE 'z') < (SELECT b.x, 1 FROM u AS b)";
        for item in ["NULL", "0", "1", "a.y"] {
            has(rows, &format!("SELECT 1 FROM t AS a WHERE (a.x, {item}) < (SELECT b.x, 1 FROM u AS b)"));
        }
        has("SELECT a + (SELECT MAX(b) FROM t) FROM u", "SELECT a + 1 FROM u");
        has("SELECT 1 WHERE c IN (1, 2 + a.x)", "SELECT 1 WHERE c IN (1, a.x)");
        // A table is none, and so is what a table has.
        let created = "CREATE TABLE t(a INTEGER NOT NULL UNIQUE)";
        assert!(!cuts(created).contains(&"CREATE TABLE t(NULL)".to_owned()));
        let read = cuts("SELECT 1 FROM (SELECT a FROM t WHERE b) AS s");
        assert!(!read.iter().any(|cut| cut.starts_with("SELECT 1 FROM 1")), "{read:?}");
    }

    #[test]
    fn what_stands_in_parentheses_may_be_all() {
        let sum = "SELECT 0 + (SELECT d.n FROM (SELECT NULL AS n FROM t) AS d) & 7, 1 FROM u WHERE 1 = (f(a) >= 2)";
        has(sum, "SELECT (SELECT d.n FROM (SELECT NULL AS n FROM t) AS d), 1 FROM u WHERE 1 = (f(a) >= 2)");
        has(sum, "SELECT 0 + (SELECT NULL AS n FROM t) & 7, 1 FROM u WHERE 1 = (f(a) >= 2)");
        has(sum, "SELECT 0 + (SELECT d.n FROM (SELECT NULL AS n FROM t) AS d) & 7, 1 FROM u WHERE (f(a) >= 2)");
        has(sum, "SELECT 0 + (SELECT d.n FROM (SELECT NULL AS n FROM t) AS d) & 7, 1 FROM u WHERE f(a)");
    }
}
