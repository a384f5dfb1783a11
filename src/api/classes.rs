//! Oracle classes: finding them, reading what is known of one, and deciding whether it may be used.

use super::access::Operator;
use super::browse::PageQuery;
use super::extract::{IdempotencyKey, IfMatch, Json, Page, Path, Query, after, limit, rows};
use super::jobs::{self, Asked};
use super::problem::{Kind, Problem};
use super::{Shared, Tagged, seen};
use crate::caq::proof::{Pair, Status};
use crate::catalogue;
use crate::discover::crosscheck::{Checked, Evidence};
use crate::plan::PlanTree;
use crate::plan::diff::diff;
use crate::store::{ClassDetail, ClassFilter, ClassLine, ClassRun, ClassState, StoredClass, Withdrawal, Written};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(detail))
        .routes(routes!(run_list))
        .routes(routes!(certificate))
        .routes(routes!(release))
        .routes(routes!(quarantine))
        .routes(routes!(withdraw))
        .routes(routes!(prove))
}

/// Which classes are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ClassQuery {
    /// Its state
    pub(super) state: Option<ClassState>,
    /// A dialect on which it may be used, as in `sqlite`
    pub(super) dialect: Option<String>,
    /// An SQL feature of its members, as in `left join`
    pub(super) feature: Option<String>,
    /// Where it is from
    pub(super) origin: Option<String>,
    /// Something that it or its proofs take for granted
    pub(super) assumption: Option<String>,
    /// Findings in campaigns with it, at least
    pub(super) yield_min: Option<i64>,
    /// Findings in campaigns with it, at most
    pub(super) yield_max: Option<i64>,
    /// Similarity of its plans, at least
    pub(super) similarity_min: Option<f64>,
    /// Similarity of its plans, at most
    pub(super) similarity_max: Option<f64>,
    /// Words, all of which are in its name, its reason, its schema or its members
    pub(super) q: Option<String>,
    /// Items at most
    #[param(minimum = 1, maximum = 500)]
    pub(super) limit: Option<u16>,
    /// The `next` of the part before
    pub(super) cursor: Option<String>,
}

impl ClassQuery {
    /// What the store is asked for.
    pub(super) fn filter(&self) -> ClassFilter {
        ClassFilter {
            state: self.state,
            dialect: self.dialect.clone(),
            feature: self.feature.clone(),
            origin: self.origin.clone(),
            assumption: self.assumption.clone(),
            yield_min: self.yield_min,
            yield_max: self.yield_max,
            similarity_min: self.similarity_min,
            similarity_max: self.similarity_max,
            words: self.q.clone(),
        }
    }
}

/// A part of the list of classes.
pub(super) async fn page(service: &Shared, query: &ClassQuery) -> Result<Page<ClassLine>, Problem> {
    let limit = limit(query.limit)?;
    let after: Option<String> = after(query.cursor.as_ref())?;
    let lines = service.store.class_page(&query.filter(), after.as_deref(), rows(limit)).await?;
    Ok(Page::new(lines, limit, |line| line.name.clone()))
}

/// List classes by name
#[utoipa::path(get, path = "/api/v1/classes", tag = "classes", params(ClassQuery), responses((status = 200, body = Page<ClassLine>)))]
async fn list(
    State(service): State<Shared>,
    Query(query): Query<ClassQuery>,
) -> Result<Json<Page<ClassLine>>, Problem> {
    page(&service, &query).await.map(Json)
}

/// What is known about a member.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MemberView {
    /// From 1.
    position: usize,
    sql: String,
    /// The optimizer switch that is flipped while it runs, or `*` for any.
    switch: Option<String>,
    /// `proven`, `refuted` or `assumed`.
    status: &'static str,
    /// The member that its proof connects it to, or that refutes it.
    by: Option<usize>,
    /// What its proof takes for granted.
    assumptions: Vec<String>,
    /// Why there is no proof, or after which rows it differs.
    reason: Option<String>,
    /// Its plan on the target of the discovery that found it: `label`, and `children` of the same form.
    #[schema(value_type = Option<Object>)]
    plan: Option<Value>,
    /// What differs between the plan of the first member and this one, an operator per line: `-` is in the first only, `+`
    /// in this one only.
    plan_difference: Option<String>,
}

/// The plans of the members on an engine that the class was run on, with placeholders as columns and tables.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EnginePlans {
    /// The target.
    pub(super) target: String,
    /// Its version.
    pub(super) version: String,
    /// Of those members whose plan the engine told.
    plans: Vec<MemberPlan>,
}

/// The plan of a member on an engine.
#[derive(Debug, Serialize, ToSchema)]
struct MemberPlan {
    /// The member, from 1.
    position: usize,
    /// `label`, and `children` of the same form.
    #[schema(value_type = Object)]
    plan: PlanTree,
    /// What differs between the first of these plans and this one, as in `plan_difference` of a member.
    difference: Option<String>,
}

