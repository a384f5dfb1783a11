//! Discoveries: runs, seeds, the steps of Algorithm 1 with their candidates, and what was asked of models.

use super::class::ClassState;
use super::{Store, StoreError, json, parse, read, storable, text};
use crate::caq::query::Caq;
use crate::plan::PlanTree;
use prover::ir::Assumption;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// A seed of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedRow {
    /// Its key in the store.
    pub id: i64,
    /// Its number in the run, from 0.
    pub number: u32,
    /// Its name in the file it is from.
    pub name: Option<String>,
    /// The query and its schema.
    pub caq: Caq,
    /// Why its loop ended; `None` while it has not.
    pub ended: Option<String>,
}

/// A step: one asking, and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its number, from 0.
    pub number: u32,
    /// The request, if a model was asked.
    pub request_hash: Option<String>,
    /// What became of it.
    pub outcome: String,
}

/// The verdict on a candidate.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CandidateVerdict {
    /// Equivalent to its seed.
    Proven,
    /// A database shows that it is not.
    Refuted,
    /// Neither.
    Unknown,
    /// The text was proposed before for this seed.
    Duplicate,
}

/// A candidate and what is known of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateRow {
    /// The query.
    pub sql: String,
    /// The rules that made it, if rules did.
    pub rules: Vec<String>,
    /// The verdict.
    pub verdict: CandidateVerdict,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// INSERT statements after which it differs from its seed.
    pub witness: Option<Vec<String>>,
    /// What the proof takes for granted.
    pub assumptions: BTreeSet<Assumption>,
    /// The prover's name and version.
    pub prover: String,
    /// The proof. Not read back.
    #[serde(skip)]
    pub certificate: Option<Value>,
    /// Why it cannot stand in a class; `None` if it can.
    pub unbound: Option<String>,
    /// Why each target refused it, for those that did.
    pub refused: BTreeMap<String, String>,
    /// Its plan on the first target.
    pub plan: Option<PlanTree>,
}

impl CandidateRow {
    /// Whether the first target took it: that is where plans come from.
    pub fn is_equal(&self) -> bool {
        self.verdict == CandidateVerdict::Proven && self.unbound.is_none() && self.plan.is_some()
    }
}

/// What was asked of a model, and what came back.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangeRow {
    /// Of the whole request.
    pub request_hash: String,
    /// Which prompt it is an instance of, and which version of it.
    pub prompt_id: String,
    /// The version.
    pub prompt_version: String,
    /// Of the prompt's template.
    pub prompt_hash: String,
    /// The request.
    pub request: Value,
}

/// What is known of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// It was never sent.
    New,
    /// It was sent; the answer is not here, and may be lost.
    Sent,
    /// It is in a batch, and the answer will come.
    Batched,
    /// It was answered.
    Answered(Value),
    /// It failed for good.
    Failed(String),
}

/// How a request that was sent ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExchangeOutcome<'a> {
    /// With an answer.
    Answered(&'a Value),
    /// For good, without one.
    Failed(&'a str),
    /// Without one, for this reason, and it may be sent again.
    Open(&'a str),
}

/// How many candidates of a run ended in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateTotal {
    /// The verdict.
    pub verdict: CandidateVerdict,
    /// Why they are unknown.
    pub reason: Option<String>,
    /// Whether the first target does not run them, or they cannot stand in a class.
    pub refused: bool,
    /// How many.
    pub count: u64,
}

/// A class that a run made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunClass {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ClassState,
    /// How many members it has.
    pub members: u64,
    /// Similarity of its plans.
    pub similarity: Option<f64>,
}

/// What requests cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tally {
    /// Calls.
    pub calls: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

/// What the requests of a run come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// What those cost that ended.
    pub spent: Tally,
    /// What those may cost, at the worst, that were sent and have no answer.
    pub set_aside: Tally,
}

/// A run that this program works on. Nobody else can as long as the connection lives, which a kill ends too.
#[derive(Debug)]
pub struct Run {
    /// Its key in the store.
    pub id: i64,
    /// How many programs have worked on it. If the lock is lost to another one, this one can store nothing more.
    owner: i64,
    key: String,
    _lock: PgConnection,
}

