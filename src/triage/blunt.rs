//! Reduction of what breaks an engine: crashes, hangs and internal errors.
//!
//! No relation between queries must be kept here, so any text may be cut anywhere: whether the same failure shows decides.
//! Whole queries and statements go first, then clauses and items of lists, then what stands in parentheses.

use super::finding::Finding;
use super::neutral::{NEUTRAL, neutralised};
use super::rows::tidy;
use crate::program::{Step, Text};
use crate::sql::lex::{Token, tokens};
use std::ops::Range;

/// A reduction and what it may cost.
pub struct Blunt<'a> {
    /// Whether the same failure shows.
    pub shows: &'a mut dyn FnMut(&Finding) -> bool,
    /// How often that may be asked still.
    pub attempts: usize,
    /// What was not asked for that reason.
    pub left_out: usize,
}

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

impl Blunt<'_> {
    /// Makes a finding smaller as far as the attempts reach; how much was not tried for that reason, at least.
    pub fn reduce(mut self, finding: &mut Finding) -> usize {
        self.fewer_queries(finding);
        self.fewer_statements(finding);
        self.without_constructs(finding);
        loop {
            let before = finding.size();
            for at in 0..finding.queries.len() {
                self.shorter(finding, &|finding| free(&mut finding.queries.get_mut(at)?.step.sql));
                for statement in 0..finding.queries[at].step.before.len() {
                    self.shorter(finding, &|finding| {
                        free(finding.queries.get_mut(at)?.step.before.get_mut(statement)?)
                    });
                }
            }
            for at in 0..finding.statements.len() {
                self.shorter(finding, &|finding| finding.statements.get_mut(at));
            }
            self.fewer_statements(finding);
            if finding.size() == before || self.attempts == 0 {
                break;
            }
        }
        finding.reduced = true;
        self.left_out
    }

    /// Takes a smaller finding if it shows.
    fn take(&mut self, finding: &mut Finding, smaller: Finding) -> bool {
        if self.attempts == 0 {
            self.left_out += 1;
            return false;
        }
        self.attempts -= 1;
        let shows = (self.shows)(&smaller);
        if shows {
            *finding = smaller;
        }
        shows
    }

    /// What broke the engine came last; what was before it, if nothing is filled from it, may have no part in that.
    fn fewer_queries(&mut self, finding: &mut Finding) {
        let filled = |step: &Step| step.texts().any(|text| !text.holes().is_empty());
        if finding.queries.iter().any(|query| filled(&query.step)) || finding.queries.len() < 2 {
            return;
        }
        let mut last = finding.clone();
        last.checks = Some(Vec::new());
        last.queries.drain(..last.queries.len() - 1);
        if self.take(finding, last) {
            return;
        }
        let mut at = 0;
        while at < finding.queries.len() && finding.queries.len() > 1 {
            let mut fewer = finding.clone();
            fewer.checks = Some(Vec::new());
            fewer.queries.remove(at);
            if !self.take(finding, fewer) {
                at += 1;
            }
        }
    }

    fn fewer_statements(&mut self, finding: &mut Finding) {
        let mut size = finding.statements.len();
        while size > 0 && self.attempts > 0 {
            let mut end = finding.statements.len();
            while end > 0 {
                let start = end.saturating_sub(size);
                let mut fewer = finding.clone();
                fewer.statements.drain(start..end);
                fewer.refused = None;
                self.take(finding, fewer);
                end = start.min(finding.statements.len());
            }
            size /= 2;
        }
    }

    /// Takes out constructs wherever they are.
    fn without_constructs(&mut self, finding: &mut Finding) {
        for construct in NEUTRAL {
            let steps: Vec<Step> = finding.queries.iter().map(|query| query.step.clone()).collect();
            if let Some((statements, steps)) = neutralised(construct, &finding.statements, &steps) {
                let mut without = finding.clone();
                without.statements = statements.iter().map(|statement| tidy(statement)).collect();
                without.queries.iter_mut().zip(steps).for_each(|(query, step)| query.step = step);
                self.take(finding, without);
            }
        }
    }

    /// Cuts one text, large pieces first.
    fn shorter(&mut self, finding: &mut Finding, text_of: &dyn Fn(&mut Finding) -> Option<&mut String>) {
        let mut tried = 0;
        loop {
            let Some(text) = text_of(finding).map(|text| text.clone()) else { return };
            let cuts = cuts(&text);
            let Some(cut) = cuts.get(tried).cloned() else { return };
            let mut smaller = finding.clone();
            if let Some(text) = text_of(&mut smaller) {
                *text = cut;
            }
            // After a cut, the pieces before it were tried already.
            if !self.take(finding, smaller) {
                tried += 1;
            }
            if self.attempts == 0 {
                return;
            }
        }
    }
}

/// A text that may be cut: a hole stands at a place of the text as it is.
fn free(text: &mut Text) -> Option<&mut String> {
    if text.holes().is_empty() { Some(text.sql_mut()) } else { None }
}

