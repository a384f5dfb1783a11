//! Three-valued logic, comparisons, arithmetic, CASE and subqueries in expressions.

use super::*;
use crate::ir::ArithmeticOp;

const T: Option<bool> = Some(true);
const F: Option<bool> = Some(false);
const U: Option<bool> = None;

fn truth(value: Option<bool>) -> Expr {
    Expr::Literal(value.map_or(Value::Null, Value::Bool), Type::Boolean)
}

#[track_caller]
fn expect_truth(expr: Expr, value: Option<bool>) {
    expect_value(expr, value.map_or(Value::Null, Value::Bool));
}

fn values(values: &[Option<i64>]) -> Plan {
    let row = |v: &Option<i64>| vec![lit(v.value())];
    Plan::Values { types: vec![Type::Integer], rows: values.iter().map(row).collect() }
}

fn quantified(left: Option<i64>, op: CompareOp, all: bool, right: &[Option<i64>]) -> Expr {
    Expr::Quantified { row: vec![lit(left.value())], op, all, query: Box::new(values(right)) }
}

fn arithmetic(op: ArithmeticOp, a: Expr, b: Expr, ty: Type) -> Expr {
    Expr::Arithmetic(op, Box::new(a), Box::new(b), ty)
}

#[test]
fn connectives_follow_kleene() {
    for (a, b, and, or) in [(T, T, T, T), (T, F, F, T), (T, U, U, T), (F, F, F, F), (F, U, F, U), (U, U, U, U)] {
        for (a, b) in [(a, b), (b, a)] {
            expect_truth(Expr::And(vec![truth(a), truth(b)]), and);
            expect_truth(Expr::Or(vec![truth(a), truth(b)]), or);
        }
    }
    expect_truth(Expr::And(vec![]), T);
    expect_truth(Expr::Or(vec![]), F);
    for (a, not, is_true, is_false) in [(T, F, T, F), (F, T, F, T), (U, U, F, F)] {
        expect_truth(Expr::Not(Box::new(truth(a))), not);
        expect_truth(Expr::IsTruth(Box::new(truth(a)), true), is_true);
        expect_truth(Expr::IsTruth(Box::new(truth(a)), false), is_false);
    }
}

#[test]
fn comparisons_are_null_on_null_and_same_is_not() {
    expect_truth(eq(int(1), int(1)), T);
    expect_truth(eq(int(1), null()), U);
    expect_truth(eq(null(), null()), U);
    expect_truth(compare(CompareOp::Lt, truth(F), truth(T)), T);
    expect_truth(compare(CompareOp::Ge, text("a"), text("B")), T);
    expect_truth(eq(lit(Value::int(1)), lit(Value::Double(1.0))), T);
    let same = |a: Expr, b: Expr| Expr::Same(Box::new(a), Box::new(b));
    expect_truth(same(null(), null()), T);
    expect_truth(same(null(), int(0)), F);
    expect_truth(same(int(2), int(2)), T);
    expect_truth(Expr::IsNull(Box::new(null())), T);
    assert!(matches!(value_of(eq(int(1), text("1"))), Err(EvalError::Unsupported(_))));
    assert!(matches!(value_of(Expr::Not(Box::new(text("x")))), Err(EvalError::Unsupported(_))));
}

