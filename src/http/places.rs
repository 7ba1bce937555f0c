//! Limits the number of connections over TCP, where anybody can connect.
//!
//! Each connection has a place. One half of the places is for strangers, the other half for callers with a token. A new connection always
//! gets a place. If the strangers' half is full, the oldest connection of the address with the most connections is closed. So a crowd
//! takes places only from itself, and never from a caller with a token. One device gets only a part of the places for callers with a
//! token. What it has beyond that counts as strangers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::access::{Caller, machine_of};

/// A crowd is logged at most once in this time.
const QUIET: Duration = Duration::from_secs(60);
/// One device gets at most this part of the places for callers with a token.
const PART_OF_DEVICE: usize = 8;

/// Whose token a connection has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Guest {
    /// A token of this daemon's own user.
    Own,
    /// The token of a device, or of another machine.
    Device(i64),
    /// The ticket for this ask.
    Ticket(i64),
}

impl Guest {
    /// `None` for a stranger.
    pub(super) fn of(caller: &Caller) -> Option<Self> {
        match caller {
            Caller::Anonymous => None,
            Caller::Program { .. } | Caller::Hook => Some(Self::Own),
            Caller::Device { id, .. } | Caller::Host { id, .. } => Some(Self::Device(*id)),
            Caller::Ticket { ticket, .. } => Some(Self::Ticket(ticket.id.0)),
        }
    }
}

/// All places of one listener. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Mutex<Table>>);

#[derive(Debug)]
struct Table {
    /// The name of the listener in the log.
    name: &'static str,
    max_known: usize,
    max_known_of_device: usize,
    max_strangers: usize,
    max_strangers_of_one: usize,
    next: u64,
    known: HashMap<u64, (Guest, Connection)>,
    /// How many places among the known each of them has.
    held: HashMap<Guest, usize>,
    /// In the order of their ids, so the first one is the oldest.
    strangers: BTreeMap<u64, Connection>,
    /// How many strangers each address has.
    crowds: HashMap<IpAddr, usize>,
    /// Since the last line in the log.
    closed: u64,
    logged_at: Option<Instant>,
}

#[derive(Debug)]
struct Connection {
    address: IpAddr,
    /// Dropping this closes the connection.
    _stay: oneshot::Sender<Infallible>,
}

/// The place of one connection. Dropping it frees the place.
#[derive(Debug)]
pub(super) struct Place {
    place_handle: PlaceHandle,
    stay: oneshot::Receiver<Infallible>,
}

/// Lets the guard say whether the caller on a connection has a token.
#[derive(Debug, Clone)]
pub(super) struct PlaceHandle {
    places: Places,
    id: u64,
}

impl Places {
    /// `places` is the number of all places. One address gets at most the `part_of_one`th part of the places for strangers.
    pub(super) fn new(name: &'static str, places: usize, part_of_one: usize) -> Self {
        let max_strangers = (places / 2).max(1);
        let max_known = (places - places / 2).max(1);
        Self(Arc::new(Mutex::new(Table {
            name,
            max_known,
            max_known_of_device: (max_known / PART_OF_DEVICE).max(1),
            max_strangers,
            max_strangers_of_one: (max_strangers / part_of_one).max(1),
            next: 0,
            known: HashMap::new(),
            held: HashMap::new(),
            strangers: BTreeMap::new(),
            crowds: HashMap::new(),
            closed: 0,
            logged_at: None,
        })))
    }

