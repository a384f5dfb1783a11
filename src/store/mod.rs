//! The store: PostgreSQL, and the only place that knows its SQL.
//!
//! Without `DATABASE_URL` it is a private server ([`cluster`]), with it any PostgreSQL from version 15. Everything is in
//! a schema of its own, `caqtus`, so that a database can be shared with other programs. One file per resource; the
//! functions are named after what they are about first and what they do second, as in `class_fetch`.
//!
//! Queries are checked when the program is compiled, against `.sqlx`, which `make queries` writes anew.
//!
//! Invariant: each function is one transaction, keyed by content, so that repeating it changes nothing.

mod audit;
mod bench;
mod browse;
mod bug;
mod campaign;
mod class;
mod class_run;
mod cluster;
mod coverage;
mod discovery;
mod event;
mod group;
mod job;
mod review;
mod snippet;
mod token;

pub use audit::AuditRow;
pub use browse::{
    CandidateFilter, CandidateLine, DiscoveryClass, DiscoveryDetail, DiscoveryLine, SeedDetail, SeedLine, StepView,
};
pub use bug::{BugChange, BugDetail, BugFilter, BugLine, BugState, FindingFilter, FindingLine, NoteRow};
pub use campaign::{CampaignDetail, CampaignLine, CampaignRow, NewCampaign, OpenCampaign, SampleRow, Started};
pub use class::{CheckedBy, ClassState, ClassSummary, NewClass, NewProof, PutOutcome, StoredClass};
pub use class_run::{ClassCases, ClassRun};
pub use coverage::{CoverageLine, CoverageRow};
pub use discovery::{
    CandidateRow, CandidateTotal, CandidateVerdict, Costs, ExchangeOutcome, ExchangeRow, Run, RunClass, SeedRow,
    StepRow, Stored, Tally,
};

pub use event::{EventListener, EventRow};
pub use group::{IgnoredBug, Merge, Split};
pub use job::{JobRow, NewJob};
pub use review::{ClassDetail, ClassFilter, ClassLine, QueuedClass, Withdrawal, reviewed};
pub use snippet::{Build, ParentRow, Provenance, SnippetFilter, SnippetRow, ValidationRow};
pub use token::TokenRow;

use crate::clock;
use cluster::Cluster;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{ConnectOptions as _, Connection as _, PgPool, Postgres, Transaction};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Connections held at once by a command.
const CONNECTIONS_MAX: u32 = 4;

/// Connections held at once by a service.
const SERVICE_CONNECTIONS_MAX: u32 = 16;

/// The longest that a service waits for a connection, and for a statement.
const SERVICE_WAIT_MS: u64 = 5_000;
const SERVICE_STATEMENT_MS: u64 = 10_000;

/// SQLSTATE of a server that starts or shuts down (<https://www.postgresql.org/docs/current/errcodes-appendix.html>),
/// how long that is waited for, and the pause between attempts.
const CANNOT_CONNECT_NOW: &str = "57P03";
const READY_WAIT: Duration = Duration::from_mins(1);
const READY_PAUSE: Duration = Duration::from_millis(200);

