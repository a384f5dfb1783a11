//! Functions.

use std::collections::HashSet;
use std::sync::LazyLock;

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{ArithmeticOp, Assumption, CompareOp, Expr, Type, Value, results};

use super::aggregate::{Argument, WINDOW_FUNCTIONS, is_aggregate};
use super::expr::{call, texts};
use super::types::common;
use super::{Lowerer, Result, absent, empty, literal, no, unset};

/// Functions of values, by the engines' own catalogues. An unknown function may be an aggregate, yield several rows or
/// another value each time, so what is not here is refused.
const SCALAR: &str = include_str!("scalar_functions.txt");

/// The functions that are taken for ones of values, each with the engines that have it.
pub fn scalar_functions() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let lines = SCALAR.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
    lines.map(|(name, engines)| (name, engines.split_whitespace().collect()))
}

/// Whether a function is one of values in every engine that has it.
fn is_scalar(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| scalar_functions().map(|(name, _)| name).collect());
    NAMES.contains(name)
}

/// Functions with a meaning in the plan, and those of groups.
const MEANT: [&str; 16] = [
    "coalesce",
    "date",
    "greatest",
    "grouping",
    "grouping_id",
    "if",
    "ifnull",
    "iif",
    "least",
    "mod",
    "negative",
    "nullif",
    "nvl",
    "nvl2",
    "positive",
    "row",
];

/// Whether a name, in lower case, is of a function that is read: of values, an aggregate, or of a window. None of them does
/// anything but give a value. With some arguments it may be refused all the same.
pub fn knows_function(name: &str) -> bool {
    is_scalar(name) || MEANT.contains(&name) || is_aggregate(name) || WINDOW_FUNCTIONS.contains(&name)
}

