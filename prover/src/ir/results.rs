//! The types of results: the one table that reading a text, the normal form and the evaluator go by.
//!
//! Every rule says what PostgreSQL, SQLite, DuckDB and MariaDB take a result for. `tests/types_of_results.rs` asks the
//! engines. What a rule does not tell apart (the digits of a decimal, whether a date is a point in time) is refused
//! where it would show.

use super::Type;
use super::number::{Engine, Kind, Number};

/// What an engine makes of the kind of a function's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The same.
    Same,
    /// This one.
    Is(Kind),
    /// This one for whole numbers, else the same.
    OfWhole(Kind),
    /// This one for all but doubles, which stay doubles.
    OfExact(Kind),
    /// The same for decimals, else a double.
    Roots,
}

impl To {
    fn of(self, kind: Kind) -> Kind {
        match self {
            Self::Is(to) => to,
            Self::OfWhole(to) if kind <= Kind::Long => to,
            Self::OfExact(to) if kind < Kind::Float => to,
            Self::Roots if kind != Kind::Exact => Kind::Float,
            Self::Same | Self::OfWhole(_) | Self::OfExact(_) | Self::Roots => kind,
        }
    }
}

/// The arguments whose kind decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The first.
    First,
    /// The kind of a sum of them all.
    All,
}

/// Whether results are whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wholeness {
    /// They are.
    Always,
    /// If the argument is one.
    AsArgument,
    /// They need not be.
    Never,
}

/// The results of functions of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Their names, and how many arguments they have.
    pub functions: &'static [(&'static str, usize)],
    /// Whether results are whole numbers.
    pub whole: Wholeness,
    /// Of which arguments the kind counts.
    pub of: Of,
    /// For PostgreSQL, SQLite, DuckDB and MariaDB. Where one does not have the function, the rule of another.
    pub to: [To; 4],
    /// Where that stands.
    pub source: &'static str,
}

const POSTGRES: &str = "https://www.postgresql.org/docs/15/functions-math.html";
const SQLITE: &str = "https://sqlite.org/lang_mathfunc.html";

