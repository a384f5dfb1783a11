//! Tokens of the service's clients. The store has a hash of each, never the token.

use super::audit::Change;
use super::{Store, StoreError};
use serde::Serialize;
use serde_json::{Value, json};

/// A token, without what opens anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TokenRow {
    /// Its number, which is in its text.
    pub id: i64,
    /// Whose it is.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// BLAKE3 of its text, in hexadecimal digits.
    #[serde(skip)]
    pub hash: String,
    /// When it was made (RFC 3339, UTC).
    pub created: String,
    /// From when it counts for nothing.
    pub expires: Option<String>,
    /// When somebody took it back.
    pub revoked: Option<String>,
    /// Whether it counts now.
    pub valid: bool,
}

/// Tokens are made and taken back by who can reach the store itself.
fn change<'a>(action: &'a str, name: &str, after: Option<Value>) -> Change<'a> {
    Change { who: "command line", action, subject: format!("token {name}"), before: None, after }
}

impl Store {
    /// The number of the next token.
    pub async fn token_reserve(&self) -> Result<i64, StoreError> {
        let id = sqlx::query_scalar!(r#"SELECT nextval(pg_get_serial_sequence('token', 'id')) AS "id!""#);
        Ok(id.fetch_one(&self.pool).await?)
    }

    /// Adds a token under a reserved number; whether its name was free.
    pub async fn token_put(
        &self,
        id: i64,
        name: &str,
        role: &str,
        hash: &str,
        seconds: Option<u32>,
    ) -> Result<bool, StoreError> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query!(
            "INSERT INTO token (id, name, role, hash, expires) OVERRIDING SYSTEM VALUE
             VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))
             ON CONFLICT (name) DO NOTHING",
            id,
            name,
            role,
            hash,
            seconds.map(f64::from)
        )
        .execute(&mut *tx)
        .await?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        let after = Some(json!({ "role": role, "seconds": seconds }));
        change("create", name, after).note(&mut tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// The token of a number.
    pub async fn token_fetch(&self, id: i64) -> Result<Option<TokenRow>, StoreError> {
        let row = sqlx::query_as!(
            TokenRow,
            r#"SELECT id, name, role, hash, utc(created) AS "created!", utc(expires) AS expires, utc(revoked) AS revoked,
                   (revoked IS NULL AND (expires IS NULL OR expires > now())) AS "valid!"
               FROM token WHERE id = $1"#,
            id
        );
        Ok(row.fetch_optional(&self.pool).await?)
    }

    /// All tokens, in the order in which they were made.
    pub async fn token_list(&self) -> Result<Vec<TokenRow>, StoreError> {
        let rows = sqlx::query_as!(
            TokenRow,
            r#"SELECT id, name, role, hash, utc(created) AS "created!", utc(expires) AS expires, utc(revoked) AS revoked,
                   (revoked IS NULL AND (expires IS NULL OR expires > now())) AS "valid!"
               FROM token ORDER BY id"#
        );
        Ok(rows.fetch_all(&self.pool).await?)
    }

    /// Takes a token back; whether there was one of the name that counted.
    pub async fn token_revoke(&self, name: &str) -> Result<bool, StoreError> {
        let mut tx = self.pool.begin().await?;
        let done = sqlx::query!("UPDATE token SET revoked = now() WHERE name = $1 AND revoked IS NULL", name);
        if done.execute(&mut *tx).await?.rows_affected() == 0 {
            return Ok(false);
        }
        change("revoke", name, None).note(&mut tx).await?;
        tx.commit().await?;
        Ok(true)
    }
}
