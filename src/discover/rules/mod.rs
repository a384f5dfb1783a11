//! Candidates without a model: rewriting rules, composed at random.
//!
//! This is the baseline that a language model has to beat (Argus paper, section 5: a model proposes, a prover decides).
//! Rules come in families, one file each, and every family ends in a table of its [`site::Rule`]s. Most rules are
//! sound; a few are mistakes that people make, because a prover that never refuses anything is not being tested, and
//! because such a rule is sometimes right where a key or another condition makes it so. Nothing relies on either:
//! candidates are proven by others.
//!
//! A proposal is a base (the seed or a query proven equal to it) after one to three rules. Bases that were proven come
//! back, so long chains of rules are reached by steps that are each short, and each proven.
//!
//! Invariants: what is proposed parses, prints faithfully and binds; new names are new in the whole query and schema;
//! the same generator gives the same proposals; the work of a call is bounded.

mod aggregates;
mod block;
mod facts;
mod joins;
mod outer;
mod partition;
mod predicates;
mod semi;
mod sets;
mod site;
#[cfg(test)]
mod tests;
mod wrap;

use crate::caq::bind::bind;
use crate::caq::class::NamesError;
use crate::caq::query::Caq;
use crate::rng::{Rng, pick};
use crate::sql::print::{PrintError, parse_query, print_query};
use block::Block;
use facts::Facts;
use prover::walk::{Walk, walk};
use rand::RngExt as _;
use site::Rule;
use sqlparser::ast::{Query, SelectItem, SetExpr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use thiserror::Error;

/// Rules tried for one step before the step is given up.
const TRIES_PER_STEP: usize = 12;

/// Attempts for each wanted proposal before a call returns with fewer.
const ATTEMPTS_PER_PROPOSAL: usize = 12;

/// Bytes that a proposal may have beyond five times the seed's: every rule adds text, and proofs of long queries take
/// long.
const LENGTH_SLACK: usize = 400;

/// Why there are no rules for a seed.
#[derive(Debug, Error)]
pub enum RulesError {
    /// The schema or a placeholder is wrong.
    #[error(transparent)]
    Names(#[from] NamesError),
    /// The seed is not one query.
    #[error("the seed cannot be read")]
    Seed(#[from] PrintError),
}

/// A candidate and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The query, as printed.
    pub sql: String,
    /// Names of the rules that made it from its base, in order.
    pub rules: Vec<&'static str>,
}

/// Rewriting rules over the schema of one seed.
#[derive(Debug)]
pub struct Rules {
    facts: Facts,
    length_max: usize,
}

impl Rules {
    /// Reads the seed's schema and placeholders.
    pub fn new(seed: &Caq) -> Result<Self, RulesError> {
        parse_query(&seed.sql)?;
        Ok(Self { facts: Facts::read(seed)?, length_max: LENGTH_SLACK + 5 * seed.sql.len() })
    }

    /// Proposes up to `wanted` candidates, each made from one of `from` and none of them in `from` or `avoid`, white
    /// space aside. What of `from` cannot be read is passed over. Fewer candidates, or none, are no error.
    pub fn propose(&self, from: &[&str], avoid: &BTreeSet<String>, wanted: usize, rng: &mut Rng) -> Vec<Proposal> {
        let bases: Vec<Query> = from.iter().filter_map(|sql| self.base(sql)).collect();
        let mut seen: BTreeSet<String> =
            avoid.iter().map(String::as_str).chain(from.iter().copied()).map(plain).collect();
        seen.extend(bases.iter().map(|base| plain(&base.to_string())));
        let mut proposals = Vec::new();
        for _ in 0..wanted.saturating_mul(ATTEMPTS_PER_PROPOSAL) {
            if proposals.len() == wanted {
                break;
            }
            let Some(base) = Self::pick_base(&bases, rng) else { break };
            let Some(proposal) = self.attempt(base, rng) else { continue };
            if seen.insert(plain(&proposal.sql)) {
                proposals.push(proposal);
            }
        }
        proposals
    }

    /// The seed in two of five draws; otherwise the shorter of two, so that texts do not only grow.
    fn pick_base<'b>(bases: &'b [Query], rng: &mut Rng) -> Option<&'b Query> {
        let seed = bases.first()?;
        if rng.random_range(0..5) < 2 {
            return Some(seed);
        }
        let (a, b) = (pick(rng, bases)?, pick(rng, bases)?);
        Some(if a.to_string().len() <= b.to_string().len() { a } else { b })
    }

    fn attempt(&self, base: &Query, rng: &mut Rng) -> Option<Proposal> {
        let steps = match rng.random_range(0..100) {
            0..50 => 1,
            50..85 => 2,
            _ => 3,
        };
        let mut query = base.clone();
        let mut rules = Vec::new();
        for _ in 0..steps {
            for _ in 0..TRIES_PER_STEP {
                let rule = draw(rng);
                // Read back: rules look at trees as the parser makes them.
                if let Some(next) = rule.apply(&query, &self.facts, rng).and_then(|next| reread(&next)) {
                    query = next;
                    rules.push(rule.name);
                    break;
                }
            }
        }
        if rules.is_empty() {
            return None;
        }
        let sql = print_query(&query).ok()?;
        (sql.len() <= self.length_max && bind(&sql, &self.facts.names).is_ok()).then_some(Proposal { sql, rules })
    }

    /// Parses a base and writes out its `*`.
    fn base(&self, sql: &str) -> Option<Query> {
        let mut query = parse_query(sql).ok()?;
        let copy = query.clone();
        // Nothing is drawn from this generator: writing out `*` asks for columns only.
        let mut rng = crate::rng::stream(0, &[]);
        let cx = facts::Cx::new(&self.facts, &copy, &mut rng);
        let _ = walk(&mut query, &mut Stars { cx });
        Some(query)
    }
}

