//! One HTTP/1.1 exchange over the daemon's unix socket.
//!
//! Only what the daemon sends is understood: a status line, headers with `content-length`, a body. Anything else is
//! [`ExchangeError::Garbage`], because guessing would mean inventing a reply.
//!
//! The stream is non-blocking, as [`crate::start`] makes it. Each wait is one `poll` with whatever is left until the deadline, so the
//! deadline holds for the whole exchange, however slowly the other end reads or writes.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use crate::scan;
use crate::wait::{Ready, Wait};
use crate::wire::ACKNOWLEDGED;

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

    /// What is sent.
    #[cfg(test)]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
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
    /// The daemon did not answer by the deadline.
    Silent,
    /// Nobody reads our standard output any more, so nobody needs the reply.
    Abandoned,
    /// The reply is longer than any that is read.
    TooLong,
    /// Whoever is at the other end does not speak our protocol.
    Garbage(&'static str),
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(f, "the connection to the daemon was lost: {error}"),
            Self::Silent => write!(f, "the daemon does not answer"),
            Self::Abandoned => write!(f, "nobody reads the reply any more"),
            Self::TooLong => write!(f, "the daemon's reply is too long"),
            Self::Garbage(what) => write!(f, "the daemon's reply makes no sense: {what}"),
        }
    }
}

impl std::error::Error for ExchangeError {}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::BrokenPipe if error.get_ref().is_some_and(|inner| inner.is::<NobodyReads>()) => {
                Self::Abandoned
            }
            _ => Self::Lost(error),
        }
    }
}

/// Sends the request and reads the reply, both by the deadline.
pub fn exchange(stream: &UnixStream, request: &Request, deadline: Instant) -> Result<Response, ExchangeError> {
    exchange_over(&mut Timed { stream, wait: Wait::until(deadline) }, request, |_, _| ())
}

/// The same for a call that the daemon may park. By the deadline it must reply, or say with an interim reply that the call is parked,
/// which means that it is stored. This is acknowledged: before that, nobody can answer. From then on the reply may take as long as it takes,
/// unless nobody reads our standard output any more. `on_parked` is called at that moment, with the key of the ask if the daemon says it.
pub fn exchange_parked(
    stream: &UnixStream,
    request: &Request,
    deadline: Instant,
    mut on_parked: impl FnMut(Option<&str>),
) -> Result<Response, ExchangeError> {
    exchange_over(&mut Timed { stream, wait: Wait::until(deadline) }, request, |timed, key| {
        timed.wait = Wait::while_somebody_reads_stdout();
        // If this fails, so does what follows.
        drop(timed.write_all(ACKNOWLEDGED));
        on_parked(key);
    })
}

fn exchange_over<S: Read + Write>(
    stream: &mut S,
    request: &Request,
    on_interim: impl FnMut(&mut S, Option<&str>),
) -> Result<Response, ExchangeError> {
    // A daemon that refuses early may close before it has read everything; its reply is still there to be read.
    let sent = stream.write_all(&request.bytes).map_err(ExchangeError::from);
    match (sent, read_response(stream, on_interim)) {
        (Err(error), Err(ExchangeError::Lost(_))) => Err(error),
        (_, read) => read,
    }
}

/// A non-blocking stream that waits as long as it is told to.
struct Timed<'a> {
    stream: &'a UnixStream,
    wait: Wait,
}

/// The cause inside an error: nobody reads our standard output.
#[derive(Debug)]
struct NobodyReads;

impl fmt::Display for NobodyReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output")
    }
}

impl std::error::Error for NobodyReads {}

