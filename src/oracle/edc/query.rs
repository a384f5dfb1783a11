//! The queries over an operation: Algorithm 1 of the paper, in forms whose rows do not hang on which of several
//! equal values stands for them all.
//!
//! A query is written twice. In place, the operation is computed where the query names it; an aggregate or a window
//! function in a derived table, or the aggregate in HAVING. Stored, it is the column `r`.

use super::operation::Operation;
use super::predicate::{DEPTH_MAX, Draw, Predicate};
use super::{EdcDatabase, STORED};
use crate::oracle::expressions::TABLE;
use crate::rng::{Rng, chance, pick};
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

#[cfg(test)]
mod tests {
    use super::super::predicate::Operand;
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
