//! A snippet: an expression over the default table of its dialect, ready to be mapped onto another table.

use super::lex::{LexError, Token, tokens};
use super::profile::{ColumnType, Profile};
use super::types::SqlType;
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// The origin of a snippet that is made of others.
pub const COMBINATION: &str = "combination";

/// An expression from the corpus. Its claims are filled in by validation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties, each read by name")]
pub struct Snippet {
    /// As written.
    pub sql: String,
    /// Where it is from, in a few words; empty for one that is made while hunting.
    pub origin: String,
    /// The keys of the corpus snippets that it is, or is made of.
    pub made_of: Vec<Arc<str>>,
    /// The function of the engine's list that it calls, if that is what it was made for.
    pub calls: Option<Arc<str>>,
    pieces: Vec<Piece>,
    /// Type and profile name of each column it uses.
    pub columns: Vec<(String, ColumnType)>,
    /// Whether it has a subquery.
    pub has_subquery: bool,
    /// Whether it has a subquery over its own table.
    pub uses_own_table: bool,
    /// Qualifiers and aliases it introduces, in lower case; a member with the same alias would capture its columns.
    pub aliases: BTreeSet<String>,
    /// Whether it names a collation, which then may hold for its value.
    pub collates: bool,
    /// The type of every value seen; `None` when it varies, so that only a truth value may be taken from it.
    pub ty: Option<SqlType>,
    /// All values seen were 0, 1 or NULL.
    pub boolean_valued: bool,
    /// NULL on a row of NULLs, both stored and padded by an outer join.
    pub null_preserving: bool,
    /// It fails on some rows.
    pub may_fail: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// `t.column`: qualified by the alias of the occurrence.
    Column(usize),
    /// The column's bare name, after the qualifier of a subquery over the same table.
    Bare(usize),
    /// The table's name in a subquery.
    Table,
}

/// What a snippet stands for.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SnippetKind {
    /// An expression over one row.
    #[default]
    Expression,
    /// A table.
    Table,
}

/// Words that an expression may not have, because a window or several rows are no value of a row, and that a table may.
const OF_TABLES: [&str; 8] =
    ["over", "window", "rank", "dense_rank", "percent_rank", "cume_dist", "unnest", "generate_subscripts"];

/// Words that no table may have: what depends on the order of rows among equals, and what other columns change.
const NOT_OF_TABLES: [&str; 12] = [
    "rows",
    "row_number",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "ntile",
    "natural",
    "collate",
    "qualify",
    "fill",
];

/// Whether the words of a profile let a word into snippets of a kind; it is in lower case.
pub fn is_allowed(word: &str, profile: &Profile, kind: SnippetKind) -> bool {
    let forbidden = profile.forbidden.words.contains(word);
    match kind {
        SnippetKind::Expression => !forbidden,
        SnippetKind::Table => !NOT_OF_TABLES.contains(&word) && (!forbidden || OF_TABLES.contains(&word)),
    }
}

/// Why a snippet is not used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SnippetError {
    /// It is not closed.
    #[error("{0}")]
    Open(#[from] LexError),
    /// It names something the profile forbids.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// A column or the table is written in a form that cannot be mapped onto another table.
    #[error("cannot be mapped: {0}")]
    Unmappable(String),
}

/// Whether a text calls one of these functions, given in lower case.
pub fn calls_any(sql: &str, names: &BTreeSet<String>) -> bool {
    let Ok(all) = tokens(sql) else { return false };
    let dense: Vec<&Token> = all.iter().filter(|token| !matches!(token, Token::Space(_))).collect();
    dense.windows(2).any(|pair| match pair {
        [Token::Word(word), Token::Symbol('(')] => names.contains(&word.to_ascii_lowercase()),
        _ => false,
    })
}

