//! What is happening, for the person who waits. It goes to stderr.

use std::time::Instant;

/// Says what is measured now, and what is left.
#[derive(Debug)]
pub struct Progress {
    started: Instant,
    names: Vec<&'static str>,
}

impl Progress {
    /// Begins with these measurements to do.
    pub fn new(names: Vec<&'static str>) -> Self {
        Self { started: Instant::now(), names }
    }

    /// The next measurement begins.
    pub fn begin(&self, index: usize, what: &str) {
        let left = self.names[index + 1..].join(", ");
        let left = if left.is_empty() { "this is the last one".to_owned() } else { format!("left: {left}") };
        let seconds = self.started.elapsed().as_secs();
        let clock = format!("{}:{:02}", seconds / 60, seconds % 60);
        eprintln!("[{}/{}] {clock}  {}: {what} ({left})", index + 1, self.names.len(), self.names[index]);
    }

    /// All are done.
    pub fn end(&self) {
        eprintln!("measured in {} s", self.started.elapsed().as_secs());
    }
}

/// A step inside a measurement.
pub fn note(what: &str) {
    eprintln!("       {what}");
}
