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

/// Looks at versions, oldest first, of which the one at `bad` shows the finding, halving on either side of it. A finding
/// that comes and goes more than once is found in the stretch around `bad` only.
pub fn bisect<E>(
    versions: &[String],
    bad: usize,
    mut look: impl FnMut(&str) -> Result<Seen, E>,
) -> Result<Bisection, E> {
    let mut seen: Vec<Option<Seen>> = vec![None; versions.len()];
    seen[bad] = Some(Seen::Shows);
    let mut shows = |at: usize, seen: &mut Vec<Option<Seen>>| -> Result<bool, E> {
        let known = match seen[at] {
            Some(known) => known,
            None => look(&versions[at])?,
        };
        seen[at] = Some(known);
        Ok(known == Seen::Shows)
    };
    // The end of the list first: most often it is one side of the boundary.
    let mut first_good = None;
    let mut last_bad = bad;
    if let Some(newest) = versions.len().checked_sub(1).filter(|newest| *newest > bad) {
        if shows(newest, &mut seen)? {
            last_bad = newest;
        } else {
            let mut good = newest;
            while good - last_bad > 1 {
                let middle = usize::midpoint(last_bad, good);
                if shows(middle, &mut seen)? {
                    last_bad = middle;
                } else {
                    good = middle;
                }
            }
            first_good = Some(good);
        }
    }
    let mut good_before = None;
    let mut first_bad = bad;
    if bad > 0 {
        if shows(0, &mut seen)? {
            first_bad = 0;
        } else {
            let mut good = 0;
            while first_bad - good > 1 {
                let middle = usize::midpoint(good, first_bad);
                if shows(middle, &mut seen)? {
                    first_bad = middle;
                } else {
                    good = middle;
                }
            }
            good_before = Some(good);
        }
    }
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
            prop_assert_eq!(found.first_bad, from.to_string());
            prop_assert_eq!(found.last_bad, to.to_string());
            prop_assert_eq!(found.good_before, from.checked_sub(1).map(|v| v.to_string()));
            prop_assert_eq!(found.first_good, (to + 1 < length).then(|| (to + 1).to_string()));
            prop_assert!(looks <= 14, "{} versions, {} looks", length, looks);
        }
    }
}
