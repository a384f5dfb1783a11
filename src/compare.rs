//! The only place where two results are made comparable.
//!
//! Results are bags of rows of one database system. Numbers compare as numbers whatever their declared type, floating
//! point with [`RELATIVE_TOLERANCE`], `-0.0` equals `0.0`, booleans are the numbers 0 and 1, text and blobs compare
//! byte by byte, and text never equals a blob.
//!
//! The hot path needs no rows in memory: a [`BagHash`] sums one hash per row, so the order of rows does not matter.
//! Equal hashes mean equal bags up to a collision of 64-bit sums. Different hashes only mean that the rows must be
//! fetched and compared by [`compare`], because the hash cannot know the tolerance.

use crate::sql::types::Value;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

/// Two floating-point numbers, or a floating-point number and an integer, are equal when they differ by no more than
/// this share of the larger magnitude. Plans may add floats in different orders; members of a class never aggregate
/// floats, so the tolerance only absorbs conversions.
pub const RELATIVE_TOLERANCE: f64 = 1e-9;

/// A row of a result.
pub type Row = Vec<Value>;

/// A hash of a bag of rows, independent of their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BagHash {
    /// Number of rows.
    pub rows: u64,
    sum: u64,
}

impl BagHash {
    /// The hash of these rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut bag = Self::default();
        for row in rows {
            let mut hash = RowHash::default();
            row.iter().for_each(|value| hash.value(value));
            bag.add(&hash);
        }
        bag
    }

    /// The hash as text.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.sum)
    }

    /// Adds one finished row.
    pub fn add(&mut self, row: &RowHash) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(row.0.finish());
    }
}

/// The hash of one row, cell by cell, in the canonical form in which equal cells hash alike.
#[derive(Default)]
pub struct RowHash(DefaultHasher);

impl RowHash {
    /// Adds a NULL.
    pub fn null(&mut self) {
        self.0.write_u8(0);
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) {
        self.0.write_u8(1);
        self.0.write_i64(value);
    }

    /// Adds a floating-point number; one that is an integer hashes as that integer.
    pub fn real(&mut self, value: f64) {
        // Both bounds are powers of two and exact; the upper one is excluded because 2^63 is no i64.
        if value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            self.int(value as i64);
        } else {
            self.0.write_u8(2);
            self.0.write_u64(if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() });
        }
    }

    /// Adds text.
    pub fn text(&mut self, value: &[u8]) {
        self.bytes(3, value);
    }

    /// Adds a blob.
    pub fn blob(&mut self, value: &[u8]) {
        self.bytes(4, value);
    }

    fn bytes(&mut self, tag: u8, value: &[u8]) {
        self.0.write_u8(tag);
        self.0.write_usize(value.len());
        self.0.write(value);
    }

    /// Adds a value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Bool(b) => self.int(i64::from(*b)),
            Value::Int(i) => self.int(*i),
            Value::Real(r) => self.real(*r),
            Value::Text(t) => self.text(t),
            Value::Blob(b) => self.blob(b),
        }
    }
}

/// How two bags of rows compare.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// The bags are equal.
    Equal,
    /// The bags differ, with the rows that only one of them has.
    Different {
        /// Rows of the first bag without a partner in the second.
        only_first: Vec<Row>,
        /// Rows of the second bag without a partner in the first.
        only_second: Vec<Row>,
    },
}

/// Compares two bags of rows under the rules of this module.
pub fn compare(first: &[Row], second: &[Row]) -> Comparison {
    let mut first: Vec<&Row> = first.iter().collect();
    let mut second: Vec<&Row> = second.iter().collect();
    first.sort_by(|a, b| row_order(a, b));
    second.sort_by(|a, b| row_order(a, b));
    let mut only_first = Vec::new();
    let is_real = |row: &&Row| row.iter().any(|value| matches!(value, Value::Real(_)));
    let exact = !first.iter().any(is_real) && !second.iter().any(is_real);
    let mut unmatched = second;
    if exact {
        // Equal rows are those that sort alike.
        let mut rest = Vec::new();
        let mut others = unmatched.into_iter().peekable();
        for row in first {
            while let Some(smaller) = others.next_if(|other| row_order(other, row).is_lt()) {
                rest.push(smaller);
            }
            if others.next_if(|other| row_order(other, row).is_eq()).is_none() {
                only_first.push(row.clone());
            }
        }
        rest.extend(others);
        return different(only_first, rest);
    }
    for row in first {
        // Sorting brings partners near each other, but a tolerance is not transitive: search all that remain.
        match unmatched.iter().position(|other| rows_equal(row, other)) {
            Some(at) => {
                unmatched.remove(at);
            }
            None => only_first.push(row.clone()),
        }
    }
    different(only_first, unmatched)
}

fn different(only_first: Vec<Row>, only_second: Vec<&Row>) -> Comparison {
    if only_first.is_empty() && only_second.is_empty() {
        return Comparison::Equal;
    }
    Comparison::Different { only_first, only_second: only_second.into_iter().cloned().collect() }
}

fn rows_equal(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b))
}

/// Whether two cells are equal under the rules of this module.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(a), other) | (other, Value::Bool(a)) => values_equal(&Value::Int(i64::from(*a)), other),
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Real(a), Value::Real(b)) => reals_equal(*a, *b),
        #[expect(clippy::cast_precision_loss, reason = "the comparison has a tolerance")]
        (Value::Int(i), Value::Real(r)) | (Value::Real(r), Value::Int(i)) => reals_equal(*i as f64, *r),
        (Value::Text(a), Value::Text(b)) | (Value::Blob(a), Value::Blob(b)) => a == b,
        _ => false,
    }
}

