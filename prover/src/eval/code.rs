//! Prepared plans and expressions.

use crate::ir::{AggregateFunction, ArithmeticOp, CompareOp, SetOp, Type, Value};

use super::cast::Target;
use super::function::Function;
use super::window::WindowCode;

/// A prepared plan.
#[derive(Debug)]
pub(super) enum Node {
    Table(usize),
    Values(Vec<Vec<Code>>),
    Product(Product),
    Full { left: Box<Sub>, right: Box<Sub>, left_width: usize, right_width: usize, on: Code },
    SetOp { op: SetOp, all: bool, left: Box<Node>, right: Box<Node> },
    Distinct(Box<Node>),
    Aggregate { input: Box<Node>, keys: Vec<Code>, aggregates: Vec<AggregateCode> },
    Limit { input: Box<Node>, order: Vec<SortKey>, limit: Option<u64>, offset: u64, any: bool },
    Window { input: Box<Node>, functions: Vec<WindowCode> },
}

/// A plan inside another. With a cache number it depends on no outer row.
#[derive(Debug)]
pub(super) struct Sub {
    pub node: Node,
    pub cache: Option<usize>,
}

/// Joins, filters and a projection in one. Every column of every input has a slot; inputs are bound one after the
/// other and conditions are tested as soon as their slots are bound. The first `width` slots are the row of the plan.
#[derive(Debug)]
pub(super) struct Product {
    pub steps: Vec<Step>,
    /// Conditions without columns of this row.
    pub first: Vec<Code>,
    pub slots: usize,
    pub width: usize,
    pub output: Option<Vec<Code>>,
}

/// One input of a [`Product`].
#[derive(Debug)]
pub(super) struct Step {
    pub kind: StepKind,
    pub source: Sub,
    pub lateral: bool,
    /// The slots of the input.
    pub slot: usize,
    pub width: usize,
    /// The join condition of Left, Semi and Anti.
    pub on: Vec<Code>,
    /// Conditions that can be tested after this step.
    pub checks: Vec<Code>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Inner,
    Left,
    Semi,
    Anti,
}

#[derive(Debug)]
pub(super) struct SortKey {
    pub code: Code,
    pub descending: bool,
    /// `None` if the query does not say; then NULLs come last and what rests on it is noted.
    pub nulls_first: Option<bool>,
}

#[derive(Debug)]
pub(super) struct AggregateCode {
    pub function: AggregateFunction,
    pub distinct: bool,
    pub args: Vec<Code>,
    pub filter: Option<Code>,
    pub ty: Type,
}

/// How an arithmetic operator computes, from the static types of its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// Division truncates.
    Integer,
    Exact,
    Double,
    /// Not known: integer if both values are whole.
    ByValue,
    /// The same, and some engines compute with doubles.
    Mixed,
}

/// A prepared expression. Columns are named by the number of rows outwards and a slot. A call is mixed if some engines,
/// not all, compute it with doubles.
#[derive(Debug)]
pub(super) enum Code {
    Column { depth: usize, slot: usize },
    Literal(Value),
    And(Vec<Code>),
    Or(Vec<Code>),
    Not(Box<Code>),
    Compare(CompareOp, Box<Code>, Box<Code>),
    Same(Box<Code>, Box<Code>),
    IsNull(Box<Code>),
    IsTruth(Box<Code>, bool),
    Arithmetic(ArithmeticOp, Domain, Box<Code>, Box<Code>),
    Case { branches: Vec<(Code, Code)>, otherwise: Box<Code> },
    Cast { value: Box<Code>, target: Target },
    Call { function: Option<Function>, name: String, args: Vec<Code>, ty: Type, mixed: bool, ratio: bool },
    Exists(Box<Sub>),
    Scalar(Box<Sub>),
    Quantified { row: Vec<Code>, op: CompareOp, all: bool, query: Box<Sub> },
}

impl Code {
    /// Whether a subquery runs in it, which makes it worth testing after the others.
    pub(super) fn has_subquery(&self) -> bool {
        match self {
            Self::Column { .. } | Self::Literal(_) => false,
            Self::Exists(_) | Self::Scalar(_) | Self::Quantified { .. } => true,
            Self::And(parts) | Self::Or(parts) | Self::Call { args: parts, .. } => parts.iter().any(Self::has_subquery),
            Self::Not(a) | Self::IsNull(a) | Self::IsTruth(a, _) | Self::Cast { value: a, .. } => a.has_subquery(),
            Self::Compare(_, a, b) | Self::Same(a, b) | Self::Arithmetic(_, _, a, b) => {
                a.has_subquery() || b.has_subquery()
            }
            Self::Case { branches, otherwise } => {
                otherwise.has_subquery() || branches.iter().any(|(c, v)| c.has_subquery() || v.has_subquery())
            }
        }
    }
}
