//! What must hold between the results of steps.

use crate::compare::{Comparison, Row, compare, values_equal};
use crate::sql::types::Value;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// How results must relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// All are the same bag of rows.
    EqualBag,
    /// Every row of the first is in the second, as often.
    SubBag,
    /// Rows with the same keys, which are the first columns, have values in this direction, from the first result to the
    /// second. NULL stands beside NULL.
    Ordered {
        /// How many columns are keys.
        keys: usize,
        /// The direction.
        direction: Direction,
    },
    /// All leave the same rows, and change as many.
    SameEffect,
}

/// How values of the second result relate to those of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// They are not smaller.
    NotSmaller,
    /// They are not larger.
    NotLarger,
}

/// A relation between the results of some steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold.
    pub relation: Relation,
    /// Between which, by their positions.
    pub steps: Vec<usize>,
}

impl Relation {
    /// Whether hashes of the rows decide it.
    pub fn by_hash(self) -> bool {
        matches!(self, Self::EqualBag | Self::SameEffect)
    }

    /// It in words, for reports: what the queries must do.
    pub fn words(self) -> String {
        match self {
            Self::EqualBag => "must return the same bag of rows (in any order)".to_owned(),
            Self::SubBag => "must return, first, no row that is not returned, as often, by the second".to_owned(),
            Self::Ordered { keys, direction } => {
                let direction = match direction {
                    Direction::NotSmaller => "smaller",
                    Direction::NotLarger => "larger",
                };
                format!(
                    "must return, for rows that agree in the first {keys} columns, values that are not {direction} in the \
                     second than in the first"
                )
            }
            Self::SameEffect => "must leave the same rows, and change as many".to_owned(),
        }
    }

    /// Whether it holds between two results.
    pub fn holds(self, first: &[Row], second: &[Row]) -> bool {
        match (self, compare(first, second)) {
            (_, Comparison::Equal) => true,
            (Self::EqualBag | Self::SameEffect, _) => false,
            (Self::SubBag, Comparison::Different { only_first, .. }) => only_first.is_empty(),
            (Self::Ordered { keys, direction }, _) => ordered(first, second, keys, direction),
        }
    }
}

impl Check {
    /// Two steps between which it does not hold, by their positions; a step without rows is left out. Of several results
    /// that must be equal, one that agrees with most, and one that does not.
    pub fn violation<'r>(&self, rows: impl Fn(usize) -> Option<&'r [Row]>) -> Option<(usize, usize)> {
        let ran: Vec<(usize, &[Row])> = self.steps.iter().filter_map(|at| Some((*at, rows(*at)?))).collect();
        if self.relation.by_hash() {
            let results: Vec<&[Row]> = ran.iter().map(|(_, rows)| *rows).collect();
            let (one, other) = disagreement(&results)?;
            return Some((ran[one].0, ran[other].0));
        }
        let [(first, left), (second, right)] = ran.as_slice() else { return None };
        (!self.relation.holds(left, right)).then_some((*first, *second))
    }

    /// The same check for a program that has only some of the steps; `kept` are their former positions.
    #[must_use]
    pub fn moved(&self, kept: &[usize]) -> Self {
        let steps = self.steps.iter().filter_map(|step| kept.iter().position(|at| at == step)).collect();
        Self { relation: self.relation, steps }
    }
}

/// A result that agrees with most, and one that disagrees with it.
fn disagreement(rows: &[&[Row]]) -> Option<(usize, usize)> {
    let equal = |a: usize, b: usize| compare(rows[a], rows[b]) == Comparison::Equal;
    let friends = |a: usize| (0..rows.len()).filter(|b| equal(a, *b)).count();
    // The first of the best connected, so that the choice does not depend on anything else.
    let majority = (0..rows.len()).max_by_key(|a| (friends(*a), std::cmp::Reverse(*a)))?;
    (0..rows.len()).find(|b| !equal(majority, *b)).map(|outlier| (majority, outlier))
}

