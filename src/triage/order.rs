//! What decides which rows a query returns where its text leaves it open: the keys of ORDER BY with LIMIT and of windows, and
//! those of groups. What is cut must not take away from that, or the query may differ from its reference by right.
//!
//! It is read token by token, for it may be in any dialect.

use super::finding::Finding;
use crate::program::Text;
use crate::sql::from::{SETS, end_of};
use crate::sql::lex::{Token, before, close, groups, is_one_of, next, tokens};
use std::collections::BTreeSet;
use std::ops::Range;

/// Aggregates that no order of their rows changes.
const UNORDERED: [&str; 9] = ["count", "sum", "min", "max", "avg", "total", "bool_and", "bool_or", "count_if"];

/// Aggregates that the order of their rows changes.
const ORDERED: [&str; 12] = [
    "any_value",
    "array_agg",
    "first",
    "group_concat",
    "json_agg",
    "json_arrayagg",
    "json_group_array",
    "json_group_object",
    "last",
    "list",
    "listagg",
    "string_agg",
];

/// What the queries of a finding, and its views, say of order and groups.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// How many keys each ORDER BY has on which the result hangs.
    orders: Vec<usize>,
    /// How many keys each GROUP BY has.
    groups: Vec<usize>,
    /// Whether there are aggregates.
    aggregates: bool,
    /// How often a query of groups names a column that is none of its keys.
    bare: usize,
}

impl Order {
    pub(super) fn of(finding: &Finding) -> Self {
        let queries = finding.queries.iter().flat_map(|query| query.step.texts()).map(Text::sql);
        let views = finding.statements.iter().map(String::as_str).filter(|s| s.starts_with("CREATE VIEW"));
        let texts: Vec<Vec<Token>> = queries.chain(views).filter_map(|text| tokens(text).ok()).collect();
        let tables = finding.statements.iter().filter(|s| !s.starts_with("CREATE VIEW"));
        let mut columns = BTreeSet::new();
        for statement in tables {
            let all = tokens(statement).unwrap_or_default();
            columns.extend(defined(&all).into_iter().chain(named(&all)));
        }
        columns.extend(texts.iter().flat_map(|all| named(all)));
        let mut order = Self::default();
        for all in &texts {
            order.read(all, &columns);
        }
        order
    }

    /// Whether a cut has all that is needed of it.
    pub(super) fn is_kept(&self, cut: &Finding) -> bool {
        let now = Self::of(cut);
        is_part(&now.orders, &self.orders)
            && is_part(&now.groups, &self.groups)
            && (!now.aggregates || now.groups.len() == self.groups.len())
            && now.bare <= self.bare
    }

    fn read(&mut self, all: &[Token], columns: &BTreeSet<String>) {
        self.aggregates |= (0..all.len()).any(|at| called(all, at).is_some_and(|name| is_aggregate(&name)));
        let inside = groups(all).into_iter().map(|(open, close)| (Some(open), open + 1..close));
        for (open, range) in inside.chain([(None, 0..all.len())]) {
            let at_level = level(all, range.clone());
            let words = |word: &str| at_level.iter().copied().filter(|at| all[*at].is_word(word)).collect::<Vec<_>>();
            let orders = words("order").first().map(|order| keys(all, *order, range.end).len());
            let is_cut = !words("limit").is_empty() || !words("fetch").is_empty();
            let of_distinct =
                words("distinct").iter().any(|at| next(all, at + 1).is_some_and(|on| all[on].is_word("on")));
            let name = open.and_then(|open| before(all, open)).filter(|name| matches!(all[*name], Token::Word(_)));
            let is_over = name.is_some_and(|name| all[name].is_word("over"));
            let is_window = next(all, range.start).is_some_and(|first| is_one_of(&all[first], &["partition", "order"]));
            let call = name.and_then(|name| called(all, name));
            let hangs = if is_over || is_window {
                // The sum of all rows of a partition hangs on no order.
                let of_all =
                    name.and_then(|over| window_function(all, over)).is_some_and(|name| is_one(&name, &UNORDERED));
                orders.is_some() || !of_all
            } else {
                is_cut || of_distinct || call.is_some_and(|name| orders.is_some() || is_one(&name, &ORDERED))
            };
            if hangs {
                self.orders.push(orders.unwrap_or_default());
            }
            let selects = words("select");
            for (number, select) in selects.iter().enumerate() {
                let end = selects.get(number + 1).map_or(range.end, |next| *next);
                self.read_groups(all, *select..end, columns);
            }
        }
    }