/// Functions of numbers. Those of texts and dates have one type everywhere; see `lower/functions.rs`.
pub const RULES: &[Rule] = &[
    Rule { functions: &[("abs", 1)], whole: Wholeness::AsArgument, of: Of::First, to: [To::Same; 4], source: POSTGRES },
    Rule {
        // PostgreSQL has them for numeric and double precision, and prefers the latter.
        functions: &[("floor", 1), ("ceil", 1)],
        whole: Wholeness::Always,
        of: Of::First,
        to: [To::OfWhole(Kind::Float), To::Same, To::OfWhole(Kind::Float), To::Same],
        source: POSTGRES,
    },
    Rule {
        functions: &[("sign", 1)],
        whole: Wholeness::Always,
        of: Of::First,
        to: [To::OfWhole(Kind::Float), To::Is(Kind::Whole), To::Is(Kind::Whole), To::Is(Kind::Whole)],
        source: SQLITE,
    },
    Rule {
        functions: &[("trunc", 1)],
        whole: Wholeness::Always,
        of: Of::First,
        to: [To::OfWhole(Kind::Float), To::Same, To::Same, To::Same],
        source: POSTGRES,
    },
    Rule {
        // SQLite's is a REAL (https://sqlite.org/lang_corefunc.html#round).
        functions: &[("round", 1)],
        whole: Wholeness::Always,
        of: Of::First,
        to: [To::OfWhole(Kind::Float), To::OfExact(Kind::Ratio), To::Same, To::Same],
        source: POSTGRES,
    },
    Rule {
        functions: &[("round", 2), ("trunc", 2), ("truncate", 2)],
        whole: Wholeness::AsArgument,
        of: Of::First,
        to: [To::OfWhole(Kind::Exact), To::OfExact(Kind::Ratio), To::Same, To::Same],
        source: POSTGRES,
    },
    Rule {
        // PostgreSQL has them for numeric and double precision.
        functions: &[("power", 2), ("sqrt", 1), ("exp", 1), ("ln", 1), ("log", 1), ("log10", 1)],
        whole: Wholeness::Never,
        of: Of::All,
        to: [To::Roots, To::Is(Kind::Float), To::Is(Kind::Float), To::Is(Kind::Float)],
        source: POSTGRES,
    },
    Rule {
        functions: &[
            ("log2", 1),
            ("sin", 1),
            ("cos", 1),
            ("tan", 1),
            ("asin", 1),
            ("acos", 1),
            ("atan", 1),
            ("atan2", 2),
            ("cot", 1),
            ("degrees", 1),
            ("radians", 1),
            ("cbrt", 1),
        ],
        whole: Wholeness::Never,
        of: Of::First,
        to: [To::Is(Kind::Float); 4],
        source: POSTGRES,
    },
    Rule {
        // Whole numbers stay what they are (https://www.postgresql.org/docs/15/functions-aggregate.html,
        // https://sqlite.org/lang_aggfunc.html, https://mariadb.com/kb/en/avg/).
        functions: &[("avg", 1)],
        whole: Wholeness::Never,
        of: Of::First,
        to: [To::OfExact(Kind::Exact), To::OfExact(Kind::Ratio), To::OfExact(Kind::Ratio), To::OfExact(Kind::Exact)],
        source: "https://duckdb.org/docs/stable/sql/functions/aggregates",
    },
    Rule {
        functions: &[
            ("stddev", 1),
            ("std", 1),
            ("variance", 1),
            ("stddev_samp", 1),
            ("stddev_pop", 1),
            ("var_samp", 1),
            ("var_pop", 1),
        ],
        whole: Wholeness::Never,
        of: Of::First,
        to: [To::OfExact(Kind::Exact), To::Is(Kind::Float), To::Is(Kind::Float), To::Is(Kind::Float)],
        source: "https://www.postgresql.org/docs/15/functions-aggregate.html",
    },
    Rule {
        functions: &[("corr", 2), ("covar_pop", 2), ("covar_samp", 2)],
        whole: Wholeness::Never,
        of: Of::First,
        to: [To::Is(Kind::Float); 4],
        source: "https://www.postgresql.org/docs/15/functions-aggregate.html",
    },
];

/// Functions from numbers to a number in which nothing but the values of the numbers counts, and whether one of them is
/// a double.
pub const NUMERIC: &[&str] = &["abs", "ceil", "floor", "greatest", "least", "round", "sign", "trunc", "truncate"];

/// The result of a function of numbers by its lower-case name; `None` for one that is not in the table.
pub fn function(name: &str, args: &[Type]) -> Option<Type> {
    let rule = RULES.iter().find(|rule| rule.functions.contains(&(name, args.len())))?;
    let (first, rest) = args.split_first()?;
    let mut of = first.as_number()?;
    let whole = match rule.whole {
        Wholeness::Always => true,
        Wholeness::AsArgument => of.whole,
        Wholeness::Never => false,
    };
    if rule.of == Of::All {
        for arg in rest.iter().filter(|arg| **arg != Type::Unknown) {
            of = of.meet(arg.as_number()?);
        }
    }
    Some(of.map(whole, |engine, kind| rule.to[engine as usize].of(kind)).ty())
}

/// Whole numbers of 64 bits: BIGINT, COUNT, and literals of more than 32 bits.
pub fn long() -> Type {
    Number { whole: true, kinds: [Kind::Long, Kind::Whole, Kind::Whole, Kind::Whole] }.ty()
}

/// A literal with an exponent: NUMERIC in PostgreSQL
/// (<https://www.postgresql.org/docs/15/sql-syntax-lexical.html#SQL-SYNTAX-CONSTANTS-NUMERIC>), a double elsewhere
/// (<https://sqlite.org/syntax/numeric-literal.html>, <https://duckdb.org/docs/stable/sql/data_types/numeric>,
/// <https://mariadb.com/kb/en/numeric-literals/>).
pub fn with_exponent(whole: bool) -> Type {
    Number { whole, kinds: [Kind::Exact, Kind::Float, Kind::Float, Kind::Float] }.ty()
}

