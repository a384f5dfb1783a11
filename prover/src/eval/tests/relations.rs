//! Joins, set operations, grouping and LIMIT.

use super::*;
use crate::ir::{Aggregate, AggregateFunction, SetOp};

fn two_tables() -> Database {
    db(vec![vec![row![1, 10], row![2, 20], row![N, 30]], vec![row![1, 5], row![1, 6], row![3, 7], row![N, 8]]])
}

fn same_key() -> Expr {
    eq(col(0), col(2))
}

#[test]
fn joins() {
    let db = two_tables();
    let of = |kind| join(kind, scan(0, 2), scan(1, 2), same_key());
    let inner = [row![1, 10, 1, 5], row![1, 10, 1, 6]];
    let left = [row![2, 20, N, N], row![N, 30, N, N]];
    let right = [row![N, N, 3, 7], row![N, N, N, 8]];
    expect(of(JoinKind::Inner), &db, &inner);
    expect(of(JoinKind::Left), &db, &[&inner[..], &left].concat());
    expect(of(JoinKind::Right), &db, &[&inner[..], &right].concat());
    expect(of(JoinKind::Full), &db, &[&inner[..], &left, &right].concat());
    expect(of(JoinKind::Semi), &db, &[row![1, 10]]);
    expect(of(JoinKind::Anti), &db, &[row![2, 20], row![N, 30]]);
    expect(cross(scan(0, 2), scan(0, 2)).project(vec![int(1)]), &db, &vec![row![1]; 9]);
}

#[test]
fn filters_above_outer_joins_see_the_padding() {
    let db = two_tables();
    let left = join(JoinKind::Left, scan(0, 2), scan(1, 2), same_key());
    expect(left.filter(Expr::IsNull(Box::new(col(3)))).project(vec![col(1)]), &db, &[row![20], row![30]]);
    let nested =
        join(JoinKind::Left, scan(0, 2), join(JoinKind::Right, scan(0, 2), scan(1, 2), same_key()), eq(col(0), col(4)));
    expect(
        nested,
        &db,
        &[row![1, 10, 1, 10, 1, 5], row![1, 10, 1, 10, 1, 6], row![2, 20, N, N, N, N], row![N, 30, N, N, N, N]],
    );
    let constant = join(JoinKind::Left, scan(0, 2), scan(1, 2), Expr::bool(false));
    expect(constant.project(vec![col(1), col(3)]), &db, &[row![10, N], row![20, N], row![30, N]]);
}

/// Flattening and reordering must not change a result; the same joins are forced apart by DISTINCT over unique rows.
#[test]
fn flattened_joins_equal_joins_one_by_one() {
    let db = two_tables();
    let kinds = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Semi, JoinKind::Anti];
    for first in kinds {
        for second in kinds {
            for third in kinds {
                let build = |wrap: &dyn Fn(Plan) -> Plan| {
                    let a = wrap(join(first, scan(0, 2), scan(1, 2), same_key()));
                    let width = a.types().len();
                    let on = Expr::And(vec![eq(col(0), col(width)), compare(CompareOp::Lt, col(1), col(width + 1))]);
                    let b = wrap(join(second, a, scan(0, 2), on));
                    let c = wrap(join(third, scan(1, 2), b, compare(CompareOp::Le, col(0), col(2))));
                    c.filter(Expr::Not(Box::new(eq(col(1), int(7)))))
                };
                let flat = run(build(&|p| p), &db).unwrap();
                let apart = run(build(&|p| Plan::Distinct(Box::new(p))), &db).unwrap();
                assert!(same_bag(&flat, &apart), "{first:?} {second:?} {third:?}: {flat:?} instead of {apart:?}");
            }
        }
    }
}

#[test]
fn lateral_inputs_see_the_left_row() {
    let db = two_tables();
    let right = scan(1, 2).filter(eq(col(0), outer(1, 0))).project(vec![col(1), outer(1, 1)]);
    let lateral = |kind| Plan::Join {
        kind,
        left: Box::new(scan(0, 2)),
        right: Box::new(right.clone()),
        on: compare(CompareOp::Gt, col(2), int(5)),
        lateral: true,
    };
    expect(lateral(JoinKind::Inner), &db, &[row![1, 10, 6, 10]]);
    expect(lateral(JoinKind::Left), &db, &[row![1, 10, 6, 10], row![2, 20, N, N], row![N, 30, N, N]]);
    expect(lateral(JoinKind::Semi), &db, &[row![1, 10]]);
    expect(lateral(JoinKind::Anti), &db, &[row![2, 20], row![N, 30]]);
    let chained = cross(lateral(JoinKind::Inner), scan(1, 2)).filter(eq(col(0), col(4)));
    expect(chained, &db, &[row![1, 10, 6, 10, 1, 5], row![1, 10, 6, 10, 1, 6]]);
}

