//! Snippets without a model: calls of every function that an engine lists, operators, casts and aggregates with arguments that
//! were seen to fit, put together; and tables from a small grammar.
//!
//! Nothing here need be right. What an engine refuses is not used; which arguments a function takes is learned from that.

use super::features::{FeatureKind, FeatureList, Features, Named};
use super::validate::{Candidate, SnippetVerdict};
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::snippet::{Snippet, SnippetKind};
use crate::sql::table_snippet::bare;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rounds in which arguments are sought for what has no valid call yet.
const SEARCH_ROUNDS: usize = 5;

/// All rounds.
pub const ROUNDS_MAX: usize = 12;

/// Candidates of one round of putting together, at most.
const ROUND_MAX: usize = 3_000;

/// Calls that are tried of each function in the first round; more in each that follows.
const CALLS: usize = 6;

/// Calls drawn to find one over a column.
const ROW_TRIES: usize = 3;

/// Bytes of a snippet.
const BYTES_MAX: usize = 240;

/// Makes expressions, round after round, and learns from what became of them.
pub struct Expressions<'a> {
    profile: &'a Profile,
    list: &'a FeatureList,
    features: &'a Features,
    /// Valid expressions, each with the type of its values; without one, only its truth value or a cast of it is of use.
    valid: Vec<(String, Option<SqlType>)>,
    /// Valid ones by the type of their values.
    by_type: BTreeMap<SqlType, Vec<String>>,
    /// Features that a valid one uses.
    covered: BTreeSet<Named>,
}

impl<'a> Expressions<'a> {
    /// Nothing is known yet but the features.
    pub fn new(profile: &'a Profile, list: &'a FeatureList, features: &'a Features) -> Self {
        Self { profile, list, features, valid: Vec::new(), by_type: BTreeMap::new(), covered: BTreeSet::new() }
    }

    /// Learns what became of a candidate.
    pub fn note(&mut self, sql: &str, verdict: &SnippetVerdict) {
        let SnippetVerdict::Valid { ty, boolean_valued, may_fail, .. } = verdict else { return };
        self.covered.extend(self.features.used(sql));
        if *may_fail {
            return;
        }
        let ty = if *boolean_valued { Some(SqlType::Boolean) } else { *ty };
        self.valid.push((sql.to_owned(), ty));
        if let Some(ty) = ty {
            self.by_type.entry(ty).or_default().push(sql.to_owned());
        }
    }

    /// The candidates of a round, of which `wanted` more are of use. `covered` are features that other snippets have.
    pub fn round(
        &self,
        round: usize,
        wanted: usize,
        covered: &BTreeSet<Named>,
        known: &BTreeSet<String>,
        rng: &mut Rng,
    ) -> Vec<Candidate> {
        let mut made = BTreeSet::new();
        if round < SEARCH_ROUNDS {
            for (name, feature) in self.features.functions(FeatureKind::Function) {
                let named = (FeatureKind::Function, name.clone());
                let tries = match (round, self.covered.contains(&named) || covered.contains(&named) && round > 0) {
                    (_, false) => CALLS * (round + 1) * (round + 1),
                    (0, true) => CALLS,
                    (_, true) => 0,
                };
                let signatures: Vec<&Vec<String>> = feature.signatures.iter().collect();
                for _ in 0..tries {
                    let Some(signature) = pick(rng, &signatures) else { break };
                    // One over the row is worth more than a constant.
                    let reads_row = |call: &String| call.contains(&format!("{}.", self.profile.snippet_table.name));
                    let calls: Vec<String> = (0..ROW_TRIES).filter_map(|_| self.call(name, signature, rng)).collect();
                    made.extend(calls.iter().find(|call| reads_row(call)).or(calls.first()).cloned());
                }
            }
            self.operators(round, &mut made, rng);
            self.casts(round, &mut made, rng);
            self.aggregates(round, &mut made, rng);
        } else {
            for _ in 0..(2 * wanted).min(ROUND_MAX) {
                made.extend(self.together(rng));
            }
        }
        made.retain(|sql| sql.len() <= BYTES_MAX && !known.contains(sql));
        made.into_iter().map(|sql| Candidate { kind: SnippetKind::Expression, sql }).collect()
    }

