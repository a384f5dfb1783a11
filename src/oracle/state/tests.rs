use super::*;
use crate::catalogue::profile;
use crate::generate::{Corpus, Enforced};
use crate::program::Effect;
use crate::sql::types::Value;

/// The oracle for a target that takes everything.
fn oracle(dialect: &str) -> State {
    let enforced = Enforced { not_null: true, keys: true, checks: true, foreign_keys: true };
    let rows = |_: &str| Some(vec![vec![Value::Int(1)]]);
    let profile = profile(dialect).expect("shipped");
    let mut capabilities = Capabilities::probe(profile, Corpus::default(), enforced, rows);
    capabilities.undoes = true;
    let setting = Setting {
        capabilities: Arc::new(capabilities),
        catalogue: &[],
        brought: false,
        assumed: false,
        patterns: &[],
        snippet_percent: 0,
        may_fail_percent: 0,
    };
    State::new(setting, &mut |_, _| Ok(()))
}

/// Gives `check` the program of each of many cases.
fn for_cases(dialect: &str, mut check: impl FnMut(&StateDatabase, Kind, &Program)) {
    let oracle = oracle(dialect);
    for seed in 0..600 {
        let mut rng = stream(seed, &[]);
        let database = StateDatabase::generate(&oracle, &mut rng);
        let kind = database.draw_kind(&mut rng);
        let case = StateCase::draw(&database, kind, &mut rng);
        let mut program = Program::default();
        case.program(&mut program);
        check(&database, kind, &program);
        for part in 0..case.parts() {
            for smaller in case.smaller(part) {
                let mut other = Program::default();
                smaller.program(&mut other);
                assert_eq!(other.steps().len(), program.steps().len(), "{dialect}");
                assert_eq!(other.checks(), program.checks(), "{dialect}");
            }
        }
    }
}

#[test]
fn every_case_asks_before_it_changes_and_undoes_what_it_changes() {
    for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
        let mut kinds = BTreeSet::new();
        for_cases(dialect, |_, kind, program| {
            kinds.insert(kind);
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
