//! Snippets: expressions that fill placeholders, by dialect.

use super::audit::Change;
use super::{Store, StoreError, Written};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// A snippet.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SnippetRow {
    /// Its number.
    pub id: i64,
    /// The dialect.
    pub dialect: String,
    /// The expression.
    pub sql: String,
    /// Where it is from.
    pub origin: String,
    /// Why no campaign uses it; null for one that may be used.
    pub disabled: Option<String>,
    /// Counts its changes.
    pub revision: i64,
    /// When it came (RFC 3339, UTC).
    pub created: String,
}

impl Store {
    /// Adds snippets of a dialect; how many of them were new. What they claim is validated on the engine that uses them.
    pub async fn snippet_put(&self, dialect: &str, origin: &str, snippets: &[String]) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "INSERT INTO snippet (dialect, origin, sql) SELECT $1, $2, sql FROM unnest($3::text[]) AS new (sql)
             ON CONFLICT (dialect, sql) DO NOTHING",
            dialect,
            origin,
            snippets
        )
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected())
    }

    /// The snippets of a dialect that may be used, in the order in which they came.
    pub async fn snippet_list(&self, dialect: &str) -> Result<Vec<String>, StoreError> {
        let snippets =
            sqlx::query_scalar!("SELECT sql FROM snippet WHERE dialect = $1 AND disabled IS NULL ORDER BY id", dialect);
        Ok(snippets.fetch_all(&self.pool).await?)
    }

    /// Snippets in the order in which they came, after one.
    pub async fn snippet_page(
        &self,
        dialect: Option<&str>,
        words: Option<&str>,
        disabled: Option<bool>,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<SnippetRow>, StoreError> {
        let rows = sqlx::query_as!(
            SnippetRow,
            r#"SELECT id, dialect, sql, origin, disabled, revision, utc(created) AS "created!" FROM snippet
               WHERE ($1::text IS NULL OR dialect = $1)
                   AND ($2::text IS NULL OR words(sql) @@ plainto_tsquery('simple', plain_words($2)))
                   AND ($3::bool IS NULL OR (disabled IS NOT NULL) = $3) AND ($4::bigint IS NULL OR id > $4)
               ORDER BY id LIMIT $5"#,
            dialect,
            words,
            disabled,
            after,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A snippet.
    pub async fn snippet_fetch(&self, id: i64) -> Result<Option<SnippetRow>, StoreError> {
        let row = sqlx::query_as!(
            SnippetRow,
            r#"SELECT id, dialect, sql, origin, disabled, revision, utc(created) AS "created!" FROM snippet WHERE id = $1"#,
            id
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }

    /// Says whether campaigns may use a snippet, as it was at a revision: not, for this reason, or again.
    pub async fn snippet_disable(
        &self,
        id: i64,
        revision: i64,
        why: Option<&str>,
        who: &str,
    ) -> Result<Written, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!("SELECT revision, disabled FROM snippet WHERE id = $1 FOR UPDATE", id);
        let Some(row) = row.fetch_optional(&mut *tx).await? else { return Ok(Written::Missing) };
        if row.revision != revision {
            return Ok(Written::Stale(row.revision));
        }
        let now = sqlx::query_scalar!("UPDATE snippet SET disabled = $2 WHERE id = $1 RETURNING revision", id, why);
        let now = now.fetch_one(&mut *tx).await?;
        let change = Change {
            who,
            action: if why.is_some() { "disable" } else { "enable" },
            subject: format!("snippet {id}"),
            before: Some(json!({ "disabled": row.disabled })),
            after: Some(json!({ "disabled": why })),
        };
        change.note(&mut tx).await?;
        tx.commit().await?;
        Ok(Written::Done(now))
    }
}
