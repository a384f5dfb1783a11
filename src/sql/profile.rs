//! Dialect profiles: what is known about a database system, as data.

use super::error::ErrorClass;
use super::lex::has_words;
use super::operator::Operator;
use super::schema::Action;
use super::types::SqlType;
use crate::digest::Digest;
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// The keywords of a join, as in `LEFT JOIN`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct JoinKeyword(Arc<str>);

impl JoinKeyword {
    /// Whether ON and a condition follow the second table.
    pub fn takes_condition(&self) -> bool {
        !self.0.starts_with("CROSS")
    }

    /// The keywords.
    pub fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl Default for JoinKeyword {
    fn default() -> Self {
        Self("JOIN".into())
    }
}

/// How clients speak with an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// SQLite's C interface.
    Sqlite,
    /// DuckDB's C interface.
    Duckdb,
    /// PostgreSQL's protocol.
    Postgres,
    /// MySQL's protocol.
    Mysql,
    /// A Python module, in a process of its own.
    Python,
}

/// What has a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Typing {
    /// Values only; an expression may give values of several types.
    Dynamic,
    /// Every expression, before it runs.
    Static,
}

/// A dialect profile. `docs/engines.md` explains the fields, the files in `corpus/dialects/` why they are set as they are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Profile {
    /// Name of the dialect, as classes list it.
    pub name: String,
    /// Another profile whose keys hold where this one has none.
    #[serde(default)]
    pub extends: Option<String>,
    /// How its servers or libraries are reached.
    pub wire: Wire,
    /// For a Python module: the source that connects to it, as `src/dbms/python/worker.py` says.
    #[serde(default)]
    pub python: Option<String>,
    /// Assumptions of classes and of their proofs that hold for the databases created here.
    pub guarantees: BTreeSet<Assumption>,
    /// Those that hold for classes whose members do not divide.
    #[serde(default)]
    pub guarantees_without_division: BTreeSet<Assumption>,
    /// Whether columns of a class hold values of their own type only. The generator of databases keeps to it, so proofs do
    /// not name it.
    #[serde(default)]
    pub columns_hold_their_type: bool,
    /// Whether arithmetic of integers whose result is too large for the largest integer type is an error, rather than a
    /// rounded number or another integer.
    #[serde(default)]
    pub overflow_is_error: bool,
    /// What has a type.
    pub typing: Typing,
    /// Whether any value may stand where a truth value is wanted.
    pub truth_of_any_value: bool,
    /// INSERT statements around `#R`, a table with its columns and rows, that survive rows which violate a constraint; the
    /// first drops those rows.
    pub inserts: Vec<String>,
    /// Starts of UPDATE statements.
    pub updates: Vec<String>,
    /// Whether a subquery of SET may see rows of the table that the statement has changed already.
    #[serde(default)]
    pub set_sees_changes: bool,
    /// Whether a statement that fails takes everything with it that was changed since the transaction began.
    #[serde(default)]
    pub errors_end_transactions: bool,
    /// What is known of statements that change a table.
    #[serde(default)]
    pub changes: Changes,
    /// Join keywords, repeated for a larger share.
    pub joins: Vec<JoinKeyword>,
    /// Options that may follow the definition of a table that no foreign key involves.
    pub table_options: Vec<String>,
    /// Options that may follow the definition of a table with a primary key.
    pub keyed_table_options: Vec<String>,
    /// How the rows of a table without keys may be spread.
    #[serde(default)]
    pub partitions: Vec<Partitioning>,
    /// Statements that add a column `#A` of a type `#D` with a value `#V` for the rows that are there to a table `#T`.
    #[serde(default)]
    pub added_columns: Vec<String>,
    /// The statement that drops it again.
    #[serde(default = "dropped_column")]
    pub dropped_column: String,
    /// How many rows are many; without it no table has many.
    #[serde(default)]
    pub many_rows: usize,
    /// The option of tables that hold every column to its declared type.
    #[serde(default)]
    pub strict_option: Option<String>,
    /// Parts of such options under which changes of a table are not undone.
    #[serde(default)]
    pub not_undone: Vec<String>,
    /// What makes a column the primary key, repeated for a larger share.
    pub primary_keys: Vec<String>,
    /// The type name with which an integer key is another kind of table inside.
    #[serde(default)]
    pub integer_key_type: Option<String>,
    /// Type and constraints of a key column that rows give no value.
    #[serde(default)]
    pub auto_key: Option<String>,
    /// Generated columns: `#D` the declared type, `#E` the expression.
    pub generated_columns: Vec<String>,
    /// Constraints of extra columns: `#C` the column, `#V` a literal.
    pub column_checks: Vec<String>,
    /// Whether indexes may be over expressions.
    pub expression_indexes: bool,
    /// Whether indexes may have a predicate.
    pub partial_indexes: bool,
    /// What may stand between the table and the keys of an index, repeated for a larger share.
    pub index_methods: Vec<String>,
    /// The statement that removes an index `#I` of a table `#T`.
    #[serde(default = "drop_index")]
    pub drop_index: String,
    /// Statements for every fresh database.
    pub start: Vec<String>,
    /// Statements of which some are run on a fresh database.
    pub start_options: Vec<String>,
    /// Statements of which one may lay a fresh database elsewhere, or store it in another way.
    #[serde(default)]
    pub storages: Vec<String>,
    /// Statements that undo them.
    pub reset: Vec<String>,
    /// The statement that bounds the time of those that follow: `#MS` milliseconds, `#S` seconds.
    #[serde(default)]
    pub time_limit: Option<String>,
    /// Statements that must not change any result; `#T` is a table.
    pub maintenance: Vec<String>,
    /// Collations for columns that only truth-value snippets reach, and classes that compare no texts.
    pub collations: Vec<String>,
    /// Virtual tables that can stand for a table.
    pub virtual_tables: Vec<VirtualTable>,
    /// The statement that shows the plan of the query `#Q`.
    pub explain: String,
    /// Names per type; the first is used in CAST unless `casts` says otherwise.
    pub types: BTreeMap<SqlType, Vec<String>>,
    /// Names per type in CAST.
    #[serde(default)]
    pub casts: BTreeMap<SqlType, String>,
    /// The collation that texts which are cast are given, where a view would keep another.
    #[serde(default)]
    pub cast_collation: Option<String>,
    /// Expressions of exactly a column's type with the value of a literal `#V`, where a cast is not one.
    #[serde(default)]
    pub values: BTreeMap<SqlType, String>,
    /// Names per type in strict tables.
    #[serde(default)]
    pub strict_types: BTreeMap<String, Vec<String>>,
    /// Boundary values per type, as literals.
    pub literals: BTreeMap<SqlType, Vec<String>>,
    /// Types that only extra columns have.
    #[serde(default)]
    pub other_types: BTreeMap<Arc<str>, OtherType>,
    /// What keeps a snippet out.
    pub forbidden: Forbidden,
    /// Where the engine lists its functions.
    #[serde(default)]
    pub functions: Option<FunctionCatalogue>,
    /// Where the engine lists its aggregates.
    #[serde(default)]
    pub aggregates: Option<AggregateCatalogue>,
    /// How the type of an operation's results is read.
    #[serde(default)]
    pub stored: Option<Stored>,
    /// Expressions whose values contexts may change, by the documentation.
    #[serde(default)]
    pub context_exceptions: Vec<ContextException>,
    /// Optimizer switches.
    pub switches: Vec<Switch>,
    /// Queries that fail where a feature is missing.
    #[serde(default)]
    pub probes: Vec<Probe>,
    /// Classes of errors by the engine's codes.
    #[serde(default)]
    pub errors: Vec<ErrorCodes>,
    /// The table that snippets are written over.
    pub snippet_table: SnippetTable,
    /// Dialects whose snippets are tried, where there are none of its own; that of the profile which it extends if it names
    /// none.
    #[serde(default)]
    pub snippets: Vec<String>,
    /// A short hash of the profile's text, of what it extends and of its operators.
    #[serde(skip)]
    pub digest: String,
    /// The grammar of generated expressions, from a file of its own.
    #[serde(default)]
    pub operators: Vec<Operator>,
}

