//! Which findings are of which bug: those with one fingerprint on one target, unless somebody decided otherwise. What was
//! decided holds for what is found later.
//!
//! A bug that is merged into another keeps its row, which says where its findings go. A finding that is split off has a row
//! for its case. Where findings go is changed by one at a time, while nobody stores any ([`LOCK`]).

use super::audit::Change;
use super::event::emit;
use super::{Store, StoreError, json as to_json, read, text};
use crate::triage::cause::Fixed;
use crate::triage::finding::Finding;
use crate::triage::fingerprint::Traits;
use crate::triage::known::KnownBug;
use serde_json::json;
use sqlx::PgConnection;

/// Names the lock that is shared by those who store findings, and held alone by who changes where they go.
const LOCK: &str = "caqtus bug groups";

/// Who brings bugs together when something is found, in the trail.
const HUNT: &str = "hunt";

/// What became of merging a bug into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// It is a part of the other: the revision of that since.
    Done(i64),
    /// The bug is another one by now.
    Stale(i64),
    /// There is no such bug.
    Missing,
    /// There is no bug to merge it into.
    NoTarget,
    /// One of them is a part of another bug: which, and of which.
    IsPart(i64, i64),
}

/// What became of making a finding a bug of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// It is: the bug and its revision.
    Done(i64, i64),
    /// The bug that had it is another one by now.
    Stale(i64),
    /// There is no such bug.
    Missing,
    /// The finding is not of the bug.
    NotOfBug,
    /// The bug has no other case.
    Alone,
}

/// A bug that is ignored, with what shows whether it is there.
#[derive(Debug, Clone, PartialEq)]
pub struct IgnoredBug {
    /// Its number.
    pub id: i64,
    /// Why it is ignored.
    pub why: String,
    /// Its smallest finding.
    pub finding: Finding,
    /// The versions of its findings.
    pub versions: Vec<String>,
}

/// A bug among those that may be alike.
struct Alike {
    id: i64,
    revision: i64,
    /// Whether nobody decided about it.
    is_new: bool,
    traits: Traits,
}

/// The fingerprint of findings on a target, as the row of their bug has it.
fn key(finding: &Finding) -> String {
    text(&format!("{}: {}", finding.dbms, finding.fingerprint()))
}

async fn lock(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtext($1))", LOCK).fetch_one(connection).await?;
    Ok(())
}

/// Counts the findings of bugs anew after some were moved; they are at another revision.
async fn recount(connection: &mut PgConnection, ids: &[i64]) -> Result<(), StoreError> {
    let done = sqlx::query!(
        "UPDATE bug SET findings = of_bug.n, news = of_bug.news, created = COALESCE(of_bug.first, bug.created),
             last_found = COALESCE(of_bug.last, bug.last_found), revision = bug.revision + 1, changed = now()
         FROM (SELECT moved.id, count(finding.number) AS n, count(finding.number) FILTER (WHERE known IS NULL) AS news,
                   min(finding.created) AS first, max(finding.created) AS last
               FROM bug AS moved LEFT JOIN finding ON bug_id = moved.id WHERE moved.id = ANY($1) GROUP BY moved.id) AS of_bug
         WHERE bug.id = of_bug.id",
        ids
    );
    done.execute(connection).await?;
    Ok(())
}

