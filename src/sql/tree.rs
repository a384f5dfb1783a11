//! Small constructors of syntax trees for those who write queries, and the names that a tree uses.
//!
//! What is made here equals what the parser makes of its text. Parentheses are part of a tree: who puts an operator below
//! another says [`nested`] where the text needs them, and [`super::print::print_query`] finds out where that was
//! forgotten.

use prover::walk::{ON, Walk, walk};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Cte, CteAsMaterialized, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, ObjectName, Query, Select, SelectFlavor, SelectItem,
    SetExpr, TableAlias, TableFactor, TableWithJoins, Value, With,
};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// `qualifier.name`
pub fn column(qualifier: &str, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(qualifier), Ident::new(name)])
}

/// A number that is not negative: the minus would be an operator.
pub fn number(n: u32) -> Expr {
    Expr::Value(Value::Number(n.to_string(), false).into())
}

/// `'text'`
pub fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).into())
}

/// TRUE or FALSE.
pub fn boolean(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// NULL.
pub fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// `left op right`
pub fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// In parentheses, of which no expression needs two.
pub fn nested(expr: Expr) -> Expr {
    match expr {
        nested @ Expr::Nested(_) => nested,
        other => Expr::Nested(Box::new(other)),
    }
}

/// `CASE WHEN condition THEN then [ELSE otherwise] END`
pub fn case(condition: Expr, then: Expr, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: then }],
        else_result: otherwise.map(Box::new),
    }
}

/// `name([DISTINCT] arguments)`
pub fn call(name: &str, distinct: bool, arguments: Vec<Expr>) -> Expr {
    let arguments = arguments.into_iter().map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
    function(name, distinct.then_some(DuplicateTreatment::Distinct), arguments.collect())
}

/// `COUNT(*)`
pub fn count_rows() -> Expr {
    function("COUNT", None, vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
}

fn function(name: &str, duplicate_treatment: Option<DuplicateTreatment>, args: Vec<FunctionArg>) -> Expr {
    Expr::Function(Function {
        name: object(name),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment, args, clauses: Vec::new() }),
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    })
}

fn object(name: &str) -> ObjectName {
    ObjectName::from(Ident::new(name))
}

/// `expr [AS alias]` in a select list.
pub fn item(expr: Expr, alias: Option<&str>) -> SelectItem {
    match alias {
        Some(alias) => SelectItem::ExprWithAlias { expr, alias: Ident::new(alias) },
        None => SelectItem::UnnamedExpr(expr),
    }
}

/// `name [AS alias]` in FROM.
pub fn table(name: &str, alias: Option<&str>) -> TableFactor {
    TableFactor::Table {
        name: object(name),
        alias: alias.map(|alias| table_alias(alias, true)),
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// `(query) AS alias` in FROM.
pub fn derived(query: Query, alias: &str) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(table_alias(alias, true)),
        sample: None,
    }
}

/// `name AS [MATERIALIZED] (query)` in WITH.
pub fn cte(name: &str, materialized: bool, query: Query) -> Cte {
    Cte {
        alias: table_alias(name, false),
        query: Box::new(query),
        from: None,
        materialized: materialized.then_some(CteAsMaterialized::Materialized),
        closing_paren_token: AttachedToken::empty(),
    }
}

fn table_alias(name: &str, explicit: bool) -> TableAlias {
    TableAlias { explicit, name: Ident::new(name), columns: Vec::new(), at: None }
}

/// `WITH ctes`; nothing without any.
pub fn with(ctes: Vec<Cte>) -> Option<With> {
    let with = |cte_tables| With { with_token: AttachedToken::empty(), recursive: false, cte_tables };
    (!ctes.is_empty()).then(|| with(ctes))
}

/// `SELECT projection FROM from`
pub fn select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>) -> Select {
    Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }
}

/// A query that is only its body.
pub fn query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// The names that queries read: of tables in FROM and of columns in expressions, without what qualifies them, in
/// subqueries and common table expressions too. Upper and lower case are one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedNames {
    tables: BTreeSet<String>,
    columns: BTreeSet<String>,
}

impl UsedNames {
    /// Adds those of a query.
    pub fn note(&mut self, query: &mut Query) {
        // The walk never ends early.
        let _ = walk(query, self);
    }

    /// Whether a table of this name is read.
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.contains(&name.to_ascii_lowercase())
    }

    /// Whether a column of this name is read.
    pub fn has_column(&self, name: &str) -> bool {
        self.columns.contains(&name.to_ascii_lowercase())
    }
}

impl Walk for UsedNames {
    fn relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        let last = name.0.last().and_then(|part| part.as_ident());
        self.tables.extend(last.map(|ident| ident.value.to_ascii_lowercase()));
        ON
    }

    fn expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => Some(&*name),
            Expr::CompoundIdentifier(path) => path.last(),
            _ => None,
        };
        self.columns.extend(name.map(|name| name.value.to_ascii_lowercase()));
        ON
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::print::{parse_query, print_query};
    use sqlparser::ast::{Join, JoinConstraint, JoinOperator};

    #[test]
    fn what_is_made_is_what_the_parser_makes() {
        let from = |relation, joins| vec![TableWithJoins { relation, joins }];
        let t = || column("t", "a");
        let inner =
            query(SetExpr::Select(Box::new(select(vec![item(t(), Some("w"))], from(table("t", None), Vec::new())))));
        let on = binary(column("s", "w"), BinaryOperator::Eq, column("d", "w"));
        let join = Join {
            relation: derived(inner.clone(), "d"),
            global: false,
            join_operator: JoinOperator::Left(JoinConstraint::On(on)),
        };
        let values = vec![
            item(call("COUNT", true, vec![column("d", "w")]), None),
            item(count_rows(), Some("n")),
            item(case(boolean(true), text("a"), Some(null())), None),
            item(case(boolean(false), number(1), None), None),
            item(nested(nested(call("COALESCE", false, vec![null(), number(0)]))), None),
        ];
        let body = select(values, from(table("s", Some("x")), vec![join]));
        let mut made = query(SetExpr::Select(Box::new(body)));
        made.with = with(vec![cte("s", true, inner.clone()), cte("r", false, inner)]);
        assert_eq!(
            print_query(&made).expect("reads back"),
            "WITH s AS MATERIALIZED (SELECT t.a AS w FROM t), r AS (SELECT t.a AS w FROM t) \
             SELECT COUNT(DISTINCT d.w), COUNT(*) AS n, CASE WHEN true THEN 'a' ELSE NULL END, \
             CASE WHEN false THEN 1 END, (COALESCE(NULL, 0)) \
             FROM s AS x LEFT JOIN (SELECT t.a AS w FROM t) AS d ON s.w = d.w"
        );
    }

    #[test]
    fn names_are_those_of_tables_and_columns_everywhere() {
        let sql = "WITH s AS (SELECT T.A AS w FROM T WHERE 'no' = t.b) SELECT x.w, never() AS out FROM s AS x \
                   WHERE EXISTS (SELECT 1 FROM u AS y ORDER BY c)";
        let mut names = UsedNames::default();
        names.note(&mut parse_query(sql).expect("parses"));
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names, UsedNames { tables: set(&["s", "t", "u"]), columns: set(&["a", "b", "c", "w"]) });
        assert!(names.has_table("U") && names.has_column("W") && !names.has_table("x") && !names.has_column("out"));
    }
}
