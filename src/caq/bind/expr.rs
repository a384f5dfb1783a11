//! Placeholders and names in one expression.

use super::{BindError, Binder, innermost, unsupported};
use crate::caq::collation::{Wrap, wrap};
use crate::caq::template::{Slot, Template};
use crate::sql::types::SqlType;
use prover::walk::{ON, OVER, Walk};
use sqlparser::ast::{BinaryOperator, DataType, Expr, Ident, ObjectName, Query, UnaryOperator};
use std::ops::ControlFlow;

/// Walks one expression. Subqueries are handed to the binder, which knows their scopes, and then walked past.
pub(super) struct ExprWalk<'b, 'a> {
    pub(super) binder: &'b mut Binder<'a>,
    /// Queries around the present expression, within the one that is walked.
    pub(super) depth: usize,
    /// What stands around the present expression, innermost last.
    pub(super) around: Vec<Wrap>,
    /// Why the walk ended early.
    pub(super) error: Option<BindError>,
}

impl ExprWalk<'_, '_> {
    fn fail(&mut self, error: BindError) -> ControlFlow<()> {
        self.error = Some(error);
        OVER
    }

    fn visit_expr(&mut self, expr: &mut Expr) -> Result<(), BindError> {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                self.binder.truth_value(left, &self.around)?;
                self.binder.truth_value(right, &self.around)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr }
            | Expr::IsTrue(expr)
            | Expr::IsNotTrue(expr)
            | Expr::IsFalse(expr)
            | Expr::IsNotFalse(expr)
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr)
            | Expr::IsUnknown(expr)
            | Expr::IsNotUnknown(expr) => self.binder.truth_value(expr, &self.around),
            Expr::Case { operand: None, conditions, .. } => {
                conditions.iter_mut().try_for_each(|when| self.binder.truth_value(&mut when.condition, &self.around))
            }
            Expr::Function(function) => match &mut function.filter {
                Some(filter) => self.binder.truth_value(filter, &self.around),
                None => Ok(()),
            },
            Expr::CompoundIdentifier(path) => {
                let path = path.clone();
                if self.binder.placeholder(&path)?.is_some() {
                    *expr = self.binder.slot(&path, false, &self.around)?;
                }
                Ok(())
            }
            Expr::Identifier(ident) if self.binder.names.placeholders.iter().any(|p| p.name == ident.value) => {
                Err(BindError::Name {
                    message: format!("qualify the placeholder {ident} by its table"),
                    span: ident.span,
                })
            }
            // `x IN ((SELECT …))` is `x IN (SELECT …)` to PostgreSQL, and to SQLite since 3.41: a set, not a scalar.
            Expr::InList { list, .. } if list.len() == 1 => {
                if let Expr::CompoundIdentifier(path) = innermost(&mut list[0]) {
                    let path = path.clone();
                    if self.binder.placeholder(&path)?.is_some() {
                        return unsupported("a placeholder as the only item of an IN list");
                    }
                }
                Ok(())
            }
            // An output column may be named in ORDER BY, and what a join merged has no table; anything else could bind to an outer table, or be read as a string.
            Expr::Identifier(ident)
                if !ident.value.starts_with("__")
                    && !self.binder.merged.contains(&ident.value.to_ascii_lowercase())
                    && !self.binder.outputs.contains(&ident.value.to_ascii_lowercase()) =>
            {
                Err(BindError::Name { message: format!("qualify {ident} by its table"), span: ident.span })
            }
            Expr::Cast { data_type, .. } => {
                if let Some(ty) = SqlType::parse(&data_type.to_string()) {
                    let marker = Ident::new(Template::marker(self.binder.slots.len()));
                    *data_type = DataType::Custom(ObjectName::from(vec![marker]), Vec::new());
                    self.binder.slots.push(Slot::Type(ty));
                }
                Ok(())
            }
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => unsupported("grouping sets"),
            _ => Ok(()),
        }
    }
}

impl Walk for ExprWalk<'_, '_> {
    fn query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if self.depth == 0
            && let Err(error) = self.binder.query(query)
        {
            return self.fail(error);
        }
        self.depth += 1;
        ON
    }

    fn after_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth > 0 {
            return ON;
        }
        // A name has nothing inside; anything else stands around what its visit replaces.
        let is_name = matches!(expr, Expr::CompoundIdentifier(_));
        if !is_name {
            self.around.push(wrap(expr));
        }
        let result = self.visit_expr(expr);
        if is_name {
            self.around.push(Wrap::Parentheses);
        }
        match result {
            Ok(()) => ON,
            Err(error) => self.fail(error),
        }
    }

    fn after_expr(&mut self, _: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            self.around.pop();
        }
        ON
    }
}
