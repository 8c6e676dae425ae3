//! The known word that is nearest to a misspelt one.
//!
//! Used by messages only; it never decides what a job means.

/// The nearest of `words`, if it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // One mistake in three letters is still recognizable; more is guessing.
    let allowed = (word.chars().count() / 3).max(1);
    words
        .into_iter()
        .map(|known| (distance(&plain(word), &plain(known)), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Case and underscores are the commonest difference and cost nothing.
fn plain(word: &str) -> Vec<char> {
    word.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

/// Edit distance with insertions, deletions and replacements.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            left = (left + 1).min(above + 1).min(diagonal + usize::from(x != y));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 4] = ["filter", "filter_map", "key_by", "union"];

    #[test]
    fn finds_the_nearest_word() {
        assert_eq!(nearest("filtr", WORDS), Some("filter"));
        assert_eq!(nearest("keyBy", WORDS), Some("key_by"));
        assert_eq!(nearest("filterMap", WORDS), Some("filter_map"));
    }

    #[test]
    fn does_not_guess() {
        assert_eq!(nearest("process", WORDS), None);
    }

    #[test]
    fn distance_counts_edits() {
        let d = |a: &str, b: &str| distance(&plain(a), &plain(b));
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("key_by", "keyby"), 0);
    }
}
