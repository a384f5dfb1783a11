//! The service's life: it opens its store, listens, answers, and ends without breaking anything off.

use super::access::Access;
use super::events::{self, WATCHERS_MAX};
use super::guard::{Peer, Rate, client_at};
use super::metrics::Metrics;
use super::work::{self, Work};
use super::{AT_ONCE_MAX, FAILURES_BURST, FAILURES_PER_SECOND, Service, Shared, demo, description, pages, router};
use crate::rng;
use crate::store::{Store, StoreError};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tower::util::ServiceExt as _;
use tracing::Level;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Connections at once; others wait until one closes.
const CONNECTIONS_MAX: usize = 512;

/// Of them, those of one client.
const CONNECTIONS_PER_CLIENT_MAX: usize = 256;

/// The longest that the head of a request may take to arrive.
const HEAD_MS_MAX: u64 = 10_000;

/// The longest that a client may take none of what is sent to it.
const UNREAD_MS_MAX: u32 = 60_000;

/// The longest that answers which have begun may take when the service ends.
const ENDING_MS_MAX: u64 = 10_000;

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// A JSON object per line.
    Json,
}

/// What a service is asked to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address; the port 0 is any that is free.
    pub listen: SocketAddr,
    /// The store; a private one without.
    pub store_url: Option<String>,
    /// Where engines, caches and campaigns are.
    pub data_dir: PathBuf,
    /// Whether whoever is on this machine needs a token too.
    pub require_tokens: bool,
    /// Where browsers reach the service, through a proxy.
    pub public_url: Option<String>,
    /// Requests a second that one client may send.
    pub requests_per_second: u32,
    /// How lines of the log are written.
    pub log: LogFormat,
    /// Whether the store is filled with what ships, and a short hunt begins.
    pub demo: bool,
}

/// Why a service cannot run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data directory cannot be used.
    #[error("cannot use the data directory {dir}")]
    Directory {
        /// The directory.
        dir: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}; is another service there? Name another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something that the service itself brings is broken.
    #[error("{0}")]
    Broken(String),
    /// The system refuses something.
    #[error("the system refuses {what}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn start_log(format: LogFormat) {
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).with_target(false);
    // Of others only what may be a fault: the driver of the store tells of every notice.
    let wanted = Targets::new().with_target("caqtus", Level::INFO).with_default(Level::WARN);
    let log = tracing_subscriber::registry();
    // A second service in one process writes to the first one's log.
    let _ = match format {
        LogFormat::Text => log.with(lines.with_filter(wanted)).try_init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true).with_filter(wanted)).try_init(),
    };
}

