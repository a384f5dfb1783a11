//! Random databases, tables and expressions. Seeded and pure: a seed in, SQL out; no I/O, no clock.
//!
//! [`database`] makes the schema, rows and indexes for a class, [`expr`] typed expressions from the dialect's operator
//! grammar, and [`table`] the queries that stand for table placeholders.

pub mod database;
pub mod expr;
pub mod query;
pub mod seed;
pub mod table;

use crate::compare::Row;
use crate::config::matches_glob;
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, JoinKeyword, Partitioning, Profile, Switch, VirtualTable};
use crate::sql::schema::Table;
use crate::sql::snippet::{Snippet, calls_any};
use crate::sql::table_snippet::TableSnippet;
use crate::sql::types::{SqlType, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A column of a table that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: Arc<str>,
    /// The type of every value in it; `None` when it holds values of several types, or of a type that classes do not have.
    pub ty: Option<SqlType>,
    /// That other type, by its name in the profile.
    pub other: Option<Arc<str>>,
    /// Whether its text compares byte by byte.
    pub binary: bool,
    /// Whether rows give it a value; false for generated columns and automatic keys.
    pub given: bool,
}

impl ColumnInfo {
    /// A column of a class's type, whose text compares byte by byte.
    pub fn typed(name: &str, ty: SqlType) -> Self {
        Self { name: name.into(), ty: Some(ty), other: None, binary: true, given: true }
    }

    /// Whether the column is of the type.
    pub fn is_of(&self, ty: &ColumnType) -> bool {
        match ty {
            ColumnType::Class(ty) => self.ty == Some(*ty),
            ColumnType::Other(name) => self.other.as_ref() == Some(name),
        }
    }
}

/// A table that was created, as generated expressions see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name; for a table placeholder, the name of a table of that shape.
    pub name: Arc<str>,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// The constraints whose violation an engine refuses. Some are parsed and ignored, by some engines and versions.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforced {
    /// NOT NULL.
    pub not_null: bool,
    /// PRIMARY KEY, which is NOT NULL too, and UNIQUE.
    pub keys: bool,
    /// CHECK.
    pub checks: bool,
    /// FOREIGN KEY.
    pub foreign_keys: bool,
}

impl Enforced {
    /// A kind of constraint that a table has and that is not enforced.
    pub fn lacks(&self, table: &Table) -> Option<&'static str> {
        let needs_not_null = table.columns.iter().any(|column| column.not_null);
        let needs_keys = !table.primary_key.is_empty() || !table.unique.is_empty();
        [
            (needs_not_null && !self.not_null, "NOT NULL"),
            (needs_keys && !self.keys, "keys"),
            (!table.checks.is_empty() && !self.checks, "checks"),
            (!table.foreign_keys.is_empty() && !self.foreign_keys, "foreign keys"),
        ]
        .into_iter()
        .find_map(|(lacks, what)| lacks.then_some(what))
    }
}

/// What one version of an engine accepts, found out by probing it, and the snippets that hold on it.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// The dialect.
    pub profile: Arc<Profile>,
    /// The operators the engine knows.
    pub grammar: expr::Grammar,
    /// The join keywords the engine knows.
    pub joins: Vec<JoinKeyword>,
    /// Options for CREATE TABLE the engine knows.
    pub table_options: Vec<String>,
    /// Those for tables with a primary key.
    pub keyed_table_options: Vec<String>,
    /// Ways to spread the rows of a table that the engine knows.
    pub partitions: Vec<Partitioning>,
    /// Statements that add a column that the engine knows.
    pub added_columns: Vec<String>,
    /// The option of strict tables, if the engine knows it.
    pub strict_option: Option<String>,
    /// Virtual tables that the engine knows.
    pub virtual_tables: Vec<VirtualTable>,
    /// Templates of generated columns the engine knows.
    pub generated_columns: Vec<String>,
    /// The optimizer switches the engine knows.
    pub switches: Vec<Arc<Switch>>,
    /// The constraints that hold here.
    pub enforced: Enforced,
    /// Whether changes of tables are undone by going back to where they began.
    pub undoes: bool,
    /// Placeholders of classes, by position, whose fillings must have no subquery, as earlier campaigns found.
    pub without_subqueries: BTreeSet<(String, usize)>,
    /// Corpus snippets with validated claims.
    pub corpus: Corpus,
    /// Functions that the engine lists.
    pub functions: Vec<Function>,
    /// Aggregates that it lists.
    pub aggregates: Vec<Function>,
}

