//! Random schemas and their DDL.

use std::fmt::Write as _;

use super::{Rng, chance, pick};
use rand::RngExt as _;

/// The types the generator uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// INT.
    Int,
    /// BOOLEAN.
    Bool,
    /// TEXT.
    Text,
    /// DECIMAL(10,2).
    Dec,
    /// BIGINT.
    Long,
    /// DOUBLE PRECISION.
    Double,
    /// DATE.
    Date,
    /// TIMESTAMP.
    Stamp,
}

impl Ty {
    /// As written in DDL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Bool => "BOOLEAN",
            Self::Text => "TEXT",
            Self::Dec => "DECIMAL(10,2)",
            Self::Long => "BIGINT",
            Self::Double => "DOUBLE PRECISION",
            Self::Date => "DATE",
            Self::Stamp => "TIMESTAMP",
        }
    }

    /// Whether SUM and AVG take it.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Dec | Self::Long | Self::Double)
    }
}

/// A column of a generated table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Columns of one name have one type in all tables of a schema, so that NATURAL joins fit.
    pub name: &'static str,
    /// Its type.
    pub ty: Ty,
    /// Declared NOT NULL.
    pub not_null: bool,
}

/// A reference from one column to another table's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The referring column.
    pub column: usize,
    /// The table referred to, declared earlier.
    pub parent: usize,
    /// Its key column.
    pub parent_column: usize,
}

/// A generated table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// `t0`, `t1`, ...
    pub name: String,
    /// Two or three.
    pub columns: Vec<Column>,
    /// PRIMARY KEY; empty if there is none.
    pub primary: Vec<usize>,
    /// UNIQUE constraints.
    pub unique: Vec<Vec<usize>>,
    /// FOREIGN KEY constraints.
    pub foreign: Vec<Foreign>,
    /// The condition of a CHECK.
    pub check: Option<String>,
}

/// A generated schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Parents before children.
    pub tables: Vec<Table>,
}

/// A random schema of two or three small tables.
pub fn schema(rng: &mut Rng) -> Schema {
    schema_of(rng, column_type)
}

/// The same with columns of all types.
pub(super) fn mixed_schema(rng: &mut Rng) -> Schema {
    schema_of(rng, |rng| {
        *pick(
            rng,
            &[
                Ty::Int,
                Ty::Int,
                Ty::Long,
                Ty::Long,
                Ty::Dec,
                Ty::Dec,
                Ty::Double,
                Ty::Double,
                Ty::Text,
                Ty::Date,
                Ty::Stamp,
                Ty::Bool,
            ],
        )
    })
}

fn schema_of(rng: &mut Rng, column_type: impl Fn(&mut Rng) -> Ty) -> Schema {
    let names = ["a", "b", "c", "d", "e"];
    let types: Vec<Ty> = (0..names.len()).map(|i| if i == 0 { Ty::Int } else { column_type(rng) }).collect();
    let mut tables: Vec<Table> = Vec::new();
    for number in 0..rng.random_range(2..=3usize) {
        let width = rng.random_range(2..=3usize);
        let mut chosen: Vec<usize> = Vec::new();
        while chosen.len() < width {
            let column = rng.random_range(0..names.len());
            if !chosen.contains(&column) {
                chosen.push(column);
            }
        }
        chosen.sort_unstable();
        // Most tables have the whole number column: joins need something to meet on.
        if chosen.first() != Some(&0) && chance(rng, 70) {
            chosen.pop();
            chosen.insert(0, 0);
        }
        let columns: Vec<Column> =
            chosen.iter().map(|&c| Column { name: names[c], ty: types[c], not_null: chance(rng, 30) }).collect();
        let mut table = Table {
            name: format!("t{number}"),
            columns,
            primary: vec![],
            unique: vec![],
            foreign: vec![],
            check: None,
        };
        constrain(rng, &mut table, &tables);
        tables.push(table);
    }
    Schema { tables }
}

fn column_type(rng: &mut Rng) -> Ty {
    match rng.random_range(0..100) {
        0..50 => Ty::Int,
        50..68 => Ty::Text,
        68..85 => Ty::Bool,
        _ => Ty::Dec,
    }
}

fn constrain(rng: &mut Rng, table: &mut Table, earlier: &[Table]) {
    let width = table.columns.len();
    match rng.random_range(0..10) {
        0..4 => table.primary = vec![rng.random_range(0..width)],
        4 => table.primary = vec![0, 1],
        5 | 6 => table.unique.push(vec![rng.random_range(0..width)]),
        7 => table.unique.push(vec![0, 1]),
        _ => {}
    }
    if !earlier.is_empty() && chance(rng, 45) {
        let mut possible = Vec::new();
        for (parent, other) in earlier.iter().enumerate() {
            for key in other.keys().into_iter().filter(|key| key.len() == 1) {
                for (column, own) in table.columns.iter().enumerate() {
                    if own.ty == other.columns[key[0]].ty && own.ty != Ty::Bool {
                        possible.push(Foreign { column, parent, parent_column: key[0] });
                    }
                }
            }
        }
        if !possible.is_empty() {
            table.foreign.push(pick(rng, &possible).clone());
        }
    }
    if chance(rng, 15) {
        table.check = check(rng, &table.columns);
    }
}

