//! A service of a test's own, and requests to it, also such as no client should send.

use super::{Caqtus, kill};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;

/// A service that runs, and ends with this.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    /// The body of an answer that must have this status.
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()
    }
}

impl Served {
    /// Starts a service on a free port of a loopback address.
    pub(crate) fn start(caqtus: &Caqtus) -> Self {
        Self::start_with(caqtus, &["--listen", "127.0.0.1:0"])
    }

    /// The same with other words.
    pub(crate) fn start_with(caqtus: &Caqtus, words: &[&str]) -> Self {
        let mut all = vec!["serve", "--rate-limit", "100000"];
        all.extend(words);
        Self::start_by(caqtus, caqtus.command(&all))
    }

    /// The same by a command of a test's own.
    pub(crate) fn start_by(caqtus: &Caqtus, mut command: std::process::Command) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(caqtus.path("service.log")).expect("a log");
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        let address: Option<SocketAddr> = address;
        let Some(address) = address else {
            let log = std::fs::read_to_string(caqtus.path("service.log")).unwrap_or_default();
            panic!("the service does not start: {line} {log}")
        };
        Self { child, address }
    }

    /// Sends bytes and reads what comes until the service closes the connection.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A service that has seen enough closes before all is sent.
        let _ = stream.write_all(bytes);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        // One that listens on all addresses is reached on this one.
        let address = SocketAddr::from(([127, 0, 0, 1], self.address.port()));
        let stream = TcpStream::connect(address).expect("the service listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a time limit");
        stream
    }

    /// Sends a request.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            let _ = write!(head, "Host: localhost:{}\r\n", self.address.port());
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let said = self.raw(format!("{head}\r\n{body}").as_bytes());
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": ")).map(|(a, b)| (a.to_owned(), b.to_owned()));
        Answer {
            status: status.unwrap_or_else(|| panic!("no answer to {method} {path}: {said}")),
            headers: headers.collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Sends a JSON object.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(headers);
        self.send("POST", path, &all, &body.to_string())
    }

    /// Ends it as an operator does; it must end well.
    pub(crate) fn stop(mut self) {
        kill("-TERM", self.child.id());
        let status = self.child.wait().expect("ends");
        assert!(status.success(), "{status}");
    }
}

impl Served {
    /// Ends it without a warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("is killed");
        self.child.wait().expect("ends");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that failed leaves none behind; the private store's server ends with the next one who uses it, or here.
        if matches!(self.child.try_wait(), Ok(None)) {
            kill("-TERM", self.child.id());
            let _ = self.child.wait();
        }
    }
}
