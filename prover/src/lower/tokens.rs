//! Whether a tree says all that its text says.

use std::collections::BTreeMap;

use sqlparser::ast;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::{Result, no, syntax};

/// Words and marks that may stand in a text and not in what is printed of its tree, for they say what is said without
/// them.
const NEEDLESS: &[&str] =
    &["AS", "ASC", "INNER", "OUTER", "ALL", "ROW", "ROWS", "NEXT", "FROM", "FOR", "(", ")", ";", ","];

/// Words and marks that may be printed and not stand in the text.
const ADDED: &[&str] = &["AS", "FIRST", "ROWS", "FROM", "FOR", "OFFSET", "INNER", "(", ")", ";", ","];

/// Refuses a text with a word, a literal or a mark that its tree does not have, or the other way round.
pub(super) fn accounted(dialect: &dyn Dialect, tokens: &[TokenWithSpan], tree: &[ast::Statement]) -> Result<()> {
    let printed = tree.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let printed = Tokenizer::new(dialect, &printed).tokenize().map_err(|error| syntax(&error.to_string()))?;
    let mut count: BTreeMap<String, i64> = BTreeMap::new();
    for token in tokens.iter().map(|t| &t.token) {
        spell(token, &mut |spelling| *count.entry(spelling).or_default() += 1);
    }
    for token in &printed {
        spell(token, &mut |spelling| *count.entry(spelling).or_default() -= 1);
    }
    for (spelling, surplus) in count {
        let allowed = if surplus > 0 { NEEDLESS } else { ADDED };
        if surplus != 0 && !allowed.contains(&spelling.as_str()) {
            return no(format!("{spelling}, of which the parser makes something else"));
        }
    }
    Ok(())
}

/// One spelling for what means the same.
fn spell(token: &Token, count: &mut dyn FnMut(String)) {
    match token {
        Token::Whitespace(_) | Token::EOF => {}
        Token::Word(word) if word.quote_style.is_some() => count(word.value.clone()),
        Token::Word(word) if word.keyword == Keyword::NoKeyword => count(word.value.clone()),
        Token::Word(word) => {
            let word = word.value.to_uppercase();
            match word.as_str() {
                "INTEGER" => count("INT".to_owned()),
                "NOTNULL" => ["IS", "NOT", "NULL"].iter().for_each(|word| count((*word).to_owned())),
                "ISNULL" => ["IS", "NULL"].iter().for_each(|word| count((*word).to_owned())),
                _ => count(word),
            }
        }
        Token::Neq => count("<>".to_owned()),
        Token::DoubleEq => count("=".to_owned()),
        other => count(other.to_string()),
    }
}
