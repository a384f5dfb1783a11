//! PostgreSQL, over its wire protocol in text form: a server that the user names, or one of our own.
//!
//! Everything happens in one transaction per database, in a schema made for it, and is rolled back: nothing is ever left
//! behind in a server, whatever becomes of this process. A statement that fails would end the transaction, so a savepoint
//! stands between two messages, always: it is moved behind a statement that stays, in the statement's message. One that
//! were made in the message of what it guards would not be there for a text that does not parse, because the server reads
//! all of a message before it runs any of it.

use super::{Connection, EngineError, ErrorClass, number};
use crate::clock;
use crate::compare::Row;
use crate::config::{StatementLimits, password};
use crate::server::postgres::{self as programs, PORT, Programs};
use crate::server::private::{Ended, Revivable, Room};
use crate::server::{Account, ServerError};
use crate::sql::profile::{Profile, Switch};
use crate::sql::types::{SqlType, Value};
use futures::TryStreamExt as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow, PgValueRef};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Either, Executor as _, Row as _, Statement as _, TypeInfo as _,
};
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::runtime::Runtime;

/// Beyond the server's own limit for a statement: then it does not obey.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a server of our own that was lost, or one that recovers, may take to come back.
const RETURN_MAX: Duration = Duration::from_secs(10);

/// How long a server that is not ours is tried to be reached again; who hunts on it waits longer, in one place.
const REACH_MAX: Duration = Duration::from_secs(1);

/// How long a server that shuts down at once still answers: it kills what runs on after five seconds (SIGQUIT in section
/// "Shutting Down the Server" of the manual).
const SHUTDOWN_MAX: Duration = Duration::from_secs(7);

/// How long a server may take to notice that one of its processes crashed: the memory of that process is written to disk
/// before.
const NOTICED_MAX: Duration = Duration::from_secs(4);

/// The code of a server that comes up again after a crash, or shuts down (appendix A of the manual, class 57).
const RECOVERING: &str = "57P03";

/// Why a server cannot be used. Each message says what to do next.
#[derive(Debug, Error)]
pub enum PostgresError {
    /// The URL is none.
    #[error("`{url}` is no URL of a PostgreSQL server; write postgres://user:password@host:5432/database")]
    Url {
        /// The URL without its password.
        url: String,
        /// What is wrong.
        #[source]
        source: Box<sqlx::Error>,
    },
    /// The server does not let us in.
    #[error("cannot connect to {url}: {message}")]
    Connect {
        /// The URL without its password.
        url: String,
        /// What was said, with what to do.
        message: String,
    },
    /// The database is in use.
    #[error(
        "the database of {url} holds what Caqtus did not make ({objects}), and Caqtus works in databases of its own only; \
         make one with `CREATE DATABASE caqtus` and name it in the URL"
    )]
    Foreign {
        /// The URL without its password.
        url: String,
        /// Some of it.
        objects: String,
    },
    /// A server of our own does not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Something else.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A connection to a database of a PostgreSQL server.
pub struct Postgres {
    connection: Option<PgConnection>,
    runtime: Runtime,
    options: PgConnectOptions,
    private: Option<Revivable>,
    profile: Arc<Profile>,
    limits: StatementLimits,
    schema: String,
    version: String,
    build_id: String,
    /// How many rows the last message changed.
    changed: u64,
    /// Whether the server starts itself again after a crash. Otherwise one that crashed is gone.
    restarts: bool,
    /// Nothing listened where it was tried to reach it last.
    refused: bool,
}

