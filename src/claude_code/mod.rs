//! Claude Code: the calls of its hooks, the replies to them, its transcripts and its settings files. No other room knows what Claude Code
//! sends, and what it makes of a reply.
//!
//! - `bridge`: the way of a call, from the hook's JSON to the JSON that the hook prints.
//! - `call`, `client`, `version`, `deadline`: what a call says.
//! - `event`: what a call comes to. `reply`: what an outcome comes to. Both are pure.
//! - `kinds`: what is special about each kind of ask. A new kind is a new file there.
//! - `permission_tool`: what a run without a terminal asks for permission, instead of a person at a dialog.
//! - `agent_file`: reads a file that an agent names.
//! - `changed_file`: what is in a file that a call would change.
//! - `transcript`: the records that Claude Code keeps of a session.
//! - `settings`: our entries in Claude Code's settings files.
//!
//! All of this rests on what was measured with the real client:
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

mod about;
mod agent_file;
mod bridge;
mod call;
mod changed_file;
mod client;
mod deadline;
mod event;
mod kinds;
pub mod permission_tool;
mod reply;
pub mod settings;
mod sighting;
mod transcript;
mod version;

pub use bridge::{Bridge, CallError, Elsewhere, Line, ParkedCall, Resumed, Surroundings, Taken};
pub use client::{Client, Mode, TOOL_WAITS};
pub use deadline::Deadline;
pub use event::Rules;
pub use kinds::PROBE_TOOL;
pub use transcript::Recorded;
pub use version::Version;
