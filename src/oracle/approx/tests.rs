//! What the mutators and the walk claim, against the reference evaluator.

use super::mutators::{ALL, Effect};
use super::walk::Walked;
use super::*;
use crate::catalogue;
use crate::compare::Row;
use crate::rng::stream;
use crate::sql::types::Value;
use prover::eval::{Database, Limits, Prepared};
use prover::ir::{Schema, Value as Exact};
use prover::refute::{Shape, random_database};
use std::collections::BTreeSet;

const TAKES: Takes = Takes { right_join: true, full_join: true, overflow: false };

/// Every place that has a rule, over `t(a, b)` and `u(c)`.
const QUERIES: &[&str] = &[
    // Conditions, alone and below others.
    "SELECT t.a FROM t WHERE t.a < t.b",
    "SELECT t.a, t.b FROM t WHERE NOT (t.a < t.b AND t.b > 0)",
    "SELECT t.a FROM t WHERE NOT (t.a <= t.b OR NOT t.b >= 1)",
    "SELECT t.a FROM t WHERE (t.a = t.b) IS NOT TRUE",
    "SELECT t.a FROM t WHERE (t.a = 0) IS FALSE OR (t.b <> 1) IS TRUE",
    "SELECT t.a FROM t WHERE (t.a < 1 AND t.b = 1) IS NULL",
    "SELECT t.a FROM t WHERE (t.a < 1 OR t.b = 1) IS NOT NULL AND (t.a > 0) IS NOT FALSE",
    "SELECT t.a FROM t WHERE t.a BETWEEN 0 AND t.b",
    "SELECT t.a FROM t WHERE t.a NOT BETWEEN t.b AND 1",
    "SELECT t.a FROM t WHERE t.a IN (0, 1, t.b)",
    "SELECT t.a FROM t WHERE t.a NOT IN (0, 2, 3)",
    "SELECT t.a FROM t WHERE t.a IS DISTINCT FROM t.b AND t.a <> 0",
    "SELECT t.a FROM t WHERE CASE WHEN t.a < 1 THEN t.b = 1 ELSE t.b IS NULL END",
    "SELECT 'b' AS s FROM t WHERE CAST(t.a AS TEXT) LIKE '_' OR CAST(t.b AS TEXT) NOT LIKE '%0'",
    "SELECT t.a < t.b AS s FROM t WHERE t.a IS NOT NULL",
    // Subqueries.
    "SELECT t.a FROM t WHERE t.a IN (SELECT u.c FROM u WHERE u.c >= 0)",
    "SELECT t.a FROM t WHERE t.a NOT IN (SELECT u.c FROM u WHERE u.c < t.b)",
    "SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c = t.a)",
    "SELECT t.a FROM t WHERE NOT EXISTS (SELECT u.c FROM u WHERE u.c > t.a UNION ALL SELECT 1 FROM u WHERE u.c IS NULL)",
    "SELECT t.a FROM t WHERE t.a > ANY (SELECT u.c FROM u WHERE u.c <> 1)",
    "SELECT t.a FROM t WHERE t.a <= ALL (SELECT u.c FROM u WHERE u.c = t.b)",
    "SELECT t.a FROM t WHERE t.a >= (SELECT MAX(u.c) FROM u WHERE u.c < t.b)",
    "SELECT t.a FROM t WHERE NOT (t.a < (SELECT MIN(u.c) FROM u WHERE u.c <= 1))",
    "SELECT t.a FROM t WHERE (SELECT COUNT(*) FROM u WHERE u.c > t.a) <= 1",
    "SELECT t.a FROM t WHERE (SELECT MAX(u.c) FROM u WHERE u.c > t.a) IS NULL",
    "SELECT t.a, (SELECT COUNT(u.c) FROM u WHERE u.c >= t.a) AS n FROM t",
    "SELECT t.a, (SELECT u.c FROM u WHERE u.c = 1 AND t.a = 2) AS n FROM t",
    "SELECT t.a FROM t WHERE COALESCE((SELECT MIN(u.c) FROM u WHERE u.c < 1), 0) < t.b",
    // Joins.
    "SELECT t.a, u.c FROM t JOIN u ON t.a = u.c",
    "SELECT t.a, u.c FROM t LEFT JOIN u ON t.a < u.c WHERE u.c IS NULL",
    "SELECT t.a, u.c FROM t RIGHT JOIN u ON t.a = u.c WHERE t.b > 0",
    "SELECT t.a, u.c FROM t FULL JOIN u ON t.a = u.c",
    "SELECT t.a, d.c FROM t LEFT JOIN (SELECT u.c AS c FROM u WHERE u.c > 0) AS d ON t.a = d.c",
    "SELECT d.a, u.c FROM (SELECT t.a AS a FROM t WHERE t.b = 1) AS d LEFT JOIN u ON d.a = u.c",
    "SELECT d.a, u.c FROM u RIGHT JOIN (SELECT t.a AS a FROM t WHERE t.b = 1) AS d ON d.a = u.c",
    "SELECT t.a, u.c FROM t CROSS JOIN u WHERE t.a < u.c",
    "SELECT t.a, x.c FROM t JOIN u ON t.a = u.c LEFT JOIN u AS x ON x.c = u.c",
    "SELECT t.a, l.n FROM t CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM u WHERE u.c < t.a) AS l",
    "SELECT t.a, l.c FROM t LEFT JOIN LATERAL (SELECT u.c AS c FROM u WHERE u.c < t.a) AS l ON TRUE",
    // Set operations and DISTINCT.
    "SELECT t.a FROM t UNION SELECT u.c FROM u WHERE u.c > 0",
    "SELECT t.a FROM t WHERE t.b = 1 UNION ALL SELECT u.c FROM u",
    "SELECT t.a FROM t WHERE t.b >= 1 INTERSECT SELECT u.c FROM u WHERE u.c < 2",
    "SELECT t.a FROM t WHERE t.b = 1 EXCEPT SELECT u.c FROM u WHERE u.c <= 0",
    "SELECT t.a FROM t EXCEPT ALL SELECT u.c FROM u WHERE u.c > 0",
    "SELECT t.a FROM t INTERSECT ALL SELECT u.c FROM u WHERE u.c IS NOT NULL",
    "SELECT DISTINCT t.a FROM t WHERE t.b < 1",
    "SELECT DISTINCT d.n FROM (SELECT COUNT(*) AS n FROM t WHERE t.a < t.b) AS d",
    // Aggregates.
    "SELECT COUNT(*) AS n, COUNT(t.a) AS m, COUNT(DISTINCT t.a) AS d FROM t WHERE t.b = 1",
    "SELECT MIN(t.a) AS n, MAX(t.a) AS m FROM t WHERE t.b = 1",
    "SELECT t.b, MIN(t.a) AS n, MAX(t.a) AS m, COUNT(t.a) AS d FROM t WHERE t.a > 0 GROUP BY t.b",
    "SELECT t.b, AVG(t.a) AS n FROM t GROUP BY t.b",
    "SELECT t.b, SUM(ABS(t.a)) AS n, SUM(DISTINCT ABS(t.a)) AS m, MAX(ABS(t.a)) AS d FROM t WHERE t.a <> 1 GROUP BY t.b",
    "SELECT SUM(t.a) AS n, SUM(t.a - 1) AS m FROM t WHERE t.b = 1",
    "SELECT t.b, SUM(CASE WHEN t.a < 1 THEN 1 ELSE 0 END) AS n FROM t GROUP BY t.b",
    "SELECT SUM(CASE WHEN t.a < 1 THEN 0 ELSE 2 END) AS n, COUNT(*) FILTER (WHERE t.a >= t.b) AS m FROM t",
    "SELECT t.b FROM t GROUP BY t.b HAVING COUNT(*) > 1",
    "SELECT t.b, MAX(t.a) AS n FROM t WHERE t.a < 2 GROUP BY t.b HAVING MAX(t.a) >= 1",
    "SELECT t.b FROM t GROUP BY t.b HAVING NOT (MIN(t.a) < 1)",
    "SELECT t.b FROM t GROUP BY t.b HAVING AVG(t.a) >= 1",
    "SELECT d.n FROM (SELECT t.b AS b, COUNT(*) AS n FROM t WHERE t.a > 0 GROUP BY t.b) AS d WHERE d.n >= 1",
    "SELECT SUM(d.n) AS s, MAX(d.n) AS m FROM (SELECT t.b AS b, COUNT(*) AS n FROM t WHERE t.a > 0 GROUP BY t.b) AS d",
    "SELECT COUNT(*) AS n FROM (SELECT t.a AS a FROM t WHERE t.b = 1 UNION SELECT u.c FROM u) AS d WHERE d.a > 0",
    // Values.
    "SELECT t.a + t.b AS n, t.a - t.b AS m, -t.a AS d FROM t",
    "SELECT d.n - d.m AS s FROM (SELECT t.a AS n, t.b AS m FROM t) AS d WHERE d.n <= d.m",
    "SELECT d.n * 2 AS s, d.n * -2 AS r, d.n * d.n AS q FROM (SELECT t.a AS n FROM t) AS d",
    "SELECT d.n FROM (SELECT COUNT(*) AS n FROM u WHERE u.c > 0) AS d JOIN t ON t.a < d.n",
    "SELECT d.n FROM (SELECT COUNT(*) AS n FROM u WHERE u.c > 0) AS d LEFT JOIN t ON t.a < d.n",
    "SELECT COALESCE(d.n, 0) AS s FROM (SELECT t.a + 1 AS n FROM t) AS d",
    "SELECT CAST(COUNT(*) AS BIGINT) AS s FROM t WHERE t.a < t.b",
    // What a mutation must not go through.
    "SELECT d.a FROM (SELECT t.a AS a FROM t WHERE t.b = 1 ORDER BY t.a LIMIT 1) AS d",
    "SELECT t.a, COUNT(*) OVER (PARTITION BY t.b) AS n FROM t WHERE t.a > 0",
    "WITH s AS (SELECT t.a AS a FROM t WHERE t.b = 1) SELECT s.a, x.a FROM s JOIN s AS x ON s.a <= x.a",
    "WITH s AS (SELECT u.c AS c FROM u WHERE u.c > 0) SELECT t.a FROM t WHERE t.a NOT IN (SELECT s.c FROM s)",
];

