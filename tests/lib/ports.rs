//! Ports for programs that must be told which port to use.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Systems take the ports that they choose themselves, for port 0 and for outgoing connections, from above this range. Neither is the
/// daemon's own port in it.
const FIRST: u16 = 10_000;
const COUNT: u16 = 15_000;

/// A port that nobody uses, and that nobody gets by chance before the caller uses it. No two calls in one process get the same one.
pub fn unused_port() -> u16 {
    // Each process starts somewhere else, because several may run at once.
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let next = NEXT.get_or_init(|| {
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
        AtomicU16::new((nanos % u32::from(COUNT)) as u16)
    });
    (0..COUNT)
        .map(|_| FIRST + next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| Some((n + 1) % COUNT)).unwrap())
        .find(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).is_ok())
        .expect("no port is free")
}
