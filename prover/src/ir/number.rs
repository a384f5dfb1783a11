//! Numbers whose type is another one in other engines.

use std::fmt;

use super::Type;

/// The engines whose types are told apart, each for those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// SQLite, as far as its values have the types of their expressions ([`super::Assumption::StaticTypes`]).
    Sqlite,
    /// DuckDB.
    DuckDb,
    /// MariaDB and MySQL.
    MariaDb,
}

/// All of them, in the order of [`Number::kinds`].
pub const ENGINES: [Engine; 4] = [Engine::Postgres, Engine::Sqlite, Engine::DuckDb, Engine::MariaDb];

/// What an engine computes with. The greater of two is that of their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Whole numbers of at most 32 bits.
    Whole,
    /// Whole numbers of more bits.
    Long,
    /// NUMERIC or DECIMAL.
    Exact,
    /// A double that came of dividing other numbers. Under [`super::Assumption::ExactArithmetic`] it is not rounded.
    Ratio,
    /// REAL or DOUBLE.
    Float,
}

/// A numeric type: what each engine takes it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number {
    /// Whether every value is a whole number, of whatever type.
    pub whole: bool,
    /// For each of [`ENGINES`].
    pub kinds: [Kind; 4],
}

impl Number {
    /// The same in every engine.
    pub const fn everywhere(whole: bool, kind: Kind) -> Self {
        Self { whole, kinds: [kind; 4] }
    }

    /// The type, by its plain name if it is the same everywhere.
    pub fn ty(self) -> Type {
        if self == Self::everywhere(true, Kind::Whole) {
            Type::Integer
        } else if self == Self::everywhere(false, Kind::Exact) {
            Type::Decimal
        } else if self.kinds == [Kind::Float; 4] {
            Type::Double
        } else {
            Type::Number(self)
        }
    }

    /// Changes what each engine takes it for.
    #[must_use]
    pub fn map(self, whole: bool, f: impl Fn(Engine, Kind) -> Kind) -> Self {
        let mut kinds = self.kinds;
        for (kind, engine) in kinds.iter_mut().zip(ENGINES) {
            *kind = f(engine, *kind);
        }
        Self { whole, kinds }
    }

    /// The type of a sum of both.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        let mut kinds = self.kinds;
        for (kind, other) in kinds.iter_mut().zip(other.kinds) {
            *kind = (*kind).max(other);
        }
        Self { whole: self.whole && other.whole, kinds }
    }

    /// Whether some engine takes it for a double.
    pub fn has_float(self) -> bool {
        self.kinds.contains(&Kind::Float)
    }

    /// Whether every engine takes it for a whole number.
    pub fn is_whole(self) -> bool {
        self.kinds.iter().all(|kind| *kind <= Kind::Long)
    }

    /// Whether some engine rounds a number of this type to a double when it becomes one of the other type.
    pub fn is_rounded_to(self, other: Self) -> bool {
        self.kinds.iter().zip(other.kinds).any(|(from, to)| *from != Kind::Float && to == Kind::Float)
    }
}

/// Names apart what computes differently: whole numbers, exact ones and doubles.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |kind: &Kind| match kind {
            Kind::Whole | Kind::Long => 'w',
            Kind::Exact | Kind::Ratio => 'e',
            Kind::Float => 'f',
        };
        let letters: String = self.kinds.iter().map(letter).collect();
        f.write_str(&match letters.as_str() {
            "wwww" => "INTEGER".to_owned(),
            "eeee" => "DECIMAL".to_owned(),
            "ffff" => "DOUBLE".to_owned(),
            _ => format!("NUMBER {letters}"),
        })
    }
}
