//! What every backend guarantees, one statement for each guarantee. A statement is a function: its documentation is the guarantee, its
//! body tries it on any store.
//!
//! `cargo test --lib conformance` lists the statements with the backends that keep them. A new backend becomes another case of
//! [`Opening`] and [`Store`], and adds one line at the end of this file: its name, and a function that makes an empty place.

mod away;
mod boards;
mod commands;
mod devices;
mod milestones;
mod order;
mod people;
mod queries;

use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use crate::ask::samples::new_ask;
use crate::ask::{Answer, Ask, AskId, Change, Host, NewAsk, Outcome, Settlement};

use super::samples::into;
use super::{Opened, Opening, Settling, Snapshot, Store, StoreError};

/// A place that holds one store. It opens the store for the daemon of a host: as often as wanted, also while the store is open.
pub(super) type Place = Box<dyn Fn(Host) -> (Opening, Snapshot)>;

/// A store in a place of its own, and everything that it published.
pub(super) struct World {
    place: Place,
    store: Store,
    published: Arc<Mutex<Vec<Arc<Change>>>>,
}

impl World {
    /// Opens the store of an empty place.
    pub(super) fn new(place: Place) -> Self {
        let published = Arc::new(Mutex::new(Vec::new()));
        let (store, snapshot) = start(&place, "here", &published);
        assert!(snapshot.open.is_empty());
        Self { place, store, published }
    }

    /// Closes the store and opens it again, as a daemon does that was started again.
    async fn reopen(&mut self) -> Snapshot {
        self.reopen_as("here").await
    }

    /// The same for the daemon of another host.
    async fn reopen_as(&mut self, host: &str) -> Snapshot {
        self.store.close().await;
        let snapshot;
        (self.store, snapshot) = start(&self.place, host, &self.published);
        snapshot
    }

    fn published(&self) -> Vec<Arc<Change>> {
        self.published.lock().unwrap().clone()
    }

    async fn try_open(&self, new: NewAsk) -> Result<Opened, StoreError> {
        self.store.open_ask(Arc::new(new), Timestamp::now(), 64).await
    }

    /// Opens a new life of a key.
    async fn open(&self, key: &str) -> Arc<Ask> {
        self.open_new(new_ask(key)).await
    }

    async fn open_new(&self, new: NewAsk) -> Arc<Ask> {
        match self.try_open(new).await.unwrap() {
            Opened::New(ask) => ask,
            other => panic!("not new: {other:?}"),
        }
    }

    async fn settle(&self, id: AskId, outcome: Outcome) -> Settling {
        self.store.settle(id, settlement(outcome)).await.unwrap()
    }
}

fn start(place: &Place, host: &str, published: &Arc<Mutex<Vec<Arc<Change>>>>) -> (Store, Snapshot) {
    let (opening, snapshot) = place(Host::new(host));
    (opening.start(into(published)).unwrap(), snapshot)
}

fn settlement(outcome: Outcome) -> Settlement {
    Settlement { outcome, by: None, at: whole_milliseconds(Timestamp::now()) }
}

/// A store keeps times in milliseconds.
fn whole_milliseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap()
}

/// An answer to the question of [`new_ask`].
fn answered(text: &str) -> Outcome {
    let answers = [("Which database, 0?".to_owned(), text.to_owned())].into_iter().collect();
    Outcome::Answered(Answer { answers, notes: Default::default(), edited: None })
}

fn outcome(ask: &Ask) -> Option<&Outcome> {
    ask.settlement.as_ref().map(|settlement| &settlement.outcome)
}

fn keys<'a>(asks: impl IntoIterator<Item = &'a Arc<Ask>>) -> Vec<&'a str> {
    asks.into_iter().map(|ask| ask.key.as_str()).collect()
}

