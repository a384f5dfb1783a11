//! Discovery of oracle classes: seeds, candidates, proofs (Argus paper, section 5, Algorithm 1).
