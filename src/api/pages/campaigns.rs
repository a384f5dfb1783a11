//! Campaigns: starting one, watching it, stopping it.

use super::view::chart::{Chart, rate};
use super::{Sent, Visit, go, link, page_key, segment};
use crate::api::Shared;
use crate::api::browse;
use crate::api::campaigns::{self, CampaignQuery, CampaignRequest, ClassesOf};
use crate::api::extract::{Filled, Path};
use crate::api::findings::{self, FindingQuery};
use crate::api::problem::{Kind, Problem};
use crate::hunt::gone::Gone;
use crate::hunt::stats::PLANS_MAX;
use crate::oracle;
use crate::store::{CampaignDetail, SampleRow};
use axum::extract::State;
use axum::response::Response;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Findings that the page of a campaign lists.
const LISTED: u16 = 15;

/// Samples that are drawn.
const SAMPLES_MAX: i64 = 5_000;

/// Reasons that are listed.
const REASONS_MAX: usize = 15;

/// Planted faults that are offered: what a campaign does can be seen on any machine.
const PLANTED: [(&str, &str); 3] = [
    ("planted:drop-row", "SQLite that loses the last row of filtered queries"),
    ("planted:null-to-zero", "SQLite whose left joins pad with 0"),
    ("planted:wrong-distinct", "SQLite whose DISTINCT lets a duplicate through"),
];

/// Targets to choose from.
#[derive(Serialize)]
pub(super) struct Group {
    label: String,
    /// As it is sent, and as it is shown.
    pub(super) options: Vec<(String, String)>,
}

/// The engines that are here.
pub(super) async fn targets(service: &Shared) -> Result<Vec<Group>, Problem> {
    let engines = {
        let service = service.clone();
        tokio::task::spawn_blocking(move || browse::engines(&service)).await.map_err(anyhow::Error::from)??
    };
    let mut groups = Vec::new();
    for engine in engines {
        let mut options = Vec::new();
        for one in engine.versions.iter().rev() {
            if one.linked {
                options.insert(0, (engine.engine.clone(), format!("{} {} (linked)", engine.engine, one.version)));
            }
            if one.installed {
                options
                    .push((format!("{}@{}", engine.engine, one.version), format!("{} {}", engine.engine, one.version)));
            }
        }
        if !options.is_empty() {
            groups.push(Group { label: engine.engine, options });
        }
    }
    groups.sort_by_key(|group| group.label != "sqlite");
    let planted = PLANTED.map(|(name, label)| (name.to_owned(), label.to_owned())).into();
    groups.push(Group { label: "With a planted fault, to see how it works".to_owned(), options: planted });
    Ok(groups)
}

/// The list.
pub(super) async fn list(
    State(service): State<Shared>,
    visit: Visit,
    Filled(query): Filled<CampaignQuery>,
) -> Result<Response, Problem> {
    let page = campaigns::page(&service, &query).await?;
    let targets = targets(&service).await?;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (state, dbms) = (text(&query.state), text(&query.dbms));
    let next = page
        .next
        .as_deref()
        .map(|cursor| link("/campaigns", &[("state", &state), ("dbms", &dbms), ("cursor", cursor)]));
    let oracles: Vec<&str> = oracle::ALL.iter().map(|oracle| oracle.name).collect();
    let with = context! { page => Serde(&page), next, targets => Serde(targets), oracles, key => page_key() };
    visit.page(&service, "campaigns.html", with)
}

/// What somebody asks for. Fields that are empty are not said.
#[derive(Deserialize)]
pub(super) struct Asked {
    key: String,
    dbms: String,
    minutes: String,
    #[serde(default)]
    max_bugs: String,
    classes_of: ClassesOf,
    classes: String,
    workers: String,
    seed: String,
    /// The names of oracles are the names of their boxes.
    #[serde(flatten)]
    boxes: BTreeMap<String, String>,
}

