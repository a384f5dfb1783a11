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
use crate::sql::print::{dialect, print_query, print_query_in_capitals};
use crate::sql::schema::{Schema, SchemaError, parse_schema};
use crate::sql::tree;
use grammar::{Drawn, Grammar, fresh};
use rand::RngExt as _;
use sqlparser::ast::{Query, Select, SetExpr, TableWithJoins};
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
            (None, tables) => tables.clone().map(|schema| (None, schema)),
        };
        if let Some((_, schema)) = &given {
            check(schema)?;
        }
        Ok(Self { campaign_seed, bag_set_operations: options.bag_set_operations, given })
    }

    /// The seed with a number. It binds as a member of a class, and every placeholder is used.
    ///
    /// # Panics
    ///
    /// If the grammar has forgotten parentheses, so that the text would be another query than the tree.
    pub fn seed(&self, number: u64) -> Seed {
        let (schema, drawn) = (0..DRAWINGS)
            .find_map(|drawing| self.draw(&mut stream(self.campaign_seed, &[SEED_STREAM, number, drawing])))
            .unwrap_or_else(|| self.simplest());
        let ddl = match &self.given {
            Some((Some(ddl), _)) => ddl.clone(),
            _ => schema::ddl(&schema, &needed(&schema, &drawn.used)),
        };
        let Drawn { query, placeholders, .. } = drawn;
        let sql = print_query_in_capitals(&query).expect("the grammar writes what reads as it is");
        Seed { number, caq: Caq { schema: ddl, placeholders, sql }, query }
    }

    /// Seeds of different [`structure`]s, by number.
    pub fn distinct(self) -> Distinct {
        Distinct { generator: self, number: 0, seen: BTreeSet::new() }
    }

    /// Draws once; `None` if the query came out without a placeholder or without anything to rewrite.
    fn draw(&self, rng: &mut Rng) -> Option<(Schema, Drawn)> {
        let schema = self.given.as_ref().map_or_else(|| schema::schema(rng), |(_, schema)| schema.clone());
        let drawn = Grammar::new(&schema, self.bag_set_operations, rng).query()?;
        Some((schema, drawn))
    }

    /// What is left if nothing else could be drawn, as from a schema without anything comparable.
    fn simplest(&self) -> (Schema, Drawn) {
        let generated = || parse_schema("CREATE TABLE t1(c0 INT)").unwrap_or_default();
        let schema = self.given.as_ref().map_or_else(generated, |(_, schema)| schema.clone());
        let table = &schema.tables[0];
        let name = fresh(&schema.tables, &[], "p", 1);
        let drawn = Drawn {
            query: read_column(&table.name, &table.columns[0].name, Some(&name)),
            placeholders: [(name, format!("Expr({}: BOOLEAN)", table.name))].into(),
            used: vec![false; schema.tables.len()],
        };
        (schema, drawn)
    }
}

/// `SELECT table.column FROM table [WHERE table.condition]`
fn read_column(table: &str, column: &str, condition: Option<&str>) -> Query {
    let of = |name: &str| tree::column(table, name);
    let from = vec![TableWithJoins { relation: tree::table(table, None), joins: Vec::new() }];
    let select = tree::select(vec![tree::item(of(column), None)], from);
    tree::query(SetExpr::Select(Box::new(Select { selection: condition.map(of), ..select })))
}

/// Makes sure that queries over a user's schema read as what they are.
fn check(schema: &Schema) -> Result<(), SeedError> {
    if schema.tables.is_empty() || schema.tables.iter().any(|t| t.columns.is_empty()) {
        return Err(SeedError::Empty);
    }
    let columns = schema.tables.iter().flat_map(|t| t.columns.iter().map(|c| (t.name.as_str(), c.name.as_str())));
    match columns.into_iter().find(|(table, column)| print_query(&read_column(table, column, None)).is_err()) {
        Some((table, column)) => Err(SeedError::Name { name: format!("{table}.{column}") }),
        None => Ok(()),
    }
}

/// Reads a user's schema and makes sure that its names need no quotes.
fn read(ddl: &str) -> Result<(String, Schema), SeedError> {
    let schema = parse_schema(ddl)?;
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

/// A seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// The number with which [`Generator::seed`] makes it.
    pub number: u64,
    /// The query, its schema and its placeholders.
    pub caq: Caq,
    /// The query as the tree that its text was printed from.
    pub query: Query,
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
            let seed = self.generator.seed(self.number);
            self.number += 1;
            if self.seen.insert(structure(&seed.caq, &seed.query)) {
                return Some(seed);
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
fn weighted<T: Clone>(rng: &mut Rng, choices: &[(u32, T)]) -> T {
    let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
    let mut left = rng.random_range(0..total.max(1));
    for (weight, choice) in choices {
        if left < *weight {
            return choice.clone();
        }
        left -= weight;
    }
    choices[choices.len() - 1].1.clone()
}

#[cfg(test)]
mod tests;
