//! Queries over the tables of a database, of any shape: joins of every kind, nested queries, groups, windows, set operations,
//! an order with a limit.
//!
//! They are not written to be rewritten, so they may have what no class has: a condition that is a constant, an outer join
//! below another one, a limit in a subquery. What they return must follow from the rows of their tables: an order that a limit cuts is of
//! all columns, and nothing rounds differently with the order of rows.

use super::TableInfo;
use super::expr::{ExprGenerator, ExprSpec};
use crate::caq::node::Node;
use crate::generate::ColumnInfo;
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::JoinKeyword;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::fmt::Write as _;
use std::sync::Arc;

/// What not every target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// FILTER behind an aggregate.
    Filter,
    /// Window functions.
    Windows,
    /// INTERSECT and EXCEPT.
    Intersect,
    /// A row IN a subquery.
    RowIn,
    /// Joins in parentheses.
    Parentheses,
    /// NULLS FIRST and NULLS LAST.
    Nulls,
    /// Any condition of a full join, not only equalities.
    FullCondition,
}

impl Feature {
    /// A query for each, which a target takes that has it.
    pub const PROBES: [(Self, &'static str); 7] = [
        (Self::Filter, "SELECT COUNT(*) FILTER (WHERE a.c = 1) FROM (SELECT 1 AS c) AS a"),
        (Self::Windows, "SELECT COUNT(*) OVER (PARTITION BY a.c ORDER BY a.c) FROM (SELECT 1 AS c) AS a"),
        (Self::Intersect, "SELECT 1 AS c INTERSECT SELECT 1 AS c EXCEPT SELECT 2 AS c"),
        (Self::FullCondition, "SELECT 1 FROM (SELECT 1 AS c) AS a FULL JOIN (SELECT 1 AS c) AS b ON a.c < b.c"),
        (Self::Nulls, "SELECT a.c FROM (SELECT 1 AS c) AS a ORDER BY 1 DESC NULLS LAST"),
        (Self::RowIn, "SELECT 1 WHERE (1, 2) IN (SELECT 1, 2)"),
        (
            Self::Parentheses,
            "SELECT 1 FROM (SELECT 1 AS c) AS a LEFT JOIN ((SELECT 1 AS c) AS b JOIN (SELECT 1 AS c) AS d ON b.c = d.c) ON a.c = b.c",
        ),
    ];
}

/// Frames of windows. What those of ROWS have may hang on the order of peers, which the evaluator sees.
const FRAMES: [&str; 6] = [
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
];

/// Levels of derived tables and nested queries.
const DEPTH: usize = 2;

/// The types that can be compared, grouped and ordered without a doubt: 0.0 and -0.0 are equal and differ.
const COMPARABLE: [SqlType; 3] = [SqlType::Int, SqlType::Text, SqlType::Boolean];

/// Makes queries over the tables of an expression generator.
pub struct Queries<'a> {
    /// Makes their expressions.
    pub expressions: ExprGenerator<'a>,
    /// The join keywords that the target knows.
    pub joins: &'a [JoinKeyword],
    /// What it takes.
    pub takes: &'a [Feature],
    /// For each table, predicates that its indexes were made of.
    pub favourites: &'a [Vec<Node>],
}

impl Queries<'_> {
    /// A query; `None` if no table has a column.
    pub fn query(&self, rng: &mut Rng) -> Option<String> {
        let tables: Vec<usize> = (0..self.tables().len()).filter(|at| !self.tables()[*at].columns.is_empty()).collect();
        if tables.is_empty() {
            return None;
        }
        let mut draw = Draw { of: self, tables, aliases: 0, with: Vec::new(), rng };
        let mut sql = draw.body(DEPTH, None).sql;
        if !draw.with.is_empty() {
            sql = format!("WITH {} {sql}", draw.with.join(", "));
        }
        Some(sql)
    }

    fn tables(&self) -> &[TableInfo] {
        self.expressions.tables
    }
}

/// A query and the types of its columns, which are named c0, c1 and so on.
struct Body {
    sql: String,
    types: Vec<SqlType>,
}

/// What stands in FROM under a name.
struct Source {
    alias: String,
    columns: Vec<ColumnInfo>,
    /// The position of the table, if it is one.
    table: Option<usize>,
}

impl Source {
    fn derived(alias: String, types: &[SqlType]) -> Self {
        let column = |(at, ty): (usize, &SqlType)| ColumnInfo::typed(&format!("c{at}"), *ty);
        Self { alias, columns: types.iter().enumerate().map(column).collect(), table: None }
    }
}

