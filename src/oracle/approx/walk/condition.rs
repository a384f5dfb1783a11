//! Conditions: how the rows on which they are TRUE and FALSE change, and their mutators.

use super::super::mutators::{self, Direction, Mutator, Truth};
use super::{Term, Walk, introduced};
use crate::program::Trend;
use crate::sql::tree::{binary, boolean, column, nested, number, text};
use crate::sql::types::SqlType;
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// What a mutator may make of a condition.
struct Candidate {
    mutator: &'static Mutator,
    direction: Direction,
    /// Whether the rule is about what is negated here.
    negated: bool,
    after: Expr,
    /// The relation over which it has a placeholder of its own.
    introduced: Option<usize>,
}

impl Candidate {
    fn new(mutator: &'static Mutator, direction: Direction, after: Expr) -> Self {
        Self { mutator, direction, negated: false, after, introduced: None }
    }

    fn effect(&self) -> Truth {
        self.mutator.truth(self.direction).negated_if(self.negated)
    }
}

/// Whether an expression is a condition by its form.
pub(super) fn is_condition(expr: &Expr) -> bool {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::BinaryOp { op: And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq, .. }
        | Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::InList { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        _ => false,
    }
}

/// Where a comparison of changed numbers is TRUE. A sum that has no exact value must not decide.
fn compared(op: &BinaryOperator, left: Term, right: Term) -> Truth {
    if left.is_same() && right.is_same() {
        return Truth::SAME;
    }
    // Of the left one minus the right one.
    let order = left.change.order.and(right.change.order.reversed());
    let nulls = left.change.nulls.and(right.change.nulls);
    let exact = left.ty == Some(SqlType::Int) && right.ty == Some(SqlType::Int);
    let order = match op {
        _ if order == Trend::Same => order,
        BinaryOperator::Gt | BinaryOperator::GtEq if exact => order,
        BinaryOperator::Lt | BinaryOperator::LtEq if exact => order.reversed(),
        _ => Trend::Free,
    };
    // A NULL that is gone may add a row; one that is new takes it away.
    let with = |order: Trend| order.and(nulls.reversed());
    Truth { yes: with(order), no: with(order.reversed()) }
}

