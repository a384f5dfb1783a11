//! Operators over values.

use super::expr::{comparison, refuse_text_of_number, truth};
use super::literal::family;
use super::{Lowering, Unsupported, refuse};
use crate::ir::{ArithmeticOp, Assumption, CompareOp, Expr, Type, Value};

/// Functions whose result is determined by their arguments, with the name under which they are called here.
const FUNCTIONS: [(&str, &str); 29] = [
    ("||", "concat_op"),
    ("CONCAT", "concat_op"),
    ("UPPER", "upper"),
    ("LOWER", "lower"),
    ("POWER", "power"),
    ("POW", "power"),
    ("ITEM", "item"),
    ("INDIRECTION", "item"),
    ("LIKE", "like"),
    ("I LIKE", "ilike"),
    ("SIMILAR TO", "similar_to"),
    ("REG MATCH", "regexp_match"),
    ("REG I MATCH", "regexp_match_ci"),
    ("FETCH VAL", "fetch_value"),
    ("FETCH TEXT", "fetch_text"),
    ("CONTAINS", "contains"),
    ("CONTAINED BY", "contained_by"),
    ("BITAND", "bit_and"),
    ("BITOR", "bit_or"),
    ("BITXOR", "bit_xor"),
    ("UNARY COMPLEMENT", "bit_not"),
    ("FLOOR DIV", "floor_div"),
    ("ST_POINT", "st_point"),
    ("ST_DWITHIN", "st_dwithin"),
    ("ST_MAKELINE", "st_makeline"),
    ("ST_BUFFER", "st_buffer"),
    ("COLLATE", "collate"),
    // Raises an error or is TRUE.
    ("$THROW_UNLESS", "throw_unless"),
    ("FUNCTION", "function"),
];

impl Lowering<'_> {
    /// An operator applied to operands; `operand_types` are their types as written.
    pub(super) fn operator(
        &mut self,
        name: &str,
        mut args: Vec<Expr>,
        operand_types: &[&str],
        type_name: &str,
    ) -> Result<Expr, Unsupported> {
        let ty = family(type_name);
        if let Some(op) = comparison(name) {
            let [left, right] = pair(name, args)?;
            return self.compare(op, left, right);
        }
        if let Some(op) = arithmetic(name)
            && args.len() == 2
        {
            let [left, right] = pair(name, args)?;
            return self.arithmetic(op, left, right, ty);
        }
        match name {
            "AND" | "OR" => {
                let mut parts = args.into_iter().map(truth).collect::<Result<Vec<_>, _>>()?;
                Ok(match (parts.len(), name) {
                    (1, _) => parts.swap_remove(0),
                    (_, "AND") => Expr::And(parts),
                    _ => Expr::Or(parts),
                })
            }
            "NOT" => Ok(not(truth(single(name, args)?)?)),
            "IS NULL" | "IS UNKNOWN" => Ok(Expr::IsNull(Box::new(single(name, args)?))),
            "IS NOT NULL" | "IS NOT UNKNOWN" => Ok(not(Expr::IsNull(Box::new(single(name, args)?)))),
            "IS TRUE" | "IS FALSE" | "IS NOT TRUE" | "IS NOT FALSE" => {
                let value = Box::new(truth(single(name, args)?)?);
                let test = Expr::IsTruth(value, name.ends_with("TRUE"));
                Ok(if name.starts_with("IS NOT") { not(test) } else { test })
            }
            "<=>" | "IS" | "IS NOT DISTINCT FROM" => {
                let [left, right] = pair(name, args)?;
                self.same(left, right)
            }
            "IS NOT" | "IS DISTINCT FROM" => {
                let [left, right] = pair(name, args)?;
                Ok(not(self.same(left, right)?))
            }
            "CASE" => self.case(args),
            "COALESCE" => {
                let Some(last) = args.pop() else { return refuse("COALESCE without arguments") };
                let branches = args.into_iter().map(|a| (not(Expr::IsNull(Box::new(a.clone()))), a)).collect();
                case_of(branches, last)
            }
            "CAST" => {
                let value = single(name, args)?;
                self.cast(value, operand_types.first().copied().unwrap_or_default(), type_name)
            }
            "UNARY MINUS" | "-" | "MINUS" if args.len() == 1 => {
                let value = single(name, args)?;
                let zero = match value.ty() {
                    Type::Integer | Type::Decimal => Expr::Literal(Value::int(0), value.ty()),
                    Type::Double => Expr::Literal(Value::Double(0.0), Type::Double),
                    _ => return self.function_call("minus", vec![value], ty),
                };
                self.arithmetic(ArithmeticOp::Sub, zero, value, ty)
            }
            "ROW" => self.function_call("row", args, ty),
            "NOT LIKE" | "NOT I LIKE" | "NOT SIMILAR TO" | "NOT REG MATCH" | "NOT REG I MATCH" => {
                Ok(not(self.operator(&name[4..], args, operand_types, type_name)?))
            }
            _ => {
                let Some((_, function)) = FUNCTIONS.iter().find(|(written, _)| *written == name) else {
                    return refuse(format!("operator {name}"));
                };
                if args.is_empty() {
                    // Functions without arguments are clocks and random numbers.
                    return refuse(format!("{name} without arguments"));
                }
                self.function_call(function, args, ty)
            }
        }
    }

    fn arithmetic(&mut self, op: ArithmeticOp, left: Expr, right: Expr, ty: Type) -> Result<Expr, Unsupported> {
        let unified = left.ty().unify(&right.ty()).filter(Type::is_numeric);
        let Some(unified) = unified else {
            // Dates, intervals and JSON values have arithmetic of their own.
            if ty.is_numeric() || left.ty().is_numeric() && right.ty().is_numeric() {
                return refuse(format!("arithmetic on {} and {}", left.ty(), right.ty()));
            }
            let name = match op {
                ArithmeticOp::Add => "plus",
                ArithmeticOp::Sub => "minus",
                ArithmeticOp::Mul => "times",
                ArithmeticOp::Div => "divide",
                ArithmeticOp::Rem => "remainder",
            };
            return self.function_call(name, vec![left, right], ty);
        };
        self.use_type(&unified);
        self.assumptions.insert(Assumption::ExactArithmetic);
        if matches!(op, ArithmeticOp::Div | ArithmeticOp::Rem) {
            self.assumptions.insert(Assumption::NoRuntimeError);
        }
        let exact_quotient = op == ArithmeticOp::Div && unified == Type::Integer && ty != Type::Integer;
        if exact_quotient {
            // The quotient of whole numbers is written as a decimal: it does not truncate.
            if ty != Type::Decimal {
                return refuse(format!("quotient of whole numbers of type {ty}"));
            }
            let (left, right) = (Box::new(to_decimal(left)), Box::new(to_decimal(right)));
            return Ok(Expr::Arithmetic(op, left, right, ty));
        }
        if unified.unify(&ty).is_none() {
            return refuse(format!("{ty} result of arithmetic on {unified}"));
        }
        Ok(Expr::Arithmetic(op, Box::new(left), Box::new(right), unified))
    }

    /// Conditions and values in turn, then ELSE. An even number of operands begins with a value that each WHEN is
    /// compared with; TRUE makes it the other form.
    fn case(&mut self, args: Vec<Expr>) -> Result<Expr, Unsupported> {
        let simple = args.len().is_multiple_of(2);
        let mut args = args.into_iter();
        let subject = if simple { args.next() } else { None };
        let mut rest: Vec<Expr> = args.collect();
        let Some(otherwise) = rest.pop() else { return refuse("CASE without ELSE") };
        let mut branches = Vec::new();
        let mut rest = rest.into_iter();
        while let (Some(when), Some(value)) = (rest.next(), rest.next()) {
            let condition = match &subject {
                None | Some(Expr::Literal(Value::Bool(true), _)) => truth(when)?,
                Some(subject) => self.compare(CompareOp::Eq, subject.clone(), when)?,
            };
            branches.push((condition, value));
        }
        case_of(branches, otherwise)
    }

    fn cast(&mut self, value: Expr, from: &str, target: &str) -> Result<Expr, Unsupported> {
        let to = family(target);
        self.use_type(&to);
        if matches!(value, Expr::Literal(Value::Null, _)) {
            return Ok(Expr::null(to));
        }
        refuse_text_of_number(std::iter::once(value.ty()), &to)?;
        let same_family = value.ty() == to && family(from) == to;
        let unchanged = match to {
            Type::Boolean | Type::Date | Type::Double => from == target,
            // Lengths are not written. That values fit is an assumption about all texts.
            Type::Text => from == target || matches!((from, target), ("CHAR", "VARCHAR")),
            Type::Integer => from == target || width(from).zip(width(target)).is_some_and(|(a, b)| a <= b),
            _ => false,
        };
        if same_family && unchanged {
            return Ok(value);
        }
        self.assumptions.insert(Assumption::NoRuntimeError);
        Ok(Expr::Cast { value: Box::new(value), to, target: target.to_lowercase() })
    }
}

