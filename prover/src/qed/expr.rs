//! Expressions: columns, subqueries, and the parts of operators.

use serde_json::Value as Json;

use super::json::{field, index, list, object, text};
use super::literal::{family, literal};
use super::plan::Scopes;
use super::{Lowering, Unsupported, refuse};
use crate::ir::{Assumption, CompareOp, Expr, Plan, Type, Value};

impl Lowering<'_> {
    /// An expression over these rows.
    pub(super) fn expr(&mut self, json: &Json, scopes: &Scopes) -> Result<Expr, Unsupported> {
        if json.get("column").is_some() {
            return self.column(json, scopes);
        }
        let node = object(json, &["operator", "operand", "type", "query"])?;
        let name = text(field(node, "operator")?)?;
        let type_name = text(field(node, "type")?)?;
        let operands = list(field(node, "operand")?)?;
        if let Some(query) = node.get("query") {
            let args = self.exprs(field(node, "operand")?, scopes)?;
            let query = self.plan(query, scopes)?;
            return self.subquery(name, args, query, type_name);
        }
        if operands.is_empty() && !matches!(name, "AND" | "OR" | "ROW") {
            let literal = literal(name, type_name)?;
            self.use_type(&literal.ty());
            if matches!(literal, Expr::Cast { .. }) {
                self.assumptions.insert(Assumption::NoRuntimeError);
            }
            return Ok(literal);
        }
        if name == "EXTRACT" {
            return self.extract(operands, scopes);
        }
        if name == "SEARCH" {
            let [value, set] = operands else { return refuse("SEARCH without a value and a set") };
            let value = self.expr(value, scopes)?;
            return self.search(&value, set);
        }
        let operand_types: Vec<&str> =
            operands.iter().map(|o| o.get("type").and_then(Json::as_str).unwrap_or_default()).collect();
        let args = match name {
            // One operand that holds the arguments.
            "FUNCTION" | "COALESCE" => match operands {
                [one] if one.get("operator").and_then(Json::as_str) == Some("SCALAR LIST") => {
                    let arguments = object(one, &["operator", "operand", "type"])?;
                    self.exprs(field(arguments, "operand")?, scopes)?
                }
                _ => self.exprs(field(node, "operand")?, scopes)?,
            },
            _ => self.exprs(field(node, "operand")?, scopes)?,
        };
        self.operator(name, args, &operand_types, type_name)
    }

    /// An expression that is a truth value.
    pub(super) fn condition(&mut self, json: &Json, scopes: &Scopes) -> Result<Expr, Unsupported> {
        truth(self.expr(json, scopes)?)
    }

    fn column(&mut self, json: &Json, scopes: &Scopes) -> Result<Expr, Unsupported> {
        let node = object(json, &["column", "type"])?;
        let number = index(field(node, "column")?)?;
        let Some(column) = scopes.column(number) else { return refuse("column beyond all rows in scope") };
        let declared = family(text(field(node, "type")?)?);
        if column.ty().unify(&declared).is_none() {
            return refuse(format!("column of type {} read as {declared}", column.ty()));
        }
        self.use_type(&column.ty());
        Ok(column)
    }

    fn subquery(&mut self, name: &str, args: Vec<Expr>, query: Plan, type_name: &str) -> Result<Expr, Unsupported> {
        let types = query.types();
        match name {
            "EXISTS" if args.is_empty() => Ok(Expr::Exists(Box::new(query))),
            "$SCALAR_QUERY" if args.is_empty() && types.len() == 1 => {
                if types[0].unify(&family(type_name)).is_none() {
                    return refuse("scalar subquery of another type than its declaration");
                }
                self.assumptions.insert(Assumption::ScalarSubqueryAtMostOneRow);
                Ok(Expr::Scalar(Box::new(query)))
            }
            _ => {
                let Some(op) = quantifier(name) else { return refuse(format!("subquery operator {name}")) };
                if args.is_empty() || args.len() != types.len() || (args.len() > 1 && op != CompareOp::Eq) {
                    return refuse(format!("{name} of {} and {} values", args.len(), types.len()));
                }
                for (arg, ty) in args.iter().zip(&types) {
                    self.comparable(&arg.ty(), ty)?;
                }
                Ok(Expr::Quantified { row: args, op, all: false, query: Box::new(query) })
            }
        }
    }

    /// Refuses comparisons that need a conversion.
    pub(super) fn comparable(&mut self, left: &Type, right: &Type) -> Result<(), Unsupported> {
        self.compared(left)?;
        self.compared(right)?;
        match left.unify(right) {
            Some(_) => Ok(()),
            None => refuse(format!("comparison of {left} and {right}")),
        }
    }

    /// `a op b`. Where the comparison needs a conversion or equal values can be told apart, it is a function of which
    /// nothing is known.
    pub(super) fn compare(&mut self, op: CompareOp, left: Expr, right: Expr) -> Result<Expr, Unsupported> {
        let (left_type, right_type) = (left.ty(), right.ty());
        let refused = match self.comparable(&left_type, &right_type) {
            Ok(()) => return Ok(Expr::Compare(op, Box::new(left), Box::new(right))),
            Err(refused) => refused,
        };
        if [left_type, right_type].contains(&Type::Boolean) {
            return Err(refused);
        }
        let (name, args, negated) = match op {
            CompareOp::Eq => ("eq", vec![left, right], false),
            CompareOp::Ne => ("eq", vec![left, right], true),
            CompareOp::Lt => ("lt", vec![left, right], false),
            CompareOp::Le => ("le", vec![left, right], false),
            CompareOp::Gt => ("lt", vec![right, left], false),
            CompareOp::Ge => ("le", vec![right, left], false),
        };
        let call = self.function_call(name, args, Type::Boolean)?;
        Ok(if negated { Expr::Not(Box::new(call)) } else { call })
    }

    /// `a IS NOT DISTINCT FROM b`, as IS NULL or IS TRUE where it is one.
    pub(super) fn same(&mut self, left: Expr, right: Expr) -> Result<Expr, Unsupported> {
        match (left, right) {
            (Expr::Literal(Value::Null, _), value) | (value, Expr::Literal(Value::Null, _)) => {
                Ok(Expr::IsNull(Box::new(value)))
            }
            (Expr::Literal(Value::Bool(constant), _), value) | (value, Expr::Literal(Value::Bool(constant), _)) => {
                Ok(Expr::IsTruth(Box::new(truth(value)?), constant))
            }
            (left, right) => {
                self.comparable(&left.ty(), &right.ty())?;
                Ok(Expr::Same(Box::new(left), Box::new(right)))
            }
        }
    }

    /// A call of a function that is known to be deterministic.
    pub(super) fn function_call(&mut self, name: &str, args: Vec<Expr>, ty: Type) -> Result<Expr, Unsupported> {
        self.assumptions.insert(Assumption::FunctionsAreDeterministic);
        self.assumptions.insert(Assumption::NoRuntimeError);
        refuse_text_of_number(args.iter().map(Expr::ty), &ty)?;
        Ok(Expr::Call { name: name.to_owned(), args, ty })
    }

    fn extract(&mut self, operands: &[Json], scopes: &Scopes) -> Result<Expr, Unsupported> {
        let [part, value] = operands else { return refuse("EXTRACT without a part and a value") };
        let part = object(part, &["operator", "operand", "type"])?;
        if text(field(part, "type")?)? != "SYMBOL" || !list(field(part, "operand")?)?.is_empty() {
            return refuse("EXTRACT of something other than a part");
        }
        let value = self.expr(value, scopes)?;
        let name = format!("extract_{}", text(field(part, "operator")?)?.to_lowercase());
        self.function_call(&name, vec![value], Type::Integer)
    }
}