/// A virtual table: `#N` the table, `#C` its columns, `#X` the begin of names of further ones.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtualTable {
    /// The statement that makes it.
    pub create: String,
    /// Types that its columns may have.
    pub types: Vec<SqlType>,
    /// Whether it has one column, which is a key.
    #[serde(default)]
    pub is_key: bool,
}

impl VirtualTable {
    /// The statement, for a table and its columns.
    pub fn of(&self, table: &str, columns: &[&str]) -> String {
        let further = format!("{table}_x");
        self.create.replace("#N", table).replace("#C", &columns.join(", ")).replace("#X", &further)
    }

    /// Whether it can have columns of these types, which keys are among or not.
    pub fn takes(&self, types: &[SqlType], keyed: bool) -> bool {
        let fits = if self.is_key { types.len() == 1 } else { !keyed };
        fits && types.iter().all(|ty| self.types.contains(ty))
    }
}

/// A way to spread the rows of a table over several: `#T` the table, `#C` a column, `#V` a value of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitioning {
    /// Types that the column may have.
    pub types: Vec<SqlType>,
    /// What follows the definition of the table.
    pub option: String,
    /// Statements behind it, which make the parts.
    #[serde(default)]
    pub parts: Vec<String>,
}

impl Partitioning {
    /// The option and the statements, for a table, a column and a value.
    pub fn of(&self, table: &str, column: &str, value: &str) -> (String, Vec<String>) {
        let fill = |text: &String| text.replace("#T", table).replace("#C", column).replace("#V", value);
        (fill(&self.option), self.parts.iter().map(fill).collect())
    }
}

