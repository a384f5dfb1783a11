//! The queries over an operation: Algorithms 1 and 2 of the paper, in forms whose rows do not hang on which of several
//! equal values stands for them all.
//!
//! A query is written twice. In place, the operation is computed where the query names it; an aggregate or a window
//! function in a derived table, or the aggregate in HAVING. Stored, it is the column `r`.

use super::operation::{KEY, Operation};
use super::{EdcDatabase, STORED};
use crate::caq::node::Node;
use crate::generate::expr::{ExprGenerator, ExprSpec};
use crate::generate::{ColumnInfo, TableInfo, any_type};
use crate::oracle::expressions::TABLE;
use crate::rng::{Rng, chance, pick};
use crate::sql::profile::Typing;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::sync::Arc;

/// What stands above the operation. A failure counts for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", prefix = "stored-")]
pub(super) enum Shape {
    Select,
    Where,
    Order,
    Group,
    Distinct,
    Join,
    SetOperation,
    Subquery,
    /// HAVING over an aggregate, which becomes WHERE.
    Having,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// How many forms it has.
    fn forms(self) -> usize {
        match self {
            Self::Having => 1,
            Self::Select | Self::Order | Self::SetOperation => 2,
            Self::Where | Self::Group | Self::Distinct | Self::Join => 3,
            Self::Subquery => 4,
        }
    }
}

/// How the operation reads in a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Face {
    InPlace,
    Stored,
}

/// Where queries are written.
pub(super) struct Site<'a> {
    pub(super) operation: &'a Operation,
    pub(super) carried: &'a [Arc<str>],
}

impl Site<'_> {
    /// What has the operation's rows, visible as `alias`.
    pub(super) fn from(&self, face: Face, alias: &str) -> String {
        match (face, self.operation) {
            (Face::Stored, _) => format!("{STORED} AS {alias}"),
            (Face::InPlace, Operation::Scalar(_)) => format!("{TABLE} AS {alias}"),
            (Face::InPlace, computed) => format!("({}) AS {alias}", computed.query(self.carried, TABLE)),
        }
    }

    /// The operation on a row of that.
    pub(super) fn value(&self, face: Face, alias: &str) -> String {
        match (face, self.operation) {
            (Face::InPlace, scalar @ Operation::Scalar(_)) => scalar.text(alias),
            _ => format!("{alias}.r"),
        }
    }
}

