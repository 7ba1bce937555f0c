//! Tests of the two real programs, used in the way of Claude Code, a person and a companion program.
//!
//! Each test has a [`world::World`] of its own: a scratch `HOME`, and with it an instance of its own.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "that is how a test fails")]

mod answer_words;
mod answers;
mod api;
mod ask_output;
mod away;
mod broken_requests;
mod browsers;
mod commands;
mod crowd;
mod deadlines;
mod dependencies;
mod description;
mod devices;
mod disk;
mod docs;
mod doctor;
mod doctor_hooks;
mod durable;
mod events;
mod fail_open;
mod faults;
mod files;
mod forged;
mod form;
mod free_text;
mod frozen;
mod hang_up;
mod http;
mod idle;
mod install;
mod install_attacked;
mod install_attributes;
mod install_hostile;
mod kinds;
mod lan;
mod life;
mod manager;
mod notify;
mod pairing;
mod permission;
mod phone;
mod picker;
mod plan;
mod probes;
mod race;
mod receiver;
mod sign_in;
mod store;
mod stuck;
mod threads;
mod trust;
mod walls;
mod world;
