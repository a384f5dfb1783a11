//! The constructors against the definitions, on all values of a small domain.

use std::cell::Cell;
use std::rc::Rc;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use super::make;
use super::meaning::{Meaning, Rows};
use super::term::{Cmp, Col, F, Formula, Op, V, Val};
use crate::eval::Database;
use crate::fuzz::Rng;
use crate::ir::{Schema, Type, Value};

/// Columns 0 and 1 are numbers, 2 is one that is never NULL, 3 and 4 are truth values.
fn column(index: usize) -> V {
    let ty = if index < 3 { Type::Integer } else { Type::Boolean };
    Rc::new(Val::Col(Col { var: 1, index, ty, not_null: index == 2 }))
}

fn number(rng: &mut Rng, depth: u32) -> V {
    if depth == 0 || rng.random_bool(0.3) {
        return match rng.random_range(0..6) {
            0 => make::null(Type::Integer),
            1 | 2 => make::int(rng.random_range(0..3)),
            n => column(n - 3),
        };
    }
    let (a, b) = (number(rng, depth - 1), number(rng, depth - 1));
    if rng.random_range(0..3) == 0 {
        Rc::new(Val::Case(formula(rng, depth - 1), a, b))
    } else {
        let op = *[Op::Add, Op::Sub, Op::Mul].choose(rng).expect("some");
        Rc::new(Val::Arith(op, a, b, Type::Integer))
    }
}

fn truth(rng: &mut Rng, depth: u32) -> V {
    if depth == 0 || rng.random_bool(0.3) {
        return match rng.random_range(0..5) {
            0 => make::null(Type::Boolean),
            1 => Rc::new(Val::Lit(Value::Bool(rng.random_bool(0.5)), Type::Boolean)),
            n => column(if n == 2 { 3 } else { 4 }),
        };
    }
    let c = formula(rng, depth - 1);
    if rng.random_bool(0.5) {
        return Rc::new(Val::Case(c, truth(rng, depth - 1), truth(rng, depth - 1)));
    }
    // The two formulas of a truth value exclude each other.
    let other = formula(rng, depth - 1);
    let f: F = Rc::new(Formula::And(vec![other, Rc::new(Formula::Not(c.clone()))]));
    Rc::new(Val::Bool(c, f))
}

const COMPARISONS: [Cmp; 4] = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le];

fn formula(rng: &mut Rng, depth: u32) -> F {
    let below = depth.saturating_sub(1);
    Rc::new(match rng.random_range(0..if depth == 0 { 5 } else { 8 }) {
        0 => Formula::Null(number(rng, below)),
        1 => Formula::Cmp(*COMPARISONS.choose(rng).expect("some"), number(rng, below), number(rng, below)),
        2 => Formula::Same(number(rng, below), number(rng, below)),
        3 => Formula::Truth(truth(rng, below)),
        4 => {
            if rng.random_bool(0.5) {
                Formula::True
            } else {
                Formula::False
            }
        }
        5 => Formula::Not(formula(rng, below)),
        6 => Formula::And((0..3).map(|_| formula(rng, below)).collect()),
        _ => Formula::Or((0..3).map(|_| formula(rng, below)).collect()),
    })
}

/// All rows of small values.
fn rows() -> Vec<Vec<Value>> {
    let numbers = [Value::Null, Value::int(0), Value::int(1), Value::int(2)];
    let truths = [Value::Null, Value::Bool(false), Value::Bool(true)];
    let mut rows = vec![Vec::new()];
    for domain in [&numbers[..], &numbers, &numbers[1..3], &truths, &truths] {
        rows = rows
            .iter()
            .flat_map(|row| domain.iter().map(move |v| [&row[..], std::slice::from_ref(v)].concat()))
            .collect();
    }
    rows
}

/// Gets the truth of formulas and the value of scalars on one row.
type Check<'a> = dyn FnMut(&dyn Fn(&F) -> bool, &dyn Fn(&V) -> Value) + 'a;

/// Calls `check` on the meaning of formulas and values in every row.
fn everywhere(check: &mut Check<'_>) {
    let (schema, db) = (Schema::default(), Database::default());
    let meaning = Meaning { schema: &schema, db: &db, fuel: Cell::new(u64::MAX) };
    for row in rows() {
        let rows = Rows::from([(1, row)]);
        let formula = |f: &F| meaning.formula(f, &rows).expect("a meaning");
        let value = |v: &V| meaning.value(v, &rows).expect("a meaning");
        check(&formula, &value);
    }
}

