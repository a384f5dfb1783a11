//! Snippets: expressions that fill placeholders, by dialect.

use super::audit::Change;
use super::{Store, StoreError, Written, parse, storable};
use crate::catalogue::SnippetLine;
use crate::sql::snippet::SnippetKind;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A snippet.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SnippetRow {
    /// Its number.
    pub id: i64,
    /// The dialect.
    pub dialect: String,
    /// What it stands for: `expression` or `table`.
    pub kind: String,
    /// The expression, or the query.
    pub sql: String,
    /// Where it is from.
    pub origin: String,
    /// Why no campaign uses it; null for one that may be used.
    pub disabled: Option<String>,
    /// Builds of engines that were seen to take it.
    pub taken: i64,
    /// Builds of engines that were seen to refuse it, or to contradict what it must be.
    pub refused: i64,
    /// Counts its changes.
    pub revision: i64,
    /// When it came (RFC 3339, UTC).
    pub created: String,
}

/// Which snippets are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnippetFilter {
    /// Of a dialect.
    pub dialect: Option<String>,
    /// `expression` or `table`.
    pub kind: Option<String>,
    /// Words, all of which are in it.
    pub words: Option<String>,
    /// Only those that are disabled, or only the others.
    pub disabled: Option<bool>,
    /// Only those that a build refused, or only those that none did.
    pub refused: Option<bool>,
}

/// Where snippets are from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Provenance {
    /// In a few words.
    pub origin: String,
    /// The run that asked for them, if a model wrote them.
    pub run: Option<i64>,
    /// The request.
    pub request_hash: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What of the documentation it was shown.
    pub documentation: Vec<String>,
}

/// A build of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build<'a> {
    /// The target, as it was named.
    pub dbms: &'a str,
    /// The version that it says it is.
    pub version: &'a str,
    /// What tells it from other builds.
    pub build_id: &'a str,
}

/// What a build was seen to make of a snippet.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ValidationRow {
    /// The target.
    pub dbms: String,
    /// Its version.
    pub version: String,
    /// What tells the build from others.
    pub build_id: String,
    /// Whether it may be used there.
    pub valid: bool,
    /// Its claims as they were read back, or why it may not be used.
    #[schema(value_type = Object)]
    pub verdict: Value,
    /// When it was seen last (RFC 3339, UTC).
    pub validated: String,
}

/// A snippet that another one is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ParentRow {
    /// Its number.
    pub id: i64,
    /// `outer`, or `inner`: this stands in the place of a column of the outer one.
    pub place: String,
    /// Its text.
    pub sql: String,
}

impl Store {
    /// Adds snippets of a dialect; how many of them were new. What they claim is validated on the engine that uses them.
    pub async fn snippet_put(
        &self,
        dialect: &str,
        kind: SnippetKind,
        provenance: &Provenance,
        snippets: &[String],
    ) -> Result<u64, StoreError> {
        let Provenance { origin, run, request_hash, model, documentation } = provenance;
        let done = sqlx::query!(
            "INSERT INTO snippet (dialect, kind, origin, run_id, request_hash, model, documentation, sql)
             SELECT $1, $2, $3, $4, $5, $6, $7, sql FROM unnest($8::text[]) AS new (sql)
             ON CONFLICT (dialect, sql) DO NOTHING",
            dialect,
            <&str>::from(kind),
            origin,
            *run,
            request_hash.as_deref(),
            model.as_deref(),
            documentation,
            snippets
        )
        .execute(&self.pool)
        .await?;
        Ok(done.rows_affected())
    }

    /// The snippets of a dialect that may be used, in the order in which they came.
    pub async fn snippet_list(&self, dialect: &str) -> Result<Vec<SnippetLine>, StoreError> {
        let rows = sqlx::query!(
            "SELECT kind, sql, origin FROM snippet WHERE dialect = $1 AND disabled IS NULL ORDER BY id",
            dialect
        );
        let rows = rows.fetch_all(&self.pool).await?.into_iter();
        rows.map(|row| {
            let kind = parse("the kind of a snippet", &row.kind)?;
            Ok(SnippetLine { sql: row.sql, kind, origin: row.origin, feature: None })
        })
        .collect()
    }

    /// Where a snippet is from.
    pub async fn snippet_provenance(&self, id: i64) -> Result<Option<Provenance>, StoreError> {
        let row =
            sqlx::query!("SELECT origin, run_id, request_hash, model, documentation FROM snippet WHERE id = $1", id);
        let row = row.fetch_optional(&self.pool).await?;
        Ok(row.map(|row| Provenance {
            origin: row.origin,
            run: row.run_id,
            request_hash: row.request_hash,
            model: row.model,
            documentation: row.documentation,
        }))
    }

