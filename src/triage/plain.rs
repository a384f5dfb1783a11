//! Queries written more plainly: the same query in fewer words.
//!
//! Members are written so that any expression may stand in them, with parentheses, qualified names and names for what is
//! computed. A reader needs none of them where nothing hangs on them. Texts are changed token by token, so it does not matter
//! whether a parser knows the dialect; what is changed here has one reading in all of them.

use crate::sql::from::SETS;
use crate::sql::lex::{Token, tidy, tokens};
use std::ops::Range;

/// Words that end the expression before them.
const ENDS: [&str; 26] = [
    "from",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "union",
    "intersect",
    "except",
    "as",
    "when",
    "then",
    "else",
    "end",
    "join",
    "left",
    "right",
    "full",
    "inner",
    "cross",
    "natural",
    "window",
    "on",
    "and",
    "or",
    "is",
];

/// Of these, the words after which an expression of any operators has ended: AND binds more than OR, and IS more than AND.
const ALL_END: usize = 23;

/// Words behind which a whole expression begins.
const BEGINS: [&str; 8] = ["select", "distinct", "where", "having", "on", "when", "then", "else"];

/// Words behind which an operand may stand.
const BEFORE_OPERAND: [&str; 6] = ["and", "or", "not", "between", "like", "case"];

/// Words with which something begins that is no expression.
const QUERIES: [&str; 4] = ["select", "with", "values", "table"];

/// Words that are no function's before parentheses.
const NO_CALLS: [&str; 4] = ["not", "exists", "all", "any"];

/// Words before parentheses in which a name behind AS is a type's.
const CASTS: [&str; 4] = ["cast", "try_cast", "safe_cast", "convert"];

/// Words before parentheses with a query whose columns are read by their names.
const SOURCES: [&str; 5] = ["from", "join", "lateral", "as", "materialized"];

/// What may be left out of a query.
pub type Change = fn(&[Token]) -> Vec<Range<usize>>;

/// All of them, one after another: without qualifiers more names are not used.
pub const CHANGES: [Change; 4] = [parentheses, aliases, qualifiers, aliases];

/// A query without what a change leaves out; `None` if it has nothing of it.
pub fn plainer(sql: &str, change: Change) -> Option<String> {
    let mut text = sql.to_owned();
    while let Some(plain) = once(&text, change) {
        text = plain;
    }
    (text != sql).then_some(text)
}

fn once(sql: &str, change: Change) -> Option<String> {
    let all = tokens(sql).ok()?;
    let gone = change(&all);
    let is_gone = |at: usize| gone.iter().any(|range| range.contains(&at));
    // A word that stood beside a parenthesis does not become one with the word behind it.
    let text = |(at, token): (usize, &Token)| if is_gone(at) { " ".to_owned() } else { token.text() };
    let text: String = all.iter().enumerate().map(text).collect();
    let text = tidy(text.trim());
    (text.len() < sql.len()).then_some(text)
}

/// The tokens that are no white space, by their positions.
fn dense(all: &[Token]) -> Vec<usize> {
    (0..all.len()).filter(|at| !matches!(all[*at], Token::Space(_))).collect()
}

fn is_any(token: Option<&Token>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| token.is_word(word)))
}

fn word_is(name: &str, words: &[&str]) -> bool {
    is_any(Some(&Token::Word(name)), words)
}

