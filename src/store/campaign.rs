//! Campaigns: what was asked for, how far each is, and what it came to.

use super::audit::Change;
use super::event::emit;
use super::{Store, StoreError, storable, text};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Seconds after which a campaign that tells nothing is one that nobody runs; one that runs tells something every second.
const SILENT_SECONDS_MAX: f64 = 300.0;

/// A campaign of `caqtus hunt`.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignRow {
    /// Of the target, its version, the seed and the classes.
    pub key: String,
    /// The target, as the user named it.
    pub dbms: String,
    /// Its version.
    pub version: String,
    /// The seed.
    pub seed: u64,
}

/// A campaign in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CampaignLine {
    /// Its number.
    pub id: i64,
    /// The target.
    pub dbms: String,
    /// Its version; empty until it is known.
    pub version: String,
    /// The seed, a number of up to 64 bits.
    pub seed: String,
    /// `running`, `stopping`, `stopped`, `finished` or `failed`.
    pub state: String,
    /// Who started it; null for a campaign of `caqtus hunt`.
    pub asked_by: Option<String>,
    /// Seconds that it ran.
    pub seconds: f64,
    /// Findings of it in the store.
    pub findings: i64,
    /// Why it failed.
    pub error: Option<String>,
    /// Counts its changes, not its progress.
    pub revision: i64,
    /// When it began (RFC 3339, UTC).
    pub started: String,
    /// When it was heard of last.
    pub updated: String,
    /// When it ended.
    pub ended: Option<String>,
}

/// A campaign with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CampaignDetail {
    /// Its line in the list.
    #[serde(flatten)]
    pub line: CampaignLine,
    /// What was asked for; null for a campaign of `caqtus hunt`.
    #[schema(value_type = Option<Object>)]
    pub spec: Option<Value>,
    /// The sums, as `caqtus hunt --json` prints them; while it runs, those that are known.
    #[schema(value_type = Object)]
    pub summary: Value,
}

/// How far a campaign was at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, ToSchema)]
pub struct SampleRow {
    /// Seconds of hunting, over all its parts.
    pub seconds: f64,
    /// Cases that ended.
    pub cases: i64,
    /// Statements that ran.
    pub statements: i64,
    /// Cases that passed.
    pub pass: i64,
    /// Void cases.
    pub skipped: i64,
    /// Void cases that are worth a look.
    pub warning: i64,
    /// Cases that failed.
    pub fail: i64,
    /// Findings that were kept.
    pub findings: i64,
    /// Plans that were met and differ, of the few queries whose plan was asked for.
    pub plans: i64,
}

/// A campaign that somebody starts.
#[derive(Debug, Clone)]
pub struct NewCampaign<'a> {
    /// Of it alone, in all stores.
    pub key: &'a str,
    /// The target.
    pub dbms: &'a str,
    /// The seed.
    pub seed: u64,
    /// What is asked for.
    pub spec: &'a Value,
    /// The service that runs it.
    pub service: &'a str,
    /// How many campaigns the service runs at once, at most.
    pub at_once_max: usize,
    /// Who asks.
    pub asked_by: &'a str,
    /// Of the request, with its client's name before it.
    pub idempotency_key: &'a str,
}

/// What became of a request to start something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It starts, under this number.
    New(i64),
    /// The same was asked for before, under this number.
    Before(i64),
    /// The key of the request belongs to another one.
    Other,
    /// As many as may be are at it already.
    Full,
}

/// A campaign that a service was running.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCampaign {
    /// Its number.
    pub id: i64,
    /// Of it alone, in all stores.
    pub key: String,
    /// What was asked for.
    pub spec: Value,
    /// Its seed.
    pub seed: u64,
    /// Whether somebody asked to stop it.
    pub stopping: bool,
    /// Seconds that it ran.
    pub seconds: f64,
}

