//! The MySQL family, over its wire protocol in text form: a server that the user names, or a MariaDB of our own.
//!
//! DDL commits here, so everything happens in a database made for this connection, which is dropped and made again.

use super::postgres::without_password;
use super::{Connection, EngineError, ErrorClass, number};
use crate::clock;
use crate::compare::Row;
use crate::config::{StatementLimits, password};
use crate::server::mysql::{self as programs, Programs};
use crate::server::private::{Ended, Revivable, Room};
use crate::server::{Account, ServerError};
use crate::sql::profile::Profile;
use crate::sql::types::{SqlType, Value};
use mysql::consts::ColumnType;
use mysql::prelude::Queryable as _;
use mysql::{Conn, DriverError, Opts, OptsBuilder};
use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Beyond the server's own limit for a statement: then it does not obey.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a server of our own that was lost may take to come back.
const RETURN_MAX: Duration = Duration::from_secs(10);

/// How long a server that is not ours is tried to be reached again; who hunts on it waits longer, in one place.
const REACH_MAX: Duration = Duration::from_secs(1);

/// How long a server that drops connections may take to end.
const ENDING_MAX: Duration = Duration::from_secs(3);

/// What a connection error is whose server does not listen, as after it ended.
const REFUSED: &str = "refused";

/// The character set of bytes (<https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_character_set.html>).
const BINARY: u16 = 63;

/// The start of the names of databases made here, and the table that marks one on a server that is not ours.
const PREFIX: &str = "caqtus_";
const MARK: &str = "caqtus_mark";

/// Why a server cannot be used. Each message says what to do next.
#[derive(Debug, Error)]
pub enum MysqlError {
    /// The URL is none.
    #[error("`{url}` is no URL of a server; write {scheme}://user:password@host:3306/")]
    Url {
        /// The URL without its password.
        url: String,
        /// The dialect.
        scheme: String,
        /// What is wrong.
        #[source]
        source: Box<mysql::UrlError>,
    },
    /// The server does not let us in.
    #[error("cannot connect to {url}: {message}")]
    Connect {
        /// The URL without its password.
        url: String,
        /// What was said, with what to do.
        message: String,
    },
    /// The URL names a database.
    #[error(
        "Caqtus works in databases that it makes and drops itself, and leaves {database} alone: end the URL after the host, as \
         in {scheme}://user@host:3306/; rights on `{PREFIX}%`.* are enough"
    )]
    Foreign {
        /// The database.
        database: String,
        /// The dialect.
        scheme: String,
    },
    /// A server of our own does not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Something else.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A connection to a database of a server.
pub struct Mysql {
    connection: Option<Conn>,
    options: Opts,
    private: Option<Revivable>,
    profile: Arc<Profile>,
    limits: StatementLimits,
    database: String,
    version: String,
    /// When the connection was made, and for how many seconds the server had run by then.
    up: Option<(Instant, i64)>,
}

