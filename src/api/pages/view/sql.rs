//! SQL in parts, so that it is easier to read. Not a parser: whatever the text, the parts joined are the text, but for the
//! breaks before clauses.

use serde::Serialize;

/// A part of a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    /// What it is: `k` a keyword, `s` a literal, `p` a placeholder, `c` a comment, or nothing of these.
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

const KEYWORDS: &str = " ALL AND ANTI ANY AS ASC ASOF BEGIN BETWEEN BY CASE CAST COLLATE CREATE CROSS DELETE DESC DISTINCT ELSE \
    END ESCAPE EXCEPT EXISTS FALSE FILTER FOREIGN FROM FULL GLOB GROUP HAVING IN INDEX INNER INSERT INTERSECT INTO IS ISNULL \
    JOIN KEY LATERAL LEFT LIKE LIMIT MATERIALIZED NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION \
    PRAGMA PRIMARY RECURSIVE REFERENCES RIGHT ROLLBACK SELECT SEMI SET SOME TABLE THEN TRUE UNION UNIQUE UPDATE USING VALUES \
    VIEW WHEN WHERE WINDOW WITH ";

/// Before these a line begins, where they stand in no parentheses.
const CLAUSES: &str = " EXCEPT FROM GROUP HAVING INTERSECT LIMIT ORDER SELECT UNION WHERE WINDOW ";

fn is_in(list: &str, word: &str) -> bool {
    list.contains(&format!(" {} ", word.to_ascii_uppercase()))
}

/// Whether a word is the name of a placeholder of ours, as in `p1`.
fn is_placeholder(word: &str) -> bool {
    let mut chars = word.chars();
    matches!(chars.next(), Some('p' | 'q' | 'v' | 'w')) && word.len() > 1 && chars.all(|c| c.is_ascii_digit())
}

/// Where the word, literal, comment or mark at the start of a text ends, and what it is.
fn first(text: &str) -> (usize, &'static str) {
    let until = |end: Option<usize>| end.unwrap_or(text.len());
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let Some(begin) = text.chars().next() else { return (0, "") };
    match begin {
        '\'' | '"' | '`' => {
            // A quote that is written twice begins the next part, which is of the same kind.
            let end = until(text[1..].find(begin).map(|at| at + 2));
            (end, if begin == '\'' { "s" } else { "" })
        }
        '-' if text.starts_with("--") => (until(text.find('\n')), "c"),
        '/' if text.starts_with("/*") => (until(text.find("*/").map(|at| at + 2)), "c"),
        c if c.is_ascii_digit() => (until(text.find(|c: char| !(word(c) || c == '.'))), "s"),
        c if word(c) => {
            let end = until(text.find(|c: char| !word(c)));
            let found = &text[..end];
            (
                end,
                if is_in(KEYWORDS, found) {
                    "k"
                } else if is_placeholder(found) {
                    "p"
                } else {
                    ""
                },
            )
        }
        c => (c.len_utf8(), ""),
    }
}

/// The parts of a text. With `clauses`, each clause begins a line.
pub(crate) fn parts(text: &str, clauses: bool) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut rest, mut depth) = (text, 0_usize);
    let mut before = String::new();
    while !rest.is_empty() {
        let (end, kind) = first(rest);
        let (found, after) = rest.split_at(end);
        rest = after;
        match found {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let begins = kind == "k" && is_in(CLAUSES, found) && !before.eq_ignore_ascii_case("distinct");
        if clauses
            && depth == 0
            && begins
            && let Some(last) = parts.last_mut().filter(|last| last.kind.is_empty() && last.text.ends_with(' '))
        {
            last.text.pop();
            last.text.push('\n');
        }
        if !found.trim().is_empty() {
            found.clone_into(&mut before);
        }
        match parts.last_mut() {
            Some(last) if last.kind == kind => last.text.push_str(found),
            _ => parts.push(Part { kind, text: found.to_owned() }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keywords_literals_and_placeholders_are_told_apart() {
        let found = parts("SELECT p1, 'it''s' FROM t1 -- x", true);
        let shown: Vec<(&str, &str)> = found.iter().map(|part| (part.kind, part.text.as_str())).collect();
        let expected = [
            ("k", "SELECT"),
            ("", " "),
            ("p", "p1"),
            ("", ", "),
            ("s", "'it''s'"),
            ("", "\n"),
            ("k", "FROM"),
            ("", " t1 "),
            ("c", "-- x"),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn only_clauses_outside_of_parentheses_begin_lines() {
        let text: String = parts("SELECT a FROM (SELECT b FROM t WHERE c) WHERE a IS DISTINCT FROM b", true)
            .into_iter()
            .map(|p| p.text)
            .collect();
        assert_eq!(text, "SELECT a\nFROM (SELECT b FROM t WHERE c)\nWHERE a IS DISTINCT FROM b");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "\\PC{0,60}") {
            prop_assert_eq!(parts(&text, false).into_iter().map(|part| part.text).collect::<String>(), text);
        }
    }
}