#[test]
fn arithmetic_truncates_and_stays_exact() {
    let integer = |op, a, b| arithmetic(op, int(a), int(b), Type::Integer);
    expect_value(integer(ArithmeticOp::Div, -8, 2), -4);
    expect_value(integer(ArithmeticOp::Rem, 7, 2), 1);
    expect_value(integer(ArithmeticOp::Rem, -8, 2), 0);
    expect_value(arithmetic(ArithmeticOp::Div, int(-7), int(2), Type::Decimal), decimal(-7, 2));
    expect_value(arithmetic(ArithmeticOp::Div, int(-7), int(2), Type::Double), Value::Double(-3.5));
    expect_value(arithmetic(ArithmeticOp::Add, int(1), null(), Type::Integer), N);
    let large = value_of(integer(ArithmeticOp::Mul, i64::MAX, 4)).unwrap().0;
    assert_eq!(large.to_string(), "36893488147419103228");
    assert_eq!(value_of(integer(ArithmeticOp::Div, 1, 0)), Err(EvalError::DivisionByZero));
    assert_eq!(value_of(integer(ArithmeticOp::Rem, 1, 0)), Err(EvalError::DivisionByZero));
    let back = arithmetic(ArithmeticOp::Div, integer(ArithmeticOp::Mul, i64::MAX, 4), int(4), Type::Integer);
    expect_value(back, i64::MAX);
}

#[test]
fn what_engines_divide_differently_is_noted() {
    let noted = |op, a, b, ty: Type| {
        let plan = Plan::Values { types: vec![ty.clone()], rows: vec![vec![arithmetic(op, int(a), int(b), ty)]] };
        let outcome = evaluate(&query(plan), &Database::default(), 1, FUEL).unwrap();
        (outcome.rows[0][0].clone(), outcome.opaque.into_iter().collect::<Vec<_>>().concat())
    };
    let quotient = |a, b| noted(ArithmeticOp::Div, a, b, Type::Integer);
    let remainder = |a, b| noted(ArithmeticOp::Rem, a, b, Type::Integer);
    assert_eq!(quotient(-7, 2), (Value::int(-3), "/".to_owned()));
    assert_eq!(quotient(1, 3), (Value::int(0), "/".to_owned()));
    assert_eq!(remainder(-7, 2), (Value::int(-1), "%".to_owned()));
    assert_eq!(remainder(7, -2), (Value::int(1), "%".to_owned()));
    assert_eq!(noted(ArithmeticOp::Div, 7, 2, Type::Decimal), (decimal(7, 2), String::new()));
    assert_eq!(noted(ArithmeticOp::Div, 7, 2, Type::Unknown), (Value::int(3), "/".to_owned()));
}

#[test]
fn case_takes_the_first_true_branch_and_evaluates_no_other() {
    let one_by_zero = arithmetic(ArithmeticOp::Div, int(1), int(0), Type::Integer);
    let case = Expr::Case {
        branches: vec![(truth(U), int(1)), (truth(T), int(2)), (truth(T), one_by_zero.clone())],
        otherwise: Box::new(one_by_zero),
        ty: Type::Integer,
    };
    expect_value(case, 2);
}

#[test]
fn any_and_all() {
    for (left, op, all, right, result) in [
        (Some(1), CompareOp::Eq, false, vec![], F),
        (None, CompareOp::Eq, false, vec![], F),
        (Some(1), CompareOp::Eq, false, vec![Some(1), None], T),
        (Some(1), CompareOp::Eq, false, vec![Some(2), None], U),
        (Some(1), CompareOp::Eq, false, vec![Some(2)], F),
        (None, CompareOp::Eq, false, vec![Some(2)], U),
        (Some(1), CompareOp::Ne, true, vec![], T),
        (None, CompareOp::Ne, true, vec![], T),
        (Some(1), CompareOp::Ne, true, vec![Some(2), None], U),
        (Some(1), CompareOp::Ne, true, vec![Some(1), None], F),
        (Some(3), CompareOp::Gt, true, vec![Some(1), Some(2)], T),
        (Some(2), CompareOp::Gt, true, vec![Some(1), Some(2)], F),
        (Some(2), CompareOp::Gt, false, vec![Some(1), Some(2)], T),
    ] {
        expect_truth(quantified(left, op, all, &right), result);
    }
}