fn check(rng: &mut Rng, columns: &[Column]) -> Option<String> {
    let column = pick(rng, columns);
    let other = columns.iter().find(|c| c.ty == column.ty && c.name != column.name);
    let name = column.name;
    Some(match (column.ty, other) {
        (ty, Some(other)) if ty.is_number() && chance(rng, 40) => format!("{name} <= {}", other.name),
        (_, Some(other)) if chance(rng, 20) => format!("{name} IS NOT NULL OR {} IS NOT NULL", other.name),
        (Ty::Int, _) if chance(rng, 50) => format!("{name} IN (0, 1, 2)"),
        (Ty::Int | Ty::Dec | Ty::Long | Ty::Double, _) => format!("{name} >= 0"),
        (Ty::Text, _) => format!("{name} <> 'y'"),
        (Ty::Bool | Ty::Date | Ty::Stamp, _) => return None,
    })
}

impl Table {
    /// All keys, primary and unique.
    pub fn keys(&self) -> Vec<&[usize]> {
        let primary = Some(self.primary.as_slice()).filter(|key| !key.is_empty());
        primary.into_iter().chain(self.unique.iter().map(Vec::as_slice)).collect()
    }

    /// Whether a column can hold NULL.
    pub fn nullable(&self, column: usize) -> bool {
        !self.columns[column].not_null && !self.primary.contains(&column)
    }

    fn names(&self, columns: &[usize]) -> String {
        columns.iter().map(|&c| self.columns[c].name).collect::<Vec<_>>().join(", ")
    }
}

impl Schema {
    /// The CREATE TABLE statements, each followed by a semicolon.
    pub fn ddl(&self) -> String {
        let mut out = String::new();
        for table in &self.tables {
            let mut parts: Vec<String> = Vec::new();
            for column in &table.columns {
                let null = if column.not_null { " NOT NULL" } else { "" };
                parts.push(format!("{} {}{null}", column.name, column.ty.sql()));
            }
            if !table.primary.is_empty() {
                parts.push(format!("PRIMARY KEY ({})", table.names(&table.primary)));
            }
            for key in &table.unique {
                parts.push(format!("UNIQUE ({})", table.names(key)));
            }
            for foreign in &table.foreign {
                let parent = &self.tables[foreign.parent];
                parts.push(format!(
                    "FOREIGN KEY ({}) REFERENCES {} ({})",
                    table.columns[foreign.column].name, parent.name, parent.columns[foreign.parent_column].name
                ));
            }
            if let Some(check) = &table.check {
                parts.push(format!("CHECK ({check})"));
            }
            // Writing to a String cannot fail.
            let _ = writeln!(out, "CREATE TABLE {} ({});", table.name, parts.join(", "));
        }
        out
    }

    /// Drops one random constraint; `false` if there is none.
    pub fn weaken(&mut self, rng: &mut Rng) -> bool {
        let mut possible: Vec<(usize, usize, usize)> = Vec::new();
        for (number, table) in self.tables.iter().enumerate() {
            possible.extend((0..table.columns.len()).filter(|&c| table.columns[c].not_null).map(|c| (number, 0, c)));
            possible.extend((!table.primary.is_empty()).then_some((number, 1, 0)));
            possible.extend((0..table.unique.len()).map(|u| (number, 2, u)));
            possible.extend((0..table.foreign.len()).map(|f| (number, 3, f)));
            possible.extend(table.check.is_some().then_some((number, 4, 0)));
        }
        if possible.is_empty() {
            return false;
        }
        let (number, kind, index) = *pick(rng, &possible);
        let table = &mut self.tables[number];
        let dropped = match kind {
            0 => {
                table.columns[index].not_null = false;
                Vec::new()
            }
            1 => std::mem::take(&mut table.primary),
            2 => table.unique.remove(index),
            3 => {
                table.foreign.remove(index);
                Vec::new()
            }
            _ => {
                table.check = None;
                Vec::new()
            }
        };
        // A reference needs its key.
        if let [column] = dropped[..] {
            let kept = self.tables[number].keys().contains(&[column].as_slice());
            for child in &mut self.tables {
                child.foreign.retain(|f| kept || f.parent != number || f.parent_column != column);
            }
        }
        true
    }
}
