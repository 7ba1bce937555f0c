//! The two real programs, driven as Claude Code, a person and a companion program drive them.
//!
//! Each test has a [`world::World`] of its own: a scratch `HOME`, and with it an instance of its own.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "that is how a test fails")]

mod answers;
mod api;
mod broken_requests;
mod browsers;
mod commands;
mod crowd;
mod deadlines;
mod dependencies;
mod devices;
mod docs;
mod doctor;
mod events;
mod fail_open;
mod http;
mod idle;
mod install;
mod install_attacked;
mod lan;
mod life;
mod notify;
mod pairing;
mod phone;
mod picker;
mod race;
mod receiver;
mod sign_in;
mod store;
mod world;