impl Mysql {
    /// Starts a server of our own with these programs.
    pub fn private(
        programs: Programs,
        data_dir: &Path,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Self, MysqlError> {
        let room = Room::open(data_dir, Account::choose(data_dir)?)?;
        let socket = programs::socket(&room).display().to_string();
        let (maker, data_dir) = (programs.clone(), data_dir.to_path_buf());
        let make = move |room: &Room| programs::make_data(&maker, &data_dir, room);
        let server = Revivable::new(room, make, move |data, room| programs::start(&programs, data, room))?;
        let options = OptsBuilder::new().user(Some(programs::TESTER)).socket(Some(socket)).prefer_socket(true);
        Self::open(options, Some(server), "a private server", profile, limits)
    }

    /// Connects to a server.
    pub fn url(url: &str, profile: Arc<Profile>, limits: StatementLimits) -> Result<Self, MysqlError> {
        let shown = without_password(url);
        let scheme = profile.name.clone();
        // The client knows one scheme.
        let plain = url.split_once("://").map_or_else(|| url.to_owned(), |(_, rest)| format!("mysql://{rest}"));
        let options = Opts::from_url(&plain).map_err(|source| MysqlError::Url {
            url: shown.clone(),
            scheme,
            source: Box::new(source),
        })?;
        let mut options = OptsBuilder::from_opts(options).prefer_socket(false);
        if let Some(password) = password() {
            options = options.pass(Some(password));
        }
        Self::open(options, None, &shown, profile, limits)
    }

    fn open(
        options: OptsBuilder,
        private: Option<Revivable>,
        shown: &str,
        profile: Arc<Profile>,
        limits: StatementLimits,
    ) -> Result<Self, MysqlError> {
        let limit = Duration::from_millis(limits.time_max_ms) + PATIENCE;
        let options = options.read_timeout(Some(limit)).tcp_connect_timeout(Some(RETURN_MAX)).stmt_cache_size(0);
        let options = Opts::from(options);
        if let Some(database) = options.get_db_name() {
            return Err(MysqlError::Foreign { database: database.to_owned(), scheme: profile.name.clone() });
        }
        let database = format!("{PREFIX}{}_{:x}", std::process::id(), clock::unix_nanos() & 0xffff);
        let version = String::new();
        let mut mysql = Self { connection: None, options, private, profile, limits, database, version, up: None };
        mysql
            .connect()
            .map_err(|error| MysqlError::Connect { url: shown.to_owned(), message: connect_advice(&error) })?;
        mysql.version = mysql.send("SELECT VERSION()")?.into_iter().flatten().next().map_or_else(String::new, text_of);
        if mysql.private.is_none() {
            mysql.drop_stale()?;
        }
        mysql.reset()?;
        Ok(mysql)
    }

    /// Drops what programs that were killed left on a server: databases that bear the mark and whose lock is free, and those
    /// without a table that are named as here, in which the mark was not made yet.
    fn drop_stale(&mut self) -> Result<(), EngineError> {
        let free = |name: &str| format!("LEFT({name}, {}) = '{PREFIX}' AND IS_FREE_LOCK({name})", PREFIX.len());
        let tables = "information_schema.tables";
        let marked =
            format!("SELECT table_schema FROM {tables} WHERE table_name = '{MARK}' AND {}", free("table_schema"));
        let empty = format!(
            "SELECT schema_name FROM information_schema.schemata WHERE {} AND schema_name NOT IN \
             (SELECT table_schema FROM {tables} WHERE LEFT(table_schema, {}) = '{PREFIX}')",
            free("schema_name"),
            PREFIX.len()
        );
        let names = |rows: Vec<Row>| rows.into_iter().flatten().map(text_of);
        let mut stale: Vec<String> = names(self.send(&marked)?).collect();
        stale.extend(names(self.send(&empty)?).filter(|name| is_named_here(name)));
        for database in stale {
            self.send(&format!("DROP DATABASE IF EXISTS {}", quoted(&database)))?;
        }
        Ok(())
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        let connected = Conn::new(self.options.clone()).and_then(|mut connection| {
            let limit = self.profile.time_limit.clone().unwrap_or_default();
            let ms = self.limits.time_max_ms;
            let limit = limit.replace("#MS", &ms.to_string());
            let limit = limit.replace("#S", &format!("{}.{:03}", ms / 1000, ms % 1000));
            // One that this program had just closed may hold the lock for a moment yet.
            for sql in [limit, format!("SELECT GET_LOCK('{}', 2)", self.database)] {
                match connection.query_drop(sql) {
                    // A server that does not know the limit is bounded from outside only.
                    Ok(()) | Err(mysql::Error::MySqlError(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            let up = if self.private.is_none() { uptime(&mut connection)? } else { None };
            Ok((connection, up))
        });
        match connected {
            Ok((connection, up)) => {
                self.connection = Some(connection);
                self.up = up.map(|seconds| (clock::now(), seconds));
                Ok(())
            }
            Err(mysql::Error::MySqlError(said)) => Err(self.reported(said.code, said.message)),
            Err(error) => Err(unreachable(&error)),
        }
    }

    fn reported(&self, code: u16, message: String) -> EngineError {
        let code = code.to_string();
        EngineError { class: self.profile.error_class(&code), code, message }
    }

    /// Sends statements in one message and collects the rows of all.
    fn send(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(EngineError::new(ErrorClass::ConnectionLost, "there is no connection"));
        };
        let limits = self.limits;
        let mut rows = Vec::new();
        let mut too_many = false;
        let mut work = || {
            let mut result = connection.query_iter(sql)?;
            while let Some(set) = result.iter() {
                for row in set {
                    let row = row?;
                    // The rest is read all the same, because the connection cannot be used before.
                    too_many |= rows.len() as u64 >= limits.rows_max;
                    if !too_many {
                        rows.push(read_row(row));
                    }
                }
            }
            Ok::<(), mysql::Error>(())
        };
        match work() {
            Ok(()) if too_many => Err(EngineError::too_many_rows(limits)),
            // Bytes that a function passes on as a text: what becomes of them is nobody's promise.
            Ok(()) if rows.iter().flatten().any(is_no_text) => {
                Err(EngineError::new(ErrorClass::Data, "a text that is not UTF-8"))
            }
            Ok(()) => Ok(rows),
            Err(mysql::Error::MySqlError(said)) => {
                let error = self.reported(said.code, said.message);
                if error.class == ErrorClass::ConnectionLost {
                    self.connection = None;
                }
                Err(error)
            }
            Err(error) if is_time_out(&error) => Err(self.hangs()),
            Err(error) => Err(self.lost(&error.to_string())),
        }
    }

    /// The connection ended without a word: did the server crash?
    fn lost(&mut self, message: &str) -> EngineError {
        self.connection = None;
        let crash = |how: &str| EngineError::new(ErrorClass::Crash, format!("the server crashed: {how}"));
        let lost = |how: &str| EngineError::new(ErrorClass::ConnectionLost, how);
        if let Some(server) = self.private.as_mut() {
            if let Some(Ended { how, crashed }) = server.verdict(is_crash) {
                return if crashed { crash(&how) } else { lost(&how) };
            }
        } else {
            let before = self.up;
            let mut reached = self.connect();
            // A server that is ending may still take connections, which it drops then.
            let deadline = clock::now() + ENDING_MAX;
            while reached.as_ref().is_err_and(|error| error.code.is_empty()) && clock::now() < deadline {
                std::thread::sleep(Duration::from_millis(50));
                reached = self.connect();
            }
            let after = self.up;
            self.connection = None;
            match (reached, before, after) {
                (Err(error), ..) if error.code == REFUSED => return crash("it does not take connections any more"),
                // It counts whole seconds.
                (Ok(()), Some((then, was)), Some((now, is)))
                    if is.saturating_add(1) < was.saturating_add_unsigned((now - then).as_secs()) =>
                {
                    return crash("it was started again");
                }
                _ => {}
            }
        }
        lost(message)
    }

    /// The statement runs on after the server was told to end it.
    fn hangs(&mut self) -> EngineError {
        self.connection = None;
        if let Some(server) = self.private.as_mut() {
            // A server that crashed may write its trace for long, and answers nobody meanwhile.
            let verdict = server.verdict(is_crash);
            server.end();
            if let Some(Ended { how, crashed: true }) = verdict {
                return EngineError::new(ErrorClass::Crash, format!("the server crashed: {how}"));
            }
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
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// Whether a database has such a name as those that are made here: the number of a process and a few hexadecimal digits.
fn is_named_here(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
    parts.is_some_and(|(process, random)| {
        process.parse::<u32>().is_ok() && u16::from_str_radix(random, 16).is_ok_and(|n| format!("{n:x}") == random)
    })
}

/// For how many seconds a server has run, if it says so.
fn uptime(connection: &mut Conn) -> Result<Option<i64>, mysql::Error> {
    match connection.query_first::<(String, i64), _>("SHOW GLOBAL STATUS LIKE 'Uptime'") {
        Ok(row) => Ok(row.map(|(_, seconds)| seconds)),
        Err(mysql::Error::MySqlError(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A server that cannot be reached.
fn unreachable(error: &mysql::Error) -> EngineError {
    let (code, message) = match error {
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, said, kind)))) => {
            let refused = matches!(kind, std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound);
            (if refused { REFUSED } else { "" }, said.clone())
        }
        other => ("", other.to_string()),
    };
    EngineError { class: ErrorClass::ConnectionLost, code: code.to_owned(), message }
}

/// Whether nothing came for as long as is waited at most.
fn is_time_out(error: &mysql::Error) -> bool {
    let cause = match error {
        mysql::Error::IoError(error) => Some(error),
        mysql::Error::CodecError(error) => error.source().and_then(|error| error.downcast_ref()),
        _ => None,
    };
    let kind = cause.map(std::io::Error::kind);
    matches!(kind, Some(std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
}

/// Whether a line of the log says that the server crashed.
fn is_crash(line: &str) -> bool {
    line.contains("got signal") || line.contains("got exception") || line.contains("Assertion `")
}

/// A name as an identifier, whatever `sql_mode` is.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text_of(value: Value) -> String {
    match value {
        Value::Text(text) | Value::Blob(text) => String::from_utf8_lossy(&text).into_owned(),
        other => other.to_string(),
    }
}

/// What to do about a connection that was refused.
fn connect_advice(error: &EngineError) -> String {
    let advice = match error.code.as_str() {
        "1045" | "1698" => "; check user and password in the URL",
        "1044" => "; give it a database: GRANT ALL ON `caqtus\\_%`.* TO …",
        "1040" => "; too many connections: use fewer --workers",
        "1049" => "; leave the database out of the URL, then one is made",
        "" | REFUSED => "; check host and port, and that the server runs",
        _ => "",
    };
    format!("{}{advice}", error.message)
}

/// Whether a value is a text in name only.
fn is_no_text(value: &Value) -> bool {
    matches!(value, Value::Text(bytes) if std::str::from_utf8(bytes).is_err())
}

fn read_row(row: mysql::Row) -> Row {
    let columns = row.columns_ref().to_vec();
    let cells = row.unwrap_raw().into_iter().zip(&columns);
    cells.map(|(value, column)| value.map_or(Value::Null, |value| read_value(value, column))).collect()
}

/// A value in text form.
fn read_value(value: mysql::Value, column: &mysql::Column) -> Value {
    let bytes = match value {
        mysql::Value::NULL => return Value::Null,
        mysql::Value::Bytes(bytes) => bytes,
        other => other.as_sql(true).into_bytes(),
    };
    let text = || String::from_utf8_lossy(&bytes).into_owned();
    match column.column_type() {
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG
        | ColumnType::MYSQL_TYPE_YEAR
        | ColumnType::MYSQL_TYPE_DECIMAL
        | ColumnType::MYSQL_TYPE_NEWDECIMAL => number(&text()),
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => {
            text().parse().map_or_else(|_| Value::Text(bytes.clone()), Value::Real)
        }
        ColumnType::MYSQL_TYPE_TIME | ColumnType::MYSQL_TYPE_DATETIME | ColumnType::MYSQL_TYPE_TIMESTAMP => {
            Value::Text(without_zeros(&text()).into())
        }
        ColumnType::MYSQL_TYPE_VARCHAR
        | ColumnType::MYSQL_TYPE_VAR_STRING
        | ColumnType::MYSQL_TYPE_STRING
        | ColumnType::MYSQL_TYPE_TINY_BLOB
        | ColumnType::MYSQL_TYPE_MEDIUM_BLOB
        | ColumnType::MYSQL_TYPE_LONG_BLOB
        | ColumnType::MYSQL_TYPE_BLOB
        | ColumnType::MYSQL_TYPE_BIT
        | ColumnType::MYSQL_TYPE_GEOMETRY
            if column.character_set() == BINARY =>
        {
            Value::Blob(bytes)
        }
        _ => Value::Text(bytes),
    }
}

/// A time without zeros at the end of its fraction: how many digits are shown is a matter of the type, as for numbers.
fn without_zeros(time: &str) -> &str {
    if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time }
}

impl Connection for Mysql {
    fn version(&self) -> String {
        self.version.split('-').next().unwrap_or_default().to_owned()
    }

    fn build_id(&self) -> String {
        format!("{} {}", self.profile.name, self.version)
    }

    fn reset(&mut self) -> Result<(), EngineError> {
        if self.connection.is_none() {
            self.reconnect()?;
        }
        for statement in self.profile.reset.clone() {
            // One that the server does not know undoes nothing that could have been done.
            match self.send(&statement) {
                Err(error) if self.connection.is_none() => return Err(error),
                _ => {}
            }
        }
        let database = quoted(&self.database);
        self.send(&format!("DROP DATABASE IF EXISTS {database}"))?;
        self.send(&format!("CREATE DATABASE {database}"))?;
        self.send(&format!("USE {database}"))?;
        if self.private.is_none() {
            self.send(&format!("CREATE TABLE {MARK}(made_by_caqtus INT)"))?;
        }
        Ok(())
    }

    /// What a session set is gone with its connection.
    fn renew(&mut self) -> Result<(), EngineError> {
        self.connection = None;
        self.reset()
    }

    fn execute(&mut self, sql: &str) -> Result<(), EngineError> {
        self.send(sql).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, EngineError> {
        self.send(sql)
    }

    fn change(&mut self, sql: &str) -> Result<Option<u64>, EngineError> {
        self.send(sql)?;
        Ok(self.connection.as_ref().map(mysql::Conn::affected_rows))
    }

    fn types(&mut self, sql: &str) -> Result<Option<Vec<Option<SqlType>>>, EngineError> {
        // A view is the only thing that says the collation of an expression's text.
        self.send(&format!("CREATE OR REPLACE VIEW {PREFIX}types AS {sql}"))?;
        let columns = self.send(&format!(
            "SELECT data_type, column_type LIKE '%unsigned%', collation_name = @@collation_connection \
             FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '{PREFIX}types' \
             ORDER BY ordinal_position"
        ));
        self.send(&format!("DROP VIEW {PREFIX}types"))?;
        let ty = |row: Row| {
            let mut cells = row.into_iter();
            let name = cells.next().map(text_of)?;
            let (unsigned, collation) = (cells.next()?, cells.next()?);
            match name.as_str() {
                "tinyint" | "smallint" | "mediumint" | "int" | "bigint" if unsigned == Value::Int(0) => {
                    Some(SqlType::Int)
                }
                "double" => Some(SqlType::Real),
                "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" if collation == Value::Int(1) => {
                    Some(SqlType::Text)
                }
                "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Some(SqlType::Blob),
                _ => None,
            }
        };
        Ok(Some(columns?.into_iter().map(ty).collect()))
    }

    fn server_cpu(&self) -> Option<Duration> {
        self.private.as_ref().map(Revivable::cpu_time)
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        if self.private.is_none() && self.connection.is_some() {
            let _ = self.send(&format!("DROP DATABASE IF EXISTS {}", quoted(&self.database)));
        }
    }
}
