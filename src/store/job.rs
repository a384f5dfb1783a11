//! What a service does for somebody beside hunting: proofs, bisections, installations, looks at what hunts reached.

use super::audit::Change;
use super::event::emit;
use super::{Started, Store, StoreError};
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::PgConnection;
use utoipa::ToSchema;

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct JobRow {
    /// Its number.
    pub id: i64,
    /// `prove`, `bisect`, `install` or `cover`.
    pub kind: String,
    /// What it is about: a class, a bug, an engine's version, a target.
    pub subject: String,
    /// `waiting` (nobody can do it yet), `running`, `done` or `failed`.
    pub state: String,
    /// Who asked for it.
    pub asked_by: String,
    /// What it said last.
    pub message: String,
    /// What it came to.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    /// When it was asked for (RFC 3339, UTC).
    pub created: String,
    /// When it ended.
    pub ended: Option<String>,
}

/// A job that is asked for.
#[derive(Debug, Clone)]
pub struct NewJob<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// What it is about.
    pub subject: &'a str,
    /// The service that does it.
    pub service: &'a str,
    /// Who asks.
    pub asked_by: &'a str,
    /// Of the request, with its client's name before it; none for a job that is part of something else.
    pub idempotency_key: Option<&'a str>,
}

/// Keeps two of one subject from being put at once, until the transaction ends.
async fn lock(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtext('caqtus job'))").fetch_one(connection).await?;
    Ok(())
}

/// See [`Store::job_put`]; a part of a transaction.
pub(super) async fn put(connection: &mut PgConnection, job: &NewJob<'_>) -> Result<Started, StoreError> {
    lock(connection).await?;
    let same = sqlx::query!(
        r#"SELECT id, (kind = $2 AND subject = $3) AS "same!" FROM job
           WHERE idempotency_key = $1 OR (service = $4 AND kind = $2 AND subject = $3 AND state = 'waiting')
           ORDER BY idempotency_key = $1 DESC NULLS LAST LIMIT 1"#,
        job.idempotency_key,
        job.kind,
        job.subject,
        job.service
    );
    if let Some(found) = same.fetch_optional(&mut *connection).await? {
        return Ok(if found.same { Started::Before(found.id) } else { Started::Other });
    }
    let id = sqlx::query_scalar!(
        "INSERT INTO job (kind, subject, state, service, asked_by, idempotency_key)
         VALUES ($1, $2, 'waiting', $3, $4, $5) RETURNING id",
        job.kind,
        job.subject,
        job.service,
        job.asked_by,
        job.idempotency_key
    )
    .fetch_one(&mut *connection)
    .await?;
    let change = Change {
        who: job.asked_by,
        action: job.kind,
        subject: job.subject.to_owned(),
        before: None,
        after: Some(json!({ "job": id })),
    };
    change.note(connection).await?;
    let data = json!({ "id": id, "kind": job.kind, "subject": job.subject, "state": "waiting" });
    emit(connection, "job", None, data).await?;
    Ok(Started::New(id))
}

impl Store {
    /// Notes a job, which waits. One that is asked of the same service again while it waits is the same; one that runs may
    /// have read what has changed since.
    pub async fn job_put(&self, job: &NewJob<'_>) -> Result<Started, StoreError> {
        let mut tx = self.pool.begin().await?;
        let started = put(&mut tx, job).await?;
        tx.commit().await?;
        Ok(started)
    }

    /// Begins a job of a service that has not ended: from now on it runs, and what is asked for is another. `None` if there
    /// is nothing to be done, by this service.
    pub async fn job_take(&self, id: i64, service: &str) -> Result<Option<JobRow>, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query_as!(
            JobRow,
            r#"UPDATE job SET state = 'running' WHERE id = $1 AND service = $2 AND state IN ('waiting', 'running')
               RETURNING id, kind, subject, state, asked_by, message, result, utc(created) AS "created!",
                   utc(ended) AS ended"#,
            id,
            service
        );
        let row = row.fetch_optional(&mut *tx).await?;
        tx.commit().await?;
        Ok(row)
    }

    /// Notes what a job came to, or that it runs or waits, and what it says. One that would wait while another waits for the
    /// same has failed.
    pub async fn job_note(
        &self,
        id: i64,
        state: &str,
        message: &str,
        result: Option<&Value>,
    ) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        let mut state = state;
        if state == "waiting" {
            lock(&mut tx).await?;
            let other = sqlx::query_scalar!(
                r#"SELECT EXISTS (SELECT FROM job JOIN job AS other USING (service, kind, subject)
                       WHERE job.id = $1 AND other.id <> $1 AND other.state = 'waiting') AS "exists!""#,
                id
            );
            // Of two that would wait for the same, one is enough.
            if other.fetch_one(&mut *tx).await? {
                state = "failed";
            }
        }
        let row = sqlx::query!(
            "UPDATE job SET state = $2, message = left($3, 2000), result = COALESCE($4, result),
                 ended = CASE WHEN $2 IN ('done', 'failed') THEN now() END
             WHERE id = $1 RETURNING kind, subject",
            id,
            state,
            super::text(message),
            result.cloned().map(super::storable)
        );
        let row = row.fetch_one(&mut *tx).await?;
        let data = json!({ "id": id, "kind": row.kind, "subject": row.subject, "state": state, "message": message });
        emit(&mut tx, "job", None, data).await?;
        Ok(tx.commit().await?)
    }

    /// Jobs, the last ones first: those with smaller numbers than `before`.
    pub async fn job_page(
        &self,
        kind: Option<&str>,
        state: Option<&str>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<JobRow>, StoreError> {
        let rows = sqlx::query_as!(
            JobRow,
            r#"SELECT id, kind, subject, state, asked_by, message, result, utc(created) AS "created!", utc(ended) AS ended
               FROM job WHERE ($1::text IS NULL OR kind = $1) AND ($2::text IS NULL OR state = $2)
                   AND ($3::bigint IS NULL OR id < $3) ORDER BY id DESC LIMIT $4"#,
            kind,
            state,
            before,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// The last job of a kind about something.
    pub async fn job_last(&self, kind: &str, subject: &str) -> Result<Option<JobRow>, StoreError> {
        let row = sqlx::query_as!(
            JobRow,
            r#"SELECT id, kind, subject, state, asked_by, message, result, utc(created) AS "created!", utc(ended) AS ended
               FROM job WHERE kind = $1 AND subject = $2 ORDER BY id DESC LIMIT 1"#,
            kind,
            subject
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }

    /// A job.
    pub async fn job_fetch(&self, id: i64) -> Result<Option<JobRow>, StoreError> {
        let row = sqlx::query_as!(
            JobRow,
            r#"SELECT id, kind, subject, state, asked_by, message, result, utc(created) AS "created!", utc(ended) AS ended
               FROM job WHERE id = $1"#,
            id
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }

    /// The jobs of a service that have not ended, oldest first.
    pub async fn job_open(&self, service: &str) -> Result<Vec<JobRow>, StoreError> {
        let rows = sqlx::query_as!(
            JobRow,
            r#"SELECT id, kind, subject, state, asked_by, message, result, utc(created) AS "created!", utc(ended) AS ended
               FROM job WHERE service = $1 AND state IN ('waiting', 'running') ORDER BY id"#,
            service
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }
}
