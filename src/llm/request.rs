//! What is asked.
//!
//! **Invariant:** the hash of a request is a function of what the endpoint gets to see and of [`Request::sample`]; it
//! is the same in every run and on every machine. Recordings, batches and stores name requests by it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// Who asks.
    User,
    /// The model, in an earlier turn or an example.
    Assistant,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

impl Message {
    /// A message of the system.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// A message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }
}

/// Which prompt the messages were made from. No part of the hash: a prompt that got a new number but says the same is
/// the same request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSource {
    /// The prompt's name.
    pub prompt_id: String,
    /// Its version.
    pub prompt_version: String,
    /// A hash of its text before it was filled in.
    pub prompt_hash: String,
}

/// A request to a model.
///
/// The messages themselves must say in words what form the answer has: an endpoint that refuses answer schemas gets
/// the messages only, and `OpenAI`'s `json_object` demands that they mention JSON
/// (`platform.openai.com/docs/guides/structured-outputs`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model, as the endpoint calls it.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Sampling temperature; the endpoint's default when absent. Some models refuse it.
    pub temperature: Option<f64>,
    /// How much a reasoning model may think, in the endpoint's words.
    pub reasoning_effort: Option<String>,
    /// Bound on the tokens of the answer, thoughts included.
    pub max_output_tokens: u32,
    /// JSON schema of the answer.
    pub answer_schema: Value,
    /// Which of several askings with the same text this is. Not sent; it makes their hashes differ.
    pub sample: u32,
    /// Where the messages come from.
    #[serde(flatten)]
    pub prompt: PromptSource,
}

impl Request {
    /// The request's name: 32 hexadecimal digits of BLAKE3 over its canonical JSON, without the prompt's source.
    ///
    /// Every field is listed, so that a new one cannot be forgotten; the order of the keys is that of their names.
    pub fn hash(&self) -> String {
        let Self {
            model,
            messages,
            temperature,
            reasoning_effort,
            max_output_tokens,
            answer_schema,
            sample,
            prompt: _,
        } = self;
        let value = serde_json::json!({
            "model": model,
            "messages": messages,
            "temperature": temperature,
            "reasoning_effort": reasoning_effort,
            "max_output_tokens": max_output_tokens,
            "answer_schema": answer_schema,
            "sample": sample,
        });
        let mut text = String::new();
        canonical(&value, &mut text);
        blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// JSON without spaces and with sorted keys. Written out, because whether `serde_json` sorts depends on a feature that
/// any other crate of the build can switch on.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn request() -> Request {
        Request {
            model: "m".into(),
            messages: vec![Message::system("You know SQL. Answer in JSON."), Message::user("Say \"x\"\nin SQL.")],
            temperature: Some(0.7),
            reasoning_effort: None,
            max_output_tokens: 100,
            answer_schema: crate::llm::answer::schema(),
            sample: 0,
            prompt: PromptSource::default(),
        }
    }

    #[test]
    fn the_hash_is_stable() {
        // A fixed value: a change here makes every recording and every stored answer unknown.
        assert_eq!(request().hash(), "8d3d8a074843792a526feb500ca491b8");
        let text = serde_json::to_string(&request()).expect("plain data");
        let back: Request = serde_json::from_str(&text).expect("what was just written");
        assert_eq!(back, request());
        assert_eq!(back.hash(), request().hash());
    }

    #[test]
    fn the_hash_sees_everything_but_the_source_of_the_prompt() {
        let changes: [fn(&mut Request); 8] = [
            |r| r.model.push('x'),
            |r| r.messages[1].content.push('x'),
            |r| r.messages[1].role = Role::Assistant,
            |r| r.temperature = None,
            |r| r.reasoning_effort = Some("low".into()),
            |r| r.max_output_tokens = 101,
            |r| r.answer_schema = Value::Null,
            |r| r.sample = 1,
        ];
        let mut hashes = std::collections::BTreeSet::from([request().hash()]);
        for (i, change) in changes.iter().enumerate() {
            let mut changed = request();
            change(&mut changed);
            assert!(hashes.insert(changed.hash()), "change {i} is not seen");
        }
        let mut renumbered = request();
        renumbered.prompt.prompt_version = "2".into();
        assert_eq!(renumbered.hash(), request().hash());
    }

    #[test]
    fn the_order_of_keys_in_a_schema_does_not_matter() {
        let text = |json: &str| {
            let mut out = String::new();
            canonical(&serde_json::from_str(json).expect("JSON"), &mut out);
            out
        };
        assert_eq!(text(r#"{"b": [1, {"d": null, "c": "\""}], "a": 0.5}"#), r#"{"a":0.5,"b":[1,{"c":"\"","d":null}]}"#);
    }
}
