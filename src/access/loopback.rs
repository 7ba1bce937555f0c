//! Whose program is at the other end of a connection on this machine?
//!
//! A launch code is handed to the browser as an argument, because that is how browsers are opened. Every user of the machine can read
//! arguments, so the code alone must not be enough. On Linux the kernel tells which user a connection belongs to, and which process has it
//! open.

use std::net::{IpAddr, SocketAddr};

use super::process;

/// Whether the other end belongs to our user. Where the kernel does not tell, the code must do: it is good once and for a minute.
pub(super) async fn is_own_user(local: SocketAddr, remote: SocketAddr) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let own = rustix::process::geteuid().as_raw();
    let end = tokio::task::spawn_blocking(move || end_of(remote, local)).await.ok().flatten();
    end.is_some_and(|end| end.user == own)
}

/// The process of our user at the other end, as far as the kernel tells. Processes of others are not looked for: all files of all processes
/// are looked at for that, and nobody else may have us do it.
pub(super) async fn process_of(local: SocketAddr, remote: SocketAddr) -> Option<i32> {
    let own = rustix::process::geteuid().as_raw();
    let look = move || {
        let end = end_of(remote, local).filter(|end| end.user == own)?;
        process::with_socket(end.inode)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// One end of a connection.
#[derive(Debug, PartialEq, Eq)]
struct End {
    user: u32,
    inode: u64,
}

/// The end of the connection from here to there that is here.
fn end_of(from: SocketAddr, to: SocketAddr) -> Option<End> {
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().filter_map(|table| std::fs::read_to_string(table).ok());
    tables.filter_map(|table| end_in(&table, from, to)).next()
}

/// The same in a table of the kernel.
fn end_in(table: &str, from: SocketAddr, to: SocketAddr) -> Option<End> {
    const ESTABLISHED: &str = "01";
    /// Before an address of the old protocol in the table of the new one.
    const MAPPED: &str =
        if cfg!(target_endian = "little") { "0000000000000000FFFF0000" } else { "00000000000000000000FFFF" };
    let (from, to) = (in_table(from)?, in_table(to)?);
    let is = |column: &str, address: &str| column == address || column.strip_prefix(MAPPED) == Some(address);
    table.lines().find_map(|line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let is_it = is(columns.next()?, &from) && is(columns.next()?, &to) && columns.next()? == ESTABLISHED;
        // After queues, timers and retransmissions.
        let user = columns.nth(3).filter(|_| is_it)?.parse().ok()?;
        // After a timeout.
        Some(End { user, inode: columns.nth(1)?.parse().ok()? })
    })
}

/// The bytes of the address as a number of this machine.
fn in_table(address: SocketAddr) -> Option<String> {
    match address.ip() {
        IpAddr::V4(ip) => Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port())),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernel_knows_our_own_connections() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = tokio::net::TcpStream::connect(address).await.unwrap();
        let (_server, remote) = listener.accept().await.unwrap();
        assert!(is_own_user(address, remote).await);
        let this = cfg!(target_os = "linux").then(|| i32::try_from(std::process::id()).unwrap());
        assert_eq!(process_of(address, remote).await, this);
        let own = remote.port();
        drop(client);
        let nobody = SocketAddr::from(([127, 0, 0, 1], own.wrapping_add(1).max(1)));
        assert_eq!(is_own_user(address, nobody).await, !cfg!(target_os = "linux"));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn the_owner_is_of_exactly_this_connection() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                     0: 0100007F:6BAB 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 1 1\n   \
                     1: 0100007F:C350 0100007F:0050 01 00000000:00000000 00:00000000 00000000  1001        0 1 1\n   \
                     2: 0100007F:C350 0100007F:6BAB 01 00000000:00000000 02:00000000 00000000  1002        0 77 1\n";
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(end_in(table, address(50000), address(27563)), Some(End { user: 1002, inode: 77 }));
        assert_eq!(end_in(table, address(50001), address(27563)), None);
    }
}
