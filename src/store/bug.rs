//! Bugs with what people say of them, and the findings that each groups.

use super::audit::Change;
use super::event::emit;
use super::{Store, StoreError, Written, read};
use crate::triage::finding::Finding;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// What is known of a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum BugState {
    /// Nobody has looked at it.
    New,
    /// Somebody says that it is one.
    Confirmed,
    /// It was reported.
    Reported,
    /// A version fixed it.
    Fixed,
    /// It is none.
    NotABug,
    /// Nobody will look at it.
    Ignored,
}

impl BugState {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Which bugs are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BugFilter {
    /// Their state.
    pub state: Option<BugState>,
    /// The target.
    pub dbms: Option<String>,
    /// The kind of failure.
    pub kind: Option<String>,
    /// The class.
    pub class: Option<String>,
    /// Whether they are reported no more: ignored, or known by a list.
    pub suppressed: Option<bool>,
    /// Words of the fingerprint.
    pub words: Option<String>,
}

/// A bug in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct BugLine {
    /// Its number.
    pub id: i64,
    /// What its findings have in common.
    pub fingerprint: String,
    /// What kind of failure.
    pub kind: String,
    /// The class of its first finding.
    pub class: String,
    /// The target.
    pub dbms: String,
    /// `new`, `confirmed`, `reported`, `fixed`, `not-a-bug` or `ignored`.
    pub state: String,
    /// Where it was reported.
    pub url: Option<String>,
    /// The version that fixed it.
    pub fixed_in: Option<String>,
    /// Why it is in its state.
    pub why: Option<String>,
    /// Why it is reported no more, if so: it is ignored, or a list of known bugs has every finding of it.
    pub suppressed: Option<String>,
    /// The bug that it is a part of; what was found of it is there.
    pub merged_into: Option<i64>,
    /// How many findings there are of it.
    pub findings: i64,
    /// Counts its changes.
    pub revision: i64,
    /// When it was found first (RFC 3339, UTC).
    pub created: String,
    /// When it was found last.
    pub last_found: String,
}

/// What somebody wrote about a bug.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct NoteRow {
    /// Its number.
    pub id: i64,
    /// Who.
    pub author: String,
    /// What.
    pub body: String,
    /// When (RFC 3339, UTC).
    pub created: String,
}

/// A bug with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct BugDetail {
    /// Its line in the list.
    #[serde(flatten)]
    pub line: BugLine,
    /// Between which versions it shows.
    #[schema(value_type = Option<Object>)]
    pub bisection: Option<Value>,
    /// The number of its smallest finding.
    pub smallest: Option<i64>,
    /// The oracles that met it.
    pub oracles: Vec<String>,
    /// The classes that met it.
    pub classes: Vec<String>,
    /// The bugs that are parts of it.
    pub merged: Vec<i64>,
    /// The case that it was made of, if somebody made a finding a bug of its own.
    pub split: Option<String>,
    /// What people wrote, oldest first.
    pub notes: Vec<NoteRow>,
}

/// What somebody says of a bug.
#[derive(Debug, Clone, PartialEq)]
pub struct BugChange {
    /// Its state.
    pub state: BugState,
    /// Where it was reported.
    pub url: Option<String>,
    /// The version that fixed it.
    pub fixed_in: Option<String>,
    /// Why it is in its state.
    pub why: Option<String>,
}

/// Which findings are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FindingFilter {
    /// Of a campaign.
    pub campaign: Option<i64>,
    /// Of a bug.
    pub bug: Option<i64>,
    /// Of a class.
    pub class: Option<String>,
    /// Of a kind.
    pub kind: Option<String>,
}

/// A finding in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FindingLine {
    /// Of its case; two campaigns may find the same.
    pub id: String,
    /// Its own, in the order in which findings came.
    pub number: i64,
    /// What kind of failure.
    pub kind: String,
    /// The oracle.
    pub oracle: Option<String>,
    /// The class.
    pub class: String,
    /// Why it was known when it came; nothing for news.
    pub known: Option<String>,
    /// The campaign that found it.
    pub campaign: i64,
    /// The bug that it is likely of.
    pub bug: i64,
    /// The target.
    pub dbms: String,
    /// Its version.
    pub version: Option<String>,
    /// Characters of its statements and queries.
    pub size: i32,
    /// When it came (RFC 3339, UTC).
    pub created: String,
}