/// The plans of a class's members on each engine that it was run on, in the order of the members.
pub(super) fn plans_by_engine(stored: &StoredClass) -> Vec<(String, String, Vec<Option<PlanTree>>)> {
    let Evidence { checked, others, .. } = stored.evidence.as_ref().and_then(Evidence::below).unwrap_or_default();
    let of_engine = |(target, Checked { version, plans, .. }): (String, Checked)| {
        let members = stored.class.text.members.iter();
        let plans: Vec<Option<PlanTree>> = members.map(|member| plans.get(member.sql()).cloned()).collect();
        plans.iter().any(Option::is_some).then_some((target, version, plans))
    };
    checked.into_iter().chain(others).filter_map(of_engine).collect()
}

impl EnginePlans {
    fn new((target, version, plans): (String, String, Vec<Option<PlanTree>>)) -> Self {
        let first = plans.iter().flatten().next().cloned();
        let mut shown = Vec::new();
        for (at, plan) in plans.into_iter().enumerate() {
            let Some(plan) = plan else { continue };
            let difference = first.as_ref().filter(|_| !shown.is_empty()).map(|first| diff(first, &plan));
            shown.push(MemberPlan { position: at + 1, plan, difference });
        }
        Self { target, version, plans: shown }
    }
}

/// What the prover said about two members.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProofView {
    /// Position of the first member, from 1.
    left: usize,
    /// Position of the second.
    right: usize,
    /// `proven`, `refuted` or `unknown`.
    verdict: crate::caq::proof::Verdict,
    /// Whether it is about the present texts; one that is not counts for nothing.
    current: bool,
    /// What it takes for granted.
    assumptions: Vec<String>,
    /// Why it is unknown, or after which rows they differ.
    reason: Option<String>,
    /// The prover's name and version.
    prover: String,
    /// Whether there is a certificate.
    has_certificate: bool,
}

/// A member that somebody took out.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Withdrawn {
    sql: String,
    why: String,
}

/// A class with all that is known of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClassView {
    #[serde(flatten)]
    line: ClassLine,
    /// When it came.
    created: String,
    /// The DDL.
    schema: String,
    /// The placeholders' constraints.
    placeholders: BTreeMap<String, String>,
    /// What the class itself takes for granted.
    assumes: Vec<String>,
    /// Why it is in its state: what the engines said, or who decided and why.
    #[schema(value_type = Option<Object>)]
    evidence: Option<Value>,
    member_list: Vec<MemberView>,
    /// Plans on each engine that the class was run on.
    plans_by_engine: Vec<EnginePlans>,
    proof_list: Vec<ProofView>,
    withdrawn: Vec<Withdrawn>,
    /// Why the class cannot be read, if it cannot; then nothing of it counts as proven.
    broken: Option<String>,
}

/// A class as it is shown.
pub(super) fn view(detail: ClassDetail) -> Result<ClassView, Problem> {
    let ClassDetail { class: stored, line, created, withdrawn } = detail;
    let plans_by_engine = plans_by_engine(&stored).into_iter().map(EnginePlans::new).collect();
    let class = stored.class;
    let records = class.proofs.iter().map(|proof| proof.record.clone()).collect();
    let (parsed, broken) = match catalogue::assemble("the store", vec![class.text.clone()], records) {
        Ok(mut catalogue) => (catalogue.classes.pop(), None),
        Err(error) => (None, Some(format!("{:#}", anyhow::Error::from(error)))),
    };
    let statuses = parsed.as_ref().map(crate::caq::class::OracleClass::statuses).unwrap_or_default();
    let first_plan = class.plans.first().and_then(Option::as_ref);
    let mut members = Vec::new();
    for (at, (member, plan)) in class.text.members.iter().zip(&class.plans).enumerate() {
        let (status, by, assumptions, reason) = match statuses.get(at) {
            Some(Status::Proven(proven)) => {
                let assumptions = proven.assumptions().iter().map(ToString::to_string).collect();
                ("proven", proven.to().map(|to| to + 1), assumptions, None)
            }
            Some(Status::Refuted { by, reason }) => ("refuted", Some(by + 1), Vec::new(), Some(reason.clone())),
            Some(Status::Assumed { reason }) => ("assumed", None, Vec::new(), Some(reason.clone())),
            None => ("assumed", None, Vec::new(), Some("the class cannot be read".to_owned())),
        };
        let difference = first_plan.zip(plan.as_ref()).filter(|_| at > 0).map(|(first, plan)| diff(first, plan));
        members.push(MemberView {
            position: at + 1,
            sql: member.sql().to_owned(),
            switch: member.switch().map(str::to_owned),
            status,
            by,
            assumptions,
            reason,
            plan: plan.as_ref().map(serde_json::to_value).transpose().map_err(anyhow::Error::from)?,
            plan_difference: difference,
        });
    }
    let proofs = class.proofs.into_iter().filter_map(|proof| {
        let (_, pair) = Pair::parse(&proof.record.id)?;
        let question = parsed.as_ref().and_then(|parsed| parsed.question(pair));
        Some(ProofView {
            left: pair.0 + 1,
            right: pair.1 + 1,
            verdict: proof.record.verdict,
            current: question.is_some_and(|question| question.hash() == proof.record.hash),
            assumptions: proof.record.assumptions.iter().map(ToString::to_string).collect(),
            reason: proof.record.reason,
            prover: proof.record.prover,
            has_certificate: proof.certificate.is_some(),
        })
    });
    Ok(ClassView {
        created,
        schema: class.text.schema,
        placeholders: class.text.placeholders,
        assumes: class.text.assumes.iter().map(ToString::to_string).collect(),
        evidence: stored.evidence,
        member_list: members,
        plans_by_engine,
        proof_list: proofs.collect(),
        withdrawn: withdrawn.into_iter().map(|(sql, why)| Withdrawn { sql, why }).collect(),
        broken,
        line,
    })
}

