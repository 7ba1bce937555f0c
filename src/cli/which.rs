//! Which open question a command means: the only one, or the one whose key has the given part.

use std::collections::HashMap;

use crate::api::AskView;
use crate::ask::AskKey;

use super::ended::too_late;
use super::explain::hinted;

/// How much of a key is shown to people: the end of it differs most.
pub(super) const SHOWN: usize = 6;
const LIST: &str = "`answerback pending` lists the open questions.";

/// The shortest end of each key that tells it from the others.
pub(super) fn short_keys(asks: &[AskView]) -> Vec<&str> {
    // With thousands of keys, it takes too long to compare each with all others. Most are told apart by the usual length.
    let mut parts: HashMap<&[u8], (usize, usize)> = HashMap::new();
    for (place, ask) in asks.iter().enumerate() {
        for part in ask.key.as_bytes().windows(SHOWN) {
            let (count, last) = parts.entry(part).or_insert((0, usize::MAX));
            if *last != place {
                (*count, *last) = (*count + 1, place);
            }
        }
    }
    asks.iter()
        .map(|ask| {
            let usual = ask.key.len().checked_sub(SHOWN).and_then(|start| ask.key.get(start..));
            if let Some(usual) = usual.filter(|usual| parts.get(usual.as_bytes()).is_some_and(|(count, _)| *count == 1))
            {
                return usual;
            }
            let fits = |length: usize| {
                let end = &ask.key[ask.key.len() - length..];
                asks.iter().filter(|other| other.key.contains(end)).count() == 1
            };
            let length = (SHOWN.min(ask.key.len())..ask.key.len()).find(|length| fits(*length));
            &ask.key[ask.key.len() - length.unwrap_or(ask.key.len())..]
        })
        .collect()
}

/// The short key of one of these asks. The whole key if it is not among them.
pub(super) fn short_key<'a>(asks: &'a [AskView], key: &'a str) -> &'a str {
    let place = asks.iter().position(|ask| ask.key == key);
    place.and_then(|place| short_keys(asks).get(place).copied()).unwrap_or(key)
}

/// Whether a word before an answer is meant as the key, where no key is needed: an answer may be a few letters or digits, and so
/// may any part of a key.
pub(super) fn is_part_of_only_key(key: &str, word: &str) -> bool {
    (may_be_key(word) && key.ends_with(word)) || (looks_like_key(word) && key.contains(word))
}

/// Whether a word could be a key as `answerback pending` shows it. Many plain words could.
pub(super) fn may_be_key(word: &str) -> bool {
    word.len() >= SHOWN && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// Whether a word is hardly anything but a key, right or wrong: a whole key, the id of a tool call, or letters and digits mixed
/// as in the first column of `answerback pending`.
pub(super) fn looks_like_key(word: &str) -> bool {
    let is_id = || word.strip_prefix("toolu_").is_some_and(|rest| !rest.is_empty() && may_be_key(word));
    let is_shown = || {
        word.len() == SHOWN
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    word.parse::<AskKey>().is_ok() || is_id() || is_shown()
}

/// The error for a key that no open question has.
pub(super) fn unknown_key(word: &str, hint: &str) -> anyhow::Error {
    hinted(format!("no open question has `{word}` in its key"), format!("{LIST} {hint}").trim_end())
}

/// The ask with exactly this key, or else the only one whose key has this part.
pub(super) fn by_part<'a>(asks: &'a [AskView], part: &str) -> Option<&'a AskView> {
    if let Some(exact) = asks.iter().find(|ask| ask.key == part) {
        return Some(exact);
    }
    let mut fitting = asks.iter().filter(|ask| !part.is_empty() && ask.key.contains(part));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// The open ask that the part names. If none fits, `settled` looks for a settled ask with that key, and the error says how it ended.
pub(super) fn open_ask<'a>(
    open: &'a [AskView],
    part: Option<&str>,
    settled: impl FnOnce(&str) -> anyhow::Result<Option<AskView>>,
) -> anyhow::Result<&'a AskView> {
    if let Some(part) = part
        && !open.iter().any(|ask| ask.key.contains(part))
        && let Some(ask) = settled(part)?
    {
        return Err(too_late(&ask));
    }
    ask(open, part)
}

