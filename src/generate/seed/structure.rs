//! What is left of a query when names, literals and types are taken away.
//!
//! Seeds of one structure would be rewritten in the same ways, so one of them is enough.

use crate::caq::query::Caq;
use crate::sql::schema::{Schema, Table, parse_schema};
use prover::walk::{ON, Walk, walk};
use sqlparser::ast::{
    DataType, Expr, Ident, ObjectName, Query, Select, SelectItem, TableAlias, TableFactor, Value, ValueWithSpan,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The structure of a query with its schema; equal for two that differ only in
///
/// * the names of tables, columns, placeholders and aliases, as long as different things keep different names,
/// * literals, NULL excepted,
/// * the types of columns, of placeholders and of casts,
/// * what CHECK conditions say, though not where there are some,
/// * tables that the query does not read, and columns that it does not name and no key needs,
/// * the order in which the schema lists tables, and the columns that the query names.
///
/// Everything else counts: the constraints of the tables that the query reads, whether a name is a placeholder, the order
/// of operands, parentheses. A name that is used for two things counts as one, so a known structure may not be
/// recognised. A schema that is not understood makes a query its own structure.
pub fn structure(caq: &Caq, query: &Query) -> String {
    let Ok(schema) = parse_schema(&caq.schema) else {
        return format!("{}\n{query}", caq.schema);
    };
    let mut query = query.clone();
    let mut aliases = Aliases::default();
    // Neither walk ends early.
    let _ = walk(&mut query, &mut aliases);
    let mut renaming = Renaming { caq, schema: &schema, aliases, names: BTreeMap::new() };
    let _ = walk(&mut query, &mut renaming);
    let constraints = renaming.constraints();
    format!("{query}{constraints}")
}

/// Collects which names are aliases, and of what.
#[derive(Default)]
struct Aliases {
    /// The tables that each alias stands for, in lower case.
    of: BTreeMap<String, BTreeSet<String>>,
}

impl Walk for Aliases {
    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias: Some(alias), .. } = factor {
            self.of.entry(lower(&alias.name)).or_default().insert(name.to_string().to_ascii_lowercase());
        }
        ON
    }
}

fn lower(ident: &Ident) -> String {
    ident.value.to_ascii_lowercase()
}

/// Gives names by the order in which things are first met.
struct Renaming<'a> {
    caq: &'a Caq,
    schema: &'a Schema,
    aliases: Aliases,
    /// What was met, by a letter for its kind and its name, and its new name.
    names: BTreeMap<(char, String), String>,
}

