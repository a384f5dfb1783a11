//! Trees for tests: a notation to write them in, and strategies that make them.

use proptest::prelude::*;

use super::PlanTree;

/// The tree that `notation` writes down: a label, then its children in parentheses, separated by blanks.
pub(super) fn tree(notation: &str) -> PlanTree {
    let mut open = vec![PlanTree::leaf("")];
    let mut label = String::new();
    for c in notation.chars().chain([' ']) {
        if !matches!(c, '(' | ')' | ' ') {
            label.push(c);
            continue;
        }
        let node = (!label.is_empty()).then(|| PlanTree::leaf(std::mem::take(&mut label)));
        match (c, node) {
            ('(', node) => open.push(node.expect("a label before its children")),
            (_, Some(node)) => open.last_mut().unwrap().children.push(node),
            (_, None) => {}
        }
        if c == ')' {
            let node = open.pop().unwrap();
            open.last_mut().unwrap().children.push(node);
        }
    }
    assert_eq!(open.len(), 1, "{notation} closes what it opens");
    open.pop().and_then(|mut root| root.children.pop()).expect("one tree")
}

/// Trees of up to about `size` nodes with three different labels, so that trees often share parts.
pub(super) fn trees(size: u32) -> impl Strategy<Value = PlanTree> {
    let label = prop_oneof!["a", "b", "c"];
    label.clone().prop_map(PlanTree::leaf).prop_recursive(4, size, 3, move |inner| {
        (label.clone(), prop::collection::vec(inner, 0..4)).prop_map(|(label, children)| PlanTree { label, children })
    })
}
