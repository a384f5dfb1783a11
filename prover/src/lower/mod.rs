//! Reads SQL text into the plan of [`crate::ir`].
//!
//! A wrongly read query is a wrong proof, so everything that is not understood, that engines read differently or whose
//! result the text does not determine is refused: every part of the parser's tree is taken apart by name, and what has
//! no meaning in the plan must be at its default.

mod aggregate;
mod assume;
mod compare;
mod ddl;
mod expr;
mod from;
mod functions;
mod group;
mod literal;
mod names;
mod query;
mod recursive;
mod scope;
mod select;
mod tokens;
mod types;
mod validate;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast;
use sqlparser::dialect::{Dialect, GenericDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use crate::ir::{Assumption, Query, Schema};
pub use functions::{knows_function, scalar_functions};
pub use validate::validate;

/// Why a text was not read. Prints the construct (`MATCH_RECOGNIZE`), `syntax error: ...` for text that does not parse,
/// or what is wrong with a name (`unknown column x`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

type Result<T> = std::result::Result<T, Unsupported>;

/// Refuses a construct.
fn no<T>(what: impl Into<String>) -> Result<T> {
    Err(Unsupported(what.into()))
}

/// Refuses a clause that is present.
fn absent<T>(clause: Option<&T>, what: &str) -> Result<()> {
    if clause.is_some() { no(what) } else { Ok(()) }
}

/// Refuses a list that is not empty.
fn empty<T>(list: &[T], what: &str) -> Result<()> {
    if list.is_empty() { Ok(()) } else { no(what) }
}

/// Refuses a flag that is set.
fn unset(flag: bool, what: &str) -> Result<()> {
    if flag { no(what) } else { Ok(()) }
}

/// Longer texts are refused: a chain of operators nests the tree as deep as it is long, and trees are dropped
/// recursively.
const MAX_TOKENS: usize = 60_000;
/// The stack that reading gets, whatever thread it runs on. The parser needs 200 kB for each subquery when it is not
/// optimised.
const STACK: usize = 64 << 20;
/// How deep the parser may recurse.
const MAX_PARSE_DEPTH: usize = 100;
/// Expressions and plan nodes that the copies of named queries may have together: one that uses another twice, and so
/// on, grows twofold with each.
const MAX_COPIED: usize = 200_000;
/// How deep queries and expressions may nest. Everything that works on a plan recurses on it.
const MAX_DEPTH: usize = 120;

/// Reads CREATE TABLE and CREATE INDEX statements, then adds the placeholders: `Expr(t: BOOLEAN)` adds a virtual
/// column to `t`, `Table(c0 INT, c1 TEXT)` a table.
///
/// # Errors
/// Anything in the text that could change what the tables may hold and is not understood.
pub fn schema(ddl: &str, placeholders: &BTreeMap<String, String>) -> std::result::Result<Schema, Unsupported> {
    stacker::maybe_grow(STACK, STACK, || ddl::schema(ddl, placeholders))
}

/// Reads one query.
///
/// # Errors
/// Text that does not parse, unknown or ambiguous names, constructs without a meaning in the plan and results that the
/// standard does not determine.
pub fn query(schema: &Schema, sql: &str) -> std::result::Result<Query, Unsupported> {
    settled(schema, as_written(schema, sql)?)
}

/// Reads one query as one dialect of the parser does, for a first look that must not cost much. What others read in
/// another way, or the parser makes something else of, is not found out: what is seen of it counts once [`query`] has
/// read it too.
///
/// # Errors
/// As [`query`].
pub fn first_reading(schema: &Schema, sql: &str) -> std::result::Result<Query, Unsupported> {
    let tree = |dialect: &dyn Dialect| {
        let tokens = Tokenizer::new(dialect, sql).tokenize_with_location().map_err(|e| syntax(&e.to_string()))?;
        plain(&tokens)?;
        let parser = Parser::new(dialect).with_recursion_limit(MAX_PARSE_DEPTH);
        parser.with_tokens_with_locations(tokens).parse_statements().map_err(|e| syntax(&e.to_string()))
    };
    let read = || query_here(schema, tree(&PostgreSqlDialect {}).or_else(|_| tree(&GenericDialect {}))?);
    settled(schema, stacker::maybe_grow(STACK, STACK, read)?)
}

fn settled(schema: &Schema, mut query: Query) -> std::result::Result<Query, Unsupported> {
    query.plan.settle_limits();
    validate(schema, &query).map_err(|error| Unsupported(format!("internal: {error}")))?;
    Ok(query)
}

/// Reads one query, with every LIMIT as it stands.
pub(crate) fn as_written(schema: &Schema, sql: &str) -> Result<Query> {
    stacker::maybe_grow(STACK, STACK, || query_here(schema, parse(sql)?))
}

fn query_here(schema: &Schema, mut statements: Vec<ast::Statement>) -> Result<Query> {
    let (Some(ast::Statement::Query(statement)), true) = (statements.pop(), statements.is_empty()) else {
        return no("a statement that is not one query");
    };
    names::unmistakable(schema, &statement)?;
    let mut lowerer = Lowerer::new(schema);
    lowerer.statement(&statement)
}

/// State while one statement is read.
struct Lowerer<'a> {
    schema: &'a Schema,
    /// The rows in reach, outermost first.
    scopes: Vec<scope::Scope>,
    /// Rows that some engines search and the standard does not, each with the number of scopes outside it.
    shadows: Vec<(usize, scope::Scope)>,
    /// What is joined after the condition that is read, where some engines look too, with the number of scopes outside.
    later: Vec<(usize, Vec<scope::Later>)>,
    /// The output names of the SELECTs around this one, each with the number of scopes that it sees.
    outer_aliases: Vec<(usize, Vec<(String, ast::Expr)>)>,
    /// Named queries in reach, innermost last.
    ctes: Vec<query::Cte>,
    /// The SELECT being read.
    block: select::Block,
    /// Where the rows that LATERAL may see begin in `scopes`.
    from_base: usize,
    /// Counts table factors, to tell tables of one name apart.
    relations: usize,
    /// Nesting so far.
    depth: usize,
    /// Expressions and plan nodes in the copies of named queries so far.
    copied: usize,
    /// Assumptions that leave no trace in the plan.
    assumptions: BTreeSet<Assumption>,
}