/// A type that only extra columns have.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherType {
    /// Its name in a table's definition.
    pub declared: String,
    /// Boundary values.
    pub literals: Vec<String>,
    /// An expression of exactly this type with the value of a literal `#V`, if it is not the literal cast to what is
    /// declared; empty if there is none.
    #[serde(default)]
    pub value: Option<String>,
}

/// What keeps a snippet out, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forbidden {
    /// Words, in lower case.
    pub words: BTreeSet<String>,
    /// Literals, as written.
    pub literals: BTreeSet<String>,
    /// Functions that read the clock when called without an operand.
    pub clock_functions: BTreeSet<String>,
    /// Prefixes of functions whose results carry a subtype that a subquery may lose.
    pub subtype_prefixes: Vec<String>,
}

/// An engine's own list of its functions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionCatalogue {
    /// A query for the scalar functions that depend on nothing but their arguments: the name, the types of the arguments
    /// with `;` between them, the type of the result, empty if it is not known.
    pub sql: String,
    /// A query for the names of functions that serve the engine only, whatever their arguments: their values mean nothing
    /// to callers and are promised to nobody. They are not called, nor is a snippet used that calls one.
    #[serde(default)]
    pub internal: Option<String>,
    /// What stands for an argument of a type, by the engine's name of it: `#TYPE` is a column or literal of a type of this
    /// profile, `#ANY` one of any. A function with an argument or a result of another type is not called.
    pub types: BTreeMap<String, String>,
    /// Functions that are not called; `*` stands for any text.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Constants with which calls with different numbers of arguments are tried first, each for every argument: for an
    /// engine that does not tell the number and takes little time to try.
    #[serde(default)]
    pub tried_with: Vec<String>,
}

