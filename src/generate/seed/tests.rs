//! Properties of many seeds at once.

use super::*;
use crate::caq::class::{OracleClass, parse_classes};
use crate::catalogue::profile;
use crate::config::StatementLimits;
use crate::dbms::Connection as _;
use crate::dbms::sqlite::Sqlite;
use crate::sql::print::parse_query;
use crate::sql::types::SqlType;
use proptest::prelude::*;
use std::fmt::Write as _;

const COUNT: u64 = 500;
const CAMPAIGN: u64 = 11;

fn generator(options: &Options) -> Generator {
    Generator::new(CAMPAIGN, options).expect("the schema is usable")
}

fn all() -> Vec<Caq> {
    let generator = generator(&Options::default());
    (0..COUNT).map(|number| generator.seed(number).caq).collect()
}

/// A class of the seed twice, which is only read if every placeholder is used.
fn class(caq: &Caq) -> OracleClass {
    let mut text = format!("[[class]]\nname = 'seed'\nschema = {:?}\nplaceholders = {{", caq.schema);
    for (at, (name, constraint)) in caq.placeholders.iter().enumerate() {
        let _ = write!(text, "{}{name} = {constraint:?}", if at == 0 { " " } else { ", " });
    }
    let _ = write!(text, " }}\nmembers = [{0:?}, {0:?}]", caq.sql);
    match parse_classes("seed.toml", &text) {
        Ok(mut classes) => classes.remove(0),
        Err(error) => {
            let mut message = format!("{error}");
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                let _ = write!(message, ": {error}");
                source = error.source();
            }
            panic!("{message}\n{text}")
        }
    }
}

/// Makes the database of the paper's Listing 3, with a few rows: placeholders are columns and tables.
fn build(sqlite: &mut Sqlite, caq: &Caq) {
    let class = class(caq);
    sqlite.reset().expect("an empty database");
    for (at, relation) in class.names.relations.iter().enumerate() {
        let real = relation.columns.iter().map(|c| (c.name.clone(), c.ty));
        let over = caq.placeholders.iter().filter_map(|(name, constraint)| {
            let (table, ty) = constraint.strip_prefix("Expr(")?.strip_suffix(')')?.split_once(": ")?;
            (table == relation.name).then(|| (name.clone(), SqlType::parse(ty).expect("a type")))
        });
        let columns: Vec<(String, SqlType)> = real.chain(over).collect();
        let declared: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let create = format!("CREATE TABLE {}({})", relation.name, declared.join(", "));
        sqlite.execute(&create).expect("the table is made");
        for row in 0..3 {
            let cells: Vec<&str> = columns
                .iter()
                .map(|(_, ty)| match (ty, (row + at) % 3) {
                    (_, 2) => "NULL",
                    (SqlType::Text, 0) => "'a'",
                    (SqlType::Text, _) => "'b'",
                    (_, 0) => "0",
                    (_, _) => "1",
                })
                .collect();
            sqlite.execute(&format!("INSERT INTO {} VALUES ({})", relation.name, cells.join(", "))).expect("a row");
        }
    }
}

const LIMITS: StatementLimits =
    StatementLimits { steps_max: 2_000_000, time_max_ms: 2000, rows_max: 100_000, bytes_max: 100_000 };

#[test]
fn seeds_bind_as_members_and_use_every_placeholder() {
    for caq in all() {
        let class = class(&caq);
        assert!(!class.names.placeholders.is_empty() && class.names.placeholders.len() <= 4, "{caq:?}");
        assert!((1..=3).contains(&class.schema.tables.len()), "{caq:?}");
        // A class allows a table placeholder that only an expression is over.
        for name in caq.placeholders.keys() {
            assert!(caq.sql.contains(name.as_str()), "{name} in {}", caq.sql);
        }
    }
}

#[test]
fn the_prover_reads_seeds_and_assumes_nothing_but_what_sqlite_guarantees() {
    let guarantees = &profile("sqlite").expect("a dialect").guarantees;
    for caq in all() {
        let schema = prover::lower::schema(&caq.schema, &caq.placeholders).expect("the schema is understood");
        match prover::lower::query(&schema, &caq.sql) {
            Ok(query) => {
                let assumed = query.assumptions.iter().find(|a| !guarantees.contains(*a));
                assert_eq!(assumed, None, "{caq:?}");
            }
            Err(error) => panic!("{error}: {caq:?}"),
        }
    }
}

#[test]
fn the_text_of_a_seed_reads_as_its_tree() {
    let generator = generator(&Options { bag_set_operations: true, ..Options::default() });
    // Many, for what is rare in the grammar too.
    for number in 0..3000 {
        let Seed { caq, query, .. } = generator.seed(number);
        assert_eq!(parse_query(&caq.sql).expect("parses"), query, "{}", caq.sql);
        assert!(!caq.sql.contains("true") && !caq.sql.contains("false"), "{}", caq.sql);
    }
}