    /// An argument of a type of the engine.
    fn argument(&self, ty: &str, rng: &mut Rng) -> Option<String> {
        pick(rng, self.list.arguments.get(ty)?).cloned()
    }

    fn call(&self, name: &str, signature: &[String], rng: &mut Rng) -> Option<String> {
        let arguments: Option<Vec<String>> = signature.iter().map(|ty| self.argument(ty, rng)).collect();
        Some(format!("{name}({})", arguments?.join(", ")))
    }

    /// A column, or an argument of any type.
    fn operand(&self, rng: &mut Rng) -> Option<String> {
        let table = &self.profile.snippet_table;
        if chance(rng, 70) {
            let columns: Vec<&String> = table.columns.keys().collect();
            return Some(format!("{}.{}", table.name, pick(rng, &columns)?));
        }
        let lists: Vec<&Vec<String>> = self.list.arguments.values().collect();
        let list = pick(rng, &lists)?;
        pick(rng, list).cloned()
    }

    fn operators(&self, round: usize, made: &mut BTreeSet<String>, rng: &mut Rng) {
        for (named, _) in self.features.all() {
            if named.0 != FeatureKind::Operator || (round > 0 && self.covered.contains(&named)) {
                continue;
            }
            let name = &named.1;
            for _ in 0..CALLS * (round + 1) {
                let (Some(left), Some(right), Some(third)) = (self.operand(rng), self.operand(rng), self.operand(rng))
                else {
                    break;
                };
                made.insert(match name.as_str() {
                    "between" | "not between" | "between symmetric" => format!("{left} {name} {right} AND {third}"),
                    "in" | "not in" => format!("{left} {name} ({right}, {third})"),
                    "not" | "~" | "!" | "@" | "|/" | "||/" | "@@" | "!!" | "#" | "?-" | "?|" if chance(rng, 50) => {
                        format!("{name} {left}")
                    }
                    "isnull" | "notnull" | "not null" => format!("{left} {name}"),
                    _ if name.starts_with("is ") && !name.contains("distinct") => format!("{left} {name}"),
                    "escape" => format!("{left} LIKE {right} ESCAPE '!'"),
                    _ => format!("{left} {name} {right}"),
                });
            }
        }
    }

    fn casts(&self, round: usize, made: &mut BTreeSet<String>, rng: &mut Rng) {
        for ty in &self.list.types {
            if round > 0 && self.covered.contains(&(FeatureKind::Type, ty.clone())) {
                continue;
            }
            for _ in 0..CALLS {
                made.extend(self.operand(rng).map(|operand| format!("CAST({operand} AS {ty})")));
            }
        }
    }

    /// Aggregates that do not depend on the order of rows, in a subquery over the table.
    fn aggregates(&self, round: usize, made: &mut BTreeSet<String>, rng: &mut Rng) {
        let table = &self.profile.snippet_table;
        let inner = |text: &str| text.replace(&format!("{}.", table.name), "u.");
        for (name, feature) in self.features.functions(FeatureKind::Aggregate) {
            if round > 0 && self.covered.contains(&(FeatureKind::Aggregate, name.clone())) {
                continue;
            }
            let signatures: Vec<&Vec<String>> = feature.signatures.iter().collect();
            for _ in 0..CALLS {
                let columns: Vec<&String> = table.columns.keys().collect();
                let (Some(signature), Some(column)) = (pick(rng, &signatures), pick(rng, &columns)) else { break };
                let Some(call) = self.call(name, signature, rng) else { continue };
                let distinct = if chance(rng, 25) && !signature.is_empty() { "DISTINCT " } else { "" };
                let call = inner(&call).replacen('(', &format!("({distinct}"), 1);
                let of = &table.name;
                made.insert(match rng.random_range(0..3) {
                    0 => format!("(SELECT {call} FROM {of} AS u)"),
                    1 => format!("(SELECT {call} FROM {of} AS u WHERE u.{column} < {of}.{column})"),
                    _ => format!("(SELECT {call} FROM {of} AS u WHERE u.{column} = {of}.{column})"),
                });
            }
        }
    }

