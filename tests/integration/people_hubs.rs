//! People at hubs that share a store: what one hub says about them counts at the others.

use serde_json::{Value, json};

use crate::edge_shared::engine::Engine;
use crate::phone::LAN;
use crate::team::{Member, SHOP, in_project, shop};
use crate::world::{Hook, World, question};

/// Two hubs, and a question that is open at the second one.
fn hubs() -> (World, World, Hook, String) {
    let store = Engine::shared().database();
    let [mut first, mut second] =
        ["one", "two"].map(|name| World::with_config(&format!("store = \"{store}\"\nhost_name = \"{name}\"\n{LAN}")));
    drop(first.daemon());
    drop(second.daemon());
    let (hook, key) = in_project(&mut second, "shop", SHOP, &[question("Which?")]);
    (first, second, hook, key)
}

fn response(key: &str) -> Value {
    json!({"type": "ask_user_response", "data": {"question_id": key, "answers": {"Which?": "A"}}})
}

#[test]
fn a_person_who_was_removed_at_one_hub_does_nothing_over_a_connection_to_another() {
    let (first, second, _hook, key) = hubs();
    let anna = Member::near(&first, "Anna", &shop());
    let (mut companion, _) = anna.companion(&second, &json!({"type": "subscribe"}));
    companion.next_of("ask_user_question");
    anna.revoke(&first);
    companion.send(&response(&key));
    companion.expect_closed(4401);
    second.assert_open(&key);
}

#[test]
fn other_grants_from_one_hub_count_for_what_is_done_over_a_connection_to_another() {
    let (first, second, _hook, key) = hubs();
    let anna = Member::near(&first, "Anna", &json!([{"role": "answer"}]));
    let (mut companion, _) = anna.companion(&second, &json!({"type": "subscribe"}));
    companion.next_of("ask_user_question");
    anna.grant(&first, &json!([{"role": "view", "project": SHOP}]));
    companion.send(&response(&key));
    let refused = std::iter::repeat_with(|| companion.next()).find(|frame| {
        assert_ne!(frame["type"], "ask_user_settled", "{frame}");
        frame["type"] == "error"
    });
    assert_eq!(refused.unwrap()["error"], "role");
    second.assert_open(&key);
    // A new subscription shows what they may see now.
    anna.grant(&first, &json!([{"role": "view", "project": "/srv/other"}]));
    let (mut late, _) = anna.companion(&second, &json!({"type": "subscribe", "session_id": "other"}));
    late.until_status("other", "ended");
    anna.grant(&first, &json!([{"role": "view", "project": "/srv/third"}]));
    companion.send(&json!({"type": "subscribe", "session_id": "shop"}));
    companion.until_status("shop", "ended");
}
