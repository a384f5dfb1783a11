//! Which of the queries found so far are shown to the model as examples.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{PlanTree, cluster, distance};

/// The ways of choosing examples that the Argus paper compares (section 7.6, table 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// One of each cluster of plans (appendix A).
    #[default]
    Clustering,
    /// None at all: each prompt stands alone, the paper's first baseline.
    Naive,
    /// Plans as far from each other as possible, the paper's second baseline.
    Beam,
}

/// The positions of the plans to show, ascending and at most `max`.
///
/// With clusters all are shown as long as there are no more than `max` (Algorithm 3, line 13), and afterwards the
/// medoids, which are distinct plans and so may be fewer than `max`. The paper says of the second baseline only that it
/// "selects a diverse subset, according to a diversity metric"; here the first plan is taken, and then again and again
/// the plan whose nearest taken plan is farthest away, the first of several. The seed matters to clusters only.
pub fn sample(sampling: Sampling, plans: &[PlanTree], max: usize, seed: u64) -> Vec<usize> {
    match sampling {
        Sampling::Naive => Vec::new(),
        Sampling::Clustering | Sampling::Beam if plans.len() <= max => (0..plans.len()).collect(),
        Sampling::Clustering => cluster::medoids(plans, max, seed),
        Sampling::Beam => farthest_first(plans, max),
    }
}

/// Farthest-first traversal (T. F. Gonzalez, Theoretical Computer Science 38, 1985), for more plans than `max`.
fn farthest_first(plans: &[PlanTree], max: usize) -> Vec<usize> {
    let distances = distance::matrix(&plans.iter().collect::<Vec<_>>());
    let mut left: Vec<_> = (0..plans.len()).collect();
    let mut taken: Vec<usize> = Vec::new();
    while taken.len() < max {
        // Before anything is taken all plans are equally far, and the first is the farthest.
        let isolation = |plan: usize| taken.iter().map(|&other| distances[plan][other]).min();
        // The last of equals wins in `max_by_key`, so the plans are read backwards.
        let Some(place) = (0..left.len()).rev().max_by_key(|&place| isolation(left[place])) else { break };
        taken.push(left.remove(place));
    }
    taken.sort_unstable();
    taken
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixtures::{tree, trees};

    fn plans(notations: &[&str]) -> Vec<PlanTree> {
        notations.iter().map(|notation| tree(notation)).collect()
    }

    #[test]
    fn without_examples_nothing_is_shown() {
        assert_eq!(sample(Sampling::Naive, &plans(&["a", "b"]), 5, 1), [0; 0]);
    }

    #[test]
    fn all_are_shown_as_long_as_there_is_room() {
        let plans = plans(&["a", "a", "b"]);
        for sampling in [Sampling::Clustering, Sampling::Beam] {
            assert_eq!(sample(sampling, &plans, 3, 1), [0, 1, 2]);
        }
        // One more than there is room for, and equal plans are one.
        assert_eq!(sample(Sampling::Clustering, &plans, 2, 1), [0, 2]);
    }

    #[test]
    fn a_beam_takes_what_is_farthest_from_the_rest() {
        let plans = plans(&["a", "a(b)", "a(b c d e)", "a(b c)", "x(y z)"]);
        assert_eq!(sample(Sampling::Beam, &plans, 0, 1), [0; 0]);
        assert_eq!(sample(Sampling::Beam, &plans, 1, 1), [0]);
        assert_eq!(sample(Sampling::Beam, &plans, 2, 1), [0, 2]);
        assert_eq!(sample(Sampling::Beam, &plans, 3, 1), [0, 2, 4]);
    }

    #[test]
    fn the_first_of_equally_far_plans_is_taken() {
        assert_eq!(sample(Sampling::Beam, &plans(&["a", "a", "b", "c"]), 2, 1), [0, 2]);
    }

    #[test]
    fn names_are_the_same_on_the_command_line_and_in_files() {
        for sampling in Sampling::value_variants() {
            let name = serde_json::to_value(sampling).unwrap();
            let value = sampling.to_possible_value().unwrap();
            assert_eq!(name.as_str(), Some(value.get_name()));
        }
    }

    proptest! {
        // k-means is slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_sample_is_ascending_and_fits(plans in prop::collection::vec(trees(6), 0..12), max in 0..6_usize, seed: u64) {
            for sampling in [Sampling::Clustering, Sampling::Naive, Sampling::Beam] {
                let sample = sample(sampling, &plans, max, seed);
                prop_assert!(sample.len() <= max);
                prop_assert!(sample.is_sorted_by(|a, b| a < b));
                prop_assert!(sample.iter().all(|&position| position < plans.len()));
            }
            prop_assert_eq!(sample(Sampling::Beam, &plans, max, seed).len(), plans.len().min(max));
        }
    }
}