#[test]
fn row_values_compare_column_by_column() {
    let rows = |rows: &[(Option<i64>, Option<i64>)]| {
        let row = |(a, b): &(Option<i64>, Option<i64>)| vec![lit(a.value()), lit(b.value())];
        Plan::Values { types: vec![Type::Integer; 2], rows: rows.iter().map(row).collect() }
    };
    let any = |a: Option<i64>, b: Option<i64>, right: &[(Option<i64>, Option<i64>)], all| Expr::Quantified {
        row: vec![lit(a.value()), lit(b.value())],
        op: if all { CompareOp::Ne } else { CompareOp::Eq },
        all,
        query: Box::new(rows(right)),
    };
    expect_truth(any(Some(1), Some(2), &[(Some(1), Some(2))], false), T);
    expect_truth(any(Some(1), Some(2), &[(Some(1), None)], false), U);
    expect_truth(any(Some(1), Some(2), &[(Some(3), None)], false), F);
    expect_truth(any(Some(1), None, &[(Some(3), Some(1))], true), T);
    expect_truth(any(Some(1), None, &[(Some(1), Some(1))], true), U);
    expect_truth(any(Some(1), Some(1), &[(Some(1), Some(1))], true), F);
    let ordered = Expr::Quantified {
        row: vec![int(1), int(1)],
        op: CompareOp::Lt,
        all: false,
        query: Box::new(rows(&[(Some(1), Some(2))])),
    };
    assert!(matches!(value_of(ordered), Err(EvalError::Unsupported(_))));
}

#[test]
fn scalar_subqueries() {
    let scalar = |rows: &[Option<i64>]| Expr::Scalar(Box::new(values(rows)));
    expect_value(scalar(&[]), N);
    expect_value(scalar(&[Some(3)]), 3);
    assert_eq!(value_of(scalar(&[Some(3), Some(3)])), Err(EvalError::ScalarSubqueryRows));
}

#[test]
fn exists_ignores_what_is_selected_and_which_rows_a_limit_keeps() {
    let limited = |limit, offset| {
        let input = Box::new(values(&[Some(1), Some(2)]));
        Expr::Exists(Box::new(Plan::Limit { input, order: vec![], limit: Some(limit), offset }))
    };
    expect_truth(limited(1, 0), T);
    expect_truth(limited(1, 1), T);
    expect_truth(limited(1, 2), F);
    expect_truth(limited(0, 0), F);
    let one_by_zero = arithmetic(ArithmeticOp::Div, int(1), int(0), Type::Integer);
    expect_truth(Expr::Exists(Box::new(values(&[Some(1)]).project(vec![one_by_zero]))), T);
}

#[test]
fn correlated_subqueries_see_their_outer_rows() {
    // For each row of t: the sum over u with u.a = t.a and an even further correlated EXISTS on t.
    let db =
        db(vec![vec![row![1, 10], row![2, 20], row![N, 30]], vec![row![1, 5], row![1, 6], row![2, 7], row![3, 20]]]);
    let inner = scan(1, 2).filter(eq(col(1), outer(2, 1)));
    let sub = scan(1, 2).filter(Expr::And(vec![eq(col(0), outer(1, 0)), Expr::Exists(Box::new(inner))]));
    expect(scan(0, 2).filter(Expr::Exists(Box::new(sub))), &db, &[row![2, 20]]);
    let count = Plan::Aggregate {
        input: Box::new(scan(1, 2).filter(eq(col(0), outer(1, 0)))),
        keys: vec![],
        aggregates: vec![crate::ir::Aggregate {
            function: crate::ir::AggregateFunction::CountStar,
            distinct: false,
            args: vec![],
            filter: None,
            ty: Type::Integer,
        }],
    };
    let plan = scan(0, 2).project(vec![col(0), Expr::Scalar(Box::new(count))]);
    expect(plan, &db, &[row![1, 2], row![2, 1], row![N, 0]]);
}

#[test]
fn fuel_ends_a_run() {
    let db = db(vec![vec![row![1]; 50]]);
    let plan = cross(cross(scan(0, 1), scan(0, 1)), scan(0, 1));
    assert_eq!(evaluate(&query(plan), &db, 1, 1000), Err(EvalError::OutOfFuel));
}
