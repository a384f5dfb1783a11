//! Rows and columns in the texts of statements: taken out, put in, made simpler.
//!
//! The generator writes these statements, so their form is known; what has another one is left as it is.

use crate::compare::Row;
use crate::sql::lex::{Token, tokens};
use crate::sql::schema::created_table;
use std::sync::Arc;

/// The statements of a text that has several, in which texts stand between single quotes.
pub(super) fn split_statements(text: &str) -> Vec<String> {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '\'';
        c == ';' && !quoted
    };
    let statements = text.split(ends).map(|statement| statement.trim().to_owned());
    statements.filter(|statement| !statement.is_empty()).collect()
}

/// An INSERT of several rows as one INSERT per row; anything else as it is.
pub(super) fn split_rows(statement: &str) -> Vec<String> {
    let whole = || vec![statement.to_owned()];
    let Ok(all) = tokens(statement) else { return whole() };
    if !all.first().is_some_and(|t| t.is_word("insert") || t.is_word("replace")) {
        return whole();
    }
    let Some(values) = all.iter().position(|t| t.is_word("values")) else { return whole() };
    let head: String = all[..=values].iter().map(Token::text).collect();
    let mut rows = Vec::new();
    let mut row = String::new();
    // What follows the rows, as in `ON CONFLICT DO NOTHING`.
    let mut tail = String::new();
    let mut depth = 0;
    for token in &all[values + 1..] {
        if depth == 0 && (!tail.is_empty() || matches!(token, Token::Word(_))) {
            tail.push_str(&token.text());
            continue;
        }
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                rows.push(std::mem::take(&mut row));
                continue;
            }
            _ => {}
        }
        row.push_str(&token.text());
    }
    rows.push(row);
    rows.into_iter().map(|row| format!("{head} {} {tail}", row.trim()).trim_end().to_owned()).collect()
}

/// The statements without the droppable column numbered `extra` of the CREATE TABLE at `at`, without columns of its name in
/// other tables, and without their values in INSERTs. `None` if there is no such column.
pub(super) fn without_column(
    statements: &[String],
    at: usize,
    extra: usize,
    may_drop: impl Fn(&str, &str) -> bool,
) -> Option<Vec<String>> {
    let columns = droppable(&statements[at], &may_drop)?;
    let column = columns.get(extra)?;
    let mut fewer = statements.to_vec();
    for (create, statement) in statements.iter().enumerate() {
        if droppable(statement, &may_drop).is_some_and(|columns| columns.contains(column)) {
            drop_column(&mut fewer, create, column)?;
        }
    }
    Some(fewer)
}

/// The columns of a CREATE TABLE that may be dropped; `None` for any other statement.
fn droppable(create: &str, may_drop: impl Fn(&str, &str) -> bool) -> Option<Vec<String>> {
    let table = create.strip_prefix("CREATE TABLE ")?.split('(').next()?;
    let (_, parts, _) = list_after(create)?;
    Some(parts.iter().map(|part| name_of(part)).filter(|column| may_drop(table, column)).collect())
}

/// The name with which a part of a table's definition starts.
fn name_of(part: &str) -> String {
    part.trim().split(' ').next().unwrap_or_default().to_owned()
}

/// Drops a column of the CREATE TABLE at `at`, and its values in the table's INSERTs.
fn drop_column(statements: &mut [String], at: usize, column: &str) -> Option<()> {
    let table = statements[at].strip_prefix("CREATE TABLE ")?.split('(').next()?.to_owned();
    let (head, parts, tail) = list_after(&statements[at])?;
    let part = parts.iter().position(|part| name_of(part) == column)?;
    statements[at] = format!("{head}({}){tail}", without(&parts, part));
    for statement in statements {
        let of_table = statement.contains(&format!(" INTO {table}("));
        let Some((head, columns, values)) = list_after(statement).filter(|_| of_table) else { continue };
        let Some(position) = columns.iter().position(|c| c.trim() == column) else { continue };
        let Some((keyword, cells, rest)) = list_after(&values) else { continue };
        if columns.len() > 1 && cells.len() == columns.len() {
            *statement =
                format!("{head}({}){keyword}({}){rest}", without(&columns, position), without(&cells, position));
        }
    }
    Some(())
}

