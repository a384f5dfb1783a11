//! Expressions in which types meet: casts, functions, and operators on numbers of several types. And changes of an
//! expression by which a type may become another one.

use std::collections::BTreeMap;

use sqlparser::ast::{BinaryOperator, Expr, Query, Value};

use super::mutate::Uses;
use super::rewrite::arguments;
use super::scalar::{Gen, Ref};
use super::schema::{Schema, Ty};
use super::tree::replace_expr;
use super::{Rng, pick};
use crate::walk::walk;

impl Gen<'_> {
    /// A value of about this type, made of values of others.
    pub(super) fn converted(&mut self, scope: &[Ref], ty: Ty, depth: usize) -> String {
        match ty {
            Ty::Int | Ty::Long | Ty::Dec | Ty::Double => self.number(scope, ty, depth),
            Ty::Bool => self.truth(scope, depth),
            Ty::Text => self.text(scope, depth),
            Ty::Date => {
                let (text, moment) = (self.value(scope, Ty::Text, depth), self.value(scope, Ty::Stamp, depth));
                let date = self.leaf(scope, Ty::Date);
                self.one(&[
                    format!("CAST({text} AS DATE)"),
                    format!("CAST({moment} AS DATE)"),
                    format!("CAST(({date} + INTERVAL '1' DAY) AS DATE)"),
                    format!("COALESCE({date}, DATE '2020-02-29')"),
                ])
            }
            Ty::Stamp => {
                let (date, moment) = (self.value(scope, Ty::Date, depth), self.leaf(scope, Ty::Stamp));
                self.one(&[
                    format!("CAST({date} AS TIMESTAMP)"),
                    format!("({moment} - INTERVAL '1' MONTH)"),
                    format!("COALESCE({moment}, TIMESTAMP '2020-02-29 12:34:56')"),
                ])
            }
        }
    }

    fn any_number(&mut self, scope: &[Ref], depth: usize) -> String {
        let ty = self.one(&[Ty::Int, Ty::Int, Ty::Long, Ty::Dec, Ty::Double]);
        self.value(scope, ty, depth)
    }

    fn number(&mut self, scope: &[Ref], ty: Ty, depth: usize) -> String {
        let (a, b) = (self.any_number(scope, depth), self.value(scope, ty, depth));
        match self.below(20) {
            0..3 => format!("CAST({a} AS {})", ty.sql()),
            3..8 => format!("({a} {} {b})", self.one(&["/", "/", "+", "-", "*", "%"])),
            8 | 9 => format!("{}({a})", self.one(&["FLOOR", "CEIL", "ROUND", "ABS", "SIGN", "TRUNC"])),
            10 => format!("ROUND({a}, 1)"),
            11 => format!("COALESCE({a}, {b})"),
            12 => format!("NULLIF({a}, {b})"),
            13 => format!("(CASE WHEN {} THEN {a} ELSE {b} END)", self.predicate(scope, 0)),
            14 => format!("{}({a}, {b})", self.one(&["GREATEST", "LEAST", "MOD", "POWER"])),
            15 => {
                let of = self.one(&[Ty::Date, Ty::Stamp]);
                let field = self.one(&["YEAR", "MONTH", "DAY"]);
                format!("EXTRACT({field} FROM {})", self.value(scope, of, depth))
            }
            16 => format!("LENGTH({})", self.value(scope, Ty::Text, depth)),
            17 => format!("CAST({} AS {})", self.value(scope, Ty::Text, depth), ty.sql()),
            18 => format!("CAST({} AS INT)", self.value(scope, Ty::Bool, depth)),
            _ => self.one(&["1e0", "2.5e0", "9007199254740993", "2147483648", "0.5", "NULL"]).to_owned(),
        }
    }

    fn truth(&mut self, scope: &[Ref], depth: usize) -> String {
        match self.below(8) {
            0 => format!("CAST({} AS BOOLEAN)", self.value(scope, Ty::Int, depth)),
            1 => format!("({} LIKE {})", self.value(scope, Ty::Text, depth), self.one(&["'x%'", "'_'", "'%y'"])),
            2 => format!("({} < {})", self.value(scope, Ty::Date, depth), self.value(scope, Ty::Date, 0)),
            3 => format!("({} IS DISTINCT FROM {})", self.any_number(scope, depth), self.any_number(scope, 0)),
            _ => {
                let op = self.comparison();
                format!("({} {op} {})", self.any_number(scope, depth), self.any_number(scope, depth))
            }
        }
    }

    fn text(&mut self, scope: &[Ref], depth: usize) -> String {
        let (a, b) = (self.value(scope, Ty::Text, depth), self.leaf(scope, Ty::Text));
        match self.below(10) {
            0..4 => {
                let of = self.one(&[Ty::Int, Ty::Long, Ty::Dec, Ty::Double, Ty::Text, Ty::Date, Ty::Stamp, Ty::Bool]);
                let to = self.one(&["TEXT", "TEXT", "VARCHAR", "VARCHAR(2)", "CHAR(3)"]);
                format!("CAST({} AS {to})", self.value(scope, of, depth))
            }
            4 => format!("({a} || {b})"),
            5 => format!("{}({a})", self.one(&["UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM"])),
            6 => format!("REPLACE({a}, 'x', {b})"),
            7 => format!("SUBSTR({a}, 1, 1)"),
            8 => format!("COALESCE({a}, {b})"),
            _ => format!("NULLIF({a}, {b})"),
        }
    }
}