    /// Gives a place to a new connection. This may close another connection.
    pub(super) fn enter(&self, address: IpAddr) -> Place {
        let address = counted_as(address);
        let (leave, stay) = oneshot::channel();
        let mut table = self.table();
        table.make_room(address, Instant::now());
        let id = table.next;
        table.next += 1;
        table.add_stranger(id, Connection { address, _stay: leave });
        Place { place_handle: PlaceHandle { places: self.clone(), id }, stay }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code panics while it holds the lock, so the table is whole even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Any program on this machine can use any loopback address, so all of them count as one.
fn counted_as(address: IpAddr) -> IpAddr {
    match machine_of(address) {
        address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        address => address,
    }
}

impl Place {
    /// Returns when another connection needs the place.
    pub(super) async fn lost(&mut self) {
        // Nothing is ever sent. The receiver returns when the sender is dropped.
        drop((&mut self.stay).await);
    }

    pub(super) fn place_handle(&self) -> PlaceHandle {
        self.place_handle.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.place_handle.places.table();
        let id = self.place_handle.id;
        if table.remove_known(id).is_none() {
            table.remove_stranger(id);
        }
    }
}

impl PlaceHandle {
    /// Says whose valid token the newest request on this connection had. Each request counts anew, so that a device that was signed out
    /// loses its place among the callers with a token.
    pub(super) fn set_known(&self, guest: Option<Guest>) {
        let mut table = self.places.table();
        // Another token may take the place of the first one.
        if table.known.get(&self.id).is_some_and(|(known, _)| Some(*known) != guest)
            && let Some(connection) = table.remove_known(self.id)
        {
            table.make_room(connection.address, Instant::now());
            table.add_stranger(self.id, connection);
        }
        if let Some(guest) = guest
            && table.has_room_for(guest)
            && let Some(connection) = table.remove_stranger(self.id)
        {
            table.add_known(self.id, guest, connection);
        }
    }
}

impl Table {
    fn has_room_for(&self, guest: Guest) -> bool {
        let most = if guest == Guest::Own { self.max_known } else { self.max_known_of_device };
        self.known.len() < self.max_known && self.held.get(&guest).is_none_or(|held| *held < most)
    }

    fn add_known(&mut self, id: u64, guest: Guest, connection: Connection) {
        *self.held.entry(guest).or_default() += 1;
        self.known.insert(id, (guest, connection));
    }

    fn remove_known(&mut self, id: u64) -> Option<Connection> {
        let (guest, connection) = self.known.remove(&id)?;
        if let Entry::Occupied(mut held) = self.held.entry(guest) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
        Some(connection)
    }

    fn add_stranger(&mut self, id: u64, guest: Connection) {
        *self.crowds.entry(guest.address).or_default() += 1;
        self.strangers.insert(id, guest);
    }

    fn remove_stranger(&mut self, id: u64) -> Option<Connection> {
        let guest = self.strangers.remove(&id)?;
        if let Entry::Occupied(mut crowd) = self.crowds.entry(guest.address) {
            *crowd.get_mut() -= 1;
            if *crowd.get() == 0 {
                crowd.remove();
            }
        }
        Some(guest)
    }

    /// Makes room for one more stranger from this address.
    fn make_room(&mut self, address: IpAddr, now: Instant) {
        let crowd = if self.crowds.get(&address).is_some_and(|count| *count >= self.max_strangers_of_one) {
            Some(address)
        } else if self.strangers.len() >= self.max_strangers {
            self.crowds.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address)
        } else {
            None
        };
        let oldest = self.strangers.iter().find(|(_, guest)| Some(guest.address) == crowd).map(|(id, _)| *id);
        if let Some(oldest) = oldest {
            self.remove_stranger(oldest);
            self.log_crowd(now);
        }
    }

    fn log_crowd(&mut self, now: Instant) {
        self.closed += 1;
        if self.logged_at.is_none_or(|logged_at| now.saturating_duration_since(logged_at) >= QUIET) {
            tracing::warn!(
                listener = self.name,
                closed = self.closed,
                "too many connections without a token: the oldest are closed to make room"
            );
            self.logged_at = Some(now);
            self.closed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 168, 1, last))
    }

    /// How many known callers and how many strangers have a place.
    fn counts(places: &Places) -> (usize, usize) {
        let table = places.table();
        (table.known.len(), table.strangers.len())
    }