/// Sources that are joined.
struct Joined {
    text: String,
    sources: Vec<Source>,
    /// The columns that USING may name here: those of a single source, or what USING made one column of all sources.
    merged: Vec<ColumnInfo>,
}

impl Joined {
    fn of((text, source): (String, Source)) -> Self {
        let merged = source.columns.iter().filter(|column| column.ty.is_some_and(|ty| COMPARABLE.contains(&ty)));
        Self { text, merged: merged.cloned().collect(), sources: vec![source] }
    }

    /// Whether USING may name a column of the other side here.
    fn merges(&self, column: &ColumnInfo) -> bool {
        self.merged.iter().any(|own| own.name == column.name && own.ty == column.ty)
    }
}

/// The columns of sources as those of one table, each named with its source.
fn scope(sources: &[Source]) -> TableInfo {
    let named = |source: &Source, column: &ColumnInfo| ColumnInfo {
        name: format!("{}.{}", source.alias, column.name).into(),
        ..column.clone()
    };
    let columns = sources.iter().flat_map(|source| source.columns.iter().map(move |column| named(source, column)));
    TableInfo { name: Arc::from(""), columns: columns.collect() }
}

/// The names of the columns of a type.
fn of_type(scope: &TableInfo, ty: SqlType) -> Vec<&Arc<str>> {
    scope.columns.iter().filter(|column| column.ty == Some(ty)).map(|column| &column.name).collect()
}

/// A query that is being drawn.
struct Draw<'g, 'a, 'r> {
    of: &'g Queries<'a>,
    /// The tables that have columns.
    tables: Vec<usize>,
    /// How many names were given.
    aliases: usize,
    /// The common table expressions.
    with: Vec<String>,
    rng: &'r mut Rng,
}