/// A value as engines return it.
fn cell(value: &Exact) -> Value {
    match value {
        Exact::Null => Value::Null,
        Exact::Bool(b) => Value::Bool(*b),
        Exact::Int(n) => Value::Int(*n),
        Exact::Text(text) => Value::Text(text.clone().into_bytes()),
        other => other.to_double().map_or(Value::Null, Value::Real),
    }
}

/// The rows of a query, if it has some that engines agree on.
fn rows(query: &Prepared, database: &Database) -> Option<Vec<Row>> {
    let outcome = query.run(database, 0, Limits { fuel: 50_000 }).ok()?;
    let agreed = outcome.opaque.is_empty();
    agreed.then(|| outcome.rows.iter().map(|row| row.iter().map(cell).collect()).collect())
}

fn prepared(schema: &Schema, sql: &str) -> Option<(Prepared, prover::ir::Query)> {
    let query = lower::query(schema, sql).ok()?;
    Some((Prepared::new(&query).ok()?, query))
}

/// Bags of at most so many of these rows.
fn bags(rows: &[Vec<Exact>], most: usize) -> Vec<Vec<Vec<Exact>>> {
    let mut all = vec![Vec::new()];
    let mut last: Vec<(usize, Vec<Vec<Exact>>)> = vec![(0, Vec::new())];
    for _ in 0..most {
        let longer = |(from, bag): &(usize, Vec<Vec<Exact>>)| {
            let bag = bag.clone();
            (*from..rows.len()).map(move |at| (at, [&bag[..], &rows[at..=at]].concat())).collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().map(|(_, bag)| bag.clone()));
    }
    all
}

