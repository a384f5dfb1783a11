use super::*;
use crate::catalogue::profile;
use crate::oracle::test_setting;
use crate::program::{Effect, Meaning};

/// The oracle for a target that takes everything.
fn oracle(dialect: &str) -> State {
    let setting = test_setting(dialect, |capabilities| capabilities.undoes = true);
    State::new(setting, &mut |_, _| Ok(()))
}

/// Gives `check` the program of each of many cases.
fn for_cases(dialect: &str, mut check: impl FnMut(&StateDatabase, Kind, &Program)) {
    for_each(dialect, |database, kind, program, _| check(database, kind, program));
}

/// Gives `check` each of many cases, with its program.
fn for_each(dialect: &str, mut check: impl FnMut(&StateDatabase, Kind, &Program, &StateCase)) {
    let oracle = oracle(dialect);
    for seed in 0..600 {
        let mut rng = stream(seed, &[]);
        let database = StateDatabase::generate(&oracle, &mut rng);
        let kind = database.draw_kind(&mut rng);
        let case = StateCase::draw(&database, kind, &mut rng);
        let mut program = Program::default();
        case.program(&mut program);
        check(&database, kind, &program, &case);
    }
}

/// The statement that changes a table.
fn statement_of(program: &Program) -> &str {
    let step = program.steps().iter().find(|step| step.undone).expect("a statement");
    step.before.first().unwrap_or(&step.sql).sql()
}

#[test]
fn every_check_is_of_what_a_statement_left() {
    for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
        for_cases(dialect, |_, _, program| {
            for check in program.checks() {
                let queries = check.steps.iter().filter(|at| !program.steps()[**at].undone).count();
                // Otherwise two queries could differ by themselves where the statement fails.
                assert!(queries <= 1, "{dialect}: {check:?} of {}", statement_of(program));
            }
        });
    }
}

#[test]
fn every_case_asks_before_it_changes_and_undoes_what_it_changes() {
    for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
        let mut kinds = BTreeSet::new();
        for_each(dialect, |_, kind, program, case| {
            kinds.insert(kind);
            for smaller in (0..case.parts()).flat_map(|part| case.smaller(part)) {
                let mut other = Program::default();
                smaller.program(&mut other);
                assert_eq!(other.steps().len(), program.steps().len(), "{dialect}");
                assert_eq!(other.checks(), program.checks(), "{dialect}");
            }
            let [first, others @ ..] = program.steps() else { panic!("{dialect}: steps") };
            assert!(!first.undone && first.before.is_empty() && first.sql.sql().starts_with("SELECT"), "{}", first.sql);
            assert!(others.iter().any(|step| step.undone), "{dialect}");
            for step in others.iter().filter(|step| step.undone) {
                assert_eq!(step.failing, kind == Kind::Failing);
                let statement = step.before.first().unwrap_or(&step.sql).sql();
                let words = ["UPDATE ", "DELETE ", "INSERT ", "REPLACE ", "MERGE "];
                assert!(words.iter().any(|word| statement.starts_with(word)), "{dialect}: {statement}");
                let left = ["#T", "#S", "#A", "#C", "#I", "#K"].iter().any(|part| statement.contains(part));
                assert!(!left, "{dialect}: {statement}");
                assert_eq!(step.sql.sql().is_empty(), step.effect == Effect::Count);
            }
            assert!(program.checks().iter().flat_map(|check| &check.steps).all(|at| *at < program.steps().len()));
        });
        assert_eq!(kinds.len(), oracle(dialect).kinds.len(), "{dialect}: {kinds:?}");
        assert!(kinds.len() >= 8, "{dialect}: {kinds:?}");
    }
}

/// What a statement assigns, by column.
fn assignments(statement: &str) -> Option<&str> {
    let (_, rest) = statement.split_once(" SET ").or_else(|| statement.split_once(" KEY UPDATE "))?;
    Some(rest.split(" WHERE ").next().unwrap_or(rest))
}

#[test]
fn where_set_sees_its_own_changes_no_value_reads_what_another_assigns() {
    for dialect in ["mariadb", "mysql"] {
        let mut several = 0;
        for_cases(dialect, |_, kind, program| {
            // What a statement would assign that fails does not matter.
            let Some(statement) = program.steps()[1].before.first().filter(|_| kind != Kind::Failing) else { return };
            let Some(all) = assignments(statement.sql()) else { return };
            // One after the other begins with `column = `.
            let starts: Vec<(usize, &str)> = ["c0", "c1", "c2", "c3"]
                .into_iter()
                .filter_map(|name| {
                    let at = [format!(", {name} = CAST"), format!(", t1.{name} = CAST"), format!(", t2.{name} = CAST")];
                    let found = at.iter().find_map(|start| all.find(start.as_str()));
                    let first = all.starts_with(&format!("{name} = ")) || all[3..].starts_with(&format!("{name} = "));
                    found.or(first.then_some(0)).map(|at| (at, name))
                })
                .collect();
            several += usize::from(starts.len() > 1);
            for (at, name) in &starts {
                let end = starts.iter().map(|(other, _)| *other).filter(|other| other > at).min().unwrap_or(all.len());
                for (_, other) in starts.iter().filter(|(_, other)| other != name) {
                    let value = &all[*at..end];
                    let own = |table: &str| value.contains(&format!("{table}.{other}"));
                    let target = if statement.sql().contains("UPDATE t2") || statement.sql().contains("INTO t2") {
                        "t2"
                    } else {
                        "t1"
                    };
                    assert!(!own(target), "{dialect}: {statement}");
                }
            }
        });
        assert!(several > 10, "{dialect}: {several}");
    }
}

