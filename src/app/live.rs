//! What a hunt says goes to the store while it runs: its version, its sums, its findings. Who asks there for its end is
//! heard.

use crate::app::corpus::note_verdicts;
use crate::clock;
use crate::hunt::plan::Progress;
use crate::hunt::protocol::Ready;
use crate::hunt::stats::Stats;
use crate::hunt::uses::{Cases, Used};
use crate::store::{Build, CampaignRow, ClassCases, SampleRow, Store, StoreError};
use crate::triage::finding::{self, Finding, FoundReport};
use crate::triage::known::{self, KnownBug};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often sums go to the store.
const TELL_MS: u64 = 1_000;

/// Samples for charts are this far apart at first, and later this part of the time so far, so that their number grows with
/// its logarithm.
const SAMPLE_SECONDS_MIN: f64 = 2.0;
const SAMPLE_PART: f64 = 0.01;

/// The campaign of the store that a hunt is.
#[derive(Debug, Clone)]
pub enum Campaign {
    /// One that is there.
    Known {
        /// Its number.
        id: i64,
        /// Seconds that it ran before.
        before: f64,
    },
    /// The one that a hunt with these words is, once the version of its target is known.
    Of {
        /// The target.
        dbms: String,
        /// The seed.
        seed: u64,
        /// Which classes and members are used.
        choice: String,
    },
}

impl Campaign {
    /// Its number, and the seconds that it ran before. One that is not there yet begins.
    pub async fn open(&self, store: &Store, version: &str) -> Result<(i64, f64), StoreError> {
        match self {
            Self::Known { id, before } => Ok((*id, *before)),
            Self::Of { dbms, seed, choice } => {
                let key = format!("{dbms} {version} {seed} {choice}");
                let key = blake3::hash(key.as_bytes()).to_hex()[..16].to_owned();
                let row = CampaignRow { key, dbms: dbms.clone(), version: version.to_owned(), seed: *seed };
                store.campaign_begin(&row).await
            }
        }
    }
}

/// What lists say is known on an engine.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The engine, as in entries.
    pub engine: String,
    /// Their entries.
    pub bugs: Vec<KnownBug>,
}

impl Known {
    /// Why a finding is no news today.
    pub fn reason(&self, finding: &Finding) -> Option<String> {
        known::reason(&self.bugs, &self.engine, finding, &clock::today())
    }
}

/// Where a hunt is.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its target.
    pub dbms: String,
    /// Where its caches are.
    pub data_dir: PathBuf,
}

/// What a hunt says.
enum Told {
    Ready { version: String, build_id: String },
    Sums(SampleRow),
    Found(PathBuf),
    Classes(Vec<ClassCases>),
}

/// Hears of a hunt and passes it on, without waiting.
pub struct Reporter<'a> {
    tell: mpsc::UnboundedSender<Told>,
    /// When sums were told last.
    said: Duration,
    /// Who else hears of it.
    shown: &'a mut (dyn Progress + Send),
}

/// What was heard and is to be stored.
pub struct Heard(mpsc::UnboundedReceiver<Told>);

/// Hears of a hunt, for the store and for `shown`.
pub fn hear(shown: &mut (dyn Progress + Send)) -> (Reporter<'_>, Heard) {
    let (tell, told) = mpsc::unbounded_channel();
    (Reporter { tell, said: Duration::ZERO, shown }, Heard(told))
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Progress for Reporter<'_> {
    fn ready(&mut self, ready: &Ready) {
        let Ready { version, build_id, .. } = ready.clone();
        let _ = self.tell.send(Told::Ready { version, build_id });
        self.shown.ready(ready);
    }

    fn update(&mut self, stats: &Stats, findings: usize, elapsed: Duration) {
        self.shown.update(stats, findings, elapsed);
        if elapsed < self.said + Duration::from_millis(TELL_MS) {
            return;
        }
        self.said = elapsed;
        let outcomes = &stats.outcomes;
        let _ = self.tell.send(Told::Sums(SampleRow {
            seconds: elapsed.as_secs_f64(),
            cases: int(outcomes.cases()),
            statements: int(stats.statements),
            pass: int(outcomes.pass),
            skipped: int(outcomes.skipped),
            warning: int(outcomes.warning),
            fail: int(outcomes.fail),
            findings: i64::try_from(findings).unwrap_or(i64::MAX),
            plans: i64::try_from(stats.plans.different.len()).unwrap_or(i64::MAX),
        }));
    }

    fn note(&mut self, message: &str) {
        self.shown.note(message);
    }

    fn found(&mut self, found: &FoundReport) {
        let _ = self.tell.send(Told::Found(PathBuf::from(&found.dir)));
        self.shown.found(found);
    }

    fn used(&mut self, counts: &[(Used, Cases)]) {
        let of_class = |(used, cases): &(Used, Cases)| {
            let Used::Class(class) = used else { return None };
            let Cases { pass, void, fail } = *cases;
            Some(ClassCases { class: class.clone(), pass: int(pass), void: int(void), fail: int(fail) })
        };
        let _ = self.tell.send(Told::Classes(counts.iter().filter_map(of_class).collect()));
        self.shown.used(counts);
    }
}

