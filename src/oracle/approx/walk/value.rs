//! Values: how they change with their parts and with the rows that they are aggregated from, and their mutators.

use super::super::mutators::{self, Direction, Mutator, Truth};
use super::condition::is_condition;
use super::{ANY, INTEGER, ROWS, Term, Walk};
use crate::program::{Change, Trend};
use crate::sql::tree::{binary, nested, number};
use crate::sql::types::SqlType;
use prover::lower::knows_function;
use prover::walk::{ON, Walk as Visit, walk};
use sqlparser::ast::{
    BinaryOperator, CastKind, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, Query, SelectItem, UnaryOperator, Value,
};
use std::ops::ControlFlow;

/// Aggregates that have a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    Avg,
}

impl Aggregate {
    /// The aggregate that a call is, if it is one.
    fn of(function: &Function) -> Option<Self> {
        let FunctionArguments::List(list) = &function.args else { return None };
        let name = function.name.to_string().to_ascii_uppercase();
        // With several arguments MIN and MAX are no aggregates.
        (list.args.len() == 1 && function.over.is_none()).then_some(())?;
        Some(match name.as_str() {
            "COUNT" => Self::Count,
            "SUM" => Self::Sum,
            "MIN" => Self::Min,
            "MAX" => Self::Max,
            "AVG" => Self::Avg,
            _ => return None,
        })
    }

    fn name(self) -> ObjectName {
        let name = match self {
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Avg => "AVG",
        };
        ObjectName::from(vec![Ident::new(name)])
    }

    /// The type of its result.
    fn ty(self, argument: Option<SqlType>) -> Option<SqlType> {
        match self {
            Self::Count => Some(SqlType::Int),
            Self::Avg => Some(SqlType::Real),
            Self::Sum | Self::Min | Self::Max => argument,
        }
    }

    /// How many bits its result has at most, by those of its argument. A sum of integers is one, or an error.
    fn bits(self, argument: u16) -> u16 {
        match self {
            Self::Count => ROWS,
            Self::Sum if argument <= INTEGER => (argument + ROWS).min(INTEGER),
            Self::Min | Self::Max | Self::Sum => argument,
            Self::Avg => ANY,
        }
    }

    /// How it changes with its argument and with the rows that it is taken of.
    fn change(self, distinct: bool, term: Term, rows: Trend) -> Change {
        let Change { order, nulls } = term.change;
        let same = term.is_same() && rows == Trend::Same;
        let number = term.is_number();
        // All three go this way, or stay.
        let go = |rows_to: Trend, order_to: Trend, nulls_to: Trend| {
            let to = |trend: Trend, to: Trend| trend == Trend::Same || trend == to;
            to(rows, rows_to) && to(order, order_to) && to(nulls, nulls_to)
        };
        // Whether there is a value at all goes with the rows that have one.
        let none = rows.reversed().and(nulls);
        let towards = |order: Trend| Change { order, nulls: none };
        match self {
            Self::Count if distinct && order != Trend::Same => Change::FREE,
            Self::Count => Change { order: rows.and(nulls.reversed()), nulls: Trend::Same },
            // Their last digits depend on the order of the rows.
            Self::Avg => Change::FREE,
            Self::Sum if term.ty != Some(SqlType::Int) => Change::FREE,
            _ if same => Change::SAME,
            Self::Min | Self::Max if !number => Change::FREE,
            Self::Min if go(Trend::Down, Trend::Up, Trend::Up) => towards(Trend::Up),
            Self::Min if go(Trend::Up, Trend::Down, Trend::Down) => towards(Trend::Down),
            Self::Sum if rows == Trend::Same && nulls == Trend::Same && !distinct => term.change,
            Self::Sum if !term.nonnegative || (distinct && order != Trend::Same) => Change::FREE,
            Self::Max | Self::Sum if go(Trend::Up, Trend::Up, Trend::Down) => towards(Trend::Up),
            Self::Max | Self::Sum if go(Trend::Down, Trend::Down, Trend::Up) => towards(Trend::Down),
            Self::Min | Self::Max | Self::Sum => Change::FREE,
        }
    }
}

