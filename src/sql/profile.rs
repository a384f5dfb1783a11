//! Dialect profiles: what is known about a database system, as data.

use super::types::SqlType;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// A dialect profile. The files in `corpus/dialects/` explain every field where it is set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of the dialect, as classes list it.
    pub name: String,
    /// Assumptions of classes and of their proofs that hold for the databases created here.
    pub guarantees: BTreeSet<String>,
    /// Starts of INSERT statements that survive rows which violate a constraint; the first drops those rows.
    pub inserts: Vec<String>,
    /// Starts of UPDATE statements.
    pub updates: Vec<String>,
    /// Join keywords, repeated for a larger share.
    pub joins: Vec<String>,
    /// Options that may follow a table definition.
    pub table_options: Vec<String>,
    /// Statements for every fresh database.
    pub start: Vec<String>,
    /// Statements of which some are run on a fresh database.
    pub start_options: Vec<String>,
    /// Statements that must not change any result.
    pub maintenance: Vec<String>,
    /// Collations for columns that only truth-value snippets reach.
    pub collations: Vec<String>,
    /// Virtual tables that can stand for a table with one INT column.
    pub virtual_tables: Vec<String>,
    /// Names per type; the first is used in CAST.
    pub types: BTreeMap<SqlType, Vec<String>>,
    /// Names per type in strict tables.
    pub strict_types: BTreeMap<String, Vec<String>>,
    /// Boundary values per type, as literals.
    pub literals: BTreeMap<SqlType, Vec<String>>,
    /// What keeps a snippet out.
    pub forbidden: Forbidden,
    /// Optimizer switches.
    pub switches: Vec<Switch>,
    /// The table that snippets are written over.
    pub snippet_table: SnippetTable,
    /// The grammar of generated expressions, from a file of its own.
    #[serde(default)]
    pub operators: Vec<Operator>,
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

/// An optimizer switch.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Name, as members of a class give it.
    pub name: String,
    /// Bits of the optimizations to disable.
    pub disable_mask: u32,
}

/// The table that snippets are written over.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnippetTable {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: BTreeMap<String, SqlType>,
}

/// What the type of an operand or a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Always of this type, or NULL.
    Typed(SqlType),
    /// Any value; as a result, no claim about the type.
    Any,
    /// As an operand: the type wanted of the whole.
    Same,
}

/// A piece of an operator's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpPiece {
    /// Literal text.
    Text(String),
    /// The operand with this position.
    Operand(usize),
    /// The name of the subquery's table.
    Table,
    /// The alias of the subquery's table.
    Alias,
    /// A column of the subquery's table; of the type, comparing byte by byte, if one is given.
    Column(Option<SqlType>),
}

/// An operator, function or other form of expression.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawOperator")]
pub struct Operator {
    /// As written in the profile.
    pub sql: String,
    /// Its text, split.
    pub pieces: Vec<OpPiece>,
    /// Types its value has whatever the operands; [`Kind::Any`] for an operator without a claim.
    pub results: Vec<Kind>,
    /// Operands.
    pub operands: Vec<Kind>,
    /// NULL as soon as one operand is NULL.
    pub strict: bool,
    /// Passes on a collation.
    pub collates: bool,
    /// Whether each operand may use the subquery's table.
    pub inner: Vec<bool>,
    /// Share among its peers.
    pub weight: u32,
}

impl Operator {
    /// Whether the operator holds a subquery over a table.
    pub fn has_subquery(&self) -> bool {
        self.pieces.contains(&OpPiece::Table)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOperator {
    sql: String,
    results: Vec<String>,
    args: Vec<String>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    collates: bool,
    #[serde(default)]
    inner: Vec<usize>,
    #[serde(default = "one")]
    weight: u32,
}

fn one() -> u32 {
    1
}

impl TryFrom<RawOperator> for Operator {
    type Error = String;

    fn try_from(raw: RawOperator) -> Result<Self, String> {
        let kind = |name: &String| match name.as_str() {
            "ANY" | "LOOSE" => Ok(Kind::Any),
            "SAME" => Ok(Kind::Same),
            other => SqlType::parse(other).map(Kind::Typed).ok_or_else(|| format!("`{}`: no type {other}", raw.sql)),
        };
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut chars = raw.sql.chars().peekable();
        while let Some(c) = chars.next() {
            let piece = match (c, chars.peek()) {
                ('$', Some(d)) if d.is_ascii_digit() => {
                    let number = d.to_digit(10).unwrap_or(0) as usize;
                    if number == 0 || number > raw.args.len() {
                        return Err(format!("`{}` has no operand ${number}", raw.sql));
                    }
                    OpPiece::Operand(number - 1)
                }
                ('#', Some('T')) => OpPiece::Table,
                ('#', Some('A')) => OpPiece::Alias,
                ('#', Some('N')) => OpPiece::Column(None),
                ('#', Some('I')) => OpPiece::Column(Some(SqlType::Int)),
                ('#', Some('S')) => OpPiece::Column(Some(SqlType::Text)),
                _ => {
                    text.push(c);
                    continue;
                }
            };
            chars.next();
            if !text.is_empty() {
                pieces.push(OpPiece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece);
        }
        if !text.is_empty() {
            pieces.push(OpPiece::Text(text));
        }
        Ok(Self {
            results: raw.results.iter().map(kind).collect::<Result<_, _>>()?,
            operands: raw.args.iter().map(kind).collect::<Result<_, _>>()?,
            inner: (1..=raw.args.len()).map(|i| raw.inner.contains(&i)).collect(),
            pieces,
            sql: raw.sql,
            strict: raw.strict,
            collates: raw.collates,
            weight: raw.weight,
        })
    }
}

/// The profile of a dialect is missing or broken.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// There is no profile of that name.
    #[error("there is no dialect profile named {0}")]
    Missing(String),
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
    /// Reads a profile and its operators.
    pub fn parse(name: &str, profile: &str, operators: &str) -> Result<Arc<Self>, ProfileError> {
        #[derive(Deserialize)]
        struct Operators {
            operators: Vec<Operator>,
        }
        let toml_error = |source| ProfileError::Toml { name: name.to_owned(), source: Box::new(source) };
        let mut profile: Self = toml::from_str(profile).map_err(toml_error)?;
        profile.operators = toml::from_str::<Operators>(operators).map_err(toml_error)?.operators;
        Ok(Arc::new(profile))
    }

    /// The name of a type in CAST.
    pub fn cast_name(&self, ty: SqlType) -> &str {
        self.types.get(&ty).and_then(|names| names.first()).map_or("TEXT", String::as_str)
    }

    /// A switch by name.
    pub fn switch(&self, name: &str) -> Option<&Switch> {
        self.switches.iter().find(|s| s.name == name)
    }
}
