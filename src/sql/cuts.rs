//! Shorter forms of a text, token by token.
//!
//! It does not matter whether a parser knows the dialect. What comes out need not run, nor mean the same: whoever asks the
//! engine judges.

use super::from::{SETS, end_of, ends, items};
use super::lex::{Token, before, close, groups, is_one_of, next, spell, tidy, tokens};
use super::substitutes::{constants, parts};
use std::ops::Range;

/// Words that begin a clause.
const CLAUSES: [&str; 26] = [
    "partition",
    "rows",
    "range",
    "groups",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "window",
    "on",
    "using",
    "union",
    "intersect",
    "except",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "join",
    "inner",
    "collate",
    "and",
    "or",
];

/// Shorter forms of a text, those that lose most first.
pub fn cuts(text: &str) -> Vec<String> {
    let Ok(all) = tokens(text) else { return Vec::new() };
    let replaced = |range: &Range<usize>, by: &str| {
        let joined = format!("{} {by} {}", spell(&all[..range.start]), spell(&all[range.end..]));
        tidy(joined.trim())
    };
    let mut found: Vec<String> = Vec::new();
    for range in pieces(&all) {
        found.push(replaced(&range, ""));
    }
    let word_before = |at: usize| {
        let is_inner = |word: &usize| matches!(all[*word], Token::Word(_)) && !is_one_of(&all[*word], &CLAUSES);
        before(&all, at).filter(is_inner).filter(|word| !is_one_of(&all[*word], &["select", "from", "as", "by"]))
    };
    for (open, close) in groups(&all) {
        // A call begins with its name, `NOT EXISTS (` and `x IN (` with words before it.
        let mut start = open;
        loop {
            found.push(replaced(&(start..close + 1), "NULL"));
            match word_before(start) {
                Some(word) if open - word < 6 => start = word,
                _ => break,
            }
        }
        let start = word_before(open).filter(|word| word + 1 == open).unwrap_or(open);
        found.push(replaced(&(start..close + 1), &spell(&all[open + 1..close])));
    }
    found.extend(cases(&all).iter().map(|range| replaced(range, "NULL")));
    found.extend(calls_over(&all).iter().map(|range| replaced(range, "NULL")));
    for range in conditions(&all) {
        found.extend(["NULL", "1 = 0", "1 = 1"].map(|constant| replaced(&range, constant)));
    }
    found.extend(constants(&all).iter().map(|(range, constant)| replaced(range, constant)));
    found.extend(parts(&all).iter().map(|(range, part)| replaced(range, &spell(&all[part.clone()]))));
    found.extend(groups_to_filters(&all).iter().map(|(range, word)| replaced(range, word)));
    found.extend(inlined(&all));
    for (open, close) in groups(&all) {
        let inside = inlined(&all[open + 1..close]);
        found.extend(inside.iter().map(|query| replaced(&(open + 1..close), query)));
    }
    found.extend(derived(&all));
    found.extend(without_items(&all).iter().map(|shorter| tidy(shorter.trim())));
    found.extend(without_derived_columns(&all).iter().map(|shorter| tidy(shorter.trim())));
    found.extend(without_columns(&all).iter().map(|shorter| tidy(shorter.trim())));
    found.extend(aliases(&all).iter().map(|range| replaced(range, "")));
    found.extend(plain_table(&all));
    let length = text.len();
    found.retain(|shorter| shorter.len() < length && !shorter.is_empty());
    found.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    found.dedup();
    found
}

/// The conditions of WHERE, ON and HAVING.
pub(super) fn conditions(all: &[Token]) -> Vec<Range<usize>> {
    // ON has other uses: of an index, of a conflict.
    let joins = |at: usize| all[at].is_word("on") && all[..at].iter().any(|token| token.is_word("join"));
    let begins = |at: &usize| is_one_of(&all[*at], &["where", "having"]) || joins(*at);
    let body = |at: usize| at + 1..end_of(all, at + 1);
    (0..all.len()).filter(begins).map(body).filter(|range| !range.is_empty()).collect()
}

