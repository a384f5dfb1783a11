//! Databases whose tables are spread over parts, and whose columns come and go, have what cases are told they have.

use crate::support::{Caqtus, engines};
use caqtus::config::{ClassChoice, SnippetChoice};
use caqtus::generate::database::{Relations, database};
use caqtus::hunt::session::Session;
use caqtus::interpret::build;
use caqtus::rng::stream;
use caqtus::sql::schema::{created_table, parse_schema};
use std::collections::BTreeMap;
use std::path::Path;

/// Tables of many rows, as they are counted here.
const MANY: &str = "many rows";

/// Databases of each kind of schema.
const DATABASES: u64 = 120;

/// Schemas of classes: a table without keys, tables with keys, and a foreign key.
const SCHEMAS: [&str; 3] = [
    "CREATE TABLE t1(c0 INT, c1 TEXT, c2 REAL); CREATE TABLE t2(c0 BLOB, c1 BOOLEAN)",
    "CREATE TABLE t1(c0 INT NOT NULL, c1 TEXT, PRIMARY KEY(c0)); CREATE TABLE t2(c0 INT UNIQUE)",
    "CREATE TABLE t1(c0 INT NOT NULL, PRIMARY KEY(c0)); CREATE TABLE t2(c0 INT, FOREIGN KEY(c0) REFERENCES t1(c0))",
];

/// Makes databases on a target; how many statements with each of some words the target took.
fn made(target: &str, data: &Path, words: &[&'static str]) -> BTreeMap<&'static str, usize> {
    let target = target.parse().expect("a target");
    let choice = ClassChoice { oracles: vec!["coddtest".to_owned()], ..ClassChoice::default() };
    let mut session = Session::open(&target, data, None, &choice, &SnippetChoice::default(), &[], &mut || {})
        .unwrap_or_else(|e| panic!("{target}: {e:?}"));
    let (mut taken, mut refused) = (BTreeMap::new(), 0);
    for (number, schema) in (0..).zip(SCHEMAS) {
        let schema = parse_schema(schema).expect("a schema");
        let relations = Relations { all: &schema.tables, own: schema.tables.len(), collated: false };
        for seed in 0..DATABASES {
            let made = database(relations, &session.capabilities, &mut stream(seed, &[number]));
            build(session.connection.as_mut(), &[]).unwrap_or_else(|e| panic!("{target}: {e}"));
            'epochs: for (epoch, statements) in made.epochs.iter().enumerate() {
                for statement in statements {
                    let done = session.connection.execute(statement);
                    // A generated column may be refused, and a key that not every part has.
                    if done.is_err() && created_table(statement).is_some() {
                        refused += 1;
                        break 'epochs;
                    }
                    let known = words.iter().filter(|word| statement.contains(**word));
                    known.for_each(|word| *taken.entry(*word).or_default() += usize::from(done.is_ok()));
                }
                for table in &made.tables {
                    let columns: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
                    let sql = format!("SELECT {} FROM {}", columns.join(", "), table.name);
                    let rows = session.connection.rows(&sql);
                    *taken.entry(MANY).or_default() += usize::from(rows.as_ref().is_ok_and(|rows| rows.len() > 250));
                    assert!(rows.is_ok(), "{target}, epoch {epoch}: {sql}: {rows:?}\n{}", statements.join(";\n"));
                }
            }
        }
    }
    assert!(refused * 4 < DATABASES * SCHEMAS.len() as u64, "{target}: {refused} databases are refused");
    taken
}

#[test]
fn what_cases_know_is_there() {
    let caqtus = Caqtus::new();
    let data = caqtus.path("data");
    let columns = ["ADD COLUMN", "DROP COLUMN", MANY];
    let targets = [("sqlite".to_owned(), data.clone(), &columns[..])];
    let parts = [&columns[..], &["PARTITION BY HASH", "PARTITION BY RANGE", "PARTITION BY LIST"]].concat();
    let postgres = [("postgres".to_owned(), data, &parts[..])];
    let duckdb = engines::duckdb().map(|target| (target, engines::data_dir(), &columns[..]));
    let of_mariadb = [&parts[..], &["PARTITION BY KEY"]].concat();
    let mariadb = engines::mariadb().map(|target| (target, engines::data_dir(), &of_mariadb[..]));
    for (target, data, words) in targets.into_iter().chain(postgres).chain(duckdb).chain(mariadb) {
        let taken = made(&target, &data, words);
        for word in words {
            // What a version takes decides what is drawn, so how many there are is not the same everywhere.
            assert!(taken.get(word) > Some(&0), "{target}: {word}: {taken:?}");
        }
    }
}
