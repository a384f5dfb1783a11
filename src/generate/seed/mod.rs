//! Seeds of discovery: random schemas with one query each, made from a grammar (Argus paper, section 5.1).
//!
//! A seed is what equivalent queries are searched for, so its grammar is chosen for what can be rewritten: joins that
//! could be semi-joins, keys that make a join redundant, predicates that can be split, aggregates over joins, set
//! operations over one table. As in the paper's Listing 3 a placeholder is made by using it as a column or a table that
//! the schema does not have; here it is declared where the query first uses it, so every placeholder is used.
//!
//! What the grammar leaves out is what no proof could be used for: whatever rests on the order of rows (LIMIT), and what
//! engines compute each in their own way (division, AVG, sums and comparisons of REAL, arithmetic that overflows, scalar
//! subqueries that may have two rows). What remains is understood by the prover and by every dialect, SQLite first.
//!
//! **Invariant:** pure; a seed is a function of the campaign's seed, its number and the options.

mod body;
pub mod dump;
mod grammar;
mod predicate;
mod schema;
mod source;
mod structure;
mod value;

pub use structure::structure;

use crate::caq::bind::GENERATED_ALIAS;
use crate::caq::query::Caq;
use crate::rng::{Rng, stream};
use crate::sql::print::dialect;
use crate::sql::schema::{Schema, SchemaError, parse_schema};
use grammar::{Grammar, fresh};
use rand::RngExt as _;
use sqlparser::tokenizer::{Token, Tokenizer};
use std::collections::BTreeSet;
use thiserror::Error;

/// What seeds are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// `CREATE TABLE` statements to use in place of generated ones, as a class file may have them.
    pub schema: Option<String>,
    /// Tables to use in place of generated ones; each seed has those that it needs.
    pub tables: Option<Schema>,
    /// Whether INTERSECT ALL and EXCEPT ALL may occur. SQLite knows neither
    /// (<https://sqlite.org/lang_select.html#compound>).
    pub bag_set_operations: bool,
}

/// Why no seeds can be made.
#[derive(Debug, Error)]
pub enum SeedError {
    /// The given schema is not understood.
    #[error("the schema for seeds cannot be used; correct its CREATE TABLE statements")]
    Schema(#[from] SchemaError),
    /// The given schema has nothing to select from.
    #[error("the schema for seeds has no table with columns; give at least one CREATE TABLE statement")]
    Empty,
    /// The given schema has a name that queries could not use as it is.
    #[error(
        "the schema for seeds has the name {name}; choose one that needs no quotes and does not start with __ or, for a \
         table, {GENERATED_ALIAS}"
    )]
    Name {
        /// The name.
        name: String,
    },
}

/// Stream of seeds, apart from the streams of a hunt with the same campaign seed.
const SEED_STREAM: u64 = 0x5EED;

/// Drawings for one seed, of which the first that is worth rewriting is taken.
const DRAWINGS: u64 = 50;

/// Seeds in a row whose structures are known already, after which no more are looked for.
const REPEATS_MAX: u32 = 1000;

/// Makes seeds.
#[derive(Debug, Clone)]
pub struct Generator {
    campaign_seed: u64,
    bag_set_operations: bool,
    /// The user's schema, as written if seeds have it so, and as read.
    given: Option<(Option<String>, Schema)>,
}

impl Generator {
    /// A generator for a campaign.
    pub fn new(campaign_seed: u64, options: &Options) -> Result<Self, SeedError> {
        let given = match (&options.schema, &options.tables) {
            (Some(ddl), _) => Some(read(ddl).map(|(ddl, schema)| (Some(ddl), schema))?),
            (None, Some(schema)) if schema.tables.is_empty() => return Err(SeedError::Empty),
            (None, tables) => tables.clone().map(|schema| (None, schema)),
        };
        Ok(Self { campaign_seed, bag_set_operations: options.bag_set_operations, given })
    }

    /// The seed with a number. It binds as a member of a class, and every placeholder is used.
    pub fn seed(&self, number: u64) -> Caq {
        (0..DRAWINGS)
            .find_map(|drawing| self.draw(&mut stream(self.campaign_seed, &[SEED_STREAM, number, drawing])))
            .unwrap_or_else(|| self.simplest())
    }

    /// Seeds of different [`structure`]s, by number.
    pub fn distinct(self) -> Distinct {
        Distinct { generator: self, number: 0, seen: BTreeSet::new() }
    }