/// Shorter forms of a text, those that lose most first.
pub(super) fn cuts(text: &str) -> Vec<String> {
    let Ok(all) = tokens(text) else { return Vec::new() };
    let spell = |range: Range<usize>| all[range].iter().map(Token::text).collect::<String>();
    let replaced = |range: &Range<usize>, by: &str| {
        let joined = format!("{} {by} {}", spell(0..range.start), spell(range.end..all.len()));
        tidy(joined.trim())
    };
    let mut found: Vec<String> = Vec::new();
    for range in pieces(&all) {
        found.push(replaced(&range, ""));
    }
    let word_before = |at: usize| before(&all, at).filter(|word| matches!(all[*word], Token::Word(_)));
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
        found.push(replaced(&(start..close + 1), &spell(open + 1..close)));
    }
    found.extend(conditions(&all).iter().map(|range| replaced(range, "NULL")));
    found.extend(inlined(&all));
    let length = text.len();
    found.retain(|shorter| shorter.len() < length && !shorter.is_empty());
    found.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    found.dedup();
    found
}

/// The position of the token before one that is no space.
fn before(all: &[Token], at: usize) -> Option<usize> {
    (0..at).rev().find(|at| !matches!(all[*at], Token::Space(_)))
}

/// From each CASE to its END.
fn conditions(all: &[Token]) -> Vec<Range<usize>> {
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

/// The text with its only common table expression where it is read.
fn inlined(all: &[Token]) -> Option<String> {
    let dense: Vec<usize> = (0..all.len()).filter(|at| !matches!(all[*at], Token::Space(_))).collect();
    let &[with, name, as_, open, ..] = dense.as_slice() else { return None };
    if !(all[with].is_word("with") && all[as_].is_word("as") && all[open] == Token::Symbol('(')) {
        return None;
    }
    let close = groups(all).into_iter().find(|(start, _)| *start == open)?.1;
    let (name, query) = (all[name].text(), all[open..=close].iter().map(Token::text).collect::<String>());
    let mut out = String::new();
    let mut reads = false;
    for token in &all[close + 1..] {
        match token {
            Token::Word(word) if *word == name && reads => out.extend([query.as_str(), " AS ", name.as_str()]),
            other => out.push_str(&other.text()),
        }
        if !matches!(token, Token::Space(_)) {
            reads = token.is_word("from") || token.is_word("join");
        }
    }
    Some(out.trim().to_owned())
}

/// Pieces that something may go without: clauses, items of lists with a comma of theirs, either side of AND, OR and UNION.
fn pieces(all: &[Token]) -> Vec<Range<usize>> {
    let mut depth = 0;
    // Where clauses and items begin, and how deep.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    // At each depth: where the query begins, and the operand.
    let (mut queries, mut operands): (Vec<usize>, Vec<usize>) = (vec![0], vec![0]);
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

/// The positions of each pair of parentheses.
fn groups(all: &[Token]) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Symbol('(') => open.push(at),
            Token::Symbol(')') => found.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triage::finding::tests::finding;

    #[test]
    fn what_has_no_part_in_the_failure_goes() {
        let mut whole = finding();
        whole.statements = vec![
            "CREATE TABLE t(a INT, b TEXT, c INT)".to_owned(),
            "INSERT INTO t(a, b, c) VALUES (1, 'x', 2)".to_owned(),
            "CREATE INDEX i ON t(b)".to_owned(),
        ];
        let query = "SELECT a, MAX(b) OVER (PARTITION BY a ORDER BY (c + 1)) FROM t LEFT JOIN t AS u ON t.a = u.a WHERE (a > 0) \
             AND b IN (SELECT b FROM t) ORDER BY 1 LIMIT 3";
        whole.queries[1].step.sql = query.into();
        let mut asked = 0;
        let mut shows = |finding: &Finding| {
            asked += 1;
            let sql = finding.queries.last().map_or("", |query| query.step.sql.sql());
            sql.contains("MAX(b) OVER (")
                && sql.contains(" FROM t")
                && finding.statements.iter().any(|s| s.starts_with("CREATE TABLE t(a INT"))
        };
        let left_out = Blunt { shows: &mut shows, attempts: 400, left_out: 0 }.reduce(&mut whole);
        assert_eq!(left_out, 0);
        assert!(whole.reduced && asked < 200, "{asked}");
        assert_eq!(whole.statements, ["CREATE TABLE t(a INT)"]);
        let texts: Vec<&str> = whole.queries.iter().map(|query| query.step.sql.sql()).collect();
        assert_eq!(texts, ["SELECT MAX(b) OVER () FROM t"]);
    }

    #[test]
    fn either_side_may_go() {
        let has = |text: &str, cut: &str| {
            let all = cuts(text);
            assert!(all.iter().any(|other| other == cut), "{cut}: {all:#?}");
        };
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
    }

    #[test]
    fn no_more_is_asked_than_allowed() {
        let mut asked = 0;
        let mut shows = |_: &Finding| {
            asked += 1;
            false
        };
        let mut whole = finding();
        let before = whole.clone();
        let left_out = Blunt { shows: &mut shows, attempts: 3, left_out: 0 }.reduce(&mut whole);
        assert!(left_out > 0, "what was not asked is counted");
        assert_eq!(asked, 3);
        assert_eq!((whole.statements, whole.queries), (before.statements, before.queries));
    }
}
