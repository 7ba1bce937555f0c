//! Where a request comes from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Where a request comes from, as far as that can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entrance {
    /// A program of our user: this process, if the system tells.
    Socket { process: Option<i32> },
    /// This machine.
    Local { local: SocketAddr, remote: SocketAddr },
    /// Anywhere, through the proxy at this address.
    Public(IpAddr),
    /// The local network.
    Lan(IpAddr),
}

/// The machine that is blamed for failed attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Blamed {
    pub(super) address: IpAddr,
    /// The address is the proxy's. The callers behind it are not the machine itself.
    pub(super) behind_proxy: bool,
}

impl Entrance {
    /// Whether the tokens of `daemon.json` and launch codes count here. They are for this machine.
    pub(super) fn is_local(self) -> bool {
        matches!(self, Self::Socket { .. } | Self::Local { .. })
    }

    /// The machine to blame for a failed attempt; `None` on the socket, where the kernel vouches for the caller.
    pub(super) fn blamed(self) -> Option<Blamed> {
        let (address, behind_proxy) = match self {
            Self::Socket { .. } => return None,
            Self::Local { remote, .. } => (remote.ip(), false),
            Self::Lan(address) => (address, false),
            Self::Public(address) => (address, true),
        };
        Some(Blamed { address: machine_of(address), behind_proxy })
    }
}

/// One address that stands for all addresses of a machine. A machine with an IPv6 network has all addresses of that network.
pub fn machine_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_machine_is_one_caller() {
        let local =
            Entrance::Local { local: "127.0.0.1:27563".parse().unwrap(), remote: "127.0.0.1:50000".parse().unwrap() };
        let blamed = |address: &str| Entrance::Lan(address.parse().unwrap()).blamed();
        assert_eq!(blamed("::ffff:127.0.0.1"), local.blamed());
        assert_eq!(blamed("fd00::2"), blamed("fd00::ffff:3"));
        assert_ne!(blamed("fd00::2"), blamed("fd00:0:0:1::2"));
        assert_ne!(blamed("127.0.0.1"), Entrance::Public("127.0.0.1".parse().unwrap()).blamed());
        assert_eq!(Entrance::Socket { process: None }.blamed(), None);
    }
}