    /// Two or three valid expressions put together.
    fn together(&self, rng: &mut Rng) -> Option<String> {
        let (one, ty) = pick(rng, &self.valid)?;
        let peer = |rng: &mut Rng| pick(rng, self.by_type.get(ty.as_ref()?)?).cloned();
        let truth = |rng: &mut Rng| pick(rng, self.by_type.get(&SqlType::Boolean)?).cloned();
        match rng.random_range(0..12) {
            0..=5 => self.substituted(one, rng),
            6 => Some(format!("({one}) {} ({})", pick(rng, &["=", "<", ">=", "<>"])?, peer(rng)?)),
            7 => Some(format!("CASE WHEN {} THEN {one} ELSE {} END", truth(rng)?, peer(rng)?)),
            8 => Some(format!("COALESCE({one}, {})", peer(rng)?)),
            9 => Some(format!("NULLIF({one}, {})", peer(rng)?)),
            10 => Some(format!("({one}) IS {}NULL", if chance(rng, 50) { "NOT " } else { "" })),
            _ => Some(format!("({}) {} NOT ({})", truth(rng)?, pick(rng, &["AND", "OR"])?, truth(rng)?)),
        }
    }

    /// An expression with another in the place of a column of the same type.
    fn substituted(&self, outer: &str, rng: &mut Rng) -> Option<String> {
        let snippet = Snippet::parse(outer, self.profile).ok()?;
        let classed: Vec<(usize, SqlType)> = snippet
            .columns
            .iter()
            .enumerate()
            .filter_map(|(at, (_, ty))| if let ColumnType::Class(ty) = ty { Some((at, *ty)) } else { None })
            .collect();
        let (at, ty) = *pick(rng, &classed)?;
        let inner = pick(rng, self.by_type.get(&ty)?)?;
        let columns: Vec<Arc<str>> = snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        let table = &self.profile.snippet_table.name;
        let mut text = String::new();
        snippet.render_with(&columns, table, &mut text, |column, out| {
            let own = format!("{table}.{}", columns[column]);
            let parts = if column == at { ["(", inner, ")"] } else { ["", &own, ""] };
            out.extend(parts);
        });
        Some(text)
    }
}

/// Queries for table placeholders, of the types of these columns.
pub fn tables(
    profile: &Profile,
    shapes: &[Vec<SqlType>],
    wanted: usize,
    known: &BTreeSet<String>,
    rng: &mut Rng,
) -> Vec<Candidate> {
    let mut made = BTreeSet::new();
    for _ in 0..20 * wanted {
        if made.len() >= wanted {
            break;
        }
        let Some(shape) = pick(rng, shapes) else { break };
        let sql = Tables { profile, shape }.query(rng);
        if !known.contains(&sql) {
            made.insert(sql);
        }
    }
    made.into_iter().map(|sql| Candidate { kind: SnippetKind::Table, sql }).collect()
}

/// The grammar of tables, for one list of types.
struct Tables<'a> {
    profile: &'a Profile,
    shape: &'a [SqlType],
}

const JOINS: [&str; 8] = [
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "CROSS JOIN LATERAL",
    "LEFT JOIN LATERAL",
    "CROSS JOIN",
];

