//! What became of the cases of each class, over all campaigns.

use super::{Store, StoreError, text};
use serde::Serialize;
use utoipa::ToSchema;

/// Cases of a class that a campaign ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassCases {
    /// The class.
    pub class: String,
    /// Cases that passed.
    pub pass: i64,
    /// Void cases.
    pub void: i64,
    /// Cases that failed.
    pub fail: i64,
}

/// The cases of a class on a version of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClassRun {
    /// Its number.
    pub id: i64,
    /// The target.
    pub dbms: String,
    /// Its version.
    pub version: String,
    /// Cases that passed.
    pub pass: i64,
    /// Void cases.
    pub void: i64,
    /// Cases that failed.
    pub fail: i64,
}

impl Store {
    /// Adds cases that a campaign ran.
    pub async fn class_runs_add(&self, dbms: &str, version: &str, counts: &[ClassCases]) -> Result<(), StoreError> {
        let of = |number: fn(&ClassCases) -> i64| counts.iter().map(number).collect::<Vec<i64>>();
        let names: Vec<String> = counts.iter().map(|cases| text(&cases.class)).collect();
        // In the order of their names, so that two campaigns do not wait for each other.
        sqlx::query!(
            "INSERT INTO class_run AS known (class, dbms, version, pass, void, fail)
             SELECT class, $1, $2, pass, void, fail
             FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS new (class, pass, void, fail) ORDER BY class
             ON CONFLICT (class, dbms, version) DO UPDATE
             SET pass = known.pass + excluded.pass, void = known.void + excluded.void, fail = known.fail + excluded.fail",
            dbms,
            text(version),
            &names,
            &of(|cases| cases.pass),
            &of(|cases| cases.void),
            &of(|cases| cases.fail)
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// What became of the cases of a class, the first targets that it ran on first, after one.
    pub async fn class_runs(&self, class: &str, after: Option<i64>, limit: i64) -> Result<Vec<ClassRun>, StoreError> {
        let rows = sqlx::query_as!(
            ClassRun,
            "SELECT id, dbms, version, pass, void, fail FROM class_run
             WHERE class = $1 AND ($2::bigint IS NULL OR id > $2) ORDER BY id LIMIT $3",
            class,
            after,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }
}
