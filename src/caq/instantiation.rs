//! What is put into placeholders.

use super::node::Node;
use super::simpler_table::smaller_tables;
use crate::sql::snippet::Snippet;
use std::sync::Arc;

/// The filling of one placeholder, the same for every member of a case.
#[derive(Debug, Clone)]
pub enum Instantiation {
    /// A corpus snippet, with a column of the table for each of its columns.
    Snippet {
        /// The snippet.
        snippet: Arc<Snippet>,
        /// The real column's name for each column of the snippet.
        columns: Vec<Arc<str>>,
        /// The name of the table the placeholder is over, for subqueries of the snippet over its own table.
        table: Arc<str>,
    },
    /// A generated expression.
    Generated(Node),
    /// A table.
    Table(TableInstantiation),
}

/// The filling of a table placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableInstantiation {
    /// A table or view by its name.
    Name(Arc<str>),
    /// A query, written where the table stands.
    Derived(String),
    /// A query, written before the member as a common table expression.
    Cte {
        /// Name of the common table expression.
        name: Arc<str>,
        /// Its query.
        query: String,
    },
}

impl TableInstantiation {
    /// The same with smaller queries, the shortest first; at most `max`.
    pub fn smaller(&self, max: usize) -> Vec<Self> {
        match self {
            Self::Name(_) => Vec::new(),
            Self::Derived(query) => smaller_tables(query, max).into_iter().map(Self::Derived).collect(),
            Self::Cte { name, query } => {
                let with = |query| Self::Cte { name: name.clone(), query };
                smaller_tables(query, max).into_iter().map(with).collect()
            }
        }
    }
}

impl Instantiation {
    /// Appends the expression as it reads where its table is visible as `alias`. The caller supplies parentheses.
    pub fn render_expr(&self, alias: &str, out: &mut String) {
        match self {
            Self::Snippet { snippet, columns, table } => snippet.render(alias, columns, table, out),
            Self::Generated(node) => node.render(alias, out),
            // A template never has an expression slot for a table placeholder; NULL would make the case visibly odd.
            Self::Table(_) => out.push_str("NULL"),
        }
    }

    /// Whether it is an expression with a subquery.
    pub fn has_subquery(&self) -> bool {
        match self {
            Self::Snippet { snippet, .. } => snippet.has_subquery,
            Self::Generated(node) => node.has_subquery(),
            Self::Table(_) => false,
        }
    }

    /// The filling as a report shows it, an expression over a table `t`.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        match self {
            Self::Table(_) => self.render_table(&mut text),
            Self::Snippet { .. } | Self::Generated(_) => self.render_expr("t", &mut text),
        }
        text
    }

    /// Appends the table as it reads in a FROM clause, without alias.
    pub fn render_table(&self, out: &mut String) {
        match self {
            Self::Table(TableInstantiation::Name(name) | TableInstantiation::Cte { name, .. }) => out.push_str(name),
            Self::Table(TableInstantiation::Derived(query)) => {
                out.push('(');
                out.push_str(query);
                out.push(')');
            }
            Self::Snippet { .. } | Self::Generated(_) => out.push_str("NULL"),
        }
    }
}