impl Store {
    /// Bugs, the last ones first: those with smaller numbers than `before`.
    pub async fn bug_page(
        &self,
        filter: &BugFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<BugLine>, StoreError> {
        let rows = sqlx::query_as!(
            BugLine,
            r#"SELECT id, fingerprint, kind, class, dbms, state, url, fixed_in, why,
                   CASE WHEN state = 'ignored' THEN why WHEN news = 0 THEN
                       (SELECT known FROM finding WHERE bug_id = bug.id ORDER BY size, number LIMIT 1) END AS suppressed,
                   merged_into, findings, revision, utc(created) AS "created!", utc(last_found) AS "last_found!"
               FROM bug
               WHERE merged_into IS NULL AND ($1::bigint IS NULL OR id < $1) AND ($2::text IS NULL OR state = $2)
                   AND ($3::text IS NULL OR dbms = $3) AND ($4::text IS NULL OR kind = $4)
                   AND ($5::text IS NULL OR class = $5)
                   AND ($6::boolean IS NULL OR (state = 'ignored' OR (news = 0 AND findings > 0)) = $6)
                   AND ($7::text IS NULL OR words(fingerprint) @@ plainto_tsquery('simple', plain_words($7)))
               ORDER BY id DESC LIMIT $8"#,
            before,
            filter.state.map(BugState::name),
            filter.dbms,
            filter.kind,
            filter.class,
            filter.suppressed,
            filter.words,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A bug.
    pub async fn bug_fetch(&self, id: i64) -> Result<Option<BugDetail>, StoreError> {
        let mut tx = self.snapshot().await?;
        let line = sqlx::query_as!(
            BugLine,
            r#"SELECT id, fingerprint, kind, class, dbms, state, url, fixed_in, why,
                   CASE WHEN state = 'ignored' THEN why WHEN news = 0 THEN
                       (SELECT known FROM finding WHERE bug_id = bug.id ORDER BY size, number LIMIT 1) END AS suppressed,
                   merged_into, findings, revision, utc(created) AS "created!", utc(last_found) AS "last_found!"
               FROM bug WHERE id = $1"#,
            id
        );
        let Some(line) = line.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let rest = sqlx::query!(
            r#"SELECT bisection, split,
                   (SELECT number FROM finding WHERE bug_id = bug.id ORDER BY size, number LIMIT 1) AS smallest,
                   ARRAY(SELECT DISTINCT oracle FROM finding WHERE bug_id = bug.id AND oracle IS NOT NULL ORDER BY 1) AS "oracles!",
                   ARRAY(SELECT DISTINCT class FROM finding WHERE bug_id = bug.id ORDER BY 1) AS "classes!",
                   ARRAY(SELECT part.id FROM bug AS part WHERE part.merged_into = bug.id ORDER BY 1) AS "merged!"
               FROM bug WHERE id = $1"#,
            id
        )
        .fetch_one(&mut *tx)
        .await?;
        let notes = sqlx::query_as!(
            NoteRow,
            r#"SELECT id, author, body, utc(created) AS "created!" FROM bug_note WHERE bug_id = $1 ORDER BY id"#,
            id
        );
        let notes = notes.fetch_all(&mut *tx).await?;
        Ok(Some(BugDetail {
            line,
            bisection: rest.bisection,
            smallest: rest.smallest,
            oracles: rest.oracles,
            classes: rest.classes,
            merged: rest.merged,
            split: rest.split,
            notes,
        }))
    }

    /// What somebody says of a bug, as it was at a revision.
    pub async fn bug_change(
        &self,
        id: i64,
        revision: i64,
        change: &BugChange,
        who: &str,
    ) -> Result<Written, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!("SELECT revision, state, url, fixed_in, why FROM bug WHERE id = $1 FOR UPDATE", id);
        let Some(row) = row.fetch_optional(&mut *tx).await? else { return Ok(Written::Missing) };
        if row.revision != revision {
            return Ok(Written::Stale(row.revision));
        }
        let BugChange { state, url, fixed_in, why } = change;
        let now = sqlx::query_scalar!(
            "UPDATE bug SET state = $2, url = $3, fixed_in = $4, why = $5 WHERE id = $1 RETURNING revision",
            id,
            state.name(),
            url.as_deref(),
            fixed_in.as_deref(),
            why.as_deref()
        )
        .fetch_one(&mut *tx)
        .await?;
        let noted = Change {
            who,
            action: "state",
            subject: format!("bug {id}"),
            before: Some(json!({ "state": row.state, "url": row.url, "fixed_in": row.fixed_in, "why": row.why })),
            after: Some(json!({ "state": state.name(), "url": url, "fixed_in": fixed_in, "why": why })),
        };
        noted.note(&mut tx).await?;
        emit(&mut tx, "bug", None, json!({ "id": id, "state": state.name(), "revision": now })).await?;
        tx.commit().await?;
        Ok(Written::Done(now))
    }

    /// Adds what somebody writes about a bug; `None` if there is no such bug.
    pub async fn bug_note_put(&self, id: i64, body: &str, who: &str) -> Result<Option<NoteRow>, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query_as!(
            NoteRow,
            r#"INSERT INTO bug_note (bug_id, author, body) SELECT id, $2, $3 FROM bug WHERE id = $1
               RETURNING id, author, body, utc(created) AS "created!""#,
            id,
            who,
            body
        );
        let Some(row) = row.fetch_optional(&mut *tx).await? else { return Ok(None) };
        let after = Some(json!({ "note": row.id }));
        Change { who, action: "note", subject: format!("bug {id}"), before: None, after }.note(&mut tx).await?;
        emit(&mut tx, "bug", None, json!({ "id": id, "note": row.id })).await?;
        tx.commit().await?;
        Ok(Some(row))
    }

    /// Notes between which versions a bug shows.
    pub async fn bug_bisected(&self, id: i64, bisection: &Value, who: &str) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        let now = sqlx::query_scalar!("UPDATE bug SET bisection = $2 WHERE id = $1 RETURNING revision", id, bisection);
        let now = now.fetch_one(&mut *tx).await?;
        let after = Some(json!({ "bisection": bisection }));
        Change { who, action: "bisected", subject: format!("bug {id}"), before: None, after }.note(&mut tx).await?;
        emit(&mut tx, "bug", None, json!({ "id": id, "revision": now })).await?;
        Ok(tx.commit().await?)
    }