#[test]
fn constructors_keep_the_meaning() {
    for seed in 0..400 {
        let rng = &mut Rng::seed_from_u64(seed);
        let depth = rng.random_range(0..3);
        let (f, g) = (formula(rng, depth), formula(rng, depth));
        let (a, b) = (number(rng, depth), number(rng, depth));
        let (p, q) = (truth(rng, depth), truth(rng, depth));
        let raw: [(F, F); 11] = [
            (make::and([f.clone(), g.clone()]), Rc::new(Formula::And(vec![f.clone(), g.clone()]))),
            (make::or([f.clone(), g.clone()]), Rc::new(Formula::Or(vec![f.clone(), g.clone()]))),
            (make::not(f.clone()), Rc::new(Formula::Not(f.clone()))),
            (make::is_null(&a), Rc::new(Formula::Null(a.clone()))),
            (make::is_null(&p), Rc::new(Formula::Null(p.clone()))),
            (make::same(&a, &b), Rc::new(Formula::Same(a.clone(), b.clone()))),
            (make::same(&p, &q), Rc::new(Formula::Same(p.clone(), q.clone()))),
            (make::same(&a, &q), Rc::new(Formula::Same(a.clone(), q.clone()))),
            (make::truth(&p).0, Rc::new(Formula::Truth(p.clone()))),
            (make::iff(&f, &f), make::yes()),
            (make::positive(&a), Rc::new(Formula::Cmp(Cmp::Lt, make::int(0), a.clone()))),
        ];
        let compared = COMPARISONS.map(|op| {
            let raw = |x: &V, y: &V| -> F { Rc::new(Formula::Cmp(op, x.clone(), y.clone())) };
            [(make::cmp(op, &a, &b), raw(&a, &b)), (make::cmp(op, &p, &q), raw(&p, &q))]
        });
        let values: Vec<(V, V)> = [Op::Add, Op::Sub, Op::Mul]
            .into_iter()
            .map(|op| {
                let raw = Val::Arith(op, a.clone(), b.clone(), Type::Integer);
                (make::arith(op, &a, &b, &Type::Integer), Rc::new(raw) as V)
            })
            .chain([
                (make::case(&f, a.clone(), b.clone()), Rc::new(Val::Case(f.clone(), a.clone(), b.clone())) as V),
                (make::case(&f, p.clone(), q.clone()), Rc::new(Val::Case(f.clone(), p.clone(), q.clone())) as V),
            ])
            .collect();
        everywhere(&mut |formula, value| {
            for (made, raw) in raw.iter().chain(compared.iter().flatten()) {
                assert_eq!(formula(made), formula(raw), "seed {seed}: {made:?} for {raw:?}");
            }
            for (made, raw) in &values {
                assert_eq!(value(made), value(raw), "seed {seed}: {made:?} for {raw:?}");
            }
            let (t, f) = make::truth(&p);
            assert_eq!(value(&make::boolean(t.clone(), f.clone())), value(&p), "seed {seed}: {p:?}");
            assert_eq!(formula(&f), value(&p) == Value::Bool(false), "seed {seed}: {p:?}");
            assert!(!a.never_null() || !value(&a).is_null(), "seed {seed}: {a:?}");
        });
    }
}

#[test]
fn literals_compare_as_their_values() {
    let numbers = [Value::int(-1), Value::int(0), Value::int(2), Value::number((5.into(), 2.into()).into())];
    for x in &numbers {
        for y in &numbers {
            let [a, b] = [x, y].map(|v| Rc::new(Val::Lit(v.clone(), Type::Decimal)) as V);
            let expected = x.compare(y).expect("numbers compare");
            for (op, holds) in [
                (Cmp::Eq, expected.is_eq()),
                (Cmp::Ne, expected.is_ne()),
                (Cmp::Lt, expected.is_lt()),
                (Cmp::Le, expected.is_le()),
            ] {
                assert_eq!(make::cmp(op, &a, &b), if holds { make::yes() } else { make::no() }, "{x} {op:?} {y}");
            }
        }
    }
    // The order of texts is the engine's.
    let text = |t: &str| Rc::new(Val::Lit(Value::Text(t.to_owned()), Type::Text)) as V;
    assert!(matches!(*make::cmp(Cmp::Lt, &text("a"), &text("b")), Formula::Cmp(..)));
    assert_eq!(make::cmp(Cmp::Ne, &text("a"), &text("b")), make::yes());
}
