//! Asking an endpoint.
//!
//! Attempts are repeated here and nowhere else. A fault that may pass is met by waiting and asking again, at most
//! [`LiveConfig::attempts_max`] times; but an attempt that may have been billed without bringing an answer (time-outs,
//! cut connections) is repeated more rarely, at most [`LiveConfig::lost_attempts_max`] times in all, because it costs.
//!
//! An endpoint that refuses answer schemas or the name of a parameter is asked in another shape at once, and every
//! following request starts with that shape.

use super::answer::AnswerForm;
use super::budget::Prices;
use super::error::{Fault, ModelError};
use super::exchange::Exchange;
use super::request::Request;
use super::transport::{Transport, TransportError};
use super::wire::{self, Asked, Completion, Said, Shape, said_short};
use super::{Asking, Model};
use crate::rng::{self, Rng};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use rand::RngExt as _;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// A key, or none. Nothing prints it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Shorter ones are placeholders such as `none`, which local servers want; they may stand in texts.
    const SECRET_BYTES_MIN: usize = 12;

    /// A key. White space around it is dropped; what cannot stand in a header is an error.
    pub fn new(text: &str) -> Result<Self, SetupError> {
        let text = text.trim();
        if text.bytes().all(|b| b.is_ascii_graphic()) { Ok(Self(text.to_owned())) } else { Err(SetupError::Key) }
    }

    /// For endpoints that want none.
    pub fn none() -> Self {
        Self::default()
    }

    /// A text with the key struck out.
    pub(super) fn hide_in(&self, text: &str) -> String {
        if self.0.len() < Self::SECRET_BYTES_MIN { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Key(none)" } else { "Key(hidden)" })
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A key with characters that no key has.
    #[error("the key has a space, a line break or another character that cannot be sent; copy it again")]
    Key,
    /// An unusable base URL.
    #[error("the base URL of the endpoint cannot be used: {reason}; give one such as `https://api.openai.com/v1`")]
    BaseUrl {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot start; check the machine's certificates and proxy settings")]
    Client(#[source] reqwest::Error),
}

/// How an endpoint is asked. All bounds are per request.
#[derive(Debug, Clone)]
pub struct LiveConfig {
    /// The endpoint, with the path of its API but without a slash at the end: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key.
    pub key: Key,
    /// Where the user sets the key, such as `$CAQTUS_LLM_KEY`; for messages.
    pub key_setting: String,
    /// Time for one attempt, from connecting to the last byte, in milliseconds.
    pub attempt_ms: u64,
    /// Attempts before a fault that may pass is given up to.
    pub attempts_max: u32,
    /// Attempts that may have been billed without an answer before it is given up.
    pub lost_attempts_max: u32,
    /// The first pause, in milliseconds; each further one is twice as long. Jitter takes up to half of it away.
    pub pause_ms: u64,
    /// The longest pause, in milliseconds.
    pub pause_ms_max: u64,
    /// The longest pause that an endpoint can ask for (`Retry-After`), in milliseconds. If it asks for more, it is
    /// given up.
    pub retry_after_ms_max: u64,
    /// Bytes read of an answer.
    pub answer_bytes_max: usize,
    /// Bytes read of a batch's result file.
    pub file_bytes_max: usize,
    /// How requests are first put.
    pub shape: Shape,
    /// Attempts that may still be sent, of all askings together; `None` for any number.
    pub calls_left: Option<u64>,
    /// Prices of models.
    pub prices: Prices,
    /// Seed of the jitter.
    pub seed: u64,
}

impl LiveConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>, key: Key, key_setting: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            key,
            key_setting: key_setting.into(),
            attempt_ms: 300_000,
            attempts_max: 5,
            lost_attempts_max: 2,
            pause_ms: 1_000,
            pause_ms_max: 30_000,
            retry_after_ms_max: 60_000,
            answer_bytes_max: 1024 * 1024,
            file_bytes_max: 256 * 1024 * 1024,
            shape: Shape::default(),
            calls_left: None,
            prices: Prices::default(),
            seed: 0,
        }
    }
}

