//! φ in a clause of a query or of a statement (`CODDTest` paper, sections 3.1 to 3.3).

mod draw;

use super::phi::Phi;
use super::{CoddDatabase, Place, SINK, Scope, comparable};
use crate::caq::node::{Node, plain_literals};
use crate::caq::simpler_table::smaller_tables;
use crate::generate::ColumnInfo;
use crate::oracle::{Case, SharedCase};
use crate::program::{self, Assumption, Expected, Fold, Program, Relation, Step, Text};
use crate::sql::operator::Kind;
use crate::sql::profile::{ColumnType, Profile};
use crate::sql::types::SqlType;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

/// Smaller forms of a relation's query that are tried at a time while a case is made smaller.
const SMALLER_MAX: usize = 80;

/// A relation in a FROM clause. Its alias is its position.
#[derive(Debug, Clone)]
struct Source {
    relation: Arc<str>,
    /// The relation's plainest form, which the reducer tries.
    plain: Arc<str>,
    /// The keyword that joins it, and the condition; nothing for the first.
    join: Option<(Arc<str>, Condition)>,
    columns: Vec<ColumnInfo>,
}

/// The condition of a join.
#[derive(Debug, Clone)]
enum Condition {
    /// A join without one.
    None,
    True,
    Equal(Arc<str>, Arc<str>),
    Node(Node),
}

/// What is done with the value of φ in a predicate.
#[derive(Debug, Clone)]
enum Usage {
    Truth,
    Not,
    IsNull,
    Compare(&'static str, Node),
}

/// A case with φ in a clause.
#[derive(Clone)]
pub(super) struct ClauseCase<'a> {
    on: &'a CoddDatabase<'a>,
    place: Place,
    /// The FROM clause; for UPDATE and DELETE nothing.
    sources: Vec<Source>,
    /// For UPDATE and DELETE the position of the table.
    target: usize,
    /// Where φ is a join's condition, the position of the relation that is joined by it.
    joined: usize,
    phi: Phi,
    usage: Usage,
    /// A further condition, and whether one of the two is enough.
    filter: Option<(bool, Node)>,
    /// The columns of the result.
    outputs: Vec<ColumnInfo>,
    /// Rows of the result, for ORDER BY.
    limit: usize,
    /// Whether UPDATE stores φ rather than filters by it.
    stored: bool,
}

