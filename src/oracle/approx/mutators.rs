//! The mutators (`ValScope`, section 4.3 and Table 1), each as data: where it applies, what it makes of what, and how that
//! changes what stands there.
//!
//! The paper lists its 26 mutators by example and refers to its repository for the rest; these are the examples and
//! their like. Left out is the paper's STDDEV to VAR, which it grounds on values above 1: three values 2, 2 and 3 have the
//! standard deviation 0.58 and the variance 0.33.
//!
//! What a mutator does to NULL is part of its effect. A condition is TRUE, FALSE or NULL; `yes` is what becomes of the rows on
//! which it is TRUE, `no` of those on which it is FALSE, the others are those on which it is NULL.

use crate::program::{Change, Trend};
use std::fmt;

/// How a condition changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Truth {
    /// The rows on which it is TRUE.
    pub(super) yes: Trend,
    /// The rows on which it is FALSE.
    pub(super) no: Trend,
}

impl Truth {
    pub(super) const SAME: Self = Self { yes: Trend::Same, no: Trend::Same };
    pub(super) const FREE: Self = Self { yes: Trend::Free, no: Trend::Free };
    /// From FALSE towards NULL towards TRUE, on every row. AND, OR and NOT are the minimum, the maximum and the reversal in
    /// this order.
    pub(super) const UP: Self = Self { yes: Trend::Up, no: Trend::Down };

    /// One after the other, or both below AND or OR: where one is TRUE grows and shrinks with where its parts are.
    pub(super) fn and(self, other: Self) -> Self {
        Self { yes: self.yes.and(other.yes), no: self.no.and(other.no) }
    }

    /// From the second query to the first.
    pub(super) fn reversed(self) -> Self {
        Self { yes: self.yes.reversed(), no: self.no.reversed() }
    }

    /// That of the negation.
    pub(super) fn negated(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// That of the negation, if `negated`.
    pub(super) fn negated_if(self, negated: bool) -> Self {
        if negated { self.negated() } else { self }
    }

    /// Of EXISTS, IN and ANY over a subquery: a disjunction over its rows, so further rows move it up.
    pub(super) fn over(rows: Trend) -> Self {
        match rows {
            Trend::Same => Self::SAME,
            Trend::Up => Self::UP,
            Trend::Down => Self::UP.reversed(),
            Trend::Free => Self::FREE,
        }
    }
}

/// How a mutator changes what stands where it applies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Effect {
    /// The bag of rows.
    Rows(Trend),
    /// A condition.
    Truth(Truth),
    /// A number.
    Value(Change),
}

impl Mutator {
    /// What it does to the rows of what it applies to.
    pub(super) fn rows(&self, direction: Direction) -> Trend {
        match (self.effect, direction) {
            (Effect::Rows(trend), Direction::Over) => trend,
            (Effect::Rows(trend), Direction::Under) => trend.reversed(),
            _ => Trend::Free,
        }
    }

    /// What it does to a condition.
    pub(super) fn truth(&self, direction: Direction) -> Truth {
        match (self.effect, direction) {
            (Effect::Truth(truth), Direction::Over) => truth,
            (Effect::Truth(truth), Direction::Under) => truth.reversed(),
            _ => Truth::FREE,
        }
    }

    /// What it does to a number.
    pub(super) fn value(&self, direction: Direction) -> Change {
        match (self.effect, direction) {
            (Effect::Value(change), Direction::Over) => change,
            (Effect::Value(change), Direction::Under) => change.reversed(),
            _ => Change::FREE,
        }
    }
}

/// The way in which a rule is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// As written: an over-approximation.
    Over,
    /// From right to left: an under-approximation.
    Under,
}

/// A mutator.
#[derive(Debug)]
pub(super) struct Mutator {
    /// Its name, in reports.
    pub(super) name: &'static str,
    /// Where it applies.
    pub(super) scope: &'static str,
    /// What it makes of what; under-approximation goes from right to left.
    pub(super) rule: &'static str,
    /// What changes, from left to right.
    pub(super) effect: Effect,
    /// What becomes of NULL.
    pub(super) nulls: &'static str,
}

const MORE: Effect = Effect::Rows(Trend::Up);
const UP: Effect = Effect::Truth(Truth::UP);
const LARGER: Effect = Effect::Value(Change { order: Trend::Up, nulls: Trend::Same });
/// Of a condition that is NULL for a NULL operand before and after.
const STRICT: &str = "NULL stays NULL";
const ROWS: &str = "rows with NULL are rows as others";
/// Of aggregates of one column.
const ALL_NULL: &str = "NULL for a group without values, before and after";

macro_rules! mutators {
    ($($id:ident: $name:literal, $scope:literal, $rule:literal, $effect:expr, $nulls:expr;)*) => {
        $(pub(super) static $id: Mutator =
            Mutator { name: $name, scope: $scope, rule: $rule, effect: $effect, nulls: $nulls };)*
        /// All of them, those on sets first.
        #[cfg(test)]
        pub(super) static ALL: &[&Mutator] = &[$(&$id),*];
    };
}