/// Snippets with validated claims.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    /// Expressions.
    pub expressions: Vec<Arc<Snippet>>,
    /// Tables.
    pub tables: Vec<Arc<TableSnippet>>,
}

/// A function that an engine lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What stands for each argument, as in [`crate::sql::profile::FunctionCatalogue`].
    pub arguments: Vec<String>,
}

impl Capabilities {
    /// Probes an engine. `rows` runs a statement and returns its rows, `None` if the engine does not accept it; `corpus`
    /// are the snippets that were validated on it.
    pub fn probe(
        profile: Arc<Profile>,
        mut corpus: Corpus,
        enforced: Enforced,
        mut rows: impl FnMut(&str) -> Option<Vec<Row>>,
    ) -> Self {
        let operators = expr::known_operators(&profile, |sql| rows(sql)?.into_iter().next()?.into_iter().next());
        let grammar = expr::Grammar::new(operators);
        let mut accepts = |sql: &str| rows(sql).is_some();
        let joins = profile.joins.iter().filter(|join| {
            let on = if join.takes_condition() { " ON a.c = b.c" } else { "" };
            let join = join.text();
            accepts(&format!("SELECT 1 FROM (SELECT 1 AS c) AS a {join} (SELECT 1 AS c) AS b{on}"))
        });
        let joins = joins.cloned().collect();
        // Each table has a name of its own, so that no probe meets what another one made.
        let mut tables = 0;
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let mut creates = |statement: &str| {
            tables += 1;
            accepts(&statement.replace("#N", &format!("probe{tables}")))
        };
        let mut with_option = |option: &&String, key: &str| creates(&format!("CREATE TABLE #N(c {int}{key}) {option}"));
        let table_options = profile.table_options.iter().filter(|o| with_option(o, "")).cloned().collect();
        let strict_option = profile.strict_option.iter().find(|o| with_option(o, "")).cloned();
        let keyed = profile.keyed_table_options.iter().filter(|o| with_option(o, " PRIMARY KEY"));
        let keyed_table_options = keyed.cloned().collect();
        // Of another type than INT the value would be another one; the syntax is the same.
        let spread = |(at, partitioning): &(usize, &Partitioning)| {
            let table = format!("spread{at}");
            let (option, parts) = partitioning.of(&table, "c", "1");
            creates(&format!("CREATE TABLE {table}(c {int}) {option}")) && parts.iter().all(|part| creates(part))
        };
        let partitions = profile.partitions.iter().enumerate().filter(spread).map(|(_, of)| of.clone()).collect();
        let adds = |(at, template): &(usize, &String)| {
            let table = format!("later{at}");
            creates(&format!("CREATE TABLE {table}(c {int})"))
                && creates(&template.replace("#T", &table).replace("#A", "a").replace("#D", int).replace("#V", "1"))
        };
        let added_columns = profile.added_columns.iter().enumerate().filter(adds).map(|(_, add)| add.clone()).collect();
        let virtual_tables = profile.virtual_tables.iter().filter(|template| creates(&template.of("#N", &["c"])));
        let virtual_tables = virtual_tables.cloned().collect();
        let generated_columns = profile.generated_columns.iter().filter(|template| {
            creates(&format!("CREATE TABLE #N(c {int}, g {})", template.replace("#D", int).replace("#E", "c")))
        });
        let generated_columns = generated_columns.cloned().collect();
        let mut all_run = |statements: &[String]| statements.iter().all(|statement| accepts(statement));
        let mut turns = |switch: &&Switch| {
            let on = all_run(&switch.on);
            all_run(&switch.off) && on
        };
        let switches: Vec<Arc<Switch>> =
            profile.switches.iter().filter(|switch| turns(switch)).cloned().map(Arc::new).collect();
        let (functions, internal) = functions(&profile, &mut rows);
        let aggregates = aggregates(&profile, &mut rows);
        corpus.expressions.retain(|snippet| !snippet.calls_any(&internal));
        corpus.tables.retain(|snippet| !calls_any(&snippet.sql, &internal));
        Self {
            profile,
            grammar,
            joins,
            table_options,
            keyed_table_options,
            partitions,
            added_columns,
            strict_option,
            virtual_tables,
            generated_columns,
            switches,
            enforced,
            undoes: false,
            without_subqueries: BTreeSet::new(),
            corpus,
            functions,
            aggregates,
        }
    }

