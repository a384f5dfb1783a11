//! How often a failure that was met before is looked at again.

/// How often a class failed in one way, since that showed a bug that was new.
#[derive(Debug, Default)]
pub(super) struct Watch {
    since: u64,
}

impl Watch {
    /// Counts a failure; whether to look at it. After so many that were nothing new only ever fewer are, so that one bug does
    /// not take all the time, nor hide another behind it for ever.
    pub(super) fn is_due(&mut self, max: usize) -> bool {
        self.since += 1;
        let max = max.max(1) as u64;
        let times = self.since / max;
        // The 4th, 16th, 64th, … time as many.
        let is_fourth = times.is_power_of_two() && times.trailing_zeros().is_multiple_of(2);
        self.since <= max || (self.since.is_multiple_of(max) && is_fourth)
    }

    /// The failure that was looked at is of a new bug.
    pub(super) fn is_news(&mut self) {
        self.since = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nothing_new_is_looked_at_ever_less() {
        let due = |watch: &mut Watch, times: u64| (1..=times).filter(|_| watch.is_due(3)).count();
        let mut watch = Watch::default();
        assert_eq!(due(&mut watch, 3), 3);
        assert_eq!(due(&mut watch, 10_000), 5, "the 12th, 48th, 192nd, …");
        watch.is_news();
        assert_eq!(due(&mut watch, 5), 3);
        assert!((0..4).all(|_| Watch::default().is_due(0)), "the first always");
    }
}
