//! What a run came to: the output contract of `caqtus discover --json`.

use crate::store::{CandidateTotal, CandidateVerdict, ClassState, Costs, Store, StoreError, Tally};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Characters of a reason by which unknown verdicts are counted.
const REASON_CHARS_MAX: usize = 80;

/// The sums of a run, over all its parts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Seeds.
    pub seeds: usize,
    /// Candidates that were proposed, repeated ones not counted.
    pub candidates: u64,
    /// Candidates proven equivalent to their seed.
    pub proven: u64,
    /// Candidates that a database refutes.
    pub refuted: u64,
    /// The others, by reason.
    pub unknown: BTreeMap<String, u64>,
    /// Proven candidates that the first target does not run, or that cannot stand in a class.
    pub failed_on_dbms: u64,
    /// Candidates that had been proposed before for their seed.
    pub duplicates: u64,
    /// Askings that gave no candidate, by what went wrong.
    pub without_candidates: BTreeMap<String, u64>,
    /// Why the searches ended, for seeds whose search did.
    pub ended: BTreeMap<String, u64>,
    /// Classes.
    pub classes: usize,
    /// Classes on which the engines agree.
    pub released: usize,
    /// Classes on which an engine disagrees.
    pub quarantined: usize,
    /// Members of all classes, seeds included.
    pub members: u64,
    /// Mean similarity of the plans within a class (Argus paper, section 7.6): the lower, the more diverse.
    pub similarity: Option<f64>,
    /// Tokens used, in and out.
    pub tokens: u64,
    /// What the model cost, in US dollars.
    pub usd: f64,
    /// Tokens set aside, at the worst, for requests without an answer.
    pub tokens_set_aside: u64,
    /// What these may cost, in US dollars.
    pub usd_set_aside: f64,
    /// Wall-clock time of this part of the run, in seconds.
    pub seconds: f64,
}

impl Summary {
    /// Sums up a run.
    pub async fn read(store: &Store, run: i64, elapsed: Duration) -> Result<Self, StoreError> {
        let rows = store.seed_list(run).await?;
        let seeds = rows.len();
        let mut summary = Self { seeds, seconds: elapsed.as_secs_f64(), ..Self::default() };
        for CandidateTotal { verdict, reason, refused, count } in store.candidate_totals(run).await? {
            match verdict {
                CandidateVerdict::Proven => {
                    summary.proven += count;
                    summary.failed_on_dbms += if refused { count } else { 0 };
                }
                CandidateVerdict::Refuted => summary.refuted += count,
                CandidateVerdict::Duplicate => summary.duplicates += count,
                CandidateVerdict::Unknown => {
                    let reason: String = reason.unwrap_or_default().chars().take(REASON_CHARS_MAX).collect();
                    *summary.unknown.entry(reason).or_default() += count;
                }
            }
        }
        summary.candidates = summary.proven + summary.refuted + summary.unknown.values().sum::<u64>();
        for why in rows.into_iter().filter_map(|row| row.ended) {
            *summary.ended.entry(why.chars().take(REASON_CHARS_MAX).collect()).or_default() += 1;
        }
        summary.without_candidates = store.step_failures(run).await?;
        let classes = store.run_classes(run).await?;
        summary.classes = classes.len();
        summary.released = classes.iter().filter(|c| c.state == ClassState::Released).count();
        summary.quarantined = classes.iter().filter(|c| c.state == ClassState::Quarantined).count();
        summary.members = classes.iter().map(|c| c.members).sum();
        let similarities: Vec<f64> = classes.iter().filter_map(|c| c.similarity).collect();
        #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
        if !similarities.is_empty() {
            summary.similarity = Some(similarities.iter().sum::<f64>() / similarities.len() as f64);
        }
        let Costs { spent, set_aside } = store.exchange_costs(run).await?;
        (summary.tokens, summary.tokens_set_aside) = (spent.tokens, set_aside.tokens);
        #[expect(clippy::cast_precision_loss, reason = "an amount for people")]
        let dollars = |tally: Tally| tally.micro_usd as f64 / 1e6;
        (summary.usd, summary.usd_set_aside) = (dollars(spent), dollars(set_aside));
        Ok(summary)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown: u64 = self.unknown.values().sum();
        writeln!(
            f,
            "{} seeds, {} candidates in {:.0} s: {} proven ({} of them not run), {} refuted, {unknown} unknown; \
             {} proposed twice",
            self.seeds, self.candidates, self.seconds, self.proven, self.failed_on_dbms, self.refuted, self.duplicates
        )?;
        let mut reasons: Vec<(&String, &u64)> =
            self.unknown.iter().chain(&self.without_candidates).chain(&self.ended).collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (reason, count) in reasons {
            writeln!(f, "  {count:>7}  {reason}")?;
        }
        let similarity = self.similarity.map(|s| format!(", similarity of plans {s:.3}")).unwrap_or_default();
        writeln!(
            f,
            "{} classes with {} members: {} released, {} quarantined{similarity}",
            self.classes, self.members, self.released, self.quarantined
        )?;
        if self.tokens > 0 {
            writeln!(f, "{} tokens, ${:.4} spent", self.tokens, self.usd)?;
        }
        if self.tokens_set_aside > 0 {
            writeln!(
                f,
                "at most {} tokens, ${:.4} set aside for requests without an answer",
                self.tokens_set_aside, self.usd_set_aside
            )?;
        }
        Ok(())
    }
}