impl Asked {
    fn request(&self) -> Result<CampaignRequest, Problem> {
        fn number<T: std::str::FromStr>(name: &str, text: &str) -> Result<Option<T>, Problem> {
            let text = text.trim();
            let refuse = |_| Kind::Unprocessable.problem(format!("the field {name} takes a whole number, or nothing"));
            if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(refuse) }
        }
        let chosen = oracle::ALL.iter().map(|oracle| oracle.name).filter(|name| self.boxes.contains_key(*name));
        let oracles: Vec<String> = chosen.map(str::to_owned).collect();
        if oracles.is_empty() {
            return Err(Kind::Unprocessable.problem("choose one oracle at least"));
        }
        let minutes = number::<u64>("Minutes", &self.minutes)?
            .ok_or_else(|| Kind::Unprocessable.problem("say for how many minutes"))?;
        Ok(CampaignRequest {
            dbms: self.dbms.clone(),
            classes_of: self.classes_of,
            seed: number("Seed", &self.seed)?,
            cases: None,
            seconds: Some(minutes.saturating_mul(60)),
            max_bugs: number("Bugs at most", &self.max_bugs)?,
            workers: number("Executors", &self.workers)?,
            oracles: if oracles.len() == oracle::ALL.len() { Vec::new() } else { oracles },
            classes: self.classes.split([' ', ',']).filter(|glob| !glob.is_empty()).map(str::to_owned).collect(),
            assumed: false,
            snippet_percent: None,
        })
    }
}

pub(super) async fn start(
    State(service): State<Shared>,
    Sent(client, asked): Sent<Asked>,
) -> Result<Response, Problem> {
    if asked.key.is_empty() || asked.key.len() > 100 {
        return Err(Kind::Unprocessable.problem("the form has no key; reload the page"));
    }
    let started = campaigns::do_start(&service, asked.request()?, &asked.key, &client.name).await?;
    Ok(go(&format!("/campaigns/{}", started.id), &format!("Campaign {} is started.", started.id)))
}

pub(super) async fn stop(
    State(service): State<Shared>,
    Path(id): Path<i64>,
    Sent(client, super::login::Nothing {}): Sent<super::login::Nothing>,
) -> Result<Response, Problem> {
    campaigns::do_stop(&service, id, &client.name).await?;
    Ok(go(&format!("/campaigns/{id}"), "It is asked to stop."))
}

/// What the page of a campaign shows of its progress.
async fn progress(service: &Shared, campaign: &CampaignDetail) -> Result<Value, Problem> {
    let id = campaign.line.id;
    let samples = service.store.sample_page(id, None, SAMPLES_MAX).await?;
    let of_campaign = FindingQuery { campaign: Some(id), limit: Some(LISTED), ..FindingQuery::default() };
    let findings = findings::page(service, &of_campaign).await?;
    let last = samples.last().copied().unwrap_or_else(|| sums(&campaign.summary));
    Ok(context! {
        campaign => Serde(campaign), findings => Serde(findings), charts => Serde(charts(&samples)), last => Serde(last),
        plans_max => PLANS_MAX,
    })
}

/// The sums of a campaign without samples: one of `caqtus hunt`.
fn sums(summary: &serde_json::Value) -> SampleRow {
    let number = |path: &str| summary.pointer(path).and_then(serde_json::Value::as_i64).unwrap_or_default();
    SampleRow {
        cases: number("/cases"),
        statements: number("/statements"),
        pass: number("/outcomes/pass"),
        skipped: number("/outcomes/skipped"),
        warning: number("/outcomes/warning"),
        fail: number("/outcomes/fail"),
        plans: number("/plans_different"),
        ..SampleRow::default()
    }
}