/// A quotient: of whole numbers it is one in PostgreSQL and SQLite
/// (<https://www.postgresql.org/docs/15/functions-math.html>, <https://sqlite.org/lang_expr.html>), a double in DuckDB
/// (<https://duckdb.org/docs/stable/sql/functions/numeric>), which divides decimals as doubles too, and a decimal in
/// MariaDB (<https://mariadb.com/kb/en/division-operator/>).
pub fn quotient(a: &Type, b: &Type) -> Option<Type> {
    let both = a.as_number()?.meet(b.as_number()?);
    let number = both.map(false, |engine, kind| match engine {
        Engine::Postgres | Engine::Sqlite => kind,
        Engine::DuckDb => kind.max(Kind::Ratio),
        Engine::MariaDb => kind.max(Kind::Exact),
    });
    Some(number.ty())
}

/// SUM: in PostgreSQL of small integers a bigint, of bigint a numeric
/// (<https://www.postgresql.org/docs/15/functions-aggregate.html>), in MariaDB of exact numbers a decimal
/// (<https://mariadb.com/kb/en/sum/>).
pub fn sum(of: &Type) -> Option<Type> {
    let of = of.as_number()?;
    let number = of.map(of.whole, |engine, kind| match (engine, kind) {
        (Engine::Postgres, Kind::Whole) => Kind::Long,
        (Engine::Postgres | Engine::MariaDb, Kind::Long) | (Engine::MariaDb, Kind::Whole) => Kind::Exact,
        (_, kind) => kind,
    });
    Some(number.ty())
}

/// A bare NULL that is computed with beside a number: of its type, but in MariaDB a text, which is computed with as a
/// double.
pub fn null_beside(number: Number) -> Type {
    number.map(number.whole, |engine, kind| if engine == Engine::MariaDb { Kind::Float } else { kind }).ty()
}

/// SUM of a bare NULL: a double in MariaDB, whole in SQLite and DuckDB, an error in PostgreSQL.
pub fn sum_of_null() -> Type {
    Number { whole: true, kinds: [Kind::Float, Kind::Whole, Kind::Whole, Kind::Float] }.ty()
}

/// NULLIF(a, b): in PostgreSQL the type in which the two are compared, for which there is an operator for every two
/// whole numbers but not for others of different types
/// (<https://www.postgresql.org/docs/15/functions-conditional.html#FUNCTIONS-NULLIF>), elsewhere that of the first
/// (<https://sqlite.org/lang_corefunc.html#nullif>, <https://mariadb.com/kb/en/nullif/>).
pub fn nullif(a: &Type, b: &Type) -> Type {
    let (Some(first), Some(second)) = (a.as_number(), b.as_number()) else { return a.clone() };
    let compared = first.meet(second).kinds[Engine::Postgres as usize];
    let number = first.map(first.whole, |engine, kind| match engine {
        Engine::Postgres if compared > Kind::Long => compared,
        _ => kind,
    });
    number.ty()
}

/// EXTRACT of a field by its lower-case name: numeric in PostgreSQL, whole in DuckDB and MariaDB
/// (<https://www.postgresql.org/docs/15/functions-datetime.html#FUNCTIONS-DATETIME-EXTRACT>,
/// <https://duckdb.org/docs/stable/sql/functions/datepart>, <https://mariadb.com/kb/en/extract/>). SQLite has none.
pub fn extract(field: &str) -> Type {
    let is_whole =
        ["year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute"].contains(&field);
    let in_duckdb = if matches!(field, "epoch" | "julian") { Kind::Float } else { Kind::Long };
    Number { whole: is_whole, kinds: [Kind::Exact, Kind::Whole, in_duckdb, Kind::Whole] }.ty()
}
