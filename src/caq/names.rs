//! The names that members of a class may use, and what their uses demand of a filling.

use crate::sql::schema::Table;
use crate::sql::types::SqlType;

/// What a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceholderKind {
    /// An expression of one type over the columns of one relation.
    Expr {
        /// Position in [`Names::relations`].
        relation: usize,
        /// Result type.
        ty: SqlType,
    },
    /// A table with the columns of one relation.
    Table {
        /// Position in [`Names::relations`].
        relation: usize,
    },
}

/// A placeholder and its constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// Its name in the class.
    pub name: String,
    /// Its constraint.
    pub kind: PlaceholderKind,
}

/// The names a member may use: the tables of the schema, then the table placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Tables of the schema, followed by one relation per table placeholder.
    pub relations: Vec<Table>,
    /// The placeholders.
    pub placeholders: Vec<Placeholder>,
}

/// What the members' uses of an expression placeholder demand of its filling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent demands, each read by name")]
pub struct PlaceholderRequirement {
    /// Some reference is above an outer join that can pad the table: the filling must be NULL on a padded row.
    pub null_preserving: bool,
    /// Every reference is used as a truth value only, so that any value will do.
    pub truth_value_only: bool,
    /// Some reference is a whole GROUP BY or ORDER BY item, where a bare constant would be an ordinal.
    pub no_constant: bool,
    /// An explicit collation inside the filling would reach a comparison of the member: some reference is part of an
    /// expression that is compared, grouped or returned and may be text.
    pub no_collation: bool,
}

impl Default for PlaceholderRequirement {
    fn default() -> Self {
        Self { null_preserving: false, truth_value_only: true, no_constant: false, no_collation: false }
    }
}

impl PlaceholderRequirement {
    /// The demand that satisfies both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            null_preserving: self.null_preserving || other.null_preserving,
            truth_value_only: self.truth_value_only && other.truth_value_only,
            no_constant: self.no_constant || other.no_constant,
            no_collation: self.no_collation || other.no_collation,
        }
    }
}
