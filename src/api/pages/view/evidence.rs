//! Why a class is in its state: what people decided, newest first, and what engines said before that.

use super::finding::Shown;
use crate::discover::crosscheck::{Checked, Evidence};
use serde::Serialize;
use serde_json::Value;

/// Findings against a class that are shown.
const AGAINST_MAX: usize = 5;

/// Decisions that are shown.
const DECISIONS_MAX: usize = 50;

/// What there is.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Reasons {
    decisions: Vec<Decision>,
    engines: Vec<Engine>,
    against: Vec<Shown>,
    /// Findings against it that are not shown.
    more: usize,
    /// What has another form than these.
    other: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Decision {
    why: String,
    by: String,
}

/// What an engine said.
#[derive(Debug, PartialEq, Serialize)]
struct Engine {
    target: String,
    version: String,
    cases: u64,
    pass: u64,
    /// Findings against the class.
    against: usize,
    /// Crashes, hangs and internal errors.
    other: usize,
    /// Why it cannot use the class.
    unusable: Option<String>,
}

impl Reasons {
    pub(crate) fn new(evidence: Option<&Value>) -> Self {
        let mut reasons = Self::default();
        let mut rest = evidence;
        while let Some(value) = rest {
            let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
            let Some(why) = text("reviewed") else { break };
            if reasons.decisions.len() < DECISIONS_MAX {
                reasons
                    .decisions
                    .push(Decision { why, by: text("by").unwrap_or_else(|| "the command line".to_owned()) });
            }
            rest = value.get("before");
        }
        match rest {
            None | Some(Value::Null) => {}
            Some(value) => match serde_json::from_value::<Evidence>(value.clone()) {
                Ok(evidence) => reasons.add(evidence),
                Err(_) => reasons.other = Some(serde_json::to_string_pretty(value).unwrap_or_default()),
            },
        }
        reasons
    }

    fn add(&mut self, evidence: Evidence) {
        let Evidence { checked, unusable, others, others_unusable } = evidence;
        for (target, Checked { version, cases, pass, against, other, plans: _ }) in checked.into_iter().chain(others) {
            let found = against.len();
            let room = AGAINST_MAX.saturating_sub(self.against.len());
            self.against.extend(against.iter().take(room).map(Shown::new));
            self.more += found.saturating_sub(room);
            self.engines.push(Engine { target, version, cases, pass, against: found, other, unusable: None });
        }
        for (target, why) in unusable.into_iter().chain(others_unusable) {
            let unusable = Some(why);
            self.engines.push(Engine {
                target,
                version: String::new(),
                cases: 0,
                pass: 0,
                against: 0,
                other: 0,
                unusable,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decisions_come_before_what_engines_said() {
        let engines = json!({
            "checked": { "sqlite": { "version": "3", "cases": 7, "pass": 6, "against": [], "other": 1 } },
            "unusable": { "duckdb": "no such function" },
        });
        let reasons = Reasons::new(Some(
            &json!({ "reviewed": "again", "by": "ann", "before": { "reviewed": "at first", "before": engines } }),
        ));
        let said: Vec<(&str, &str)> = reasons.decisions.iter().map(|d| (d.why.as_str(), d.by.as_str())).collect();
        assert_eq!(said, [("again", "ann"), ("at first", "the command line")]);
        assert_eq!(reasons.engines.len(), 2);
        assert_eq!((reasons.engines[0].cases, reasons.engines[1].unusable.as_deref()), (7, Some("no such function")));
        assert!(Reasons::new(None).engines.is_empty());
        assert!(Reasons::new(Some(&json!({ "other": 1 }))).other.expect("shown").contains("other"));
    }
}
