//! A table snippet: a query over two default tables, ready to be mapped onto tables of a class.
//!
//! Any table of a class can stand for a default table, and any column for one of its type, so one snippet serves every
//! class whose placeholder has columns of the types that it gives.

use super::lex::{Token, tokens};
use super::profile::{ColumnType, Profile};
use super::snippet::{SnippetError, SnippetKind, forbidden, is_clause_word};
use super::types::SqlType;
use crate::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The default tables.
pub const SOURCES: [&str; 2] = ["s1", "s2"];

/// The columns of either.
pub const SOURCE_COLUMNS: [(&str, SqlType); 6] = [
    ("i1", SqlType::Int),
    ("i2", SqlType::Int),
    ("x1", SqlType::Text),
    ("x2", SqlType::Text),
    ("b1", SqlType::Boolean),
    ("r1", SqlType::Real),
];

/// Output columns, at most.
pub const OUTPUTS_MAX: usize = 6;

/// A query from the corpus. Its claims are filled in by validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSnippet {
    /// As written.
    pub sql: String,
    /// Where it is from, in a few words.
    pub origin: String,
    pieces: Vec<Piece>,
    /// The columns that it uses of each default table, as positions in [`SOURCE_COLUMNS`].
    pub uses: [BTreeSet<usize>; 2],
    /// Whether it names each default table.
    pub reads: [bool; 2],
    /// Qualifiers, aliases and names of common table expressions, in lower case.
    pub names: BTreeSet<String>,
    /// How many output columns it has: y1 to this one.
    pub outputs: usize,
    /// The types that each output column can stand for; empty before validation.
    pub yields: Vec<BTreeSet<SqlType>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A default table.
    Table(usize),
    /// A column of a default table.
    Column(usize, usize),
    /// An output column.
    Output(usize),
}

/// A table of a class in the place of a default table: its name, and a column for each of [`SOURCE_COLUMNS`] that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The table.
    pub table: Arc<str>,
    /// Its columns.
    pub columns: Vec<Arc<str>>,
}

impl Mapped {
    /// A table with the columns of a default table.
    pub fn plain(table: &str) -> Self {
        Self { table: table.into(), columns: SOURCE_COLUMNS.iter().map(|(name, _)| Arc::from(*name)).collect() }
    }
}

/// The definitions of the default tables, as a reader needs them.
pub fn definitions(profile: &Profile) -> String {
    let columns: Vec<String> = SOURCE_COLUMNS
        .iter()
        .map(|(name, ty)| format!("{name} {}", bare(profile.declared(&ColumnType::Class(*ty)))))
        .collect();
    SOURCES.map(|table| format!("CREATE TABLE {table}({});", columns.join(", "))).join("\n")
}

/// A type as it is declared, without a collation.
pub fn bare(declared: &str) -> &str {
    declared.split(" COLLATE").next().unwrap_or(declared)
}

fn source_of(token: &Token) -> Option<usize> {
    SOURCES.iter().position(|source| token.is_word(source))
}

fn column_of(token: &Token) -> Option<usize> {
    SOURCE_COLUMNS.iter().position(|(name, _)| token.is_word(name))
}

/// The number of an output column's name: 0 of y1.
fn output_of(token: &Token) -> Option<usize> {
    let Token::Word(word) = token else { return None };
    let number: usize = word.strip_prefix(['y', 'Y'])?.parse().ok()?;
    (1..=OUTPUTS_MAX).contains(&number).then(|| number - 1)
}

