//! Filling the templates of contexts for one expression.

use super::Consistency;
use super::contexts::Context;
use super::rows::Database;
use crate::oracle::expressions::TABLE;
use crate::program::{Step, Text};
use crate::sql::profile::ColumnType;
use crate::sql::snippet::Snippet;
use std::fmt::Write as _;
use std::sync::Arc;

/// Where a context's templates are filled.
pub(super) struct Site<'a> {
    pub(super) oracle: &'a Consistency,
    pub(super) database: &'a Database,
    pub(super) snippet: &'a Snippet,
    pub(super) row: Option<usize>,
}

impl Site<'_> {
    pub(super) fn write(&self, context: &Context, step: &mut Step) {
        let fill = |template: &&str| Text::from(self.filled(template));
        step.before.extend(context.before.iter().map(fill));
        step.sql.push_str(&self.filled(context.sql));
        step.after.extend(context.after.iter().map(fill));
        if context.sql.contains("#P") {
            step.parameters.extend(self.parameters());
        }
    }

    fn filled(&self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('#') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            out.push_str(&self.part(from.as_bytes().get(1).copied().unwrap_or_default()));
            rest = &from[2.min(from.len())..];
        }
        out.push_str(rest);
        out
    }

    fn part(&self, name: u8) -> String {
        match name {
            b'E' => self.expression(),
            b'B' => self.rendered(|column, out| out.push_str(&self.snippet.columns[column].0)),
            b'F' => self.rendered(|column, out| out.push_str(&self.value(column))),
            b'I' => format!("SELECT q0.k AS k, ({}) AS v FROM {TABLE} AS q0", self.expression()),
            b'R' => self.row.map(|row| self.row_query(row)).unwrap_or_default(),
            b'K' => self.key(),
            b'0' => self.filter("q0", " WHERE "),
            b'1' => self.filter("q1", " WHERE "),
            b'2' => self.filter("q2", " WHERE "),
            b'A' => self.filter("q0", " AND "),
            // Arithmetic keeps an index on the key from being used.
            b'S' => {
                if self.row.is_some() {
                    format!(" WHERE q0.k + 0 = {}", self.key())
                } else {
                    String::new()
                }
            }
            b'P' => {
                let order = self.order();
                self.rendered(|column, out| {
                    let number = order.iter().position(|of| *of == column).map_or(0, |at| at + 1);
                    out.push_str(&self.typed(column, &format!("${number}")));
                })
            }
            b'L' => match self.parameters().join(", ") {
                none if none.is_empty() => none,
                some => format!("({some})"),
            },
            b'Q' => quoted(&format!("SELECT {}, ({})", self.key(), self.positional(&mut Vec::new()))),
            b'U' => {
                let mut order = Vec::new();
                self.positional(&mut order);
                let literals = self.literals();
                order.into_iter().map(|column: usize| literals[column].as_str()).collect::<Vec<_>>().join(", ")
            }
            b'D' => self.oracle.profile().drop_index.replace("#I", "t_index").replace("#T", "t_indexed"),
            _ => String::new(),
        }
    }

    fn rendered(&self, write: impl FnMut(usize, &mut String)) -> String {
        let columns: Vec<Arc<str>> = self.snippet.columns.iter().map(|(name, _)| name.as_str().into()).collect();
        let mut out = String::new();
        self.snippet.render_with(&columns, TABLE, &mut out, write);
        out
    }

    /// The expression over `q0`.
    pub(super) fn expression(&self) -> String {
        self.rendered(|column, out| {
            out.push_str("q0.");
            out.push_str(&self.snippet.columns[column].0);
        })
    }

    /// The expression with `?` for its columns, whose positions in their order go to `order`.
    fn positional(&self, order: &mut Vec<usize>) -> String {
        self.rendered(|column, out| {
            order.push(column);
            out.push_str(&self.typed(column, "?"));
        })
    }

    /// A text of exactly the type of a column of the snippet; not a query's text where there is none.
    fn typed(&self, column: usize, text: &str) -> String {
        self.oracle.profile().value(&self.snippet.columns[column].1, text).unwrap_or_default()
    }

    /// The columns that the snippet names outside of subqueries over its own table, each once.
    fn order(&self) -> Vec<usize> {
        let mut all = Vec::new();
        self.positional(&mut all);
        let mut order: Vec<usize> = Vec::new();
        for column in all {
            if !order.contains(&column) {
                order.push(column);
            }
        }
        order
    }

    /// The literals of those columns.
    fn parameters(&self) -> Vec<String> {
        let literals = self.literals();
        self.order().into_iter().filter_map(|column| literals.get(column).cloned()).collect()
    }

    /// The literal of each column of the snippet, in the row.
    fn literals(&self) -> Vec<String> {
        let Some(row) = self.row else { return Vec::new() };
        let literal = |(name, _): &(String, ColumnType)| self.database.literal(row, name).to_owned();
        self.snippet.columns.iter().map(literal).collect()
    }

    /// The row's value of a column of the snippet.
    fn value(&self, column: usize) -> String {
        let row = self.row.unwrap_or_default();
        self.typed(column, self.database.literal(row, &self.snippet.columns[column].0))
    }

    fn key(&self) -> String {
        self.row.map_or_else(String::new, |row| self.database.rows[row].key.to_string())
    }

    pub(super) fn filter(&self, alias: &str, keyword: &str) -> String {
        if self.row.is_some() { format!("{keyword}{alias}.k = {}", self.key()) } else { String::new() }
    }

    /// The row as a query, with the columns that the snippet names.
    pub(super) fn row_query(&self, row: usize) -> String {
        let mut sql = format!("SELECT {} AS k", self.database.rows[row].key);
        for (at, (name, _)) in self.snippet.columns.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(sql, ", {} AS {name}", self.value(at));
        }
        sql
    }
}

/// A text as a literal. None for one with a backslash, which is an escape to some engines: the query is then refused.
fn quoted(text: &str) -> String {
    if text.contains('\\') { String::new() } else { format!("'{}'", text.replace('\'', "''")) }
}
