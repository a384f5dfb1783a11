use super::*;
use crate::catalogue::shipped;
use crate::compare::{Comparison, Row, compare};
use crate::config::StatementLimits;
use crate::dbms::Connection as _;
use crate::dbms::sqlite::Sqlite;
use crate::rng::{Rng, stream};
use crate::sql::types::SqlType;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SCHEMA: &str = "CREATE TABLE t1(c0 INT PRIMARY KEY, c1 INT, c2 TEXT); \
    CREATE TABLE t2(c0 INT, c1 INT NOT NULL, c2 TEXT, FOREIGN KEY (c1) REFERENCES t1(c0)); \
    CREATE TABLE t3(c0 INT UNIQUE, c1 BOOLEAN)";

/// Among them they give every rule something to do.
const SEEDS: [&str; 44] = [
    "SELECT * FROM t1 WHERE t1.p1",
    "SELECT t2.c0, t2.c2 FROM t2 WHERE t2.p2 OR t2.c0 > 1",
    "SELECT DISTINCT t2.c0 FROM t2 WHERE t2.p2 OR t2.c0 = 1",
    "SELECT t2.c0, t2.c1 FROM t2 GROUP BY t2.c0, t2.c1",
    "SELECT COUNT(*) AS n, MAX(t2.c0) AS m, SUM(t2.c1) AS s FROM t2 WHERE t2.p2",
    "SELECT COUNT(t2.c0) AS n FROM t2",
    "SELECT t2.c0, COUNT(*) AS n, MIN(t2.c1) AS m FROM t2 WHERE t2.c0 > 0 AND t2.p2 GROUP BY t2.c0",
    "SELECT t2.c0, COUNT(*) AS n FROM t2 GROUP BY t2.c0 HAVING COUNT(*) > 1 AND t2.c0 IS NOT NULL",
    "SELECT COUNT(DISTINCT t2.c0) AS n, COUNT(*) FILTER (WHERE t2.p2) AS m FROM t2",
    "SELECT COUNT(DISTINCT t2.c0) AS n FROM t2",
    "SELECT t2.c2, MAX(t2.c0) AS m FROM t2 GROUP BY t2.c2",
    "SELECT COUNT(CASE WHEN t2.p2 THEN t2.c0 END) AS n FROM t2",
    "SELECT t1.c1, t2.c0 FROM t1 JOIN t2 ON t1.c0 = t2.c1 AND t2.p2 WHERE t1.p1",
    "SELECT t1.c1, t2.c0 FROM t1, t2, t3 WHERE t1.c0 = t2.c0 AND t2.c0 = t3.c0 AND t3.c0 > 0",
    "SELECT DISTINCT t1.c1 FROM t1 JOIN t2 ON t1.c0 = t2.c0",
    "SELECT t2.c0 FROM t2 JOIN t1 ON t1.c0 = t2.c0",
    "SELECT t1.c1 FROM t1 JOIN t2 ON t1.c0 = t2.c0 WHERE t2.p2",
    "SELECT t1.c0, t2.c0 FROM t1 LEFT JOIN t2 ON t1.c0 = t2.c0 AND t2.p2",
    "SELECT t1.c0, t2.c0 FROM t1 LEFT JOIN t2 ON t1.c0 = t2.c0 WHERE t2.c0 > 0",
    "SELECT t1.c0 FROM t1 LEFT JOIN t2 ON t1.c0 = t2.c0 AND t2.p2 WHERE t2.c0 IS NULL",
    "SELECT t2.c0 FROM t2 LEFT JOIN t3 ON t3.c0 = t2.c0",
    "SELECT t1.c0, t1.p1, t2.c0 FROM t1 FULL JOIN t2 ON t1.c0 = t2.c0",
    "SELECT t1.c0, t2.c0 FROM t1 RIGHT JOIN t2 ON t1.c0 = t2.c0 AND t1.p1",
    "SELECT t2.c0 FROM t2 WHERE t2.c0 IN (SELECT t1.c1 FROM t1 WHERE t1.p1)",
    "SELECT DISTINCT t2.c0 FROM t2 WHERE t2.c0 IN (SELECT t1.c1 FROM t1 WHERE t1.p1)",
    "SELECT t2.c0 FROM t2 WHERE t2.c0 NOT IN (SELECT t1.c1 FROM t1)",
    "SELECT t2.c0 FROM t2 WHERE EXISTS (SELECT 1 FROM t1 WHERE t1.c1 = t2.c0 AND t1.p1)",
    "SELECT DISTINCT t2.c0 FROM t2 WHERE EXISTS (SELECT 1 FROM t1 WHERE t1.c1 = t2.c0)",
    "SELECT t2.c0 FROM t2 WHERE NOT EXISTS (SELECT 1 FROM t1 WHERE t1.c1 = t2.c0 AND t1.p1)",
    "SELECT t2.c0 FROM t2 WHERE t2.p2 UNION SELECT t2.c0 FROM t2 WHERE t2.c1 > 0",
    "SELECT t1.c0, t1.c1 FROM t1 WHERE t1.p1 INTERSECT SELECT t1.c0, t1.c1 FROM t1 WHERE t1.c1 > 0",
    "SELECT t2.c0 FROM t2 EXCEPT SELECT t1.c1 FROM t1",
    "SELECT t2.c0 FROM t2 INTERSECT SELECT v1.c0 FROM v1 UNION ALL SELECT t1.c1 FROM t1",
    "SELECT d.c0 FROM (SELECT t2.c0 AS c0, t2.c1 AS k FROM t2 WHERE t2.p2) AS d WHERE d.k > 0",
    "SELECT t1.c0, (SELECT COUNT(*) FROM t2 WHERE t2.c0 = t1.c0) AS n FROM t1",
    "SELECT DISTINCT t1.c0, t1.c1 FROM t1",
    "SELECT t2.c0 FROM t2 WHERE t2.c0 BETWEEN 0 AND 1 OR t2.c0 IN (1, 2) AND COALESCE(t2.c0, t2.c1) = 1",
    "SELECT t2.c0 FROM t2 WHERE (t2.p2 OR t2.c0 = 1) IS NOT TRUE AND (t2.c0 > 0) IS NOT FALSE",
    "SELECT t2.c0 FROM t2 WHERE (t2.c0 > 0) IS NOT FALSE",
    "SELECT t2.c2 FROM t2 WHERE t2.p2 EXCEPT SELECT t2.c2 FROM t2 WHERE t2.c1 > 0",
    "SELECT t2.c0 FROM t2 WHERE t2.p2 AND (t2.c0 = 1 OR t2.c1 = 1)",
    "SELECT t2.c0 FROM t2 WHERE (t2.p2 AND t2.c0 = 1) OR (t2.p2 AND t2.c1 = 1)",
    "SELECT t2.c0 FROM t2 JOIN v1 ON v1.c0 IS NOT DISTINCT FROM t2.c0",
    "WITH d1 AS (SELECT t2.c0 AS c0, t2.p2 AS b FROM t2) SELECT d1.c0 FROM d1 JOIN t3 ON t3.c0 = d1.c0 WHERE d1.b",
];

