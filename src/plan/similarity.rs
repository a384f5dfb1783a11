//! How alike a set of plans is: the measure of the Argus paper, section 7.6.

use super::{PlanTree, distance};

/// The mean over all pairs of plans of 1 − dist(a, b) / (|a| + |b|), where |a| is the number of operators: 1 for plans
/// that are all the same, and the lower the more diverse they are. `None` for fewer than two plans.
///
/// The paper writes a factor 2 / (N(N−1)) before a sum over i ≠ j. That factor makes a mean only if each unordered pair
/// is summed once, and with both orders the paper's own values could exceed 1, so it is read as the mean over unordered
/// pairs. Equal plans of different queries count each.
pub fn similarity(plans: &[PlanTree]) -> Option<f64> {
    let distances = distance::matrix(&plans.iter().collect::<Vec<_>>());
    let (mut sum, mut pairs) = (0.0, 0_u32);
    for (i, a) in plans.iter().enumerate() {
        for (j, b) in plans.iter().enumerate().skip(i + 1) {
            sum += 1.0 - ratio(distances[i][j], a.size() + b.size());
            pairs += 1;
        }
    }
    (pairs > 0).then(|| sum / f64::from(pairs))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of operators are far below 2^53")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixtures::{tree, trees};

    fn check(plans: &[&str], expected: Option<f64>) {
        let plans: Vec<_> = plans.iter().map(|notation| tree(notation)).collect();
        let found = similarity(&plans);
        let close = match (found, expected) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (a, b) => a == b,
        };
        assert!(close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn known_similarities() {
        check(&[], None);
        check(&["a"], None);
        check(&["a", "a"], Some(1.0));
        check(&["a", "b"], Some(0.5));
        // Pairs: equal, and twice a distance of 2 among 4 + 2 operators.
        check(&["a(b c d)", "a(b c d)", "a(b)"], Some((1.0 + 2.0 * (1.0 - 2.0 / 6.0)) / 3.0));
    }

    proptest! {
        #[test]
        fn it_is_a_share_and_does_not_depend_on_the_order(plans in prop::collection::vec(trees(8), 2..6)) {
            let similarity_of = |plans: &[PlanTree]| similarity(plans).unwrap();
            let forward = similarity_of(&plans);
            let reversed: Vec<_> = plans.iter().rev().cloned().collect();
            prop_assert!(forward > 0.0 && forward <= 1.0);
            prop_assert!((forward - similarity_of(&reversed)).abs() < 1e-12);
        }
    }
}
