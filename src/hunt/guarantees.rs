//! Whether an engine keeps what its dialect's profile guarantees: an experiment for each assumption, on tables as hunts
//! make them.
//!
//! A guarantee that an experiment speaks against is taken away for the session, so that no proof rests on it. An experiment
//! that nothing speaks against proves nothing: what is guaranteed stands in the profile, with its source.

use crate::compare::Row;
use crate::dbms::Connection;
use crate::interpret;
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::types::{SqlType, Value};
use prover::ir::Assumption;
use std::collections::{BTreeMap, BTreeSet};

/// What must come of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// Rows, at least one, in which every value is true.
    True,
    /// That, or an error, which voids a case.
    TrueOrError,
    /// An error, which voids a case.
    Error,
}

use Expect::{Error, True, TrueOrError};

/// A query with what must come of it.
type Experiment = (Expect, &'static str);

/// The tables of the experiments, in the types of classes, and their rows. `g_two` has one group of three rows and one of one.
const TABLES: [(&str, &str); 4] = [
    ("g_one(a #INT, z #INT, n #INT, r #REAL, s #TEXT, b #BOOLEAN)", "(7, 0, NULL, 1.5, 'x', TRUE)"),
    ("g_two(a #INT, k #INT, b #BOOLEAN)", "(3, 1, TRUE), (2, 1, FALSE), (2, 1, TRUE), (9, 2, NULL)"),
    ("g_texts(a #TEXT)", "('a '), ('A'), ('á')"),
    ("g_sized(d DECIMAL(5, 1))", "(1.25)"),
];

/// What shows whether an engine keeps an assumption. Nothing shows it where it is about what Caqtus does.
const EXPERIMENTS: &[(Assumption, &[Experiment])] = &[
    // `text_equality_is_identity` has what is cast, too.
    (
        Assumption::TextEqualityIsIdentity,
        &[
            (True, "SELECT COUNT(*) = 0 FROM g_texts WHERE a IN ('a', 'á ', 'a  ')"),
            (True, "SELECT COUNT(DISTINCT a) = 3 FROM g_texts"),
            (True, "SELECT COUNT(*) = 3 FROM g_texts AS x JOIN g_texts AS y ON x.a = y.a"),
        ],
    ),
    (Assumption::NoPaddingOrTruncation, &[(True, "SELECT d = 1.25 FROM g_sized"), CASTS[0], CASTS[1], CASTS[2]]),
    (
        Assumption::ExactArithmetic,
        &[
            (True, "SELECT a / 2 = a / 2.0, (a / 2) * 2 = a FROM g_one"),
            (True, "SELECT a / 3 * 3000000000000 = 7000000000000 FROM g_one"),
            (True, "SELECT (a + 9007199254740986) / 1 - 9007199254740992 = 1 FROM g_one"),
            (TrueOrError, "SELECT (a + 9223372036854775800) - 9223372036854775800 = a FROM g_one"),
            (
                TrueOrError,
                "SELECT a * 9223372036854775807 = 9223372036854775807 * a AND a * 9223372036854775807 - a * 9223372036854775806 = a FROM g_one",
            ),
            (True, "SELECT (a - 6.9) + (a - 7.2) = -0.1 FROM g_one"),
        ],
    ),
    (
        Assumption::ExactSums,
        &[
            (True, "SELECT SUM(a * 700000000) = 4900000000 FROM g_two WHERE k = 1"),
            (
                TrueOrError,
                "SELECT SUM(CASE WHEN k = 1 THEN 9007199254740993 ELSE 1 END) = 27021597764222980 FROM g_two",
            ),
            (TrueOrError, "SELECT SUM(9223372036854775807) > 9223372036854775807 FROM g_two"),
        ],
    ),
    (
        Assumption::DoubleEqualityIsIdentity,
        &[
            (True, "SELECT CAST(r - r AS #TEXT) = CAST(-(r - r) AS #TEXT) OR r - r <> -(r - r) FROM g_one"),
            (True, "SELECT a + 9007199254740986 <> (r - r) + 9007199254740992 FROM g_one"),
        ],
    ),
    (
        Assumption::NoRuntimeError,
        &[
            (Error, "SELECT a / z FROM g_one"),
            (Error, "SELECT a % z FROM g_one"),
            (Error, "SELECT a / (z * 1.0) FROM g_one"),
            (Error, "SELECT CAST(s AS #INT) FROM g_one"),
        ],
    ),
    (
        Assumption::ScalarSubqueryAtMostOneRow,
        &[
            (Error, "SELECT (SELECT a FROM g_two)"),
            (Error, "SELECT x.a FROM g_one AS x WHERE x.a < (SELECT y.a FROM g_two AS y WHERE y.a < x.a)"),
        ],
    ),
    (
        Assumption::AvgIsExactQuotient,
        &[
            (True, "SELECT AVG(a) * 3000000000000 = 7000000000000 FROM g_two WHERE k = 1"),
            (True, "SELECT AVG(a + 9007199254740984) - 9007199254740992 = 1 FROM g_two WHERE k = 2"),
        ],
    ),
    (
        Assumption::BooleanIsOneOrZero,
        &[
            (True, "SELECT b = 1, (a = 7) + 1 = 2, (a = 8) = 0, (NOT b) = 0, TRUE + TRUE = 2 FROM g_one"),
            (True, "SELECT SUM(b) = 2, MAX(b) = 1, MIN(b) = 0 FROM g_two"),
        ],
    ),
    // Results are compared as bags.
    (Assumption::OrderNotCompared, &[]),
    // Of every function only a list could say it. That one is not deterministic is enough.
    (Assumption::FunctionsAreDeterministic, &[(True, "SELECT RANDOM() = RANDOM() FROM g_one")]),
    (
        Assumption::CaseKeepsBranchTypes,
        &[
            (True, "SELECT (CASE WHEN a = 7 THEN 7 ELSE 1.5e0 END) / 2 = 7 / 2 FROM g_one"),
            (True, "SELECT (CASE WHEN a = 7 THEN 9007199254740993 ELSE 1.5e0 END) - 9007199254740992 = 1 FROM g_one"),
            (True, "SELECT (CASE WHEN a = 7 THEN 'x' ELSE 5 END) = 'x' FROM g_one"),
            (True, "SELECT (CASE WHEN a = 8 THEN 'x' ELSE 5 END) + 1 = 6 FROM g_one"),
        ],
    ),
    (
        Assumption::NullsSortAtOneEnd,
        &[(
            True,
            "SELECT (SELECT v IS NULL FROM (SELECT a AS v FROM g_one UNION ALL SELECT n FROM g_one) AS x ORDER BY v LIMIT 1) \
                <> (SELECT v IS NULL FROM (SELECT a AS v FROM g_one UNION ALL SELECT n FROM g_one) AS x ORDER BY v DESC LIMIT 1)",
        )],
    ),
    (
        Assumption::RowsCompareByParts,
        &[
            (True, "SELECT COUNT(*) = 1 FROM g_one WHERE (a, z) = (7, 0) AND (a, n) <> (8, NULL)"),
            (True, "SELECT COUNT(*) = 0 FROM g_one WHERE (a, n) = (7, NULL)"),
            (True, "SELECT COUNT(*) = 0 FROM g_one WHERE (a, n) <> (7, NULL)"),
            (True, "SELECT COUNT(*) = 0 FROM g_one WHERE (a, n) IN (SELECT a, n FROM g_one)"),
            (True, "SELECT COUNT(*) = 0 FROM g_one WHERE (a, n) NOT IN (SELECT a, n FROM g_one)"),
        ],
    ),
    (
        Assumption::TextOrderIsThatOfBytes,
        &[
            (True, "SELECT COUNT(*) = 1 FROM g_texts WHERE a < 'a'"),
            (True, "SELECT MIN(a) = 'A' AND MAX(a) = 'á' FROM g_texts"),
            (True, "SELECT COUNT(*) = 3 FROM g_texts WHERE a > 'B' OR a < 'B'"),
            (True, "SELECT COUNT(*) = 1 FROM g_texts WHERE a > 'z'"),
        ],
    ),
    (
        Assumption::JoinsBindBeforeCommas,
        &[(
            True,
            "SELECT COUNT(*) = 0 FROM (SELECT a FROM g_one WHERE a = 0) AS e, g_one AS x RIGHT JOIN g_two AS y ON x.a = y.k",
        )],
    ),
    (
        Assumption::OtherEqualityIsIdentity,
        &[(TrueOrError, "SELECT NOT (INTERVAL '1' MONTH = INTERVAL '30' DAY) FROM g_one")],
    ),
    (
        Assumption::StaticTypes,
        &[
            (True, "SELECT COALESCE(a, 2.5) / 2 = 3.5, CASE WHEN a = 7 THEN a ELSE 2.5 END / 2 = 3.5 FROM g_one"),
            (True, "SELECT CAST(a AS DECIMAL(10, 2)) / 2 = 3.5 FROM g_one"),
            (TrueOrError, "SELECT CAST(a AS BOOLEAN) = (a <> 0) FROM g_one"),
            (True, "SELECT MAX(x.q) / 2 = 3.5 FROM (SELECT a AS q FROM g_one UNION ALL SELECT 2.5 FROM g_one) AS x"),
        ],
    ),
    (Assumption::CastsKeepValues, CASTS),
    (
        Assumption::DoubleSumsIgnoreOrder,
        &[(
            True,
            "SELECT (SELECT SUM(x.q) FROM (SELECT CAST(1e20 AS #REAL) AS q FROM g_one UNION ALL SELECT CAST(-1e20 AS #REAL) \
                FROM g_one UNION ALL SELECT CAST(1 AS #REAL) FROM g_one) AS x) = (SELECT SUM(x.q) FROM (SELECT CAST(1 AS #REAL) AS q \
                FROM g_one UNION ALL SELECT CAST(1e20 AS #REAL) FROM g_one UNION ALL SELECT CAST(-1e20 AS #REAL) FROM g_one) AS x)",
        )],
    ),
    (Assumption::StandardSpelling, &[(True, "SELECT 'a' || 'b' = 'ab', \"a\" = 7 FROM g_one")]),
];

/// Casts to types with sizes.
const CASTS: &[Experiment] = &[
    (True, "SELECT CAST(s || 'yz' AS VARCHAR(2)) = 'xyz' FROM g_one"),
    (True, "SELECT LENGTH(CAST(s AS CHAR(3))) = 1, CAST(s || ' ' AS CHAR(3)) <> s FROM g_one"),
    (True, "SELECT CAST(r + 0.25 AS DECIMAL(5, 1)) = 1.75 FROM g_one"),
];

/// Sums that are divided, where a profile guarantees exact sums to classes that divide, too.
const DIVIDED_SUMS: [Experiment; 2] = [
    (
        True,
        "SELECT SUM(a) / COUNT(a) = (SELECT SUM(s) / SUM(c) FROM (SELECT SUM(a) AS s, COUNT(a) AS c FROM g_two GROUP BY k) AS x) \
            FROM g_two",
    ),
    (True, "SELECT SUM(a) / 3 = (SELECT SUM(s) / 3 FROM (SELECT SUM(a) AS s FROM g_two GROUP BY k) AS x) FROM g_two"),
];

/// What a profile guarantees and the engine does not keep, each with what showed it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct NotKept {
    /// Assumptions of proofs.
    pub assumptions: BTreeMap<Assumption, String>,
    /// That columns of a class hold values of their own type only.
    pub column_types: Option<String>,
}