    /// Notes what combinations are made of: of each its text, the outer one's and the inner one's. What is not stored is left
    /// out.
    pub async fn snippet_made_of(&self, dialect: &str, combinations: &[[String; 3]]) -> Result<(), StoreError> {
        for place in ["outer", "inner"] {
            let parent = |of: &[String; 3]| of[if place == "outer" { 1 } else { 2 }].clone();
            let texts: Vec<String> = combinations.iter().map(|of| of[0].clone()).collect();
            let parents: Vec<String> = combinations.iter().map(parent).collect();
            sqlx::query!(
                "INSERT INTO snippet_parent (snippet_id, parent_id, place)
                 SELECT made.id, parent.id, $2 FROM unnest($3::text[], $4::text[]) AS new (sql, parent)
                     JOIN snippet AS made ON made.dialect = $1 AND made.sql = new.sql
                     JOIN snippet AS parent ON parent.dialect = $1 AND parent.sql = new.parent
                 ON CONFLICT DO NOTHING",
                dialect,
                place,
                &texts,
                &parents
            )
            .execute(&self.pool)
            .await?;
        }
        Ok(())
    }

    /// What a snippet is made of, if it is a combination.
    pub async fn snippet_parents(&self, id: i64) -> Result<Vec<ParentRow>, StoreError> {
        let rows = sqlx::query_as!(
            ParentRow,
            "SELECT snippet.id, place, sql FROM snippet_parent JOIN snippet ON snippet.id = parent_id
             WHERE snippet_id = $1 ORDER BY place DESC",
            id
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// Notes what a build makes of snippets of a dialect: of each its text, whether it is valid, and the verdict.
    pub async fn snippet_validated(
        &self,
        dialect: &str,
        build: &Build<'_>,
        verdicts: &[(String, bool, Value)],
    ) -> Result<(), StoreError> {
        let texts: Vec<String> = verdicts.iter().map(|(sql, ..)| sql.clone()).collect();
        let valid: Vec<bool> = verdicts.iter().map(|(_, valid, _)| *valid).collect();
        let said: Vec<Value> = verdicts.iter().map(|(.., verdict)| storable(verdict.clone())).collect();
        sqlx::query!(
            "INSERT INTO snippet_validation (snippet_id, build_id, dbms, version, verdict, valid)
             SELECT snippet.id, $2, $3, $4, new.verdict, new.valid
             FROM unnest($5::text[], $6::bool[], $7::jsonb[]) AS new (sql, valid, verdict)
                 JOIN snippet ON snippet.dialect = $1 AND snippet.sql = new.sql
             ON CONFLICT (snippet_id, build_id) DO UPDATE SET verdict = EXCLUDED.verdict, valid = EXCLUDED.valid,
                 dbms = EXCLUDED.dbms, version = EXCLUDED.version, validated = now()",
            dialect,
            build.build_id,
            build.dbms,
            build.version,
            &texts,
            &valid,
            &said
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// What builds were seen to make of a snippet.
    pub async fn snippet_validations(&self, id: i64) -> Result<Vec<ValidationRow>, StoreError> {
        let rows = sqlx::query_as!(
            ValidationRow,
            r#"SELECT dbms, version, build_id, valid, verdict, utc(validated) AS "validated!" FROM snippet_validation
               WHERE snippet_id = $1 ORDER BY dbms, snippet_validation.validated"#,
            id
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// Snippets in the order in which they came, after one.
    pub async fn snippet_page(
        &self,
        filter: &SnippetFilter,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<SnippetRow>, StoreError> {
        let SnippetFilter { dialect, kind, words, disabled, refused } = filter;
        let rows = sqlx::query_as!(
            SnippetRow,
            r#"SELECT id, dialect, kind, sql, origin, disabled, seen.taken AS "taken!", seen.refused AS "refused!", revision,
                   utc(created) AS "created!"
               FROM snippet CROSS JOIN LATERAL (
                   SELECT count(*) FILTER (WHERE valid) AS taken, count(*) FILTER (WHERE NOT valid) AS refused
                   FROM snippet_validation WHERE snippet_id = id) AS seen
               WHERE ($1::text IS NULL OR dialect = $1)
                   AND ($2::text IS NULL OR words(sql) @@ plainto_tsquery('simple', plain_words($2)))
                   AND ($3::bool IS NULL OR (disabled IS NOT NULL) = $3) AND ($4::bigint IS NULL OR id > $4)
                   AND ($6::text IS NULL OR kind = $6)
                   AND ($7::bool IS NULL OR EXISTS (
                       SELECT FROM snippet_validation WHERE snippet_id = id AND NOT valid) = $7)
               ORDER BY id LIMIT $5"#,
            dialect.as_deref(),
            words.as_deref(),
            *disabled,
            after,
            limit,
            kind.as_deref(),
            *refused
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// A snippet.
    pub async fn snippet_fetch(&self, id: i64) -> Result<Option<SnippetRow>, StoreError> {
        let row = sqlx::query_as!(
            SnippetRow,
            r#"SELECT id, dialect, kind, sql, origin, disabled, seen.taken AS "taken!", seen.refused AS "refused!", revision,
                   utc(created) AS "created!"
               FROM snippet CROSS JOIN LATERAL (
                   SELECT count(*) FILTER (WHERE valid) AS taken, count(*) FILTER (WHERE NOT valid) AS refused
                   FROM snippet_validation WHERE snippet_id = id) AS seen
               WHERE id = $1"#,
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
