//! A fleet of real programs on a real PostgreSQL with a synchronous standby: three hubs, ten edges, real hooks. Each trial breaks something
//! while people answer, and counts what was lost. It must be nothing.
//!
//! `cargo test --test fleet -- --nocapture` prints the table.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../lib/certificate.rs"]
mod certificate;
#[path = "../integration/http.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod http;
#[path = "../lib/ports.rs"]
mod ports;
#[path = "../lib/postgres.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod postgres;
#[path = "../integration/world.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod world;

#[path = "../integration/docs/page.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod page;

mod faults;
mod fleet;
mod proxy;
mod setup;
mod waits;