impl NotKept {
    /// Whether everything is kept.
    pub fn is_empty(&self) -> bool {
        self.assumptions.is_empty() && self.column_types.is_none()
    }
}

/// The guarantees of a profile that the engine does not keep.
pub fn not_kept(connection: &mut dyn Connection, profile: &Profile) -> NotKept {
    let all: BTreeSet<Assumption> = profile.guarantees.union(&profile.guarantees_without_division).copied().collect();
    if let Err(error) = interpret::build(connection, &setup(profile)) {
        let why = format!("the tables of the experiments cannot be made: {error}");
        return NotKept {
            column_types: profile.columns_hold_their_type.then(|| why.clone()),
            assumptions: all.into_iter().map(|assumption| (assumption, why.clone())).collect(),
        };
    }
    let mut broken = BTreeMap::new();
    for assumption in all.into_iter().filter(|assumption| *assumption != Assumption::PrimaryKeyNotNull) {
        let Some((_, experiments)) = EXPERIMENTS.iter().find(|(of, _)| *of == assumption) else {
            broken.insert(assumption, "no experiment shows it".to_owned());
            continue;
        };
        let mut against = spoken_against(connection, profile, experiments);
        if assumption == Assumption::ExactSums && profile.guarantees.contains(&assumption) {
            against = against.or_else(|| spoken_against(connection, profile, &DIVIDED_SUMS));
        }
        if let Some(why) = against {
            broken.insert(assumption, why);
        }
    }
    let column_types = if profile.columns_hold_their_type { other_types(connection, profile) } else { None };
    if profile.guarantees.contains(&Assumption::PrimaryKeyNotNull)
        && let Some(why) = null_key(connection, profile)
    {
        broken.insert(Assumption::PrimaryKeyNotNull, why);
    }
    let texts = Assumption::TextEqualityIsIdentity;
    if profile.guarantees.contains(&texts)
        && !broken.contains_key(&texts)
        && !text_equality_is_identity(connection, profile)
    {
        broken.insert(texts, "texts that are cast are equal to others".to_owned());
    }
    NotKept { assumptions: broken, column_types }
}

