//! Expressions as values and conditions.

use crate::ir::number::Number;
use crate::ir::results;

use super::{
    ArithmeticOp, Assumption, Builder, Cmp, CompareOp, Expr, F, Op, Rc, Reason, Scopes, Type, V, Val, Value, aggregate,
    decimal_size, make, retype, shows_scale, simplify, subst,
};

/// Functions that are NULL if an argument is.
const STRICT: &[&str] = &[
    "abs",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "concat_op",
    "floor",
    "ilike",
    "length",
    "like",
    "lower",
    "ltrim",
    "mod",
    "octet_length",
    "power",
    "replace",
    "reverse",
    "round",
    "rtrim",
    "sign",
    "sqrt",
    "substr",
    "substring",
    "trim",
    "upper",
];

impl Builder<'_> {
    pub(super) fn expr(&mut self, expr: &Expr, scopes: &mut Scopes) -> Result<V, Reason> {
        Ok(match expr {
            Expr::Column { depth, index, .. } => scopes[scopes.len() - 1 - depth][*index].clone(),
            Expr::Literal(Value::Null, ty) => make::null(ty.domain()),
            Expr::Literal(value, ty) => Rc::new(Val::Lit(value.clone(), ty.domain())),
            Expr::Arithmetic(op, a, b, ty) => {
                self.whole_doubles([a.ty(), b.ty()])?;
                let quotient = results::quotient(&a.ty(), &b.ty()).unwrap_or_else(|| ty.clone());
                let (a, b) = (self.expr(a, scopes)?, self.expr(b, scopes)?);
                let (exact, domain) = (ty.is_exact(), ty.domain());
                match op {
                    ArithmeticOp::Add if exact => make::arith(Op::Add, &a, &b, &domain),
                    ArithmeticOp::Sub if exact => make::arith(Op::Sub, &a, &b, &domain),
                    ArithmeticOp::Mul if exact => make::arith(Op::Mul, &a, &b, &domain),
                    ArithmeticOp::Div => divide(a, b, &quotient),
                    // No function has a name in capitals. What is computed with decides how it is rounded.
                    _ => {
                        let name = format!("{op:?}").to_uppercase();
                        let name = if exact || *ty == Type::Double { name } else { format!("{name} {ty}") };
                        subst::make_call(&name, vec![a, b], &domain, true)
                    }
                }
            }
            Expr::Case { branches, otherwise, ty } => {
                let mut value = retype(self.expr(otherwise, scopes)?, ty);
                for (condition, result) in branches.iter().rev() {
                    let (holds, _) = self.condition(condition, scopes)?;
                    value = make::case(&holds, retype(self.expr(result, scopes)?, ty), value);
                }
                value
            }
            Expr::Cast { value, to, target } => {
                let written = value.ty();
                self.whole_doubles([written.clone()])?;
                if (shows_scale(&written) || written == Type::opaque()) && !to.is_numeric() {
                    return Err(Reason::Unsupported(format!("cast of a decimal to {target}, which shows its scale")));
                }
                let value = self.expr(value, scopes)?;
                self.cast(value, &written, to, target)
            }
            Expr::Call { name, args, ty } => {
                self.whole_doubles(args.iter().map(Expr::ty))?;
                let symbol = call_symbol(name, args)?;
                let args = self.exprs(args, scopes)?;
                subst::make_call(&symbol, args, &ty.domain(), STRICT.contains(&&name[..]))
            }
            Expr::Scalar(plan) => {
                let nf = self.plan(plan, scopes)?;
                let ty = expr.ty().domain();
                if nf.terms.len() == 1 && nf.terms[0].vars.is_empty() && make::is_int(&nf.terms[0].weight, 1) {
                    let term = &nf.terms[0];
                    return Ok(make::case(&term.condition(), term.out[0].clone(), make::null(ty)));
                }
                self.assumptions.insert(Assumption::ScalarSubqueryAtMostOneRow);
                aggregate::scalar(self.cx, nf, &ty)
            }
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::Compare(..)
            | Expr::Same(..)
            | Expr::IsNull(_)
            | Expr::IsTruth(..)
            | Expr::Exists(_)
            | Expr::Quantified { .. } => {
                let (t, f) = self.condition(expr, scopes)?;
                make::boolean(t, f)
            }
        })
    }

    /// An error where values of REAL are computed with: equal numbers of 32 and of 64 bits do not give equal results.
    pub(super) fn whole_doubles(&self, operands: impl IntoIterator<Item = Type>) -> Result<(), Reason> {
        if self.cx.schema.has_single() && operands.into_iter().any(|ty| ty.as_number().is_some_and(Number::has_float)) {
            return Err(Reason::Unsupported("arithmetic on REAL or FLOAT, which may have 32 bits".to_owned()));
        }
        Ok(())
    }

    /// Conversions that keep the value (numbers to wider exact types, text to text) vanish; others have no meaning.
    /// `written` is the type of the operand as the query has it; that of the value may be another one of equal values.
    fn cast(&mut self, value: V, written: &Type, to: &Type, target: &str) -> V {
        let (domain, to) = (written.domain(), &to.domain());
        if matches!(*value, Val::Null(_)) {
            return make::null(to.clone());
        }
        let from = value.ty();
        let keeps = match (&domain, to) {
            _ if from.unify(&domain).as_ref() != Some(&domain) => false,
            // A whole number, of whatever type.
            (Type::Integer, Type::Integer) if !target.ends_with("unsigned") && !target.starts_with("number") => {
                self.assumptions.insert(Assumption::ExactArithmetic);
                true
            }
            (Type::Integer, Type::Decimal) if written.is_exact() && !target.starts_with("number") => {
                self.assumptions.extend([Assumption::ExactArithmetic, Assumption::CastsKeepValues]);
                true
            }
            (Type::Text, Type::Text) => {
                if target.contains('(') {
                    self.assumptions.insert(Assumption::CastsKeepValues);
                }
                true
            }
            // A decimal of no more digits on either side of the point.
            (Type::Decimal, Type::Decimal)
                if self.cx.decimal(&value).zip(decimal_size(target)).is_some_and(
                    |((digits, places), (to, to_places))| {
                        places <= to_places && digits.saturating_sub(places) <= to.saturating_sub(to_places)
                    },
                ) =>
            {
                self.assumptions.insert(Assumption::CastsKeepValues);
                true
            }
            // A decimal or a time without a written precision gets the engine's own, and is rounded to it.
            // A date that a function yields is a point in time in some engines.
            (Type::Date, Type::Date) if *written == Type::Date => self.cx.is_stored(&value) || value.is_lit(),
            (a, b) => a == b && *a == Type::Boolean,
        };
        if keeps { value } else { subst::make_call(&format!("cast of {written} to {target}"), vec![value], to, true) }
    }

    /// When a condition is TRUE, and when it is FALSE.
    pub(super) fn condition(&mut self, expr: &Expr, scopes: &mut Scopes) -> Result<(F, F), Reason> {
        Ok(match expr {
            Expr::And(parts) => {
                let parts = parts.iter().map(|p| self.condition(p, scopes)).collect::<Result<Vec<_>, _>>()?;
                let (t, f): (Vec<F>, Vec<F>) = parts.into_iter().unzip();
                (make::and(t), make::or(f))
            }
            Expr::Or(parts) => {
                let parts = parts.iter().map(|p| self.condition(p, scopes)).collect::<Result<Vec<_>, _>>()?;
                let (t, f): (Vec<F>, Vec<F>) = parts.into_iter().unzip();
                (make::or(t), make::and(f))
            }
            Expr::Not(inner) => {
                let (t, f) = self.condition(inner, scopes)?;
                (f, t)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(a, scopes)?, self.expr(b, scopes)?);
                (compare(*op, &a, &b), compare(op.negated(), &a, &b))
            }
            Expr::Same(a, b) => {
                let same = make::same(&self.expr(a, scopes)?, &self.expr(b, scopes)?);
                (same.clone(), make::not(same))
            }
            Expr::IsNull(a) => {
                let null = make::is_null(&self.expr(a, scopes)?);
                (null.clone(), make::not(null))
            }
            Expr::IsTruth(a, wanted) => {
                let (t, f) = self.condition(a, scopes)?;
                let holds = if *wanted { t } else { f };
                (holds.clone(), make::not(holds))
            }
            Expr::Exists(plan) => {
                let some = simplify::exists_any(self.cx, &self.plan(plan, scopes)?);
                (some.clone(), make::not(some))
            }
            Expr::Quantified { row, op, all, query } => {
                let row = self.exprs(row, scopes)?;
                let nf = self.plan(query, scopes)?;
                let (mut holds, mut fails) = (Vec::new(), Vec::new());
                for term in &nf.terms {
                    let term = subst::open(self.cx, term);
                    let pairs = || row.iter().zip(&term.out);
                    // Rows compare by `=` and `<>` only: all parts equal, or some part different.
                    let (t, f) = match (row.len(), op) {
                        (1, op) => (compare(*op, &row[0], &term.out[0]), compare(op.negated(), &row[0], &term.out[0])),
                        (_, CompareOp::Eq | CompareOp::Ne) => {
                            let equal = make::and(pairs().map(|(a, b)| compare(CompareOp::Eq, a, b)));
                            let unequal = make::or(pairs().map(|(a, b)| compare(CompareOp::Ne, a, b)));
                            if *op == CompareOp::Eq { (equal, unequal) } else { (unequal, equal) }
                        }
                        _ => return Err(Reason::Unsupported("row comparison under ANY or ALL".to_owned())),
                    };
                    let with = |f: &F| {
                        let mut term = term.clone();
                        term.restrict(f);
                        simplify::exists(self.cx, subst::open(self.cx, &term))
                    };
                    holds.push(with(&if *all { f.clone() } else { t.clone() }));
                    fails.push(with(&make::not(if *all { t } else { f })));
                }
                // ANY is true if some row holds, false if every row is false; ALL is dual.
                let (some, others) = (make::or(holds), make::or(fails));
                if *all { (make::not(others), some) } else { (some, make::not(others)) }
            }
            _ => make::truth(&self.expr(expr, scopes)?),
        })
    }
}