    /// Reads what a query says of groups.
    fn read_groups(&mut self, all: &[Token], query: Range<usize>, columns: &BTreeSet<String>) {
        let at_level = level(all, query.clone());
        let group = at_level.iter().copied().find(|at| all[*at].is_word("group"));
        let keys = group.map(|group| keys(all, group, query.end)).unwrap_or_default();
        if group.is_some() {
            self.groups.push(keys.len());
        }
        let is_in = |at: usize, ranges: &[Range<usize>]| ranges.iter().any(|range| range.contains(&at));
        // What aggregates and subqueries read, and what windows are of, is looked at elsewhere.
        let (mut aggregates, mut skipped) = (false, Vec::new());
        let mut inside: Vec<_> = groups(all).into_iter().filter(|(open, _)| query.contains(open)).collect();
        // What is around others comes before them.
        inside.sort_unstable();
        for (open, close) in inside {
            let name = before(all, open).and_then(|name| called(all, name));
            let over = next(all, close + 1).is_some_and(|over| all[over].is_word("over"));
            let aggregates_here = name.is_some_and(|name| is_aggregate(&name)) && !over;
            let is_query =
                next(all, open + 1).is_some_and(|first| is_one_of(&all[first], &["select", "with", "values"]));
            if is_query || aggregates_here {
                skipped.push(open..close);
            }
            aggregates |= aggregates_here && !is_in(open, &skipped[..skipped.len() - 1]);
        }
        if group.is_none() && !aggregates {
            return;
        }
        let is_key = |word: &str| {
            keys.iter().any(|key| all[key.clone()].iter().any(|token| token.is_word(word)))
                || keys.iter().any(|key| {
                    matches!(
                        all[key.clone()].iter().find(|token| !matches!(token, Token::Space(_))),
                        Some(Token::Literal(_))
                    )
                })
        };
        let selects = query.start + 1..end_of_items(all, &at_level, query.end);
        let having = at_level.iter().copied().find(|at| all[*at].is_word("having"));
        let having = having.map(|having| having + 1..end_of(all, having + 1));
        for at in selects.chain(having.into_iter().flatten()) {
            let Token::Word(word) = all[at] else { continue };
            let is_column = columns.contains(&word.to_ascii_lowercase())
                && !next(all, at + 1).is_some_and(|then| matches!(all[then], Token::Symbol('(' | '.')))
                && !before(all, at).is_some_and(|as_| all[as_].is_word("as"));
            self.bare += usize::from(is_column && !is_key(word) && !is_in(at, &skipped));
        }
    }
}

/// The positions between parentheses that are in none of their own.
fn level(all: &[Token], range: Range<usize>) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for at in range {
        match all[at] {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            _ if depth == 0 => found.push(at),
            _ => {}
        }
    }
    found
}

/// The keys of an ORDER BY or GROUP BY that are no constant NULL.
fn keys(all: &[Token], clause: usize, end: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some(mut at) = next(all, clause + 1).map(|by| by + 1) else { return found };
    while at < end {
        let key = at..end_of(all, at).min(end);
        at = key.end + 1;
        let words: Vec<&Token> = all[key.clone()].iter().filter(|token| !matches!(token, Token::Space(_))).collect();
        if !words.is_empty() && !words[0].is_word("null") {
            found.push(key.clone());
        }
        if all.get(key.end) != Some(&Token::Symbol(',')) {
            break;
        }
    }
    found
}

/// Where the items that are selected end.
fn end_of_items(all: &[Token], at_level: &[usize], end: usize) -> usize {
    let ends = |at: &usize| {
        is_one_of(&all[*at], &["from", "where", "group", "having", "order", "limit"]) || is_one_of(&all[*at], &SETS)
    };
    at_level.iter().copied().skip(1).find(ends).unwrap_or(end)
}

/// The name of the function that is called here.
fn called(all: &[Token], at: usize) -> Option<String> {
    let Token::Word(name) = all[at] else { return None };
    (all.get(at + 1) == Some(&Token::Symbol('('))).then(|| name.to_ascii_lowercase())
}

/// The name of the function before OVER.
fn window_function(all: &[Token], over: usize) -> Option<String> {
    let end = before(all, over).filter(|end| all[*end] == Token::Symbol(')'))?;
    let (open, _) = groups(all).into_iter().find(|(_, close)| *close == end)?;
    called(all, before(all, open)?)
}

fn is_one(name: &str, names: &[&str]) -> bool {
    names.contains(&name)
}

fn is_aggregate(name: &str) -> bool {
    is_one(name, &UNORDERED) || is_one(name, &ORDERED)
}

/// The names that begin what stands in the first parentheses of a definition.
fn defined(all: &[Token]) -> Vec<String> {
    let Some(open) = all.iter().position(|token| *token == Token::Symbol('(')) else { return Vec::new() };
    let Some(end) = close(all, open) else { return Vec::new() };
    let level = level(all, open + 1..end);
    let begins = |at: &usize| before(all, *at).is_some_and(|comma| matches!(all[comma], Token::Symbol('(' | ',')));
    level.into_iter().filter(begins).filter_map(|at| name(&all[at])).collect()
}

/// The names that a query, or a change of a table, gives.
fn named(all: &[Token]) -> Vec<String> {
    let is_given = |at: &usize| before(all, *at).is_some_and(|word| is_one_of(&all[word], &["as", "column"]));
    (0..all.len()).filter(is_given).filter_map(|at| name(&all[at])).collect()
}

