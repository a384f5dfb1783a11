//! What a query of a finding means, by the reference evaluator: from the statements that make its database it follows which
//! columns the evaluator knows, and from the rows of these, observed on the engine, what the query must return.
//!
//! A column is known if it is declared as a class's column of its type is, so that it compares as such a column does; that its
//! values are of that type is seen where they are observed. The rest is decided where a query is given its meaning.

use super::blunt::Blunt;
use super::cause::Laboratory;
use super::features::features;
use super::finding::{Finding, FindingQuery};
use super::limits::{Limit, Limits};
use super::plain::{CHANGES, plainer};
use super::rows::{split_statements, without_column};
use crate::interpret::{Verdict, make, results, verdict};
use crate::program::{Check, Evaluation, Meaning, Relation, Step, tables_of, told_type};
use crate::sql::cuts::{cuts, with_constant_conditions};
use crate::sql::from::{explicit, without_index_hints};
use crate::sql::lex::{Token, before, next, tidy, tokens};
use crate::sql::profile::Profile;
use crate::sql::schema::created_table;
use crate::sql::types::SqlType;
use prover::ir::Schema;
use std::fmt::Write as _;
use std::iter;
use std::sync::Arc;

/// The types of values that the evaluator knows.
const TYPES: [SqlType; 4] = [SqlType::Int, SqlType::Text, SqlType::Real, SqlType::Boolean];

/// What may stand behind the type of a known column.
const CONSTRAINTS: [&str; 7] = ["not", "null", "primary", "unique", "check", "references", "default"];

/// What begins a constraint of a table, which is no column.
const OF_TABLES: [&str; 5] = ["primary", "unique", "check", "foreign", "constraint"];

/// The settings among the statements of a finding with which the engine keeps what its profile promises: what a query means
/// rests on them.
pub(super) fn settings(statements: &[String], profile: &Profile) -> Vec<String> {
    let all: Vec<String> = profile.start.iter().flat_map(|line| split_statements(line)).collect();
    statements
        .iter()
        .filter(|statement| all.contains(statement) || profile.start.contains(statement))
        .cloned()
        .collect()
}

/// Bytes of queries that people compare at a glance: of two that must agree and are no longer nothing need be computed.
const PLAIN_LENGTH: usize = 100;

/// What may stand for a condition that has no meaning for the evaluator.
const CONSTANTS: [&str; 3] = ["NULL", "1 = 0", "1 = 1"];

/// Runs that it may cost to find a cut whose meaning the evaluator knows, and to cut that further.
const RUNS_MAX: usize = 100;
const CUTS_MAX: usize = 300;

/// Makes it a finding of the query that is wrong, cut to its core, and of the rows that it must return, where the evaluator knows
/// these and the queries that must agree are long; whether it did. What showed that the query is wrong must show it of every cut.
pub fn judge(finding: &mut Finding, laboratory: &mut Laboratory) -> bool {
    let mut limits = Limits::default();
    let judged = judged(finding, laboratory, &mut limits);
    let is_judged = judged.is_some();
    if let Some(judged) = judged {
        *finding = judged;
    }
    finding.limits.add(&limits);
    is_judged
}

