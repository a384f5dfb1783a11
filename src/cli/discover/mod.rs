//! `caqtus discover`.

mod args;

pub(super) use args::{DiscoverArgs, ModelArgs};

use super::progress::{ProgressLine, stop_after};
use super::{FOUND, printable};
use crate::app;
use crate::app::discovery::{Ended, Environment, Plan};
use crate::config::file_config;
use crate::dbms::target::Target;
use crate::discover::run::End;
use anyhow::bail;
use std::process::ExitCode;
use std::time::Duration;

pub(super) fn run(args: &DiscoverArgs) -> anyhow::Result<ExitCode> {
    for name in &args.dbms {
        let target: Target = name.parse()?;
        crate::cli::open_apart(&target, &args.common)?;
    }
    let environment = Environment {
        data_dir: args.common.data_dir(),
        workers: args.workers.map_or_else(app::cores, usize::from),
        prover: args.prover.clone(),
        config: file_config(args.model.config.as_deref())?,
        export_batch: args.export_batch.clone(),
        import_batch: args.import_batch.clone(),
        batch_poll: args.batch_poll,
    };
    let mut notes = Vec::new();
    let plan = args.request().and_then(|request| Plan::new(&request, environment, &mut notes));
    notes.iter().for_each(|note| eprintln!("{}", printable(note)));
    let mut plan = plan?;
    super::deep_runtime()?.block_on(async {
        let stop = stop_after(args.max_minutes.map(|minutes| Duration::from_secs(60 * minutes)));
        let store = args.store.open(&args.common).await?;
        let mut progress = ProgressLine::new(args.quiet);
        let ended = plan.run(&store, &stop, &mut progress).await;
        progress.finish();
        store.close().await;
        let Ended { summary, end, fruitless } = ended?;
        if args.json {
            println!("{}", serde_json::to_string(&summary)?);
        } else {
            print!("{}", printable(&summary.to_string()));
            match end {
                End::Done => {}
                End::Stopped => println!("stopped; the same command goes on"),
                End::Budget(exceeded) => println!("{exceeded}; with a larger budget the same command goes on"),
                End::Waiting => println!("the other seeds wait for answers: --import-batch FILE takes them"),
            }
        }
        if let Some(why) = fruitless {
            bail!(why);
        }
        Ok(ExitCode::from(if summary.quarantined > 0 { FOUND } else { 0 }))
    })
}
