//! Real schemas, as `pg_dump`, SQLite's `.schema` and `mysqldump` print them, read as schemas of classes.
//!
//! Classes know five types and plain names. A column gets the nearest type, a name that needs quotes another one, and what
//! has no counterpart is left out; all of that is said. Nothing rests on the schema being the real one: engines are
//! tested on tables made from what is read here.
//!
//! **Invariant:** what is neither in the schema nor among what is left out is passed over by kind, and counted.

mod checks;
mod names;
mod statements;
mod types;

use crate::sql::schema::{Actions, Column, ForeignKey, Schema, Table};
use names::{Names, key, last_part};
use sqlparser::ast::{
    AlterTableOperation, ColumnDef, ColumnOption, CreateIndex, CreateTable, Expr, Ident, IndexColumn,
    NullsDistinctOption, ObjectName, Statement, TableConstraint, UserDefinedTypeRepresentation,
};
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use std::collections::{BTreeMap, BTreeSet};

/// Deepest nesting that is followed.
const RECURSION_LIMIT: usize = 64;

/// A real schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// What classes can be written over, tables in the order in which they must be created.
    pub schema: Schema,
    /// What is assumed by taking types for others: the type with what it is taken for, and how many columns.
    pub assumed: BTreeMap<String, usize>,
    /// Names that are others here.
    pub renamed: Vec<String>,
    /// What is left out, each with the reason.
    pub left_out: Vec<String>,
    /// Statements that say nothing about tables, by kind.
    pub passed_over: BTreeMap<String, usize>,
}

impl Dump {
    /// What became of the text, a line for each thing that is to be said.
    pub fn report(&self) -> Vec<String> {
        let columns: usize = self.schema.tables.iter().map(|table| table.columns.len()).sum();
        let mut lines = vec![format!("{} tables with {columns} columns", self.schema.tables.len())];
        lines.extend(self.assumed.iter().map(|(what, count)| format!("assumed: {what} ({count} columns)")));
        lines.extend(self.renamed.iter().map(|what| format!("renamed: {what}")));
        lines.extend(self.left_out.iter().map(|what| format!("left out: {what}")));
        if !self.passed_over.is_empty() {
            let kinds: Vec<String> = self.passed_over.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            lines.push(format!("other statements, passed over: {}", kinds.join(", ")));
        }
        lines
    }
}

/// Reads a real schema. Whatever the text is, something comes of it, if only an empty schema.
pub fn read(text: &str) -> Dump {
    let mut reader = Reader::default();
    for statement in statements::statements(text) {
        reader.statement(&statement);
    }
    reader.finish()
}

/// A table under construction.
struct Draft {
    table: Table,
    /// The columns' own names, with the positions that they have.
    columns: BTreeMap<String, usize>,
    /// The table's own name.
    written: String,
    keys: Vec<ForeignDraft>,
}

/// A foreign key whose table may not be there yet.
struct ForeignDraft {
    columns: Vec<String>,
    table: ObjectName,
    referred: Vec<String>,
}

#[derive(Default)]
struct Reader {
    drafts: Vec<Draft>,
    names: Names,
    /// Types that the dump makes, with what they are taken for.
    types: BTreeMap<String, String>,
    /// Tables that were seen and left out.
    refused: BTreeSet<String>,
    dump: Dump,
}