mutators! {
    UNION_ALL: "union-all", "set operation", "A UNION B → A UNION ALL B", MORE, ROWS;
    EXCEPT: "except", "set operation", "A EXCEPT B → A", MORE, ROWS;
    INTERSECT: "intersect", "set operation", "A INTERSECT B → A UNION B", MORE, ROWS;
    INTERSECT_LEFT: "intersect-left", "set operation", "A INTERSECT B → A", MORE, ROWS;
    TWICE: "twice", "query", "A → A UNION ALL A, and A → A UNION ALL B", MORE, ROWS;
    DISTINCT: "distinct", "query", "SELECT DISTINCT → SELECT", MORE, ROWS;
    JOIN: "join", "join", "INNER → LEFT or RIGHT, LEFT or RIGHT → FULL", MORE, "further rows are padded with NULL";
    CONDITION: "condition", "condition of a clause", "FALSE → p, and p → TRUE", UP,
        "NULL becomes TRUE, or FALSE becomes NULL";
    CONJUNCT: "conjunct", "condition", "p AND q → p", UP, "NULL may become TRUE, FALSE may become NULL";
    DISJUNCT: "disjunct", "condition", "p → p OR q", UP, "NULL may become TRUE, FALSE may become NULL";
    NOT_FALSE: "not-false", "condition", "p → p IS NOT FALSE",
        Effect::Truth(Truth { yes: Trend::Up, no: Trend::Same }), "NULL becomes TRUE";
    OR_EQUAL: "or-equal", "comparison", "a < b → a <= b, and a > b → a >= b", UP, STRICT;
    EQUAL: "equal", "comparison", "a = b → a <= b, and a = b → a >= b", UP, STRICT;
    UNEQUAL: "unequal", "comparison", "a < b → a <> b, and a > b → a <> b", UP, STRICT;
    BETWEEN: "between", "range", "x BETWEEN a AND b → x >= a, and → x <= b", UP,
        "FALSE or NULL for a NULL bound may become NULL or TRUE";
    LIST: "list", "list", "x IN (a) → x IN (a, b)", UP, "NULL for a NULL in the list may become TRUE";
    LIKE: "like", "pattern", "x LIKE 'a_' → x LIKE 'a%', and x LIKE 'a' → x LIKE '%a'", UP, STRICT;
    COUNT_DISTINCT: "count-distinct", "aggregate", "COUNT(DISTINCT c) → COUNT(c)", LARGER, "never NULL";
    COUNT: "count", "aggregate", "COUNT(c) → COUNT(*)", LARGER, "NULLs are counted, the count is never NULL";
    AVG_MAX: "avg-max", "aggregate", "AVG(c) → MAX(c)", LARGER, ALL_NULL;
    MIN_AVG: "min-avg", "aggregate", "MIN(c) → AVG(c)", LARGER, ALL_NULL;
    MIN_MAX: "min-max", "aggregate", "MIN(c) → MAX(c)", LARGER, ALL_NULL;
    SUM_DISTINCT: "sum-distinct", "aggregate", "SUM(DISTINCT c) → SUM(c), c never negative", LARGER, ALL_NULL;
    MAX_SUM: "max-sum", "aggregate", "MAX(c) → SUM(c), c never negative", LARGER, ALL_NULL;
    PLUS: "plus", "expression", "e - k → e, and e → e + k, k a positive number", LARGER, STRICT;
    TIMES: "times", "expression", "e → e * k, k a number above 1, e never negative", LARGER, STRICT;
}

/// A mutation that was made.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    pub(super) mutator: &'static Mutator,
    pub(super) before: String,
    pub(super) after: String,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mutator: Mutator { name, scope, rule, nulls, .. }, before, after } = self;
        write!(f, "{before} became {after} (mutator {name}; {scope}: {rule}; {nulls})")
    }
}

/// Where mutators may apply, in the order of the walk over a query, and where they do.
pub(super) struct Sites {
    next: usize,
    chosen: Vec<usize>,
    made: Vec<Mutation>,
}

impl Sites {
    /// Those at some positions.
    pub(super) fn at(chosen: Vec<usize>) -> Self {
        Self { next: 0, chosen, made: Vec::new() }
    }

    /// How many there were.
    pub(super) fn count(&self) -> usize {
        self.next
    }

    /// What was made.
    pub(super) fn made(self) -> Vec<Mutation> {
        self.made
    }

    /// Whether a mutator applies at the next site.
    pub(super) fn takes(
        &mut self,
        mutator: &'static Mutator,
        before: &dyn fmt::Display,
        after: &dyn fmt::Display,
    ) -> bool {
        let takes = self.chosen.contains(&self.next);
        self.next += 1;
        if takes {
            self.made.push(Mutation { mutator, before: before.to_string(), after: after.to_string() });
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_are_on_sets_and_nine_on_values() {
        let values = ALL.iter().filter(|mutator| matches!(mutator.effect, Effect::Value(_))).count();
        assert_eq!((ALL.len() - values, values), (17, 9));
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|mutator| mutator.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.iter().all(|m| m.rule.contains('→') && !m.scope.is_empty() && !m.nulls.is_empty()));
    }
}
