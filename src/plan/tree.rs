//! The tree that a plan is.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A query plan: an operator and its inputs, in the order in which the engine names them.
///
/// The label is all that is compared, so a dialect puts into it what distinguishes two ways of executing and leaves out
/// what does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanTree {
    /// The operator with its kind of access, in the engine's own words where they are stable.
    pub label: String,
    /// The inputs, in order. The order counts: a nested loop runs its first input outermost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<PlanTree>,
}

impl PlanTree {
    /// An operator without inputs.
    pub fn leaf(label: impl Into<String>) -> Self {
        Self { label: label.into(), children: Vec::new() }
    }

    /// The number of operators, at least one; the |T| of the Argus paper, section 7.6.
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Self::size).sum::<usize>()
    }

    /// The labels of its operators, each once.
    pub fn labels(&self) -> BTreeSet<&str> {
        let below = self.children.iter().flat_map(Self::labels);
        below.chain([self.label.as_str()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::fixtures::tree;

    #[test]
    fn the_size_counts_every_operator() {
        assert_eq!(tree("a").size(), 1);
        assert_eq!(tree("f(d(a c(b)) e)").size(), 6);
    }

    #[test]
    fn a_tree_is_written_without_empty_lists_and_read_back() {
        let plan = tree("QUERY(SCAN SEARCH(SCAN))");
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(
            text,
            r#"{"label":"QUERY","children":[{"label":"SCAN"},{"label":"SEARCH","children":[{"label":"SCAN"}]}]}"#
        );
        assert_eq!(serde_json::from_str::<super::PlanTree>(&text).unwrap(), plan);
    }
}
