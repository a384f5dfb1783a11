//! Functions.

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{ArithmeticOp, CompareOp, Expr, Type, Value};

use super::aggregate::{Argument, is_aggregate};
use super::expr::{call, texts};
use super::{Lowerer, Result, absent, empty, literal, no, unset};

/// Functions whose value is not determined by their arguments.
const NOT_DETERMINISTIC: &[&str] = &[
    "random",
    "rand",
    "randn",
    "uuid",
    "uuid_generate_v4",
    "gen_random_uuid",
    "newid",
    "sys_guid",
    "now",
    "sysdate",
    "getdate",
    "systimestamp",
    "curdate",
    "curtime",
    "localtime",
    "localtimestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "session_user",
    "system_user",
    "user",
    "current_role",
    "current_schema",
    "current_database",
    "current_catalog",
    "database",
    "schema",
    "connection_id",
    "last_insert_id",
    "last_insert_rowid",
    "changes",
    "total_changes",
    "row_count",
    "found_rows",
    "nextval",
    "currval",
    "lastval",
    "setval",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "today",
    "sleep",
    "pg_sleep",
    "benchmark",
    "randomblob",
    "txid_current",
    "version",
    "monotonically_increasing_id",
    "rowid",
    "rownum",
    "spark_partition_id",
    "input_file_name",
    "any_value",
    "first",
    "last",
    "arbitrary",
    "group_concat",
    "string_agg",
    "listagg",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "json_arrayagg",
    "json_objectagg",
    "json_group_array",
    "json_group_object",
    "xmlagg",
    "list",
    "collect_list",
    "collect_set",
    "collect",
    "mode",
    "approx_count_distinct",
    "approx_distinct",
    "approx_quantile",
    "approx_percentile",
    "percentile_approx",
    "reservoir_quantile",
    "sample",
    "time",
    "datetime",
    "julianday",
    "strftime",
];

/// Aggregates and others that are not functions of a row.
const NOT_SCALAR: &[&str] = &[
    // They tell apart what is equal.
    "typeof",
    "pg_typeof",
    "total",
    "product",
    "median",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "percentile",
    "percentile_cont",
    "percentile_disc",
    "kurtosis",
    "skewness",
    "entropy",
    "geomean",
    "fsum",
    "favg",
    "sumkahan",
    "arg_min",
    "arg_max",
    "argmin",
    "argmax",
    "min_by",
    "max_by",
    "count_if",
    "countif",
    "count_star",
    "histogram",
    "bitstring_agg",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "range_agg",
    "rollup",
    "cube",
    "grouping",
    "grouping_id",
    "unnest",
    "explode",
    "posexplode",
    "generate_series",
    "range",
    "generate_subscripts",
    "json_each",
    "json_tree",
    "regexp_split_to_table",
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
    "any",
    "some",
    "all",
    "rank_filter",
    "checksum",
    "bit_count_agg",
    "sem",
    "mad",
    "var",
    "stdev",
    "stdevp",
    "varp",
    "values",
    "try_cast",
    "raise",
    "error",
    "raise_error",
    "assert_true",
];

/// Parts of a point in time that are whole numbers in every engine; seconds and all that counts them may not be.
const WHOLE_FIELDS: &[&str] = &["year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute"];

