//! A caller that hangs up withdraws its question, even if it has sent surplus bytes before.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::world::{World, call, question};

const SURPLUS: [&str; 3] = ["\r\n", "x", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"];

fn request(world: &World, tool_use_id: &str, token: Option<&str>) -> String {
    let body = call("s", tool_use_id, &[question("Which?")]).to_string();
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!(
        "POST /v1/hooks/claude-code HTTP/1.1\r\nhost: {}\r\n{token}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        world.address(),
        body.len()
    )
}

#[test]
fn hanging_up_on_the_socket_withdraws() {
    let mut world = World::new();
    drop(world.daemon());
    for (number, surplus) in SURPLUS.into_iter().enumerate() {
        let id = format!("t{number}");
        let mut stream = UnixStream::connect(world.state("daemon.sock")).unwrap();
        stream.write_all(format!("{}{surplus}", request(&world, &id, None)).as_bytes()).unwrap();
        world.until_open(&format!("s__{id}"));
        drop(stream);
        assert_eq!(world.settled(&format!("s__{id}"))["outcome"]["kind"], "withdrawn", "{surplus:?}");
    }
}

#[test]
fn hanging_up_on_tcp_withdraws() {
    let mut world = World::new();
    drop(world.daemon());
    let token = world.daemon_json().unwrap()["hook_token"].as_str().unwrap().to_owned();
    for (number, surplus) in SURPLUS.into_iter().enumerate() {
        let id = format!("t{number}");
        let mut stream = TcpStream::connect(world.address()).unwrap();
        stream.write_all(format!("{}{surplus}", request(&world, &id, Some(&token))).as_bytes()).unwrap();
        world.until_open(&format!("s__{id}"));
        drop(stream);
        assert_eq!(world.settled(&format!("s__{id}"))["outcome"]["kind"], "withdrawn", "{surplus:?}");
    }
}

#[test]
fn hanging_up_after_later_surplus_withdraws() {
    let mut world = World::new();
    drop(world.daemon());
    let mut stream = UnixStream::connect(world.state("daemon.sock")).unwrap();
    stream.write_all(request(&world, "t", None).as_bytes()).unwrap();
    world.until_open("s__t");
    for surplus in SURPLUS {
        stream.write_all(surplus.as_bytes()).unwrap();
    }
    drop(stream);
    assert_eq!(world.settled("s__t")["outcome"]["kind"], "withdrawn");
}
