//! Large language models: asking them, what it costs, recording and replaying.
