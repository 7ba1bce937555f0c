//! Takes the content of a file over into PostgreSQL. The file stays as it is.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::ask::{Ask, AskId, Away};

use super::{Device, Milestone, Person, PostgresOptions, StoreError, postgres, sqlite};

/// How many asks are taken over at once.
const AT_ONCE: usize = 200;

/// One ask with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WholeAsk {
    pub(super) ask: Ask,
    pub(super) detail: String,
}

impl WholeAsk {
    fn replace_nul(&mut self) {
        let Ask { project, digest, asker, asked_by, .. } = &mut self.ask;
        for text in [project, digest, asker, asked_by].into_iter().flatten().chain([&mut self.detail]) {
            if text.contains('\0') {
                *text = text.replace('\0', "\u{fffd}");
            }
        }
    }
}

/// Everything else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Belongings {
    pub(super) people: Vec<Person>,
    pub(super) devices: Vec<(Device, [u8; 32])>,
    pub(super) away: Vec<Away>,
    pub(super) milestones: Vec<Milestone>,
    /// The newest change. The changes themselves stay behind: whoever follows them lists the asks again.
    pub(super) cursor: i64,
}

/// What was taken over. The numbers and the checksum are those of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    pub asks: usize,
    /// Asks that are damaged in the file. They are left behind.
    pub damaged: usize,
    pub people: usize,
    pub devices: usize,
    /// SHA-256 of all asks, people and devices, in hexadecimal digits.
    pub checksum: String,
}

/// A checksum over asks, then people, then devices, each in their order.
#[derive(Default)]
pub(super) struct Sum(Sha256);

impl Sum {
    pub(super) fn add(&mut self, whole: &WholeAsk) {
        // `Debug` names every field, so none can be forgotten here.
        for part in [format!("{:?}", whole.ask), whole.detail.clone()] {
            self.add_text(&part);
        }
    }

    /// Adds a person. Another store gives them another id, and numbers the changes of their grants as it likes.
    pub(super) fn add_person(&mut self, Person { id: _, name, grants, revision: _, created_at }: &Person) {
        self.add_text(&format!("{:?}", (name, grants, created_at)));
    }

    /// Adds a device, and whose it is.
    pub(super) fn add_device(&mut self, device: &Device) {
        let Device { id: _, name, kind, created_at, last_seen_at, person } = device;
        let owner = person.as_ref().map(|person| &person.name);
        self.add_text(&format!("{:?}", (name, kind, created_at, last_seen_at, owner)));
    }

    fn add_text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    pub(super) fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}

/// Copies everything from a file into an empty namespace, in one transaction, and compares both sides before that is committed. No daemon may
/// use the file meanwhile. `progress` is told how many asks of how many are done. Must not be called in a runtime.
pub fn migrate(from: &Path, to: &PostgresOptions, progress: impl Fn(usize, usize)) -> Result<Migration, StoreError> {
    let source = sqlite::Source::open(from)?;
    let target = postgres::Target::begin(to)?;
    let total = source.count()?;
    let (mut sum, mut after, mut asks, mut damaged) = (Sum::default(), AskId(0), 0, 0);
    loop {
        let mut page = source.asks(after, AT_ONCE)?;
        let Some(last) = page.last else { break };
        // PostgreSQL keeps no NUL in a text.
        page.asks.iter_mut().for_each(WholeAsk::replace_nul);
        page.asks.iter().for_each(|whole| sum.add(whole));
        target.add(&page.asks)?;
        asks += page.asks.len();
        damaged += page.damaged;
        after = last;
        progress(asks + damaged, total);
    }
    let belongings = source.belongings()?;
    target.add_belongings(&belongings)?;
    belongings.people.iter().for_each(|person| sum.add_person(person));
    belongings.devices.iter().for_each(|(device, _)| sum.add_device(device));
    let (people, devices) = (belongings.people.len(), belongings.devices.len());
    let migration = Migration { asks, damaged, people, devices, checksum: sum.finish() };
    let found = target.read_back(AT_ONCE)?;
    if found != (Migration { damaged: 0, ..migration.clone() }) {
        return Err(StoreError::Failed(format!(
            "what PostgreSQL has is not what the file has: {found:?} instead of {migration:?}"
        )));
    }
    target.commit()?;
    Ok(migration)
}
