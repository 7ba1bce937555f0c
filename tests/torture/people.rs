//! People who answer what is open: two for each ask, who disagree.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::http::{Reply, Request};
use crate::model::Model;
use crate::world::World;

const PEOPLE: usize = 4;
/// People look at the list this often.
const LOOKS: Duration = Duration::from_millis(100);
/// Of what is open, a person answers this part at each look. So a call waits for a few seconds.
const ANSWERED_PERCENT: usize = 3;

pub(crate) fn start(world: &Arc<World>, model: &Arc<Model>, chance: &Chance) -> Vec<JoinHandle<()>> {
    (0..PEOPLE)
        .map(|_| {
            let (world, model, chance) = (Arc::clone(world), Arc::clone(model), chance.another());
            thread::spawn(move || {
                while model.is_needed() {
                    look(&world, &model, &chance);
                    thread::sleep(LOOKS);
                }
            })
        })
        .collect()
}

/// A request that may meet a daemon which is not there.
pub(crate) fn request(world: &World, line: &str, body: &Value) -> Option<Reply> {
    let record = world.daemon_json()?;
    let address = record["url"].as_str()?.strip_prefix("http://")?.to_owned();
    let headers = [
        ("host", address.clone()),
        ("content-type", "application/json".to_owned()),
        ("authorization", format!("Bearer {}", record["token"].as_str()?)),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value)).to_vec();
    Request { line, headers, body: body.to_string().as_bytes() }.over_tcp(&address).ok()
}

pub(crate) fn open_asks(world: &World) -> Option<Vec<Value>> {
    let reply = request(world, "GET /v1/asks", &Value::Null).filter(|reply| reply.status == 200)?;
    let list: Value = serde_json::from_slice(&reply.body).ok()?;
    list["asks"].as_array().cloned()
}

fn look(world: &Arc<World>, model: &Arc<Model>, chance: &Chance) {
    for ask in open_asks(world).unwrap_or_default() {
        if !chance.percent(if model.goes_on() { ANSWERED_PERCENT } else { 50 }) {
            continue;
        }
        let call = model.call_of(ask["key"].as_str().unwrap());
        // A rival answers at the same time.
        thread::scope(|scope| {
            for answer in answers(&ask, &call) {
                let (ask, call) = (&ask, &call);
                scope.spawn(move || answer_it(world, model, ask, call, &answer));
            }
        });
    }
}

/// What two people say to a call. An answer to the call before it would be none of these, or an approval where both refuse.
fn answers(ask: &Value, call: &str) -> [String; 2] {
    let number: usize = call.rsplit("__t").next().and_then(|number| number.parse().ok()).unwrap_or_default();
    if ask["kind"] == "permission" {
        return [0, 1].map(|_| if number.is_multiple_of(2) { "Allow once" } else { "Deny" }.to_owned());
    }
    [0, 1].map(|rival| ask["questions"][0]["options"][(number + rival) % 3]["label"].as_str().unwrap().to_owned())
}

fn answer_it(world: &World, model: &Model, ask: &Value, call: &str, answer: &str) {
    let (key, question) = (ask["key"].as_str().unwrap(), ask["questions"][0]["question"].as_str().unwrap());
    model.says(call, answer);
    let body = json!({"answers": {question: answer}, "id": ask["id"]});
    let reply = request(world, &format!("POST /v1/asks/{key}/answer"), &body);
    match reply.map(|reply| reply.status) {
        Some(200) => {
            model.count("answers acknowledged");
            // Nobody knows for certain which call an ask without a name belongs to.
            if call == key {
                model.acknowledged(call, ask["id"].as_i64().unwrap(), answer);
            }
        }
        Some(409 | 410) => model.count("answers that came too late"),
        Some(_) => model.count("answers refused"),
        None => model.count("answers without a reply"),
    }
}
