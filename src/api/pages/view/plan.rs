//! Plans as trees whose operators say whether they are in one plan only.

use serde::Serialize;

/// An operator.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Node {
    pub(crate) label: String,
    /// `-` if only the first plan has it, `+` if only the second, else nothing.
    pub(crate) mark: &'static str,
    pub(crate) children: Vec<Node>,
}

/// Levels that are drawn; what is deeper hangs from the last one.
const DEPTH_MAX: usize = 60;

/// The tree of the lines that [`diff`](crate::plan::diff::diff) writes.
pub(crate) fn tree(lines: &str) -> Vec<Node> {
    let mut roots = Vec::new();
    for line in lines.lines() {
        let (mark, rest) = match line.split_at_checked(1) {
            Some(("-", rest)) => ("-", rest),
            Some(("+", rest)) => ("+", rest),
            Some((_, rest)) => ("", rest),
            None => continue,
        };
        let label = rest.trim_start_matches(' ');
        let depth = ((rest.len() - label.len()).saturating_sub(1) / 2).min(DEPTH_MAX);
        let mut at: &mut Vec<Node> = &mut roots;
        for _ in 0..depth {
            if at.is_empty() {
                break;
            }
            let last = at.len() - 1;
            at = &mut at[last].children;
        }
        at.push(Node { label: label.to_owned(), mark, children: Vec::new() });
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanTree;
    use crate::plan::diff::diff;

    fn plan(label: &str, children: Vec<PlanTree>) -> PlanTree {
        PlanTree { label: label.to_owned(), children }
    }

    fn shown(nodes: &[Node]) -> String {
        nodes.iter().map(|n| format!("{}{}({})", n.mark, n.label, shown(&n.children))).collect::<Vec<_>>().concat()
    }

    #[test]
    fn what_differs_keeps_its_place_in_the_tree() {
        let first = plan("query", vec![plan("scan", vec![plan("x", vec![])]), plan("sort", vec![])]);
        let second = plan("query", vec![plan("search", vec![]), plan("sort", vec![])]);
        assert_eq!(shown(&tree(&diff(&first, &second))), "query(+search()-scan(-x())sort())");
        assert_eq!(shown(&tree(&diff(&first, &first))), "query(scan(x())sort())");
        assert_eq!(shown(&tree("")), "");
    }

    #[test]
    fn a_deep_plan_is_drawn_all_the_same() {
        let deep = (0..500).fold(plan("leaf", vec![]), |below, _| plan("op", vec![below]));
        let mut nodes = &tree(&diff(&deep, &deep))[..];
        let (mut depth, mut count) = (0, 0);
        while let Some(last) = nodes.last() {
            depth += 1;
            count += nodes.len();
            nodes = &last.children;
        }
        assert_eq!((depth, count), (DEPTH_MAX + 1, 501));
    }
}
