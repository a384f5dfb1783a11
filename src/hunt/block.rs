//! Numbers of blocks and of the databases that stand for one another in them.
//!
//! A database that the engine refuses, or on which it refuses most cases, is replaced by another one of the same block. Its
//! number is the block's with the number of replacements above it, so that whatever follows from the number of a block,
//! the database, its cases, their place in a report, follows from the number of the database.
//!
//! **Invariant:** whether a database is replaced follows from what the engine says to its own cases, and only where an
//! epoch of them begins; so it is the same with any number of workers.

/// Replacements of one block, at most: what is refused again and again is told, not hidden.
const REPLACEMENTS_MAX: u64 = 3;

/// Where the number of replacements is in the number of a database.
const SHIFT: u32 = 40;

/// The block that a database is of.
pub fn block_of(database: u64) -> u64 {
    database & ((1 << SHIFT) - 1)
}

/// The database that replaces one, if the block may have another.
pub fn replacement(database: u64) -> Option<u64> {
    (database >> SHIFT < REPLACEMENTS_MAX).then_some(database + (1 << SHIFT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_of_the_same_block_and_end() {
        let all: Vec<u64> = std::iter::successors(Some(7), |database| replacement(*database)).collect();
        assert_eq!(all.len(), 4);
        assert!(all.is_sorted_by(|a, b| a < b) && all.iter().all(|database| block_of(*database) == 7), "{all:?}");
    }
}