/// The rank of an integer type among those whose widths are certain.
fn width(name: &str) -> Option<u8> {
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT"].iter().position(|n| *n == name).and_then(|n| u8::try_from(n).ok())
}

fn to_decimal(value: Expr) -> Expr {
    match value {
        Expr::Literal(constant, _) => Expr::Literal(constant, Type::Decimal),
        value => Expr::Cast { value: Box::new(value), to: Type::Decimal, target: "decimal".to_owned() },
    }
}

fn case_of(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Result<Expr, Unsupported> {
    let mut ty = otherwise.ty();
    for (_, value) in &branches {
        match ty.unify(&value.ty()) {
            Some(unified) => ty = unified,
            None => return refuse(format!("CASE of {ty} and {}", value.ty())),
        }
    }
    if branches.is_empty() {
        return Ok(otherwise);
    }
    Ok(Expr::Case { branches, otherwise: Box::new(otherwise), ty })
}

fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

fn single(name: &str, args: Vec<Expr>) -> Result<Expr, Unsupported> {
    let [arg] = <[Expr; 1]>::try_from(args).or_else(|args| refuse(format!("{name} of {} operands", args.len())))?;
    Ok(arg)
}

fn pair(name: &str, args: Vec<Expr>) -> Result<[Expr; 2], Unsupported> {
    args.try_into().or_else(|args: Vec<Expr>| refuse(format!("{name} of {} operands", args.len())))
}

/// An arithmetic operator by one of its names.
fn arithmetic(name: &str) -> Option<ArithmeticOp> {
    Some(match name {
        "+" | "PLUS" => ArithmeticOp::Add,
        "-" | "MINUS" => ArithmeticOp::Sub,
        "*" | "MULT" => ArithmeticOp::Mul,
        "/" | "DIV" => ArithmeticOp::Div,
        "%" | "MOD" => ArithmeticOp::Rem,
        _ => return None,
    })
}