    /// Whether fillings of a placeholder must have no subquery.
    pub fn lacks_subqueries(&self, class: &str, placeholder: usize) -> bool {
        !self.without_subqueries.is_empty() && self.without_subqueries.contains(&(class.to_owned(), placeholder))
    }

    /// What is wanted of an expression whose truth value is taken.
    pub fn truth(&self) -> Kind {
        if self.profile.truth_of_any_value { Kind::Any } else { Kind::Typed(SqlType::Boolean) }
    }

    /// What the target takes, without options of tables under which changes stay.
    #[must_use]
    pub fn undoable(self: &Arc<Self>) -> Arc<Self> {
        let stays = |option: &String| self.profile.not_undone.iter().any(|part| option.contains(part.as_str()));
        if !self.table_options.iter().chain(&self.keyed_table_options).any(stays) {
            return self.clone();
        }
        let mut without = Self::clone(self);
        without.table_options.retain(|option| !stays(option));
        without.keyed_table_options.retain(|option| !stays(option));
        Arc::new(without)
    }

    /// A switch that the engine knows, by name.
    pub fn switch(&self, name: &str) -> Option<&Arc<Switch>> {
        self.switches.iter().find(|switch| switch.name == name)
    }
}

/// The functions that an engine lists, as calls, and the names of those that serve the engine only. Not every call is one:
/// where an engine does not tell the number of arguments, to try them all may take as long as the rest of the start, and a
/// call that it refuses costs a statement.
fn functions(profile: &Profile, rows: &mut impl FnMut(&str) -> Option<Vec<Row>>) -> (Vec<Function>, BTreeSet<String>) {
    let Some(catalogue) = &profile.functions else { return <_>::default() };
    let mut internal = BTreeSet::new();
    for row in catalogue.internal.as_ref().and_then(|sql| rows(sql)).unwrap_or_default() {
        internal.extend(row.first().map(lower));
    }
    let is_called = |name: &str, result: &str| {
        let forbidden = catalogue.excluded.iter().any(|pattern| matches_glob(pattern, name))
            || profile.forbidden.words.contains(name)
            || internal.contains(name);
        !forbidden && (result.is_empty() || catalogue.types.contains_key(result))
    };
    let mut found = listed(&rows(&catalogue.sql).unwrap_or_default(), is_called, |ty| catalogue.types.get(ty));
    if !catalogue.tried_with.is_empty() {
        let mut forms: BTreeMap<String, usize> = BTreeMap::new();
        found.iter().for_each(|function| *forms.entry(function.name.clone()).or_default() += 1);
        found.retain(|Function { name, arguments }| {
            let call =
                |constant: &String| format!("SELECT {name}({})", vec![constant.as_str(); arguments.len()].join(", "));
            forms[name] < 2 || catalogue.tried_with.iter().any(|constant| rows(&call(constant)).is_some())
        });
    }
    (found, internal)
}

/// The aggregates that an engine lists, as calls.
fn aggregates(profile: &Profile, rows: &mut impl FnMut(&str) -> Option<Vec<Row>>) -> Vec<Function> {
    let Some(catalogue) = &profile.aggregates else { return Vec::new() };
    let of_functions = |ty: &str| profile.functions.as_ref()?.types.get(ty);
    let is_called = |name: &str, _: &str| !catalogue.excluded.iter().any(|pattern| matches_glob(pattern, name));
    let ty = |ty: &str| catalogue.types.get(ty).or_else(|| of_functions(ty));
    listed(&rows(&catalogue.sql).unwrap_or_default(), is_called, ty)
}

