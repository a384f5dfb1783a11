//! Finding queries in what a model wrote.
//!
//! Models answer in the form they were asked for, mostly: as JSON with a sentence before it, as a bare list, as SQL in a
//! fence. This is text of a stranger: it is bounded here, and nothing is believed of it. What looks like a query stays
//! as it is, be it two statements or nonsense; a parser judges it later.
//!
//! **Invariant:** every text ends in queries or in a [`NoQueries`], in time linear in its length but for a constant.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Bytes of one query. Longer ones are dropped and counted.
pub const QUERY_BYTES_MAX: usize = 20_000;

/// Queries of one answer. What comes after them is dropped and counted.
pub const QUERIES_MAX: usize = 64;

/// Places at which the beginning of JSON is tried. Each may cost a look at the whole text.
const JSON_STARTS_MAX: usize = 64;

/// The form of an answer, strictest first: as it is asked for, and as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerForm {
    /// JSON of exactly the schema.
    JsonSchema,
    /// Some other JSON.
    JsonObject,
    /// Plain text with SQL in it.
    SqlBlock,
}

/// The schema of answers: `{"queries": [{"sql": "…", "idea": "…"}]}`. It keeps to what `OpenAI`'s strict mode allows:
/// every field is required and no other one is permitted.
pub fn schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "sql": text, "idea": text },
                    "required": ["sql", "idea"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["queries"],
        "additionalProperties": false,
    })
}

/// What [`schema`] describes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    queries: Vec<Idea>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Idea {
    sql: String,
    #[serde(rename = "idea")]
    _idea: String,
}

/// Queries of an answer: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extracted {
    /// The form in which they came.
    pub form: AnswerForm,
    /// The queries, without semicolons at their ends, in the answer's order.
    pub queries: Vec<String>,
    /// How many more there were: too long, or too many.
    pub dropped: u32,
}

/// Why an answer has no queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum NoQueries {
    /// There is no text.
    #[error("the answer is empty")]
    NoText,
    /// The answer has the right form, but no query is in it: the model has no idea.
    #[error("the answer lists no queries")]
    NoneListed,
    /// Nothing in the text is a query.
    #[error("nothing in the answer looks like a query")]
    NoSql,
    /// All queries are longer than [`QUERY_BYTES_MAX`].
    #[error("every query in the answer is longer than {QUERY_BYTES_MAX} bytes")]
    AllTooLong,
}

impl NoQueries {
    /// A short name for counters.
    pub fn kind(self) -> &'static str {
        match self {
            Self::NoText => "no-text",
            Self::NoneListed => "none-listed",
            Self::NoSql => "no-sql",
            Self::AllTooLong => "all-too-long",
        }
    }
}

/// Finds the queries of an answer: in JSON of the schema, else in the first JSON with queries, else in fenced SQL, else
/// in the first paragraph that reads like a query. Thoughts that a local reasoning model shows before its answer
/// (`<think>…</think>`) are drafts and not looked at.
pub fn extract(text: &str) -> Result<Extracted, NoQueries> {
    let text = text.rsplit_once("</think>").map_or(text, |(_, answer)| answer);
    if text.trim().is_empty() {
        return Err(NoQueries::NoText);
    }
    if let Ok(answer) = serde_json::from_str::<Answer>(text) {
        return bounded(AnswerForm::JsonSchema, answer.queries.into_iter().map(|idea| idea.sql).collect());
    }
    if let Some(queries) = in_json(text) {
        return bounded(AnswerForm::JsonObject, queries);
    }
    let fenced = in_fences(text);
    let queries = if fenced.is_empty() { in_prose(text).into_iter().collect() } else { fenced };
    if queries.is_empty() { Err(NoQueries::NoSql) } else { bounded(AnswerForm::SqlBlock, queries) }
}

fn bounded(form: AnswerForm, queries: Vec<String>) -> Result<Extracted, NoQueries> {
    let mut kept = Vec::new();
    let mut dropped = 0;
    for query in queries {
        let query = query.trim().trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        if query.is_empty() {
            continue;
        }
        if query.len() > QUERY_BYTES_MAX || kept.len() == QUERIES_MAX {
            dropped += 1;
        } else {
            kept.push(query.to_owned());
        }
    }
    match (kept.is_empty(), dropped) {
        (false, _) => Ok(Extracted { form, queries: kept, dropped }),
        (true, 0) => Err(NoQueries::NoneListed),
        (true, _) => Err(NoQueries::AllTooLong),
    }
}