fn name(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(word.to_ascii_lowercase()),
        _ => None,
    }
}

/// Whether each number of the one list has its own in the other.
fn is_part(few: &[usize], many: &[usize]) -> bool {
    let mut left = many.to_vec();
    few.iter().all(|number| left.iter().position(|other| other == number).map(|at| left.swap_remove(at)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Step;
    use crate::triage::finding::FindingQuery;
    use crate::triage::finding::tests::finding;

    fn of(sql: &str) -> Finding {
        let statements = ["CREATE TABLE t(a INT, b INT, CHECK (a > 0))", "ALTER TABLE t ADD COLUMN c INT"];
        let statements = statements.map(str::to_owned).into();
        Finding { queries: vec![FindingQuery::from(Step::query(sql))], statements, ..finding() }
    }

    fn kept(sql: &str, cut: &str) -> bool {
        Order::of(&of(sql)).is_kept(&of(cut))
    }

    #[test]
    fn what_decides_between_rows_is_kept() {
        for (sql, cut) in [
            ("SELECT a FROM t ORDER BY 1, 2 LIMIT 3", "SELECT a FROM t ORDER BY 1 LIMIT 3"),
            ("SELECT a FROM t ORDER BY 1, 2 LIMIT 3", "SELECT a FROM t ORDER BY 1, NULL LIMIT 3"),
            ("SELECT a FROM t ORDER BY 1 LIMIT 3", "SELECT a FROM t LIMIT 3"),
            ("SELECT 1 FROM (SELECT a FROM t ORDER BY 1 LIMIT 3)", "SELECT 1 FROM (SELECT a FROM t LIMIT 3)"),
            ("SELECT a, b FROM t GROUP BY a, b", "SELECT a, b FROM t GROUP BY a"),
            ("SELECT a, MAX(b) FROM t GROUP BY a", "SELECT a, b FROM t GROUP BY a"),
            ("SELECT a, MAX(b) FROM t GROUP BY a", "SELECT a, MAX(b) FROM t"),
            ("SELECT a, MAX(c) FROM t GROUP BY a", "SELECT a, c FROM t GROUP BY a"),
            (
                "SELECT MAX(b) FROM t GROUP BY a HAVING (a, 1) = (1, MAX(b))",
                "SELECT MAX(b) FROM t GROUP BY a HAVING (a, 1) = (1, b)",
            ),
            ("SELECT ROW_NUMBER() OVER (ORDER BY a, b) FROM t", "SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t"),
            ("SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t", "SELECT ROW_NUMBER() OVER () FROM t"),
            ("SELECT group_concat(a ORDER BY a, b) FROM t", "SELECT group_concat(a ORDER BY b) FROM t"),
            ("SELECT group_concat(a ORDER BY a) FROM t", "SELECT group_concat(a) FROM t"),
            ("SELECT DISTINCT ON (a) b FROM t ORDER BY a, b", "SELECT DISTINCT ON (a) b FROM t ORDER BY a"),
        ] {
            assert!(!kept(sql, cut), "{cut}");
            assert!(kept(sql, sql), "{sql}");
        }
    }

    #[test]
    fn what_decides_nothing_may_go() {
        for (sql, cut) in [
            ("SELECT a FROM t ORDER BY 1, 2 LIMIT 3", "SELECT a FROM t ORDER BY 1"),
            ("SELECT a FROM t ORDER BY 1, 2", "SELECT a FROM t"),
            ("SELECT a, b FROM t GROUP BY a, b", "SELECT a FROM t GROUP BY a, b"),
            ("SELECT a FROM t GROUP BY a", "SELECT a FROM t"),
            ("SELECT (a, 1) = (SELECT 1, MAX(b) FROM t) FROM t", "SELECT (a, b) = (SELECT 1, MAX(b) FROM t) FROM t"),
            ("SELECT a, MAX(b) FROM t GROUP BY 1", "SELECT a FROM t GROUP BY 1"),
            ("SELECT a + 1, MAX(b) FROM t GROUP BY a + 1", "SELECT MAX(b) FROM t GROUP BY a + 1"),
            ("SELECT a FROM t GROUP BY a HAVING EXISTS (SELECT b FROM t)", "SELECT a FROM t GROUP BY a HAVING 1"),
            ("SELECT SUM(b) OVER (PARTITION BY a ORDER BY b) FROM t", "SELECT SUM(b) OVER (PARTITION BY a) FROM t"),
            ("SELECT ROW_NUMBER() OVER (ORDER BY a, b), a FROM t", "SELECT a FROM t"),
            ("SELECT 1 FROM t WHERE a IN (SELECT b FROM t ORDER BY b LIMIT 1) AND b", "SELECT 1 FROM t WHERE b"),
        ] {
            assert!(kept(sql, cut), "{cut}");
        }
    }
}
