//! Aggregates, GROUPING and window functions.

use sqlparser::ast::{self, Expr as Ast};

use crate::ir::{Aggregate, AggregateFunction as Function, Expr, OrderKey, Type, WindowFunction, results};

use super::compare::strip;
use super::query::order_item;
use super::select::{AGGREGATES, GROUPINGS, WINDOWS};
use super::types::adopt;
use super::{Lowerer, Result, absent, no};

/// An argument as written.
pub(super) enum Argument<'a> {
    Star,
    Expr(&'a Ast),
}

/// Functions of windows alone that are read.
pub(super) const WINDOW_FUNCTIONS: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Whether the name is an aggregate that is read.
pub(super) fn is_aggregate(name: &str) -> bool {
    matches!(name, "count" | "sum" | "min" | "max" | "avg") || other(name).is_some()
}

/// The name and result type of the other aggregates; `None` where the argument and [`results`] say it.
fn other(name: &str) -> Option<(&'static str, Option<Type>)> {
    Some(match name {
        "bool_and" | "every" | "logical_and" => ("bool_and", Some(Type::Boolean)),
        "bool_or" | "logical_or" => ("bool_or", Some(Type::Boolean)),
        "bit_and" => ("bit_and", None),
        "bit_or" => ("bit_or", None),
        "bit_xor" => ("bit_xor", None),
        // Whether these divide by n or n - 1 depends on the engine, so they keep their names.
        "stddev" => ("stddev", None),
        "std" => ("std", None),
        "variance" => ("variance", None),
        "stddev_samp" => ("stddev_samp", None),
        "stddev_pop" => ("stddev_pop", None),
        "var_samp" => ("var_samp", None),
        "var_pop" => ("var_pop", None),
        "corr" => ("corr", None),
        "covar_pop" => ("covar_pop", None),
        "covar_samp" => ("covar_samp", None),
        "single_value" => ("single_value", None),
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// An aggregate call, as a stand-in for the column it becomes.
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        distinct: bool,
        args: &[Argument<'_>],
        filter: Option<&Ast>,
    ) -> Result<Expr> {
        if !self.block.allow_aggregates {
            return no(format!("the aggregate {name} in this place"));
        }
        let windows = std::mem::replace(&mut self.block.allow_windows, false);
        self.block.allow_aggregates = false;
        // What an aggregate is of is a column in every engine.
        let use_aliases = std::mem::replace(&mut self.block.use_aliases, false);
        let parts = self.aggregate_parts(name, distinct, args, filter);
        self.block.use_aliases = use_aliases;
        self.block.allow_aggregates = true;
        self.block.allow_windows = windows;
        let aggregate = parts?;
        if is_outer(aggregate.args.iter().chain(&aggregate.filter)) {
            return no("an aggregate of an outer query");
        }
        let ty = aggregate.ty.clone();
        let index = position(&mut self.block.aggregates, aggregate);
        Ok(Expr::column(AGGREGATES + index, ty))
    }

    fn aggregate_parts(
        &mut self,
        name: &str,
        distinct: bool,
        args: &[Argument<'_>],
        filter: Option<&Ast>,
    ) -> Result<Aggregate> {
        let filter = filter.map(|condition| self.condition(condition)).transpose()?;
        let (function, args, ty) = match (name, args) {
            ("count", [Argument::Star]) if distinct => return no("COUNT(DISTINCT *)"),
            ("count", [Argument::Star]) => (Function::CountStar, Vec::new(), results::long()),
            // Counts the distinct rows without a NULL, for which the plan has no form of its own.
            ("count", args) if distinct && args.len() > 1 => {
                (Function::Other("count".to_owned()), self.exprs(args)?, results::long())
            }
            ("count", args) => (Function::Count, vec![self.counted(args)?], results::long()),
            (name, args) => {
                let args = self.exprs(args)?;
                let (name, args, ty) = self.aggregate_type(name, args)?;
                let function = match name {
                    "sum" => Function::Sum,
                    "min" => Function::Min,
                    "max" => Function::Max,
                    "avg" => Function::Avg,
                    name => Function::Other(name.to_owned()),
                };
                (function, args, ty)
            }
        };
        let distinct = distinct && !matches!(function, Function::Min | Function::Max | Function::CountStar);
        Ok(Aggregate { function, distinct, args, filter, ty })
    }

    /// What COUNT counts: rows in which no argument is NULL.
    fn counted(&mut self, args: &[Argument<'_>]) -> Result<Expr> {
        let mut args = self.exprs(args)?;
        match args.len() {
            0 => no("COUNT()"),
            1 => Ok(args.remove(0)),
            _ => {
                let present = args.into_iter().map(|a| Expr::Not(Box::new(Expr::IsNull(Box::new(a))))).collect();
                Ok(Expr::Case {
                    branches: vec![(Expr::And(present), Expr::int(1))],
                    otherwise: Box::new(Expr::null(Type::Integer)),
                    ty: Type::Integer,
                })
            }
        }
    }

    /// The plain name, arguments and result type of an aggregate other than COUNT, in a group or a window.
    fn aggregate_type(&mut self, name: &str, mut args: Vec<Expr>) -> Result<(&'static str, Vec<Expr>, Type)> {
        let (name, fixed) = match name {
            "sum" => ("sum", None),
            "min" => ("min", None),
            "max" => ("max", None),
            "avg" => ("avg", None),
            name => match other(name) {
                Some(known) => known,
                None => return no(format!("the aggregate {name}")),
            },
        };
        let pair = matches!(name, "corr" | "covar_pop" | "covar_samp");
        if args.len() != if pair { 2 } else { 1 } {
            return no(format!("{name} of {} arguments", args.len()));
        }
        let is_truth = matches!(name, "bool_and" | "bool_or");
        let is_numeric = !is_truth && !matches!(name, "min" | "max" | "single_value");
        args = args.into_iter().map(|arg| self.aggregated(name, arg, is_truth, is_numeric)).collect::<Result<_>>()?;
        let types: Vec<Type> = args.iter().map(Expr::ty).collect();
        let first = types[0].clone();
        let ty = match fixed {
            Some(ty) => Some(ty),
            None if name == "sum" && first == Type::Unknown => Some(results::sum_of_null()),
            None if name == "sum" => results::sum(&first),
            None => results::function(name, &types),
        };
        Ok((name, args, ty.unwrap_or(first)))
    }

    fn aggregated(&mut self, name: &str, mut arg: Expr, is_truth: bool, is_numeric: bool) -> Result<Expr> {
        if is_truth {
            return self.truth(arg);
        }
        if !is_numeric {
            return Ok(arg);
        }
        match arg.ty() {
            Type::Boolean => Ok(self.number(arg)),
            Type::Unknown if name == "sum" => {
                adopt(&mut arg, &results::sum_of_null());
                Ok(arg)
            }
            Type::Unknown => no(format!("{name} of a bare NULL")),
            ty if ty.is_numeric() => Ok(arg),
            ty => no(format!("{name} of {ty}")),
        }
    }

    fn exprs(&mut self, args: &[Argument<'_>]) -> Result<Vec<Expr>> {
        args.iter()
            .map(|arg| match arg {
                Argument::Star => no("* as an argument"),
                Argument::Expr(expr) => self.expr(expr),
            })
            .collect()
    }

    /// GROUPING(a, b): a bit for each argument, set if the row's grouping set leaves it out.
    pub(super) fn grouping_call(&mut self, args: &[Argument<'_>]) -> Result<Expr> {
        if !self.block.allow_aggregates || args.is_empty() || args.len() > 60 {
            return no("GROUPING in this form");
        }
        let args = self.exprs(args)?;
        let index = position(&mut self.block.groupings, args);
        Ok(Expr::column(GROUPINGS + index, Type::Integer))
    }

    /// A window function call, as a stand-in for the column it becomes.
    pub(super) fn window(
        &mut self,
        name: &str,
        args: &[Argument<'_>],
        filter: Option<&Ast>,
        over: &ast::WindowType,
    ) -> Result<Expr> {
        if !self.block.allow_windows {
            return no("a window function in this place");
        }
        self.block.allow_windows = false;
        let window = self.window_parts(name, args, filter, over);
        self.block.allow_windows = true;
        let window = window?;
        let ty = window.ty.clone();
        let index = position(&mut self.block.windows, window);
        Ok(Expr::column(WINDOWS + index, ty))
    }

    fn window_parts(
        &mut self,
        name: &str,
        args: &[Argument<'_>],
        filter: Option<&Ast>,
        over: &ast::WindowType,
    ) -> Result<WindowFunction> {
        let (name, mut args, ty) = match (name, args) {
            ("count", [Argument::Star]) => ("count", Vec::new(), results::long()),
            ("count", args) => ("count", vec![self.counted(args)?], results::long()),
            (name, args) => {
                let args = self.exprs(args)?;
                self.window_type(name, args)?
            }
        };
        if let Some(condition) = filter {
            let condition = self.condition(condition)?;
            if !matches!(name, "count" | "sum" | "min" | "max" | "avg") {
                return no(format!("FILTER of the window function {name}"));
            }
            let value = if args.is_empty() { Expr::int(1) } else { args.remove(0) };
            let ty = value.ty();
            args.push(Expr::Case {
                branches: vec![(condition, value)],
                otherwise: Box::new(Expr::null(ty.clone())),
                ty,
            });
        }
        let spec = self.window_spec(over)?;
        let ast::WindowSpec { window_name: _, partition_by, order_by, window_frame } = &spec;
        let partition = partition_by.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        let mut order = Vec::new();
        for item in order_by {
            let (written, descending, nulls_first) = order_item(item)?;
            let expr = self.expr(written)?;
            // MariaDB looks among the output names first.
            if let Ast::Identifier(ident) = strip(written)
                && self.alias(&ident.value)?.is_some_and(|alias| alias != expr)
            {
                return no(format!("{ident} in the ORDER BY of a window, which is a column and an output name"));
            }
            if matches!(expr, Expr::Literal(..)) {
                return no("a constant in the ORDER BY of a window");
            }
            order.push(OrderKey { expr, descending, nulls_first });
        }
        let frame = window_frame.as_ref().map(frame).transpose()?;
        Ok(WindowFunction { name: name.to_owned(), args, partition, order, frame, ty })
    }

    /// The window with its name, if it has one, replaced by the definition.
    fn window_spec(&mut self, over: &ast::WindowType) -> Result<ast::WindowSpec> {
        match over {
            ast::WindowType::NamedWindow(name) => self.named_window(&name.value),
            ast::WindowType::WindowSpec(spec) => {
                let ast::WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
                let Some(name) = window_name else { return Ok(spec.clone()) };
                if !partition_by.is_empty() || !order_by.is_empty() || window_frame.is_some() {
                    return no("a window that adds to a named one");
                }
                self.named_window(&name.value)
            }
        }
    }

    fn named_window(&mut self, name: &str) -> Result<ast::WindowSpec> {
        let found = self.block.named_windows.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        match found {
            Some((_, ast::NamedWindowExpr::WindowSpec(spec))) => {
                absent(spec.window_name.as_ref(), "a named window that adds to another")?;
                Ok(spec.clone())
            }
            Some((_, ast::NamedWindowExpr::NamedWindow(_))) => no("a named window that is another"),
            None => no(format!("unknown window {name}")),
        }
    }

    fn window_type(&mut self, name: &str, args: Vec<Expr>) -> Result<(&'static str, Vec<Expr>, Type)> {
        let arity = args.len();
        let first = || args.first().map(Expr::ty);
        let (name, arities, ty) = match name {
            "row_number" => ("row_number", 0..=0, Some(results::long())),
            "rank" => ("rank", 0..=0, Some(results::long())),
            "dense_rank" => ("dense_rank", 0..=0, Some(results::long())),
            "percent_rank" => ("percent_rank", 0..=0, Some(Type::Double)),
            "cume_dist" => ("cume_dist", 0..=0, Some(Type::Double)),
            "ntile" => ("ntile", 1..=1, Some(Type::Integer)),
            "lag" => ("lag", 1..=2, first()),
            "lead" => ("lead", 1..=2, first()),
            "first_value" => ("first_value", 1..=1, first()),
            "last_value" => ("last_value", 1..=1, first()),
            "nth_value" => ("nth_value", 2..=2, first()),
            name if is_aggregate(name) => return self.aggregate_type(name, args),
            name => return no(format!("the window function {name}")),
        };
        match ty {
            Some(ty) if arities.contains(&arity) => Ok((name, args, ty)),
            _ => no(format!("{name} of {arity} arguments")),
        }
    }
}

/// One spelling for each frame.
fn frame(frame: &ast::WindowFrame) -> Result<String> {
    let ast::WindowFrame { units, start_bound, end_bound } = frame;
    let bound = |bound: &ast::WindowFrameBound| match bound {
        ast::WindowFrameBound::CurrentRow => Ok("current row".to_owned()),
        ast::WindowFrameBound::Preceding(None) => Ok("unbounded preceding".to_owned()),
        ast::WindowFrameBound::Following(None) => Ok("unbounded following".to_owned()),
        ast::WindowFrameBound::Preceding(Some(distance)) => Ok(format!("{} preceding", constant(distance)?)),
        ast::WindowFrameBound::Following(Some(distance)) => Ok(format!("{} following", constant(distance)?)),
    };
    let start = bound(start_bound)?;
    let end = end_bound.as_ref().map_or_else(|| Ok("current row".to_owned()), bound)?;
    Ok(format!("{units} between {start} and {end}").to_lowercase())
}

fn constant(expr: &Ast) -> Result<String> {
    match expr {
        Ast::Value(value) => {
            super::literal::literal(value)?;
            Ok(value.to_string())
        }
        Ast::Interval(_) => Ok(expr.to_string()),
        _ => no(format!("the frame bound {expr}")),
    }
}

/// The index of a value in a list, to which it is added if new.
fn position<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|v| *v == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// Whether the expressions use outer rows and not the innermost one.
fn is_outer<'a>(exprs: impl Iterator<Item = &'a Expr>) -> bool {
    let (mut inner, mut outer) = (false, false);
    for expr in exprs {
        expr.clone().map_columns(&mut |column, scopes| {
            if let Expr::Column { depth, .. } = column {
                inner |= *depth == scopes;
                outer |= *depth > scopes;
            }
        });
    }
    outer && !inner
}
