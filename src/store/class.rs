//! Oracle classes with their members and proofs.

use super::audit::Change;
use super::event::emit;
use super::job::{self, NewJob};
use super::review::{describe, without_withdrawn};
use super::{Started, Store, StoreError, json, parse, read, storable};
use crate::caq::class::{ClassText, MemberText};
use crate::caq::proof::{Pair, Record, Verdict};
use crate::plan::PlanTree;
use crate::plan::similarity::similarity;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as object};
use sqlx::{PgConnection, types::Json};
use std::collections::BTreeMap;

/// Whether a class may be used for hunting.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    strum::EnumString,
    strum::IntoStaticStr,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ClassState {
    /// No engine has checked it yet.
    Draft,
    /// The engines at hand agree on it.
    Released,
    /// An engine disagrees: a wrong proof, or a bug of that engine. Not used until somebody decides.
    Quarantined,
}

impl ClassState {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What the prover said about two members, with its proof.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewProof {
    /// The verdict.
    pub record: Record,
    /// The certificate, as `caqtus-prover check` reads it.
    pub certificate: Option<Value>,
}

/// A class to be stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewClass {
    /// The class.
    pub text: ClassText,
    /// The plan of each member, where it is known.
    pub plans: Vec<Option<PlanTree>>,
    /// Proofs of pairs of its members.
    pub proofs: Vec<NewProof>,
    /// Similarity of its plans (Argus paper, section 7.6).
    pub similarity: Option<f64>,
}

/// A class in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredClass {
    /// The class.
    pub class: NewClass,
    /// Whether it may be used.
    pub state: ClassState,
    /// Why.
    pub evidence: Option<Value>,
}

/// What became of a class that was to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PutOutcome {
    /// The class as it is in the store now.
    pub class: NewClass,
    /// Of it ([`NewClass::hash`]).
    pub hash: String,
    /// Its state.
    pub state: ClassState,
    /// Whether it, or what is proven of it, is other than before.
    pub changed: bool,
}

/// Who has a class checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckedBy<'a> {
    /// Who asked for it, as the audit trail names them.
    pub who: &'a str,
    /// The job that does it, if one does.
    pub job: Option<i64>,
}

/// A line of the list of classes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Unique name.
    pub name: String,
    /// Where the class is from.
    pub origin: String,
    /// Why its members are equivalent.
    pub about: String,
    /// Whether it may be used.
    pub state: ClassState,
    /// How many members it has.
    pub members: i64,
    /// How many pairs of them are proven.
    pub proofs: i64,
    /// Similarity of its plans.
    pub similarity: Option<f64>,
}

impl NewClass {
    /// Of what a check is about: the queries, their schema, and what is proven of them. The rest may change without
    /// another check.
    pub fn hash(&self) -> Result<String, StoreError> {
        let ClassText { schema, placeholders, members, dialects, assumes, name: _, origin: _, about: _ } = &self.text;
        let proofs = self.proofs.iter().map(|p| &p.record);
        let proofs: Vec<_> = proofs.map(|r| (&r.id, &r.hash, r.verdict, &r.assumptions)).collect();
        let text = json("a class", &(schema, placeholders, members, dialects, assumes, proofs))?.to_string();
        Ok(blake3::hash(text.as_bytes()).to_hex()[..32].to_owned())
    }

    /// Whether some two members are proven equivalent.
    pub(super) fn has_proof(&self) -> bool {
        self.proofs.iter().any(|proof| proof.record.verdict == Verdict::Proven)
    }

    /// Adds the members and proofs of another class over the same first member, which is what two discoveries from one
    /// seed make.
    fn absorb(&mut self, other: Self) {
        let mut places = BTreeMap::new();
        for (at, (member, plan)) in other.text.members.into_iter().zip(other.plans).enumerate() {
            let here = self.text.members.iter().position(|m| *m == member).unwrap_or_else(|| {
                self.text.members.push(member);
                self.plans.push(None);
                self.text.members.len() - 1
            });
            self.plans[here] = self.plans[here].take().or(plan);
            places.insert(at, here);
        }
        for mut proof in other.proofs {
            let Some((_, Pair(a, b))) = Pair::parse(&proof.record.id) else { continue };
            let (Some(&a), Some(&b)) = (places.get(&a), places.get(&b)) else { continue };
            // The hash of a question depends on which text comes first, so an edge that turns round is left out.
            proof.record.id = Pair(a, b).id(&self.text.name);
            if a < b && self.proofs.iter().all(|p| p.record.id != proof.record.id) {
                self.proofs.push(proof);
            }
        }
        let known: Vec<PlanTree> = self.plans.iter().flatten().cloned().collect();
        self.similarity = similarity(&known);
    }
}

