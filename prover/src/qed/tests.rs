use serde_json::json;

use super::*;
use crate::ir::{CompareOp, Expr, JoinKind};

fn schema() -> Json {
    json!([
        {"types": ["INTEGER", "VARCHAR"], "nullable": [false, true], "key": [[0]], "guaranteed": [],
         "fields": ["id", "label"], "name": "box"},
        {"types": ["INT", "DECIMAL", "BOOL"], "nullable": [false, true, true], "key": [[0, 1]],
         "guaranteed": [{"operator": "GT", "operand": [col(0, "INT"), lit("0", "INT")], "type": "BOOL"}]},
    ])
}

fn col(index: usize, ty: &str) -> Json {
    json!({"column": index, "type": ty})
}

fn lit(written: &str, ty: &str) -> Json {
    json!({"operator": written, "operand": [], "type": ty})
}

fn op(name: &str, operands: &[Json], ty: &str) -> Json {
    json!({"operator": name, "operand": operands, "type": ty})
}

fn filter(source: &Json, condition: &Json) -> Json {
    json!({"filter": {"source": source, "condition": condition}})
}

fn project(source: &Json, target: &[Json]) -> Json {
    json!({"project": {"source": source, "target": target}})
}

fn lower(query: &Json) -> Result<Query, Unsupported> {
    obligation(&schema(), query, query).map(|(_, left, _)| left)
}

/// The expression that a projection of the first table's row lowers to.
fn expr(json: &Json) -> Result<Expr, Unsupported> {
    match lower(&project(&json!({"scan": 0}), std::slice::from_ref(json)))?.plan {
        Plan::Project { mut exprs, .. } => Ok(exprs.swap_remove(0)),
        plan => panic!("{plan:?}"),
    }
}

fn int(index: usize) -> Expr {
    Expr::column(index, Type::Integer)
}

#[test]
fn the_schema_has_keys_and_checks() {
    let (schema, _, _) = obligation(&schema(), &json!({"scan": 1}), &json!({"scan": 1})).unwrap();
    assert_eq!(schema.tables[0].name, "box");
    assert!(schema.tables[0].columns[0].not_null && !schema.tables[0].columns[1].not_null);
    assert_eq!(schema.tables[1].keys, [Key { columns: vec![0, 1] }]);
    let zero = Expr::int(0);
    assert_eq!(schema.tables[1].checks, [Expr::Compare(CompareOp::Gt, Box::new(int(0)), Box::new(zero))]);
}

#[test]
fn columns_are_counted_from_the_outermost_row() {
    // The row of the first table has two columns, so the subquery's own row begins at 2.
    let equal = op("=", &[col(2, "INT"), col(0, "INTEGER")], "BOOLEAN");
    let exists = json!({"operator": "EXISTS", "operand": [], "type": "BOOLEAN",
        "query": filter(&json!({"scan": 1}), &equal)});
    let query = lower(&filter(&json!({"scan": 0}), &exists)).unwrap();
    let Plan::Filter { condition: Expr::Exists(inner), .. } = query.plan else { panic!("{:?}", query.plan) };
    let Plan::Filter { condition, .. } = *inner else { panic!("{inner:?}") };
    let outer = Expr::Column { depth: 1, index: 0, ty: Type::Integer };
    assert_eq!(condition, Expr::Compare(CompareOp::Eq, Box::new(int(0)), Box::new(outer)));
}

#[test]
fn correlate_is_a_lateral_join() {
    let right = project(&json!({"scan": 1}), &[op("PLUS", &[col(2, "INT"), col(0, "INTEGER")], "INT")]);
    let query = lower(&json!({"correlate": {"kind": "LEFT", "left": {"scan": 0}, "right": right}})).unwrap();
    assert_eq!(query.plan.types(), [Type::Integer, Type::Text, Type::Integer]);
    let Plan::Join { kind: JoinKind::Left, lateral: true, right, .. } = query.plan else { panic!("{:?}", query.plan) };
    let Plan::Project { exprs, .. } = *right else { panic!("{right:?}") };
    let Expr::Arithmetic(_, own, outer, _) = &exprs[0] else { panic!("{exprs:?}") };
    assert_eq!((&**own, &**outer), (&int(0), &Expr::Column { depth: 1, index: 0, ty: Type::Integer }));
}