impl Lowerer<'_> {
    /// Expressions with a syntax of their own that are functions all the same.
    pub(super) fn special_function(&mut self, expr: &Ast) -> Result<Expr> {
        match expr {
            Ast::Function(function) => self.function(function),
            Ast::Extract { field, syntax: _, expr } => {
                let value = self.scalar(expr)?;
                let field = field.to_string().to_lowercase();
                let ty = results::extract(&field);
                Ok(call(&format!("extract_{field}"), vec![value], ty))
            }
            Ast::Ceil { expr, field } => self.rounded("ceil", expr, field),
            Ast::Floor { expr, field } => self.rounded("floor", expr, field),
            Ast::Position { expr, r#in } => {
                let args = vec![self.scalar(expr)?, self.scalar(r#in)?];
                let args = texts("POSITION", args)?;
                Ok(call("position", args, Type::Integer))
            }
            Ast::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                let mut args = vec![expr.as_ref()];
                match (substring_from, substring_for) {
                    (Some(from), length) => {
                        args.push(from);
                        args.extend(length.as_deref());
                    }
                    (None, _) => return no("SUBSTRING without a start"),
                }
                let args = args.into_iter().map(|a| self.scalar(a)).collect::<Result<Vec<_>>>()?;
                self.known("substr", args)
            }
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "trim",
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                };
                let mut args = vec![self.scalar(expr)?];
                args.extend(trim_what.as_ref().map(|what| self.scalar(what)).transpose()?);
                for characters in trim_characters.iter().flatten() {
                    args.push(self.scalar(characters)?);
                }
                self.known(name, args)
            }
            other => no(format!("{other}")),
        }
    }

    fn rounded(&mut self, name: &str, expr: &Ast, field: &ast::CeilFloorKind) -> Result<Expr> {
        match field {
            ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => {
                let value = self.scalar(expr)?;
                self.known(name, vec![value])
            }
            ast::CeilFloorKind::DateTimeField(_) | ast::CeilFloorKind::Scale(_) => no(format!("{name} TO")),
        }
    }

    fn function(&mut self, function: &ast::Function) -> Result<Expr> {
        let ast::Function { name, uses_odbc_syntax, parameters, args, within_group, filter, null_treatment, over } =
            function;
        unset(*uses_odbc_syntax, "ODBC functions")?;
        unset(!matches!(parameters, ast::FunctionArguments::None), "a function with parameters")?;
        empty(within_group, "WITHIN GROUP")?;
        absent(null_treatment.as_ref(), "IGNORE or RESPECT NULLS")?;
        let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
            return no(format!("the function {name}"));
        };
        let name = ident.value.to_lowercase();
        let (distinct, args) = match args {
            ast::FunctionArguments::None => return no(format!("the function {name} without parentheses")),
            ast::FunctionArguments::Subquery(_) => return no(format!("{name} of a subquery")),
            ast::FunctionArguments::List(list) => arguments(list)?,
        };
        let filter = filter.as_deref();
        if let Some(over) = over {
            unset(distinct, "DISTINCT in a window function")?;
            return self.window(&name, &args, filter, over);
        }
        if is_aggregate(&name) {
            return self.aggregate(&name, distinct, &args, filter);
        }
        unset(distinct, "DISTINCT in a function")?;
        absent(filter, "FILTER of a function")?;
        if matches!(name.as_str(), "grouping" | "grouping_id") {
            return self.grouping_call(&args);
        }
        // Without arguments they are clocks and random numbers.
        if args.is_empty() && name != "pi" && !self.schema.functions.contains(&name) {
            return no(format!("the function {name}()"));
        }
        let args = args
            .iter()
            .map(|arg| match arg {
                Argument::Star => no(format!("{name}(*)")),
                Argument::Expr(expr) => self.scalar(expr),
            })
            .collect::<Result<Vec<_>>>()?;
        self.known(&name, args)
    }

    /// A function of values: one with a meaning in the plan, or a call with the type that is known of it.
    fn known(&mut self, name: &str, mut args: Vec<Expr>) -> Result<Expr> {
        match (name, args.len()) {
            ("coalesce", 1..) | ("ifnull" | "nvl", 2) => return self.coalesce(args),
            ("nullif", 2) => {
                known_types("nullif", &args[..1])?;
                let (a, b) = (args[0].clone(), args.remove(1));
                let second = b.ty();
                if args[0].ty() == Type::Text {
                    // Beside a date it becomes one in PostgreSQL.
                    common(&Type::Text, &second)?;
                }
                let equal = self.compare(CompareOp::Eq, a, b)?;
                let value = args.remove(0);
                let ty = results::nullif(&value.ty(), &second);
                let value = self.convert(value, &ty)?;
                return self.choice(vec![equal], vec![Expr::null(ty), value]);
            }
            ("if" | "iif", 3) => {
                let condition = args.remove(0);
                let condition = self.truth(condition)?;
                return self.choice(vec![condition], args);
            }
            ("nvl2", 3) => {
                known_types("nvl2", &args[1..])?;
                let present = Expr::Not(Box::new(Expr::IsNull(Box::new(args.remove(0)))));
                return self.choice(vec![present], args);
            }
            ("date", 1) => return date(args.remove(0)),
            // Rows as values are opaque.
            ("row", 1..) => return Ok(call(name, args, Type::Other("row".to_owned()))),
            ("positive", 1) => return self.positive(args.remove(0)),
            ("negative", 1) => return self.negative(args.remove(0)),
            ("mod", 2) => {
                // SQLite's MOD yields a REAL (https://sqlite.org/lang_mathfunc.html#mod).
                self.assumptions.insert(Assumption::StaticTypes);
                let divisor = args.remove(1);
                return self.arithmetic_on(ArithmeticOp::Rem, args.remove(0), divisor);
            }
            ("coalesce" | "ifnull" | "nvl" | "nullif" | "if" | "iif" | "nvl2" | "mod" | "date" | "row", count) => {
                return no(format!("{name} of {count} arguments"));
            }
            ("greatest" | "least", 1..) => {
                known_types(name, &args)?;
                let (args, ty) = self.unify_all(args)?;
                return Ok(call(name, args, ty));
            }
            _ => {}
        }
        if !is_scalar(name) && self.schema.functions.contains(name) {
            self.assumptions.insert(Assumption::FunctionsAreDeterministic);
            // No operator and no other function has a name like this.
            return Ok(call(&format!("{name}()"), args, Type::opaque()));
        }
        if !is_scalar(name) {
            return no(format!("the function {name}, which is not known to be one of values"));
        }
        let (name, ty) = result(name, &args)?;
        Ok(call(&name, args, ty))
    }

    /// The first value that is not NULL.
    fn coalesce(&mut self, args: Vec<Expr>) -> Result<Expr> {
        let (mut args, ty) = self.unify_all(args)?;
        let Some(otherwise) = args.pop() else { return no("COALESCE()") };
        if args.is_empty() {
            return Ok(otherwise);
        }
        let present = |value: &Expr| Expr::Not(Box::new(Expr::IsNull(Box::new(value.clone()))));
        let branches = args.into_iter().map(|value| (present(&value), value)).collect();
        Ok(Expr::Case { branches, otherwise: Box::new(otherwise), ty })
    }
}

