//! Cases with one construct taken out, for experiments.
//!
//! Texts are changed token by token, so it does not matter whether a parser knows the dialect. What comes out need not run,
//! nor mean the same: whoever runs it judges.

use crate::program::{Step, Text};
use crate::sql::lex::{Token, tokens};

/// Constructs that can be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Construct {
    /// Indexes.
    Index,
    /// PRIMARY KEY.
    #[strum(to_string = "primary key")]
    PrimaryKey,
    /// UNIQUE.
    Unique,
    /// NOT NULL in a table's definition.
    #[strum(to_string = "not null")]
    NotNull,
    /// CHECK.
    Check,
    /// Options of tables, such as WITHOUT ROWID.
    #[strum(to_string = "table option")]
    TableOption,
    /// COLLATE.
    Collate,
    /// ANALYZE and the like.
    Statistics,
    /// LEFT, RIGHT and FULL before JOIN.
    #[strum(to_string = "outer join")]
    OuterJoin,
    /// DISTINCT.
    Distinct,
    /// UNION without ALL.
    Union,
    /// ORDER BY.
    #[strum(to_string = "order by")]
    OrderBy,
    /// MATERIALIZED.
    Materialized,
}

/// All of them.
pub(super) const NEUTRAL: [Construct; 13] = [
    Construct::Index,
    Construct::PrimaryKey,
    Construct::Unique,
    Construct::NotNull,
    Construct::Check,
    Construct::TableOption,
    Construct::Collate,
    Construct::Statistics,
    Construct::OuterJoin,
    Construct::Distinct,
    Construct::Union,
    Construct::OrderBy,
    Construct::Materialized,
];

/// Statements and steps without a construct; `None` if they do not have it.
pub(super) fn neutralised(
    construct: Construct,
    statements: &[String],
    steps: &[Step],
) -> Option<(Vec<String>, Vec<Step>)> {
    let mut found = false;
    let mut change = |text: &str| {
        let other = without(construct, text);
        found |= other.is_some();
        other.unwrap_or_else(|| text.to_owned())
    };
    let mut changed: Vec<String> = statements.iter().map(|statement| change(statement)).collect();
    changed.retain(|statement| !statement.is_empty());
    let mut steps = steps.to_vec();
    for step in &mut steps {
        for text in step.before.iter_mut().chain([&mut step.sql]) {
            // A hole stands at a place of the text as it is.
            if text.holes().is_empty() {
                *text = Text::from(change(text.sql()));
            }
        }
    }
    found.then_some((changed, steps))
}

/// A text without a construct, empty if nothing is left; `None` if it does not have it.
pub(super) fn without(construct: Construct, text: &str) -> Option<String> {
    let all = tokens(text).ok()?;
    let is_create = |what: &str| {
        let words = all.iter().filter(|token| matches!(token, Token::Word(_))).take(4);
        all.first().is_some_and(|token| token.is_word("create")) && words.skip(1).any(|token| token.is_word(what))
    };
    let first = |words: &[&str]| words.iter().any(|word| all.first().is_some_and(|token| token.is_word(word)));
    let table = is_create("table");
    match construct {
        Construct::Index => (is_create("index") || first(&["reindex"])).then(String::new),
        Construct::Statistics => first(&["analyze", "vacuum", "reindex", "optimize", "checkpoint"]).then(String::new),
        Construct::PrimaryKey if table => declared(&all, &["primary", "key"]),
        Construct::Unique if table => declared(&all, &["unique"]),
        Construct::NotNull if table => cut(&all, |at| phrase(&all, at, &["not", "null"])),
        Construct::Check if table => declared(&all, &["check"]),
        Construct::TableOption if table => option(&all),
        Construct::PrimaryKey | Construct::Unique | Construct::NotNull | Construct::Check | Construct::TableOption => {
            None
        }
        Construct::Collate => cut(&all, |at| {
            let end = phrase(&all, at, &["collate"])?;
            next(&all, end).map(|word| word + 1)
        }),
        Construct::OuterJoin => cut(&all, |at| {
            let outer = ["left", "right", "full"].iter().any(|word| all[at].is_word(word));
            let rest = next(&all, at + 1)?;
            let join = phrase(&all, rest, &["outer"]).map_or(Some(rest), |end| next(&all, end))?;
            (outer && all[join].is_word("join")).then_some(join)
        }),
        Construct::Distinct => cut(&all, |at| phrase(&all, at, &["distinct"])),
        Construct::Materialized => {
            cut(&all, |at| phrase(&all, at, &["not", "materialized"]).or_else(|| phrase(&all, at, &["materialized"])))
        }
        Construct::Union => union_all(&all),
        Construct::OrderBy => cut(&all, |at| {
            let start = phrase(&all, at, &["order", "by"])?;
            Some(clause_end(&all, start))
        }),
    }
}

/// The position of the next token that is no space.
fn next(all: &[Token], at: usize) -> Option<usize> {
    (at..all.len()).find(|at| !matches!(all[*at], Token::Space(_)))
}

/// Where words that stand one after the other end, if they begin here.
fn phrase(all: &[Token], at: usize, words: &[&str]) -> Option<usize> {
    let mut at = at;
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            at = next(all, at)?;
        }
        if !all.get(at)?.is_word(word) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// The text without the pieces whose ends `piece` gives for their starts; `None` if there is none.