/// The order in which proofs are stored, so that the same proofs have one hash.
fn sorted(mut class: NewClass) -> NewClass {
    class.proofs.sort_by_key(|proof| Pair::parse(&proof.record.id).map(|(_, pair)| pair));
    class
}

impl Store {
    /// Stores a class, or brings the one of the same name up to date if both are over the same first member. The same
    /// class with the same proofs keeps its state; a changed one gets the given state, unless it is quarantined.
    pub async fn class_put(&self, class: NewClass, state: ClassState) -> Result<PutOutcome, StoreError> {
        let keep_plans = |old: NewClass, mut new: NewClass| {
            for (member, plan) in new.text.members.iter().zip(&mut new.plans).filter(|(_, plan)| plan.is_none()) {
                let here = old.text.members.iter().position(|m| m == member);
                *plan = here.and_then(|at| old.plans.get(at)?.clone());
            }
            new.similarity = new.similarity.or_else(|| {
                let known: Vec<PlanTree> = new.plans.iter().flatten().cloned().collect();
                similarity(&known)
            });
            new
        };
        let mut tx = self.pool.begin().await?;
        let kept = keep(&mut tx, class, state, keep_plans).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// Stores a discovered class, or adds its members and proofs to the one of the same name. A changed class is a draft.
    pub async fn class_extend(&self, class: NewClass) -> Result<PutOutcome, StoreError> {
        let mut tx = self.pool.begin().await?;
        let kept = keep(&mut tx, class, ClassState::Draft, absorbed).await?;
        tx.commit().await?;
        Ok(kept)
    }

    /// The same for a class that somebody brings, with the job that proves it if it is new or changed.
    pub async fn class_import(
        &self,
        class: NewClass,
        proof: &NewJob<'_>,
    ) -> Result<(PutOutcome, Option<i64>), StoreError> {
        let mut tx = self.pool.begin().await?;
        let brought = json("a class", &class.text)?;
        let kept = keep(&mut tx, class, ClassState::Draft, absorbed).await?;
        if !kept.changed {
            tx.commit().await?;
            return Ok((kept, None));
        }
        let name = &kept.class.text.name;
        let change = Change {
            who: proof.asked_by,
            action: "import",
            subject: format!("class {name}"),
            before: None,
            after: Some(brought),
        };
        change.note(&mut tx).await?;
        let job = match job::put(&mut tx, proof).await? {
            Started::New(job) | Started::Before(job) => Some(job),
            Started::Other | Started::Full => None,
        };
        tell(&mut tx, name).await?;
        tx.commit().await?;
        Ok((kept, job))
    }

    /// Puts new proofs in the place of those of a class, as it was when they were asked for ([`NewClass::hash`]). A class with
    /// other proofs than before is a draft, unless it is quarantined. `None` if the class is another one by now.
    pub async fn class_prove(
        &self,
        name: &str,
        hash: &str,
        proofs: Vec<NewProof>,
    ) -> Result<Option<PutOutcome>, StoreError> {
        let mut tx = self.pool.begin().await?;
        lock(&mut tx, name).await?;
        let Some(stored) = fetch(&mut tx, name).await? else { return Ok(None) };
        if stored.class.hash()? != hash {
            return Ok(None);
        }
        let class = NewClass { proofs, ..stored.class };
        let kept = keep(&mut tx, class, ClassState::Draft, |_, new| new).await?;
        tell(&mut tx, name).await?;
        tx.commit().await?;
        Ok(Some(kept))
    }

    /// Sets whether a class may be used, and why: a person's decision.
    pub async fn class_review(&self, name: &str, state: ClassState, evidence: &Value) -> Result<(), StoreError> {
        sqlx::query!("UPDATE class SET state = $2, evidence = $3 WHERE name = $1", name, state.name(), evidence)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Sets the state that a check came to, which somebody asked for. Whether it counts: only if the class is still the draft
    /// that was checked.
    pub async fn class_checked(
        &self,
        name: &str,
        hash: &str,
        state: ClassState,
        evidence: &Value,
        by: CheckedBy<'_>,
    ) -> Result<bool, StoreError> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query!(
            "UPDATE class SET state = $3, evidence = $4 WHERE name = $1 AND hash = $2 AND state = 'draft'",
            name,
            hash,
            state.name(),
            storable(evidence.clone())
        );
        if done.execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        let change = Change {
            who: by.who,
            action: state.name(),
            subject: format!("class {name}"),
            before: Some(object!({ "state": ClassState::Draft })),
            after: Some(object!({ "state": state, "job": by.job })),
        };
        change.note(&mut tx).await?;
        tell(&mut tx, name).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// All classes by name, or those in one state.
    pub async fn class_list(&self, wanted: Option<ClassState>) -> Result<Vec<ClassSummary>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT name, origin, about, state, similarity,
                   (SELECT count(*) FROM member WHERE class_id = class.id) AS "members!",
                   (SELECT count(*) FROM proof WHERE class_id = class.id AND verdict = 'proven') AS "proofs!"
               FROM class WHERE $1::text IS NULL OR state = $1 ORDER BY name"#,
            wanted.map(ClassState::name)
        )
        .fetch_all(&self.pool)
        .await?;
        let summary = rows.into_iter().map(|row| {
            Ok(ClassSummary {
                name: row.name,
                origin: row.origin,
                about: row.about,
                state: parse("the state of a class", &row.state)?,
                members: row.members,
                proofs: row.proofs,
                similarity: row.similarity,
            })
        });
        summary.collect()
    }