/// A text with a constant in the place of each condition that is a column or a literal. `None` if it has no such condition.
pub fn with_constant_conditions(text: &str, constant: &str) -> Option<String> {
    let all = tokens(text).ok()?;
    let is_value = |range: &Range<usize>| {
        let words: Vec<_> = all[range.clone()].iter().filter(|token| !matches!(token, Token::Space(_))).collect();
        matches!(words[..], [Token::Word(_) | Token::Literal(_)] | [Token::Word(_), Token::Symbol('.'), Token::Word(_)])
    };
    let values: Vec<_> = conditions(&all).into_iter().filter(is_value).collect();
    let (mut out, mut at) = (String::new(), 0);
    for range in &values {
        out.extend([&spell(&all[at..range.start]), " ", constant, " "]);
        at = range.end;
    }
    out.push_str(&spell(&all[at..]));
    (!values.is_empty()).then(|| tidy(&out))
}

/// From the name of each window function to the end of its window.
fn calls_over(all: &[Token]) -> Vec<Range<usize>> {
    let call = |at: usize| {
        let open = next(all, at + 1).filter(|open| all[*open] == Token::Symbol('('))?;
        let end = close(all, open)?;
        let arguments = before(all, at).filter(|before| all[*before] == Token::Symbol(')'))?;
        let (open, _) = groups(all).into_iter().find(|(_, close)| *close == arguments)?;
        let name = before(all, open).filter(|name| matches!(all[*name], Token::Word(_)))?;
        Some(name..end + 1)
    };
    (0..all.len()).filter(|at| all[*at].is_word("over")).filter_map(call).collect()
}

/// GROUP BY up to HAVING, with the word that makes a filter of rows of the one of groups.
fn groups_to_filters(all: &[Token]) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    for at in (0..all.len()).filter(|at| all[*at].is_word("group")) {
        let mut having = end_of(all, at + 1);
        while all.get(having) == Some(&Token::Symbol(',')) {
            having = end_of(all, having + 1);
        }
        if all.get(having).is_some_and(|token| token.is_word("having")) {
            found.extend(["WHERE", "AND"].map(|word| (at..having + 1, word)));
        }
    }
    found
}

/// Each query in parentheses, alone.
fn derived(all: &[Token]) -> Vec<String> {
    let is_query = |(open, _): &(usize, usize)| {
        next(all, open + 1).is_some_and(|first| all[first].is_word("select") || all[first].is_word("with"))
    };
    let inside = |(open, close): (usize, usize)| tidy(spell(&all[open + 1..close]).trim());
    groups(all).into_iter().filter(is_query).map(inside).collect()
}

/// The definition of a virtual table as one of a plain table with the same columns.
fn plain_table(all: &[Token]) -> Option<String> {
    let words: Vec<usize> = (0..all.len()).filter(|at| matches!(all[*at], Token::Word(_))).collect();
    let &[create, is_virtual, table, name, using, module, ..] = words.as_slice() else { return None };
    let is = |at: usize, word: &str| all[at].is_word(word);
    let columns = next(all, module + 1)?;
    let fits = is(create, "create") && is(is_virtual, "virtual") && is(table, "table") && is(using, "using");
    // Options of the module stand behind the columns.
    let option = all.iter().position(|token| *token == Token::Symbol('='));
    let end = option.and_then(|option| (columns..option).rfind(|at| all[*at] == Token::Symbol(',')));
    let columns = end.map_or_else(|| spell(&all[columns..]), |end| spell(&all[columns..end]) + ")");
    fits.then(|| format!("CREATE TABLE {}{columns}", all[name].text()))
}

/// The text without each table of FROM and what joins it. What it gave the query is NULL then.
fn without_items(all: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for from in (0..all.len()).filter(|at| all[*at].is_word("from")) {
        let items = items(all, from);
        for item in items.iter().skip(1) {
            found.push(nulls(&[&all[..item.start], &all[item.end..]], &item.name, None));
        }
        let [first, second, rest @ ..] = items.as_slice() else { continue };
        let (head, table, tail) = (&all[..first.table.start], &all[second.table.clone()], &all[second.end..]);
        found.push(nulls(&[head, table, tail], &first.name, None));
        // Its condition is one of all rows then.
        if let (Some(condition), []) = (&second.condition, rest) {
            let condition = &all[condition.clone()];
            let (and, tail) = match tail.first() {
                Some(token) if token.is_word("where") => (&[Token::Word("AND")][..], &tail[1..]),
                _ => (&[][..], tail),
            };
            found.push(nulls(&[head, table, &[Token::Word("WHERE")], condition, and, tail], &first.name, None));
        }
    }
    found
}

