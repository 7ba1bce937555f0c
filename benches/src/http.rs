//! A plain HTTP/1.1 client on a unix socket. It keeps its connection, as the page and other companions do.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Longer than anything takes. A measurement that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A reply. An interim reply has a status below 200 and no body.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        let text = || String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, text()))
    }

    /// Stops the measurement if the status is another one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let content = match body {
        "" => String::new(),
        body => format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()),
    };
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{content}\r\n{body}").into_bytes()
}

/// A connection to a daemon.
#[derive(Debug)]
pub struct Conn {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Conn {
    /// Connects to a socket.
    pub fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// The stream itself.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request and reads the reply.
    pub fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        self.send(&request(method, path, body))?;
        self.read()
    }

    /// Gets a path.
    pub fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.call("GET", path, "")
    }

    /// All open asks, page after page. Other daemons have one page.
    pub fn open_asks(&mut self) -> io::Result<Vec<Reply>> {
        let mut pages = vec![self.get("/v1/asks")?];
        // `next` comes after the asks, near the end.
        while let Some(next) = pages.last().and_then(|page| {
            let tail = String::from_utf8_lossy(&page.body[page.body.len().saturating_sub(128)..]);
            let (_, next) = tail.rsplit_once("\"next\":")?;
            next.split([',', '}']).next()?.parse::<u64>().ok()
        }) {
            pages.push(self.get(&format!("/v1/asks?before={next}"))?);
        }
        Ok(pages)
    }

    /// Reads the next reply.
    pub fn read(&mut self) -> io::Result<Reply> {
        let end = self.read_until(b"\r\n\r\n", 0)?;
        let head = String::from_utf8_lossy(&self.buffer[..end]).to_ascii_lowercase();
        self.buffer.drain(..end);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {head}")))?;
        let field = |name| head.split("\r\n").find_map(|line| line.strip_prefix(name)).map(str::trim);
        if status < 200 || status == 204 || field("content-type:") == Some("text/event-stream") {
            return Ok(Reply { status, body: Vec::new() });
        }
        let body = if field("transfer-encoding:") == Some("chunked") {
            self.read_chunks()?
        } else {
            let length = field("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
            self.take(length)?
        };
        Ok(Reply { status, body })
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self.read_until(b"\r\n", 0)?;
            let line = String::from_utf8_lossy(&self.buffer[..end - 2]).into_owned();
            self.buffer.drain(..end);
            let length = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            body.extend_from_slice(&self.take(length)?);
            self.take(2)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// Reads until these bytes have come, and returns the place after them.
    fn read_until(&mut self, bytes: &[u8], mut from: usize) -> io::Result<usize> {
        loop {
            if let Some(found) = find(&self.buffer[from..], bytes) {
                return Ok(from + found + bytes.len());
            }
            from = self.buffer.len().saturating_sub(bytes.len());
            self.fill()?;
        }
    }

    /// Reads a stream until this text has come, and forgets everything up to it.
    pub fn wait_for(&mut self, text: &str) -> io::Result<()> {
        let end = self.read_until(text.as_bytes(), 0)?;
        self.buffer.drain(..end);
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 64 * 1024];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(())
            }
        }
    }
}

/// Where some bytes begin.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conn(bytes: &[u8]) -> Conn {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        Conn { stream: ours, buffer: Vec::new() }
    }

    #[test]
    fn replies_come_one_after_the_other() {
        let mut conn = conn(
            b"HTTP/1.1 102 Processing\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\
              HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
        );
        assert_eq!(conn.read().unwrap().status, 102);
        assert_eq!(conn.read().unwrap().body, b"{}");
        assert_eq!(conn.read().unwrap().body, b"abcd");
    }

    #[test]
    fn a_stream_is_read_up_to_a_text() {
        let mut conn = conn(b"data: first\n\ndata: second\n\n");
        conn.wait_for("second").unwrap();
        assert_eq!(conn.buffer, b"\n\n");
    }
}
