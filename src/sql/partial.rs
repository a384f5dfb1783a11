//! Conditions of partial indexes together with those of queries: an engine uses such an index only where the query has its condition
//! too, so neither can be cut alone.

use super::cuts::cuts;
use super::lex::{Token, spell, tidy, tokens};
use std::collections::BTreeMap;
use std::ops::Range;

/// What a condition stands behind while it is cut.
const BEFORE: &str = "SELECT 1 WHERE ";

/// Shorter forms of the definition of a partial index, each with the query with that condition, those that lose most first.
/// None if the query does not have the condition as the index has it, but for parentheses and names of tables.
pub fn cut_together(index: &str, query: &str) -> Vec<(String, String)> {
    let Some((definition, condition)) = condition_of(index) else { return Vec::new() };
    let Some((place, names)) = tokens(query).ok().and_then(|all| place(&all, &tokens(condition).ok()?)) else {
        return Vec::new();
    };
    let (head, tail) = (&query[..place.start], &query[place.end..]);
    let shorter =
        cuts(&format!("{BEFORE}{condition}")).into_iter().filter_map(|cut| cut.strip_prefix(BEFORE).map(str::to_owned));
    let with = |condition: String| {
        let all = tokens(&condition).ok()?;
        let named = all.iter().map(|token| names.get(&token.text()).cloned().unwrap_or_else(|| token.text()));
        let query = format!("{head}({}){tail}", named.collect::<String>());
        Some((format!("{definition} WHERE {condition}"), tidy(&query)))
    };
    shorter.filter_map(with).collect()
}

/// What stands before WHERE in the definition of an index, and the condition.
fn condition_of(index: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = index.split_whitespace().take(3).collect();
    let is_index = matches!(words.as_slice(), ["CREATE", "INDEX", ..] | ["CREATE", "UNIQUE", "INDEX"]);
    index.split_once(" WHERE ").filter(|_| is_index)
}

/// Where a condition stands in a text, in bytes, and how the text names what the condition names.
fn place(all: &[Token], condition: &[Token]) -> Option<(Range<usize>, BTreeMap<String, String>)> {
    let counts = |token: &Token| !matches!(token, Token::Space(_) | Token::Symbol('(' | ')'));
    let wanted: Vec<String> = condition.iter().filter(|token| counts(token)).map(Token::text).collect();
    'starts: for start in (0..all.len()).filter(|at| counts(&all[*at])) {
        let mut names = BTreeMap::new();
        let mut at = start;
        for word in &wanted {
            while all.get(at).is_some_and(|token| !counts(token)) {
                at += 1;
            }
            let qualified = matches!(&all[at..], [Token::Word(_), Token::Symbol('.'), Token::Word(_), ..]);
            let last = if qualified { at + 2 } else { at };
            if all.get(last).is_none_or(|token| token.text() != *word) {
                continue 'starts;
            }
            if qualified {
                names.insert(word.clone(), spell(&all[at..=last]));
            }
            at = last + 1;
        }
        return balanced(all, start, at).map(|range| (range, names));
    }
    None
}

/// The tokens with the parentheses around them that close what they open, in bytes.
fn balanced(all: &[Token], mut start: usize, mut end: usize) -> Option<Range<usize>> {
    let depth = |range: Range<usize>| {
        let mut lowest = 0_i32;
        let mut depth = 0_i32;
        for token in &all[range] {
            match token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            lowest = lowest.min(depth);
        }
        (lowest, depth)
    };
    loop {
        let (lowest, left) = depth(start..end);
        if lowest < 0 {
            start = (0..start).rev().find(|at| all[*at] == Token::Symbol('('))?;
        } else if left > 0 {
            end = (end..all.len()).find(|at| all[*at] == Token::Symbol(')'))? + 1;
        } else {
            let bytes = |tokens: &[Token]| spell(tokens).len();
            return Some(bytes(&all[..start])..bytes(&all[..end]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_cut_in_the_index_and_in_the_query() {
        let index = "CREATE INDEX i ON t(a) WHERE TRUE = TRUE IN (a IN (a, b), a BETWEEN 2 AND 3, NULL)";
        let query = "SELECT NULL FROM u LEFT JOIN t AS q ON NULL WHERE (TRUE = TRUE) IN ((q.a IN (q.a, q.b)), (q.a BETWEEN 2 AND 3), NULL)";
        let all = cut_together(index, query);
        let has = |index: &str, query: &str| {
            assert!(all.contains(&(index.to_owned(), query.to_owned())), "{index}; {query}: {all:#?}");
        };
        has(
            "CREATE INDEX i ON t(a) WHERE a IN (a, b)",
            "SELECT NULL FROM u LEFT JOIN t AS q ON NULL WHERE (q.a IN (q.a, q.b))",
        );
        has(
            "CREATE INDEX i ON t(a) WHERE TRUE = TRUE IN (NULL, a BETWEEN 2 AND 3, NULL)",
            "SELECT NULL FROM u LEFT JOIN t AS q ON NULL WHERE (TRUE = TRUE IN (NULL, q.a BETWEEN 2 AND 3, NULL))",
        );
        assert!(cut_together(index, "SELECT 1 FROM t AS q WHERE q.a IN (q.a, q.b)").is_empty());
        assert!(cut_together("CREATE INDEX i ON t(a)", query).is_empty());
        assert!(cut_together("CREATE TABLE t AS SELECT 1 WHERE 1 = 1 AND 2", "SELECT 1 WHERE 1 = 1 AND 2").is_empty());
    }
}