impl<'a> ClauseCase<'a> {
    fn profile(&self) -> &'a Profile {
        self.on.oracle.profile()
    }

    fn table(&self) -> &'a str {
        &self.on.database.tables[self.target].name
    }

    /// Whether φ stands in a cast, rather than where only its truth value is taken.
    fn is_cast(&self) -> bool {
        let truth = matches!(self.usage, Usage::Truth | Usage::Not | Usage::IsNull);
        let typed =
            matches!(self.place, Place::GroupBy | Place::OrderBy) || (self.place == Place::Update && self.stored);
        typed || !truth || self.phi.ty() != SqlType::Boolean
    }

    /// The outer columns on whose values φ depends.
    fn keys(&self) -> Vec<program::Column> {
        let all = self.scope();
        let column = |name: Arc<str>| {
            let ty = all.columns.iter().find(|column| column.name == name).and_then(|column| column.ty);
            program::Column { name: name.to_string(), ty: ColumnType::Class(ty.unwrap_or(SqlType::Int)) }
        };
        self.phi.outer_columns().into_iter().map(column).collect()
    }

    fn scope(&self) -> Scope {
        let table = &self.on.database.tables[self.target];
        if self.sources.is_empty() {
            self.on.scope_of(&table.columns, &table.name)
        } else {
            scope(self.on, &self.sources)
        }
    }

    /// What gives φ its value: once, or for each row of the outer columns.
    fn auxiliary(&self) -> String {
        if let Some(list) = self.phi.as_list() {
            return list.query(self.profile());
        }
        let keys = self.keys();
        let mut out = "SELECT ".to_owned();
        keys.iter().for_each(|key| out.extend([key.name.as_str(), ", "]));
        out.push_str(&self.original_phi());
        if !keys.is_empty() {
            out.push_str(&self.auxiliary_from());
        }
        out
    }

    /// The rows for which φ is evaluated: those of the query's own joins, or all pairs where φ is a join's condition.
    fn auxiliary_from(&self) -> String {
        let mut out = " FROM ".to_owned();
        match (self.place, self.sources.as_slice()) {
            (Place::Update | Place::Delete, _) => out.push_str(self.table()),
            (Place::On, all) => {
                from(&all[..self.joined], &mut out);
                let _ = write!(out, " CROSS JOIN {} AS a{}", all[self.joined].relation, self.joined);
            }
            (_, all) => from(all, &mut out),
        }
        out
    }

    fn original_phi(&self) -> String {
        let text = self.phi.text();
        if self.is_cast() { self.profile().cast(&text, self.phi.ty()) } else { format!("({text})") }
    }

    /// Writes φ, or what it is folded to.
    fn write_phi(&self, folded: bool, out: &mut Text) {
        let profile = self.profile();
        let value = ColumnType::Class(self.phi.ty());
        if let Some(list) = self.phi.as_list() {
            let (left, item) = (self.phi.left(), ColumnType::Class(list.ty));
            out.push_str(&left);
            match (folded, self.phi.is_quantified()) {
                (false, _) => out.push_str(&list.query(profile)),
                (true, false) => out.push_hole(0, Fold::List(item)),
                // A list of values is not allowed there.
                (true, true) => out.push_hole(0, Fold::Query(vec![program::Column { name: "v".to_owned(), ty: item }])),
            }
            return out.push_str("))");
        }
        let keys = self.keys();
        match (folded, keys.is_empty()) {
            (false, _) => out.push_str(&self.original_phi()),
            (true, true) if self.is_cast() => out.push_hole(0, Fold::Value(value)),
            (true, true) => out.push_hole(0, Fold::Truth),
            (true, false) => {
                // The whole is cast as φ is: a CASE has no affinity.
                let cast = profile.cast("#", self.phi.ty());
                let (before, after) =
                    if self.is_cast() { cast.split_once('#').unwrap_or_default() } else { ("(", ")") };
                out.push_str(before);
                out.push_str("CASE ");
                out.push_hole(0, Fold::Branches { keys, value });
                out.push_str("END");
                out.push_str(after);
            }
        }
    }

    /// Writes the condition with φ in it, and the other one.
    fn write_predicate(&self, folded: bool, out: &mut Text) {
        if self.filter.is_some() {
            out.push_str("(");
        }
        match &self.usage {
            Usage::Truth => self.write_phi(folded, out),
            Usage::Not => {
                out.push_str("NOT ");
                self.write_phi(folded, out);
            }
            Usage::IsNull => {
                self.write_phi(folded, out);
                out.push_str(" IS NULL");
            }
            Usage::Compare(comparison, operand) => {
                self.write_phi(folded, out);
                out.push_str(&format!(" {comparison} ({})", text_of(operand)));
            }
        }
        if let Some((either, filter)) = &self.filter {
            out.push_str(if *either { ") OR (" } else { ") AND (" });
            out.push_str(&text_of(filter));
            out.push_str(")");
        }
    }

    /// Writes the FROM clause; one join's condition is φ's where that is its place.
    fn write_from(&self, folded: bool, out: &mut Text) {
        out.push_str(" FROM ");
        for (at, source) in self.sources.iter().enumerate() {
            let mut text = String::new();
            if self.place == Place::On && at == self.joined {
                let keyword = source.join.as_ref().map_or("JOIN", |(keyword, _)| keyword);
                let _ = write!(text, " {keyword} {} AS a{at} ON ", source.relation);
                out.push_str(&text);
                self.write_predicate(folded, out);
            } else {
                joined(at, source, &mut text);
                out.push_str(&text);
            }
        }
    }

    /// Writes the query, or the statement with the query that reads what it leaves.
    fn write(&self, folded: bool, step: &mut Step) {
        let outputs = |columns: &[ColumnInfo]| match columns {
            [] => "COUNT(*)".to_owned(),
            some => some.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", "),
        };
        match self.place {
            Place::Update => {
                let mut text = Text::from(format!("UPDATE {} SET ", self.table()));
                let columns = &self.on.database.tables[self.target].columns;
                let of_type = |column: &&ColumnInfo| column.given && column.ty == Some(self.phi.ty());
                match columns.iter().find(of_type) {
                    Some(column) if self.stored => {
                        text.push_str(&format!("{} = ", column.name));
                        self.write_phi(folded, &mut text);
                        if let Some((_, filter)) = &self.filter {
                            text.push_str(&format!(" WHERE {}", text_of(filter)));
                        }
                    }
                    _ => {
                        let given = columns.iter().find(|column| column.given).unwrap_or(&columns[0]);
                        let ty = given.ty.unwrap_or(SqlType::Int);
                        let plain = plain_literals(ty, self.profile());
                        let value = plain.last().map_or("NULL", |literal| literal);
                        text.push_str(&format!("{} = {value} WHERE ", given.name));
                        self.write_predicate(folded, &mut text);
                    }
                }
                observe(text, self.table(), step);
            }
            Place::Delete => {
                let mut text = Text::from(format!("DELETE FROM {} WHERE ", self.table()));
                self.write_predicate(folded, &mut text);
                observe(text, self.table(), step);
            }
            Place::Insert => {
                let column = |ty: SqlType| {
                    let all = self.scope().columns;
                    let found = all.iter().find(|column| column.ty == Some(ty) && column.other.is_none());
                    found.map_or_else(|| self.profile().null(ty), |column| column.name.to_string())
                };
                let list = format!("{}, {}", column(SqlType::Int), column(SqlType::Text));
                let mut text = Text::from(format!("INSERT INTO {SINK}(s0, s1) SELECT {list}"));
                self.write_from(folded, &mut text);
                text.push_str(" WHERE ");
                self.write_predicate(folded, &mut text);
                observe(text, SINK, step);
            }
            Place::SelectList => {
                step.sql.push_str("SELECT ");
                self.write_phi(folded, &mut step.sql);
                for column in &self.outputs {
                    step.sql.push_str(&format!(", {}", column.name));
                }
                self.write_from(folded, &mut step.sql);
                if let Some((_, filter)) = &self.filter {
                    step.sql.push_str(&format!(" WHERE {}", text_of(filter)));
                }
            }
            Place::GroupBy => {
                // Of texts that are equal and not the same, the least may be any.
                let extreme = |column: &&ColumnInfo| comparable(column) && column.ty != Some(SqlType::Boolean);
                let minimum = self.outputs.iter().find(extreme).map(|column| format!(", MIN({})", column.name));
                step.sql.push_str(&format!("SELECT COUNT(*){}", minimum.unwrap_or_default()));
                self.write_from(folded, &mut step.sql);
                if let Some((_, filter)) = &self.filter {
                    step.sql.push_str(&format!(" WHERE {}", text_of(filter)));
                }
                step.sql.push_str(" GROUP BY ");
                self.write_phi(folded, &mut step.sql);
            }
            Place::OrderBy => {
                let list = outputs(&self.outputs);
                step.sql.push_str(&format!("SELECT {list}"));
                self.write_from(folded, &mut step.sql);
                step.sql.push_str(" ORDER BY ");
                self.write_phi(folded, &mut step.sql);
                if !self.outputs.is_empty() {
                    // All columns of the result: what the limit leaves out is decided.
                    step.sql.push_str(&format!(", {list}"));
                }
                step.sql.push_str(&format!(" LIMIT {}", self.limit));
            }
            Place::Having => {
                let list = outputs(&self.outputs);
                let count = if self.outputs.is_empty() { "" } else { ", COUNT(*)" };
                step.sql.push_str(&format!("SELECT {list}{count}"));
                self.write_from(folded, &mut step.sql);
                if !self.outputs.is_empty() {
                    step.sql.push_str(&format!(" GROUP BY {list}"));
                }
                step.sql.push_str(" HAVING ");
                self.write_predicate(folded, &mut step.sql);
            }
            Place::Where | Place::On | Place::Relation => {
                step.sql.push_str(&format!("SELECT {}", outputs(&self.outputs)));
                self.write_from(folded, &mut step.sql);
                if self.place == Place::Where {
                    step.sql.push_str(" WHERE ");
                    self.write_predicate(folded, &mut step.sql);
                }
            }
        }
    }

    /// Whether a node is of a type, as far as it shows.
    fn is_of(&self, node: &Node, ty: SqlType) -> bool {
        match node {
            Node::Column { name, .. } => {
                self.scope().columns.iter().any(|column| column.name == *name && column.ty == Some(ty))
            }
            Node::Literal(text) => plain_literals(ty, self.profile()).contains(text),
            Node::Operator { op, .. } => op.results.contains(&Kind::Typed(ty)),
        }
    }

    /// The last relation is not named, so that it may go.
    fn without_last(&self) -> Option<Self> {
        let (last, before) = self.sources.split_last()?;
        let least = if self.place == Place::On { 2 } else { 1 };
        let alias = format!("a{}.", before.len());
        let mut named = self.phi.named_columns();
        named.extend(self.outputs.iter().map(|column| column.name.clone()));
        named.extend(self.filter.iter().flat_map(|(_, node)| node.own_columns()));
        if let Usage::Compare(_, operand) = &self.usage {
            named.extend(operand.own_columns());
        }
        if before.len() < least || named.iter().any(|name| name.starts_with(&alias)) {
            return None;
        }
        let mut sources = before.to_vec();
        // The join whose condition is φ stays.
        let mut joined = self.joined;
        if self.place == Place::On && joined == before.len() {
            sources.last_mut()?.join.clone_from(&last.join);
            joined -= 1;
        }
        Some(Self { sources, joined, ..self.clone() })
    }

    fn smaller_query(&self) -> Vec<Self> {
        let mut smaller = Vec::new();
        smaller.extend(self.without_last());
        if let Some((either, node)) = &self.filter {
            smaller.push(Self { filter: None, ..self.clone() });
            let nodes = node.smaller(self.profile()).into_iter();
            smaller.extend(nodes.map(|node| Self { filter: Some((*either, node)), ..self.clone() }));
        }
        for (at, source) in self.sources.iter().enumerate() {
            let mut with = |source: Source| {
                let mut sources = self.sources.clone();
                sources[at] = source;
                smaller.push(Self { sources, ..self.clone() });
            };
            if source.relation != source.plain {
                with(Source { relation: source.plain.clone(), ..source.clone() });
            }
            let query = source.relation.strip_prefix('(').and_then(|query| query.strip_suffix(')'));
            for query in query.map(|query| smaller_tables(query, SMALLER_MAX)).unwrap_or_default() {
                with(Source { relation: format!("({query})").into(), ..source.clone() });
            }
            match &source.join {
                Some((keyword, Condition::Node(node))) => {
                    with(Source { join: Some((keyword.clone(), Condition::True)), ..source.clone() });
                    for node in node.smaller(self.profile()) {
                        with(Source { join: Some((keyword.clone(), Condition::Node(node))), ..source.clone() });
                    }
                }
                Some((keyword, Condition::Equal(..))) => {
                    with(Source { join: Some((keyword.clone(), Condition::True)), ..source.clone() });
                }
                _ => {}
            }
        }
        if self.outputs.len() > 1 {
            smaller.extend((0..self.outputs.len()).map(|at| {
                let mut outputs = self.outputs.clone();
                outputs.remove(at);
                Self { outputs, ..self.clone() }
            }));
        }
        smaller
    }
}