    /// A class by name.
    pub async fn class_fetch(&self, name: &str) -> Result<Option<StoredClass>, StoreError> {
        let mut tx = self.snapshot().await?;
        fetch(&mut tx, name).await
    }
}

/// A class with the members and proofs of another one over the same first member.
fn absorbed(mut old: NewClass, new: NewClass) -> NewClass {
    old.absorb(new);
    old
}

/// Keeps others from changing the class of a name, until the transaction ends.
pub(super) async fn lock(connection: &mut PgConnection, name: &str) -> Result<(), StoreError> {
    // A row that is not there yet cannot be locked.
    sqlx::query!("SELECT pg_advisory_xact_lock(hashtext('caqtus class'), hashtext($1))", name)
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query!("SELECT id FROM class WHERE name = $1 FOR UPDATE", name).fetch_optional(connection).await?;
    Ok(())
}

/// Tells those who watch that a class changed.
async fn tell(connection: &mut PgConnection, name: &str) -> Result<(), StoreError> {
    let now =
        sqlx::query!("SELECT state, revision FROM class WHERE name = $1", name).fetch_one(&mut *connection).await?;
    emit(connection, "class", None, object!({ "name": name, "state": now.state, "revision": now.revision })).await
}

/// Stores a class, merged with the one of its name if there is one over the same first member.
async fn keep(
    connection: &mut PgConnection,
    class: NewClass,
    state: ClassState,
    merge: impl FnOnce(NewClass, NewClass) -> NewClass,
) -> Result<PutOutcome, StoreError> {
    lock(connection, &class.text.name).await?;
    let (whole, before) = match fetch(connection, &class.text.name).await? {
        None => (sorted(class), None),
        Some(stored) => {
            let old = &stored.class.text;
            if old.schema != class.text.schema || old.members.first() != class.text.members.first() {
                return Err(StoreError::NameTaken(class.text.name));
            }
            let before = (stored.class.hash()?, stored.state, stored.evidence);
            let merged = without_withdrawn(connection, merge(stored.class, class)).await?;
            (sorted(merged), Some(before))
        }
    };
    let hash = whole.hash()?;
    let changed = before.as_ref().is_none_or(|(old, ..)| *old != hash);
    let (state, evidence) = match before {
        // What an engine disagreed with stays away until somebody has decided.
        Some((_, state, evidence)) if !changed || state == ClassState::Quarantined => (state, evidence),
        _ => (state, None),
    };
    put(connection, &whole, &hash, state, evidence.as_ref()).await?;
    Ok(PutOutcome { class: whole, hash, state, changed })
}