/// An engine's own list of its aggregates.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregateCatalogue {
    /// A query for them, whose rows are as those of [`FunctionCatalogue::sql`].
    pub sql: String,
    /// What stands for an argument of a type, where it is not what stands for one of a function.
    #[serde(default)]
    pub types: BTreeMap<String, String>,
    /// Aggregates that are not called; `*` stands for any text.
    #[serde(default)]
    pub excluded: Vec<String>,
    /// Those whose results depend on the order of rows: they are called with ORDER BY and the rows' keys.
    #[serde(default)]
    pub ordered: Vec<String>,
    /// Those that add up: of floats the result depends on the order of rows through rounding, so they are called for exact
    /// numbers only.
    #[serde(default)]
    pub rounding: Vec<String>,
}

/// How the type of an operation's results is read, as a table's definition writes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The statement that makes `t_type`, which has the columns of the query `#I`.
    pub made: String,
    /// The query for the type of its column `r`.
    #[serde(rename = "type")]
    pub ty: String,
    /// The statement that removes it.
    pub dropped: String,
    /// Whether a column of that type stands for the operation wherever one may stand. Otherwise that holds of whole numbers,
    /// texts and truth values only, and of others the values alone are compared.
    pub exact: bool,
}

/// What is known of statements that change a table. A form that an engine does not have is empty, and one that a version
/// does not know is found out by trying.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// Whether SET assigns from left to right, so that an expression sees what those before it have stored.
    pub sets_in_order: bool,
    /// Whether UPDATE counts the rows that its condition chose, also those that it leaves as they were.
    pub counts_chosen: bool,
    /// Whether what is assigned is converted as a CAST to the column's type converts it.
    pub assigns_by_cast: bool,
    /// How a table `#T` is read through an index `#I`, and how without any.
    pub by_index: String,
    /// How it is read without any index; the table alone if empty.
    pub by_scan: String,
    /// The switches under which a table is read through its indexes, where its name alone does not say so.
    pub index_switches: Vec<String>,
    /// UPDATE with a joined query: `#T` the table, `#A` the assignments, `#S` the query with its alias, `#C` the condition.
    pub update_from: String,
    /// DELETE with a joined query, of the same parts but assignments.
    pub delete_using: String,
    /// INSERT that updates a row with the same key: `#I` is INSERT with its query, `#K` the key, `#A` the assignments.
    pub upsert: String,
    /// The condition `#C` under which it does, if it may have one.
    pub upsert_where: String,
    /// One of several clauses of an INSERT: `#K` is the key in parentheses, or nothing for any key that no clause before it
    /// has, `#A` what is done.
    pub upsert_clause: String,
    /// INSERT that leaves out rows whose key is there.
    pub insert_new: String,
    /// The value of a column `#C` that such a statement wanted to insert.
    pub excluded: String,
    /// INSERT that removes rows with the same key: `#I` is what follows INTO.
    pub replace: String,
    /// The start of a MERGE with a joined query, of the same parts as DELETE with one.
    pub merge: String,
    /// Whether a generated column `#C` has the value of its expression `#E`, for a column that is declared as `#D`.
    pub generated: String,
    /// What foreign keys may do.
    pub actions: Vec<Action>,
    /// Triggers.
    pub triggers: Triggers,
}

/// How triggers are made that run once for each row.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Triggers {
    /// The statements: `#N` is the name, `#B` BEFORE or AFTER, `#E` the event, `#T` the table, `#W` the condition, `#S` the
    /// statement that it runs, `#R` the name of the row that there is at the end. None where the dialect has no triggers.
    pub made: Vec<String>,
    /// The condition, of an expression `#C`; empty if there may be none.
    #[serde(rename = "where")]
    pub condition: String,
    /// The event of an UPDATE that assigns one of the columns `#C`; empty if the dialect does not tell.
    pub of: String,
    /// A query that gives a row if a table `#T` has no trigger `#N`.
    pub missing: String,
}

