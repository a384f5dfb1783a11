//! Tables and their constraints.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::{Assumption, Expr, Type, Value, results};

/// The tables both queries read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// In order of declaration; `TableId` is an index.
    pub tables: Vec<Table>,
    /// What reading the declarations takes for granted.
    pub assumptions: BTreeSet<Assumption>,
    /// Constraints that are not in `tables`: more databases are allowed than there are, so a difference on one of them
    /// refutes nothing.
    pub left_out: Vec<String>,
    /// Functions of values besides those that are known, in lower case: equal arguments give equal results.
    pub functions: BTreeSet<String>,
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
    /// What its declaration leaves out of the type's values.
    pub size: Size,
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

/// What a declaration says of a column's values beside their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Nothing.
    Any,
    /// Whole numbers of so many bits, with the sign unless there is none.
    Bits {
        /// How many.
        bits: u8,
        /// Whether there is no sign.
        unsigned: bool,
    },
    /// Texts of at most so many characters.
    Characters(u64),
}

impl Size {
    /// Whether whole numbers have more than 32 bits with the sign.
    pub fn is_long(self) -> bool {
        matches!(self, Self::Bits { bits, unsigned } if bits > 32 || bits == 32 && unsigned)
    }
}

impl Column {
    /// The type of an expression that is this column.
    pub fn result(&self) -> Type {
        if self.size.is_long() { results::long() } else { self.ty.clone() }
    }

    /// Whether the column can hold the value, which is of its type or NULL.
    pub fn holds(&self, value: &Value) -> bool {
        if let (Some((digits, places)), Some(number)) = (self.decimal, value.to_rational()) {
            let power = |n: u32| BigRational::from_integer(BigInt::from(10).pow(n));
            let whole = digits.saturating_sub(places);
            return (&number * power(places)).is_integer() && -power(whole) < number && number < power(whole);
        }
        match (self.size, value) {
            // An INT has 64 bits in SQLite.
            (Size::Bits { bits: 32, .. }, _) => true,
            (Size::Bits { bits, unsigned }, value) => {
                let bound = |bits: u8| BigRational::from_integer(BigInt::from(1) << bits);
                let (least, end) =
                    if unsigned { (BigRational::zero(), bound(bits)) } else { (-bound(bits - 1), bound(bits - 1)) };
                value.to_rational().is_none_or(|n| least <= n && n < end)
            }
            (Size::Characters(most), Value::Text(text)) => u64::try_from(text.chars().count()).is_ok_and(|n| n <= most),
            _ => true,
        }
    }
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
        self.columns.iter().map(Column::result).collect()
    }
}

/// Digits in all and after the point of a type written `decimal(p,s)`.
pub(crate) fn decimal_size(name: &str) -> Option<(u32, u32)> {
    let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
}
