//! What is asked of an engine while it is made ready: once per build, and only what it answered is kept.

use super::cache::{CacheFile, Places};
use super::session::{STARTS_MAX, keyed};
use crate::compare::Row;
use crate::dbms::target::Target;
use crate::dbms::{Connection, EngineError, ErrorClass};
use crate::sql::profile::Profile;
use crate::triage::finding::FindingKind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What comes of a question. What was asked before may have ended the engine, so one that has no connection is asked once
/// more, on a new database with the statements in it. The error is that the engine cannot be reached any more, which says
/// nothing of the question.
pub(super) fn insist<T>(
    connection: &mut dyn Connection,
    statements: &[String],
    mut ask: impl FnMut(&mut dyn Connection) -> Result<T, EngineError>,
) -> Result<Result<T, EngineError>, EngineError> {
    let is_lost = |came: &Result<T, EngineError>| came.as_ref().is_err_and(|e| e.class == ErrorClass::ConnectionLost);
    let reach = |connection: &mut dyn Connection| {
        connection.reset()?;
        statements.iter().for_each(|statement| drop(connection.execute(statement)));
        Ok::<(), EngineError>(())
    };
    let mut came = ask(connection);
    if is_lost(&came) {
        reach(connection)?;
        came = ask(connection);
    }
    if is_lost(&came) {
        reach(connection)?;
    }
    Ok(came)
}

/// What came of a question that needs no tables.
#[derive(Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) rows: Option<Vec<Row>>,
    /// How it broke the engine, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broke: Option<FindingKind>,
    /// What the engine said if there are no rows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

impl Default for Probe {
    fn default() -> Self {
        Self { rows: None, broke: Some(FindingKind::Crash), message: String::new() }
    }
}

/// How an error shows that the engine is broken, if it does.
pub(super) fn broke(error: &EngineError) -> Option<FindingKind> {
    error.class.is_finding().then(|| error.class.into())
}

/// What a build of an engine was seen to accept, so that it is not asked again at every start.
pub(super) struct ProbeCache {
    pub(super) cache: CacheFile,
    known: HashMap<String, Option<serde_json::Value>>,
    /// Questions that were begun and not answered: the engine ended, or was stopped.
    begun: HashMap<String, usize>,
    /// The engine cannot be reached any more: nothing is asked.
    pub(super) gone: Option<EngineError>,
}

/// Whether a query runs.
#[derive(Serialize, Deserialize)]
pub(super) struct Acceptance {
    /// What the engine said if it does not.
    pub(super) refused: Option<String>,
    /// How it broke the engine, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) broke: Option<FindingKind>,
}

impl Default for Acceptance {
    fn default() -> Self {
        Self { refused: Some("it ended the engine".to_owned()), broke: Some(FindingKind::Crash) }
    }
}

/// A line of the memory. A question is written down before it is asked.
#[derive(Serialize, Deserialize)]
struct MemoryLine {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<serde_json::Value>,
}