impl Place {
    /// Whether a predicate over a list of values may stand there.
    fn takes_list(self) -> bool {
        !matches!(self, Self::GroupBy | Self::OrderBy | Self::SelectList)
    }
}

impl<'a> Case<'a> for ClauseCase<'a> {
    fn program(&self, into: &mut Program) {
        into.add_step(0, None).sql.push_str(&self.auxiliary());
        for folded in [false, true] {
            self.write(folded, into.add_step(usize::from(folded) + 1, None));
        }
        let relation = if self.place.changes() { Relation::SameEffect } else { Relation::EqualBag };
        into.add_check(relation, [1, 2]);
    }

    fn describe(&self) -> Vec<String> {
        vec![match self.phi.as_list() {
            Some(list) => list.query(self.profile()),
            None => self.phi.text(),
        }]
    }

    fn assumptions(&self, _program: &Program, _steps: &[usize]) -> Vec<Assumption> {
        let auxiliary = self.auxiliary();
        let mut folded = Text::default();
        let keys = self.keys();
        if let Some(list) = self.phi.as_list() {
            let column = program::Column { name: "v".to_owned(), ty: ColumnType::Class(list.ty) };
            folded.push_hole(0, Fold::Query(vec![column]));
        } else {
            folded.push_str("SELECT ");
            keys.iter().for_each(|key| folded.push_str(&format!("{}, ", key.name)));
            self.write_phi(true, &mut folded);
            if !keys.is_empty() {
                folded.push_str(&self.auxiliary_from());
            }
        }
        vec![
            Assumption {
                text: "the expression has one value each time".to_owned(),
                sql: auxiliary.as_str().into(),
                expected: Expected::Same(auxiliary.as_str().into()),
            },
            Assumption {
                text: "the constants read back as the values they stand for".to_owned(),
                sql: auxiliary.into(),
                expected: Expected::Same(folded),
            },
        ]
    }

    fn parts(&self) -> usize {
        3
    }

    fn smaller(&self, part: usize) -> Vec<SharedCase<'a>> {
        let profile = self.profile();
        let smaller: Vec<Self> = match part {
            0 => self.smaller_query(),
            1 => {
                let forms = self.phi.smaller(profile, &|node, ty| self.is_of(node, ty));
                forms.into_iter().map(|phi| Self { phi, ..self.clone() }).collect()
            }
            _ => match &self.usage {
                Usage::Compare(comparison, operand) => {
                    let ty = self.phi.ty();
                    let plain = plain_literals(ty, profile).into_iter().map(Node::Literal);
                    let plain = plain.filter(|_| matches!(operand, Node::Operator { .. }));
                    let nodes = operand.smaller(profile).into_iter().filter(|node| self.is_of(node, ty)).chain(plain);
                    nodes.map(|node| Self { usage: Usage::Compare(comparison, node), ..self.clone() }).collect()
                }
                _ => Vec::new(),
            },
        };
        smaller.into_iter().map(|case| Rc::new(case) as SharedCase<'a>).collect()
    }

    fn context(&self, step: &Step) -> Option<&str> {
        context(step.member)
    }

    fn blamed(&self, _steps: &[&Step]) -> Option<&str> {
        Some(self.place.name())
    }
}

