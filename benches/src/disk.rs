//! What the disk alone can do.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use crate::lab::{Lab, Place};

/// A file that is only appended to.
#[derive(Debug)]
pub struct Log {
    file: File,
    record: Vec<u8>,
}

impl Log {
    /// A log on the disk of the daemons, with records of this size.
    pub fn new(lab: &Lab, record: usize) -> Self {
        Self { file: tempfile::tempfile_in(lab.directory(Place::Disk)).unwrap(), record: vec![b'x'; record] }
    }

    /// Appends this many records, and waits until they are on the disk. Returns the time in seconds.
    pub fn append(&mut self, records: usize) -> f64 {
        let started = Instant::now();
        for _ in 0..records {
            self.file.write_all(&self.record).unwrap();
        }
        self.file.sync_data().unwrap();
        started.elapsed().as_secs_f64()
    }
}
