//! Bugs in forms that others read: text for an issue tracker, JSON, `JUnit` XML and SARIF for CI.

use super::finding::{Finding, FindingKind};
use super::group::Bug;
use super::report::result_lines;
use crate::sql::profile::Profile;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use utoipa::ToSchema;

/// Forms of bugs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Issues for those who make the engine.
    Markdown,
    /// As `docs/bugs.schema.json` describes it.
    Json,
    /// A test suite.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
}

impl Format {
    /// The bugs with their smallest findings in this form.
    pub fn text(self, bugs: &[(Bug, Finding)], profile: &Profile) -> serde_json::Result<String> {
        let pretty = |value: &Value| serde_json::to_string_pretty(value).map(|text| text + "\n");
        match self {
            Self::Markdown => Ok(bugs.iter().map(|(_, finding)| finding.issue_md(profile)).collect()),
            Self::Json => pretty(&json(bugs)),
            Self::Junit => Ok(junit(bugs, profile)),
            Self::Sarif => pretty(&sarif(bugs)),
        }
    }
}

/// The form of `caqtus bug export --format json`; it changes when a field goes or means something else.
pub const SCHEMA_VERSION: u32 = 1;

impl Finding {
    /// It as an issue for those who make the engine: what to run, what comes, what must come, and why.
    pub fn issue_md(&self, profile: &Profile) -> String {
        let mut out = String::new();
        let title = match (self.kind, &self.cause.wrong) {
            (FindingKind::WrongResult, Some(wrong)) => format!("wrong result of query {}", wrong + 1),
            (FindingKind::WrongResult, None) => "queries that must agree do not".to_owned(),
            (kind, _) => kind.to_string(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# {} {}: {title}\n", profile.name, self.version);
        let _ = writeln!(out, "Version: {} {} ({})\n", profile.name, self.version, self.build_id);
        let _ = writeln!(out, "```sql\n{}```\n", self.repro_sql(profile));
        out.push_str("## Actual result\n\n");
        for (at, query) in self.queries.iter().enumerate() {
            let _ = writeln!(out, "Query {}:\n\n```\n{}\n```\n", at + 1, result_lines(&query.result).join("\n"));
        }
        let _ = writeln!(out, "## Expected result\n\n{}", self.expectation());
        if let Some(right) = self.right_query() {
            let rows = result_lines(&self.queries[right].result).join("\n");
            let _ = writeln!(out, "\nThat is, as query {} returns:\n\n```\n{rows}\n```", right + 1);
        }
        out.push_str(&self.cause_md());
        out
    }

    /// Of two queries that must agree the one that is right, where it is known which is wrong.
    pub fn right_query(&self) -> Option<usize> {
        let wrong = self.cause.wrong?;
        let check = self.checks().into_iter().find(|check| check.steps.len() == 2 && check.steps.contains(&wrong))?;
        check.steps.into_iter().find(|at| *at != wrong)
    }
}

/// The bugs with their smallest findings, as `docs/bugs.schema.json` describes it.
fn json(bugs: &[(Bug, Finding)]) -> Value {
    let bugs: Vec<Value> = bugs.iter().map(|(bug, smallest)| json!({ "bug": bug, "smallest": smallest })).collect();
    json!({ "schema": SCHEMA_VERSION, "bugs": bugs })
}

/// The bugs as a test suite: each that is news failed, each that is known was skipped.
fn junit(bugs: &[(Bug, Finding)], profile: &Profile) -> String {
    let known = bugs.iter().filter(|(bug, _)| bug.suppressed.is_some()).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<testsuites>\n  <testsuite name=\"caqtus\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{known}\">",
        bugs.len(),
        bugs.len() - known
    );
    for (bug, smallest) in bugs {
        let (id, kind, cause) = (escaped(&bug.id), escaped(&bug.kind), escaped(&bug.cause));
        let _ = writeln!(out, "    <testcase classname=\"caqtus.{kind}\" name=\"{id}: {cause}\">");
        let _ = match &bug.suppressed {
            Some(reason) => writeln!(out, "      <skipped message=\"{}\"/>", escaped(reason)),
            None => writeln!(
                out,
                "      <failure type=\"{kind}\" message=\"{cause}\">{}</failure>",
                escaped(&smallest.repro_sql(profile))
            ),
        };
        out.push_str("    </testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// A text within XML. What XML cannot hold becomes a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' => out.push(c),
            c if c < ' ' || matches!(c, '\u{7f}' | '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The bugs as SARIF 2.1.0.
fn sarif(bugs: &[(Bug, Finding)]) -> Value {
    let kinds = [
        ("wrong-result", "Queries that must return the same rows do not."),
        ("internal-error", "The engine reports that it is broken."),
        ("crash", "The engine ends."),
        ("hang", "A statement does not end."),
    ];
    let rules: Vec<Value> =
        kinds.iter().map(|(id, text)| json!({ "id": id, "shortDescription": { "text": text } })).collect();
    let result = |(bug, smallest): &(Bug, Finding)| {
        let suppressions: Vec<Value> = bug
            .suppressed
            .iter()
            .map(|reason| json!({ "kind": "external", "status": "accepted", "justification": reason }))
            .collect();
        json!({
            "ruleId": bug.kind,
            "level": "error",
            "message": { "text": format!("{} {}: {}. {}", smallest.dbms, smallest.version, bug.cause, smallest.expectation()) },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&bug.script.display().to_string()) } } }],
            "partialFingerprints": { "caqtusBug/v1": bug.id },
            "occurrenceCount": bug.findings,
            "suppressions": suppressions,
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "caqtus", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": bugs.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

/// A path as a relative reference of a URI.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => out.push(char::from(byte)),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::profile;
    use crate::triage::finding::tests::finding;
    use crate::triage::group::{Decisions, group};
    use crate::triage::known::KnownBug;
    use std::path::PathBuf;

    fn two() -> Vec<(Bug, Finding)> {
        let (mut one, mut other) = (finding(), finding());
        one.cause.message = "a <b> & \"c\"\u{1}".to_owned();
        other.class = "d".to_owned();
        other.seal();
        let all = [(PathBuf::from("out dir/1"), one), (PathBuf::from("out dir/2"), other)];
        let known = KnownBug { reason: "it's known".to_owned(), class: Some("d".to_owned()), ..KnownBug::default() };
        let bugs = group(&all, &Decisions::default(), (&[known], "sqlite", "2026-01-01"), &|_| None);
        let of = |bug: Bug| {
            let smallest = all.iter().find(|(_, finding)| finding.id == bug.smallest).expect("its smallest").1.clone();
            (bug, smallest)
        };
        bugs.into_iter().map(of).collect()
    }

    #[test]
    fn a_test_suite_is_xml_in_which_news_failed_and_known_bugs_were_skipped() {
        let xml = junit(&two(), &profile("sqlite").expect("shipped"));
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("message=\"a &lt;b&gt; &amp; &quot;c&quot;\u{fffd}\">"), "{xml}");
        assert!(xml.contains("<skipped message=\"it&apos;s known\"/>"), "{xml}");
        let count = |what: &str| xml.matches(what).count();
        assert_eq!((count("<testcase"), count("</testcase>"), count("<failure"), count("</failure>")), (2, 2, 1, 1));
    }

    #[test]
    fn sarif_has_a_result_for_each_bug() {
        let sarif = sarif(&two());
        let results = sarif["runs"][0]["results"].as_array().expect("results");
        assert_eq!(results.len(), 2);
        let known: Vec<usize> =
            results.iter().map(|one| one["suppressions"].as_array().expect("a list").len()).collect();
        assert_eq!(known, [0, 1]);
        let uri = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "out%20dir/1/repro.sql");
        for result in results {
            let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
            assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        }
    }

    #[test]
    fn the_schema_has_the_fields_that_are_written() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/bugs.schema.json");
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("reads")).expect("JSON");
        let written = json(&two());
        assert_eq!(schema["properties"]["schema"]["const"], written["schema"]);
        let check = |part: &str| {
            let object = written["bugs"][0][part].as_object().expect("an object");
            let described = schema["$defs"][part]["properties"].as_object().expect("properties");
            for field in object.keys() {
                assert!(described.contains_key(field), "{part} {field} is not in the schema");
            }
            for field in schema["$defs"][part]["required"].as_array().expect("required") {
                assert!(object.contains_key(field.as_str().expect("a name")), "{part} {field} is not written");
            }
        };
        check("bug");
        check("smallest");
    }
}