fn setup(profile: &Profile) -> Vec<String> {
    let tables = TABLES.iter().flat_map(|(columns, rows)| {
        let table = columns.split('(').next().unwrap_or_default();
        [format!("CREATE TABLE {}", typed(columns, profile)), format!("INSERT INTO {table} VALUES {rows}")]
    });
    profile.start.iter().cloned().chain(tables).collect()
}

/// With the dialect's names of types.
fn typed(text: &str, profile: &Profile) -> String {
    let mut text = text.to_owned();
    for ty in SqlType::ALL {
        // In a table's definition and in a cast.
        let name =
            if text.contains("CAST(") { profile.cast_name(ty) } else { profile.declared(&ColumnType::Class(ty)) };
        text = text.replace(&format!("#{ty}"), name);
    }
    text
}

/// The first experiment that did not come out as it must, with what came.
fn spoken_against(connection: &mut dyn Connection, profile: &Profile, experiments: &[Experiment]) -> Option<String> {
    experiments.iter().find_map(|(expect, sql)| {
        let sql = typed(sql, profile);
        let (kept, came) = match connection.rows(&sql) {
            Ok(rows) => (*expect != Error && are_true(&rows), shown(&rows)),
            Err(error) => (*expect != True, error.to_string()),
        };
        (!kept).then(|| format!("{sql}: {came}"))
    })
}

