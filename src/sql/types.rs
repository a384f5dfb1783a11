//! The types of constrained abstract queries and the values that engines return.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A type a placeholder or a column of a class schema may have.
///
/// The set is small on purpose: it holds what every target has, so that one proof serves all dialects.
/// A dialect profile maps each type to the target's own names.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, strum::Display, strum::EnumString,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum SqlType {
    /// Truth value; on engines without booleans the integers 0 and 1.
    Boolean,
    /// Exact integer.
    Int,
    /// Floating point.
    Real,
    /// Text that compares byte by byte.
    Text,
    /// Bytes.
    Blob,
}

impl SqlType {
    /// Every type, in a fixed order.
    pub const ALL: [Self; 5] = [Self::Boolean, Self::Int, Self::Real, Self::Text, Self::Blob];

    /// The type whose own name this is, in capitals.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Reads a type name as it stands in a class file.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_uppercase().as_str() {
            "BOOLEAN" | "BOOL" => Self::Boolean,
            "INT" | "INTEGER" | "BIGINT" => Self::Int,
            "REAL" | "DOUBLE" | "DOUBLE PRECISION" => Self::Real,
            "TEXT" | "VARCHAR" => Self::Text,
            "BLOB" => Self::Blob,
            _ => return None,
        })
    }
}

/// One cell of a result, as the engine returned it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A truth value, on engines that have them.
    Bool(bool),
    /// An exact integer.
    Int(i64),
    /// A floating-point number.
    Real(#[serde(with = "real")] f64),
    /// Text, kept as bytes because engines store text that is not UTF-8.
    Text(#[serde(with = "hexable")] Vec<u8>),
    /// Bytes.
    Blob(#[serde(with = "hexable")] Vec<u8>),
}

impl Value {
    /// Whether the value is NULL or of the type.
    pub fn is_of(&self, ty: SqlType) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(_) => ty == SqlType::Boolean,
            Self::Int(i) => ty == SqlType::Int || (ty == SqlType::Boolean && (0..=1).contains(i)),
            Self::Real(_) => ty == SqlType::Real,
            Self::Text(_) => ty == SqlType::Text,
            Self::Blob(_) => ty == SqlType::Blob,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(b) => f.write_str(if *b { "TRUE" } else { "FALSE" }),
            Self::Int(i) => write!(f, "{i}"),
            Self::Real(r) if r.is_infinite() => f.write_str(if *r > 0.0 { "9e999" } else { "-9e999" }),
            Self::Real(r) => write!(f, "{r:?}"),
            Self::Text(t) => match std::str::from_utf8(t) {
                Ok(text) if !text.contains('\0') => write!(f, "'{}'", text.replace('\'', "''")),
                _ => write!(f, "CAST(x'{}' AS TEXT)", hex(t)),
            },
            Self::Blob(b) => write!(f, "x'{}'", hex(b)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// JSON has no infinity; a float is written as text so that every value reads back as itself.
mod real {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(value: &f64, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&format!("{value:?}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

/// Bytes are written as text where they are text, and as `{"hex": …}` where they are not.
mod hexable {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Hex { hex: String },
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Form::Text(text.to_owned()),
            Err(_) => Form::Hex { hex: super::hex(bytes) },
        }
        .serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        match Form::deserialize(d)? {
            Form::Text(text) => Ok(text.into_bytes()),
            Form::Hex { hex } => (0..hex.len())
                .step_by(2)
                .map(|i| {
                    hex.get(i..i + 2)
                        .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                        .ok_or_else(|| D::Error::custom("odd or non-hexadecimal digits"))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_json() {
        let values = vec![
            Value::Null,
            Value::Int(i64::MIN),
            Value::Real(f64::INFINITY),
            Value::Real(-0.1),
            Value::Text(b"it's".to_vec()),
            Value::Text(vec![0xff, 0x00]),
            Value::Blob(vec![1, 2, 0xfe]),
        ];
        let json = serde_json::to_string(&values).expect("values serialise");
        assert_eq!(serde_json::from_str::<Vec<Value>>(&json).expect("values read back"), values);
    }

    #[test]
    fn values_print_as_literals() {
        assert_eq!(Value::Text(b"it's".to_vec()).to_string(), "'it''s'");
        assert_eq!(Value::Blob(vec![1, 0xab]).to_string(), "x'01ab'");
        assert_eq!(Value::Real(2.0).to_string(), "2.0");
    }
}
