//! Classes as people review them: long lists, one class with all that is known of it, and decisions, each by somebody who
//! says which revision was looked at.

use super::audit::Change;
use super::class::{NewClass, StoredClass, fetch, lock, put};
use super::event::emit;
use super::{ClassState, Store, StoreError, Written};
use crate::caq::class::MemberText;
use crate::caq::proof::Pair;
use crate::triage::features::features;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use utoipa::ToSchema;

/// Decisions that a class's evidence keeps, the latest: readers of JSON take no deeper nesting than that of 128 levels. The audit
/// trail has all of them.
const DECISIONS_MAX: usize = 20;

/// A decision, above the evidence and the decisions that there were.
pub fn reviewed(why: &str, by: Option<&str>, before: Option<Value>) -> Value {
    let mut decisions = vec![(json!(why), by.map_or(Value::Null, Value::from))];
    let mut rest = before.unwrap_or_default();
    while let Some(why) = rest.get("reviewed").cloned() {
        decisions.push((why, rest.get("by").cloned().unwrap_or_default()));
        rest = rest.get_mut("before").map(Value::take).unwrap_or_default();
    }
    decisions.truncate(DECISIONS_MAX);
    decisions.into_iter().rev().fold(rest, |before, (why, by)| match by {
        Value::Null => json!({ "reviewed": why, "before": before }),
        by => json!({ "reviewed": why, "by": by, "before": before }),
    })
}

/// Which classes are wanted. What is not said is not asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ClassFilter {
    /// Its state.
    pub state: Option<ClassState>,
    /// A dialect on which it may be used.
    pub dialect: Option<String>,
    /// An SQL feature of its members.
    pub feature: Option<String>,
    /// Where it is from.
    pub origin: Option<String>,
    /// Something that it or its proofs take for granted.
    pub assumption: Option<String>,
    /// Findings, at least.
    pub yield_min: Option<i64>,
    /// Findings, at most.
    pub yield_max: Option<i64>,
    /// Similarity of its plans, at least.
    pub similarity_min: Option<f64>,
    /// Similarity of its plans, at most.
    pub similarity_max: Option<f64>,
    /// Words, all of which are in its name, its reason, its schema or its members.
    pub words: Option<String>,
}

/// A class in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ClassLine {
    /// Unique name.
    pub name: String,
    /// Where the class is from.
    pub origin: String,
    /// Why its members are equivalent.
    pub about: String,
    /// `draft`, `released` or `quarantined`.
    pub state: String,
    /// The dialects it is written for; empty means all.
    pub dialects: Vec<String>,
    /// SQL features of its members.
    pub features: Vec<String>,
    /// What it and its proofs take for granted.
    pub assumptions: Vec<String>,
    /// How many members it has.
    pub members: i32,
    /// How many pairs of them are proven.
    pub proofs: i32,
    /// Similarity of its plans, from 0 to 1.
    pub similarity: Option<f64>,
    /// Findings in campaigns with it.
    pub findings: i64,
    /// Counts its changes.
    pub revision: i64,
    /// When it changed last (RFC 3339, UTC).
    pub changed: String,
}

/// A class that waits for somebody's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuedClass {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: String,
}

/// A class with what else is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassDetail {
    /// The class.
    pub class: StoredClass,
    /// Its line in the list.
    pub line: ClassLine,
    /// When it came (RFC 3339, UTC).
    pub created: String,
    /// Members that somebody took out, with the reason.
    pub withdrawn: Vec<(String, String)>,
}

/// Why a member cannot be taken out of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// It is out; the revision of the class since.
    Done(i64),
    /// The class is another one by now.
    Stale(i64),
    /// There is no such class.
    NoClass,
    /// There is no such member.
    NoMember,
    /// It is the first, which makes the class what it is, or one of the last two.
    Needed,
}

