//! What changes between two batches of cases on a database.

use super::{Builder, unqualified};
use crate::caq::node::Node;
use crate::generate::any_type;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::ColumnType;
use rand::RngExt as _;

impl Builder<'_> {
    /// A statement that must not change any result.
    pub(super) fn maintain(&mut self, rng: &mut Rng) {
        let relation = rng.random_range(0..self.tables.len());
        let statement = pick(rng, &self.capabilities.profile.maintenance);
        self.statements.extend(statement.map(|statement| statement.replace("#T", &self.tables[relation].name)));
    }

    /// A change of rows or indexes between two batches of cases.
    pub(super) fn change(&mut self, favourites: &[Vec<Node>], rng: &mut Rng) {
        let relation = rng.random_range(0..self.tables.len());
        let name = self.tables[relation].name.clone();
        let condition = |builder: &Self, rng: &mut Rng| match pick(rng, &favourites[relation]) {
            Some(favourite) if chance(rng, 50) => unqualified(favourite),
            _ => unqualified(&builder.expression(relation, rng)),
        };
        match rng.random_range(0..11) {
            0..=2 => {
                let (class, extra) = self.row(relation, &[], rng);
                if self.relation(relation).foreign_keys.is_empty() {
                    let all: Vec<&str> = class.iter().chain(&extra).map(|v| &**v).collect();
                    let statement =
                        self.insert(relation, all.len(), rng).replace("#R", &format!("({})", all.join(", ")));
                    self.statements.push(statement);
                }
            }
            3..=4 if !self.virtual_[relation] => {
                let given = self.given(relation);
                let Some(at) = pick(rng, &given).copied() else { return };
                let column = self.tables[relation].columns[at].clone();
                let null_percent =
                    if self.relation(relation).columns.get(at).is_some_and(|c| c.not_null) { 0 } else { 20 };
                let value = self.literals.of_column(&column, null_percent, rng);
                let update = pick(rng, &self.capabilities.profile.updates).map_or("UPDATE", String::as_str);
                let statement = format!("{update} {name} SET {} = {value} WHERE {}", column.name, condition(self, rng));
                self.statements.push(statement);
            }
            5 => {
                let statement = format!("DELETE FROM {name} WHERE {}", condition(self, rng));
                self.statements.push(statement);
            }
            6..=7 => self.index(favourites, rng),
            8..=9 => self.maintain(rng),
            _ => self.alter(relation, rng),
        }
    }
    /// Adds a column that no case knows to a table that may have such, or drops it again.
    fn alter(&mut self, relation: usize, rng: &mut Rng) {
        if !self.is_schema_table(relation) || self.virtual_[relation] {
            return;
        }
        let profile = &self.capabilities.profile;
        let ty = any_type(rng);
        let Some(adds) = pick(rng, &self.capabilities.added_columns) else { return };
        let value = self.literals.value(ty, 30, rng);
        let statement = if self.altered.remove(&relation) {
            profile.dropped_column.clone()
        } else {
            self.altered.insert(relation);
            adds.replace("#D", profile.declared(&ColumnType::Class(ty))).replace("#V", &value)
        };
        let name = &self.tables[relation].name;
        self.statements.push(statement.replace("#T", name).replace("#A", &format!("{name}_a")));
    }
}
