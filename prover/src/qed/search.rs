//! Membership in a set of points and ranges, as Calcite writes it: `Sarg[1, (3..7], (9..+∞)]`.

use serde_json::Value as Json;

use super::json::{field, list, object, text};
use super::literal::literal;
use super::{Lowering, Unsupported, refuse};
use crate::ir::{CompareOp, Expr};

impl Lowering<'_> {
    /// Whether the value lies in the set; NULL for NULL.
    pub(super) fn search(&mut self, value: &Expr, set: &Json) -> Result<Expr, Unsupported> {
        let node = object(set, &["operator", "operand", "type"])?;
        let written = text(field(node, "operator")?)?;
        let type_name = text(field(node, "type")?)?;
        let items = written.strip_prefix("Sarg[").and_then(|rest| rest.strip_suffix(']')).and_then(split_items);
        let Some(items) = items.filter(|_| list(field(node, "operand").unwrap_or(set)).is_ok_and(<[Json]>::is_empty))
        else {
            return refuse("SEARCH in something other than a plain set");
        };
        let mut alternatives = Vec::new();
        for item in items {
            alternatives.push(self.item(value, item, type_name)?);
        }
        match alternatives.len() {
            0 => refuse("SEARCH in an empty set"),
            1 => Ok(alternatives.swap_remove(0)),
            _ => Ok(Expr::Or(alternatives)),
        }
    }

    fn item(&mut self, value: &Expr, item: &str, type_name: &str) -> Result<Expr, Unsupported> {
        let lower = match item.chars().next() {
            Some('(') => CompareOp::Gt,
            Some('[') => CompareOp::Ge,
            _ => return self.bound(value, CompareOp::Eq, item, type_name),
        };
        let upper = match item.chars().last() {
            Some(')') => CompareOp::Lt,
            Some(']') => CompareOp::Le,
            _ => return refuse("range without an end"),
        };
        let Some((low, high)) = item.get(1..item.len() - 1).and_then(|inner| inner.split_once("..")) else {
            return refuse("range without two bounds");
        };
        let mut bounds = Vec::new();
        if low != "-∞" {
            bounds.push(self.bound(value, lower, low, type_name)?);
        }
        if high != "+∞" {
            bounds.push(self.bound(value, upper, high, type_name)?);
        }
        match bounds.len() {
            0 => refuse("range without bounds"),
            1 => Ok(bounds.swap_remove(0)),
            _ => Ok(Expr::And(bounds)),
        }
    }

    fn bound(&mut self, value: &Expr, op: CompareOp, bound: &str, type_name: &str) -> Result<Expr, Unsupported> {
        let constant = literal(bound, type_name)?;
        if !matches!(&constant, Expr::Literal(value, _) if !value.is_null()) {
            return refuse("set of something other than constants");
        }
        self.compare(op, value.clone(), constant)
    }
}

/// The items between commas outside quotes and brackets; `None` if quotes or brackets do not match.
fn split_items(written: &str) -> Option<Vec<&str>> {
    let mut items = Vec::new();
    let (mut start, mut depth, mut quoted) = (0, 0u32, false);
    for (at, c) in written.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                items.push(written[start..at].trim());
                start = at + 1;
            }
            ';' => return None,
            _ => {}
        }
    }
    items.push(written[start..].trim());
    (depth == 0 && !quoted).then_some(items)
}