/// A condition on an operation's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Predicate {
    Truth,
    IsNull,
    Compare(&'static str, Operand),
    Between(Operand, Operand),
    In(Vec<Operand>),
    /// A column that is carried beside the operation, compared with a literal.
    Column(Arc<str>, &'static str, Arc<str>),
    /// A generated expression, over columns as [`op_column`] and [`own_column`] name them.
    Node(Node),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

/// What the operation is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operand {
    Literal(Arc<str>),
    /// Its own value on the row of a key.
    OfRow(usize),
    /// The greatest of its own values.
    Greatest,
}

/// The operation in the text of a generated expression.
const OPERATION: &str = "#O";

/// What qualifies a column there.
const ALIAS: &str = "#A";

impl Operand {
    fn write(&self, site: &Site, face: Face) -> String {
        match self {
            Self::Literal(literal) => literal.to_string(),
            Self::OfRow(key) => {
                let (value, from) = (site.value(face, "q9"), site.from(face, "q9"));
                format!("(SELECT {value} FROM {from} WHERE q9.{KEY} = {key})")
            }
            Self::Greatest => {
                // Not MAX, which not every type has, and whose type is not always that of its operand.
                let (value, from) = (site.value(face, "q9"), site.from(face, "q9"));
                format!("(SELECT {value} FROM {from} WHERE {value} IS NOT NULL ORDER BY {value} DESC LIMIT 1)")
            }
        }
    }
}

impl Predicate {
    /// The condition where the operation reads `value`, on a row that is visible as `alias`.
    fn write(&self, site: &Site, face: Face, value: &str, alias: &str) -> String {
        let operand = |operand: &Operand| operand.write(site, face);
        let inner = |predicate: &Self| predicate.write(site, face, value, alias);
        match self {
            Self::Truth => value.to_owned(),
            Self::IsNull => format!("{value} IS NULL"),
            Self::Compare(op, other) => format!("{value} {op} {}", operand(other)),
            Self::Between(low, high) => format!("{value} BETWEEN {} AND {}", operand(low), operand(high)),
            Self::In(all) => {
                format!("{value} IN ({})", all.iter().map(operand).collect::<Vec<_>>().join(", "))
            }
            Self::Column(column, op, literal) => format!("{alias}.{column} {op} {literal}"),
            Self::Node(node) => {
                let mut text = String::new();
                node.render("", &mut text);
                text.replace(ALIAS, alias).replace(OPERATION, value)
            }
            Self::Not(of) => format!("NOT ({})", inner(of)),
            Self::And(a, b) => format!("({}) AND ({})", inner(a), inner(b)),
            Self::Or(a, b) => format!("({}) OR ({})", inner(a), inner(b)),
        }
    }

    /// Smaller ones, the most promising first.
    fn smaller(&self, on: &EdcDatabase) -> Vec<Self> {
        let profile = &on.oracle.capabilities.profile;
        match self {
            Self::Truth | Self::IsNull | Self::Compare(..) | Self::Between(..) | Self::Column(..) => Vec::new(),
            Self::In(all) => (0..all.len())
                .filter(|_| all.len() > 1)
                .map(|at| {
                    let mut fewer = all.clone();
                    fewer.remove(at);
                    Self::In(fewer)
                })
                .collect(),
            Self::Node(node) => node.smaller(profile).into_iter().map(Self::Node).collect(),
            Self::Not(of) => {
                let mut all = vec![(**of).clone()];
                all.extend(of.smaller(on).into_iter().map(|of| Self::Not(Box::new(of))));
                all
            }
            Self::And(a, b) | Self::Or(a, b) => {
                let mut all = vec![(**a).clone(), (**b).clone()];
                let with = |a: &Self, b: &Self| match self {
                    Self::And(..) => Self::And(Box::new(a.clone()), Box::new(b.clone())),
                    _ => Self::Or(Box::new(a.clone()), Box::new(b.clone())),
                };
                all.extend(a.smaller(on).iter().map(|a| with(a, b)));
                all.extend(b.smaller(on).iter().map(|b| with(a, b)));
                all
            }
        }
    }
}

/// Levels of AND, OR and NOT in a condition, at most.
const DEPTH_MAX: usize = 2;

const COMPARISONS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

/// How an operation may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fidelity {
    /// Its values are compared, and whether they are NULL.
    Values,
    /// It stands wherever an expression of its type may.
    Type,
}

/// Joins whose first operand has no row but its own.
const KEEPS_FIRST: [&str; 4] = ["JOIN", "INNER JOIN", "LEFT JOIN", "STRAIGHT_JOIN"];

/// The form of a join whose filter is part of its condition, which is asked of rows that are there.
const ON_FORM: usize = 2;

/// A query above an operation.
#[derive(Clone)]
pub(super) struct Query {
    pub(super) shape: Shape,
    /// Which of the shape's forms.
    form: usize,
    filter: Option<Predicate>,
    /// The condition on the other operand of a set operation or in a subquery.
    other: Option<Predicate>,
    /// Of a join or a set operation.
    keyword: Arc<str>,
    descending: bool,
    limit: usize,
    offset: usize,
    /// A column by which an aggregate above groups.
    column: Option<Arc<str>>,
    /// Whether the second mention stays in place where the first is stored.
    mixed: bool,
}

