//! φ as a relation: the rows of a subquery through a table, a derived table or a common table expression, each against
//! another, the query itself or its rows as constants (`CODDTest` paper, section 3.4).

use super::clause::context;
use super::{CoddDatabase, Coddtest, Place, Scope, comparable, comparable_type};
use crate::caq::node::Node;
use crate::generate::ColumnInfo;
use crate::oracle::{Accepts, Case, SharedCase};
use crate::program::{self, Assumption, Expected, Fold, Program, Relation, Step, Text};
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::ColumnType;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::rc::Rc;
use std::sync::Arc;

/// The name of the relation.
const NAME: &str = "t_rel";

/// Columns of the relation, at most.
const COLUMNS_MAX: usize = 2;

/// How a relation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A table that the query fills.
    Stored,
    /// A table that constants fill.
    StoredConstants,
    Derived,
    DerivedConstants,
    Cte,
    CteConstants,
    /// A common table expression that is VALUES.
    CteValues,
}

impl Form {
    pub(super) const ALL: [Self; 7] = [
        Self::Stored,
        Self::StoredConstants,
        Self::Derived,
        Self::DerivedConstants,
        Self::Cte,
        Self::CteConstants,
        Self::CteValues,
    ];

    /// Whether it has the query's rows rather than the query.
    fn is_constant(self) -> bool {
        matches!(self, Self::StoredConstants | Self::DerivedConstants | Self::CteConstants | Self::CteValues)
    }

    /// Whether the target takes it.
    pub(super) fn accepted(self, oracle: &Coddtest, accepts: Accepts) -> bool {
        let profile = oracle.profile();
        let start = profile.start.clone();
        let int = profile.declared(&ColumnType::Class(SqlType::Int));
        let sql = match self {
            Self::Stored | Self::StoredConstants => {
                let create = format!("CREATE TABLE {NAME}(r0 {int})");
                return accepts(&start, &create).is_ok() && accepts(&start, &format!("DROP TABLE {NAME}")).is_ok();
            }
            Self::Derived | Self::DerivedConstants => format!("SELECT {NAME}.r0 FROM (SELECT 1 AS r0) AS {NAME}"),
            Self::Cte | Self::CteConstants => format!("WITH {NAME}(r0) AS (SELECT 1) SELECT r0 FROM {NAME}"),
            Self::CteValues => format!("WITH {NAME}(r0) AS (VALUES (1), (2)) SELECT r0 FROM {NAME}"),
        };
        accepts(&start, &sql).is_ok()
    }
}

/// A relation written in two ways, in the same query.
#[derive(Clone)]
pub(super) struct RelationCase<'a> {
    on: &'a CoddDatabase<'a>,
    forms: [Form; 2],
    /// What the subquery reads, and its plainest form.
    inner: (Arc<str>, Arc<str>),
    /// The subquery's columns.
    items: Vec<(Node, SqlType)>,
    inner_filter: Option<Node>,
    /// Another relation that the query joins: the keyword, the relation, its condition.
    join: Option<(Arc<str>, Arc<str>, Option<Node>)>,
    filter: Option<Node>,
    grouped: bool,
}

