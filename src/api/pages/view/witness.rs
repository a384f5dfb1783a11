//! A database that refutes an equivalence, as small tables.

use serde::Serialize;
use sqlparser::ast::{SetExpr, Statement, TableObject};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

/// A table with its rows.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Table {
    name: String,
    /// Names of the columns; none where the statement names none.
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What these INSERT statements put into tables. One of another form is a row of its own, as it is written.
pub(crate) fn tables(inserts: &[String]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for insert in inserts {
        let Table { name, columns, rows } =
            read(insert).unwrap_or_else(|| Table { rows: vec![vec![insert.clone()]], ..Table::default() });
        match tables.iter_mut().find(|table| table.name == name && table.columns == columns) {
            Some(table) => table.rows.extend(rows),
            None => tables.push(Table { name, columns, rows }),
        }
    }
    tables
}

fn read(insert: &str) -> Option<Table> {
    let mut statements = Parser::parse_sql(&GenericDialect {}, insert).ok()?.into_iter();
    let (Some(Statement::Insert(insert)), None) = (statements.next(), statements.next()) else { return None };
    let TableObject::TableName(name) = &insert.table else { return None };
    let SetExpr::Values(values) = *insert.source?.body else { return None };
    Some(Table {
        name: name.to_string(),
        columns: insert.columns.iter().map(ToString::to_string).collect(),
        rows: values.rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_table_are_together() {
        let inserts = [
            "INSERT INTO t (a, b) VALUES (NULL, 'x')",
            "INSERT INTO u VALUES (1)",
            "INSERT INTO t (a, b) VALUES (2, '')",
            "?",
        ];
        let found = tables(&inserts.map(str::to_owned));
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].name.as_str(), &found[0].columns[..]), ("t", &["a".to_owned(), "b".to_owned()][..]));
        assert_eq!(found[0].rows, [["NULL", "'x'"], ["2", "''"]]);
        assert_eq!(found[2].rows, [["?"]], "what cannot be read is shown as it is");
    }
}
