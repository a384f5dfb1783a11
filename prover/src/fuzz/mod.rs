//! Random pairs of queries, to look for unsoundness in the prover and for differences between the evaluator and real
//! engines. A pair carries no verdict: whoever uses it asks an evaluator. Everything follows from a seed.

mod class;
mod mixed;
mod mutate;
mod query;
mod rewrite;
mod scalar;
pub mod schema;
mod tree;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

pub use schema::{Schema, schema};

/// The generator of all draws.
pub type Rng = ChaCha8Rng;

/// Two queries over one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// CREATE TABLE statements.
    pub ddl: String,
    /// A query.
    pub left: String,
    /// Another query.
    pub right: String,
    /// `rewrite`: made from one another by steps that are often equivalences. `mutant`: the same and one change that
    /// most often is not. `random`: unrelated, with the same column types. `typed`: see [`mixed_case`].
    pub origin: &'static str,
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let mut rng = Rng::seed_from_u64(seed);
    let rng = &mut rng;
    let mut schema = schema(rng);
    let kind = rng.random_range(0..100);
    if kind >= 90 {
        let mut g = scalar::Gen::new(rng, &schema);
        let types = g.types();
        let (left, right) = (g.query(&types, 2).sql, g.query(&types, 2).sql);
        return Case { ddl: schema.ddl(), left, right, origin: "random" };
    }
    let (left, right) = related(rng, &schema, scalar::Gen::new);
    if kind < 60 {
        return Case { ddl: schema.ddl(), left, right, origin: "rewrite" };
    }
    let weaken = chance(rng, 20);
    let right = if weaken && schema.weaken(rng) { right } else { mutant(rng, &schema, &right) };
    Case { ddl: schema.ddl(), left, right, origin: "mutant" }
}

/// The case of a seed in which types meet: expressions of columns of all types, with casts and functions. `typed` are those
/// whose right side has changes by which the type of an expression may be another one.
pub fn mixed_case(seed: u64) -> Case {
    let mut rng = Rng::seed_from_u64(seed);
    let rng = &mut rng;
    let schema = schema::mixed_schema(rng);
    let kind = rng.random_range(0..100);
    let (mut left, mut right) = related(rng, &schema, scalar::Gen::mixed);
    for _ in 0..rng.random_range(1..=3) {
        (left, right) = mixed::wrap(rng, &schema, (left, right));
    }
    let (right, origin) = match kind {
        0..25 => (right, "rewrite"),
        25..40 => (mutant(rng, &schema, &right), "mutant"),
        _ => (typed(rng, &schema, &left), "typed"),
    };
    Case { ddl: schema.ddl(), left, right, origin }
}

/// The text after one or two changes of types.
fn typed(rng: &mut Rng, schema: &Schema, text: &str) -> String {
    let Some(mut query) = tree::parse(text) else { return text.to_owned() };
    let changed = mixed::change(rng, schema, &mut query);
    if chance(rng, 40) {
        mixed::change(rng, schema, &mut query);
    }
    if changed { query.to_string() } else { text.to_owned() }
}

/// A random query over a schema, with its columns named `c0`, `c1`, ...
pub fn query(rng: &mut Rng, schema: &Schema) -> String {
    let mut g = scalar::Gen::new(rng, schema);
    let types = g.types();
    g.query(&types, 2).sql
}

/// Two texts that are often equivalent.
fn related<'a>(
    rng: &'a mut Rng,
    schema: &'a Schema,
    gen_of: impl Fn(&'a mut Rng, &'a Schema) -> scalar::Gen<'a>,
) -> (String, String) {
    let from_class = chance(rng, 65);
    let mut g = gen_of(rng, schema);
    let (left, right) = if from_class {
        class::pair(&mut g)
    } else {
        let types = g.types();
        let text = g.query(&types, 2).sql;
        (text.clone(), text)
    };
    let (left, right) = if from_class && g.chance(20) { around(&mut g, &left, &right) } else { (left, right) };
    let steps = g.steps(from_class);
    (left, rewritten(g.rng, &right, steps))
}

