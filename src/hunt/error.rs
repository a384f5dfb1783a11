//! Why hunts, and the processes that they start, cannot do their work.

use super::process::Broken;
use super::{if_full, probe};
use std::io;
use thiserror::Error;

/// Why a hunt cannot run, or not go on.
#[derive(Debug, Error)]
pub enum HuntError {
    /// A file or process cannot be used.
    #[error("cannot use {what}{}", if_full(source))]
    Io {
        /// The file or process.
        what: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An executor cannot work.
    #[error("{0}")]
    Executor(String),
    /// Executors end again and again without doing anything.
    #[error("executors end before they start testing; run `caqtus dbms check {0}` to see why")]
    Unstable(String),
    /// The target breaks when it is opened.
    #[error("{}; nothing can be tested on it", probe::broken_words(target, broken))]
    Opening {
        /// The target.
        target: String,
        /// How it breaks.
        broken: Broken,
    },
    /// The time was up too early.
    #[error("the time was up before {0} was ready, so nothing was tested; give it more time")]
    NotReady(String),
    /// The server ended and stays away.
    #[error("{target} cannot be reached any more, {seconds} s after it ended: {message}")]
    Gone {
        /// The target.
        target: String,
        /// For how long it was waited for.
        seconds: u64,
        /// What showed that it ended.
        message: String,
    },
    /// There is nothing to resume.
    #[error("there is no campaign to resume in {0}")]
    NoCampaign(String),
    /// What is there to resume is not whole.
    #[error(
        "{path} is damaged, so its campaign cannot go on; its findings are kept, and a hunt without --resume starts anew"
    )]
    Damaged {
        /// The file.
        path: String,
        /// Where.
        #[source]
        source: serde_json::Error,
    },
    /// The campaign to resume is on another target.
    #[error(
        "the campaign in {dir} is on {campaign}, not on {asked}; leave --dbms out to go on with it, or start another one \
         with --out"
    )]
    OtherTarget {
        /// The directory.
        dir: String,
        /// The campaign's target.
        campaign: String,
        /// The target that was named.
        asked: String,
    },
    /// Another hunt works in the directory.
    #[error(
        "another hunt works in {dir} (process {holder}); wait until it ends, or give this one another directory with --out"
    )]
    Busy {
        /// The directory.
        dir: String,
        /// The number of its process.
        holder: String,
    },
}