/// Reads a finding without keeping others waiting.
async fn read(dir: PathBuf) -> anyhow::Result<Finding> {
    Ok(tokio::task::spawn_blocking(move || finding::read(&dir)).await??)
}

/// What was recorded of a hunt.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Recorded {
    /// The number of its campaign and the seconds that it ran before, if it came so far that there is one.
    pub campaign: Option<(i64, f64)>,
    /// Whether somebody asked for its end.
    pub asked: bool,
}

/// Stores what a hunt says as long as it says something, and stops it when somebody asks for that. `known` says why a finding
/// is no news; `count` hears of new cases and findings. What cannot be stored is in the log, and is stored when the hunt has ended.
pub async fn record(
    store: Store,
    campaign: Campaign,
    place: Place,
    Heard(mut told): Heard,
    stop: mpsc::Sender<()>,
    known: Known,
    count: impl Fn(u64, u64) + Send,
) -> Recorded {
    let known_by = match &campaign {
        Campaign::Known { id, before } => Some((*id, *before)),
        Campaign::Of { .. } => None,
    };
    let mut recorded = Recorded { campaign: known_by, asked: false };
    let (mut next_sample, mut cases, mut version) = (0.0, None, String::new());
    while let Some(told) = told.recv().await {
        let stored = match (told, recorded.campaign) {
            (Told::Ready { version: told, build_id }, _) => {
                version = told;
                match campaign.open(&store, &version).await {
                    Ok(open) => {
                        recorded.campaign = Some(open);
                        // Its snippets are validated by now.
                        let build = Build { dbms: &place.dbms, version: &version, build_id: &build_id };
                        if let Err(error) = note_verdicts(&store, &build, &place.data_dir).await {
                            tracing::warn!(campaign = open.0, error = format!("{error:#}"), "verdicts are not stored");
                        }
                        store.campaign_ready(open.0, &version).await
                    }
                    Err(error) => Err(error),
                }
            }
            // The store was away when it became ready.
            (_, None) => Ok(()),
            (Told::Found(dir), Some((id, _))) => match read(dir).await {
                Ok(finding) => {
                    let why = known.reason(&finding);
                    store.finding_put(id, &finding, why.as_deref()).await.map(|new| count(0, u64::from(new)))
                }
                // It is read again when the campaign ends.
                Err(error) => {
                    tracing::warn!(campaign = id, error = format!("{error:#}"), "a finding cannot be read");
                    Ok(())
                }
            },
            (Told::Classes(counts), Some(_)) => store.class_runs_add(&place.dbms, &version, &counts).await,
            (Told::Sums(mut sample), Some((id, before))) => {
                sample.seconds += before;
                let keep = sample.seconds >= next_sample;
                if keep {
                    next_sample = sample.seconds + (sample.seconds * SAMPLE_PART).max(SAMPLE_SECONDS_MIN);
                }
                // Sums of a campaign that goes on begin with those of its earlier parts.
                let new = sample.cases - cases.unwrap_or(sample.cases);
                count(u64::try_from(new).unwrap_or(0), 0);
                cases = Some(sample.cases);
                let SampleRow { pass, skipped, warning, fail, .. } = sample;
                let summary = json!({
                    "cases": sample.cases, "statements": sample.statements, "plans_different": sample.plans,
                    "outcomes": { "pass": pass, "skipped": skipped, "warning": warning, "fail": fail },
                });
                store.campaign_progress(id, &sample, &summary, keep).await.map(|state| {
                    if state != "running" {
                        recorded.asked = true;
                        // It may be stopping already.
                        let _ = stop.try_send(());
                    }
                })
            }
        };
        if let Err(error) = stored {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::error!(campaign = ?recorded.campaign, error, "the progress of a campaign is not stored");
        }
    }
    recorded
}