/// That finding. Counts what limits kept from being tried.
fn judged(finding: &Finding, laboratory: &mut Laboratory, limits: &mut Limits) -> Option<Finding> {
    let core = finding.cause.core.as_ref()?;
    let longest = finding.queries.iter().map(|query| query.step.sql.sql().len()).max()?;
    // What is no member of a class says what it is, which would be lost, unless it is compared with what it means already.
    let is_computed = finding.queries.iter().any(|query| query.step.evaluation.is_some());
    let says_what_it_is = !is_computed && finding.queries.iter().any(|query| query.context.is_some());
    if longest <= PLAIN_LENGTH || says_what_it_is {
        return None;
    }
    let profile = laboratory.profile;
    let settings = settings(&finding.statements, profile);
    let without = settings.iter().filter(|setting| !core.statements.contains(setting));
    let own: Vec<String> = without.chain(&core.statements).chain(&core.before).cloned().collect();
    // A cut may have taken what the evaluator must know, the type of a column.
    let whole: Vec<String> = finding.statements.iter().chain(&core.before).cloned().collect();
    let typed = TYPES.iter().filter_map(|ty| typed(&own, profile.types.get(ty)?.first()?)).collect::<Vec<_>>();
    let forms = [own, whole.clone()].into_iter().chain(typed);
    let of_core = known_form(forms, &core.sql, longest, laboratory, &core.reference, limits);
    // The evaluator may know the query, and no more what the core made of it.
    let (statements, query) = of_core.or_else(|| {
        let wrong = finding.queries[finding.cause.wrong?].step.sql.sql();
        known_form(iter::once(whole), wrong, longest + 1, laboratory, &core.reference, limits)
    })?;
    let mut shows = |candidate: &Finding| {
        let [query] = candidate.queries.as_slice() else { return false };
        settings.iter().all(|setting| candidate.statements.contains(setting))
            && laboratory.shows(&candidate.statements, &query.step, &core.reference).is_some()
    };
    let mut cut = Finding { queries: vec![query.into()], statements, ..finding.clone() };
    limits.count(Limit::Runs, Blunt { shows: &mut shows, attempts: CUTS_MAX, left_out: 0 }.reduce(&mut cut));
    for change in CHANGES {
        let mut plain = cut.clone();
        let Some(sql) = plainer(plain.queries[0].step.sql.sql(), change) else { continue };
        plain.queries[0].step.sql = sql.into();
        if shows(&plain) {
            cut = plain;
        }
    }
    let query = cut.queries.pop()?.step;
    if query.sql.sql().len() >= longest {
        return None;
    }
    let mut shows = |statements: &[String]| laboratory.shows(statements, &query, &core.reference);
    let statements = fewer(cut.statements, &settings, &mut |statements| shows(statements).is_some());
    let (steps, checks) = shows(&statements)?;
    limits.count(Limit::Time, usize::from(!(laboratory.tick)()));
    let (wrong, last) = (steps.len() - 2, steps.len() - 1);
    let context = |at: usize| match at {
        at if at == wrong => "the query that is wrong, cut",
        at if at == last => "what it means, by the reference evaluator",
        _ => "the rows of a table",
    };
    let queries = steps.into_iter().enumerate().map(|(at, step)| FindingQuery {
        context: Some(context(at).to_owned()),
        ..Step { member: at + 1, ..step }.into()
    });
    let mut judged = Finding { queries: queries.collect(), statements, ..finding.clone() };
    (judged.checks, judged.note) = (Some(checks.to_vec()), Some(CUT.to_owned()));
    judged.features = features(judged.texts());
    (judged.cause.wrong, judged.cause.known_by) = (Some(wrong), COMPUTED.to_owned());
    Some(judged)
}

/// The first form of a query shorter than that, and of the statements that make its database, whose meaning the evaluator knows
/// and which is wrong.
fn known_form(
    forms: impl Iterator<Item = Vec<String>>,
    sql: &str,
    longest: usize,
    laboratory: &mut Laboratory,
    reference: &str,
    limits: &mut Limits,
) -> Option<(Vec<String>, Step)> {
    let mut runs = RUNS_MAX;
    for statements in forms {
        let Some(tables) = Tables::of(&statements, laboratory.profile) else { continue };
        for query in texts(sql, &tables).filter(|sql| sql.len() < longest).map(Step::query) {
            // It is read before it is run, which takes time too.
            if !(laboratory.tick)() {
                limits.count(Limit::Time, 1);
                return None;
            }
            if tables.judged(&query, laboratory.profile).is_none() {
                continue;
            }
            if runs == 0 {
                limits.count(Limit::Runs, 1);
                return None;
            }
            runs -= 1;
            if laboratory.shows(&statements, &query, reference).is_some() {
                return Some((statements, query));
            }
        }
    }
    None
}

