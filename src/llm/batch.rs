//! Batches: many requests in one file, answered within a day for half the price
//! (`platform.openai.com/docs/guides/batch`).
//!
//! A request's hash is its `custom_id`, so results can come in any order, twice, or not at all. The body of a line is
//! that of a live call, and its answer is read by the same function, so both ways give the same exchange.
//!
//! **Invariant:** every line of a result file ends in an exchange, a counted fault, or a place in one of the lists of
//! [`Results`]; nothing is skipped.

use super::error::{Fault, ModelError};
use super::exchange::Exchange;
use super::live::{Live, Tries};
use super::request::Request;
use super::wire::{self, Asked, Completion, Said, Shape, said_short};
use async_openai::error::OpenAIError;
use async_openai::types::InputSource;
use async_openai::types::files::{CreateFileRequest, FileInput, FilePurpose};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

/// The path of chat completions, which a line and a batch name.
const ENDPOINT: &str = "/v1/chat/completions";

/// The line of a request in a batch's file, without the line break.
pub fn line(request: &Request, shape: Shape) -> String {
    json!({
        "custom_id": request.hash(),
        "method": "POST",
        "url": ENDPOINT,
        "body": wire::body(request, shape),
    })
    .to_string()
}

/// What came of the requests of a batch.
#[derive(Debug, Default)]
pub struct Results {
    /// Answers and faults by the request's hash.
    pub ended: BTreeMap<String, Result<Exchange, ModelError>>,
    /// Identifiers that belong to no request of the batch.
    pub unknown: BTreeSet<String>,
    /// Lines about a request that had an answer already.
    pub duplicates: u32,
    /// Lines that cannot be read.
    pub malformed: Vec<BadLine>,
}

/// A line that is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {number} of the result file is no result of a batch ({message})")]
pub struct BadLine {
    /// Its number, from 1.
    pub number: usize,
    /// What is wrong.
    pub message: String,
}

/// One line of an output or error file.
#[derive(Debug, Deserialize)]
struct ResultLine {
    custom_id: String,
    response: Option<Response>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Response {
    status_code: u16,
    #[serde(default)]
    body: Value,
}

impl Results {
    /// Reads an output or an error file; call it once for each. `asked` gives the requests of the batch by their
    /// hashes, and how they were put ([`Live::asked`]).
    pub fn read<'a>(&mut self, file: &str, asked: impl Fn(&str) -> Option<Asked<'a>>) {
        for (i, text) in file.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            let line: ResultLine = match serde_json::from_str(text) {
                Ok(line) => line,
                Err(error) => {
                    self.malformed.push(BadLine { number: i + 1, message: error.to_string() });
                    continue;
                }
            };
            let Some(asked) = asked(&line.custom_id) else {
                self.unknown.insert(line.custom_id);
                continue;
            };
            let hash = line.custom_id.clone();
            let result = read_line(asked, line).map_err(Fault::after_one_attempt);
            match self.ended.get(&hash) {
                // An answer is worth more than a fault, and the first of two is as good as the second.
                Some(Ok(_)) => self.duplicates += 1,
                Some(Err(_)) if result.is_err() => self.duplicates += 1,
                Some(Err(_)) | None => {
                    self.ended.insert(hash, result);
                }
            }
        }
    }
}

fn read_line(asked: Asked<'_>, line: ResultLine) -> Result<Exchange, Fault> {
    match line.response {
        Some(Response { status_code: 200, body }) => {
            let completion = Completion::deserialize(body)
                .map_err(|_| Fault::WrongShape { message: "a field has another type".into() })?;
            wire::exchange(asked, completion)
        }
        Some(Response { status_code, body }) => Err(wire::fault(asked, status_code, &Said::from_json(&body), None)),
        None => {
            let error = line.error.unwrap_or_default();
            let text = |name: &str| said_short(asked.key, error.get(name).and_then(Value::as_str).unwrap_or("unknown"));
            Err(Fault::NotProcessed { code: text("code"), message: text("message") })
        }
    }
}

