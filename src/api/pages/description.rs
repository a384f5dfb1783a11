//! The description of the API, to be read in a browser without anything else.

use super::Visit;
use crate::api::Shared;
use crate::api::problem::Problem;
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Methods, in the order in which they are shown.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// A type in words; where parts of it are described by themselves, their names.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Type {
    words: String,
    /// Schemas that it names.
    names: Vec<String>,
}

impl Type {
    fn plain(words: &str) -> Self {
        Self { words: words.to_owned(), names: Vec::new() }
    }

    /// What a schema says; one that says nothing is any value.
    fn of(schema: &Value) -> Self {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return Self { words: name.to_owned(), names: vec![name.to_owned()] };
        }
        for (field, between) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " with ")] {
            if let Some(parts) = schema[field].as_array() {
                return Self::joined(parts.iter().map(Self::of), between);
            }
        }
        let of_one = |kind: &str| match kind {
            "array" => {
                let Self { words, names } = Self::of(&schema["items"]);
                Self { words: format!("list of {words}"), names }
            }
            "integer" | "number" | "string" | "boolean" | "null" | "object" => Self::plain(kind),
            _ => Self::plain("any value"),
        };
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::String(kind) => vec![kind.as_str()],
            _ => vec![""],
        };
        let mut all = Self::joined(kinds.into_iter().map(of_one), " or ");
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> = values.iter().filter_map(Value::as_str).map(|text| format!("`{text}`")).collect();
            all.words = values.join(", ");
        }
        let bounds = [
            ("minimum", "at least"),
            ("maximum", "at most"),
            ("minLength", "characters, at least"),
            ("maxLength", "characters, at most"),
            ("maxItems", "items, at most"),
            ("pattern", "like"),
        ];
        for (field, name) in bounds {
            // Writing to a string cannot fail.
            let _ = match &schema[field] {
                Value::Null => Ok(()),
                Value::String(text) => write!(all.words, "; {name} `{text}`"),
                bound => write!(all.words, "; {name} {bound}"),
            };
        }
        all
    }

    fn joined(parts: impl Iterator<Item = Self>, between: &str) -> Self {
        let mut all = Self::default();
        for Self { words, names } in parts {
            if !all.words.is_empty() {
                all.words.push_str(between);
            }
            all.words.push_str(&words);
            all.names.extend(names);
        }
        all
    }
}

/// A parameter of a request, or a field of an object.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Field {
    name: String,
    /// `path`, `query` or `header`; of a field nothing.
    place: String,
    required: bool,
    about: String,
    #[serde(flatten)]
    kind: Type,
}

/// What a request or an answer holds, by the kind of content.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Content {
    media: String,
    #[serde(flatten)]
    kind: Type,
}

#[derive(Debug, Serialize)]
struct Answer {
    status: String,
    about: String,
    contents: Vec<Content>,
}

/// What can be asked for.
#[derive(Debug, Serialize)]
struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    parameters: Vec<Field>,
    body: Vec<Content>,
    answers: Vec<Answer>,
    /// Statuses of problems.
    problems: Vec<String>,
}

/// What objects hold.
#[derive(Debug, Serialize)]
struct Schema {
    name: String,
    about: String,
    fields: Vec<Field>,
    /// What it is if it is no object with fields.
    kind: Option<Type>,
    /// Objects whose fields it has too.
    with: Vec<String>,
}