fn without(parts: &[String], part: usize) -> String {
    let kept = parts.iter().enumerate().filter(|(at, _)| *at != part).map(|(_, p)| p.trim());
    kept.collect::<Vec<_>>().join(", ")
}

/// Splits a text at its first parenthesised list: what precedes it, its items, what follows it.
fn list_after(text: &str) -> Option<(String, Vec<String>, String)> {
    let all = tokens(text).ok()?;
    let open = all.iter().position(|t| *t == Token::Symbol('('))?;
    let mut items = vec![String::new()];
    let mut depth = 0;
    for (at, token) in all.iter().enumerate().skip(open) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 1 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            let spell = |tokens: &[Token]| tokens.iter().map(Token::text).collect::<String>();
            return Some((spell(&all[..open]), items, spell(&all[at + 1..])));
        }
        if at > open
            && let Some(item) = items.last_mut()
        {
            item.push_str(&token.text());
        }
    }
    None
}

/// The statements with these rows in a table and no others; `made` makes the table, where none of the statements does.
pub(super) fn with_rows(
    statements: &[String],
    made: Option<&String>,
    table: &str,
    columns: &[Arc<str>],
    rows: &[Row],
) -> Option<Vec<String>> {
    let changes = |statement: &String| {
        let all = tokens(statement).ok();
        let first = all.as_ref().and_then(|all| all.first().copied());
        let is_change = ["insert", "replace", "update", "delete"].iter().any(|w| first.is_some_and(|t| t.is_word(w)));
        is_change && all.is_some_and(|all| all.iter().any(|token| token.is_word(table)))
    };
    let mut folded: Vec<String> = statements.iter().filter(|statement| !changes(statement)).cloned().collect();
    let is_made = |statement: &String| created_table(statement) == Some(table);
    if !folded.iter().any(is_made) {
        folded.push(made?.clone());
    }
    let at = folded.iter().position(is_made)?;
    let insert = |row: &Row| {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        format!("INSERT INTO {table}({}) VALUES ({})", columns.join(", "), cells.join(", "))
    };
    folded.splice(at + 1..=at, rows.iter().map(insert));
    Some(folded)
}

/// The statements with a further column in a table, whose values these rows are, one for each INSERT.
pub(super) fn with_column(
    statements: &[String],
    table: &str,
    (name, declared): (&str, &str),
    rows: &[Row],
) -> Option<Vec<String>> {
    let mut folded = statements.to_vec();
    let (mut given, mut made) = (0, false);
    for statement in &mut folded {
        if created_table(statement) == Some(table) && statement.starts_with("CREATE TABLE ") {
            let (head, mut parts, tail) = list_after(statement)?;
            // Before constraints of the table, behind its columns.
            let is_column = |part: &String| !CONSTRAINTS.contains(&name_of(part).split('(').next().unwrap_or_default());
            let at = parts.iter().take_while(|part| is_column(part)).count();
            parts.insert(at, format!("{name} {declared}"));
            *statement = format!("{head}({}){tail}", parts.iter().map(|p| p.trim()).collect::<Vec<_>>().join(", "));
            made = true;
        } else if statement.contains(&format!(" INTO {table}(")) {
            let (head, mut columns, values) = list_after(statement)?;
            let (keyword, mut cells, rest) = list_after(&values)?;
            columns.push(name.to_owned());
            cells.push(rows.get(given)?.first()?.to_string());
            given += 1;
            let list = |parts: &[String]| parts.iter().map(|p| p.trim()).collect::<Vec<_>>().join(", ");
            *statement = format!("{head}({}){keyword}({}){rest}", list(&columns), list(&cells));
        }
    }
    (made && given == rows.len()).then_some(folded)
}

/// What constraints of a table begin with.
const CONSTRAINTS: [&str; 5] = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"];

