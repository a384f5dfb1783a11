//! The wire format: `OpenAI`'s chat completions (`platform.openai.com/docs/api-reference/chat`), as other endpoints
//! speak it too.
//!
//! Bodies are written by [`body`] only, and answers are read leniently: endpoints leave out what `OpenAI` sends, add what
//! it does not, and write errors in several ways. What is needed and missing is a counted fault.

use super::answer::AnswerForm;
use super::budget::Price;
use super::error::Fault;
use super::exchange::{Exchange, Outcome, Usage};
use super::live::Key;
use super::request::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Characters kept of what an endpoint says about an error.
const MESSAGE_CHARS_MAX: usize = 300;

/// What the bound on output tokens is called. `OpenAI`'s newer models know the first name only, some other endpoints the
/// second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// `max_completion_tokens`.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`.
    MaxTokens,
}

/// How a request is put to an endpoint, beyond what it says. Kept with a batch, because its answers come much later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The form in which the answer is asked for.
    pub form: AnswerForm,
    /// The name of the bound on output tokens.
    pub output_limit: OutputLimit,
}

impl Default for Shape {
    fn default() -> Self {
        Self { form: AnswerForm::JsonSchema, output_limit: OutputLimit::default() }
    }
}

/// The body of a chat completion request.
pub fn body(request: &Request, shape: Shape) -> Value {
    let mut body = json!({ "model": request.model, "messages": request.messages });
    let limit = match shape.output_limit {
        OutputLimit::MaxCompletionTokens => "max_completion_tokens",
        OutputLimit::MaxTokens => "max_tokens",
    };
    body[limit] = request.max_output_tokens.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(effort) = &request.reasoning_effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    match shape.form {
        AnswerForm::JsonSchema => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": "answer", "strict": true, "schema": request.answer_schema },
            });
        }
        AnswerForm::JsonObject => body["response_format"] = json!({ "type": "json_object" }),
        AnswerForm::SqlBlock => {}
    }
    body
}

/// A chat completion, as far as it is read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Completion {
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    /// Some routers report errors with status 200.
    error: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    message: Option<ChoiceMessage>,
    finish_reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct ChoiceMessage {
    content: Option<Content>,
    refusal: Option<String>,
}

/// Most endpoints send a string, some a list of parts.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Clone, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

/// What is known about an asking besides its answer.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The request.
    pub request: &'a Request,
    /// How it was put.
    pub form: AnswerForm,
    /// The model's price.
    pub price: Option<Price>,
    /// Where the user sets the key, for messages.
    pub key_setting: &'a str,
    /// The key, which is taken out of everything that the endpoint says.
    pub key: &'a Key,
}

/// Reads a completion as the answer of a first attempt.
pub fn exchange(asked: Asked<'_>, completion: Completion) -> Result<Exchange, Fault> {
    let Completion { model, choices, usage, error } = completion;
    let mut choices = choices.unwrap_or_default();
    if choices.is_empty() {
        let Some(error) = error else {
            return Err(Fault::WrongShape { message: "it has no choices".into() });
        };
        let said = Said::from_json(&json!({ "error": error }));
        let status = said.code.parse().ok().filter(|code| (400..600).contains(code)).unwrap_or(500);
        return Err(fault(asked, status, &said, None));
    }
    choices.sort_by_key(|choice| choice.index);
    let mut texts = Vec::new();
    let mut finish_reasons = Vec::new();
    let mut declined = false;
    for choice in choices {
        let (content, refusal) = choice.message.map_or((None, None), |m| (m.content, m.refusal));
        let text = match content {
            None => String::new(),
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
        };
        declined |= refusal.is_some_and(|r| !r.is_empty()) || choice.finish_reason.as_deref() == Some("content_filter");
        texts.push(asked.key.hide_in(&text));
        finish_reasons.push(choice.finish_reason.map(|reason| said_short(asked.key, &reason)));
    }
    let ended = |reason: &str| finish_reasons.iter().any(|r| r.as_deref() == Some(reason));
    let complete = texts.iter().zip(&finish_reasons).any(|(text, reason)| {
        !text.trim().is_empty() && !matches!(reason.as_deref(), Some("length" | "content_filter"))
    });
    let outcome = match () {
        () if complete => Outcome::Answered,
        () if ended("length") => Outcome::Truncated,
        () if declined => Outcome::Declined,
        () => Outcome::Empty,
    };
    // Half of a usage is as unknown as none.
    let usage = usage
        .and_then(|usage| Some(Usage { input_tokens: usage.prompt_tokens?, output_tokens: usage.completion_tokens? }));
    Ok(Exchange {
        request_hash: asked.request.hash(),
        request: asked.request.clone(),
        outcome,
        form: Some(asked.form),
        texts,
        finish_reasons,
        usage,
        micro_usd: usage.zip(asked.price).map(|(usage, price)| price.of(usage)),
        attempts: 1,
        lost_attempts: 0,
        provider_model: model.map(|model| said_short(asked.key, &model)),
    })
}