impl Lowerer<'_> {
    /// Expressions with a syntax of their own that are functions all the same.
    pub(super) fn special_function(&mut self, expr: &Ast) -> Result<Expr> {
        match expr {
            Ast::Function(function) => self.function(function),
            Ast::Extract { field, syntax: _, expr } => {
                let value = self.scalar(expr)?;
                let field = field.to_string().to_lowercase();
                let ty = if WHOLE_FIELDS.contains(&&field[..]) { Type::Integer } else { Type::Decimal };
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
        if NOT_DETERMINISTIC.contains(&name.as_str()) {
            return no(format!("non-deterministic function {name}"));
        }
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
        if NOT_SCALAR.contains(&name.as_str()) {
            return no(format!("the function {name}"));
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
                let (a, b) = (args[0].clone(), args.remove(1));
                let equal = self.compare(CompareOp::Eq, a, b)?;
                let value = args.remove(0);
                let null = Expr::null(value.ty());
                return self.choice(vec![equal], vec![null, value]);
            }
            ("if" | "iif", 3) => {
                let condition = args.remove(0);
                let condition = self.truth(condition)?;
                return self.choice(vec![condition], args);
            }
            ("nvl2", 3) => {
                let present = Expr::Not(Box::new(Expr::IsNull(Box::new(args.remove(0)))));
                return self.choice(vec![present], args);
            }
            ("date", 1) => return date(args.remove(0)),
            // Rows as values are opaque.
            ("row", 1..) => return Ok(call(name, args, Type::Other("row".to_owned()))),
            ("positive", 1) => return self.positive(args.remove(0)),
            ("negative", 1) => return self.negative(args.remove(0)),
            ("mod", 2) => {
                let divisor = args.remove(1);
                return self.arithmetic_on(ArithmeticOp::Rem, args.remove(0), divisor);
            }
            ("coalesce" | "ifnull" | "nvl" | "nullif" | "if" | "iif" | "nvl2" | "mod" | "date" | "row", count) => {
                return no(format!("{name} of {count} arguments"));
            }
            ("greatest" | "least", 1..) => {
                let (args, ty) = self.unify_all(args)?;
                return Ok(call(name, args, ty));
            }
            _ => {}
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

/// The one name and the result type of a function.
fn result(name: &str, args: &[Expr]) -> Result<(String, Type)> {
    let first = || args.first().map_or(Type::Unknown, Expr::ty);
    let numeric = |ty: Type| if ty.is_numeric() { Ok(ty) } else { no(format!("{name} of {ty}")) };
    let temporal = args.len() == 1 && matches!(first(), Type::Date | Type::Timestamp);
    let (name, ty) = match name {
        "year" if temporal => ("extract_year", Type::Integer),
        "month" if temporal => ("extract_month", Type::Integer),
        "day" | "dayofmonth" if temporal => ("extract_day", Type::Integer),
        "quarter" if temporal => ("extract_quarter", Type::Integer),
        "substring" | "substr" => ("substr", Type::Text),
        "char_length" | "character_length" => ("char_length", Type::Integer),
        "ceil" | "ceiling" => ("ceil", numeric(first())?),
        "pow" | "power" => ("power", Type::Double),
        "lower" | "upper" | "lcase" | "ucase" | "trim" | "ltrim" | "rtrim" | "btrim" | "replace" | "concat"
        | "concat_ws" | "left" | "right" | "lpad" | "rpad" | "repeat" | "reverse" | "translate" | "initcap" | "md5"
        | "hex" | "to_char" | "chr" | "format" | "date_format" | "regexp_replace" | "quote" | "space"
        | "split_part" | "overlay" | "insert" | "soundex" => (name, Type::Text),
        "length" | "len" | "octet_length" | "bit_length" | "position" | "instr" | "strpos" | "locate" | "ascii"
        | "unicode" | "year" | "month" | "day" | "hour" | "minute" | "quarter" | "week" | "dayofweek"
        | "dayofmonth" | "dayofyear" | "weekday" | "datediff" | "sign" | "crc32" | "bit_count" => (name, Type::Integer),
        "second" | "unix_timestamp" => (name, Type::Decimal),
        "abs" | "floor" | "round" | "trunc" | "truncate" => (name, numeric(first())?),
        "sqrt" | "exp" | "ln" | "log" | "log2" | "log10" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan"
        | "atan2" | "cot" | "degrees" | "radians" | "pi" | "cbrt" => (name, Type::Double),
        "date_sub" | "date_add" | "add_months" | "last_day" | "to_date" | "date_trunc" | "adddate" | "subdate"
        | "makedate" => (name, Type::Date),
        "to_timestamp" | "from_unixtime" | "timestampadd" => (name, Type::Timestamp),
        "isnull" if args.len() == 1 => return no("isnull"),
        "starts_with" | "ends_with" | "contains" | "regexp_like" | "regexp_matches" => (name, Type::Boolean),
        _ => (name, Type::opaque()),
    };
    Ok((name.to_owned(), ty))
}