/// One pair of parentheses around a whole expression, a single operand or other parentheses.
fn parentheses(all: &[Token]) -> Vec<Range<usize>> {
    let dense = dense(all);
    let token = |at: usize| dense.get(at).map(|at| &all[*at]);
    let values = all.iter().any(|token| token.is_word("values"));
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut pairs: Vec<(usize, usize, bool)> = Vec::new();
    for at in 0..dense.len() {
        match token(at) {
            Some(Token::Symbol('(')) => open.push((at, false)),
            Some(Token::Symbol(')')) => pairs.extend(open.pop().map(|(start, comma)| (start, at, comma))),
            Some(Token::Symbol(',')) => {
                if let Some((_, comma)) = open.last_mut() {
                    *comma = true;
                }
            }
            _ => {}
        }
    }
    for (open, close, comma) in &pairs {
        let (before, after) = (open.checked_sub(1).and_then(token), token(close + 1));
        let inside = || (open + 1..*close).filter_map(token);
        let within = |at: usize| pairs.iter().any(|(start, end, _)| open < start && start < &at && at < *end);
        let is_set = (open + 1..*close).any(|at| is_any(token(at), &SETS) && !within(at));
        if *comma || close - open < 2 || is_any(token(open + 1), &QUERIES) || is_set {
            continue;
        }
        let around = pairs.iter().any(|(start, end, _)| start + 1 == *open && *end == close + 1);
        let ends =
            after.is_none_or(|after| matches!(after, Token::Symbol(')' | ','))) || is_any(after, &ENDS[..ALL_END]);
        let whole = is_any(before, &BEGINS) && ends;
        let operand = is_operand(&inside().collect::<Vec<_>>());
        let literal = matches!(token(open + 1), Some(Token::Literal(_)));
        let may_begin = match before {
            Some(Token::Symbol(',')) => !literal && !values,
            // The parenthesis of a call or a list.
            Some(Token::Symbol('(')) => true,
            Some(Token::Symbol(c)) => "=<>+-*/%|&!".contains(*c),
            word => is_any(word, &BEGINS) || is_any(word, &BEFORE_OPERAND) || (is_any(word, &["by"]) && !literal),
        };
        let may_end = after.is_none_or(|after| match after {
            Token::Symbol(c) => ")=<>+-*/%|&!,".contains(*c),
            word => is_any(Some(word), &ENDS) || is_any(Some(word), &["asc", "desc", "in", "not", "like", "between"]),
        });
        if around || whole || operand && may_begin && may_end {
            return vec![dense[*open]..dense[*open] + 1, dense[*close]..dense[*close] + 1];
        }
    }
    Vec::new()
}

/// Whether this is a literal, a name, a call or what stands in parentheses.
fn is_operand(tokens: &[&Token]) -> bool {
    match tokens {
        [Token::Literal(_) | Token::Word(_)] | [Token::Word(_), Token::Symbol('.'), Token::Word(_)] => true,
        [Token::Word(word), Token::Symbol('('), .., Token::Symbol(')')] => {
            !word_is(word, &NO_CALLS) && is_one(&tokens[1..])
        }
        [Token::Symbol('('), .., Token::Symbol(')')] => is_one(tokens),
        _ => false,
    }
}