fn seed(sql: &str) -> Caq {
    let placeholders = [
        ("p1", "Expr(t1: BOOLEAN)"),
        ("p2", "Expr(t2: BOOLEAN)"),
        ("v1", "Table(c0 INT, c1 TEXT)"),
        ("q1", "Expr(v1: BOOLEAN)"),
    ];
    let placeholders: BTreeMap<String, String> =
        placeholders.into_iter().map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
    Caq { schema: SCHEMA.to_owned(), placeholders, sql: sql.to_owned() }
}

fn rules_of(sql: &str) -> Rules {
    Rules::new(&seed(sql)).expect("the seed reads")
}

fn bindable(rules: &Rules, sql: &str) -> Vec<String> {
    bind(sql, &rules.facts.names).unwrap_or_else(|e| panic!("{sql}: {e}")).aliases
}

/// A small random database, placeholders as real columns and tables. Rows that break a constraint are left out.
fn database(db: &mut Sqlite, rules: &Rules, rng: &mut Rng) {
    db.reset().expect("resets");
    db.execute("PRAGMA foreign_keys = ON").expect("a pragma");
    for (table, relation) in rules.facts.names.relations.iter().zip(&rules.facts.relations) {
        let mut parts: Vec<String> = relation
            .columns
            .iter()
            .map(|c| format!("{} {}{}", c.name, c.ty.expect("a type"), if c.not_null { " NOT NULL" } else { "" }))
            .collect();
        parts.extend(relation.unique.iter().map(|key| format!("UNIQUE ({})", key.join(", "))));
        for key in &table.foreign_keys {
            let parent = &rules.facts.relations[key.table];
            let own = &relation.columns[key.columns[0]].name;
            parts.push(format!(
                "FOREIGN KEY ({own}) REFERENCES {}({})",
                parent.name, parent.columns[key.referred[0]].name
            ));
        }
        db.execute(&format!("CREATE TABLE {}({})", table.name, parts.join(", "))).expect("creates");
        for _ in 0..rng.random_range(0..8) {
            let values: Vec<&str> = relation
                .columns
                .iter()
                .map(|c| {
                    let choices: &[&str] = match c.ty {
                        Some(SqlType::Boolean) => &["NULL", "0", "1"],
                        Some(SqlType::Text) => &["NULL", "'a'", "'b'"],
                        _ => &["NULL", "0", "1", "2"],
                    };
                    let from = usize::from(c.not_null);
                    choices[rng.random_range(from..choices.len())]
                })
                .collect();
            let _ = db.execute(&format!("INSERT INTO {} VALUES ({})", table.name, values.join(", ")));
        }
    }
}

