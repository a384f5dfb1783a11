//! Constructors that simplify on the way. Every formula and scalar is made here, so each law stands in one place.

use std::rc::Rc;

use num_traits::Zero;

use super::term::{Cmp, F, Formula, Op, Term, V, Val};
use crate::ir::{Type, Value};

pub(crate) fn yes() -> F {
    Rc::new(Formula::True)
}

pub(crate) fn no() -> F {
    Rc::new(Formula::False)
}

fn from_bool(b: bool) -> F {
    if b { yes() } else { no() }
}

/// Conjunction: flattened, sorted, without repetitions, FALSE if it holds a formula and its negation.
pub(crate) fn and(parts: impl IntoIterator<Item = F>) -> F {
    let mut flat = Vec::new();
    for part in parts {
        match &*part {
            Formula::True => {}
            Formula::False => return no(),
            Formula::And(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(part),
        }
    }
    flat.sort();
    flat.dedup();
    if contradicts(&flat) {
        return no();
    }
    match flat.len() {
        0 => yes(),
        1 => flat.remove(0),
        _ => Rc::new(Formula::And(flat)),
    }
}

/// Disjunction, dually.
pub(crate) fn or(parts: impl IntoIterator<Item = F>) -> F {
    let mut flat = Vec::new();
    for part in parts {
        match &*part {
            Formula::False => {}
            Formula::True => return yes(),
            Formula::Or(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(part),
        }
    }
    flat.sort();
    flat.dedup();
    if contradicts(&flat) {
        return yes();
    }
    match flat.len() {
        0 => no(),
        1 => flat.remove(0),
        _ => Rc::new(Formula::Or(flat)),
    }
}

/// Whether a sorted list holds a formula and its negation.
fn contradicts(sorted: &[F]) -> bool {
    sorted.iter().any(|f| matches!(&**f, Formula::Not(inner) if sorted.binary_search(inner).is_ok()))
}

pub(crate) fn not(f: F) -> F {
    match &*f {
        Formula::True => no(),
        Formula::False => yes(),
        Formula::Not(inner) => inner.clone(),
        // Pushed inwards so that conjuncts come apart.
        Formula::Or(parts) => and(parts.iter().cloned().map(not)),
        Formula::And(parts) => or(parts.iter().cloned().map(not)),
        // Between values that are never NULL, the opposite comparison.
        Formula::Cmp(op, a, b) if a.never_null() && b.never_null() => match op {
            Cmp::Eq => cmp(Cmp::Ne, a, b),
            Cmp::Ne => cmp(Cmp::Eq, a, b),
            Cmp::Lt => cmp(Cmp::Le, b, a),
            Cmp::Le => cmp(Cmp::Lt, b, a),
        },
        _ => Rc::new(Formula::Not(f)),
    }
}

pub(crate) fn is_null(v: &V) -> F {
    match &**v {
        Val::Null(_) => yes(),
        v if v.never_null() => no(),
        Val::Arith(_, a, b, _) => or([is_null(a), is_null(b)]),
        Val::Case(c, a, b) => or([and([c.clone(), is_null(a)]), and([not(c.clone()), is_null(b)])]),
        Val::Bool(t, f) => and([not(t.clone()), not(f.clone())]),
        Val::Call { args, strict: true, .. } if args.iter().any(|a| matches!(**a, Val::Null(_))) => yes(),
        _ => Rc::new(Formula::Null(v.clone())),
    }
}

/// When a Boolean is TRUE, and when it is FALSE.
pub(crate) fn truth(v: &V) -> (F, F) {
    match &**v {
        Val::Bool(t, f) => (t.clone(), f.clone()),
        Val::Lit(Value::Bool(b), _) => (from_bool(*b), from_bool(!b)),
        Val::Null(_) => (no(), no()),
        Val::Case(c, a, b) => {
            let ((at, af), (bt, bf)) = (truth(a), truth(b));
            (ite(c, at, bt), ite(c, af, bf))
        }
        _ => {
            let t: F = Rc::new(Formula::Truth(v.clone()));
            (t.clone(), and([not(t), not(is_null(v))]))
        }
    }
}

/// `(c ∧ a) ∨ (¬c ∧ b)`.
pub(crate) fn ite(c: &F, a: F, b: F) -> F {
    if a == b {
        return a;
    }
    or([and([c.clone(), a]), and([not(c.clone()), b])])
}

pub(crate) fn iff(a: &F, b: &F) -> F {
    if a == b {
        return yes();
    }
    or([and([a.clone(), b.clone()]), and([not(a.clone()), not(b.clone())])])
}

/// A Boolean scalar from its two formulas.
pub(crate) fn boolean(t: F, f: F) -> V {
    match (&*t, &*f) {
        (Formula::True, _) => Rc::new(Val::Lit(Value::Bool(true), Type::Boolean)),
        (_, Formula::True) => Rc::new(Val::Lit(Value::Bool(false), Type::Boolean)),
        (Formula::False, Formula::False) => Rc::new(Val::Null(Type::Boolean)),
        (Formula::Truth(v), _) if truth(v) == (t.clone(), f.clone()) => v.clone(),
        _ => Rc::new(Val::Bool(t, f)),
    }
}

/// Whether two unequal literals are known to be different values: numbers, truth values, texts (under the assumption
/// that equality is identity), and dates in one canonical form.
pub(crate) fn literals_differ(a: &Value, b: &Value, ty: &Type) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => match ty {
            Type::Text => a != b,
            _ => a != b && a.len() == b.len() && is_iso(a) && is_iso(b),
        },
        _ => a.compare(b).is_some_and(std::cmp::Ordering::is_ne),
    }
}