impl Renaming<'_> {
    fn name(&mut self, kind: char, of: String) -> String {
        let number = self.names.keys().filter(|(k, _)| *k == kind).count();
        self.names.entry((kind, of)).or_insert_with(|| format!("{kind}{number}")).clone()
    }

    /// A table's kind is `t`, a table placeholder's `v`, and that of any other name in FROM is `s`.
    fn table(&mut self, name: &str) -> String {
        let kind = if self.schema.table(name).is_some() {
            't'
        } else if self.constraint(name).is_some() {
            'v'
        } else {
            's'
        };
        self.name(kind, name.to_owned())
    }

    fn constraint(&self, placeholder: &str) -> Option<&str> {
        let found = self.caq.placeholders.iter().find(|(name, _)| name.eq_ignore_ascii_case(placeholder));
        found.map(|(_, constraint)| constraint.as_str())
    }

    /// A column belongs to the table that its qualifier stands for, so that it has one name under all aliases.
    fn column(&mut self, qualifier: &str, column: &str) -> String {
        let of = match self.aliases.of.get(qualifier) {
            Some(tables) => tables.iter().cloned().collect::<Vec<_>>().join(" "),
            None => qualifier.to_owned(),
        };
        let kind = if self.constraint(column).is_some() { 'p' } else { 'c' };
        self.name(kind, format!("{of}.{column}"))
    }

    fn alias(&mut self, alias: &mut TableAlias) {
        alias.name = Ident::new(self.qualifier(&lower(&alias.name)));
        for column in &mut alias.columns {
            column.name = Ident::new(self.name('o', lower(&column.name)));
        }
    }

    fn qualifier(&mut self, name: &str) -> String {
        if self.aliases.of.contains_key(name) { self.name('a', name.to_owned()) } else { self.table(name) }
    }

    /// The constraints of the tables that the query reads, under the names that it gave.
    fn constraints(&mut self) -> String {
        let schema = self.schema;
        let mut read: Vec<(String, &Table)> = Vec::new();
        for table in &schema.tables {
            if let Some(name) = self.names.get(&('t', table.name.to_ascii_lowercase())) {
                read.push((name.clone(), table));
            }
        }
        read.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(&b.0)));
        let mut lines = Vec::new();
        for (name, table) in read {
            // Named columns first, so that the others' names follow from the constraints and not from the schema's order.
            let mut parts: Vec<String> = Vec::new();
            let columns = |s: &mut Self, table: &Table, columns: &[usize]| {
                let of = table.name.to_ascii_lowercase();
                let names: Vec<String> =
                    columns.iter().map(|&at| s.column(&of, &table.columns[at].name.to_ascii_lowercase())).collect();
                names.join(" ")
            };
            if !table.primary_key.is_empty() {
                parts.push(format!("primary key {}", columns(self, table, &table.primary_key)));
            }
            for key in &table.unique {
                parts.push(format!("unique {}", columns(self, table, key)));
            }
            for key in &table.foreign_keys {
                let parent = &schema.tables[key.table];
                let to = self.table(&parent.name.to_ascii_lowercase());
                let from = columns(self, table, &key.columns);
                parts.push(format!("{from} references {to} {}", columns(self, parent, &key.referred)));
            }
            let forbids_null = |at: usize| table.columns[at].not_null && !table.primary_key.contains(&at);
            for at in (0..table.columns.len()).filter(|&at| forbids_null(at)) {
                let named = ('c', format!("{0}.{1}", table.name, table.columns[at].name).to_ascii_lowercase());
                // A column that is met nowhere else may as well be NULL.
                if let Some(column) = self.names.get(&named) {
                    parts.push(format!("not null {column}"));
                }
            }
            parts.extend((!table.checks.is_empty()).then(|| "check".to_owned()));
            parts.sort();
            lines.push(format!("\n{name}: {}", parts.join(", ")));
        }
        lines.concat()
    }
}

