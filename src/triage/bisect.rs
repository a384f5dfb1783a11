//! Bisection: between which versions of an engine a finding appeared and disappeared.

use serde::Serialize;

/// What a version does with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// It shows.
    #[strum(to_string = "it shows")]
    Shows,
    /// The queries agree.
    #[strum(to_string = "the queries agree")]
    Agrees,
    /// A query does not run there.
    #[strum(to_string = "void: set-up or a query does not run here")]
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
    /// Builds that have no place among the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A build that cannot be opened, so that its version is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where it is.
    pub build: String,
    /// Why it cannot be opened.
    pub why: String,
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

/// Which version to look at next, oldest first, halving on either side of one that shows the finding. A version that is
/// void is neither good nor bad: the nearest that is not is looked at in its place. A finding that comes and goes more than
/// once is found in the stretch around the first one only.
#[derive(Debug)]
pub struct VersionSearch<'a> {
    versions: &'a [String],
    seen: Vec<Option<Seen>>,
    /// Newer versions, and older ones.
    sides: [Side; 2],
}

/// The versions on one side, nearest first.
#[derive(Debug)]
struct Side {
    versions: Vec<usize>,
    /// Below it shows; from `high` on it does not, or nothing is known.
    low: usize,
    high: usize,
    /// Where to look, or near it.
    wanted: usize,
    last_bad: usize,
    good: Option<usize>,
}

impl Side {
    fn new(versions: Vec<usize>, bad: usize) -> Self {
        // The end first: most often it is one side of the boundary.
        let wanted = versions.len().saturating_sub(1);
        Self { low: 0, high: versions.len(), wanted, last_bad: bad, good: None, versions }
    }

    /// The place among these versions that is looked at next.
    fn next(&self, seen: &[Option<Seen>]) -> Option<usize> {
        let left = (self.low..self.high).filter(|at| seen[self.versions[*at]] != Some(Seen::Void));
        left.min_by_key(|at| at.abs_diff(self.wanted))
    }
}

impl<'a> VersionSearch<'a> {
    /// A search among versions, oldest first, of which the one at `bad` shows the finding.
    pub fn new(versions: &'a [String], bad: usize) -> Self {
        let mut seen = vec![None; versions.len()];
        seen[bad] = Some(Seen::Shows);
        let sides = [(bad + 1..versions.len()).collect(), (0..bad).rev().collect()];
        Self { versions, seen, sides: sides.map(|side| Side::new(side, bad)) }
    }

    /// The version to look at next, by its position; none when the boundaries are found.
    pub fn wanted(&self) -> Option<usize> {
        self.sides.iter().find_map(|side| Some(side.versions[side.next(&self.seen)?]))
    }

    /// What the version that was to be looked at does.
    pub fn tell(&mut self, version: usize, found: Seen) {
        self.seen[version] = Some(found);
        for side in &mut self.sides {
            let Some(at) = side.versions.iter().position(|of| *of == version) else { continue };
            match found {
                Seen::Shows => (side.low, side.last_bad) = (at + 1, version),
                Seen::Agrees => (side.high, side.good) = (at, Some(version)),
                Seen::Void => {}
            }
            side.wanted = usize::midpoint(side.low, side.high.saturating_sub(1));
        }
    }

    /// What was found.
    pub fn end(self) -> Bisection {
        let [newer, older] = self.sides;
        let name = |at: usize| self.versions[at].clone();
        let seen = self.versions.iter().zip(self.seen);
        Bisection {
            good_before: older.good.map(name),
            first_bad: name(older.last_bad),
            last_bad: name(newer.last_bad),
            first_good: newer.good.map(name),
            seen: seen.filter_map(|(version, seen)| Some((version.clone(), seen?))).collect(),
            left_out: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(versions: &[String], bad: usize, mut look: impl FnMut(usize) -> Seen) -> Bisection {
        let mut search = VersionSearch::new(versions, bad);
        while let Some(at) = search.wanted() {
            search.tell(at, look(at));
        }
        search.end()
    }

    proptest! {
        #[test]
        fn the_boundaries_of_one_stretch_are_found(length in 1usize..40, from in 0usize..40, to in 0usize..40, at in 0usize..40) {
            let (from, to) = (from.min(length - 1), to.min(length - 1));
            let (from, to) = (from.min(to), from.max(to));
            let bad = from + at % (to - from + 1);
            let versions: Vec<String> = (0..length).map(|v| v.to_string()).collect();
            let mut looks = 0;
            let found = search(&versions, bad, |version| {
                looks += 1;
                if (from..=to).contains(&version) { Seen::Shows } else { Seen::Agrees }
            });
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
            let found = search(&versions, bad[at % bad.len()], |version| truth[version]);
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