/// Digits and separators at the places ISO 8601 has them, so that equal length texts are equal only if identical and
/// their byte order is that of time.
pub(crate) fn is_iso(text: &str) -> bool {
    text.len() >= 8
        && text.bytes().enumerate().all(|(i, b)| match i {
            4 | 7 if text.len() >= 10 => b == b'-',
            2 | 5 if text.len() == 8 => b == b':',
            10 => b == b' ' || b == b'T',
            13 | 16 => b == b':',
            19 => b == b'.',
            _ => b.is_ascii_digit(),
        })
}

pub(crate) fn cmp(op: Cmp, a: &V, b: &V) -> F {
    if matches!(**a, Val::Null(_)) || matches!(**b, Val::Null(_)) {
        return no();
    }
    if a.ty() == Type::Boolean || b.ty() == Type::Boolean {
        let ((at, af), (bt, bf)) = (truth(a), truth(b));
        return match op {
            Cmp::Eq => or([and([at, bt]), and([af, bf])]),
            Cmp::Ne => or([and([at, bf]), and([af, bt])]),
            Cmp::Lt => and([af, bt]),
            Cmp::Le => or([and([af.clone(), or([bt.clone(), bf.clone()])]), and([at, bt])]),
        };
    }
    if let (Val::Lit(x, ty), Val::Lit(y, _)) = (&**a, &**b) {
        if x == y && matches!(op, Cmp::Eq | Cmp::Le) {
            return yes();
        }
        if x == y {
            return no();
        }
        let known_order = !matches!(x, Value::Text(_));
        match op {
            Cmp::Eq if literals_differ(x, y, ty) => return no(),
            Cmp::Ne if literals_differ(x, y, ty) => return yes(),
            Cmp::Lt | Cmp::Le if known_order => return from_bool(x.compare(y).is_some_and(std::cmp::Ordering::is_lt)),
            _ => {}
        }
    }
    if a == b {
        return match op {
            Cmp::Eq | Cmp::Le => not(is_null(a)),
            Cmp::Ne | Cmp::Lt => no(),
        };
    }
    // A comparison of a choice is a choice of comparisons, which often fold.
    if let Val::Case(c, x, y) = &**a
        && (x.is_lit() || y.is_lit())
    {
        return ite(c, cmp(op, x, b), cmp(op, y, b));
    }
    if let Val::Case(c, x, y) = &**b
        && (x.is_lit() || y.is_lit())
    {
        return ite(c, cmp(op, a, x), cmp(op, a, y));
    }
    let (a, b) = if matches!(op, Cmp::Eq | Cmp::Ne) && b < a { (b, a) } else { (a, b) };
    Rc::new(Formula::Cmp(op, a.clone(), b.clone()))
}

/// Null-safe equality.
pub(crate) fn same(a: &V, b: &V) -> F {
    if a == b {
        return yes();
    }
    if matches!(**a, Val::Null(_)) {
        return is_null(b);
    }
    if matches!(**b, Val::Null(_)) {
        return is_null(a);
    }
    if a.ty() == Type::Boolean || b.ty() == Type::Boolean {
        // A truth value is no number or text, so all that the two can share is NULL.
        if a.ty().unify(&b.ty()).is_none() {
            return and([is_null(a), is_null(b)]);
        }
        let ((at, af), (bt, bf)) = (truth(a), truth(b));
        return and([iff(&at, &bt), iff(&af, &bf)]);
    }
    if a.never_null() || b.never_null() {
        return cmp(Cmp::Eq, a, b);
    }
    let (a, b) = if b < a { (b, a) } else { (a, b) };
    Rc::new(Formula::Same(a.clone(), b.clone()))
}