fn missing(name: &str) -> Problem {
    let shown: String = name.chars().take(200).collect();
    Kind::NotFound.problem(format!("there is no class {shown}"))
}

pub(super) fn stale(now: i64) -> Problem {
    Kind::Stale.problem(format!("it is at revision {now} by now; read it again, and decide anew"))
}

/// A class, as it is now.
pub(super) async fn fetch(service: &Shared, name: &str) -> Result<ClassDetail, Problem> {
    service.store.class_detail(name).await?.ok_or_else(|| missing(name))
}

/// Read a class
#[utoipa::path(get, path = "/api/v1/classes/{name}", tag = "classes", params(("name" = String, Path,)), responses(
    (status = 200, body = ClassView, headers(("ETag" = String, description = "Its revision"))),
    (status = 304, description = "It is as the client has it"),
))]
async fn detail(
    State(service): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let detail = fetch(&service, &name).await?;
    let revision = detail.line.revision;
    seen(&headers, revision, &view(detail)?)
}

/// A part of the list of what became of a class's cases.
pub(super) async fn runs(service: &Shared, name: &str, query: &PageQuery) -> Result<Page<ClassRun>, Problem> {
    let limit = limit(query.limit)?;
    let after = after(query.cursor.as_ref())?;
    fetch(service, name).await?;
    let found = service.store.class_runs(name, after, rows(limit)).await?;
    Ok(Page::new(found, limit, |run| run.id))
}

/// List what became of the cases that campaigns ran of a class, in the order of targets' first runs
#[utoipa::path(get, path = "/api/v1/classes/{name}/runs", tag = "classes", params(("name" = String, Path,), PageQuery),
    responses((status = 200, body = Page<ClassRun>)))]
async fn run_list(
    State(service): State<Shared>,
    Path(name): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<ClassRun>>, Problem> {
    runs(&service, &name, &query).await.map(Json)
}

/// Read the certificate of a proof, as `caqtus-prover check` reads it
#[utoipa::path(get, path = "/api/v1/classes/{name}/proofs/{left}/{right}", tag = "classes",
    params(("name" = String, Path,), ("left" = i32, Path,), ("right" = i32, Path,)),
    responses((status = 200, body = Object)))]
async fn certificate(
    State(service): State<Shared>,
    Path((name, left, right)): Path<(String, i32, i32)>,
) -> Result<Json<Value>, Problem> {
    let found = service.store.proof_certificate(&name, left, right).await?;
    found.map(Json).ok_or_else(|| Kind::NotFound.problem("there is no certificate of a proof of these two members"))
}

/// Why something is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// In words, for whoever wonders later
    #[schema(
        min_length = 1,
        max_length = 2000,
        pattern = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$"
    )]
    pub(super) why: String,
}

/// Characters of a reason.
pub(super) const REASON_MAX: usize = 2_000;

impl Reason {
    /// The reason, if there is one.
    pub(super) fn checked(&self) -> Result<&str, Problem> {
        match self.why.trim() {
            "" => Err(Kind::Unprocessable.problem("`why` says nothing; give a reason, for whoever wonders later")),
            why if self.why.chars().count() <= REASON_MAX => Ok(why),
            _ => Err(Kind::Unprocessable.problem(format!("`why` has more than {REASON_MAX} characters"))),
        }
    }
}

/// What was decided.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Decided {
    name: String,
    revision: i64,
}

fn written(name: String, written: Written) -> Result<Tagged<Decided>, Problem> {
    match written {
        Written::Done(revision) => Ok(Tagged(revision, Decided { name, revision })),
        Written::Stale(now) => Err(stale(now)),
        Written::Missing => Err(missing(&name)),
    }
}

