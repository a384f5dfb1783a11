//! What texts become.