/// Brings up to date what lists show of a class.
pub(super) async fn describe(connection: &mut PgConnection, id: i64, class: &NewClass) -> Result<(), StoreError> {
    let features = features(class.text.members.iter().map(MemberText::sql));
    sqlx::query!(
        "UPDATE class SET features = $2,
             members = (SELECT count(*) FROM member WHERE class_id = $1),
             proofs = (SELECT count(*) FROM proof WHERE class_id = $1 AND verdict = 'proven'),
             findings = (SELECT count(*) FROM finding WHERE finding.class = class.name),
             takes = ARRAY(SELECT DISTINCT taken FROM (
                 SELECT unnest(class.assumes) AS taken
                 UNION SELECT unnest(assumptions) FROM proof WHERE class_id = $1 AND verdict = 'proven') AS t ORDER BY taken),
             search = words(concat_ws(' ', name, about, schema,
                 (SELECT string_agg(sql, ' ' ORDER BY position) FROM member WHERE class_id = $1)))
         WHERE id = $1",
        id,
        &features
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes members that somebody withdrew out of a class again.
pub(super) async fn without_withdrawn(
    connection: &mut PgConnection,
    mut class: NewClass,
) -> Result<NewClass, StoreError> {
    let rows = sqlx::query!(
        "SELECT sql, switch FROM withdrawal WHERE class_id = (SELECT id FROM class WHERE name = $1)",
        class.text.name
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        let is = |member: &MemberText| member.sql() == row.sql && member.switch().unwrap_or_default() == row.switch;
        if let Some(at) = class.text.members.iter().position(is).filter(|at| *at > 0) {
            without(&mut class, at);
        }
    }
    Ok(class)
}

/// Takes a member out, with its proofs. The others keep theirs, under their new numbers.
fn without(class: &mut NewClass, at: usize) {
    class.text.members.remove(at);
    class.plans.remove(at);
    let name = &class.text.name;
    class.proofs.retain_mut(|proof| {
        let Some((_, Pair(a, b))) = Pair::parse(&proof.record.id) else { return false };
        let down = |n: usize| if n > at { n - 1 } else { n };
        proof.record.id = Pair(down(a), down(b)).id(name);
        a != at && b != at
    });
}

impl Store {
    /// Classes by name, those after one.
    pub async fn class_page(
        &self,
        filter: &ClassFilter,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<ClassLine>, StoreError> {
        let rows = sqlx::query_as!(
            ClassLine,
            r#"SELECT name, origin, about, state, dialects, COALESCE(features, '{}') AS "features!",
                   takes AS assumptions, members, proofs, similarity, findings, revision, utc(changed) AS "changed!"
               FROM class
               WHERE ($1::text IS NULL OR name > $1)
                   AND ($2::text IS NULL OR state = $2)
                   AND ($3::text IS NULL OR dialects = '{}' OR $3 = ANY(dialects))
                   AND ($4::text IS NULL OR features @> ARRAY[$4])
                   AND ($5::text IS NULL OR origin = $5)
                   AND ($6::text IS NULL OR takes @> ARRAY[$6])
                   AND ($7::bigint IS NULL OR findings >= $7)
                   AND ($8::bigint IS NULL OR findings <= $8)
                   AND ($9::float8 IS NULL OR similarity >= $9)
                   AND ($10::float8 IS NULL OR similarity <= $10)
                   AND ($11::text IS NULL OR search @@ plainto_tsquery('simple', plain_words($11)))
               ORDER BY name LIMIT $12"#,
            after,
            filter.state.map(ClassState::name),
            filter.dialect,
            filter.feature,
            filter.origin,
            filter.assumption,
            filter.yield_min,
            filter.yield_max,
            filter.similarity_min,
            filter.similarity_max,
            filter.words,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// Classes that wait for a decision: those that an engine put into quarantine, those that are used though a member is
    /// refuted, then drafts. What somebody left as it is waits no longer.
    pub async fn class_queue(&self, limit: i64) -> Result<Vec<QueuedClass>, StoreError> {
        let rows = sqlx::query_as!(
            QueuedClass,
            r#"SELECT name AS "name!", state AS "state!" FROM (
                   SELECT 1 AS rank, name, state FROM class
                       WHERE state = 'quarantined' AND NOT COALESCE(evidence ? 'reviewed', false)
                   UNION ALL
                   SELECT 2, name, state FROM class
                       WHERE state = 'released' AND id IN (SELECT class_id FROM proof WHERE verdict = 'refuted')
                   UNION ALL
                   SELECT 3, name, state FROM class
                       WHERE state = 'draft' AND NOT COALESCE(evidence ? 'reviewed', false)
               ) AS waiting ORDER BY rank, name LIMIT $1"#,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A class by name, with what lists show of it.
    pub async fn class_detail(&self, name: &str) -> Result<Option<ClassDetail>, StoreError> {
        let mut tx = self.snapshot().await?;
        let Some(class) = fetch(&mut tx, name).await? else { return Ok(None) };
        let line = sqlx::query_as!(
            ClassLine,
            r#"SELECT name, origin, about, state, dialects, COALESCE(features, '{}') AS "features!",
                   takes AS assumptions, members, proofs, similarity, findings, revision, utc(changed) AS "changed!"
               FROM class WHERE name = $1"#,
            name
        )
        .fetch_one(&mut *tx)
        .await?;
        let created = sqlx::query_scalar!(r#"SELECT utc(created) AS "created!" FROM class WHERE name = $1"#, name)
            .fetch_one(&mut *tx)
            .await?;
        let withdrawn = sqlx::query!(
            "SELECT sql, why FROM withdrawal WHERE class_id = (SELECT id FROM class WHERE name = $1) ORDER BY id",
            name
        )
        .fetch_all(&mut *tx)
        .await?;
        let withdrawn = withdrawn.into_iter().map(|row| (row.sql, row.why)).collect();
        Ok(Some(ClassDetail { class, line, created, withdrawn }))
    }

    /// A person's decision on a class, as it was at a revision.
    pub async fn class_decide(
        &self,
        name: &str,
        revision: i64,
        state: ClassState,
        why: &str,
        who: &str,
    ) -> Result<Written, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query!("SELECT revision, state, evidence FROM class WHERE name = $1 FOR UPDATE", name);
        let Some(row) = row.fetch_optional(&mut *tx).await? else { return Ok(Written::Missing) };
        if row.revision != revision {
            return Ok(Written::Stale(row.revision));
        }
        let evidence = reviewed(why, Some(who), row.evidence);
        let now = sqlx::query_scalar!(
            "UPDATE class SET state = $2, evidence = $3 WHERE name = $1 RETURNING revision",
            name,
            state.name(),
            evidence
        )
        .fetch_one(&mut *tx)
        .await?;
        let change = Change {
            who,
            action: state.name(),
            subject: format!("class {name}"),
            before: Some(json!({ "state": row.state })),
            after: Some(json!({ "state": state.name(), "why": why })),
        };
        change.note(&mut tx).await?;
        emit(&mut tx, "class", None, json!({ "name": name, "state": state.name(), "revision": now })).await?;
        tx.commit().await?;
        Ok(Written::Done(now))
    }

    /// Takes a member, by its position from 1, out of a class as it was at a revision. A class that is left without two
    /// members that are proven equivalent is a draft again.
    pub async fn class_withdraw(
        &self,
        name: &str,
        revision: i64,
        position: usize,
        why: &str,
        who: &str,
    ) -> Result<Withdrawal, StoreError> {
        let mut tx = self.pool.begin().await?;
        lock(&mut tx, name).await?;
        let Some(stored) = fetch(&mut tx, name).await? else { return Ok(Withdrawal::NoClass) };
        let row = sqlx::query!("SELECT id, revision FROM class WHERE name = $1", name).fetch_one(&mut *tx).await?;
        if row.revision != revision {
            return Ok(Withdrawal::Stale(row.revision));
        }
        let StoredClass { mut class, mut state, evidence } = stored;
        let Some(member) = position.checked_sub(1).and_then(|at| class.text.members.get(at)).cloned() else {
            return Ok(Withdrawal::NoMember);
        };
        if position == 1 || class.text.members.len() <= 2 {
            return Ok(Withdrawal::Needed);
        }
        without(&mut class, position - 1);
        if state == ClassState::Released && !class.has_proof() {
            state = ClassState::Draft;
        }
        sqlx::query!(
            "INSERT INTO withdrawal (class_id, sql, switch, why) VALUES ($1, $2, $3, $4)",
            row.id,
            member.sql(),
            member.switch().unwrap_or_default(),
            why
        )
        .execute(&mut *tx)
        .await?;
        let hash = class.hash()?;
        put(&mut tx, &class, &hash, state, evidence.as_ref()).await?;
        let now = sqlx::query_scalar!("SELECT revision FROM class WHERE name = $1", name).fetch_one(&mut *tx).await?;
        let change = Change {
            who,
            action: "withdraw",
            subject: format!("class {name}"),
            before: Some(json!({ "member": position, "sql": member.sql(), "switch": member.switch() })),
            after: Some(json!({ "state": state.name(), "why": why })),
        };
        change.note(&mut tx).await?;
        emit(&mut tx, "class", None, json!({ "name": name, "state": state.name(), "revision": now })).await?;
        tx.commit().await?;
        Ok(Withdrawal::Done(now))
    }

    /// The certificate of the proof of two members, by position from 1.
    pub async fn proof_certificate(&self, class: &str, left: i32, right: i32) -> Result<Option<Value>, StoreError> {
        let found = sqlx::query_scalar!(
            "SELECT certificate FROM proof JOIN class ON class.id = class_id
             WHERE name = $1 AND left_position = $2 AND right_position = $3",
            class,
            left,
            right
        );
        Ok(found.fetch_optional(&self.pool).await?.flatten())
    }

    /// Notes the features of classes that were stored before lists showed them.
    pub async fn class_describe_all(&self) -> Result<(), StoreError> {
        let names = sqlx::query_scalar!("SELECT name FROM class WHERE features IS NULL ORDER BY name");
        for name in names.fetch_all(&self.pool).await? {
            let mut tx = self.pool.begin().await?;
            lock(&mut tx, &name).await?;
            if let Some(stored) = fetch(&mut tx, &name).await? {
                let id = sqlx::query_scalar!("SELECT id FROM class WHERE name = $1", name).fetch_one(&mut *tx).await?;
                describe(&mut tx, id, &stored.class).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_decisions_stay_above_the_evidence() {
        let mut evidence = Some(json!({ "checked": {} }));
        for number in 0..200 {
            evidence = Some(reviewed(&number.to_string(), (number % 2 == 0).then_some("ann"), evidence));
        }
        let evidence = evidence.expect("some");
        assert_eq!((&evidence["reviewed"], evidence.get("by")), (&json!("199"), None));
        assert_eq!(evidence["before"], reviewed("198", Some("ann"), Some(evidence["before"]["before"].clone())));
        let text = evidence.to_string();
        assert_eq!(text.matches("reviewed").count(), DECISIONS_MAX);
        assert!(text.contains("checked") && serde_json::from_str::<Value>(&text).is_ok());
    }
}
