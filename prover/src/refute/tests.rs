use proptest::prelude::*;

use super::*;
use crate::ir::{
    Aggregate, AggregateFunction, Column, CompareOp, Expr, ForeignKey, JoinKind, Key, Plan, Table, Type, Value,
};

const FUEL: u64 = 100_000;

fn table(name: &str, columns: &[(&str, Type, bool)]) -> Table {
    let column = |(name, ty, not_null): &(&str, Type, bool)| Column {
        name: (*name).to_owned(),
        ty: ty.clone(),
        not_null: *not_null,
        is_virtual: false,
        decimal: None,
        single: false,
        size: crate::ir::Size::Any,
    };
    Table {
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        keys: vec![],
        foreign_keys: vec![],
        checks: vec![],
    }
}

fn reference(columns: &[usize], parent: usize, parent_columns: &[usize]) -> ForeignKey {
    ForeignKey { columns: columns.to_vec(), parent, parent_columns: parent_columns.to_vec() }
}

/// A table `t` with all types, a child of it, and two tables that refer to each other and to themselves.
fn schema() -> Schema {
    let mut t = table(
        "t",
        &[
            ("id", Type::Integer, true),
            ("a", Type::Integer, false),
            ("b", Type::Decimal, false),
            ("c", Type::Text, false),
            ("d", Type::Date, true),
            ("e", Type::Boolean, false),
            ("f", Type::Double, false),
            ("g", Type::Timestamp, false),
            ("h", Type::Other("json".to_owned()), false),
        ],
    );
    t.keys = vec![Key { columns: vec![0] }, Key { columns: vec![1, 3] }];
    t.checks = vec![compare(CompareOp::Lt, col(1), Expr::int(5))];
    let mut child = table("child", &[("t_id", Type::Integer, false), ("x y", Type::Integer, true)]);
    child.foreign_keys = vec![reference(&[0], 0, &[0])];
    let mut left = table("l", &[("id", Type::Integer, true), ("other", Type::Integer, false)]);
    left.keys = vec![Key { columns: vec![0] }];
    left.foreign_keys = vec![reference(&[1], 3, &[0])];
    let mut right = table("r", &[("id", Type::Integer, true), ("l", Type::Integer, true), ("up", Type::Integer, true)]);
    right.keys = vec![Key { columns: vec![0] }];
    right.foreign_keys = vec![reference(&[1], 2, &[0]), reference(&[2], 3, &[0])];
    let mut schema = Schema::default();
    schema.tables.extend([t, child, left, right]);
    schema
}

fn scan(schema: &Schema, table: usize) -> Plan {
    Plan::Scan { table, types: schema.tables[table].types() }
}

fn col(index: usize) -> Expr {
    Expr::column(index, Type::Integer)
}

fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    Expr::Compare(op, Box::new(a), Box::new(b))
}

fn join(kind: JoinKind, left: Plan, right: Plan, on: Expr) -> Plan {
    Plan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral: false }
}

fn query(plan: Plan) -> Query {
    let visible = plan.types().len();
    Query { plan, visible, order: vec![], assumptions: BTreeSet::new() }
}

/// Reads all tables of the schema.
fn everything(schema: &Schema) -> Query {
    let all = |a, b| join(JoinKind::Inner, a, b, Expr::bool(true));
    query(all(scan(schema, 1), all(scan(schema, 0), scan(schema, 3))))
}

fn differs(left: Plan, right: Plan) -> Witness {
    match search(&schema(), &query(left), &query(right), 1, 200, FUEL) {
        Search::Differs(witness) => witness,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn databases_satisfy_their_schema(seed in any::<u64>()) {
        let schema = schema();
        let query = everything(&schema);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape::random(&mut rng, usize::try_from(seed % 9).unwrap());
        let db = random_database(&schema, [&query, &query], &mut rng.clone(), &shape).unwrap();
        prop_assert!(satisfies(&schema, &db), "{db:?}");
        prop_assert!(db.tables.iter().all(|rows| rows.len() <= 4));
        let again = random_database(&schema, [&query, &query], &mut rng, &shape).unwrap();
        prop_assert_eq!(db, again);
    }

    #[test]
    fn smaller_witnesses_still_differ(seed in any::<u64>()) {
        let schema = schema();
        let on = compare(CompareOp::Eq, col(0), col(2));
        let left = query(join(JoinKind::Left, scan(&schema, 1), scan(&schema, 0), on.clone()).project(vec![col(1)]));
        let right = query(join(JoinKind::Inner, scan(&schema, 1), scan(&schema, 0), on).project(vec![col(1)]));
        let pair = Pair::new(&schema, &left, &right, FUEL).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape::random(&mut rng, 2);
        let db = Generator::new(&schema, [&left, &right]).database(&mut rng, &shape);
        if pair.differ(&db, seed).is_some() {
            let (small, [left, right]) = minimise::shrink(&pair, db, seed);
            prop_assert!(pair.differ(&small, seed).is_some());
            prop_assert!(!same_bag(&left, &right));
            prop_assert_eq!(small.tables[1].as_slice(), &[vec![Value::Null, Value::int(0)]]);
            prop_assert_eq!(small.tables.iter().map(Vec::len).sum::<usize>(), 1);
        }
    }
}

#[test]
fn every_table_gets_rows() {
    let schema = schema();
    let query = everything(&schema);
    let mut filled = [0; 4];
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape::random(&mut rng, 4);
        let db = random_database(&schema, [&query, &query], &mut rng, &shape).unwrap();
        filled.iter_mut().zip(&db.tables).for_each(|(n, rows)| *n += usize::from(!rows.is_empty()));
    }
    assert!(filled[0] > 150 && filled[1] > 150, "{filled:?}");
    // These refer to each other, which few random rows manage.
    assert!(filled[2] > 50 && filled[3] > 20, "{filled:?}");
}

