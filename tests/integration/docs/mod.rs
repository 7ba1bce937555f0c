//! The documentation, checked against the programs.
//!
//! - `examples`: the examples of each page, run as they stand.
//! - `claims`: what the pages name exists: links, commands, settings, messages.
//! - `page`: a page as both see it.

mod claims;
mod examples;
mod page;
