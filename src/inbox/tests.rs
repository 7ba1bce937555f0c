use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::access::{Access, Entrance, Rights, Tickets, Token, Tokens};
use crate::ask::samples::{new_ask, topic};
use crate::ask::{AskId, Channel, NewAsk, NewAway, OutcomeKind};
use crate::registry::Asker;
use crate::store::Filter;
use crate::store::samples::in_scratch_dir;

struct World {
    _dir: TempDir,
    registry: Registry,
    inbox: Inbox,
    tokens: Tokens,
    access: Access,
}

impl World {
    fn new() -> Self {
        let (dir, opening, snapshot) = in_scratch_dir();
        let (registry, store) = Registry::start(opening, snapshot).unwrap();
        let tokens = Tokens { api: Token::generate().unwrap(), hook: Token::generate().unwrap() };
        let access = Access::new(&tokens, Tickets::new(&tokens), store.clone());
        Self { inbox: Inbox::new(registry.clone(), store, vec![Kind::Question]), registry, access, tokens, _dir: dir }
    }

    async fn caller(&self, entrance: Entrance, credential: Option<&str>) -> Caller {
        let presented = credential.map(str::as_bytes);
        self.access.identify(entrance, presented, None).await.unwrap().unwrap()
    }

    /// Somebody of our own user.
    async fn person(&self) -> Caller {
        self.caller(Entrance::Socket { process: None }, None).await
    }

    /// Somebody who presses a button in a notification about this ask.
    async fn button(&self, ask: &Ask) -> Caller {
        let ticket = Tickets::new(&self.tokens).issue(ask);
        self.caller(Entrance::Lan([192, 0, 2, 1].into()), Some(&ticket)).await
    }