impl Snippet {
    /// Reads a snippet and checks it by name. Claims are empty until validation.
    pub fn parse(sql: &str, profile: &Profile) -> Result<Self, SnippetError> {
        let all = tokens(sql)?;
        let table = &profile.snippet_table.name;
        let dense: Vec<Token> = all.iter().filter(|t| !matches!(t, Token::Space(_))).copied().collect();
        forbidden(&dense, profile, SnippetKind::Expression)?;
        let column_of = |token: &Token| match token {
            Token::Word(word) => profile.snippet_table.columns.get_key_value(&word.to_ascii_lowercase()),
            _ => None,
        };
        let mut snippet = Self {
            sql: sql.to_owned(),
            origin: String::new(),
            made_of: Vec::new(),
            calls: None,
            pieces: Vec::new(),
            columns: Vec::new(),
            has_subquery: dense.iter().any(|t| t.is_word("select")),
            uses_own_table: false,
            aliases: BTreeSet::new(),
            collates: dense.iter().any(|t| t.is_word("collate")),
            ty: None,
            boolean_valued: false,
            null_preserving: false,
            may_fail: false,
        };
        let mut text = String::new();
        let mut at = 0;
        while at < all.len() {
            let token = all[at];
            let qualified = matches!(all.get(at + 1), Some(Token::Symbol('.')));
            if let (Token::Word(word), true) = (token, qualified) {
                let column = all.get(at + 2).and_then(column_of);
                if word.eq_ignore_ascii_case(table) {
                    let Some((name, ty)) = column else {
                        return Err(SnippetError::Unmappable(format!("{word}. before no column of {table}")));
                    };
                    snippet.flush(&mut text);
                    let column = snippet.column(name, ty);
                    snippet.pieces.push(Piece::Column(column));
                } else {
                    snippet.aliases.insert(word.to_ascii_lowercase());
                    text.push_str(word);
                    text.push('.');
                    match column {
                        Some((name, ty)) => {
                            snippet.flush(&mut text);
                            let column = snippet.column(name, ty);
                            snippet.pieces.push(Piece::Bare(column));
                        }
                        None => text.push_str(&all.get(at + 2).map(Token::text).unwrap_or_default()),
                    }
                }
                at += 3;
                continue;
            }
            if token.is_word(table) {
                let mut next = all[at + 1..].iter().filter(|t| !matches!(t, Token::Space(_)));
                let alias = match next.next() {
                    Some(t) if t.is_word("as") => next.next(),
                    other => other,
                };
                match alias {
                    Some(Token::Word(w)) if !is_clause_word(w) => snippet.aliases.insert(w.to_ascii_lowercase()),
                    _ => return Err(SnippetError::Unmappable(format!("{table} in FROM without an alias"))),
                };
                snippet.flush(&mut text);
                snippet.uses_own_table = true;
                snippet.pieces.push(Piece::Table);
            } else if column_of(&token).is_some() {
                return Err(SnippetError::Unmappable(format!("column {} without a qualifier", token.text())));
            } else {
                text.push_str(&token.text());
            }
            at += 1;
        }
        snippet.flush(&mut text);
        Ok(snippet)
    }

    /// Whether a word, in any case, is in it.
    pub fn has_word(&self, word: &str) -> bool {
        tokens(&self.sql).is_ok_and(|all| all.iter().any(|token| token.is_word(word)))
    }

    /// Whether it calls one of these functions, given in lower case.
    pub fn calls_any(&self, names: &BTreeSet<String>) -> bool {
        calls_any(&self.sql, names)
    }

    /// This one with another in the place of a column, which is given by its position; columns inside of subqueries over its
    /// own table stay. `None` if the names of the two would meet, or the profile refuses what came of it. Claims are empty but
    /// for those that cannot become wrong.
    pub fn with_column(&self, at: usize, inner: &Self, profile: &Profile) -> Option<Self> {
        // A subquery of this one must not take the other one's columns for its own.
        if !self.aliases.is_disjoint(&inner.aliases) {
            return None;
        }
        let table = profile.snippet_table.name.as_str();
        let columns: Vec<Arc<str>> = self.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        let mut text = String::new();
        self.render_with(&columns, table, &mut text, |column, out| {
            if column == at {
                out.push('(');
                out.push_str(&inner.sql);
                out.push(')');
            } else {
                out.push_str(table);
                out.push('.');
                out.push_str(&columns[column]);
            }
        });
        let mut combined = Self::parse(&text, profile).ok()?;
        COMBINATION.clone_into(&mut combined.origin);
        combined.boolean_valued = self.boolean_valued;
        combined.made_of = self.made_of.iter().chain(&inner.made_of).cloned().collect();
        Some(combined)
    }

    /// Notes that it became of another one, and so is made of the same.
    pub fn is_of(&mut self, other: &Self) {
        self.origin.clone_from(&other.origin);
        self.made_of.clone_from(&other.made_of);
        self.calls.clone_from(&other.calls);
    }

    /// What names it in caches and counters.
    pub fn key(&self) -> String {
        Digest::of(["expression", &self.sql]).hex(16)
    }

    fn flush(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(text)));
        }
    }

    fn column(&mut self, name: &str, ty: &ColumnType) -> usize {
        self.columns.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
            self.columns.push((name.to_owned(), ty.clone()));
            self.columns.len() - 1
        })
    }

    /// Appends the snippet with its columns mapped, as it reads where its table is visible as `alias`.
    pub fn render(&self, alias: &str, columns: &[Arc<str>], table: &str, out: &mut String) {
        self.render_with(columns, table, out, |column, out| {
            out.push_str(alias);
            out.push('.');
            out.push_str(&columns[column]);
        });
    }

    /// Appends the snippet with `write` in charge of the columns of its own table, given by their positions, outside of
    /// subqueries over it.
    pub fn render_with(
        &self,
        columns: &[Arc<str>],
        table: &str,
        out: &mut String,
        mut write: impl FnMut(usize, &mut String),
    ) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Column(column) => write(*column, out),
                Piece::Bare(column) => out.push_str(&columns[*column]),
                Piece::Table => out.push_str(table),
            }
        }
    }
}