/// Whether the first parenthesis is closed by the last.
fn is_one(tokens: &[&Token]) -> bool {
    let mut depth = 0;
    let closes = tokens.iter().position(|token| {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    closes == Some(tokens.len() - 1)
}

/// Whether a name stands in quotes: it may be the same as one without.
fn any_quoted(all: &[Token]) -> bool {
    all.iter()
        .any(|token| matches!(token, Token::Word(word) if !word.starts_with(|c: char| c.is_alphanumeric() || c == '_')))
}

/// Names that are given and not used, of what nobody reads by a name.
fn aliases(all: &[Token]) -> Vec<Range<usize>> {
    let dense = dense(all);
    let token = |at: usize| dense.get(at).map(|at| &all[*at]);
    let before = |at: usize| at.checked_sub(1).and_then(token);
    let count = |name: &str| all.iter().filter(|token| token.is_word(name)).count();
    let given = |name: &str| {
        (0..dense.len()).filter(|at| is_any(token(*at), &["as"]) && is_any(token(at + 1), &[name])).count()
    };
    let qualifies = |name: &str| {
        (0..dense.len()).any(|at| is_any(token(at), &[name]) && token(at + 1) == Some(&Token::Symbol('.')))
    };
    // Here columns are found by names that nobody writes, and there by those that they are given or not.
    if count("natural") + count("name") + count("order") > 0 || any_quoted(all) {
        return Vec::new();
    }
    // Whether somebody reads what the parentheses around have, or the name is a type's.
    let mut named: Vec<bool> = Vec::new();
    let mut gone = Vec::new();
    for at in 0..dense.len() {
        match token(at) {
            Some(Token::Symbol('(')) => named.push(match before(at) {
                Some(Token::Symbol(c)) => ",()".contains(*c),
                word => is_any(word, &CASTS) || is_any(word, &SOURCES),
            }),
            Some(Token::Symbol(')')) => drop(named.pop()),
            Some(word) if word.is_word("as") && named.last() != Some(&true) => {
                let Some(Token::Word(name)) = token(at + 1) else { continue };
                let is_query = token(at + 2) == Some(&Token::Symbol('(')) || word_is(name, &["materialized", "not"]);
                // Without its name a table is seen by its own, by which columns of a table around may be read.
                let hides = match before(at) {
                    Some(Token::Word(table)) => qualifies(table),
                    _ => false,
                };
                let is_plain = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
                if count(name) == given(name) && is_plain && !is_query && !hides {
                    gone.push(dense[at]..dense[at + 1] + 1);
                }
            }
            _ => {}
        }
    }
    gone
}

/// A SELECT of a query: what it reads, if that is one table, and where it reads columns of it by its name.
#[derive(Default)]
struct Scope {
    /// How many parentheses are around it.
    depth: usize,
    /// The name of its only table, when that is read.
    table: Option<String>,
    /// Whether a name alone may be something else than a column of its table.
    unsure: bool,
    /// Positions of words with a point behind them, which are not those of a SELECT within.
    qualified: Vec<usize>,
}

/// The table's name before those of columns, in each SELECT over one table that gives no names: a name alone is first looked for
/// in the SELECT where it stands.
fn qualifiers(all: &[Token]) -> Vec<Range<usize>> {
    let dense = dense(all);
    let token = |at: usize| dense.get(at).map(|at| &all[*at]);
    let is = |at: usize, word: &str| is_any(token(at), &[word]);
    let symbol = |at: usize, c: char| token(at) == Some(&Token::Symbol(c));
    // A parameter of a lambda or a comprehension may have the name of a column, and a column that has no name gets one of
    // its text, by which it is found here.
    let is_special = |at: usize| {
        ["lambda", "for", "natural", "name"].iter().any(|word| is(at, word)) || symbol(at, '-') && symbol(at + 1, '>')
    };
    if any_quoted(all) || (0..dense.len()).any(is_special) {
        return Vec::new();
    }
    let (mut open, mut done, mut depth): (Vec<Scope>, Vec<Scope>, usize) = Default::default();
    for at in 0..dense.len() {
        match token(at) {
            Some(Token::Symbol('(')) => depth += 1,
            Some(Token::Symbol(')')) => {
                done.extend(open.pop_if(|scope| scope.depth == depth));
                depth = depth.saturating_sub(1);
            }
            Some(word) if word.is_word("select") => {
                done.extend(open.pop_if(|scope| scope.depth == depth));
                open.push(Scope { depth, ..Scope::default() });
            }
            Some(Token::Word(word)) => {
                let Some(scope) = open.last_mut() else { continue };
                if symbol(at + 1, '.') {
                    scope.qualified.push(at);
                }
                if scope.depth != depth {
                    continue;
                }
                if word_is(word, &["from"]) && !at.checked_sub(1).is_some_and(|at| is(at, "distinct")) {
                    scope.table = only_table(&token, at + 1);
                }
                // There a name may be that of what is selected.
                scope.unsure |=
                    word_is(word, &["as", "order", "group", "having", "window", "qualify", "on", "returning"])
                        && (scope.table.is_none() || !word_is(word, &["as"]));
            }
            _ => {}
        }
    }
    done.append(&mut open);
    let of_table = |scope: &Scope, at: &usize| {
        scope.table.as_deref().is_some_and(|table| is(*at, table))
            && matches!(token(at + 2), Some(Token::Word(_)))
            && at.checked_sub(1).is_none_or(|before| !symbol(before, '.'))
            && !symbol(at + 3, '(')
            && !symbol(at + 3, '.')
    };
    let sure = done.iter().filter(|scope| !scope.unsure);
    let gone = sure.flat_map(|scope| scope.qualified.iter().filter(|at| of_table(scope, at)));
    gone.map(|at| dense[*at]..dense[at + 1] + 1).collect()
}

/// The name of the table behind FROM, if there is nothing else and columns are found by it.
fn only_table<'a>(token: &dyn Fn(usize) -> Option<&'a Token<'a>>, at: usize) -> Option<String> {
    let Some(Token::Word(table)) = token(at) else { return None };
    let (name, after) = match (token(at + 1), token(at + 2)) {
        (Some(word), Some(Token::Word(name))) if word.is_word("as") => (*name, token(at + 3)),
        (after, _) => (*table, after),
    };
    let ends = after.is_none_or(|after| *after == Token::Symbol(')') || is_any(Some(after), &["where", "limit"]));
    (ends || is_any(after, &SETS)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(sql: &str, change: Change) -> String {
        plainer(sql, change).unwrap_or_else(|| sql.to_owned())
    }

    #[test]
    fn parentheses_around_operands_and_whole_expressions_go() {
        for (sql, expected) in [
            ("SELECT (t.a) AS p FROM t WHERE ((t.b) + 1 > (2))", "SELECT t.a AS p FROM t WHERE t.b + 1 > 2"),
            ("SELECT ((a + 1)) * 2 FROM t WHERE NOT(b)", "SELECT (a + 1) * 2 FROM t WHERE NOT b"),
            (
                "SELECT 1 FROM t JOIN u ON ((t.a)) = ((u.a)) WHERE (a OR b) AND c",
                "SELECT 1 FROM t JOIN u ON t.a = u.a WHERE (a OR b) AND c",
            ),
            (
                "SELECT (f(a)) IN (1), ((SELECT 1)) AS b, f((-1)) FROM t",
                "SELECT f(a) IN (1), (SELECT 1) AS b, f(-1) FROM t",
            ),
            (
                "SELECT 1 FROM t WHERE (EXISTS (SELECT 1 INTERSECT SELECT 2)) GROUP BY a",
                "SELECT 1 FROM t WHERE EXISTS (SELECT 1 INTERSECT SELECT 2) GROUP BY a",
            ),
            ("SELECT COUNT((t.a)), f((1), (x)) FROM t", "SELECT COUNT(t.a), f(1, x) FROM t"),
            (
                "SELECT CASE WHEN (a = 1) THEN (b) ELSE (c || d) END FROM t",
                "SELECT CASE WHEN a = 1 THEN b ELSE c || d END FROM t",
            ),
        ] {
            assert_eq!(plain(sql, parentheses), expected);
        }
        // An ordinal, a subquery, a row, a list, the fields of a value, precedence, and the sign of a sign.
        for sql in [
            "SELECT a FROM t ORDER BY (1)",
            "SELECT a FROM t GROUP BY b, (1)",
            "SELECT a FROM t WHERE a IN ((SELECT 1))",
            "SELECT f((a, b)) FROM t",
            "SELECT a FROM t WHERE a IN (1)",
            "SELECT (a).b FROM t",
            "SELECT DISTINCT ON (a) a FROM t",
            "SELECT a * (b + c) FROM t",
            "SELECT - (- a) FROM t",
            "SELECT a FROM t JOIN u USING (a)",
            "SELECT * FROM (VALUES (1), (2)) AS v(x)",
            "SELECT (a = b) IS NULL FROM t",
            "SELECT a FROM t WHERE (a AND b) OR c",
            "SELECT a FROM t WHERE (f(a) + g(b)) * 2 > (-1)",
            "SELECT ((SELECT 1) EXCEPT (SELECT 1))",
        ] {
            assert_eq!(plain(sql, parentheses), sql);
        }
    }

    #[test]
    fn names_that_are_not_used_go() {
        assert_eq!(
            plain("SELECT CAST(t.a AS INT) AS p1, t.b IN (SELECT u.c AS q FROM u) AS w FROM t AS t", aliases),
            "SELECT CAST(t.a AS INT), t.b IN (SELECT u.c FROM u) FROM t AS t"
        );
        assert_eq!(plain("SELECT NULL AS p, COUNT(*) AS m FROM t AS v", aliases), "SELECT NULL, COUNT(*) FROM t");
        for sql in [
            "WITH s AS (SELECT 1), r AS MATERIALIZED (SELECT 2) SELECT 3 FROM s, r",
            // By its own name the inner table would take what is the outer one's.
            "SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t AS u WHERE t.a)",
            "SELECT a FROM t WHERE EXISTS (SELECT a FROM (SELECT u.a AS w FROM u) AS s WHERE s.b)",
            "SELECT 1 FROM t NATURAL JOIN (SELECT b AS a FROM u) AS s",
            "SELECT CAST(s.a AS TEXT) AS p FROM s ORDER BY a LIMIT 1",
            "SELECT a AS \"P\" FROM s WHERE p",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM \"t\" AS s WHERE t.b = 1)",
        ] {
            assert_eq!(plain(sql, aliases), sql);
        }
    }

    #[test]
    fn the_name_of_the_only_table_goes() {
        for (sql, expected) in [
            ("SELECT t.a, 't.a' FROM t WHERE t.b = T.a", "SELECT a, 't.a' FROM t WHERE b = a"),
            (
                "SELECT t.a FROM t WHERE EXISTS (SELECT u.b FROM u WHERE u.a = t.a)",
                "SELECT a FROM t WHERE EXISTS (SELECT b FROM u WHERE a = t.a)",
            ),
            (
                "SELECT t.a FROM t WHERE t.a IN (SELECT s.b FROM t AS s INTERSECT SELECT s.c FROM t AS s LIMIT 1)",
                "SELECT a FROM t WHERE a IN (SELECT b FROM t AS s INTERSECT SELECT c FROM t AS s LIMIT 1)",
            ),
            (
                "SELECT t.a IS DISTINCT FROM (SELECT MAX(s.a) FROM t s), SUBSTR(t.b FROM 2) FROM t GROUP BY t.a",
                "SELECT t.a IS DISTINCT FROM (SELECT MAX(s.a) FROM t s), SUBSTR(t.b FROM 2) FROM t GROUP BY t.a",
            ),
            (
                "SELECT t.a FROM t JOIN u ON (SELECT COUNT(u.b) FROM u WHERE u.a IS DISTINCT FROM t.b) = 1",
                "SELECT t.a FROM t JOIN u ON (SELECT COUNT(b) FROM u WHERE a IS DISTINCT FROM t.b) = 1",
            ),
        ] {
            assert_eq!(plain(sql, qualifiers), expected);
        }
        for sql in [
            "SELECT t.a FROM t, u",
            "SELECT t.a FROM t JOIN u ON t.a = u.a",
            "SELECT t.a AS b FROM t WHERE t.b",
            "SELECT t.a FROM s.t WHERE t.a",
            "SELECT t.a FROM t u",
            "SELECT t.a FROM t(1) AS t",
            "SELECT list_transform(t.b, a -> a + t.a) FROM t",
            "SELECT list_transform(t.b, lambda a: a + t.a) FROM t",
            "SELECT [a + t.a FOR a IN t.b] FROM t",
            // Columns without a name get one of their text.
            "SELECT 1 FROM (SELECT t.a + 1 FROM t) AS x NATURAL JOIN (SELECT u.a + 1 FROM u) AS y",
            // What is selected is called a, too.
            "SELECT CASE WHEN t.a = 1 THEN 9 ELSE t.a END FROM t ORDER BY t.a LIMIT 1",
        ] {
            assert_eq!(plain(sql, qualifiers), sql);
        }
    }

    #[test]
    fn names_of_tables_go_with_the_last_that_they_qualify() {
        let mut sql =
            "SELECT t.a FROM t WHERE EXISTS (SELECT s.a FROM t AS s WHERE NULL INTERSECT SELECT s.a FROM t AS s)"
                .to_owned();
        for change in CHANGES {
            sql = plain(&sql, change);
        }
        assert_eq!(sql, "SELECT a FROM t WHERE EXISTS (SELECT a FROM t WHERE NULL INTERSECT SELECT a FROM t)");
        let correlated = "SELECT a FROM t WHERE EXISTS (SELECT a FROM t AS s WHERE t.b)";
        assert_eq!(plain(correlated, aliases), correlated);
    }
}