/// The statements with this type for columns of tables that have none. `None` if there are no such columns.
fn typed(statements: &[String], ty: &str) -> Option<Vec<String>> {
    let with_types = |statement: &String| {
        let untyped = created_table(statement).and_then(|_| statement.strip_suffix(')')?.split_once('('));
        let Some((head, columns)) = untyped.filter(|(_, columns)| !columns.contains(['(', ')'])) else {
            return statement.clone();
        };
        let with_type = |column: &str| match column.trim().strip_suffix(" NULL").unwrap_or(column.trim()) {
            name if name.contains(' ') => column.trim().to_owned(),
            name => format!("{name} {ty}"),
        };
        format!("{head}({})", columns.split(',').map(with_type).collect::<Vec<_>>().join(", "))
    };
    let typed: Vec<String> = statements.iter().map(with_types).collect();
    (typed != statements).then_some(typed)
}

/// Forms of a query of which the evaluator may know more than of the query, those that are most like it first.
fn texts(sql: &str, tables: &Tables) -> impl Iterator<Item = String> {
    let plain: Vec<String> =
        iter::once(sql.to_owned()).chain(explicit(sql, &|table| tables.columns_of(table))).collect();
    // What only the engine knows may be a condition, or anything else.
    let of_each = |constant| plain.iter().filter_map(move |sql| with_constant_conditions(sql, constant));
    let constants: Vec<String> = CONSTANTS.iter().flat_map(|constant| of_each(*constant)).collect();
    let cut = plain.clone().into_iter().flat_map(|sql| cuts(&sql));
    plain.into_iter().chain(constants).chain(cut).map(|sql| tidy(&sql))
}

impl Laboratory<'_> {
    /// Steps that show that a query returns something else than it means, while all is well by what is named as reference.
    fn shows(&mut self, statements: &[String], query: &Step, reference: &str) -> Option<(Vec<Step>, [Check; 1])> {
        let (steps, check) = Tables::of(statements, self.profile)?.judged(query, self.profile)?;
        let checks = [check];
        let made = (self.tick)() && make(self.connection, statements).is_ok_and(|failed| failed.is_empty());
        let results = made.then(|| results(self.connection, self.profile, &steps))?;
        let is_wrong = matches!(verdict(&steps, &checks, &results), Verdict::Violated { .. });
        (is_wrong && self.is_right(statements, &steps, &checks, reference)).then_some((steps, checks))
    }
}

/// Leaves out columns and statements but for these settings as long as `shows` says that a query is wrong still, whose meaning
/// follows from what is left.
fn fewer(mut statements: Vec<String>, settings: &[String], shows: &mut dyn FnMut(&[String]) -> bool) -> Vec<String> {
    for at in (0..statements.len()).rev() {
        let mut fewer = statements.clone();
        if !settings.contains(&fewer.remove(at)) && shows(&fewer) {
            statements = fewer;
        }
    }
    for at in 0..statements.len() {
        let mut column = 0;
        while let Some(fewer) = without_column(&statements, at, column, |_, _| true) {
            if shows(&fewer) {
                statements = fewer;
            } else {
                column += 1;
            }
        }
    }
    statements
}

/// What a report says of a query that was cut.
const CUT: &str = "The query is one of the case, cut as far as its result is still wrong. What it must return was computed by the \
                   reference evaluator from the rows of its tables.";

/// How it is known that a query is wrong, in words.
pub(super) const COMPUTED: &str = "the reference evaluator computes something else for it";

/// The tables of a database of which the evaluator knows something.
pub(super) struct Tables {
    names: Vec<String>,
    columns: Vec<Vec<String>>,
    /// Of each, those of which it knows nothing.
    unknown: Vec<Vec<String>>,
    schema: String,
    read: Schema,
}

