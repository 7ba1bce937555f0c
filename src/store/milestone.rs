//! What has happened at least once.

/// Something that a newcomer does once. The store knows it for good, also after the asks are forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    /// The hook of an agent has called.
    HookCall,
    /// A person has answered.
    Answer,
}
