//! Answerback: a coding agent's questions, answered from anywhere and never lost.
//!
//! A hook hands each question to the daemon. A person answers it over HTTP. The hook returns the answer to the agent.
//!
//! `docs/architecture.md` describes the rooms of this crate, and which room may use which. A test reads that table and fails on a
//! `crate::` path that the table does not allow.
//!
//! The invariants: an ask is settled once, by the first settlement that commits. Success is reported only after the answer is on
//! disk. A parked wait costs no CPU. An answer is complete unless its author says otherwise. The text of a question or an answer is
//! data everywhere.
#![cfg(feature = "daemon")]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod access;
mod address;
mod api;
mod ask;
mod claude_code;
pub mod cli;
mod client;
mod config;
mod daemon;
mod doctor;
mod durable;
mod http;
mod inbox;
mod instance;
mod mcp;
mod notify;
mod picker;
mod pinned;
mod registry;
mod store;
mod text;

/// The number of the protocol between hook and daemon and of the HTTP API. It changes when an older client would
/// misunderstand; the version may change without it.
pub const PROTOCOL: u32 = 1;
