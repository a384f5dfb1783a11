//! Tree edit distance: the least number of nodes to insert, delete or relabel to make one tree of the other.
//!
//! K. Zhang and D. Shasha, "Simple fast algorithms for the editing distance between trees and related problems", SIAM
//! J. Comput. 18(6), 1989. A deleted node leaves its children to its parent, so a filter put on top of a plan costs one
//! however large the plan is; distances that insert and delete whole subtrees would count the plan twice. The order of
//! children counts.
//!
//! For trees of m and n nodes it takes O(mn) space and O(mn · c · d) time, where c is the lesser of the depth and the
//! number of leaves of the one tree, and d of the other; plans have tens of nodes.

use super::PlanTree;

/// The edit distance of two plans, with unit costs.
///
/// It is a metric: zero for equal plans only, symmetric, and never shorter by way of a third plan. It is at least the
/// difference of the sizes and less than their sum, since the roots of any two trees can be matched.
pub fn distance(a: &PlanTree, b: &PlanTree) -> usize {
    between(&Postorder::new(a), &Postorder::new(b))
}

/// The distances of all pairs: a symmetric matrix in the order of `plans`, with zeros on its diagonal.
pub fn matrix(plans: &[&PlanTree]) -> Vec<Vec<usize>> {
    let postorders: Vec<_> = plans.iter().map(|plan| Postorder::new(plan)).collect();
    let mut matrix = vec![vec![0; plans.len()]; plans.len()];
    for (i, a) in postorders.iter().enumerate() {
        for (j, b) in postorders.iter().enumerate().skip(i + 1) {
            let distance = between(a, b);
            matrix[i][j] = distance;
            matrix[j][i] = distance;
        }
    }
    matrix
}

/// A tree as the algorithm reads it: nodes are numbered from 0 in postorder, so the root is the last.
struct Postorder<'a> {
    labels: Vec<&'a str>,
    /// For each node the first leaf below it, which is where its subtree begins. Itself for a leaf.
    leftmost: Vec<usize>,
    /// The root and every node with a left sibling, ascending: all other subtrees are prefixes of one of these.
    keyroots: Vec<usize>,
}

impl<'a> Postorder<'a> {
    fn new(tree: &'a PlanTree) -> Self {
        let mut postorder = Self { labels: Vec::new(), leftmost: Vec::new(), keyroots: Vec::new() };
        postorder.visit(tree, true);
        postorder
    }

    fn visit(&mut self, node: &'a PlanTree, is_keyroot: bool) {
        let first = self.labels.len();
        for (position, child) in node.children.iter().enumerate() {
            self.visit(child, position > 0);
        }
        if is_keyroot {
            self.keyroots.push(self.labels.len());
        }
        self.labels.push(&node.label);
        self.leftmost.push(first);
    }
}