/// The queries of the first JSON value in the text that has a place for some. Single items are collected, because the
/// end of a list, and with it the list, may be cut off.
fn in_json(text: &str) -> Option<Vec<String>> {
    let mut items = Vec::new();
    let mut at = 0;
    for _ in 0..JSON_STARTS_MAX {
        let Some(start) = text[at..].find(['{', '[']) else { break };
        at += start;
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                match listed(&value) {
                    Some(queries) => return Some(queries),
                    None => items.extend(item(&value)),
                }
                at += values.byte_offset();
            }
            // The bracket is one byte, so the next place is a character's beginning.
            _ => at += 1,
        }
    }
    (!items.is_empty()).then_some(items)
}

/// The queries of a value that is a list of them: `{"queries": […]}`, or a list of strings or items.
fn listed(value: &Value) -> Option<Vec<String>> {
    let list = match value {
        Value::Object(object) => object.get("queries")?.as_array()?,
        Value::Array(list) => list,
        _ => return None,
    };
    let queries: Vec<_> = list.iter().filter_map(|v| v.as_str().map(str::to_owned).or_else(|| item(v))).collect();
    // A list of something else is no list of queries: `[1, 2]` in prose says nothing. An empty one under the right name
    // does.
    (!queries.is_empty() || list.is_empty() && value.is_object()).then_some(queries)
}

/// The query of `{"sql": "…"}` or `{"query": "…"}`.
fn item(value: &Value) -> Option<String> {
    ["sql", "query"].iter().find_map(|name| value.get(name)?.as_str()).map(str::to_owned)
}

/// The contents of blocks fenced as SQL of some dialect, or fenced without a name and beginning like a query. The last
/// fence may be missing.
fn in_fences(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    let mut close = |block: (bool, String)| {
        let (named, content) = block;
        if named || begins_like_a_query(&content) {
            blocks.push(content);
        }
    };
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        open = match (open, fence) {
            (None, Some(name)) => {
                let name = name.trim().to_ascii_lowercase();
                // Blocks in other languages are read over, like nameless ones that do not begin like a query.
                Some((name.contains("sql") || name.contains("duckdb"), String::new()))
            }
            (None, None) => None,
            (Some(block), Some(_)) => {
                close(block);
                None
            }
            (Some((named, mut content)), None) => {
                content.push_str(line);
                content.push('\n');
                Some((named, content))
            }
        };
    }
    if let Some(block) = open {
        close(block);
    }
    blocks
}

/// The first text that begins a line like a query, up to a semicolon at a line's end or an empty line.
fn in_prose(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let paragraph = |start: usize| {
        let mut query = String::new();
        for line in lines[start..].iter().take_while(|line| !line.trim().is_empty()) {
            query.push_str(line);
            query.push('\n');
            if line.trim_end().ends_with(';') {
                break;
            }
        }
        query
    };
    let start = (0..lines.len()).find(|at| {
        let line = lines[*at].trim_start();
        starts_with_word(line, "SELECT") || starts_with_word(line, "WITH") && reads_like_with(&paragraph(*at))
    })?;
    Some(paragraph(start))
}

/// Tells a common table expression from a sentence that begins with the word.
fn reads_like_with(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains('(') && lower.contains("select") && lower.split_whitespace().any(|w| w == "as" || w == "as(")
}

