//! Grouping and aggregate functions.

use serde_json::{Map, Value as Json};

use super::json::{field, list, object, text};
use super::literal::family;
use super::plan::Scopes;
use super::{Lowering, Unsupported, refuse};
use crate::ir::{Aggregate, AggregateFunction, ArithmeticOp, Assumption, CompareOp, Expr, Plan, Type, Value};

/// The aggregates of one grouping and the expressions over keys and aggregates that its output consists of.
struct Group {
    keys: usize,
    aggregates: Vec<Aggregate>,
    output: Vec<Expr>,
}

impl Group {
    /// Adds an aggregate, if it is not there already, and returns its output column.
    fn add(&mut self, aggregate: Aggregate) -> Expr {
        let ty = aggregate.ty.clone();
        let position = self.aggregates.iter().position(|a| *a == aggregate).unwrap_or(self.aggregates.len());
        if position == self.aggregates.len() {
            self.aggregates.push(aggregate);
        }
        Expr::column(self.keys + position, ty)
    }
}

/// An aggregate call as written.
struct Call<'a> {
    name: &'a str,
    distinct: bool,
    args: Vec<Expr>,
    ty: Type,
}

impl Call<'_> {
    fn aggregate(&self, function: AggregateFunction, args: Vec<Expr>, ty: Type) -> Aggregate {
        Aggregate { function, distinct: self.distinct, args, filter: None, ty }
    }

    fn single(&self) -> Result<Expr, Unsupported> {
        match self.args.as_slice() {
            [arg] => Ok(arg.clone()),
            args => refuse(format!("aggregate {} of {} arguments", self.name, args.len())),
        }
    }
}