/// The text without each column of a query in FROM, which is NULL where it is read.
fn without_derived_columns(all: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let froms = (0..all.len()).filter(|at| all[*at].is_word("from"));
    for item in froms.flat_map(|from| items(all, from)) {
        let select = next(all, item.table.start + 1).filter(|_| all[item.table.start] == Token::Symbol('('));
        let Some(select) = select.filter(|select| all[*select].is_word("select")) else { continue };
        let columns = selected(all, select);
        if all[item.table.clone()].iter().any(|token| is_one_of(token, &SETS)) || columns.len() < 2 {
            continue;
        }
        for (number, column) in columns.iter().enumerate() {
            let name = before(all, column.end).map(|name| all[name].text()).unwrap_or_default();
            // With the comma behind it, or before it.
            let (start, end) =
                if number == 0 { (column.start, column.end + 1) } else { (column.start - 1, column.end) };
            found.push(nulls(&[&all[..start], &all[end..]], &item.name, Some(&name)));
        }
    }
    found
}

/// The pieces as one text, with NULL where a column of a table, or any of them, is read that is not there.
fn nulls(pieces: &[&[Token]], table: &str, column: Option<&str>) -> String {
    let all: Vec<Token> = pieces.join(&Token::Space(" "));
    let mut out = String::new();
    let mut at = 0;
    while at < all.len() {
        let is = |word: &str, name: &str| word == table && column.is_none_or(|column| column == name);
        let reads =
            matches!(&all[at..], [Token::Word(word), Token::Symbol('.'), Token::Word(name), ..] if is(word, name));
        out.push_str(&if reads { "NULL".to_owned() } else { all[at].text() });
        at += if reads { 3 } else { 1 };
    }
    out
}

/// From each CASE to its END.
fn cases(all: &[Token]) -> Vec<Range<usize>> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, token) in all.iter().enumerate() {
        if token.is_word("case") {
            open.push(at);
        } else if token.is_word("end") {
            found.extend(open.pop().map(|start| start..at + 1));
        }
    }
    found
}

/// The text with each of the common table expressions that it begins with where it is read.
fn inlined(all: &[Token]) -> Vec<String> {
    let mut definitions: Vec<(usize, usize, usize)> = Vec::new();
    let mut at = next(all, 0).filter(|with| all[*with].is_word("with"));
    while let Some(before) = at {
        let definition = || {
            let name = next(all, before + 1)?;
            let open = next(all, next(all, name + 1).filter(|as_| all[*as_].is_word("as"))? + 1)?;
            Some((name, open, close(all, open)? + 1))
        };
        let Some(definition) = definition() else { return Vec::new() };
        definitions.push(definition);
        at = next(all, definition.2).filter(|comma| all[*comma] == Token::Symbol(','));
    }
    let Some(&(_, _, rest)) = definitions.last() else { return Vec::new() };
    let without = |&(name, open, end): &(usize, usize, usize)| {
        let (name, query) = (all[name].text(), spell(&all[open..end]));
        let others = definitions.iter().filter(|(_, other, _)| *other != open);
        let others: Vec<String> = others.map(|(start, _, end)| with_query(&all[*start..*end], &name, &query)).collect();
        let with = if others.is_empty() { "" } else { "WITH " };
        format!("{with}{}{}", others.join(", "), with_query(&all[rest..], &name, &query)).trim().to_owned()
    };
    definitions.iter().map(without).collect()
}

/// The text with a query in parentheses where it reads a table of that name.
fn with_query(all: &[Token], name: &str, query: &str) -> String {
    let mut out = String::new();
    let mut reads = false;
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Word(word) if *word == name && reads => {
                out.push_str(query);
                if !next(all, at + 1).is_some_and(|then| all[then].is_word("as")) {
                    out.extend([" AS ", name]);
                }
            }
            other => out.push_str(&other.text()),
        }
        if !matches!(token, Token::Space(_)) {
            reads = token.is_word("from") || token.is_word("join");
        }
    }
    out
}

/// The queries of each set operation, by where they begin.
fn compounds(all: &[Token]) -> Vec<Vec<usize>> {
    // Of the queries in parentheses around each other, those before.
    let (mut open, mut found): (Vec<Vec<usize>>, Vec<Vec<usize>>) = (vec![Vec::new()], Vec::new());
    let mut combines = false;
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Space(_) => continue,
            Token::Symbol('(') => open.push(Vec::new()),
            Token::Symbol(')') if open.len() > 1 => found.extend(open.pop()),
            Token::Word(word) if word.eq_ignore_ascii_case("select") => {
                if let Some(queries) = open.last_mut() {
                    if !combines {
                        found.push(std::mem::take(queries));
                    }
                    queries.push(at);
                }
            }
            _ => {}
        }
        let is_set = is_one_of(token, &SETS);
        combines = is_set || combines && is_one_of(token, &["all", "distinct"]);
    }
    found.extend(open);
    found.retain(|queries| queries.len() > 1);
    found
}