/// Looks for aggregates and window functions outside subqueries.
#[derive(Default)]
struct Calls {
    depth: usize,
    aggregates: bool,
    windows: bool,
}

impl Visit for Calls {
    fn query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ON
    }

    fn after_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.depth == 0
        {
            self.aggregates |= Aggregate::of(function).is_some();
            self.windows |= function.over.is_some();
        }
        ON
    }
}

fn calls(items: &mut [SelectItem]) -> Calls {
    let mut calls = Calls::default();
    for item in items {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            // It never ends early.
            let _ = walk(expr, &mut calls);
        }
    }
    calls
}

/// Whether a select list has an aggregate.
pub(super) fn aggregates(items: &mut [SelectItem]) -> bool {
    calls(items).aggregates
}

/// Whether a select list has a window function.
pub(super) fn has_window(items: &mut [SelectItem]) -> bool {
    calls(items).windows
}

/// The qualifiers of the columns of an expression outside subqueries.
struct Qualifiers(Vec<String>);

impl Visit for Qualifiers {
    fn query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ON
    }

    fn after_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(path) = expr {
            self.0.extend(path.first().map(|ident| ident.value.clone()));
        }
        ON
    }
}

/// How many bits a number's absolute value has.
fn bits_of(number: i64) -> u16 {
    u16::try_from(u64::BITS - number.unsigned_abs().leading_zeros()).unwrap_or(ANY)
}

/// A whole number that is written out.
fn literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => literal(expr)?.checked_neg(),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