/// A class by name; who changes it has locked it.
pub(super) async fn fetch(connection: &mut PgConnection, name: &str) -> Result<Option<StoredClass>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT id, origin, about, schema, placeholders AS "placeholders: Json<BTreeMap<String, String>>", dialects,
               assumes, state, evidence, similarity
           FROM class WHERE name = $1"#,
        name
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let members = sqlx::query!("SELECT sql, switch, plan FROM member WHERE class_id = $1 ORDER BY position", row.id)
        .fetch_all(&mut *connection)
        .await?;
    let proofs = sqlx::query!(
        "SELECT left_position, right_position, hash, verdict, assumptions, reason, prover, certificate FROM proof
         WHERE class_id = $1 ORDER BY left_position, right_position",
        row.id
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut texts = Vec::new();
    let mut plans = Vec::new();
    for member in members {
        plans.push(member.plan.map(|plan| read(format!("a plan of class {name}"), plan)).transpose()?);
        texts.push(match member.switch {
            None => MemberText::Sql(member.sql),
            Some(switch) => MemberText::Switched { sql: member.sql, switch },
        });
    }
    let proofs = proofs.into_iter().map(|p| {
        let record = Record {
            id: Pair(index(p.left_position), index(p.right_position)).id(name),
            hash: p.hash,
            verdict: parse("the verdict of a proof", &p.verdict)?,
            assumptions: read(format!("what a proof of class {name} assumes"), p.assumptions.into())?,
            reason: p.reason,
            prover: p.prover,
        };
        Ok(NewProof { record, certificate: p.certificate })
    });
    let proofs: Vec<NewProof> = proofs.collect::<Result<_, StoreError>>()?;
    let text = ClassText {
        name: name.to_owned(),
        origin: row.origin,
        about: row.about,
        schema: row.schema,
        placeholders: row.placeholders.0,
        members: texts,
        dialects: row.dialects,
        assumes: read(format!("what class {name} assumes"), row.assumes.into())?,
    };
    let class = NewClass { text, plans, proofs, similarity: row.similarity };
    Ok(Some(StoredClass { class, state: parse("the state of a class", &row.state)?, evidence: row.evidence }))
}

/// A position from 0 of one that counts from 1.
fn index(position: i32) -> usize {
    usize::try_from(position - 1).unwrap_or_default()
}

fn position(index: usize) -> i32 {
    i32::try_from(index + 1).unwrap_or(i32::MAX)
}

pub(super) async fn put(
    connection: &mut PgConnection,
    class: &NewClass,
    hash: &str,
    state: ClassState,
    evidence: Option<&Value>,
) -> Result<(), StoreError> {
    let NewClass { text, plans, proofs, similarity } = class;
    let ClassText { name, origin, about, schema, placeholders, members, dialects, assumes } = text;
    let assumes: Vec<String> = assumes.iter().map(ToString::to_string).collect();
    let id = sqlx::query_scalar!(
        "INSERT INTO class (name, hash, origin, about, schema, placeholders, dialects, assumes, state, similarity, evidence)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (name) DO UPDATE SET hash = $2, origin = $3, about = $4, schema = $5, placeholders = $6,
             dialects = $7, assumes = $8, state = $9, similarity = $10, evidence = $11
         RETURNING id",
        name,
        hash,
        origin,
        about,
        schema,
        Json(placeholders) as _,
        dialects,
        &assumes,
        state.name(),
        *similarity,
        evidence
    )
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query!("DELETE FROM member WHERE class_id = $1", id).execute(&mut *connection).await?;
    for (at, member) in members.iter().enumerate() {
        let plan = plans.get(at).and_then(Option::as_ref).map(|plan| json("a plan", plan)).transpose()?;
        sqlx::query!(
            "INSERT INTO member (class_id, position, sql, switch, plan) VALUES ($1, $2, $3, $4, $5)",
            id,
            position(at),
            member.sql(),
            member.switch(),
            plan
        )
        .execute(&mut *connection)
        .await?;
    }
    for NewProof { record, certificate } in proofs {
        let Some((_, Pair(left, right))) = Pair::parse(&record.id) else { continue };
        let assumptions: Vec<String> = record.assumptions.iter().map(ToString::to_string).collect();
        sqlx::query!(
            "INSERT INTO proof (class_id, left_position, right_position, hash, verdict, assumptions, reason, prover,
                 certificate)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            id,
            position(left),
            position(right),
            record.hash,
            <&str>::from(record.verdict),
            &assumptions,
            record.reason,
            record.prover,
            certificate.as_ref()
        )
        .execute(&mut *connection)
        .await?;
    }
    describe(connection, id, class).await
}
