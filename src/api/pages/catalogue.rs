//! The catalogue: finding classes, reading one with its plans and proofs, and deciding about it.

use super::view::{evidence::Reasons, plan, proof};
use super::{Sent, Visit, go, link, page_key, segment};
use crate::api::Shared;
use crate::api::browse::PageQuery;
use crate::api::classes::{self, ClassQuery};
use crate::api::extract::{Filled, Path};
use crate::api::jobs;
use crate::api::problem::{Kind, Problem};
use crate::catalogue;
use crate::plan::PlanTree;
use crate::plan::diff::diff;
use crate::store::{ClassDetail, ClassState};
use axum::extract::State;
use axum::response::Response;
use minijinja::value::Serde;
use minijinja::{Value, context};
use prover::Certificate;
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};

/// The list.
pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<ClassQuery>,
) -> Result<Response, Problem> {
    let page = classes::page(&service, &query).await?;
    let text = |number: Option<String>| number.unwrap_or_default();
    let fields = [
        ("q", query.q.clone().unwrap_or_default()),
        ("state", query.state.map(ClassState::name).unwrap_or_default().to_owned()),
        ("dialect", query.dialect.clone().unwrap_or_default()),
        ("feature", query.feature.clone().unwrap_or_default()),
        ("origin", query.origin.clone().unwrap_or_default()),
        ("assumption", query.assumption.clone().unwrap_or_default()),
        ("yield_min", text(query.yield_min.map(|n| n.to_string()))),
        ("yield_max", text(query.yield_max.map(|n| n.to_string()))),
        ("similarity_min", text(query.similarity_min.map(|n| n.to_string()))),
        ("similarity_max", text(query.similarity_max.map(|n| n.to_string()))),
        ("limit", text(query.limit.map(|n| n.to_string()))),
    ];
    let any = fields.iter().any(|(_, value)| !value.is_empty()) || query.cursor.is_some();
    let next = page.next.as_deref().map(|cursor| {
        let mut all: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("cursor", cursor));
        link("/", &all)
    });
    let asked = fields.into_iter().map(|(name, value)| (name, Value::from(value)));
    let asked = Value::from_pairs(asked.chain([("any", any.into())]));
    let dialects = catalogue::dialects();
    visit.page(&service, "classes.html", context! { page => Serde(&page), asked, next, dialects })
}

/// A member's plan, with what differs from the plan of the first member that has one.
#[derive(Serialize)]
struct Drawn {
    nodes: Vec<plan::Node>,
    /// The member it is compared with, from 1; nothing for that one itself.
    with: Option<usize>,
    same: bool,
}

/// The plans of the members on an engine.
#[derive(Serialize)]
struct EngineDrawn {
    /// Which; nothing for the target of the class's discovery.
    on: String,
    plans: Vec<Option<Drawn>>,
}

/// A target with its version, which it may name already.
fn on(target: &str, version: &str) -> String {
    if target.contains(version) { target.to_owned() } else { format!("{target} {version}") }
}

fn drawn(plans: &[Option<PlanTree>]) -> Vec<Option<Drawn>> {
    let first = plans.iter().enumerate().find_map(|(at, plan)| Some((at, plan.as_ref()?)));
    let draw = |(at, plan): (usize, &Option<PlanTree>)| {
        let plan = plan.as_ref()?;
        let compared = first.filter(|(first, _)| *first != at);
        let nodes = plan::tree(&diff(compared.map_or(plan, |(_, first)| first), plan));
        let same = compared.is_some_and(|(_, first)| first == plan);
        Some(Drawn { nodes, with: compared.map(|(first, _)| first + 1), same })
    };
    plans.iter().enumerate().map(draw).collect()
}

/// What pages of a class have in common.
pub(super) fn shown(detail: ClassDetail) -> Result<Value, Problem> {
    let name = detail.class.class.text.name.clone();
    let reasons = Reasons::new(detail.class.evidence.as_ref());
    let mut engines: Vec<EngineDrawn> = classes::plans_by_engine(&detail.class)
        .into_iter()
        .map(|(target, version, plans)| EngineDrawn { on: on(&target, &version), plans: drawn(&plans) })
        .collect();
    if engines.is_empty() {
        let plans = drawn(&detail.class.class.plans);
        engines.push(EngineDrawn { on: String::new(), plans });
    }
    // A name that this program does not know is in the list of proofs all the same.
    let known = |name: &String| serde_json::from_value::<Assumption>(name.as_str().into()).ok();
    let granted = proof::granted(&detail.line.assumptions.iter().filter_map(known).collect());
    let class = classes::view(detail)?;
    Ok(context! {
        href => format!("/classes/{}", segment(&name)),
        class => Serde(class), reasons => Serde(reasons), engines => Serde(engines), granted => Serde(granted),
    })
}

/// A class.
pub(super) async fn class(
    State(service): State<Shared>,
    visit: Visit,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let shown = shown(classes::fetch(&service, &name).await?)?;
    let runs = classes::runs(&service, &name, &PageQuery::default()).await?.items;
    let job = jobs::last(&service, "prove", &format!("class {name}")).await?;
    visit.page(&service, "class.html", context! { key => page_key(), job => Serde(job), runs => Serde(runs), ..shown })
}

