//! The functions that a class calls.

use super::class::OracleClass;
use crate::sql::print::parse_query;
use prover::walk::{ON, each_expr};
use sqlparser::ast::Expr;
use std::collections::BTreeSet;

/// The names of the functions that the members of a class and the conditions of its schema call, in lower case and as they
/// are written otherwise. What is no call by its syntax, as `SUBSTRING(x FROM 1)`, is a construct and no name.
pub fn functions(class: &OracleClass) -> BTreeSet<String> {
    let checks = class.schema.tables.iter().flat_map(|table| &table.checks);
    let checks = checks.map(|check| format!("SELECT 1 WHERE {check}"));
    let texts = class.members.iter().map(|member| member.sql.clone()).chain(checks);
    let mut names = BTreeSet::new();
    for text in texts {
        // Members were read when the class was, and conditions are printed by the parser.
        let Ok(query) = parse_query(&text) else { continue };
        let _ = each_expr(&query, |expr| {
            if let Expr::Function(function) = expr {
                names.insert(function.name.to_string().to_lowercase());
            }
            ON
        });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caq::class::parse_classes;

    #[test]
    fn functions_are_found_wherever_they_are_called() {
        let text = r#"
            [[class]]
            name = 'c'
            schema = 'CREATE TABLE t(a INT CHECK (in_check(a) > 0), CHECK (in_table_check(a) > 0))'
            members = [
              'SELECT t.a FROM t WHERE t.a = (SELECT max(in_subquery(t.a)) FROM t) ORDER BY in_order(t.a)',
              'SELECT t.a FROM t GROUP BY t.a HAVING CASE WHEN TRUE THEN pg_catalog.Qualified(t.a) END',
              'SELECT sum(t.a) OVER (PARTITION BY in_window(t.a)) FROM t JOIN t AS s ON "Quoted"(s.a) = 1 LIMIT in_limit(1)',
            ]
        "#;
        let class = parse_classes("the text", text).expect("a class").remove(0);
        let expected = [
            "\"quoted\"",
            "in_check",
            "in_limit",
            "in_order",
            "in_subquery",
            "in_table_check",
            "in_window",
            "max",
            "pg_catalog.qualified",
            "sum",
        ];
        assert_eq!(functions(&class).into_iter().collect::<Vec<_>>(), expected);
    }
}