impl<'a> RelationCase<'a> {
    pub(super) fn draw(on: &'a CoddDatabase<'a>, rng: &mut Rng) -> Self {
        let mut forms = on.oracle.forms.clone();
        forms.shuffle(rng);
        let original = forms.iter().position(|form| !form.is_constant()).unwrap_or(0);
        let first = forms.remove(original);
        let second = forms.first().copied().unwrap_or(first);
        let (relation, plain, columns) = on.relation(rng);
        let own = on.scope_of(&columns, "y");
        let items: Vec<(Node, SqlType)> = (0..rng.random_range(1..=COLUMNS_MAX))
            .map(|_| {
                let ty = comparable_type(rng);
                (on.node(&own, Kind::Typed(ty), rng.random_range(0..=2), rng), ty)
            })
            .collect();
        let inner_filter = chance(rng, 40).then(|| on.node(&own, on.truth(), 1, rng));
        let of_relation = columns_of(&items);
        let mut all = Scope { name: on.database.tables[0].name.clone(), columns: of_relation.clone() };
        let join = chance(rng, 50).then(|| {
            let (relation, _, columns) = on.relation(rng);
            let other = on.scope_of(&columns, "a1");
            all.columns.extend(other.columns.into_iter().filter(comparable));
            let keyword = pick(rng, &on.oracle.capabilities.joins).cloned().unwrap_or_default();
            let condition = keyword.takes_condition().then(|| on.node(&all, on.truth(), 1, rng));
            (keyword.text().clone(), relation, condition)
        });
        let filter = chance(rng, 60).then(|| on.node(&all, on.truth(), 2, rng));
        let grouped = chance(rng, 20);
        Self { on, forms: [first, second], inner: (relation, plain), items, inner_filter, join, filter, grouped }
    }

    /// The subquery.
    fn query(&self) -> String {
        let profile = self.on.profile();
        let item =
            |(at, (node, ty)): (usize, &(Node, SqlType))| format!("{} AS r{at}", profile.cast(&text_of(node), *ty));
        let items: Vec<String> = self.items.iter().enumerate().map(item).collect();
        let filter = self.inner_filter.as_ref().map(|node| format!(" WHERE {}", text_of(node))).unwrap_or_default();
        format!("SELECT {} FROM {} AS y{filter}", items.join(", "), self.inner.0)
    }

    fn columns(&self) -> Vec<program::Column> {
        let column = |(at, (_, ty)): (usize, &(Node, SqlType))| program::Column {
            name: format!("r{at}"),
            ty: ColumnType::Class(*ty),
        };
        self.items.iter().enumerate().map(column).collect()
    }

    /// Writes the query over the relation in a form.
    fn write(&self, form: Form, step: &mut Step) {
        let columns = self.columns();
        let names = columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
        let fold = Fold::Query(columns.clone());
        let types = columns.iter().map(|column| column.ty.clone()).collect();
        let mut source = Text::from(NAME);
        match form {
            Form::Stored | Form::StoredConstants => {
                let profile = self.on.profile();
                let declared = |column: &program::Column| format!("{} {}", column.name, profile.declared(&column.ty));
                let declared = columns.iter().map(declared).collect::<Vec<_>>().join(", ");
                step.before.push(format!("CREATE TABLE {NAME}({declared})").into());
                let mut insert = Text::from(format!("INSERT INTO {NAME}({names}) "));
                if form == Form::Stored {
                    insert.push_str(&self.query());
                } else {
                    insert.push_str("VALUES ");
                    insert.push_hole(0, Fold::Rows(types));
                }
                step.before.push(insert);
                step.after.push(format!("DROP TABLE {NAME}").into());
            }
            Form::Derived | Form::DerivedConstants => {
                source = Text::from("(");
                if form == Form::Derived {
                    source.push_str(&self.query());
                } else {
                    source.push_hole(0, fold);
                }
                source.push_str(&format!(") AS {NAME}"));
            }
            Form::Cte | Form::CteConstants | Form::CteValues => {
                step.sql.push_str(&format!("WITH {NAME}({names}) AS ("));
                match form {
                    Form::Cte => step.sql.push_str(&self.query()),
                    Form::CteConstants => step.sql.push_hole(0, fold),
                    _ => {
                        step.sql.push_str("VALUES ");
                        step.sql.push_hole(0, Fold::Rows(types));
                    }
                }
                step.sql.push_str(") ");
            }
        }
        let list = columns.iter().map(|column| format!("{NAME}.{}", column.name)).collect::<Vec<_>>().join(", ");
        let count = if self.grouped { ", COUNT(*)" } else { "" };
        step.sql.push_str(&format!("SELECT {list}{count} FROM "));
        step.sql.push_text(&source);
        if let Some((keyword, relation, condition)) = &self.join {
            step.sql.push_str(&format!(" {keyword} {relation} AS a1"));
            if let Some(condition) = condition {
                step.sql.push_str(&format!(" ON {}", text_of(condition)));
            }
        }
        if let Some(filter) = &self.filter {
            step.sql.push_str(&format!(" WHERE {}", text_of(filter)));
        }
        if self.grouped {
            step.sql.push_str(&format!(" GROUP BY {list}"));
        }
    }