impl Tables {
    /// Those that statements make. `None` where a statement changes a table's definition but for a column more, or nothing is
    /// known.
    pub(super) fn of(statements: &[String], profile: &Profile) -> Option<Self> {
        let (mut names, mut columns, mut unknown) =
            (Vec::new(), Vec::<Vec<(String, SqlType)>>::new(), Vec::<Vec<String>>::new());
        let settings = settings(statements, profile);
        for statement in statements.iter().filter(|statement| !settings.contains(statement)) {
            if tokens(statement).ok()?.first().is_some_and(|first| first.is_word("alter")) {
                let (table, definition) = statement.strip_prefix("ALTER TABLE ")?.split_once(" ADD COLUMN ")?;
                let Some(at) = names.iter().position(|name| name == table) else { continue };
                match known_column(definition, profile) {
                    Some(column) => columns[at].push(column),
                    None => unknown[at].extend(column_name(definition)),
                }
                continue;
            }
            let Some(name) = created_table(statement) else { continue };
            let definitions = definitions(statement);
            let known: Vec<_> = definitions.iter().filter_map(|column| known_column(column, profile)).collect();
            if known.is_empty() {
                continue;
            }
            let of_these = |name: &String| known.iter().any(|(column, _)| column == name);
            unknown.push(
                definitions
                    .iter()
                    .filter_map(|column| column_name(column))
                    .filter(|name| !of_these(name))
                    .collect::<Vec<_>>(),
            );
            names.push(name.to_owned());
            columns.push(known);
        }
        let mut schema = String::new();
        for (name, columns) in names.iter().zip(&columns) {
            let typed: Vec<String> =
                columns.iter().map(|(column, ty)| format!("{column} {}", told_type(*ty, profile))).collect();
            // Writing to a string does not fail.
            let _ = write!(schema, "CREATE TABLE {name}({}); ", typed.join(", "));
        }
        let columns = columns.into_iter().map(|all| all.into_iter().map(|(column, _)| column).collect()).collect();
        let read = tables_of(&schema).ok().filter(|_| !names.is_empty())?;
        Some(Self { names, columns, unknown, schema, read })
    }

    /// Whether a name in a query may be that of a column that is not known. The evaluator would look for it elsewhere.
    fn may_read_unknown(&self, all: &[Token]) -> bool {
        let is = |at: usize, name: &str| matches!(&all[at], Token::Word(word) if plain_name(word).eq_ignore_ascii_case(name));
        let all_unknown = self.names.iter().zip(&self.unknown).filter(|(_, unknown)| !unknown.is_empty());
        for (table, unknown) in all_unknown {
            let read: Vec<usize> = (0..all.len()).filter(|at| is(*at, table)).collect();
            if read.is_empty() {
                continue;
            }
            // Its names in the query: words behind it, whatever else they are.
            let behind = |at: usize| {
                let word = next(all, at + 1)?;
                if all[word].is_word("as") { next(all, word + 1) } else { Some(word) }
            };
            let names: Vec<String> = read
                .iter()
                .chain(read.iter().filter_map(|at| behind(*at)).collect::<Vec<_>>().iter())
                .map(|at| all[*at].text())
                .collect();
            let is_it = |at: usize| {
                let dot = before(all, at).filter(|dot| all[*dot] == Token::Symbol('.'));
                let qualifier = dot.and_then(|dot| before(all, dot));
                qualifier.is_none_or(|of| names.iter().any(|name| is(of, plain_name(name))))
            };
            let reads = |at: usize| unknown.iter().any(|column| is(at, column)) && is_it(at);
            if (0..all.len()).any(|at| all[at].is_word("natural") || reads(at)) {
                return true;
            }
        }
        false
    }

    /// The columns of a table of which it knows something.
    fn columns_of(&self, table: &str) -> Vec<String> {
        let at = self.names.iter().position(|name| name == table);
        at.map(|at| self.columns[at].clone()).unwrap_or_default()
    }

    /// Steps that look at the tables that a query reads, the query, and what it means, with the check that the last two
    /// agree. `None` if the query has no meaning, or not by itself.
    pub(super) fn judged(&self, query: &Step, profile: &Profile) -> Option<(Vec<Step>, Check)> {
        let Step { before, parameters, after, switch, evaluation, .. } = query;
        let is_plain = before.is_empty() && parameters.is_empty() && after.is_empty() && query.sql.holes().is_empty();
        if !is_plain || switch.is_some() || evaluation.is_some() {
            return None;
        }
        let sql = without_index_hints(query.sql.sql());
        if self.may_read_unknown(&tokens(&sql).ok()?) {
            return None;
        }
        let meaning = Meaning::over(&self.read, &sql, profile).ok()?;
        let mut steps = Vec::new();
        let mut tables = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let read = meaning.reads(at);
            tables.push(read.then_some(steps.len()));
            if read {
                steps.push(Step::query(format!("SELECT {} FROM {name}", self.columns[at].join(", "))));
            }
        }
        let evaluation = Evaluation { schema: self.schema.clone(), tables, ready: Arc::new(meaning).into() };
        steps.push(Step { optional: false, ..query.clone() });
        steps.push(Step { evaluation: Some(evaluation), ..Step::query(sql) });
        let check = Check { relation: Relation::EqualBag, steps: vec![steps.len() - 2, steps.len() - 1] };
        Some((steps, check))
    }
}

