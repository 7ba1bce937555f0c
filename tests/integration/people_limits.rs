//! One person does not take from the others what all of them need.

use serde_json::json;

use crate::fleet::Fleet;
use crate::team::{Member, SHOP, shop, team};
use crate::world::{World, call, question};

#[test]
fn one_person_does_not_take_all_places_for_open_questions() {
    let (world, _hooks) = team();
    let (anna, ben) = (Member::new(&world, "Anna", &shop()), Member::new(&world, "Ben", &shop()));
    let new = json!({"questions": [question("Which?")], "project": SHOP, "asked_by": "x"});
    let keys: Vec<_> = (0..64)
        .map(|_| anna.send(&world, "POST /v1/asks", &new).expect(201).json()["key"].as_str().unwrap().to_owned())
        .collect();
    let problem = anna.send(&world, "POST /v1/asks", &new).expect(503).json();
    assert_eq!(problem["type"], "urn:answerback:problem:too-many-open");
    assert!(problem["title"].as_str().unwrap().contains("64"), "{problem}");
    ben.send(&world, "POST /v1/asks", &new).expect(201);
    world.post("/v1/asks", &new).expect(201);
    // What has ended does not count.
    anna.send(&world, &format!("POST /v1/asks/{}/withdraw", keys[0]), &json!({})).expect(200);
    anna.send(&world, "POST /v1/asks", &new).expect(201);
    anna.send(&world, "POST /v1/asks", &new).expect(503);
}

#[test]
fn somebody_who_may_not_answer_any_more_gives_the_session_back() {
    let (world, _hooks) = team();
    let (anna, ben) = (Member::new(&world, "Anna", &shop()), Member::new(&world, "Ben", &shop()));
    let (mut hers, _) = anna.companion(&world, &json!({"type": "subscribe", "session_id": "shop-open"}));
    hers.next_of("ask_user_question");
    anna.grant(&world, &json!([{"role": "view", "project": SHOP}]));
    hers.next_of("reset");
    let (mut his, _) = ben.companion(&world, &json!({"type": "subscribe"}));
    his.next_of("ask_user_question");
    his.send(
        &json!({"type": "ask_user_response", "data": {"question_id": "shop-open__t", "answers": {"Which?": "A"}}}),
    );
    assert_eq!(his.next_of_any(&["ask_user_settled", "session_taken"])["type"], "ask_user_settled");
}

#[test]
fn words_for_a_directory_are_shown_where_the_directory_is() {
    let fleet = Fleet::new();
    let (mut first, mut second) = (fleet.linked_edge("build-1"), fleet.linked_edge("build-2"));
    let away = json!({"words": "Later", "for_seconds": 600, "project": "/srv/secret", "kinds": ["plan"]});
    fleet.hub.send(Some(&fleet.hub.token()), "PUT /v1/away", &away).expect(200);
    let on_first = json!([{"role": "view", "project": "build-1:*"}]);
    let (anna, ben) = (
        Member::near(&fleet.hub, "Anna", &on_first),
        Member::near(&fleet.hub, "Ben", &json!([{"role": "view", "project": "/srv/*"}])),
    );
    let count =
        |member: &Member| member.get(&fleet.hub, "/v1/away").expect(200).json()["away"].as_array().unwrap().len();
    let ask = |edge: &mut World, session: &str| {
        let mut call = call(session, "t", &[question("Which?")]);
        call["cwd"] = json!("/srv/secret/cart");
        let hook = edge.hook(&call);
        fleet.hub.until_open(&format!("{session}__t"));
        hook
    };
    let _hook = ask(&mut second, "s2");
    assert_eq!((count(&anna), count(&ben)), (0, 1), "only build-2 has it");
    let _hook = ask(&mut first, "s1");
    assert_eq!((count(&anna), count(&ben)), (1, 1));
}
