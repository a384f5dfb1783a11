//! Databases for a class: tables with extra columns, rows, indexes, views, and changes between cases.
//!
//! The columns of the class hold values of their own type only, compare byte by byte and keep every constraint of the
//! class schema, because the class's equivalence rests on them. Extra columns are reached by snippets only; they may
//! hold any value under any collation, and are where an engine's conversions are exercised.

mod change;

use super::expr::{ExprGenerator, ExprSpec};
use super::{Capabilities, ColumnInfo, Literals, TableInfo, any_type, table};
use crate::caq::instantiation::TableInstantiation;
use crate::caq::node::Node;
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, Typing, VirtualTable};
use crate::sql::schema::{Action, ForeignKey, Table};
use crate::sql::table_snippet::{Mapped, SOURCE_COLUMNS, SOURCES, TableSnippet};
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// A generated database and what the cases on it need to know.
#[derive(Debug)]
pub struct Database {
    /// Statements before the first cases, and before each further batch of cases.
    pub epochs: Vec<Vec<String>>,
    /// One table per relation of the class.
    pub tables: Vec<TableInfo>,
    /// For each relation the fillings of its table placeholder; empty for the schema's own tables.
    pub table_fills: Vec<Vec<TableInstantiation>>,
    /// Where each of these is from, if it is a table snippet.
    pub table_origins: Vec<Vec<Option<TableOrigin>>>,
    /// Literals that rows and expressions share.
    pub literals: Literals,
    /// For each relation, predicates that partial and expression indexes were made of, and those that indexes are searched by.
    pub favourites: Vec<Vec<Node>>,
    /// The indexes that statements make, of whichever batch; an engine may refuse one.
    pub indexes: Vec<IndexInfo>,
    /// The generated columns.
    pub generated: Vec<GeneratedInfo>,
    /// Default values of columns that a foreign key sets to them, by the positions of table and column. Others have none.
    pub defaults: BTreeMap<(usize, usize), Arc<str>>,
}

/// A generated column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedInfo {
    /// The position of its table.
    pub relation: usize,
    /// Its name.
    pub name: Arc<str>,
    /// Its type in the table's definition, with its collation; may be empty.
    pub declared: String,
    /// Its expression; columns have no qualifier.
    pub expression: String,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The position of its table.
    pub relation: usize,
    /// Its keys, as they are declared; columns have no qualifier.
    pub keys: Vec<String>,
    /// The predicate of the rows that it has, if it has not all.
    pub predicate: Option<String>,
    /// Whether its keys are unique.
    pub unique: bool,
}

/// In how many of a hundred table fillings a table snippet is taken, where there is one.
const TABLE_SNIPPET_PERCENT: u32 = 50;

/// In how many of a hundred tables that may be spread over parts they are.
const PARTITIONED_PERCENT: u32 = 20;

/// In how many of a hundred databases one table has many rows.
const MANY_ROWS_PERCENT: u32 = 4;

/// In how many of a hundred databases one of the profile's other storages is used.
const STORAGE_PERCENT: u32 = 20;

/// In how many of a hundred columns of text that may have another collation they have one.
const COLLATED_PERCENT: u32 = 15;

/// In how many of a hundred tables an extra column comes when there are rows.
const LATER_PERCENT: u32 = 15;

/// Keys of an index that is searched by all of them, at most.
const SEARCHED_KEYS: usize = 4;

/// Tables tried in the place of a default table of a snippet.
const MAPPING_ATTEMPTS: usize = 6;

/// Where a query for a table placeholder is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOrigin {
    /// The key of the table snippet.
    pub key: String,
    /// Where that is from.
    pub origin: String,
    /// The same query over the same rows in another order.
    pub reversed: String,
}

/// Batches of cases on one database; between them rows and indexes change.
const EPOCHS: usize = 3;

/// An expression for an index or a column's definition: no subqueries, no aliases.
fn indexable(kind: Kind) -> ExprSpec {
    ExprSpec { kind, null_preserving: false, binary: false, subqueries: false, depth: 2 }
}

/// The tables of a database that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct Relations<'a> {
    /// The tables.
    pub all: &'a [Table],
    /// How many of them, the first ones, are a schema's own. The others have a table, a view, a derived table and a common
    /// table expression each.
    pub own: usize,
    /// Whether nothing that is expected of the queries rests on how the schema's own texts compare, so that their columns may
    /// have other collations.
    pub collated: bool,
}