/// Lets a class be used, if two of its members at least are proven and none is refuted.
pub(super) async fn do_release(
    service: &Shared,
    name: String,
    revision: i64,
    why: &str,
    who: &str,
) -> Result<Tagged<Decided>, Problem> {
    let detail = fetch(service, &name).await?;
    if detail.line.revision != revision {
        return Err(stale(detail.line.revision));
    }
    let class = view(detail)?;
    let count = |status: &str| class.member_list.iter().filter(|member| member.status == status).count();
    if count("proven") < 2 {
        return Err(Kind::Conflict.problem("no two of its members are proven equivalent; ask for a proof first"));
    }
    if count("refuted") > 0 {
        return Err(Kind::Conflict.problem("a database refutes one of its members; withdraw that member first"));
    }
    written(name.clone(), service.store.class_decide(&name, revision, ClassState::Released, why, who).await?)
}

/// Release a class, so that campaigns use it
#[utoipa::path(post, path = "/api/v1/classes/{name}/release", tag = "classes",
    params(("name" = String, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = Reason, responses((status = 200, body = Decided, headers(("ETag" = String)))))]
async fn release(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(name): Path<String>,
    IfMatch(revision): IfMatch,
    Json(reason): Json<Reason>,
) -> Result<Tagged<Decided>, Problem> {
    do_release(&service, name, revision, reason.checked()?, &client.name).await
}

/// Quarantine a class, so that nothing uses it
#[utoipa::path(post, path = "/api/v1/classes/{name}/quarantine", tag = "classes",
    params(("name" = String, Path,), ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = Reason, responses((status = 200, body = Decided, headers(("ETag" = String)))))]
async fn quarantine(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(name): Path<String>,
    IfMatch(revision): IfMatch,
    Json(reason): Json<Reason>,
) -> Result<Tagged<Decided>, Problem> {
    do_quarantine(&service, name, revision, reason.checked()?, &client.name).await
}

/// Keeps a class from being used.
pub(super) async fn do_quarantine(
    service: &Shared,
    name: String,
    revision: i64,
    why: &str,
    who: &str,
) -> Result<Tagged<Decided>, Problem> {
    let done = service.store.class_decide(&name, revision, ClassState::Quarantined, why, who).await?;
    written(name, done)
}

/// Takes a member out of a class.
pub(super) async fn do_withdraw(
    service: &Shared,
    name: String,
    position: usize,
    revision: i64,
    why: &str,
    who: &str,
) -> Result<Tagged<Decided>, Problem> {
    match service.store.class_withdraw(&name, revision, position, why, who).await? {
        Withdrawal::Done(revision) => Ok(Tagged(revision, Decided { name, revision })),
        Withdrawal::Stale(now) => Err(stale(now)),
        Withdrawal::NoClass => Err(missing(&name)),
        Withdrawal::NoMember => Err(Kind::NotFound.problem(format!("the class has no member {position}"))),
        Withdrawal::Needed => Err(Kind::Conflict.problem(
            "the first member is what the class is about, and a class has two at least; quarantine the class instead",
        )),
    }
}

/// Withdraw a member from its class; it stays out, whoever proposes it again
#[utoipa::path(post, path = "/api/v1/classes/{name}/members/{position}/withdraw", tag = "classes",
    params(("name" = String, Path,), ("position" = usize, Path, description = "From 1"),
        ("If-Match" = String, Header, description = "The ETag of what was seen")),
    request_body = Reason, responses((status = 200, body = Decided, headers(("ETag" = String)))))]
async fn withdraw(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path((name, position)): Path<(String, usize)>,
    IfMatch(revision): IfMatch,
    Json(reason): Json<Reason>,
) -> Result<Tagged<Decided>, Problem> {
    do_withdraw(&service, name, position, revision, reason.checked()?, &client.name).await
}

/// Asks for a proof of a class.
pub(super) async fn do_prove(service: &Shared, name: &str, key: &str, who: &str) -> Result<Asked, Problem> {
    fetch(service, name).await?;
    jobs::ask(service, "prove", &format!("class {name}"), key, who).await
}

/// Ask for a new proof of every member against the first, and a check on engines: a job. Its answers take the place of what
/// is recorded
#[utoipa::path(post, path = "/api/v1/classes/{name}/prove", tag = "classes",
    params(("name" = String, Path,),
        ("Idempotency-Key" = String, Header, description = "The same request with the same key is done once")),
    responses((status = 202, body = Asked)))]
async fn prove(
    State(service): State<Shared>,
    Operator(client): Operator,
    Path(name): Path<String>,
    IdempotencyKey(key): IdempotencyKey,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    Ok((StatusCode::ACCEPTED, Json(do_prove(&service, &name, &key, &client.name).await?)))
}
