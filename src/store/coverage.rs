//! What hunts reached of each target's engine: the last look at each.

use super::{Store, StoreError, storable, text};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What hunts reached of an engine, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CoverageLine {
    /// The target.
    pub dbms: String,
    /// Its dialect.
    pub dialect: String,
    /// Its version.
    pub version: String,
    /// Of `functions`, `scalar_functions` (those among them that depend on nothing but their arguments), `operators`, `types`
    /// and `clauses` each how many are `known`, were `used` in a case that passed, and are `in_corpus`: a snippet has them.
    #[schema(value_type = Object)]
    pub counts: Value,
    /// When it was looked at (RFC 3339, UTC).
    pub looked: String,
}

/// The same with names.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageRow {
    /// When it was looked at (RFC 3339, UTC).
    pub looked: String,
    /// What there is.
    pub coverage: Value,
}

impl Store {
    /// Notes what hunts reached of a target's engine, in the place of what was noted before.
    pub async fn coverage_put(
        &self,
        dbms: &str,
        dialect: &str,
        version: &str,
        counts: &Value,
        coverage: &Value,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "INSERT INTO coverage (dbms, dialect, version, counts, coverage) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (dbms) DO UPDATE SET dialect = $2, version = $3, counts = $4, coverage = $5, looked = now()",
            dbms,
            dialect,
            text(version),
            counts,
            storable(coverage.clone())
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Targets that were looked at, by name, after one.
    pub async fn coverage_page(&self, after: Option<&str>, limit: i64) -> Result<Vec<CoverageLine>, StoreError> {
        let rows = sqlx::query_as!(
            CoverageLine,
            r#"SELECT dbms, dialect, version, counts, utc(looked) AS "looked!" FROM coverage
               WHERE $1::text IS NULL OR dbms > $1 ORDER BY dbms LIMIT $2"#,
            after,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// What was seen of a target.
    pub async fn coverage_fetch(&self, dbms: &str) -> Result<Option<CoverageRow>, StoreError> {
        let row = sqlx::query_as!(
            CoverageRow,
            r#"SELECT utc(looked) AS "looked!", coverage FROM coverage WHERE dbms = $1"#,
            dbms
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }
}
