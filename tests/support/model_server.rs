//! A small HTTP server that plays a model's endpoint by a script, and keeps what it was sent.
//!
//! Each connection serves one request: it gets the script's next reply, or the last one again when the script is over.

#![allow(clippy::needless_pass_by_value, reason = "scripts read best without references")]

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What one request is answered with.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A whole response.
    Whole { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A response that begins after a while.
    Late { after_ms: u64, body: String },
    /// The connection closes before a byte was sent.
    CutBefore,
    /// The connection closes after half of the body.
    CutWithin { body: String },
    /// Half of a body, and then silence on an open connection.
    Stalled { body: String },
    /// A body in chunks without an announced length, which goes on until nobody reads.
    Endless,
}

impl Reply {
    pub(crate) fn ok(body: impl ToString) -> Self {
        Self::status(200, body)
    }

    pub(crate) fn status(status: u16, body: impl ToString) -> Self {
        Self::Whole { status, headers: Vec::new(), body: body.to_string() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl ToString) -> Self {
        if let Self::Whole { headers, .. } = &mut self {
            headers.push((name, value.to_string()));
        }
        self
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Method and path.
    pub(crate) line: String,
    /// With names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }
}

/// The running server. It ends with the runtime that it was started in.
pub(crate) struct ModelServer {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl ModelServer {
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        Self::answering(move |number, _| script.get(number).or(script.last()).expect("a script with a reply").clone())
            .await
    }

    /// A server whose reply is a function of the request and its number.
    pub(crate) async fn answering(reply: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Self {
        let reply: Arc<Script> = Arc::new(reply);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (script, kept) = (Arc::clone(&reply), Arc::clone(&kept));
                tokio::spawn(async move {
                    // A client that goes away is part of the play.
                    let _ = serve(stream, &*script, &kept).await;
                });
            }
        });
        Self { base_url, seen }
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic while it was held").clone()
    }
}

/// Plays the Batch API: files are uploaded, a batch is done at the second look. `completion` answers the body of a request.
pub(crate) fn batch_api(files: &Mutex<Vec<String>>, seen: &Seen, completion: &dyn Fn(&Value) -> Value) -> Reply {
    let mut files = files.lock().expect("no panic while it was held");
    let (method, path) = seen.line.split_once(' ').expect("a request line");
    let path = path.trim_start_matches("/v1");
    let number = |text: &str| text.parse::<usize>().expect("a number");
    match (method, path.split('/').skip(1).collect::<Vec<_>>().as_slice()) {
        ("POST", ["files"]) => {
            let lines = seen.body.lines().filter(|line| line.starts_with("{\"")).collect::<Vec<_>>().join("\n");
            files.push(lines);
            Reply::ok(json!({ "id": format!("file-{}", files.len() - 1) }))
        }
        ("POST", ["batches"]) => {
            let file = seen.json()["input_file_id"].as_str().expect("a file").trim_start_matches("file-").to_owned();
            Reply::ok(json!({ "id": format!("batch-{file}"), "status": "validating" }))
        }
        ("GET", ["batches", id]) => {
            let file = id.trim_start_matches("batch-");
            Reply::ok(json!({ "id": id, "status": "completed", "output_file_id": format!("out-{file}") }))
        }
        ("GET", ["files", id, "content"]) => {
            let answers = files[number(id.trim_start_matches("out-"))].lines().map(|line| {
                let line: Value = serde_json::from_str(line).expect("a line of a batch");
                let response = json!({ "status_code": 200, "body": completion(&line["body"]) });
                json!({ "custom_id": line["custom_id"], "response": response }).to_string()
            });
            Reply::ok(answers.collect::<Vec<_>>().join("\n"))
        }
        other => Reply::status(404, json!({ "error": { "message": format!("{other:?}") } })),
    }
}

type Script = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

async fn serve(mut stream: TcpStream, script: &Script, kept: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let number = {
        let mut kept = kept.lock().expect("no panic while it was held");
        kept.push(request.clone());
        kept.len() - 1
    };
    let reply = script(number, &request);
    let head = |status: u16, length: usize| {
        format!(
            "HTTP/1.1 {status} Some\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n"
        )
    };
    match &reply {
        Reply::Whole { status, headers, body } => {
            let headers = headers.iter().map(|(name, value)| [*name, ": ", value, "\r\n"].concat());
            let headers = headers.collect::<Vec<_>>().concat();
            stream.write_all(format!("{}{headers}\r\n{body}", head(*status, body.len())).as_bytes()).await?;
        }
        Reply::Late { after_ms, body } => {
            tokio::time::sleep(Duration::from_millis(*after_ms)).await;
            stream.write_all(format!("{}\r\n{body}", head(200, body.len())).as_bytes()).await?;
        }
        Reply::CutBefore => {}
        Reply::CutWithin { body } => {
            let half = &body[..body.len() / 2];
            stream.write_all(format!("{}\r\n{half}", head(200, body.len())).as_bytes()).await?;
        }
        Reply::Stalled { body } => {
            let half = &body[..body.len() / 2];
            stream.write_all(format!("{}\r\n{half}", head(200, body.len())).as_bytes()).await?;
            std::future::pending::<()>().await;
        }
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
    }
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Seen> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..n]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let length: usize = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().expect("a number"));
    let mut body = bytes.split_off(end + 4);
    while if chunked { !body.ends_with(b"0\r\n\r\n") } else { body.len() < length } {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        body.extend_from_slice(&buffer[..n]);
    }
    Ok(Seen { line, headers, body: String::from_utf8_lossy(&body).into_owned() })
}