impl Walk<'_> {
    /// A value that is returned, compared or aggregated.
    pub(super) fn operand(&mut self, expr: &mut Expr) -> Term {
        let term = self.value(expr);
        if term.ty != Some(SqlType::Int) || self.frozen > 0 {
            return term;
        }
        let with = |op, k| nested(binary(nested(expr.clone()), op, number(k)));
        let mut all = vec![
            (&mutators::PLUS, Direction::Over, with(BinaryOperator::Plus, 1), term.nonnegative),
            (&mutators::PLUS, Direction::Under, with(BinaryOperator::Minus, 1), false),
        ];
        if term.nonnegative {
            all.push((&mutators::TIMES, Direction::Over, with(BinaryOperator::Multiply, 2), true));
        }
        for (mutator, direction, after, nonnegative) in all {
            if self.takes(mutator, &*expr, &after) {
                *expr = after;
                let change = term.change.and(mutator.value(direction));
                return Term { change, nonnegative, bits: term.bits.saturating_add(1), ..term };
            }
        }
        term
    }

    /// How a value changes by its parts.
    pub(super) fn value(&mut self, expr: &mut Expr) -> Term {
        match expr {
            Expr::Nested(inner) if !is_condition(inner) => self.value(inner),
            condition if is_condition(condition) => {
                let truth = self.frozen(|walk| walk.truth_of(condition));
                let ty = Some(SqlType::Boolean);
                if truth == Truth::SAME { Term::same(ty) } else { Term::free(ty) }
            }
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => {
                    let whole = digits.parse::<i64>();
                    let ty = if whole.is_ok() { SqlType::Int } else { SqlType::Real };
                    Term { nonnegative: true, bits: whole.map_or(ANY, bits_of), ..Term::same(Some(ty)) }
                }
                Value::SingleQuotedString(_) => Term::same(Some(SqlType::Text)),
                Value::Boolean(_) => Term::same(Some(SqlType::Boolean)),
                _ => Term::same(None),
            },
            Expr::CompoundIdentifier(path) => {
                let path = path.clone();
                self.column(&path)
            }
            Expr::UnaryOp { op: UnaryOperator::Plus, expr } => self.value(expr),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                let term = self.value(expr);
                let change = Change { order: term.change.order.reversed(), ..term.change };
                // There is one negative integer more than there are positive ones.
                Term {
                    change,
                    nonnegative: false,
                    bits: term.bits.saturating_add(u16::from(term.bits >= INTEGER)),
                    ..term
                }
            }
            Expr::BinaryOp { left, op, right } => {
                let op = op.clone();
                let (l, r) = (self.value(left), self.value(right));
                arithmetic(&op, (l, literal(left)), (r, literal(right)))
            }
            Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
                let term = self.value(expr);
                let ty = SqlType::parse(&data_type.to_string());
                let keeps = term.ty == Some(SqlType::Int) && matches!(ty, Some(SqlType::Int | SqlType::Real));
                let change = if keeps || term.change.order == Trend::Same { term.change } else { Change::FREE };
                let bits = if ty == Some(SqlType::Int) { INTEGER } else { ANY };
                Term { change, ty, nonnegative: keeps && term.nonnegative, bits }
            }
            Expr::Case { .. } => self.case(expr),
            Expr::Subquery(query) => {
                let rows = self.query(query);
                match rows.columns.as_slice() {
                    [column] if rows.extent == Trend::Same => column.term,
                    [column] => Term::free(column.term.ty),
                    _ => Term::free(None),
                }
            }
            Expr::Tuple(parts) => {
                let terms: Vec<Term> = parts.iter_mut().map(|part| self.value(part)).collect();
                if terms.iter().all(|term| term.is_same()) { Term::same(None) } else { Term::free(None) }
            }
            Expr::Function(function) => match Aggregate::of(function) {
                Some(aggregate) => self.aggregate(aggregate, expr),
                None => self.function(expr),
            },
            other => self.opaque(other),
        }
    }

    /// What is not looked into is the same if all that it can see is.
    fn opaque(&mut self, expr: &Expr) -> Term {
        let text = expr.to_string().to_ascii_lowercase();
        // Sums of floats differ with the order of rows.
        let sums = ["avg(", "sum("].iter().any(|call| text.contains(call));
        if self.nothing_changes() && !sums { Term::same(None) } else { Term::free(None) }
    }

    fn case(&mut self, expr: &mut Expr) -> Term {
        let Expr::Case { operand, conditions, else_result, .. } = expr else { return Term::free(None) };
        if let (None, [when], Some(other)) = (&operand, conditions.as_mut_slice(), &else_result)
            && let (Some(then), Some(other)) = (literal(&when.result), literal(other))
        {
            let yes = self.truth(&mut when.condition).yes;
            let order = match then.cmp(&other) {
                std::cmp::Ordering::Equal => Trend::Same,
                std::cmp::Ordering::Greater => yes,
                std::cmp::Ordering::Less => yes.reversed(),
            };
            let change = Change { order, nulls: Trend::Same };
            let bits = bits_of(then).max(bits_of(other));
            return Term { change, ty: Some(SqlType::Int), nonnegative: then >= 0 && other >= 0, bits };
        }
        let mut same = true;
        let compares = operand.is_some();
        if let Some(operand) = operand {
            same &= self.value(operand).is_same();
        }
        let mut term: Option<Term> = None;
        for when in conditions {
            same &= if compares {
                self.value(&mut when.condition).is_same()
            } else {
                self.frozen(|walk| walk.truth(&mut when.condition)).yes == Trend::Same
            };
            let result = self.value(&mut when.result);
            term = Some(term.map_or(result, |term| term.or(result)));
        }
        if let Some(other) = else_result {
            let result = self.value(other);
            term = Some(term.map_or(result, |term| term.or(result)));
        }
        let term = term.unwrap_or(Term::free(None));
        if same { term } else { Term::free(term.ty) }
    }

    /// A call that is no aggregate.
    fn function(&mut self, expr: &mut Expr) -> Term {
        let Expr::Function(function) = expr else { return Term::free(None) };
        let name = function.name.to_string();
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        let scalar = knows_function(&name.to_ascii_lowercase()) || is("coalesce") || is("nullif") || is("abs");
        let plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
        let terms: Option<Vec<Term>> = match &mut function.args {
            FunctionArguments::List(list) if scalar && plain && list.clauses.is_empty() => {
                let argument = |argument: &mut FunctionArg| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(self.value(expr)),
                    _ => None,
                };
                list.args.iter_mut().map(argument).collect()
            }
            _ => None,
        };
        let Some(terms) = terms else { return self.opaque(expr) };
        let joined = terms.iter().copied().reduce(Term::or).unwrap_or(Term::same(None));
        let same = terms.iter().all(|term| term.is_same());
        if is("coalesce") {
            // The same argument is taken, before and after.
            let kept = same || (joined.ty == Some(SqlType::Int) && joined.change.nulls == Trend::Same);
            return if kept { joined } else { Term::free(joined.ty) };
        }
        // The absolute value of the least integer is an error.
        let (ty, nonnegative, bits) = if is("abs") { (joined.ty, true, joined.bits) } else { (None, false, ANY) };
        if same { Term { nonnegative, bits, ..Term::same(ty) } } else { Term::free(ty) }
    }

    fn aggregate(&mut self, aggregate: Aggregate, expr: &mut Expr) -> Term {
        let Expr::Function(function) = expr else { return Term::free(None) };
        let Some(scope) = self.scopes.last_mut().filter(|scope| scope.grouped) else {
            self.lost = true;
            return Term::free(None);
        };
        let mut rows = scope.rows;
        scope.grouped = false;
        let own: Vec<String> = scope.entries.iter().map(|entry| entry.alias.to_ascii_lowercase()).collect();
        let FunctionArguments::List(list) = &mut function.args else { return Term::free(None) };
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let star = matches!(list.args.as_slice(), [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        let unusual = !list.clauses.is_empty() || !function.within_group.is_empty();
        let term = match list.args.as_mut_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => {
                let mut qualifiers = Qualifiers(Vec::new());
                // It never ends early.
                let _ = walk(argument, &mut qualifiers);
                let foreign = |name: &String| !own.contains(&name.to_ascii_lowercase());
                // An aggregate of outer columns alone is the outer query's.
                self.lost |= !qualifiers.0.is_empty() && qualifiers.0.iter().all(foreign);
                self.operand(argument)
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Term::same(Some(SqlType::Int)),
            _ => Term::free(None),
        };
        if let Some(filter) = &mut function.filter {
            rows = rows.and(self.condition(filter).yes);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.grouped = true;
        }
        let ty = aggregate.ty(term.ty);
        if unusual {
            return if term.is_same() { self.opaque(expr) } else { Term::free(ty) };
        }
        let overflows = self.takes.overflow && term.bits > INTEGER;
        let rounds = |aggregate: Option<Aggregate>| overflows && aggregate == Some(Aggregate::Sum);
        let mut change = if rounds(Some(aggregate)) { Change::FREE } else { aggregate.change(distinct, term, rows) };
        let bits = aggregate.bits(term.bits);
        let nonnegative = aggregate == Aggregate::Count || term.nonnegative;
        let mut result = Term { change, ty, nonnegative, bits };
        if star {
            return result;
        }
        for (mutator, direction, after, of_distinct) in others(aggregate, distinct, term) {
            let changed = changed(function, after, of_distinct);
            let before = function.clone();
            if self.takes(mutator, &before, &changed) {
                // An average is bounded by what it is of, if that is the same.
                if aggregate == Aggregate::Avg && term.is_same() && rows == Trend::Same {
                    change = Change::SAME;
                }
                let average = aggregate == Aggregate::Avg || after == Some(Aggregate::Avg);
                let ty = if average { Some(SqlType::Real) } else { ty };
                let bits = after.map_or(ROWS, |after| after.bits(term.bits));
                change = if rounds(after) { Change::FREE } else { change.and(mutator.value(direction)) };
                result = Term { change, ty, nonnegative, bits };
                *function = changed;
                break;
            }
        }
        result
    }
}

/// What mutators make of an aggregate: another one, or COUNT(*), of distinct values or not.
fn others(
    aggregate: Aggregate,
    distinct: bool,
    term: Term,
) -> Vec<(&'static Mutator, Direction, Option<Aggregate>, bool)> {
    use Direction::{Over, Under};
    let int = term.ty == Some(SqlType::Int);
    let sums = int && term.nonnegative;
    let mut all = Vec::new();
    match aggregate {
        Aggregate::Count if distinct => all.push((&mutators::COUNT_DISTINCT, Over, Some(Aggregate::Count), false)),
        Aggregate::Count => {
            all.push((&mutators::COUNT_DISTINCT, Under, Some(Aggregate::Count), true));
            all.push((&mutators::COUNT, Over, None, false));
        }
        Aggregate::Avg if int && !distinct => {
            all.push((&mutators::AVG_MAX, Over, Some(Aggregate::Max), false));
            all.push((&mutators::MIN_AVG, Under, Some(Aggregate::Min), false));
        }
        Aggregate::Min if term.is_number() => {
            all.push((&mutators::MIN_MAX, Over, Some(Aggregate::Max), false));
            if int {
                all.push((&mutators::MIN_AVG, Over, Some(Aggregate::Avg), false));
            }
        }
        Aggregate::Max if term.is_number() => {
            all.push((&mutators::MIN_MAX, Under, Some(Aggregate::Min), false));
            if int {
                all.push((&mutators::AVG_MAX, Under, Some(Aggregate::Avg), false));
            }
            if sums {
                all.push((&mutators::MAX_SUM, Over, Some(Aggregate::Sum), false));
            }
        }
        Aggregate::Sum if sums => {
            all.push((&mutators::SUM_DISTINCT, if distinct { Over } else { Under }, Some(Aggregate::Sum), !distinct));
            if !distinct {
                all.push((&mutators::MAX_SUM, Under, Some(Aggregate::Max), false));
            }
        }
        Aggregate::Avg | Aggregate::Min | Aggregate::Max | Aggregate::Sum => {}
    }
    all
}

/// The call of another aggregate, or of COUNT(*).
fn changed(function: &Function, after: Option<Aggregate>, distinct: bool) -> Function {
    let mut function = function.clone();
    function.name = after.unwrap_or(Aggregate::Count).name();
    if let FunctionArguments::List(list) = &mut function.args {
        list.duplicate_treatment = distinct.then_some(DuplicateTreatment::Distinct);
        if after.is_none() {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)];
        }
    }
    function
}