/// Why the store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// No PostgreSQL is found and no URL is given.
    #[error(
        "the store needs a PostgreSQL server, and none is installed here: install one (Debian: apt-get install \
         postgresql; Fedora: dnf install postgresql-server), or set DATABASE_URL to one that runs elsewhere"
    )]
    NotInstalled,
    /// What is installed is too old.
    #[error("PostgreSQL {found} is installed; the store needs version 15 or newer: install one, or set DATABASE_URL")]
    TooOld {
        /// The newest version found.
        found: u32,
    },
    /// The private cluster was made by a version that is gone.
    #[error(
        "the private store was made by PostgreSQL {major}, which is no longer installed: install it again, or set \
         DATABASE_URL to another server"
    )]
    OtherVersion {
        /// That version.
        major: u32,
    },
    /// The private cluster cannot be where it should be.
    #[error("{0} has characters that PostgreSQL's programs mistake; name another directory with --data-dir")]
    Path(String),
    /// A server of our own has no account to run it.
    #[error(transparent)]
    Account(#[from] crate::server::ServerError),
    /// A program of PostgreSQL failed.
    #[error("{program} failed: {message}")]
    Server {
        /// The program.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// A file or directory of the private cluster cannot be used.
    #[error("cannot use {what}")]
    File {
        /// The file.
        what: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The URL is none.
    #[error("DATABASE_URL is no URL of a PostgreSQL server, as in postgres://user@host/database")]
    Url(#[source] sqlx::Error),
    /// The server cannot be reached.
    #[error("cannot connect to the store")]
    Connect(#[source] sqlx::Error),
    /// The server's version is too old.
    #[error("the server of DATABASE_URL is PostgreSQL {0}; the store needs version 15 or newer")]
    ServerTooOld(u32),
    /// The tables cannot be brought to the present form.
    #[error("cannot bring the store's tables up to date")]
    Migrate(#[source] sqlx::migrate::MigrateError),
    /// A statement failed.
    #[error("the store refuses a statement")]
    Query(#[from] sqlx::Error),
    /// What is stored is not what this version writes.
    #[error("{what} in the store cannot be read")]
    Content {
        /// Which row.
        what: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A word that this version does not write.
    #[error("{what} in the store is `{text}`, which this version does not know; a newer one may have written it")]
    Word {
        /// Of which row.
        what: &'static str,
        /// The word.
        text: String,
    },
    /// Two programs on one run.
    #[error("another caqtus is at work on run {0}; wait for it, or stop it")]
    RunInUse(String),
    /// Two classes of a name.
    #[error("the store has a class called {0} over another schema or another first member; rename one of them")]
    NameTaken(String),
}

impl StoreError {
    /// Whether the server is away or has no time, which may pass.
    pub fn is_away(&self) -> bool {
        matches!(
            self,
            Self::Connect(_) | Self::Query(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
        ) || matches!(self, Self::Query(sqlx::Error::Database(error)) if error.code().is_some_and(|code| {
            // Connections that the server closes, too many of them, a server that starts or stops, a statement's time.
            code.starts_with("08") || code.starts_with("53") || code.starts_with("57")
        }))
    }
}

/// What became of a change to a row as it was at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is made; the revision since.
    Done(i64),
    /// Somebody else was faster: the present revision.
    Stale(i64),
    /// There is no such row.
    Missing,
}

/// The store. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    /// Dropped last: the server is stopped when the connections are closed.
    cluster: Option<Arc<Cluster>>,
}

impl Store {
    /// Connects to `url`, or to a private server in the data directory, and brings the tables up to date.
    pub async fn open(url: Option<&str>, data_dir: &Path) -> Result<Self, StoreError> {
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS_MAX);
        Self::open_with(url, data_dir, pool, &[]).await
    }

    /// The same for a service, which answers many at once and lets nobody wait for long.
    pub async fn open_for_service(url: Option<&str>, data_dir: &Path) -> Result<Self, StoreError> {
        let pool = PgPoolOptions::new()
            .max_connections(SERVICE_CONNECTIONS_MAX)
            .acquire_timeout(Duration::from_millis(SERVICE_WAIT_MS));
        let statement_ms = SERVICE_STATEMENT_MS.to_string();
        // The statements of lists have filters that are mostly absent, and one plan does not serve them all.
        let settings = [("plan_cache_mode", "force_custom_plan"), ("statement_timeout", statement_ms.as_str())];
        Self::open_with(url, data_dir, pool, &settings).await
    }

    /// Starts the private server again if it has died. Nothing for a server of somebody else.
    pub async fn ensure_running(&self) -> Result<(), StoreError> {
        let Some(cluster) = self.cluster.clone() else { return Ok(()) };
        // What panics there is in the log; the next look comes soon.
        tokio::task::spawn_blocking(move || cluster.ensure_running()).await.unwrap_or(Ok(()))
    }

    async fn open_with(
        url: Option<&str>,
        data_dir: &Path,
        pool: PgPoolOptions,
        settings: &[(&str, &str)],
    ) -> Result<Self, StoreError> {
        let (options, cluster) = if let Some(url) = url {
            // For servers with TLS; a second installation of a provider changes nothing.
            let _ = rustls::crypto::ring::default_provider().install_default();
            (PgConnectOptions::from_str(url).map_err(StoreError::Url)?, None)
        } else {
            let cluster = Cluster::open(data_dir)?;
            let options = PgConnectOptions::new_without_pgpass()
                .host(&cluster.socket.display().to_string())
                .port(cluster::PORT)
                .username("caqtus")
                .database("postgres")
                .ssl_mode(PgSslMode::Disable);
            (options, Some(Arc::new(cluster)))
        };
        let options =
            options.options([("search_path", "caqtus")]).application_name("caqtus").disable_statement_logging();
        let deadline = clock::now() + READY_WAIT;
        let mut first = loop {
            match options.connect().await {
                Err(error) if is_not_ready(&error, cluster.is_some()) && clock::now() < deadline => {
                    tokio::time::sleep(READY_PAUSE).await;
                    cluster.as_deref().map(Cluster::ensure_running).transpose()?;
                }
                result => break result.map_err(StoreError::Connect)?,
            }
        };
        let number: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&mut first)
            .await
            .map_err(StoreError::Connect)?;
        let major = u32::try_from(number / 10_000).unwrap_or_default();
        if major < cluster::MAJOR_MIN {
            return Err(StoreError::ServerTooOld(major));
        }
        // Two programs that start at once would both find it missing. The lock lasts until the schema is committed.
        sqlx::raw_sql(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtext('caqtus schema')); CREATE SCHEMA IF NOT EXISTS caqtus; COMMIT",
        )
        .execute(&mut first)
        .await?;
        sqlx::migrate!().run(&mut first).await.map_err(StoreError::Migrate)?;
        first.close().await?;
        let pool = pool.connect_with(options.options(settings.iter().copied())).await;
        Ok(Self { pool: pool.map_err(StoreError::Connect)?, cluster })
    }

    /// Whether the server answers.
    pub async fn is_there(&self) -> Result<(), StoreError> {
        sqlx::query_scalar!(r#"SELECT 1 AS "one!""#).fetch_one(&self.pool).await?;
        Ok(())
    }

    /// Begins to read: everything is of one moment, and nobody waits.
    async fn snapshot(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        Ok(self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
    }

    /// Closes the connections, those of clones too, and stops the private server unless somebody else uses it.
    pub async fn close(self) {
        self.pool.close().await;
        drop(self.cluster);
    }
}

/// Whether a server takes no connections yet, or none any more because it shuts down. A program that was killed while it
/// stopped the private server leaves it so, and then the server is gone.
fn is_not_ready(error: &sqlx::Error, private: bool) -> bool {
    match error {
        sqlx::Error::Database(error) => error.code().as_deref() == Some(CANNOT_CONNECT_NOW),
        _ => private && matches!(error, sqlx::Error::Io(_)),
    }
}

/// Reads a JSON column.
fn read<T: serde::de::DeserializeOwned>(what: impl Into<String>, value: serde_json::Value) -> Result<T, StoreError> {
    serde_json::from_value(value).map_err(|source| StoreError::Content { what: what.into(), source })
}

/// Reads a column that holds one of some words.
fn parse<T: FromStr>(what: &'static str, text: &str) -> Result<T, StoreError> {
    text.parse().map_err(|_| StoreError::Word { what, text: text.to_owned() })
}

/// Writes a JSON column.
fn json<T: serde::Serialize>(what: &str, value: &T) -> Result<serde_json::Value, StoreError> {
    let value = serde_json::to_value(value).map_err(|source| StoreError::Content { what: what.to_owned(), source })?;
    Ok(storable(value))
}

/// Text that PostgreSQL can store: it knows no NUL, which models and engines do write.
fn text(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// The same for every text in a JSON value.
fn storable(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(string) => Value::String(text(&string)),
        Value::Array(items) => items.into_iter().map(storable).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (text(&name), storable(value))).collect(),
        other => other,
    }
}