impl Walk<'_> {
    /// A condition of a clause.
    pub(super) fn condition(&mut self, expr: &mut Expr) -> Truth {
        let truth = self.truth(expr);
        for (direction, value) in [(Direction::Over, true), (Direction::Under, false)] {
            let candidate = Candidate::new(&mutators::CONDITION, direction, boolean(value));
            if self.takes(candidate.mutator, &*expr, &candidate.after) {
                let effect = candidate.effect();
                *expr = candidate.after;
                return truth.and(effect);
            }
        }
        truth
    }

    /// A condition or a part of one.
    pub(super) fn truth(&mut self, expr: &mut Expr) -> Truth {
        let truth = self.truth_of(expr);
        if self.frozen > 0 || matches!(expr, Expr::Nested(_)) {
            return truth;
        }
        for candidate in self.candidates(expr) {
            if self.takes(candidate.mutator, &*expr, &candidate.after) {
                self.introduced.extend(candidate.introduced);
                let effect = candidate.effect();
                *expr = candidate.after;
                return truth.and(effect);
            }
        }
        truth
    }

    /// How a condition changes by its parts.
    pub(super) fn truth_of(&mut self, expr: &mut Expr) -> Truth {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        let is = |trend: Trend| Truth { yes: trend, no: trend.reversed() };
        let unknown = |truth: Truth| is(truth.yes.and(truth.no).reversed());
        let unchanged = |same: bool| if same { Truth::SAME } else { Truth::FREE };
        match expr {
            Expr::Nested(inner) => self.truth(inner),
            Expr::BinaryOp { left, op: And | Or, right } => self.truth(left).and(self.truth(right)),
            Expr::BinaryOp { left, op: op @ (Eq | NotEq | Lt | LtEq | Gt | GtEq), right } => {
                let (left, right) = (self.operand(left), self.operand(right));
                compared(op, left, right)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.truth(expr).negated(),
            Expr::IsTrue(inner) => is(self.truth(inner).yes),
            Expr::IsNotTrue(inner) => is(self.truth(inner).yes).negated(),
            Expr::IsFalse(inner) => is(self.truth(inner).no),
            Expr::IsNotFalse(inner) => is(self.truth(inner).no).negated(),
            Expr::IsUnknown(inner) => unknown(self.truth(inner)),
            Expr::IsNotUnknown(inner) => unknown(self.truth(inner)).negated(),
            Expr::IsNull(inner) if is_condition(inner) => unknown(self.truth(inner)),
            Expr::IsNotNull(inner) if is_condition(inner) => unknown(self.truth(inner)).negated(),
            Expr::IsNull(inner) => is(self.value(inner).change.nulls),
            Expr::IsNotNull(inner) => is(self.value(inner).change.nulls).negated(),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                unchanged(left.is_same() && right.is_same())
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let (term, rows) = (self.value(expr), self.query(subquery));
                let same = term.is_same() && rows.values_same();
                if same { Truth::over(rows.extent).negated_if(*negated) } else { Truth::FREE }
            }
            Expr::Exists { subquery, negated } => Truth::over(self.query(subquery).extent).negated_if(*negated),
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. }
                if !matches!(&**right, Expr::Subquery(_)) =>
            {
                let (left, right) = (self.value(left), self.value(right));
                unchanged(left.is_same() && right.is_same())
            }
            Expr::AnyOp { left, right, .. } => self.quantified(left, right),
            // A conjunction over the rows of the subquery.
            Expr::AllOp { left, right, .. } => self.quantified(left, right).reversed(),
            Expr::InList { expr, list, .. } => {
                let mut same = self.value(expr).is_same();
                for item in list {
                    same &= self.value(item).is_same();
                }
                unchanged(same)
            }
            Expr::Between { expr, negated, low, high } => {
                let term = self.value(expr);
                let (low, high) = (self.operand(low), self.operand(high));
                compared(&GtEq, term, low).and(compared(&LtEq, term, high)).negated_if(*negated)
            }
            Expr::Like { expr, pattern, .. } => {
                let (term, pattern) = (self.value(expr), self.value(pattern));
                unchanged(term.is_same() && pattern.is_same())
            }
            other => unchanged(self.value(other).is_same()),
        }
    }

    fn quantified(&mut self, left: &mut Expr, right: &mut Expr) -> Truth {
        let Expr::Subquery(query) = right else { return Truth::FREE };
        let (term, rows) = (self.value(left), self.query(query));
        if term.is_same() && rows.values_same() { Truth::over(rows.extent) } else { Truth::FREE }
    }

    /// What mutators may make of a condition.
    fn candidates(&self, expr: &Expr) -> Vec<Candidate> {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        use Direction::{Over, Under};
        let mut all = Vec::new();
        let mut add = |mutator, direction, after| all.push(Candidate::new(mutator, direction, after));
        let compares_rows = |left: &Expr| matches!(left, Expr::Tuple(_));
        match expr {
            Expr::BinaryOp { left, op, right } if !compares_rows(left) => {
                let with = |op| binary((**left).clone(), op, (**right).clone());
                match op {
                    Lt | Gt => {
                        add(&mutators::OR_EQUAL, Over, with(if *op == Lt { LtEq } else { GtEq }));
                        add(&mutators::UNEQUAL, Over, with(NotEq));
                    }
                    LtEq | GtEq => {
                        add(&mutators::OR_EQUAL, Under, with(if *op == LtEq { Lt } else { Gt }));
                        add(&mutators::EQUAL, Under, with(Eq));
                    }
                    Eq => {
                        add(&mutators::EQUAL, Over, with(LtEq));
                        add(&mutators::EQUAL, Over, with(GtEq));
                    }
                    NotEq => {
                        add(&mutators::UNEQUAL, Under, with(Lt));
                        add(&mutators::UNEQUAL, Under, with(Gt));
                    }
                    And => {
                        add(&mutators::CONJUNCT, Over, (**left).clone());
                        add(&mutators::CONJUNCT, Over, (**right).clone());
                    }
                    Or => {
                        add(&mutators::DISJUNCT, Under, (**left).clone());
                        add(&mutators::DISJUNCT, Under, (**right).clone());
                    }
                    _ => {}
                }
            }
            Expr::Between { expr, negated: false, low, high } if !compares_rows(expr) => {
                let half = |op, bound: &Expr| nested(binary(nested((**expr).clone()), op, nested(bound.clone())));
                add(&mutators::BETWEEN, Over, half(GtEq, low));
                add(&mutators::BETWEEN, Over, half(LtEq, high));
            }
            Expr::IsNotFalse(inner) => add(&mutators::NOT_FALSE, Under, nested((**inner).clone())),
            Expr::InList { expr, list, negated } => {
                let with = |list| Expr::InList { expr: expr.clone(), list, negated: *negated };
                if let Some(item) = another(list) {
                    add(&mutators::LIST, Over, with([&list[..], &[item]].concat()));
                }
                if list.len() > 2 {
                    add(&mutators::LIST, Under, with(list[..list.len() - 1].to_vec()));
                }
                all.iter_mut().for_each(|candidate| candidate.negated = *negated);
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
                if let Expr::Value(value) = &**pattern
                    && let Value::SingleQuotedString(pattern) = &value.value
                    && !pattern.contains('\\')
                {
                    let with = |pattern: &str| Expr::Like {
                        negated: *negated,
                        any: false,
                        expr: expr.clone(),
                        pattern: Box::new(text(pattern)),
                        escape_char: None,
                    };
                    if pattern.contains('_') {
                        add(&mutators::LIKE, Over, with(&pattern.replacen('_', "%", 1)));
                    }
                    match pattern.strip_prefix('%') {
                        None => add(&mutators::LIKE, Over, with(&format!("%{pattern}"))),
                        Some("") => {}
                        Some(rest) => add(&mutators::LIKE, Under, with(rest)),
                    }
                }
                all.iter_mut().for_each(|candidate| candidate.negated = *negated);
            }
            _ => {}
        }
        if !matches!(expr, Expr::IsNotFalse(_)) {
            let after = Expr::IsNotFalse(Box::new(nested(expr.clone())));
            all.push(Candidate::new(&mutators::NOT_FALSE, Over, nested(after)));
        }
        if let Some((relation, other)) = self.other_condition() {
            let either = nested(binary(nested(expr.clone()), Or, other.clone()));
            let both = nested(binary(nested(expr.clone()), And, other));
            let with = |mutator, direction, after| Candidate {
                introduced: Some(relation),
                ..Candidate::new(mutator, direction, after)
            };
            all.push(with(&mutators::DISJUNCT, Over, either));
            all.push(with(&mutators::CONJUNCT, Under, both));
        }
        all
    }

    /// A condition over a table in sight, which is filled as any placeholder is.
    fn other_condition(&self) -> Option<(usize, Expr)> {
        let scope = self.scopes.last().filter(|scope| !scope.grouped)?;
        let tables: Vec<_> = scope.entries.iter().filter_map(|e| Some((&e.alias, e.relation?))).collect();
        let (alias, relation) = *tables.get(self.sites.count() % tables.len().max(1))?;
        Some((relation, column(alias, &introduced(relation))))
    }
}

/// A literal like those of a list, and not among them.
fn another(list: &[Expr]) -> Option<Expr> {
    let literal = |expr: &Expr| if let Expr::Value(value) = expr { Some(value.value.clone()) } else { None };
    let literals: Vec<Value> = list.iter().filter_map(literal).collect();
    let others = match literals.first()? {
        Value::Number(digits, _) if digits.parse::<i64>().is_ok() => [0, 1, 2, 3].map(number),
        Value::SingleQuotedString(_) => ["a", "b", "", "A"].map(text),
        _ => return None,
    };
    others.into_iter().find(|other| !list.contains(other))
}