/// Statements that make tables and nothing in them, and the tables.
pub fn tables(relations: Relations, capabilities: &Capabilities, rng: &mut Rng) -> (Vec<String>, Vec<TableInfo>) {
    let mut builder = Builder::with_tables(relations, capabilities, rng);
    builder.statements.extend(builder.later.into_iter().flatten());
    (builder.statements, builder.tables)
}

/// Makes a database.
pub fn database(relations: Relations, capabilities: &Capabilities, rng: &mut Rng) -> Database {
    let mut builder = Builder::with_tables(relations, capabilities, rng);
    let mut parents: Vec<Rows> = Vec::new();
    for relation in 0..relations.all.len() {
        let rows = builder.fill(relation, &parents, rng);
        parents.push(rows);
    }
    let favourites: Vec<Vec<Node>> = (0..builder.tables.len())
        .map(|relation| (0..rng.random_range(0..3)).map(|_| builder.expression(relation, rng)).collect())
        .collect();
    for _ in 0..rng.random_range(0..4) {
        builder.index(&favourites, rng);
    }
    let favourites: Vec<Vec<Node>> = favourites
        .into_iter()
        .enumerate()
        .map(|(relation, made_of)| made_of.into_iter().chain(builder.searches(relation, rng)).collect())
        .collect();
    if chance(rng, 30) {
        builder.maintain(rng);
    }
    let (table_fills, table_origins) =
        (0..builder.tables.len()).map(|relation| builder.table_fills(relation, rng)).unzip();
    let mut epochs = vec![std::mem::take(&mut builder.statements)];
    for _ in 1..EPOCHS {
        for _ in 0..rng.random_range(1..5) {
            builder.change(&favourites, rng);
        }
        epochs.push(std::mem::take(&mut builder.statements));
    }
    Database {
        epochs,
        tables: builder.tables,
        table_fills,
        table_origins,
        literals: builder.literals,
        favourites,
        indexes: builder.indexes,
        generated: builder.generated,
        defaults: builder.defaults,
    }
}

/// An expression as an index or a column definition wants it, its columns without a qualifier.
fn unqualified(node: &Node) -> String {
    let mut text = String::new();
    node.render("", &mut text);
    text
}

/// The class columns' literals of each row of a table.
type Rows = Vec<Vec<Arc<str>>>;

/// The literals of a row: of the class columns, and of the extra columns that are given a value.
type FullRow = (Vec<Arc<str>>, Vec<Arc<str>>);

struct Builder<'a> {
    relations: Relations<'a>,
    capabilities: &'a Capabilities,
    literals: Literals,
    statements: Vec<String>,
    tables: Vec<TableInfo>,
    /// Whether each table is a virtual table, which takes no index.
    virtual_: Vec<bool>,
    /// For each table the statement that adds its last column, if that comes when it has rows already.
    later: Vec<Option<String>>,
    /// Whether the next table with rows is to have many.
    grows: bool,
    /// Tables that have a column more, which no case knows.
    altered: BTreeSet<usize>,
    indexes: Vec<IndexInfo>,
    generated: Vec<GeneratedInfo>,
    defaults: BTreeMap<(usize, usize), Arc<str>>,
}

impl<'a> Builder<'a> {
    fn with_tables(relations: Relations<'a>, capabilities: &'a Capabilities, rng: &mut Rng) -> Self {
        let literals = Literals::draw(&capabilities.profile, rng);
        let mut builder = Self {
            relations,
            capabilities,
            literals,
            statements: Vec::new(),
            tables: Vec::new(),
            virtual_: Vec::new(),
            later: Vec::new(),
            grows: chance(rng, MANY_ROWS_PERCENT),
            altered: BTreeSet::new(),
            indexes: Vec::new(),
            generated: Vec::new(),
            defaults: BTreeMap::new(),
        };
        builder.start(rng);
        for relation in 0..relations.all.len() {
            builder.create(relation, rng);
        }
        builder
    }

    fn start(&mut self, rng: &mut Rng) {
        let profile = &self.capabilities.profile;
        self.statements.extend(profile.start.iter().cloned());
        if chance(rng, 30) {
            self.statements.extend(pick(rng, &profile.start_options).cloned());
        }
        if !profile.storages.is_empty() && chance(rng, STORAGE_PERCENT) {
            self.statements.extend(pick(rng, &profile.storages).cloned());
            self.grows |= chance(rng, 30);
        }
    }

