//! Lists of asks, as JSON text. A list can have ten thousand asks, and companions get it again and again, so the text of an open ask is kept
//! for the next list. A list is written in slices, so that nobody else has to wait for it. It ends when it is long enough, because a reply
//! stays in memory until its reader has taken it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::api::{AskList, AskView};
use crate::ask::{Ask, AskId, Cursor};
use crate::store::AskPage;

/// How many asks are written at once.
const SLICE: usize = 64;
/// About as long as the text of an ask usually is.
const USUAL: usize = 640;
/// A page is at most this long, in bytes, unless it has one ask only. The asks that do not fit are on the next page.
const MAX_PAGE: usize = 2 * 1024 * 1024;
/// A longer text is not kept.
const MAX_KEPT: usize = 4 * 1024;
/// Texts of asks that are settled are dropped when there may be as many of them as of open asks, and at least this many.
const LEAST_TO_DROP: usize = 256;

/// Writes lists, and keeps the texts of open asks.
#[derive(Debug, Default)]
pub(super) struct ListWriter(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: HashMap<AskId, Text>,
    /// How many texts there were after the last cleaning.
    were_in_use: usize,
}

/// An ask that changes becomes another one in memory, so a text belongs to one of these and not to an id.
#[derive(Debug)]
struct Text {
    ask: Weak<Ask>,
    json: Box<[u8]>,
}

impl ListWriter {
    /// The JSON of an [`AskList`].
    pub(super) async fn write(
        &self,
        page: &AskPage,
        perhaps_answered: &HashSet<AskId>,
        cursor: Cursor,
    ) -> serde_json::Result<Vec<u8>> {
        const START: &[u8] = b"{\"asks\":[";
        let mut json = Vec::with_capacity((page.asks.len() * USUAL).min(MAX_PAGE));
        json.extend_from_slice(START);
        let mut next = page.next;
        for (place, ask) in page.asks.iter().enumerate() {
            if place > 0 && place % SLICE == 0 {
                tokio::task::yield_now().await;
            }
            let end = json.len();
            if place > 0 {
                json.push(b',');
            }
            self.add(ask, perhaps_answered.contains(&ask.id), &mut json)?;
            if place > 0 && json.len() > MAX_PAGE {
                json.truncate(end);
                next = page.asks.get(place - 1).map(|last| last.id);
                break;
            }
        }
        // If the page was cut, the next one counts them.
        let damaged = if next == page.next { page.damaged } else { 0 };
        let next = next.map(|id| id.0);
        let frame = serde_json::to_vec(&AskList { asks: Vec::new(), cursor: cursor.0.to_string(), next, damaged })?;
        json.extend_from_slice(&frame[START.len()..]);
        // The text that did not fit, and the room for it, must not wait for the reader, too.
        json.shrink_to_fit();
        Ok(json)
    }