    /// Findings, the last ones first: those with smaller numbers than `before`.
    pub async fn finding_page(
        &self,
        filter: &FindingFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<FindingLine>, StoreError> {
        let rows = sqlx::query_as!(
            FindingLine,
            r#"SELECT finding.id, number, finding.kind, oracle, finding.class, known, campaign_id AS campaign, bug_id AS bug,
                   campaign.dbms, finding.version, size, utc(finding.created) AS "created!"
               FROM finding JOIN campaign ON campaign.id = campaign_id
               WHERE ($1::bigint IS NULL OR number < $1) AND ($2::bigint IS NULL OR campaign_id = $2)
                   AND ($3::bigint IS NULL OR bug_id = $3) AND ($4::text IS NULL OR finding.class = $4)
                   AND ($5::text IS NULL OR finding.kind = $5)
               ORDER BY number DESC LIMIT $6"#,
            before,
            filter.campaign,
            filter.bug,
            filter.class,
            filter.kind,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A finding by its number.
    pub async fn finding_fetch(&self, number: i64) -> Result<Option<Finding>, StoreError> {
        let row = sqlx::query_scalar!("SELECT finding FROM finding WHERE number = $1", number);
        let found = row.fetch_optional(&self.pool).await?;
        found.map(|finding| read(format!("the finding {number}"), finding)).transpose()
    }
}