/// The items that are selected.
pub(super) fn selected(all: &[Token], select: usize) -> Vec<Range<usize>> {
    let first = next(all, select + 1).filter(|word| is_one_of(&all[*word], &["distinct", "all"]));
    let list = first.unwrap_or(select) + 1;
    let mut depth = 0_usize;
    let mut found = Vec::new();
    let mut start = list;
    for (at, token) in all.iter().enumerate().skip(list) {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if depth > 0 => depth -= 1,
            Token::Symbol(',') if depth == 0 => {
                found.push(start..at);
                start = at + 1;
            }
            _ if depth == 0 && (*token == Token::Symbol(')') || token.is_word("from") || ends(token)) => {
                found.push(start..at);
                return found;
            }
            _ => {}
        }
    }
    found.push(start..all.len());
    found
}

/// The text without a column of all queries of a set operation.
fn without_columns(all: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for queries in compounds(all) {
        let lists: Vec<Vec<Range<usize>>> = queries.iter().map(|select| selected(all, *select)).collect();
        let columns = lists.iter().map(Vec::len).min().unwrap_or_default();
        for column in (0..columns).filter(|_| columns > 1) {
            let mut out = String::new();
            let mut at = 0;
            for items in &lists {
                let item = &items[column];
                // With the comma before it, or behind it.
                let (start, end) = if column == 0 { (item.start, item.end + 1) } else { (item.start - 1, item.end) };
                out.push_str(&spell(&all[at..start]));
                out.push(' ');
                at = end;
            }
            out.push_str(&spell(&all[at..]));
            found.push(out);
        }
    }
    found
}

/// The names that items of what is selected are given.
fn aliases(all: &[Token]) -> Vec<Range<usize>> {
    let selects = (0..all.len()).filter(|at| all[*at].is_word("select"));
    let alias = |item: Range<usize>| {
        let name = before(all, item.end).filter(|name| *name > item.start && matches!(all[*name], Token::Word(_)))?;
        let as_ = before(all, name).filter(|as_| *as_ > item.start && all[*as_].is_word("as"))?;
        Some(as_..name + 1)
    };
    selects.flat_map(|select| selected(all, select)).filter_map(alias).collect()
}

