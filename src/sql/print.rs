//! Parsing and printing of the SQL that classes are written in.
//!
//! sqlparser's printer adds no parentheses, so a tree that was changed may print as a different query. What an oracle
//! relies on is therefore parsed back and compared before use: [`print_query`].

use prover::walk::{ON, Walk, walk};
use sqlparser::ast::{Query, Statement, Value, ValueWithSpan};
use sqlparser::dialect::{Dialect, PostgreSqlDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;
use std::ops::ControlFlow;
use thiserror::Error;

/// Words and signs of one query at most. A chain of operators is a tree as deep as it is long, and trees are walked by
/// recursion.
const TOKENS_MAX: usize = 4_000;

/// Deepest nesting of expressions and queries the parser follows.
const RECURSION_LIMIT: usize = 128;

/// The dialect class members are parsed with: the one with which sqlparser knows most of what classes need, such as
/// `AS MATERIALIZED` and `LATERAL`.
pub fn dialect() -> &'static dyn Dialect {
    static DIALECT: PostgreSqlDialect = PostgreSqlDialect {};
    &DIALECT
}

/// Why a query text or tree cannot be used.
#[derive(Debug, Error)]
pub enum PrintError {
    /// The text is no SQL.
    #[error("the query does not parse")]
    Syntax(#[source] ParserError),
    /// More words and signs than a member may have.
    #[error("the query is longer than {TOKENS_MAX} words and signs")]
    TooLong,
    /// The text is not exactly one SELECT.
    #[error("expected one query, found {0}")]
    NotOneQuery(String),
    /// Printing the tree and parsing the text gives another tree.
    #[error("printed as {printed}, which reads back as a different query")]
    NotFaithful {
        /// The printed text.
        printed: String,
    },
}

/// Parses one query.
pub fn parse_query(sql: &str) -> Result<Query, PrintError> {
    let tokens = Tokenizer::new(dialect(), sql)
        .tokenize_with_location()
        .map_err(|error| PrintError::Syntax(ParserError::TokenizerError(error.to_string())))?;
    if tokens.len() > TOKENS_MAX {
        return Err(PrintError::TooLong);
    }
    let mut statements = Parser::new(dialect())
        .with_recursion_limit(RECURSION_LIMIT)
        .with_tokens_with_locations(tokens)
        .parse_statements()
        .map_err(PrintError::Syntax)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(Statement::Query(query)), true) => Ok(*query),
        (Some(other), true) => Err(PrintError::NotOneQuery(other.to_string())),
        (Some(_), false) => Err(PrintError::NotOneQuery("several statements".to_owned())),
        (None, _) => Err(PrintError::NotOneQuery("nothing".to_owned())),
    }
}

/// Prints a query and checks that the text reads back as the same tree.
pub fn print_query(query: &Query) -> Result<String, PrintError> {
    reading_back(query.to_string(), query)
}

/// Prints a query as [`print_query`] does, but TRUE and FALSE in capitals, as people write all keywords.
pub fn print_query_in_capitals(query: &Query) -> Result<String, PrintError> {
    /// A placeholder is printed as it stands.
    struct Capitals;
    impl Walk for Capitals {
        fn value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
            if let Value::Boolean(truth) = value.value {
                value.value = Value::Placeholder(if truth { "TRUE" } else { "FALSE" }.to_owned());
            }
            ON
        }
    }
    let mut capitals = query.clone();
    // The walk never ends early.
    let _ = walk(&mut capitals, &mut Capitals);
    reading_back(capitals.to_string(), query)
}

/// A text, if it reads as this query.
fn reading_back(printed: String, query: &Query) -> Result<String, PrintError> {
    match parse_query(&printed) {
        Ok(read) if read == *query => Ok(printed),
        _ => Err(PrintError::NotFaithful { printed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::ast::{BinaryOperator, Expr, SetExpr};

    #[test]
    fn a_tree_that_loses_its_parentheses_is_refused() {
        let mut query = parse_query("SELECT 1 WHERE a AND b").expect("parses");
        let SetExpr::Select(select) = query.body.as_mut() else { panic!("a select") };
        let Some(Expr::BinaryOp { left, .. }) = select.selection.as_mut() else { panic!("a conjunction") };
        let column = |name: &str| Box::new(Expr::Identifier(name.into()));
        **left = Expr::BinaryOp { left: column("a"), op: BinaryOperator::Or, right: column("c") };
        assert!(matches!(print_query(&query), Err(PrintError::NotFaithful { .. })));
        let Some(Expr::BinaryOp { left, .. }) = select_of(&mut query) else { panic!("a conjunction") };
        **left = Expr::Nested(left.clone());
        assert_eq!(print_query(&query).expect("faithful"), "SELECT 1 WHERE (a OR c) AND b");
    }

    #[test]
    fn truth_values_are_printed_as_they_are_wanted() {
        let query = parse_query("SELECT TRUE WHERE 'true' IS NOT FALSE AND false").expect("parses");
        let printed = |printed: Result<String, PrintError>| printed.expect("faithful");
        assert_eq!(printed(print_query(&query)), "SELECT true WHERE 'true' IS NOT FALSE AND false");
        assert_eq!(printed(print_query_in_capitals(&query)), "SELECT TRUE WHERE 'true' IS NOT FALSE AND FALSE");
    }

    fn select_of(query: &mut Query) -> Option<&mut Expr> {
        match query.body.as_mut() {
            SetExpr::Select(select) => select.selection.as_mut(),
            _ => None,
        }
    }

    #[test]
    fn only_single_queries_parse() {
        for sql in ["", "SELECT 1; SELECT 2", "DELETE FROM t", "SELECT (1", "SELECT 1 FROM"] {
            assert!(parse_query(sql).is_err(), "{sql}");
        }
    }
}
