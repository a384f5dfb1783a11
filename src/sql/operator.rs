//! Operators of a dialect: the forms of expressions, as data of its profile.

use super::types::SqlType;
use serde::Deserialize;

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
    /// Whether the operator holds a query, over a table or not.
    pub fn has_query(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, OpPiece::Text(text) if text.contains("SELECT ")))
    }

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
                ('#', Some('R')) => OpPiece::Column(Some(SqlType::Real)),
                ('#', Some('B')) => OpPiece::Column(Some(SqlType::Boolean)),
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
