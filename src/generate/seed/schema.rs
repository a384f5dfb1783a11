//! Random schemas: few tables, small keys, foreign keys between them.
//!
//! What equivalences rest on is a key, a NOT NULL or a foreign key far more often than the shape of a table, so a table
//! rarely has none of them.

use super::weighted;
use crate::rng::{Rng, chance, pick};
use crate::sql::schema::{Actions, Column, ForeignKey, Schema, Table};
use crate::sql::types::SqlType;
use rand::RngExt as _;

/// Types of columns and how often each is drawn.
const TYPES: [(u32, SqlType); 4] =
    [(47, SqlType::Int), (30, SqlType::Text), (18, SqlType::Boolean), (5, SqlType::Real)];

/// Draws one to three tables, `t1` to `t3`, each with one to four columns from `c0` on.
pub(super) fn schema(rng: &mut Rng) -> Schema {
    let mut schema = Schema::default();
    for at in 0..weighted(rng, &[(20, 1), (50, 2), (30, 3)]) {
        let table = table(at, &schema, rng);
        schema.tables.push(table);
    }
    schema
}

/// Columns for a table placeholder: none of them with a constraint, since a filling could not keep it.
pub(super) fn virtual_table(name: String, rng: &mut Rng) -> Table {
    let mut columns = columns(weighted(rng, &[(30, 1), (55, 2), (15, 3)]), rng);
    for column in &mut columns {
        if column.ty == SqlType::Real {
            column.ty = SqlType::Int;
        }
    }
    unconstrained(name, columns)
}

fn unconstrained(name: String, columns: Vec<Column>) -> Table {
    Table { name, columns, primary_key: Vec::new(), unique: Vec::new(), checks: Vec::new(), foreign_keys: Vec::new() }
}

fn columns(count: usize, rng: &mut Rng) -> Vec<Column> {
    let column = |at: usize, rng: &mut Rng| {
        let ty = if at == 0 && chance(rng, 60) { SqlType::Int } else { weighted(rng, &TYPES) };
        Column { name: format!("c{at}"), ty, not_null: false }
    };
    (0..count).map(|at| column(at, rng)).collect()
}

fn table(at: usize, before: &Schema, rng: &mut Rng) -> Table {
    let count = weighted(rng, &[(12, 1), (38, 2), (36, 3), (14, 4)]);
    let mut table = unconstrained(format!("t{}", at + 1), columns(count, rng));
    for column in &mut table.columns {
        column.not_null = chance(rng, 20);
    }
    keys(&mut table, rng);
    let targets = targets(before);
    if let Some(&(parent, referred)) = pick(rng, &targets)
        && chance(rng, 60)
    {
        // The last column, which is seldom a key of its own.
        let column = table.columns.len() - 1;
        table.columns[column].ty = before.tables[parent].columns[referred].ty;
        table.foreign_keys.push(ForeignKey {
            columns: vec![column],
            table: parent,
            referred: vec![referred],
            actions: Actions::default(),
        });
    }
    if chance(rng, 6) {
        let ints: Vec<&Column> = table.columns.iter().filter(|c| c.ty == SqlType::Int).collect();
        if let Some(column) = pick(rng, &ints) {
            let condition = pick(rng, &["> 0", ">= 0", "< 2"]).copied().unwrap_or("> 0");
            table.checks.push(format!("{} {condition}", column.name));
        }
    }
    table
}

/// A primary key or a unique constraint or neither, over one column or two.
fn keys(table: &mut Table, rng: &mut Rng) {
    let fit: Vec<usize> =
        (0..table.columns.len()).filter(|&at| matches!(table.columns[at].ty, SqlType::Int | SqlType::Text)).collect();
    let Some(&first) = fit.first() else { return };
    let composite = fit.len() > 1 && chance(rng, 20);
    let columns = if composite { fit[..2].to_vec() } else { vec![first] };
    match rng.random_range(0..100) {
        0..38 => {
            for &at in &columns {
                table.columns[at].not_null = true;
            }
            table.primary_key = columns;
        }
        38..55 => table.unique.push(columns),
        55..58 if !composite && fit.len() > 1 => {
            table.columns[first].not_null = true;
            table.primary_key = columns;
            table.unique.push(vec![fit[1]]);
        }
        _ => {}
    }
}

