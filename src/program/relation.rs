//! What must hold between the results of steps.

use crate::compare::{Comparison, Row, compare, values_equal};
use crate::sql::types::Value;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// How results must relate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// All are the same bag of rows.
    EqualBag,
    /// Every row of the first is in the second, as often.
    SubBag,
    /// Every row of the first has a row of the second, each another one, with values that changed as said.
    Approximate {
        /// Whether the second may have further rows.
        further: bool,
        /// How the values of each column may change, from the first result to the second.
        columns: Vec<Change>,
    },
    /// All leave the same rows, and change as many.
    SameEffect,
}

/// In which direction something goes from a first query to a second: the order of a value, or how many rows, truth values or
/// NULLs of a kind there are, as a set of those before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// It stays as it is.
    #[default]
    Same,
    /// It may grow.
    Up,
    /// It may shrink.
    Down,
    /// It may do anything.
    Free,
}

impl Trend {
    /// One after the other, or both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same, trend) | (trend, Self::Same) => trend,
            (one, other) if one == other => one,
            _ => Self::Free,
        }
    }

    /// The other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
            other => other,
        }
    }
}

/// How a value changes from a first query to a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The order of a number, where it is NULL neither before nor after. Up means not smaller.
    pub order: Trend,
    /// Where it is NULL. Down means that a value never becomes NULL.
    pub nulls: Trend,
}

impl Change {
    /// No change.
    pub const SAME: Self = Self { order: Trend::Same, nulls: Trend::Same };
    /// Any change.
    pub const FREE: Self = Self { order: Trend::Free, nulls: Trend::Free };

