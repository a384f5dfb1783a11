//! Bisection: between which versions of an engine a finding appeared and disappeared.

use serde::Serialize;

/// What a version does with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// It shows.
    Shows,
    /// The queries agree.
    Agrees,
    /// A query does not run there.
    Void,
}

/// Where a finding shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bisection {
    /// The last version before the first bad one that does not show it.
    pub good_before: Option<String>,
    /// The first version that shows it, as far as was looked.
    pub first_bad: String,
    /// The last version that shows it, as far as was looked.
    pub last_bad: String,
    /// The first version after it that does not show it: where it was fixed.
    pub first_good: Option<String>,
    /// What each version that was looked at does, oldest first.
    pub seen: Vec<(String, Seen)>,
}

impl Bisection {
    /// Versions next to the first and the last bad one that are void: the boundaries may lie among them.
    pub fn void(&self) -> (Vec<&str>, Vec<&str>) {
        let at = |version: &String| self.seen.iter().position(|(seen, _)| seen == version).unwrap_or(0);
        let mut older = leading_void(self.seen[..at(&self.first_bad)].iter().rev());
        older.reverse();
        (older, leading_void(self.seen[at(&self.last_bad) + 1..].iter()))
    }
}

fn leading_void<'a>(seen: impl Iterator<Item = &'a (String, Seen)>) -> Vec<&'a str> {
    seen.take_while(|(_, seen)| *seen == Seen::Void).map(|(version, _)| version.as_str()).collect()
}

/// Looks at versions, oldest first, of which the one at `bad` shows the finding, halving on either side of it. A version
/// that is void is neither good nor bad: the nearest that is not is looked at in its place. A finding that comes and goes
/// more than once is found in the stretch around `bad` only.
pub fn bisect<E>(
    versions: &[String],
    bad: usize,
    mut look: impl FnMut(&str) -> Result<Seen, E>,
) -> Result<Bisection, E> {
    let mut seen: Vec<Option<Seen>> = vec![None; versions.len()];
    seen[bad] = Some(Seen::Shows);
    // Newer ones, nearest first; then older ones.
    let sides: [Vec<usize>; 2] = [(bad + 1..versions.len()).collect(), (0..bad).rev().collect()];
    let mut edges = [(bad, None); 2];
    for (side, (last_bad, good)) in sides.iter().zip(&mut edges) {
        // Below `low` it shows; from `high` on it does not, or nothing is known.
        let (mut low, mut high) = (0, side.len());
        // The end first: most often it is one side of the boundary.
        let mut wanted = side.len().saturating_sub(1);
        while low < high {
            let nearest = (low..high).filter(|at| seen[side[*at]] != Some(Seen::Void));
            let Some(at) = nearest.min_by_key(|at| at.abs_diff(wanted)) else { break };
            let found = look(&versions[side[at]])?;
            seen[side[at]] = Some(found);
            match found {
                Seen::Shows => (low, *last_bad) = (at + 1, side[at]),
                Seen::Agrees => (high, *good) = (at, Some(side[at])),
                Seen::Void => {}
            }
            wanted = usize::midpoint(low, high.saturating_sub(1));
        }
    }
    let [(last_bad, first_good), (first_bad, good_before)] = edges;
    let name = |at: usize| versions[at].clone();
    let seen = versions.iter().zip(seen).filter_map(|(version, seen)| Some((version.clone(), seen?))).collect();
    Ok(Bisection {
        good_before: good_before.map(name),
        first_bad: name(first_bad),
        last_bad: name(last_bad),
        first_good: first_good.map(name),
        seen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_boundaries_of_one_stretch_are_found(length in 1usize..40, from in 0usize..40, to in 0usize..40, at in 0usize..40) {
            let (from, to) = (from.min(length - 1), to.min(length - 1));
            let (from, to) = (from.min(to), from.max(to));
            let bad = from + at % (to - from + 1);
            let versions: Vec<String> = (0..length).map(|v| v.to_string()).collect();
            let mut looks = 0;
            let found = bisect(&versions, bad, |version| {
                looks += 1;
                let version: usize = version.parse().unwrap();
                Ok::<_, ()>(if (from..=to).contains(&version) { Seen::Shows } else { Seen::Agrees })
            }).unwrap();
            prop_assert_eq!(found.void(), (Vec::new(), Vec::new()));
            prop_assert_eq!(found.first_bad, from.to_string());
            prop_assert_eq!(found.last_bad, to.to_string());
            prop_assert_eq!(found.good_before, from.checked_sub(1).map(|v| v.to_string()));
            prop_assert_eq!(found.first_good, (to + 1 < length).then(|| (to + 1).to_string()));
            prop_assert!(looks <= 14, "{} versions, {} looks", length, looks);
        }

        #[test]
        fn a_void_version_is_never_good_nor_bad(kinds in prop::collection::vec(0u8..4, 1..30), from in 0usize..30, to in 0usize..30, at in 0usize..30) {
            // One version in four is void; the others show it between two versions.
            let (from, to) = (from.min(to), from.max(to));
            let truth: Vec<Seen> = kinds.iter().enumerate().map(|(version, kind)| match kind {
                0 => Seen::Void,
                _ if (from..=to).contains(&version) => Seen::Shows,
                _ => Seen::Agrees,
            }).collect();
            let bad: Vec<usize> = (0..truth.len()).filter(|at| truth[*at] == Seen::Shows).collect();
            prop_assume!(!bad.is_empty());
            let versions: Vec<String> = (0..truth.len()).map(|v| v.to_string()).collect();
            let found = bisect(&versions, bad[at % bad.len()], |version| {
                Ok::<_, ()>(truth[version.parse::<usize>().unwrap()])
            }).unwrap();
            let last = |seen: Seen, before: usize| (0..before).rev().find(|at| truth[*at] == seen).map(|at| at.to_string());
            let next = |seen: Seen, after: usize| (after..truth.len()).find(|at| truth[*at] == seen).map(|at| at.to_string());
            prop_assert_eq!(&found.first_bad, &bad[0].to_string());
            prop_assert_eq!(&found.last_bad, &bad[bad.len() - 1].to_string());
            prop_assert_eq!(&found.good_before, &last(Seen::Agrees, bad[0]));
            prop_assert_eq!(&found.first_good, &next(Seen::Agrees, bad[bad.len() - 1]));
            let (older, newer) = found.void();
            let good = found.good_before.as_ref().map_or(0, |v| v.parse::<usize>().unwrap() + 1);
            prop_assert_eq!(older, versions[good..bad[0]].iter().map(String::as_str).collect::<Vec<_>>());
            let good = found.first_good.as_ref().map_or(truth.len(), |v| v.parse().unwrap());
            prop_assert_eq!(newer, versions[bad[bad.len() - 1] + 1..good].iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
