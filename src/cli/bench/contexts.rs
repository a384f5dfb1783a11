//! `caqtus bench contexts`: in how many contexts each snippet of the corpus can be compared.

use crate::cli::Common;
use crate::config::{ClassChoice, STATEMENT_LIMITS, SnippetChoice};
use crate::dbms::target::Target;
use crate::hunt::session::Session;
use crate::interpret::{build, rows};
use crate::oracle::Setting;
use crate::oracle::consistency::{self, Consistency};
use crate::program::Step;
use crate::rng::stream;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// What became of the snippets.
#[derive(Debug, Serialize)]
pub(super) struct Survey {
    version: String,
    /// Snippets that hold on the target.
    snippets: usize,
    /// Snippets that were compared in two contexts at least.
    covered: usize,
    /// Contexts that the target takes.
    contexts: usize,
    /// Contexts of a snippet that was compared, on average.
    contexts_per_snippet: f64,
    /// How many snippets were compared in each context.
    by_context: BTreeMap<&'static str, usize>,
}

/// Evaluates every corpus snippet in every context, on one row.
#[expect(clippy::cast_precision_loss, reason = "an average for people")]
pub(super) fn survey(dbms: &str, seed: u64, common: &Common) -> anyhow::Result<Survey> {
    let target: Target = dbms.parse()?;
    let choice = ClassChoice { oracles: vec![consistency::NAME.to_owned()], ..ClassChoice::default() };
    let all = SnippetChoice { percent: 100, ..SnippetChoice::default() };
    let session = Session::open(&target, &common.data_dir(), None, &choice, &all, &[], &mut || ())?;
    let Session { capabilities, oracles, version, mut connection, .. } = session;
    let usable = oracles.classes_of(consistency::NAME).len();
    let mut accepts = |statements: &[String], sql: &str| {
        let built = build(connection.as_mut(), statements);
        built.and_then(|()| connection.execute(sql)).map_err(|error| error.to_string())
    };
    let profile = capabilities.profile.clone();
    let setting = Setting {
        capabilities,
        catalogue: &[],
        accepted: &OnceCell::new(),
        brought: false,
        assumed: false,
        patterns: &[],
        snippet_percent: 100,
        may_fail_percent: 100,
    };
    let oracle = Consistency::new(setting, &mut accepts);
    let (statements, cases) = oracle.survey(&mut stream(seed, &[]));
    let mut connection = target.open(&common.data_dir(), STATEMENT_LIMITS)?;
    let mut by_context: BTreeMap<&'static str, usize> = BTreeMap::new();
    let (mut covered, mut comparisons) = (0, 0);
    for case in &cases {
        // Each on a database of its own: what a context leaves behind when it is refused, or the locks of many, would be in
        // the way of the next.
        build(connection.as_mut(), &statements)?;
        let runs = |step: &&Step| rows(connection.as_mut(), &profile, step, &|_| None).is_ok();
        let ran: Vec<_> = case.steps().iter().filter(runs).collect();
        if ran.len() > 1 {
            covered += 1;
            comparisons += ran.len();
            for query in ran {
                *by_context.entry(consistency::context(query.member).name).or_default() += 1;
            }
        }
    }
    Ok(Survey {
        version,
        snippets: cases.len(),
        covered,
        contexts: usable + 1,
        contexts_per_snippet: if covered == 0 { 0.0 } else { comparisons as f64 / covered as f64 },
        by_context,
    })
}

/// Prints it for people.
pub(super) fn print(survey: &Survey) {
    let Survey { version, snippets, covered, contexts, contexts_per_snippet, by_context } = survey;
    println!(
        "{version}: {covered} of {snippets} snippets were compared, each in {contexts_per_snippet:.1} of {contexts} contexts"
    );
    for (name, count) in by_context {
        println!("{count:>8}  {name}");
    }
}
