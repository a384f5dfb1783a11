//! Short names for texts, the same whenever the texts are.

/// A hash of texts in order. Each goes in with its length, so that no two lists of texts become one.
#[derive(Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    /// The hash of these texts.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut digest = Self::default();
        texts.into_iter().for_each(|text| digest.add(text));
        digest
    }

    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }

    /// Its first hexadecimal digits, at most 64.
    pub fn hex(&self, digits: usize) -> String {
        self.0.finalize().to_hex()[..digits].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_text_ends_counts() {
        let of = |texts: &[&str]| Digest::of(texts.iter().copied()).hex(16);
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["ab"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        assert_eq!(of(&["a"]).len(), 16);
    }
}