impl Timed<'_> {
    /// Does something once the daemon is ready for it.
    fn when_ready<T>(
        &self,
        ready: impl Fn(&Wait, &UnixStream) -> io::Result<Ready>,
        mut attempt: impl FnMut(&mut &UnixStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt(&mut &*self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match ready(&self.wait, self.stream)? {
                    Ready::Daemon => {}
                    Ready::NobodyReads => return Err(io::Error::new(io::ErrorKind::BrokenPipe, NobodyReads)),
                    Ready::TimedOut => return Err(io::ErrorKind::TimedOut.into()),
                },
                done => return done,
            }
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.when_ready(Wait::readable, |stream| stream.read(buffer))
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.when_ready(Wait::writable, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read_response<S: Read>(
    stream: &mut S,
    mut on_interim: impl FnMut(&mut S, Option<&str>),
) -> Result<Response, ExchangeError> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = head_end(&buffer) {
                break end;
            }
            if buffer.len() > MAX_HEAD {
                return Err(ExchangeError::Garbage("the header has no end"));
            }
            fill(stream, &mut buffer)?;
        };
        let head = std::str::from_utf8(&buffer[..end]).map_err(|_| ExchangeError::Garbage("the header is not text"))?;
        let Head { status, length, ask } = parse_head(head)?;
        // Interim replies (1xx) have no body and are followed by the real one.
        if status < 200 {
            on_interim(stream, ask);
            buffer.drain(..end + 4);
            continue;
        }
        buffer.drain(..end + 4);
        let length = length.unwrap_or(0);
        if length > MAX_REPLY {
            return Err(ExchangeError::TooLong);
        }
        while buffer.len() < length {
            fill(stream, &mut buffer)?;
        }
        buffer.truncate(length);
        return Ok(Response { status, body: buffer });
    }
}

/// What is read of the head of a reply.
struct Head<'a> {
    status: u16,
    length: Option<usize>,
    /// The key of the ask that the call is parked on.
    ask: Option<&'a str>,
}

/// Where the head ends, if all of it is there.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    loop {
        let end = line + scan::position_of(&bytes[line..], b'\n')?;
        if bytes[..=end].ends_with(b"\r\n\r\n") {
            return Some(end - 3);
        }
        line = end + 1;
    }
}

/// Takes the next line from a text, without what ends it.
fn take_line<'a>(text: &mut Option<&'a str>) -> Option<&'a str> {
    let whole = (*text)?;
    let end = scan::position_of(whole.as_bytes(), b'\n');
    *text = end.map(|end| &whole[end + 1..]);
    let line = &whole[..end.unwrap_or(whole.len())];
    Some(line.strip_suffix('\r').unwrap_or(line))
}

fn parse_head(head: &str) -> Result<Head<'_>, ExchangeError> {
    let mut rest = Some(head);
    let mut lines = std::iter::from_fn(|| take_line(&mut rest));
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .and_then(|rest| rest.get(..3))
        .and_then(|code| code.parse::<u16>().ok())
        .ok_or(ExchangeError::Garbage("no HTTP status line"))?;
    let (mut length, mut ask) = (None, None);
    for line in lines {
        // Names are short, so that to compare byte by byte is faster than to search.
        let Some(colon) = line.bytes().position(|byte| byte == b':') else {
            return Err(ExchangeError::Garbage("a header line without a colon"));
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.eq_ignore_ascii_case("content-length") {
            let value = value.trim().parse().map_err(|_| ExchangeError::Garbage("a strange content-length"))?;
            length = Some(value);
        } else if name.eq_ignore_ascii_case("x-answerback-ask") {
            ask = Some(value.trim());
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(ExchangeError::Garbage("a chunked body"));
        }
    }
    Ok(Head { status, length, ask })
}

fn fill(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<()> {
    // Larger than almost every reply. Clearing a larger one would take longer than reading.
    let mut chunk = [0; 2 * 1024];
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Response, ExchangeError> {
        read_response(&mut &bytes[..], |_, _| ())
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
    fn an_interim_reply_names_the_ask() {
        let mut keys = Vec::new();
        let replies = b"HTTP/1.1 102 Processing\r\nX-Answerback-Ask: s__t\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
        read_response(&mut &replies[..], |_, key| keys.push(key.map(ToOwned::to_owned))).unwrap();
        assert_eq!(keys, [Some("s__t".to_owned())]);
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

    #[test]
    fn a_deadline_holds_however_slowly_the_other_end_reads_and_writes() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let end = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let reader = std::thread::spawn({
            let end = std::sync::Arc::clone(&end);
            move || {
                // Enough to let each single write and read succeed in time.
                while !end.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(theirs.read(&mut [0; 1024]));
                    drop(theirs.write(b"H"));
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            }
        });
        let request = Request::json("POST", "/", [], &vec![b'x'; MAX_BODY]);
        let started = Instant::now();
        let result = exchange(&ours, &request, started + std::time::Duration::from_millis(300));
        assert!(matches!(result, Err(ExchangeError::Silent)), "{result:?}");
        assert!(started.elapsed() < std::time::Duration::from_secs(3), "{:?}", started.elapsed());
        end.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(ours);
        reader.join().unwrap();
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
            let reply = read_response(&mut first.chain(second), |_, _| ()).unwrap();
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