/// Expressions whose values some contexts may change, as the documentation says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextException {
    /// Names of contexts; `*` for all but the scan.
    pub contexts: BTreeSet<String>,
    /// Words in lower case of which an expression has one; columns of the snippets' table are words too.
    #[serde(default)]
    pub words: BTreeSet<String>,
    /// The name of the type of a value `q.v`, if it is only expressions whose type the context changes.
    #[serde(default)]
    pub type_of: Option<String>,
    /// A condition on a value `q.v`, if it is only expressions with such values.
    #[serde(default)]
    pub value: Option<String>,
    /// Where the documentation says so.
    pub source: String,
}

/// An optimizer switch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// Name, as members of a class give it.
    pub name: String,
    /// SQLite: bits of the optimizations to disable.
    #[serde(skip_serializing_if = "is_zero")]
    pub disable_mask: u32,
    /// Other engines: statements that turn it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<String>,
    /// Statements that put it back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A feature whose support differs between versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The feature.
    pub name: String,
    /// A query that fails where it is missing.
    pub sql: String,
    /// Words with which a query may run where the feature is missing and mean something else: to MySQL, which has no
    /// FULL JOIN, `t1 FULL JOIN t2` is an inner join of a table called FULL. Such queries are not tested there.
    #[serde(default)]
    pub misread: Option<String>,
}

impl Probe {
    /// Whether a query that runs without the feature may mean something else. One that cannot be read may.
    pub fn may_misread(&self, sql: &str) -> bool {
        self.misread.as_deref().is_some_and(|words| has_words(sql, words).unwrap_or(true))
    }

    /// That it is missing, which is why such a query is not tested.
    pub fn is_missing(&self) -> String {
        format!("the target has no {} and takes it for something else", self.name)
    }
}

/// Codes of errors of one class.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorCodes {
    /// The class.
    pub class: ErrorClass,
    /// The codes; one that ends in `*` stands for all that start like it.
    pub codes: Vec<String>,
}

/// The table that snippets are written over.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnippetTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: BTreeMap<String, ColumnType>,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ColumnType {
    /// One that classes have.
    Class(SqlType),
    /// Another one, by its name in the profile.
    Other(Arc<str>),
}

impl From<String> for ColumnType {
    fn from(name: String) -> Self {
        SqlType::named(&name).map_or_else(|| Self::Other(name.as_str().into()), Self::Class)
    }
}

impl From<ColumnType> for String {
    fn from(ty: ColumnType) -> Self {
        match ty {
            ColumnType::Class(ty) => ty.to_string(),
            ColumnType::Other(name) => name.to_string(),
        }
    }
}

impl ContextException {
    /// Whether it is about a context.
    pub fn covers(&self, context: &str) -> bool {
        self.contexts.contains(context) || self.contexts.contains("*")
    }

    /// The rows of a query of `q(k, v)` that a context may change, if that depends on values.
    pub fn changed(&self, scan: &str) -> Option<String> {
        self.value.as_ref().map(|condition| format!("SELECT q.k FROM ({scan}) AS q(k, v) WHERE {condition}"))
    }
}

fn dropped_column() -> String {
    "ALTER TABLE #T DROP COLUMN #A".to_owned()
}

fn drop_index() -> String {
    "DROP INDEX #I".to_owned()
}

/// The profile of a dialect is missing or broken.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// There is no profile of that name.
    #[error("there is no dialect profile named {0}")]
    Missing(String),
    /// The snippet table has a column of a type that is not there.
    #[error("dialect profile {name}: the snippet table has a type {ty}, which is not among `other_types`")]
    Type {
        /// The profile.
        name: String,
        /// The type.
        ty: String,
    },
    /// The file is no TOML of the expected form.
    #[error("dialect profile {name}")]
    Toml {
        /// The profile.
        name: String,
        /// What and where.
        #[source]
        source: Box<toml::de::Error>,
    },
}