/// All rows of these values.
fn product(columns: &[&[Exact]]) -> Vec<Vec<Exact>> {
    columns.iter().fold(vec![Vec::new()], |rows, values| {
        rows.iter().flat_map(|row| values.iter().map(move |v| [&row[..], std::slice::from_ref(v)].concat())).collect()
    })
}

/// All small databases of `t(a, b)` and `u(c)`, with the conditions that a form has of its own.
fn databases(introduced: &BTreeSet<usize>) -> Vec<Database> {
    let (null, int) = (|| Exact::Null, Exact::Int);
    let truth = [null(), Exact::Bool(false), Exact::Bool(true)];
    let (a, b, c) = ([null(), int(0), int(2)], [null(), int(1)], [null(), int(0), int(1)]);
    let own = |at: usize, columns: &[&[Exact]]| {
        let with = if introduced.contains(&at) { [columns, &[&truth[..]]].concat() } else { columns.to_vec() };
        bags(&product(&with), if introduced.is_empty() || introduced.contains(&at) { 2 } else { 1 })
    };
    let (t, u) = (own(0, &[&a, &b]), own(1, &[&c]));
    let tables = t.iter().flat_map(|t| u.iter().map(move |u| vec![t.clone(), u.clone()]));
    tables.map(|tables| Database { tables }).collect()
}

/// A database with the rows of a query on it.
type Result = (Database, Option<Vec<Row>>);

/// What holds between the rows of a query and of a form, and whether the opposite would too.
fn holds(form: &Form, query: &[Row], mutated: &[Row]) -> (bool, bool) {
    let (first, second) = if form.swapped { (mutated, query) } else { (query, mutated) };
    (form.relation.holds(first, second), form.relation.holds(second, first))
}