impl TableSnippet {
    /// Reads a snippet and checks it by name.
    pub fn parse(sql: &str, profile: &Profile) -> Result<Self, SnippetError> {
        let unmappable = |why: String| Err(SnippetError::Unmappable(why));
        let all: Vec<Token> = tokens(sql)?
            .into_iter()
            .map(|t| if matches!(t, Token::Space(_)) { Token::Space(" ") } else { t })
            .collect();
        let dense: Vec<Token> = all.iter().filter(|t| !matches!(t, Token::Space(_))).copied().collect();
        forbidden(&dense, profile, SnippetKind::Table)?;
        if !dense.first().is_some_and(|t| t.is_word("select") || t.is_word("with")) {
            return unmappable("it is no SELECT".to_owned());
        }
        let mut names = BTreeSet::new();
        let aliases = aliases(&dense, &mut names)?;
        let mut snippet = Self {
            sql: sql.to_owned(),
            origin: String::new(),
            pieces: Vec::new(),
            uses: [BTreeSet::new(), BTreeSet::new()],
            reads: [false; 2],
            names,
            outputs: 0,
            yields: Vec::new(),
        };
        let mut text = String::new();
        let mut at = 0;
        while at < all.len() {
            let token = all[at];
            let qualified = matches!(all.get(at + 1), Some(Token::Symbol('.')));
            let next = all.get(at + 2);
            match (token, qualified) {
                (Token::Word(word), true) => {
                    text.push_str(word);
                    text.push('.');
                    let table = aliases.get(&word.to_ascii_lowercase());
                    match (next.and_then(column_of), table) {
                        (Some(column), Some(table)) => {
                            snippet.push(&mut text, Piece::Column(*table, column));
                            snippet.uses[*table].insert(column);
                        }
                        (Some(_), None) => {
                            return unmappable(format!("{word}. is no alias of s1 or s2"));
                        }
                        (None, _) => match next {
                            Some(Token::Symbol('*')) => return unmappable("a star".to_owned()),
                            Some(token) => snippet.plain(*token, &mut text),
                            None => {}
                        },
                    }
                    at += 3;
                    continue;
                }
                (Token::Symbol('*'), _) if starts_list(&all[..at]) => return unmappable("a star".to_owned()),
                _ => {}
            }
            if let Some(table) = source_of(&token) {
                snippet.push(&mut text, Piece::Table(table));
                snippet.reads[table] = true;
            } else if column_of(&token).is_some() {
                return unmappable(format!("column {} without a qualifier", token.text()));
            } else {
                snippet.plain(token, &mut text);
            }
            at += 1;
        }
        snippet.flush(&mut text);
        if snippet.outputs == 0 {
            return unmappable("no output column y1".to_owned());
        }
        Ok(snippet)
    }

    /// What names it in caches and counters.
    pub fn key(&self) -> String {
        Digest::of(["table", &self.sql]).hex(16)
    }

    fn plain(&mut self, token: Token, text: &mut String) {
        if let Some(output) = output_of(&token) {
            self.push(text, Piece::Output(output));
            self.outputs = self.outputs.max(output + 1);
        } else {
            text.push_str(&token.text());
        }
    }

    fn push(&mut self, text: &mut String, piece: Piece) {
        self.flush(text);
        self.pieces.push(piece);
    }

    fn flush(&mut self, text: &mut String) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(std::mem::take(text)));
        }
    }

    /// The query over these tables, with these names of the output columns.
    pub fn render(&self, tables: &[Mapped; 2], outputs: &[Arc<str>]) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Table(table) => out.push_str(&tables[*table].table),
                Piece::Column(table, column) => out.push_str(&tables[*table].columns[*column]),
                Piece::Output(output) => out.push_str(&outputs[*output]),
            }
        }
        out
    }

    /// The query as a table with columns of exactly these types. Where expressions have no types of their own, or texts
    /// collations that a view would keep, every column is cast.
    pub fn typed(&self, profile: &Profile, tables: &[Mapped; 2], columns: &[(Arc<str>, SqlType)]) -> String {
        if !profile.truth_of_any_value {
            let names: Vec<Arc<str>> = columns.iter().map(|(name, _)| name.clone()).collect();
            return self.render(tables, &names);
        }
        let inner: Vec<Arc<str>> = (1..=columns.len()).map(|at| format!("y{at}").into()).collect();
        let list: Vec<String> = columns
            .iter()
            .zip(&inner)
            .map(|((name, ty), inner)| {
                let value = if *ty == SqlType::Boolean { format!("q.{inner} <> 0") } else { format!("q.{inner}") };
                format!("{} AS {name}", profile.cast(&value, *ty))
            })
            .collect();
        format!("SELECT {} FROM ({}) AS q", list.join(", "), self.render(tables, &inner))
    }
}

