//! Which plans stand for the rest: clusters, and the middle of each.
//!
//! Algorithm 3 of the Argus paper (appendix A) moves plans between clusters by single linkage and draws one of each at
//! random. Here clusters are made by k-means, which needs coordinates, and each is represented by its medoid, so the
//! choice depends on the seed as little as possible:
//!
//! 1. Plans at distance zero are one plan; the first is kept. Otherwise a plan that many queries share would pull all
//!    the centres to itself, and clusters could come out empty.
//! 2. Classical multidimensional scaling (W. S. Torgerson, Psychometrika 17, 1952) places the plans so that straight
//!    lines between them are about as long as their tree distances: the squared distances are centred in rows and
//!    columns, and the axes are the eigenvectors with the largest eigenvalues. Tree distances are not Euclidean, which
//!    shows as negative eigenvalues; their share is reported.
//! 3. k-means on these coordinates, from a seed.
//! 4. The medoid of each cluster is found by tree distance, not by coordinates.

use linfa::traits::{Fit, Predict};
use linfa_clustering::KMeans;
use linfa_linalg::eigh::Eigh;
use ndarray::Array2;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{PlanTree, distance};

/// The most axes that plans are placed on. More would give weight to ever smaller differences.
const AXES_MAX: usize = 8;

/// The plans that represent the clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Positions in the given plans, ascending, of plans that are all distinct.
    pub medoids: Vec<usize>,
    /// How badly the distances fit into a Euclidean space: the share of negative eigenvalues in the sum of the absolute
    /// eigenvalues, from 0 (they fit) up to below 1/2. `None` if nothing had to be placed, since there were no more
    /// distinct plans than clusters asked for, or if they could not be placed.
    pub embedding_error: Option<f64>,
}

/// Clusters `plans` into at most `clusters` clusters and names the medoid of each.
///
/// If there are no more distinct plans than that, each is a cluster. The same arguments give the same result.
pub fn cluster(plans: &[PlanTree], clusters: usize, seed: u64) -> Clustering {
    let firsts = distinct(plans);
    if clusters == 0 {
        return Clustering { medoids: Vec::new(), embedding_error: None };
    }
    if firsts.len() <= clusters {
        return Clustering { medoids: firsts, embedding_error: None };
    }
    let distances = distance::matrix(&firsts.iter().map(|&position| &plans[position]).collect::<Vec<_>>());
    let placed = embed(&distances).and_then(|embedding| {
        let memberships = k_means(embedding.coordinates, clusters, seed)?;
        Some((memberships, embedding.error))
    });
    let Some((memberships, error)) = placed else {
        // The numerics have failed, which no distances are known to do; the first plans are then as good as any.
        return Clustering { medoids: firsts[..clusters].to_vec(), embedding_error: None };
    };
    let mut medoids: Vec<_> = (0..clusters)
        .filter_map(|cluster| {
            let members = || (0..firsts.len()).filter(|&member| memberships[member] == cluster);
            members().min_by_key(|&centre| members().map(|member| distances[centre][member]).sum::<usize>())
        })
        .map(|medoid| firsts[medoid])
        .collect();
    medoids.sort_unstable();
    Clustering { medoids, embedding_error: Some(error) }
}

/// The medoids of [`cluster`] alone.
pub fn medoids(plans: &[PlanTree], clusters: usize, seed: u64) -> Vec<usize> {
    cluster(plans, clusters, seed).medoids
}

/// The first position of each distinct plan, ascending. Only equal plans are at distance zero.
fn distinct(plans: &[PlanTree]) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    (0..plans.len()).filter(|&position| seen.insert(&plans[position])).collect()
}

struct Embedding {
    /// A row per plan, a column per axis.
    coordinates: Array2<f64>,
    error: f64,
}

/// Classical multidimensional scaling. `None` if there is no axis or a coordinate that is no number.
#[expect(clippy::cast_precision_loss, reason = "distances of plans and numbers of plans are far below 2^53")]
fn embed(distances: &[Vec<usize>]) -> Option<Embedding> {
    let n = distances.len();
    let squares = Array2::from_shape_fn((n, n), |(i, j)| (distances[i][j] as f64).powi(2));
    let row_means: Vec<_> = squares.rows().into_iter().map(|row| row.sum() / n as f64).collect();
    let mean = row_means.iter().sum::<f64>() / n as f64;
    // The matrix is symmetric, so the means of its columns are those of its rows.
    let centred = Array2::from_shape_fn((n, n), |(i, j)| -0.5 * (squares[[i, j]] - row_means[i] - row_means[j] + mean));

    let (values, vectors) = centred.eigh().ok()?;
    let total: f64 = values.iter().map(|value| value.abs()).sum();
    let negative: f64 = values.iter().filter(|value| **value < 0.0).map(|value| value.abs()).sum();
    // What is left of zero eigenvalues after rounding is no axis.
    let least = total * f64::EPSILON * n as f64;
    let mut axes: Vec<_> = (0..n).filter(|&axis| values[axis].is_finite() && values[axis] > least).collect();
    axes.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    axes.truncate(AXES_MAX);
    let coordinates = Array2::from_shape_fn((n, axes.len()), |(i, j)| vectors[[i, axes[j]]] * values[axes[j]].sqrt());
    let sound = !axes.is_empty() && coordinates.iter().all(|coordinate| coordinate.is_finite());
    sound.then(|| Embedding { coordinates, error: negative / total })
}

