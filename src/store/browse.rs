//! Discoveries as people look at them: runs, their seeds, each step with what was asked and answered, and candidates.

use super::{Costs, Store, StoreError, Tally};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A discovery in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DiscoveryLine {
    /// Its number.
    pub id: i64,
    /// Of everything that decides what it does.
    pub key: String,
    /// What decides what it does.
    #[schema(value_type = Object)]
    pub config: Value,
    /// Seeds.
    pub seeds: i64,
    /// Seeds whose search ended.
    pub ended: i64,
    /// When it began (RFC 3339, UTC).
    pub created: String,
}

/// What a discovery came to so far.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DiscoveryDetail {
    /// Its line in the list.
    #[serde(flatten)]
    pub line: DiscoveryLine,
    /// Candidates by verdict.
    pub verdicts: std::collections::BTreeMap<String, i64>,
    /// What answered requests cost.
    pub spent: Tally,
    /// What is set aside, at the worst, for requests without an answer.
    pub set_aside: Tally,
    /// Its classes, oldest first.
    pub classes: Vec<DiscoveryClass>,
}

/// A class that a discovery made.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct DiscoveryClass {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: String,
    /// How many members it has.
    pub members: i32,
    /// Similarity of its plans.
    pub similarity: Option<f64>,
    /// Findings in campaigns with it.
    pub findings: i64,
    /// When it came (RFC 3339, UTC).
    pub created: String,
}

/// A seed in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SeedLine {
    /// Its number in the run, from 0.
    pub number: i32,
    /// Its name in the file it is from.
    pub name: Option<String>,
    /// The query.
    pub sql: String,
    /// Why its search ended; null while it has not.
    pub ended: Option<String>,
    /// Steps so far.
    pub steps: i64,
    /// Candidates so far.
    pub candidates: i64,
    /// Of them, those that are proven.
    pub proven: i64,
    /// The class that came of it.
    pub class: Option<String>,
}

/// A seed with all that became of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SeedDetail {
    /// Its line in the list.
    #[serde(flatten)]
    pub line: SeedLine,
    /// The DDL of its tables.
    pub schema: String,
    /// The placeholders' constraints.
    #[schema(value_type = Object)]
    pub placeholders: Value,
    /// Its steps, in order.
    pub step_list: Vec<StepView>,
}

/// A step: one asking, and what it gave.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StepView {
    /// From 0.
    pub number: i32,
    /// `candidates`, or the kind of failure.
    pub outcome: String,
    /// What was asked of the model, if one was.
    #[schema(value_type = Option<Object>)]
    pub request: Option<Value>,
    /// What was answered, as it was recorded.
    #[schema(value_type = Option<Object>)]
    pub exchange: Option<Value>,
    /// Why there is no answer.
    pub error: Option<String>,
    /// Its candidates.
    pub candidates: Vec<CandidateLine>,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CandidateLine {
    /// Its number.
    pub id: i64,
    /// The discovery.
    pub discovery: i64,
    /// The number of its seed.
    pub seed: i32,
    /// The number of its step.
    pub step: i32,
    /// The query.
    pub sql: String,
    /// The query that it should be equivalent to.
    pub seed_sql: String,
    /// The rules that made it, if rules did.
    pub rules: Vec<String>,
    /// `proven`, `refuted`, `unknown` or `duplicate`.
    pub verdict: String,
    /// Why it is unknown.
    pub reason: Option<String>,
    /// INSERT statements after which it differs from its seed.
    pub witness: Option<Vec<String>>,
    /// What its proof takes for granted.
    pub assumptions: Vec<String>,
    /// The prover's name and version.
    pub prover: String,
    /// Why it cannot stand in a class.
    pub unbound: Option<String>,
    /// Why each target refused it.
    #[schema(value_type = Option<Object>)]
    pub refused: Option<Value>,
}

/// Which candidates are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CandidateFilter {
    /// Their verdict.
    pub verdict: Option<String>,
    /// Of a discovery.
    pub discovery: Option<i64>,
    /// Words, all of which are in it.
    pub words: Option<String>,
}

