//! What happened, in the order in which it became visible: whoever has seen an event has seen all with smaller numbers.

use super::{Store, StoreError, storable};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgListener;
use utoipa::ToSchema;

/// The channel on which the store tells that there are new events.
const CHANNEL: &str = "caqtus_event";

/// Days after which an event is forgotten.
const DAYS_MAX: i32 = 7;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct EventRow {
    /// Larger than those of all events before it.
    pub id: i64,
    /// What kind of event: `class`, `campaign`, `progress`, `finding`, `bug`, `job`.
    pub kind: String,
    /// The campaign that it is of.
    pub campaign: Option<i64>,
    /// What there is to say.
    #[schema(value_type = Object)]
    pub data: Value,
    /// When (RFC 3339, UTC).
    pub created: String,
}

/// Adds an event, as the last thing that a transaction does: others that add one wait for its end.
pub(super) async fn emit(
    connection: &mut PgConnection,
    kind: &str,
    campaign: Option<i64>,
    data: Value,
) -> Result<(), StoreError> {
    // Numbers are given before a transaction ends, so without the lock a later number could be seen before an earlier one.
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtext('caqtus event'))").fetch_one(&mut *connection).await?;
    sqlx::query!("INSERT INTO event (kind, campaign_id, data) VALUES ($1, $2, $3)", kind, campaign, storable(data))
        .execute(&mut *connection)
        .await?;
    sqlx::query!("SELECT pg_notify($1, '')", CHANNEL).fetch_one(connection).await?;
    Ok(())
}

impl Store {
    /// Events after one, in order; of one campaign if it is named.
    pub async fn event_page(&self, campaign: Option<i64>, after: i64, limit: i64) -> Result<Vec<EventRow>, StoreError> {
        let rows = sqlx::query_as!(
            EventRow,
            r#"SELECT id, kind, campaign_id AS campaign, data, utc(created) AS "created!" FROM event
               WHERE id > $1 AND ($2::bigint IS NULL OR campaign_id = $2) ORDER BY id LIMIT $3"#,
            after,
            campaign,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// The numbers of the oldest event that is kept and of the newest; 0 if there is none.
    pub async fn event_span(&self) -> Result<(i64, i64), StoreError> {
        let row =
            sqlx::query!(r#"SELECT COALESCE(min(id), 0) AS "oldest!", COALESCE(max(id), 0) AS "newest!" FROM event"#)
                .fetch_one(&self.pool)
                .await?;
        Ok((row.oldest, row.newest))
    }

    /// Forgets old events; how many. The newest one stays, for its number.
    pub async fn event_forget(&self) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "DELETE FROM event WHERE created < now() - make_interval(days => $1) AND id < (SELECT max(id) FROM event)",
            DAYS_MAX
        );
        Ok(done.execute(&self.pool).await?.rows_affected())
    }

    /// Hears of new events, on a connection of its own.
    pub async fn event_listen(&self) -> Result<EventListener, StoreError> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(EventListener(listener))
    }
}

/// Hears of new events.
pub struct EventListener(PgListener);

impl EventListener {
    /// Waits until there may be new events.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        self.0.recv().await?;
        Ok(())
    }
}