/// The text after some steps.
fn rewritten(rng: &mut Rng, text: &str, steps: usize) -> String {
    let Some(mut query) = tree::parse(text) else { return text.to_owned() };
    let mut changed = false;
    for _ in 0..steps {
        changed |= rewrite::step(rng, &mut query);
    }
    if changed { query.to_string() } else { text.to_owned() }
}

fn mutant(rng: &mut Rng, schema: &Schema, text: &str) -> String {
    let Some(mut query) = tree::parse(text) else { return text.to_owned() };
    if mutate::mutate(rng, schema, &mut query) { query.to_string() } else { text.to_owned() }
}

/// Both texts in the same surroundings.
fn around(g: &mut scalar::Gen, left: &str, right: &str) -> (String, String) {
    let alias = g.alias();
    let rel = g.rel();
    let (outer, columns) = (g.from(&rel), g.refs(&rel));
    let column = g.one(&columns).text;
    let (before, after) = match g.below(6) {
        0 => ("SELECT DISTINCT * FROM (".to_owned(), format!(") AS {alias}")),
        1 => ("SELECT COUNT(*) AS c0 FROM (".to_owned(), format!(") AS {alias}")),
        2 => (
            format!("SELECT {alias}.c0 AS c0, COUNT(*) AS c1 FROM ("),
            format!(") AS {alias} GROUP BY {alias}.c0 HAVING COUNT(*) < 3"),
        ),
        3 => (format!("SELECT {column} AS c0 FROM {outer} WHERE EXISTS (SELECT 1 FROM ("), format!(") AS {alias})")),
        4 => (format!("SELECT {alias}.c0 AS c0, {column} AS c1 FROM {outer} CROSS JOIN ("), format!(") AS {alias}")),
        _ => (format!("SELECT {alias}.c0 AS c0 FROM ("), format!(") AS {alias} WHERE {alias}.c0 IS NOT NULL")),
    };
    (format!("{before}{left}{after}"), format!("{before}{right}{after}"))
}

/// True in `percent` of a hundred draws.
fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