impl Query {
    /// A query of a shape, or of a plainer one where the operation is not fit for it.
    pub(super) fn draw(on: &EdcDatabase, site: &Site, shape: Shape, fidelity: Fidelity, rng: &mut Rng) -> Self {
        let draw = Draw { on, site, fidelity };
        let plain = matches!(shape, Shape::Select | Shape::Where);
        let shape = if fidelity == Fidelity::Values && !plain { Shape::Select } else { shape };
        let form = if fidelity == Fidelity::Values { 0 } else { rng.random_range(0..shape.forms()) };
        let keyword: Arc<str> = match shape {
            Shape::Join => {
                let joins: Vec<_> = on.oracle.capabilities.joins.iter().filter(|join| join.takes_condition()).collect();
                pick(rng, &joins).map_or_else(|| "JOIN".into(), |join| join.text().clone())
            }
            _ => pick(rng, &["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]).copied().unwrap_or("UNION").into(),
        };
        let needs_filter = matches!(shape, Shape::Where | Shape::Having) || (shape == Shape::Select && form == 1);
        // Above a join that pads its first operand, an operation on the padding need not be NULL, as a stored result is.
        let padded = shape == Shape::Join && form != ON_FORM && !KEEPS_FIRST.contains(&&*keyword);
        let may_filter = shape != Shape::Select && !padded;
        let filter = (needs_filter || (may_filter && chance(rng, 40))).then(|| draw.predicate(DEPTH_MAX, rng));
        let other = matches!(shape, Shape::SetOperation | Shape::Subquery | Shape::Having) && chance(rng, 60);
        let other = match (other, shape) {
            (false, _) => None,
            // Before the rows are grouped there is nothing but the columns of the groups.
            (true, Shape::Having) => draw.of_column(rng),
            (true, _) => Some(draw.predicate(1, rng)),
        };
        Self {
            shape,
            form,
            filter,
            other,
            keyword,
            descending: chance(rng, 50),
            limit: rng.random_range(1..=12),
            offset: if chance(rng, 30) { rng.random_range(1..=4) } else { 0 },
            column: pick(rng, site.carried).cloned(),
            mixed: chance(rng, 35),
        }
    }

    /// Whether anything but the operation's values shows in its rows.
    pub(super) fn needs_type(&self) -> bool {
        let plain = |predicate: &Option<Predicate>| matches!(predicate, None | Some(Predicate::IsNull));
        !(matches!(self.shape, Shape::Select | Shape::Where)
            && self.form == 0
            && plain(&self.filter)
            && plain(&self.other))
    }

    /// The text.
    pub(super) fn write(&self, site: &Site, face: Face) -> String {
        let second = if self.mixed { Face::InPlace } else { face };
        let keys = site.operation.keys();
        let of = |alias: &str| keys.iter().map(|key| format!("{alias}.{key}")).collect::<Vec<_>>().join(", ");
        let (k, j) = (of("q0"), of("q1"));
        let (o, p) = (site.value(face, "q0"), site.value(second, "q1"));
        let (t, u) = (site.from(face, "q0"), site.from(second, "q1"));
        let condition = |predicate: &Predicate| predicate.write(site, face, &o, "q0");
        let filter =
            |before: &str| self.filter.as_ref().map(|of| format!(" {before} {}", condition(of))).unwrap_or_default();
        let other = |before: &str| {
            let of = self.other.as_ref();
            of.map(|of| format!(" {before} {}", of.write(site, second, &p, "q1"))).unwrap_or_default()
        };
        let w = filter("WHERE");
        let keyword = &self.keyword;
        match (self.shape, self.form) {
            (Shape::Select, 0) => format!("SELECT {k}, {o} FROM {t}"),
            (Shape::Select, _) => {
                let condition = self.filter.as_ref().map(condition).unwrap_or_default();
                format!("SELECT {k}, CASE WHEN {condition} THEN 1 WHEN NOT ({condition}) THEN 0 END FROM {t}")
            }
            (Shape::Where, 0) => format!("SELECT {k}, {o} FROM {t}{w}"),
            (Shape::Where, 1) => format!("SELECT COUNT(*) FROM {t}{w}"),
            (Shape::Where, _) => format!("SELECT {k} FROM {t}{w}"),
            (Shape::Order, form) => {
                let list = if form == 0 { format!("{k}, {o}") } else { k.clone() };
                let descending = if self.descending { " DESC" } else { "" };
                let offset = if self.offset > 0 { format!(" OFFSET {}", self.offset) } else { String::new() };
                // With the keys the order is total.
                format!("SELECT {list} FROM {t}{w} ORDER BY {o}{descending}, {k} LIMIT {}{offset}", self.limit)
            }
            (Shape::Group, 0) => format!("SELECT COUNT(*), COUNT({o}) FROM {t}{w} GROUP BY {o}"),
            (Shape::Group, 1) => format!("SELECT {k}, {o}, COUNT(*) FROM {t}{w} GROUP BY {k}, {o}"),
            (Shape::Group, _) => {
                let by = self.column.as_ref().map_or_else(|| k.clone(), |column| format!("q0.{column}"));
                format!("SELECT {by}, COUNT({o}), COUNT(DISTINCT {o}) FROM {t}{w} GROUP BY {by} HAVING COUNT({o}) > 0")
            }
            (Shape::Distinct, 0) => format!("SELECT DISTINCT {k}, {o} FROM {t}{w}"),
            (Shape::Distinct, 1) => format!("SELECT COUNT(*) FROM (SELECT DISTINCT {o} AS v FROM {t}{w}) AS q2"),
            (Shape::Distinct, _) => format!("SELECT COUNT(DISTINCT {o}) FROM {t}{w}"),
            (Shape::Join, 0) => format!("SELECT {k}, {j} FROM {t} {keyword} {u} ON {o} = {p}{w}"),
            (Shape::Join, 1) => format!("SELECT COUNT(*) FROM {t} {keyword} {u} ON {o} = {p}{w}"),
            (Shape::Join, _) => {
                let and = filter("AND");
                format!("SELECT {k}, {j} FROM {t} {keyword} {u} ON {o} = {p}{and}")
            }
            (Shape::SetOperation, form) => {
                let v = other("WHERE");
                if form == 0 {
                    format!("SELECT {k}, {o} FROM {t}{w} {keyword} SELECT {j}, {p} FROM {u}{v}")
                } else {
                    let both = format!("SELECT {o} AS v FROM {t}{w} {keyword} SELECT {p} AS v FROM {u}{v}");
                    format!("SELECT COUNT(*) FROM ({both}) AS q2")
                }
            }
            (Shape::Subquery, 0) => {
                format!("SELECT {k} FROM {t} WHERE {o} IN (SELECT {p} FROM {u}{}){}", other("WHERE"), filter("AND"))
            }
            (Shape::Subquery, 1) => {
                format!("SELECT {k} FROM {t} WHERE {o} NOT IN (SELECT {p} FROM {u}{}){}", other("WHERE"), filter("AND"))
            }
            (Shape::Subquery, 2) => {
                format!("SELECT {k}, (SELECT COUNT(*) FROM {u} WHERE {p} < {o}{}) FROM {t}{w}", other("AND"))
            }
            (Shape::Subquery, _) => {
                format!(
                    "SELECT {k} FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {p} = {o}{}){}",
                    other("AND"),
                    filter("AND")
                )
            }
            (Shape::Having, _) => self.having(site, face),
        }
    }

    fn having(&self, site: &Site, face: Face) -> String {
        let keys = site.operation.keys();
        let alone = site.carried.is_empty();
        let k = keys.iter().map(|key| format!("q0.{key}")).collect::<Vec<_>>().join(", ");
        let of_group = |value: &str| self.other.as_ref().map(|of| of.write(site, face, value, "q0"));
        let on_result = |value: &str| self.filter.as_ref().map(|of| of.write(site, face, value, "q0"));
        match face {
            Face::InPlace => {
                let value = site.operation.text("q0");
                let filter = of_group(&value).map(|of| format!(" WHERE {of}")).unwrap_or_default();
                let having = on_result(&value).map(|of| format!(" HAVING {of}")).unwrap_or_default();
                let by = if alone { String::new() } else { format!(" GROUP BY {k}") };
                let list = if alone { "0" } else { &k };
                format!("SELECT {list}, {value} FROM {TABLE} AS q0{filter}{by}{having}")
            }
            Face::Stored => {
                let conditions = [of_group("q0.r"), on_result("q0.r")].into_iter().flatten();
                let conditions: Vec<String> = conditions.map(|condition| format!("({condition})")).collect();
                let filter =
                    if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
                format!("SELECT {k}, q0.r FROM {STORED} AS q0{filter}")
            }
        }
    }

    /// Smaller ones, the most promising first.
    pub(super) fn smaller(&self, on: &EdcDatabase) -> Vec<Self> {
        let mut smaller = Vec::new();
        let needed = matches!(self.shape, Shape::Where) || (self.shape == Shape::Select && self.form == 1);
        if self.other.is_some() {
            smaller.push(Self { other: None, ..self.clone() });
        }
        if let Some(filter) = &self.filter {
            if !needed {
                smaller.push(Self { filter: None, ..self.clone() });
            }
            let fewer = filter.smaller(on).into_iter();
            smaller.extend(fewer.map(|filter| Self { filter: Some(filter), ..self.clone() }));
        }
        if let Some(other) = &self.other {
            let fewer = other.smaller(on).into_iter();
            smaller.extend(fewer.map(|other| Self { other: Some(other), ..self.clone() }));
        }
        if self.offset > 0 {
            smaller.push(Self { offset: 0, ..self.clone() });
        }
        if self.mixed {
            smaller.push(Self { mixed: false, ..self.clone() });
        }
        smaller
    }
}

/// Draws conditions.
struct Draw<'a> {
    on: &'a EdcDatabase<'a>,
    site: &'a Site<'a>,
    fidelity: Fidelity,
}

impl Draw<'_> {
    fn predicate(&self, depth: usize, rng: &mut Rng) -> Predicate {
        if self.fidelity == Fidelity::Values {
            return Predicate::IsNull;
        }
        if depth > 0 && chance(rng, 35) {
            let a = Box::new(self.predicate(depth - 1, rng));
            return match rng.random_range(0..3) {
                0 => Predicate::Not(a),
                1 => Predicate::And(a, Box::new(self.predicate(depth - 1, rng))),
                _ => Predicate::Or(a, Box::new(self.predicate(depth - 1, rng))),
            };
        }
        let drawn = match rng.random_range(0..100) {
            0..20 => self.truth(),
            20..45 => self.node(rng),
            // Beside the operation, and not in its place.
            45..55 if depth < DEPTH_MAX => self.of_column(rng),
            55..65 => Some(Predicate::IsNull),
            65..75 => Some(Predicate::Between(self.operand(rng), self.operand(rng))),
            75..85 => Some(Predicate::In((0..rng.random_range(1..=3)).map(|_| self.operand(rng)).collect())),
            _ => None,
        };
        drawn.unwrap_or_else(|| {
            let op = pick(rng, &COMPARISONS).copied().unwrap_or("=");
            Predicate::Compare(op, self.operand(rng))
        })
    }

