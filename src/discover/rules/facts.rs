//! What rules know: the schema's relations with their virtual columns and keys, and names that are taken.

use super::RulesError;
use super::block::{Block, operands};
use crate::caq::class::read_names;
use crate::caq::names::{Names, PlaceholderKind};
use crate::caq::query::Caq;
use crate::rng::{Rng, chance, pick};
use crate::sql::types::SqlType;
use prover::walk::{ON, Walk, walk};
use rand::RngExt as _;
use sqlparser::ast::{Cte, Query, SetExpr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A column that a FROM clause makes visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Col {
    pub(super) name: String,
    /// Unknown for computed columns of derived tables.
    pub(super) ty: Option<SqlType>,
    /// Whether it surely never is NULL.
    pub(super) not_null: bool,
    /// Whether it is an expression placeholder.
    pub(super) placeholder: bool,
}

/// A foreign key whose columns are given by name.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) columns: Vec<String>,
    /// Position of the table referred to.
    pub(super) table: usize,
    pub(super) referred: Vec<String>,
}

/// A table or table placeholder.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    pub(super) name: String,
    /// Real columns, then virtual ones.
    pub(super) columns: Vec<Col>,
    /// Column sets that hold different values in different rows, NULLs apart.
    pub(super) unique: Vec<Vec<String>>,
    pub(super) foreign: Vec<Reference>,
}

impl Relation {
    fn column(&self, name: &str) -> Option<&Col> {
        self.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// The sets of columns that identify a row and are never NULL.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Vec<String>> {
        self.unique.iter().filter(|key| key.iter().all(|c| self.column(c).is_some_and(|c| c.not_null)))
    }
}

/// The schema of a CAQ as rules see it.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) relations: Vec<Relation>,
    /// For binding.
    pub(super) names: Names,
}

impl Facts {
    pub(super) fn read(caq: &Caq) -> Result<Self, RulesError> {
        let (_, names) = read_names(&caq.schema, &caq.placeholders)?;
        let relations = names
            .relations
            .iter()
            .enumerate()
            .map(|(at, table)| {
                let name_all = |at: &[usize]| at.iter().map(|&c| table.columns[c].name.clone()).collect::<Vec<_>>();
                let real = table.columns.iter().map(|c| Col {
                    name: c.name.clone(),
                    ty: Some(c.ty),
                    not_null: c.not_null,
                    placeholder: false,
                });
                let virtual_columns = names.placeholders.iter().filter_map(|p| match p.kind {
                    PlaceholderKind::Expr { relation, ty } if relation == at => {
                        Some(Col { name: p.name.clone(), ty: Some(ty), not_null: false, placeholder: true })
                    }
                    _ => None,
                });
                let primary = (!table.primary_key.is_empty()).then_some(&table.primary_key);
                Relation {
                    name: table.name.clone(),
                    columns: real.chain(virtual_columns).collect(),
                    unique: primary.into_iter().chain(&table.unique).map(|key| name_all(key)).collect(),
                    foreign: table
                        .foreign_keys
                        .iter()
                        .map(|key| Reference {
                            columns: name_all(&key.columns),
                            table: key.table,
                            referred: key
                                .referred
                                .iter()
                                .map(|&c| names.relations[key.table].columns[c].name.clone())
                                .collect(),
                        })
                        .collect(),
                }
            })
            .collect();
        Ok(Self { relations, names })
    }

    /// The relation of a name.
    pub(super) fn relation(&self, name: &str) -> Option<usize> {
        self.relations.iter().position(|r| r.name.eq_ignore_ascii_case(name))
    }
}

/// The common table expressions of a query, outer ones first.
struct Tables(Vec<Cte>);

impl Walk for Tables {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(with) = query.with.as_ref().filter(|with| !with.recursive) {
            self.0.extend(with.cte_tables.iter().filter(|c| c.alias.columns.is_empty()).cloned());
        }
        ON
    }
}

/// What a rule works with besides the place it looks at.
pub(super) struct Cx<'a> {
    pub(super) facts: &'a Facts,
    pub(super) rng: &'a mut Rng,
    /// Every word of the query and every name of the schema, in lower case; a fresh name is none of them.
    used: BTreeSet<String>,
    /// The common table expressions of the query with their columns.
    ctes: Vec<(String, Vec<Col>)>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(facts: &'a Facts, query: &Query, rng: &'a mut Rng) -> Self {
        let text = query.to_string().to_ascii_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut used: BTreeSet<String> = words.map(str::to_owned).collect();
        for relation in &facts.relations {
            used.insert(relation.name.to_ascii_lowercase());
            used.extend(relation.columns.iter().map(|c| c.name.to_ascii_lowercase()));
        }
        used.extend(facts.names.placeholders.iter().map(|p| p.name.to_ascii_lowercase()));
        let mut cx = Self { facts, rng, used, ctes: Vec::new() };
        cx.add_ctes(query);
        cx
    }

    fn add_ctes(&mut self, query: &Query) {
        let mut found = Tables(Vec::new());
        // It never ends early.
        let _ = walk(&mut query.clone(), &mut found);
        for cte in found.0 {
            if let Some(columns) = self.outputs(&cte.query) {
                self.ctes.push((cte.alias.name.value.clone(), columns));
            }
        }
    }

    /// The columns of a common table expression.
    pub(super) fn cte(&self, name: &str) -> Option<&[Col]> {
        self.ctes.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, columns)| columns.as_slice())
    }

    /// The columns that a query returns; none if one of them has no name.
    pub(super) fn outputs(&self, query: &Query) -> Option<Vec<Col>> {
        self.body_outputs(&query.body)
    }

    fn body_outputs(&self, body: &SetExpr) -> Option<Vec<Col>> {
        let mut all = Vec::new();
        for operand in operands(body) {
            let SetExpr::Select(select) = operand else { return None };
            let block = Block::read(select)?;
            let entries = block.entries(self)?;
            all.push((block.items, entries));
        }
        let (items, _) = all.first()?;
        let mut columns = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let name = item.output()?;
            let parts: Vec<Option<&Col>> = all
                .iter()
                .map(|(items, entries)| items.get(at).and_then(|i| super::block::resolve(&i.expr, entries)))
                .collect();
            columns.push(Col {
                name,
                ty: parts[0].and_then(|c| c.ty),
                not_null: parts.iter().all(|c| c.is_some_and(|c| c.not_null)),
                placeholder: false,
            });
        }
        Some(columns)
    }

    /// A name that nothing has yet: the letter and the smallest number.
    pub(super) fn fresh(&mut self, letter: &str) -> String {
        let mut number = 1;
        loop {
            let name = format!("{letter}{number}");
            if self.used.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    }

    /// True in `percent` of a hundred draws.
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        chance(self.rng, percent)
    }

    /// A random element.
    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        pick(self.rng, items).cloned()
    }

    /// The numbers below `count` in random order.
    pub(super) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.rng.random_range(0..=at));
        }
        order
    }
}
