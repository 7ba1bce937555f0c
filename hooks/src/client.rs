//! One HTTP/1.1 exchange over the daemon's unix socket, blocking for as long as the reply takes.
//!
//! Only what the daemon sends is understood: a status line, headers with `content-length`, a body. Anything else is
//! [`ExchangeError::Garbage`], because guessing would mean inventing a reply.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bodies over this are refused by the daemon, so the hook does not send them.
pub const MAX_BODY: usize = 1024 * 1024;

const MAX_HEAD: usize = 16 * 1024;
const MAX_REPLY: usize = 16 * MAX_BODY;

/// A request, built once and sent as often as the connection is lost.
#[derive(Debug, Clone)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request with a JSON body and extra headers. A header whose value is not plain visible ASCII is left out: it
    /// comes from an environment this program does not control.
    pub fn json<'a>(
        method: &str,
        path: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: &[u8],
    ) -> Self {
        let mut bytes = Vec::with_capacity(512 + body.len());
        bytes.extend_from_slice(method.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(path.as_bytes());
        bytes.extend_from_slice(b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
        for (name, value) in headers {
            if is_header_value(value) {
                bytes.extend_from_slice(name.as_bytes());
                bytes.extend_from_slice(b": ");
                bytes.extend_from_slice(value.as_bytes());
                bytes.extend_from_slice(b"\r\n");
            }
        }
        bytes.extend_from_slice(b"content-length: ");
        bytes.extend_from_slice(body.len().to_string().as_bytes());
        bytes.extend_from_slice(b"\r\n\r\n");
        bytes.extend_from_slice(body);
        Self { bytes }
    }
}

fn is_header_value(value: &str) -> bool {
    (1..=128).contains(&value.len()) && value.bytes().all(|b| (b' '..=b'~').contains(&b))
}

/// The daemon's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Why there is no reply.
#[derive(Debug)]
pub enum ExchangeError {
    /// The connection ended before the reply was complete: the same request may be sent again.
    Lost(io::Error),
    /// Whoever is at the other end does not speak our protocol.
    Garbage(&'static str),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(f, "the connection to the daemon was lost: {error}"),
            Self::Garbage(what) => write!(f, "the daemon's reply makes no sense: {what}"),
        }
    }
}

impl std::error::Error for ExchangeError {}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Sends the request and waits for the reply, for as long as it takes.
pub fn exchange(stream: &mut UnixStream, request: &Request) -> Result<Response, ExchangeError> {
    exchange_with(stream, request, |_, _| Ok(()))
}

/// The same with a daemon that has to show that it is alive by a deadline: it must take the request by then, and says so with
/// an interim reply. The reply itself may take as long as it takes. `on_taken` is called in between, with whether the reply is yet to come.
pub fn exchange_alive(
    stream: &mut UnixStream,
    request: &Request,
    alive_by: Instant,
    mut on_taken: impl FnMut(&UnixStream, bool) -> io::Result<()>,
) -> Result<Response, ExchangeError> {
    // No time at all would mean no limit.
    let patience = alive_by.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    let exchanged = exchange_with(stream, request, |stream, is_to_come| {
        stream.set_read_timeout(None)?;
        on_taken(stream, is_to_come)
    });
    exchanged.map_err(|error| match error {
        ExchangeError::Lost(error) if error.kind() == io::ErrorKind::WouldBlock => {
            ExchangeError::Lost(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"))
        }
        error => error,
    })
}

fn exchange_with(
    stream: &mut UnixStream,
    request: &Request,
    on_interim: impl FnMut(&UnixStream, bool) -> io::Result<()>,
) -> Result<Response, ExchangeError> {
    // A daemon that refuses early may close before it has read everything; its reply is still there to be read.
    let sent = stream.write_all(&request.bytes);
    match (sent, read_response(stream, on_interim)) {
        (Err(error), Err(ExchangeError::Lost(_))) => Err(ExchangeError::Lost(error)),
        (_, read) => read,
    }
}

fn read_response<S: Read>(
    stream: &mut S,
    mut on_interim: impl FnMut(&S, bool) -> io::Result<()>,
) -> Result<Response, ExchangeError> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = find(&buffer, b"\r\n\r\n") {
                break end;
            }
            if buffer.len() > MAX_HEAD {
                return Err(ExchangeError::Garbage("the header has no end"));
            }
            fill(stream, &mut buffer)?;
        };
        let head = std::str::from_utf8(&buffer[..end]).map_err(|_| ExchangeError::Garbage("the header is not text"))?;
        let (status, length) = parse_head(head)?;
        buffer.drain(..end + 4);
        // Interim replies (1xx) have no body and are followed by the real one.
        if status < 200 {
            on_interim(stream, buffer.is_empty())?;
            continue;
        }
        let length = length.unwrap_or(0);
        if length > MAX_REPLY {
            return Err(ExchangeError::Garbage("the body is too long"));
        }
        while buffer.len() < length {
            fill(stream, &mut buffer)?;
        }
        buffer.truncate(length);
        return Ok(Response { status, body: buffer });
    }
}

