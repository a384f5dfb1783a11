//! The typed logical plan that every other part works on: name-resolved, positional, with explicit correlation, casts
//! and three-valued operators.
//!
//! Both front ends make it, the evaluator gives it its meaning, the normaliser turns it into sums of terms. What
//! cannot be said here cannot be proven.

mod expr;
pub mod frame;
mod limit;
pub mod number;
mod plan;
pub mod results;
pub(crate) mod schema;
mod value;
mod visit;

use serde::{Deserialize, Serialize};

pub use expr::{ArithmeticOp, CompareOp, Expr};
pub use plan::{Aggregate, AggregateFunction, JoinKind, OrderKey, Plan, Query, SetOp, WindowFunction};
pub use schema::{Column, ForeignKey, Key, Schema, Size, Table, TableId};
pub use value::{Type, Value, to_f64};
pub use visit::Child;

/// Something a proof takes for granted about the engine or the data. A class runs on a target only if the target
/// guarantees every assumption of its proofs. In the order of their names, so that sets of them are sorted by name wherever
/// they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// AVG of exact numbers is SUM divided by COUNT without rounding.
    AvgIsExactQuotient,
    /// Booleans are the numbers 1 and 0.
    BooleanIsOneOrZero,
    /// The value of a CASE is that of the branch taken, not converted to a type common to all branches.
    CaseKeepsBranchTypes,
    /// A written CAST to a type with a size neither pads, cuts, rounds nor clamps its value.
    CastsKeepValues,
    /// Doubles: no NaN, equality is identity (no -0.0), and a column of exact numbers equals one of doubles only where
    /// no conversion has rounded.
    DoubleEqualityIsIdentity,
    /// SUM, AVG and their like of doubles do not depend on the order in which the rows come.
    DoubleSumsIgnoreOrder,
    /// Whole numbers and decimals do not overflow and are not rounded by `+`, `-` and `*`, nor decimals by SUM, and a
    /// quotient depends on the numbers only, not on the digits they are declared with.
    ExactArithmetic,
    /// SUM of whole numbers is neither rounded nor wraps around; one that overflows is an error.
    ExactSums,
    /// The functions named in the queries are deterministic functions of their arguments.
    FunctionsAreDeterministic,
    /// JOIN binds more tightly than the comma of FROM: in `a, b RIGHT JOIN c` the join has two tables, in SQLite three.
    JoinsBindBeforeCommas,
    /// Columns of CHAR(n) are not padded, and what they hold fits VARCHAR(n) and DECIMAL(p, s).
    NoPaddingOrTruncation,
    /// No expression of either query raises an error on the data (division by zero, failed cast).
    NoRuntimeError,
    /// NULLs sort at one end, the same one in both queries.
    NullsSortAtOneEnd,
    /// Only the bag of rows is compared, not their order.
    OrderNotCompared,
    /// The same of values that are no numbers, texts, truth values or times: intervals (1 month equals 30 days), JSON.
    OtherEqualityIsIdentity,
    /// The columns of a primary key hold no NULL, declared so or not.
    PrimaryKeyNotNull,
    /// Rows of several values compare part by part, and are NULL where that is: `(a, b) = (c, d)` is `a = c AND b = d`.
    RowsCompareByParts,
    /// A scalar subquery yields at most one row (else an error, as the standard says).
    ScalarSubqueryAtMostOneRow,
    /// `||` joins texts, and what stands in double quotes is a name.
    StandardSpelling,
    /// An expression's values have the one type that its operators, casts and branches give it, in every row.
    StaticTypes,
    /// Two texts are equal only if they are the same bytes: no case folding, accents or padding.
    TextEqualityIsIdentity,
    /// Texts are in the order of their bytes: no language has a part in it.
    TextOrderIsThatOfBytes,
}

impl Assumption {
    /// What is assumed, as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::TextEqualityIsIdentity => {
                "texts are equal only if they are the same (no folding of case, accents or blanks)"
            }
            Self::OtherEqualityIsIdentity => {
                "values of types such as INTERVAL and JSON are equal only if they are the same"
            }
            Self::NoPaddingOrTruncation => {
                "columns of CHAR(n) are not padded and their values fit VARCHAR(n) and DECIMAL(p, s)"
            }
            Self::StaticTypes => {
                "every value has the type of its expression: CAST converts to the type it names, CASE and UNION to a common one"
            }
            Self::CastsKeepValues => "a CAST to a type with a size neither pads, cuts, rounds nor clamps",
            Self::DoubleSumsIgnoreOrder => "SUM, AVG and their like of doubles do not depend on the order of the rows",
            Self::StandardSpelling => "two bars join texts, and what stands in double quotes is a name",
            Self::PrimaryKeyNotNull => "the columns of a primary key hold no NULL, even if not declared NOT NULL",
            Self::ExactArithmetic => {
                "numbers that are not doubles, quotients and seconds among them, neither overflow nor are rounded by +, - and *, and a quotient does not depend on how many digits its operands have"
            }
            Self::ExactSums => "SUM of whole numbers is not rounded and raises an error where it overflows",
            Self::DoubleEqualityIsIdentity => {
                "doubles, REAL among them, are never NaN or -0.0, so equal ones are the same"
            }
            Self::NoRuntimeError => "no expression raises an error on the data (division by zero, a failed cast)",
            Self::ScalarSubqueryAtMostOneRow => "a scalar subquery yields at most one row",
            Self::AvgIsExactQuotient => "AVG of exact numbers is SUM divided by COUNT, not rounded",
            Self::BooleanIsOneOrZero => "booleans are the numbers 1 and 0",
            Self::OrderNotCompared => "the order of the rows does not count",
            Self::FunctionsAreDeterministic => {
                "functions return the same for equal arguments, of whatever size they are declared"
            }
            Self::CaseKeepsBranchTypes => "CASE yields the value of its branch, not converted to the type of others",
            Self::RowsCompareByParts => {
                "rows of several values compare part by part: (a, b) = (c, d) is a = c AND b = d"
            }
            Self::TextOrderIsThatOfBytes => "texts are in the order of their bytes, not in that of a language",
            Self::JoinsBindBeforeCommas => "JOIN binds more tightly than the comma of FROM",
            Self::NullsSortAtOneEnd => "NULLs sort at one end, the same one in both queries",
        }
    }
}

impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_value(self).map_err(|_| std::fmt::Error)?;
        f.write_str(text.as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::Assumption;

    #[test]
    fn assumptions_are_in_the_order_of_their_names() {
        let error = serde_json::from_str::<Assumption>("\"\"").expect_err("no name").to_string();
        let names: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert!(names.len() > 10 && names.is_sorted(), "{names:?}");
        let all: Vec<Assumption> =
            names.iter().map(|name| serde_json::from_value((*name).into()).expect("a name")).collect();
        assert!(all.is_sorted(), "{all:?}");
    }
}
