//! Plans as indented text, a line for each operator below the one that is indented less, as `DataFusion`'s physical plans
//! are (<https://datafusion.apache.org/user-guide/explain-usage.html>).
//!
//! A label is the operator with the kind and the mode of a join or an aggregation; names, expressions and numbers go.

use super::PlanTree;

/// What of an operator's properties tells two ways of executing apart.
const KEPT: [&str; 2] = ["mode=", "join_type="];

/// The tree of a plan.
pub(super) fn tree(text: &str) -> PlanTree {
    // The path from the root to the operator that was read last, with the indentation of each.
    let mut path = vec![(None, PlanTree::leaf("QUERY"))];
    let close = |path: &mut Vec<(Option<usize>, PlanTree)>| {
        if let Some((_, child)) = path.pop()
            && let Some((_, parent)) = path.last_mut()
        {
            parent.children.push(child);
        }
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        while path.last().is_some_and(|(above, _)| above.is_some_and(|above| above >= depth)) {
            close(&mut path);
        }
        path.push((Some(depth), PlanTree::leaf(label(line.trim()))));
    }
    while path.len() > 1 {
        close(&mut path);
    }
    path.pop().map_or_else(|| PlanTree::leaf("QUERY"), |(_, root)| root)
}

fn label(line: &str) -> String {
    let (operator, properties) = line.split_once(':').unwrap_or((line, ""));
    let kept = properties.split([',', ' ']).filter(|word| KEPT.iter().any(|key| word.starts_with(key)));
    kept.fold(operator.to_owned(), |label, word| format!("{label} {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_stand_below_what_uses_them() {
        let text = "ProjectionExec: expr=[a@0 as a]\n  HashJoinExec: mode=CollectLeft, join_type=Left, on=[(a@0, b@0)]\n    \
                    DataSourceExec: partitions=1\n    FilterExec: b@0 > 1\n      DataSourceExec: partitions=1\n";
        let leaf = |label: &str| PlanTree::leaf(label);
        let filter = PlanTree { label: "FilterExec".into(), children: vec![leaf("DataSourceExec")] };
        let label = "HashJoinExec mode=CollectLeft join_type=Left".to_owned();
        let join = PlanTree { label, children: vec![leaf("DataSourceExec"), filter] };
        let projection = PlanTree { label: "ProjectionExec".into(), children: vec![join] };
        assert_eq!(tree(text), PlanTree { label: "QUERY".into(), children: vec![projection] });
        assert_eq!(tree(""), leaf("QUERY"));
    }
}
