//! Smaller forms of an expression's text. None need be an expression: the engine says which are.

use crate::sql::lex::{Token, groups, tokens};
use std::collections::BTreeSet;

/// Texts shorter than an expression, made of pieces of it, the shortest first; at most `max`.
pub(super) fn shorter(text: &str, max: usize) -> Vec<String> {
    let Ok(all) = tokens(text) else { return Vec::new() };
    let words: Vec<String> = all.iter().map(Token::text).collect();
    let spell = |range: std::ops::Range<usize>| words[range].concat().trim().to_owned();
    let replaced = |range: std::ops::Range<usize>, by: &str| {
        format!("{} {by} {}", words[..range.start].concat(), words[range.end..].concat()).trim().to_owned()
    };
    let mut found: BTreeSet<String> = ["NULL", "0", "1", "'a'"].map(str::to_owned).into();
    for (open, close) in groups(&all) {
        // A call begins with its name.
        let start = if open > 0 && matches!(all[open - 1], Token::Word(_)) { open - 1 } else { open };
        found.insert(spell(start..close + 1));
        found.insert(replaced(start..close + 1, "NULL"));
        for item in items(&all, open, close) {
            let item = spell(item);
            found.insert(replaced(start..close + 1, &format!("({item})")));
            found.insert(replaced(start..close + 1, &item));
            found.insert(item);
        }
    }
    for (at, token) in all.iter().enumerate() {
        if *token == Token::Symbol('.') && at > 0 && at + 1 < all.len() {
            found.insert(spell(at - 1..at + 2));
        }
        if let Token::Literal(literal) = token {
            for simple in if literal.starts_with('\'') { ["''", "'a'"] } else { ["0", "1"] } {
                found.insert(replaced(at..at + 1, simple));
            }
        }
    }
    let mut size = words.len() / 2;
    while size > 0 {
        for start in (0..words.len().saturating_sub(size - 1)).step_by(size.div_ceil(2)) {
            if balanced(&all[start..start + size]) {
                found.insert(spell(start..start + size));
                found.insert(replaced(start..start + size, ""));
            }
        }
        size /= 2;
    }
    let found: BTreeSet<String> = found.iter().map(|candidate| tidy(candidate)).collect();
    let length = tidy(text).len();
    let mut found: Vec<String> =
        found.into_iter().filter(|text| text.contains(char::is_alphanumeric) && text.len() < length).collect();
    found.sort_by_key(String::len);
    found.truncate(max);
    found
}

/// The text without white space that means nothing; as it is if it is not closed.
fn tidy(text: &str) -> String {
    let Ok(all) = tokens(text) else { return text.trim().to_owned() };
    let mut out = String::new();
    for (at, token) in all.iter().enumerate() {
        let beside =
            |symbols: &[char], token: Option<&Token>| matches!(token, Some(Token::Symbol(c)) if symbols.contains(c));
        let next = all.get(at + 1);
        match token {
            Token::Space(_) if next.is_none() || matches!(next, Some(Token::Space(_))) => {}
            Token::Space(_) if out.is_empty() || out.ends_with('(') || beside(&[')', ','], next) => {}
            Token::Space(_) => out.push(' '),
            other => out.push_str(&other.text()),
        }
    }
    out
}

/// What stands between the commas of a pair of parentheses.
fn items(all: &[Token], open: usize, close: usize) -> Vec<std::ops::Range<usize>> {
    let mut depth = 0;
    let mut start = open + 1;
    let mut found = Vec::new();
    for (at, token) in all.iter().enumerate().take(close).skip(open + 1) {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                found.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(start..close);
    found
}

fn balanced(all: &[Token]) -> bool {
    let mut depth = 0;
    all.iter().all(|token| {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        depth >= 0
    }) && depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_operands_and_pieces_are_offered_the_shortest_first() {
        let found = shorter("upper(t.c_text || 'abc') = concat(t.c_text2, 'b')", 1000);
        for expected in [
            "t.c_text2",
            "concat(t.c_text2, 'b')",
            "upper(t.c_text || 'abc')",
            "upper(t.c_text || '') = concat(t.c_text2, 'b')",
        ] {
            assert!(found.iter().any(|text| text == expected), "{expected} is not in {found:#?}");
        }
        assert!(found.is_sorted_by_key(String::len));
        assert!(found.iter().all(|text| text.len() < 49));
        assert_eq!(shorter("t.c_int + 1", 3), ["0", "1", "t"]);
    }
}