impl Reader {
    fn statement(&mut self, text: &str) {
        let words: Vec<String> = text.split_whitespace().take(5).map(str::to_ascii_uppercase).collect();
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let table_at = words.iter().position(|word| word == "TABLE" || word.starts_with("TABLE("));
        let concerns_tables = match word(0) {
            "CREATE" if table_at.is_some_and(|at| at <= 3) => true,
            "CREATE" => word(1) == "TYPE" || word(1) == "DOMAIN" || word(1) == "UNIQUE" && word(2) == "INDEX",
            "ALTER" => word(1) == "TABLE",
            _ => false,
        };
        if !concerns_tables {
            let kind = if ["CREATE", "ALTER", "DROP", "INSERT", "COMMENT"].contains(&word(0)) { 2 } else { 1 };
            let kind = words[..kind.min(words.len())].join(" ");
            let kind: String = kind.chars().filter(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
            *self.dump.passed_over.entry(kind).or_default() += 1;
            return;
        }
        match parse(text) {
            Ok(Statement::CreateTable(create)) => self.create(&create),
            Ok(Statement::AlterTable(alter)) => {
                for operation in alter.operations {
                    self.alter(&alter.name, operation);
                }
            }
            Ok(Statement::CreateIndex(index)) => self.unique_index(&index),
            Ok(Statement::CreateType { name, representation: Some(UserDefinedTypeRepresentation::Enum { .. }) }) => {
                self.types.insert(last_part(&name).to_ascii_lowercase(), "ENUM".to_owned());
            }
            Ok(Statement::CreateDomain(domain)) => {
                self.types.insert(last_part(&domain.name).to_ascii_lowercase(), domain.data_type.to_string());
            }
            Ok(Statement::CreateVirtualTable { name, .. }) => {
                self.refused.insert(key(&name));
                self.leave_out(format!("table {name}"), "it is a virtual table");
            }
            Ok(other) => {
                let kind: Vec<String> = other.to_string().split(' ').take(2).map(str::to_owned).collect();
                *self.dump.passed_over.entry(kind.join(" ")).or_default() += 1;
            }
            Err(_) if word(0) == "ALTER" => *self.dump.passed_over.entry("ALTER TABLE".to_owned()).or_default() += 1,
            Err(error) => {
                let start: String = text.chars().take(60).collect();
                let start = start.split('(').next().unwrap_or_default().trim().to_owned();
                self.dump.left_out.push(format!("{start}: {error}"));
            }
        }
    }

    fn leave_out(&mut self, what: impl AsRef<str>, why: &str) {
        self.dump.left_out.push(format!("{}: {why}", what.as_ref()));
    }

    fn create(&mut self, create: &CreateTable) {
        let written = last_part(&create.name);
        if written.starts_with("sqlite_") {
            return;
        }
        let what = format!("table {}", create.name);
        let refuse = |reader: &mut Self, why: &str| {
            reader.refused.insert(key(&create.name));
            reader.leave_out(&what, why);
        };
        if create.query.is_some() || create.like.is_some() || create.clone.is_some() {
            return refuse(self, "its columns are those of a query or of another table");
        }
        if create.partition_of.is_some() || create.inherits.is_some() {
            return refuse(self, "it is a part of another table");
        }
        let mut draft = Draft {
            table: Table {
                name: String::new(),
                columns: Vec::new(),
                primary_key: Vec::new(),
                unique: Vec::new(),
                checks: Vec::new(),
                foreign_keys: Vec::new(),
            },
            columns: BTreeMap::new(),
            written: create.name.to_string(),
            keys: Vec::new(),
        };
        let mut taken = BTreeSet::new();
        let mut constraints = Vec::new();
        for column in &create.columns {
            self.column(column, &mut draft, &mut taken, &mut constraints);
        }
        if draft.table.columns.is_empty() {
            return refuse(self, "no column of it can be used");
        }
        let (name, said) = self.names.table(&create.name);
        self.dump.renamed.extend(said);
        draft.table.name = name;
        for constraint in constraints.into_iter().chain(create.constraints.iter().cloned()) {
            self.constraint(&mut draft, constraint);
        }
        self.drafts.push(draft);
    }

    fn column(
        &mut self,
        column: &ColumnDef,
        draft: &mut Draft,
        taken: &mut BTreeSet<String>,
        constraints: &mut Vec<TableConstraint>,
    ) {
        let written = &column.name.value;
        let declared = column.data_type.to_string();
        let own = declared.rsplit('.').next().unwrap_or_default().trim_matches(['"', '`']).to_ascii_lowercase();
        let meant = self.types.get(&own).unwrap_or(&declared);
        let Some((ty, assumes)) = types::nearest(meant) else {
            let what = format!("column {}.{written}", draft.written);
            return self.leave_out(what, &format!("no type of classes is near {declared}"));
        };
        if !assumes.is_empty() {
            let what = format!("{declared} is taken as {ty}, {assumes}");
            *self.dump.assumed.entry(what.trim_start().to_owned()).or_default() += 1;
        }
        let (name, said) = names::column(&column.name, &draft.written, taken);
        self.dump.renamed.extend(said);
        let at = draft.table.columns.len();
        draft.columns.insert(written.to_ascii_lowercase(), at);
        draft.table.columns.push(Column { name, ty, not_null: false });
        for option in &column.options {
            match &option.option {
                ColumnOption::NotNull => draft.table.columns[at].not_null = true,
                ColumnOption::PrimaryKey(_) => draft.table.primary_key = vec![at],
                ColumnOption::Unique(unique) if unique.nulls_distinct != NullsDistinctOption::NotDistinct => {
                    draft.table.unique.push(vec![at]);
                }
                ColumnOption::Unique(_) => {
                    let what = format!("UNIQUE ({written}) of {}", draft.written);
                    self.leave_out(what, "NULLs are equal in it");
                }
                ColumnOption::ForeignKey(foreign) => {
                    let mut foreign = foreign.clone();
                    foreign.columns = vec![column.name.clone()];
                    constraints.push(TableConstraint::ForeignKey(foreign));
                }
                ColumnOption::Check(check) => constraints.push(TableConstraint::Check(check.clone())),
                ColumnOption::Generated { generation_expr: Some(_), .. } => {
                    let what = format!("how {}.{written} is computed", draft.written);
                    self.leave_out(what, "it is a column like others here");
                }
                // Defaults, comments, collations and the like change no query.
                _ => {}
            }
        }
    }

    fn constraint(&mut self, draft: &mut Draft, constraint: TableConstraint) {
        let what = format!("{} of {}", short(&constraint), draft.written);
        match constraint {
            TableConstraint::PrimaryKey(primary) => match positions(draft, &primary.columns) {
                Ok(columns) => draft.table.primary_key = columns,
                Err(why) => self.leave_out(what, &why),
            },
            TableConstraint::Unique(unique) if unique.nulls_distinct == NullsDistinctOption::NotDistinct => {
                self.leave_out(what, "NULLs are equal in it");
            }
            TableConstraint::Unique(unique) => match positions(draft, &unique.columns) {
                Ok(columns) => draft.table.unique.push(columns),
                Err(why) => self.leave_out(what, &why),
            },
            TableConstraint::ForeignKey(foreign) => draft.keys.push(ForeignDraft {
                columns: foreign.columns.iter().map(lower).collect(),
                table: foreign.foreign_table,
                referred: foreign.referred_columns.iter().map(lower).collect(),
            }),
            TableConstraint::Check(check) => {
                let column = |name: &Ident| {
                    let at = draft.columns.get(&lower(name))?;
                    draft.table.columns.get(*at)
                };
                match checks::condition(&check.expr, &column) {
                    Some(condition) => draft.table.checks.push(condition),
                    None => self.leave_out(what, "it has more than comparisons of columns and literals"),
                }
            }
            // An index changes no result.
            TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => {}
            _ => self.leave_out(what, "classes have no such constraint"),
        }
    }

    /// Where the table is that another statement names.
    fn draft(&mut self, name: &ObjectName) -> Option<usize> {
        let read = self.names.of(name)?;
        self.drafts.iter().position(|draft| draft.table.name == read)
    }

    fn alter(&mut self, name: &ObjectName, operation: AlterTableOperation) {
        let at = self.draft(name);
        match (operation, at) {
            (AlterTableOperation::AddConstraint { constraint, .. }, Some(at)) => {
                let mut draft = self.drafts.remove(at);
                self.constraint(&mut draft, constraint);
                self.drafts.insert(at, draft);
            }
            (AlterTableOperation::AddConstraint { constraint, .. }, None) => {
                let what = format!("{} of {name}", short(&constraint));
                self.leave_out(what, "its table is left out");
            }
            (AlterTableOperation::AddColumn { column_def, .. }, Some(at)) => {
                let mut draft = self.drafts.remove(at);
                let mut taken = draft.table.columns.iter().map(|c| c.name.to_ascii_lowercase()).collect();
                let mut constraints = Vec::new();
                self.column(&column_def, &mut draft, &mut taken, &mut constraints);
                for constraint in constraints {
                    self.constraint(&mut draft, constraint);
                }
                self.drafts.insert(at, draft);
            }
            _ => *self.dump.passed_over.entry("ALTER TABLE".to_owned()).or_default() += 1,
        }
    }

    /// A unique index is a key, unless it covers some rows only.
    fn unique_index(&mut self, index: &CreateIndex) {
        let name = index.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
        let what = format!("unique index{name} of {}", index.table_name);
        let Some(at) = self.draft(&index.table_name) else {
            return self.leave_out(what, "its table is left out");
        };
        if index.predicate.is_some() {
            return self.leave_out(what, "it covers some rows only");
        }
        if index.nulls_distinct == Some(false) {
            return self.leave_out(what, "NULLs are equal in it");
        }
        match positions(&self.drafts[at], &index.columns) {
            Ok(columns) => self.drafts[at].table.unique.push(columns),
            Err(why) => self.leave_out(what, &why),
        }
    }

    /// Orders tables so that foreign keys refer to earlier ones, and drops keys that cannot.
    fn finish(mut self) -> Dump {
        for draft in &mut self.drafts {
            let Table { primary_key, unique, columns, .. } = &mut draft.table;
            primary_key.iter().for_each(|at| columns[*at].not_null = true);
            unique.retain(|columns| columns != primary_key);
            unique.sort();
            unique.dedup();
        }
        let mut left = std::mem::take(&mut self.drafts);
        while !left.is_empty() {
            let waiting: Vec<String> = left.iter().map(|draft| draft.table.name.clone()).collect();
            let waits = |draft: &Draft| {
                draft.keys.iter().any(|key| {
                    self.names.of(&key.table).is_some_and(|name| waiting.contains(&name) && name != draft.table.name)
                })
            };
            // In a circle of tables somebody has to come first.
            let next = left.iter().position(|draft| !waits(draft)).unwrap_or(0);
            let draft = left.remove(next);
            self.finish_table(draft);
        }
        self.dump
    }

    fn finish_table(&mut self, draft: Draft) {
        let Draft { mut table, columns, written, keys } = draft;
        for foreign in keys {
            match self.foreign_key(&table, &columns, &foreign) {
                Ok(key) if table.foreign_keys.contains(&key) => {}
                Ok(key) => table.foreign_keys.push(key),
                Err(why) => {
                    let what = format!("foreign key ({}) of {written}", foreign.columns.join(", "));
                    self.leave_out(what, &why);
                }
            }
        }
        self.names.note_columns(&table.name, columns);
        self.dump.schema.tables.push(table);
    }

    fn foreign_key(
        &self,
        table: &Table,
        columns: &BTreeMap<String, usize>,
        foreign: &ForeignDraft,
    ) -> Result<ForeignKey, String> {
        let here: Option<Vec<usize>> = foreign.columns.iter().map(|name| columns.get(name).copied()).collect();
        let here = here.ok_or("a column of it is left out")?;
        let Some(parent_name) = self.names.of(&foreign.table) else {
            let known = self.refused.contains(&key(&foreign.table));
            let why = if known { "is left out" } else { "is not in the dump" };
            return Err(format!("the table {} {why}", foreign.table));
        };
        if parent_name == table.name {
            return Err("it refers to its own table".to_owned());
        }
        let tables = &self.dump.schema.tables;
        let Some(at) = tables.iter().position(|table| table.name == parent_name) else {
            return Err(format!("the tables refer to each other in a circle ({} comes later)", foreign.table));
        };
        let parent = &tables[at];
        let referred = if foreign.referred.is_empty() {
            parent.primary_key.clone()
        } else {
            let position = |name: &String| self.names.column_of(&parent_name, name);
            let all: Option<Vec<usize>> = foreign.referred.iter().map(position).collect();
            all.ok_or("a column that it refers to is left out")?
        };
        let is_key = |key: &Vec<usize>| {
            let (a, b): (BTreeSet<usize>, BTreeSet<usize>) =
                (key.iter().copied().collect(), referred.iter().copied().collect());
            a == b
        };
        if referred.len() != here.len() || !(is_key(&parent.primary_key) || parent.unique.iter().any(is_key)) {
            return Err(format!("it does not refer to a key of {}", foreign.table));
        }
        if here.iter().zip(&referred).any(|(a, b)| table.columns[*a].ty != parent.columns[*b].ty) {
            return Err("its columns have another type here than those that they refer to".to_owned());
        }
        Ok(ForeignKey { columns: here, table: at, referred, actions: Actions::default() })
    }
}

fn lower(name: &Ident) -> String {
    name.value.to_ascii_lowercase()
}

/// The positions of a key's columns, or why it cannot be used.
fn positions(draft: &Draft, columns: &[IndexColumn]) -> Result<Vec<usize>, String> {
    columns
        .iter()
        .map(|column| match &column.column.expr {
            Expr::Identifier(name) => {
                let at = draft.columns.get(&lower(name)).copied();
                at.ok_or_else(|| format!("its column {name} is left out"))
            }
            other => Err(format!("it is over {other}")),
        })
        .collect()
}

/// A constraint as it is named to people.
fn short(constraint: &TableConstraint) -> String {
    let text = constraint.to_string();
    let text = if text.chars().count() > 80 { text.chars().take(77).collect::<String>() + "…" } else { text };
    format!("constraint {text}")
}

/// Parses a statement in whichever dialect knows it.
fn parse(text: &str) -> Result<Statement, ParserError> {
    let dialects: [&dyn Dialect; 4] = [&GenericDialect {}, &PostgreSqlDialect {}, &MySqlDialect {}, &SQLiteDialect {}];
    let mut first = None;
    for dialect in dialects {
        let parsed = Parser::new(dialect)
            .with_recursion_limit(RECURSION_LIMIT)
            .try_with_sql(text)
            .and_then(|mut parser| parser.parse_statements());
        match parsed {
            Ok(mut statements) if statements.len() == 1 => return Ok(statements.remove(0)),
            Ok(_) => {}
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| ParserError::ParserError("it is not one statement".to_owned())))
}

#[cfg(test)]
mod tests;
