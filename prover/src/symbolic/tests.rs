use super::*;
use crate::ir::{Aggregate, AggregateFunction, ArithmeticOp, Column, CompareOp, ForeignKey, JoinKind, Key, SetOp};

const RLIMIT: u32 = 2_000_000;

fn table(name: &str, columns: &[(Type, bool)]) -> Table {
    let column = |(ty, not_null): &(Type, bool)| Column {
        name: "c".to_owned(),
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
        keys: Vec::new(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
    }
}

fn schema() -> Schema {
    let nullable = table("t", &[(Type::Integer, false), (Type::Text, false)]);
    let other = table("s", &[(Type::Integer, true)]);
    Schema { tables: vec![nullable, other], ..Schema::default() }
}

fn scan(schema: &Schema, table: TableId) -> Plan {
    Plan::Scan { table, types: schema.tables[table].types() }
}

fn query(plan: Plan) -> Query {
    Query { visible: plan.types().len(), plan, order: Vec::new(), assumptions: BTreeSet::new() }
}

fn search(schema: &Schema, left: &Plan, right: &Plan) -> Option<Vec<Vec<Vec<Value>>>> {
    let (left, right) = (query(left.clone()), query(right.clone()));
    (1..=2).find_map(|rows| candidate(schema, &left, &right, rows, RLIMIT))
}

fn int(index: usize) -> Expr {
    Expr::column(index, Type::Integer)
}

fn compare(op: CompareOp, left: Expr, right: Expr) -> Expr {
    Expr::Compare(op, Box::new(left), Box::new(right))
}

fn join(kind: JoinKind, left: Plan, right: Plan, on: Expr) -> Plan {
    Plan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral: false }
}

fn group(input: Plan, keys: Vec<Expr>, function: AggregateFunction, args: Vec<Expr>, ty: Type) -> Plan {
    let aggregate = Aggregate { function, distinct: false, args, filter: None, ty };
    Plan::Aggregate { input: Box::new(input), keys, aggregates: vec![aggregate] }
}

#[test]
fn duplicates_are_told_apart() {
    let mut schema = schema();
    let all = scan(&schema, 0).project(vec![int(0)]);
    let distinct = Plan::Distinct(Box::new(all.clone()));
    let tables = search(&schema, &all, &distinct).unwrap();
    assert_eq!(tables[0].len(), 2);
    assert_eq!(tables[0][0][0], tables[0][1][0]);
    assert!(tables[1].is_empty());
    assert_eq!(search(&schema, &all, &all), None);
    // A key on a column that may be NULL still allows two NULLs; NOT NULL forbids those too.
    schema.tables[0].keys.push(Key { columns: vec![0] });
    let tables = search(&schema, &all, &distinct).unwrap();
    assert!(tables[0].iter().all(|row| row[0].is_null()));
    schema.tables[0].columns[0].not_null = true;
    assert_eq!(search(&schema, &all, &distinct), None);
}

#[test]
fn the_resource_limit_ends_a_search() {
    let schema = schema();
    let all = query(scan(&schema, 0));
    let distinct = query(Plan::Distinct(Box::new(scan(&schema, 0))));
    assert!(candidate(&schema, &all, &distinct, 2, RLIMIT).is_some());
    assert_eq!(candidate(&schema, &all, &distinct, 2, 1), None);
}

#[test]
fn conditions_are_three_valued() {
    let schema = schema();
    let positive = compare(CompareOp::Gt, int(0), Expr::int(0));
    let not_positive = Expr::Not(Box::new(positive.clone()));
    let either = Expr::Or(vec![positive.clone(), not_positive]);
    let tables = search(&schema, &scan(&schema, 0), &scan(&schema, 0).filter(either)).unwrap();
    assert!(tables[0].iter().any(|row| row[0].is_null()));
    let at_most = compare(CompareOp::Le, int(0), Expr::int(0));
    let negated = Expr::Not(Box::new(positive));
    assert_eq!(search(&schema, &scan(&schema, 0).filter(at_most), &scan(&schema, 0).filter(negated)), None);
}

#[test]
fn texts_come_back_in_order() {
    let schema = schema();
    let text = |text: &str| Expr::Literal(Value::Text(text.to_owned()), Type::Text);
    let column = || Expr::column(1, Type::Text);
    let between =
        Expr::And(vec![compare(CompareOp::Gt, column(), text("ab")), compare(CompareOp::Lt, column(), text("b"))]);
    let nothing = scan(&schema, 0).filter(Expr::bool(false));
    let tables = search(&schema, &scan(&schema, 0).filter(between), &nothing).unwrap();
    let Value::Text(found) = &tables[0][0][1] else { panic!("{tables:?}") };
    assert!("ab" < found.as_str() && found.as_str() < "b", "{found}");
}

#[test]
fn there_is_no_day_between_two_days() {
    let schema = Schema { tables: vec![table("t", &[(Type::Date, true)])], ..Schema::default() };
    let date = |text: &str| Expr::Literal(Value::Text(text.to_owned()), Type::Date);
    let rows = |op, text| scan(&schema, 0).filter(compare(op, Expr::column(0, Type::Date), date(text)));
    let after = rows(CompareOp::Gt, "2020-02-28");
    assert_eq!(search(&schema, &after, &rows(CompareOp::Ge, "2020-02-29")), None);
    let tables = search(&schema, &after, &rows(CompareOp::Ge, "2020-03-01")).unwrap();
    assert_eq!(tables[0], [[Value::Text("2020-02-29".to_owned())]]);
}