impl Walk for Renaming<'_> {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(with) = &mut query.with {
            with.cte_tables.iter_mut().for_each(|cte| self.alias(&mut cte.alias));
        }
        ON
    }

    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } = factor
        {
            self.alias(alias);
        }
        ON
    }

    fn relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        let name = self.table(&relation.to_string().to_ascii_lowercase());
        *relation = ObjectName::from(vec![Ident::new(name)]);
        ON
    }

    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                *alias = Ident::new(self.name('o', lower(alias)));
            }
        }
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundIdentifier(path) => {
                if let [qualifier, column] = path.as_mut_slice() {
                    let (of, name) = (lower(qualifier), lower(column));
                    *column = Ident::new(self.column(&of, &name));
                    *qualifier = Ident::new(self.qualifier(&of));
                }
            }
            Expr::Cast { data_type, .. } => *data_type = DataType::Text,
            _ => {}
        }
        ON
    }

    fn value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if value.value != Value::Null {
            value.value = Value::Placeholder("?".to_owned());
        }
        ON
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::print::parse_query;

    fn caq(schema: &str, placeholders: &[(&str, &str)], sql: &str) -> Caq {
        let placeholders = placeholders.iter().map(|(name, of)| ((*name).to_owned(), (*of).to_owned())).collect();
        Caq { schema: schema.to_owned(), placeholders, sql: sql.to_owned() }
    }

    fn of_caq(caq: &Caq) -> String {
        structure(caq, &parse_query(&caq.sql).expect("parses"))
    }

    fn of(schema: &str, sql: &str) -> String {
        of_caq(&caq(schema, &[("p1", "Expr(t1: BOOLEAN)"), ("v1", "Table(c0 INT)")], sql))
    }

    const SCHEMA: &str = "CREATE TABLE t1(c0 INT PRIMARY KEY, c1 TEXT); CREATE TABLE t2(c0 INT REFERENCES t1(c0))";

    #[test]
    fn names_literals_and_types_do_not_count() {
        let one = caq(
            SCHEMA,
            &[("p1", "Expr(t1: BOOLEAN)"), ("v1", "Table(c0 INT)")],
            "WITH s AS (SELECT a.c1 AS w FROM t1 AS a WHERE a.p1 AND a.c1 = 'a') \
             SELECT s.w, t2.c0 FROM s JOIN t2 ON t2.c0 IN (1, 2) CROSS JOIN v1 WHERE v1.c0 = CAST(t2.c0 AS INT)",
        );
        let other = caq(
            "CREATE TABLE parent(name INT, id TEXT PRIMARY KEY, spare BOOLEAN NOT NULL); CREATE TABLE unread(c0 INT UNIQUE); \
             CREATE TABLE child(more REAL, parent TEXT, FOREIGN KEY (parent) REFERENCES parent(id));",
            &[("cond", "Expr(parent: INT)"), ("some", "Table(x TEXT, y INT)")],
            "WITH d AS (SELECT b.name AS x FROM parent AS b WHERE b.cond AND b.name = 7) \
             SELECT d.x, child.parent FROM d JOIN child ON child.parent IN ('x', 'y') CROSS JOIN some \
             WHERE some.x = CAST(child.parent AS TEXT)",
        );
        assert_eq!(of_caq(&one), of_caq(&other));
    }

    #[test]
    fn what_the_query_does_counts() {
        let structures: BTreeSet<String> = [
            "SELECT t1.c0 FROM t1 WHERE t1.p1",
            "SELECT t1.c1 FROM t1 WHERE t1.p1",
            "SELECT t1.c0 FROM t1 WHERE t1.c1",
            "SELECT t1.p1 FROM t1 WHERE t1.p1",
            "SELECT t1.c1 FROM t1 WHERE t1.c1",
            "SELECT t1.c0 FROM t1 WHERE NOT t1.p1",
            "SELECT DISTINCT t1.c0 FROM t1 WHERE t1.p1",
            "SELECT t1.c0 FROM t1, t2 WHERE t1.p1",
            "SELECT t1.c0 FROM t1, v1 WHERE t1.p1",
            "SELECT t1.c0 FROM t1, t1 AS a WHERE t1.p1",
            "SELECT t1.c0 FROM t1, t1 AS a WHERE a.p1",
            "SELECT COUNT(t1.c0) FROM t1 WHERE t1.p1",
            "SELECT NULL FROM t1 WHERE t1.p1",
            "SELECT 1 FROM t1 WHERE t1.p1",
        ]
        .into_iter()
        .map(|sql| of(SCHEMA, sql))
        .collect();
        // The key column and the other one differ, the same column twice and two columns too.
        assert_eq!(structures.len(), 14, "{structures:#?}");
    }

    #[test]
    fn constraints_of_tables_that_are_read_count() {
        let sql = "SELECT t1.c0 FROM t1 WHERE t1.p1";
        let structures: BTreeSet<String> = [
            "CREATE TABLE t1(c0 INT, c1 INT)",
            "CREATE TABLE t1(c0 INT PRIMARY KEY, c1 INT)",
            "CREATE TABLE t1(c0 INT, c1 INT PRIMARY KEY)",
            "CREATE TABLE t1(c0 INT UNIQUE, c1 INT)",
            "CREATE TABLE t1(c0 INT NOT NULL, c1 INT)",
            "CREATE TABLE t1(c0 INT, c1 INT, UNIQUE (c0, c1))",
            "CREATE TABLE t1(c0 INT CHECK (c0 > 0), c1 INT)",
            "CREATE TABLE t0(c0 INT PRIMARY KEY); CREATE TABLE t1(c0 INT REFERENCES t0(c0), c1 INT)",
        ]
        .into_iter()
        .map(|schema| of(schema, sql))
        .collect();
        assert_eq!(structures.len(), 8, "{structures:#?}");
        assert_eq!(
            of("CREATE TABLE t1(c0 INT)", sql),
            of("CREATE TABLE t2(c0 INT UNIQUE); CREATE TABLE t1(c9 INT NOT NULL, c0 INT)", sql)
        );
        let checks = |condition: &str| of(&format!("CREATE TABLE t1(c0 INT CHECK ({condition}))"), sql);
        assert_eq!(checks("c0 > 0"), checks("c0 < 7 OR c0 IS NULL"));
    }

    #[test]
    fn what_is_not_understood_is_its_own_structure() {
        assert_ne!(of("CREATE INDEX i", "SELECT 1"), of("CREATE INDEX i", "SELECT 2"));
        assert_ne!(of("CREATE INDEX i", "SELECT 1"), of(SCHEMA, "SELECT 1"));
    }
}
