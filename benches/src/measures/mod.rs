//! The measurements, one file each. In each of them, the programs take turns, so that a slow moment of the machine affects all.

mod answers;
mod cold;
mod companions;
mod events;
mod exchange;
mod fanout;
mod fleet;
mod growth;
mod history;
mod hooks;
mod race;
mod seen;
mod sizes;
mod throughput;
mod waits;

use crate::lab::Lab;
use crate::report::{Facts, Section};

/// A measurement: its name on the command line, what it measures, and how.
pub type Measure = (&'static str, &'static str, fn(&Lab, &mut Facts) -> Section);

/// All of them, in the order of the page.
pub const ALL: [Measure; 14] = [
    ("hooks", "what a hook's process costs", hooks::run),
    ("events", "an event without an open question", events::run),
    ("seen", "from the question to the person", seen::run),
    ("answers", "one durable answer", answers::run),
    ("exchange", "one exchange without a disk", exchange::run),
    ("race", "what a race adds", race::run),
    ("waits", "memory, CPU time and lists of waiting questions", waits::run),
    ("throughput", "durable answers per second", throughput::run),
    ("fanout", "one event to many readers", fanout::run),
    ("companions", "companions that are connected", companions::run),
    ("cold", "a cold start", cold::run),
    ("sizes", "the programs at rest", sizes::run),
    ("history", "growth with the history", history::run),
    ("fleet", "hubs on PostgreSQL beside one daemon on SQLite", fleet::run),
];