/// Locks are named by 32 bits; two runs would have to be four thousand million apart to share one.
fn lock_key(run: i64) -> i32 {
    i32::try_from(run & 0x7FFF_FFFF).unwrap_or_default()
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn number(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

fn count(n: i32) -> u32 {
    u32::try_from(n).unwrap_or_default()
}

/// Makes sure that the run is still this program's.
async fn own(connection: &mut PgConnection, run: &Run) -> Result<(), StoreError> {
    let owner = sqlx::query_scalar!("SELECT owner FROM run WHERE id = $1 FOR SHARE", run.id);
    if owner.fetch_one(connection).await? == run.owner { Ok(()) } else { Err(StoreError::RunInUse(run.key.clone())) }
}

impl Store {
    /// The run of a key, made if it is new. Nobody else can work on it as long as the lock lives.
    pub async fn run_open(&self, key: &str, config: &Value) -> Result<Run, StoreError> {
        let id = sqlx::query_scalar!(
            "INSERT INTO run (key, config) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET config = $2 RETURNING id",
            key,
            config
        );
        let id = id.fetch_one(&self.pool).await?;
        let mut connection = self.pool.acquire().await?.detach();
        let locked = sqlx::query_scalar!(
            r#"SELECT pg_try_advisory_lock(hashtext('caqtus run'), $1) AS "locked!""#,
            lock_key(id)
        );
        if !locked.fetch_one(&mut connection).await? {
            return Err(StoreError::RunInUse(key.to_owned()));
        }
        let owner = sqlx::query_scalar!("UPDATE run SET owner = owner + 1 WHERE id = $1 RETURNING owner", id);
        let owner = owner.fetch_one(&mut connection).await?;
        Ok(Run { id, owner, key: key.to_owned(), _lock: connection })
    }

    /// Adds seeds that the run does not have yet, by number.
    pub async fn seed_put(&self, run: i64, first: u32, seeds: &[(Option<String>, Caq)]) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        for (at, (name, caq)) in (first..).zip(seeds) {
            sqlx::query!(
                "INSERT INTO seed (run_id, number, name, schema, placeholders, sql) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (run_id, number) DO NOTHING",
                run,
                number(at),
                name.as_deref(),
                caq.schema,
                Json(&caq.placeholders) as _,
                caq.sql
            )
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
    }

    /// The seeds of a run, in order.
    pub async fn seed_list(&self, run: i64) -> Result<Vec<SeedRow>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT id, number, name, schema, placeholders AS "placeholders: Json<BTreeMap<String, String>>", sql, ended
               FROM seed WHERE run_id = $1 ORDER BY number"#,
            run
        )
        .fetch_all(&self.pool)
        .await?;
        let seed = rows.into_iter().map(|row| SeedRow {
            id: row.id,
            number: count(row.number),
            name: row.name,
            caq: Caq { schema: row.schema, placeholders: row.placeholders.0, sql: row.sql },
            ended: row.ended,
        });
        Ok(seed.collect())
    }

    /// Notes why a seed's loop ended and which class came of it.
    pub async fn seed_end(&self, seed: i64, why: &str, class: Option<&str>) -> Result<(), StoreError> {
        sqlx::query!(
            "UPDATE seed SET ended = $2, class_id = (SELECT id FROM class WHERE name = $3) WHERE id = $1",
            seed,
            why,
            class
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Stores a step with its candidates. One that is there already stays as it is.
    pub async fn step_put(
        &self,
        run: &Run,
        seed: i64,
        step: &StepRow,
        candidates: &[CandidateRow],
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        own(&mut tx, run).await?;
        let done = sqlx::query!(
            "INSERT INTO step (seed_id, number, request_hash, outcome) VALUES ($1, $2, $3, $4)
             ON CONFLICT (seed_id, number) DO NOTHING",
            seed,
            number(step.number),
            step.request_hash,
            step.outcome
        )
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(());
        }
        for (at, candidate) in (0..).zip(candidates) {
            let assumptions: Vec<String> = candidate.assumptions.iter().map(ToString::to_string).collect();
            let plan = candidate.plan.as_ref().map(|plan| json("a plan", plan)).transpose()?;
            let witness = candidate.witness.as_ref().map(|w| w.iter().map(|insert| text(insert)).collect::<Vec<_>>());
            sqlx::query!(
                "INSERT INTO candidate (seed_id, step, position, sql, rules, verdict, reason, witness, assumptions, prover,
                     certificate, unbound, refused, plan)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
                seed,
                number(step.number),
                at,
                text(&candidate.sql),
                &candidate.rules,
                <&str>::from(candidate.verdict),
                candidate.reason.as_deref().map(text),
                witness.as_deref(),
                &assumptions,
                candidate.prover,
                candidate.certificate.clone().map(storable),
                candidate.unbound.as_deref().map(text),
                json("refusals", &candidate.refused)?,
                plan
            )
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
    }

    /// The steps of a seed, in order.
    pub async fn step_list(&self, seed: i64) -> Result<Vec<StepRow>, StoreError> {
        let rows =
            sqlx::query!("SELECT number, request_hash, outcome FROM step WHERE seed_id = $1 ORDER BY number", seed)
                .fetch_all(&self.pool)
                .await?;
        let step = rows.into_iter().map(|row| StepRow {
            number: count(row.number),
            request_hash: row.request_hash,
            outcome: row.outcome,
        });
        Ok(step.collect())
    }

    /// The candidates of a seed in the order in which they were judged, each with the number of its step.
    pub async fn candidate_list(&self, seed: i64) -> Result<Vec<(u32, CandidateRow)>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT step, sql, rules, verdict, reason, witness, assumptions, prover, unbound,
                   refused AS "refused: Json<BTreeMap<String, String>>", plan
               FROM candidate WHERE seed_id = $1 ORDER BY step, position"#,
            seed
        )
        .fetch_all(&self.pool)
        .await?;
        let mut candidates = Vec::new();
        for row in rows {
            let verdict = parse("the verdict of a candidate", &row.verdict)?;
            let candidate = CandidateRow {
                sql: row.sql,
                rules: row.rules,
                verdict,
                reason: row.reason,
                witness: row.witness,
                assumptions: read("the assumptions of a candidate", row.assumptions.into())?,
                prover: row.prover,
                certificate: None,
                unbound: row.unbound,
                refused: row.refused.map(|Json(refused)| refused).unwrap_or_default(),
                plan: row.plan.map(|plan| read("the plan of a candidate", plan)).transpose()?,
            };
            candidates.push((count(row.step), candidate));
        }
        Ok(candidates)
    }

    /// The certificates of a seed's proven candidates, by their text.
    pub async fn certificate_list(&self, seed: i64) -> Result<BTreeMap<String, Value>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT sql, certificate AS "certificate!" FROM candidate
               WHERE seed_id = $1 AND verdict = 'proven' AND certificate IS NOT NULL"#,
            seed
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row| (row.sql, row.certificate)).collect())
    }

    /// What is known of a request.
    ///
    /// What another run was answered counts as well, and costs nothing.
    pub async fn exchange_fetch(&self, run: i64, request_hash: &str) -> Result<Stored, StoreError> {
        let row = sqlx::query!(
            "SELECT state, batched, exchange, error FROM exchange
             WHERE request_hash = $2 AND (run_id = $1 OR state = 'answered')
             ORDER BY state = 'answered' DESC, run_id LIMIT 1",
            run,
            request_hash
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(match row {
            None => Stored::New,
            Some(row) => match (row.state.as_str(), row.exchange) {
                ("answered", Some(exchange)) => Stored::Answered(exchange),
                ("failed", _) => Stored::Failed(row.error.unwrap_or_default()),
                ("sent", _) if row.batched => Stored::Batched,
                ("sent", _) => Stored::Sent,
                _ => Stored::New,
            },
        })
    }

    /// Notes that a request is about to be sent, or to be put into a batch, and what it can cost at most. One that was
    /// sent before and lost its answer costs again.
    pub async fn exchange_send(
        &self,
        run: &Run,
        row: &ExchangeRow,
        batched: bool,
        at_most: Tally,
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        own(&mut tx, run).await?;
        sqlx::query!(
            "INSERT INTO exchange (request_hash, run_id, prompt_id, prompt_version, prompt_hash, request, state, calls,
                 tokens, micro_usd, batched)
             VALUES ($1, $2, $3, $4, $5, $6, 'sent', $7, $8, $9, $10)
             ON CONFLICT (run_id, request_hash) DO UPDATE SET state = 'sent', batched = $10, calls = exchange.calls + $7,
                 tokens = exchange.tokens + $8, micro_usd = exchange.micro_usd + $9
             WHERE exchange.state IN ('sent', 'open')",
            row.request_hash,
            run.id,
            row.prompt_id,
            row.prompt_version,
            row.prompt_hash,
            storable(row.request.clone()),
            int(at_most.calls),
            int(at_most.tokens),
            int(at_most.micro_usd),
            batched
        )
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// Stores what came back for a request that was sent, and puts what it cost in the place of what it could have cost
    /// (`at_most`). Whether it was waiting: a second answer changes nothing.
    pub async fn exchange_settle(
        &self,
        run: i64,
        request_hash: &str,
        result: ExchangeOutcome<'_>,
        at_most: Tally,
        cost: Tally,
    ) -> Result<bool, StoreError> {
        let (state, exchange, error) = match result {
            ExchangeOutcome::Answered(exchange) => ("answered", Some(storable(exchange.clone())), None),
            ExchangeOutcome::Failed(error) => ("failed", None, Some(error)),
            ExchangeOutcome::Open(error) => ("open", None, Some(error)),
        };
        let done = sqlx::query!(
            "UPDATE exchange SET state = $2, exchange = $3, error = $4,
                 calls = calls + $6 - CASE state WHEN 'sent' THEN $5::bigint ELSE 0 END,
                 tokens = tokens + $8 - CASE state WHEN 'sent' THEN $7::bigint ELSE 0 END,
                 micro_usd = micro_usd + $10 - CASE state WHEN 'sent' THEN $9::bigint ELSE 0 END
             WHERE request_hash = $1 AND run_id = $11
                 AND (state = 'sent' OR state = 'open' AND $2::text = 'answered')",
            request_hash,
            state,
            exchange,
            error,
            int(at_most.calls),
            int(cost.calls),
            int(at_most.tokens),
            int(cost.tokens),
            int(at_most.micro_usd),
            int(cost.micro_usd),
            run
        )
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    /// The requests of a run that were sent, by their hashes.
    pub async fn exchange_requests(&self, run: i64) -> Result<Vec<(String, Value)>, StoreError> {
        let rows = sqlx::query!("SELECT request_hash, request FROM exchange WHERE run_id = $1", run)
            .fetch_all(&self.pool)
            .await?;
        Ok(rows.into_iter().map(|row| (row.request_hash, row.request)).collect())
    }

    /// Notes a batch that was handed to an endpoint.
    pub async fn batch_put(&self, id: &str, run: i64) -> Result<(), StoreError> {
        sqlx::query!("INSERT INTO batch (id, run_id) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", id, run)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// The batches of a run whose answers are not here.
    pub async fn batch_list_open(&self, run: i64) -> Result<Vec<String>, StoreError> {
        let ids = sqlx::query_scalar!("SELECT id FROM batch WHERE run_id = $1 AND NOT ended ORDER BY created", run);
        Ok(ids.fetch_all(&self.pool).await?)
    }

    /// Notes that the answers of a batch are here.
    pub async fn batch_end(&self, id: &str) -> Result<(), StoreError> {
        sqlx::query!("UPDATE batch SET ended = true WHERE id = $1", id).execute(&self.pool).await?;
        Ok(())
    }

    /// How the candidates of a run ended.
    pub async fn candidate_totals(&self, run: i64) -> Result<Vec<CandidateTotal>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT verdict, CASE WHEN verdict = 'unknown' THEN reason END AS reason,
                   (verdict = 'proven' AND (candidate.plan IS NULL OR unbound IS NOT NULL)) AS "refused!", count(*) AS "count!"
               FROM candidate JOIN seed ON seed.id = candidate.seed_id
               WHERE seed.run_id = $1 GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2"#,
            run
        )
        .fetch_all(&self.pool)
        .await?;
        let total = rows.into_iter().map(|row| {
            Ok(CandidateTotal {
                verdict: parse("the verdict of a candidate", &row.verdict)?,
                reason: row.reason,
                refused: row.refused,
                count: natural(row.count),
            })
        });
        total.collect()
    }

    /// The classes of a run by name: their state, the number of their members, and their similarity.
    pub async fn run_classes(&self, run: i64) -> Result<Vec<RunClass>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT DISTINCT class.name, class.state, class.similarity,
                   (SELECT count(*) FROM member WHERE class_id = class.id) AS "members!"
               FROM seed JOIN class ON class.id = seed.class_id WHERE seed.run_id = $1 ORDER BY class.name"#,
            run
        )
        .fetch_all(&self.pool)
        .await?;
        let class = rows.into_iter().map(|row| {
            Ok(RunClass {
                name: row.name,
                state: parse("the state of a class", &row.state)?,
                members: natural(row.members),
                similarity: row.similarity,
            })
        });
        class.collect()
    }

    /// How often each kind of asking ended without a candidate.
    pub async fn step_failures(&self, run: i64) -> Result<BTreeMap<String, u64>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT outcome, count(*) AS "count!" FROM step JOIN seed ON seed.id = step.seed_id
               WHERE seed.run_id = $1 AND outcome <> 'candidates' GROUP BY 1"#,
            run
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row| (row.outcome, natural(row.count))).collect())
    }

    /// What the requests of a run cost, and may cost.
    pub async fn exchange_costs(&self, run: i64) -> Result<Costs, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT (state = 'sent') AS "set_aside!", COALESCE(sum(calls), 0)::bigint AS "calls!",
                   COALESCE(sum(tokens), 0)::bigint AS "tokens!", COALESCE(sum(micro_usd), 0)::bigint AS "micro_usd!"
               FROM exchange WHERE run_id = $1 GROUP BY 1"#,
            run
        );
        let mut costs = Costs::default();
        for row in rows.fetch_all(&self.pool).await? {
            let tally =
                Tally { calls: natural(row.calls), tokens: natural(row.tokens), micro_usd: natural(row.micro_usd) };
            if row.set_aside { costs.set_aside = tally } else { costs.spent = tally }
        }
        Ok(costs)
    }
    /// Says that a run learns snippets.
    pub async fn run_learns(&self, run: &Run) -> Result<(), StoreError> {
        sqlx::query!("UPDATE run SET purpose = 'corpus' WHERE id = $1", run.id).execute(&self.pool).await?;
        Ok(())
    }
}
