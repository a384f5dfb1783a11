//! Queries that stand for table placeholders.
//!
//! The value of every output column is of its type, and the whole is the same bag on every evaluation: no LIMIT, no
//! order, no float sums. Each column that is not a plain one is a CAST, so that it has the same affinity in every arm
//! of a compound query: SQLite leaves open whose affinity a compound's column has
//! (<https://sqlite.org/datatype3.html#column_affinity_for_compound_views>).

use super::expr::{ExprGenerator, ExprSpec};
use super::{Capabilities, ColumnInfo, TableInfo};
use crate::caq::node::Node;
use crate::rng::{Rng, chance, pick};
use crate::sql::operator::Kind;
use crate::sql::profile::Typing;
use crate::sql::types::SqlType;
use rand::RngExt as _;
use std::fmt::Write as _;

/// Generates the body of a table placeholder with the given columns, reading some of the generator's tables.
pub fn query(generator: &ExprGenerator, capabilities: &Capabilities, columns: &[ColumnInfo], rng: &mut Rng) -> String {
    let tables = generator.tables;
    let Some(first) = pick(rng, tables) else { return values(generator, columns, rng) };
    let query = QueryGenerator { generator, capabilities, columns };
    match rng.random_range(0..10) {
        0..=2 => query.filtered(first, rng),
        3..=5 => query.joined(first, pick(rng, tables).unwrap_or(first), rng),
        6 => {
            let op = pick(rng, &["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]).copied().unwrap_or("UNION ALL");
            let other = pick(rng, tables).unwrap_or(first);
            format!("{} {op} {}", query.filtered(first, rng), query.filtered(other, rng))
        }
        7 => query.filtered(first, rng).replacen("SELECT", "SELECT DISTINCT", 1),
        8 => query.grouped(first, rng),
        _ => values(generator, columns, rng),
    }
}

fn values(generator: &ExprGenerator, columns: &[ColumnInfo], rng: &mut Rng) -> String {
    let rows = rng.random_range(1..4);
    let rows: Vec<String> = (0..rows)
        .map(|_| {
            let cells: Vec<String> = columns
                .iter()
                .map(|c| {
                    let ty = c.ty.unwrap_or(SqlType::Int);
                    format!("{} AS {}", generator.literals.operand(Some(ty), 20, rng), c.name)
                })
                .collect();
            format!("SELECT {}", cells.join(", "))
        })
        .collect();
    rows.join(" UNION ALL ")
}

struct QueryGenerator<'a> {
    generator: &'a ExprGenerator<'a>,
    capabilities: &'a Capabilities,
    columns: &'a [ColumnInfo],
}

impl QueryGenerator<'_> {
    fn filtered(&self, table: &TableInfo, rng: &mut Rng) -> String {
        let mut out = format!("SELECT {} FROM {} AS a", self.select_list(&[(table, "a")], rng), table.name);
        self.filter(table, "a", rng, &mut out);
        out
    }

    fn joined(&self, left: &TableInfo, right: &TableInfo, rng: &mut Rng) -> String {
        let join = pick(rng, &self.capabilities.joins).cloned().unwrap_or_default();
        let sources = [(left, "a"), (right, "b")];
        let list = self.select_list(&sources, rng);
        let mut out = format!("SELECT {list} FROM {} AS a {} {} AS b", left.name, join.text(), right.name);
        if join.takes_condition() {
            out.push_str(" ON ");
            let l = pick(rng, &left.columns);
            // Static types must fit.
            let is_static = self.capabilities.profile.typing == Typing::Static;
            let fits = |c: &&ColumnInfo| !is_static || l.is_some_and(|l| l.ty.is_some() && l.ty == c.ty);
            let fitting: Vec<&ColumnInfo> = right.columns.iter().filter(fits).collect();
            match (l, pick(rng, &fitting)) {
                (Some(l), Some(r)) if chance(rng, 60) => {
                    let _ = write!(out, "a.{} = b.{}", l.name, r.name);
                }
                _ => self.condition(right, "b", rng, &mut out),
            }
        }
        self.filter(left, "a", rng, &mut out);
        out
    }

    /// Groups by the first column; the others are aggregates that do not depend on the order of rows, or keys too where not
    /// every engine has such an aggregate.
    fn grouped(&self, table: &TableInfo, rng: &mut Rng) -> String {
        let mut keys = Vec::new();
        let profile = &self.capabilities.profile;
        let is_static = profile.typing == Typing::Static;
        let list: Vec<String> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                let mut text = String::new();
                self.value(column, table, "a", rng, &mut text);
                if at == 0 || (is_static && column.ty == Some(SqlType::Blob)) {
                    keys.push(text.clone());
                } else {
                    let truth =
                        is_static && column.ty == Some(SqlType::Boolean) && self.capabilities.truth() != Kind::Any;
                    let peers = if truth { ["BOOL_AND", "BOOL_OR"] } else { ["MIN", "MAX"] };
                    let aggregate = pick(rng, &peers).copied().unwrap_or(peers[0]);
                    text = match column.ty {
                        Some(SqlType::Int) if chance(rng, 40) => profile.cast(&format!("COUNT({text})"), SqlType::Int),
                        Some(ty) => profile.cast(&format!("{aggregate}({text})"), ty),
                        None => format!("{aggregate}({text})"),
                    };
                }
                format!("{text} AS {}", column.name)
            })
            .collect();
        let mut out = format!("SELECT {} FROM {} AS a", list.join(", "), table.name);
        self.filter(table, "a", rng, &mut out);
        let _ = write!(out, " GROUP BY {}", keys.join(", "));
        out
    }

    fn select_list(&self, sources: &[(&TableInfo, &str)], rng: &mut Rng) -> String {
        let list = self.columns.iter().map(|column| {
            let (table, alias) = pick(rng, sources).copied().unwrap_or(sources[0]);
            let mut text = String::new();
            self.value(column, table, alias, rng, &mut text);
            let _ = write!(text, " AS {}", column.name);
            text
        });
        list.collect::<Vec<_>>().join(", ")
    }

    /// A value of the column's type: mostly a plain column of the same type, else a CAST.
    fn value(&self, column: &ColumnInfo, table: &TableInfo, alias: &str, rng: &mut Rng, out: &mut String) {
        let fitting: Vec<&ColumnInfo> = table.columns.iter().filter(|c| c.ty == column.ty && c.binary).collect();
        if let (true, Some(plain)) = (chance(rng, 75), pick(rng, &fitting)) {
            let _ = write!(out, "{alias}.{}", plain.name);
            return;
        }
        let ty = column.ty.unwrap_or(SqlType::Int);
        let want =
            ExprSpec { kind: Kind::Typed(ty), null_preserving: false, binary: true, subqueries: false, depth: 1 };
        let node = self.generator.generate(table, want, rng);
        let mut text = String::new();
        node.render(alias, &mut text);
        out.push_str(&self.capabilities.profile.cast(&text, ty));
    }

    fn filter(&self, table: &TableInfo, alias: &str, rng: &mut Rng, out: &mut String) {
        if chance(rng, 50) {
            out.push_str(" WHERE ");
            self.condition(table, alias, rng, out);
        }
    }

    fn condition(&self, table: &TableInfo, alias: &str, rng: &mut Rng, out: &mut String) {
        let kind = self.capabilities.truth();
        let want = ExprSpec { kind, null_preserving: false, binary: false, subqueries: false, depth: 2 };
        let node = self.generator.generate(table, want, rng);
        match node {
            Node::Operator { .. } => {
                out.push('(');
                node.render(alias, out);
                out.push(')');
            }
            Node::Column { .. } | Node::Literal(_) => node.render(alias, out),
        }
    }
}
