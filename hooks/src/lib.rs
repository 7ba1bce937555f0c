//! What Claude Code runs for Answerback, and the blocking client the command line shares with it.
//!
//! The hook is a dumb pipe. Claude Code waits for it on every question, so what is *absent* here matters most: it reads no
//! JSON, and has no async runtime, no argument parser, no configuration, no log. All judgement is in the daemon, and this
//! crate never imports it.
//!
//! - [`arena`]: the hook's memory.
//! - [`paths`]: where one instance keeps its files; the hook and the daemon must agree on it.
//! - [`client`]: one HTTP/1.1 exchange over the daemon's unix socket.
//! - [`start`]: reaching the daemon, starting it when there is none.
//! - [`stranger`]: other agents that start the hook.
//! - [`trust`]: whether the files and the other end of the socket are our own user's.
//! - [`hint`]: how an error says what to do about it.
//! - [`wire`]: how a hook's call looks on the socket.
//! - `wait`: how long the hook waits for the daemon.
//! - `scan`: finding bytes.
//! - `json`: whether a reply is one JSON object.
//! - [`hook`]: stdin to the daemon, its reply to stdout; fails open.

pub mod arena;
pub mod client;
pub mod hint;
pub mod hook;
mod json;
pub mod paths;
mod scan;
pub mod start;
pub mod stranger;
pub mod trust;
mod wait;
pub mod wire;