pub(super) fn is_clause_word(word: &str) -> bool {
    [
        "where",
        "group",
        "order",
        "join",
        "left",
        "cross",
        "inner",
        "on",
        "union",
        "limit",
        "natural",
        "right",
        "full",
        "and",
        "or",
        "then",
        "else",
        "end",
        "when",
        "in",
        "is",
        "not",
        "between",
        "like",
        "over",
        "filter",
        "intersect",
        "except",
        "having",
        "from",
        "select",
        "using",
        "asc",
        "desc",
        "semi",
        "anti",
        "straight_join",
        "window",
        "within",
        "as",
        "with",
    ]
    .contains(&word.to_ascii_lowercase().as_str())
}

/// The check by name; `tokens` has no white space.
pub(super) fn forbidden(tokens: &[Token], profile: &Profile, kind: SnippetKind) -> Result<(), SnippetError> {
    let forbidden = &profile.forbidden;
    let fail = |what: &str| Err(SnippetError::Forbidden(what.to_owned()));
    let mut subtyped = 0;
    let mut subquery = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) => {
                let word = word.to_ascii_lowercase();
                if !is_allowed(&word, profile, kind) {
                    return fail(&word);
                }
                let operands = operands(&tokens[at + 1..]);
                if forbidden.clock_functions.contains(&word)
                    && (operands == Some(0) || (word == "strftime" && operands == Some(1)))
                {
                    return fail(&format!("{word} reads the clock"));
                }
                subtyped += usize::from(forbidden.subtype_prefixes.iter().any(|p| word.starts_with(p)));
                subquery |= word == "select";
            }
            Token::Literal(literal) if forbidden.literals.contains(&literal.to_ascii_lowercase()) => {
                return fail(literal);
            }
            _ => {}
        }
    }
    if subtyped > 1 && subquery {
        return fail("a subtype that a subquery may lose");
    }
    Ok(())
}

/// How many operands a call has; `tokens` start behind its name. `None` if it is no call.
fn operands(tokens: &[Token]) -> Option<usize> {
    if tokens.first() != Some(&Token::Symbol('(')) {
        return None;
    }
    let (mut depth, mut commas) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            Token::Symbol(',') if depth == 1 => commas += 1,
            _ => {}
        }
        if depth == 0 {
            return Some(if at == 1 { 0 } else { commas + 1 });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    fn parse(sql: &str) -> Result<Snippet, SnippetError> {
        Snippet::parse(sql, &profile("sqlite").expect("the shipped profile"))
    }

    #[test]
    fn columns_and_own_table_are_mapped() {
        let snippet = parse("t.c_int + (SELECT max(u.c_int) FROM t AS u WHERE u.c_text = T.c_text)").expect("parses");
        let columns: Vec<Arc<str>> = vec!["c0".into(), "c7".into()];
        let mut out = String::new();
        snippet.render("a", &columns, "t9", &mut out);
        assert_eq!(out, "a.c0 + (SELECT max(u.c0) FROM t9 AS u WHERE u.c7 = a.c7)");
        assert!(snippet.uses_own_table);
        assert!(snippet.aliases.contains("u"));
    }

    #[test]
    fn what_cannot_be_mapped_is_refused() {
        for sql in
            ["c_int + 1", "(SELECT max(t.c_int) FROM t)", "(SELECT 1 FROM t WHERE t.c_int = 1)", "t.nope", "t.c_int)"]
        {
            assert!(parse(sql).is_err(), "{sql}");
        }
    }

    #[test]
    fn what_is_not_a_function_of_the_row_is_refused_by_name() {
        for sql in [
            "random() + t.c_int",
            "date('NOW')",
            "datetime()",
            "strftime('%Y')",
            "strftime(t.c_text || substr('a', 1))",
            "CURRENT_TIMESTAMP",
            "t.c_int + rowid",
            "(SELECT group_concat(u.c_text) FROM t AS u)",
            "row_number() OVER ()",
            "(SELECT u.c_int FROM t u LIMIT 1)",
            "json_array((SELECT json_array(t.c_int)))",
        ] {
            assert!(matches!(parse(sql), Err(SnippetError::Forbidden(_))), "{sql}");
        }
        // It reads the type, which a NULL that is folded does not keep.
        let type_read = Snippet::parse("st_crs(t.c_text::GEOMETRY)", &profile("duckdb").expect("the shipped profile"));
        assert!(matches!(type_read, Err(SnippetError::Forbidden(_))));
        assert!(parse("strftime('%Y', t.c_text)").is_ok());
        assert!(parse("t.c_text || 'random()'").is_ok());
    }
}
