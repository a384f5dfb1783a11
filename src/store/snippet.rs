//! Snippets: expressions that fill placeholders, by dialect.

use super::{Store, StoreError};

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

    /// The snippets of a dialect, in the order in which they came.
    pub async fn snippet_list(&self, dialect: &str) -> Result<Vec<String>, StoreError> {
        let snippets = sqlx::query_scalar!("SELECT sql FROM snippet WHERE dialect = $1 ORDER BY id", dialect);
        Ok(snippets.fetch_all(&self.pool).await?)
    }
}