/// The definitions of the columns of a table, and its constraints.
fn definitions(statement: &str) -> Vec<String> {
    let Some((head, _)) = statement.split_once('(') else { return Vec::new() };
    // A table made of a query, or a virtual one.
    if head.split_whitespace().count() != 3 || !head.starts_with("CREATE TABLE ") {
        return Vec::new();
    }
    let Ok(all) = tokens(&statement[head.len()..]) else { return Vec::new() };
    let (mut depth, mut definition, mut found) = (0_usize, String::new(), Vec::new());
    for token in &all {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
        match token {
            Token::Symbol('(') if depth == 1 => {}
            Token::Symbol(',') if depth == 1 => found.push(std::mem::take(&mut definition)),
            Token::Symbol(')') if depth == 0 => break,
            _ => definition.push_str(&token.text()),
        }
    }
    found.push(definition);
    found
}

/// The name that a column's definition begins with. `None` for a constraint of the table.
fn column_name(definition: &str) -> Option<String> {
    let name = plain_name(definition.split_whitespace().next()?);
    let is_constraint = OF_TABLES.iter().any(|word| name.eq_ignore_ascii_case(word));
    (!is_constraint).then(|| name.to_owned())
}

/// A name without quotes.
fn plain_name(name: &str) -> &str {
    name.trim_matches(['"', '`'])
}

