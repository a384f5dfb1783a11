//! The typed logical plan that every other part works on: name-resolved, positional, with explicit correlation, casts
//! and three-valued operators.
//!
//! Both front ends make it, the evaluator gives it its meaning, the normaliser turns it into sums of terms. What
//! cannot be said here cannot be proven.

mod expr;
mod plan;
mod schema;
mod value;
mod visit;

use serde::{Deserialize, Serialize};

pub use expr::{ArithmeticOp, CompareOp, Expr};
pub use plan::{Aggregate, AggregateFunction, JoinKind, OrderKey, Plan, Query, SetOp, WindowFunction};
pub use schema::{Column, ForeignKey, Key, Schema, Table, TableId};
pub use value::{Type, Value, to_f64};
pub use visit::Child;

/// Something a proof takes for granted about the engine or the data. A class runs on a target only if the target
/// guarantees every assumption of its proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assumption {
    /// Two texts are equal only if they are the same bytes: no case folding, accents or padding.
    TextEqualityIsIdentity,
    /// CHAR(n) is not padded and VARCHAR(n) values fit.
    NoPaddingOrTruncation,
    /// Whole numbers and decimals do not overflow and are not rounded by `+`, `-` and `*`, nor decimals by SUM.
    ExactArithmetic,
    /// SUM of whole numbers is neither rounded nor wraps around; one that overflows is an error.
    ExactSums,
    /// Doubles: no NaN, equality is identity (no -0.0).
    DoubleEqualityIsIdentity,
    /// No expression of either query raises an error on the data (division by zero, failed cast).
    NoRuntimeError,
    /// A scalar subquery yields at most one row (else an error, as the standard says).
    ScalarSubqueryAtMostOneRow,
    /// AVG of exact numbers is SUM divided by COUNT without rounding.
    AvgIsExactQuotient,
    /// Booleans are the numbers 1 and 0.
    BooleanIsOneOrZero,
    /// Only the bag of rows is compared, not their order.
    OrderNotCompared,
    /// The functions named in the queries are deterministic functions of their arguments.
    FunctionsAreDeterministic,
    /// NULLs sort at one end, the same one in both queries.
    NullsSortAtOneEnd,
}

impl std::fmt::Display for Assumption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = serde_json::to_value(self).map_err(|_| std::fmt::Error)?;
        f.write_str(text.as_str().unwrap_or_default())
    }
}