impl Draw<'_, '_, '_> {
    fn chance(&mut self, percent: u32) -> bool {
        chance(self.rng, percent)
    }

    fn takes(&self, feature: Feature) -> bool {
        self.of.takes.contains(&feature)
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("q{}", self.aliases)
    }

    /// A query with columns of these types, or of any.
    fn body(&mut self, depth: usize, types: Option<&[SqlType]>) -> Body {
        let mut body = self.select(depth, types);
        if self.chance(if types.is_some() { 0 } else { 14 }) && body.types.iter().all(|ty| COMPARABLE.contains(ty)) {
            let known = if self.takes(Feature::Intersect) { 4 } else { 2 };
            let op = ["UNION ALL", "UNION", "INTERSECT", "EXCEPT"][self.rng.random_range(0..known)];
            let other = self.select(depth.saturating_sub(1), Some(&body.types));
            body.sql = format!("{} {op} {}", body.sql, other.sql);
        }
        // Where NULL stands in an order must be known, or there must be none.
        let percent = if self.takes(Feature::Nulls) { 10 } else { 2 };
        if self.chance(percent) && body.types.iter().all(|ty| COMPARABLE.contains(ty)) {
            let count = self.rng.random_range(0..4);
            self.limit(&mut body, count);
        }
        body
    }

    /// Cuts a query behind an order of all columns.
    fn limit(&mut self, body: &mut Body, count: u32) {
        let keys: Vec<String> = (1..=body.types.len()).map(|at| format!("{at}{}", self.direction())).collect();
        let _ = write!(body.sql, " ORDER BY {} LIMIT {count}", keys.join(", "));
        if self.chance(30) {
            let _ = write!(body.sql, " OFFSET {}", self.rng.random_range(0..3));
        }
    }

    /// What stands behind a key of an order. Where NULL stands without being told differs between engines.
    fn direction(&mut self) -> String {
        let direction = if self.chance(35) { " DESC" } else { "" };
        let nulls = match self.takes(Feature::Nulls) {
            true if self.chance(50) => " NULLS FIRST",
            true => " NULLS LAST",
            false => "",
        };
        format!("{direction}{nulls}")
    }

    fn select(&mut self, depth: usize, types: Option<&[SqlType]>) -> Body {
        let (from, sources) = self.from(depth);
        let scope = scope(&sources);
        let types: Vec<SqlType> = types.map_or_else(
            || {
                let count = *pick(self.rng, &[1, 1, 2, 2, 3]).unwrap_or(&1);
                (0..count).map(|_| self.output_type(&scope)).collect()
            },
            <[SqlType]>::to_vec,
        );
        let filter =
            if self.chance(60) { format!(" WHERE {}", self.predicate(&sources, &scope, depth)) } else { String::new() };
        let is_comparable = types.iter().all(|ty| COMPARABLE.contains(ty));
        let (items, behind) = match self.rng.random_range(0..100) {
            0..16 if is_comparable => self.groups(&types, &scope),
            16..26 => (types.iter().map(|ty| self.aggregate(*ty, &scope)).collect(), String::new()),
            26..33 if self.takes(Feature::Windows) => {
                let place = self.rng.random_range(0..types.len());
                let items = types.iter().enumerate();
                let item = |(at, ty): (usize, &SqlType)| {
                    if at == place { self.window(*ty, &scope) } else { self.value(*ty, &scope) }
                };
                (items.map(item).collect(), String::new())
            }
            _ => (types.iter().map(|ty| self.value(*ty, &scope)).collect::<Vec<_>>(), String::new()),
        };
        let distinct = if is_comparable && self.chance(14) { "DISTINCT " } else { "" };
        let items: Vec<String> = items.iter().enumerate().map(|(at, item)| format!("{item} AS c{at}")).collect();
        Body { sql: format!("SELECT {distinct}{} FROM {from}{filter}{behind}", items.join(", ")), types }
    }

    /// The type of a column of the result: mostly one that a column in scope has.
    fn output_type(&mut self, scope: &TableInfo) -> SqlType {
        let types: Vec<SqlType> = scope.columns.iter().filter_map(|column| column.ty).collect();
        pick(self.rng, &types).copied().unwrap_or(SqlType::Int)
    }

    /// Items of which some are keys, and what stands behind the filter.
    fn groups(&mut self, types: &[SqlType], scope: &TableInfo) -> (Vec<String>, String) {
        let mut keys: Vec<String> = Vec::new();
        let mut items = Vec::new();
        for ty in types {
            if keys.is_empty() || self.chance(40) {
                let key = self.column_or_value(*ty, scope);
                keys.push(key.clone());
                items.push(key);
            } else {
                items.push(self.aggregate(*ty, scope));
            }
        }
        // A constant would be the position of an item, or is no key at all.
        keys.retain(|key| scope.columns.iter().any(|column| key.contains(&*column.name)));
        if keys.is_empty() {
            let of_scope: Vec<Arc<str>> = scope.columns.iter().map(|column| column.name.clone()).collect();
            let Some(key) = pick(self.rng, &of_scope) else { return (items, String::new()) };
            keys.push(key.to_string());
        }
        let mut behind = format!(" GROUP BY {}", keys.join(", "));
        if self.chance(35) {
            let aggregate = self.aggregate(SqlType::Int, scope);
            let value = self.literal(SqlType::Int);
            let op = pick(self.rng, &["=", "<>", "<", "<=", ">", ">="]).copied().unwrap_or("=");
            let _ = write!(behind, " HAVING {aggregate} {op} {value}");
        }
        (items, behind)
    }

    /// An aggregate of a type.
    fn aggregate(&mut self, ty: SqlType, scope: &TableInfo) -> String {
        let call = match ty {
            SqlType::Int if self.chance(30) => "COUNT(*)".to_owned(),
            SqlType::Int if self.chance(45) => {
                let of = self.output_type(scope);
                let distinct = if COMPARABLE.contains(&of) && self.chance(30) { "DISTINCT " } else { "" };
                format!("COUNT({distinct}{})", self.value(of, scope))
            }
            SqlType::Boolean => {
                // MIN and MAX of a truth value are not everywhere.
                return format!("(COUNT({}) > {})", self.value(SqlType::Int, scope), self.rng.random_range(0..3));
            }
            ty => {
                let name = if self.chance(50) { "MIN" } else { "MAX" };
                format!("{name}({})", self.value(ty, scope))
            }
        };
        if self.takes(Feature::Filter) && self.chance(20) {
            return format!("{call} FILTER (WHERE {})", self.expression(SqlType::Boolean, scope, 1));
        }
        call
    }

    /// A window function of a type; of a value where there is none that the order of peers leaves alone.
    fn window(&mut self, ty: SqlType, scope: &TableInfo) -> String {
        let call = match ty {
            SqlType::Int => match self.rng.random_range(0..4) {
                0 => "COUNT(*)".to_owned(),
                1 => "RANK()".to_owned(),
                2 => "DENSE_RANK()".to_owned(),
                _ => format!("MAX({})", self.value(ty, scope)),
            },
            SqlType::Text => format!("{}({})", if self.chance(50) { "MIN" } else { "MAX" }, self.value(ty, scope)),
            ty => return self.value(ty, scope),
        };
        let mut over = String::new();
        if self.chance(60) {
            let ty = self.comparable();
            let _ = write!(over, "PARTITION BY {}", self.column_or_value(ty, scope));
        }
        let is_rank = call.contains("RANK");
        if is_rank || self.chance(60) {
            let ty = self.comparable();
            let direction = self.direction();
            let space = if over.is_empty() { "" } else { " " };
            let _ = write!(over, "{space}ORDER BY {}{direction}", self.column_or_value(ty, scope));
            if !is_rank && self.chance(40) {
                let frame = pick(self.rng, &FRAMES).copied().unwrap_or_default();
                let _ = write!(over, " {frame}");
            }
        }
        let filter = if !is_rank && self.takes(Feature::Filter) && self.chance(30) {
            format!(" FILTER (WHERE {})", self.expression(SqlType::Boolean, scope, 1))
        } else {
            String::new()
        };
        format!("{call}{filter} OVER ({over})")
    }

    fn comparable(&mut self) -> SqlType {
        *pick(self.rng, &[SqlType::Int, SqlType::Int, SqlType::Text, SqlType::Boolean]).unwrap_or(&SqlType::Int)
    }

    fn from(&mut self, depth: usize) -> (String, Vec<Source>) {
        let count = *pick(self.rng, &[1, 1, 2, 2, 2, 2, 3, 3, 3, 4]).unwrap_or(&1);
        let mut joined = Joined::of(self.source(depth));
        for _ in 1..count {
            let right = if self.takes(Feature::Parentheses) && self.chance(8) {
                let (a, b) = (Joined::of(self.source(depth)), Joined::of(self.source(depth)));
                let both = self.join(a, b, depth);
                Joined { text: format!("({})", both.text), ..both }
            } else {
                Joined::of(self.source(depth))
            };
            joined = self.join(joined, right, depth);
        }
        (joined.text, joined.sources)
    }

    fn join(&mut self, left: Joined, right: Joined, depth: usize) -> Joined {
        let keyword = pick(self.rng, self.of.joins).cloned().unwrap_or_default();
        let (on_left, on_right) = (scope(&left.sources), scope(&right.sources));
        let shared: Vec<ColumnInfo> = left.merged.iter().filter(|column| right.merges(column)).cloned().collect();
        let sources: Vec<Source> = left.sources.into_iter().chain(right.sources).collect();
        let joined = |keyword: &JoinKeyword| format!("{} {} {}", left.text, keyword.text(), right.text);
        if !keyword.takes_condition() {
            return Joined { text: joined(&keyword), sources, merged: Vec::new() };
        }
        if let Some(column) = pick(self.rng, &shared)
            && !keyword.text().starts_with("STRAIGHT")
            && chance(self.rng, 15)
        {
            let text = format!("{} USING ({})", joined(&keyword), column.name);
            return Joined { text, sources, merged: vec![column.clone()] };
        }
        let is_equality = keyword.text().starts_with("FULL") && !self.takes(Feature::FullCondition);
        let mut conditions: Vec<String> = Vec::new();
        if is_equality || self.chance(60) {
            conditions.extend(self.equality(&on_left, &on_right));
        }
        let keyword = if is_equality && conditions.is_empty() { JoinKeyword::default() } else { keyword };
        if conditions.is_empty() || (!is_equality && self.chance(25)) {
            let both = scope(&sources);
            conditions.push(match self.rng.random_range(0..10) {
                0 | 1 => ["1 = 0", "1 = 1", "1 = 1"][self.rng.random_range(0..3)].to_owned(),
                2..=5 => self.predicate(&sources, &both, depth),
                _ => self.expression(SqlType::Boolean, &both, 2),
            });
        }
        let text = format!("{} ON {}", joined(&keyword), conditions.join(" AND "));
        Joined { text, sources, merged: Vec::new() }
    }

    /// An equality between a column of each side.
    fn equality(&mut self, left: &TableInfo, right: &TableInfo) -> Option<String> {
        let ty = self.comparable();
        let (of_left, of_right) = (of_type(left, ty), of_type(right, ty));
        Some(format!("{} = {}", pick(self.rng, &of_left)?, pick(self.rng, &of_right)?))
    }

    /// A table, a derived table or a common table expression, as it stands in FROM.
    fn source(&mut self, depth: usize) -> (String, Source) {
        if depth > 0 && self.chance(20) {
            let body = self.body(depth - 1, None);
            let alias = self.alias();
            let source = Source::derived(alias.clone(), &body.types);
            if self.chance(40) {
                self.with.push(format!("{alias} AS ({})", body.sql));
                return (alias, source);
            }
            return (format!("({}) AS {alias}", body.sql), source);
        }
        let at = *pick(self.rng, &self.tables).unwrap_or(&0);
        let table = &self.of.tables()[at];
        let alias = self.alias();
        let source = Source { alias: alias.clone(), columns: table.columns.clone(), table: Some(at) };
        (format!("{} AS {alias}", table.name), source)
    }

    /// A condition, closed.
    fn predicate(&mut self, sources: &[Source], scope: &TableInfo, depth: usize) -> String {
        let condition = self.simple_predicate(sources, scope, depth);
        if self.chance(30) {
            let op = if self.chance(65) { "AND" } else { "OR" };
            return format!("({condition} {op} {})", self.simple_predicate(sources, scope, depth));
        }
        condition
    }

    fn simple_predicate(&mut self, sources: &[Source], scope: &TableInfo, depth: usize) -> String {
        let source = self.rng.random_range(0..sources.len());
        match self.rng.random_range(0..100) {
            0..20 => {
                let favourites = sources[source].table.map(|at| &self.of.favourites[at]);
                if let Some(favourite) = favourites.and_then(|of| pick(self.rng, of)) {
                    let mut text = String::from("(");
                    favourite.render(&sources[source].alias, &mut text);
                    return text + ")";
                }
            }
            20..32 => {
                let ty = self.comparable();
                let of_scope = of_type(scope, ty);
                if let (Some(a), Some(b)) = (pick(self.rng, &of_scope), pick(self.rng, &of_scope)) {
                    let op = pick(self.rng, &["=", "<>", "<", "<=", ">", ">="]).copied().unwrap_or("=");
                    return format!("{a} {op} {b}");
                }
            }
            32..40 if depth > 0 => return self.exists(scope),
            40..48 if depth > 0 => {
                let ty = self.comparable();
                let body = self.body(depth - 1, Some(&[ty]));
                let not = if self.chance(35) { " NOT" } else { "" };
                return format!("{}{not} IN ({})", self.column_or_value(ty, scope), body.sql);
            }
            48..52 if depth > 0 && self.takes(Feature::RowIn) => {
                let types = [self.comparable(), self.comparable()];
                let body = self.body(depth - 1, Some(&types));
                let [one, other] = types.map(|ty| self.column_or_value(ty, scope));
                let not = if self.chance(35) { " NOT" } else { "" };
                return format!("({one}, {other}){not} IN ({})", body.sql);
            }
            52..57 if depth > 0 => {
                let ty = self.comparable();
                let mut body = self.select(depth - 1, Some(&[ty]));
                self.limit(&mut body, 1);
                let op = pick(self.rng, &["=", "<>", "<", ">="]).copied().unwrap_or("=");
                return format!("{} {op} ({})", self.column_or_value(ty, scope), body.sql);
            }
            _ => {}
        }
        self.expression(SqlType::Boolean, scope, 2)
    }

    /// Whether a table has a row that fits one of those around it.
    fn exists(&mut self, around: &TableInfo) -> String {
        let (text, source) = self.source(0);
        let inner = scope(&[source]);
        let mut conditions: Vec<String> = self.equality(&inner, around).into_iter().collect();
        if conditions.is_empty() || self.chance(50) {
            conditions.push(self.expression(SqlType::Boolean, &inner, 1));
        }
        let not = if self.chance(40) { "NOT " } else { "" };
        format!("{not}EXISTS (SELECT 1 FROM {text} WHERE {})", conditions.join(" AND "))
    }

    /// A value of a type: mostly a column.
    fn value(&mut self, ty: SqlType, scope: &TableInfo) -> String {
        let columns = of_type(scope, ty);
        match pick(self.rng, &columns) {
            Some(column) if self.chance(70) => column.to_string(),
            _ => self.expression(ty, scope, 2),
        }
    }

    /// A column of a type, or a value where there is none.
    fn column_or_value(&mut self, ty: SqlType, scope: &TableInfo) -> String {
        let columns = of_type(scope, ty);
        match pick(self.rng, &columns) {
            Some(column) if self.chance(90) => column.to_string(),
            _ => self.expression(ty, scope, 1),
        }
    }

    fn literal(&mut self, ty: SqlType) -> String {
        self.of.expressions.literals.operand(Some(ty), 3, self.rng).to_string()
    }

    /// An expression of the grammar, closed.
    fn expression(&mut self, ty: SqlType, scope: &TableInfo, depth: usize) -> String {
        let depth = self.rng.random_range(0..=depth);
        let want = ExprSpec { kind: Kind::Typed(ty), null_preserving: false, binary: true, subqueries: true, depth };
        let node = self.of.expressions.generate(scope, want, self.rng);
        let mut text = String::new();
        node.render("", &mut text);
        if matches!(node, Node::Operator { .. }) { format!("({text})") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::Connection as _;
    use crate::dbms::sqlite::Sqlite;
    use crate::generate::Literals;
    use crate::generate::expr::Grammar;
    use crate::rng::stream;
    use crate::sql::lex::has_words;

    const TABLES: &str = "CREATE TABLE t1(c0 INT, c1 TEXT); CREATE TABLE t2(c0 INT, c1 TEXT, c2 BOOLEAN); \
                          CREATE TABLE t3(c0 REAL)";

    fn tables() -> Vec<TableInfo> {
        let table = |name: &str, types: &[SqlType]| TableInfo {
            name: name.into(),
            columns: types.iter().enumerate().map(|(at, ty)| ColumnInfo::typed(&format!("c{at}"), *ty)).collect(),
        };
        let (int, text) = (SqlType::Int, SqlType::Text);
        vec![table("t1", &[int, text]), table("t2", &[int, text, SqlType::Boolean]), table("t3", &[SqlType::Real])]
    }

    /// Queries with these features, of many seeds.
    fn queries(takes: &[Feature], joins: &[&str]) -> Vec<String> {
        let profile = profile("sqlite").expect("shipped");
        // Operators have queries of their own.
        let grammar = Grammar::new(profile.operators.iter().filter(|op| !op.has_query()).cloned());
        let tables = tables();
        let joins: Vec<JoinKeyword> =
            profile.joins.iter().filter(|join| joins.contains(&&**join.text())).cloned().collect();
        let favourites = vec![Vec::new(); tables.len()];
        let query = |seed| {
            let mut rng = stream(seed, &[]);
            let literals = Literals::draw(&profile, &mut rng);
            let expressions = ExprGenerator { grammar: &grammar, literals: &literals, tables: &tables };
            let queries = Queries { expressions, joins: &joins, takes, favourites: &favourites };
            queries.query(&mut rng).expect("there are tables")
        };
        (0..600).map(query).collect()
    }

    #[test]
    fn an_engine_takes_them_and_every_form_is_drawn() {
        let all: Vec<Feature> = Feature::PROBES.iter().map(|probe| probe.0).collect();
        let queries = queries(&all, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"]);
        let mut connection = Sqlite::linked(STATEMENT_LIMITS).expect("linked");
        for table in TABLES.split("; ") {
            connection.execute(table).expect("makes a table");
        }
        for (_, probe) in Feature::PROBES {
            connection.rows(probe).unwrap_or_else(|error| panic!("{probe}: {error:?}"));
        }
        let refused: Vec<String> =
            queries.iter().filter_map(|sql| Some(format!("{:?}: {sql}", connection.rows(sql).err()?))).collect();
        assert!(refused.len() * 50 < queries.len(), "{} of {}: {refused:#?}", refused.len(), queries.len());
        for form in [
            "FULL JOIN",
            "RIGHT JOIN",
            "LEFT JOIN",
            "CROSS JOIN",
            "USING",
            "WITH",
            "DISTINCT",
            "GROUP BY",
            "HAVING",
            "FILTER",
            "OVER",
            "ROWS BETWEEN",
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "EXCEPT",
            "ORDER BY",
            "LIMIT",
            "OFFSET",
            "NULLS FIRST",
            "NOT EXISTS",
            "NOT IN",
        ] {
            assert!(queries.iter().any(|sql| has_words(sql, form) == Ok(true)), "no {form}");
        }
        assert!(queries.iter().any(|sql| sql.contains("JOIN (t")), "no join in parentheses");
    }

    #[test]
    fn what_a_target_does_not_take_is_not_drawn() {
        for sql in queries(&[], &["JOIN"]) {
            for form in ["FULL", "RIGHT", "LEFT", "FILTER", "OVER", "INTERSECT", "EXCEPT", "NULLS"] {
                assert_eq!(has_words(&sql, form), Ok(false), "{form}: {sql}");
            }
            assert!(!sql.contains("JOIN (t"), "{sql}");
        }
    }
}