#[test]
fn set_operations_count_rows_and_nulls_are_the_same() {
    let db =
        db(vec![vec![row![1], row![1], row![1], row![2], row![N], row![N]], vec![row![1], row![1], row![3], row![N]]]);
    let of = |op, all| Plan::SetOp {
        op,
        all,
        left: Box::new(scan(0, 1)),
        right: Box::new(scan(1, 1)),
        types: vec![Type::Integer],
    };
    expect(of(SetOp::Union, false), &db, &[row![1], row![2], row![3], row![N]]);
    assert_eq!(run(of(SetOp::Union, true), &db).unwrap().len(), 10);
    expect(of(SetOp::Intersect, false), &db, &[row![1], row![N]]);
    expect(of(SetOp::Intersect, true), &db, &[row![1], row![1], row![N]]);
    expect(of(SetOp::Except, false), &db, &[row![2]]);
    expect(of(SetOp::Except, true), &db, &[row![1], row![2], row![N]]);
    expect(Plan::Distinct(Box::new(scan(0, 1))), &db, &[row![1], row![2], row![N]]);
}

fn aggregate(function: AggregateFunction, ty: Type) -> Aggregate {
    let args = if function == AggregateFunction::CountStar { vec![] } else { vec![col(1)] };
    Aggregate { function, distinct: false, args, filter: None, ty }
}

fn all_aggregates() -> Vec<Aggregate> {
    vec![
        aggregate(AggregateFunction::CountStar, Type::Integer),
        aggregate(AggregateFunction::Count, Type::Integer),
        aggregate(AggregateFunction::Sum, Type::Integer),
        aggregate(AggregateFunction::Min, Type::Integer),
        aggregate(AggregateFunction::Max, Type::Integer),
        aggregate(AggregateFunction::Avg, Type::Decimal),
    ]
}

#[test]
fn groups() {
    let db = db(vec![vec![row![1, 4], row![1, 4], row![1, N], row![2, N], row![N, 1], row![N, 2]]]);
    let of = |input: Plan, keys: Vec<Expr>, aggregates| Plan::Aggregate { input: Box::new(input), keys, aggregates };
    let grouped = of(scan(0, 2), vec![col(0)], all_aggregates());
    expect(
        grouped,
        &db,
        &[row![1, 3, 2, 8, 4, 4, 4], row![2, 1, 0, N, N, N, N], row![N, 2, 2, 3, 1, 2, decimal(3, 2)]],
    );
    let empty = scan(0, 2).filter(Expr::bool(false));
    expect(of(empty.clone(), vec![], all_aggregates()), &db, &[row![0, 0, N, N, N, N]]);
    expect(of(empty, vec![col(0)], all_aggregates()), &db, &[]);
    let mut distinct = aggregate(AggregateFunction::Sum, Type::Integer);
    distinct.distinct = true;
    let mut filtered = aggregate(AggregateFunction::Count, Type::Integer);
    filtered.filter = Some(compare(CompareOp::Gt, col(1), int(1)));
    expect(of(scan(0, 2), vec![], vec![distinct, filtered]), &db, &[row![7, 3]]);
}

#[test]
fn other_aggregates() {
    let plan = |name: &str, ty: Type| Plan::Aggregate {
        input: Box::new(Plan::Scan { table: 0, types: vec![ty.clone()] }),
        keys: vec![],
        aggregates: vec![Aggregate {
            function: AggregateFunction::Other(name.to_owned()),
            distinct: false,
            args: vec![Expr::column(0, ty.clone())],
            filter: None,
            ty,
        }],
    };
    let truths = db(vec![vec![row![true], row![false], row![N]]]);
    expect(plan("bool_and", Type::Boolean), &truths, &[row![false]]);
    expect(plan("bool_or", Type::Boolean), &truths, &[row![true]]);
    let numbers = db(vec![vec![row![6], row![3]]]);
    expect(plan("bit_and", Type::Integer), &numbers, &[row![2]]);
    expect(plan("bit_or", Type::Integer), &numbers, &[row![7]]);
    // MySQL and MariaDB have bits for a group without values, of which others have NULL, and no negative numbers.
    for values in [vec![row![N]], vec![], vec![row![-1], row![3]]] {
        for name in ["bit_and", "bit_or", "bit_xor"] {
            let outcome = evaluate(&query(plan(name, Type::Integer)), &db(vec![values.clone()]), 1, FUEL).unwrap();
            assert!(outcome.opaque.contains(name), "{name} {values:?}");
        }
    }
    let unknown = |db: &Database, seed| {
        let outcome = evaluate(&query(plan("stddev_pop", Type::Integer)), db, seed, FUEL).unwrap();
        assert_eq!(outcome.opaque.into_iter().collect::<Vec<_>>(), ["stddev_pop"]);
        outcome.rows
    };
    let reversed = db(vec![vec![row![N], row![3], row![6]]]);
    assert_eq!(unknown(&numbers, 5), unknown(&reversed, 5));
    let meanings: BTreeSet<_> = (0..50).map(|seed| unknown(&numbers, seed)).collect();
    assert!(meanings.len() > 2);
}

