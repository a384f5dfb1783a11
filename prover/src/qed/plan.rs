//! Plan nodes.

use serde_json::{Map, Value as Json};

use super::json::{field, index, list, object, text};
use super::literal::family;
use super::{Lowering, Unsupported, refuse};
use crate::ir::{Assumption, Expr, JoinKind, OrderKey, Plan, SetOp, Type};

/// The rows that an expression can see, outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Scopes(Vec<Vec<Type>>);

impl Scopes {
    /// With one more row, the innermost.
    pub(super) fn with(&self, row: Vec<Type>) -> Self {
        let mut rows = self.0.clone();
        rows.push(row);
        Self(rows)
    }

    /// The column with this number, counted through all rows from the outermost.
    pub(super) fn column(&self, number: usize) -> Option<Expr> {
        let mut index = number;
        for (outward, row) in self.0.iter().enumerate() {
            if let Some(ty) = row.get(index) {
                return Some(Expr::Column { depth: self.0.len() - 1 - outward, index, ty: ty.clone() });
            }
            index -= row.len();
        }
        None
    }

    /// How many columns all rows have.
    fn width(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

impl Lowering<'_> {
    /// A plan below these rows.
    pub(super) fn plan(&mut self, json: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let Some((name, body)) = json.as_object().filter(|o| o.len() == 1).and_then(|o| o.iter().next()) else {
            return refuse("plan node without a single name");
        };
        match name.as_str() {
            "scan" => self.scan(body),
            "filter" => {
                let node = object(body, &["condition", "source"])?;
                let input = self.plan(field(node, "source")?, scopes)?;
                let condition = self.condition(field(node, "condition")?, &scopes.with(input.types()))?;
                Ok(input.filter(condition))
            }
            "project" => {
                let node = object(body, &["source", "target"])?;
                let input = self.plan(field(node, "source")?, scopes)?;
                let exprs = self.exprs(field(node, "target")?, &scopes.with(input.types()))?;
                Ok(input.project(exprs))
            }
            "join" => {
                let node = object(body, &["kind", "left", "right", "condition"])?;
                let left = self.plan(field(node, "left")?, scopes)?;
                let right = self.plan(field(node, "right")?, scopes)?;
                let row = [left.types(), right.types()].concat();
                let on = self.condition(field(node, "condition")?, &scopes.with(row))?;
                let kind = join_kind(field(node, "kind")?)?;
                Ok(Plan::Join { kind, left: Box::new(left), right: Box::new(right), on, lateral: false })
            }
            "correlate" => self.correlate(body, scopes),
            "union" => self.set_operation(SetOp::Union, true, body, scopes),
            "intersect" => self.set_operation(SetOp::Intersect, false, body, scopes),
            "except" | "minus" => self.set_operation(SetOp::Except, false, body, scopes),
            "distinct" => {
                let input = self.plan(body, scopes)?;
                self.compared_rows(&input)?;
                Ok(Plan::Distinct(Box::new(input)))
            }
            "values" => self.values(body, scopes),
            "group" => self.group(body, scopes),
            "sort" => self.sort(body, scopes),
            other => refuse(format!("plan node {other}")),
        }
    }

    /// A list of expressions.
    pub(super) fn exprs(&mut self, json: &Json, scopes: &Scopes) -> Result<Vec<Expr>, Unsupported> {
        list(json)?.iter().map(|e| self.expr(e, scopes)).collect()
    }

    fn scan(&self, body: &Json) -> Result<Plan, Unsupported> {
        let table = index(body)?;
        match self.schema.tables.get(table) {
            Some(declared) => Ok(Plan::Scan { table, types: declared.types() }),
            None => refuse("scan of a table that is not declared"),
        }
    }

    fn correlate(&mut self, body: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let node = object(body, &["kind", "left", "right"])?;
        let kind = join_kind(field(node, "kind")?)?;
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            return refuse("correlated right or full join");
        }
        let left = self.plan(field(node, "left")?, scopes)?;
        let right = self.plan(field(node, "right")?, &scopes.with(left.types()))?;
        Ok(Plan::Join { kind, left: Box::new(left), right: Box::new(right), on: Expr::bool(true), lateral: true })
    }