#[test]
fn only_tables_that_are_read_and_their_parents_get_rows() {
    let schema = schema();
    let query = query(scan(&schema, 1));
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape { rows: 4, ..Shape::random(&mut rng, 1) };
        let db = random_database(&schema, [&query, &query], &mut rng, &shape).unwrap();
        assert!(db.tables[2].is_empty() && db.tables[3].is_empty());
    }
}

#[test]
fn broken_constraints_are_noticed() {
    let schema = schema();
    let n = Value::Null;
    let (zero, one) = (Value::int(0), Value::int(1));
    let with = |table: usize, rows: Vec<Vec<Value>>| {
        let mut db = Database { tables: vec![vec![]; 4] };
        db.tables[table] = rows;
        satisfies(&schema, &db)
    };
    let t = |id: Value, a: Value, date: Value| {
        vec![id, a, n.clone(), n.clone(), date, n.clone(), n.clone(), n.clone(), n.clone()]
    };
    let date = Value::Text("2000-01-01".to_owned());
    assert!(with(0, vec![t(zero.clone(), n.clone(), date.clone()), t(one.clone(), n.clone(), date.clone())]));
    assert!(!with(0, vec![t(zero.clone(), n.clone(), n.clone())]));
    assert!(!with(0, vec![t(zero.clone(), n.clone(), date.clone()), t(zero.clone(), n.clone(), date.clone())]));
    assert!(!with(0, vec![t(zero.clone(), Value::int(5), date)]));
    assert!(with(1, vec![vec![n.clone(), zero.clone()]]));
    assert!(!with(1, vec![vec![zero.clone(), zero.clone()]]));
    assert!(with(2, vec![vec![zero.clone(), n]]));
    assert!(!with(2, vec![vec![zero.clone(), one]]));
    assert!(!satisfies(&schema, &Database::default()));
}

#[test]
fn the_empty_database_comes_first() {
    let schema = schema();
    let aggregate = |function, args| Plan::Aggregate {
        input: Box::new(scan(&schema, 0)),
        keys: vec![],
        aggregates: vec![Aggregate { function, distinct: false, args, filter: None, ty: Type::Integer }],
    };
    let witness =
        differs(aggregate(AggregateFunction::CountStar, vec![]), aggregate(AggregateFunction::Sum, vec![Expr::int(1)]));
    let expected = Witness { inserts: vec![], left: vec!["(0)".to_owned()], right: vec!["(NULL)".to_owned()] };
    assert_eq!(witness, expected);
}

#[test]
fn literals_are_hit_and_parents_are_inserted_first() {
    let schema = schema();
    let both = || join(JoinKind::Inner, scan(&schema, 1), scan(&schema, 0), compare(CompareOp::Eq, col(0), col(2)));
    let big = |n: i64| both().filter(compare(CompareOp::Gt, col(1), Expr::int(n))).project(vec![col(1)]);
    let witness = differs(big(417), big(418));
    assert_eq!(witness.inserts.len(), 2);
    assert!(witness.inserts[0].starts_with("INSERT INTO t (id, a, b, c, d, e, f, g, h) VALUES (0, NULL, "));
    assert_eq!(witness.inserts[1], "INSERT INTO child (t_id, \"x y\") VALUES (0, 418)");
    assert_eq!((witness.left, witness.right), (vec!["(418)".to_owned()], vec![]));
}