/// An endpoint that speaks `OpenAI`'s chat completions.
pub struct Live {
    pub(super) client: Client<OpenAIConfig>,
    /// The same for files, which may be larger.
    pub(super) files: Client<OpenAIConfig>,
    pub(super) config: LiveConfig,
    /// How requests are put at present.
    shape: Mutex<Shape>,
    /// Attempts that may still be sent.
    calls_left: AtomicU64,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Live {
    /// Prepares asking; nothing is sent yet.
    pub fn new(config: LiveConfig) -> Result<Self, SetupError> {
        let url = check_base_url(&config.base_url)?;
        // Fails if a provider is installed already, which then is the one to use.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Redirections would carry prompts, and on the same host the key, to where nobody sent them.
        let mut http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        if url.host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]")) {
            http = http.no_proxy();
        }
        let http = http.build().map_err(SetupError::Client)?;
        // The defaults come from the environment; every one of them is overwritten.
        let endpoint = OpenAIConfig::new()
            .with_api_base(config.base_url.trim_end_matches('/'))
            .with_api_key(config.key.0.as_str())
            .with_org_id("")
            .with_project_id("");
        let transport = |bytes_max| Transport {
            http: http.clone(),
            attempt: Duration::from_millis(config.attempt_ms),
            bytes_max,
            anonymous: config.key.0.is_empty(),
        };
        let client = Client::build(http.clone(), endpoint);
        Ok(Self {
            files: client.clone().with_http_service(transport(config.file_bytes_max)),
            client: client.with_http_service(transport(config.answer_bytes_max)),
            shape: Mutex::new(config.shape),
            calls_left: AtomicU64::new(config.calls_left.unwrap_or(u64::MAX)),
            config,
        })
    }

    /// How requests are put at present: as configured, or as far down as the endpoint's refusals have led.
    pub fn shape(&self) -> Shape {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What answers to a request are read with, live or from a batch, when it was put in this form.
    pub fn asked<'a>(&'a self, request: &'a Request, form: AnswerForm) -> Asked<'a> {
        let price = self.config.prices.of(&request.model);
        Asked { request, form, price, key_setting: &self.config.key_setting, key: &self.config.key }
    }

    async fn ask(&self, request: &Request) -> Result<Exchange, ModelError> {
        let mut tries = Tries::new(self, &request.hash(), self.config.lost_attempts_max);
        loop {
            let shape = self.shape();
            let asked = self.asked(request, shape.form);
            let take = |left: u64| left.checked_sub(1);
            if self.calls_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                return Err(ModelError { fault: Fault::NoCallsLeft, ..tries.error() });
            }
            let sent = self.client.chat().create_byot::<_, Completion>(wire::body(request, shape)).await;
            let answered = sent.map_err(|error| self.fault(asked, error)).and_then(|c| wire::exchange(asked, c));
            match answered {
                Ok(mut exchange) => {
                    exchange.attempts = tries.attempts + 1;
                    exchange.lost_attempts = tries.lost;
                    return Ok(exchange);
                }
                Err(fault) => match wire::next_shape(shape, &fault) {
                    Some(next) => {
                        tries.attempts += 1;
                        self.step_down(shape, next);
                    }
                    None => tries.again(fault).await?,
                },
            }
        }
    }

    /// Takes the next shape, unless another asking has already done so.
    fn step_down(&self, from: Shape, to: Shape) {
        let mut shape = self.shape.lock().unwrap_or_else(PoisonError::into_inner);
        if *shape == from {
            *shape = to;
        }
    }

    /// Sorts what the client library reports.
    pub(super) fn fault(&self, asked: Asked<'_>, error: OpenAIError) -> Fault {
        let short = |text: &str| said_short(&self.config.key, text);
        match error {
            OpenAIError::Boxed(error) => match error.downcast::<TransportError>() {
                Ok(error) => match *error {
                    TransportError::Status { status, retry_after, body } => {
                        let wait = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                        wire::fault(asked, status, &Said::from_body(&body), wait)
                    }
                    TransportError::TimedOut => Fault::TimedOut { attempt_ms: self.config.attempt_ms },
                    TransportError::Unreachable(message) => Fault::Unreachable { message: short(&message) },
                    TransportError::CutOff(message) => Fault::CutOff { message: short(&message) },
                    TransportError::TooLong { bytes_max } => Fault::TooLong { bytes_max },
                },
                Err(error) => Fault::Refused { status: 0, message: short(&error.to_string()) },
            },
            OpenAIError::JSONDeserialize(error, _) => {
                // Of the error only the place and the kind are told: its text may quote the answer.
                let message = format!("line {}, column {}", error.line(), error.column());
                if error.is_data() { Fault::WrongShape { message } } else { Fault::Malformed { message } }
            }
            // What remains never left this machine: a request that cannot be written.
            other => Fault::Refused { status: 0, message: short(&other.to_string()) },
        }
    }
}

impl Model for Live {
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(self.ask(request))
    }

    /// Lost attempts and the answered one come to no more than the lost ones after which it is given up.
    fn billed_attempts_max(&self) -> u32 {
        self.config.lost_attempts_max.clamp(1, self.config.attempts_max.max(1))
    }
}

/// The attempts of one asking.
pub(super) struct Tries<'a> {
    config: &'a LiveConfig,
    rng: Rng,
    /// Attempts so far that brought no answer.
    pub attempts: u32,
    /// Those among them that met a fault that may pass.
    failed: u32,
    /// Those among them that may have been billed.
    pub lost: u32,
    lost_max: u32,
}

