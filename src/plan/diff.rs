//! What differs between two plans, for a person.
//!
//! The edit script comes from the crate `tree-edit-distance`, which inserts and deletes whole subtrees and pairs only
//! equal operators at the same depth. That is less economical than [`distance`](super::distance) and easier to read:
//! what is gone and what has come are shown as the subtrees that they are.

use std::fmt::Write as _;

use tree_edit_distance::{Edit, Node, Tree};

use super::PlanTree;

/// The two plans as one text, an operator per line, indented by its depth: lines that begin with `-` are in `before`
/// only, those with `+` in `after` only, the others in both. Every line ends with a line break.
pub fn diff(before: &PlanTree, after: &PlanTree) -> String {
    let (script, _) = tree_edit_distance::diff(&View::new(before), &View::new(after));
    let mut text = String::new();
    write_edits(&script, std::slice::from_ref(before), std::slice::from_ref(after), 0, &mut text);
    text
}

/// Writes the edits of one list of siblings, which consume `before` and `after` from the front.
fn write_edits(edits: &[Edit], before: &[PlanTree], after: &[PlanTree], depth: usize, text: &mut String) {
    let (mut before, mut after) = (before.iter(), after.iter());
    for edit in edits {
        match edit {
            Edit::Remove => before.next().into_iter().for_each(|node| write_tree('-', node, depth, text)),
            Edit::Insert => after.next().into_iter().for_each(|node| write_tree('+', node, depth, text)),
            Edit::Replace(inner) => {
                if let (Some(old), Some(new)) = (before.next(), after.next()) {
                    write_line(' ', &old.label, depth, text);
                    write_edits(inner, &old.children, &new.children, depth + 1, text);
                }
            }
        }
    }
}

fn write_tree(mark: char, node: &PlanTree, depth: usize, text: &mut String) {
    write_line(mark, &node.label, depth, text);
    node.children.iter().for_each(|child| write_tree(mark, child, depth + 1, text));
}

fn write_line(mark: char, label: &str, depth: usize, text: &mut String) {
    writeln!(text, "{mark} {:indent$}{label}", "", indent = 2 * depth).expect("writing to a string cannot fail");
}

/// A plan as the crate wants to see it. A type of its own, so that the crate's traits are not part of `PlanTree`.
struct View<'a> {
    label: &'a str,
    children: Vec<View<'a>>,
}

impl<'a> View<'a> {
    fn new(tree: &'a PlanTree) -> Self {
        Self { label: &tree.label, children: tree.children.iter().map(View::new).collect() }
    }
}

impl<'a> Node for View<'a> {
    type Kind = &'a str;
    fn kind(&self) -> Self::Kind {
        self.label
    }

    type Weight = usize;
    fn weight(&self) -> Self::Weight {
        1
    }
}

impl<'a> Tree for View<'a> {
    type Children<'c>
        = &'c [View<'a>]
    where
        Self: 'c;
    fn children(&self) -> Self::Children<'_> {
        &self.children
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::distance::distance;
    use crate::plan::fixtures::{tree, trees};

    fn check(before: &str, after: &str, expected: &[&str]) {
        let text = diff(&tree(before), &tree(after));
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{before} to {after}");
    }

    #[test]
    fn what_is_gone_and_what_has_come_is_marked() {
        check(
            "QUERY(SCAN SCAN(x) SORT)",
            "QUERY(SCAN SEARCH(y) SORT)",
            &["  QUERY", "    SCAN", "-   SCAN", "-     x", "+   SEARCH", "+     y", "    SORT"],
        );
        check("a(b)", "a(b)", &["  a", "    b"]);
        check("a", "b", &["- a", "+ b"]);
    }

    /// The lines of one side, without their marks: what is in both, and what has `mark`.
    fn side(text: &str, mark: char) -> String {
        text.lines()
            .filter(|line| line.starts_with([' ', mark]))
            .fold(String::new(), |side, line| side + &line[1..] + "\n")
    }

    proptest! {
        #[test]
        fn either_side_can_be_read_off_the_diff(a in trees(20), b in trees(20)) {
            let text = diff(&a, &b);
            prop_assert_eq!(side(&text, '-'), side(&diff(&a, &a), '-'));
            prop_assert_eq!(side(&text, '+'), side(&diff(&b, &b), '+'));
        }

        /// Every script of the crate is one of Zhang and Shasha's too, since it pairs equal operators only.
        #[test]
        fn the_script_is_no_shorter_than_the_distance(a in trees(20), b in trees(20)) {
            let (_, cost) = tree_edit_distance::diff(&View::new(&a), &View::new(&b));
            prop_assert!(distance(&a, &b) <= cost, "{} > {cost}", distance(&a, &b));
            let marked = diff(&a, &b).lines().filter(|line| !line.starts_with(' ')).count();
            prop_assert_eq!(marked, cost);
        }
    }
}
