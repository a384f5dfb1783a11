//! JSON lines with a child process: what is said to it and what it says, an object a line.
//!
//! The child's own side reads and writes with the standard library: it has one thread for the engine and one that waits for
//! orders, and no asynchronous runtime.

use futures::{SinkExt as _, StreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

/// The pipes of a child process.
#[derive(Debug)]
pub struct JsonLines {
    input: Option<FramedWrite<ChildStdin, LinesCodec>>,
    output: FramedRead<ChildStdout, LinesCodec>,
}

impl JsonLines {
    /// Takes the pipes of a child that was started with both.
    pub fn new(child: &mut Child) -> io::Result<Self> {
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(io::Error::other("no pipes")) };
        // Children are this very program, and what an engine says is bounded where it is read.
        let (input, output) = (FramedWrite::new(input, LinesCodec::new()), FramedRead::new(output, LinesCodec::new()));
        Ok(Self { input: Some(input), output })
    }

    /// Says something, at once.
    pub async fn send(&mut self, said: &impl Serialize) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Err(io::ErrorKind::BrokenPipe.into()) };
        input.send(serde_json::to_string(said)?).await.map_err(io_error)
    }

    /// Closes the child's input, by which it ends.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// The next line; `None` at the end. Nothing is lost when this is given up before it is done.
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        self.output.next().await.transpose().map_err(io_error)
    }

    /// What the child says next; `None` at the end.
    pub async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        Ok(self.next_line().await?.map(|line| serde_json::from_str(&line)).transpose()?)
    }
}

fn io_error(error: LinesCodecError) -> io::Error {
    match error {
        LinesCodecError::Io(error) => error,
        error @ LinesCodecError::MaxLineLengthExceeded => io::Error::other(error),
    }
}
