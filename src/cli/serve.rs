//! `caqtus serve` and `caqtus token`.

use super::progress::interrupts;
use super::{COULD_NOT_RUN, Common, StoreArgs, parse_duration, printable};
use crate::api::{self, LogFormat, Options, Role};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use sd_notify::NotifyState;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Serve the catalogue, campaigns and bugs over HTTP, for programs and in a browser
///
/// Prints `listening on http://…` when requests are answered; the API is described at /api/v1/openapi.json. On a loopback
/// address whoever is on this machine may do everything. On any other, and with --require-tokens, every request needs a token
/// of `caqtus token create`. A proxy in front should speak TLS; behind one, name the address of the proxy with --public-url,
/// also on a loopback address, where everybody would seem to be on this machine otherwise. Ctrl-C or SIGTERM ends it; campaigns go on at the next start.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  caqtus serve
  caqtus serve --demo
  caqtus serve --listen 0.0.0.0:8737 --store postgres://caqtus@db/caqtus
  caqtus serve --public-url https://caqtus.example")]
pub(super) struct ServeArgs {
    /// The address; the port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8737")]
    listen: SocketAddr,
    /// The PostgreSQL server that holds the store [default: a private one in the data directory, started when needed]
    #[arg(long, alias = "database-url", env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    store: Option<String>,
    /// Ask for a token on a loopback address too
    #[arg(long)]
    require_tokens: bool,
    /// The address under which browsers reach the service, through a proxy: with https:// they send its cookies by TLS only.
    /// Asks for a token on any address
    #[arg(long, value_name = "URL", value_parser = web_address)]
    public_url: Option<String>,
    /// Requests a second that one client may send; twice as many at once
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate_limit: u32,
    /// How lines of the log, on standard error, are written
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// Show what there is: on a private store of its own with the shipped classes, and with a short hunt on an old SQLite, or
    /// where that cannot be had on one with a planted fault. In a temporary directory that is gone at the end, or in DIR
    #[expect(clippy::option_option, reason = "clap's form of an option whose value may be left out")]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    demo: Option<Option<PathBuf>>,
    #[command(flatten)]
    common: Common,
}

fn web_address(text: &str) -> Result<String, String> {
    match ["https://", "http://"].into_iter().find_map(|scheme| text.strip_prefix(scheme)) {
        Some(host) if !host.is_empty() => Ok(text.to_owned()),
        _ => Err("write https://host, or http://host where there is no TLS".to_owned()),
    }
}

/// A directory that is gone with this.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("caqtus-demo-{}", std::process::id()));
        let made = std::fs::create_dir(&dir);
        made.with_context(|| format!("cannot make {}; name another directory with --demo=DIR", dir.display()))?;
        Ok(Self(dir))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let temporary = match &args.demo {
        Some(None) => Some(Temporary::new()?),
        _ => None,
    };
    let demo = args.demo.is_some();
    let named = temporary.as_ref().map(|Temporary(dir)| dir.clone()).or(args.demo.flatten());
    let options = Options {
        listen: args.listen,
        // A demo changes nobody's store.
        store_url: args.store.filter(|url| !url.is_empty() && !demo),
        data_dir: named.unwrap_or_else(|| args.common.data_dir()),
        require_tokens: args.require_tokens || args.public_url.is_some(),
        public_url: args.public_url,
        requests_per_second: args.rate_limit,
        log: args.log_format,
        demo,
    };
    let ready = |address: SocketAddr| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "listening on http://{address}")?;
        out.flush()?;
        // Under systemd, which waits for it.
        if let Err(error) = sd_notify::notify(&[NotifyState::Ready]) {
            eprintln!("caqtus: the service manager could not be told that the service is ready: {error}");
        }
        Ok(())
    };
    let runtime = super::deep_runtime()?;
    let served = runtime.block_on(async { api::serve(options, ready, interrupts()).await });
    // An installation that goes on is begun anew by the next start; nobody waits for it.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Tokens for clients of `caqtus serve`
#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token, and print it: it cannot be shown again
    Create {
        /// Whose it is, as the audit trail names it
        #[arg(value_parser = token_name)]
        name: String,
        /// What its owner may do
        #[arg(long, value_enum)]
        role: Role,
        /// After which time it counts for nothing: 12h, 90d [default: never]
        #[arg(long, value_name = "TIME", value_parser = parse_duration)]
        expires: Option<Duration>,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// List the tokens, without what opens anything
    List {
        /// One JSON object per token
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Take a token back; it counts for nothing from then on
    Revoke {
        /// Its name
        name: String,
        #[command(flatten)]
        store: StoreArgs,
        #[command(flatten)]
        common: Common,
    },
}

/// `loopback` is what the audit trail calls whoever needs no token.
fn token_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    match text {
        "loopback" | "demo" | "discovery" | "hunt" => {
            Err("the audit trail calls clients without a token so; take another name".to_owned())
        }
        _ if (1..=100).contains(&text.len()) && text.chars().all(plain) => Ok(text.to_owned()),
        _ => Err("a name has 1 to 100 letters, digits and marks of `._@-`".to_owned()),
    }
}

pub(super) fn run_token(args: TokenArgs) -> anyhow::Result<ExitCode> {
    super::runtime()?.block_on(async {
        match args.command {
            TokenCommand::Create { name, role, expires, store, common } => {
                let store = store.open(&common).await?;
                let seconds = expires.map(|time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX));
                let made = api::create_token(&store, &name, role, seconds).await?;
                store.close().await;
                let Some(text) = made else {
                    bail!("there is a token called {name} already; revoked ones keep their names for the audit trail")
                };
                println!("{text}");
            }
            TokenCommand::List { json, store, common } => {
                let store = store.open(&common).await?;
                let tokens = store.token_list().await?;
                store.close().await;
                for token in &tokens {
                    if json {
                        println!("{}", serde_json::to_string(token)?);
                        continue;
                    }
                    let state = match (&token.revoked, &token.expires) {
                        (Some(at), _) => format!("revoked {at}"),
                        (None, Some(at)) if !token.valid => format!("expired {at}"),
                        (None, Some(at)) => format!("until {at}"),
                        (None, None) => "for ever".to_owned(),
                    };
                    println!("{:<24} {:<9} made {}, {state}", printable(&token.name), token.role, token.created);
                }
            }
            TokenCommand::Revoke { name, store, common } => {
                let store = store.open(&common).await?;
                let done = store.token_revoke(&name).await?;
                store.close().await;
                if !done {
                    eprintln!("no token called {} counts; `caqtus token list` shows them", printable(&name));
                    return Ok(ExitCode::from(COULD_NOT_RUN));
                }
                println!("{name} counts for nothing from now on");
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}