/// Runs a service until `stop` says so. `ready` is told the address when requests are answered.
pub async fn serve(
    options: Options,
    ready: impl FnOnce(SocketAddr) -> io::Result<()>,
    mut stop: mpsc::Receiver<()>,
) -> Result<(), ServeError> {
    start_log(options.log);
    let system = |what: &'static str| move |source| ServeError::System { what, source };
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| ServeError::Listen { address: options.listen, source })?;
    let address = listener.local_addr().map_err(system("its own address"))?;
    let is_own = address.ip().is_loopback() && !options.require_tokens;
    let access = if is_own { Access::Loopback } else { Access::Tokens };
    let work = Work::open(&options.data_dir)
        .map_err(|source| ServeError::Directory { dir: options.data_dir.display().to_string(), source })?;
    let store = Store::open_for_service(options.store_url.as_deref(), &options.data_dir).await?;
    store.class_describe_all().await?;
    if options.demo {
        demo::fill(&store, &options.data_dir).await.map_err(|error| {
            ServeError::Broken(format!("the demo cannot be set up: {:#}", anyhow::Error::from(error)))
        })?;
    }
    let described = description::describe(super::api().split_for_parts().1);
    let (end, ending) = watch::channel(false);
    let rate = f64::from(options.requests_per_second);
    let service: Shared = Arc::new(Service {
        store,
        access,
        data_dir: options.data_dir,
        templates: pages::templates().map_err(|error| ServeError::Broken(format!("{error:#}")))?,
        metrics: Metrics::new(),
        rate: Rate::new(rate, 2.0 * rate),
        failures: Rate::new(FAILURES_PER_SECOND, FAILURES_BURST),
        at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        public_url: options.public_url,
        watchers: Arc::new(Semaphore::new(WATCHERS_MAX)),
        heard: watch::Sender::new(0),
        work,
        secret: rng::secret().map_err(system("random numbers"))?,
        description: described.to_pretty_json().map_err(|error| ServeError::Broken(error.to_string()))?,
        parameters: description::parameters(&described),
        ending,
    });
    let router = router(&service);
    let listening = tokio::spawn({
        let service = service.clone();
        async move { events::listen(&service, &service.heard).await }
    });
    work::begin(&service).await?;
    if options.demo {
        service.work.spawn(demo::hunt(service.clone()));
    }
    tracing::info!(%address, access = ?access, "listening");
    ready(address).map_err(system("standard output"))?;
    let connections = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let clients = Arc::new(Clients::default());
    loop {
        tokio::select! {
            _ = stop.recv() => break,
            place = places.clone().acquire_owned() => {
                let Ok(place) = place else { break };
                tokio::select! {
                    _ = stop.recv() => break,
                    accepted = listener.accept() => match accepted {
                        Ok((stream, peer)) => {
                            // Closed at once: others want to be served too.
                            let Some(seat) = clients.seat(peer) else { continue };
                            let connection = attend(stream, peer, router.clone());
                            let watched = connections.watch(connection);
                            tokio::spawn(async move {
                                // A client that goes away is none of our faults.
                                let _ = watched.await;
                                drop((place, seat));
                            });
                        }
                        Err(error) => {
                            // No files left, say: others close theirs.
                            tracing::warn!(%error, "a connection was not accepted");
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                    },
                }
            }
        }
    }
    tracing::info!("ending");
    drop(listener);
    let _ = end.send(true);
    let _ = tokio::time::timeout(Duration::from_millis(ENDING_MS_MAX), connections.shutdown()).await;
    drop(router);
    service.work.end().await;
    let _ = listening.await;
    if let Some(service) = Arc::into_inner(service) {
        service.store.close().await;
    }
    tracing::info!("ended");
    Ok(())
}

/// How many connections each client has.
#[derive(Default)]
struct Clients(Mutex<HashMap<IpAddr, usize>>);

/// A connection's place among those of its client.
struct Seat(Arc<Clients>, IpAddr);

impl Clients {
    /// A place, if the client has not all that it may have.
    fn seat(self: &Arc<Self>, peer: SocketAddr) -> Option<Seat> {
        let client = client_at(peer.ip());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(client).or_default();
        if *count >= CONNECTIONS_PER_CLIENT_MAX {
            return None;
        }
        *count += 1;
        Some(Seat(self.clone(), client))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.1);
            }
        }
    }
}

/// A connection, with bounds on what its client may leave undone.
fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send {
    // Where the system does not have it, a client that reads nothing holds its place until it goes away.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNREAD_MS_MAX);
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_MS_MAX))
        .serve_connection(TokioIo::new(stream), answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_does_not_take_all_connections() {
        let clients = Arc::new(Clients::default());
        let peer = |last: u8| SocketAddr::from(([192, 0, 2, last], 1));
        let mut seats: Vec<Seat> =
            (0..CONNECTIONS_PER_CLIENT_MAX).map(|_| clients.seat(peer(1)).expect("a place")).collect();
        assert!(clients.seat(peer(1)).is_none(), "it has all that it may have");
        assert!(clients.seat(peer(2)).is_some(), "others have their own");
        drop(seats.pop());
        assert!(clients.seat(peer(1)).is_some());
        drop(seats);
        assert!(clients.0.lock().expect("nobody panicked").is_empty(), "who is gone is forgotten");
    }
}