#[expect(clippy::float_cmp, reason = "exact equality covers infinities; the tolerance follows")]
fn reals_equal(a: f64, b: f64) -> bool {
    if a == b || (a.is_nan() && b.is_nan()) {
        return true;
    }
    a.is_finite() && b.is_finite() && (a - b).abs() <= RELATIVE_TOLERANCE * a.abs().max(b.abs())
}

fn row_order(a: &[Value], b: &[Value]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| value_order(a, b)).find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// An order in which values that are equal without a tolerance are neighbours; whole numbers are equal in it if they are.
fn value_order(a: &Value, b: &Value) -> Ordering {
    #[expect(clippy::cast_precision_loss, reason = "whole numbers that come out alike are told apart after")]
    let number = |v: &Value| match v {
        Value::Bool(b) => Some((f64::from(u8::from(*b)), false, i64::from(*b))),
        Value::Int(i) => Some((*i as f64, false, *i)),
        Value::Real(r) => Some((*r, true, 0)),
        _ => None,
    };
    let rank = |v: &Value| match v {
        Value::Null => 0,
        Value::Bool(_) | Value::Int(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    match (number(a), number(b), a, b) {
        (Some((a, a_real, a_whole)), Some((b, b_real, b_whole)), ..) => {
            a.total_cmp(&b).then(a_real.cmp(&b_real)).then(a_whole.cmp(&b_whole))
        }
        (_, _, Value::Text(a), Value::Text(b)) | (_, _, Value::Blob(a), Value::Blob(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            (-3i64..3).prop_map(Value::Int),
            any::<i64>().prop_map(Value::Int),
            (-3i32..3).prop_map(|i| Value::Real(f64::from(i) / 2.0)),
            any::<f64>().prop_map(Value::Real),
            "[ab]{0,2}".prop_map(|t| Value::Text(t.into_bytes())),
            "[ab]{0,2}".prop_map(|t| Value::Blob(t.into_bytes())),
        ]
    }

    fn bag(rows: &[Row]) -> BagHash {
        let mut bag = BagHash::default();
        for row in rows {
            let mut hash = RowHash::default();
            for value in row {
                hash.value(value);
            }
            bag.add(&hash);
        }
        bag
    }

    proptest! {
        #[test]
        fn order_of_rows_does_not_matter(
            rows in proptest::collection::vec(proptest::collection::vec(value(), 2), 0..6),
            turn in 0usize..6,
        ) {
            let mut turned = rows.clone();
            let len = turned.len();
            if len > 0 { turned.rotate_left(turn % len); }
            prop_assert_eq!(compare(&rows, &turned), Comparison::Equal);
            prop_assert_eq!(bag(&rows), bag(&turned));
        }

        #[test]
        fn equal_hashes_mean_equal_bags(
            a in proptest::collection::vec(proptest::collection::vec(value(), 1), 0..4),
            b in proptest::collection::vec(proptest::collection::vec(value(), 1), 0..4),
        ) {
            if bag(&a) == bag(&b) {
                prop_assert_eq!(compare(&a, &b), Comparison::Equal);
            }
        }
    }

    proptest! {
        /// The quick way for rows without floating-point numbers gives what searching gives.
        #[test]
        fn what_only_one_has_is_what_is_left_of_pairs(
            a in proptest::collection::vec(proptest::collection::vec(value(), 2), 0..6),
            b in proptest::collection::vec(proptest::collection::vec(value(), 2), 0..6),
        ) {
            let exact = |rows: Vec<Row>| -> Vec<Row> {
                rows.into_iter().filter(|row| !row.iter().any(|v| matches!(v, Value::Real(_)))).collect()
            };
            let (a, b) = (exact(a), exact(b));
            let mut left = b.clone();
            let without = |row: &&Row| {
                let at = left.iter().position(|other| rows_equal(row, other));
                at.map(|at| left.remove(at)).is_none()
            };
            let only: Vec<Row> = a.iter().filter(without).cloned().collect();
            match compare(&a, &b) {
                Comparison::Equal => prop_assert!(only.is_empty() && left.is_empty()),
                Comparison::Different { only_first, only_second } => {
                    prop_assert_eq!((only_first.len(), only_second.len()), (only.len(), left.len()));
                    prop_assert!(only_first.iter().all(|row| only.iter().any(|other| rows_equal(row, other))));
                    prop_assert!(only_second.iter().all(|row| left.iter().any(|other| rows_equal(row, other))));
                }
            }
        }
    }

    #[test]
    fn a_missing_duplicate_is_a_difference() {
        let one = vec![Value::Int(1)];
        assert_eq!(
            compare(&[one.clone(), one.clone()], std::slice::from_ref(&one)),
            Comparison::Different { only_first: vec![one], only_second: vec![] }
        );
    }

    #[test]
    fn numbers_compare_as_numbers_and_text_does_not() {
        let eq = |a: Value, b: Value| compare(&[vec![a]], &[vec![b]]) == Comparison::Equal;
        assert!(eq(Value::Int(1), Value::Real(1.0)));
        assert!(eq(Value::Int(1), Value::Bool(true)) && !eq(Value::Bool(false), Value::Null));
        assert!(eq(Value::Real(0.0), Value::Real(-0.0)));
        assert!(eq(Value::Real(0.1 + 0.2), Value::Real(0.3)));
        assert!(eq(Value::Real(f64::NAN), Value::Real(f64::NAN)));
        assert!(!eq(Value::Real(f64::INFINITY), Value::Real(f64::MAX)));
        assert!(!eq(Value::Int(1), Value::Text(b"1".to_vec())));
        assert!(!eq(Value::Blob(b"a".to_vec()), Value::Text(b"a".to_vec())));
        assert!(!eq(Value::Null, Value::Int(0)));
        assert!(!eq(Value::Int(i64::MAX), Value::Int(i64::MAX - 1)));
    }
}
