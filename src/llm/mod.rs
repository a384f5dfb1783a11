//! Asking language models: requests and answers, faults, what it costs, recordings, batches.
//!
//! A [`Request`] is plain data with a stable hash; a [`Model`] turns it into an [`Exchange`]. Three models exist:
//! [`Live`] asks any endpoint that speaks `OpenAI`'s chat completions, [`Recorder`] keeps what another model answered,
//! and [`Replay`] answers from such recordings, so that a run can be made again without an endpoint and without money.
//! [`answer`] finds queries in what a model wrote, [`budget`] counts what is spent, [`batch`] asks many requests at
//! once for less money.
//!
//! * **Everything ends in something counted.** An exchange has an [`Outcome`], a failure a [`Fault`] with a short name
//!   for counters. No failure of an endpoint is silent, endless, or unbounded in memory.
//! * **One place repeats.** `live.rs` repeats attempts; the client library's own repetition is switched off, because
//!   two of them multiply.
//! * **One place writes bodies.** [`wire::body`] serves live calls and batches alike.
//! * **The key goes into one header** and nowhere else: not into exchanges, errors, recordings or debug output.
//! * **Nothing comes from the environment** except the proxy settings that all programs obey; the client library's
//!   defaults, which read it silently, are all overwritten.
//! * What a model wrote is text of a stranger. It is bounded here and judged by a parser elsewhere; nothing here runs
//!   it.

pub mod answer;
pub mod batch;
pub mod budget;
mod error;
mod exchange;
mod live;
mod recording;
mod request;
pub mod template;
mod transport;
pub mod wire;

pub use error::{Fault, ModelError};
pub use exchange::{Exchange, Outcome, Usage};
pub use live::{Key, Live, LiveConfig, SetupError};
pub use recording::{Recorder, Replay};
pub use request::{Message, PromptSource, Request, Role};

use std::future::Future;
use std::pin::Pin;

/// An asking under way.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Exchange, ModelError>> + Send + 'a>>;

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Asks once and gives what came of it. Repetition after passing faults is inside; whoever gets an error need not
    /// ask again.
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a>;

    /// How many attempts of one asking may be billed at most, the answered one included. A hard budget reserves this
    /// many times the worst case of one.
    fn billed_attempts_max(&self) -> u32 {
        1
    }
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        (**self).complete(request)
    }

    fn billed_attempts_max(&self) -> u32 {
        (**self).billed_attempts_max()
    }
}

impl<M: Model + ?Sized> Model for std::sync::Arc<M> {
    fn complete<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        (**self).complete(request)
    }

    fn billed_attempts_max(&self) -> u32 {
        (**self).billed_attempts_max()
    }
}
