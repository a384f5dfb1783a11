//! Query plans as trees: reading, distance, clusters (Argus paper, section 5.2 and appendix A).
