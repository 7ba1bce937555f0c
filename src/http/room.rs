//! A reply stays in memory until its reader has taken it. So a list that has no pages ends when it is long enough. Ordinary use never gets
//! there.

/// The most bytes of text in a list without pages.
const MOST: usize = 1024 * 1024;

/// What still fits into a list.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Room {
    /// Whether one more text of this length fits. After the first that does not, none does.
    pub(super) fn takes(&mut self, length: usize) -> bool {
        // Even an empty text takes some bytes.
        self.0 = self.0.saturating_sub(length + 16);
        self.0 > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_when_it_is_long_enough() {
        let mut room = Room::default();
        let taken = (0..2 * MOST).filter(|_| room.takes(4096)).count();
        assert_eq!(taken, MOST / (4096 + 16));
        assert!(!room.takes(0));
    }
}
