//! How a prover process is spoken with: requests and answers in frames, over any [`Read`] and [`Write`].
//!
//! A frame is its length as four little-endian bytes, then so many bytes of JSON. Whoever wants pairs decided without
//! linking the solver, or without dying with it, starts `caqtus-prover serve` and speaks this. The types are also the
//! program's JSON output, so there is one form of a result.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cert::Certificate;
use crate::evidence::Reason;
use crate::ir::Assumption;
use crate::limits::Limits;
use crate::pair::Pair;
use crate::report::{Report, Verdict};

/// Most bytes in one frame.
pub const FRAME_BYTES_MAX: u32 = 16 << 20;

/// What is wanted for a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A verdict.
    #[default]
    Decide,
    /// Only a database on which the queries differ; the answer is refuted or unknown.
    Refute,
    /// A test of the prover: a proof that no database has tested, and then databases. A proven pair that differs is
    /// unknown with a conflict for a reason, and comes with its witness and its certificate.
    Audit,
    /// The same, but a proof is only tried if the queries differ. What is proven is wrong.
    AuditDiffering,
}

/// A pair to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Comes back in the answer.
    pub id: String,
    /// The queries and their schema.
    #[serde(flatten)]
    pub pair: Pair,
    /// Bounds on the work; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// What is wanted.
    #[serde(default)]
    pub task: Task,
    /// Whether the answer of a proof carries its certificate.
    #[serde(default)]
    pub certificate: bool,
}

/// The verdict without its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The queries are equivalent.
    Proven,
    /// A database shows that they are not.
    Refuted,
    /// Neither.
    Unknown,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Proven => "proven",
            Self::Refuted => "refuted",
            Self::Unknown => "unknown",
        })
    }
}

/// What became of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Of the request; empty if that could not be read.
    pub id: String,
    /// The verdict.
    pub verdict: Outcome,
    /// Why a pair is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the verdict takes for granted.
    #[serde(default)]
    pub assumptions: BTreeSet<Assumption>,
    /// INSERT statements after which the queries differ; refuted pairs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Vec<String>>,
    /// The rows of the left query on the witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_rows: Option<Vec<String>>,
    /// The rows of the right query on the witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_rows: Option<Vec<String>>,
    /// Wall time in milliseconds.
    #[serde(default)]
    pub ms: f64,
    /// Z3 resource units used.
    #[serde(default)]
    pub rlimit: u64,
    /// Bounds that were reached on the way, each with how often.
    #[serde(default)]
    pub caps: BTreeMap<String, u64>,
    /// The proof, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Box<Certificate>>,
}

impl Answer {
    /// The answer that a report amounts to; without the certificate unless that is wanted.
    pub fn new(id: &str, report: Report, certificate: bool) -> Self {
        let mut answer = Self::unknown(id, String::new());
        answer.verdict = report.verdict.outcome();
        answer.reason = None;
        answer.assumptions = report.assumptions;
        answer.rlimit = report.rlimit;
        for (cap, count) in report.caps {
            *answer.caps.entry(cap).or_default() += count;
        }
        match report.verdict {
            Verdict::Proven(proof) => answer.certificate = certificate.then_some(proof),
            Verdict::Refuted(witness) => {
                answer.witness = Some(witness.inserts);
                answer.left_rows = Some(witness.left);
                answer.right_rows = Some(witness.right);
            }
            Verdict::Unknown(reason) => answer.reason = Some(reason.to_string()),
        }
        answer
    }

    /// Unknown, for this reason.
    pub fn unknown(id: &str, reason: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            verdict: Outcome::Unknown,
            reason: Some(reason.into()),
            assumptions: BTreeSet::new(),
            witness: None,
            left_rows: None,
            right_rows: None,
            ms: 0.0,
            rlimit: 0,
            caps: BTreeMap::new(),
            certificate: None,
        }
    }

    /// Unknown because the prover failed on this pair.
    pub fn crashed(id: &str, message: &str) -> Self {
        Self::unknown(id, format!("prover crashed: {message}"))
    }

    /// Unknown because the time for a pair was up.
    pub fn deadline(id: &str) -> Self {
        Self::unknown(id, Reason::Limit("deadline".to_owned()).to_string())
    }

    /// The answer to a frame that holds no request.
    pub fn malformed(error: &FrameError) -> Self {
        let id = if let FrameError::Malformed { id: Some(id), .. } = error { id } else { "" };
        Self::unknown(id, format!("malformed request: {error}"))
    }
}

impl Verdict {
    /// The verdict without its evidence.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Proven(_) => Outcome::Proven,
            Self::Refuted(_) => Outcome::Refuted,
            Self::Unknown(_) => Outcome::Unknown,
        }
    }
}

/// Why a frame could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe broke, or ended within a frame.
    #[error("a frame broke off")]
    Io(#[from] io::Error),
    /// Longer than a frame may be. What follows cannot be trusted to be a frame, so the conversation is over.
    #[error("a frame of {0} bytes, more than {FRAME_BYTES_MAX}")]
    TooLong(u64),
    /// The frame was whole but not what was expected in it; the next one can be read.
    #[error("{message}")]
    Malformed {
        /// The `id` in the frame, if it has that much sense.
        id: Option<String>,
        /// What is wrong with it.
        message: String,
    },
}

