//! Checksums of what a row says. SQLite notices a page that makes no sense, but not a letter that has become another one. What a person
//! was asked and what they said must not change unseen, so it is checked whenever it is read.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// The checksum of what was asked under a key. For a question without a subject, it is what
/// versions wrote that knew no kinds.
pub(super) fn of_questions(key: &str, questions: &str, kind: &str, subject: Option<&str>) -> i64 {
    match (kind, subject) {
        ("question", None) => sum([key, questions]),
        (kind, subject) => sum([key, questions, kind, subject.unwrap_or_default()]),
    }
}

/// The checksum of what the asker needs for its reply.
pub(super) fn of_detail(key: &str, detail: &str) -> i64 {
    sum([key, detail])
}

/// The checksum of how an ask ended.
pub(super) fn of_outcome(id: i64, outcome: &str, by: Option<&str>) -> i64 {
    sum([id.to_string().as_str(), outcome, by.unwrap_or_default()])
}

/// The checksum of what somebody says while they are away, to whom and for how long.
pub(super) fn of_away(project: Option<&str>, words: &str, kinds: &str, since: Timestamp, until: Timestamp) -> i64 {
    let [since, until] = [since, until].map(|time| time.as_millisecond().to_string());
    sum([project.unwrap_or_default(), words, kinds, &since, &until])
}

/// A number for a word of the search index.
pub(super) fn of_word(word: &str) -> i64 {
    sum([word])
}

fn sum<const N: usize>(parts: [&str; N]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    i64::from_le_bytes(first)
}
