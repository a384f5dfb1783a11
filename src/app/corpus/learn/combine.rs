//! Combinations of the snippets of the store, to be kept there (Argus paper, section 6.1).

use super::{Heard, Learning};
use crate::app::Progress;
use crate::catalogue::SnippetLine;
use crate::config::{COMBINATION_ROUNDS, EXPRESSIONS_MAX};
use crate::corpus::combine::{Combined, combinations};
use crate::corpus::validate::{Candidate, Parsed, SnippetVerdict, with_verdict};
use crate::rng::stream;
use crate::sql::profile::Profile;
use crate::sql::snippet::{COMBINATION, Snippet, SnippetKind};
use crate::store::Provenance;
use crate::triage::finding::FoundReport;
use rand::seq::SliceRandom as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// The stream of random choices.
const COMBINATION_STREAM: u64 = 0xC03;

/// Rounds, at most: those of a round are parts of those of the next, as far as their length allows.
const ROUNDS_MAX: u64 = 10;

/// Hears what holds of what was made.
struct Combining<'a> {
    profile: &'a Profile,
    /// What candidates are made of, by their texts.
    made: BTreeMap<String, Combined>,
    /// Those that hold: the text, the outer one's and the inner one's.
    kept: Vec<[String; 3]>,
    /// Everything that holds.
    all: Vec<Arc<Snippet>>,
}

impl Heard for Combining<'_> {
    fn hear(&mut self, candidate: &Candidate, verdict: &SnippetVerdict) {
        let Some(Combined { snippet, parents: [outer, inner] }) = self.made.remove(&candidate.sql) else { return };
        if let Some(Parsed::Expression(snippet)) = with_verdict(Parsed::Expression(snippet), verdict) {
            self.kept.push([snippet.sql.clone(), outer.sql.clone(), inner.sql.clone()]);
            self.all.push(Arc::new(snippet));
        }
    }
}

impl Learning<'_> {
    /// Makes combinations of some of the expressions of the store that hold on the target.
    pub(super) async fn combine(
        &mut self,
        known: Vec<SnippetLine>,
        stop: &watch::Receiver<bool>,
        progress: &mut dyn Progress,
    ) -> anyhow::Result<Vec<FoundReport>> {
        let settings = serde_json::to_value(self.settings("combinations", None, &[]))?;
        let run = self.run(settings).await?;
        let provenance = Provenance { origin: COMBINATION.to_owned(), run: Some(run.id), ..Provenance::default() };
        let mut rng = stream(self.request.seed, &[COMBINATION_STREAM]);
        let expressions = known.into_iter().filter(|line| line.kind == SnippetKind::Expression);
        let mut drawn: Vec<Candidate> = expressions.map(|line| Candidate { kind: line.kind, sql: line.sql }).collect();
        drawn.shuffle(&mut rng);
        drawn.truncate(EXPRESSIONS_MAX);
        let judged = self.judged(&drawn, progress).await?;
        self.note_verdicts(drawn.iter().zip(&judged)).await?;
        let profile = self.profile.clone();
        let mut combining = Combining { profile: &profile, made: BTreeMap::new(), kept: Vec::new(), all: Vec::new() };
        let mut broken = Vec::new();
        for (candidate, judged) in drawn.iter().zip(&judged) {
            broken.extend(self.breakage(candidate, judged.broke.as_ref()));
            let holds = Parsed::read(candidate, &profile).ok().and_then(|read| with_verdict(read, &judged.verdict));
            if let Some(Parsed::Expression(snippet)) = holds {
                combining.all.push(Arc::new(snippet));
            }
        }
        let mut found = self.confirmed(broken).await?;
        let wanted = self.request.expressions.0 as usize;
        let mut valid = 0;
        for _ in 0..ROUNDS_MAX {
            let next = wanted.saturating_sub(valid).min(wanted.div_ceil(COMBINATION_ROUNDS as usize));
            let made = combinations(&combining.all, next, combining.profile, &mut rng);
            if made.is_empty() || *stop.borrow() {
                break;
            }
            combining.made = made.into_iter().map(|made| (made.snippet.sql.clone(), made)).collect();
            let of = |sql: &String| Candidate { kind: SnippetKind::Expression, sql: sql.clone() };
            let candidates = combining.made.keys().map(of).collect();
            found.extend(self.take_in(candidates, &provenance, &mut combining, progress).await?);
            self.store.snippet_made_of(&self.profile.name, &combining.kept).await?;
            valid += combining.kept.len();
            combining.kept.clear();
        }
        self.summary.done = !*stop.borrow();
        Ok(found)
    }
}