/// The table and column of everything a foreign key of one column can refer to.
fn targets(schema: &Schema) -> Vec<(usize, usize)> {
    let keys =
        |table: &Table| std::iter::once(table.primary_key.clone()).chain(table.unique.clone()).collect::<Vec<_>>();
    schema
        .tables
        .iter()
        .enumerate()
        .flat_map(|(at, table)| keys(table).into_iter().filter(|k| k.len() == 1).map(move |key| (at, key[0])))
        .collect()
}

/// The `CREATE TABLE` statements of the tables that are in the schema's `keep`.
pub(super) fn ddl(schema: &Schema, keep: &[bool]) -> String {
    let kept = schema.tables.iter().zip(keep).filter(|(_, keep)| **keep);
    kept.map(|(table, _)| create(table, schema)).collect::<Vec<_>>().join(" ")
}

fn create(table: &Table, schema: &Schema) -> String {
    let name = |at: &usize| table.columns[*at].name.clone();
    let list = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let mut part = format!("{} {}", column.name, column.ty);
        if table.primary_key == [at] {
            part.push_str(" PRIMARY KEY");
        } else if column.not_null && !table.primary_key.contains(&at) {
            part.push_str(" NOT NULL");
        }
        if table.unique.contains(&vec![at]) {
            part.push_str(" UNIQUE");
        }
        for key in table.foreign_keys.iter().filter(|k| k.columns == [at]) {
            let parent = &schema.tables[key.table];
            let referred = &parent.columns[key.referred[0]].name;
            part.extend([" REFERENCES ", &parent.name, "(", referred, ")"]);
        }
        parts.push(part);
    }
    if table.primary_key.len() > 1 {
        parts.push(format!("PRIMARY KEY ({})", list(&table.primary_key)));
    }
    parts.extend(table.unique.iter().filter(|u| u.len() > 1).map(|u| format!("UNIQUE ({})", list(u))));
    for key in table.foreign_keys.iter().filter(|k| k.columns.len() > 1) {
        let parent = &schema.tables[key.table];
        let referred: Vec<&str> = key.referred.iter().map(|at| parent.columns[*at].name.as_str()).collect();
        let (here, there) = (list(&key.columns), referred.join(", "));
        parts.push(format!("FOREIGN KEY ({here}) REFERENCES {}({there})", parent.name));
    }
    parts.extend(table.checks.iter().map(|check| format!("CHECK ({check})")));
    format!("CREATE TABLE {}({});", table.name, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::sql::schema::parse_schema;

    #[test]
    fn a_schema_prints_as_ddl_that_reads_back() {
        for number in 0..500 {
            let schema = schema(&mut stream(1, &[number]));
            let text = ddl(&schema, &vec![true; schema.tables.len()]);
            assert_eq!(parse_schema(&text).expect("reads"), schema, "{text}");
        }
    }

    #[test]
    fn every_kind_of_constraint_is_drawn() {
        let all: Vec<String> = (0..500)
            .map(|number| {
                let schema = schema(&mut stream(2, &[number]));
                ddl(&schema, &vec![true; schema.tables.len()])
            })
            .collect();
        for part in [
            " PRIMARY KEY",
            "PRIMARY KEY (",
            " UNIQUE",
            "UNIQUE (",
            " NOT NULL",
            "REFERENCES",
            "CHECK",
            "REAL",
            "BOOLEAN",
        ] {
            let share = all.iter().filter(|text| text.contains(part)).count();
            assert!(share >= 10, "{part}: {share} of 500");
        }
    }

    #[test]
    fn a_foreign_key_over_two_columns_is_printed() {
        let text = "CREATE TABLE p(a INT, b INT, PRIMARY KEY (a, b)); \
                    CREATE TABLE c(x INT, y INT, FOREIGN KEY (y, x) REFERENCES p(a, b));";
        let schema = parse_schema(text).expect("reads");
        assert_eq!(ddl(&schema, &[true, true]), text);
    }

    #[test]
    fn a_table_that_is_not_kept_is_not_printed() {
        let schema = parse_schema("CREATE TABLE t1(c0 INT); CREATE TABLE t2(c0 INT)").expect("reads");
        assert_eq!(ddl(&schema, &[false, true]), "CREATE TABLE t2(c0 INT);");
    }
}
