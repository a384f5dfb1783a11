//! A generated expression, as what fills a placeholder: it is made elsewhere and printed here.

use super::bind::GENERATED_ALIAS;
use crate::sql::operator::{Kind, OpPiece, Operator};
use crate::sql::profile::{ColumnType, Profile, Typing, is_null};
use crate::sql::types::SqlType;
use std::fmt::Write as _;
use std::sync::Arc;

/// A generated expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A column. Level 0 is the placeholder's own table; level n is the table of the n-th enclosing subquery.
    Column {
        /// The subquery level.
        level: usize,
        /// The column's name.
        name: Arc<str>,
    },
    /// A literal.
    Literal(Arc<str>),
    /// An operator applied to operands.
    Operator {
        /// The operator.
        op: Arc<Operator>,
        /// Its operands.
        operands: Vec<Node>,
        /// For an operator with a subquery: the level, table and column of it.
        inner: Option<Inner>,
    },
}

/// What an operator's subquery reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner {
    /// Number of enclosing subqueries, this one included.
    pub level: usize,
    /// The table.
    pub table: Arc<str>,
    /// A column of it.
    pub column: Arc<str>,
}

impl Node {
    /// Whether it has a subquery.
    pub fn has_subquery(&self) -> bool {
        match self {
            Self::Operator { op, operands, .. } => op.has_subquery() || operands.iter().any(Self::has_subquery),
            Self::Column { .. } | Self::Literal(_) => false,
        }
    }

    /// Whether it has a query, over a table or not.
    pub fn has_query(&self) -> bool {
        match self {
            Self::Operator { op, operands, .. } => op.has_query() || operands.iter().any(Self::has_query),
            Self::Column { .. } | Self::Literal(_) => false,
        }
    }

    /// Appends the expression as it reads where the placeholder's table is visible as `alias`; with an empty alias
    /// columns are not qualified, as an index definition wants them.
    pub fn render(&self, alias: &str, out: &mut String) {
        match self {
            Self::Column { level: 0, name } => {
                if !alias.is_empty() {
                    out.push_str(alias);
                    out.push('.');
                }
                out.push_str(name);
            }
            Self::Column { level, name } => {
                // Writing to a string cannot fail.
                let _ = write!(out, "{GENERATED_ALIAS}{level}.{name}");
            }
            Self::Literal(text) => out.push_str(text),
            Self::Operator { op, operands, inner } => {
                for piece in &op.pieces {
                    match (piece, inner) {
                        (OpPiece::Text(text), _) => out.push_str(text),
                        (OpPiece::Operand(at), _) => operands[*at].render_operand(alias, out),
                        (OpPiece::Table, Some(inner)) => out.push_str(&inner.table),
                        (OpPiece::Alias, Some(inner)) => {
                            let _ = write!(out, "{GENERATED_ALIAS}{}", inner.level);
                        }
                        (OpPiece::Column(_), Some(inner)) => out.push_str(&inner.column),
                        (OpPiece::Table | OpPiece::Alias | OpPiece::Column(_), None) => out.push_str("NULL"),
                    }
                }
            }
        }
    }

    /// An operand is parenthesised unless it is a single token; the minus of a negative literal is one token too many.
    fn render_operand(&self, alias: &str, out: &mut String) {
        match self {
            Self::Column { .. } => self.render(alias, out),
            Self::Literal(text) if !text.starts_with('-') => out.push_str(text),
            _ => {
                out.push('(');
                self.render(alias, out);
                out.push(')');
            }
        }
    }

    /// Trees that are smaller by one step: an operator replaced by one of its operands, somewhere.
    pub fn smaller(&self, profile: &Profile) -> Vec<Self> {
        let Self::Operator { op, operands, inner } = self else { return Vec::new() };
        let mut out = Vec::new();
        for (at, operand) in operands.iter().enumerate() {
            // An operand inside the subquery may name its table.
            if !op.inner[at] {
                out.push(operand.clone());
            }
            let mut smaller = operand.smaller(profile);
            if matches!(operand, Self::Operator { .. }) {
                let ty = match op.operands[at] {
                    Kind::Typed(ty) => ty,
                    Kind::Any | Kind::Same => SqlType::Int,
                };
                smaller.extend(plain_literals(ty, profile).into_iter().map(Self::Literal));
            }
            for replacement in smaller {
                let mut operands = operands.clone();
                operands[at] = replacement;
                out.push(Self::Operator { op: op.clone(), operands, inner: inner.clone() });
            }
        }
        out
    }

    /// Gives each of its operators to `note`.
    pub fn operators(&self, note: &mut dyn FnMut(&Operator)) {
        if let Self::Operator { op, operands, .. } = self {
            note(op);
            operands.iter().for_each(|operand| operand.operators(note));
        }
    }

    /// The columns of the placeholder's own table that it uses, each once.
    pub fn own_columns(&self) -> Vec<Arc<str>> {
        let mut columns = Vec::new();
        self.note_own_columns(&mut columns);
        columns
    }

    fn note_own_columns(&self, columns: &mut Vec<Arc<str>>) {
        match self {
            Self::Column { level: 0, name } if !columns.contains(name) => columns.push(name.clone()),
            Self::Column { .. } | Self::Literal(_) => {}
            Self::Operator { operands, .. } => operands.iter().for_each(|operand| operand.note_own_columns(columns)),
        }
    }

    /// Whether the expression uses a column of the placeholder's own table.
    pub fn uses_own_column(&self) -> bool {
        match self {
            Self::Column { level, .. } => *level == 0,
            Self::Literal(_) => false,
            Self::Operator { operands, .. } => operands.iter().any(Self::uses_own_column),
        }
    }

    /// Whether an operator in the expression passes on or sets a collation.
    pub fn collates(&self) -> bool {
        match self {
            Self::Column { .. } | Self::Literal(_) => false,
            Self::Operator { op, operands, .. } => op.collates || operands.iter().any(Self::collates),
        }
    }

    /// Whether the value is NULL whenever the columns of the placeholder's own table are, as far as strictness shows.
    pub fn null_preserving(&self) -> bool {
        match self {
            Self::Column { level, .. } => *level == 0,
            Self::Literal(text) => is_null(text),
            Self::Operator { op, operands, .. } => op.strict && operands.iter().any(Self::null_preserving),
        }
    }
}

/// The plainest literals of a type, NULL first. A number is of any type that numbers may stand for.
pub fn plain_literals(ty: SqlType, profile: &Profile) -> Vec<Arc<str>> {
    let mut plain = vec![profile.null(ty).as_str().into()];
    match (profile.typing, ty) {
        (Typing::Dynamic, SqlType::Int | SqlType::Boolean) => plain.extend(["1".into(), "0".into()]),
        (Typing::Dynamic, _) => {}
        (Typing::Static, _) => {
            let literals = profile.literals(&ColumnType::Class(ty));
            plain.extend(literals.iter().take(2).map(|literal| Arc::from(literal.as_str())));
        }
    }
    plain
}