    fn add(&self, ask: &Arc<Ask>, perhaps_answered: bool, json: &mut Vec<u8>) -> serde_json::Result<()> {
        // Only an open ask is listed often, and whether it was perhaps answered may differ the next time.
        let may_keep = ask.is_open() && !perhaps_answered;
        if may_keep && let Some(text) = self.kept().texts.get(&ask.id).filter(|text| text.is_of(ask)) {
            json.extend_from_slice(&text.json);
            return Ok(());
        }
        let start = json.len();
        serde_json::to_writer(&mut *json, &AskView { perhaps_answered, ..AskView::from(&**ask) })?;
        if may_keep && json.len() - start <= MAX_KEPT {
            self.kept().keep(ask, json[start..].into());
        }
        Ok(())
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn keep(&mut self, ask: &Arc<Ask>, json: Box<[u8]>) {
        if self.texts.len() >= 2 * self.were_in_use + LEAST_TO_DROP {
            self.texts.retain(|_, text| text.ask.strong_count() > 0);
            self.were_in_use = self.texts.len();
        }
        self.texts.insert(ask.id, Text { ask: Arc::downgrade(ask), json });
    }
}

impl Text {
    fn is_of(&self, ask: &Arc<Ask>) -> bool {
        // The memory of an ask is not used for another one while there is a weak reference to it.
        self.ask.as_ptr() == Arc::as_ptr(ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    fn page(asks: Vec<Arc<Ask>>) -> AskPage {
        AskPage { asks, damaged: 0, next: None }
    }

    fn plain(page: &AskPage, perhaps: &HashSet<AskId>, cursor: i64) -> String {
        let view = |ask: &Arc<Ask>| AskView { perhaps_answered: perhaps.contains(&ask.id), ..AskView::from(&**ask) };
        let asks = page.asks.iter().map(view).collect();
        let next = page.next.map(|id| id.0);
        serde_json::to_string(&AskList { asks, cursor: cursor.to_string(), next, damaged: page.damaged }).unwrap()
    }

    async fn written(writer: &ListWriter, page: &AskPage, perhaps: &HashSet<AskId>, cursor: i64) -> String {
        String::from_utf8(writer.write(page, perhaps, Cursor(cursor)).await.unwrap()).unwrap()
    }

    fn open(id: i64) -> Arc<Ask> {
        Arc::new(ask(id, &format!("s__{id}"), "shop", 1))
    }

    #[tokio::test]
    async fn a_list_is_what_serde_would_write() {
        let writer = ListWriter::default();
        let none = HashSet::new();
        for count in [0, 1, 2, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE] {
            let asks: Vec<_> = (0..count as i64).map(open).collect();
            let page = AskPage { asks, damaged: count % 2, next: (count > 2).then_some(AskId(7)) };
            // The second list is made of what the first has left.
            for cursor in [1, 2] {
                assert_eq!(written(&writer, &page, &none, cursor).await, plain(&page, &none, cursor), "{count}");
            }
        }
    }

    #[tokio::test]
    async fn an_ask_that_has_changed_is_written_anew() {
        let writer = ListWriter::default();
        let none = HashSet::new();
        let mut changed = ask(1, "s__1", "shop", 1);
        let before = page(vec![Arc::new(changed.clone())]);
        written(&writer, &before, &none, 1).await;
        changed.deferred = true;
        let after = page(vec![Arc::new(changed)]);
        assert_eq!(written(&writer, &after, &none, 2).await, plain(&after, &none, 2));
        let perhaps = HashSet::from([AskId(1)]);
        let said = written(&writer, &after, &perhaps, 3).await;
        assert_eq!(said, plain(&after, &perhaps, 3));
        assert!(said.contains("perhaps_answered"));
        // And it is not there any more when the next list is made.
        assert_eq!(written(&writer, &after, &none, 4).await, plain(&after, &none, 4));
    }

    #[tokio::test]
    async fn the_texts_of_asks_that_are_gone_are_dropped() {
        let writer = ListWriter::default();
        let staying = page(vec![open(0)]);
        for id in 1..5000 {
            written(&writer, &page(vec![open(id)]), &HashSet::new(), id).await;
            written(&writer, &staying, &HashSet::new(), id).await;
        }
        let kept = writer.kept();
        assert!(kept.texts.len() <= LEAST_TO_DROP + 2, "{}", kept.texts.len());
        assert!(kept.texts.contains_key(&AskId(0)));
    }

    #[tokio::test]
    async fn a_long_text_is_not_kept() {
        let writer = ListWriter::default();
        let mut long = ask(1, "s__1", "shop", 1);
        long.project = Some("x".repeat(MAX_KEPT));
        let page = page(vec![Arc::new(long)]);
        assert_eq!(written(&writer, &page, &HashSet::new(), 1).await, plain(&page, &HashSet::new(), 1));
        assert!(writer.kept().texts.is_empty());
    }

    #[tokio::test]
    async fn a_page_is_so_long_and_has_at_least_one_ask() {
        let writer = ListWriter::default();
        let mut asks: Vec<_> = (1..=3).rev().map(|id| ask(id, &format!("s__{id}"), "shop", 1)).collect();
        // In JSON, this is six times as long as in memory.
        asks[0].project = Some("\u{1}".repeat(MAX_PAGE / 6));
        asks[1].project = Some("x".repeat(100));
        let mut left = page(asks.into_iter().map(Arc::new).collect());
        let mut lengths = Vec::new();
        while !left.asks.is_empty() {
            let text = written(&writer, &left, &HashSet::new(), 1).await;
            let list: AskList = serde_json::from_str(&text).unwrap();
            lengths.push(list.asks.len());
            left.asks.retain(|ask| list.next.is_some_and(|next| ask.id.0 < next));
        }
        assert_eq!(lengths, [1, 2]);
    }

    #[tokio::test]
    async fn others_get_their_turn_while_a_long_list_is_written() {
        let writer = ListWriter::default();
        let (page, none) = (page((0..10 * SLICE as i64).map(open).collect()), HashSet::new());
        let mut writing = std::pin::pin!(writer.write(&page, &none, Cursor(1)));
        let mut turns = 0;
        while futures_util::poll!(writing.as_mut()).is_pending() {
            turns += 1;
        }
        assert_eq!(turns, 9);
    }
}