    /// One after the other, or both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let nulls = self.nulls.and(other.nulls);
        // A value that was NULL in between may be any afterwards.
        if nulls == Trend::Free { Self::FREE } else { Self { order: self.order.and(other.order), nulls } }
    }

    /// From the second query to the first.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { order: self.order.reversed(), nulls: self.nulls.reversed() }
    }

    /// Whether a value may become another one. What is no number is in no order.
    fn allows(self, first: &Value, second: &Value) -> bool {
        let null = |value: &Value| *value == Value::Null;
        match (null(first), null(second)) {
            (true, true) => true,
            (false, true) => matches!(self.nulls, Trend::Up | Trend::Free),
            (true, false) => matches!(self.nulls, Trend::Down | Trend::Free),
            (false, false) if self.order == Trend::Free || values_equal(first, second) => true,
            (false, false) if self.order == Trend::Same => false,
            (false, false) => match (number(first), number(second)) {
                (Some(a), Some(b)) => match a.partial_cmp(&b) {
                    Some(Ordering::Less) => self.order == Trend::Up,
                    Some(Ordering::Greater) => self.order == Trend::Down,
                    _ => true,
                },
                _ => true,
            },
        }
    }
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
    pub fn by_hash(&self) -> bool {
        matches!(self, Self::EqualBag | Self::SameEffect)
    }

    /// It in words, for reports: what the queries must do.
    pub fn words(&self) -> String {
        match self {
            Self::EqualBag => "must return the same bag of rows (in any order)".to_owned(),
            Self::SubBag => "must return, first, no row that is not returned, as often, by the second".to_owned(),
            Self::Approximate { further, columns } => {
                let mut words =
                    "must return rows that can be paired, each of the first with another one of the second".to_owned();
                words.push_str(if *further { " (which may have more)" } else { " and none left over" });
                words.push_str(", with the same values");
                let changed = columns.iter().enumerate().filter(|(_, change)| **change != Change::SAME);
                for (at, change) in changed {
                    let order = match change.order {
                        Trend::Same => "the same",
                        Trend::Up => "not smaller in the second",
                        Trend::Down => "not larger in the second",
                        Trend::Free => "any",
                    };
                    let nulls = match change.nulls {
                        Trend::Same => "NULL beside NULL",
                        Trend::Up => "what is NULL in the first is NULL in the second",
                        Trend::Down => "what is NULL in the second is NULL in the first",
                        Trend::Free => "NULL beside anything",
                    };
                    // Writing to a string does not fail.
                    let _ = write!(words, ", but in column {}: {order}, {nulls}", at + 1);
                }
                words
            }
            Self::SameEffect => "must leave the same rows, and change as many".to_owned(),
        }
    }

    /// Whether it holds between two results.
    pub fn holds(&self, first: &[Row], second: &[Row]) -> bool {
        match (self, compare(first, second)) {
            (_, Comparison::Equal) => true,
            (Self::EqualBag | Self::SameEffect, _) => false,
            (Self::SubBag, Comparison::Different { only_first, .. }) => only_first.is_empty(),
            (Self::Approximate { further, columns }, Comparison::Different { only_first, only_second }) => {
                // Rows that are in both go with themselves: mostly that is all there is to it.
                (*further || first.len() == second.len())
                    && (paired(&only_first, &only_second, columns) || paired(first, second, columns))
            }
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
        Self { relation: self.relation.clone(), steps }
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

/// Whether every row of the first has a row of the second, each another one, into which it may change: a matching that
/// covers the first (augmenting paths, after Kuhn).
fn paired(first: &[Row], second: &[Row], columns: &[Change]) -> bool {
    let fits = |a: &Row, b: &Row| {
        a.len() == columns.len()
            && b.len() == columns.len()
            && columns.iter().zip(a.iter().zip(b)).all(|(change, (a, b))| change.allows(a, b))
    };
    let partners: Vec<Vec<usize>> =
        first.iter().map(|a| (0..second.len()).filter(|at| fits(a, &second[*at])).collect()).collect();
    let mut taken: Vec<Option<usize>> = vec![None; second.len()];
    (0..first.len()).all(|row| take(row, &partners, &mut taken, &mut vec![false; second.len()]))
}

/// Finds a partner for a row, if need be by giving others another one.
fn take(row: usize, partners: &[Vec<usize>], taken: &mut [Option<usize>], tried: &mut [bool]) -> bool {
    if let Some(free) = partners[row].iter().find(|at| taken[**at].is_none()) {
        taken[*free] = Some(row);
        return true;
    }
    for &at in &partners[row] {
        if std::mem::replace(&mut tried[at], true) {
            continue;
        }
        if taken[at].is_none_or(|owner| take(owner, partners, taken, tried)) {
            taken[at] = Some(row);
            return true;
        }
    }
    false
}

#[expect(clippy::cast_precision_loss, reason = "values that are equal within the tolerance were told apart before")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Real(r) => Some(*r),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
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
    fn values_change_as_they_may() {
        let change = |order, nulls| Change { order, nulls };
        let relation = |further, change| Relation::Approximate { further, columns: vec![Change::SAME, change] };
        let up = relation(false, change(Trend::Up, Trend::Same));
        let holds = |a: &[&[i64]], b: &[&[i64]]| up.holds(&rows(a), &rows(b));
        assert!(holds(&[&[1, 5], &[2, 0]], &[&[2, 0], &[1, 7]]) && holds(&[&[1, -1]], &[&[1, -1]]));
        // Rows with one key are paired as they can be: 3 with 4, 5 with 9.
        assert!(holds(&[&[1, 5], &[1, 3]], &[&[1, 4], &[1, 9]]) && !holds(&[&[1, 5], &[1, 5]], &[&[1, 4], &[1, 9]]));
        // A value that shrank, a NULL beside a value, another key, a row less, a row more.
        assert!(!holds(&[&[1, 5]], &[&[1, 4]]) && !holds(&[&[1, -1]], &[&[1, 4]]) && !holds(&[&[1, 4]], &[&[1, -1]]));
        assert!(!holds(&[&[1, 5]], &[&[2, 9]]) && !holds(&[&[1, 5]], &[]) && !holds(&[&[1, 5]], &[&[1, 5], &[1, 6]]));
        let down = relation(true, change(Trend::Down, Trend::Down));
        let holds = |a: &[&[i64]], b: &[&[i64]]| down.holds(&rows(a), &rows(b));
        assert!(holds(&[&[1, 5]], &[&[1, 4], &[3, 9]]) && !holds(&[&[1, 5]], &[&[1, 6]]));
        assert!(holds(&[&[1, -1]], &[&[1, 6]]) && !holds(&[&[1, 6]], &[&[1, -1]]));
        let free = relation(false, Change::FREE);
        assert!(free.holds(&rows(&[&[1, 5]]), &rows(&[&[1, -1]])) && !free.holds(&rows(&[&[1, 5]]), &rows(&[&[2, 5]])));
    }

    #[test]
    fn sums_of_floats_have_a_margin_and_text_no_order() {
        let up = Change { order: Trend::Up, nulls: Trend::Same };
        let text = |text: &str| Value::Text(text.as_bytes().to_vec());
        assert!(up.allows(&Value::Real(0.1 + 0.2), &Value::Real(0.3)) && up.allows(&Value::Int(3), &Value::Real(3.5)));
        assert!(!up.allows(&Value::Real(0.31), &Value::Real(0.3)) && up.allows(&text("b"), &text("a")));
    }

    #[test]
    fn one_change_after_another() {
        let change = |order, nulls| Change { order, nulls };
        let (up, down) = (change(Trend::Up, Trend::Down), change(Trend::Down, Trend::Down));
        assert_eq!(up.and(up), up);
        assert_eq!(up.and(down), change(Trend::Free, Trend::Down));
        // From 5 to NULL to 3.
        assert_eq!(up.and(up.reversed()), Change::FREE);
        assert_eq!(up.reversed(), change(Trend::Down, Trend::Up));
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