    /// Its value as a truth value, where it may be one.
    fn truth(&self) -> Option<Predicate> {
        let any = self.on.oracle.capabilities.profile.truth_of_any_value;
        (any || self.site.operation.ty() == Some(SqlType::Boolean)).then_some(Predicate::Truth)
    }

    fn operand(&self, rng: &mut Rng) -> Operand {
        let profile = &self.on.oracle.capabilities.profile;
        let own = self.site.operation.ty();
        // Where any value is a truth value, any two are compared.
        let ty = match own {
            Some(ty) if !profile.truth_of_any_value || chance(rng, 65) => Some(ty),
            None if !profile.truth_of_any_value => None,
            _ => Some(any_type(rng)).filter(|ty| *ty != SqlType::Blob || profile.typing == Typing::Dynamic).or(own),
        };
        match ty {
            Some(ty) if chance(rng, 70) => Operand::Literal(self.on.literals.operand(Some(ty), 3, rng)),
            _ if matches!(self.site.operation, Operation::Aggregate(_)) || chance(rng, 25) => Operand::Greatest,
            _ => Operand::OfRow(rng.random_range(1..=self.on.rows)),
        }
    }

    fn of_column(&self, rng: &mut Rng) -> Option<Predicate> {
        let column = pick(rng, self.site.carried)?;
        let ty = self.on.table.columns.iter().find(|other| other.name == *column)?.ty;
        let op = pick(rng, &COMPARISONS).copied()?;
        Some(Predicate::Column(column.clone(), op, self.on.literals.operand(ty, 0, rng)))
    }