/// A random element of a slice that is not empty.
fn pick<'a, T>(rng: &mut Rng, items: &'a [T]) -> &'a T {
    &items[rng.random_range(0..items.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::{GenericDialect, PostgreSqlDialect};
    use sqlparser::parser::Parser;

    const SEEDS: u64 = 5_000;

    const FEATURES: &[&str] = &[
        "CREATE TABLE",
        "NOT NULL",
        "PRIMARY KEY",
        "UNIQUE",
        "FOREIGN KEY",
        "CHECK",
        "INT",
        "BOOLEAN",
        "TEXT",
        "DECIMAL(10,2)",
        " JOIN ",
        "LEFT JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "CROSS JOIN",
        "NATURAL JOIN",
        "NATURAL LEFT JOIN",
        "NATURAL FULL JOIN",
        "USING (",
        "LATERAL",
        "WHERE",
        " AND ",
        " OR ",
        "(NOT ",
        "IS NULL",
        "IS NOT NULL",
        "IS TRUE",
        "IS NOT TRUE",
        "IS FALSE",
        "IS NOT FALSE",
        "IS DISTINCT FROM",
        "IS NOT DISTINCT FROM",
        " BETWEEN ",
        "NOT BETWEEN",
        " IN (",
        "NOT IN (",
        ", NULL)",
        "IN (SELECT",
        "NOT IN (SELECT",
        "EXISTS (SELECT",
        "NOT EXISTS",
        "ANY (SELECT",
        "ALL (SELECT",
        "(SELECT MAX(",
        "(SELECT COUNT(",
        "CASE WHEN",
        "COALESCE(",
        "NULLIF(",
        " + ",
        " - ",
        " * ",
        "SELECT DISTINCT",
        "GROUP BY",
        "HAVING",
        "COUNT(*)",
        "COUNT(DISTINCT",
        "SUM(",
        "SUM(DISTINCT",
        "MIN(",
        "MAX(",
        "AVG(",
        "FILTER (WHERE",
        " UNION ",
        "UNION ALL",
        " INTERSECT ",
        "INTERSECT ALL",
        " EXCEPT ",
        "EXCEPT ALL",
        "FROM (SELECT",
        "WITH ",
        "(VALUES ",
        "ROLLUP",
        "GROUPING SETS",
        "CUBE",
        "LIMIT 0",
        "LIMIT 1",
        "'x and'",
        "'it''s'",
        "4294967297",
    ];

    #[test]
    fn a_seed_means_one_case() {
        for seed in 0..200 {
            assert_eq!(case(seed), case(seed));
        }
        assert_ne!(case(1), case(2));
    }

    #[test]
    fn every_case_parses_and_every_feature_occurs() {
        let mut found = std::collections::BTreeMap::new();
        let mut origins = std::collections::BTreeMap::new();
        for seed in 0..SEEDS {
            let case = case(seed);
            for sql in [&case.ddl, &case.left, &case.right] {
                let parsed = if seed % 2 == 0 {
                    Parser::parse_sql(&PostgreSqlDialect {}, sql)
                } else {
                    Parser::parse_sql(&GenericDialect {}, sql)
                };
                assert!(parsed.is_ok(), "seed {seed}: {sql}: {parsed:?}");
            }
            let whole = format!("{}{} | {}", case.ddl, case.left, case.right);
            for feature in FEATURES.iter().filter(|f| whole.contains(**f)) {
                *found.entry(feature).or_insert(0) += 1;
            }
            *origins.entry(case.origin).or_insert(0) += 1;
        }
        for feature in FEATURES {
            assert!(found.get(feature).is_some_and(|&n| n >= 3), "{feature} occurs too rarely: {found:?}");
        }
        assert!((2_700..3_300).contains(&origins["rewrite"]), "{origins:?}");
        assert!((1_200..1_800).contains(&origins["mutant"]), "{origins:?}");
        assert!((300..700).contains(&origins["random"]), "{origins:?}");
    }

    #[test]
    fn types_meet_in_mixed_cases() {
        const FEATURES: [&str; 20] = [
            "BIGINT",
            "DOUBLE PRECISION",
            " DATE",
            "TIMESTAMP",
            "CAST(",
            " / ",
            " % ",
            "FLOOR(",
            "ROUND(",
            "SIGN(",
            "GREATEST(",
            "POWER(",
            "EXTRACT(YEAR FROM",
            "LENGTH(",
            "UPPER(",
            " || ",
            " LIKE ",
            "e0",
            "INTERVAL",
            "NULLIF(",
        ];
        let (mut read, mut found) = (0, std::collections::BTreeMap::new());
        for seed in 0..2_000 {
            let case = mixed_case(seed);
            assert_eq!(case, mixed_case(seed));
            let whole = format!("{}{} | {}", case.ddl, case.left, case.right);
            for feature in FEATURES.iter().filter(|f| whole.contains(**f)) {
                *found.entry(feature).or_insert(0) += 1;
            }
            let schema = crate::lower::schema(&case.ddl, &std::collections::BTreeMap::new()).expect("a schema");
            let reads = |text: &str| crate::lower::query(&schema, text).is_ok();
            read += u32::from(reads(&case.left) && reads(&case.right));
        }
        assert!(FEATURES.iter().all(|f| found.get(f).is_some_and(|n| *n >= 8)), "{found:?}");
        assert!(read > 800, "the prover reads {read} pairs");
    }

    #[test]
    fn most_mutants_and_rewrites_change_the_text() {
        let same = (0..1_000).map(case).filter(|c| c.left == c.right && c.origin != "random").count();
        assert!(same < 60, "{same} pairs of equal texts");
    }
}
