//! The prover's evaluator, which gives every plan its meaning, returns the rows that the linked SQLite returns.

use std::collections::BTreeMap;

use caqtus::config::StatementLimits;
use caqtus::dbms::sqlite::Sqlite;
use caqtus::dbms::{Connection, ErrorClass};
use caqtus::sql::types::Value as Cell;
use prover::eval::{self, Database, Row};
use prover::ir::{Query, Schema, Value};
use prover::refute::{Shape, random_database};
use prover::{fuzz, lower};
use rand::{RngExt as _, SeedableRng as _};

const LIMITS: StatementLimits =
    StatementLimits { steps_max: 1_000_000, time_max_ms: 10_000, rows_max: 10_000, bytes_max: 100_000 };

/// What became of the cases.
#[derive(Default)]
struct Tally {
    compared: usize,
    /// How many of them returned a row.
    with_rows: usize,
    left_out: BTreeMap<String, usize>,
    /// For each feature, the compared cases that show it.
    seen: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn leave_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    fn compared(&mut self, sql: &str, rows: &[Row], features: &[&'static str]) {
        self.compared += 1;
        self.with_rows += usize::from(!rows.is_empty());
        for feature in features.iter().filter(|f| sql.contains(**f)) {
            *self.seen.entry(feature).or_default() += 1;
        }
    }

    #[track_caller]
    fn expect(&self, compared: usize, features: &[&'static str], each: usize) {
        let rare: Vec<_> = features.iter().filter(|f| self.seen.get(**f).is_none_or(|n| *n < each)).collect();
        assert!(rare.is_empty(), "too rare: {rare:?} in {:?}; left out: {:?}", self.seen, self.left_out);
        assert!(self.compared >= compared, "only {} compared; left out: {:?}", self.compared, self.left_out);
        assert!(self.with_rows * 2 > self.compared, "only {} of {} with rows", self.with_rows, self.compared);
    }
}

fn sqlite() -> Sqlite {
    Sqlite::linked(LIMITS).expect("the linked library opens")
}

fn create(sqlite: &mut Sqlite, ddl: &str) {
    sqlite.reset().expect("resets");
    for statement in ddl.lines() {
        sqlite.execute(statement).expect("creates");
    }
}

/// Tables come after those they refer to.
fn fill(sqlite: &mut Sqlite, schema: &Schema, db: &Database) {
    for table in schema.tables.iter().rev() {
        sqlite.execute(&format!("DELETE FROM {}", table.name)).expect("empties");
    }
    for (table, rows) in schema.tables.iter().zip(&db.tables) {
        for row in rows {
            let values: Vec<String> = row.iter().map(ToString::to_string).collect();
            let statement = format!("INSERT INTO {} VALUES ({})", table.name, values.join(", "));
            sqlite.execute(&statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
}

/// A row of the engine as the evaluator writes it.
fn read(row: Vec<Cell>) -> Row {
    let value = |cell| match cell {
        Cell::Null => Value::Null,
        Cell::Bool(b) => Value::Int(i64::from(b)),
        Cell::Int(n) => Value::Int(n),
        Cell::Real(d) => Value::Double(d),
        Cell::Text(bytes) => Value::Text(String::from_utf8(bytes).expect("the databases hold UTF-8")),
        Cell::Blob(bytes) => panic!("no query makes the blob {bytes:?}"),
    };
    row.into_iter().map(value).collect()
}

/// The engine's truth values are the numbers 0 and 1.
fn without_truths(rows: Vec<Row>) -> Vec<Row> {
    let number = |value| if let Value::Bool(b) = value { Value::Int(b.into()) } else { value };
    rows.into_iter().map(|row| row.into_iter().map(number).collect()).collect()
}

fn shape(rng: &mut fuzz::Rng) -> Shape {
    Shape {
        rows: rng.random_range(2..=5),
        empty: 8,
        values: rng.random_range(2..=5),
        nulls: rng.random_range(0..=40),
        repeats: 20,
        joined: 0,
        compared: 50,
        least: 1,
    }
}

/// Runs a query on both sides over one database.
fn compare(
    sqlite: &mut Sqlite,
    schema: &Schema,
    (sql, query): (&str, &Query),
    rng: &mut fuzz::Rng,
    tally: &mut Tally,
    features: &[&'static str],
) {
    let shape = shape(rng);
    let db = random_database(schema, [query, query], rng, &shape).expect("the tables exist");
    let outcome = match eval::evaluate(query, &db, 1, 200_000) {
        Ok(outcome) if outcome.opaque.is_empty() => outcome,
        Ok(outcome) => {
            return tally.leave_out(&outcome.opaque.into_iter().collect::<Vec<_>>().join(", "));
        }
        Err(error) => return tally.leave_out(&error.to_string()),
    };
    fill(sqlite, schema, &db);
    let found = match sqlite.rows(sql) {
        Ok(rows) => rows.into_iter().map(read).collect::<Vec<_>>(),
        // Sums of the engine overflow.
        Err(error) if error.class == ErrorClass::Data => return tally.leave_out(&error.message),
        Err(error) => panic!("{sql}: {error}"),
    };
    let expected = without_truths(outcome.rows);
    assert!(
        eval::same_bag(&found, &expected),
        "{sql}\non {:?}\nSQLite: {found:?}\nevaluator: {expected:?}",
        schema.tables.iter().zip(&db.tables).map(|(t, rows)| (&t.name, rows)).collect::<Vec<_>>()
    );
    tally.compared(sql, &expected, features);
}

const RANDOM_FEATURES: &[&str] = &[
    " JOIN ",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "NATURAL",
    "USING (",
    "CROSS JOIN",
    "(EXISTS (",
    "(NOT EXISTS (",
    " IN (SELECT",
    "NOT IN (SELECT",
    " IN (",
    "= (SELECT",
    "UNION ALL",
    "UNION SELECT",
    "INTERSECT",
    "EXCEPT",
    "SELECT DISTINCT",
    "GROUP BY",
    "HAVING",
    "FILTER (WHERE",
    "COUNT(*)",
    "COUNT(DISTINCT",
    "SUM(",
    "SUM(DISTINCT",
    "AVG(",
    "MIN(",
    "MAX(",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "IS NOT TRUE",
    "IS FALSE",
    "IS NULL",
    "BETWEEN",
    "CASE WHEN",
    "COALESCE(",
    "NULLIF(",
    "WITH w",
    "VALUES",
    "LIMIT",
    "OFFSET",
];

/// What SQLite does not have.
const NOT_IN_SQLITE: &[&str] =
    &["LATERAL", " ANY (", " ALL (", "ROLLUP", "GROUPING SETS", "INTERSECT ALL", "EXCEPT ALL"];

/// Whether the query has a construct that SQLite does not have. The names of a derived table's columns are one, too.
fn is_beyond_sqlite(sql: &str) -> bool {
    let names_columns = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" (c0");
    NOT_IN_SQLITE.iter().any(|f| sql.contains(f)) || sql.split(") AS r").skip(1).any(names_columns)
}

#[test]
fn random_queries() {
    let mut sqlite = sqlite();
    let mut tally = Tally::default();
    for seed in 0..350 {
        let mut rng = fuzz::Rng::seed_from_u64(seed);
        let tables = fuzz::schema(&mut rng);
        let ddl = tables.ddl();
        let schema = lower::schema(&ddl, &BTreeMap::new()).expect("the generator's tables are read");
        create(&mut sqlite, &ddl);
        for _ in 0..6 {
            let sql = fuzz::query(&mut rng, &tables);
            let query = match lower::query(&schema, &sql) {
                Ok(query) => query,
                Err(error) => {
                    tally.leave_out(&error.to_string());
                    continue;
                }
            };
            if let Err(error) = sqlite.execute(&sql)
                && error.class == ErrorClass::Semantic
            {
                let is_known = is_beyond_sqlite(&sql) || error.message.contains("HAVING clause on a non-aggregate");
                assert!(is_known, "{sql}: {error}");
                tally.leave_out("not in SQLite");
                continue;
            }
            for _ in 0..3 {
                compare(&mut sqlite, &schema, (&sql, &query), &mut rng, &mut tally, RANDOM_FEATURES);
            }
        }
    }
    tally.expect(4_000, RANDOM_FEATURES, 10);
}

const TABLES: &str = "\
CREATE TABLE t (id INT PRIMARY KEY, g INT, x INT, y INT, s TEXT, b BOOLEAN);
CREATE TABLE u (g INT, x INT, s TEXT);";

/// What the random queries do not have.
const QUERIES: &[&str] = &[
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x NULLS FIRST, id) FROM t",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) FROM t",
    "SELECT id, RANK() OVER (PARTITION BY b ORDER BY x NULLS FIRST) FROM t",
    "SELECT id, DENSE_RANK() OVER (ORDER BY g DESC NULLS LAST, x NULLS FIRST) FROM t",
    "SELECT id, PERCENT_RANK() OVER (ORDER BY x NULLS LAST) FROM t",
    "SELECT id, CUME_DIST() OVER (PARTITION BY g ORDER BY x NULLS FIRST) FROM t",
    "SELECT id, NTILE(3) OVER (ORDER BY id) FROM t",
    "SELECT id, LAG(x) OVER (PARTITION BY g ORDER BY id), LEAD(x, 2) OVER (ORDER BY id) FROM t",
    "SELECT id, FIRST_VALUE(x) OVER (ORDER BY id), LAST_VALUE(x) OVER (ORDER BY id) FROM t",
    "SELECT id, NTH_VALUE(s, 2) OVER (PARTITION BY g ORDER BY id) FROM t",
    "SELECT id, SUM(x) OVER (PARTITION BY g) FROM t",
    "SELECT id, SUM(x) OVER (ORDER BY id), COUNT(*) OVER (ORDER BY y NULLS FIRST) FROM t",
    "SELECT id, SUM(x) OVER (ORDER BY y NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t",
    "SELECT id, SUM(x) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t",
    "SELECT id, COUNT(x) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) FROM t",
    "SELECT id, MAX(x) OVER (ORDER BY id DESC ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM t",
    "SELECT id, COUNT(*) OVER (ORDER BY x NULLS FIRST RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t",
    "SELECT id, SUM(y) OVER (ORDER BY x DESC NULLS LAST RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT id, SUM(y) OVER (ORDER BY x NULLS LAST RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM t",
    "SELECT id, AVG(y) OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY id)",
    "SELECT id, SUM(x) FILTER (WHERE b) OVER (PARTITION BY g) FROM t",
    "SELECT g, SUM(x), RANK() OVER (ORDER BY SUM(x) NULLS FIRST) FROM t GROUP BY g",
    "SELECT s LIKE 'a%', s LIKE '%b_', s NOT LIKE '%', s LIKE 'a!%%' ESCAPE '!' FROM t",
    "SELECT UPPER(s), LOWER(s), LENGTH(s), SUBSTR(s, 2), SUBSTR(s, 1, 2) FROM t",
    "SELECT TRIM(s), LTRIM(s), RTRIM(s), REPLACE(s, 'a', 'xy'), s || '-' || s FROM t",
    "SELECT ABS(x), ABS(-y), ROUND(x), SIGN(x), -x, x + y, x - y, x * y FROM t",
    "SELECT x % 3, x / 2, y / NULLIF(x, 0), (x + y) % 2 FROM t",
    "SELECT CAST(x AS TEXT), CAST(b AS INTEGER), CAST(s AS TEXT), CAST(x AS DOUBLE PRECISION) FROM t",
    "SELECT IFNULL(x, y), IIF(b, x, y), COALESCE(NULL, x, 7), CASE x WHEN 1 THEN 'one' WHEN y THEN 'y' END FROM t",
    "SELECT id FROM t WHERE (g, x) IN (SELECT g, x FROM u)",
    "SELECT id FROM t WHERE (g, x) NOT IN (SELECT g, x FROM u)",
    "SELECT id FROM t WHERE (g, x) = (1, 2) OR (g, s) <> (1, 'a')",
    "SELECT id FROM t WHERE (g, x) IN ((1, 2), (2, NULL), (NULL, 1))",
    "SELECT t.id, u.x FROM t LEFT JOIN u ON t.g = u.g AND t.x < u.x WHERE u.s IS NULL OR u.s = t.s",
    "SELECT COUNT(*) FROM t FULL JOIN u ON t.g = u.g AND t.s = u.s",
    "SELECT g, x FROM t UNION SELECT g, x FROM u EXCEPT SELECT x, g FROM t",
    "SELECT g, s, COUNT(*) FROM (SELECT g, s FROM t UNION ALL SELECT g, s FROM u) AS v GROUP BY g, s HAVING COUNT(*) > 1",
    "SELECT id, (SELECT SUM(u.x) FROM u WHERE u.g = t.g), (SELECT COUNT(*) FROM u WHERE u.x > t.x) FROM t",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND NOT EXISTS (SELECT 1 FROM u AS v WHERE v.x = t.x))",
    "SELECT id FROM t WHERE x = (SELECT MAX(x) FROM u WHERE u.g = t.g) OR s > (SELECT MIN(s) FROM u)",
    "SELECT id FROM t ORDER BY x NULLS LAST, id DESC LIMIT 2 OFFSET 1",
    "SELECT x FROM t WHERE b IS NOT FALSE AND NOT (x BETWEEN 1 AND y) AND s IS NOT NULL",
    "SELECT DISTINCT g, COUNT(DISTINCT x) FROM t GROUP BY g",
    "SELECT g, SUM(DISTINCT x), AVG(y), MIN(s), MAX(s) FROM t WHERE s <> '' GROUP BY g",
    "SELECT COUNT(*), COUNT(x), SUM(x), AVG(x), MIN(b) FROM t WHERE x > 100",
    "WITH v AS (SELECT g, MAX(x) AS m FROM u GROUP BY g) SELECT t.id, v.m FROM t JOIN v ON v.g = t.g WHERE v.m >= t.x",
];

#[test]
fn windows_functions_and_rows() {
    let mut sqlite = sqlite();
    create(&mut sqlite, TABLES);
    let schema = lower::schema(TABLES, &BTreeMap::new()).expect("the tables are read");
    let mut tally = Tally::default();
    let mut rng = fuzz::Rng::seed_from_u64(7);
    for sql in QUERIES {
        let query = lower::query(&schema, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        for _ in 0..40 {
            compare(&mut sqlite, &schema, (sql, &query), &mut rng, &mut tally, &[sql]);
        }
    }
    tally.expect(1_500, QUERIES, 5);
}