/// How `+`, `-` and `*` change with their operands. Only whole numbers are in a known order after it.
fn arithmetic(op: &BinaryOperator, left: (Term, Option<i64>), right: (Term, Option<i64>)) -> Term {
    let ((l, l_literal), (r, r_literal)) = (left, right);
    let ty = match (l.ty, r.ty) {
        (Some(SqlType::Int), Some(SqlType::Int)) => Some(SqlType::Int),
        _ if l.is_number() && r.is_number() => Some(SqlType::Real),
        _ => None,
    };
    let reversed = |change: Change| Change { order: change.order.reversed(), ..change };
    let (change, ty, nonnegative) = match op {
        BinaryOperator::Plus => (l.change.and(r.change), ty, l.nonnegative && r.nonnegative),
        BinaryOperator::Minus => (l.change.and(reversed(r.change)), ty, false),
        BinaryOperator::Multiply => {
            let change = match (l_literal, r_literal) {
                _ if l.nonnegative && r.nonnegative => l.change.and(r.change),
                (_, Some(k)) => {
                    if k < 0 {
                        reversed(l.change)
                    } else {
                        l.change
                    }
                }
                (Some(k), _) => {
                    if k < 0 {
                        reversed(r.change)
                    } else {
                        r.change
                    }
                }
                _ if l.is_same() && r.is_same() => Change::SAME,
                _ => Change::FREE,
            };
            (change, ty, l.nonnegative && r.nonnegative)
        }
        _ if l.is_same() && r.is_same() => (Change::SAME, None, false),
        _ => (Change::FREE, None, false),
    };
    let bits = match op {
        BinaryOperator::Plus | BinaryOperator::Minus => l.bits.max(r.bits).saturating_add(1),
        BinaryOperator::Multiply => l.bits.saturating_add(r.bits),
        _ => ANY,
    };
    let known = change == Change::SAME || ty == Some(SqlType::Int);
    if known { Term { change, ty, nonnegative, bits } } else { Term::free(ty) }
}
