//! Reduction of what breaks an engine: crashes, hangs and internal errors.
//!
//! No relation between queries must be kept here, so any text may be cut anywhere: whether the same failure shows decides.
//! Whole queries and statements go first, then clauses and items of lists, then what stands in parentheses.

use super::finding::Finding;
use super::neutral::{NEUTRAL, neutralised};
use crate::program::{Step, Text};
use crate::sql::cuts::cuts;
use crate::sql::lex::tidy;
use crate::sql::partial::cut_together;

/// A reduction and what it may cost.
pub struct Blunt<'a> {
    /// Whether the same failure shows.
    pub shows: &'a mut dyn FnMut(&Finding) -> bool,
    /// How often that may be asked still.
    pub attempts: usize,
    /// What was not asked for that reason.
    pub left_out: usize,
}

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
                self.with_index(finding, at);
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

    /// Cuts the condition of a partial index where it stands in a query too.
    fn with_index(&mut self, finding: &mut Finding, index: usize) {
        for query in 0..finding.queries.len() {
            let mut tried = 0;
            while let (Some(definition), Some(text)) =
                (finding.statements.get(index), finding.queries.get(query).map(|query| query.step.sql.sql()))
            {
                let Some((definition, text)) = cut_together(definition, text).into_iter().nth(tried) else { break };
                let mut smaller = finding.clone();
                smaller.statements[index] = definition;
                let Some(sql) = free(&mut smaller.queries[query].step.sql) else { break };
                *sql = text;
                if !self.take(finding, smaller) {
                    tried += 1;
                }
                if self.attempts == 0 {
                    return;
                }
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
    fn a_condition_of_an_index_goes_with_that_of_the_query() {
        let mut whole = finding();
        whole.statements =
            ["CREATE TABLE t(a INT, b INT)", "CREATE INDEX i ON t(a) WHERE (a > 0 OR a IN (b)) AND b > 1"]
                .map(str::to_owned)
                .into();
        whole.queries.truncate(1);
        whole.queries[0].step.sql = "SELECT 1 FROM t AS q WHERE (q.a > 0 OR q.a IN (q.b)) AND q.b > 1".into();
        // The index is used if its condition is that of the query.
        let mut shows = |finding: &Finding| {
            let condition =
                |text: &str| text.split_once(" WHERE ").map(|(_, condition)| condition.replace(['(', ')'], ""));
            let [table, index] = finding.statements.as_slice() else { return false };
            let query = condition(finding.queries[0].step.sql.sql()).map(|condition| condition.replace("q.", ""));
            table.contains("TABLE t(") && query.is_some() && query == condition(index)
        };
        Blunt { shows: &mut shows, attempts: 400, left_out: 0 }.reduce(&mut whole);
        let size = whole.statements[1].len() + whole.queries[0].step.sql.sql().len();
        assert!(size < 70, "{:?} {}", whole.statements, whole.queries[0].step.sql.sql());
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