impl<'a> Tries<'a> {
    /// `name` says whose attempts these are: the same name has the same jitter.
    pub(super) fn new(live: &'a Live, name: &str, lost_max: u32) -> Self {
        let mut salt = [0; 8];
        salt.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..8]);
        let rng = rng::stream(live.config.seed, &[u64::from_le_bytes(salt)]);
        Self { config: &live.config, rng, attempts: 0, failed: 0, lost: 0, lost_max }
    }

    /// Counts an attempt that failed, and waits for the next one; the error if there is none.
    pub(super) async fn again(&mut self, fault: Fault) -> Result<(), ModelError> {
        self.attempts += 1;
        self.failed += 1;
        self.lost += u32::from(fault.may_be_billed());
        let given_up =
            !fault.may_pass() || self.failed >= self.config.attempts_max || self.lost >= self.lost_max.max(1);
        match self.pause_ms(&fault) {
            Some(pause_ms) if !given_up => {
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                Ok(())
            }
            _ => Err(ModelError { fault, ..self.error() }),
        }
    }

    /// What there was so far; the fault is to be filled in.
    fn error(&self) -> ModelError {
        ModelError { fault: Fault::NoCallsLeft, attempts: self.attempts, lost_attempts: self.lost }
    }

    /// How long to wait; `None` if the endpoint asks for longer than one waits.
    fn pause_ms(&mut self, fault: &Fault) -> Option<u64> {
        if let Fault::RateLimited { retry_after_ms: Some(wait), .. }
        | Fault::ServerFailed { retry_after_ms: Some(wait), .. } = fault
        {
            return (*wait <= self.config.retry_after_ms_max).then_some(*wait);
        }
        let doublings = (self.failed - 1).min(30);
        let pause = self.config.pause_ms.saturating_mul(1 << doublings).min(self.config.pause_ms_max);
        Some(pause - self.rng.random_range(0..=pause / 2))
    }
}

/// A base URL that can be asked, and that has no secret in it: URLs are printed.
fn check_base_url(text: &str) -> Result<reqwest::Url, SetupError> {
    let refuse = |reason| Err(SetupError::BaseUrl { reason });
    let Ok(url) = reqwest::Url::parse(text) else { return refuse("it is no URL") };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return refuse("it is neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("it has a name or a password in it, and the key has its own setting");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("it has a query or a fragment");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "sk-0123456789abcdef";

    fn live() -> Live {
        let mut config = LiveConfig::new("http://127.0.0.1:1/v1", Key::new(SECRET).expect("a key"), "KEY");
        config.pause_ms = 100;
        config.pause_ms_max = 1_000;
        Live::new(config).expect("a configuration")
    }

    #[test]
    fn the_key_is_not_printed() {
        let live = live();
        let printed = format!("{live:?} {:?} {:?}", live.config, live.config.key);
        assert!(!printed.contains("0123456789"), "{printed}");
    }

    #[test]
    fn unusable_settings_are_refused() {
        for url in ["", "api.openai.com/v1", "ftp://x/", "https://user:secret@x/v1", "https://x/v1?key=1"] {
            let error = Live::new(LiveConfig::new(url, Key::none(), "KEY")).expect_err(url);
            assert!(matches!(error, SetupError::BaseUrl { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("secret"));
        }
        assert!(Key::new("sk-\n123").is_err());
        assert_eq!(Key::new(" sk-123\n").expect("a key"), Key("sk-123".into()));
    }

    #[test]
    fn pauses_grow_to_a_bound_and_repeat() {
        let live = live();
        let pauses = |name| {
            let mut tries = Tries::new(&live, name, 2);
            let fault = Fault::ServerFailed { status: 500, message: String::new(), retry_after_ms: None };
            let pause = |failed| {
                tries.failed = failed;
                tries.pause_ms(&fault).expect("a pause")
            };
            (1..40).map(pause).collect::<Vec<_>>()
        };
        assert_eq!(pauses("a"), pauses("a"));
        assert_ne!(pauses("a"), pauses("b"));
        for (i, pause) in pauses("a").into_iter().enumerate() {
            let full = (100 << i.min(20)).min(1_000);
            assert!((full / 2..=full).contains(&pause), "{i}: {pause}");
        }
    }

    #[test]
    fn an_endpoint_cannot_ask_for_any_pause() {
        let live = live();
        let mut tries = Tries::new(&live, "a", 2);
        let limited = |ms| Fault::RateLimited { message: String::new(), retry_after_ms: Some(ms) };
        tries.failed = 1;
        assert_eq!(tries.pause_ms(&limited(60_000)), Some(60_000));
        assert_eq!(tries.pause_ms(&limited(60_001)), None);
    }

    #[test]
    fn shapes_go_down_once() {
        let live = live();
        let (first, second) = (Shape::default(), Shape { form: AnswerForm::JsonObject, ..Shape::default() });
        live.step_down(first, second);
        // A second asking that had started with the first shape.
        live.step_down(first, second);
        assert_eq!(live.shape(), second);
    }
}