/// Writes a statement with the query that reads what it leaves.
fn observe(statement: Text, table: &str, step: &mut Step) {
    step.before.push(statement);
    step.sql.push_str(&format!("SELECT * FROM {table}"));
    step.undone = true;
}

/// What a step of a case is, for reports; findings number them from 1.
pub(super) fn context(member: usize) -> Option<&'static str> {
    ["auxiliary", "original", "folded"].get(member).copied()
}

/// The columns of relations as expressions name them.
fn scope(on: &CoddDatabase, sources: &[Source]) -> Scope {
    let mut all = on.scope_of(&[], "");
    for (at, source) in sources.iter().enumerate() {
        all.columns.extend(on.scope_of(&source.columns, &format!("a{at}")).columns);
    }
    all
}

/// Writes relations and their joins.
fn from(sources: &[Source], out: &mut String) {
    sources.iter().enumerate().for_each(|(at, source)| joined(at, source, out));
}

/// Writes the relation at a position of a FROM clause, joined to those before it.
fn joined(at: usize, source: &Source, out: &mut String) {
    let Source { relation, join, .. } = source;
    let Some((keyword, condition)) = join.as_ref().filter(|_| at > 0) else {
        return out.extend([relation, " AS a0"]);
    };
    // Writing to a string cannot fail.
    let _ = write!(out, " {keyword} {relation} AS a{at}");
    let _ = match condition {
        Condition::None => Ok(()),
        Condition::True => write!(out, " ON 1 = 1"),
        Condition::Equal(left, right) => write!(out, " ON {left} = {right}"),
        Condition::Node(node) => write!(out, " ON {}", text_of(node)),
    };
}

fn text_of(node: &Node) -> String {
    let mut out = String::new();
    node.render("", &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_have_names() {
        assert_eq!([0, 1, 2].map(context), [Some("auxiliary"), Some("original"), Some("folded")]);
    }
}