/// The aliases of the default tables; `names` gets every name that the text introduces or qualifies with.
fn aliases(dense: &[Token], names: &mut BTreeSet<String>) -> Result<BTreeMap<String, usize>, SnippetError> {
    let mut aliases: BTreeMap<String, usize> = BTreeMap::new();
    let mut others = BTreeSet::new();
    for (at, token) in dense.iter().enumerate() {
        if let (Token::Word(word), Some(Token::Symbol('.'))) = (token, dense.get(at + 1)) {
            names.insert(word.to_ascii_lowercase());
        }
        // `) AS a` and `) a` name a derived table, `w AS (` a common table expression.
        if let (Token::Word(word), true) = (token, dense.get(at + 1).is_some_and(|t| t.is_word("as")))
            && dense.get(at + 2) == Some(&Token::Symbol('('))
        {
            names.insert(word.to_ascii_lowercase());
            others.insert(word.to_ascii_lowercase());
        }
        if *token == Token::Symbol(')') {
            let as_word = dense.get(at + 1).is_some_and(|t| t.is_word("as"));
            if let Some(Token::Word(word)) = dense.get(at + 1 + usize::from(as_word))
                && !is_clause_word(word)
            {
                others.insert(word.to_ascii_lowercase());
            }
        }
        let Some(table) = source_of(token) else { continue };
        let as_word = dense.get(at + 1).is_some_and(|t| t.is_word("as"));
        match dense.get(at + 1 + usize::from(as_word)) {
            Some(Token::Word(word)) if !is_clause_word(word) => {
                let alias = word.to_ascii_lowercase();
                names.insert(alias.clone());
                if *aliases.entry(alias.clone()).or_insert(table) != table {
                    return Err(SnippetError::Unmappable(format!("{alias} is an alias of two tables")));
                }
            }
            _ => return Err(SnippetError::Unmappable(format!("{} without an alias", token.text()))),
        }
    }
    match aliases.keys().find(|alias| others.contains(*alias)) {
        Some(both) => Err(SnippetError::Unmappable(format!("{both} is an alias of s1 or s2 and of something else"))),
        None => Ok(aliases),
    }
}

/// Whether a star here stands for columns: behind SELECT, DISTINCT, ALL or a comma.
fn starts_list(before: &[Token]) -> bool {
    let last = before.iter().rev().find(|t| !matches!(t, Token::Space(_)));
    last.is_none_or(|t| *t == Token::Symbol(',') || ["select", "distinct", "all"].iter().any(|word| t.is_word(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;

    fn parse(sql: &str) -> Result<TableSnippet, SnippetError> {
        TableSnippet::parse(sql, &profile("sqlite").expect("shipped"))
    }

    #[test]
    fn tables_columns_and_outputs_are_mapped() {
        let sql = "WITH w1 AS (SELECT a.i1 AS p1, COUNT(*) AS p2 FROM s1 AS a GROUP BY a.i1) SELECT w1.p1 AS y1, b.x1 AS y2 FROM w1 \
                   LEFT JOIN s2 b ON b.i2 = w1.p1 * 2";
        let snippet = parse(sql).expect("parses");
        assert_eq!((snippet.outputs, snippet.reads), (2, [true, true]));
        let table =
            |name: &str, columns: [&str; 6]| Mapped { table: name.into(), columns: columns.map(Arc::from).to_vec() };
        let tables = [table("t1", ["c0", "c0", "", "", "", ""]), table("t2", ["", "c1", "c3", "", "", ""])];
        let text = snippet.render(&tables, &["k".into(), "v".into()]);
        assert_eq!(
            text,
            "WITH w1 AS (SELECT a.c0 AS p1, COUNT(*) AS p2 FROM t1 AS a GROUP BY a.c0) SELECT w1.p1 AS k, b.c3 AS v FROM w1 LEFT \
             JOIN t2 b ON b.c1 = w1.p1 * 2"
        );
    }

    #[test]
    fn what_cannot_be_mapped_or_depends_on_an_order_is_refused() {
        for sql in [
            "SELECT i1 AS y1 FROM s1 AS a",
            "SELECT a.i1 AS y1 FROM s1",
            "SELECT * FROM s1 AS a",
            "SELECT a.* FROM s1 AS a",
            "SELECT a.i1 FROM s1 AS a",
            "SELECT a.i1 AS y1 FROM s1 AS a JOIN s2 AS a ON 1",
            "SELECT a.i1 AS y1 FROM s1 AS a NATURAL JOIN s2 AS b",
            "SELECT d.i1 AS y1 FROM (SELECT a.i1 FROM s1 AS a) AS d",
            "SELECT a.i1 AS y1 FROM (SELECT b.i1 FROM s1 AS b) AS a, (SELECT 1 FROM s1 AS a) AS c",
            "SELECT row_number() OVER () AS y1 FROM s1 AS a",
            "SELECT count(*) OVER (ORDER BY a.i1 ROWS 1 PRECEDING) AS y1 FROM s1 AS a",
            "SELECT a.i1 AS y1 FROM s1 AS a LIMIT 1",
            "VALUES (1)",
        ] {
            assert!(parse(sql).is_err(), "{sql}");
        }
        assert!(parse("SELECT rank() OVER (PARTITION BY a.i1 ORDER BY a.x1) AS y1 FROM s1 AS a").is_ok());
    }
}