impl<'a> Lowerer<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            scopes: Vec::new(),
            shadows: Vec::new(),
            later: Vec::new(),
            outer_aliases: Vec::new(),
            ctes: Vec::new(),
            block: select::Block::default(),
            from_base: 0,
            relations: 0,
            depth: 0,
            copied: 0,
            assumptions: BTreeSet::new(),
        }
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return no("an expression or query nested too deeply");
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f` with one more row in reach.
    fn with_scope<T>(&mut self, scope: scope::Scope, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.scopes.push(scope);
        let result = f(self);
        self.scopes.pop();
        result
    }
}

/// Parses with two dialects, since neither reads all of the language, and refuses text that they read differently.
fn parse(sql: &str) -> Result<Vec<ast::Statement>> {
    let readings = (reading(&PostgreSqlDialect {}, sql)?, reading(&GenericDialect {}, sql)?);
    let (dialect, tokens, tree): (&dyn Dialect, _, _) = match readings {
        (Ok((_, a)), Ok((_, b))) if a != b => return no("text that dialects read differently"),
        (Ok((tokens, tree)), _) => (&PostgreSqlDialect {}, tokens, tree),
        (Err(_), Ok((tokens, tree))) => (&GenericDialect {}, tokens, tree),
        (Err(_), Err(error)) => return Err(error),
    };
    tokens::accounted(dialect, &tokens, &tree)?;
    names::without_capitals(&tokens)?;
    Ok(tree)
}

/// The tokens of a text and their tree, or why it does not parse.
type Reading = Result<(Vec<TokenWithSpan>, Vec<ast::Statement>)>;

/// Reads a text as a dialect does.
///
/// # Errors
/// What must not be read in any other way either.
fn reading(dialect: &dyn Dialect, sql: &str) -> Result<Reading> {
    let tokens = match Tokenizer::new(dialect, sql).tokenize_with_location() {
        Ok(tokens) => tokens,
        Err(error) => return Ok(Err(syntax(&error.to_string()))),
    };
    plain(&tokens)?;
    let read = |depth| {
        let parser = Parser::new(dialect).with_recursion_limit(depth);
        parser.with_tokens_with_locations(tokens.clone()).parse_statements()
    };
    Ok(match read(MAX_PARSE_DEPTH) {
        Ok(tree) => Ok((tokens, tree)),
        // Where it could go another way, the parser tries that and forgets that it went too deep.
        Err(_) if read(10 * MAX_PARSE_DEPTH).is_ok() => no("an expression or query nested too deeply"),
        Err(error) => Err(syntax(&error.to_string())),
    })
}

/// Refuses tokens that engines read differently.
fn plain(tokens: &[TokenWithSpan]) -> Result<()> {
    if tokens.len() > MAX_TOKENS {
        return no("a text of this length");
    }
    let mut after_text = false;
    for token in tokens {
        if let Token::Whitespace(space) = &token.token {
            comment(space)?;
            continue;
        }
        // Two literals side by side are one in some engines, in others if a line ends between them, and with a name in
        // double quotes in MySQL. The parser takes the second for an alias.
        let quoted = matches!(&token.token, Token::Word(word) if word.quote_style.is_some());
        unset(after_text && (quoted || is_text(&token.token)), "adjacent literals, which engines join or read apart")?;
        after_text = is_text(&token.token);
    }
    Ok(())
}

/// Whether a token is a literal in quotes.
fn is_text(token: &Token) -> bool {
    matches!(
        token,
        Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::TripleSingleQuotedString(_)
            | Token::TripleDoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DoubleQuotedByteStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
    )
}

/// Refuses comments that are code in some engines or end elsewhere.
fn comment(space: &Whitespace) -> Result<()> {
    match space {
        Whitespace::Space | Whitespace::Newline | Whitespace::Tab => Ok(()),
        Whitespace::SingleLineComment { comment, prefix } => {
            let plain = prefix == "--" && comment.chars().next().is_none_or(char::is_whitespace);
            unset(!plain, "a comment that engines read differently")
        }
        Whitespace::MultiLineComment(text) => {
            let strange = text.starts_with(['!', '+', 'M']) || text.contains("/*");
            unset(strange, "a comment that engines read differently")
        }
    }
}

fn syntax(message: &str) -> Unsupported {
    Unsupported(format!("syntax error: {}", message.trim_start_matches("sql parser error: ")))
}

/// The last part of a possibly qualified name.
fn last_name(name: &ast::ObjectName) -> Result<&ast::Ident> {
    let ast::ObjectName(parts) = name;
    match parts.last() {
        Some(ast::ObjectNamePart::Identifier(ident)) => Ok(ident),
        _ => no(format!("the name {name}")),
    }
}