    async fn open(&self) -> Arc<Ask> {
        let question =
            serde_json::from_value(json!({"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}));
        let inquiry = Inquiry { questions: vec![question.unwrap()], project: None, asked_by: None, timeout: None };
        self.inbox.open(inquiry, &self.person().await).await.unwrap()
    }
}

fn words(answer: Value) -> Words {
    Words {
        answers: [("Which?".to_owned(), answer)].into(),
        notes: IndexMap::new(),
        partial: false,
        edited: None,
        id: None,
    }
}

fn outcome(ask: &Ask) -> OutcomeKind {
    ask.settlement.as_ref().unwrap().outcome.kind()
}

#[tokio::test]
async fn the_first_answer_wins_and_the_same_again_is_fine() {
    let world = World::new();
    let (ask, person) = (world.open().await, world.person().await);
    let answered = world.inbox.answer(&ask.key, &words(json!("A")), &person).await.unwrap();
    assert_eq!(outcome(&answered), OutcomeKind::Answered);
    assert_eq!(answered.settlement.as_ref().unwrap().by.as_ref().unwrap().channel, Channel::Socket);
    assert!(world.inbox.answer(&ask.key, &words(json!("A")), &person).await.is_ok());
    let second = world.inbox.answer(&ask.key, &words(json!("B")), &person).await;
    assert!(matches!(second, Err(Refusal::Conflict(winner)) if winner.id == ask.id));
    assert!(matches!(world.inbox.dismiss(&ask.key, None, None, &person).await, Err(Refusal::Conflict(_))));
}

#[tokio::test]
async fn an_answer_to_an_earlier_life_is_refused() {
    let world = World::new();
    let (ask, person) = (world.open().await, world.person().await);
    let earlier = Words { id: Some(AskId(ask.id.0 - 1)), ..words(json!("A")) };
    assert!(matches!(world.inbox.answer(&ask.key, &earlier, &person).await, Err(Refusal::AskedAgain)));
    let this = Words { id: Some(ask.id), ..words(json!("A")) };
    assert!(world.inbox.answer(&ask.key, &this, &person).await.is_ok());
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_no_edit() {
    let world = World::new();
    let (ask, person) = (world.open().await, world.person().await);
    let unchanged = Words { edited: Some(Map::new()), ..words(json!("A")) };
    let answered = world.inbox.answer(&ask.key, &unchanged, &person).await.unwrap();
    assert!(!answered.is_edited());
    assert!(world.inbox.answer(&ask.key, &words(json!("A")), &person).await.is_ok());
}

#[tokio::test]
async fn a_button_answers_its_own_question_with_an_option_and_says_nothing_else() {
    let world = World::new();
    let ask = world.open().await;
    let button = world.button(&ask).await;
    let note = [("Which?".to_owned(), "a note".to_owned())].into_iter().collect();
    for more in [
        words(json!("rm -rf")),
        words(json!(["A"])),
        Words { answers: [("Another?".to_owned(), json!("A"))].into_iter().collect(), ..words(json!("A")) },
        Words { notes: note, ..words(json!("A")) },
        Words { partial: true, ..words(json!("A")) },
    ] {
        let refused = world.inbox.answer(&ask.key, &more, &button).await;
        assert!(matches!(refused, Err(Refusal::OptionsOnly)), "{more:?}");
    }
    let another_life = world.button(&Ask { id: AskId(ask.id.0 + 1), ..(*ask).clone() }).await;
    let of_before = world.inbox.answer(&ask.key, &words(json!("A")), &another_life).await;
    assert!(matches!(of_before, Err(Refusal::AskedAgain)));
    assert!(world.inbox.get(&ask.key, &Rights::EVERYTHING).await.unwrap().is_open());
    assert!(world.inbox.answer(&ask.key, &words(json!("A")), &button).await.is_ok());
}

#[tokio::test]
async fn a_button_answers_only_the_kinds_that_were_named_and_grants_no_rule() {
    for (kinds, may) in [(vec![Kind::Question], false), (vec![Kind::Permission], true)] {
        let mut world = World::new();
        world.inbox.ticket_kinds = kinds.into();
        let new = NewAsk { topic: topic(Kind::Permission), ..new_ask("s__t") };
        let ask = world.registry.open(new, Asker::Here).await.unwrap();
        let button = world.button(&ask).await;
        let question = ask.questions.as_slice()[0].question.clone();
        let words = |label: &str| Words { answers: [(question.clone(), json!(label))].into(), ..words(json!("")) };
        let rule = world.inbox.answer(&ask.key, &words("Always allow Bash(npm test)"), &button).await;
        assert!(matches!(rule, Err(Refusal::OptionsOnly | Refusal::NoButtons(_))));
        assert!(world.inbox.get(&ask.key, &Rights::EVERYTHING).await.unwrap().is_open());
        let once = world.inbox.answer(&ask.key, &words("Allow once"), &button).await;
        assert_eq!(once.is_ok(), may);
        assert!(may || matches!(once, Err(Refusal::NoButtons(Kind::Permission))));
    }
}

#[tokio::test]
async fn only_a_program_takes_its_question_back() {
    let world = World::new();
    let (ask, person) = (world.open().await, world.person().await);
    let withdrawn = world.inbox.withdraw(&ask.key, &person).await.unwrap();
    assert_eq!(outcome(&withdrawn), OutcomeKind::Withdrawn);
    let agents = NewAsk { origin: Origin::ClaudeCode, ..new_ask("s__t") };
    let agents = world.registry.open(agents, Asker::Here).await.unwrap();
    assert!(matches!(world.inbox.withdraw(&agents.key, &person).await, Err(Refusal::NotYours)));
    assert!(world.inbox.release(&agents.key, None, &person).await.is_ok());
}

#[tokio::test]
async fn a_refusal_changes_nothing() {
    let world = World::new();
    let (ask, person) = (world.open().await, world.person().await);
    let nobody: AskKey = "no__body".parse().unwrap();
    assert!(matches!(world.inbox.release(&nobody, None, &person).await, Err(Refusal::Unknown)));
    let long = Some("x".repeat(MAX_TEXT + 1));
    assert!(matches!(
        world.inbox.dismiss(&ask.key, None, long, &person).await,
        Err(Refusal::TooLong { what: "reason", .. })
    ));
    let shape = world.inbox.answer(&ask.key, &words(json!(3)), &person).await;
    assert!(matches!(shape, Err(Refusal::Answer(faults)) if faults.len() == 1));
    let no_questions = Inquiry { questions: Vec::new(), project: None, asked_by: None, timeout: None };
    assert!(matches!(world.inbox.open(no_questions, &person).await, Err(Refusal::Questions(_))));
    let ask = world.inbox.get(&ask.key, &Rights::EVERYTHING).await.unwrap();
    assert!(ask.is_open());
    // A reason of nothing but spaces is none.
    let dismissed = world.inbox.dismiss(&ask.key, None, Some("  ".into()), &person).await.unwrap();
    assert_eq!(dismissed.settlement.as_ref().unwrap().outcome, Outcome::Dismissed { reason: None });
}

#[tokio::test]
async fn a_reader_waits_for_the_next_change() {
    let world = World::new();
    let first = world.inbox.list(Filter::all(crate::store::StateFilter::Open, 10), &Caller::Hook).await.unwrap();
    assert!(first.page.asks.is_empty());
    let ((), ask) = tokio::join!(world.inbox.changed(first.cursor, &Rights::EVERYTHING), world.open());
    let next = world.inbox.list(Filter::all(crate::store::StateFilter::Open, 10), &Caller::Hook).await.unwrap();
    assert_eq!((next.page.asks.len(), next.page.asks[0].id), (1, ask.id));
    assert!(next.cursor > first.cursor);
}

#[tokio::test]
async fn a_daemon_that_starts_answers_what_an_earlier_one_did_not_get_to() {
    let world = World::new();
    let person = world.person().await;
    let before = world.open().await;
    // Times are kept in milliseconds, so the next ask must not share one with the first.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let time = SignedDuration::from_secs(60);
    let new = NewAway { project: None, words: "Wait for me".into(), kinds: vec![Kind::Question], time };
    let note = world.inbox.leave(new, &person).await.unwrap();
    // The earlier daemon ended right after it had opened these.
    let meanwhile = world.open().await;
    let probe = NewAsk { origin: Origin::Probe, ..new_ask("s__probe") };
    let probe = world.registry.open(probe, Asker::Here).await.unwrap();
    let deputy = answer_while_away(&world.registry, &world.inbox.store).await.unwrap();
    world.inbox.until_settled(&meanwhile.key).await.unwrap();
    let answered = world.inbox.get(&meanwhile.key, &Rights::EVERYTHING).await.unwrap();
    let settlement = answered.settlement.as_ref().unwrap();
    assert_eq!(settlement.outcome.answer().unwrap().answers["Which?"], "Wait for me");
    assert_eq!(settlement.by.as_ref().unwrap().channel, Channel::Away);
    // Then it goes on with what is opened.
    let next = world.open().await;
    world.inbox.until_settled(&next.key).await.unwrap();
    assert!(world.inbox.get(&before.key, &Rights::EVERYTHING).await.unwrap().is_open());
    assert!(world.inbox.get(&probe.key, &Rights::EVERYTHING).await.unwrap().is_open());

    let ended = world.inbox.come_back(None, &person).await.unwrap();
    assert_eq!((ended.len(), &ended[0].words), (1, &note.words));
    let after = world.open().await;
    assert!(world.inbox.come_back(Some("relative".into()), &person).await.unwrap().is_empty());
    assert!(world.inbox.get(&after.key, &Rights::EVERYTHING).await.unwrap().is_open());
    deputy.abort();
}
