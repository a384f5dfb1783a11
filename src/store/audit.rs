//! Who changed what.

use super::{Store, StoreError, storable};
use serde::Serialize;
use serde_json::Value;
use sqlx::PgConnection;
use utoipa::ToSchema;

/// A change that somebody made.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AuditRow {
    /// In the order of the changes.
    pub id: i64,
    /// When (RFC 3339, UTC).
    pub at: String,
    /// The name of a token, or `loopback`.
    pub who: String,
    /// What was done.
    pub action: String,
    /// To what: a kind and a name, as in `class tlp-where`.
    pub subject: String,
    /// What was there before.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// What is there since.
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
}

/// A change to be noted, in the transaction that makes it.
pub(super) struct Change<'a> {
    pub(super) who: &'a str,
    pub(super) action: &'a str,
    pub(super) subject: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

impl Change<'_> {
    pub(super) async fn note(self, connection: &mut PgConnection) -> Result<(), StoreError> {
        sqlx::query!(
            "INSERT INTO audit (who, action, subject, before, after) VALUES ($1, $2, $3, $4, $5)",
            self.who,
            self.action,
            self.subject,
            self.before.map(storable),
            self.after.map(storable)
        )
        .execute(connection)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Changes, the last ones first: those with smaller numbers than `before`, of one subject if it is named.
    pub async fn audit_page(
        &self,
        subject: Option<&str>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let rows = sqlx::query_as!(
            AuditRow,
            r#"SELECT id, utc(at) AS "at!", who, action, subject, before, after FROM audit
               WHERE ($1::text IS NULL OR subject = $1) AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3"#,
            subject,
            before,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }
}