fn begins_like_a_query(text: &str) -> bool {
    let text = text.trim_start();
    ["SELECT", "WITH", "VALUES"].iter().any(|word| starts_with_word(text, word)) || text.starts_with('(')
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let (Some(head), tail) = (text.get(..word.len()), text.get(word.len()..)) else { return false };
    let goes_on = tail.and_then(|tail| tail.chars().next()).is_some_and(|c| c.is_alphanumeric() || c == '_');
    head.eq_ignore_ascii_case(word) && !goes_on
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, form: AnswerForm, queries: &[&str]) {
        let extracted = extract(text).unwrap_or_else(|none| panic!("{none}: {text}"));
        assert_eq!(
            (extracted.form, extracted.queries),
            (form, queries.iter().map(|q| (*q).to_owned()).collect()),
            "{text}"
        );
    }

    #[test]
    fn forms() {
        use AnswerForm::{JsonObject, JsonSchema, SqlBlock};
        for (text, form, queries) in [
            (
                r#"{"queries":[{"sql":"SELECT 1;","idea":"x"},{"sql":"SELECT 2 ; ;\n","idea":""}]}"#,
                JsonSchema,
                &["SELECT 1", "SELECT 2"][..],
            ),
            (r#"{"queries":[{"sql":"SELECT 1"}]}"#, JsonObject, &["SELECT 1"]),
            (r#"{"queries":["SELECT 1", {"query":"SELECT 2"}, 3], "note":"x"}"#, JsonObject, &["SELECT 1", "SELECT 2"]),
            (r#"["SELECT 1", "SELECT 2"]"#, JsonObject, &["SELECT 1", "SELECT 2"]),
            (
                "Here {you} go [1]:\n```json\n{\"queries\":[{\"sql\":\"SELECT 1\",\"idea\":\"x\"}]}\n```\nand {\"queries\":[\"SELECT 2\"]}",
                JsonObject,
                &["SELECT 1"],
            ),
            // Cut off in the middle of the second item's successor.
            (
                r#"{"queries":[{"sql":"SELECT 1","idea":"a"},{"sql":"SELECT 2","idea":"b"},{"sql":"SELE"#,
                JsonObject,
                &["SELECT 1", "SELECT 2"],
            ),
            (
                "First:\n```sql\nSELECT 1;\n```\nthen\n```PostgreSQL\nSELECT 2\nFROM t\n```\n```python\nx = 1\n```\n```\nWITH a AS (SELECT 1) SELECT * FROM a\n```",
                SqlBlock,
                &["SELECT 1", "SELECT 2\nFROM t", "WITH a AS (SELECT 1) SELECT * FROM a"],
            ),
            ("```sql\nSELECT 1", SqlBlock, &["SELECT 1"]),
            (
                "With this in mind:\n\nselect a\nfrom t;\nIt selects (all) rows, as\nselect does.",
                SqlBlock,
                &["select a\nfrom t"],
            ),
            (
                "WITH a AS (SELECT 1)\nSELECT * FROM a\n\nThis is it.",
                SqlBlock,
                &["WITH a AS (SELECT 1)\nSELECT * FROM a"],
            ),
            ("<think>Maybe [\"SELECT 0\"]?</think>\n[\"SELECT 1\"]", JsonObject, &["SELECT 1"]),
            // Two statements stay two: judging is a parser's task.
            (r#"["SELECT 1; DROP TABLE t;"]"#, JsonObject, &["SELECT 1; DROP TABLE t"]),
        ] {
            check(text, form, queries);
        }
    }

    #[test]
    fn nothing_has_its_reasons() {
        for (text, expected) in [
            ("", NoQueries::NoText),
            (" \n", NoQueries::NoText),
            (r#"{"queries":[]}"#, NoQueries::NoneListed),
            (r#"{"queries":[{"sql":" ; ","idea":"x"}]}"#, NoQueries::NoneListed),
            ("I cannot do that. Selecting is hard.", NoQueries::NoSql),
            ("[1, 2]", NoQueries::NoSql),
        ] {
            assert_eq!(extract(text).expect_err(text), expected, "{text}");
        }
        let long = json!([format!("SELECT '{}'", "x".repeat(QUERY_BYTES_MAX))]).to_string();
        assert_eq!(extract(&long).expect_err("too long"), NoQueries::AllTooLong);
    }

    #[test]
    fn bounds_are_kept_and_counted() {
        let mut queries = vec![format!("SELECT '{}'", "x".repeat(QUERY_BYTES_MAX))];
        queries.extend((0..QUERIES_MAX + 3).map(|i| format!("SELECT {i}")));
        let extracted = extract(&json!(queries).to_string()).expect("queries");
        assert_eq!((extracted.queries.len(), extracted.dropped), (QUERIES_MAX, 4));
        assert_eq!(extracted.queries[0], "SELECT 0");
    }

    #[test]
    fn hostile_text_takes_no_time() {
        // Without a bound on the starts, each of these is quadratic or worse.
        for text in
            ["[".repeat(1 << 20), "{\"".repeat(1 << 19), format!("[\"{}", "[".repeat(1 << 20)), "[1,".repeat(1 << 18)]
        {
            assert_eq!(extract(&text), Err(NoQueries::NoSql));
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_end(text in any::<String>()) {
            let _ = extract(&text);
        }

        #[test]
        fn text_of_the_right_parts_has_an_end(
            parts in prop::collection::vec(prop::sample::select(vec![
                "```", "```sql\n", "{", "}", "[", "]", "\"", "\\", "\"queries\"", ":", ",", "SELECT", "WITH", " AS (",
                ";", "\n", "é", "\u{0}", "{\"sql\":\"SELECT 1\"}", "1",
            ]), 0..40),
        ) {
            if let Ok(extracted) = extract(&parts.concat()) {
                prop_assert!(!extracted.queries.is_empty());
                prop_assert!(extracted.queries.iter().all(|q| !q.is_empty() && !q.ends_with(';')));
            }
        }

        #[test]
        fn well_formed_answers_come_back(
            queries in prop::collection::vec("[^; \\s]([^\\x00]{0,40}[^; \\s])?", 1..10), idea in any::<String>(),
        ) {
            let items: Vec<_> = queries.iter().map(|sql| json!({ "sql": sql, "idea": idea })).collect();
            let text = json!({ "queries": items }).to_string();
            let extracted = extract(&text).expect("queries");
            prop_assert_eq!((extracted.form, &extracted.queries), (AnswerForm::JsonSchema, &queries));
            let fenced = format!("Sure:\n```json\n{text}\n```\n");
            prop_assert_eq!(extract(&fenced).expect("queries").queries, queries);
        }
    }
}