#[test]
fn every_mutator_and_rule_holds_on_all_small_databases() {
    let schema = "CREATE TABLE t(a INT, b INT); CREATE TABLE u(c INT);";
    let (_, names) = read_names(schema, &BTreeMap::new()).expect("reads");
    let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
    let (mut told_apart, mut forms) = (0, 0);
    for sql in QUERIES {
        let query = parse_query(sql).expect("parses");
        let sites = mutate(&mut query.clone(), &names, TAKES, Vec::new()).unwrap_or_else(|| panic!("{sql}")).sites;
        let mut results: BTreeMap<BTreeSet<usize>, Vec<Result>> = BTreeMap::new();
        for site in 0..sites {
            let Some(form) = form(&query, &names, TAKES, vec![site]) else { continue };
            let placeholders = form
                .introduced
                .iter()
                .map(|relation| (introduced(*relation), format!("Expr({}: BOOLEAN)", names.relations[*relation].name)));
            let schema = lower::schema(schema, &placeholders.collect()).expect("reads");
            let Some((mutated, _)) = prepared(&schema, &form.sql) else { continue };
            let (original, _) = prepared(&schema, sql).unwrap_or_else(|| panic!("{sql}"));
            let results = results.entry(form.introduced.clone()).or_insert_with(|| {
                let with_rows = |database: Database| {
                    let rows = rows(&original, &database);
                    (database, rows)
                };
                databases(&form.introduced).into_iter().map(with_rows).collect()
            });
            let mut opposite = true;
            for (database, expected) in results.iter() {
                let (Some(first), Some(second)) = (expected, rows(&mutated, database)) else { continue };
                let (forth, back) = holds(&form, first, &second);
                assert!(forth, "{sql}\n{}\n{:?}\n{database:?}\n{first:?}\n{second:?}", form.sql, form.relation);
                opposite &= back;
            }
            forms += 1;
            told_apart += usize::from(!opposite);
            let over = !form.mutations.is_empty() && form.relation != Relation::EqualBag;
            seen.extend(form.mutations.iter().filter(|_| over).map(|m| (m.mutator.name, form.swapped)));
        }
    }
    // Of each there are forms that show it, and most forms could have been wrong.
    let unseen: Vec<&str> =
        ALL.iter().map(|m| m.name).filter(|name| !seen.iter().any(|(seen, _)| seen == name)).collect();
    assert_eq!(unseen, Vec::<&str>::new());
    assert!(told_apart * 10 > forms * 7, "{told_apart} of {forms}");
}

#[test]
fn members_and_generated_queries_change_as_their_forms_say() {
    let shipped = catalogue::shipped().expect("loads").classes;
    let generator = Generator::new(0, &Options::default()).expect("makes queries");
    let mut sources: Vec<Source> = (0..150)
        .map(|number| generator.seed(number))
        .map(|seed| Source::new(GENERATED, seed.caq, seed.query))
        .collect();
    for (at, class) in shipped.iter().enumerate() {
        sources.push(Source::member(class, &class.members[at % class.members.len()]).expect("parses"));
    }
    let (mut compared, mut changed) = (0, 0);
    for (number, source) in sources.iter().enumerate() {
        let mut rng = stream(1, &[number as u64]);
        let Source { caq: Caq { schema, placeholders, sql }, query, .. } = source;
        let (_, names) = read_names(schema, placeholders).expect("reads");
        let Some(Walked { sites, .. }) = mutate(&mut query.clone(), &names, TAKES, Vec::new()) else { continue };
        for drawing in 0..8 {
            let count = 1 + drawing % 3;
            let chosen = (0..count).map(|_| rng.random_range(0..sites.max(1))).collect();
            let Some(form) = form(query, &names, TAKES, chosen) else { continue };
            let Some(class) = class(source, &names, &[&form]) else { continue };
            let Ok(schema) = lower::schema(&class.ddl, &class.constraints) else { continue };
            let (Some((first, l)), Some((second, r))) = (prepared(&schema, sql), prepared(&schema, &form.sql)) else {
                continue;
            };
            for _ in 0..6 {
                let shape = Shape::random(&mut rng, schema.tables.len());
                let Some(database) = random_database(&schema, [&l, &r], &mut rng, &shape) else { continue };
                let (Some(a), Some(b)) = (rows(&first, &database), rows(&second, &database)) else { continue };
                let (forth, _) = holds(&form, &a, &b);
                let text = (sql, &form.sql, &form.relation, form.swapped);
                assert!(forth, "{text:#?}\n{database:?}\n{a:?}\n{b:?}");
                compared += 1;
                changed += usize::from(a != b);
            }
        }
    }
    assert!(compared > 4_000 && changed * 5 > compared, "{changed} of {compared}");
}