impl Store {
    /// Stores a finding of a campaign, with the bug that it is likely of; whether it is new to the campaign. `known` is why
    /// it is no news. A bug that is new may turn out to be a part of another one.
    pub async fn finding_put(&self, campaign: i64, finding: &Finding, known: Option<&str>) -> Result<bool, StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!("SELECT pg_advisory_xact_lock_shared(hashtext($1))", LOCK).fetch_one(&mut *tx).await?;
        let kind = finding.kind.to_string();
        let own = sqlx::query_scalar!(
            r#"SELECT COALESCE(merged_into, id) AS "id!" FROM bug WHERE dbms = $1 AND split = $2"#,
            finding.dbms,
            finding.id
        );
        let bug = match own.fetch_optional(&mut *tx).await? {
            Some(own) => own,
            None => {
                sqlx::query_scalar!(
                    r#"INSERT INTO bug (fingerprint, kind, class, dbms) VALUES ($1, $2, $3, $4)
                       ON CONFLICT (fingerprint) WHERE split IS NULL DO UPDATE SET kind = bug.kind
                       RETURNING COALESCE(merged_into, id) AS "id!""#,
                    key(finding),
                    kind,
                    text(&finding.class),
                    finding.dbms
                )
                .fetch_one(&mut *tx)
                .await?
            }
        };
        let number = sqlx::query_scalar!(
            "INSERT INTO finding (id, campaign_id, bug_id, kind, oracle, class, size, version, known, finding)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (campaign_id, id) DO NOTHING RETURNING number",
            finding.id,
            campaign,
            bug,
            kind,
            finding.oracle,
            text(&finding.class),
            i32::try_from(finding.size()).unwrap_or(i32::MAX),
            text(&finding.version),
            known.map(text),
            to_json("a finding", finding)?
        )
        .fetch_optional(&mut *tx)
        .await?;
        if let Some(number) = number {
            let data = json!({
                "id": finding.id, "number": number, "bug": bug, "kind": kind, "class": finding.class, "dbms": finding.dbms
            });
            emit(&mut tx, "finding", Some(campaign), data).await?;
        }
        let is_first =
            sqlx::query_scalar!(r#"SELECT findings = 1 AS "first!" FROM bug WHERE id = $1"#, bug).fetch_one(&mut *tx);
        let is_first = is_first.await? && number.is_some();
        tx.commit().await?;
        // The finding is stored, whatever becomes of its bug.
        if is_first && let Err(error) = self.bug_bring_together(bug, HUNT).await {
            tracing::warn!(
                bug,
                error = format!("{:#}", anyhow::Error::from(error)),
                "a bug is not compared with others"
            );
        }
        Ok(number.is_some())
    }

    /// Merges a bug, as it was at a revision, into another: what was found of it and will be, and what was written about it,
    /// is the other's.
    pub async fn bug_merge(&self, id: i64, revision: i64, into: i64, who: &str) -> Result<Merge, StoreError> {
        let mut tx = self.pool.begin().await?;
        lock(&mut tx).await?;
        let rows = sqlx::query!(
            "SELECT id, revision, merged_into, fingerprint, findings FROM bug WHERE id = $1 OR id = $2 ORDER BY id FOR UPDATE",
            id,
            into
        );
        let rows = rows.fetch_all(&mut *tx).await?;
        let row = |id: i64| rows.iter().find(|row| row.id == id);
        let Some(part) = row(id) else { return Ok(Merge::Missing) };
        if part.revision != revision {
            return Ok(Merge::Stale(part.revision));
        }
        let Some(whole) = row(into) else { return Ok(Merge::NoTarget) };
        for one in [part, whole] {
            if let Some(of) = one.merged_into {
                return Ok(Merge::IsPart(one.id, of));
            }
        }
        sqlx::query!("UPDATE bug SET merged_into = $2 WHERE id = $1 OR merged_into = $1", id, into)
            .execute(&mut *tx)
            .await?;
        sqlx::query!("UPDATE finding SET bug_id = $2 WHERE bug_id = $1", id, into).execute(&mut *tx).await?;
        sqlx::query!("UPDATE bug_note SET bug_id = $2 WHERE bug_id = $1", id, into).execute(&mut *tx).await?;
        recount(&mut tx, &[id, into]).await?;
        let changes = [
            (id, json!({ "fingerprint": part.fingerprint, "findings": part.findings }), json!({ "into": into })),
            (into, json!({ "findings": whole.findings }), json!({ "merged": id })),
        ];
        for (bug, before, after) in changes {
            let subject = format!("bug {bug}");
            let (before, after) = (Some(before), Some(after));
            Change { who, action: "merge", subject, before, after }.note(&mut tx).await?;
        }
        let now = whole.revision + 1;
        emit(&mut tx, "bug", None, json!({ "id": id, "merged_into": into, "revision": revision + 1 })).await?;
        emit(&mut tx, "bug", None, json!({ "id": into, "merged": id, "revision": now })).await?;
        tx.commit().await?;
        Ok(Merge::Done(now))
    }