/// Makes one test for each statement and backend.
macro_rules! conformance {
    ($($backend:ident: $place:path;)+) => {$(
        mod $backend {
            conformance! { @each $place;
                commands::an_ask_is_settled_once,
                commands::the_first_settlement_that_is_saved_wins,
                commands::a_repeated_open_finds_the_life_that_stands,
                commands::after_other_outcomes_a_key_gets_a_new_life,
                commands::an_ask_keeps_everything_it_was_opened_with,
                commands::an_answer_survives_reopening,
                commands::a_reply_means_that_the_change_is_saved,
                commands::an_ask_belongs_to_the_host_that_opened_it,
                commands::an_ask_of_another_host_stays_its_own,
                commands::a_session_has_so_many_open_asks_and_known_ones_are_found_all_the_same,
                commands::a_deferred_ask_has_no_deadline_until_it_is_resumed,
                commands::a_settled_ask_is_neither_deferred_nor_resumed,
                commands::a_receipt_is_noted_once,
                commands::a_command_that_fails_leaves_the_others_alone,
                order::cursors_only_grow_and_are_never_used_again,
                order::changes_are_published_before_their_caller_is_told_and_in_order,
                order::commands_that_change_nothing_publish_nothing,
                order::pages_of_changes_miss_nothing_and_repeat_nothing,
                order::a_page_of_changes_is_bounded_in_bytes_and_the_pages_make_up_all,
                order::a_page_at_the_end_is_empty_and_stays_where_it_is,
                order::changes_after_a_purge_go_on_from_any_cursor,
                order::a_snapshot_has_every_change_up_to_its_cursor_and_no_later_one,
                order::a_store_that_is_opened_again_goes_on_from_its_snapshot,
                queries::the_newest_life_of_a_key_is_found,
                queries::the_newest_ask_with_a_digest_is_found_in_its_session_alone,
                queries::a_list_is_newest_first_and_its_pages_make_up_all,
                queries::a_page_of_a_list_is_bounded_in_bytes_and_the_pages_make_up_all,
                queries::a_list_shows_what_fits_every_field_of_its_filter,
                queries::a_list_since_a_time_is_right_although_the_clock_was_set_back,
                queries::a_search_finds_text_in_questions_answers_notes_and_reasons,
                queries::projects_are_listed_once_and_without_probes,
                queries::a_very_long_project_is_kept_and_found,
                queries::a_list_of_a_host_shows_its_asks_alone,
                queries::a_project_is_the_same_one_only_on_the_same_host,
                queries::old_asks_are_forgotten_open_ones_never_and_cursors_go_on,
                queries::too_much_is_forgotten_the_oldest_first_and_open_asks_never,
                queries::what_is_searched_makes_a_store_forget_no_more,
                queries::the_oldest_settlement_is_known,
                devices::devices_that_are_not_used_are_forgotten,
                devices::devices_survive_reopening_and_an_id_is_never_given_twice,
                devices::a_host_has_a_name_of_its_own_and_is_never_forgotten,
                people::people_survive_reopening_and_a_name_is_taken_once,
                people::grants_are_replaced_and_their_revision_grows,
                people::a_device_belongs_to_its_person,
                people::a_person_is_forgotten_with_their_devices,
                away::away_lasts_until_its_end_and_survives_reopening,
                away::a_project_has_one_away_note,
                away::away_can_be_ended,
                boards::a_board_is_written_by_one_at_a_time,
                milestones::a_milestone_outlasts_the_asks,
                milestones::an_ask_of_an_agent_is_a_call_of_its_hook,
                milestones::an_answer_of_a_person_is_an_answer,
            }
        }
    )+};
    (@each $place:path; $($area:ident::$statement:ident,)+) => {$(
        #[tokio::test]
        async fn $statement() {
            use crate::store::conformance::{World, $area};
            $area::$statement(World::new($place())).await;
        }
    )+};
}

conformance! {
    sqlite: crate::store::sqlite::tests::place;
    postgres: crate::store::postgres::tests::place;
}