    /// Draws once; `None` if the query came out without a placeholder or without anything to rewrite.
    fn draw(&self, rng: &mut Rng) -> Option<Caq> {
        let schema = self.given.as_ref().map_or_else(|| schema::schema(rng), |(_, schema)| schema.clone());
        let drawn = Grammar::new(&schema, self.bag_set_operations, rng).query()?;
        let ddl = match &self.given {
            Some((Some(ddl), _)) => ddl.clone(),
            _ => schema::ddl(&schema, &needed(&schema, &drawn.used)),
        };
        Some(Caq { schema: ddl, placeholders: drawn.placeholders, sql: drawn.sql })
    }

    /// What is left if nothing else could be drawn, as from a schema without anything comparable.
    fn simplest(&self) -> Caq {
        let generated = || parse_schema("CREATE TABLE t1(c0 INT)").unwrap_or_default();
        let schema = self.given.as_ref().map_or_else(generated, |(_, schema)| schema.clone());
        let table = &schema.tables[0];
        let name = fresh(&schema.tables, &[], "p", 1);
        let column = &table.columns[0].name;
        Caq {
            schema: match &self.given {
                Some((Some(ddl), _)) => ddl.clone(),
                _ => schema::ddl(&schema, &needed(&schema, &vec![false; schema.tables.len()])),
            },
            sql: format!("SELECT {0}.{column} FROM {0} WHERE {0}.{name}", table.name),
            placeholders: [(name, format!("Expr({}: BOOLEAN)", table.name))].into(),
        }
    }
}

/// Reads a user's schema and makes sure that queries can use its names as they are.
fn read(ddl: &str) -> Result<(String, Schema), SeedError> {
    let schema = parse_schema(ddl)?;
    if schema.tables.is_empty() || schema.tables.iter().any(|t| t.columns.is_empty()) {
        return Err(SeedError::Empty);
    }
    // A name that the schema has to quote would have to be quoted by queries too.
    let tokens = Tokenizer::new(dialect(), ddl).tokenize().unwrap_or_default();
    let quoted = tokens.iter().find_map(|token| match token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
        _ => None,
    });
    let reserved = |name: &&str| name.to_ascii_lowercase().starts_with(GENERATED_ALIAS) || name.starts_with("__");
    let tables = schema.tables.iter().map(|t| t.name.as_str());
    if let Some(name) = quoted.or_else(|| tables.filter(reserved).map(str::to_owned).next()) {
        return Err(SeedError::Name { name });
    }
    Ok((ddl.to_owned(), schema))
}

/// The tables that a seed's schema needs: those its query reads, and those that these refer to.
fn needed(schema: &Schema, used: &[bool]) -> Vec<bool> {
    let mut needed = used[..schema.tables.len()].to_vec();
    // A foreign key refers to an earlier table.
    for at in (0..needed.len()).rev() {
        if needed[at] {
            for key in &schema.tables[at].foreign_keys {
                needed[key.table] = true;
            }
        }
    }
    // A class is written over some table, even if it reads only placeholders.
    if !needed.contains(&true) {
        needed[0] = true;
    }
    needed
}

/// A seed and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The number with which [`Generator::seed`] makes it.
    pub number: u64,
    /// The query, its schema and its placeholders.
    pub caq: Caq,
}

/// Seeds of different structures; ends when a thousand in a row have known ones.
#[derive(Debug)]
pub struct Distinct {
    generator: Generator,
    number: u64,
    seen: BTreeSet<String>,
}

impl Iterator for Distinct {
    type Item = Seed;

    fn next(&mut self) -> Option<Seed> {
        for _ in 0..REPEATS_MAX {
            let number = self.number;
            self.number += 1;
            let caq = self.generator.seed(number);
            if self.seen.insert(structure(&caq)) {
                return Some(Seed { number, caq });
            }
        }
        None
    }
}

/// The structurally distinct seeds of a campaign.
pub fn seeds(campaign_seed: u64, options: &Options) -> Result<Distinct, SeedError> {
    Ok(Generator::new(campaign_seed, options)?.distinct())
}

/// Draws one of several choices by their weights, the last if all are 0.
fn weighted<T: Copy>(rng: &mut Rng, choices: &[(u32, T)]) -> T {
    let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
    let mut left = rng.random_range(0..total.max(1));
    for &(weight, choice) in choices {
        if left < weight {
            return choice;
        }
        left -= weight;
    }
    choices[choices.len() - 1].1
}

#[cfg(test)]
mod tests;