/// The number of the cluster of each row.
///
/// The generator is not the one of `rng.rs`, because linfa knows only an older generation of `rand`.
fn k_means(coordinates: Array2<f64>, clusters: usize, seed: u64) -> Option<Vec<usize>> {
    let observations = linfa::DatasetBase::from(coordinates);
    let model = KMeans::params_with_rng(clusters, Xoshiro256Plus::seed_from_u64(seed)).fit(&observations).ok()?;
    Some(model.predict(observations.records()).to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixtures::{tree, trees};

    fn plans(notations: &[&str]) -> Vec<PlanTree> {
        notations.iter().map(|notation| tree(notation)).collect()
    }

    /// A tree of `length` nodes in a row. Such trees are as far apart as their lengths, so they lie on a line.
    fn chain(label: &str, length: usize) -> PlanTree {
        let leaf = PlanTree::leaf(label);
        (1..length).fold(leaf, |tree, _| PlanTree { label: label.into(), children: vec![tree] })
    }

    #[test]
    fn few_distinct_plans_stand_for_themselves() {
        assert_eq!(medoids(&[], 3, 1), [0; 0]);
        assert_eq!(medoids(&plans(&["a"]), 3, 1), [0]);
        assert_eq!(medoids(&plans(&["a", "b"]), 1, 1).len(), 1);
        assert_eq!(medoids(&plans(&["a", "a", "b", "a", "b"]), 2, 1), [0, 2]);
        assert_eq!(medoids(&plans(&["a", "a", "a"]), 2, 1), [0]);
        assert_eq!(medoids(&plans(&["a", "b", "c"]), 0, 1), [0; 0]);
        assert_eq!(cluster(&plans(&["a", "a", "b"]), 2, 1).embedding_error, None);
    }

    #[test]
    fn the_middle_of_each_group_stands_for_it() {
        // Three groups in a row, whose members differ by one; the medoid of each is its middle.
        let lengths = [1, 2, 3, 11, 12, 13, 21, 22, 23];
        let plans: Vec<_> = lengths.iter().map(|&length| chain("a", length)).collect();
        for seed in 0..20 {
            assert_eq!(medoids(&plans, 3, seed), [1, 4, 7], "seed {seed}");
        }
    }

    #[test]
    fn many_equal_plans_weigh_no_more_than_one() {
        let lengths = [1, 2, 3, 21, 22, 23];
        let mut plans: Vec<_> = lengths.iter().map(|&length| chain("a", length)).collect();
        plans.extend(std::iter::repeat_n(chain("a", 1), 50));
        assert_eq!(medoids(&plans, 2, 3), [1, 4]);
    }

    #[test]
    fn the_embedding_keeps_distances_that_are_euclidean() {
        let plans: Vec<_> = [1, 4, 6, 11, 30].iter().map(|&length| chain("a", length)).collect();
        let distances = distance::matrix(&plans.iter().collect::<Vec<_>>());
        let Embedding { coordinates, error } = embed(&distances).unwrap();
        assert_eq!(coordinates.ncols(), 1, "a line has one axis");
        assert!(error < 1e-9, "{error}");
        for (i, row) in distances.iter().enumerate() {
            for (j, &distance) in row.iter().enumerate() {
                let length = (coordinates[[i, 0]] - coordinates[[j, 0]]).abs();
                assert!((length - f64::from(u32::try_from(distance).unwrap())).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn distances_that_are_not_euclidean_are_reported() {
        // Three points at distance 2 with a fourth at distance 1 from each: no such point exists in a Euclidean space.
        let star = vec![vec![0, 1, 1, 1], vec![1, 0, 2, 2], vec![1, 2, 0, 2], vec![1, 2, 2, 0]];
        assert!(embed(&star).unwrap().error > 0.01);
    }

    proptest! {
        // k-means is slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn medoids_are_distinct_ascending_plans(
            plans in prop::collection::vec(trees(10), 0..25),
            clusters in 0..8_usize,
            seed: u64,
        ) {
            let clustering = cluster(&plans, clusters, seed);
            let medoids = &clustering.medoids;
            let firsts = distinct(&plans);
            prop_assert!(medoids.len() <= clusters);
            prop_assert!(medoids.is_sorted_by(|a, b| a < b));
            prop_assert!(medoids.iter().all(|medoid| firsts.contains(medoid)));
            prop_assert_eq!(medoids.is_empty(), plans.is_empty() || clusters == 0);
            prop_assert_eq!(clustering.embedding_error.is_some(), clusters > 0 && firsts.len() > clusters);
            prop_assert!(clustering.embedding_error.is_none_or(|error| (0.0..0.5).contains(&error)));
            prop_assert_eq!(&clustering, &cluster(&plans, clusters, seed));
        }

        /// Plans on lines have as many zero eigenvalues as can be, which is where decompositions have trouble.
        #[test]
        fn degenerate_distances_are_embedded(
            lengths in prop::collection::vec((prop_oneof!["a", "b"], 1..40_usize), 3..25),
            seed: u64,
        ) {
            let plans: Vec<_> = lengths.iter().map(|(label, length)| chain(label, *length)).collect();
            let clustering = cluster(&plans, 2, seed);
            prop_assert_eq!(clustering.embedding_error.is_some(), distinct(&plans).len() > 2);
        }
    }
}
