//! The state of a drawing, which the parts of the grammar share.
//!
//! A query is drawn as it is read, from left to right, tables before what refers to them. Scopes are a stack, as in
//! [`crate::caq::bind`]: an expression uses the innermost, a correlation the one around it. A name is given to one thing
//! wherever two could be seen, so nothing is ever shadowed.

use super::body::Body;
use super::weighted;
use crate::rng::{Rng, chance};
use crate::sql::schema::{Schema, Table};
use crate::sql::tree::{self, UsedNames};
use crate::sql::types::SqlType;
use sqlparser::ast::{Cte, Query};
use std::collections::BTreeMap;

/// An output column or a column in scope: its name and type.
pub(super) type Output = (String, SqlType);

/// A table, derived table or common table expression in a FROM clause.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The name by which its columns are qualified.
    pub(super) alias: String,
    /// Position in [`Grammar::relations`]; only these have expression placeholders.
    pub(super) relation: Option<usize>,
    /// Its columns.
    pub(super) columns: Vec<Output>,
}

impl Source {
    /// The types of its columns.
    pub(super) fn types(&self) -> Vec<SqlType> {
        self.columns.iter().map(|c| c.1).collect()
    }
}

/// An expression placeholder.
#[derive(Debug)]
pub(super) struct Placeholder {
    pub(super) name: String,
    pub(super) relation: usize,
    pub(super) ty: SqlType,
}

/// A query and what it uses.
#[derive(Debug)]
pub(super) struct Drawn {
    /// The query.
    pub(super) query: Query,
    /// The placeholders, as a class file has them.
    pub(super) placeholders: BTreeMap<String, String>,
    /// For each table of the schema, whether the query reads it.
    pub(super) used: Vec<bool>,
}

/// The state of one drawing.
pub(super) struct Grammar<'r> {
    pub(super) rng: &'r mut Rng,
    /// The schema's tables, followed by table placeholders.
    pub(super) relations: Vec<Table>,
    /// How many of the relations are the schema's.
    pub(super) real: usize,
    /// For each of the schema's tables, whether it was drawn.
    pub(super) used: Vec<bool>,
    /// The expression placeholders so far; they and the table placeholders are at most `placeholders_max`.
    pub(super) placeholders: Vec<Placeholder>,
    pub(super) placeholders_max: usize,
    /// Features beyond plain selection, filter and inner join that may still be used, and that were.
    pub(super) budget: usize,
    pub(super) spent: usize,
    /// Tables that may still be read.
    pub(super) sources_left: usize,
    /// The sources of the selects around, innermost last.
    pub(super) scopes: Vec<Vec<Source>>,
    /// Names of sources that are visible somewhere around.
    pub(super) in_use: Vec<String>,
    /// The common table expressions, each as it stands in FROM and in WITH, in the order in which they can be defined.
    pub(super) ctes: Vec<(Source, Cte)>,
    /// The names of derived tables and common table expressions.
    pub(super) derived: Vec<String>,
    pub(super) bag_set_operations: bool,
}

/// Types whose values can be compared, grouped and made distinct without a doubt: on REAL columns 0.0 and -0.0 are equal
/// and differ.
pub(super) fn comparable(ty: SqlType) -> bool {
    matches!(ty, SqlType::Int | SqlType::Text | SqlType::Boolean)
}

/// A name made of a letter and a number from `first` on, that is neither in use nor a table's or a column's.
pub(super) fn fresh(relations: &[Table], in_use: &[String], letter: &str, first: usize) -> String {
    let taken = |name: &str| {
        in_use.iter().any(|n| n.eq_ignore_ascii_case(name))
            || relations.iter().any(|r| r.name.eq_ignore_ascii_case(name) || r.column(name).is_some())
    };
    let name = |number: usize| if number == 0 { letter.to_owned() } else { format!("{letter}{number}") };
    let taken_max = in_use.len() + relations.iter().map(|r| 1 + r.columns.len()).sum::<usize>();
    (first..=first + taken_max).map(name).find(|name| !taken(name)).expect("one more name is tried than are taken")
}