fn reread(query: &Query) -> Option<Query> {
    parse_query(&print_query(query).ok()?).ok()
}

/// A text without the difference that white space makes.
fn plain(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes out `*`, inner queries first.
struct Stars<'a> {
    cx: facts::Cx<'a>,
}

impl Walk for Stars<'_> {
    fn after_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.body(&mut query.body);
        ControlFlow::Continue(())
    }
}

impl Stars<'_> {
    fn body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            SetExpr::Select(select) if matches!(select.projection.as_slice(), [SelectItem::Wildcard(_)]) => {
                let mut named = select.clone();
                named.projection = Vec::new();
                let Some(entries) = Block::read(&named).and_then(|b| b.entries(&self.cx)) else { return };
                let names = entries.iter().flat_map(|e| {
                    e.columns.iter().filter(|c| !c.placeholder).map(|c| format!("{}.{}", e.alias, c.name))
                });
                let names: Option<Vec<_>> = names.map(|n| block::expr(&n).map(SelectItem::UnnamedExpr)).collect();
                if let Some(names) = names {
                    select.projection = names;
                }
            }
            _ => {}
        }
    }
}

/// The families.
const FAMILIES: [&[Rule]; 8] = [
    partition::RULES,
    joins::RULES,
    outer::RULES,
    semi::RULES,
    sets::RULES,
    wrap::RULES,
    predicates::RULES,
    aggregates::RULES,
];

/// The name of every rule, and whether it is meant to be right everywhere.
pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
    rules().map(|rule| (rule.name, rule.sound))
}

/// Every rule.
fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.into_iter().flatten()
}

/// A random rule, by weight.
fn draw(rng: &mut Rng) -> &'static Rule {
    let total: u32 = rules().map(|r| r.weight).sum();
    let mut at = rng.random_range(0..total.max(1));
    for rule in rules() {
        if at < rule.weight {
            return rule;
        }
        at -= rule.weight;
    }
    &partition::RULES[0]
}
