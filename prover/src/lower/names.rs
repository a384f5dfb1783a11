//! Names that engines tell apart, or read otherwise, where the standard's folding of case does not.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use sqlparser::ast::{DataType, Expr, Ident, Query, Select, SelectItem, TableFactor, Value, ValueWithSpan};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{Result, no};
use crate::ir::Schema;
use crate::walk::{ON, Walk, walk};

/// Refuses a quoted name with capitals. PostgreSQL tells it from the same name without quotes, others do not.
pub(super) fn without_capitals(tokens: &[TokenWithSpan]) -> Result<()> {
    for token in tokens.iter().map(|t| &t.token) {
        if let Token::Word(word) = token
            && word.quote_style.is_some()
            && word.value.chars().any(char::is_uppercase)
        {
            return no(format!("the quoted name {word}: engines differ in whether its case counts"));
        }
    }
    Ok(())
}

/// Refuses a query whose tables have names that differ only in case, which MariaDB tells apart, and one with a literal
/// such as `DATE '2020-01-01'` beside a column `date`, which SQLite takes for the column with another name.
pub(super) fn unmistakable(schema: &Schema, query: &Query) -> Result<()> {
    let mut seen = Seen::default();
    let _ = walk(&mut query.clone(), &mut seen);
    let columns = schema.tables.iter().flat_map(|table| &table.columns).map(|column| column.name.to_lowercase());
    seen.outputs.extend(columns);
    if let Some(name) = seen.twice {
        return no(format!("tables named {name} that differ in case only"));
    }
    if let Some(prefix) = seen.prefixes.iter().find(|prefix| seen.outputs.contains(prefix)) {
        return no(format!("a literal that begins with {prefix} beside a column of that name"));
    }
    Ok(())
}

/// What a query names.
#[derive(Default)]
struct Seen {
    /// Tables and their aliases: as they are spelled, by the name in lower case.
    tables: BTreeMap<String, String>,
    /// A name that is spelled in two ways.
    twice: Option<String>,
    /// Columns that get a name here, in lower case.
    outputs: Vec<String>,
    /// Words that stand before a literal, in lower case.
    prefixes: Vec<String>,
}

impl Seen {
    fn table(&mut self, name: &Ident) {
        let spelled = self.tables.entry(name.value.to_lowercase()).or_insert_with(|| name.value.clone());
        if *spelled != name.value {
            self.twice = Some(name.value.clone());
        }
    }
}

impl Walk for Seen {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.outputs.extend(table.alias.columns.iter().map(|column| column.name.value.to_lowercase()));
        }
        ON
    }

    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.outputs.push(alias.value.to_lowercase());
            }
        }
        ON
    }

    fn table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
            _ => None,
        };
        if let Some(alias) = alias {
            self.table(&alias.name);
            self.outputs.extend(alias.columns.iter().map(|column| column.name.value.to_lowercase()));
        }
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::TypedString(typed) = expr {
            self.prefixes.push(match &typed.data_type {
                DataType::Timestamp(..) => "timestamp".to_owned(),
                other => other.to_string().to_lowercase(),
            });
        }
        ON
    }

    fn value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if matches!(value.value, Value::NationalStringLiteral(_)) {
            self.prefixes.push("n".to_owned());
        }
        ON
    }
}