fn cut(all: &[Token], piece: impl Fn(usize) -> Option<usize>) -> Option<String> {
    let mut out = String::new();
    let (mut at, mut found) = (0, false);
    while at < all.len() {
        if let Some(end) = piece(at).filter(|end| *end > at) {
            found = true;
            at = end;
            // Words beside the gap stay words.
            out.push(' ');
            continue;
        }
        out.push_str(&all[at].text());
        at += 1;
    }
    found.then(|| out.trim().to_owned())
}

/// The closing parenthesis that belongs to an opening one.
fn closing(all: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..all.len()).find(|at| {
        match all[*at] {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Where a clause ends: before what closes it, or the clause that may follow.
fn clause_end(all: &[Token], start: usize) -> usize {
    let mut depth = 0;
    for (at, token) in all.iter().enumerate().skip(start) {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if depth == 0 => return at,
            Token::Symbol(')') => depth -= 1,
            Token::Word(word) if depth == 0 => {
                let word = word.to_ascii_lowercase();
                if ["limit", "offset", "rows", "range", "groups", "fetch"].contains(&word.as_str()) {
                    return at;
                }
            }
            _ => {}
        }
    }
    all.len()
}

/// A table's definition without a constraint that begins with these words, of a column or of the table.
fn declared(all: &[Token], words: &[&str]) -> Option<String> {
    let open = all.iter().position(|token| *token == Token::Symbol('('))?;
    cut(all, |at| {
        if at < open {
            return None;
        }
        // With the comma before it, if it is an item of its own.
        let comma = all[at] == Token::Symbol(',');
        let start = if comma { next(all, at + 1)? } else { at };
        let mut end = phrase(all, start, words)?;
        if let Some(list) = next(all, end).filter(|list| all[*list] == Token::Symbol('(')) {
            end = closing(all, list)? + 1;
        }
        for more in [["autoincrement"], ["desc"], ["asc"]] {
            end = next(all, end).and_then(|at| phrase(all, at, &more)).unwrap_or(end);
        }
        Some(end)
    })
}

/// A table's definition without what stands behind its columns.
fn option(all: &[Token]) -> Option<String> {
    let open = all.iter().position(|token| *token == Token::Symbol('('))?;
    let end = closing(all, open)?;
    next(all, end + 1)?;
    Some(all[..=end].iter().map(Token::text).collect())
}

/// The text with ALL behind every UNION.
fn union_all(all: &[Token]) -> Option<String> {
    let mut found = false;
    let mut out = String::new();
    for (at, token) in all.iter().enumerate() {
        out.push_str(&token.text());
        if token.is_word("union") && !next(all, at + 1).is_some_and(|next| all[next].is_word("all")) {
            found = true;
            out.push_str(" ALL");
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(construct: Construct, text: &str, expect: Option<&str>) {
        let tidy = |text: &str| crate::sql::lex::tidy(text);
        assert_eq!(without(construct, text).as_deref().map(tidy), expect.map(tidy), "{construct}: {text}");
    }

    #[test]
    fn constructs_are_taken_out() {
        let table = "CREATE TABLE t(a INT PRIMARY KEY DESC, b TEXT COLLATE NOCASE UNIQUE, UNIQUE(a, b), CHECK (f(a) > 0)) STRICT";
        check(
            Construct::Unique,
            table,
            Some("CREATE TABLE t(a INT PRIMARY KEY DESC, b TEXT COLLATE NOCASE  , CHECK (f(a) > 0)) STRICT"),
        );
        check(
            Construct::PrimaryKey,
            "CREATE TABLE t(a INT PRIMARY KEY DESC, b INT)",
            Some("CREATE TABLE t(a INT  , b INT)"),
        );
        check(Construct::Check, "CREATE TABLE t(a INT CHECK (f(a) > 0))", Some("CREATE TABLE t(a INT  )"));
        check(Construct::TableOption, "CREATE TABLE t(a INT) STRICT", Some("CREATE TABLE t(a INT)"));
        check(Construct::TableOption, "CREATE TABLE t(a INT)", None);
        check(Construct::Collate, "SELECT a COLLATE NOCASE = 'collate x'", Some("SELECT a   = 'collate x'"));
        check(Construct::Index, "CREATE UNIQUE INDEX i ON t(a)", Some(""));
        check(Construct::Index, "CREATE TABLE t(a INT)", None);
        check(
            Construct::OuterJoin,
            "SELECT * FROM a LEFT OUTER JOIN b RIGHT JOIN c",
            Some("SELECT * FROM a  JOIN b  JOIN c"),
        );
        check(Construct::OuterJoin, "SELECT LEFT('a', 1)", None);
        check(Construct::Distinct, "SELECT DISTINCT a", Some("SELECT   a"));
        check(
            Construct::Union,
            "SELECT 1 UNION SELECT 2 UNION ALL SELECT 3",
            Some("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"),
        );
        check(
            Construct::OrderBy,
            "SELECT (SELECT 1 ORDER BY f(1), 2 LIMIT 1) ORDER BY 1",
            Some("SELECT (SELECT 1  LIMIT 1)"),
        );
        check(Construct::NotNull, "SELECT a IS NOT NULL", None);
    }
}