/// Whether the values of rows with the same keys are in order. Keys that stand in one result only, or in one more than once,
/// are not in order with anything.
fn ordered(first: &[Row], second: &[Row], keys: usize, direction: Direction) -> bool {
    let same_key = |a: &Row, b: &Row| a.len() == b.len() && a.iter().zip(b).take(keys).all(|(a, b)| values_equal(a, b));
    let alone = |row: &Row, rows: &[Row]| rows.iter().filter(|other| same_key(row, other)).count() == 1;
    first.len() == second.len()
        && first.iter().all(|row| {
            let mut partners = second.iter().filter(|other| same_key(row, other));
            let (Some(partner), None) = (partners.next(), partners.next()) else { return false };
            alone(row, first) && row.iter().zip(partner).skip(keys).all(|(a, b)| in_order(a, b, direction))
        })
}

fn in_order(first: &Value, second: &Value, direction: Direction) -> bool {
    if values_equal(first, second) {
        return true;
    }
    let order = match (first, second) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) | (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
        _ => match (number(first), number(second)) {
            (Some(a), Some(b)) if !a.is_nan() && !b.is_nan() => a.total_cmp(&b),
            _ => return false,
        },
    };
    match direction {
        Direction::NotSmaller => order != Ordering::Greater,
        Direction::NotLarger => order != Ordering::Less,
    }
}

#[expect(clippy::cast_precision_loss, reason = "values that are equal within the tolerance were told apart before")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Real(r) => Some(*r),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[i64]]) -> Vec<Row> {
        rows.iter().map(|row| row.iter().map(|i| if *i < 0 { Value::Null } else { Value::Int(*i) }).collect()).collect()
    }

    #[test]
    fn the_minority_is_the_outlier() {
        let (one, two) = (&rows(&[&[1]])[..], &rows(&[&[2]])[..]);
        assert_eq!(disagreement(&[one, one, one]), None);
        assert_eq!(disagreement(&[one, two, two]), Some((1, 0)));
        assert_eq!(disagreement(&[two, two, one]), Some((0, 2)));
        assert_eq!(disagreement(&[one, two]), Some((0, 1)));
    }

    #[test]
    fn a_sub_bag_counts_duplicates() {
        let holds = |a: &[&[i64]], b: &[&[i64]]| Relation::SubBag.holds(&rows(a), &rows(b));
        assert!(holds(&[], &[&[1]]) && holds(&[&[1]], &[&[2], &[1]]) && holds(&[&[1], &[-1]], &[&[-1], &[1]]));
        assert!(!holds(&[&[1], &[1]], &[&[1]]) && !holds(&[&[1]], &[]) && !holds(&[&[-1]], &[&[0]]));
    }

    #[test]
    fn values_are_in_order_key_by_key() {
        let relation = |direction| Relation::Ordered { keys: 1, direction };
        let up = relation(Direction::NotSmaller);
        let holds = |a: &[&[i64]], b: &[&[i64]]| up.holds(&rows(a), &rows(b));
        assert!(holds(&[&[1, 5], &[2, 0]], &[&[2, 0], &[1, 7]]) && holds(&[&[1, -1]], &[&[1, -1]]));
        // A value that shrank, a NULL beside a value, a key that is missing, and one that stands there twice.
        assert!(!holds(&[&[1, 5]], &[&[1, 4]]) && !holds(&[&[1, -1]], &[&[1, 4]]));
        assert!(!holds(&[&[1, 5]], &[&[2, 9]]) && !holds(&[&[1, 5], &[1, 4]], &[&[1, 9], &[1, 9]]));
        let down = relation(Direction::NotLarger);
        assert!(down.holds(&rows(&[&[1, 5]]), &rows(&[&[1, 4]])) && !down.holds(&rows(&[&[1, 5]]), &rows(&[&[1, 6]])));
    }

    #[test]
    fn a_violation_names_two_steps_that_ran() {
        let results = [Some(rows(&[&[1]])), None, Some(rows(&[&[1]])), Some(rows(&[&[2]]))];
        let find = |at: usize| results[at].as_deref();
        let check = |relation, steps: &[usize]| Check { relation, steps: steps.to_vec() }.violation(find);
        assert_eq!(check(Relation::EqualBag, &[0, 1, 2, 3]), Some((0, 3)));
        assert_eq!(check(Relation::EqualBag, &[0, 1, 2]), None);
        assert_eq!(check(Relation::SubBag, &[0, 3]), Some((0, 3)));
        // What did not run violates nothing.
        assert_eq!(check(Relation::SubBag, &[1, 3]), None);
    }
}