impl Postgres {
    /// Starts a server of our own with these programs.
    pub fn private(
        programs: Programs,
        data_dir: &Path,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Self, PostgresError> {
        let room = Room::open(data_dir, Account::choose(data_dir)?)?;
        let (maker, data_dir) = (programs.clone(), data_dir.to_path_buf());
        let make = move |room: &Room| programs::make_cluster(&maker, &data_dir, room);
        let server = Revivable::new(room, make, move |data, room| programs::start(&programs, data, room))?;
        let options = PgConnectOptions::new_without_pgpass().socket(server.dir()).port(PORT).username(programs::TESTER);
        Self::open(options.database("postgres"), Some(server), "a private server", profile, limits)
    }

    /// Connects to a server.
    pub fn url(url: &str, profile: Arc<Profile>, limits: StatementLimits) -> Result<Self, PostgresError> {
        let shown = without_password(url);
        let options = PgConnectOptions::from_str(url)
            .map_err(|source| PostgresError::Url { url: shown.clone(), source: Box::new(source) })?;
        let options = match password() {
            Some(password) => options.password(&password),
            None => options,
        };
        Self::open(options, None, &shown, profile, limits)
    }

    fn open(
        options: PgConnectOptions,
        private: Option<Revivable>,
        shown: &str,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Self, PostgresError> {
        let internal = |error: std::io::Error| EngineError::new(ErrorClass::ConnectionLost, error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(internal)?;
        let options =
            options.application_name("caqtus").log_statements(log::LevelFilter::Off).statement_cache_capacity(0);
        let schema = format!("caqtus_{}_{:x}", std::process::id(), clock::unix_nanos() & 0xffff);
        let (version, build_id) = (String::new(), String::new());
        let mut postgres = Self {
            connection: None,
            runtime,
            options,
            private,
            profile,
            limits,
            schema,
            version,
            build_id,
            changed: 0,
            restarts: true,
            refused: false,
        };
        // A private server may still be starting up when its socket answers.
        let deadline = clock::now() + RETURN_MAX;
        while let Err(error) = postgres.connect() {
            if error.code != RECOVERING || clock::now() > deadline {
                let message = connect_advice(&error);
                return Err(PostgresError::Connect { url: shown.to_owned(), message });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let one = |rows: Vec<Row>| rows.into_iter().flatten().next().map_or_else(String::new, text_of);
        postgres.version = one(postgres.send("SHOW server_version")?);
        postgres.build_id = one(postgres.send("SELECT version()")?);
        // What only speaks its protocol may not have that setting.
        postgres.restarts = postgres.send("SHOW restart_after_crash").map(one).ok().as_deref() != Some("off");
        let objects: Vec<String> = postgres.send(FOREIGN)?.into_iter().flatten().map(text_of).collect();
        if !objects.is_empty() {
            return Err(PostgresError::Foreign { url: shown.to_owned(), objects: objects.join(", ") });
        }
        postgres.reset()?;
        Ok(postgres)
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        let limit = Duration::from_secs(10);
        let connecting = self.options.connect();
        let connected = self.runtime.block_on(async { tokio::time::timeout(limit, connecting).await });
        self.refused = false;
        match connected {
            Ok(Ok(connection)) => {
                self.connection = Some(connection);
                Ok(())
            }
            Ok(Err(error)) => {
                let kind = if let sqlx::Error::Io(error) = &error { Some(error.kind()) } else { None };
                self.refused = matches!(kind, Some(ErrorKind::ConnectionRefused | ErrorKind::NotFound));
                let lost = || EngineError::new(ErrorClass::ConnectionLost, error.to_string());
                Err(error.as_database_error().map_or_else(lost, |said| self.reported(said)))
            }
            Err(_) => Err(EngineError::new(ErrorClass::ConnectionLost, "no answer within 10 seconds")),
        }
    }

    fn reported(&self, error: &(dyn sqlx::error::DatabaseError + 'static)) -> EngineError {
        let code = error.code().map(Cow::into_owned).unwrap_or_default();
        EngineError { class: self.profile.error_class(&code), code, message: error.message().to_owned() }
    }

    /// Sends statements in one message and collects the rows of all.
    fn send(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(EngineError::new(ErrorClass::ConnectionLost, "there is no connection"));
        };
        let limits = self.limits;
        let work = async {
            let mut rows = Vec::new();
            let mut stream = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_many(connection);
            let mut changed = 0;
            while let Some(step) = stream.try_next().await? {
                match step {
                    Either::Left(done) => changed += done.rows_affected(),
                    Either::Right(_) if rows.len() as u64 >= limits.rows_max => {
                        return Ok(Err(EngineError::too_many_rows(limits)));
                    }
                    Either::Right(row) => rows.push(read_row(&row)?),
                }
            }
            Ok(Ok((rows, changed)))
        };
        let limit = Duration::from_millis(limits.time_max_ms) + PATIENCE;
        let done: Result<Result<Result<_, EngineError>, sqlx::Error>, _> =
            self.runtime.block_on(async { tokio::time::timeout(limit, work).await });
        match done {
            Ok(Ok(done)) => done.map(|(rows, changed)| {
                self.changed = changed;
                rows
            }),
            Ok(Err(error)) => Err(match error.as_database_error() {
                Some(said) => {
                    let error = self.reported(said);
                    if error.class == ErrorClass::ConnectionLost {
                        self.connection = None;
                    }
                    error
                }
                None => self.failed(&error),
            }),
            Err(_) => Err(self.hangs()),
        }
    }

    /// An error that is not the server's own.
    fn failed(&mut self, error: &sqlx::Error) -> EngineError {
        if let sqlx::Error::Io(cause) = error {
            return self.lost(cause.kind(), &error.to_string());
        }
        // The client cannot read a type of the result, such as a multirange, and is left amid an answer.
        self.connection = None;
        EngineError::new(ErrorClass::Unsupported, format!("the client: {error}"))
    }

    /// The connection ended without a word: did the server crash?
    fn lost(&mut self, kind: ErrorKind, message: &str) -> EngineError {
        self.connection = None;
        let crash = |how: &str| EngineError::new(ErrorClass::Crash, format!("the server crashed: {how}"));
        let lost = |how: &str| EngineError::new(ErrorClass::ConnectionLost, how);
        if let Some(server) = self.private.as_mut() {
            if let Some(Ended { how, crashed }) = server.verdict(is_crash) {
                return if crashed { crash(&how) } else { lost(&how) };
            }
        } else if self.recovers() {
            return crash("it recovered");
        } else if self.refused && !self.restarts && kind != ErrorKind::BrokenPipe {
            // One that is asked to end says so to who waits for it, and to who does not a broken pipe shows that it was gone
            // before it was asked anything. To those who connect it says the same as one that goes down after a crash.
            return crash("it is gone, and restart_after_crash is off");
        }
        lost(message)
    }

    /// Whether the server starts all over, as after a crash. It says the same to whoever connects while it shuts down, and
    /// then takes no more connections.
    fn recovers(&mut self) -> bool {
        let began = clock::now();
        let deadline = began + SHUTDOWN_MAX;
        let mut refused = false;
        loop {
            let reached = self.connect();
            self.connection = None;
            let waits = clock::now() < deadline;
            match reached {
                Err(error) if error.code == RECOVERING && waits => refused = true,
                Err(error) if error.code == RECOVERING => return true,
                // The client of a process that crashed may know it before the server does, which takes connections until then.
                _ if !refused && clock::now() < began + NOTICED_MAX => {}
                Ok(()) => return refused,
                // One that goes down breaks what it took last: what becomes of it is not known before nothing answers.
                Err(_) if !self.refused && waits => {}
                Err(_) => return false,
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The statement runs on after the server was told to end it.
    fn hangs(&mut self) -> EngineError {
        self.connection = None;
        // A server of our own is started anew by the next reset; another one keeps the statement, which is not ours to kill
        // from outside.
        if let Some(server) = self.private.as_mut() {
            server.end();
        }
        EngineError::new(ErrorClass::Hang, "the statement went on after its time limit")
    }

    /// Reaches the server again, starting it if it is ours and ended.
    fn reconnect(&mut self) -> Result<(), EngineError> {
        let deadline = clock::now() + if self.private.is_some() { RETURN_MAX } else { REACH_MAX };
        loop {
            // What is left of a server that was killed may keep the next one from starting for a moment.
            let revived = self.private.as_mut().map_or(Ok(()), Revivable::revive);
            let reached = match revived {
                Ok(()) => self.connect(),
                Err(error) => Err(EngineError::new(ErrorClass::ConnectionLost, error.to_string())),
            };
            match reached {
                Ok(()) => return Ok(()),
                Err(error) if clock::now() > deadline => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Runs statements, and goes back to the savepoint if they fail.
    fn guarded(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let result = self.send(sql);
        if result.is_err() {
            self.back()?;
        }
        result
    }

    /// Goes back to the savepoint.
    fn back(&mut self) -> Result<(), EngineError> {
        if self.connection.is_none() {
            return Ok(());
        }
        self.must("ROLLBACK TO SAVEPOINT q")
    }

    /// Runs what only fails where the state of the transaction is not known any more. It is then given up with its
    /// connection, rather than that everything behind is refused.
    fn must(&mut self, sql: &str) -> Result<(), EngineError> {
        self.send(sql).map(drop).map_err(|error| {
            self.connection = None;
            EngineError { class: ErrorClass::ConnectionLost, ..error }
        })
    }
}

/// Makes all statements before it stay.
const STAY: &str = "RELEASE SAVEPOINT q; SAVEPOINT q";

/// Tables and views that are not the system's, not an extension's, and not ours.
const FOREIGN: &str = r"SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^(pg_|caqtus_)'
AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1 LIMIT 3";

/// Whether a line of the log says that a backend crashed.
fn is_crash(line: &str) -> bool {
    line.contains("was terminated by signal") || line.contains("TRAP:") || line.contains("PANIC:")
}

fn text_of(value: Value) -> String {
    match value {
        Value::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        other => other.to_string(),
    }
}

/// The URL as it may be shown.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((login, place)) => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{place}")
        }
        None => url.to_owned(),
    }
}

/// What to do about a connection that was refused.
fn connect_advice(error: &EngineError) -> String {
    let advice = match error.code.as_str() {
        "28P01" | "28000" => "; check user and password in the URL",
        "3D000" => "; make the database with `CREATE DATABASE`, empty and for Caqtus alone",
        "53300" => "; too many connections: use fewer --workers",
        "" => "; check host and port, and that the server runs",
        _ => "",
    };
    format!("{}{advice}", error.message)
}

fn read_row(row: &PgRow) -> Result<Row, sqlx::Error> {
    (0..row.len()).map(|column| row.try_get_raw(column).map(|value| read_value(&value))).collect()
}

/// A value in text form.
fn read_value(value: &PgValueRef<'_>) -> Value {
    let Ok(text) = value.as_str() else { return Value::Null };
    let ty = sqlx::ValueRef::type_info(value);
    match ty.name() {
        "BOOL" => Value::Bool(text == "t"),
        "INT2" | "INT4" | "INT8" | "NUMERIC" => number(text),
        "FLOAT4" | "FLOAT8" => text.parse().map_or_else(|_| Value::Text(text.as_bytes().to_vec()), Value::Real),
        "BYTEA" => Value::Blob(bytes(text)),
        _ => Value::Text(text.as_bytes().to_vec()),
    }
}

/// The bytes of `\x6162`.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("\\x").unwrap_or(text).as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok()).unwrap_or(0);
    digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

impl Connection for Postgres {
    fn version(&self) -> String {
        self.version.split(' ').next().unwrap_or_default().to_owned()
    }

    fn build_id(&self) -> String {
        self.build_id.clone()
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        if self.connection.is_none() {
            self.reconnect()?;
        }
        let limit = self.profile.time_limit.clone().unwrap_or_else(|| "SELECT 1".to_owned());
        let limit = limit.replace("#MS", &self.limits.time_max_ms.to_string());
        let schema = &self.schema;
        let sql = format!(
            "ROLLBACK; BEGIN; SET LOCAL client_min_messages = error; CREATE SCHEMA {schema}; \
             SET LOCAL search_path = {schema}; {limit}; SAVEPOINT q"
        );
        self.send(&sql).map(drop)
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        self.guarded(&format!("{sql}; {STAY}")).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        self.guarded(sql)
    }

    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        self.guarded(sql)?;
        let count = self.changed;
        self.guarded(STAY)?;
        Ok(Some(count))
    }

    /// Behind a savepoint of its own; the statements have one above it.
    fn begin(&mut self) -> Result<(), EngineError> {
        self.guarded("SAVEPOINT w; SAVEPOINT q").map(drop)
    }

    fn roll_back(&mut self) -> Result<(), EngineError> {
        self.must("ROLLBACK TO SAVEPOINT w; RELEASE SAVEPOINT w")
    }

    fn types(&mut self, sql: &str) -> Result<Option<Vec<Option<SqlType>>>, EngineError> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(EngineError::new(ErrorClass::ConnectionLost, "there is no connection"));
        };
        let prepared = self.runtime.block_on(async {
            let statement = connection.prepare(sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(sql.to_owned()))).await?;
            Ok::<_, sqlx::Error>(statement.columns().iter().map(|c| type_of(c.type_info().name())).collect())
        });
        match prepared {
            Ok(types) => Ok(Some(types)),
            Err(error) => match error.as_database_error() {
                Some(said) => {
                    let error = self.reported(said);
                    self.back()?;
                    Err(error)
                }
                None => Err(self.failed(&error)),
            },
        }
    }

    /// Behind a savepoint of its own, because RESET would put back the server's setting rather than the one before. The
    /// queries have one above it.
    fn set_switch(&mut self, switch: &Switch, on: bool) -> Result<(), EngineError> {
        if on {
            return self.guarded(&format!("SAVEPOINT w; {}; SAVEPOINT q", switch.on.join("; "))).map(drop);
        }
        self.must("ROLLBACK TO SAVEPOINT w; RELEASE SAVEPOINT w")
    }

    fn server_cpu(&self) -> Option<Duration> {
        self.private.as_ref().map(Revivable::cpu_time)
    }
}

fn type_of(name: &str) -> Option<SqlType> {
    match name {
        "BOOL" => Some(SqlType::Boolean),
        "INT2" | "INT4" | "INT8" => Some(SqlType::Int),
        "FLOAT8" => Some(SqlType::Real),
        "TEXT" | "VARCHAR" => Some(SqlType::Text),
        "BYTEA" => Some(SqlType::Blob),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::config::STATEMENT_LIMITS;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    #[test]
    fn a_server_that_breaks_a_connection_while_it_goes_down_is_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            // The message that a client starts with fits in one packet.
            let _ = stream.read(&mut [0; 1024]).expect("a message");
            let fields = format!("SFATAL\0VFATAL\0C{RECOVERING}\0Mthe database system is shutting down\0\0");
            let length = u32::try_from(fields.len() + 4).expect("short").to_be_bytes();
            stream.write_all(&[b"E", &length[..], fields.as_bytes()].concat()).expect("sent");
            // It takes one more, says nothing to it, and is gone.
            drop(listener.accept().expect("a client"));
        });
        let url = format!("postgres://tester@127.0.0.1:{port}/empty?sslmode=disable");
        let mut postgres = Postgres {
            connection: None,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
            options: PgConnectOptions::from_str(&url).expect("a URL"),
            private: None,
            profile: catalogue::profile("postgres").expect("shipped"),
            limits: STATEMENT_LIMITS,
            schema: String::new(),
            version: String::new(),
            build_id: String::new(),
            changed: 0,
            restarts: false,
            refused: false,
        };
        assert!(!postgres.recovers() && postgres.refused);
        server.join().expect("ends");
    }
}