#[test]
fn outer_joins_and_foreign_keys() {
    let mut schema = schema();
    let on = compare(CompareOp::Eq, int(0), int(2));
    let joined = |kind, schema: &Schema| join(kind, scan(schema, 0), scan(schema, 1), on.clone());
    let (left, inner) = (joined(JoinKind::Left, &schema), joined(JoinKind::Inner, &schema));
    assert!(search(&schema, &left, &inner).is_some());
    schema.tables[0].columns[0].not_null = true;
    schema.tables[1].keys.push(Key { columns: vec![0] });
    schema.tables[0].foreign_keys.push(ForeignKey { columns: vec![0], parent: 1, parent_columns: vec![0] });
    assert_eq!(search(&schema, &left, &inner), None);
    let semi = joined(JoinKind::Semi, &schema);
    assert_eq!(search(&schema, &semi, &scan(&schema, 0)), None);
    assert_eq!(search(&schema, &inner.project(vec![int(0), Expr::column(1, Type::Text)]), &scan(&schema, 0)), None);
}

#[test]
fn counts_of_no_rows() {
    let schema = schema();
    let filtered = scan(&schema, 0).filter(compare(CompareOp::Gt, int(0), Expr::int(5)));
    let count = group(filtered.clone(), Vec::new(), AggregateFunction::CountStar, Vec::new(), Type::Integer);
    let ones = filtered.project(vec![Expr::int(1)]);
    let sum = group(ones, Vec::new(), AggregateFunction::Sum, vec![int(0)], Type::Integer);
    assert!(search(&schema, &count, &sum).is_some());
    let present = Expr::Not(Box::new(Expr::IsNull(Box::new(int(0)))));
    let or_zero =
        Expr::Case { branches: vec![(present, int(0))], otherwise: Box::new(Expr::int(0)), ty: Type::Integer };
    assert_eq!(search(&schema, &count, &sum.project(vec![or_zero])), None);
}

#[test]
fn groups_and_extremes() {
    let schema = schema();
    let key = || vec![int(0)];
    let of = |function| group(scan(&schema, 0), key(), function, key(), Type::Integer);
    let (least, most) = (of(AggregateFunction::Min), of(AggregateFunction::Max));
    // The extremes of the key of a group are the key.
    assert_eq!(search(&schema, &least, &most), None);
    let average = group(scan(&schema, 1), Vec::new(), AggregateFunction::Avg, key(), Type::Decimal);
    let least = group(scan(&schema, 1), Vec::new(), AggregateFunction::Min, key(), Type::Integer);
    assert!(search(&schema, &average, &least).is_some());
}

#[test]
fn set_operations_count() {
    let schema = schema();
    let (left, right) = (scan(&schema, 0).project(vec![int(0)]), scan(&schema, 1));
    let set = |op, all| Plan::SetOp {
        op,
        all,
        left: Box::new(left.clone()),
        right: Box::new(right.clone()),
        types: vec![Type::Integer],
    };
    assert!(search(&schema, &set(SetOp::Except, true), &set(SetOp::Except, false)).is_some());
    assert!(search(&schema, &set(SetOp::Intersect, true), &set(SetOp::Intersect, false)).is_some());
    let distinct = Plan::Distinct(Box::new(set(SetOp::Union, true)));
    assert_eq!(search(&schema, &distinct, &set(SetOp::Union, false)), None);
}

#[test]
fn not_in_with_null() {
    let schema = schema();
    let outer = Expr::Column { depth: 1, index: 0, ty: Type::Integer };
    let own = scan(&schema, 0).project(vec![int(0)]);
    let not_in = |query: Plan| {
        let query = Box::new(query);
        scan(&schema, 1).filter(Expr::Quantified { row: vec![int(0)], op: CompareOp::Ne, all: true, query })
    };
    let exists = Expr::Exists(Box::new(own.clone().filter(compare(CompareOp::Eq, int(0), outer))));
    let anti = scan(&schema, 1).filter(Expr::Not(Box::new(exists)));
    let tables = search(&schema, &not_in(own.clone()), &anti).unwrap();
    assert!(tables[0].iter().any(|row| row[0].is_null()));
    let known = own.filter(Expr::Not(Box::new(Expr::IsNull(Box::new(int(0))))));
    assert_eq!(search(&schema, &not_in(known), &anti), None);
}

#[test]
fn what_cannot_be_followed_gives_up() {
    let schema = schema();
    let call = Expr::Call { name: "upper".to_owned(), args: vec![Expr::column(1, Type::Text)], ty: Type::Text };
    assert_eq!(search(&schema, &scan(&schema, 0).project(vec![call]), &scan(&schema, 1)), None);
    let sum = Expr::Arithmetic(ArithmeticOp::Add, Box::new(int(0)), Box::new(Expr::int(1)), Type::Integer);
    let limit = |expr| Plan::Limit {
        input: Box::new(scan(&schema, 1).project(vec![expr])),
        order: Vec::new(),
        limit: Some(1),
        offset: 0,
    };
    assert_eq!(search(&schema, &limit(sum), &limit(int(0))), None);
}
