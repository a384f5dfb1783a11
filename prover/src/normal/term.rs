//! Sums of terms: the normal form of a query.
//!
//! A query denotes a function from rows to multiplicities. Its normal form is a sum of [`Term`]s
//! `Σ x1∈R1 … xk∈Rk. [φ] · w` that each contribute the row `out`. Scalars are [`Val`]s, conditions two-valued
//! [`Formula`]s: a three-valued condition is a pair of formulas, one for "is true" and one for "is false".
//!
//! Invariant: a variable that has been opened (is free in what a solver query talks about) is never the binder of
//! another term; [`open`](super::subst::open) gives fresh ones. So substitution never captures.

use std::rc::Rc;

use crate::ir::{TableId, Type, Value};

/// A row variable.
pub(crate) type Var = u32;
/// Shared scalar.
pub(crate) type V = Rc<Val>;
/// Shared formula.
pub(crate) type F = Rc<Formula>;

/// What a row variable ranges over.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Rel {
    /// The rows of a base table, with their multiplicities.
    Table(TableId),
    /// The distinct output rows of a sum; multiplicity 1.
    Distinct(Rc<Nf>),
}

/// `Σ vars. [φ] · weight`, contributing the row `out`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Term {
    /// Summation variables.
    pub(crate) vars: Vec<(Var, Rel)>,
    /// Conjuncts.
    pub(crate) phi: Vec<F>,
    /// A whole number, never negative or NULL where φ holds.
    pub(crate) weight: V,
    /// The row.
    pub(crate) out: Vec<V>,
}

/// A sum of terms of equal width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Nf {
    /// The terms.
    pub(crate) terms: Vec<Term>,
}

/// A column of a row variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Col {
    pub(crate) var: Var,
    pub(crate) index: usize,
    pub(crate) ty: Type,
    pub(crate) not_null: bool,
}

/// Arithmetic that is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
}

/// Comparisons of two values, true only if neither is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
}

/// A nullable scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Val {
    Col(Col),
    /// Not NULL.
    Lit(Value, Type),
    Null(Type),
    /// A deterministic function without a meaning. A strict one is NULL if an argument is.
    Call {
        name: String,
        args: Vec<V>,
        ty: Type,
        strict: bool,
    },
    /// Strict, on Integer and Decimal.
    Arith(Op, V, V, Type),
    /// The first value if the formula holds, else the second.
    Case(F, V, V),
    /// The truth value that is TRUE, FALSE or NULL according to the two (exclusive) formulas.
    Bool(F, F),
    /// `Σ [φ] · weight · out[0]`, 0 for no rows. φ implies that the summand is not NULL.
    Total(Rc<Term>, Type),
    /// The greatest (`true`) or least of `out[0]` that is not NULL; NULL if there is none.
    Extreme(bool, Rc<Nf>, Type),
    /// A function of the bag of rows `out`, NULL for no rows: AVG, STDDEV.
    OfBag(String, Rc<Nf>, Type),
    /// The only row's `out[0]`, NULL if there is no row.
    Scalar(Rc<Nf>, Type),
    /// Column `column` of the row of `table` whose key number `key` equals `at`; meaningful where `Has` holds.
    Lookup {
        table: TableId,
        key: usize,
        at: Vec<V>,
        column: usize,
        ty: Type,
    },
}

/// A two-valued condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Formula {
    True,
    False,
    And(Vec<F>),
    Or(Vec<F>),
    Not(F),
    /// The value is NULL.
    Null(V),
    /// Neither is NULL and they compare so. Never on Booleans.
    Cmp(Cmp, V, V),
    /// Both NULL, or equal. Never on Booleans.
    Same(V, V),
    /// A Boolean without inner structure is TRUE.
    Truth(V),
    /// Some assignment of the variables satisfies φ and gives the term a positive weight.
    Exists(Rc<Term>),
    /// No part of `at` is NULL, and `table` has a row whose key number `key` equals `at`.
    Has {
        table: TableId,
        key: usize,
        at: Vec<V>,
    },
}

impl Val {
    /// Its type: where parts are of different ones, one that has room for what each of them has.
    pub(crate) fn ty(&self) -> Type {
        let of_terms = |terms: &[Term], ty: &Type| terms.iter().fold(ty.clone(), |ty, t| wider(&ty, &t.out[0].ty()));
        match self {
            Self::Col(col) => col.ty.clone(),
            Self::Lit(_, ty)
            | Self::Null(ty)
            | Self::Call { ty, .. }
            | Self::OfBag(_, _, ty)
            | Self::Lookup { ty, .. } => ty.clone(),
            Self::Arith(_, a, b, ty) => wider(&wider(ty, &a.ty()), &b.ty()),
            Self::Total(term, ty) => wider(ty, &term.out[0].ty()),
            Self::Extreme(_, nf, ty) | Self::Scalar(nf, ty) => of_terms(&nf.terms, ty),
            Self::Case(_, a, b) => wider(&a.ty(), &b.ty()),
            Self::Bool(..) => Type::Boolean,
        }
    }

    /// Whether the value can be seen never to be NULL.
    pub(crate) fn never_null(&self) -> bool {
        match self {
            Self::Col(col) => col.not_null,
            Self::Lit(..) | Self::Total(..) => true,
            Self::Arith(_, a, b, _) | Self::Case(_, a, b) => a.never_null() && b.never_null(),
            _ => false,
        }
    }

    pub(crate) fn is_lit(&self) -> bool {
        matches!(self, Self::Lit(..) | Self::Null(_))
    }
}

/// A type with room for the values of both.
pub(crate) fn wider(a: &Type, b: &Type) -> Type {
    // Not the type of NULL, beside which the next one would count alone.
    a.unify(b).unwrap_or_else(|| Type::Other("of several types".to_owned()))
}