impl Profile {
    /// Reads a profile and its operators. `base` is the text of the profile that it extends, if it names one: a key that
    /// both have is taken from the one that extends.
    pub fn parse(name: &str, profile: &str, base: Option<&str>, operators: &str) -> Result<Arc<Self>, ProfileError> {
        #[derive(Deserialize)]
        struct Operators {
            operators: Vec<Operator>,
        }
        let own_text = profile;
        let toml_error = |source| ProfileError::Toml { name: name.to_owned(), source: Box::new(source) };
        let mut table: toml::Table = toml::from_str(profile).map_err(toml_error)?;
        if let Some(base) = base {
            let own = std::mem::replace(&mut table, toml::from_str(base).map_err(toml_error)?);
            table.extend(own);
        }
        let mut profile: Self = table.try_into().map_err(toml_error)?;
        profile.digest = Digest::of([own_text, base.unwrap_or_default(), operators]).hex(16);
        profile.operators = toml::from_str::<Operators>(operators).map_err(toml_error)?.operators;
        let columns = profile.snippet_table.columns.values();
        let unknown = columns.filter_map(|ty| match ty {
            ColumnType::Other(ty) if !profile.other_types.contains_key(ty) => Some(ty),
            _ => None,
        });
        match unknown.into_iter().next() {
            Some(ty) => Err(ProfileError::Type { name: name.to_owned(), ty: ty.to_string() }),
            None => Ok(Arc::new(profile)),
        }
    }

    /// The profile without one of its guarantees, where an engine does not keep it.
    #[must_use]
    pub fn without_guarantee(&self, guarantee: Assumption) -> Self {
        let mut profile = self.clone();
        profile.guarantees.remove(&guarantee);
        profile.guarantees_without_division.remove(&guarantee);
        profile
    }

    /// Whether classes that are written for a dialect are tried here.
    pub fn speaks(&self, dialect: &str) -> bool {
        self.name == dialect || self.extends.as_deref() == Some(dialect)
    }

    /// The name of the profile that a profile's text extends.
    pub fn extends(profile: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Extends {
            extends: Option<String>,
        }
        toml::from_str::<Extends>(profile).ok()?.extends
    }

    /// The name of a type in CAST.
    pub fn cast_name(&self, ty: SqlType) -> &str {
        let declared = || self.types.get(&ty).and_then(|names| names.first());
        self.casts.get(&ty).or_else(declared).map_or("TEXT", String::as_str)
    }

    /// An expression, cast.
    pub fn cast(&self, expression: &str, ty: SqlType) -> String {
        let cast = format!("CAST({expression} AS {})", self.cast_name(ty));
        match &self.cast_collation {
            Some(collation) if ty == SqlType::Text => format!("{cast} COLLATE {collation}"),
            _ => cast,
        }
    }

    /// The name of a column's type in a table's definition.
    pub fn declared(&self, ty: &ColumnType) -> &str {
        match ty {
            ColumnType::Class(ty) => self.types.get(ty).and_then(|names| names.first()).map_or("TEXT", String::as_str),
            ColumnType::Other(name) => self.other_types.get(name).map_or("TEXT", |other| &other.declared),
        }
    }

    /// An expression of exactly a column's type with the value of a literal; `None` if there is none.
    pub fn value(&self, ty: &ColumnType, literal: &str) -> Option<String> {
        match ty {
            ColumnType::Class(ty) => Some(match self.values.get(ty) {
                Some(value) => value.replace("#V", literal),
                None => self.cast(literal, *ty),
            }),
            ColumnType::Other(name) => match &self.other_types.get(name)?.value {
                Some(value) if value.is_empty() => None,
                Some(value) => Some(value.replace("#V", literal)),
                None => Some(format!("CAST({literal} AS {})", self.declared(ty))),
            },
        }
    }

    /// The boundary values of a column's type.
    pub fn literals(&self, ty: &ColumnType) -> &[String] {
        match ty {
            ColumnType::Class(ty) => self.literals.get(ty),
            ColumnType::Other(name) => self.other_types.get(name).map(|other| &other.literals),
        }
        .map(Vec::as_slice)
        .unwrap_or_default()
    }

