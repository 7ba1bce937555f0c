//! Who may do what. Every credential is made, kept and recognised here. It knows no HTTP: a request is translated before it asks.

mod mac;
pub mod pairing;
mod ticket;
mod token;

pub use mac::MacKey;
pub use ticket::{Ticket, Tickets};
pub use token::{Token, TokenHash, Tokens};
