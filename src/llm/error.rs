//! Faults of endpoints and of recordings.

use std::path::PathBuf;
use thiserror::Error;

/// Why a request has no answer. Messages of endpoints in here are short and without the key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// The endpoint does not accept the key (401, 403).
    #[error("the endpoint refuses the key (status {status}: {message}); set {setting} to a key that it accepts")]
    BadKey {
        /// HTTP status.
        status: u16,
        /// Where the user sets the key.
        setting: String,
        /// What the endpoint says.
        message: String,
    },
    /// The account has no money or quota left. Waiting does not help, in contrast to [`Fault::RateLimited`].
    #[error("the endpoint's quota is used up ({message}); add credit there, or choose another endpoint")]
    QuotaExhausted {
        /// What the endpoint says.
        message: String,
    },
    /// The endpoint does not have the model (404).
    #[error(
        "the endpoint has no model `{model}` ({message}); check the model's name, and that the base URL has the \
         path of the API, usually `/v1`"
    )]
    UnknownModel {
        /// The model asked for.
        model: String,
        /// What the endpoint says.
        message: String,
    },
    /// Too many requests (429), in spite of waiting.
    #[error("the endpoint limits the rate of requests ({message}); ask fewer at once, or later")]
    RateLimited {
        /// What the endpoint says.
        message: String,
        /// How long it wants to be left alone, when it says so.
        retry_after_ms: Option<u64>,
    },
    /// The endpoint failed (5xx and the like).
    #[error("the endpoint failed with status {status} ({message}); ask again later")]
    ServerFailed {
        /// HTTP status.
        status: u16,
        /// What the endpoint says.
        message: String,
        /// How long it wants to be left alone, when it says so.
        retry_after_ms: Option<u64>,
    },
    /// The endpoint does not accept the request (other 4xx, and redirections, which are not followed).
    #[error("the endpoint refuses the request (status {status}: {message}); check the model's parameters")]
    Refused {
        /// HTTP status.
        status: u16,
        /// What the endpoint says, with the parameter's name if it gives one.
        message: String,
    },
    /// No complete answer within the time for one attempt.
    #[error("no complete answer within {attempt_ms} ms; allow more time for an attempt, or fewer output tokens")]
    TimedOut {
        /// The bound.
        attempt_ms: u64,
    },
    /// No connection could be made.
    #[error("the endpoint cannot be reached ({message}); check the base URL and the network")]
    Unreachable {
        /// What the network says.
        message: String,
    },
    /// The connection ended before the answer did.
    #[error("the connection broke before the answer was complete ({message}); ask again later")]
    CutOff {
        /// What the network says.
        message: String,
    },
    /// The answer is larger than what is read of one.
    #[error("the answer has more than {bytes_max} bytes; ask for fewer output tokens")]
    TooLong {
        /// The bound.
        bytes_max: usize,
    },
    /// The answer is not JSON.
    #[error("the answer is not JSON ({message}); check that the base URL is that of an OpenAI-compatible API")]
    Malformed {
        /// What is wrong where.
        message: String,
    },
    /// The answer is JSON, but not a chat completion.
    #[error(
        "the answer is no chat completion ({message}); check that the base URL is that of an OpenAI-compatible API"
    )]
    WrongShape {
        /// What is missing.
        message: String,
    },
    /// A batch ended without having processed the request.
    #[error("the batch did not process the request ({code}: {message}); submit it again")]
    NotProcessed {
        /// The endpoint's code, such as `batch_expired`.
        code: String,
        /// What the endpoint says.
        message: String,
    },
    /// The limit on calls does not allow another attempt.
    #[error("the limit on calls is reached; raise it to go on")]
    NoCallsLeft,
    /// There is no recording of this request.
    #[error(
        "there is no recording of request {hash} in {}; ask a live endpoint once while recording into that directory",
        file.display()
    )]
    NoRecording {
        /// The request's hash.
        hash: String,
        /// The file that should be there.
        file: PathBuf,
    },
    /// A recording that cannot be used.
    #[error("the recording {} cannot be used ({message}); delete it and record it again", file.display())]
    BadRecording {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The answer could not be kept.
    #[error("the answer could not be recorded in {} ({message}); make room there or choose another directory", file.display())]
    NotRecorded {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
}

impl Fault {
    /// A short name for counters.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadKey { .. } => "bad-key",
            Self::QuotaExhausted { .. } => "quota-exhausted",
            Self::UnknownModel { .. } => "unknown-model",
            Self::RateLimited { .. } => "rate-limited",
            Self::ServerFailed { .. } => "server-failed",
            Self::Refused { .. } => "refused",
            Self::TimedOut { .. } => "timed-out",
            Self::Unreachable { .. } => "unreachable",
            Self::CutOff { .. } => "cut-off",
            Self::TooLong { .. } => "too-long",
            Self::Malformed { .. } => "malformed",
            Self::WrongShape { .. } => "wrong-shape",
            Self::NotProcessed { .. } => "not-processed",
            Self::NoCallsLeft => "no-calls-left",
            Self::NoRecording { .. } => "no-recording",
            Self::BadRecording { .. } => "bad-recording",
            Self::NotRecorded { .. } => "not-recorded",
        }
    }

    /// Whether every further request must fail for the same reason, until a person does something.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::BadKey { .. }
                | Self::QuotaExhausted { .. }
                | Self::UnknownModel { .. }
                | Self::NoRecording { .. }
                | Self::BadRecording { .. }
                | Self::NotRecorded { .. }
                | Self::NoCallsLeft
        )
    }

    /// Whether the endpoint was not there to answer: the request is as good as before, and waits for better times.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::ServerFailed { .. } | Self::Unreachable { .. })
    }

    /// Whether the same attempt may succeed a little later.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::ServerFailed { .. }
                | Self::TimedOut { .. }
                | Self::Unreachable { .. }
                | Self::CutOff { .. }
                | Self::Malformed { .. }
        )
    }

    /// Whether the endpoint may have done the work and billed it, although nothing came of it. Statuses of gateways
    /// say nothing about what happened behind them.
    pub(super) fn may_be_billed(&self) -> bool {
        match self {
            Self::TimedOut { .. }
            | Self::CutOff { .. }
            | Self::TooLong { .. }
            | Self::Malformed { .. }
            | Self::WrongShape { .. } => true,
            Self::ServerFailed { status, .. } => matches!(status, 502 | 504 | 524),
            _ => false,
        }
    }

    /// The error after a single attempt.
    pub fn after_one_attempt(self) -> ModelError {
        let lost_attempts = u32::from(self.may_be_billed());
        ModelError { fault: self, attempts: 1, lost_attempts }
    }
}

/// A request that got no answer, in however many attempts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{fault} (attempts: {attempts})")]
pub struct ModelError {
    /// What the last attempt met.
    pub fault: Fault,
    /// Attempts made.
    pub attempts: u32,
    /// How many of them may have been billed.
    pub lost_attempts: u32,
}

impl ModelError {
    /// A short name for counters.
    pub fn kind(&self) -> &'static str {
        self.fault.kind()
    }

    /// Whether to stop asking.
    pub fn is_fatal(&self) -> bool {
        self.fault.is_fatal()
    }
}