/// Pieces that something may go without: clauses, items of lists with a comma of theirs, either side of AND, OR and UNION.
fn pieces(all: &[Token]) -> Vec<Range<usize>> {
    let mut depth = 0;
    // Where clauses and items begin, and how deep.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    // At each depth: where the query begins, and the operand.
    let (mut queries, mut operands): (Vec<usize>, Vec<usize>) = (vec![0], vec![0]);
    // Where the second and further queries of set operations begin, with the operator, and how deep.
    let mut branches: Vec<(usize, usize)> = Vec::new();
    let mut found = Vec::new();
    let end = |starts: &mut Vec<(usize, usize)>, depth: usize, at: usize, found: &mut Vec<Range<usize>>| {
        while let Some((start, _)) = starts.pop_if(|(_, of)| *of >= depth) {
            found.push(start..at);
        }
    };
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Symbol('(') => {
                depth += 1;
                queries.push(at + 1);
                operands.push(at + 1);
            }
            Token::Symbol(')') if depth > 0 => {
                end(&mut starts, depth, at, &mut found);
                end(&mut branches, depth, at, &mut found);
                depth -= 1;
                queries.pop();
                operands.pop();
            }
            Token::Symbol(',') => {
                end(&mut starts, depth, at, &mut found);
                starts.push((at, depth));
                operands[depth] = at + 1;
            }
            Token::Word(word) => {
                let word = word.to_ascii_lowercase();
                if word == "select" && all[queries[depth]..at].iter().any(|token| matches!(token, Token::Word(_))) {
                    // Behind WITH and what it defines.
                    queries[depth] = at;
                }
                let sets = ["union", "intersect", "except"].contains(&word.as_str());
                if sets {
                    let all_too = (at + 1..all.len()).find(|next| !matches!(all[*next], Token::Space(_)));
                    let last = all_too.filter(|next| all[*next].is_word("all")).unwrap_or(at);
                    found.push(queries[depth]..last + 1);
                    queries[depth] = last + 1;
                    end(&mut branches, depth, at, &mut found);
                    branches.push((at, depth));
                }
                if word == "and" || word == "or" {
                    found.push(operands[depth]..at + 1);
                }
                if !CLAUSES.contains(&word.as_str()) {
                    continue;
                }
                if !["and", "or", "collate", "on", "using"].contains(&word.as_str()) {
                    end(&mut starts, depth, at, &mut found);
                }
                starts.push((at, depth));
                operands[depth] = at + 1;
            }
            _ => {}
        }
    }
    end(&mut starts, 0, all.len(), &mut found);
    end(&mut branches, 0, all.len(), &mut found);
    // The first item of a list, with the comma behind it.
    for (open, close) in groups(all) {
        let mut depth = 0;
        let comma = (open + 1..close).find(|at| {
            match all[*at] {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            depth == 0 && all[*at] == Token::Symbol(',')
        });
        found.extend(comma.map(|comma| open + 1..comma + 1));
    }
    // The first item of what is selected, too.
    let select = all.iter().position(|token| token.is_word("select"));
    found.extend(select.and_then(|select| {
        let mut depth = 0;
        let comma = (select + 1..all.len()).find(|at| {
            match all[*at] {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            depth == 0 && all[*at] == Token::Symbol(',') || all[*at].is_word("from")
        })?;
        (all[comma] == Token::Symbol(',')).then_some(select + 1..comma + 1)
    }));
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::sql) fn has(text: &str, cut: &str) {
        let all = cuts(text);
        assert!(all.iter().any(|other| other == cut), "{cut}: {all:#?}");
    }

    #[test]
    fn either_side_may_go() {
        has("SELECT a FROM t UNION ALL SELECT b FROM u WHERE c", "SELECT b FROM u WHERE c");
        has("SELECT a FROM t UNION ALL SELECT b FROM u", "SELECT a FROM t");
        has("SELECT * FROM (SELECT 1 EXCEPT SELECT 2) AS s", "SELECT * FROM (SELECT 2) AS s");
        has("SELECT a FROM t WHERE f(b) AND c > 1", "SELECT a FROM t WHERE c > 1");
        has("SELECT a FROM t WHERE f(b) AND c > 1", "SELECT a FROM t WHERE f(b)");
        has("SELECT NOT EXISTS (SELECT 1) AS w FROM t", "SELECT NULL AS w FROM t");
        has("SELECT CASE WHEN a THEN 1 END, b FROM t", "SELECT NULL, b FROM t");
        has("SELECT CASE WHEN a THEN 1 END, b FROM t", "SELECT b FROM t");
        has("WITH s AS (SELECT 1 AS a) SELECT s.a FROM s WHERE s.a", "SELECT s.a FROM (SELECT 1 AS a) AS s WHERE s.a");
        has("WITH s AS (SELECT 1) SELECT 2 UNION SELECT 3", "WITH s AS (SELECT 1) SELECT 3");
        let two = "SELECT a, b FROM t WHERE c INTERSECT SELECT d, e FROM u WHERE f";
        has(two, "SELECT a, b FROM t WHERE c");
        has(two, "SELECT d, e FROM u WHERE f");
        has(&format!("SELECT 1 FROM ({two}) AS s"), "SELECT 1 FROM (SELECT a, b FROM t WHERE c) AS s");
    }

    #[test]
    fn columns_of_a_set_operation_go_together() {
        let two = "SELECT a AS x, f(b, 1) AS y FROM t UNION ALL SELECT c, d FROM u";
        has(two, "SELECT a AS x FROM t UNION ALL SELECT c FROM u");
        has(two, "SELECT f(b, 1) AS y FROM t UNION ALL SELECT d FROM u");
        has(two, "SELECT a, f(b, 1) AS y FROM t UNION ALL SELECT c, d FROM u");
        let inside = format!("SELECT s.x FROM (SELECT 1 AS z, 2) AS r, ({two} EXCEPT SELECT DISTINCT 1, 2) AS s");
        has(
            &inside,
            "SELECT s.x FROM (SELECT 1 AS z, 2) AS r, (SELECT a AS x FROM t UNION ALL SELECT c FROM u EXCEPT SELECT DISTINCT 1) AS s",
        );
    }

    #[test]
    fn a_column_of_a_query_in_from_goes_and_is_null_elsewhere() {
        let joined = "SELECT s.c1 FROM t LEFT JOIN (SELECT u.c0, u.c1, 2 AS b FROM u) AS s ON t.c0 = s.c0 WHERE s.b";
        has(joined, "SELECT NULL FROM t LEFT JOIN (SELECT u.c0, 2 AS b FROM u) AS s ON t.c0 = s.c0 WHERE s.b");
        has(joined, "SELECT s.c1 FROM t LEFT JOIN (SELECT u.c1, 2 AS b FROM u) AS s ON t.c0 = NULL WHERE s.b");
        has(joined, "SELECT s.c1 FROM t LEFT JOIN (SELECT u.c0, u.c1 FROM u) AS s ON t.c0 = s.c0 WHERE NULL");
    }

    #[test]
    fn each_common_table_expression_may_stand_where_it_is_read() {
        let two = "WITH r AS (SELECT 1 AS a), s AS (SELECT r.a FROM r) SELECT s.a FROM s AS s JOIN t ON s.a";
        has(two, "WITH s AS (SELECT r.a FROM (SELECT 1 AS a) AS r) SELECT s.a FROM s AS s JOIN t ON s.a");
        has(two, "WITH r AS (SELECT 1 AS a) SELECT s.a FROM (SELECT r.a FROM r) AS s JOIN t ON s.a");
        has("SELECT (WITH r AS (SELECT 1) SELECT * FROM r)", "SELECT (SELECT * FROM (SELECT 1) AS r)");
    }

    #[test]
    fn a_table_goes_with_what_joins_it_and_is_null_elsewhere() {
        let left = "SELECT b.x, a.y FROM t AS a LEFT OUTER JOIN u AS b ON a.y = b.x WHERE f(b.x)";
        has(left, "SELECT NULL, a.y FROM t AS a WHERE f(NULL)");
        has(left, "SELECT b.x, NULL FROM u AS b WHERE f(b.x)");
        has("SELECT b.x FROM t JOIN u AS b ON b.x > 1", "SELECT b.x FROM u AS b WHERE b.x > 1");
        has("SELECT b.x FROM t JOIN u AS b ON b.x > 1 WHERE b.y", "SELECT b.x FROM u AS b WHERE b.x > 1 AND b.y");
        has("SELECT 1 FROM t, u, v", "SELECT 1 FROM t, v");
        has("SELECT 1 FROM t JOIN (SELECT 2 AS a) AS s ON s.a JOIN v", "SELECT 1 FROM t JOIN v");
        has(
            "SELECT 1 FROM t NATURAL JOIN u RIGHT JOIN v ON left(v.a, 1)",
            "SELECT 1 FROM t RIGHT JOIN v ON left(v.a, 1)",
        );
    }

    #[test]
    fn clauses_become_simpler() {
        has("SELECT a FROM t GROUP BY a, b HAVING f(a) > 1", "SELECT a FROM t WHERE f(a) > 1");
        has("SELECT a FROM t WHERE b GROUP BY a HAVING f(a)", "SELECT a FROM t WHERE b AND f(a)");
        has("SELECT a FROM t JOIN u ON a IN (NULL) WHERE b", "SELECT a FROM t JOIN u ON 1 = 0 WHERE b");
        has("SELECT lag(a, 2) OVER (ORDER BY b) AS r FROM t", "SELECT NULL AS r FROM t");
        has("SELECT s.a FROM (SELECT a FROM t WHERE b) AS s", "SELECT a FROM t WHERE b");
        let constant = |text: &str| with_constant_conditions(text, "1 = 0");
        let known = constant("SELECT a FROM t JOIN u ON t.b WHERE 'A' GROUP BY a HAVING a > 'x'");
        assert_eq!(known.as_deref(), Some("SELECT a FROM t JOIN u ON 1 = 0 WHERE 1 = 0 GROUP BY a HAVING a > 'x'"));
        let known = constant("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t WHERE a)");
        assert_eq!(known.as_deref(), Some("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM t WHERE 1 = 0)"));
        assert_eq!(constant("SELECT a FROM t WHERE a IS NULL"), None);
        has("CREATE VIRTUAL TABLE t USING rtree(a, b, c)", "CREATE TABLE t(a, b, c)");
        has("CREATE VIRTUAL TABLE t USING fts5(a, b, tokenize = 'x')", "CREATE TABLE t(a, b)");
        assert!(cuts("CREATE INDEX i ON t(a, b)").iter().all(|cut| !cut.contains(" ON 1")), "no condition");
    }
}