#[test]
fn both_forms_of_case() {
    let (one, two) = (lit("1", "INT"), lit("2", "INT"));
    let searched = op("CASE", &[op("IS NULL", &[col(0, "INT")], "BOOL"), one.clone(), two.clone()], "INT");
    let is_null = Expr::IsNull(Box::new(int(0)));
    let expected =
        Expr::Case { branches: vec![(is_null, Expr::int(1))], otherwise: Box::new(Expr::int(2)), ty: Type::Integer };
    assert_eq!(expr(&searched), Ok(expected));
    let simple = expr(&op("CASE", &[col(0, "INT"), one.clone(), two.clone(), lit("NULL", "INT")], "INT")).unwrap();
    let Expr::Case { branches, .. } = simple else { panic!() };
    assert_eq!(branches[0].0, Expr::Compare(CompareOp::Eq, Box::new(int(0)), Box::new(Expr::int(1))));
}

#[test]
fn sums_of_nothing() {
    let sum = json!({"operator": "$SUM0", "operand": [col(0, "INT")], "type": "INT", "distinct": false,
        "ignoreNulls": false});
    let group = |functions: Json| json!({"group": {"keys": [], "function": functions, "source": {"scan": 0}}});
    let query = lower(&group(json!([sum]))).unwrap();
    assert!(matches!(query.plan, Plan::Project { .. }));
    assert!(query.assumptions.contains(&Assumption::ExactSums));
    let mut other = sum.clone();
    other["operator"] = json!("ANY_VALUE");
    assert!(lower(&group(json!([other]))).is_err());
    let mut single = sum;
    single["operator"] = json!("SINGLE_VALUE");
    let query = lower(&group(json!([single]))).unwrap();
    let Plan::Project { exprs, .. } = query.plan else { panic!() };
    assert!(matches!(exprs[0], Expr::Scalar(_)));
}

#[test]
fn sets_of_ranges() {
    let search = |set: &str| expr(&op("SEARCH", &[col(0, "INTEGER"), lit(set, "INTEGER")], "BOOLEAN"));
    let Ok(Expr::Or(parts)) = search("Sarg[1, (3..7], (9..+∞)]") else { panic!() };
    assert_eq!(parts.len(), 3);
    assert!(matches!(&parts[1], Expr::And(bounds) if bounds.len() == 2));
    assert_eq!(parts[2], Expr::Compare(CompareOp::Gt, Box::new(int(0)), Box::new(Expr::int(9))));
    assert!(search("Sarg[1; NULL AS TRUE]").is_err());
}

#[test]
fn what_is_not_certain_is_refused() {
    assert!(expr(&op("=", &[col(0, "INTEGER"), lit("TRUE", "BOOLEAN")], "BOOLEAN")).is_err());
    let converted = expr(&op(">", &[col(0, "INTEGER"), col(1, "VARCHAR")], "BOOLEAN"));
    assert!(matches!(converted, Ok(Expr::Call { name, .. }) if name == "lt"));
    assert!(expr(&op("RANDOM", &[col(0, "INTEGER")], "INTEGER")).is_err());
    assert!(expr(&lit("CURRENT_TIMESTAMP", "TIMESTAMP")).is_err());
    assert!(expr(&op("FUNCTION", &[op("SCALAR LIST", &[], "ANYELEMENT")], "INT")).is_err());
    assert!(expr(&op("CAST", &[lit("1.50", "DECIMAL")], "VARCHAR")).is_err());
    assert!(expr(&col(2, "INTEGER")).is_err());
    assert!(lower(&json!({"window": {"source": {"scan": 0}}})).is_err());
    assert!(lower(&json!({"filter": {"source": {"scan": 0}, "condition": lit("TRUE", "BOOL"), "hint": 1}})).is_err());
}

#[test]
fn an_order_on_one_side_only_is_not_compared() {
    let sorted = json!({"sort": {"source": {"scan": 0}, "collation": [[0, "INTEGER", "DESCENDING"]]}});
    let (_, left, _) = obligation(&schema(), &sorted, &json!({"scan": 0})).unwrap();
    assert!(left.order.is_empty() && left.assumptions.contains(&Assumption::OrderNotCompared));
    let (_, left, right) = obligation(&schema(), &sorted, &sorted).unwrap();
    assert!(left.order.len() == 1 && left.order == right.order && left.order[0].descending);
    assert!(!left.assumptions.contains(&Assumption::OrderNotCompared));
}

#[test]
fn a_limit_keeps_its_order() {
    let sort = json!({"sort": {"source": {"scan": 0}, "collation": [[0, "INTEGER", "ASCENDING"]],
        "limit": lit("3", "INTEGER"), "offset": null}});
    let Plan::Limit { order, limit: Some(3), offset: 0, .. } = lower(&sort).unwrap().plan else { panic!() };
    assert_eq!(order.len(), 1);
    let negative = json!({"sort": {"source": {"scan": 0}, "collation": [], "limit": lit("-1", "INT")}});
    assert!(lower(&negative).is_err());
}
