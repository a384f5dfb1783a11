//! Tables and their constraints.

use std::collections::BTreeSet;

use super::{Assumption, Expr, Type};

/// The tables both queries read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// In order of declaration; `TableId` is an index.
    pub tables: Vec<Table>,
    /// What reading the declarations takes for granted.
    pub assumptions: BTreeSet<Assumption>,
}

/// Index of a table in its [`Schema`].
pub type TableId = usize;

/// A base table. Virtual tables (placeholders) are ordinary ones without constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// As declared.
    pub name: String,
    /// As declared, then the virtual ones.
    pub columns: Vec<Column>,
    /// PRIMARY KEY and UNIQUE.
    pub keys: Vec<Key>,
    /// FOREIGN KEY and REFERENCES.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK conditions over the table's row, which is the innermost scope (depth 0). A row satisfies one that is not
    /// false.
    pub checks: Vec<Expr>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// As declared.
    pub name: String,
    /// Its type family.
    pub ty: Type,
    /// NOT NULL, or part of the PRIMARY KEY.
    pub not_null: bool,
    /// A placeholder: `*` does not include it.
    pub is_virtual: bool,
    /// Digits in all and after the point, for a DECIMAL that says both.
    pub decimal: Option<(u32, u32)>,
    /// REAL, FLOAT and the like, which some engines keep in 32 bits and others in 64.
    pub single: bool,
}

/// No two rows agree on all these columns, unless one of the columns is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Indices of columns.
    pub columns: Vec<usize>,
}

/// Every row in which none of `columns` is NULL has a row in `parent` whose `parent_columns` are equal to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Indices of columns of the child.
    pub columns: Vec<usize>,
    /// The table referred to.
    pub parent: TableId,
    /// A key of the parent.
    pub parent_columns: Vec<usize>,
}

impl Schema {
    /// Whether a column is REAL, FLOAT or the like.
    pub fn has_single(&self) -> bool {
        self.tables.iter().flat_map(|table| &table.columns).any(|column| column.single)
    }

    /// The table of this name, without regard to case.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.tables.iter().position(|t| t.name.eq_ignore_ascii_case(name))
    }
}

impl Table {
    /// The types of all columns, virtual ones included.
    pub fn types(&self) -> Vec<Type> {
        self.columns.iter().map(|c| c.ty.clone()).collect()
    }
}

/// Digits in all and after the point of a type written `decimal(p,s)`.
pub(crate) fn decimal_size(name: &str) -> Option<(u32, u32)> {
    let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
}