/// Decimals and JSON values that are equal can have different texts (`1.0` and `1.00`), so the text is not a function
/// of the value.
pub(super) fn refuse_text_of_number(mut args: impl Iterator<Item = Type>, ty: &Type) -> Result<(), Unsupported> {
    let ambiguous = |arg: Type| match arg {
        Type::Decimal => true,
        Type::Other(name) => name.starts_with("json"),
        _ => false,
    };
    if *ty == Type::Text && args.any(ambiguous) { refuse("text of a decimal or JSON value") } else { Ok(()) }
}

/// The comparison of `IN` and `op SOME`.
fn quantifier(name: &str) -> Option<CompareOp> {
    match name {
        "IN" => Some(CompareOp::Eq),
        _ => comparison(name.strip_suffix(" SOME")?),
    }
}

/// A comparison operator by one of its names.
pub(super) fn comparison(name: &str) -> Option<CompareOp> {
    Some(match name {
        "=" | "EQ" => CompareOp::Eq,
        "<>" | "!=" | "NE" => CompareOp::Ne,
        "<" | "LT" => CompareOp::Lt,
        "<=" | "LE" => CompareOp::Le,
        ">" | "GT" => CompareOp::Gt,
        ">=" | "GE" => CompareOp::Ge,
        _ => return None,
    })
}

/// The expression, if it is a truth value or NULL.
pub(super) fn truth(expr: Expr) -> Result<Expr, Unsupported> {
    match expr.ty() {
        Type::Boolean => Ok(expr),
        Type::Unknown if matches!(expr, Expr::Literal(Value::Null, _)) => Ok(Expr::null(Type::Boolean)),
        ty => refuse(format!("condition of type {ty}")),
    }
}