fn are_true(rows: &[Row]) -> bool {
    !rows.is_empty() && rows.iter().flatten().all(|value| matches!(value, Value::Bool(true) | Value::Int(1)))
}

fn shown(rows: &[Row]) -> String {
    let row = |row: &Row| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}

/// A literal of a type that is a value of another one after it was stored in a column of the type.
fn other_types(connection: &mut dyn Connection, profile: &Profile) -> Option<String> {
    for ty in SqlType::ALL {
        let column = ColumnType::Class(ty);
        let mut statements = profile.start.clone();
        statements.push(format!("CREATE TABLE g_typed(a {})", profile.declared(&column)));
        if let Err(error) = interpret::build(connection, &statements) {
            return Some(error.to_string());
        }
        for literal in profile.literals(&column) {
            // What the column refuses is not in it.
            if connection.execute(&format!("INSERT INTO g_typed(a) VALUES ({literal})")).is_err() {
                continue;
            }
            let rows = connection.rows("SELECT a FROM g_typed").unwrap_or_default();
            if let Some(value) = rows.iter().flatten().find(|value| !value.is_of(ty)) {
                return Some(format!("{literal} in a column of {ty} is {value}"));
            }
            if let Err(error) = connection.execute("DELETE FROM g_typed") {
                return Some(error.to_string());
            }
        }
    }
    None
}

