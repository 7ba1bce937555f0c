//! The key of a call is no secret. Whoever asks under it first gets nothing that was meant for another machine.

use serde_json::json;

use crate::fleet::Fleet;
use crate::kinds::{ATTENDED, answer};
use crate::world::{call, question, until};

#[test]
fn a_question_of_the_hub_does_not_take_the_answer_to_one_of_an_edge() {
    let mut fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let mut asked = call("s", "t", &[question("Which?")]);
    asked["cwd"] = json!("/srv/shop");
    let on_edge = edge.hook(&asked);
    fleet.hub.until_open("s__t");
    // The same call on the hub is left to its terminal, in the same project and in another one.
    for project in ["/srv/shop", "/prod"] {
        asked["cwd"] = json!(project);
        fleet.hub.hook(&asked).no_decision();
    }
    fleet.hub.answer("s__t", &json!({"Which?": "B"})).expect(200);
    assert_eq!(on_edge.reply()["updatedInput"]["answers"]["Which?"], "B");
    // Nor does it take the answer afterwards.
    fleet.hub.hook(&asked).no_decision();
}

#[test]
fn a_permission_of_the_hub_is_not_given_by_an_answer_to_one_of_an_edge() {
    let mut fleet = Fleet::new();
    let mut edge = fleet.linked_edge("build-1");
    let command = json!({"command": "rm -rf data"});
    let on_edge = ATTENDED.ask(&mut edge, "Bash", &command, "t");
    fleet.hub.until_open("s__t");
    // On the hub, it gets a name of its own.
    ATTENDED.name(&mut fleet.hub, "Bash", &command, "t");
    let on_hub = ATTENDED.call(&mut fleet.hub, "PermissionRequest", "Bash", &command, &json!({}));
    let own = until("the ask of the hub", || {
        let asks = fleet.hub.get("/v1/asks").expect(200).json()["asks"].take();
        let own = asks.as_array().unwrap().iter().find(|ask| ask["host"] == "hub")?;
        Some(own["key"].as_str().unwrap().to_owned())
    });
    answer(&fleet.hub, "s__t", "Allow once", &json!({})).expect(200);
    assert_eq!(on_edge.reply()["decision"]["behavior"], "allow");
    fleet.hub.assert_open(&own);
    answer(&fleet.hub, &own, "Deny", &json!({})).expect(200);
    assert_eq!(on_hub.reply()["decision"]["behavior"], "deny");
}