/// An INSERT of one row with other literals in one of its cells, those that suit what stands there; `None` if it has no such
/// cell.
pub(super) fn with_values(
    statement: &str,
    cell: usize,
    suit: fn(&str) -> &'static [&'static str],
) -> Option<Vec<String>> {
    let all = tokens(statement).ok()?;
    if !all.first().is_some_and(|t| t.is_word("insert") || t.is_word("replace")) {
        return None;
    }
    let (head, columns, values) = list_after(statement)?;
    let (keyword, mut cells, rest) = list_after(&values)?;
    let is_values = keyword.trim().eq_ignore_ascii_case("values") && cells.len() == columns.len();
    let old = cells.get(cell).filter(|_| is_values)?.trim().to_owned();
    let list = |parts: &[String]| parts.iter().map(|p| p.trim()).collect::<Vec<_>>().join(", ");
    let mut with = |literal: &&str| {
        (*literal).clone_into(&mut cells[cell]);
        format!("{head}({}){keyword}({}){rest}", list(&columns), list(&cells))
    };
    Some(suit(&old).iter().map(&mut with).collect())
}

/// NULL, unless it is that.
pub(super) fn null_literal(literal: &str) -> &'static [&'static str] {
    if literal.eq_ignore_ascii_case("null") { &[] } else { &["NULL"] }
}

/// Simpler literals of the same kind.
pub(super) fn simpler_literals(literal: &str) -> &'static [&'static str] {
    let plain = literal.trim_matches(|c| c == '(' || c == ')').trim_start_matches(['-', '+']);
    let simpler: &[&str] = match plain.chars().next() {
        Some('\'') if plain.ends_with('\'') => &["''", "'a'"],
        Some(c) if c.is_ascii_digit() && plain.chars().all(|c| c.is_ascii_digit()) => &["0", "1"],
        Some(c) if c.is_ascii_digit() && plain.parse::<f64>().is_ok() => &["0.0", "1.0"],
        _ => &[],
    };
    let known = simpler.iter().position(|other| *other == literal).unwrap_or(simpler.len());
    &simpler[..known]
}

