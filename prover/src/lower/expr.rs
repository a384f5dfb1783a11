//! Scalar expressions.

use sqlparser::ast::{self, BinaryOperator as Binary, Expr as Ast, UnaryOperator as Unary};

use crate::ir::{ArithmeticOp, Assumption, Child, CompareOp, Expr, Type, Value, results};

use super::compare::{is_arithmetic, strip, tuple};
use super::scope::shift;
use super::types::{adopt, is_temporal, written};
use super::{Lowerer, Result, absent, literal, no, unset};

/// Columns that tables have unasked: SQLite's and DuckDB's row numbers (<https://sqlite.org/rowidtable.html>) and PostgreSQL's
/// system columns (<https://www.postgresql.org/docs/current/ddl-system-columns.html>).
const UNASKED: [&str; 9] = ["rowid", "oid", "_rowid_", "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// The negative of the least number of 32 bits.
const LEAST: i64 = 1 << 31;

impl Lowerer<'_> {
    /// Reads an expression in the rows in reach.
    pub(super) fn expr(&mut self, expr: &Ast) -> Result<Expr> {
        self.nested(|this| this.expr_here(expr))
    }

    /// Reads an expression that is used as a condition.
    pub(super) fn condition(&mut self, expr: &Ast) -> Result<Expr> {
        let expr = self.expr(expr)?;
        self.truth(expr)
    }

    fn boxed_condition(&mut self, expr: &Ast) -> Result<Box<Expr>> {
        self.condition(expr).map(Box::new)
    }

    fn expr_here(&mut self, expr: &Ast) -> Result<Expr> {
        match expr {
            Ast::Nested(inner) => self.expr(inner),
            Ast::Value(value) => literal::literal(value),
            Ast::Identifier(ident) => self.name(ident),
            Ast::CompoundIdentifier(parts) => self.qualified_name(parts),
            Ast::IsTrue(e) => Ok(Expr::IsTruth(self.boxed_condition(e)?, true)),
            Ast::IsNotTrue(e) => Ok(not(Expr::IsTruth(self.boxed_condition(e)?, true))),
            Ast::IsFalse(e) => Ok(Expr::IsTruth(self.boxed_condition(e)?, false)),
            Ast::IsNotFalse(e) => Ok(not(Expr::IsTruth(self.boxed_condition(e)?, false))),
            Ast::IsUnknown(e) => Ok(Expr::IsNull(self.boxed_condition(e)?)),
            Ast::IsNotUnknown(e) => Ok(not(Expr::IsNull(self.boxed_condition(e)?))),
            Ast::IsNull(e) => Ok(Expr::IsNull(Box::new(self.scalar(e)?))),
            Ast::IsNotNull(e) => Ok(not(Expr::IsNull(Box::new(self.scalar(e)?)))),
            Ast::IsDistinctFrom(a, b) => Ok(not(self.same(a, b)?)),
            Ast::IsNotDistinctFrom(a, b) => self.same(a, b),
            Ast::InList { expr, list, negated } => {
                let found = self.in_list(expr, list)?;
                Ok(negate_if(*negated, found))
            }
            Ast::InSubquery { expr, subquery, negated } => {
                let found = self.quantified(expr, CompareOp::Eq, false, subquery)?;
                Ok(negate_if(*negated, found))
            }
            Ast::Between { expr, negated, low, high } => {
                let within = self.between(expr, low, high)?;
                Ok(negate_if(*negated, within))
            }
            Ast::BinaryOp { left, op, right } => self.binary(left, op, right),
            Ast::Like { negated, any, expr, pattern, escape_char } => {
                unset(*any, "LIKE ANY")?;
                self.like("like", *negated, expr, pattern, escape_char.as_deref())
            }
            Ast::ILike { negated, any, expr, pattern, escape_char } => {
                unset(*any, "ILIKE ANY")?;
                self.like("ilike", *negated, expr, pattern, escape_char.as_deref())
            }
            Ast::SimilarTo { negated, expr, pattern, escape_char } => {
                self.like("similar_to", *negated, expr, pattern, escape_char.as_deref())
            }
            Ast::AnyOp { left, compare_op, right, is_some: _ } => self.any_or_all(left, compare_op, false, right),
            Ast::AllOp { left, compare_op, right } => self.any_or_all(left, compare_op, true, right),
            Ast::UnaryOp { op, expr } => self.unary(*op, expr),
            Ast::Cast { kind, expr, data_type, format } => {
                match kind {
                    ast::CastKind::Cast | ast::CastKind::DoubleColon => {}
                    ast::CastKind::TryCast | ast::CastKind::SafeCast => return no("TRY_CAST"),
                }
                absent(format.as_ref(), "CAST FORMAT")?;
                let value = self.scalar(expr)?;
                self.cast(value, data_type)
            }
            Ast::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref())
            }
            Ast::Exists { subquery, negated } => {
                let relation = self.subquery(subquery)?;
                Ok(negate_if(*negated, Expr::Exists(Box::new(relation.plan))))
            }
            Ast::Subquery(query) => {
                let relation = self.subquery(query)?;
                match relation.names.len() {
                    1 => Ok(Expr::Scalar(Box::new(relation.plan))),
                    width => no(format!("a scalar subquery of {width} columns")),
                }
            }
            Ast::TypedString(typed) => typed_string(typed),
            Ast::Interval(interval) => interval_literal(interval),
            other => self.special_function(other),
        }
    }

    /// A name without qualifier.
    fn name(&mut self, ident: &ast::Ident) -> Result<Expr> {
        let ast::Ident { value: name, quote_style, span: _ } = ident;
        if *quote_style == Some('"') {
            self.assumptions.insert(Assumption::StandardSpelling);
        }
        if let Some(expr) = self.resolve(None, name)? {
            // Engines differ on which comes first, an output name or a column, above all an outer one.
            if (self.block.use_aliases || !self.is_local(name)?) && self.alias(name)?.is_some_and(|alias| alias != expr)
            {
                return no(format!("{name}, which is a column and an output name"));
            }
            if !self.is_local(name)? {
                self.unmistakable_outer(name, &expr)?;
            }
            return Ok(expr);
        }
        if self.block.use_aliases
            && let Some(expr) = self.alias(name)?
        {
            return Ok(expr);
        }
        // Some engines read a quoted name that is nothing else as a string.
        if *quote_style == Some('"') && !self.is_table_in_reach(name) && self.alias(name)?.is_none() {
            return literal::text_literal(name);
        }
        no(format!("unknown column {name}"))
    }

    /// Refuses a name of an outer column that engines find elsewhere: it is that of a column that their tables have
    /// unasked, or an output name of a SELECT on the way.
    fn unmistakable_outer(&mut self, name: &str, column: &Expr) -> Result<()> {
        if UNASKED.iter().any(|unasked| unasked.eq_ignore_ascii_case(name)) {
            return no(format!("{name}, a column that tables of some engines have unasked"));
        }
        let of_name = |(alias, _): &&(String, Ast)| alias.eq_ignore_ascii_case(name);
        let meanings = self.outer_aliases.iter().flat_map(|(seen, aliases)| {
            aliases.iter().filter(of_name).map(|(_, meaning)| (*seen, meaning.clone())).collect::<Vec<_>>()
        });
        for (seen, meaning) in meanings.collect::<Vec<_>>() {
            let (qualifier, column_name) = match &meaning {
                Ast::Identifier(column) => (None, Some(&column.value)),
                Ast::CompoundIdentifier(parts) => match parts.as_slice() {
                    [.., qualifier, column] => (Some(qualifier.value.as_str()), Some(&column.value)),
                    _ => (None, None),
                },
                _ => (None, None),
            };
            let inner = self.scopes.split_off(seen);
            let found = column_name.map(|column_name| self.resolve(qualifier, column_name));
            let by = inner.len();
            self.scopes.extend(inner);
            let is_same = found.transpose()?.flatten().is_some_and(|found| shift(&found, by) == *column);
            if !is_same {
                return no(format!("{name}, which is an outer column and an output name"));
            }
        }
        Ok(())
    }

    fn qualified_name(&mut self, parts: &[ast::Ident]) -> Result<Expr> {
        let [.., qualifier, name] = parts else { return no("an empty name") };
        match self.resolve(Some(&qualifier.value), &name.value)? {
            Some(expr) => Ok(expr),
            None => no(format!("unknown column {}.{}", qualifier.value, name.value)),
        }
    }

    /// An expression that is not a row of several values, as an operand of something that binds it.
    pub(super) fn scalar(&mut self, expr: &Ast) -> Result<Expr> {
        if tuple(expr)?.is_some() { no("a row value in this place") } else { self.expr(expr) }
    }

    fn binary(&mut self, left: &Ast, op: &Binary, right: &Ast) -> Result<Expr> {
        let compare = match op {
            Binary::And | Binary::Or => return self.connective(left, op, right),
            Binary::Spaceship => return self.same(left, right),
            Binary::Eq => CompareOp::Eq,
            Binary::NotEq => CompareOp::Ne,
            Binary::Lt => CompareOp::Lt,
            Binary::LtEq => CompareOp::Le,
            Binary::Gt => CompareOp::Gt,
            Binary::GtEq => CompareOp::Ge,
            Binary::Plus => return self.arithmetic(ArithmeticOp::Add, left, right),
            Binary::Minus => return self.arithmetic(ArithmeticOp::Sub, left, right),
            Binary::Multiply => return self.arithmetic(ArithmeticOp::Mul, left, right),
            Binary::Divide => return self.arithmetic(ArithmeticOp::Div, left, right),
            Binary::Modulo => return self.arithmetic(ArithmeticOp::Rem, left, right),
            Binary::StringConcat => return self.concat(left, right),
            Binary::BitwiseAnd => return self.bitwise("bit_and_op", left, right),
            Binary::BitwiseOr => return self.bitwise("bit_or_op", left, right),
            Binary::PGBitwiseShiftLeft => return self.bitwise("shift_left_op", left, right),
            Binary::PGBitwiseShiftRight => return self.bitwise("shift_right_op", left, right),
            other => return no(format!("the operator {other}")),
        };
        match (tuple(left)?, tuple(right)?) {
            (None, None) => {
                let (a, b) = (self.operand(left)?, self.operand(right)?);
                self.compare(compare, a, b)
            }
            (Some(_), Some(_)) => {
                let (a, b) = (self.row(left)?, self.row(right)?);
                self.compare_rows(compare, a, b)
            }
            _ => no("a comparison of a row with something else"),
        }
    }

    fn unary(&mut self, op: Unary, expr: &Ast) -> Result<Expr> {
        match op {
            Unary::Not => Ok(not(self.condition(expr)?)),
            Unary::Plus => {
                let value = self.operand(expr)?;
                if matches!(value, Expr::Literal(Value::Int(LEAST), _)) {
                    return no(format!("+{expr}, whose negative does not fit 32 bits in every engine"));
                }
                self.positive(value)
            }
            Unary::Minus => {
                let value = self.operand(expr)?;
                self.negative(value)
            }
            other => no(format!("the operator {other}")),
        }
    }

    /// `+x`.
    pub(super) fn positive(&mut self, value: Expr) -> Result<Expr> {
        let value = self.operand_number(value)?;
        if value.ty().is_numeric() { Ok(value) } else { no(format!("+ of {}", value.ty())) }
    }

    /// `-x`.
    pub(super) fn negative(&mut self, value: Expr) -> Result<Expr> {
        match self.operand_number(value)? {
            // PostgreSQL reads the sign with the digits, and then it fits 32 bits.
            Expr::Literal(Value::Int(LEAST), ty) if ty == results::long() => Ok(Expr::int(-LEAST)),
            // MariaDB, which computes it at once, makes a decimal of what was negative.
            Expr::Literal(Value::Int(n), ty) if n < 0 && ty.is_whole() => no("- of a negative whole constant"),
            Expr::Literal(ref n @ (Value::Int(_) | Value::Number(_)), ref ty)
                if ty.is_exact() || *n != Value::int(0) =>
            {
                let negated = n.to_rational().map_or(Value::Null, |n| Value::number(-n));
                Ok(Expr::Literal(negated, ty.clone()))
            }
            Expr::Literal(Value::Double(d), ty) if d != 0.0 => Ok(Expr::Literal(Value::Double(-d), ty)),
            Expr::Literal(Value::Null, ty) if ty.is_numeric() => Ok(Expr::null(ty)),
            value if value.ty().is_whole() && is_made_of_constants(&value) => {
                no("- of a whole constant that is computed")
            }
            value => match value.ty() {
                ty if ty.is_numeric() => {
                    Ok(Expr::Arithmetic(ArithmeticOp::Sub, Box::new(Expr::int(0)), Box::new(value), ty))
                }
                Type::Other(name) if name == "interval" => Ok(call("negate_op", vec![value], Type::Other(name))),
                ty => no(format!("- of {ty}")),
            },
        }
    }

    /// Truth values as numbers, for arithmetic. A bare NULL beside no number is a whole number in some engines and a
    /// double in others.
    fn operand_number(&mut self, value: Expr) -> Result<Expr> {
        match value.ty() {
            Type::Boolean => Ok(self.number(value)),
            Type::Unknown => no("arithmetic on a value of unknown type"),
            _ => Ok(value),
        }
    }

    fn arithmetic(&mut self, op: ArithmeticOp, left: &Ast, right: &Ast) -> Result<Expr> {
        for side in [left, right] {
            if matches!(side, Ast::BinaryOp { op, .. } if !is_arithmetic(op)) {
                return no(format!("{side} as an operand without parentheses"));
            }
        }
        let (a, b) = (self.operand(left)?, self.operand(right)?);
        self.arithmetic_on(op, a, b)
    }

    /// Arithmetic on numbers, dates and intervals.
    pub(super) fn arithmetic_on(&mut self, op: ArithmeticOp, mut a: Expr, mut b: Expr) -> Result<Expr> {
        let (left, right) = (a.ty(), b.ty());
        if left == Type::Unknown
            && let Some(number) = right.as_number()
        {
            adopt(&mut a, &results::null_beside(number));
        }
        if right == Type::Unknown
            && let Some(number) = left.as_number()
        {
            adopt(&mut b, &results::null_beside(number));
        }
        if let Some((name, ty)) = calendar(op, &left, &right) {
            return Ok(call(name, vec![a, b], ty));
        }
        let (a, b) = (self.operand_number(a)?, self.operand_number(b)?);
        let (left, right) = (a.ty(), b.ty());
        match left.unify(&right) {
            Some(ty) if left.is_numeric() && right.is_numeric() => {
                let quotient = (op == ArithmeticOp::Div).then(|| results::quotient(&left, &right)).flatten();
                Ok(Expr::Arithmetic(op, Box::new(a), Box::new(b), quotient.unwrap_or(ty)))
            }
            _ => no(format!("implicit conversion in arithmetic on {left} and {right}")),
        }
    }

    fn concat(&mut self, left: &Ast, right: &Ast) -> Result<Expr> {
        for side in [left, right] {
            if matches!(side, Ast::BinaryOp { op, .. } if *op != Binary::StringConcat) {
                return no(format!("{side} as an operand without parentheses"));
            }
        }
        let args = vec![self.operand(left)?, self.operand(right)?];
        if args.iter().all(|arg| arg.ty() == Type::Unknown) {
            // Bytes in MariaDB.
            return no("|| of bare NULLs");
        }
        self.assumptions.insert(Assumption::StandardSpelling);
        let args = texts("||", args)?;
        Ok(call("concat_op", args, Type::Text))
    }

    fn bitwise(&mut self, name: &str, left: &Ast, right: &Ast) -> Result<Expr> {
        let mut args = Vec::new();
        for side in [left, right] {
            if matches!(side, Ast::BinaryOp { .. }) {
                return no(format!("{side} as an operand without parentheses"));
            }
            let mut value = self.operand(side)?;
            adopt(&mut value, &Type::Integer);
            let value = self.operand_number(value)?;
            if !value.ty().is_whole() {
                return no(format!("bits of {}", value.ty()));
            }
            args.push(value);
        }
        let ty = args.iter().fold(Type::Integer, |ty, arg| ty.unify(&arg.ty()).unwrap_or(ty));
        Ok(call(name, args, ty))
    }

    fn like(&mut self, name: &str, negated: bool, value: &Ast, pattern: &Ast, escape: Option<&Ast>) -> Result<Expr> {
        let mut args = vec![self.operand(value)?, self.operand(pattern)?];
        args.extend(escape.map(|e| self.scalar(e)).transpose()?);
        let args = texts("LIKE", args)?;
        Ok(negate_if(negated, call(name, args, Type::Boolean)))
    }

    fn case(&mut self, operand: Option<&Ast>, conditions: &[ast::CaseWhen], otherwise: Option<&Ast>) -> Result<Expr> {
        let operand = operand.map(|e| self.scalar(e)).transpose()?;
        let mut tests = Vec::new();
        let mut values = Vec::new();
        for ast::CaseWhen { condition, result } in conditions {
            tests.push(match &operand {
                None => self.condition(condition)?,
                Some(operand) => {
                    let other = self.scalar(condition)?;
                    self.compare(CompareOp::Eq, operand.clone(), other)?
                }
            });
            values.push(self.scalar(result)?);
        }
        values.push(match otherwise {
            Some(otherwise) => self.scalar(otherwise)?,
            None => Expr::null(Type::Unknown),
        });
        self.choice(tests, values)
    }

    /// A searched CASE: one condition for each value but the last.
    pub(super) fn choice(&mut self, conditions: Vec<Expr>, values: Vec<Expr>) -> Result<Expr> {
        let (conditions, values) = match self.unify_all(values.clone()) {
            Ok(_) => (conditions, values),
            Err(mixed) => self.live_branches(conditions, values).ok_or(mixed)?,
        };
        let (mut values, ty) = self.unify_all(values)?;
        let Some(otherwise) = values.pop() else { return no("an empty CASE") };
        let branches = conditions.into_iter().zip(values).collect();
        Ok(Expr::Case { branches, otherwise: Box::new(otherwise), ty })
    }

    /// The branches that constant conditions leave, the last being ELSE. A branch that is never taken may still decide
    /// into which type an engine converts the others, unless each keeps its own.
    fn live_branches(&mut self, conditions: Vec<Expr>, mut values: Vec<Expr>) -> Option<(Vec<Expr>, Vec<Expr>)> {
        let mut otherwise = values.pop()?;
        let before = conditions.len();
        let mut live = (Vec::new(), Vec::new());
        for (condition, value) in conditions.into_iter().zip(values) {
            match condition {
                Expr::Literal(Value::Bool(false) | Value::Null, _) => {}
                // What comes after is never reached.
                Expr::Literal(Value::Bool(true), _) => {
                    otherwise = value;
                    break;
                }
                _ => {
                    live.0.push(condition);
                    live.1.push(value);
                }
            }
        }
        if live.0.len() == before {
            return None;
        }
        self.assumptions.insert(Assumption::CaseKeepsBranchTypes);
        live.1.push(otherwise);
        Some(live)
    }

    /// A conversion that is written.
    pub(super) fn cast(&mut self, value: Expr, to: &ast::DataType) -> Result<Expr> {
        let to = written(to)?;
        if to.is_single() {
            return no(format!("a cast to {}, which some engines keep in 32 bits", to.name));
        }
        if to.is_padded() {
            self.assumptions.insert(Assumption::CastsKeepValues);
        }
        let from = value.ty();
        // In SQLite the letters of a type decide, and a text shows whether a number is whole.
        let converts = !to.is_so_in_sqlite && (&from, &to.family) != (&Type::Boolean, &Type::Boolean)
            || to.family == Type::Text && from.is_numeric() && !from.is_whole();
        if converts && !matches!(value, Expr::Literal(Value::Null, _)) {
            self.assumptions.insert(Assumption::StaticTypes);
        }
        match (&value, &to.family) {
            // Without a sign it makes a decimal of what it meets in MariaDB.
            (Expr::Literal(Value::Null, _), _) if !to.is_unsigned() => return Ok(Expr::null(to.result())),
            (Expr::Literal(Value::Int(n), _), Type::Integer)
                if matches!(to.name.as_str(), "integer" | "bigint")
                    && i32::try_from(*n).is_ok()
                    && from.as_number().is_some_and(|number| number.whole) =>
            {
                return Ok(Expr::Literal(Value::Int(*n), to.result()));
            }
            (Expr::Literal(Value::Text(_), Type::Text), Type::Text) if to.name == "text" || to.name == "varchar" => {
                return Ok(value);
            }
            (Expr::Literal(Value::Bool(_), _), Type::Boolean) => return Ok(value),
            (Expr::Literal(Value::Text(text), Type::Text), Type::Date) => return literal::temporal(text, &to.family),
            (Expr::Literal(Value::Text(text), Type::Text), Type::Time | Type::Timestamp) if !to.name.contains('(') => {
                return literal::temporal(text, &to.family);
            }
            (Expr::Literal(..), family) if from == *family && is_temporal(family) && !to.name.contains('(') => {
                return Ok(value);
            }
            (_, Type::Boolean) if from == Type::Boolean => return Ok(value),
            (_, Type::Integer) if from == Type::Boolean && !to.is_unsigned() => return Ok(self.number(value)),
            (_, Type::Boolean) if from.is_whole() => return self.truth(value),
            _ => {}
        }
        Ok(Expr::Cast { value: Box::new(value), to: to.result(), target: to.name })
    }
}