impl Lowering<'_> {
    /// `keys` and `function` over `source`; the output is the keys and then the functions.
    pub(super) fn group(&mut self, body: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let node = object(body, &["keys", "function", "source"])?;
        let functions = list(field(node, "function")?)?;
        let is_single_value = |f: &Json| f.get("operator").and_then(Json::as_str) == Some("SINGLE_VALUE");
        if functions.iter().any(is_single_value) {
            let keyless = list(field(node, "keys")?)?.is_empty();
            if !(keyless && functions.iter().all(is_single_value)) {
                return refuse("SINGLE_VALUE beside other aggregates");
            }
            return self.single_values(node, functions, scopes);
        }
        let input = self.plan(field(node, "source")?, scopes)?;
        let inner = scopes.with(input.types());
        let keys = self.exprs(field(node, "keys")?, &inner)?;
        for key in &keys {
            self.compared(&key.ty())?;
        }
        let mut group = Group { keys: keys.len(), aggregates: Vec::new(), output: Vec::new() };
        for (index, key) in keys.iter().enumerate() {
            group.output.push(Expr::column(index, key.ty()));
        }
        for function in functions {
            let call = self.call(function, &inner)?;
            let value = self.function(&mut group, &call)?;
            group.output.push(value);
        }
        let plan = Plan::Aggregate { input: Box::new(input), keys, aggregates: group.aggregates };
        let as_is = plan.types().into_iter().enumerate().map(|(index, ty)| Expr::column(index, ty));
        if as_is.eq(group.output.iter().cloned()) { Ok(plan) } else { Ok(plan.project(group.output)) }
    }

    /// `SINGLE_VALUE` over the whole input is what a scalar subquery is, its error for more than one row included.
    fn single_values(
        &mut self,
        node: &Map<String, Json>,
        functions: &[Json],
        scopes: &Scopes,
    ) -> Result<Plan, Unsupported> {
        let inner = scopes.with(Vec::new());
        let mut exprs = Vec::new();
        for function in functions {
            let input = self.plan(field(node, "source")?, &inner)?;
            let call = self.call(function, &inner.with(input.types()))?;
            if call.distinct {
                return refuse("SINGLE_VALUE with DISTINCT");
            }
            self.assumptions.insert(Assumption::ScalarSubqueryAtMostOneRow);
            exprs.push(Expr::Scalar(Box::new(input.project(vec![call.single()?]))));
        }
        Ok(Plan::Values { types: Vec::new(), rows: vec![Vec::new()] }.project(exprs))
    }

    fn call<'a>(&mut self, json: &'a Json, row: &Scopes) -> Result<Call<'a>, Unsupported> {
        let node = object(json, &["operator", "operand", "distinct", "ignoreNulls", "type"])?;
        let Some(distinct) = field(node, "distinct")?.as_bool() else { return refuse("aggregate without DISTINCT") };
        let args = self.exprs(field(node, "operand")?, row)?;
        Ok(Call { name: text(field(node, "operator")?)?, distinct, args, ty: family(text(field(node, "type")?)?) })
    }

    fn function(&mut self, group: &mut Group, call: &Call<'_>) -> Result<Expr, Unsupported> {
        if call.distinct {
            for arg in &call.args {
                self.compared(&arg.ty())?;
            }
        }
        match call.name {
            "COUNT ROWS" if call.args.is_empty() && !call.distinct => Ok(group.add(count_star())),
            "COUNT" => self.count(group, call),
            "SUM" | "SUM INT" => self.sum(group, call),
            "$SUM0" => {
                let sum = self.sum(group, call)?;
                let zero = match sum.ty() {
                    Type::Double => Value::Double(0.0),
                    _ => Value::int(0),
                };
                let ty = sum.ty();
                let present = Expr::Not(Box::new(Expr::IsNull(Box::new(sum.clone()))));
                let otherwise = Box::new(Expr::Literal(zero, ty.clone()));
                Ok(Expr::Case { branches: vec![(present, sum)], otherwise, ty })
            }
            "MIN" | "MAX" | "CONST AGG" => {
                let arg = call.single()?;
                if call.name == "CONST AGG" {
                    // The argument is the same in all rows of a group, else the engine reports an error.
                    self.assumptions.insert(Assumption::NoRuntimeError);
                }
                self.compared(&arg.ty())?;
                let function = if call.name == "MAX" { AggregateFunction::Max } else { AggregateFunction::Min };
                let ty = arg.ty();
                Ok(group.add(Aggregate { function, distinct: false, args: vec![arg], filter: None, ty }))
            }
            "AVG" => self.avg(group, call),
            "BIT_AND" | "BIT_OR" | "STDDEV_POP" | "STDDEV_SAMP" | "VAR_POP" | "VAR_SAMP" | "CORR"
            | "REGRESSION COUNT" | "GROUPING" | "LITERAL_AGG" => {
                // The sets of GROUPING and the value of LITERAL_AGG are not written: both are taken as any function.
                self.assumptions.insert(Assumption::FunctionsAreDeterministic);
                self.assumptions.insert(Assumption::NoRuntimeError);
                let function = AggregateFunction::Other(call.name.to_lowercase().replace(' ', "_"));
                // STDDEV and the like.
                self.assumptions.insert(Assumption::DoubleSumsIgnoreOrder);
                let (args, ty) = (call.args.clone(), call.ty.clone());
                Ok(group.add(call.aggregate(function, args, ty)))
            }
            // The rest depends on the order of the rows, picks any of them, or is not known.
            other => refuse(format!("aggregate {other}")),
        }
    }

    fn count(&mut self, group: &mut Group, call: &Call<'_>) -> Result<Expr, Unsupported> {
        let arg = match call.args.as_slice() {
            [] if call.distinct => return refuse("COUNT(DISTINCT *)"),
            [] => return Ok(group.add(count_star())),
            [arg] => arg.clone(),
            args => {
                // COUNT(a, b) counts the rows in which neither is NULL.
                let present = args.iter().map(|a| Expr::Not(Box::new(Expr::IsNull(Box::new(a.clone()))))).collect();
                let (value, ty) = if call.distinct {
                    self.assumptions.insert(Assumption::FunctionsAreDeterministic);
                    let ty = Type::Other("row".to_owned());
                    (Expr::Call { name: "row".to_owned(), args: args.to_vec(), ty: ty.clone() }, ty)
                } else {
                    (Expr::int(1), Type::Integer)
                };
                let otherwise = Box::new(Expr::null(ty.clone()));
                Expr::Case { branches: vec![(Expr::And(present), value)], otherwise, ty }
            }
        };
        Ok(group.add(call.aggregate(AggregateFunction::Count, vec![arg], Type::Integer)))
    }

    fn sum(&mut self, group: &mut Group, call: &Call<'_>) -> Result<Expr, Unsupported> {
        let arg = call.single()?;
        let ty = arg.ty();
        if !ty.is_numeric() || ty.unify(&call.ty).is_none() {
            return refuse(format!("SUM of {ty}"));
        }
        let whole = ty == Type::Integer;
        self.assumptions.insert(if whole { Assumption::ExactSums } else { Assumption::ExactArithmetic });
        if ty == Type::Double {
            self.assumptions.insert(Assumption::DoubleSumsIgnoreOrder);
        }
        Ok(group.add(call.aggregate(AggregateFunction::Sum, vec![arg], ty)))
    }

    fn avg(&mut self, group: &mut Group, call: &Call<'_>) -> Result<Expr, Unsupported> {
        let arg = call.single()?;
        self.assumptions.insert(Assumption::ExactArithmetic);
        match (arg.ty(), &call.ty) {
            // An average declared as a whole number is the truncated quotient.
            (Type::Integer, Type::Integer) => {
                let sum = self.sum(group, call)?;
                let count = self.count(group, call)?;
                let empty = Expr::Compare(CompareOp::Eq, Box::new(count.clone()), Box::new(Expr::int(0)));
                let quotient = Expr::Arithmetic(ArithmeticOp::Div, Box::new(sum), Box::new(count), Type::Integer);
                Ok(Expr::Case {
                    branches: vec![(empty, Expr::null(Type::Integer))],
                    otherwise: Box::new(quotient),
                    ty: Type::Integer,
                })
            }
            (Type::Integer | Type::Decimal, Type::Decimal) => {
                self.assumptions.insert(Assumption::AvgIsExactQuotient);
                Ok(group.add(call.aggregate(AggregateFunction::Avg, vec![arg], Type::Decimal)))
            }
            (Type::Double, Type::Double) => {
                self.assumptions.insert(Assumption::DoubleSumsIgnoreOrder);
                Ok(group.add(call.aggregate(AggregateFunction::Avg, vec![arg], Type::Double)))
            }
            (from, to) => refuse(format!("AVG from {from} to {to}")),
        }
    }
}

fn count_star() -> Aggregate {
    let function = AggregateFunction::CountStar;
    Aggregate { function, distinct: false, args: Vec::new(), filter: None, ty: Type::Integer }
}
