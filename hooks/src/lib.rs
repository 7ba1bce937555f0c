//! What Claude Code runs for Answerback, and the blocking client the command line shares with it.
//!
//! The hook is a dumb pipe. Claude Code waits for it on every question, so what is *absent* here matters most: no JSON
//! parser, no async runtime, no argument parser, no configuration, no log. All judgement is in the daemon, and this
//! crate never imports it.
//!
//! - [`paths`]: where one instance keeps its files; the hook and the daemon must agree on it.
//! - [`client`]: one HTTP/1.1 exchange over the daemon's unix socket.
//! - [`start`]: reaching the daemon, starting it when there is none.
//! - `listener`: whether anybody still waits for what the hook prints.
//! - [`hook`]: stdin to the daemon, its reply to stdout; fails open.

pub mod client;
pub mod hook;
mod listener;
pub mod paths;
pub mod start;