impl Store {
    /// Discoveries, the last ones first: those with smaller numbers than `before`.
    pub async fn run_page(&self, before: Option<i64>, limit: i64) -> Result<Vec<DiscoveryLine>, StoreError> {
        let rows = sqlx::query_as!(
            DiscoveryLine,
            r#"SELECT id, key, config, (SELECT count(*) FROM seed WHERE run_id = run.id) AS "seeds!",
                   (SELECT count(*) FROM seed WHERE run_id = run.id AND ended IS NOT NULL) AS "ended!",
                   utc(created) AS "created!"
               FROM run WHERE purpose = 'discovery' AND ($1::bigint IS NULL OR id < $1) ORDER BY id DESC LIMIT $2"#,
            before,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A discovery.
    pub async fn run_detail(&self, id: i64) -> Result<Option<DiscoveryDetail>, StoreError> {
        let line = sqlx::query_as!(
            DiscoveryLine,
            r#"SELECT id, key, config, (SELECT count(*) FROM seed WHERE run_id = run.id) AS "seeds!",
                   (SELECT count(*) FROM seed WHERE run_id = run.id AND ended IS NOT NULL) AS "ended!",
                   utc(created) AS "created!"
               FROM run WHERE id = $1 AND purpose = 'discovery'"#,
            id
        );
        let Some(line) = line.fetch_optional(&self.pool).await? else { return Ok(None) };
        let verdicts = sqlx::query!(
            r#"SELECT verdict, count(*) AS "count!" FROM candidate JOIN seed ON seed.id = seed_id
               WHERE run_id = $1 GROUP BY verdict"#,
            id
        );
        let verdicts = verdicts.fetch_all(&self.pool).await?.into_iter().map(|row| (row.verdict, row.count)).collect();
        let Costs { spent, set_aside } = self.exchange_costs(id).await?;
        let classes = sqlx::query_as!(
            DiscoveryClass,
            r#"SELECT name, state, members, similarity, findings, utc(created) AS "created!" FROM class
               WHERE id IN (SELECT class_id FROM seed WHERE run_id = $1) ORDER BY class.created, name"#,
            id
        );
        let classes = classes.fetch_all(&self.pool).await?;
        Ok(Some(DiscoveryDetail { line, verdicts, spent, set_aside, classes }))
    }

    /// The seeds of a discovery by number, after one.
    pub async fn seed_page(&self, run: i64, after: Option<i32>, limit: i64) -> Result<Vec<SeedLine>, StoreError> {
        let rows = sqlx::query_as!(
            SeedLine,
            r#"SELECT number, seed.name, sql, ended,
                   (SELECT count(*) FROM step WHERE seed_id = seed.id) AS "steps!",
                   (SELECT count(*) FROM candidate WHERE seed_id = seed.id) AS "candidates!",
                   (SELECT count(*) FROM candidate WHERE seed_id = seed.id AND verdict = 'proven') AS "proven!",
                   (SELECT class.name FROM class WHERE class.id = seed.class_id) AS class
               FROM seed WHERE run_id = $1 AND ($2::int IS NULL OR number > $2) ORDER BY number LIMIT $3"#,
            run,
            after,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A seed of a discovery with its steps.
    pub async fn seed_detail(&self, run: i64, number: i32) -> Result<Option<SeedDetail>, StoreError> {
        let before = number.checked_sub(1);
        let line = self.seed_page(run, before, 1).await?.into_iter().next().filter(|line| line.number == number);
        let Some(line) = line else { return Ok(None) };
        let seed =
            sqlx::query!("SELECT id, schema, placeholders FROM seed WHERE run_id = $1 AND number = $2", run, number)
                .fetch_one(&self.pool)
                .await?;
        let steps = sqlx::query!(
            r#"SELECT step.number, outcome, exchange.request AS "request?", exchange.exchange, exchange.error
               FROM step LEFT JOIN exchange ON exchange.run_id = $2 AND exchange.request_hash = step.request_hash
               WHERE seed_id = $1 ORDER BY step.number"#,
            seed.id,
            run
        )
        .fetch_all(&self.pool)
        .await?;
        let mut candidates = sqlx::query_as!(
            CandidateLine,
            r#"SELECT candidate.id, run_id AS discovery, seed.number AS seed, step, candidate.sql, seed.sql AS seed_sql,
                   rules, verdict, reason, witness, assumptions, prover, unbound, refused
               FROM candidate JOIN seed ON seed.id = seed_id WHERE seed_id = $1 ORDER BY step, position"#,
            seed.id
        )
        .fetch_all(&self.pool)
        .await?;
        let mut step_list = Vec::new();
        for step in steps {
            let (of_step, others) = candidates.into_iter().partition(|candidate| candidate.step == step.number);
            candidates = others;
            step_list.push(StepView {
                number: step.number,
                outcome: step.outcome,
                request: step.request,
                exchange: step.exchange,
                error: step.error,
                candidates: of_step,
            });
        }
        Ok(Some(SeedDetail { line, schema: seed.schema, placeholders: seed.placeholders, step_list }))
    }

    /// Candidates, the last ones first: those with smaller numbers than `before`.
    pub async fn candidate_page(
        &self,
        filter: &CandidateFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<CandidateLine>, StoreError> {
        let rows = sqlx::query_as!(
            CandidateLine,
            r#"SELECT candidate.id, run_id AS discovery, seed.number AS seed, step, candidate.sql, seed.sql AS seed_sql,
                   rules, verdict, reason, witness, assumptions, prover, unbound, refused
               FROM candidate JOIN seed ON seed.id = seed_id
               WHERE ($1::bigint IS NULL OR candidate.id < $1) AND ($2::text IS NULL OR verdict = $2)
                   AND ($3::bigint IS NULL OR run_id = $3)
                   AND ($4::text IS NULL OR words(candidate.sql) @@ plainto_tsquery('simple', plain_words($4)))
               ORDER BY candidate.id DESC LIMIT $5"#,
            before,
            filter.verdict,
            filter.discovery,
            filter.words,
            limit
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A candidate.
    pub async fn candidate_fetch(&self, id: i64) -> Result<Option<CandidateLine>, StoreError> {
        let row = sqlx::query_as!(
            CandidateLine,
            r#"SELECT candidate.id, run_id AS discovery, seed.number AS seed, step, candidate.sql, seed.sql AS seed_sql,
                   rules, verdict, reason, witness, assumptions, prover, unbound, refused
               FROM candidate JOIN seed ON seed.id = seed_id WHERE candidate.id = $1"#,
            id
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }
}
