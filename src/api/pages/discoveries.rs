//! Discoveries: what was asked, what was answered, and what became of each candidate.

use super::view::witness;
use super::{Visit, link};
use crate::api::Shared;
use crate::api::browse::{self, PageQuery};
use crate::api::extract::{Filled, Path};
use crate::api::problem::Problem;
use crate::store::{DiscoveryLine, StepView, Tally};
use axum::extract::State;
use axum::response::Response;
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::Value;

/// A discovery in the list.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    run: &'a DiscoveryLine,
    who: String,
    targets: String,
    focus: String,
}

impl<'a> Line<'a> {
    fn new(run: &'a DiscoveryLine) -> Self {
        let config = &run.config;
        let model = setting(config, "/asking/model");
        let who = if model.is_empty() { setting(config, "/proposer") } else { model };
        Self { run, who, targets: setting(config, "/dbms"), focus: setting(config, "/focus") }
    }
}

/// A text of the settings, or texts.
fn setting(config: &Value, path: &str) -> String {
    match config.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn dollars(cost: Tally) -> String {
    format!("{}.{:04}", cost.micro_usd / 1_000_000, cost.micro_usd % 1_000_000 / 100)
}

/// The list.
pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<PageQuery>,
) -> Result<Response, Problem> {
    let page = browse::discoveries(&service, &query).await?;
    let next = page.next.as_deref().map(|cursor| link("/discoveries", &[("cursor", cursor)]));
    let items: Vec<Line<'_>> = page.items.iter().map(Line::new).collect();
    visit.page(&service, "discoveries.html", context! { page => context! { items => Serde(items) }, next })
}

/// A discovery.
pub(super) async fn discovery(
    State(service): State<Shared>,
    visit: Visit,
    Path(id): Path<i64>,
    Filled(query): Filled<PageQuery>,
) -> Result<Response, Problem> {
    let run = browse::discovery(&service, id).await?;
    let seeds = browse::seeds(&service, id, &query).await?;
    let next = seeds.next.as_deref().map(|cursor| link(&format!("/discoveries/{id}"), &[("cursor", cursor)]));
    // How alike plans are, as classes come.
    let (mut sum, mut count) = (0.0, 0_u32);
    let mut means = Vec::new();
    for class in &run.classes {
        if let Some(similarity) = class.similarity {
            (sum, count) = (sum + similarity, count + 1);
        }
        means.push(if count == 0 { "–".to_owned() } else { format!("{:.2}", sum / f64::from(count)) });
    }
    let names = [
        ("Proposer", "/proposer"),
        ("Model", "/asking/model"),
        ("Targets", "/dbms"),
        ("Focus", "/focus"),
        ("Examples chosen by", "/sampling"),
        ("Seed", "/seed"),
        ("Seeds from", "/source"),
    ];
    let settings: Vec<(&str, String)> = names
        .into_iter()
        .map(|(name, path)| (name, setting(&run.line.config, path)))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let (spent, set_aside) = (dollars(run.spent), dollars(run.set_aside));
    let with = context! { run => Serde(&run), seeds => Serde(&seeds), next, means, settings, spent, set_aside };
    visit.page(&service, "discovery.html", with)
}

/// What was said in a step.
#[derive(Serialize)]
struct Talk {
    asked: Vec<Said>,
    model: String,
    answers: Vec<String>,
    cost: String,
}

#[derive(Serialize)]
struct Said {
    role: String,
    content: String,
}

impl Talk {
    fn new(step: &StepView) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let request = step.request.as_ref();
        let exchange = step.exchange.as_ref();
        let asked = list(request.and_then(|request| request.get("messages")));
        let asked = asked.iter().map(|m| Said { role: text(m.get("role")), content: text(m.get("content")) }).collect();
        let answers = list(exchange.and_then(|exchange| exchange.get("texts")));
        let tokens = |name: &str| exchange?.pointer(&format!("/usage/{name}"))?.as_u64();
        let cost = match (tokens("input"), tokens("output")) {
            (Some(input), Some(output)) => format!("{input} tokens in, {output} out"),
            _ => String::new(),
        };
        Self {
            asked,
            model: text(request.and_then(|request| request.get("model"))),
            answers: answers.iter().map(|answer| text(Some(answer))).collect(),
            cost,
        }
    }
}

/// A seed with its steps.
pub(super) async fn seed(
    State(service): State<Shared>,
    visit: Visit,
    Path((id, number)): Path<(i64, i32)>,
) -> Result<Response, Problem> {
    let seed = browse::seed(&service, id, number).await?;
    let talks: Vec<Talk> = seed.step_list.iter().map(Talk::new).collect();
    let of_step = |step: &StepView| -> Vec<Vec<witness::Table>> {
        step.candidates.iter().map(|one| witness::tables(one.witness.as_deref().unwrap_or_default())).collect()
    };
    let witnesses: Vec<_> = seed.step_list.iter().map(of_step).collect();
    let with = context! { id, seed => Serde(&seed), talks => Serde(talks), witnesses => Serde(witnesses) };
    visit.page(&service, "seed.html", with)
}