impl Store {
    /// Begins a campaign of `caqtus hunt`, or goes on with one that is there already. Its number, and the seconds that it ran
    /// before.
    pub async fn campaign_begin(&self, campaign: &CampaignRow) -> Result<(i64, f64), StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!(
            "INSERT INTO campaign (key, dbms, version, seed, summary, state) VALUES ($1, $2, $3, $4, '{}', 'running')
             ON CONFLICT (key) DO UPDATE SET state = 'running', error = NULL, updated = now(), ended = NULL
             RETURNING id, seconds",
            campaign.key,
            campaign.dbms,
            text(&campaign.version),
            campaign.seed.to_string()
        )
        .fetch_one(&mut *tx)
        .await?;
        emit(&mut tx, "campaign", Some(row.id), json!({ "id": row.id, "state": "running", "dbms": campaign.dbms }))
            .await?;
        tx.commit().await?;
        Ok((row.id, row.seconds))
    }

    /// Notes a campaign that a service is about to run.
    pub async fn campaign_start(&self, new: &NewCampaign<'_>) -> Result<Started, StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!("SELECT pg_advisory_xact_lock(hashtext('caqtus campaign'))").fetch_one(&mut *tx).await?;
        let same = sqlx::query!(
            r#"SELECT id, (spec = $2) AS "same!" FROM campaign WHERE idempotency_key = $1"#,
            new.idempotency_key,
            new.spec
        );
        if let Some(found) = same.fetch_optional(&mut *tx).await? {
            return Ok(if found.same { Started::Before(found.id) } else { Started::Other });
        }
        let open = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM campaign WHERE service = $1 AND state IN ('running', 'stopping')"#,
            new.service
        );
        if usize::try_from(open.fetch_one(&mut *tx).await?).is_ok_and(|open| open >= new.at_once_max) {
            return Ok(Started::Full);
        }
        let id = sqlx::query_scalar!(
            "INSERT INTO campaign (key, dbms, version, seed, summary, state, spec, service, asked_by, idempotency_key)
             VALUES ($1, $2, '', $3, '{}', 'running', $4, $5, $6, $7) RETURNING id",
            new.key,
            new.dbms,
            new.seed.to_string(),
            new.spec,
            new.service,
            new.asked_by,
            new.idempotency_key
        )
        .fetch_one(&mut *tx)
        .await?;
        let (who, after) = (new.asked_by, Some(new.spec.clone()));
        Change { who, action: "start", subject: format!("campaign {id}"), before: None, after }.note(&mut tx).await?;
        emit(&mut tx, "campaign", Some(id), json!({ "id": id, "state": "running", "dbms": new.dbms })).await?;
        tx.commit().await?;
        Ok(Started::New(id))
    }

    /// Notes the version of the target that a campaign runs on.
    pub async fn campaign_ready(&self, id: i64, version: &str) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!("UPDATE campaign SET version = $2, updated = now() WHERE id = $1", id, text(version))
            .execute(&mut *tx)
            .await?;
        emit(&mut tx, "campaign", Some(id), json!({ "id": id, "state": "running", "version": version })).await?;
        Ok(tx.commit().await?)
    }

    /// Notes how far a campaign is; `keep` is whether a chart shall show it. Its state.
    pub async fn campaign_progress(
        &self,
        id: i64,
        sample: &SampleRow,
        summary: &Value,
        keep: bool,
    ) -> Result<String, StoreError> {
        let mut tx = self.pool.begin().await?;
        let state = sqlx::query_scalar!(
            "UPDATE campaign SET seconds = $2, summary = $3, updated = now() WHERE id = $1 RETURNING state",
            id,
            sample.seconds,
            storable(summary.clone())
        )
        .fetch_one(&mut *tx)
        .await?;
        let SampleRow { seconds, cases, statements, pass, skipped, warning, fail, findings, plans } = *sample;
        if keep {
            sqlx::query!(
                "INSERT INTO sample (campaign_id, seconds, cases, statements, pass, skipped, warning, fail, findings, plans)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (campaign_id, seconds) DO NOTHING",
                id,
                seconds,
                cases,
                statements,
                pass,
                skipped,
                warning,
                fail,
                findings,
                plans
            )
            .execute(&mut *tx)
            .await?;
            emit(&mut tx, "progress", Some(id), serde_json::to_value(sample).unwrap_or_default()).await?;
        }
        tx.commit().await?;
        Ok(state)
    }

    /// Notes that a campaign ended, how, and after how many seconds if they are known.
    pub async fn campaign_end(
        &self,
        id: i64,
        state: &str,
        error: Option<&str>,
        summary: Option<&Value>,
        seconds: Option<f64>,
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!(
            "UPDATE campaign SET state = $2, error = $3, summary = COALESCE($4, summary), seconds = COALESCE($5, seconds),
                 updated = now(), ended = now()
             WHERE id = $1",
            id,
            state,
            error.map(text),
            summary.cloned().map(storable),
            seconds
        )
        .execute(&mut *tx)
        .await?;
        emit(&mut tx, "campaign", Some(id), json!({ "id": id, "state": state, "error": error })).await?;
        Ok(tx.commit().await?)
    }

    /// Notes that somebody wants a campaign to stop; its state since, if there is such a campaign. One whose service has not
    /// been heard of for long is stopped already.
    pub async fn campaign_ask_stop(&self, id: i64, who: &str) -> Result<Option<String>, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!(
            r#"SELECT state, (updated < now() - make_interval(secs => $2)) AS "left!"
               FROM campaign WHERE id = $1 FOR UPDATE"#,
            id,
            SILENT_SECONDS_MAX
        );
        let Some(row) = row.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let is_open = ["running", "stopping"].contains(&row.state.as_str());
        let (now, error) = match (is_open, row.left) {
            (true, true) => ("stopped", Some("the service that ran it was not heard of any more")),
            (true, false) if row.state == "running" => ("stopping", None),
            _ => return Ok(Some(row.state)),
        };
        sqlx::query!(
            "UPDATE campaign SET state = $2, error = $3, ended = CASE WHEN $2 = 'stopped' THEN now() END WHERE id = $1",
            id,
            now,
            error
        )
        .execute(&mut *tx)
        .await?;
        let before = Some(json!({ "state": row.state }));
        Change { who, action: "stop", subject: format!("campaign {id}"), before, after: None }.note(&mut tx).await?;
        emit(&mut tx, "campaign", Some(id), json!({ "id": id, "state": now })).await?;
        tx.commit().await?;
        Ok(Some(now.to_owned()))
    }

    /// The campaigns that a service was running when it ended.
    pub async fn campaign_open(&self, service: &str) -> Result<Vec<OpenCampaign>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT id, key, spec AS "spec!", seed, (state = 'stopping') AS "stopping!", seconds FROM campaign
               WHERE service = $1 AND state IN ('running', 'stopping') AND spec IS NOT NULL ORDER BY id"#,
            service
        )
        .fetch_all(&self.pool)
        .await?;
        let open = rows.into_iter().map(|row| OpenCampaign {
            id: row.id,
            key: row.key,
            spec: row.spec,
            seed: row.seed.parse().unwrap_or_default(),
            stopping: row.stopping,
            seconds: row.seconds,
        });
        Ok(open.collect())
    }

    /// Campaigns, the last ones first: those with smaller numbers than `before`.
    pub async fn campaign_page(
        &self,
        state: Option<&str>,
        dbms: Option<&str>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<CampaignLine>, StoreError> {
        let rows = sqlx::query_as!(
            CampaignLine,
            r#"SELECT id, dbms, version, seed, state, asked_by, seconds, findings, error, revision,
                   utc(started) AS "started!", utc(updated) AS "updated!", utc(ended) AS ended
               FROM campaign
               WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR dbms = $2)
                   AND ($3::bigint IS NULL OR id < $3)
               ORDER BY id DESC LIMIT $4"#,
            state,
            dbms,
            before,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A campaign.
    pub async fn campaign_fetch(&self, id: i64) -> Result<Option<CampaignDetail>, StoreError> {
        let mut tx = self.snapshot().await?;
        let line = sqlx::query_as!(
            CampaignLine,
            r#"SELECT id, dbms, version, seed, state, asked_by, seconds, findings, error, revision,
                   utc(started) AS "started!", utc(updated) AS "updated!", utc(ended) AS ended
               FROM campaign WHERE id = $1"#,
            id
        );
        let Some(line) = line.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let rest = sqlx::query!("SELECT spec, summary FROM campaign WHERE id = $1", id).fetch_one(&mut *tx).await?;
        Ok(Some(CampaignDetail { line, spec: rest.spec, summary: rest.summary }))
    }

    /// How far a campaign was, in order, after a number of seconds.
    pub async fn sample_page(&self, id: i64, after: Option<f64>, limit: i64) -> Result<Vec<SampleRow>, StoreError> {
        let rows = sqlx::query_as!(
            SampleRow,
            "SELECT seconds, cases, statements, pass, skipped, warning, fail, findings, plans FROM sample
             WHERE campaign_id = $1 AND ($2::float8 IS NULL OR seconds > $2) ORDER BY seconds LIMIT $3",
            id,
            after,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// How many campaigns, findings and bugs there are.
    pub async fn campaign_totals(&self) -> Result<(i64, i64, i64), StoreError> {
        let row = sqlx::query!(
            r#"SELECT (SELECT count(*) FROM campaign) AS "campaigns!", (SELECT count(*) FROM finding) AS "findings!",
                   (SELECT count(*) FROM bug) AS "bugs!""#
        )
        .fetch_one(&self.pool)
        .await?;
        Ok((row.campaigns, row.findings, row.bugs))
    }
}