fn charts(samples: &[SampleRow]) -> Vec<Chart> {
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    #[expect(clippy::cast_precision_loss, reason = "counts to be drawn")]
    let line = |value: fn(&SampleRow) -> i64| -> Vec<f64> { samples.iter().map(|s| value(s) as f64).collect() };
    let cases = line(|s| s.cases);
    let per_minute = |sums: &[f64]| rate(&seconds, sums).into_iter().map(|rate| 60.0 * rate).collect::<Vec<_>>();
    let outcomes =
        [("skipped", line(|s| s.skipped)), ("worth a look", line(|s| s.warning)), ("failed", line(|s| s.fail))];
    let all = [
        Chart::new("cases", "Cases per second", &seconds, &[("cases", rate(&seconds, &cases))], false),
        Chart::new("outcomes", "Outcomes other than passed", &seconds, &outcomes, true),
        Chart::new("plans", "New plans per minute", &seconds, &[("new plans", per_minute(&line(|s| s.plans)))], false),
        Chart::new("findings", "Findings", &seconds, &[("findings", line(|s| s.findings))], true),
    ];
    all.into_iter().flatten().collect()
}

/// A campaign.
pub(super) async fn campaign(
    State(service): State<Shared>,
    visit: Visit,
    Path(id): Path<i64>,
) -> Result<Response, Problem> {
    let campaign = campaigns::fetch(&service, id).await?;
    let progress = progress(&service, &campaign).await?;
    let spec: Vec<(String, String)> = match &campaign.spec {
        Some(serde_json::Value::Object(fields)) => fields
            .iter()
            .filter(|(name, value)| !is_nothing(value) && !["dbms", "seed"].contains(&name.as_str()))
            .map(|(name, value)| (name.replace('_', " "), words(value)))
            .collect(),
        _ => Vec::new(),
    };
    let mut reasons: Vec<(String, u64)> = match campaign.summary.get("reasons") {
        Some(serde_json::Value::Object(reasons)) => {
            reasons.iter().filter_map(|(reason, count)| Some((reason.clone(), count.as_u64()?))).collect()
        }
        _ => Vec::new(),
    };
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    reasons.truncate(REASONS_MAX);
    let gone: Vec<Gone> =
        campaign.summary.get("gone").and_then(|gone| Deserialize::deserialize(gone).ok()).unwrap_or_default();
    let covered = service.store.coverage_fetch(&campaign.line.dbms).await?;
    let coverage = covered.map(|_| format!("/coverage/{}", segment(&campaign.line.dbms)));
    visit.page(&service, "campaign.html", context! { spec, reasons, gone => Serde(gone), coverage, ..progress })
}

fn is_nothing(value: &serde_json::Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        serde_json::Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The part of that page that changes while it runs.
pub(super) async fn live(
    State(service): State<Shared>,
    visit: Visit,
    Path(id): Path<i64>,
) -> Result<Response, Problem> {
    let campaign = campaigns::fetch(&service, id).await?;
    let progress = progress(&service, &campaign).await?;
    visit.page(&service, "campaign_live.html", progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(workers: &str, caq: bool) -> Asked {
        Asked {
            key: "k".into(),
            dbms: "sqlite".into(),
            minutes: "2".into(),
            max_bugs: String::new(),
            classes_of: ClassesOf::Shipped,
            classes: "tlp-* , norec-*".into(),
            workers: workers.into(),
            seed: String::new(),
            boxes: caq.then(|| ("caq".to_owned(), "on".to_owned())).into_iter().collect(),
        }
    }

    #[test]
    fn a_form_becomes_a_request() {
        let request = asked("2", true).request().expect("a request");
        assert_eq!((request.seconds, request.workers, request.seed), (Some(120), Some(2), None));
        assert_eq!(
            (request.classes, request.oracles),
            (vec!["tlp-*".to_owned(), "norec-*".to_owned()], vec!["caq".to_owned()])
        );
        assert_eq!(asked("two", true).request().map(|_| ()).map_err(|problem| problem.status), Err(422));
        assert_eq!(asked("", false).request().map(|_| ()).map_err(|problem| problem.status), Err(422));
    }

    #[test]
    fn planted_faults_that_are_offered_are_targets() {
        for (name, _) in PLANTED {
            name.parse::<crate::dbms::target::Target>().unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