/// A NULL that a primary key takes.
fn null_key(connection: &mut dyn Connection, profile: &Profile) -> Option<String> {
    let int = profile.declared(&ColumnType::Class(SqlType::Int));
    for table in
        ["g_key(a #INT PRIMARY KEY NOT NULL, b #INT)", "g_key(a #INT NOT NULL, b #INT NOT NULL, PRIMARY KEY(a, b))"]
    {
        let mut statements = profile.start.clone();
        statements.push(format!("CREATE TABLE {}", table.replace("#INT", int)));
        if let Err(error) = interpret::build(connection, &statements) {
            return Some(error.to_string());
        }
        // Where it is an alias of the row's identity, it gets a value.
        let insert = "INSERT INTO g_key(a, b) VALUES (NULL, 1)";
        let keyless = "SELECT a FROM g_key WHERE a IS NULL";
        if connection.execute(insert).is_ok() && !connection.rows(keyless).is_ok_and(|rows| rows.is_empty()) {
            return Some(format!("{table} holds a NULL"));
        }
    }
    None
}

/// Whether texts are equal only if they are the same, in tables and in what views keep of a cast.
fn text_equality_is_identity(connection: &mut dyn Connection, profile: &Profile) -> bool {
    let text = profile.declared(&ColumnType::Class(SqlType::Text));
    let mut statements = profile.start.clone();
    statements.push(format!("CREATE TABLE c(a {text})"));
    statements.push("INSERT INTO c(a) VALUES ('a '), ('A'), ('á')".to_owned());
    statements.push(format!("CREATE VIEW v AS SELECT {} AS a FROM c", profile.cast("c.a", SqlType::Text)));
    let query = "SELECT (SELECT COUNT(*) FROM c) AS q, (SELECT COUNT(*) FROM c WHERE a = 'a') AS r, \
                 (SELECT COUNT(*) FROM v WHERE a = 'a') AS s, (SELECT COUNT(*) FROM c, v WHERE c.a = v.a) AS t";
    let expected = [3, 0, 0, 3].map(Value::Int);
    interpret::build(connection, &statements).is_ok() && connection.rows(query).is_ok_and(|rows| rows == [expected])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::sqlite::Sqlite;

    /// SQLite keeps what its profile guarantees, and the experiments show what it does not keep.
    #[test]
    fn sqlite_keeps_what_it_guarantees_and_not_the_rest() {
        let mut sqlite = Sqlite::linked(STATEMENT_LIMITS).expect("opens");
        let shipped = profile("sqlite").expect("shipped");
        let mut eager = Profile::clone(&shipped);
        eager.guarantees.extend(EXPERIMENTS.iter().map(|(assumption, _)| *assumption));
        let NotKept { assumptions: not_kept, column_types } = not_kept(&mut sqlite, &eager);
        assert_eq!(column_types, None);
        for assumption in &shipped.guarantees {
            assert!(!not_kept.contains_key(assumption), "{assumption}: {not_kept:?}");
        }
        for assumption in [
            Assumption::ExactArithmetic,
            Assumption::NoRuntimeError,
            Assumption::ScalarSubqueryAtMostOneRow,
            Assumption::AvgIsExactQuotient,
            Assumption::FunctionsAreDeterministic,
            Assumption::StaticTypes,
        ] {
            assert!(not_kept.contains_key(&assumption), "{assumption}");
        }
    }

    #[test]
    fn every_guarantee_has_experiments() {
        let of_queries = EXPERIMENTS.iter().map(|(assumption, _)| *assumption);
        let known: BTreeSet<Assumption> = of_queries.chain([Assumption::PrimaryKeyNotNull]).collect();
        for dialect in crate::catalogue::dialects() {
            let profile = profile(&dialect).expect("shipped");
            let mut all = profile.guarantees.union(&profile.guarantees_without_division);
            assert!(all.all(|assumption| known.contains(assumption)), "{dialect}");
        }
    }
}