fn compare(op: CompareOp, a: &V, b: &V) -> F {
    match op {
        CompareOp::Eq => make::cmp(Cmp::Eq, a, b),
        CompareOp::Ne => make::cmp(Cmp::Ne, a, b),
        CompareOp::Lt => make::cmp(Cmp::Lt, a, b),
        CompareOp::Le => make::cmp(Cmp::Le, a, b),
        CompareOp::Gt => make::cmp(Cmp::Lt, b, a),
        CompareOp::Ge => make::cmp(Cmp::Le, b, a),
    }
}

/// The name under which a function is known to the prover. Equal values are the same argument, but 1 and 1.0 are equal
/// and not the same text; so, except where only the number counts, types of numbers are part of the name, and a decimal,
/// whose scale is not known here, has no such name.
fn call_symbol(name: &str, args: &[Expr]) -> Result<String, Reason> {
    if results::NUMERIC.contains(&name) {
        // Doubles are rounded to even in some engines, and whole numbers become doubles first.
        let plain = matches!(name, "abs" | "greatest" | "least") || args.iter().all(|a| a.ty() == Type::Decimal);
        let first = args.first().map_or(Type::Unknown, Expr::ty);
        return Ok(if plain { name.to_owned() } else { format!("{name} {first}") });
    }
    let may_be_typed =
        |a: &Expr| a.ty().is_numeric() || matches!(a.ty(), Type::Unknown | Type::Moment) || a.ty() == Type::opaque();
    if !args.iter().any(may_be_typed) {
        return Ok(name.to_owned());
    }
    if args.iter().any(|a| shows_scale(&a.ty()) || a.ty() == Type::opaque()) {
        return Err(Reason::Unsupported(format!("{name} of a decimal, which may show its scale")));
    }
    // The position of a part of a text is a number and nothing else.
    if args.iter().skip(1).all(|a| a.ty().is_whole()) && args[0].ty() == Type::Text {
        return Ok(name.to_owned());
    }
    let types: Vec<String> = args.iter().map(|a| a.ty().to_string().to_lowercase()).collect();
    Ok(format!("{name}({})", types.join(",")))
}

/// Division has no meaning here except by one. `quotient` is the type of the quotient, which says where it is cut to a
/// whole number.
pub(super) fn divide(a: V, b: V, quotient: &Type) -> V {
    if make::is_int(&b, 1) && quotient.is_exact() {
        return a;
    }
    let ty = quotient.domain();
    // A quotient of whole numbers without remainder is the same everywhere.
    if let (Val::Lit(x, Type::Integer), Val::Lit(y, Type::Integer)) = (&*a, &*b)
        && let (Some(x), Some(y)) = (x.to_rational(), y.to_rational())
        && *y.numer() != 0.into()
        && (&x / &y).is_integer()
    {
        return Rc::new(Val::Lit(Value::number(x / y), ty));
    }
    // What an engine makes of division by zero differs, NULL included.
    subst::make_call(&format!("DIV {quotient}"), vec![a, b], &ty, true)
}
