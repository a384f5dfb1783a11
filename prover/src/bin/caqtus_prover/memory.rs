//! How much memory this process may take, so that one pair cannot bring down the machine.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets the process have no more memory than this. What asks for more is refused: Z3 then gives up on its question, and
/// anything else ends the process. Address space that nothing is written to does not count, for there is much of it.
pub(crate) fn limit(bytes: u64) -> rustix::io::Result<()> {
    let old = getrlimit(Resource::Data);
    let lower = |old: Option<u64>| Some(old.map_or(bytes, |old| old.min(bytes)));
    setrlimit(Resource::Data, Rlimit { current: lower(old.current), maximum: lower(old.maximum) })
}

/// Takes ever more memory; a test aid.
pub(crate) fn exhaust() {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    loop {
        taken.push(vec![1; 64 << 20]);
        std::hint::black_box(&taken);
    }
}
