//! Window functions.

use super::*;
use crate::ir::WindowFunction;

fn window(name: &str, args: Vec<Expr>, order: Vec<OrderKey>, frame: Option<&str>) -> WindowFunction {
    WindowFunction {
        name: name.to_owned(),
        args,
        partition: vec![col(0)],
        order,
        frame: frame.map(ToOwned::to_owned),
        ty: Type::Integer,
    }
}

/// The second column and the result for each row of two partitions.
fn results(function: WindowFunction) -> Result<Vec<Row>, EvalError> {
    let rows = vec![row![1, 1], row![1, 2], row![1, 2], row![1, 5], row![2, 7], row![2, N]];
    let plan = Plan::Window { input: Box::new(scan(0, 2)), functions: vec![function] };
    run(plan.project(vec![col(1), col(2)]), &db(vec![rows]))
}

#[track_caller]
fn expect_window(function: WindowFunction, expected: &[Row]) {
    let found = results(function).unwrap();
    assert!(same_bag(&found, expected), "{found:?} instead of {expected:?}");
}

fn by_second() -> Vec<OrderKey> {
    vec![nulls_last(asc(col(1)))]
}

#[test]
fn ranks() {
    let of = |name: &str| window(name, vec![], by_second(), None);
    expect_window(of("row_number"), &[row![1, 1], row![2, 2], row![2, 3], row![5, 4], row![7, 1], row![N, 2]]);
    expect_window(of("rank"), &[row![1, 1], row![2, 2], row![2, 2], row![5, 4], row![7, 1], row![N, 2]]);
    expect_window(of("dense_rank"), &[row![1, 1], row![2, 2], row![2, 2], row![5, 3], row![7, 1], row![N, 2]]);
    let third = decimal(1, 3);
    expect_window(
        of("percent_rank"),
        &[row![1, 0], row![2, third.clone()], row![2, third], row![5, 1], row![7, 0], row![N, 1]],
    );
    let half = decimal(1, 2);
    expect_window(
        of("cume_dist"),
        &[
            row![1, decimal(1, 4)],
            row![2, decimal(3, 4)],
            row![2, decimal(3, 4)],
            row![5, 1],
            row![7, half],
            row![N, 1],
        ],
    );
    let ntile = window("ntile", vec![int(3)], by_second(), None);
    expect_window(ntile, &[row![1, 1], row![2, 1], row![2, 2], row![5, 3], row![7, 1], row![N, 2]]);
}

#[test]
fn positions_among_ties_are_open() {
    let of = |name: &str, args| results(window(name, args, vec![asc(col(0))], None));
    assert!(matches!(of("row_number", vec![]), Err(EvalError::NotDeterministic(_))));
    assert!(matches!(of("lag", vec![col(1)]), Err(EvalError::NotDeterministic(_))));
    assert!(matches!(of("first_value", vec![col(1)]), Err(EvalError::NotDeterministic(_))));
    assert!(of("first_value", vec![col(0)]).is_ok());
    assert!(of("rank", vec![]).is_ok());
    let rows = results(window("sum", vec![col(1)], vec![asc(col(0))], Some("rows unbounded preceding")));
    assert!(matches!(rows, Err(EvalError::NotDeterministic(_))));
}

#[test]
fn the_place_of_nulls_is_noted_where_it_is_not_written() {
    let opaque = |name: &str, frame: Option<&str>, order: Vec<OrderKey>, rows: Vec<Row>| {
        let function = window(name, if name == "rank" { vec![] } else { vec![col(1)] }, order, frame);
        let plan = Plan::Window { input: Box::new(scan(0, 2)), functions: vec![function] };
        let outcome = evaluate(&query(plan), &db(vec![rows]), 1, FUEL).unwrap();
        outcome.opaque.into_iter().collect::<Vec<_>>()
    };
    let mixed = || vec![row![1, 1], row![1, N], row![2, 3]];
    let order = || vec![asc(col(1))];
    assert_eq!(opaque("rank", None, order(), mixed()), ["order of NULLs"]);
    assert_eq!(opaque("sum", None, order(), mixed()), ["order of NULLs"]);
    let whole = Some("rows between unbounded preceding and unbounded following");
    assert_eq!(opaque("first_value", whole, order(), mixed()), ["order of NULLs"]);
    assert!(opaque("sum", whole, order(), mixed()).is_empty());
    assert!(opaque("rank", None, by_second(), mixed()).is_empty());
    assert!(opaque("rank", None, order(), vec![row![1, N], row![1, N], row![2, 3], row![2, 4]]).is_empty());
}