fn parse_head(head: &str) -> Result<(u16, Option<usize>), ExchangeError> {
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse::<u16>().ok())
        .ok_or(ExchangeError::Garbage("no HTTP status line"))?;
    let mut length = None;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            return Err(ExchangeError::Garbage("a header line without a colon"));
        };
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse().map_err(|_| ExchangeError::Garbage("a strange content-length"))?;
            length = Some(value);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(ExchangeError::Garbage("a chunked body"));
        }
    }
    Ok((status, length))
}

fn fill(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = [0; 8 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                buffer.extend_from_slice(&chunk[..n]);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Response, ExchangeError> {
        read_response(&mut &bytes[..], |_, _| Ok(()))
    }

    #[test]
    fn a_reply_is_its_status_and_exactly_its_body() {
        let reply = read(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx: y\r\n\r\n{}trailing").unwrap();
        assert_eq!(reply, Response { status: 200, body: b"{}".to_vec() });
    }

    #[test]
    fn no_content_length_is_no_body() {
        assert_eq!(read(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), Response { status: 204, body: vec![] });
    }

    #[test]
    fn interim_replies_are_passed_over() {
        let reply = read(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx").unwrap();
        assert_eq!(reply, Response { status: 200, body: b"x".to_vec() });
    }

    #[test]
    fn a_cut_reply_is_lost_not_shortened() {
        for cut in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{}"] {
            assert!(matches!(read(cut.as_bytes()), Err(ExchangeError::Lost(_))), "{cut:?}");
        }
    }

    #[test]
    fn anything_else_is_garbage() {
        let endless = vec![b'a'; MAX_HEAD + 1];
        let cases: [&[u8]; 6] = [
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/1.1 xyz\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            &endless,
        ];
        for case in cases {
            assert!(matches!(read(case), Err(ExchangeError::Garbage(_))), "{case:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            drop(read(&bytes));
        }

        #[test]
        fn a_reply_in_pieces_is_the_same_reply(status in 200u16..600, body: Vec<u8>, cut in 0usize..400) {
            let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
            bytes.extend(format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len()).bytes());
            bytes.extend_from_slice(&body);
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let reply = read_response(&mut first.chain(second), |_, _| Ok(())).unwrap();
            proptest::prop_assert_eq!(reply, Response { status, body });
        }
    }

    #[test]
    fn a_header_value_cannot_smuggle_a_line() {
        let request = Request::json("POST", "/", [("a", "x\r\nb: y"), ("c", "ok"), ("d", "")], b"{}");
        let text = String::from_utf8(request.bytes).unwrap();
        assert!(!text.contains("b: y") && text.contains("c: ok\r\n") && !text.contains("d:"), "{text}");
    }
}
