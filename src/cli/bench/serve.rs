//! `caqtus bench serve`: how fast a service answers over a large store while a hunt writes to it.

use super::super::Common;
use crate::hunt::process::own_program;
use crate::store::Store;
use anyhow::{Context as _, bail};
use reqwest::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// What is measured.
pub(super) struct Plan<'a> {
    pub(super) store: Option<&'a str>,
    pub(super) classes: i32,
    pub(super) findings: i32,
    pub(super) seconds: u64,
    pub(super) per_second: u32,
    pub(super) json: bool,
    pub(super) common: &'a Common,
}

/// Lists, filters, searches and details; `{}` is a number that changes.
const PATHS: [&str; 18] = [
    "classes",
    "classes?state=quarantined",
    "classes?q=f{}",
    "classes?q=left%20join",
    "classes?q=nowhere",
    "classes?feature=rtree",
    "classes?feature=left%20join&state=draft",
    "classes?yield_min=11",
    "classes?similarity_min=0.99&origin=origin-1",
    "classes?assumption=exact-sums&dialect=sqlite",
    "classes/bench-0000{}",
    "bugs",
    "bugs?state=fixed",
    "bugs?q=switch{}",
    "bugs/{}",
    "findings?campaign=7",
    "findings?class=bench-0000{}",
    "campaigns",
];

/// Milliseconds that requests took.
#[derive(Debug, Serialize)]
struct Times {
    requests: usize,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

impl Times {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied();
        let at = |percent| at(percent).unwrap_or(f64::NAN);
        Self { requests: times.len(), p50_ms: at(50), p95_ms: at(95), p99_ms: at(99), max_ms: at(100) }
    }
}

/// The most memory that a process had, in MiB.
fn memory_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

pub(super) async fn run(plan: Plan<'_>) -> anyhow::Result<ExitCode> {
    let data_dir = plan.common.data_dir();
    let store = Store::open(plan.store, &data_dir).await?;
    if !store.is_empty().await? {
        bail!("the store has something in it; name an empty one with --store, or another --data-dir");
    }
    eprintln!("making {} classes and {} findings", plan.classes, plan.findings);
    store.fill_for_bench(plan.classes, plan.findings).await?;
    let mut command = own_program()?;
    command.args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "1000000", "--data-dir"]).arg(&data_dir);
    if let Some(url) = plan.store {
        command.env("DATABASE_URL", url);
    }
    let mut service =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn()?;
    let mut said = String::new();
    BufReader::new(service.stdout.take().context("no pipe")?).read_line(&mut said).await?;
    let address = said.trim().strip_prefix("listening on ").context("the service does not start")?.to_owned();
    let pid = service.id().context("the service has ended")?;
    // The client is made for TLS too; a second installation of a provider changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new();
    let hunt =
        json!({ "dbms": "sqlite", "classes_of": "shipped", "seed": 1, "workers": 1, "seconds": plan.seconds + 60 });
    let started = client
        .post(format!("{address}/api/v1/campaigns"))
        .header("content-type", "application/json")
        .header("idempotency-key", "bench")
        .body(hunt.to_string())
        .send()
        .await?;
    if !started.status().is_success() {
        bail!("no hunt was started: {}", started.text().await?);
    }
    let mut by_path = load(&client, &address, &plan).await?;
    let all = Times::of(by_path.values().flatten().copied().collect());
    let each: BTreeMap<&str, Times> =
        std::mem::take(&mut by_path).into_iter().map(|(path, times)| (path, Times::of(times))).collect();
    let memory = memory_mib(pid);
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("no number of a process")?;
    kill_process(pid, Signal::TERM)?;
    service.wait().await?;
    store.close().await;
    if plan.json {
        let result: Value = json!({
            "classes": plan.classes, "findings": plan.findings, "per_second": plan.per_second,
            "all": all, "paths": each, "memory_mib": memory,
        });
        println!("{result}");
        return Ok(ExitCode::SUCCESS);
    }
    let line = |name: &str, Times { requests, p50_ms, p95_ms, p99_ms, max_ms }: &Times| {
        println!("{name:<50} {requests:>6} {p50_ms:>8.1} {p95_ms:>8.1} {p99_ms:>8.1} {max_ms:>8.1}");
    };
    println!("{:<50} {:>6} {:>8} {:>8} {:>8} {:>8}", "", "n", "p50 ms", "p95 ms", "p99 ms", "max ms");
    each.iter().for_each(|(path, times)| line(path, times));
    line("all", &all);
    println!("memory of the service: {} MiB at most", memory.unwrap_or(0));
    Ok(ExitCode::SUCCESS)
}

/// Sends requests at a rate, whether or not those before were answered, and notes how long each took.
async fn load(client: &Client, address: &str, plan: &Plan<'_>) -> anyhow::Result<BTreeMap<&'static str, Vec<f64>>> {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / plan.per_second);
    let mut asked = tokio::task::JoinSet::new();
    let total = plan.seconds * u64::from(plan.per_second);
    for number in 0..total {
        let due: Instant = tick.tick().await.into_std();
        let path = PATHS[usize::try_from(number).unwrap_or(0) % PATHS.len()];
        // Numbers of three digits, spread out.
        let url = format!("{address}/api/v1/{}", path.replace("{}", &(100 + number * 7 % 500).to_string()));
        let client = client.clone();
        asked.spawn(async move {
            let answer = client.get(url).send().await?;
            let status = answer.status();
            let body = answer.bytes().await?;
            anyhow::Ok((path, due.elapsed().as_secs_f64() * 1e3, status, body))
        });
    }
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    while let Some(answered) = asked.join_next().await {
        let (path, ms, status, body) = answered??;
        if !status.is_success() {
            bail!("{path}: {status} {}", String::from_utf8_lossy(&body));
        }
        times.entry(path).or_default().push(ms);
    }
    Ok(times)
}