/// Statements with INSERTs that follow each other and differ in their rows only as one.
pub(super) fn join_rows(statements: &[String]) -> Vec<String> {
    let parts = |statement: &str| {
        let (head, columns, values) = list_after(statement)?;
        let keyword = values.trim_start().get(..6)?;
        let rows = values.trim_start().get(6..)?.trim().to_owned();
        let start = format!("{head}({}) VALUES ", columns.iter().map(|c| c.trim()).collect::<Vec<_>>().join(", "));
        let is_plain =
            head.starts_with("INSERT INTO ") && keyword.eq_ignore_ascii_case("values") && rows.ends_with(')');
        is_plain.then_some((start, rows))
    };
    let mut joined: Vec<String> = Vec::new();
    for statement in statements {
        if let Some((start, rows)) = parts(statement)
            && let Some(last) = joined.last_mut()
            && parts(last).is_some_and(|(before, _)| before == start)
        {
            last.push_str(", ");
            last.push_str(&rows);
        } else {
            joined.push(statement.clone());
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::types::Value;

    #[test]
    fn statements_of_one_text_are_split() {
        assert_eq!(split_statements("SET a = ';';\nSET b = 1;\n"), ["SET a = ';'", "SET b = 1"]);
        assert_eq!(split_statements("SET a = 'x"), ["SET a = 'x"]);
    }

    #[test]
    fn rows_of_an_insert_are_split() {
        assert_eq!(
            split_rows("INSERT OR IGNORE INTO t(a, b) VALUES (1, '),('), (f(2, 3), NULL)"),
            ["INSERT OR IGNORE INTO t(a, b) VALUES (1, '),(')", "INSERT OR IGNORE INTO t(a, b) VALUES (f(2, 3), NULL)"]
        );
        assert_eq!(
            split_rows("INSERT INTO t(a) VALUES (1), (f('x')) ON CONFLICT (a) DO NOTHING"),
            [
                "INSERT INTO t(a) VALUES (1) ON CONFLICT (a) DO NOTHING",
                "INSERT INTO t(a) VALUES (f('x')) ON CONFLICT (a) DO NOTHING"
            ]
        );
        assert_eq!(split_rows("ANALYZE"), ["ANALYZE"]);
    }

    #[test]
    fn rows_and_values_are_put_into_plain_tables() {
        let statements = [
            "CREATE TABLE t(a INT, UNIQUE(a))",
            "INSERT INTO t(a) VALUES (1)",
            "UPDATE t SET a = 2",
            "CREATE VIEW v AS SELECT 1 AS a",
        ]
        .map(str::to_owned);
        let rows = [vec![Value::Int(7)], vec![Value::Null]];
        let all = with_rows(&statements, None, "t", &["a".into()], &rows).expect("folds");
        assert_eq!(
            all,
            [
                "CREATE TABLE t(a INT, UNIQUE(a))",
                "INSERT INTO t(a) VALUES (7)",
                "INSERT INTO t(a) VALUES (NULL)",
                &statements[3]
            ]
        );
        let made = "CREATE TABLE u(a INT)".to_owned();
        let other = with_rows(&statements[3..], Some(&made), "u", &["a".into()], &rows[..1]).expect("folds");
        assert_eq!(other, [&statements[3], &made, "INSERT INTO u(a) VALUES (7)"]);
        let further = with_column(&statements[..2], "t", ("t_f0", "TEXT"), &rows[..1]).expect("folds");
        assert_eq!(further, ["CREATE TABLE t(a INT, t_f0 TEXT, UNIQUE(a))", "INSERT INTO t(a, t_f0) VALUES (1, 7)"]);
        assert_eq!(with_column(&statements[..2], "t", ("t_f0", "TEXT"), &rows), None, "a row more than was inserted");
        assert_eq!(join_rows(&all)[1], "INSERT INTO t(a) VALUES (7), (NULL)");
        assert_eq!(join_rows(&all).len(), 3);
    }

    #[test]
    fn values_become_simpler_ones_of_their_kind() {
        let insert = "INSERT INTO t(a, b, c, d) VALUES (-5, 'xy', 1.5, x'00')";
        let values = |cell| with_values(insert, cell, simpler_literals).map(|all| all.len());
        assert_eq!((0..5).map(values).collect::<Vec<_>>(), [Some(2), Some(2), Some(2), Some(0), None]);
        assert_eq!(
            with_values(insert, 1, simpler_literals).expect("a cell")[0],
            "INSERT INTO t(a, b, c, d) VALUES (-5, '', 1.5, x'00')"
        );
        assert_eq!(with_values("INSERT INTO t(a) VALUES (0)", 0, simpler_literals), Some(Vec::new()));
        assert_eq!(with_values("INSERT INTO t(a) SELECT 1", 0, simpler_literals), None);
    }

    #[test]
    fn extra_columns_are_removed_with_their_values_and_class_columns_stay() {
        let statements = [
            "CREATE TABLE t1(c0 INT UNIQUE, t1_x0 AS (c0 + f(1, 2)), t1_x1 TEXT CHECK (t1_x1 IN ('a', ')'))) STRICT"
                .to_owned(),
            "INSERT OR IGNORE INTO t1(t1_x1, c0) VALUES ([{'a': 'b', 'c,': 2}, 3], 1)".to_owned(),
            "INSERT INTO t10(t1_x1) VALUES (1)".to_owned(),
        ];
        let may_drop = |table: &str, column: &str| column.starts_with(&format!("{table}_"));
        let fewer = without_column(&statements, 0, 1, may_drop).expect("a second extra column");
        assert_eq!(fewer[0], "CREATE TABLE t1(c0 INT UNIQUE, t1_x0 AS (c0 + f(1, 2))) STRICT");
        assert_eq!(fewer[1], "INSERT OR IGNORE INTO t1(c0) VALUES (1)");
        assert_eq!(fewer[2], statements[2]);
        assert_eq!(without_column(&statements, 0, 2, may_drop), None);
        let copied = ["CREATE TABLE t(k INT, c INT)", "CREATE TABLE u(k INT, c INT)", "INSERT INTO u SELECT * FROM t"];
        let fewer = without_column(&copied.map(str::to_owned), 0, 0, |_, column| column == "c").expect("a column");
        assert_eq!(fewer, ["CREATE TABLE t(k INT)", "CREATE TABLE u(k INT)", "INSERT INTO u SELECT * FROM t"]);
        assert_eq!(without_column(&statements, 1, 0, may_drop), None);
    }
}
