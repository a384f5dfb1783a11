//! Replacing one expression or one query block of a parsed query.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use super::Rng;
use crate::walk::{ON, OVER, Walk, each_expr, walk};
use rand::RngExt as _;

/// The query of a text.
pub(super) fn parse(sql: &str) -> Option<Query> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).ok()?;
    let query = parser.parse_query().ok()?;
    (parser.peek_token().token == sqlparser::tokenizer::Token::EOF).then_some(*query)
}

/// The expression of a text.
pub(super) fn parse_expr(text: &str) -> Option<Expr> {
    Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?.parse_expr().ok()
}

/// Draws a site that has options, and one of them.
fn draw(rng: &mut Rng, counts: &[usize]) -> Option<(usize, usize)> {
    let sites: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
    if sites.is_empty() {
        return None;
    }
    let site = sites[rng.random_range(0..sites.len())];
    Some((site, rng.random_range(0..counts[site])))
}

struct Replace<'a> {
    options: &'a dyn Fn(&Expr) -> Vec<String>,
    /// Expressions until the one that is replaced.
    left: usize,
    choice: usize,
    done: bool,
}

impl Walk for Replace<'_> {
    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.left > 0 {
            self.left -= 1;
            return ON;
        }
        if let Some(new) = (self.options)(expr).get(self.choice).and_then(|text| parse_expr(text)) {
            *expr = new;
            self.done = true;
        }
        OVER
    }
}

/// Puts one of its options in the place of a random expression; `false` if no expression has any.
pub(super) fn replace_expr(rng: &mut Rng, query: &mut Query, options: &dyn Fn(&Expr) -> Vec<String>) -> bool {
    let mut counts = Vec::new();
    let _ = each_expr(query, |expr| {
        counts.push(options(expr).len());
        ON
    });
    let Some((left, choice)) = draw(rng, &counts) else { return false };
    let mut replace = Replace { options, left, choice, done: false };
    let _ = walk(query, &mut replace);
    replace.done
}

type QueryOptions<'a> = &'a dyn Fn(&Query, bool) -> Vec<String>;

struct Blocks<'a> {
    options: QueryOptions<'a>,
    counts: Vec<usize>,
    target: Option<(usize, usize)>,
    depth: usize,
    done: bool,
}

impl Walk for Blocks<'_> {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let options = (self.options)(query, self.depth == 0);
        self.depth += 1;
        let site = self.counts.len();
        self.counts.push(options.len());
        match self.target {
            Some((wanted, choice)) if wanted == site => {
                if let Some(new) = options.get(choice).and_then(|text| parse(text)) {
                    *query = new;
                    self.done = true;
                }
                OVER
            }
            _ => ON,
        }
    }

    fn after_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ON
    }
}

/// Puts one of its options in the place of a random query block; the options learn whether it is the outermost.
pub(super) fn replace_query(rng: &mut Rng, query: &mut Query, options: QueryOptions<'_>) -> bool {
    let mut blocks = Blocks { options, counts: Vec::new(), target: None, depth: 0, done: false };
    let mut copy = query.clone();
    let _ = walk(&mut copy, &mut blocks);
    let Some(target) = draw(rng, &blocks.counts) else { return false };
    let mut blocks = Blocks { options, counts: Vec::new(), target: Some(target), depth: 0, done: false };
    let _ = walk(query, &mut blocks);
    blocks.done
}
