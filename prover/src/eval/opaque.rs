//! Arbitrary but fixed meanings of what has no meaning here.
//!
//! The result depends on the seed, the name and the arguments only, and is drawn from few values, so that results meet
//! the values of the databases and each other.

use crate::ir::{Type, Value};

/// A function that sees NULL as one more value.
pub(super) fn call(seed: u64, name: &str, args: &[Value], ty: &Type) -> Value {
    let hash = finish(args.iter().fold(text(start(seed), name), value));
    if hash.is_multiple_of(8) { Value::Null } else { pick(hash / 8, ty) }
}

/// A function of one value that is not NULL, whose result is not NULL either.
pub(super) fn strict(seed: u64, name: &str, arg: &Value, ty: &Type) -> Value {
    pick(finish(value(text(start(seed), name), arg)), ty)
}

/// A function of a bag of argument rows of `arity` values each.
pub(super) fn aggregate(seed: u64, name: &str, args: &[Value], arity: usize, ty: &Type) -> Value {
    if args.is_empty() {
        return Value::Null;
    }
    // A sum of the hashes of the rows does not depend on their order.
    let rows = args.chunks(arity.max(1)).map(|row| finish(row.iter().fold(start(seed), value)));
    let bag = rows.fold(0u64, u64::wrapping_add);
    pick(finish(mix(text(start(seed), name), bag)), ty)
}

fn pick(hash: u64, ty: &Type) -> Value {
    const TEXTS: [&str; 4] = ["", "a", "A", "b"];
    let small = i64::try_from(hash % 4).unwrap_or_default();
    let date = format!("2000-01-0{}", small + 1);
    match ty {
        Type::Number(_) | Type::Moment => pick(hash, &ty.domain()),
        Type::Boolean => Value::Bool(small % 2 == 1),
        Type::Integer | Type::Decimal | Type::Unknown => Value::Int(small - 1),
        ty if *ty == Type::opaque() => Value::Int(small - 1),
        Type::Double => Value::int(small - 1).to_double().map_or(Value::Null, Value::Double),
        Type::Text | Type::Other(_) => Value::Text(TEXTS[usize::try_from(small).unwrap_or_default()].to_owned()),
        Type::Date => Value::Text(date),
        Type::Time => Value::Text(format!("0{small}:00:00")),
        Type::Timestamp => Value::Text(format!("{date} 00:00:00")),
    }
}

fn start(seed: u64) -> u64 {
    mix(0x51_7c_c1_b7_27_22_0a_95, seed)
}

fn mix(state: u64, word: u64) -> u64 {
    (state.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn text(state: u64, text: &str) -> u64 {
    text.bytes().fold(mix(state, text.len() as u64), |state, byte| mix(state, u64::from(byte)))
}

/// Numbers that are equal count as the same value.
fn value(state: u64, value: &Value) -> u64 {
    match value {
        Value::Null => mix(state, 1),
        Value::Bool(b) => mix(mix(state, 2), u64::from(*b)),
        Value::Int(_) | Value::Number(_) | Value::Double(_) => {
            // Adding zero makes the two zeros one.
            mix(mix(state, 3), (value.to_double().unwrap_or_default() + 0.0).to_bits())
        }
        Value::Text(t) => text(mix(state, 4), t),
    }
}

/// Spreads the state over all bits.
fn finish(mut state: u64) -> u64 {
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
