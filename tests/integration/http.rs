//! A plain HTTP/1.1 client. It sends exactly the given bytes, even if no honest client would send them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Longer than any reply takes. A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn read(reader: &mut impl BufRead) -> std::io::Result<Self> {
        let mut reply = read_head(reader)?;
        let length = reply.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        reply.body = vec![0; length];
        reader.read_exact(&mut reply.body)?;
        Ok(reply)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// Fails the test if the status is another one, and shows the body.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// One request: header lines and a body.
pub(crate) struct Request<'a> {
    pub(crate) line: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: &'a [u8],
}

impl Request<'_> {
    fn send(&self, stream: &mut impl Write) {
        let mut bytes = format!("{} HTTP/1.1\r\n", self.line).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(self.body);
        // A server that refuses early may not read the whole body.
        drop(stream.write_all(&bytes));
    }

    pub(crate) fn over_tcp(&self, address: &str) -> std::io::Result<Reply> {
        Reply::read(&mut self.begin_over_tcp(address)?)
    }

    /// The same, with the reply left to be read later.
    pub(crate) fn begin_over_tcp(&self, address: &str) -> std::io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(self.begin(stream))
    }

    pub(crate) fn over_socket(&self, path: &Path) -> std::io::Result<Reply> {
        Reply::read(&mut self.begin_over_socket(path)?)
    }

    /// The same, with the reply left to be read later.
    pub(crate) fn begin_over_socket(&self, path: &Path) -> std::io::Result<BufReader<UnixStream>> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(self.begin(stream))
    }

    pub(crate) fn over(&self, stream: impl Read + Write) -> std::io::Result<Reply> {
        Reply::read(&mut self.begin(stream))
    }

    /// Sends it, and leaves the reply to be read later: see [`Reply::read`].
    pub(crate) fn begin<S: Read + Write>(&self, mut stream: S) -> BufReader<S> {
        self.send(&mut stream);
        BufReader::new(stream)
    }

    /// Returns after the head. The caller reads the body as it comes.
    pub(crate) fn stream(&self, address: &str) -> std::io::Result<(Reply, BufReader<TcpStream>)> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        self.stream_over(stream)
    }

    pub(crate) fn stream_over<S: Read + Write>(&self, stream: S) -> std::io::Result<(Reply, BufReader<S>)> {
        let mut reader = self.begin(stream);
        Ok((read_head(&mut reader)?, reader))
    }
}

fn read_head(reader: &mut impl BufRead) -> std::io::Result<Reply> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other(format!("no status line: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => return Ok(Reply { status, headers, body: Vec::new() }),
        }
    }
}