#[test]
fn what_has_no_direction_is_not_made() {
    let (_, names) =
        read_names("CREATE TABLE t(a INT, b INT); CREATE TABLE u(c INT);", &BTreeMap::new()).expect("reads");
    let made_where = |takes: Takes, sql: &str, mutator: &str| {
        let query = parse_query(sql).expect("parses");
        let sites = mutate(&mut query.clone(), &names, takes, Vec::new()).map_or(0, |walked| walked.sites);
        let forms = (0..sites).filter_map(|site| form(&query, &names, takes, vec![site]));
        forms.filter(|form| form.mutations[0].mutator.name == mutator).count()
    };
    let made = |sql: &str, mutator: &str| made_where(TAKES, sql, mutator);
    // The padded side of an outer join, and its condition.
    assert_eq!(
        made("SELECT t.a FROM t LEFT JOIN (SELECT u.c AS c FROM u WHERE u.c > 0) AS d ON t.a = d.c", "condition"),
        0
    );
    assert_eq!(made("SELECT t.a FROM t LEFT JOIN u ON t.a < u.c", "or-equal"), 0);
    // Below LIMIT, and under a window.
    assert_eq!(made("SELECT d.a FROM (SELECT t.a AS a FROM t WHERE t.b < 1 ORDER BY t.a LIMIT 1) AS d", "or-equal"), 0);
    // An average or a sum of what may be negative, and a condition on an average.
    assert_eq!(made("SELECT AVG(t.a) AS n FROM t WHERE t.b < 1", "or-equal"), 0);
    assert_eq!(made("SELECT SUM(t.a) AS n FROM t WHERE t.b < 1", "or-equal"), 0);
    assert_eq!(made("SELECT t.b FROM t GROUP BY t.b HAVING AVG(t.a) > 1", "avg-max"), 0);
    // Values that are grouped, distinct or compared for equality.
    assert_eq!(made("SELECT DISTINCT t.a FROM t", "plus"), 0);
    assert_eq!(made("SELECT t.a FROM t UNION SELECT u.c FROM u", "plus"), 0);
    assert_eq!(made("SELECT t.b FROM t WHERE t.a = 1", "plus"), 2, "of the value that is returned only");
    // Sums of what may overflow into a rounded number, if that is no error.
    let overflows = Takes { overflow: true, ..TAKES };
    for sql in [
        "SELECT SUM(t.a + t.b) AS n FROM t",
        "SELECT SUM(-t.a) AS n FROM t",
        "SELECT SUM(CAST(t.a AS INT) * 2) AS n FROM t",
        "SELECT SUM(d.n) AS n FROM (SELECT COALESCE(t.a * 2, 0) AS n FROM t) AS d",
        "SELECT (SELECT SUM(u.c - 1) FROM u) AS n FROM t",
    ] {
        assert!(made(sql, "plus") > 0, "{sql}");
        assert_eq!(made_where(overflows, sql, "plus"), 0, "{sql}");
    }
    assert_eq!(made_where(overflows, "SELECT MAX(ABS(t.a * 2)) AS n FROM t", "max-sum"), 0);
    for sql in [
        "SELECT SUM(CASE WHEN t.a < 1 THEN 1 ELSE 0 END) AS n FROM t",
        "SELECT SUM(d.n * 2) AS n FROM (SELECT COUNT(*) AS n FROM t GROUP BY t.b) AS d",
        "SELECT SUM(t.a) AS n FROM t",
    ] {
        assert!(made_where(overflows, sql, "plus") > 0, "{sql}");
    }
    // These have one.
    assert!(made("SELECT MAX(t.a) AS n FROM t WHERE t.b < 1", "or-equal") == 1);
    assert!(made("SELECT t.a FROM t LEFT JOIN u ON t.a < u.c WHERE t.b < 1", "or-equal") == 1);
}

#[test]
fn a_mutation_says_what_it_does() {
    for mutator in ALL {
        match mutator.effect {
            Effect::Rows(trend) => assert_eq!(trend, Trend::Up, "{}", mutator.name),
            Effect::Truth(truth) => assert_eq!(truth.yes, Trend::Up, "{}", mutator.name),
            Effect::Value(change) => assert_eq!(change.order, Trend::Up, "{}", mutator.name),
        }
    }
}