/// A column's name and type, if it is declared as that of a class is.
fn known_column(definition: &str, profile: &Profile) -> Option<(String, SqlType)> {
    let (name, rest) = definition.trim().split_once(' ')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name || OF_TABLES.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return None;
    }
    let rest = rest.trim();
    let behind = |declared: &String| {
        let more = rest.strip_prefix(declared.as_str())?;
        let next = more.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let is_whole = more.is_empty() || (more.starts_with(' ') && CONSTRAINTS.contains(&next.as_str()));
        // A collation, or a value that is computed, may stand behind a constraint.
        let more = more.to_ascii_lowercase();
        (is_whole && !["collate", "generated", " as "].iter().any(|word| more.contains(word))).then_some(())
    };
    let of_type = |ty: &SqlType| profile.types.get(ty)?.iter().find_map(behind).map(|()| *ty);
    Some((name.to_owned(), TYPES.iter().find_map(of_type)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::Connection;
    use crate::dbms::planted::{Fault, Planted};
    use crate::dbms::sqlite::Sqlite;
    use crate::interpret::run;
    use crate::triage::cause::{Cause, Core};

    fn statements(all: &[&str]) -> Vec<String> {
        all.iter().map(|statement| (*statement).to_owned()).collect()
    }

    #[test]
    fn a_query_is_judged_by_the_rows_of_what_it_reads() {
        let profile = profile("sqlite").expect("shipped");
        let made = statements(&[
            "CREATE TABLE t(a INT NOT NULL, b TEXT, c INT COLLATE NOCASE, d INT AS (a + 1), CHECK (a > 0)) STRICT",
            "CREATE TABLE u(k INT PRIMARY KEY)",
            "CREATE TABLE v AS SELECT 1 AS x",
            "INSERT INTO t(a, b) VALUES (1, 'x'), (2, NULL)",
        ]);
        let tables = Tables::of(&made, &profile).expect("known");
        assert_eq!(tables.schema, "CREATE TABLE t(a INTEGER, b TEXT); CREATE TABLE u(k INTEGER); ");
        let judged = |sql: &str| tables.judged(&Step::query(sql), &profile);
        let (steps, check) = judged("SELECT t.b FROM t WHERE t.a < 2").expect("has a meaning");
        let texts: Vec<&str> = steps.iter().map(|step| step.sql.sql()).collect();
        assert_eq!(texts, ["SELECT a, b FROM t", "SELECT t.b FROM t WHERE t.a < 2", "SELECT t.b FROM t WHERE t.a < 2"]);
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("linked");
        let (verdict, seen) = run(&mut connection, &profile, &made, &steps, &[check]);
        assert_eq!(verdict, Verdict::Holds);
        assert_eq!(seen[2].rows(), seen[1].rows());
        // What it does not know.
        for sql in ["SELECT t.c FROM t", "SELECT t.d FROM t", "SELECT v.x FROM v", "SELECT * FROM t"] {
            assert!(judged(sql).is_none(), "{sql}");
        }
        // What the order of rows decides is seen on the rows.
        let (steps, check) = judged("SELECT t.a FROM t LIMIT 1").expect("seems to have a meaning");
        let (verdict, _) = run(&mut connection, &profile, &made, &steps, &[check]);
        assert!(matches!(verdict, Verdict::Void(_)), "{verdict:?}");
        let altered = |more: &str| [made.clone(), statements(&[more])].concat();
        let added = Tables::of(&altered("ALTER TABLE t ADD COLUMN e INT DEFAULT 2"), &profile).expect("known");
        assert_eq!(added.schema, "CREATE TABLE t(a INTEGER, b TEXT, e INTEGER); CREATE TABLE u(k INTEGER); ");
        let added = Tables::of(&altered("ALTER TABLE t ADD COLUMN e INT COLLATE NOCASE"), &profile).expect("known");
        assert_eq!(added.schema, tables.schema);
        assert!(Tables::of(&altered("ALTER TABLE t RENAME TO u"), &profile).is_none());
    }

    #[test]
    fn a_column_that_is_not_known_is_not_taken_for_another_one() {
        let profile = profile("sqlite").expect("shipped");
        let tables = Tables::of(
            &statements(&[
                "CREATE TABLE t1(c0 INT, c1 TEXT)",
                "CREATE TABLE t2(c0 INT, c1 TEXT COLLATE NOCASE, \"c2\" BLOB, d)",
                "ALTER TABLE t2 ADD COLUMN c3 BLOB",
            ]),
            &profile,
        )
        .expect("known");
        assert_eq!(tables.unknown, [vec![], statements(&["c1", "c2", "d", "c3"])]);
        let judged = |sql: &str| tables.judged(&Step::query(sql), &profile).is_some();
        let exists =
            |condition: &str| format!("SELECT c0 FROM t1 WHERE EXISTS (SELECT 1 FROM t2 AS x WHERE {condition})");
        assert!(judged(&exists("x.c0 = t1.c0 AND t1.c1 = 'x'")));
        assert!(judged("SELECT c0 FROM t1 WHERE c1 = 'x'"));
        for condition in ["x.c0 = t1.c0 AND c1 = 'x'", "x.c1 = t1.c1", "x.c0 = 1 AND C1 = 'x'"] {
            assert!(!judged(&exists(condition)), "{condition}");
        }
        assert!(!judged("SELECT t1.c1 FROM t1 JOIN (SELECT t2.c0, t1.c1 FROM t2) AS t1"));
        assert!(!judged("SELECT 1 FROM t1 NATURAL JOIN t2"));
        assert!(!judged("SELECT 1 FROM t1 JOIN t2 USING (c1)"));
    }

    #[test]
    fn what_is_set_for_a_session_is_no_change_of_a_table() {
        for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
            let profile = profile(dialect).expect("shipped");
            let own = profile.start.clone();
            let split: Vec<String> = own.iter().flat_map(|line| split_statements(line)).collect();
            for settings in [own, split] {
                let table = format!("CREATE TABLE t1(c0 {})", profile.types[&SqlType::Int][0]);
                let made = [settings, vec![table]].concat();
                assert!(Tables::of(&made, &profile).is_some(), "{dialect}");
            }
        }
    }

    #[test]
    fn columns_without_a_type_may_have_one() {
        let untyped = statements(&["CREATE TABLE t(a, b NULL, c TEXT)", "INSERT INTO t(a) VALUES (1)"]);
        let expected = ["CREATE TABLE t(a INT, b INT, c TEXT)", "INSERT INTO t(a) VALUES (1)"];
        assert_eq!(typed(&untyped, "INT"), Some(statements(&expected)));
        assert_eq!(typed(&statements(&expected), "INT"), None);
    }

    #[test]
    fn a_wrong_query_is_cut_where_the_reference_is_right() {
        let profile = profile("sqlite").expect("shipped");
        let condition = "(t2.c0 = 1 OR t2.c0 = 2 OR t2.c0 = 3 OR t2.c0 = 4)";
        let joined = format!(
            "SELECT s.c0 FROM (SELECT t2.c0 FROM t1 LEFT JOIN t2 ON t1.c0 = t2.c0 WHERE {condition} IS NOT TRUE) AS s"
        );
        let statements = statements(&[
            "CREATE TABLE t1(c0 INT)",
            "CREATE TABLE t2(c0 INT, c1 TEXT)",
            "CREATE INDEX i ON t2(c1)",
            "INSERT INTO t1(c0) VALUES (1)",
        ]);
        let queries =
            [joined.clone(), format!("SELECT NULL FROM t1 WHERE {condition} IS NULL OR c0 = 1 OR c0 IS NULL")];
        let core = Core {
            statements: statements.clone(),
            before: vec!["INSERT INTO t1(c0) VALUES (2)".to_owned()],
            sql: "SELECT * FROM t1 LEFT JOIN t2 WHERE t2.c0 IS NOT TRUE".to_owned(),
            reference: "sqlite 1.0".to_owned(),
            switches: Vec::new(),
            left_out: 0,
        };
        let cause = Cause { core: Some(core), ..Cause::default() };
        let finding = Finding {
            statements,
            queries: queries.map(|sql| Step::query(sql).into()).into(),
            cause,
            ..crate::triage::finding::tests::finding()
        };
        let engine = |fault| Planted::new(Sqlite::linked(STATEMENT_LIMITS).expect("linked"), fault);
        let judged_by = |fault| {
            let (mut wrong, mut reference) = (engine(Fault::NullToZero), engine(fault));
            let connection: &mut dyn Connection = &mut reference;
            let mut laboratory = Laboratory {
                connection: &mut wrong,
                profile: &profile,
                reference: Some(("sqlite 1.0".to_owned(), connection)),
                switches: Vec::new(),
                tick: &mut || true,
            };
            let mut judged = finding.clone();
            judge(&mut judged, &mut laboratory).then_some(judged)
        };
        let judged = judged_by(Fault::None).expect("known");
        assert!(judged.limits.is_empty(), "{:?}", judged.limits);
        let texts: Vec<&str> = judged.queries.iter().map(|query| query.step.sql.sql()).collect();
        let cut = "SELECT t2.c0 FROM t1 LEFT JOIN t2 ON NULL";
        assert_eq!(texts, ["SELECT c0 FROM t1", "SELECT c0 FROM t2", cut, cut]);
        // One row is enough, and no index.
        assert_eq!(judged.statements.len(), 3, "{:?}", judged.statements);
        // What the reference does not say is not said.
        assert!(judged_by(Fault::NullToZero).is_none());
    }

    #[test]
    fn a_column_is_known_if_it_compares_as_one_of_a_class_does() {
        for dialect in ["sqlite", "duckdb", "postgres", "mariadb", "mysql"] {
            let profile = profile(dialect).expect("shipped");
            for ty in TYPES {
                for declared in &profile.types[&ty] {
                    let known = |more: &str| known_column(&format!("a {declared}{more}"), &profile);
                    assert_eq!(known(" NOT NULL"), Some(("a".to_owned(), ty)), "{dialect}: {declared}");
                    assert!(known(" CHECK (a = 1)").is_some(), "{dialect}: {declared}");
                    assert!(known(" COLLATE x").is_none() && known("x").is_none(), "{dialect}: {declared}");
                    // A collation may come late.
                    assert!(known(" NOT NULL COLLATE x").is_none(), "{dialect}: {declared}");
                }
            }
        }
    }
}
