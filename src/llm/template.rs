//! Prompts as templates with front matter. What a model or a user wrote enters as data and cannot end the block it stands
//! in.

use super::{Message, PromptSource};
use minijinja::{Environment, UndefinedBehavior, Value};
use serde::Deserialize;
use thiserror::Error;

/// Bytes of one example or reason that a prompt shows at most.
pub const EXAMPLE_BYTES_MAX: usize = 4_000;

/// Why a prompt cannot be made.
#[derive(Debug, Error)]
pub enum PromptError {
    /// A template has not the expected parts.
    #[error("the prompt {0} needs front matter between +++ lines, then the parts `# system` and `# user`")]
    Form(&'static str),
    /// The front matter is wrong.
    #[error("the front matter of the prompt {name}")]
    FrontMatter {
        /// The template.
        name: &'static str,
        /// What is wrong.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A variable is missing, or the template is wrong.
    #[error("the prompt cannot be filled")]
    Instantiation(#[from] minijinja::Error),
}

/// What a template begins with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontMatter {
    /// The prompt's name.
    pub id: String,
    /// Its version.
    pub version: u32,
}

/// A prompt of two messages.
#[derive(Debug, Clone)]
pub struct Template {
    /// Where its text comes from.
    pub source: PromptSource,
    system: &'static str,
    user: &'static str,
}

impl Template {
    /// Reads a template: front matter, `# system`, `# user`.
    pub fn parse(name: &'static str, text: &'static str) -> Result<Self, PromptError> {
        let (front, body) = split(name, text)?;
        let parts = body.strip_prefix("# system\n").and_then(|rest| rest.split_once("\n# user\n"));
        let (system, user) = parts.ok_or(PromptError::Form(name))?;
        let source = PromptSource {
            prompt_id: front.id,
            prompt_version: front.version.to_string(),
            prompt_hash: blake3::hash(text.as_bytes()).to_hex()[..32].to_owned(),
        };
        Ok(Self { source, system: system.trim(), user: user.trim() })
    }

    /// The messages, with the variables of both.
    pub fn fill(&self, variables: &Value) -> Result<Vec<Message>, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let fill = |text: &str| environment.render_str(text, variables);
        Ok(vec![Message::system(fill(self.system)?), Message::user(fill(self.user)?)])
    }
}

/// Text that stands in a block of a prompt, unable to end it.
pub fn fenced(text: &str) -> String {
    text.replace("```", "` ` `")
}

/// The same, bounded: an example that is cut is still an example.
pub fn data(text: &str) -> String {
    let text = fenced(text);
    match text.char_indices().find(|(at, _)| *at >= EXAMPLE_BYTES_MAX) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}

/// The front matter of a template, and what follows it.
pub fn split(name: &'static str, text: &'static str) -> Result<(FrontMatter, &'static str), PromptError> {
    let parts = text.strip_prefix("+++\n").and_then(|rest| rest.split_once("\n+++\n"));
    let (front, body) = parts.ok_or(PromptError::Form(name))?;
    let front = toml::from_str(front).map_err(|source| PromptError::FrontMatter { name, source: Box::new(source) })?;
    Ok((front, body))
}