impl Tables<'_> {
    fn column(ty: SqlType, alias: &str, rng: &mut Rng) -> String {
        let name = match ty {
            SqlType::Text => ["x1", "x2"],
            SqlType::Boolean => ["b1", "b1"],
            SqlType::Real => ["r1", "r1"],
            _ => ["i1", "i2"],
        };
        format!("{alias}.{}", pick(rng, &name).unwrap_or(&"i1"))
    }

    /// A value of a type from these aliases.
    fn value(ty: SqlType, aliases: &[&str], rng: &mut Rng) -> String {
        let a = pick(rng, aliases).copied().unwrap_or("a");
        let b = pick(rng, aliases).copied().unwrap_or("a");
        let (one, other) = (Self::column(ty, a, rng), Self::column(ty, b, rng));
        match (ty, rng.random_range(0..10)) {
            (_, 0..=4) => one,
            (_, 5) => format!("COALESCE({one}, {other})"),
            (_, 6) => format!("NULLIF({one}, {other})"),
            (SqlType::Boolean, 7 | 8) => {
                format!("({} = {})", Self::column(SqlType::Int, a, rng), Self::column(SqlType::Int, b, rng))
            }
            (SqlType::Boolean, _) => format!("({} IS NULL)", Self::column(SqlType::Text, a, rng)),
            (SqlType::Text, 7) => format!("UPPER({one})"),
            (SqlType::Int, 7) => format!("LENGTH({})", Self::column(SqlType::Text, a, rng)),
            (_, _) => format!("CASE WHEN {} THEN {one} ELSE {other} END", Self::condition(&[a, b], rng)),
        }
    }

    fn condition(aliases: &[&str], rng: &mut Rng) -> String {
        let a = pick(rng, aliases).copied().unwrap_or("a");
        let b = pick(rng, aliases).copied().unwrap_or("a");
        match rng.random_range(0..7) {
            0 => format!("{} > 0", Self::column(SqlType::Int, a, rng)),
            1 => format!("{} IS NOT NULL", Self::column(SqlType::Text, a, rng)),
            2 => format!("{} <= {}", Self::column(SqlType::Text, a, rng), Self::column(SqlType::Text, b, rng)),
            3 => format!("{a}.b1"),
            4 => format!("({a}.b1 OR {} IN (0, 1, 2))", Self::column(SqlType::Int, b, rng)),
            5 => format!("{} BETWEEN -1 AND 10", Self::column(SqlType::Int, a, rng)),
            _ => format!("{} <> {}", Self::column(SqlType::Int, a, rng), Self::column(SqlType::Int, b, rng)),
        }
    }

    /// The select list with these values, named y1 and so on, or p1 and so on inside.
    fn list(values: &[String], name: &str) -> String {
        (1..).zip(values).map(|(at, value)| format!("{value} AS {name}{at}")).collect::<Vec<_>>().join(", ")
    }

    fn values(&self, aliases: &[&str], rng: &mut Rng) -> Vec<String> {
        self.shape.iter().map(|ty| Self::value(*ty, aliases, rng)).collect()
    }

    /// A select over one table.
    fn simple(&self, table: &str, alias: &str, name: &str, rng: &mut Rng) -> String {
        let distinct = if chance(rng, 20) { "DISTINCT " } else { "" };
        let filter = if chance(rng, 60) { format!(" WHERE {}", Self::condition(&[alias], rng)) } else { String::new() };
        format!("SELECT {distinct}{} FROM {table} AS {alias}{filter}", Self::list(&self.values(&[alias], rng), name))
    }

    /// Outputs from a table whose columns are p1 and so on.
    fn passed(&self, alias: &str) -> String {
        let values: Vec<String> = (1..=self.shape.len()).map(|at| format!("{alias}.p{at}")).collect();
        Self::list(&values, "y")
    }

    fn query(&self, rng: &mut Rng) -> String {
        let table = |rng: &mut Rng| if chance(rng, 50) { "s1" } else { "s2" };
        let (s, r) = (table(rng), table(rng));
        match rng.random_range(0..14) {
            0..=2 => self.join(s, r, rng),
            3 => {
                let test = pick(rng, &["EXISTS", "NOT EXISTS"]).copied().unwrap_or("EXISTS");
                let key = Self::column(SqlType::Int, "a", rng);
                format!(
                    "SELECT {} FROM {s} AS a WHERE {test} (SELECT 1 FROM {r} AS b WHERE {} = {key} AND {})",
                    Self::list(&self.values(&["a"], rng), "y"),
                    Self::column(SqlType::Int, "b", rng),
                    Self::condition(&["a", "b"], rng)
                )
            }
            4 => {
                let ty = if chance(rng, 50) { SqlType::Int } else { SqlType::Text };
                format!(
                    "SELECT {} FROM {s} AS a WHERE {} {}IN (SELECT {} FROM {r} AS b WHERE {})",
                    Self::list(&self.values(&["a"], rng), "y"),
                    Self::column(ty, "a", rng),
                    if chance(rng, 40) { "NOT " } else { "" },
                    Self::column(ty, "b", rng),
                    Self::condition(&["b"], rng)
                )
            }
            5 => {
                let op = pick(rng, &["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]);
                let (left, right) = (self.simple(s, "a", "p", rng), self.simple(r, "b", "p", rng));
                format!("SELECT {} FROM ({left} {} {right}) AS c", self.passed("c"), op.copied().unwrap_or("UNION"))
            }
            6 => {
                let hint = match self.profile.name.as_str() {
                    "mariadb" | "mysql" => "",
                    _ => pick(rng, &["", "", "MATERIALIZED ", "NOT MATERIALIZED "]).copied().unwrap_or(""),
                };
                let inner = self.simple(s, "a", "p", rng);
                format!(
                    "WITH w1 AS {hint}({inner}) SELECT {} FROM w1 {} {r} AS b ON {}",
                    self.passed("w1"),
                    pick(rng, &["JOIN", "LEFT JOIN"]).copied().unwrap_or("JOIN"),
                    Self::condition(&["b"], rng)
                )
            }
            7 => self.windowed(s, rng),
            8 | 9 => self.grouped(s, r, rng),
            10 => {
                // The numbers from 1 to 4, each with the rows that have it.
                let mut values = self.values(&["a"], rng);
                if let Some(at) = self.shape.iter().position(|ty| *ty == SqlType::Int) {
                    "w1.p1".clone_into(&mut values[at]);
                }
                let key = Self::column(SqlType::Int, "a", rng);
                format!(
                    "WITH RECURSIVE w1(p1) AS (SELECT 1 UNION ALL SELECT w1.p1 + 1 FROM w1 WHERE w1.p1 < 4) SELECT {} FROM w1 LEFT \
                     JOIN {s} AS a ON {key} = w1.p1",
                    Self::list(&values, "y")
                )
            }
            11 => {
                let rows: Vec<String> = (0..rng.random_range(1..4)).map(|_| self.constants(rng)).collect();
                let join = if chance(rng, 50) {
                    format!(" JOIN {s} AS a ON {}", Self::condition(&["a"], rng))
                } else {
                    String::new()
                };
                format!("SELECT {} FROM ({}) AS c{join}", self.passed("c"), rows.join(" UNION ALL "))
            }
            12 => {
                let inner = self.simple(s, "a", "p", rng);
                let filter = Self::condition(&["b"], rng);
                format!(
                    "SELECT {} FROM ({inner}) AS c CROSS JOIN (SELECT b.i1 AS p1 FROM {r} AS b WHERE {filter}) AS d",
                    self.passed("c")
                )
            }
            _ => {
                // A scalar subquery in the place of one of the values.
                let mut values = self.values(&["a"], rng);
                let at = rng.random_range(0..values.len());
                let ty = self.shape[at];
                if ty != SqlType::Boolean {
                    let peer = Self::column(ty, "b", rng);
                    let (left, right) = (Self::column(SqlType::Int, "b", rng), Self::column(SqlType::Int, "a", rng));
                    let which = pick(rng, &["MAX", "MIN"]).copied().unwrap_or("MAX");
                    values[at] = format!("(SELECT {which}({peer}) FROM {r} AS b WHERE {left} = {right})");
                }
                format!("SELECT {} FROM {s} AS a", Self::list(&values, "y"))
            }
        }
    }

    fn join(&self, s: &str, r: &str, rng: &mut Rng) -> String {
        let join = pick(rng, &JOINS).copied().unwrap_or("JOIN");
        let list = Self::list(&self.values(&["a", "b"], rng), "y");
        let on = match rng.random_range(0..4) {
            0 => Self::condition(&["a", "b"], rng),
            1 => format!(
                "{} = {} AND {}",
                Self::column(SqlType::Int, "a", rng),
                Self::column(SqlType::Int, "b", rng),
                Self::condition(&["b"], rng)
            ),
            2 => format!("{} = {}", Self::column(SqlType::Text, "a", rng), Self::column(SqlType::Text, "b", rng)),
            _ => format!("{} = {}", Self::column(SqlType::Int, "a", rng), Self::column(SqlType::Int, "b", rng)),
        };
        let filter = if chance(rng, 30) { format!(" WHERE {}", Self::condition(&["a"], rng)) } else { String::new() };
        if join.ends_with("LATERAL") {
            let list = list.replace("b.", "c.");
            let on_true = if join.starts_with("CROSS") { "" } else { " ON 1 = 1" };
            let inner = "d.i1 AS q1, d.i2 AS q2, d.x1 AS q3, d.x2 AS q4, d.b1 AS q5, d.r1 AS q6";
            let names = [
                ("c.i1", "c.q1"),
                ("c.i2", "c.q2"),
                ("c.x1", "c.q3"),
                ("c.x2", "c.q4"),
                ("c.b1", "c.q5"),
                ("c.r1", "c.q6"),
            ];
            let list = names.iter().fold(list, |list, (from, to)| list.replace(from, to));
            let key = Self::column(SqlType::Int, "a", rng);
            return format!(
                "SELECT {list} FROM {s} AS a {join} (SELECT {inner} FROM {r} AS d WHERE d.i1 <= {key}) AS c{on_true}{filter}"
            );
        }
        if join == "CROSS JOIN" {
            return format!("SELECT {list} FROM {s} AS a CROSS JOIN {r} AS b WHERE {on}");
        }
        if chance(rng, 25) {
            let third = format!("{} = {}", Self::column(SqlType::Int, "c", rng), Self::column(SqlType::Int, "b", rng));
            return format!(
                "SELECT {list} FROM {s} AS a {join} {r} AS b ON {on} LEFT JOIN {s} AS c ON {third}{filter}"
            );
        }
        format!("SELECT {list} FROM {s} AS a {join} {r} AS b ON {on}{filter}")
    }

    fn windowed(&self, s: &str, rng: &mut Rng) -> String {
        let mut values = self.values(&["a"], rng);
        let part = Self::column(if chance(rng, 50) { SqlType::Text } else { SqlType::Boolean }, "a", rng);
        let order = Self::column(SqlType::Int, "a", rng);
        let over = match rng.random_range(0..4) {
            0 => format!("(PARTITION BY {part})"),
            1 => format!("(ORDER BY {order})"),
            2 => format!("(PARTITION BY {part} ORDER BY {order} DESC)"),
            _ => format!("(ORDER BY {order}, {part} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"),
        };
        for (value, ty) in values.iter_mut().zip(self.shape) {
            match ty {
                SqlType::Int => {
                    let ordered = over.contains("ORDER");
                    let which = if ordered {
                        ["COUNT(*)", "RANK()", "DENSE_RANK()"]
                    } else {
                        ["COUNT(*)", "COUNT(a.i2)", "MAX(a.i1)"]
                    };
                    *value = format!("{} OVER {over}", pick(rng, &which).copied().unwrap_or("COUNT(*)"));
                    break;
                }
                SqlType::Text => {
                    *value = format!("{}({value}) OVER {over}", pick(rng, &["MAX", "MIN"]).copied().unwrap_or("MAX"));
                    break;
                }
                _ => {}
            }
        }
        format!("SELECT {} FROM {s} AS a", Self::list(&values, "y"))
    }

    fn grouped(&self, s: &str, r: &str, rng: &mut Rng) -> String {
        let mut keys = Vec::new();
        let values: Vec<String> = self
            .shape
            .iter()
            .enumerate()
            .map(|(at, ty)| {
                let column = Self::column(*ty, "a", rng);
                if at == 0 || matches!(ty, SqlType::Boolean | SqlType::Real) {
                    keys.push(column.clone());
                    return column;
                }
                match (ty, rng.random_range(0..3)) {
                    (SqlType::Int, 0) => "COUNT(*)".to_owned(),
                    (SqlType::Int, 1) => format!("COUNT(DISTINCT {})", Self::column(SqlType::Text, "a", rng)),
                    (_, 0) => format!("MIN({column})"),
                    _ => format!("MAX({column})"),
                }
            })
            .collect();
        let keys = match (self.profile.name.as_str(), rng.random_range(0..5)) {
            ("postgres" | "duckdb", 0) => format!("ROLLUP ({})", keys.join(", ")),
            ("postgres" | "duckdb", 1) => format!("GROUPING SETS (({}), ())", keys.join(", ")),
            ("mariadb" | "mysql", 0) => format!("{} WITH ROLLUP", keys.join(", ")),
            _ => keys.join(", "),
        };
        let having = if chance(rng, 30) { " HAVING COUNT(*) > 1" } else { "" };
        let from =
            if chance(rng, 40) { format!("{s} AS a LEFT JOIN {r} AS b ON a.i1 = b.i2") } else { format!("{s} AS a") };
        format!("SELECT {} FROM {from} GROUP BY {keys}{having}", Self::list(&values, "y"))
    }

    /// A row of constants.
    fn constants(&self, rng: &mut Rng) -> String {
        let values = self.shape.iter().map(|ty| {
            let literals = self.profile.literals(&ColumnType::Class(*ty));
            let value = if chance(rng, 15) { None } else { pick(rng, &literals[..literals.len().min(5)]) };
            match value {
                Some(value) => value.clone(),
                // A collation would reach comparisons.
                None => bare(&self.profile.null(*ty)).to_owned(),
            }
        });
        format!("SELECT {}", Self::list(&values.collect::<Vec<_>>(), "p"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::rng::stream;
    use crate::sql::table_snippet::TableSnippet;

    #[test]
    fn what_was_seen_to_fit_is_put_together() {
        let profile = profile("sqlite").expect("shipped");
        let list = FeatureList::shipped("sqlite").expect("shipped");
        let features = Features::default();
        let mut made = Expressions::new(&profile, &list, &features);
        let valid = |ty, boolean_valued| SnippetVerdict::Valid {
            ty: Some(ty),
            boolean_valued,
            null_preserving: true,
            may_fail: false,
            micros: 1,
        };
        made.note("upper(t.c_text)", &valid(SqlType::Text, false));
        made.note("length(t.c_text)", &valid(SqlType::Int, false));
        made.note("nope(t.c_text)", &SnippetVerdict::Refused("semantic".to_owned()));
        let all = made.round(SEARCH_ROUNDS, 100, &BTreeSet::new(), &BTreeSet::new(), &mut stream(1, &[]));
        assert!(all.iter().any(|c| c.sql == "length((upper(t.c_text)))"), "{all:?}");
        assert!(!all.iter().any(|c| c.sql.contains("nope")));
    }

    #[test]
    fn made_tables_can_be_mapped() {
        let shapes = [
            vec![SqlType::Int],
            vec![SqlType::Int, SqlType::Text, SqlType::Boolean],
            vec![SqlType::Text, SqlType::Real],
        ];
        for dialect in ["sqlite", "duckdb", "postgres", "mariadb"] {
            let profile = profile(dialect).expect("shipped");
            let made = tables(&profile, &shapes, 400, &BTreeSet::new(), &mut stream(1, &[]));
            assert_eq!(made.len(), 400);
            for Candidate { sql, .. } in made {
                TableSnippet::parse(&sql, &profile).unwrap_or_else(|e| panic!("{dialect}: {sql}: {e}"));
            }
        }
    }
}
