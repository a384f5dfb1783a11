//! A member compiled to text with slots.

use super::instantiation::{Instantiation, TableInstantiation};
use crate::sql::types::SqlType;
use std::fmt::Write as _;

/// One occurrence of a placeholder in a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// An expression over the columns of one table occurrence.
    Expr {
        /// Position in the class's placeholders.
        placeholder: usize,
        /// The alias, or the table's name, under which the occurrence is visible here.
        alias: String,
    },
    /// A table's place in a FROM clause.
    Table {
        /// Position in the class's placeholders.
        placeholder: usize,
    },
    /// The type of a CAST, which each dialect names in its own way.
    Type(SqlType),
}

/// A member of a class: text pieces with slots between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The keyword of the query's own WITH clause, which is not part of the text.
    with: Option<&'static str>,
    /// `pieces[i]` precedes `slots[i]`; there is one piece more than slots.
    pieces: Vec<String>,
    slots: Vec<Slot>,
}

const WITH: &str = "WITH ";
const OPEN: &str = "__slot_";
const CLOSE: &str = "__";

impl Template {
    /// The name that stands for a slot in the tree before it is printed.
    pub(super) fn marker(slot: usize) -> String {
        format!("{OPEN}{slot}{CLOSE}")
    }

    /// Splits the printed text at the slots' markers. `None` if a marker is missing or of no known slot.
    pub(super) fn split(printed: &str, slots: &[Slot]) -> Option<Self> {
        let own = ["WITH RECURSIVE ", WITH].into_iter().find_map(|w| printed.strip_prefix(w).map(|rest| (w, rest)));
        let (with, mut rest) = own.map_or((None, printed), |(with, rest)| (Some(with), rest));
        let mut template = Self { with, pieces: Vec::new(), slots: Vec::new() };
        while let Some(at) = rest.find(OPEN) {
            let (piece, marked) = rest.split_at(at);
            let (number, after) = marked[OPEN.len()..].split_once(CLOSE)?;
            template.pieces.push(piece.to_owned());
            template.slots.push(slots.get(number.parse::<usize>().ok()?)?.clone());
            rest = after;
        }
        template.pieces.push(rest.to_owned());
        (template.slots.len() == slots.len()).then_some(template)
    }

    /// The template with a dialect's names of types.
    #[must_use]
    pub fn with_types<'a>(&self, name: impl Fn(SqlType) -> &'a str) -> Self {
        let mut named = Self { with: self.with, pieces: vec![self.pieces[0].clone()], slots: Vec::new() };
        for (slot, piece) in self.slots.iter().zip(&self.pieces[1..]) {
            match (slot, named.pieces.last_mut()) {
                (Slot::Type(ty), Some(last)) => {
                    last.push_str(name(*ty));
                    last.push_str(piece);
                }
                (slot, _) => {
                    named.slots.push(slot.clone());
                    named.pieces.push(piece.clone());
                }
            }
        }
        named
    }

    /// The slots in the order of the text.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Appends the member's text with every slot filled; `fills` has one entry per placeholder of the class.
    pub fn render(&self, fills: &[Instantiation], out: &mut String) {
        let mut separator = self.with.unwrap_or(WITH);
        for fill in fills {
            if let Instantiation::Table(TableInstantiation::Cte { name, query }) = fill
                && self.uses(fills, fill)
            {
                out.push_str(separator);
                out.push_str(name);
                out.push_str(" AS (");
                out.push_str(query);
                out.push(')');
                separator = ", ";
            }
        }
        if self.with.is_some() {
            out.push_str(separator);
        } else if separator == ", " {
            out.push(' ');
        }
        for (piece, slot) in self.pieces.iter().zip(&self.slots) {
            out.push_str(piece);
            match slot {
                Slot::Expr { placeholder, alias } => fills[*placeholder].render_expr(alias, out),
                Slot::Table { placeholder } => fills[*placeholder].render_table(out),
                Slot::Type(ty) => {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "{ty}");
                }
            }
        }
        out.push_str(&self.pieces[self.slots.len()]);
    }

    fn uses(&self, fills: &[Instantiation], fill: &Instantiation) -> bool {
        self.slots.iter().any(|slot| match slot {
            Slot::Table { placeholder } => std::ptr::eq(&raw const fills[*placeholder], fill),
            Slot::Expr { .. } | Slot::Type(_) => false,
        })
    }
}