    fn set_operation(&mut self, op: SetOp, all: bool, body: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let mut inputs = list(body)?.iter();
        let Some(first) = inputs.next() else { return refuse("set operation without inputs") };
        let mut plan = self.plan(first, scopes)?;
        for next in inputs {
            let right = self.plan(next, scopes)?;
            let (left_types, right_types) = (plan.types(), right.types());
            let types: Option<Vec<Type>> = left_types.iter().zip(&right_types).map(|(a, b)| a.unify(b)).collect();
            let Some(types) = types.filter(|_| left_types.len() == right_types.len()) else {
                return refuse("set operation of different types");
            };
            plan = Plan::SetOp { op, all, left: Box::new(plan), right: Box::new(right), types };
            if !all {
                self.compared_rows(&plan)?;
            }
        }
        Ok(plan)
    }

    fn values(&mut self, body: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let node = object(body, &["schema", "content"])?;
        let mut types = Vec::new();
        for name in list(field(node, "schema")?)? {
            types.push(family(text(name)?));
        }
        // Literal rows stand in the scope of a row without columns.
        let scopes = scopes.with(Vec::new());
        let mut rows = Vec::new();
        for row in list(field(node, "content")?)? {
            let row = self.exprs(row, &scopes)?;
            if row.len() != types.len() {
                return refuse("literal row of another width than its declaration");
            }
            for (ty, value) in types.iter_mut().zip(&row) {
                match ty.unify(&value.ty()) {
                    Some(unified) => *ty = unified,
                    None => return refuse(format!("literal of type {} in a column of type {ty}", value.ty())),
                }
            }
            rows.push(row);
        }
        Ok(Plan::Values { types, rows })
    }

    /// The order of an inner sort does not outlive it: without a limit it means nothing.
    fn sort(&mut self, body: &Json, scopes: &Scopes) -> Result<Plan, Unsupported> {
        let node = object(body, &["collation", "limit", "offset", "source"])?;
        let input = self.plan(field(node, "source")?, scopes)?;
        let limit = count(node, "limit")?;
        let offset = count(node, "offset")?;
        if limit.is_none() && offset.is_none() {
            return Ok(input);
        }
        let order = self.order(node, &input)?;
        if !order.is_empty() && scopes.width() > 0 {
            // Nothing says whether these numbers count from the own row or from the outermost.
            return refuse("ordered limit in a correlated subquery");
        }
        Ok(Plan::Limit { input: Box::new(input), order, limit, offset: offset.unwrap_or(0) })
    }

    /// The order that the outermost node gives to the rows of its plan.
    pub(super) fn outer_order(&mut self, json: &Json, plan: &Plan) -> Result<Vec<OrderKey>, Unsupported> {
        match json.get("sort").and_then(Json::as_object) {
            Some(node) => self.order(node, plan),
            None => Ok(Vec::new()),
        }
    }

    fn order(&mut self, node: &Map<String, Json>, input: &Plan) -> Result<Vec<OrderKey>, Unsupported> {
        let types = input.types();
        let mut order = Vec::new();
        for key in list(field(node, "collation")?)? {
            let [column, type_name, direction] = list(key)? else { return refuse("sort key that is not a triple") };
            let column = index(column)?;
            let declared = family(text(type_name)?);
            let Some(ty) = types.get(column).filter(|ty| ty.unify(&declared).is_some()) else {
                return refuse("sort key that is not a column of its input");
            };
            let descending = match text(direction)? {
                "ASCENDING" => false,
                "DESCENDING" => true,
                other => return refuse(format!("sort direction {other}")),
            };
            self.compared(ty)?;
            self.assumptions.insert(Assumption::NullsSortAtOneEnd);
            order.push(OrderKey { expr: Expr::column(column, ty.clone()), descending, nulls_first: None });
        }
        Ok(order)
    }
}

fn join_kind(json: &Json) -> Result<JoinKind, Unsupported> {
    Ok(match text(json)? {
        "INNER" => JoinKind::Inner,
        "LEFT" => JoinKind::Left,
        "RIGHT" => JoinKind::Right,
        "FULL" => JoinKind::Full,
        "SEMI" => JoinKind::Semi,
        "ANTI" => JoinKind::Anti,
        other => return refuse(format!("join kind {other}")),
    })
}

/// A limit or offset: a literal that is not negative.
fn count(node: &Map<String, Json>, name: &str) -> Result<Option<u64>, Unsupported> {
    let Some(json) = node.get(name).filter(|json| !json.is_null()) else { return Ok(None) };
    let literal = object(json, &["operator", "operand", "type"])?;
    let written = text(field(literal, "operator")?)?;
    match written.parse().ok().filter(|_| written.bytes().all(|b| b.is_ascii_digit())) {
        Some(count) => Ok(Some(count)),
        None => refuse(format!("{name} {written}")),
    }
}