impl FrameError {
    /// Whether the next frame can be read.
    pub fn is_recoverable(&self) -> bool {
        matches!(self, Self::Malformed { .. })
    }
}

/// Reads a frame; `None` at the end of the input.
pub fn read_frame<T: DeserializeOwned>(input: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut length = [0; 4];
    let mut have = 0;
    while have < length.len() {
        match input.read(&mut length[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_BYTES_MAX {
        return Err(FrameError::TooLong(length.into()));
    }
    let mut json = Vec::new();
    // Not allocated at once: a length costs its sender nothing.
    input.take(length.into()).read_to_end(&mut json)?;
    if json.len() < length as usize {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    serde_json::from_slice(&json).map(Some).map_err(|error| {
        let id = serde_json::from_slice::<Value>(&json).ok().and_then(|v| Some(v.get("id")?.as_str()?.to_owned()));
        FrameError::Malformed { id, message: error.to_string() }
    })
}

/// Writes a frame and flushes it.
pub fn write_frame<T: Serialize>(output: &mut impl Write, message: &T) -> Result<(), FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message).map_err(io::Error::from)?;
    let bytes = frame.len() - 4;
    let length = u32::try_from(bytes).ok().filter(|n| *n <= FRAME_BYTES_MAX);
    let length = length.ok_or(FrameError::TooLong(bytes as u64))?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    output.write_all(&frame)?;
    output.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(id: &str) -> Request {
        Request {
            id: id.to_owned(),
            pair: Pair {
                schema: "CREATE TABLE t(a INT)".into(),
                q1: "SELECT a FROM t".into(),
                q2: serde_json::json!({"scan": 0}),
                placeholders: BTreeMap::from([("p1".to_owned(), "Expr(t: INT)".to_owned())]),
                functions: BTreeSet::from(["area".to_owned()]),
            },
            limits: Some(Limits::default()),
            task: Task::Refute,
            certificate: true,
        }
    }

    #[test]
    fn frames_come_back_as_they_went() {
        let mut pipe = Vec::new();
        let sent = [request("1"), request("ü\n\"")];
        sent.iter().for_each(|r| write_frame(&mut pipe, r).expect("a frame"));
        let mut pipe = pipe.as_slice();
        for request in sent {
            assert_eq!(read_frame::<Request>(&mut pipe).expect("a frame"), Some(request));
        }
        assert!(read_frame::<Request>(&mut pipe).expect("the end").is_none());
    }

    #[test]
    fn the_rest_of_a_conversation_survives_a_frame_without_sense() {
        let mut pipe = Vec::new();
        write_frame(&mut pipe, &serde_json::json!({"id": "x"})).expect("a frame");
        write_frame(&mut pipe, &request("y")).expect("a frame");
        let mut pipe = pipe.as_slice();
        let error = read_frame::<Request>(&mut pipe).expect_err("no schema");
        assert!(error.is_recoverable());
        assert_eq!(Answer::malformed(&error).id, "x");
        assert_eq!(read_frame::<Request>(&mut pipe).expect("a frame").expect("a request").id, "y");
    }

    #[test]
    fn a_frame_has_a_largest_size() {
        let error = read_frame::<Value>(&mut [0xff; 8].as_slice()).expect_err("4 GiB");
        assert!(matches!(error, FrameError::TooLong(0xffff_ffff)) && !error.is_recoverable());
        let long = "x".repeat(FRAME_BYTES_MAX as usize);
        let mut pipe = Vec::new();
        assert!(matches!(write_frame(&mut pipe, &long), Err(FrameError::TooLong(_))));
        assert!(pipe.is_empty(), "nothing of it is written");
    }

    #[test]
    fn an_end_within_a_frame_is_no_end() {
        let mut pipe = Vec::new();
        write_frame(&mut pipe, &request("z")).expect("a frame");
        for length in 1..pipe.len() {
            let error = read_frame::<Request>(&mut &pipe[..length]).expect_err("broken off");
            assert!(matches!(error, FrameError::Io(_)), "{length}");
        }
    }

    #[test]
    fn absent_fields_have_defaults() {
        let request: Request = serde_json::from_str(r#"{"id":"1","schema":"","q1":"","q2":""}"#).expect("a request");
        assert_eq!((request.task, request.limits, request.certificate), (Task::Decide, None, false));
        let answer: Answer = serde_json::from_str(r#"{"id":"1","verdict":"unknown"}"#).expect("an answer");
        assert_eq!(answer, Answer { reason: None, ..Answer::unknown("1", "") });
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read_frame::<Request>(&mut bytes.as_slice());
        }

        #[test]
        fn no_json_panics(text in ".{0,64}") {
            let mut pipe = u32::try_from(text.len()).expect("short").to_le_bytes().to_vec();
            pipe.extend(text.as_bytes());
            let _ = read_frame::<Request>(&mut pipe.as_slice());
        }
    }
}
