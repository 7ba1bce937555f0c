//! Claude Code's hooks: their JSON in, asks out; outcomes in, their replies out. Pure, and the only place that knows what
//! Claude Code sends and what it makes of a reply.
//!
//! What was measured with the real client, and everything here rests on:
//! - `PreToolUse` is the only event that names the tool call before it is answered.
//! - A reply without `questions` in `updatedInput` is rejected, so the whole original input goes back.
//! - Questions missing from `answers` are left out silently, so an answer is complete unless its author said otherwise.
//! - An empty reply means "no decision": the native dialog, or the host's own permission request.
//! - `PermissionRequest` runs beside the terminal's own dialog and does not name the call; it takes no `additionalContext`, but
//!   `PostToolUse`, which fires for an answer from anywhere, does.
//! - When the terminal answers first, the hook beside it is not told and runs on; `PostToolUse` ends it. "Chat about this" fires
//!   no `PostToolUse`, but `Stop`.
//! - `defer` is understood from 2.1.89 on; before, the run goes on without an answer.
//! - `additionalContext` reaches the model also when another hook overwrites `updatedInput`.

mod client;
mod input;
mod reply;
pub mod settings;
mod tool_input;
pub mod transcript;
mod version;

pub use client::{Client, Mode};
pub use input::{HookEvent, PROBE_TOOL, Policy, read, unless_too_old};
pub use reply::{deferred, raced, received, settled};
pub use version::Version;