    fn smaller_forms(&self) -> Vec<Self> {
        let profile = self.on.profile();
        let mut smaller = Vec::new();
        if self.join.is_some() && !self.names_join() {
            smaller.push(Self { join: None, ..self.clone() });
        }
        if self.grouped {
            smaller.push(Self { grouped: false, ..self.clone() });
        }
        if let Some(filter) = &self.filter {
            smaller.push(Self { filter: None, ..self.clone() });
            let nodes = filter.smaller(profile).into_iter();
            smaller.extend(nodes.map(|node| Self { filter: Some(node), ..self.clone() }));
        }
        if let Some(filter) = &self.inner_filter {
            smaller.push(Self { inner_filter: None, ..self.clone() });
            let nodes = filter.smaller(profile).into_iter();
            smaller.extend(nodes.map(|node| Self { inner_filter: Some(node), ..self.clone() }));
        }
        if self.inner.0 != self.inner.1 {
            smaller.push(Self { inner: (self.inner.1.clone(), self.inner.1.clone()), ..self.clone() });
        }
        for (at, (node, ty)) in self.items.iter().enumerate() {
            smaller.extend(node.smaller(profile).into_iter().map(|node| {
                let mut items = self.items.clone();
                items[at] = (node, *ty);
                Self { items, ..self.clone() }
            }));
        }
        smaller
    }

    /// Whether the condition of the query names the relation that it joins.
    fn names_join(&self) -> bool {
        self.filter.iter().any(|node| node.own_columns().iter().any(|name| name.starts_with("a1.")))
    }
}

/// The relation's columns as the query names them.
fn columns_of(items: &[(Node, SqlType)]) -> Vec<ColumnInfo> {
    let column = |(at, (_, ty)): (usize, &(Node, SqlType))| ColumnInfo::typed(&format!("{NAME}.r{at}"), *ty);
    items.iter().enumerate().map(column).collect()
}

fn text_of(node: &Node) -> String {
    let mut out = String::new();
    node.render("", &mut out);
    out
}

impl<'a> Case<'a> for RelationCase<'a> {
    fn program(&self, into: &mut Program) {
        into.add_step(0, None).sql.push_str(&self.query());
        for (at, form) in self.forms.into_iter().enumerate() {
            self.write(form, into.add_step(at + 1, None));
        }
        into.add_check(Relation::EqualBag, [1, 2]);
    }

    fn describe(&self) -> Vec<String> {
        vec![self.query()]
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        let query = self.query();
        let mut assumptions = vec![Assumption {
            text: "the relation has the same rows each time".to_owned(),
            sql: query.as_str().into(),
            expected: Expected::Same(query.as_str().into()),
        }];
        if self.forms.into_iter().any(Form::is_constant) {
            let mut folded = Text::default();
            folded.push_hole(0, Fold::Query(self.columns()));
            assumptions.push(Assumption {
                text: "the constants read back as the values they stand for".to_owned(),
                sql: query.into(),
                expected: Expected::Same(folded),
            });
        }
        assumptions
    }

    fn parts(&self) -> usize {
        1
    }

    fn smaller(&self, _part: usize) -> Vec<SharedCase<'a>> {
        self.smaller_forms().into_iter().map(|case| Rc::new(case) as SharedCase<'a>).collect()
    }

    fn context(&self, step: &Step) -> Option<&str> {
        context(step.member)
    }

    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        Some(Place::Relation.name())
    }
}
