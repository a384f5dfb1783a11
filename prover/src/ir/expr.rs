//! Scalar expressions.

use super::{Plan, Type, Value};

/// A typed scalar expression with explicit correlation.
///
/// Scopes are counted outwards: depth 0 is the row of the plan node that the expression stands in, depth 1 the row in
/// which the innermost enclosing subquery (or LATERAL right side) is evaluated, and so on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expr {
    /// A column of the row at `depth`.
    Column {
        /// Number of scopes outwards.
        depth: usize,
        /// Position in that row.
        index: usize,
        /// Its type.
        ty: Type,
    },
    /// A constant; NULL with its type.
    Literal(Value, Type),
    /// Kleene conjunction; TRUE when empty.
    And(Vec<Expr>),
    /// Kleene disjunction; FALSE when empty.
    Or(Vec<Expr>),
    /// Kleene negation.
    Not(Box<Expr>),
    /// NULL if either side is NULL. Booleans: FALSE < TRUE. Both sides have types that unify.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `IS NOT DISTINCT FROM`: TRUE or FALSE, NULL equals NULL.
    Same(Box<Expr>, Box<Expr>),
    /// `IS NULL`.
    IsNull(Box<Expr>),
    /// `IS TRUE` (`true`) or `IS FALSE` (`false`) of a Boolean. `IS UNKNOWN` is `IsNull`.
    IsTruth(Box<Expr>, bool),
    /// Arithmetic on numbers. Strict. Integer / Integer truncates towards zero in the evaluator; the prover gives
    /// division and remainder no meaning. Division by zero is a run-time error.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>, Type),
    /// Searched CASE: the value of the first branch whose condition is TRUE.
    Case {
        /// Condition and value.
        branches: Vec<(Expr, Expr)>,
        /// ELSE.
        otherwise: Box<Expr>,
        /// The unified type.
        ty: Type,
    },
    /// A conversion. Strict. `to` is the type family, `target` the full type as written in lower case
    /// (`decimal(19,0)`), which tells apart casts that round or cut differently.
    Cast {
        /// What is converted.
        value: Box<Expr>,
        /// The family.
        to: Type,
        /// The full type.
        target: String,
    },
    /// A deterministic function by its lower-case name; LIKE is `like(value, pattern)`, `||` is `concat_op`.
    Call {
        /// Lower-case name.
        name: String,
        /// Arguments.
        args: Vec<Expr>,
        /// Result type.
        ty: Type,
    },
    /// EXISTS.
    Exists(Box<Plan>),
    /// A scalar subquery: NULL for no row, a run-time error for more than one.
    Scalar(Box<Plan>),
    /// `row op ANY (query)` or, with `all`, `row op ALL (query)`; `IN` is `= ANY`. Rows of more than one value only
    /// with `=` under ANY or `<>` under ALL, and compare as SQL's `(a, b) = (c, d)`, that is `a = c AND b = d`.
    Quantified {
        /// Left side.
        row: Vec<Expr>,
        /// The comparison.
        op: CompareOp,
        /// ALL instead of ANY.
        all: bool,
        /// As many columns as `row`.
        query: Box<Plan>,
    },
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CompareOp {
    /// The operator that is true exactly where this one is false.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    /// The operator with its sides exchanged.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::Ne => Self::Ne,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
        }
    }

    /// Whether the operator holds for this order of its sides.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }
}

/// Arithmetic operators; negation is `0 - x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

impl Expr {
    /// The type of the expression.
    pub fn ty(&self) -> Type {
        match self {
            Self::Column { ty, .. }
            | Self::Literal(_, ty)
            | Self::Arithmetic(_, _, _, ty)
            | Self::Case { ty, .. }
            | Self::Cast { to: ty, .. }
            | Self::Call { ty, .. } => ty.clone(),
            Self::Scalar(plan) => plan.types().swap_remove(0),
            Self::And(_)
            | Self::Or(_)
            | Self::Not(_)
            | Self::Compare(..)
            | Self::Same(..)
            | Self::IsNull(_)
            | Self::IsTruth(..)
            | Self::Exists(_)
            | Self::Quantified { .. } => Type::Boolean,
        }
    }

    /// Column `index` of the innermost row.
    pub fn column(index: usize, ty: Type) -> Self {
        Self::Column { depth: 0, index, ty }
    }

    /// TRUE or FALSE.
    pub fn bool(value: bool) -> Self {
        Self::Literal(Value::Bool(value), Type::Boolean)
    }

    /// A whole number.
    pub fn int(value: i64) -> Self {
        Self::Literal(Value::int(value), Type::Integer)
    }

    /// NULL of a type.
    pub fn null(ty: Type) -> Self {
        Self::Literal(Value::Null, ty)
    }
}
