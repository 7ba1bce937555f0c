//! The path and the query of a call. Every text in them is encoded here, and nowhere else.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What a path segment and a query value may hold as it is: the unreserved characters of RFC 3986, and the colon of keys and times.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    text: String,
    has_query: bool,
}

impl Target {
    pub(super) fn of(path: &'static str) -> Self {
        Self { text: path.to_owned(), has_query: false }
    }

    /// Adds one segment to the path.
    pub(super) fn segment(mut self, text: impl fmt::Display) -> Self {
        self.text.push('/');
        self.push_encoded(&text.to_string());
        self
    }

    /// Adds one value to the query.
    pub(super) fn query(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.text.push(if self.has_query { '&' } else { '?' });
        self.has_query = true;
        self.text.push_str(name);
        self.text.push('=');
        self.push_encoded(&value.to_string());
        self
    }

    /// The same, if there is a value.
    pub(super) fn query_if(self, name: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    fn push_encoded(&mut self, text: &str) {
        self.text.extend(utf8_percent_encode(text, ENCODED));
    }
}

/// Where an ask is.
pub(super) fn ask(key: &str) -> Target {
    Target::of("/v1/asks").segment(key)
}

/// Where an ask is answered: also for an address that somebody else posts to.
pub fn answer_path(key: &str) -> String {
    ask(key).segment("answer").text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_stays_one_segment_or_one_value() {
        let target = ask("s__a/b?c#d").segment("answer").query("text", "a b&c=d%/é").query("wait", 60);
        assert_eq!(target.as_str(), "/v1/asks/s__a%2Fb%3Fc%23d/answer?text=a%20b%26c%3Dd%25%2F%C3%A9&wait=60",);
        assert_eq!(ask("s:1__t.2").query_if("since", None::<&str>).as_str(), "/v1/asks/s:1__t.2");
        assert_eq!(answer_path("s__t"), "/v1/asks/s__t/answer");
    }
}