/// What an endpoint says about an error, from whichever place it puts it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    message: String,
    kind: String,
    code: String,
    param: String,
}

impl Said {
    /// Reads the body of an error response: `OpenAI`'s object, one of its variations, or plain text.
    pub fn from_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_json(&value),
            Err(_) => Self { message: body.to_owned(), ..Self::default() },
        }
    }

    /// Reads `{"error": {"message", "type", "code", "param"}}`, `{"error": "text"}`, the same fields without `error`,
    /// and `{"detail": …}`.
    pub fn from_json(value: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let field = |name: &str| error.get(name).map(text).unwrap_or_default();
        let message = match error {
            Value::Object(_) => [field("message"), field("detail")].into_iter().find(|m| !m.is_empty()),
            Value::String(message) => Some(message.clone()),
            _ => None,
        };
        Self {
            message: message.unwrap_or_else(|| error.to_string()),
            kind: field("type"),
            code: field("code"),
            param: field("param"),
        }
    }

    /// One line for a person.
    fn line(&self, key: &Key) -> String {
        let param = if self.param.is_empty() || self.message.contains(&self.param) {
            String::new()
        } else {
            format!(" (parameter {})", self.param)
        };
        said_short(key, &format!("{}{param}", self.message))
    }

    fn is_about(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.code == *word || self.kind == *word)
    }
}

/// Sorts an error response. `OpenAI`'s codes: `platform.openai.com/docs/guides/error-codes`; other endpoints use status
/// 402 for an empty account.
pub fn fault(asked: Asked<'_>, status: u16, said: &Said, retry_after_ms: Option<u64>) -> Fault {
    let message = said.line(asked.key);
    let quota = ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"];
    match status {
        402 => Fault::QuotaExhausted { message },
        400..=499 if said.is_about(&quota) => Fault::QuotaExhausted { message },
        400..=499 if said.is_about(&["model_not_found"]) => {
            Fault::UnknownModel { model: asked.request.model.clone(), message }
        }
        401 | 403 => Fault::BadKey { status, setting: asked.key_setting.to_owned(), message },
        404 => Fault::UnknownModel { model: asked.request.model.clone(), message },
        429 => Fault::RateLimited { message, retry_after_ms },
        408 | 409 | 425 | 500..=599 => Fault::ServerFailed { status, message, retry_after_ms },
        _ => Fault::Refused { status, message },
    }
}

/// The shape to try after a refusal, if the refusal is about the shape. Every step goes down, so there are few.
pub(super) fn next_shape(shape: Shape, fault: &Fault) -> Option<Shape> {
    let Fault::Refused { status: 400 | 422, message } = fault else { return None };
    let message = message.to_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if shape.output_limit == OutputLimit::MaxCompletionTokens && names(&["max_completion_tokens"]) {
        return Some(Shape { output_limit: OutputLimit::MaxTokens, ..shape });
    }
    if !names(&["response_format", "response format", "json_schema", "json_object", "structured output"]) {
        return None;
    }
    match shape.form {
        AnswerForm::JsonSchema => Some(Shape { form: AnswerForm::JsonObject, ..shape }),
        AnswerForm::JsonObject => Some(Shape { form: AnswerForm::SqlBlock, ..shape }),
        AnswerForm::SqlBlock => None,
    }
}