    /// A NULL, of a type where expressions have one.
    pub fn null(&self, ty: SqlType) -> String {
        match self.typing {
            Typing::Dynamic => "NULL".to_owned(),
            Typing::Static => self.cast("NULL", ty),
        }
    }

    /// What is guaranteed for a class.
    pub fn guarantees_for(&self, divides: bool) -> BTreeSet<Assumption> {
        let more = self.guarantees_without_division.iter().filter(|_| !divides);
        self.guarantees.iter().chain(more).copied().collect()
    }

    /// The class of an error by the engine's code: that of the longest pattern that fits, `Data` if none does, because
    /// what is not known voids a case.
    pub fn error_class(&self, code: &str) -> ErrorClass {
        let fit = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => code.starts_with(start).then_some(start.len()),
            None => (code == pattern).then_some(usize::MAX),
        };
        let all = self.errors.iter().flat_map(|e| e.codes.iter().map(move |code| (code, e.class)));
        let fitting = all.filter_map(|(pattern, class)| Some((fit(pattern)?, class)));
        fitting.max_by_key(|(length, _)| *length).map_or(ErrorClass::Data, |(_, class)| class)
    }
}

/// How a NULL of a type starts.
const TYPED_NULL: &str = "CAST(NULL AS ";

/// Whether a literal is NULL, typed or not.
pub fn is_null(literal: &str) -> bool {
    literal == "NULL" || literal.starts_with(TYPED_NULL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{dialects, profile};

    #[test]
    fn shipped_profiles_are_read() {
        let all = dialects();
        for name in ["sqlite", "duckdb", "postgres", "mysql", "mariadb"] {
            assert!(all.contains(&name.to_owned()), "{name}");
        }
        for name in all {
            let profile = profile(&name).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert_eq!(profile.name, name);
            for ty in SqlType::ALL {
                assert!(profile.literals.contains_key(&ty) && profile.types.contains_key(&ty), "{name}: {ty}");
            }
            assert!(profile.explain.contains("#Q") && profile.inserts.iter().all(|i| i.contains("#R")), "{name}");
        }
    }

    #[test]
    fn a_guarantee_that_is_no_assumption_is_an_error() {
        let base = include_str!("../../corpus/dialects/sqlite.toml");
        let operators = include_str!("../../corpus/dialects/sqlite-operators.toml");
        let parse = |guarantees: &str| {
            let own = format!("name = \"own\"\nextends = \"sqlite\"\nwire = \"sqlite\"\n{guarantees}");
            Profile::parse("own", &own, Some(base), operators).map(drop)
        };
        parse("guarantees = [\"exact-sums\", \"primary-key-not-null\"]").expect("both are assumptions");
        for key in ["guarantees", "guarantees_without_division"] {
            let error = parse(&format!("{key} = [\"exact-sum\"]")).expect_err("a slip of the pen");
            let said = format!("{:#}", anyhow::Error::from(error));
            let parts = ["dialect profile own", "`exact-sum`", "`exact-sums`", "`text-equality-is-identity`", key];
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
    }

    #[test]
    fn the_longest_pattern_of_a_code_decides() {
        let profile = profile("postgres").expect("shipped");
        assert_eq!(profile.error_class("XX000"), ErrorClass::Internal);
        assert_eq!(profile.error_class("0A000"), ErrorClass::Unsupported);
        assert_eq!(profile.error_class("42703"), ErrorClass::Semantic);
        assert_eq!(profile.error_class("22012"), ErrorClass::Data);
        assert_eq!(profile.error_class("57014"), ErrorClass::Limit);
        assert_eq!(profile.error_class(""), ErrorClass::Data);
    }

    #[test]
    fn what_extends_another_has_its_keys() {
        let (base, own) = (profile("mysql").expect("shipped"), profile("mariadb").expect("shipped"));
        assert_eq!(base.wire, own.wire);
        assert_ne!(base.start, own.start);
        assert!(is_null(&own.null(SqlType::Int)) && is_null("NULL") && !is_null("'NULL'"));
    }
}