    /// An expression of the dialect's grammar over the operation and the carried columns.
    fn node(&self, rng: &mut Rng) -> Option<Predicate> {
        let oracle = self.on.oracle;
        let profile = &oracle.capabilities.profile;
        let operation = self.site.operation;
        // What a JSON function returns is more than its text, which a table does not keep.
        if profile.forbidden.subtype_prefixes.iter().any(|prefix| operation.has_prefix(prefix)) {
            return None;
        }
        let column = |name: String, ty| ColumnInfo { ty, ..ColumnInfo::typed(&name, SqlType::Int) };
        let mut columns = match profile.typing {
            Typing::Static => vec![column(OPERATION.to_owned(), Some(operation.ty()?)); 2],
            Typing::Dynamic => {
                // Of no type, and so of any. A column may have an affinity where its expression has none; with a plus
                // before it neither has one.
                let types = [None, Some(SqlType::Int), Some(SqlType::Text)];
                types.map(|ty| column(format!("(+{OPERATION})"), ty)).to_vec()
            }
        };
        columns.extend(self.site.carried.iter().filter_map(|carried| {
            let info = self.on.table.columns.iter().find(|other| other.name == *carried)?;
            Some(column(format!("{ALIAS}.{carried}"), info.ty))
        }));
        let scope = TableInfo { name: TABLE.into(), columns };
        let generator =
            ExprGenerator { grammar: &oracle.capabilities.grammar, literals: &self.on.literals, tables: &[] };
        let depth = rng.random_range(1..=2);
        let kind = oracle.capabilities.truth();
        // No query, in which a column of the same name could be another.
        let want = ExprSpec { kind, null_preserving: false, binary: true, subqueries: false, depth };
        let node = generator.generate(&scope, want, rng);
        let names_it = node.own_columns().iter().any(|name| name.contains(OPERATION));
        names_it.then_some(Predicate::Node(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::sql::snippet::Snippet;

    fn query(shape: Shape, form: usize) -> Query {
        Query {
            shape,
            form,
            filter: Some(Predicate::Compare(">", Operand::Greatest)),
            other: None,
            keyword: "UNION".into(),
            descending: true,
            limit: 3,
            offset: 1,
            column: None,
            mixed: false,
        }
    }

    fn texts(query: &Query, operation: &Operation, carried: &[Arc<str>]) -> [String; 2] {
        let site = Site { operation, carried };
        [Face::InPlace, Face::Stored].map(|face| query.write(&site, face))
    }

    fn scalar() -> Operation {
        let snippet = Snippet::parse("abs(t.c_int)", &profile("sqlite").expect("shipped")).expect("a snippet");
        Operation::Scalar(Arc::new(snippet))
    }

    #[test]
    fn every_mention_of_the_operation_becomes_the_column() {
        assert_eq!(
            texts(&query(Shape::Order, 0), &scalar(), &[]),
            [
                "SELECT q0.k, (abs(q0.c_int)) FROM t AS q0 WHERE (abs(q0.c_int)) > (SELECT \
                 (abs(q9.c_int)) FROM t AS q9 WHERE (abs(q9.c_int)) IS NOT NULL ORDER BY (abs(q9.c_int)) DESC LIMIT 1) \
                 ORDER BY (abs(q0.c_int)) DESC, q0.k LIMIT 3 OFFSET 1",
                "SELECT q0.k, q0.r FROM t_stored AS q0 WHERE q0.r > (SELECT q9.r FROM t_stored AS q9 WHERE q9.r IS NOT \
                 NULL ORDER BY q9.r DESC LIMIT 1) ORDER BY q0.r DESC, q0.k LIMIT 3 OFFSET 1",
            ]
        );
        let mixed = Query { filter: None, mixed: true, ..query(Shape::Join, 0) };
        let [_, stored] = texts(&Query { keyword: "JOIN".into(), ..mixed }, &scalar(), &[]);
        assert_eq!(stored, "SELECT q0.k, q1.k FROM t_stored AS q0 JOIN t AS q1 ON q0.r = (abs(q1.c_int))");
    }

    #[test]
    fn having_becomes_where() {
        let carried: Vec<Arc<str>> = vec!["c_text".into()];
        let aggregate = Operation::test_aggregate("max", "t.c_int", &carried, &profile("sqlite").expect("shipped"));
        let on_group = Predicate::Column("c_text".into(), "<>", "'a'".into());
        let filter = Some(Predicate::IsNull);
        let query = Query { filter, other: Some(on_group), ..query(Shape::Having, 0) };
        assert_eq!(
            texts(&query, &aggregate, &carried),
            [
                "SELECT q0.c_text, max(q0.c_int) FROM t AS q0 WHERE q0.c_text <> 'a' GROUP BY q0.c_text HAVING \
                 max(q0.c_int) IS NULL",
                "SELECT q0.c_text, q0.r FROM t_stored AS q0 WHERE (q0.c_text <> 'a') AND (q0.r IS NULL)",
            ]
        );
        assert_eq!(
            aggregate.query(&carried, "t"),
            "SELECT q.c_text AS c_text, max(q.c_int) AS r FROM t AS q GROUP BY q.c_text"
        );
    }

    #[test]
    fn nothing_is_asked_of_an_operation_on_padding() {
        let oracle = super::super::tests::oracle("sqlite");
        let operation = scalar();
        let mut padded = 0;
        for seed in 0..400 {
            let mut rng = crate::rng::stream(seed, &[]);
            let database = EdcDatabase::with_rows(&oracle, 1, &mut rng);
            let site = Site { operation: &operation, carried: &[] };
            let query = Query::draw(&database, &site, Shape::Join, Fidelity::Type, &mut rng);
            if ["RIGHT JOIN", "FULL JOIN"].contains(&&*query.keyword) {
                padded += 1;
                assert!(query.form == ON_FORM || query.filter.is_none(), "{:?}", texts(&query, &operation, &[]));
            }
        }
        assert!(padded > 50, "{padded}");
    }

    #[test]
    fn only_what_shows_values_alone_needs_no_type() {
        let plain = Query { filter: None, ..query(Shape::Select, 0) };
        assert!(
            !plain.needs_type() && !Query { filter: Some(Predicate::IsNull), ..query(Shape::Where, 0) }.needs_type()
        );
        assert!(
            query(Shape::Where, 0).needs_type() && Query { filter: None, ..query(Shape::Distinct, 0) }.needs_type()
        );
    }
}