impl<'r> Grammar<'r> {
    pub(super) fn new(schema: &Schema, bag_set_operations: bool, rng: &'r mut Rng) -> Self {
        let real = schema.tables.len();
        Self {
            relations: schema.tables.clone(),
            real,
            used: vec![false; real],
            placeholders: Vec::new(),
            placeholders_max: weighted(rng, &[(10, 1), (35, 2), (35, 3), (20, 4)]),
            budget: weighted(rng, &[(20, 1), (40, 2), (30, 3), (10, 4)]),
            spent: 0,
            sources_left: weighted(rng, &[(5, 1), (25, 2), (45, 3), (25, 4)]),
            scopes: Vec::new(),
            in_use: Vec::new(),
            ctes: Vec::new(),
            derived: Vec::new(),
            bag_set_operations,
            rng,
        }
    }

    /// Draws a query; `None` if it came out without a placeholder, or as nothing but one table and a filter.
    pub(super) fn query(mut self) -> Option<Drawn> {
        let (mut query, _) = self.body(&[
            (46, Body::Rows),
            (10, Body::Distinct),
            (16, Body::Groups),
            (10, Body::Total),
            (18, Body::Set),
        ]);
        let mut used = UsedNames::default();
        used.note(&mut query);
        let mut ctes = Vec::new();
        // A part that was drawn and not taken may have left behind what it alone needed.
        for (source, mut cte) in self.ctes.into_iter().rev() {
            if used.has_table(&source.alias) {
                used.note(&mut cte.query);
                ctes.insert(0, cte);
            }
        }
        query.with = tree::with(ctes);
        let (real, virtuals) = self.relations.split_at(self.real);
        let expressions = self.placeholders.iter().filter(|p| used.has_column(&p.name));
        let expressions =
            expressions.map(|p| (p.name.clone(), format!("Expr({}: {})", self.relations[p.relation].name, p.ty)));
        let tables = virtuals.iter().filter(|table| used.has_table(&table.name)).map(|table| {
            let columns: Vec<String> = table.columns.iter().map(|c| format!("{} {}", c.name, c.ty)).collect();
            (table.name.clone(), format!("Table({})", columns.join(", ")))
        });
        let placeholders: BTreeMap<String, String> = expressions.chain(tables).collect();
        if placeholders.is_empty() || self.spent == 0 {
            return None;
        }
        let used = real.iter().map(|table| used.has_table(&table.name)).collect();
        Some(Drawn { query, placeholders, used })
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        chance(self.rng, percent)
    }

    pub(super) fn weighted<T: Clone>(&mut self, choices: &[(u32, T)]) -> T {
        weighted(self.rng, choices)
    }

    /// Takes a feature from the budget; false if none is left.
    pub(super) fn spend(&mut self) -> bool {
        if self.budget == 0 {
            return false;
        }
        self.budget -= 1;
        self.spent += 1;
        true
    }

    /// Notes a feature that is too small for the budget.
    pub(super) fn note(&mut self) {
        self.spent += 1;
    }

    /// Whether another table may be read, and a feature for it used.
    pub(super) fn has_room(&self) -> bool {
        self.budget > 0 && self.sources_left > 0
    }

    /// The sources of the innermost scope, for `outer` = 1 those of the scope around it.
    pub(super) fn scope(&self, outer: usize) -> Vec<Source> {
        self.scopes.iter().rev().nth(outer).cloned().unwrap_or_default()
    }

    /// Draws in a scope of its own, whose names are free again afterwards.
    pub(super) fn scoped<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let visible = self.in_use.len();
        self.scopes.push(Vec::new());
        let result = draw(self);
        self.scopes.pop();
        self.in_use.truncate(visible);
        result
    }
}
