//! Pairs that look alike and are not: the prover alone, without any database to warn it, must not prove them.
//!
//! Each pair stands for one way in which a proof could go wrong.

#![cfg(feature = "solver")]

use std::collections::BTreeMap;

use prover::{Limits, Verdict, lower, prove_only};

/// Whether the prover proves a pair when no evaluated database keeps it from it.
fn proven(schema: &str, left: &str, right: &str) -> bool {
    let schema = lower::schema(schema, &BTreeMap::new()).expect("a schema");
    let [left, right] = [left, right].map(|text| lower::query(&schema, text).expect(text));
    matches!(prove_only(&schema, &left, &right, &Limits::default()).verdict, Verdict::Proven(_))
}

#[track_caller]
fn never_proven(schema: &str, left: &str, right: &str) {
    assert!(!proven(schema, left, right), "proven, although they differ:\n{left}\n{right}");
    assert!(!proven(schema, right, left), "proven, although they differ:\n{right}\n{left}");
}

#[test]
fn equal_queries_are_proven_without_a_search() {
    assert!(proven("CREATE TABLE t(a INT)", "SELECT a FROM t", "SELECT t.a FROM t WHERE TRUE"));
}

#[test]
fn results_of_different_widths_are_not_equal() {
    never_proven("CREATE TABLE t(a INT)", "SELECT a FROM t", "SELECT a, a FROM t");
}