/// Puts an expression in the place of a column, everywhere in both texts.
pub(super) fn wrap(rng: &mut Rng, schema: &Schema, (left, right): (String, String)) -> (String, String) {
    let table = pick(rng, &schema.tables);
    let column = pick(rng, &table.columns);
    let around = *pick(rng, surroundings(column.ty));
    (replace_column(&left, column.name, around), replace_column(&right, column.name, around))
}

/// Expressions of a column `#`, most of its type.
fn surroundings(ty: Ty) -> &'static [&'static str] {
    match ty {
        Ty::Int | Ty::Long | Ty::Dec | Ty::Double => &[
            "(# / 2)",
            "(# / 2.0)",
            "(7 / #)",
            "(# % 3)",
            "(# * 1.0)",
            "(# + 0e0)",
            "FLOOR(#)",
            "CEIL(#)",
            "ROUND(#)",
            "ROUND(#, 1)",
            "TRUNC(#)",
            "SIGN(#)",
            "ABS(#)",
            "POWER(#, 2)",
            "GREATEST(#, 1.5)",
            "LEAST(#, 2)",
            "NULLIF(#, 0.0)",
            "NULLIF(#, 1)",
            "COALESCE(#, 0.5)",
            "COALESCE(#, 2e0)",
            "CAST(# AS INT)",
            "CAST(# AS BIGINT)",
            "CAST(# AS NUMERIC)",
            "CAST(# AS DECIMAL(10,2))",
            "CAST(# AS DOUBLE PRECISION)",
            "CAST(CAST(# AS TEXT) AS INT)",
            "LENGTH(CAST(# AS TEXT))",
        ],
        Ty::Text => &[
            "UPPER(#)",
            "SUBSTR(#, 1, 1)",
            "(# || 'x')",
            "CAST(# AS VARCHAR(2))",
            "REPLACE(#, 'x', 'y')",
            "TRIM(#)",
            "COALESCE(#, 'x')",
        ],
        Ty::Date => &[
            "CAST(# AS TIMESTAMP)",
            "(# + INTERVAL '1' DAY)",
            "CAST(CAST(# AS TEXT) AS DATE)",
            "CAST((# + INTERVAL '1' MONTH) AS DATE)",
            "EXTRACT(YEAR FROM #)",
        ],
        Ty::Stamp => &["CAST(# AS DATE)", "(# - INTERVAL '1' MONTH)", "EXTRACT(MONTH FROM #)"],
        Ty::Bool => &["CAST(# AS INT)", "COALESCE(#, TRUE)"],
    }
}

/// Names of uses of tables are an `r` and a number.
fn replace_column(text: &str, column: &str, around: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let ending = format!(".{column}");
    while let Some(at) = rest.find(&ending) {
        let (before, after) = (&rest[..at], &rest[at + ending.len()..]);
        let number = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_whole = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match before[..before.len() - number].strip_suffix('r') {
            Some(start) if number > 0 && is_whole => {
                out.push_str(start);
                out.push_str(&around.replace('#', &rest[start.len()..at + ending.len()]));
            }
            _ => out.push_str(&rest[..at + ending.len()]),
        }
        rest = after;
    }
    out + rest
}

/// Changes one random place so that a type may be another one; `false` if there was none.
pub(super) fn change(rng: &mut Rng, schema: &Schema, query: &mut Query) -> bool {
    let mut uses = Uses::default();
    let _ = walk(&mut query.clone(), &mut uses);
    replace_expr(rng, query, &|expr| changes(expr, schema, &uses.0))
}