/// What is recorded of two members: the proof, if there is a certificate.
pub(super) async fn proof(
    State(service): State<Shared>,
    visit: Visit,
    Path((name, left, right)): Path<(String, usize, usize)>,
) -> Result<Response, Problem> {
    let detail = classes::fetch(&service, &name).await?;
    let missing = || Kind::NotFound.problem("nothing is recorded of these two members");
    let sql = |position: usize| {
        let member = detail.class.class.text.members.get(position.checked_sub(1)?)?;
        Some(member.sql().to_owned())
    };
    let texts = vec![sql(left).ok_or_else(missing)?, sql(right).ok_or_else(missing)?];
    let id = crate::caq::proof::Pair(left - 1, right - 1).id(&name);
    let record = detail.class.class.proofs.iter().find(|proof| proof.record.id == id).ok_or_else(missing)?;
    let granted = proof::granted(&record.record.assumptions);
    let certificate = record.certificate.clone();
    // One of another version of the prover may have another form; then its verdict is shown alone.
    let proof = certificate.and_then(|text| serde_json::from_value::<Certificate>(text).ok()).map(proof::Proof::new);
    let shown = shown(detail)?;
    let list = shown.get_attr("class").and_then(|class| class.get_attr("proof_list")).map_err(anyhow::Error::from)?;
    let is = |value: &Value, field: &str, number: usize| value.get_attr(field).is_ok_and(|v| v == Value::from(number));
    let record = list
        .try_iter()
        .map_err(anyhow::Error::from)?
        .find(|proof| is(proof, "left", left) && is(proof, "right", right))
        .ok_or_else(missing)?;
    let with = context! { left, right, texts, record, granted => Serde(granted), proof => Serde(proof), ..shown };
    visit.page(&service, "proof.html", with)
}

/// From where a decision was sent.
#[derive(Deserialize)]
pub(super) struct From {
    back: Option<String>,
}

impl From {
    /// Where to go after it.
    fn next(&self, name: &str) -> String {
        match self.back.as_deref() {
            Some("review") => "/review".to_owned(),
            _ => format!("/classes/{}", segment(name)),
        }
    }
}

/// A decision about a class, as it was at a revision.
#[derive(Deserialize)]
pub(super) struct Decision {
    revision: i64,
    why: String,
}

impl Decision {
    fn why(&self) -> Result<String, Problem> {
        classes::Reason { why: self.why.clone() }.checked().map(str::to_owned)
    }
}

pub(super) async fn release(
    State(service): State<Shared>,
    Path(name): Path<String>,
    Filled(from): Filled<From>,
    Sent(client, decision): Sent<Decision>,
) -> Result<Response, Problem> {
    classes::do_release(&service, name.clone(), decision.revision, &decision.why()?, &client.name).await?;
    Ok(go(&from.next(&name), &format!("{name} is released: campaigns use it from now on.")))
}

pub(super) async fn quarantine(
    State(service): State<Shared>,
    Path(name): Path<String>,
    Filled(from): Filled<From>,
    Sent(client, decision): Sent<Decision>,
) -> Result<Response, Problem> {
    classes::do_quarantine(&service, name.clone(), decision.revision, &decision.why()?, &client.name).await?;
    Ok(go(&from.next(&name), &format!("{name} is in quarantine: nothing uses it.")))
}

/// The key of the page that a form was on: sent twice, it is done once.
#[derive(Deserialize)]
pub(super) struct Keyed {
    key: String,
}

impl Keyed {
    pub(super) fn checked(&self) -> Result<&str, Problem> {
        match self.key.len() {
            1..=100 => Ok(&self.key),
            _ => Err(Kind::Unprocessable.problem("the form has no key; reload the page")),
        }
    }
}

pub(super) async fn prove(
    State(service): State<Shared>,
    Path(name): Path<String>,
    Sent(client, keyed): Sent<Keyed>,
) -> Result<Response, Problem> {
    classes::do_prove(&service, &name, keyed.checked()?, &client.name).await?;
    let said =
        "A new proof is asked for, and the class is run on the engines that are here; reload the page in a while.";
    Ok(go(&format!("/classes/{}", segment(&name)), said))
}

/// The same about one of its members.
#[derive(Deserialize)]
pub(super) struct Withdrawal {
    revision: i64,
    position: usize,
    why: String,
}

pub(super) async fn withdraw(
    State(service): State<Shared>,
    Path(name): Path<String>,
    Sent(client, sent): Sent<Withdrawal>,
) -> Result<Response, Problem> {
    let Withdrawal { revision, position, why } = sent;
    let why = classes::Reason { why }.checked()?.to_owned();
    classes::do_withdraw(&service, name.clone(), position, revision, &why, &client.name).await?;
    Ok(go(&format!("/classes/{}", segment(&name)), &format!("Member {position} is withdrawn.")))
}