/// A call of a function by its name.
pub(super) fn call(name: &str, args: Vec<Expr>, ty: Type) -> Expr {
    Expr::Call { name: name.to_owned(), args, ty }
}

fn not(expr: Expr) -> Expr {
    Expr::Not(Box::new(expr))
}

fn negate_if(negated: bool, expr: Expr) -> Expr {
    if negated { not(expr) } else { expr }
}

/// Arithmetic with dates, as functions.
fn calendar(op: ArithmeticOp, a: &Type, b: &Type) -> Option<(&'static str, Type)> {
    let is_interval = |ty: &Type| matches!(ty, Type::Other(name) if name == "interval");
    let shifts = |ty: &Type| is_interval(ty) || ty.is_whole();
    let moved = |ty: &Type| if *ty == Type::Date { Type::Moment } else { ty.clone() };
    let interval = || Type::Other("interval".to_owned());
    match op {
        ArithmeticOp::Add if is_temporal(a) && shifts(b) => Some(("date_add_op", moved(a))),
        ArithmeticOp::Add if is_temporal(b) && shifts(a) => Some(("add_date_op", moved(b))),
        ArithmeticOp::Sub if is_temporal(a) && shifts(b) => Some(("date_sub_op", moved(a))),
        ArithmeticOp::Sub if is_temporal(a) && a == b => Some(("date_diff_op", Type::opaque())),
        ArithmeticOp::Add if is_interval(a) && is_interval(b) => Some(("interval_add_op", interval())),
        ArithmeticOp::Sub if is_interval(a) && is_interval(b) => Some(("interval_sub_op", interval())),
        ArithmeticOp::Mul if is_interval(a) && b.is_numeric() => Some(("interval_mul_op", interval())),
        ArithmeticOp::Mul if is_interval(b) && a.is_numeric() => Some(("mul_interval_op", interval())),
        _ => None,
    }
}