#[test]
fn equal_queries_agree_and_errors_void_a_trial() {
    let schema = schema();
    let plan = scan(&schema, 0);
    let same = search(&schema, &query(plan.clone()), &query(plan.clone()), 1, 50, FUEL);
    assert_eq!(same, Search::Agrees { trials: 50, void: 0 });
    let divided =
        Expr::Arithmetic(crate::ir::ArithmeticOp::Div, Box::new(Expr::int(1)), Box::new(Expr::int(0)), Type::Integer);
    let failing = query(plan.project(vec![divided]));
    match search(&schema, &failing, &failing, 1, 50, FUEL) {
        Search::Agrees { trials, void } => assert!(trials > 0 && void > 100, "{trials} {void}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn arbitrary_functions_refute_nothing() {
    let schema = schema();
    let call = |n: i64| Expr::Call { name: "frobnicate".to_owned(), args: vec![Expr::int(n)], ty: Type::Integer };
    let of = |n| query(scan(&schema, 1).project(vec![call(n)]));
    let names = BTreeSet::from(["frobnicate".to_owned()]);
    assert_eq!(search(&schema, &of(1), &of(2), 1, 50, FUEL), Search::OnlyOpaque(names));
    assert!(matches!(search(&schema, &of(1), &of(1), 1, 50, FUEL), Search::Agrees { trials: 50, .. }));
}

#[test]
fn searches_repeat() {
    let schema = schema();
    let (left, right) =
        (query(scan(&schema, 0)), query(scan(&schema, 0).filter(compare(CompareOp::Ge, col(1), col(0)))));
    let first = search(&schema, &left, &right, 7, 100, FUEL);
    assert!(matches!(first, Search::Differs(_)));
    assert_eq!(first, search(&schema, &left, &right, 7, 100, FUEL));
}

#[test]
fn what_engines_decide_differently_refutes_nothing() {
    let schema = crate::lower::schema("CREATE TABLE t (a INT, b INT)", &std::collections::BTreeMap::new()).unwrap();
    let find = |left: &str, right: &str| {
        let query = |sql| crate::lower::query(&schema, sql).unwrap();
        match search(&schema, &query(left), &query(right), 1, 100, FUEL) {
            Search::OnlyOpaque(names) => names.into_iter().collect::<Vec<_>>().join(", "),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(find("SELECT AVG(a) FROM t", "SELECT SUM(a) / COUNT(a) FROM t"), "/");
    let (unwritten, first) = ("SELECT a FROM t ORDER BY a LIMIT 1", "SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 1");
    assert_eq!(find(unwritten, first), "order of NULLs");
    assert_eq!(
        find("SELECT RANK() OVER (ORDER BY a) FROM t", "SELECT RANK() OVER (ORDER BY a NULLS FIRST) FROM t"),
        "order of NULLs"
    );
    assert!(find("SELECT a FROM t ORDER BY a LIMIT 1", "SELECT a FROM t ORDER BY a LIMIT 2").contains("Differs"));
}

#[test]
fn decimals_between_whole_numbers_are_tried() {
    let schema = crate::lower::schema("CREATE TABLE t (a DECIMAL(10,2))", &std::collections::BTreeMap::new()).unwrap();
    let query = |sql| crate::lower::query(&schema, sql).unwrap();
    let (left, right) = (query("SELECT a FROM t WHERE a > 1"), query("SELECT a FROM t WHERE a >= 2"));
    assert!(matches!(search(&schema, &left, &right, 1, 200, FUEL), Search::Differs(_)));
}

#[test]
fn tables_are_as_tall_as_what_is_counted() {
    let schema = crate::lower::schema(
        "CREATE TABLE t(k INT PRIMARY KEY, a INT, b INT); CREATE TABLE u(a INT)",
        &std::collections::BTreeMap::new(),
    )
    .unwrap();
    for (left, right) in [
        ("SELECT k FROM t ORDER BY k LIMIT 10", "SELECT k FROM t ORDER BY k LIMIT 11"),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > 5", "SELECT a FROM t GROUP BY a HAVING COUNT(*) >= 5"),
        (
            "SELECT a FROM t GROUP BY a HAVING COUNT(DISTINCT b) > 5",
            "SELECT a FROM t GROUP BY a HAVING COUNT(DISTINCT b) > 6",
        ),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(b) > 5", "SELECT a FROM t GROUP BY a HAVING COUNT(DISTINCT b) > 5"),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 1 OFFSET 7)",
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a LIMIT 1 OFFSET 6)",
        ),
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS n FROM t) AS s WHERE n <= 9",
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS n FROM t) AS s WHERE n < 9",
        ),
    ] {
        let [l, r] = [left, right].map(|text| crate::lower::query(&schema, text).unwrap());
        let found = search(&schema, &l, &r, 1, 200, FUEL);
        assert!(matches!(found, Search::Differs(_)), "{left}\n{right}\n{found:?}");
    }
}

#[test]
fn what_no_database_is_tall_enough_for_is_counted() {
    let schema =
        crate::lower::schema("CREATE TABLE t(k INT PRIMARY KEY, a INT)", &std::collections::BTreeMap::new()).unwrap();
    for (text, beyond) in [
        ("SELECT k FROM t ORDER BY k LIMIT 10", false),
        ("SELECT k FROM t ORDER BY k LIMIT 100", true),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > 100", true),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > -1", false),
        ("SELECT k FROM t WHERE a + 1 > 100", false),
    ] {
        let query = crate::lower::query(&schema, text).unwrap();
        assert_eq!(out_of_reach(&schema, &query, &query) > 0, beyond, "{text}");
    }
}