#[test]
fn what_set_reads_row_by_row_is_not_the_table_itself() {
    let mut subqueries = 0;
    for_cases("sqlite", |_, _, program| {
        let Some(statement) = program.steps()[1].before.first() else { return };
        let Some(table) = statement.sql().strip_prefix("UPDATE ").and_then(|rest| rest.split(' ').next()) else {
            return;
        };
        let set = assignments(statement.sql()).unwrap_or_default();
        // The query that UPDATE FROM joins is read before.
        let set = set.split(" FROM (SELECT CAST(q.k").next().unwrap_or(set);
        subqueries += usize::from(set.contains("(SELECT "));
        assert!(!set.contains(&format!(" FROM {table} ")), "{statement}");
    });
    assert!(subqueries > 10, "{subqueries}");
}

#[test]
fn what_a_foreign_key_changes_meanwhile_is_not_read() {
    for dialect in ["sqlite", "postgres", "mariadb", "mysql"] {
        let mut actions = BTreeSet::new();
        for_cases(dialect, |database, kind, program| {
            if kind != Kind::ForeignKey {
                return;
            }
            let statement = statement_of(program);
            let rest = statement.strip_prefix("UPDATE t1 ").or_else(|| statement.strip_prefix("DELETE FROM t1"));
            assert!(rest.is_some_and(|rest| !rest.contains("t2")), "{dialect}: {statement}");
            let made = database.epochs()[0].iter().find(|made| made.starts_with("CREATE TABLE t2")).expect("a table");
            let (_, ends) = made.split_once(" REFERENCES t1(c0)").expect("a foreign key");
            actions.extend(ends.split(" ON ").skip(1).map(|action| action.split([')', ',']).next().map(str::to_owned)));
        });
        let wanted = if dialect.starts_with('m') { 6 } else { 8 };
        assert_eq!(actions.len(), wanted, "{dialect}: {actions:?}");
    }
}

#[test]
fn a_trigger_names_rows_and_its_query_does_not() {
    for dialect in ["sqlite", "postgres", "mariadb", "mysql"] {
        let mut seen = 0;
        for_cases(dialect, |database, kind, program| {
            if kind != Kind::Trigger {
                return;
            }
            let (_, triggers) = database.statements();
            for statement in triggers {
                let left = ["#N", "#B", "#E", "#T", "#W", "#S", "#R"].iter().any(|part| statement.contains(part));
                assert!(!left && !statement.contains("q.o_"), "{dialect}: {statement}");
            }
            let next = program.steps()[0].sql.sql();
            assert!(!next.contains("OLD.") && !next.contains("NEW."), "{dialect}: {next}");
            seen += usize::from(next.contains("FROM lg") && next.contains("UNION ALL"));
        });
        assert!(seen > 10, "{dialect}: {seen}");
    }
}

#[test]
fn only_the_last_of_several_clauses_names_no_key() {
    let mut bare = 0;
    for_cases("sqlite", |_, kind, program| {
        if kind != Kind::UpsertClauses {
            return;
        }
        let statement = statement_of(program);
        let (_, clauses) = statement.split_once(" WHERE 1 = 1 ON CONFLICT").expect("clauses");
        let clauses: Vec<&str> = clauses.split(" ON CONFLICT").collect();
        assert_eq!(clauses.len(), 2, "{statement}");
        assert!(clauses[0].starts_with("(c"), "{statement}");
        bare += usize::from(clauses[1].starts_with(" DO"));
    });
    assert!(bare > 2, "{bare}");
}

#[test]
fn many_next_states_have_a_meaning_for_the_evaluator_that_judges_them() {
    for dialect in ["sqlite", "duckdb", "postgres", "mariadb"] {
        let profile = profile(dialect).expect("shipped");
        let (mut judged, mut meant, mut kinds) = (0, 0, BTreeSet::new());
        for_cases(dialect, |_, kind, program| {
            let Some(step) = program.steps().last().filter(|step| step.evaluation.is_some()) else { return };
            let schema = &step.evaluation.as_ref().expect("one").schema;
            judged += 1;
            if Meaning::new(schema, step.sql.sql(), &profile).is_ok() {
                meant += 1;
                kinds.insert(kind);
            }
        });
        assert!(judged > 40 && meant * 3 > judged, "{dialect}: {meant} of {judged}");
        assert!(kinds.len() >= 6, "{dialect}: {kinds:?}");
    }
}
