use super::*;
use crate::catalogue::profile;
use crate::config::STATEMENT_LIMITS;
use crate::dbms::sqlite::Sqlite;
use crate::program::{Assumption, Effect, Expected, Fold, Program, Relation};
use crate::sql::profile::ColumnType;
use crate::sql::types::SqlType;

fn statements() -> Vec<String> {
    ["CREATE TABLE t(a INT)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"].map(str::to_owned).into()
}

#[test]
fn a_hole_is_filled_anew_on_every_run() {
    let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    let profile = profile("sqlite").expect("shipped");
    let mut program = Program::default();
    program.add_step(0, None).sql.push_str("SELECT MAX(a) FROM t");
    program.add_step(1, None).sql.push_str("SELECT a FROM t WHERE a = (SELECT MAX(a) FROM t)");
    let folded = program.add_step(2, None);
    folded.sql.push_str("SELECT a FROM t WHERE a = ");
    folded.sql.push_hole(0, Fold::Value(ColumnType::Class(SqlType::Int)));
    program.add_check(Relation::EqualBag, [1, 2]);
    let all = statements();
    for fewer in [&all[..], &all[..2]] {
        let (verdict, seen) = run(&mut connection, &profile, fewer, program.steps(), program.checks());
        assert_eq!(verdict, Verdict::Holds);
        assert_eq!(seen[2].rows(), seen[0].rows());
    }
    // Nothing to fold voids the case.
    let (verdict, _) = run(&mut connection, &profile, &[], program.steps(), program.checks());
    assert!(matches!(verdict, Verdict::Void(error) if error.class == ErrorClass::Semantic));
    let unfit = Text::default().filled(&profile, |_| None).map(|_| ());
    assert_eq!(unfit, Ok(()));
}

#[test]
fn changes_are_counted_and_undone_also_after_an_error() {
    let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    let profile = profile("sqlite").expect("shipped");
    let mut program = Program::default();
    for statement in ["UPDATE t SET a = a + 1", "UPDATE t SET a = a + 1 WHERE a > 0", "DELETE FROM t WHERE a = 1"] {
        let step = program.add_step(0, None);
        step.before.push(statement.into());
        step.sql.push_str("SELECT a FROM t");
        step.undone = true;
    }
    program.add_check(Relation::SameEffect, [0, 1]);
    program.add_check(Relation::SameEffect, [0, 2]);
    let all = statements();
    let (verdict, seen) = run(&mut connection, &profile, &all, program.steps(), program.checks());
    assert_eq!(verdict, Verdict::Violated { check: 1, pair: (0, 2) });
    assert_eq!(seen[0].rows().map(<[Row]>::len), Some(3));
    assert_eq!(seen[0].rows().and_then(|rows| rows[0].last()), Some(&Value::Int(2)));
    let mut failing = program.steps()[0].clone();
    failing.before.push("UPDATE nothing SET a = 1".into());
    assert!(rows(&mut connection, &profile, &failing, &|_| None).is_err());
    let left = connection.rows("SELECT a FROM t").expect("reads");
    assert_eq!(left, [[Value::Int(1)], [Value::Int(2)]]);
}

#[test]
fn rows_are_the_same_by_value_and_type() {
    let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    let profile = profile("sqlite").expect("shipped");
    let mut holds = |one: &str, other: &str| {
        let expected = Expected::Same(format!("SELECT {other}").into());
        let assumption = Assumption { text: String::new(), sql: format!("SELECT {one}").into(), expected };
        broken_assumption(&mut connection, &profile, &[assumption], &|_| None).is_none()
    };
    assert!(holds("1, 'a', NULL, 1.5", "1, 'a', NULL, 1.5"));
    assert!(holds("1 UNION ALL SELECT 2", "2 UNION ALL SELECT 1"));
    for (one, other) in
        [("1", "1.0"), ("1.5", "1.5000000000001"), ("'a'", "x'61'"), ("1", "1 UNION ALL SELECT 1"), ("1", "nothing")]
    {
        assert!(!holds(one, other) && !holds(other, one), "{one}, {other}");
    }
}

#[test]
fn the_effect_says_what_is_seen_of_a_change() {
    let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    let profile = profile("sqlite").expect("shipped");
    build(&mut connection, &statements()).expect("builds");
    let mut step = Step { before: vec!["UPDATE t SET a = 7".into()], undone: true, ..Step::query("SELECT a FROM t") };
    let mut seen = |effect| {
        step.effect = effect;
        rows(&mut connection, &profile, &step, &|_| None).expect("runs")
    };
    let sevens = vec![vec![Value::Int(7)], vec![Value::Int(7)]];
    assert_eq!(seen(Effect::Rows), sevens);
    assert_eq!(seen(Effect::Count), [[Value::Int(2)]]);
    let both = seen(Effect::CountsAndRows);
    assert_eq!((both[0].len(), &both[1..]), (2, &sevens[..]));
}

#[test]
fn a_statement_that_must_fail_is_looked_at_after_it_did() {
    let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    let profile = profile("sqlite").expect("shipped");
    let made = [statements(), vec!["CREATE UNIQUE INDEX i ON t(a)".to_owned()]].concat();
    let mut program = Program::default();
    program.add_step(0, None).sql.push_str("SELECT a FROM t");
    let step = program.add_step(1, None);
    step.before.push("UPDATE t SET a = 5".into());
    step.sql.push_str("SELECT a FROM t");
    (step.undone, step.effect, step.failing) = (true, Effect::Rows, true);
    program.add_check(Relation::EqualBag, [0, 1]);
    // The first row is changed before the second one fails.
    let (verdict, seen) = run(&mut connection, &profile, &made, program.steps(), program.checks());
    assert_eq!(verdict, Verdict::Holds);
    assert_eq!(seen[1].rows().map(<[Row]>::len), Some(2));
    // Where it does not fail there is nothing to look at.
    let (verdict, _) = run(&mut connection, &profile, &statements(), program.steps(), program.checks());
    assert!(matches!(verdict, Verdict::Void(error) if error.class == ErrorClass::Unfit));
    // Nor where it fails for another reason than its rows.
    let mut other = program.steps()[1].clone();
    other.before = vec!["UPDATE nothing SET a = 5".into()];
    assert!(rows(&mut connection, &profile, &other, &|_| None).is_err());
    assert_eq!(connection.rows("SELECT a FROM t").expect("reads"), [[Value::Int(1)], [Value::Int(2)]]);
}