    /// Makes a finding of a bug, as that was at a revision, a bug of its own, with all findings of the same case.
    pub async fn bug_split(&self, id: i64, revision: i64, number: i64, who: &str) -> Result<Split, StoreError> {
        let mut tx = self.pool.begin().await?;
        lock(&mut tx).await?;
        let row = sqlx::query_scalar!("SELECT revision FROM bug WHERE id = $1 FOR UPDATE", id);
        match row.fetch_optional(&mut *tx).await? {
            None => return Ok(Split::Missing),
            Some(now) if now != revision => return Ok(Split::Stale(now)),
            Some(_) => {}
        }
        let row = sqlx::query_scalar!("SELECT finding FROM finding WHERE number = $1 AND bug_id = $2", number, id);
        let Some(found) = row.fetch_optional(&mut *tx).await? else { return Ok(Split::NotOfBug) };
        let finding: Finding = read(format!("the finding {number}"), found)?;
        let others = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM finding WHERE bug_id = $1
                   AND (id <> $2 OR finding ->> 'dbms' <> $3)) AS "others!""#,
            id,
            finding.id,
            finding.dbms
        );
        if !others.fetch_one(&mut *tx).await? {
            return Ok(Split::Alone);
        }
        // It may have been one before.
        let own = sqlx::query_scalar!(
            "INSERT INTO bug (fingerprint, kind, class, dbms, split) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (dbms, split) WHERE split IS NOT NULL DO UPDATE SET merged_into = NULL RETURNING id",
            key(&finding),
            finding.kind.to_string(),
            text(&finding.class),
            finding.dbms,
            finding.id
        );
        let own = own.fetch_one(&mut *tx).await?;
        sqlx::query!(
            "UPDATE finding SET bug_id = $2 WHERE bug_id = $1 AND id = $3 AND finding ->> 'dbms' = $4",
            id,
            own,
            finding.id,
            finding.dbms
        )
        .execute(&mut *tx)
        .await?;
        recount(&mut tx, &[id, own]).await?;
        let now = sqlx::query_scalar!("SELECT revision FROM bug WHERE id = $1", own).fetch_one(&mut *tx).await?;
        for (bug, after) in
            [(id, json!({ "finding": finding.id, "bug": own })), (own, json!({ "finding": finding.id, "from": id }))]
        {
            let (subject, before, after) = (format!("bug {bug}"), None, Some(after));
            Change { who, action: "split", subject, before, after }.note(&mut tx).await?;
        }
        emit(&mut tx, "bug", None, json!({ "id": id, "split": own, "revision": revision + 1 })).await?;
        emit(&mut tx, "bug", None, json!({ "id": own, "split_from": id, "revision": now })).await?;
        tx.commit().await?;
        Ok(Split::Done(own, now))
    }

    /// Bugs of a target that are ignored, as entries of a list of known bugs. What was split off a bug has no fingerprint of
    /// its own, so it is none of them.
    pub async fn bug_ignored(&self, dbms: &str, engine: &str) -> Result<Vec<KnownBug>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT part.fingerprint, whole.id, whole.why AS "why!", whole.url
               FROM bug AS part JOIN bug AS whole ON whole.id = COALESCE(part.merged_into, part.id)
               WHERE part.dbms = $1 AND part.split IS NULL AND whole.state = 'ignored' ORDER BY part.id"#,
            dbms
        );
        let prefix = format!("{dbms}: ");
        let rows = rows.fetch_all(&self.pool).await?.into_iter();
        let entry = |fingerprint: &str, reason, upstream| KnownBug {
            engine: Some(engine.to_owned()),
            fingerprint: Some(fingerprint.to_owned()),
            reason,
            upstream,
            ..KnownBug::default()
        };
        Ok(rows
            .filter_map(|row| {
                Some(entry(row.fingerprint.strip_prefix(&prefix)?, format!("bug {}: {}", row.id, row.why), row.url))
            })
            .collect())
    }

    /// The bugs of a target that are ignored and have findings, the last ones first.
    pub async fn bug_ignored_findings(&self, dbms: &str) -> Result<Vec<IgnoredBug>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT id, why,
                   (SELECT finding FROM finding WHERE bug_id = bug.id ORDER BY size, number LIMIT 1) AS finding,
                   ARRAY(SELECT DISTINCT version FROM finding WHERE bug_id = bug.id AND version IS NOT NULL) AS "versions!"
               FROM bug WHERE dbms = $1 AND state = 'ignored' AND merged_into IS NULL ORDER BY id DESC"#,
            dbms
        );
        let rows = rows.fetch_all(&self.pool).await?.into_iter().filter_map(|row| {
            let finding = read(format!("the smallest finding of bug {}", row.id), row.finding?);
            let (id, why, versions) = (row.id, row.why.unwrap_or_default(), row.versions);
            Some(finding.map(|finding| IgnoredBug { id, why, finding, versions }))
        });
        rows.collect()
    }

    /// Brings a bug together with one that is alike ([`Traits::alike`]), as `caqtus bug list` does, unless somebody split off
    /// or merged one of them, or decided something about both, or that it is none or fixed. The whole is the one that somebody
    /// decided about, or else that needs less. Which is a part of which, if so.
    pub async fn bug_bring_together(&self, id: i64, who: &str) -> Result<Option<(i64, i64)>, StoreError> {
        // Into what people ignore only goes what one version fixed.
        let rows = sqlx::query!(
            r#"SELECT bug.id, bug.revision, bug.state = 'new' AS "is_new!", bug.bisection ->> 'last_bad' AS last_bad,
                   bug.bisection ->> 'first_good' AS first_good,
                   (SELECT finding FROM finding WHERE bug_id = bug.id ORDER BY size, number LIMIT 1) AS finding
               FROM bug JOIN bug AS this ON this.dbms = bug.dbms AND this.kind = bug.kind
                   AND (this.id = bug.id OR bug.state <> 'ignored' AND this.state <> 'ignored'
                       OR this.bisection ->> 'first_good' = bug.bisection ->> 'first_good')
               WHERE this.id = $1 AND this.merged_into IS NULL AND this.split IS NULL AND bug.merged_into IS NULL
                   AND bug.split IS NULL
                   AND (this.id = bug.id OR 'new' IN (this.state, bug.state)
                       AND NOT ARRAY['not-a-bug', 'fixed'] && ARRAY[this.state, bug.state])
               ORDER BY bug.id"#,
            id
        );
        let mut all: Vec<Alike> = Vec::new();
        for row in rows.fetch_all(&self.pool).await? {
            let Some(finding) = row.finding else { continue };
            let mut finding: Finding = read(format!("the smallest finding of bug {}", row.id), finding)?;
            if let Some(last_bad) = row.last_bad {
                finding.cause.fixed = Some(Fixed { last_bad, first_good: row.first_good });
            }
            let (id, revision, is_new) = (row.id, row.revision, row.is_new);
            all.extend(finding.traits().map(|traits| Alike { id, revision, is_new, traits }));
        }
        let Some(own) = all.iter().find(|bug| bug.id == id) else { return Ok(None) };
        let Some(other) = all.iter().find(|bug| bug.id != id && bug.traits.alike(&own.traits)) else {
            return Ok(None);
        };
        // Of two that need as much the older one is the whole.
        let rank = |bug: &Alike| (bug.is_new, bug.traits.size(), bug.id);
        let (part, whole) = if rank(own) < rank(other) { (other, own) } else { (own, other) };
        Ok(match self.bug_merge(part.id, part.revision, whole.id, who).await? {
            Merge::Done(_) => Some((part.id, whole.id)),
            // Somebody was faster.
            Merge::Stale(_) | Merge::Missing | Merge::NoTarget | Merge::IsPart(..) => None,
        })
    }

    /// The fingerprints of a bug and of those that were merged into it. What was split off a bug has none of its own.
    pub async fn bug_fingerprints(&self, id: i64) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query!(
            "SELECT fingerprint, dbms FROM bug WHERE (id = $1 OR merged_into = $1) AND split IS NULL ORDER BY id",
            id
        );
        let rows = rows.fetch_all(&self.pool).await?.into_iter();
        Ok(rows.filter_map(|row| Some(row.fingerprint.strip_prefix(&format!("{}: ", row.dbms))?.to_owned())).collect())
    }

    /// The cases of a bug, the smallest first.
    pub async fn bug_members(&self, id: i64) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query_scalar!(
            "SELECT id FROM finding WHERE bug_id = $1 GROUP BY id ORDER BY min(size), min(number)",
            id
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }
}
