//! The table of result types that proofs rest on says what the engines say.

use crate::support::{Caqtus, engines};
use caqtus::config::STATEMENT_LIMITS;
use caqtus::dbms::Connection;
use caqtus::dbms::target::Target;
use caqtus::sql::types::Value;
use prover::ir::number::{ENGINES, Engine, Kind};
use prover::ir::{Type, results};

const COLUMNS: &str = "CREATE TABLE d(a INTEGER, big BIGINT, m DECIMAL(10,2), f DOUBLE PRECISION, dt DATE, ts TIMESTAMP NULL, c VARCHAR(9))";
const ROW: &str = "INSERT INTO d VALUES (5, 6, 5.25, 5.5, DATE '2020-03-01', TIMESTAMP '2020-03-01 10:11:12', 'abc')";
const ROW_OF_TEXTS: &str = "INSERT INTO d VALUES (5, 6, 5.25, 5.5, '2020-03-01', '2020-03-01 10:11:12', 'abc')";

/// The columns that are numbers, with their types.
fn columns() -> [(&'static str, Type); 4] {
    [("a", Type::Integer), ("big", results::long()), ("m", Type::Decimal), ("f", Type::Double)]
}

/// Expressions with the types that the table says they have.
fn expressions() -> Vec<(String, Type)> {
    let mut all: Vec<(String, Type)> = [
        ("1e0", results::with_exponent(true)),
        ("2.5e0", results::with_exponent(false)),
        ("3000000000", results::long()),
        ("COUNT(*)", results::long()),
        ("EXTRACT(YEAR FROM dt)", results::extract("year")),
        ("EXTRACT(MONTH FROM dt)", results::extract("month")),
        ("EXTRACT(DAY FROM ts)", results::extract("day")),
        ("EXTRACT(HOUR FROM ts)", results::extract("hour")),
        ("EXTRACT(EPOCH FROM ts)", results::extract("epoch")),
    ]
    .map(|(text, ty)| (text.to_owned(), ty))
    .into();
    for (name, ty) in columns() {
        all.push((format!("SUM({name})"), results::sum(&ty).expect("a number")));
        for (functions, rule) in results::RULES.iter().map(|rule| (rule.functions, rule)) {
            for (function, arity) in functions {
                let (second, arity) = if *arity == 2 { (", 1", 2) } else { ("", 1) };
                let result = |types: &[Type]| results::function(function, types).unwrap_or_else(|| panic!("{rule:?}"));
                all.push((format!("{function}({name}{second})"), result(&[ty.clone(), Type::Integer][..arity])));
                // Engines have ROUND and TRUNC to a number of places that is whole.
                if arity == 2 && rule.whole == results::Wholeness::Never {
                    for (other, other_type) in columns() {
                        all.push((format!("{function}({name}, {other})"), result(&[ty.clone(), other_type])));
                    }
                }
            }
        }
        for (other, other_type) in columns() {
            let both = ty.unify(&other_type).expect("numbers");
            all.push((format!("{name} + {other}"), both.clone()));
            all.push((format!("{name} / {other}"), results::quotient(&ty, &other_type).expect("numbers")));
            // On SQLite it is a property of each value.
            all.push((format!("COALESCE({name}, {other})"), both.clone()));
            all.push((format!("CASE WHEN a > 9 THEN {name} ELSE {other} END"), both));
            all.push((format!("NULLIF({name}, {other} + 9)"), results::nullif(&ty, &other_type)));
        }
    }
    all
}

/// What an engine's name of a type, or of a value's type, is called here.
fn kinds(name: &str) -> &'static [Kind] {
    match name.split('(').next().unwrap_or_default().to_lowercase().as_str() {
        "smallint" | "int" | "tinyint" | "hugeint" => &[Kind::Whole, Kind::Long],
        "integer" => &[Kind::Whole],
        "bigint" => &[Kind::Long],
        "numeric" | "decimal" => &[Kind::Exact],
        "real" | "double" | "double precision" | "float" => &[Kind::Ratio, Kind::Float],
        other => panic!("the type {other}"),
    }
}

/// Opens a target. Not with the data that tests share: a bare name is then whatever another test has installed.
fn open(target: &str, caqtus: &Caqtus) -> Box<dyn Connection> {
    let target: Target = target.parse().expect("a target");
    std::fs::create_dir_all(caqtus.path("data")).expect("a directory");
    target.open(&caqtus.path("data"), STATEMENT_LIMITS).unwrap_or_else(|e| panic!("{target}: {e:?}"))
}

fn text(connection: &mut dyn Connection, sql: &str) -> Option<String> {
    match connection.rows(sql).ok()?.first()?.first()? {
        Value::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Asks an engine for the type of every expression that it understands, of which there must be so many.
fn check(target: &str, engine: Engine, least: usize) {
    let caqtus = Caqtus::new();
    let mut connection = open(target, &caqtus);
    let db = connection.as_mut();
    db.execute(COLUMNS).unwrap_or_else(|e| panic!("{e}"));
    db.execute(if engine == Engine::Sqlite { ROW_OF_TEXTS } else { ROW }).unwrap_or_else(|e| panic!("{e}"));
    let at = ENGINES.iter().position(|e| *e == engine).expect("one of them");
    let mut asked = 0;
    for (expression, ty) in expressions() {
        let branches = ["COALESCE", "CASE"].iter().any(|word| expression.starts_with(word));
        let name = match engine {
            Engine::Postgres => text(db, &format!("SELECT CAST(pg_typeof({expression}) AS TEXT) FROM d")),
            // Branches keep their own types there, which `static-types` excludes.
            Engine::Sqlite if branches => None,
            Engine::Sqlite | Engine::DuckDb => text(db, &format!("SELECT typeof({expression}) FROM d")),
            Engine::MariaDb => {
                let made = db.execute(&format!("CREATE TABLE z AS SELECT {expression} AS x FROM d"));
                let name = text(db, "SELECT data_type FROM information_schema.columns WHERE table_name = 'z'");
                if made.is_ok() {
                    db.execute("DROP TABLE z").unwrap_or_else(|e| panic!("{e}"));
                }
                name.filter(|_| made.is_ok())
            }
        };
        let Some(name) = name else { continue };
        asked += 1;
        let said = ty.as_number().expect("a number").kinds[at];
        let fits = match engine {
            // The width counts in PostgreSQL alone, decimals are REAL in SQLite, and in the other two a whole number
            // and a decimal are divided alike.
            Engine::Postgres => kinds(&name).contains(&said),
            Engine::Sqlite => (name == "integer") == (said <= Kind::Long),
            Engine::DuckDb | Engine::MariaDb => {
                let is_double = |kind: &Kind| *kind >= Kind::Ratio;
                kinds(&name).iter().any(|kind| is_double(kind) == is_double(&said))
            }
        };
        assert!(fits, "{target}: {expression} is {name}, the table says {said:?}");
    }
    assert!(asked >= least, "{target} understood {asked} expressions only");
}

#[test]
fn sqlite_s_types_are_those_of_the_table() {
    check("sqlite", Engine::Sqlite, 60);
}

#[test]
fn duckdb_s_types_are_those_of_the_table() {
    let Some(duckdb) = engines::duckdb() else { return };
    check(&duckdb, Engine::DuckDb, 150);
}

#[test]
fn postgresql_s_types_are_those_of_the_table() {
    check("postgres", Engine::Postgres, 150);
}

#[test]
fn mariadb_s_types_are_those_of_the_table() {
    let Some(mariadb) = engines::mariadb() else { return };
    check(&mariadb, Engine::MariaDb, 120);
}