fn limit(order: Vec<OrderKey>, limit: Option<u64>, offset: u64) -> Plan {
    Plan::Limit { input: Box::new(scan(0, 2)), order, limit, offset }
}

#[test]
fn limits_are_determinate_unless_they_cut_ties() {
    let db = db(vec![vec![row![2, 1], row![1, 1], row![N, 1], row![1, 2], row![3, 3], row![3, 3]]]);
    let ascending = || nulls_last(asc(col(0)));
    expect(limit(vec![ascending()], Some(2), 0), &db, &[row![1, 1], row![1, 2]]);
    expect(limit(vec![ascending()], Some(2), 2), &db, &[row![2, 1], row![3, 3]]);
    expect(limit(vec![ascending()], None, 5), &db, &[row![N, 1]]);
    expect(limit(vec![nulls_last(desc(col(0)))], None, 5), &db, &[row![N, 1]]);
    let first = OrderKey { nulls_first: Some(true), ..asc(col(0)) };
    expect(limit(vec![first], Some(1), 0), &db, &[row![N, 1]]);
    assert!(matches!(run(limit(vec![asc(col(0))], Some(1), 0), &db), Err(EvalError::NotDeterministic(_))));
    assert!(matches!(run(limit(vec![asc(col(0))], Some(4), 1), &db), Err(EvalError::NotDeterministic(_))));
    assert!(matches!(run(limit(vec![], Some(1), 0), &db), Err(EvalError::NotDeterministic(_))));
    expect(limit(vec![], Some(0), 1), &db, &[]);
    expect(limit(vec![], Some(9), 6), &db, &[]);
    expect(limit(vec![ascending(), asc(col(1))], Some(1), 0), &db, &[row![1, 1]]);
}

#[test]
fn a_limit_that_rests_on_the_place_of_nulls_is_noted() {
    let some = db(vec![vec![row![2, 1], row![N, 2]]]);
    let none = db(vec![vec![row![N, 1], row![N, 2]]]);
    let noted = |plan: Plan, db: &Database| {
        let outcome = evaluate(&query(plan), db, 1, FUEL).unwrap();
        outcome.opaque.contains("order of NULLs")
    };
    let by = |key: OrderKey| vec![key, asc(col(1))];
    assert!(noted(limit(by(asc(col(0))), Some(1), 0), &some));
    assert!(noted(limit(by(desc(col(0))), None, 1), &some));
    assert!(!noted(limit(by(asc(col(0))), Some(2), 0), &some));
    assert!(!noted(limit(by(nulls_last(asc(col(0)))), Some(1), 0), &some));
    assert!(!noted(limit(by(asc(col(0))), Some(1), 0), &none));
    let order = by(asc(col(0)));
    let outermost = Query { order, ..query(scan(0, 2)) };
    assert!(evaluate(&outermost, &some, 1, FUEL).unwrap().opaque.is_empty());
}

#[test]
fn a_single_value_is_that_of_the_only_row() {
    let plan = Plan::Aggregate {
        input: Box::new(scan(0, 2)),
        keys: vec![],
        aggregates: vec![aggregate(AggregateFunction::Other("single_value".to_owned()), Type::Integer)],
    };
    expect(plan.clone(), &db(vec![vec![]]), &[row![N]]);
    expect(plan.clone(), &db(vec![vec![row![1, 5]]]), &[row![5]]);
    expect(plan.clone(), &db(vec![vec![row![1, N]]]), &[row![N]]);
    for second in [Value::int(5), Value::Null] {
        let two = db(vec![vec![row![1, 5], row![1, second]]]);
        assert_eq!(run(plan.clone(), &two), Err(EvalError::ScalarSubqueryRows));
    }
}

#[test]
fn the_outermost_order_sorts_and_hides_its_columns() {
    let db = two_tables();
    let plan = scan(0, 2);
    let query = Query { plan, visible: 1, order: vec![desc(col(1))], assumptions: BTreeSet::new() };
    let outcome = evaluate(&query, &db, 1, FUEL).unwrap();
    assert!(outcome.ordered);
    assert_eq!(outcome.rows, [row![N], row![2], row![1]]);
}

#[test]
fn bags_compare_numbers_by_value() {
    let (one, third) = (BigRational::from_integer(1.into()), decimal(1, 3));
    assert!(same_bag(&[row![1], row![N]], &[row![N], row![Value::Number(one)]]));
    assert!(same_bag(&[row![Value::Double(0.3)]], &[row![Value::Double(0.1 + 0.2)]]));
    assert!(same_bag(&[row![third]], &[row![Value::Double(1.0 / 3.0)]]));
    assert!(!same_bag(&[row![1], row![1], row![2]], &[row![1], row![2], row![2]]));
    assert!(!same_bag(&[row![1]], &[row!["1"]]));
    assert!(!same_bag(&[row![0]], &[row![N]]));
    assert!(!same_bag(&[row![1]], &[row![true]]));
}
