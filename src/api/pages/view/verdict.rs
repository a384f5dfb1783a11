//! What a build of an engine made of a snippet, in words.

use crate::corpus::validate::SnippetVerdict;
use serde_json::Value;

/// The verdict, as the store keeps it, in a few words each.
pub(crate) fn words(verdict: &Value) -> Vec<String> {
    match serde_json::from_value(verdict.clone()) {
        Ok(SnippetVerdict::Valid { ty, boolean_valued, null_preserving, may_fail, micros }) => {
            let mut words = vec![ty.map_or_else(|| "values of several types".to_owned(), |ty| ty.to_string())];
            let said = [
                (boolean_valued, "only 0, 1 and NULL"),
                (null_preserving, "NULL on a row of NULLs"),
                (may_fail, "fails on some rows"),
            ];
            words.extend(said.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned()));
            words.push(format!("{micros} µs"));
            words
        }
        Ok(SnippetVerdict::Table { yields, micros }) => {
            let column = |types: &std::collections::BTreeSet<_>| {
                types.iter().map(ToString::to_string).collect::<Vec<String>>().join(" or ")
            };
            let columns: Vec<String> = yields.iter().map(column).collect();
            vec![format!("columns ({})", columns.join(", ")), format!("{micros} µs")]
        }
        Ok(SnippetVerdict::Refused(why)) => vec![why],
        Err(_) => vec![verdict.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::types::SqlType;

    #[test]
    fn verdicts_are_told_in_words() {
        let check = |verdict: &SnippetVerdict, expect: &[&str]| {
            assert_eq!(words(&serde_json::to_value(verdict).expect("JSON")), expect);
        };
        let valid = |ty, may_fail| SnippetVerdict::Valid {
            ty,
            boolean_valued: false,
            null_preserving: true,
            may_fail,
            micros: 12,
        };
        check(&valid(Some(SqlType::Int), false), &["INT", "NULL on a row of NULLs", "12 µs"]);
        check(
            &valid(None, true),
            &["values of several types", "NULL on a row of NULLs", "fails on some rows", "12 µs"],
        );
        let yields = vec![[SqlType::Int, SqlType::Real].into(), [SqlType::Text].into()];
        check(&SnippetVerdict::Table { yields, micros: 7 }, &["columns (INT or REAL, TEXT)", "7 µs"]);
        check(&SnippetVerdict::Refused("no such function".into()), &["no such function"]);
        assert_eq!(words(&serde_json::json!({ "new": 1 })), [r#"{"new":1}"#], "another form is shown as it is");
    }
}