/// The state of a batch at the endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Its name at the endpoint.
    pub id: String,
    /// `validating`, `in_progress`, `finalizing`, `completed`, `failed`, `expired`, `cancelling` or `cancelled`.
    pub status: String,
    /// The file with answers, once there is one. Batches that expired or were cancelled may have one too.
    pub output_file_id: Option<String>,
    /// The file with errors, once there is one.
    pub error_file_id: Option<String>,
    /// How many requests have ended.
    pub request_counts: Option<Counts>,
}

/// How many requests of a batch have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub total: u64,
    /// With an answer.
    pub completed: u64,
    /// Without.
    pub failed: u64,
}

impl Batch {
    /// Whether the endpoint has ended its work on it, well or badly.
    pub fn has_ended(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "expired" | "cancelled")
    }
}

#[derive(Deserialize)]
struct Uploaded {
    id: String,
}

/// One attempt under way. Boxed, because futures of asynchronous closures cannot move between threads in general.
type Attempt<'f, T> = Pin<Box<dyn Future<Output = Result<T, OpenAIError>> + Send + 'f>>;

/// The batches of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Batches<'a> {
    live: &'a Live,
    /// Faults are told in terms of some request; batches have none of their own.
    sample: &'a Request,
}

impl<'a> Batches<'a> {
    /// Batches at an endpoint. The sample is any request of the batch: messages about faults name its model.
    pub fn new(live: &'a Live, sample: &'a Request) -> Self {
        Self { live, sample }
    }

    /// Uploads the lines of a batch and gives the file's name at the endpoint. An upload that is lost costs nothing, so
    /// it is repeated like any other attempt.
    pub async fn upload(&self, lines: &str) -> Result<String, ModelError> {
        let source = InputSource::VecU8 { filename: "batch.jsonl".into(), vec: lines.as_bytes().to_vec() };
        let request =
            CreateFileRequest { file: FileInput { source }, purpose: FilePurpose::Batch, expires_after: None };
        let (client, request) = (&self.live.client, &request);
        let attempt =
            || -> Attempt<'_, Uploaded> { Box::pin(async move { client.files().create_byot(request.clone()).await }) };
        Ok(self.repeat("upload", u32::MAX, attempt).await?.id)
    }

    /// Starts a batch over an uploaded file. Not repeated when an attempt may have succeeded unseen, because two
    /// batches cost twice.
    pub async fn create(&self, file_id: &str) -> Result<Batch, ModelError> {
        let body = json!({ "input_file_id": file_id, "endpoint": ENDPOINT, "completion_window": "24h" });
        let (client, body) = (&self.live.client, &body);
        self.repeat("create", 1, || Box::pin(async move { client.batches().create_byot(body).await })).await
    }

    /// The present state of a batch.
    pub async fn status(&self, id: &str) -> Result<Batch, ModelError> {
        let client = &self.live.client;
        self.repeat("status", u32::MAX, || Box::pin(async move { client.batches().retrieve_byot(id).await })).await
    }

    /// The text of an output or error file.
    pub async fn download(&self, file_id: &str) -> Result<String, ModelError> {
        let client = &self.live.files;
        let attempt = || -> Attempt<'_, _> { Box::pin(async move { client.files().content(file_id).await }) };
        let bytes = self.repeat("download", u32::MAX, attempt).await?;
        // A line with bytes that are no text is malformed; the others are not.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn repeat<'f, T>(
        &self,
        what: &str,
        lost_max: u32,
        attempt: impl Fn() -> Attempt<'f, T>,
    ) -> Result<T, ModelError> {
        let mut tries = Tries::new(self.live, what, lost_max);
        let asked = self.live.asked(self.sample, self.live.shape().form);
        loop {
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) => tries.again(self.live.fault(asked, error)).await?,
            }
        }
    }
}