fn changes(expr: &Expr, schema: &Schema, uses: &BTreeMap<String, String>) -> Vec<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) if text.contains('e') => vec![format!("CAST({text} AS DOUBLE PRECISION)")],
            Value::Number(text, _) if text.contains('.') => {
                vec![format!("{text}e0"), format!("CAST({text} AS NUMERIC)"), format!("CAST({text} AS INT)")]
            }
            Value::Number(text, _) => {
                vec![format!("{text}.0"), format!("{text}e0"), format!("CAST({text} AS BIGINT)")]
            }
            Value::SingleQuotedString(text) => vec![format!("CAST('{text}' AS TEXT)"), format!("UPPER('{text}')")],
            _ => Vec::new(),
        },
        Expr::CompoundIdentifier(parts) => {
            let [alias, column] = parts.as_slice() else { return Vec::new() };
            let table = uses.get(&alias.value).and_then(|name| schema.tables.iter().find(|t| t.name == *name));
            let column = table.and_then(|table| table.columns.iter().find(|c| c.name == column.value));
            column.map(|column| column_changes(&expr.to_string(), column.ty)).unwrap_or_default()
        }
        Expr::Cast { expr: x, data_type, .. } => {
            let mut out = vec![format!("({x})")];
            let numbers = ["INT", "BIGINT", "DECIMAL(10,2)", "DOUBLE PRECISION", "NUMERIC"];
            if numbers.contains(&&*data_type.to_string()) {
                out.extend(numbers.iter().map(|to| format!("CAST({x} AS {to})")));
                out.push(format!("(CAST({x} AS {data_type}) + 0)"));
            }
            out
        }
        Expr::BinaryOp { left: x, op: BinaryOperator::Divide, right: y } => vec![
            format!("(({x} * 1.0) / {y})"),
            format!("({x} / (1.0 * {y}))"),
            format!("CAST(({x} / {y}) AS INT)"),
            format!("(({x} / {y}) + 0.0)"),
            format!("({x} * (1.0 / {y}))"),
        ],
        Expr::BinaryOp { left: x, op: op @ (BinaryOperator::Plus | BinaryOperator::Multiply), right: y } => {
            vec![format!("({y} {op} {x})"), format!("({x} {op} (0.0 + {y}))")]
        }
        Expr::Extract { .. } => vec![format!("CAST({expr} AS INT)"), format!("({expr} + 0)")],
        Expr::Floor { expr: x, .. } | Expr::Ceil { expr: x, .. } => {
            vec![format!("({x})"), format!("CAST({expr} AS INT)"), format!("ROUND({x})")]
        }
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            match (name.as_str(), &arguments(function)[..]) {
                ("nullif", [a, b]) => {
                    vec![format!("(CASE WHEN {a} = {b} THEN NULL ELSE {a} END)"), format!("NULLIF({a}, {b} + 0.0)")]
                }
                ("coalesce", [a, b]) => vec![
                    format!("(CASE WHEN {a} IS NOT NULL THEN {a} ELSE {b} END)"),
                    format!("COALESCE({a}, {b}, 0.5)"),
                    format!("COALESCE({a} + 0.0, {b})"),
                ],
                ("greatest", [a, b]) => vec![format!("(CASE WHEN {a} >= {b} THEN {a} ELSE {b} END)")],
                ("least", [a, b]) => vec![format!("(CASE WHEN {a} <= {b} THEN {a} ELSE {b} END)")],
                ("mod", [a, b]) => vec![format!("({a} % {b})")],
                ("round" | "sign" | "trunc" | "abs", [x]) => {
                    vec![format!("({x})"), format!("CAST({expr} AS INT)"), format!("({expr} * 1.0)")]
                }
                ("sum" | "avg", [x]) => vec![format!("({expr} * 1.0)"), format!("CAST({expr} AS NUMERIC)"), {
                    let other = if name == "sum" { "AVG" } else { "SUM" };
                    format!("{other}({x})")
                }],
                ("upper" | "lower" | "trim" | "ltrim" | "rtrim" | "length", [x]) => {
                    vec![format!("{name}(CAST({x} AS TEXT))"), format!("{name}(CAST({x} AS VARCHAR(2)))")]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn column_changes(column: &str, ty: Ty) -> Vec<String> {
    let casts = |types: &[&str]| types.iter().map(|to| format!("CAST({column} AS {to})")).collect::<Vec<_>>();
    let mut out = match ty {
        Ty::Int | Ty::Long | Ty::Dec | Ty::Double => {
            let mut out = casts(&["INT", "BIGINT", "NUMERIC", "DECIMAL(10,2)", "DOUBLE PRECISION", "SMALLINT"]);
            out.extend([format!("({column} + 0)"), format!("({column} * 1.0)"), format!("({column} + 0e0)")]);
            out
        }
        Ty::Bool => casts(&["BOOLEAN", "INT"]),
        Ty::Text => casts(&["TEXT", "VARCHAR(1)", "VARCHAR(40)"]),
        Ty::Date | Ty::Stamp => casts(&["DATE", "TIMESTAMP"]),
    };
    out.push(format!("COALESCE({column}, {column})"));
    out
}
