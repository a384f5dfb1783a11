//! Query plans under bag semantics.

use super::{Expr, TableId, Type};

/// A query block. Rows are positional; names are gone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plan {
    /// All rows of a base table, all columns.
    Scan {
        /// The table.
        table: TableId,
        /// The types of its columns.
        types: Vec<Type>,
    },
    /// Literal rows. Expressions may refer to outer scopes; depth 0 is an empty row.
    Values {
        /// The unified column types.
        types: Vec<Type>,
        /// The rows.
        rows: Vec<Vec<Expr>>,
    },
    /// Rows for which the condition is TRUE.
    Filter {
        /// Input.
        input: Box<Plan>,
        /// Over the input's row.
        condition: Expr,
    },
    /// One output row per input row.
    Project {
        /// Input.
        input: Box<Plan>,
        /// Over the input's row.
        exprs: Vec<Expr>,
    },
    /// A join. Depth 0 of `on` is the left row followed by the right row. With `lateral`, the right plan is evaluated
    /// once per left row and sees that row at depth 1 (everything further out moves one further).
    Join {
        /// Kind.
        kind: JoinKind,
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Condition.
        on: Expr,
        /// LATERAL; with Cross/Inner, Left, Semi and Anti only.
        lateral: bool,
    },
    /// UNION, INTERSECT, EXCEPT. NULLs are the same.
    SetOp {
        /// Kind.
        op: SetOp,
        /// With multiplicities (ALL) or as sets.
        all: bool,
        /// Left input.
        left: Box<Plan>,
        /// Right input, of the same width.
        right: Box<Plan>,
        /// The unified column types.
        types: Vec<Type>,
    },
    /// Each row once. NULLs are the same.
    Distinct(Box<Plan>),
    /// GROUP BY. The output row is the keys followed by the aggregates. Without keys there is exactly one group, also
    /// for no rows; with keys there are as many groups as distinct key rows.
    Aggregate {
        /// Input.
        input: Box<Plan>,
        /// Over the input's row.
        keys: Vec<Expr>,
        /// Over the input's row.
        aggregates: Vec<Aggregate>,
    },
    /// ORDER BY with LIMIT and OFFSET. Not deterministic unless the order is total on the input.
    Limit {
        /// Input.
        input: Box<Plan>,
        /// Order, over the input's row.
        order: Vec<OrderKey>,
        /// At most so many rows.
        limit: Option<u64>,
        /// After skipping so many.
        offset: u64,
    },
    /// Window functions: the input row followed by one value per function.
    Window {
        /// Input.
        input: Box<Plan>,
        /// The functions.
        functions: Vec<WindowFunction>,
    },
}

/// Kinds of joins. Semi and Anti output the left row only. A cross join is Inner with TRUE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "SQL's own names")]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
}

/// Set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "SQL's own names")]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// One aggregate function of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// DISTINCT. Never set for MIN, MAX and `CountStar`.
    pub distinct: bool,
    /// One argument, except for `CountStar` (none) and Other (any number).
    pub args: Vec<Expr>,
    /// FILTER: only rows for which it is TRUE.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub ty: Type,
}

/// Aggregate functions. All but `CountStar` skip rows whose argument is NULL; over no rows both counts are 0 and
/// the others NULL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AggregateFunction {
    /// COUNT(*).
    CountStar,
    /// COUNT(x). COUNT(a, b) is lowered to a count of CASE.
    Count,
    /// SUM of Integer is Integer, of Decimal Decimal, of Double Double.
    Sum,
    /// MIN.
    Min,
    /// MAX.
    Max,
    /// AVG: Decimal for Integer and Decimal arguments (exact), Double for Double.
    Avg,
    /// Any other deterministic function of the bag of argument rows, by lower-case name (`stddev_pop`, `bool_and`).
    Other(String),
}

/// One ORDER BY item.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderKey {
    /// Over the input's row.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST or LAST where written.
    pub nulls_first: Option<bool>,
}

/// A window function over the whole input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WindowFunction {
    /// Lower-case name; aggregates by their names (`count` without arguments is COUNT(*)).
    pub name: String,
    /// DISTINCT is not allowed in windows; FILTER is rewritten to CASE where the function skips NULL.
    pub args: Vec<Expr>,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// The frame clause as written in lower case, if one is written.
    pub frame: Option<String>,
    /// Result type.
    pub ty: Type,
}

/// A whole statement: a plan whose first `visible` columns are the result and whose others only serve the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The plan.
    pub plan: Plan,
    /// How many columns the result has.
    pub visible: usize,
    /// The outermost ORDER BY, over the plan's row; empty if there is none.
    pub order: Vec<OrderKey>,
    /// What reading the text this way takes for granted.
    pub assumptions: std::collections::BTreeSet<super::Assumption>,
}

impl Plan {
    /// The types of the output columns.
    pub fn types(&self) -> Vec<Type> {
        match self {
            Self::Scan { types, .. } | Self::Values { types, .. } | Self::SetOp { types, .. } => types.clone(),
            Self::Filter { input, .. } | Self::Distinct(input) | Self::Limit { input, .. } => input.types(),
            Self::Project { exprs, .. } => exprs.iter().map(Expr::ty).collect(),
            Self::Join { kind, left, right, .. } => {
                let mut types = left.types();
                if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    types.extend(right.types());
                }
                types
            }
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter().map(Expr::ty).chain(aggregates.iter().map(|a| a.ty.clone())).collect()
            }
            Self::Window { input, functions } => {
                let mut types = input.types();
                types.extend(functions.iter().map(|f| f.ty.clone()));
                types
            }
        }
    }

    /// This plan as a derived table.
    #[must_use]
    pub fn filter(self, condition: Expr) -> Self {
        Self::Filter { input: Box::new(self), condition }
    }

    /// Projected to expressions over its row.
    #[must_use]
    pub fn project(self, exprs: Vec<Expr>) -> Self {
        Self::Project { input: Box::new(self), exprs }
    }
}