/// A bounded line without the key and without control characters.
pub(super) fn said_short(key: &Key, text: &str) -> String {
    // The key is hidden before the cut, so that no half of it stays; the first cut only keeps the work small.
    let start: String = text.chars().take(64 * MESSAGE_CHARS_MAX).collect();
    let hidden = key.hide_in(&start);
    let mut line: String =
        hidden.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS_MAX).collect();
    if hidden.chars().nth(MESSAGE_CHARS_MAX).is_some() {
        line.push('…');
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::request::tests::request;

    fn asked<'a>(request: &'a Request, key: &'a Key) -> Asked<'a> {
        Asked { request, form: AnswerForm::JsonSchema, price: None, key_setting: "MODEL_KEY", key }
    }

    fn read(json: &str) -> Result<Exchange, Fault> {
        let completion = serde_json::from_str(json).expect("JSON of the right types");
        exchange(asked(&request(), &Key::none()), completion)
    }

    #[test]
    fn errors_are_sorted() {
        let key = Key::new("sk-0123456789abcdef").expect("a key");
        for (status, body, expected) in [
            (401, r#"{"error":{"message":"Incorrect API key"}}"#, "bad-key"),
            (403, "", "bad-key"),
            (403, r#"{"error":{"message":"no access","code":"model_not_found"}}"#, "unknown-model"),
            (404, r#"{"detail":"Not Found"}"#, "unknown-model"),
            (402, "Payment Required", "quota-exhausted"),
            (429, r#"{"error":{"message":"x","type":"insufficient_quota"}}"#, "quota-exhausted"),
            (429, r#"{"error":{"message":"x","code":"insufficient_quota"}}"#, "quota-exhausted"),
            (400, r#"{"error":{"message":"x","code":"billing_hard_limit_reached"}}"#, "quota-exhausted"),
            (429, r#"{"error":{"message":"x","code":"rate_limit_exceeded"}}"#, "rate-limited"),
            (429, "<html>slow down</html>", "rate-limited"),
            (500, "", "server-failed"),
            (529, r#"{"error":"overloaded"}"#, "server-failed"),
            (400, r#"{"object":"error","message":"bad","code":400}"#, "refused"),
            (302, "", "refused"),
        ] {
            let fault = fault(asked(&request(), &key), status, &Said::from_body(body), None);
            assert_eq!(fault.kind(), expected, "{status} {body}");
        }
    }

    #[test]
    fn the_key_is_hidden_and_messages_are_short() {
        let key = Key::new("sk-0123456789abcdef").expect("a key");
        let long = format!("{}sk-0123456789abcdef{}", "x".repeat(MESSAGE_CHARS_MAX - 5), "y".repeat(10_000));
        for message in ["wrong key sk-0123456789abcdef\n\u{1b}[31m", &long] {
            let line = said_short(&key, message);
            assert!(!line.contains("sk-0"), "{line}");
            assert!(line.chars().count() <= MESSAGE_CHARS_MAX + 1 && !line.contains('\u{1b}'), "{line}");
        }
    }

    #[test]
    fn outcomes_follow_from_the_choices() {
        for (choices, expected) in [
            (r#"{"message":{"content":"SELECT 1"},"finish_reason":"stop"}"#, Outcome::Answered),
            (r#"{"message":{"content":"SELECT 1"}}"#, Outcome::Answered),
            (r#"{"message":{"content":[{"type":"text","text":"SELECT 1"}]}}"#, Outcome::Answered),
            (r#"{"message":{"content":"SEL"},"finish_reason":"length"}"#, Outcome::Truncated),
            (r#"{"message":{"content":null},"finish_reason":"length"}"#, Outcome::Truncated),
            (r#"{"message":{"content":""},"finish_reason":"stop"}"#, Outcome::Empty),
            (r#"{"finish_reason":"stop"}"#, Outcome::Empty),
            (r#"{"message":{"content":"SE"},"finish_reason":"content_filter"}"#, Outcome::Declined),
            (r#"{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}"#, Outcome::Declined),
        ] {
            let exchange = read(&format!(r#"{{"choices":[{choices}]}}"#)).expect("an exchange");
            assert_eq!(exchange.outcome, expected, "{choices}");
        }
    }

    #[test]
    fn choices_come_in_their_order() {
        let exchange = read(
            r#"{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"}}],
                "usage":{"prompt_tokens":3}}"#,
        )
        .expect("an exchange");
        assert_eq!(exchange.texts, ["a", "b"]);
        assert_eq!(exchange.usage, None, "half a usage is none");
    }

    #[test]
    fn errors_with_status_200_are_errors() {
        assert_eq!(read(r#"{"error":{"message":"x","code":429}}"#).expect_err("an error").kind(), "rate-limited");
        assert_eq!(read(r#"{"error":{"message":"x"}}"#).expect_err("an error").kind(), "server-failed");
        assert_eq!(read(r#"{"choices":[]}"#).expect_err("an error").kind(), "wrong-shape");
    }

    #[test]
    fn shapes_step_down_and_end() {
        let refused = |message: &str| Fault::Refused { status: 400, message: message.into() };
        let mut shape = Shape::default();
        let mut seen = Vec::new();
        while let Some(next) = next_shape(shape, &refused("response_format is not supported")) {
            seen.push(next.form);
            shape = next;
        }
        assert_eq!(seen, [AnswerForm::JsonObject, AnswerForm::SqlBlock]);
        let next = next_shape(Shape::default(), &refused("unknown field max_completion_tokens")).expect("a shape");
        assert_eq!(next.output_limit, OutputLimit::MaxTokens);
        assert_eq!(next_shape(next, &refused("unknown field max_completion_tokens")), None);
        assert_eq!(next_shape(Shape::default(), &refused("the context is too long")), None);
    }
}