/// All of it.
#[derive(Debug, Serialize)]
struct Description {
    about: String,
    /// By what they are about.
    operations: BTreeMap<String, Vec<Operation>>,
    schemas: Vec<Schema>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn contents(value: &Value) -> Vec<Content> {
    let all = value["content"].as_object().into_iter().flatten();
    all.map(|(media, content)| Content { media: media.clone(), kind: Type::of(&content["schema"]) }).collect()
}

fn operation(method: &str, path: &str, described: &Value) -> Operation {
    let parameter = |one: &Value| Field {
        name: text(&one["name"]),
        place: text(&one["in"]),
        required: one["required"].as_bool().unwrap_or_default(),
        about: text(&one["description"]),
        kind: Type::of(&one["schema"]),
    };
    let all = described["responses"].as_object().into_iter().flatten();
    let (answers, problems): (Vec<_>, Vec<_>) =
        all.partition(|(_, answer)| answer["content"]["application/problem+json"].is_null());
    let answer = |(status, answer): (&String, &Value)| Answer {
        status: status.clone(),
        about: text(&answer["description"]),
        contents: contents(answer),
    };
    Operation {
        id: format!("{method}{}", path.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(&described["summary"]),
        parameters: described["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
        body: contents(&described["requestBody"]),
        answers: answers.into_iter().map(answer).collect(),
        problems: problems
            .into_iter()
            .map(|(status, answer)| format!("{status} {}", text(&answer["description"])))
            .collect(),
    }
}

fn schema(name: &str, described: &Value) -> Schema {
    let mut schema = Schema {
        name: name.to_owned(),
        about: text(&described["description"]),
        fields: Vec::new(),
        kind: None,
        with: Vec::new(),
    };
    // Parts of an object are beside each other.
    let parts = described["allOf"].as_array().map_or_else(|| vec![described], |parts| parts.iter().collect());
    for part in parts {
        if let Some(of) = part["$ref"].as_str() {
            schema.with.extend(of.rsplit('/').next().map(str::to_owned));
        }
        let required: Vec<&str> = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in part["properties"].as_object().into_iter().flatten() {
            schema.fields.push(Field {
                name: name.clone(),
                place: String::new(),
                required: required.contains(&name.as_str()),
                about: text(&field["description"]),
                kind: Type::of(field),
            });
        }
    }
    if schema.fields.is_empty() && schema.with.is_empty() {
        schema.kind = Some(Type::of(described));
    }
    schema
}

impl Description {
    fn new(described: &Value) -> Self {
        let mut operations: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
        for (path, item) in described["paths"].as_object().into_iter().flatten() {
            for method in METHODS {
                let Some(one) = item.get(method) else { continue };
                let tag = text(&one["tags"][0]);
                operations.entry(tag).or_default().push(operation(method, path, one));
            }
        }
        let schemas = described["components"]["schemas"].as_object().into_iter().flatten();
        Self {
            about: text(&described["info"]["description"]),
            operations,
            schemas: schemas.map(|(name, described)| schema(name, described)).collect(),
        }
    }
}

pub(super) async fn page(State(service): State<Shared>, visit: Visit) -> Result<Response, Problem> {
    let described: Value = serde_json::from_str(&service.description).map_err(anyhow::Error::from)?;
    visit.page(&service, "description.html", context! { api => Serde(Description::new(&described)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{api, description::describe};
    use serde_json::json;

    #[test]
    fn types_are_told_in_words() {
        let check = |schema: Value, expect: &str| assert_eq!(Type::of(&schema).words, expect);
        check(json!({ "type": "array", "items": { "$ref": "#/components/schemas/Bug" } }), "list of Bug");
        check(json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/x/Bug" }] }), "null or Bug");
        check(
            json!({ "type": ["integer", "null"], "minimum": 1, "maximum": 9 }),
            "integer or null; at least 1; at most 9",
        );
        check(json!({ "type": "string", "enum": ["a", "b"] }), "`a`, `b`");
        check(json!({}), "any value");
    }

    #[test]
    fn every_operation_is_there_and_what_it_names_is_described() {
        let described = serde_json::to_value(describe(api().split_for_parts().1)).expect("JSON");
        let page = Description::new(&described);
        let methods = described["paths"].as_object().expect("paths").values();
        let all: usize = methods.map(|item| METHODS.iter().filter(|method| item.get(method).is_some()).count()).sum();
        let shown: Vec<&Operation> = page.operations.values().flatten().collect();
        assert!(shown.len() == all && all > 30, "{} of {all}", shown.len());
        assert!(!page.operations.contains_key(""), "each is about something");
        assert!(shown.iter().all(|one| !one.summary.is_empty() && !one.answers.is_empty()));
        let fields = page.schemas.iter().flat_map(|schema| &schema.fields);
        let contents = shown.iter().flat_map(|one| one.body.iter().chain(one.answers.iter().flat_map(|a| &a.contents)));
        let types = fields.map(|field| &field.kind).chain(contents.map(|content| &content.kind));
        for name in types.flat_map(|kind| &kind.names).chain(page.schemas.iter().flat_map(|schema| &schema.with)) {
            assert!(page.schemas.iter().any(|schema| schema.name == *name), "{name}");
        }
    }
}
