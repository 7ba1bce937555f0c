//! Answerback: a coding agent's questions, answered from anywhere and never lost.
//!
//! A hook hands each question to the daemon, a person answers it over HTTP, the hook returns the answer. The modules, from
//! the edge to the core; each may use those below it, and nothing points back:
//!
//! - [`cli`]: the commands.
//! - [`picker`]: choosing an answer in a terminal; the only module that draws on one.
//! - [`client`], [`terminal`]: the daemon and the screen, as the commands see them.
//! - [`daemon`]: puts the parts together and runs them until it is told to stop.
//! - [`http`]: connections, the guard and the API; the only module that knows hyper and axum.
//! - [`api`]: what the HTTP API says and hears, as types; the commands use them too.
//! - [`doctor`]: is everything in place for a question to come back answered?
//! - [`settings`]: Claude Code's settings files: our entries in and out, every other byte as it was.
//! - [`claude_code`]: hook JSON to asks, outcomes to replies; the only module that knows what hooks are told.
//! - [`pairing`]: letting a new device in; does no I/O.
//! - [`notify`]: telling people that a question waits.
//! - [`registry`]: who is waiting for what; does no I/O.
//! - [`store`]: the durable truth and the order of events; the only module that knows SQLite.
//! - [`ask`]: the domain; pure.
//! - [`address`], [`config`], [`instance`], [`logging`], [`tls`], [`token`], [`ticket`], [`mac`]: what one daemon on one machine needs
//!   around that.
//!
//! The invariants: an ask is settled once, by the first settlement that commits; success is told only after the answer is
//! on disk; a parked wait costs no CPU; an answer is complete unless its author says otherwise; a question's and an
//! answer's text is data everywhere.
#![cfg(feature = "daemon")]

pub mod address;
pub mod api;
pub mod ask;
pub mod claude_code;
pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod doctor;
pub mod http;
pub mod instance;
pub mod logging;
pub mod mac;
pub mod notify;
pub mod pairing;
pub mod picker;
pub mod registry;
pub mod retention;
pub mod settings;
pub mod store;
pub mod terminal;
pub mod ticket;
pub mod tls;
pub mod token;

/// The number of the protocol between hook and daemon and of the HTTP API. It changes when an older client would
/// misunderstand; the version may change without it.
pub const PROTOCOL: u32 = 1;