/// The ask that the part names, or the only one.
pub(super) fn ask<'a>(asks: &'a [AskView], part: Option<&str>) -> anyhow::Result<&'a AskView> {
    match (part, asks) {
        (_, []) => Err(hinted("no question is open", "`answerback history` shows the settled ones.")),
        (None, [only]) => Ok(only),
        (None, several) => Err(hinted(format!("{} questions are open: say which", several.len()), LIST)),
        (Some(part), asks) => {
            by_part(asks, part).ok_or_else(|| match asks.iter().filter(|ask| ask.key.contains(part)).count() {
                0 => unknown_key(part, ""),
                count => hinted(format!("{count} open questions have `{part}` in their keys"), LIST),
            })
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::cli) fn ask_with_key(key: &str) -> AskView {
        serde_json::from_value(json!({
            "key": key, "id": 1, "session": "s", "tool_use_id": "t", "origin": "claude-code", "project": "/home/me/shop",
            "questions": [{"question": "Which?", "header": "Pick", "options": [{"label": "Yes"}, {"label": "No"}]}],
            "state": "open", "racing": false, "deferred": false, "receipt": null, "opened_at": "2026-11-16T09:30:00Z", "expires_at": null,
            "settled_at": null, "outcome": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_part_that_fits_one_key_is_enough() {
        let asks = ["s1__toolu_aaa111", "s1__toolu_bbb111", "s2__toolu_ccc333"].map(ask_with_key);
        assert_eq!(ask(&asks, Some("bbb")).unwrap().key, "s1__toolu_bbb111");
        assert_eq!(ask(&asks, Some("s2")).unwrap().key, "s2__toolu_ccc333");
        for (part, error) in [(Some("s1"), "2 open"), (Some("zzz"), "no open"), (None, "3 questions")] {
            assert!(ask(&asks, part).unwrap_err().to_string().contains(error), "{part:?}");
        }
        assert_eq!(ask(&asks[..1], None).unwrap().key, "s1__toolu_aaa111");
        assert!(ask(&[], None).unwrap_err().to_string().contains("no question"));
        let nested = ["s__a", "s__ab"].map(ask_with_key);
        assert_eq!(ask(&nested, Some("s__a")).unwrap().key, "s__a");
    }

    #[test]
    fn a_key_is_known_by_its_looks() {
        for key in ["s1__toolu_01", "program-4a36e48c1b4c__2ea3f79b5ec2", "toolu_01AbC", "3fa2c1", "b7c36a", "01AbCd"] {
            assert!(looks_like_key(key) && may_be_key(key), "{key}");
        }
        for word in ["", "Docker", "SQLite", "123456", "python3", "utf-8", "9 minutes", "__init__", "toolu_", "v1.2.3"]
        {
            assert!(!looks_like_key(word), "{word}");
        }
        assert!(may_be_key("zzzzzz") && !may_be_key("short") && !may_be_key("two words"));
    }

    #[test]
    fn short_keys_are_as_long_as_they_must_be() {
        let asks = ["s1__toolu_aaa111", "s1__toolu_bba111", "s1__toolu_ccc333"].map(ask_with_key);
        assert_eq!(short_keys(&asks), ["aaa111", "bba111", "ccc333"]);
        let close = ["s1__toolu_x_aaa111", "s1__toolu_y_aaa111"].map(ask_with_key);
        let short = short_keys(&close);
        assert_eq!(short, ["x_aaa111", "y_aaa111"]);
        for (ask, short) in close.iter().zip(short) {
            assert_eq!(by_part(&close, short).unwrap().key, ask.key);
        }
    }
}