/// Refuses a bare NULL, which makes a double or a text of the result in MariaDB; of NULLIF it has the type of what it is
/// compared with in PostgreSQL.
fn known_types(name: &str, args: &[Expr]) -> Result<()> {
    if args.iter().any(|arg| arg.ty() == Type::Unknown) { no(format!("{name} of a bare NULL")) } else { Ok(()) }
}

/// DISTINCT and the arguments of a call.
fn arguments(list: &ast::FunctionArgumentList) -> Result<(bool, Vec<Argument<'_>>)> {
    let ast::FunctionArgumentList { duplicate_treatment, args, clauses } = list;
    empty(clauses, "a clause in a function call")?;
    let distinct = matches!(duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
    let args = args.iter().map(|arg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(Argument::Expr(expr)),
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => Ok(Argument::Star),
        other => no(format!("the argument {other}")),
    });
    Ok((distinct, args.collect::<Result<Vec<_>>>()?))
}

/// Whether a function is known to be deterministic.
pub(super) fn is_known(name: &str, ty: &Type) -> bool {
    !matches!(*ty, Type::Unknown) && *ty != Type::opaque()
        || name.ends_with("_op")
        || matches!(name, "greatest" | "least" | "interval")
}

/// The date in a text or timestamp. Words such as `now` are not constants.
fn date(value: Expr) -> Result<Expr> {
    match (&value, value.ty()) {
        (Expr::Literal(Value::Text(text), Type::Text), _) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            literal::temporal(text, &Type::Date)
        }
        (_, Type::Date | Type::Timestamp) => {
            Ok(Expr::Cast { value: Box::new(value), to: Type::Date, target: "date".to_owned() })
        }
        (_, ty) => no(format!("date of {ty}")),
    }
}

/// The one name and the result type of a function that is no number's: those are in [`results`].
fn result(name: &str, args: &[Expr]) -> Result<(String, Type)> {
    let first = args.first().map_or(Type::Unknown, Expr::ty);
    let temporal = args.len() == 1 && matches!(first, Type::Date | Type::Moment | Type::Timestamp);
    // A date that is moved, or cut at a month, is a timestamp in some engines.
    let moved = || if args.iter().any(|a| a.ty() == Type::Timestamp) { Type::Timestamp } else { Type::Moment };
    let name = match name {
        "ceiling" => "ceil",
        "pow" => "power",
        "substring" => "substr",
        "character_length" => "char_length",
        name => name,
    };
    let types: Vec<Type> = args.iter().map(Expr::ty).collect();
    if let Some(ty) = results::function(name, &types) {
        return Ok((name.to_owned(), ty));
    }
    if results::RULES.iter().any(|rule| rule.functions.iter().any(|(known, _)| *known == name)) {
        return no(format!("{name} of {} arguments, the first of type {first}", args.len()));
    }
    let (name, ty) = match name {
        "year" | "month" | "quarter" if temporal => (format!("extract_{name}"), results::extract(name)),
        "day" | "dayofmonth" if temporal => ("extract_day".to_owned(), results::extract("day")),
        "pi" => (name.to_owned(), Type::Double),
        _ => {
            let ty = match name {
                "substr" | "lower" | "upper" | "lcase" | "ucase" | "trim" | "ltrim" | "rtrim" | "btrim" | "replace"
                | "concat" | "concat_ws" | "left" | "right" | "lpad" | "rpad" | "reverse" | "translate" | "initcap"
                | "md5" | "hex" | "to_char" | "chr" | "format" | "date_format" | "regexp_replace" | "quote"
                | "space" | "split_part" | "overlay" | "insert" | "soundex" => Type::Text,
                "char_length" | "length" | "len" | "octet_length" | "bit_length" | "position" | "instr" | "strpos"
                | "locate" | "ascii" | "unicode" | "year" | "month" | "day" | "hour" | "minute" | "quarter"
                | "week" | "dayofweek" | "dayofmonth" | "dayofyear" | "weekday" | "datediff" | "bit_count" => {
                    Type::Integer
                }
                "second" | "unix_timestamp" => Type::Decimal,
                "date_sub" | "add_months" | "date_trunc" | "adddate" | "subdate" | "timestampadd" => moved(),
                "last_day" | "to_date" | "makedate" => Type::Date,
                "from_unixtime" => Type::Timestamp,
                "starts_with" | "ends_with" | "contains" | "regexp_like" => Type::Boolean,
                // `date_add` too: in PostgreSQL from version 16 it is a function of instants.
                _ => Type::opaque(),
            };
            (name.to_owned(), ty)
        }
    };
    Ok((name, ty))
}