impl ProbeCache {
    /// The memory of a target's build. Locked until it is dropped, so that a second hunt waits rather than asks again.
    pub(super) fn open(target: &Target, places: &mut Places, connection: &dyn Connection, profile: &Profile) -> Self {
        let name = keyed(&[env!("CARGO_PKG_VERSION"), &profile.digest, &target.to_string(), &connection.build_id()]);
        let cache = places.open(&format!("accepted-{name}.jsonl"));
        let (mut known, mut begun) = (HashMap::new(), HashMap::<String, usize>::new());
        // A line cut off by a kill does not parse.
        for MemoryLine { key, answer } in cache.text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            if answer.is_some() {
                known.insert(key, answer);
            } else {
                *begun.entry(key).or_default() += 1;
            }
        }
        Self { cache, known, begun, gone: None }
    }

    /// What is known of these statements, or what `ask` finds out. What ended the engine [`STARTS_MAX`] times is refused. An
    /// engine that cannot be reached any more is remembered, and what it did not answer is not.
    pub(super) fn get_or_probe<T: Serialize + DeserializeOwned + Default>(
        &mut self,
        statements: &[&str],
        ask: impl FnOnce() -> Result<T, EngineError>,
    ) -> T {
        let key = keyed(statements);
        match self.known.get(&key) {
            Some(Some(value)) => {
                if let Ok(known) = serde_json::from_value(value.clone()) {
                    return known;
                }
            }
            Some(None) => return T::default(),
            None if self.begun.get(&key).is_some_and(|begun| *begun >= STARTS_MAX) => return T::default(),
            None => {}
        }
        if self.gone.is_some() {
            return T::default();
        }
        self.cache.add(&MemoryLine { key: key.clone(), answer: None });
        let answer = match ask() {
            Ok(answer) => answer,
            Err(error) => {
                self.gone = Some(error);
                return T::default();
            }
        };
        let value = serde_json::to_value(&answer).ok();
        self.cache.add(&MemoryLine { key: key.clone(), answer: value.clone() });
        self.known.insert(key, value);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::sql::types::Value;

    /// An engine behind a connection that is lost at each question of a list, and whose server ends at the last of them.
    struct Leaving {
        losses: Vec<&'static str>,
        asked: Vec<String>,
    }

    impl Connection for Leaving {
        fn version(&self) -> String {
            "1".to_owned()
        }

        fn build_id(&self) -> String {
            "leaving".to_owned()
        }

        fn reset(&mut self) -> Result<(), EngineError> {
            if self.losses.is_empty() { Err(EngineError::new(ErrorClass::ConnectionLost, "refused")) } else { Ok(()) }
        }

        fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
            self.rows(sql).map(drop)
        }

        fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
            self.asked.push(sql.to_owned());
            match self.losses.iter().position(|loss| *loss == sql) {
                Some(at) => {
                    self.losses.remove(at);
                    Err(EngineError::new(ErrorClass::ConnectionLost, "closed"))
                }
                None if self.losses.is_empty() => Err(EngineError::new(ErrorClass::ConnectionLost, "closed")),
                None => Ok(vec![vec![Value::Int(1)]]),
            }
        }
    }

    #[test]
    fn what_a_server_did_not_answer_is_asked_again_by_the_next() {
        let dir = tempfile::tempdir().expect("a directory");
        let (target, profile) = ("sqlite".parse().expect("a target"), catalogue::profile("sqlite").expect("a profile"));
        let ask = |losses: &[&'static str], questions: &[&str]| {
            let mut connection = Leaving { losses: losses.to_vec(), asked: Vec::new() };
            let mut places = Places::new(dir.path(), None);
            let mut memory = ProbeCache::open(&target, &mut places, &connection, &profile);
            let answers: Vec<bool> = questions
                .iter()
                .map(|sql| {
                    let probe = memory.get_or_probe(&[sql], || {
                        let start = ["start".to_owned()];
                        let came = insist(&mut connection, &start, |connection| connection.rows(sql))?;
                        Ok(Probe { rows: came.ok(), broke: None, message: String::new() })
                    });
                    probe.rows.is_some()
                })
                .collect();
            (answers, connection.asked, memory.gone.is_some())
        };
        // Lost once and reached again: asked once more. Then the server ends: nothing more is asked.
        let (answers, asked, gone) = ask(&["a", "c", "c"], &["a", "b", "c", "d", "e"]);
        assert_eq!((answers, gone), (vec![true, true, false, false, false], true));
        assert_eq!(asked, ["a", "start", "a", "b", "c", "start", "c"]);
        // The next one is not asked what was answered.
        let (answers, asked, gone) = ask(&["never"], &["a", "b", "c", "d", "e"]);
        assert_eq!((answers, gone), (vec![true; 5], false));
        assert_eq!(asked, ["c", "d", "e"]);
    }
}