    fn relation(&self, relation: usize) -> &Table {
        &self.relations.all[relation]
    }

    fn is_schema_table(&self, relation: usize) -> bool {
        relation < self.relations.own
    }

    fn create(&mut self, relation: usize, rng: &mut Rng) {
        let fitting: Vec<&VirtualTable> = self.virtual_tables(relation).collect();
        if !fitting.is_empty()
            && chance(rng, 10)
            && let Some(template) = pick(rng, &fitting)
        {
            return self.create_virtual(relation, template);
        }
        let table = self.relation(relation).clone();
        let own = self.is_schema_table(relation);
        let name = if own { table.name.clone() } else { format!("{}_t", table.name) };
        let linked = self.is_linked(relation);
        // Strict tables have type names of their own, and a foreign key and what it refers to must be of one type.
        let strict = self.capabilities.strict_option.as_ref().filter(|_| own && !linked && chance(rng, 15));
        let mut info = TableInfo { name: name.as_str().into(), columns: Vec::new() };
        let mut parts = Vec::new();
        let single_key = match table.primary_key.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let key_inline = single_key.filter(|_| chance(rng, 60));
        let profile = self.capabilities.profile.clone();
        for (at, column) in table.columns.iter().enumerate() {
            let ty = ColumnType::Class(column.ty);
            let declared =
                if linked { profile.declared(&ty) } else { self.type_name(Some(&ty), strict.is_some(), rng) };
            let mut part = format!("{} {declared}", column.name);
            if key_inline == Some(at) {
                if let Some(integer) = profile.integer_key_type.as_ref()
                    && column.ty == SqlType::Int
                    && chance(rng, 70)
                {
                    part = format!("{} {integer}", column.name);
                }
                let _ = write!(part, " {}", pick(rng, &profile.primary_keys).map_or("PRIMARY KEY", String::as_str));
            }
            if column.not_null {
                part.push_str(" NOT NULL");
            }
            let sets_default = |key: &ForeignKey| {
                key.columns.contains(&at) && [key.actions.delete, key.actions.update].contains(&Action::SetDefault)
            };
            if table.foreign_keys.iter().any(sets_default) && chance(rng, 70) {
                let value = self.literals.value(column.ty, 0, rng);
                let _ = write!(part, " DEFAULT ({value})");
                self.defaults.insert((relation, at), value);
            }
            let mut of_column = ColumnInfo::typed(&column.name, column.ty);
            if let Some(collation) = self.collation(relation, at, rng) {
                let _ = write!(part, " COLLATE {collation}");
                of_column.binary = collation == "BINARY";
            }
            parts.push(part);
            info.columns.push(of_column);
        }
        let mut later = None;
        if own {
            let generated = self.extra_columns(&table, strict.is_some(), &mut info, &mut parts, rng);
            self.generated.extend(generated.into_iter().map(|of| GeneratedInfo { relation, ..of }));
            later = self.later(&info, table.columns.len(), &mut parts, rng);
        }
        let list =
            |columns: &[usize]| columns.iter().map(|c| table.columns[*c].name.as_str()).collect::<Vec<_>>().join(", ");
        if key_inline.is_none() && !table.primary_key.is_empty() {
            parts.push(format!("PRIMARY KEY({})", list(&table.primary_key)));
        }
        parts.extend(table.unique.iter().map(|unique| format!("UNIQUE({})", list(unique))));
        parts.extend(table.checks.iter().map(|check| format!("CHECK ({check})")));
        for key in &table.foreign_keys {
            let parent = self.relation(key.table);
            let referred: Vec<&str> = key.referred.iter().map(|c| parent.columns[*c].name.as_str()).collect();
            let mut part =
                format!("FOREIGN KEY({}) REFERENCES {}({})", list(&key.columns), parent.name, referred.join(", "));
            for (event, action) in [("DELETE", key.actions.delete), ("UPDATE", key.actions.update)] {
                if action != Action::NoAction {
                    let _ = write!(part, " ON {event} {action}");
                }
            }
            parts.push(part);
        }
        // What is unique must be so in all parts at once, which not every engine can see to.
        let has_keys = parts.iter().any(|part| ["UNIQUE", "PRIMARY KEY"].iter().any(|key| part.contains(key)));
        let spread = if own && !linked && !has_keys && chance(rng, PARTITIONED_PERCENT) {
            self.partitioning(&table, rng)
        } else {
            None
        };
        let (spread, made) = spread.map_or_else(Default::default, |(option, made)| (Some(option), made));
        let keyed = pick(rng, &self.capabilities.keyed_table_options).filter(|_| !table.primary_key.is_empty());
        let other = pick(rng, &self.capabilities.table_options).filter(|_| !linked && chance(rng, 40));
        // One of them, for two may be of one kind.
        let options: Vec<&str> = [strict, spread.as_ref().or(keyed).or(other)]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|o| !o.is_empty())
            .collect();
        self.statements
            .push(format!("CREATE TABLE {name}({}) {}", parts.join(", "), options.join(", ")).trim().to_owned());
        self.statements.extend(made);
        self.tables.push(info);
        self.virtual_.push(false);
        self.later.push(later);
    }

    /// A collation for a column of the schema. What is unique, referred to or checked under another one is so under another
    /// condition.
    fn collation(&self, relation: usize, at: usize, rng: &mut Rng) -> Option<&'a str> {
        let Table { columns, primary_key, unique, checks, .. } = self.relation(relation);
        let mut keys = primary_key.iter().chain(unique.iter().flatten());
        let may = self.relations.collated
            && self.is_schema_table(relation)
            && columns[at].ty == SqlType::Text
            && checks.is_empty()
            && !self.is_linked(relation)
            && keys.all(|key| *key != at);
        let collations = &self.capabilities.profile.collations;
        if may && chance(rng, COLLATED_PERCENT) { pick(rng, collations).map(String::as_str) } else { None }
    }

    /// A way to spread the rows of a table: its option and its statements.
    fn partitioning(&self, table: &Table, rng: &mut Rng) -> Option<(String, Vec<String>)> {
        let partitioning = pick(rng, &self.capabilities.partitions)?;
        let columns: Vec<_> = table.columns.iter().filter(|column| partitioning.types.contains(&column.ty)).collect();
        let column = pick(rng, &columns)?;
        Some(partitioning.of(&table.name, &column.name, &self.literals.value(column.ty, 0, rng)))
    }

    /// Whether a foreign key of the class leads from the table or to it.
    fn is_linked(&self, relation: usize) -> bool {
        let refers = |table: &Table| table.foreign_keys.iter().any(|key| key.table == relation);
        !self.relation(relation).foreign_keys.is_empty() || self.relations.all[..self.relations.own].iter().any(refers)
    }

    /// The virtual tables that can stand for a table, which nothing refers to: they enforce few constraints.
    fn virtual_tables(&self, relation: usize) -> impl Iterator<Item = &'a VirtualTable> {
        let Table { columns, primary_key, unique, checks, .. } = self.relation(relation);
        let keyed = !primary_key.is_empty() || !unique.is_empty();
        let may = self.is_schema_table(relation) && checks.is_empty() && !self.is_linked(relation);
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty).collect();
        self.capabilities.virtual_tables.iter().filter(move |template| may && template.takes(&types, keyed))
    }

    fn create_virtual(&mut self, relation: usize, template: &VirtualTable) {
        let table = self.relation(relation).clone();
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        self.statements.push(template.of(&table.name, &columns));
        // Further columns stay out of expressions: the engine compares an R-tree's coordinates rounded, and says so.
        let columns = table.columns.iter().map(|column| ColumnInfo::typed(&column.name, column.ty));
        self.tables.push(TableInfo { name: table.name.as_str().into(), columns: columns.collect() });
        self.virtual_.push(true);
        self.later.push(None);
    }

    /// Adds columns to a table, and says which are generated.
    fn extra_columns(
        &self,
        table: &Table,
        strict: bool,
        info: &mut TableInfo,
        parts: &mut Vec<String>,
        rng: &mut Rng,
    ) -> Vec<GeneratedInfo> {
        let mut generated = Vec::new();
        let profile = &self.capabilities.profile;
        // An optimizer may rest on a constraint that is not enforced.
        let enforced = self.capabilities.enforced;
        if let Some(auto_key) = profile.auto_key.as_ref()
            && enforced.keys
            && table.primary_key.is_empty()
            && chance(rng, 20)
        {
            let name = format!("{}_id", table.name);
            parts.push(format!("{name} {auto_key}"));
            info.columns.push(ColumnInfo { given: false, ..ColumnInfo::typed(&name, SqlType::Int) });
        }
        for at in 0..rng.random_range(0..4) {
            let name = format!("{}_x{at}", table.name);
            let ty = self.extra_type(rng);
            let mut part = format!("{name} {}", self.type_name(ty.as_ref(), strict, rng)).trim().to_owned();
            let (ty, other) = match ty {
                Some(ColumnType::Class(ty)) => (Some(ty), None),
                Some(ColumnType::Other(other)) => (None, Some(other)),
                None => (None, None),
            };
            let mut column = ColumnInfo { name: name.as_str().into(), ty, other, binary: true, given: true };
            if column.other.is_none()
                && (ty.is_none() || ty == Some(SqlType::Text))
                && chance(rng, 40)
                && let Some(collation) = pick(rng, &profile.collations)
            {
                let _ = write!(part, " COLLATE {collation}");
                column.binary = collation == "BINARY";
            }
            if column.other.is_none()
                && chance(rng, 10)
                && let Some(template) = pick(rng, &self.capabilities.generated_columns)
            {
                // Where only values have types the expression's may be of any.
                let kind = ty.filter(|_| profile.typing == Typing::Static).map_or(Kind::Any, Kind::Typed);
                // Not deep: engines refuse what is not certain to stay the same.
                let want = ExprSpec { depth: 1, ..indexable(kind) };
                let text = unqualified(&self.generator().generate(info, want, rng));
                let declared = part[name.len()..].trim_start();
                parts.push(format!("{name} {}", template.replace("#D", declared).replace("#E", &text)));
                generated.push(GeneratedInfo {
                    relation: 0,
                    name: column.name.clone(),
                    declared: declared.to_owned(),
                    expression: text,
                });
                let ty = ty.filter(|_| profile.typing == Typing::Static);
                info.columns.push(ColumnInfo { ty, given: false, ..column });
                continue;
            }
            // Not every type can be compared, which these rest on.
            if column.other.is_none() {
                let value = self.literals.of_column(&column, 0, rng);
                match rng.random_range(0..100) {
                    0..15 if enforced.keys => part.push_str(" UNIQUE"),
                    15..25 if enforced.not_null => {
                        let _ = write!(part, " NOT NULL DEFAULT ({value})");
                    }
                    // Rows that violate it are dropped.
                    25..30 if enforced.checks => {
                        if let Some(check) = pick(rng, &profile.column_checks) {
                            let _ = write!(part, " {}", check.replace("#C", &name).replace("#V", &value));
                        }
                    }
                    _ => {}
                }
            }
            parts.push(part);
            info.columns.push(column);
        }
        generated
    }

    /// Takes the last of the extra columns out of a table's definition, and gives the statement that adds it later.
    fn later(&self, info: &TableInfo, of_class: usize, parts: &mut Vec<String>, rng: &mut Rng) -> Option<String> {
        let template = pick(rng, &self.capabilities.added_columns).filter(|_| chance(rng, LATER_PERCENT))?;
        let column = info.columns[of_class..].last().filter(|column| column.given)?;
        let definition = parts.last().filter(|_| parts.len() == info.columns.len())?;
        let declared = definition.strip_prefix(&*column.name)?.trim();
        // Not every engine adds a column with a constraint, or with a value that must be computed.
        let value = self.literals.of_column(column, 30, rng);
        if value.contains('(') || ["UNIQUE", "NOT NULL", "CHECK"].iter().any(|word| declared.contains(word)) {
            return None;
        }
        let statement = template
            .replace("#T", &info.name)
            .replace("#A", &column.name)
            .replace("#D", declared)
            .replace("#V", &value);
        parts.pop();
        Some(statement)
    }

    /// The type of an extra column; `None` for one that holds values of any.
    fn extra_type(&self, rng: &mut Rng) -> Option<ColumnType> {
        let profile = &self.capabilities.profile;
        let others: Vec<&Arc<str>> = profile.other_types.keys().collect();
        if chance(rng, 55) {
            return Some(ColumnType::Class(any_type(rng)));
        }
        match pick(rng, &others) {
            Some(other) => Some(ColumnType::Other((*other).clone())),
            None if profile.typing == Typing::Dynamic => None,
            None => Some(ColumnType::Class(any_type(rng))),
        }
    }

    fn type_name(&self, ty: Option<&ColumnType>, strict: bool, rng: &mut Rng) -> &str {
        let profile = &self.capabilities.profile;
        let names = match (ty, strict) {
            (Some(ColumnType::Class(ty)), false) => profile.types.get(ty),
            (Some(ColumnType::Class(ty)), true) => profile.strict_types.get(&ty.to_string()),
            (Some(other), _) => return profile.declared(other),
            (None, true) => profile.strict_types.get("ANY"),
            (None, false) => return pick(rng, &["", "", "NUMERIC", "BLOB"]).copied().unwrap_or_default(),
        };
        names.and_then(|names| pick(rng, names)).map_or("", String::as_str)
    }

    fn generator(&self) -> ExprGenerator<'_> {
        ExprGenerator { grammar: &self.capabilities.grammar, literals: &self.literals, tables: &self.tables }
    }

    fn expression(&self, relation: usize, rng: &mut Rng) -> Node {
        self.generator().generate(&self.tables[relation], indexable(self.capabilities.truth()), rng)
    }

    /// Inserts rows and returns the class columns' literals of each, for foreign keys.
    fn fill(&mut self, relation: usize, parents: &[Rows], rng: &mut Rng) -> Rows {
        let few = self.tables.len() > 2;
        let count = match rng.random_range(0..100) {
            0..12 => 0,
            12..75 => rng.random_range(1..6),
            75..95 => rng.random_range(6..13),
            _ if few => rng.random_range(6..13),
            _ => rng.random_range(20..60),
        };
        let rows: Vec<_> = (0..count).map(|_| self.row(relation, parents, rng)).collect();
        let at_once = chance(rng, 50) && self.relation(relation).foreign_keys.is_empty();
        let tuple = |(class, extra): &FullRow, columns: usize| {
            let all: Vec<&str> = class.iter().chain(extra).take(columns).map(|v| &**v).collect();
            format!("({})", all.join(", "))
        };
        let columns = self.given(relation).len();
        // Rows from before the last column came have none for it.
        let alters = self.later[relation].take();
        let before = if alters.is_some() { rng.random_range(0..=rows.len()) } else { 0 };
        let mut write = |builder: &mut Self, rows: &[FullRow], columns: usize| {
            let tuples: Vec<String> = rows.iter().map(|row| tuple(row, columns)).collect();
            let template = builder.insert(relation, columns, rng);
            if at_once && !tuples.is_empty() {
                builder.statements.push(template.replace("#R", &tuples.join(", ")));
            } else {
                builder.statements.extend(tuples.into_iter().map(|tuple| template.replace("#R", &tuple)));
            }
        };
        if let Some(alters) = alters {
            write(self, &rows[..before], columns - 1);
            self.statements.push(alters);
        }
        write(self, &rows[before..], columns);
        if self.grows && !rows.is_empty() && self.is_schema_table(relation) && !self.virtual_[relation] {
            self.grows = false;
            self.grow(relation, rows.len());
        }
        rows.into_iter().map(|(class, _)| class).collect()
    }

    /// Inserts the rows that a table has again and again. Rows that keys do not let in twice stay alone.
    fn grow(&mut self, relation: usize, rows: usize) {
        let (profile, info) = (&self.capabilities.profile, &self.tables[relation]);
        let columns: Vec<&str> = self.given(relation).iter().map(|c| &*info.columns[*c].name).collect();
        let columns = columns.join(", ");
        let from = format!("{0}({columns}) SELECT {columns} FROM {0}", info.name);
        let statement = profile.inserts.first().map_or("INSERT INTO #R", String::as_str).replace("#R", &from);
        let doublings = profile.many_rows.div_ceil(rows).next_power_of_two().ilog2();
        self.statements.extend((0..doublings).map(|_| statement.clone()));
    }

    /// Positions of the columns that rows give a value.
    fn given(&self, relation: usize) -> Vec<usize> {
        let columns = &self.tables[relation].columns;
        (0..columns.len()).filter(|c| columns[*c].given).collect()
    }

    /// An INSERT into the first of the columns of a table that rows give a value; `#R` is where its rows belong.
    fn insert(&self, relation: usize, columns: usize, rng: &mut Rng) -> String {
        let inserts = &self.capabilities.profile.inserts;
        let insert = if chance(rng, 85) { inserts.first() } else { pick(rng, inserts) };
        let info = &self.tables[relation];
        let given = self.given(relation);
        let columns: Vec<&str> = given.iter().take(columns).map(|c| &*info.columns[*c].name).collect();
        let rows = format!("{}({}) VALUES #R", info.name, columns.join(", "));
        insert.map_or("INSERT INTO #R", String::as_str).replace("#R", &rows)
    }

    /// The literals of a row: of the class columns, and of the extra columns that are given a value.
    fn row(&self, relation: usize, parents: &[Rows], rng: &mut Rng) -> FullRow {
        let table = self.relation(relation);
        let mut class: Vec<Arc<str>> =
            table.columns.iter().map(|c| self.literals.value(c.ty, if c.not_null { 0 } else { 20 }, rng)).collect();
        for key in &table.foreign_keys {
            let parent = parents.get(key.table).and_then(|rows| pick(rng, rows));
            let nullable = key.columns.iter().all(|c| !table.columns[*c].not_null);
            for (child, referred) in key.columns.iter().zip(&key.referred) {
                match parent {
                    Some(row) if !(nullable && chance(rng, 15)) => class[*child] = row[*referred].clone(),
                    _ => class[*child] = "NULL".into(),
                }
            }
        }
        let info = &self.tables[relation];
        let extra = self.given(relation).into_iter().filter(|c| *c >= table.columns.len());
        let extra = extra.map(|c| self.literals.of_column(&info.columns[c], 20, rng)).collect();
        (class, extra)
    }

    fn index(&mut self, favourites: &[Vec<Node>], rng: &mut Rng) {
        let relation = rng.random_range(0..self.tables.len());
        if self.virtual_[relation] {
            return;
        }
        let info = self.tables[relation].clone();
        let profile = self.capabilities.profile.clone();
        let mut keys = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            let mut key = match (pick(rng, &favourites[relation]), pick(rng, &info.columns)) {
                (Some(favourite), _) if profile.expression_indexes && chance(rng, 15) => {
                    format!("({})", unqualified(favourite))
                }
                (_, Some(_)) if profile.expression_indexes && chance(rng, 10) => {
                    let kind = match profile.typing {
                        Typing::Dynamic => Kind::Any,
                        Typing::Static => Kind::Typed(any_type(rng)),
                    };
                    format!("({})", unqualified(&self.generator().generate(&info, indexable(kind), rng)))
                }
                (_, Some(column)) => column.name.to_string(),
                _ => continue,
            };
            if chance(rng, 15)
                && let Some(collation) = pick(rng, &profile.collations)
            {
                let _ = write!(key, " COLLATE {collation}");
            }
            if chance(rng, 20) {
                key.push_str(" DESC");
            }
            keys.push(key);
        }
        let unique = chance(rng, 10) && self.capabilities.enforced.keys;
        let kind = if unique { "UNIQUE " } else { "" };
        let method = pick(rng, &profile.index_methods).map_or("", String::as_str);
        let number = rng.random_range(0..1_000_000);
        let mut statement = format!("CREATE {kind}INDEX i{number} ON {}{method}({})", info.name, keys.join(", "));
        let mut index =
            IndexInfo { name: format!("i{number}").as_str().into(), relation, keys, predicate: None, unique };
        if profile.partial_indexes && chance(rng, 35) {
            let predicate = match pick(rng, &favourites[relation]) {
                Some(favourite) if chance(rng, 70) => unqualified(favourite),
                _ => unqualified(&self.expression(relation, rng)),
            };
            let _ = write!(statement, " WHERE {predicate}");
            index.predicate = Some(predicate);
        }
        self.statements.push(statement);
        self.indexes.push(index);
    }

    /// Conditions by which the keys and indexes of a table that have several columns are searched.
    fn searches(&self, relation: usize, rng: &mut Rng) -> Vec<Node> {
        let (table, info) = (self.relation(relation), &self.tables[relation]);
        let column = |name: &str| info.columns.iter().find(|column| &*column.name == name);
        let keys = std::iter::once(&table.primary_key).chain(&table.unique);
        let keys = keys.map(|key| key.iter().filter_map(|at| column(&table.columns[*at].name)).collect::<Vec<_>>());
        let indexes = self.indexes.iter().filter(|index| index.relation == relation);
        // An expression ends what can be searched; a direction or a collation stands behind the name.
        let named = |key: &String| column(key.split(' ').next().unwrap_or_default());
        let indexes = indexes.map(|index| index.keys.iter().map_while(named).collect());
        let several: Vec<Vec<&ColumnInfo>> =
            keys.chain(indexes).filter(|columns: &Vec<_>| (2..=SEARCHED_KEYS).contains(&columns.len())).collect();
        several.iter().filter_map(|columns| self.generator().search(columns, rng)).collect()
    }

    /// Fillings of a table placeholder: a table and a view by name, a derived table, a common table expression.
    fn table_fills(&mut self, relation: usize, rng: &mut Rng) -> (Vec<TableInstantiation>, Vec<Option<TableOrigin>>) {
        if self.is_schema_table(relation) {
            return <_>::default();
        }
        let name = self.relation(relation).name.clone();
        let columns: Vec<ColumnInfo> = self.tables[relation].columns.clone();
        let body = |rng: &mut Rng| {
            let snippet = if chance(rng, TABLE_SNIPPET_PERCENT) { self.table_snippet(&columns, rng) } else { None };
            snippet.map_or_else(
                || (table::query(&self.generator(), self.capabilities, &columns, rng), None),
                |(query, origin)| (query, Some(origin)),
            )
        };
        let ((view, of_view), (derived, of_derived), (cte, of_cte)) = (body(rng), body(rng), body(rng));
        self.statements.push(format!("CREATE VIEW {name}_w AS {view}"));
        let fills = vec![
            TableInstantiation::Name(self.tables[relation].name.clone()),
            TableInstantiation::Name(format!("{name}_w").as_str().into()),
            TableInstantiation::Derived(derived),
            TableInstantiation::Cte { name: format!("{name}_q").as_str().into(), query: cte },
        ];
        (fills, vec![None, of_view, of_derived, of_cte])
    }

    /// A table snippet with columns of these types, mapped onto tables of the database.
    fn table_snippet(&self, columns: &[ColumnInfo], rng: &mut Rng) -> Option<(String, TableOrigin)> {
        let fits = |snippet: &&Arc<TableSnippet>| {
            snippet.outputs == columns.len()
                && snippet.yields.iter().zip(columns).all(|(types, column)| column.ty.is_some_and(|ty| types.contains(&ty)))
                // A name of its own must not hide a table.
                && !self.tables.iter().any(|table| snippet.names.contains(&table.name.to_lowercase()))
                && !self.relations.all.iter().any(|table| snippet.names.contains(&table.name.to_lowercase()))
        };
        let fitting: Vec<&Arc<TableSnippet>> = self.capabilities.corpus.tables.iter().filter(fits).collect();
        let snippet = pick(rng, &fitting)?;
        let mapped = [self.mapped(snippet, 0, rng)?, self.mapped(snippet, 1, rng)?];
        let typed: Option<Vec<_>> = columns.iter().map(|column| Some((column.name.clone(), column.ty?))).collect();
        let (profile, typed) = (&self.capabilities.profile, typed?);
        let reversed = mapped.clone().map(|mapped| Mapped { table: self.reversed(&mapped.table).into(), ..mapped });
        let origin = TableOrigin {
            key: snippet.key(),
            origin: snippet.origin.clone(),
            reversed: snippet.typed(profile, &reversed, &typed),
        };
        Some((snippet.typed(profile, &mapped, &typed), origin))
    }

    /// A table whose rows come in another order. The limit keeps the order from being left out.
    fn reversed(&self, table: &str) -> String {
        let info = self.tables.iter().find(|info| &*info.name == table);
        let keys = info.into_iter().flat_map(|info| &info.columns).filter(|column| column.ty.is_some());
        let keys: Vec<String> = keys.map(|column| format!("{} DESC", column.name)).collect();
        if keys.is_empty() {
            return table.to_owned();
        }
        format!("(SELECT * FROM {table} ORDER BY {} LIMIT 1000000)", keys.join(", "))
    }

    /// A table for a default table of a snippet, with a column of its type for each column that is used.
    fn mapped(&self, snippet: &TableSnippet, source: usize, rng: &mut Rng) -> Option<Mapped> {
        if !snippet.reads[source] {
            return Some(Mapped::plain(SOURCES[source]));
        }
        (0..MAPPING_ATTEMPTS).find_map(|_| {
            let table = pick(rng, &self.tables)?;
            let columns = SOURCE_COLUMNS.iter().enumerate().map(|(at, (name, ty))| {
                if !snippet.uses[source].contains(&at) {
                    return Some(Arc::from(*name));
                }
                let fitting: Vec<&ColumnInfo> =
                    table.columns.iter().filter(|c| c.ty == Some(*ty) && c.binary).collect();
                pick(rng, &fitting).map(|column| column.name.clone())
            });
            let columns: Option<Vec<Arc<str>>> = columns.collect();
            Some(Mapped { table: table.name.clone(), columns: columns? })
        })
    }
}