/// `DATE '...'` and the like.
fn typed_string(typed: &ast::TypedString) -> Result<Expr> {
    // The ODBC form is another spelling.
    let ast::TypedString { data_type, value, uses_odbc_syntax: _ } = typed;
    let to = written(data_type)?;
    if !is_temporal(&to.family) || to.name.contains('(') {
        return no(format!("the literal {typed}"));
    }
    literal::temporal(&literal::string(value)?, &to.family)
}

fn interval_literal(interval: &ast::Interval) -> Result<Expr> {
    let ast::Interval { value, leading_field, leading_precision, last_field, fractional_seconds_precision } = interval;
    absent(fractional_seconds_precision.as_ref(), "the precision of an interval")?;
    // A precision that is too small is an error, not another value.
    let _ = leading_precision;
    let amount = match strip(value) {
        Ast::Value(value) => match literal::literal(value)? {
            Expr::Literal(Value::Text(text), _) => text,
            Expr::Literal(n @ (Value::Int(_) | Value::Number(_)), _) => n.to_string(),
            _ => return no(format!("{interval}")),
        },
        _ => return no(format!("{interval}")),
    };
    let mut args = vec![literal::text_expr(&amount)];
    for field in [leading_field, last_field].into_iter().flatten() {
        let field = field.to_string().to_lowercase();
        args.push(literal::text_expr(field.strip_suffix('s').unwrap_or(&field)));
    }
    Ok(call("interval", args, Type::Other("interval".to_owned())))
}

/// Arguments that must be texts.
pub(super) fn texts(what: &str, args: Vec<Expr>) -> Result<Vec<Expr>> {
    args.into_iter()
        .map(|mut arg| {
            adopt(&mut arg, &Type::Text);
            match arg.ty() {
                Type::Text | Type::Unknown => Ok(arg),
                ty => no(format!("implicit conversion from {ty} in {what}")),
            }
        })
        .collect()
}

/// Whether an expression reads no column and no table.
fn is_made_of_constants(expr: &Expr) -> bool {
    let mut all = !matches!(expr, Expr::Column { .. });
    expr.for_each_child(&mut |child| {
        all &= match child {
            Child::Expr(part) => is_made_of_constants(part),
            Child::Plan(_) => false,
        };
    });
    all
}
