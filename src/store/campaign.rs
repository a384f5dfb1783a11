//! Campaigns with their findings, and the bugs that findings are grouped into.

use super::{Store, StoreError, json};
use crate::triage::finding::Finding;
use serde_json::Value;

/// A campaign, as it is stored.
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
    /// What `caqtus hunt --json` prints of it.
    pub summary: Value,
}

impl Store {
    /// Stores a campaign and its findings; what is there already is brought up to date.
    pub async fn campaign_put(&self, campaign: &CampaignRow, findings: &[Finding]) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        let id = sqlx::query_scalar!(
            "INSERT INTO campaign (key, dbms, version, seed, summary) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (key) DO UPDATE SET summary = $5, updated = now() RETURNING id",
            campaign.key,
            campaign.dbms,
            campaign.version,
            campaign.seed.to_string(),
            campaign.summary
        )
        .fetch_one(&mut *tx)
        .await?;
        for finding in findings {
            let kind = finding.kind.to_string();
            let bug = sqlx::query_scalar!(
                "INSERT INTO bug (fingerprint, kind, class, dbms) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (fingerprint) DO UPDATE SET kind = bug.kind RETURNING id",
                format!("{}: {}", campaign.dbms, finding.fingerprint()),
                kind,
                finding.class,
                campaign.dbms
            )
            .fetch_one(&mut *tx)
            .await?;
            sqlx::query!(
                "INSERT INTO finding (id, campaign_id, bug_id, kind, class, finding) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (id) DO NOTHING",
                finding.id,
                id,
                bug,
                kind,
                finding.class,
                json("a finding", finding)?
            )
            .execute(&mut *tx)
            .await?;
        }
        Ok(tx.commit().await?)
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
