//! A small lexer for snippets.
//!
//! A snippet may be SQL that the parser does not know; the target judges it. What must be known here is only where its
//! words are, and that it is closed: that wrapped in parentheses it stays one expression and cannot reach outside.

use thiserror::Error;

/// One token of a snippet, a slice of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// An identifier or keyword, possibly quoted.
    Word(&'a str),
    /// A string or blob body or a number.
    Literal(&'a str),
    /// White space.
    Space(&'a str),
    /// Any other single character.
    Symbol(char),
}

impl Token<'_> {
    /// The text of the token.
    pub fn text(&self) -> String {
        match self {
            Self::Word(s) | Self::Literal(s) | Self::Space(s) => (*s).to_owned(),
            Self::Symbol(c) => c.to_string(),
        }
    }

    /// Whether this is the given word, in any case.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(w) if w.eq_ignore_ascii_case(word))
    }
}

/// Why a snippet is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LexError {
    /// A quote is not closed.
    #[error("an unclosed quote")]
    Quote,
    /// Parentheses, brackets or braces do not match.
    #[error("unbalanced parentheses")]
    Parentheses,
    /// A comment, which could hide what follows the snippet.
    #[error("a comment")]
    Comment,
    /// A semicolon, which would end the statement.
    #[error("a semicolon")]
    Semicolon,
}

/// The positions of each pair of parentheses.
pub fn groups(all: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Symbol('(') => open.push(at),
            Token::Symbol(')') => found.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    found
}

/// Whether a text has these words one after the other, in any case, outside of quotes.
pub fn has_words(text: &str, words: &str) -> Result<bool, LexError> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let all: Vec<Token<'_>> = tokens(text)?.into_iter().filter(|token| !matches!(token, Token::Space(_))).collect();
    Ok(all.windows(words.len()).any(|window| window.iter().zip(&words).all(|(token, word)| token.is_word(word))))
}

/// Splits a snippet into tokens and checks that it is closed.
pub fn tokens(text: &str) -> Result<Vec<Token<'_>>, LexError> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let c = text[at..].chars().next().unwrap_or('\0');
        match c {
            '\'' | '"' | '`' => {
                at = quoted_end(bytes, at).ok_or(LexError::Quote)?;
                let slice = &text[start..at];
                out.push(if c == '\'' { Token::Literal(slice) } else { Token::Word(slice) });
                continue;
            }
            '-' if bytes.get(at + 1) == Some(&b'-') => return Err(LexError::Comment),
            '/' if bytes.get(at + 1) == Some(&b'*') => return Err(LexError::Comment),
            ';' => return Err(LexError::Semicolon),
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => {
                let expected = match c {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.pop() != Some(expected) {
                    return Err(LexError::Parentheses);
                }
            }
            _ => {}
        }
        let class = |c: char| {
            if c.is_whitespace() {
                0
            } else if c.is_ascii_digit() {
                1
            } else if c.is_alphabetic() || c == '_' {
                2
            } else {
                3
            }
        };
        match class(c) {
            0 => {
                at += text[at..].find(|c: char| !c.is_whitespace()).unwrap_or(text.len() - at);
                out.push(Token::Space(&text[start..at]));
            }
            // A number keeps its dot and exponent; `1e5` and `0x1F` are one token.
            1 => {
                at += text[at..]
                    .find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'))
                    .unwrap_or(text.len() - at);
                out.push(Token::Literal(&text[start..at]));
            }
            2 => {
                at += text[at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - at);
                out.push(Token::Word(&text[start..at]));
            }
            _ => {
                at += c.len_utf8();
                out.push(Token::Symbol(c));
            }
        }
    }
    if open.is_empty() { Ok(out) } else { Err(LexError::Parentheses) }
}

/// The position after the quoted text that starts at `at`; a doubled quote stands for itself.
fn quoted_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes[at];
    let mut i = at + 1;
    while i < bytes.len() {
        if bytes[i] == quote {
            if bytes.get(i + 1) == Some(&quote) {
                i += 1;
            } else {
                return Some(i + 1);
            }
        }
        i += 1;
    }
    None
}

/// A text without white space that means nothing.
pub fn tidy(text: &str) -> String {
    let Ok(all) = tokens(text) else { return text.to_owned() };
    let mut out = String::new();
    for (at, token) in all.iter().enumerate() {
        let next = all.get(at + 1);
        match token {
            Token::Space(_) => {
                let useless =
                    out.ends_with('(') || matches!(next, None | Some(Token::Symbol(')' | ',') | Token::Space(_)));
                if !useless && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            other => out.push_str(&other.text()),
        }
    }
    out
}

/// The position of the token before one that is no space.
pub fn before(all: &[Token], at: usize) -> Option<usize> {
    (0..at).rev().find(|at| !matches!(all[*at], Token::Space(_)))
}

/// The position of the next token that is no space.
pub fn next(all: &[Token], at: usize) -> Option<usize> {
    (at..all.len()).find(|at| !matches!(all[*at], Token::Space(_)))
}

/// Where the parenthesis that opens here is closed.
pub fn close(all: &[Token], open: usize) -> Option<usize> {
    groups(all).into_iter().find(|(start, _)| *start == open).map(|(_, close)| close)
}

/// The text of tokens.
pub fn spell(all: &[Token]) -> String {
    all.iter().map(Token::text).collect()
}

/// Whether it is one of these words.
pub fn is_one_of(token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tokens_spell_the_text(text in "[a-z0-9 '\"().;,*/é-]{0,30}") {
            if let Ok(tokens) = tokens(&text) {
                let spelled: String = tokens.iter().map(Token::text).collect();
                prop_assert_eq!(spelled, text);
            }
        }
    }

    #[test]
    fn a_tidy_text_has_no_space_that_means_nothing() {
        assert_eq!(tidy("CREATE TABLE t(a INT  , b INT )"), "CREATE TABLE t(a INT, b INT)");
        assert_eq!(tidy("SELECT ' ,  )'"), "SELECT ' ,  )'");
    }

    #[test]
    fn words_are_found_in_any_case_and_not_in_quotes() {
        for (text, found) in [
            ("SELECT 1 FROM t full\n JOIN u ON TRUE", true),
            ("SELECT 'FULL JOIN' FROM t", false),
            ("SELECT 1 FROM t \"FULL\" JOIN u", false),
            ("SELECT 1 FROM t_full JOIN u", false),
            ("SELECT 1 FROM t FULL OUTER JOIN u", false),
        ] {
            assert_eq!(has_words(text, "FULL JOIN"), Ok(found), "{text}");
        }
        assert_eq!(has_words("SELECT 'a", "FULL JOIN"), Err(LexError::Quote));
    }

    #[test]
    fn what_reaches_outside_is_refused() {
        for (text, error) in [
            ("a) OR (b", LexError::Parentheses),
            ("(a", LexError::Parentheses),
            ("f(a]", LexError::Parentheses),
            ("'a", LexError::Quote),
            ("a -- b", LexError::Comment),
            ("a /* b */", LexError::Comment),
            ("a; DROP TABLE t", LexError::Semicolon),
        ] {
            assert_eq!(tokens(text), Err(error), "{text}");
        }
    }

    #[test]
    fn quotes_hide_their_content() {
        assert!(tokens("t.a || 'it''s (' || \"x)\"").is_ok());
        assert_eq!(tokens("'a -- b;'").expect("a literal"), [Token::Literal("'a -- b;'")]);
    }
}
