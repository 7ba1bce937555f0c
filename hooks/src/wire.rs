//! How a hook's call looks on the socket. The hook writes it in one form only, so the daemon can recognise it by its bytes and serve it
//! with less than a whole HTTP server.

use crate::client::{MAX_BODY, Request};

/// Where hooks hand in their calls.
pub const PATH: &str = "/v1/hooks/claude-code";

/// The headers that a call may have. Each is there at most once.
pub const ATTENDED: &str = "x-answerback-attended";
pub const ENTRYPOINT: &str = "x-answerback-entrypoint";
pub const AGENT: &str = "x-answerback-agent";
pub const AGENT_PID: &str = "x-answerback-agent-pid";
pub const WAITS: &str = "x-answerback-waits";
pub const MODE: &str = "x-answerback-mode";
pub const CALL: &str = "x-answerback-call";
pub const RESUMED: &str = "x-answerback-resumed";
pub const ACKNOWLEDGES: &str = "x-answerback-acknowledges";

/// What a client that acknowledges sends when it has heard that its call is parked.
pub const ACKNOWLEDGED: &[u8] = b"\n";

const NAMES: [&str; 9] = [ATTENDED, ENTRYPOINT, AGENT, AGENT_PID, WAITS, MODE, CALL, RESUMED, ACKNOWLEDGES];

const START: &str = "POST /v1/hooks/claude-code HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
const LENGTH: &str = "content-length";

/// The call, as bytes.
pub fn call<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>, body: &[u8]) -> Request {
    Request::json("POST", PATH, headers, body)
}

/// The head of a call that a hook has sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The headers of [`call`].
    pub headers: Vec<(&'static str, &'a str)>,
    /// How many bytes the head has, with the empty line behind it.
    pub length: usize,
    /// How many bytes the body has.
    pub body: usize,
}

/// The head of a call, if the bytes begin with exactly what [`call`] writes. Anything else, however right, is left to a real HTTP server.
pub fn read_head(bytes: &[u8]) -> Option<Head<'_>> {
    let rest = bytes.strip_prefix(START.as_bytes())?;
    let end = rest.array_windows().position(|window| window == b"\r\n\r\n")?;
    let lines = std::str::from_utf8(&rest[..end]).ok()?;
    let (mut headers, mut body) = (Vec::new(), None);
    for line in lines.split("\r\n") {
        let (name, value) = line.split_once(": ")?;
        // The length comes last.
        if body.is_some() || !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return None;
        }
        if name == LENGTH {
            body = Some(length(value)?);
        } else {
            let name = *NAMES.iter().find(|known| **known == name)?;
            if value.is_empty() || value.trim() != value || headers.iter().any(|(other, _)| *other == name) {
                return None;
            }
            headers.push((name, value));
        }
    }
    Some(Head { headers, length: START.len() + end + 4, body: body? })
}

/// A length as a hook writes it: digits, and no other way to write the same number.
fn length(value: &str) -> Option<usize> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit()) && (value.len() == 1 || !value.starts_with('0'));
    value.parse().ok().filter(|length| is_plain && *length <= MAX_BODY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        call(headers.iter().copied(), body).into_bytes()
    }

    #[test]
    fn a_call_is_recognised_whatever_is_in_it() {
        let headers = [(AGENT, "claude-code_2-1-325_harness"), (CALL, "17-3.4"), (RESUMED, "s__t: x")];
        for body in [&b""[..], b"{}", b"\r\n\r\n", &[b'x'; 3000]] {
            let bytes = bytes(&headers, body);
            let head = read_head(&bytes).unwrap();
            assert_eq!((&head.headers[..], head.body), (&headers[..], body.len()));
            assert_eq!(&bytes[head.length..], body);
        }
        assert!(read_head(&bytes(&[], b"{}")).unwrap().headers.is_empty());
    }

    #[test]
    fn anything_else_is_not() {
        let call = String::from_utf8(bytes(&[(MODE, "hold"), (CALL, "1")], b"{}")).unwrap();
        assert!(read_head(call.as_bytes()).is_some());
        for (from, to) in [
            ("POST", "GET"),
            ("POST", "post"),
            ("/v1/hooks/claude-code", "/v1/asks"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("host: localhost", "Host: localhost"),
            ("host: localhost", "host: localhost\r\norigin: http://evil.com"),
            ("host: localhost", "host: evil.com"),
            ("application/json", "application/json; charset=utf-8"),
            ("x-answerback-mode", "X-Answerback-Mode"),
            ("x-answerback-mode", "x-answerback-other"),
            ("x-answerback-mode: hold", "origin: null"),
            ("x-answerback-mode: hold", "expect: 100-continue"),
            ("x-answerback-mode: hold", "transfer-encoding: chunked"),
            ("x-answerback-mode: hold", "x-answerback-mode:hold"),
            ("x-answerback-mode: hold", "x-answerback-mode:  hold"),
            ("x-answerback-mode: hold", "x-answerback-mode: hold "),
            ("x-answerback-mode: hold", "x-answerback-mode: h\u{e9}"),
            ("x-answerback-mode: hold", "x-answerback-mode: a\tb"),
            ("x-answerback-mode: hold", "x-answerback-mode: "),
            ("x-answerback-mode: hold", "x-answerback-call: 2"),
            ("x-answerback-mode: hold\r\n", "x-answerback-mode: hold\n"),
            ("content-length: 2", "content-length: 02"),
            ("content-length: 2", "content-length: +2"),
            ("content-length: 2", "content-length: "),
            ("content-length: 2", "content-length: 1048577"),
            ("content-length: 2", "content-length: 99999999999999999999"),
            ("content-length: 2", "content-length: 2\r\ncontent-length: 2"),
            ("content-length: 2", "content-length: 2\r\nx-answerback-waits: 1"),
            ("\r\ncontent-length: 2", ""),
            ("\r\n\r\n{}", "\r\n{}"),
        ] {
            let other = call.replacen(from, to, 1);
            assert_ne!(other, call, "{from}");
            assert_eq!(read_head(other.as_bytes()), None, "{from:?} -> {to:?}");
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_call_is_a_call(cut in 0usize..200) {
            let call = bytes(&[(ENTRYPOINT, "cli"), (AGENT_PID, "7")], b"");
            let read = read_head(&call[..cut.min(call.len())]);
            prop_assert_eq!(read.is_some(), cut >= call.len());
        }

        #[test]
        fn no_bytes_are_too_strange(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = START.as_bytes().to_vec();
            bytes.extend(tail);
            drop(read_head(&bytes));
        }

        #[test]
        fn what_is_read_is_written_the_same_way(values in proptest::collection::vec("[ -~]{0,20}", 9), body in 0usize..300) {
            let headers: Vec<_> = NAMES.into_iter().zip(values.iter().map(String::as_str)).collect();
            let written = bytes(&headers, &vec![b'x'; body]);
            if let Some(head) = read_head(&written) {
                prop_assert_eq!(bytes(&head.headers, &written[head.length..]), &written[..]);
            }
        }
    }
}