#[test]
fn offsets_and_values() {
    let of = |name: &str, args| window(name, args, by_second(), None);
    expect_window(of("lag", vec![col(1)]), &[row![1, N], row![2, 1], row![2, 2], row![5, 2], row![7, N], row![N, 7]]);
    expect_window(
        of("lead", vec![col(1), int(2), int(-1)]),
        &[row![1, 2], row![2, 5], row![2, -1], row![5, -1], row![7, -1], row![N, -1]],
    );
    expect_window(
        of("last_value", vec![col(1)]),
        &[row![1, 1], row![2, 2], row![2, 2], row![5, 5], row![7, 7], row![N, N]],
    );
    expect_window(
        of("nth_value", vec![col(1), int(2)]),
        &[row![1, N], row![2, 2], row![2, 2], row![5, 2], row![7, N], row![N, N]],
    );
}

#[test]
fn aggregates_over_frames() {
    let sum = |order, frame| window("sum", vec![col(1)], order, frame);
    expect_window(sum(by_second(), None), &[row![1, 1], row![2, 5], row![2, 5], row![5, 10], row![7, 7], row![N, 7]]);
    expect_window(sum(vec![], None), &[row![1, 10], row![2, 10], row![2, 10], row![5, 10], row![7, 7], row![N, 7]]);
    expect_window(
        sum(by_second(), Some("rows between 1 preceding and current row")),
        &[row![1, 1], row![2, 3], row![2, 4], row![5, 7], row![7, 7], row![N, 7]],
    );
    expect_window(
        sum(by_second(), Some("rows between 1 following and unbounded following")),
        &[row![1, 9], row![2, 7], row![2, 5], row![5, N], row![7, N], row![N, N]],
    );
    expect_window(
        sum(by_second(), Some("range between 1 preceding and 1 following")),
        &[row![1, 5], row![2, 5], row![2, 5], row![5, 5], row![7, 7], row![N, N]],
    );
    expect_window(
        sum(vec![nulls_last(desc(col(1)))], Some("range between unbounded preceding and current row")),
        &[row![1, 10], row![2, 9], row![2, 9], row![5, 5], row![7, 7], row![N, 7]],
    );
    // Where no key is near enough, unbounded frames hold the NULLs at their end.
    let count = |order, frame| window("count", vec![], order, Some(frame));
    expect_window(
        count(
            vec![OrderKey { nulls_first: Some(true), ..asc(col(1)) }],
            "range between unbounded preceding and 1 preceding",
        ),
        &[row![1, 0], row![2, 1], row![2, 1], row![5, 3], row![7, 1], row![N, 1]],
    );
    expect_window(
        count(by_second(), "range between 1 following and unbounded following"),
        &[row![1, 3], row![2, 1], row![2, 1], row![5, 0], row![7, 1], row![N, 1]],
    );
    expect_window(
        window("count", vec![], vec![], None),
        &[row![1, 4], row![2, 4], row![2, 4], row![5, 4], row![7, 2], row![N, 2]],
    );
    for frame in ["groups 1 preceding", "rows between 1 preceding and current row exclude ties", "rows x preceding"] {
        assert!(matches!(results(sum(by_second(), Some(frame))), Err(EvalError::Unsupported(_))), "{frame}");
    }
}