/// What rows of an engine's list say: a name, the types of the arguments, the type of the result.
fn listed<'a>(
    rows: &[Row],
    is_called: impl Fn(&str, &str) -> bool,
    ty: impl Fn(&str) -> Option<&'a String>,
) -> Vec<Function> {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    let mut found = Vec::new();
    for row in rows {
        let [name, arguments, result] = row.as_slice() else { continue };
        let name = lower(name);
        if !is_name(&name) || !is_called(&name, &lower(result)) {
            continue;
        }
        let arguments: Option<Vec<String>> = lower(arguments).split(';').map(|name| ty(name).cloned()).collect();
        let Some(arguments) = arguments else { continue };
        found.push(Function { name, arguments });
    }
    found.sort_by(|a, b| (&a.name, &a.arguments).cmp(&(&b.name, &b.arguments)));
    found.dedup();
    found
}

/// A text in lower case; nothing for another value.
fn lower(value: &Value) -> String {
    match value {
        Value::Text(text) => String::from_utf8_lossy(text).to_lowercase(),
        _ => String::new(),
    }
}

/// The literals of one database. Rows and expressions draw from the same few, so that joins match and filters hit.
#[derive(Debug, Clone)]
pub struct Literals {
    by_type: BTreeMap<ColumnType, Vec<Arc<str>>>,
    /// NULL as an expression of each type.
    nulls: BTreeMap<SqlType, Arc<str>>,
}

impl Literals {
    /// Draws a few of the profile's literals per type. Blobs and text share their spelling rarely, numbers often.
    pub fn draw(profile: &Profile, rng: &mut Rng) -> Self {
        let class = SqlType::ALL.into_iter().map(ColumnType::Class);
        let mut by_type = BTreeMap::new();
        for ty in class.chain(profile.other_types.keys().cloned().map(ColumnType::Other)) {
            let all = profile.literals(&ty);
            // The first few are the small everyday values; the others come in by chance.
            let mut few: Vec<Arc<str>> = all.iter().take(5).map(|l| Arc::from(l.as_str())).collect();
            for _ in 0..4 {
                few.extend(pick(rng, all).map(|l| Arc::from(l.as_str())));
            }
            by_type.insert(ty, few);
        }
        let nulls = SqlType::ALL.into_iter().map(|ty| (ty, profile.null(ty).as_str().into())).collect();
        Self { by_type, nulls }
    }

    /// A value for a column of a class, or NULL in `null_percent` of a hundred draws.
    pub fn value(&self, ty: SqlType, null_percent: u32, rng: &mut Rng) -> Arc<str> {
        self.draw_of(&ColumnType::Class(ty), null_percent, rng).unwrap_or_else(|| "NULL".into())
    }

    /// A value for a column.
    pub fn of_column(&self, column: &ColumnInfo, null_percent: u32, rng: &mut Rng) -> Arc<str> {
        let ty = match (&column.other, column.ty) {
            (Some(other), _) => ColumnType::Other(other.clone()),
            (None, Some(ty)) => ColumnType::Class(ty),
            (None, None) => ColumnType::Class(any_type(rng)),
        };
        self.draw_of(&ty, null_percent, rng).unwrap_or_else(|| "NULL".into())
    }

    /// An operand of a type, or of any.
    pub fn operand(&self, ty: Option<SqlType>, null_percent: u32, rng: &mut Rng) -> Arc<str> {
        let ty = ty.unwrap_or_else(|| any_type(rng));
        self.draw_of(&ColumnType::Class(ty), null_percent, rng).unwrap_or_else(|| self.nulls[&ty].clone())
    }

    fn draw_of(&self, ty: &ColumnType, null_percent: u32, rng: &mut Rng) -> Option<Arc<str>> {
        if chance(rng, null_percent) {
            return None;
        }
        self.by_type.get(ty).and_then(|values| pick(rng, values)).cloned()
    }
}

/// A random type, numbers and text more often than blobs.
pub fn any_type(rng: &mut Rng) -> SqlType {
    const SHARE: [SqlType; 10] = [
        SqlType::Int,
        SqlType::Int,
        SqlType::Int,
        SqlType::Text,
        SqlType::Text,
        SqlType::Text,
        SqlType::Boolean,
        SqlType::Real,
        SqlType::Real,
        SqlType::Blob,
    ];
    pick(rng, &SHARE).copied().unwrap_or(SqlType::Int)
}