pub(crate) fn int(n: i64) -> V {
    Rc::new(Val::Lit(Value::int(n), Type::Integer))
}

pub(crate) fn null(ty: Type) -> V {
    Rc::new(Val::Null(ty))
}

pub(crate) fn is_int(v: &V, n: i64) -> bool {
    matches!(&**v, Val::Lit(value, _) if *value == Value::int(n))
}

pub(crate) fn case(c: &F, a: V, b: V) -> V {
    match &**c {
        Formula::True => return a,
        Formula::False => return b,
        _ if a == b => return a,
        Formula::Not(inner) => return case(inner, b, a),
        // NULL where the other is NULL anyway.
        Formula::Null(v) if *v == b && matches!(*a, Val::Null(_)) => return b,
        _ => {}
    }
    if a.ty() == Type::Boolean || b.ty() == Type::Boolean {
        let ((at, af), (bt, bf)) = (truth(&a), truth(&b));
        return boolean(ite(c, at, bt), ite(c, af, bf));
    }
    Rc::new(Val::Case(c.clone(), a, b))
}

pub(crate) fn arith(op: Op, a: &V, b: &V, ty: &Type) -> V {
    if matches!(**a, Val::Null(_)) || matches!(**b, Val::Null(_)) {
        return null(ty.clone());
    }
    if let (Val::Lit(x, _), Val::Lit(y, _)) = (&**a, &**b)
        && let (Some(x), Some(y)) = (x.to_rational(), y.to_rational())
    {
        let n = match op {
            Op::Add => x + y,
            Op::Sub => x - y,
            Op::Mul => x * y,
        };
        return Rc::new(Val::Lit(Value::number(n), ty.clone()));
    }
    // NULL comes out of arithmetic as it goes in, so a choice of it need not be inside.
    for (choice, of) in [(a, true), (b, false)] {
        let with = |v: &V| if of { arith(op, v, b, ty) } else { arith(op, a, v, ty) };
        match &**choice {
            Val::Case(c, x, y) if matches!(**y, Val::Null(_)) => return case(c, with(x), null(ty.clone())),
            Val::Case(c, x, y) if matches!(**x, Val::Null(_)) => return case(c, null(ty.clone()), with(y)),
            _ => {}
        }
    }
    match op {
        Op::Add if is_int(a, 0) => return b.clone(),
        Op::Add | Op::Sub if is_int(b, 0) => return a.clone(),
        Op::Mul if is_int(a, 1) => return b.clone(),
        Op::Mul if is_int(b, 1) => return a.clone(),
        Op::Mul if (is_int(a, 0) && b.never_null()) || (is_int(b, 0) && a.never_null()) => return int(0),
        _ => {}
    }
    let (a, b) = if op != Op::Sub && b < a { (b, a) } else { (a, b) };
    Rc::new(Val::Arith(op, a.clone(), b.clone(), ty.clone()))
}

/// The conjuncts of a formula.
pub(crate) fn conjuncts(f: &F) -> Vec<F> {
    match &**f {
        Formula::And(parts) => parts.clone(),
        Formula::True => Vec::new(),
        _ => vec![f.clone()],
    }
}

/// The weight of a term as a condition: it is positive.
pub(crate) fn positive(weight: &V) -> F {
    match &**weight {
        Val::Lit(Value::Bool(_) | Value::Text(_) | Value::Null, _) => no(),
        Val::Lit(value, _) => from_bool(value.to_rational().is_some_and(|n| n > num_rational::BigRational::zero())),
        _ => cmp(Cmp::Lt, &int(0), weight),
    }
}

impl Term {
    /// A term without variables that contributes one row.
    pub(crate) fn row(out: Vec<V>) -> Self {
        Self { vars: Vec::new(), phi: Vec::new(), weight: int(1), out }
    }

    /// Adds a condition.
    pub(crate) fn restrict(&mut self, f: &F) {
        self.phi.extend(conjuncts(f));
    }

    /// All of φ as one formula.
    pub(crate) fn condition(&self) -> F {
        and(self.phi.iter().cloned())
    }
}