    fn is_lost(place: &mut Place) -> bool {
        place.stay.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    fn lost(places: &mut [Place]) -> Vec<usize> {
        (0..places.len()).filter(|index| is_lost(&mut places[*index])).collect()
    }

    #[test]
    fn a_new_connection_closes_the_oldest_stranger() {
        let places = Places::new("test", 8, 1);
        let mut guests: Vec<_> = (0..6).map(|_| places.enter(HERE)).collect();
        assert_eq!(lost(&mut guests), [0, 1]);
    }

    #[test]
    fn a_crowd_does_not_close_connections_with_a_token() {
        let places = Places::new("test", 8, 1);
        let mut known: Vec<_> = (0..4).map(|_| places.enter(HERE)).collect();
        known.iter().for_each(|place| place.place_handle().set_known(Some(Guest::Own)));
        let mut crowd: Vec<_> = (0..100).map(|_| places.enter(HERE)).collect();
        assert_eq!(lost(&mut known), [0; 0]);
        assert_eq!(lost(&mut crowd).len(), 96);
        assert_eq!(counts(&places), (4, 4));
    }

    #[test]
    fn connections_with_a_token_do_not_take_the_places_of_strangers() {
        let places = Places::new("test", 8, 1);
        let mut guests: Vec<_> = (0..20)
            .map(|_| {
                let place = places.enter(HERE);
                place.place_handle().set_known(Some(Guest::Own));
                place
            })
            .collect();
        assert_eq!(lost(&mut guests[..4]), [0; 0]);
        assert_eq!(counts(&places), (4, 4));
        assert!(!is_lost(&mut guests[19]));
    }

    #[test]
    fn one_device_gets_only_its_part_of_the_places_for_callers_with_a_token() {
        let places = Places::new("test", 64, 1);
        let enter = |guest| {
            let place = places.enter(HERE);
            place.place_handle().set_known(Some(guest));
            place
        };
        let _crowd: Vec<_> = (0..30).map(|_| enter(Guest::Device(1))).collect();
        assert_eq!(counts(&places).0, 4);
        let mut other = enter(Guest::Device(2));
        assert_eq!(counts(&places).0, 5);
        let _strangers: Vec<_> = (0..100).map(|_| places.enter(HERE)).collect();
        assert!(!is_lost(&mut other));
        // A connection that goes makes room, and so does one that shows another token.
        let again = enter(Guest::Device(2));
        again.place_handle().set_known(Some(Guest::Own));
        again.place_handle().set_known(Some(Guest::Own));
        let held = |guest| places.table().held.get(&guest).copied();
        assert_eq!((held(Guest::Device(2)), held(Guest::Own)), (Some(1), Some(1)));
        drop((again, other));
        assert_eq!((held(Guest::Device(2)), held(Guest::Own)), (None, None));
    }

    #[test]
    fn one_address_gets_only_its_part_of_the_places() {
        let places = Places::new("test", 32, 4);
        let mut other = places.enter(address(1));
        let mut crowd: Vec<_> = (0..10).map(|_| places.enter(address(2))).collect();
        assert!(!is_lost(&mut other));
        assert_eq!(lost(&mut crowd), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_address_with_the_most_connections_loses_one() {
        let places = Places::new("test", 16, 2);
        let mut few: Vec<_> = (0..2).map(|_| places.enter(address(1))).collect();
        let mut many: Vec<_> = (0..4).map(|_| places.enter(address(2))).collect();
        let _others: Vec<_> = (3..6).map(|last| places.enter(address(last))).collect();
        assert_eq!(lost(&mut few), [0; 0]);
        assert_eq!(lost(&mut many), [0]);
    }

    #[test]
    fn all_addresses_that_one_machine_can_use_count_as_one() {
        let places = Places::new("test", 16, 4);
        let mut loopback: Vec<_> = (1..4).map(|last| places.enter([127, 0, 0, last].into())).collect();
        assert_eq!(lost(&mut loopback), [0]);
        let mut network: Vec<_> = (1..4).map(|last| places.enter([0xfd00, 0, 0, 1, 0, 0, 0, last].into())).collect();
        assert_eq!(lost(&mut network), [0]);
    }

    #[test]
    fn a_closed_connection_frees_its_place() {
        let places = Places::new("test", 8, 1);
        let mut first = places.enter(HERE);
        for guest in [Some(Guest::Own), None] {
            for _ in 0..20 {
                places.enter(HERE).place_handle().set_known(guest);
            }
        }
        assert!(!is_lost(&mut first));
        assert_eq!(counts(&places), (0, 1));
        drop(first);
        assert!(places.table().crowds.is_empty());
    }

    #[test]
    fn a_caller_that_no_longer_shows_a_token_is_a_stranger_again() {
        let places = Places::new("test", 4, 1);
        let mut revoked = places.enter(HERE);
        revoked.place_handle().set_known(Some(Guest::Own));
        revoked.place_handle().set_known(None);
        let _crowd: Vec<_> = (0..2).map(|_| places.enter(HERE)).collect();
        assert!(is_lost(&mut revoked));
        // A connection that has lost its place does not get it back with a token.
        revoked.place_handle().set_known(Some(Guest::Own));
        assert_eq!(counts(&places), (0, 2));
    }

    #[test]
    fn a_crowd_is_logged_once_a_minute() {
        let mut table = Places::new("test", 4, 1);
        let table = Arc::get_mut(&mut table.0).unwrap().get_mut().unwrap();
        let start = Instant::now();
        let logged: Vec<_> = [0, 1, 59, 60, 61]
            .map(|seconds| {
                table.log_crowd(start + Duration::from_secs(seconds));
                table.closed == 0
            })
            .into();
        assert_eq!(logged, [true, false, false, true, false]);
    }
}