/// Both levels of the dynamic programming: over the keyroots, and over the prefixes of each pair of their subtrees.
fn between(a: &Postorder, b: &Postorder) -> usize {
    let mut trees = vec![vec![0; b.labels.len()]; a.labels.len()];
    // Distance of the first i nodes of one subtree to the first j of the other, both read as forests.
    let mut forests = vec![vec![0; b.labels.len() + 1]; a.labels.len() + 1];
    for &root_a in &a.keyroots {
        for &root_b in &b.keyroots {
            let (start_a, start_b) = (a.leftmost[root_a], b.leftmost[root_b]);
            for i in 0..=root_a + 1 - start_a {
                for j in 0..=root_b + 1 - start_b {
                    if i == 0 || j == 0 {
                        forests[i][j] = i + j;
                        continue;
                    }
                    let (node_a, node_b) = (start_a + i - 1, start_b + j - 1);
                    let (left_a, left_b) = (a.leftmost[node_a], b.leftmost[node_b]);
                    let mut best = forests[i - 1][j].min(forests[i][j - 1]) + 1;
                    if left_a == start_a && left_b == start_b {
                        // Both prefixes are whole trees, so their last nodes are roots and can be matched alone.
                        let relabel = usize::from(a.labels[node_a] != b.labels[node_b]);
                        best = best.min(forests[i - 1][j - 1] + relabel);
                        trees[node_a][node_b] = best;
                    } else {
                        // Matching the last nodes matches their subtrees, whose distance is known by now.
                        let before = forests[left_a - start_a][left_b - start_b];
                        best = best.min(before + trees[node_a][node_b]);
                    }
                    forests[i][j] = best;
                }
            }
        }
    }
    trees[a.labels.len() - 1][b.labels.len() - 1]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::plan::fixtures::{tree, trees};

    fn check(a: &str, b: &str, expected: usize) {
        assert_eq!(distance(&tree(a), &tree(b)), expected, "{a} to {b}");
        assert_eq!(distance(&tree(b), &tree(a)), expected, "{b} to {a}");
    }

    #[test]
    fn known_distances() {
        // The example of Zhang and Shasha: c moves above d by a deletion and an insertion.
        check("f(d(a c(b)) e)", "f(c(d(a b)) e)", 2);
        check("a", "a", 0);
        check("a", "b", 1);
        check("a(b c)", "a(c b)", 2);
        check("a(b c)", "a(x(b c))", 1);
        check("a(b(c(d)))", "d", 3);
        check("a(b c d)", "x(b y d)", 2);
    }

    #[test]
    fn a_filter_on_top_of_a_plan_costs_one() {
        check("JOIN(SCAN SEARCH(SCAN))", "FILTER(JOIN(SCAN SEARCH(SCAN)))", 1);
    }

    #[test]
    fn the_matrix_holds_the_distances() {
        let plans = [tree("a(b c)"), tree("a"), tree("x(b)"), tree("a(b c)")];
        let references: Vec<_> = plans.iter().collect();
        let matrix = matrix(&references);
        for (i, a) in plans.iter().enumerate() {
            for (j, b) in plans.iter().enumerate() {
                assert_eq!(matrix[i][j], distance(a, b));
            }
        }
    }

    type Known = HashMap<(Vec<PlanTree>, Vec<PlanTree>), usize>;

    /// The definition: remove the last root on either side, or match the two.
    fn naive(a: &[PlanTree], b: &[PlanTree], known: &mut Known) -> usize {
        let (Some((x, a_before)), Some((y, b_before))) = (a.split_last(), b.split_last()) else {
            return a.iter().chain(b).map(PlanTree::size).sum();
        };
        if let Some(distance) = known.get(&(a.to_vec(), b.to_vec())) {
            return *distance;
        }
        let delete = 1 + naive(&[a_before, x.children.as_slice()].concat(), b, known);
        let insert = 1 + naive(a, &[b_before, y.children.as_slice()].concat(), known);
        let matched =
            usize::from(x.label != y.label) + naive(a_before, b_before, known) + naive(&x.children, &y.children, known);
        let distance = delete.min(insert).min(matched);
        known.insert((a.to_vec(), b.to_vec()), distance);
        distance
    }

    proptest! {
        #[test]
        fn it_is_a_metric(a in trees(12), b in trees(12), c in trees(12)) {
            let ab = distance(&a, &b);
            prop_assert_eq!(ab == 0, a == b);
            prop_assert_eq!(distance(&a, &a.clone()), 0);
            prop_assert_eq!(ab, distance(&b, &a));
            prop_assert!(distance(&a, &c) <= ab + distance(&b, &c));
        }

        #[test]
        fn it_lies_between_the_difference_of_the_sizes_and_their_sum(a in trees(20), b in trees(20)) {
            let distance = distance(&a, &b);
            prop_assert!(distance >= a.size().abs_diff(b.size()));
            prop_assert!(distance < a.size() + b.size());
        }

        #[test]
        fn a_node_on_top_costs_one(a in trees(20)) {
            let topped = PlanTree { label: "a".into(), children: vec![a.clone()] };
            prop_assert_eq!(distance(&a, &topped), 1);
        }

        #[test]
        fn it_agrees_with_the_recursive_definition(a in trees(7), b in trees(7)) {
            prop_assert_eq!(
                distance(&a, &b),
                naive(std::slice::from_ref(&a), std::slice::from_ref(&b), &mut Known::new())
            );
        }
    }
}