#[test]
fn seeds_run_on_sqlite() {
    let mut sqlite = Sqlite::linked(LIMITS).expect("SQLite opens");
    let mut with_rows = 0;
    for caq in all() {
        build(&mut sqlite, &caq);
        match sqlite.rows(&caq.sql) {
            Ok(rows) => with_rows += usize::from(!rows.is_empty()),
            Err(error) => panic!("{error}: {caq:?}"),
        }
    }
    // A query without any row has nothing to be compared; on three rows per table some are empty by chance.
    assert!(with_rows >= 300, "only {with_rows} of {COUNT} return a row");
}

#[test]
fn the_schemas_of_seeds_are_accepted_by_sqlite() {
    let mut sqlite = Sqlite::linked(LIMITS).expect("SQLite opens");
    for caq in all() {
        sqlite.reset().expect("an empty database");
        for statement in caq.schema.split_inclusive(';') {
            sqlite.execute(statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
        }
    }
}

/// Each feature with the least share of seeds that must have it, in permille.
const FEATURES: [(&str, u32); 35] = [
    (" FROM t1, ", 5),
    (" JOIN ", 300),
    (" LEFT JOIN ", 60),
    (" RIGHT JOIN ", 15),
    (" FULL JOIN ", 15),
    (" CROSS JOIN ", 20),
    (" AS a", 80),
    (" UNION ", 50),
    (" UNION ALL ", 20),
    (" INTERSECT ", 10),
    (" EXCEPT ", 15),
    ("COUNT(*)", 50),
    ("COUNT(DISTINCT ", 15),
    ("SUM(", 30),
    ("MIN(", 30),
    ("MAX(", 30),
    (" GROUP BY ", 100),
    (" HAVING ", 20),
    ("EXISTS (", 60),
    ("NOT EXISTS (", 20),
    (" IN (SELECT ", 40),
    (" NOT IN (SELECT ", 10),
    ("(SELECT M", 15),
    ("WITH ", 40),
    (" AS MATERIALIZED (", 10),
    ("FROM (SELECT ", 20),
    ("SELECT DISTINCT ", 60),
    ("CASE WHEN ", 50),
    ("COALESCE(", 30),
    (" TRUE", 40),
    (" IS NULL", 30),
    ("DISTINCT FROM ", 40),
    (" BETWEEN ", 30),
    (" IN (0, 1)", 15),
    (" OR ", 50),
];

#[test]
fn every_feature_occurs() {
    let all = all();
    let permille = |count: usize| u32::try_from(count * 1000 / all.len()).expect("a share");
    for (feature, least) in FEATURES {
        let share = permille(all.iter().filter(|caq| caq.sql.contains(feature)).count());
        assert!(share >= least, "{feature}: {share} permille");
    }
    let kinds = [(": BOOLEAN)", 500), (": INT)", 200), (": TEXT)", 80), ("Table(", 150), ("Expr(v1", 50)];
    for (kind, least) in kinds {
        let has = |caq: &&Caq| caq.placeholders.values().any(|constraint| constraint.contains(kind));
        let share = permille(all.iter().filter(has).count());
        assert!(share >= least, "{kind}: {share} permille");
    }
}

#[test]
fn what_sqlite_does_not_guarantee_does_not_occur() {
    for caq in all() {
        for word in [
            "LIMIT",
            "ORDER BY",
            "OVER",
            "AVG",
            "LATERAL",
            " + ",
            " - ",
            " * ",
            " / ",
            " ALL EXCEPT",
            "EXCEPT ALL",
            "INTERSECT ALL",
        ] {
            assert!(!caq.sql.contains(word), "{word} in {}", caq.sql);
        }
        // A scalar subquery is an aggregate without groups, so it has one row.
        for (at, _) in caq.sql.match_indices("(SELECT ") {
            let before = &caq.sql[..at];
            let is_set = [" IN ", "EXISTS ", "FROM ", "JOIN ", ", ", " AS ", "MATERIALIZED "];
            let aggregate = ["COUNT(", "SUM(", "MIN(", "MAX("].iter().any(|a| caq.sql[at + 8..].starts_with(a));
            assert!(aggregate || is_set.iter().any(|s| before.ends_with(s)), "{}", caq.sql);
        }
    }
}

#[test]
fn real_values_are_never_compared() {
    let real: Vec<Caq> = all().into_iter().filter(|caq| caq.schema.contains("REAL")).collect();
    assert!(real.len() >= 20, "{} schemas with REAL", real.len());
    for caq in real {
        let class = class(&caq);
        for table in &class.schema.tables {
            for column in table.columns.iter().filter(|c| c.ty == SqlType::Real) {
                let name = format!("{}.{} ", table.name, column.name);
                let operators = ["= ", "<", ">", "IN ", "NOT IN", "BETWEEN", "IS DISTINCT", "IS NOT DISTINCT"];
                for (at, _) in caq.sql.match_indices(&name) {
                    let after = &caq.sql[at + name.len()..];
                    assert!(!operators.iter().any(|o| after.starts_with(o)), "{name} in {}", caq.sql);
                }
            }
        }
    }
}

fn structured(seed: &Seed) -> String {
    structure(&seed.caq, &seed.query)
}

#[test]
fn most_seeds_have_a_structure_of_their_own() {
    let generator = generator(&Options::default());
    let structures: BTreeSet<String> = (0..COUNT).map(|number| structured(&generator.seed(number))).collect();
    assert!(structures.len() >= 450, "{} of {COUNT}", structures.len());
}

#[test]
fn distinct_seeds_are_distinct_and_repeat() {
    let some = |campaign| seeds(campaign, &Options::default()).expect("usable").take(60).collect::<Vec<_>>();
    let first = some(3);
    assert_eq!(first, some(3));
    assert_ne!(first, some(4));
    let structures: BTreeSet<String> = first.iter().map(structured).collect();
    assert_eq!(structures.len(), first.len());
    let generator = Generator::new(3, &Options::default()).expect("usable");
    assert!(first.iter().all(|seed| generator.seed(seed.number) == *seed), "the number makes the seed again");
}

#[test]
fn the_end_comes_when_nothing_new_is_found() {
    let mut distinct = generator(&Options::default()).distinct();
    // Every structure the next thousand numbers have is known.
    for number in 0..u64::from(REPEATS_MAX) {
        distinct.seen.insert(structured(&distinct.generator.seed(number)));
    }
    assert_eq!(distinct.next(), None);
    assert!(distinct.next().is_some(), "the search goes on from there");
}

#[test]
fn a_given_schema_is_used_as_it_is() {
    let ddl = "CREATE TABLE customers(id INT PRIMARY KEY, name TEXT, p1 REAL); \
               CREATE TABLE orders(a INT, s TEXT, customer INT REFERENCES customers(id), w BOOLEAN, x BLOB);";
    let options = Options { schema: Some(ddl.to_owned()), ..Options::default() };
    let generator = generator(&options);
    let mut sqlite = Sqlite::linked(LIMITS).expect("SQLite opens");
    let mut joined = 0;
    for number in 0..200 {
        let Seed { caq, .. } = generator.seed(number);
        assert_eq!(caq.schema, ddl);
        build(&mut sqlite, &caq);
        sqlite.execute(&caq.sql).unwrap_or_else(|error| panic!("{error}: {}", caq.sql));
        joined += usize::from(caq.sql.contains("orders.customer = customers.id"));
    }
    assert!(joined > 10, "the foreign key is followed in {joined} of 200");
}

#[test]
fn schemas_that_cannot_be_used_are_refused() {
    let new = |ddl: &str| Generator::new(1, &Options { schema: Some(ddl.to_owned()), ..Options::default() });
    assert!(matches!(new("CREATE INDEX i ON t(c)"), Err(SeedError::Schema(_))));
    assert!(matches!(new(""), Err(SeedError::Empty)));
    for ddl in [
        "CREATE TABLE \"order\"(c INT)",
        "CREATE TABLE t(\"a b\" INT)",
        "CREATE TABLE sq(c INT)",
        // Which means something else in FROM.
        "CREATE TABLE lateral(c INT)",
    ] {
        assert!(matches!(new(ddl), Err(SeedError::Name { .. } | SeedError::Schema(_))), "{ddl}");
    }
}

#[test]
fn a_schema_without_comparable_columns_still_gives_seeds() {
    let options = Options { schema: Some("CREATE TABLE b(x BLOB)".to_owned()), ..Options::default() };
    let generator = generator(&options);
    for number in 0..50 {
        class(&generator.seed(number).caq);
    }
    let (_, simplest) = generator.simplest();
    assert_eq!(simplest.query, parse_query("SELECT b.x FROM b WHERE b.p1").expect("parses"));
}

#[test]
fn bag_set_operations_come_on_demand() {
    let generator = generator(&Options { bag_set_operations: true, ..Options::default() });
    let all: Vec<Caq> = (0..COUNT).map(|number| generator.seed(number).caq).collect();
    let count = |operator| all.iter().filter(|caq| caq.sql.contains(operator)).count();
    assert!(count(" INTERSECT ALL ") > 0 && count(" EXCEPT ALL ") > 0);
    assert!(count(" INTERSECT ALL ") < 50 && count(" EXCEPT ALL ") < 50);
    all.iter().for_each(|caq| drop(class(caq)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn seeds_of_any_campaign_bind_and_repeat(campaign: u64, number: u64) {
        let make = || Generator::new(campaign, &Options::default()).expect("usable").seed(number);
        let seed = make();
        prop_assert_eq!(&seed, &make());
        class(&seed.caq);
    }
}