fn open() -> Sqlite {
    Sqlite::linked(StatementLimits {
        steps_max: 10_000_000,
        time_max_ms: 10_000,
        rows_max: 10_000,
        bytes_max: 1_000_000,
    })
    .expect("opens")
}

fn rows(db: &mut Sqlite, sql: &str) -> Vec<Row> {
    db.rows(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn equal_on(db: &mut Sqlite, a: &str, b: &str) -> bool {
    compare(&rows(db, a), &rows(db, b)) == Comparison::Equal
}

/// Every rule fits somewhere; what it writes reads back, binds and runs; and what is meant to be right returns the same
/// bag of rows on random databases.
#[test]
fn sound_rules_keep_the_rows_and_all_rules_fit_somewhere() {
    let mut db = open();
    let mut fired = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    for (at, sql) in (0u64..).zip(SEEDS) {
        let rules = rules_of(sql);
        let base = rules.base(sql).expect("parses");
        // With `*` written out: here placeholders are real columns, for which it would stand too.
        let sql = base.to_string();
        let mut candidates = BTreeSet::new();
        for (number, rule) in (0u64..).zip(super::rules()) {
            for draw in 0..2 {
                let mut rng = stream(1, &[at, number, draw]);
                let Some(new) = rule.apply(&base, &rules.facts, &mut rng) else { continue };
                let Ok(text) = print_query(&new) else { continue };
                bindable(&rules, &text);
                fired.insert(rule.name);
                candidates.insert((text, rule.name, rule.sound));
            }
        }
        for round in 0..10 {
            database(&mut db, &rules, &mut stream(2, &[at, round]));
            for (text, name, sound) in &candidates {
                if !equal_on(&mut db, &sql, text) {
                    assert!(!sound, "{name}: {sql}\n{text}");
                    wrong.insert(*name);
                }
            }
        }
    }
    let expected: BTreeSet<&str> = names().map(|(name, _)| name).collect();
    assert_eq!(fired, expected, "a rule without an example");
    // What is called unsound is seen to be.
    let unsound: BTreeSet<&str> = names().filter(|(_, sound)| !sound).map(|(name, _)| name).collect();
    assert_eq!(wrong, unsound, "a rule that is not seen to be wrong");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn chains_of_sound_rules_keep_the_rows(number in any::<u64>(), at in 0..SEEDS.len()) {
        let sql = SEEDS[at];
        let rules = rules_of(sql);
        let sql = &rules.base(sql).expect("parses").to_string();
        let sound: BTreeSet<&str> = names().filter(|(_, sound)| *sound).map(|(name, _)| name).collect();
        let mut rng = stream(number, &[]);
        let mut db = open();
        database(&mut db, &rules, &mut rng);
        let mut from = vec![sql.to_owned()];
        for _ in 0..3 {
            let bases: Vec<&str> = from.iter().map(String::as_str).collect();
            let proposals = rules.propose(&bases, &BTreeSet::new(), 4, &mut rng);
            for proposal in proposals {
                bindable(&rules, &proposal.sql);
                if proposal.rules.iter().all(|name| sound.contains(name)) {
                    prop_assert!(equal_on(&mut db, sql, &proposal.sql), "{:?} {sql}\n{}", proposal.rules, proposal.sql);
                    from.push(proposal.sql);
                }
            }
        }
    }

    #[test]
    fn new_names_are_new(number in any::<u64>(), at in 0..SEEDS.len()) {
        let rules = rules_of(SEEDS[at]);
        let old = bindable(&rules, SEEDS[at]);
        for proposal in rules.propose(&[SEEDS[at]], &BTreeSet::new(), 8, &mut stream(number, &[])) {
            for alias in bindable(&rules, &proposal.sql) {
                let taken = rules.facts.relations.iter().any(|r| r.name == alias || r.columns.iter().any(|c| c.name == alias));
                prop_assert!(old.contains(&alias) || (!taken && alias.starts_with('d')), "{alias} in {}", proposal.sql);
            }
        }
    }
}

#[test]
fn the_same_generator_proposes_the_same() {
    let rules = rules_of(SEEDS[12]);
    let propose = |seed| rules.propose(&[SEEDS[12]], &BTreeSet::new(), 20, &mut stream(seed, &[]));
    assert_eq!(propose(3), propose(3));
    assert_ne!(propose(3), propose(4));
    assert_eq!(propose(3).len(), 20);
}

#[test]
fn nothing_is_proposed_twice() {
    let rules = rules_of(SEEDS[0]);
    let mut avoid = BTreeSet::new();
    let mut rng = stream(5, &[]);
    for _ in 0..10 {
        for proposal in rules.propose(&[SEEDS[0]], &avoid, 10, &mut rng) {
            assert_ne!(plain(&proposal.sql), plain("SELECT t1.c0, t1.c1, t1.c2 FROM t1 WHERE t1.p1"));
            assert!(avoid.insert(proposal.sql.clone()), "{}", proposal.sql);
        }
    }
    // White space makes no difference.
    let first = rules.propose(&[SEEDS[0]], &BTreeSet::new(), 5, &mut stream(6, &[]));
    let spaced: BTreeSet<String> = first.iter().map(|p| p.sql.replace(' ', " \n ")).collect();
    let second = rules.propose(&[SEEDS[0]], &spaced, 5, &mut stream(6, &[]));
    assert!(second.iter().all(|p| !first.iter().any(|f| f.sql == p.sql)));
}

#[test]
fn what_leaves_nothing_to_rewrite_ends() {
    let rules = rules_of("SELECT 1 AS one");
    assert!(rules.propose(&["SELECT 1 AS one"], &BTreeSet::new(), 1000, &mut stream(1, &[])).len() <= 1000);
    assert!(rules.propose(&["no query"], &BTreeSet::new(), 5, &mut stream(1, &[])).is_empty());
    assert!(rules.propose(&[], &BTreeSet::new(), 5, &mut stream(1, &[])).is_empty());
}

#[test]
fn a_wrong_placeholder_is_named() {
    let mut caq = seed(SEEDS[0]);
    caq.placeholders.insert("p9".to_owned(), "Expr(t9: BOOLEAN)".to_owned());
    let error = Rules::new(&caq).expect_err("t9 is no table").to_string();
    assert!(error.contains("p9"), "{error}");
}

#[test]
fn members_of_the_catalogue_give_proposals_that_bind() {
    let catalogue = shipped().expect("the catalogue loads");
    let mut with = 0;
    for (at, class) in (0u64..).zip(&catalogue.classes) {
        let members: Vec<&str> = class.members.iter().map(|m| m.sql.as_str()).collect();
        let caq =
            Caq { schema: class.ddl.clone(), placeholders: class.constraints.clone(), sql: members[0].to_owned() };
        let rules = Rules::new(&caq).expect("a class reads");
        let proposals = rules.propose(&members, &BTreeSet::new(), 2, &mut stream(at, &[]));
        for proposal in &proposals {
            bindable(&rules, &proposal.sql);
        }
        with += usize::from(!proposals.is_empty());
    }
    assert!(with * 100 >= catalogue.classes.len() * 95, "{with} of {}", catalogue.classes.len());
}
