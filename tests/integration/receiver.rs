//! The receiver of notifications in tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A server that accepts every POST and records it.
pub(crate) struct Receiver {
    pub(crate) address: String,
    pub(crate) posts: mpsc::Receiver<Post>,
}

#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        Self::replying("200 OK")
    }

    pub(crate) fn replying(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, posts) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    match line.trim_end() {
                        "" => break,
                        line => lines.push(line.to_owned()),
                    }
                }
                let path = lines[0].split(' ').nth(1).unwrap().to_owned();
                let header = |line: &String| {
                    let (name, value) = line.split_once(": ").unwrap();
                    (name.to_ascii_lowercase(), value.to_owned())
                };
                let mut post = Post { path, headers: lines[1..].iter().map(header).collect(), body: Vec::new() };
                post.body = vec![0; post.header("content-length").parse().unwrap()];
                reader.read_exact(&mut post.body).unwrap();
                let reply = format!("HTTP/1.1 {status}\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
                reader.into_inner().write_all(reply.as_bytes()).unwrap();
                if sender.send(post).is_err() {
                    return;
                }
            }
        });
        Self { address, posts }
    }

    #[track_caller]
    pub(crate) fn next(&self) -> Post {
        self.posts.recv_timeout(Duration::from_secs(20)).expect("nothing was posted")
    }

    #[track_caller]
    pub(crate) fn next_json(&self) -> Value {
        serde_json::from_slice(&self.next().body).unwrap()
    }
}

impl Post {
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        &found.unwrap_or_else(|| panic!("no {name}: {self:?}")).1
    }
}
