//! The words of `answerback answer` name a key or an option, or are words of one's own.

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::world::{World, question};

/// Opens a question of a program and returns its key.
fn open(world: &World, questions: &Value) -> String {
    let ask = world.post("/v1/asks", &json!({"questions": questions})).expect(201).json();
    ask["key"].as_str().unwrap().to_owned()
}

fn choice(text: &str, labels: &[&str]) -> Value {
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label})).collect();
    json!({"question": text, "options": options})
}

fn many(text: &str, labels: &[&str]) -> Value {
    let mut question = choice(text, labels);
    question["multiSelect"] = json!(true);
    question
}

fn deploy() -> Value {
    json!([choice("Deploy?", &["Yes", "No", "Later on"])])
}

fn is_open(world: &World, key: &str) -> bool {
    world.get(&format!("/v1/asks/{key}")).expect(200).json()["state"] == "open"
}

fn answers(world: &World, key: &str) -> Value {
    world.settled(key)["outcome"]["answers"].clone()
}

/// Runs `answer` with words that must be refused, and returns the error message.
#[track_caller]
fn refused(world: &World, words: &[&str]) -> String {
    exits(&run(world, &[&["answer"], words].concat()), 1).1
}

#[track_caller]
fn accepted(world: &World, words: &[&str]) {
    exits(&run(world, &[&["answer"], words].concat()), 0);
}

#[test]
fn a_wrong_key_is_never_an_answer() {
    let mut world = World::new();
    drop(world.daemon());
    let key = open(
        &world,
        &json!([choice("Which database?", &["SQLite", "Postgres"]), choice("Which store?", &["SQLite", "Files"])]),
    );
    let said = refused(&world, &["zzzzzz", "SQLite"]);
    assert!(said.contains("`zzzzzz`") && said.contains("key"), "{said}");
    assert!(said.contains("answerback pending"), "{said}");
    assert!(is_open(&world, &key));
    let said = refused(&world, &["zzzzzz", "SQLite", "Files"]);
    assert!(said.contains("no open question has `zzzzzz` in its key"), "{said}");
    assert!(is_open(&world, &key));
    accepted(&world, &[&key[key.len() - 6..], "SQLite", "Files"]);
    assert_eq!(answers(&world, &key), json!({"Which database?": "SQLite", "Which store?": "Files"}));

    // A question with free text does not take a wrong key for an answer either.
    let key = open(&world, &json!([{"question": "What is it called?"}]));
    for wrong in ["3fa2c9", "toolu_01Zz9", "some-session__toolu_01"] {
        let said = refused(&world, &[wrong]);
        assert!(said.contains(&format!("no open question has `{wrong}` in its key")), "{said}");
        assert!(said.contains("--text"), "{said}");
        assert!(is_open(&world, &key), "{wrong}");
    }
    accepted(&world, &["--text", "3fa2c9"]);
    assert_eq!(answers(&world, &key), json!({"What is it called?": "3fa2c9"}));
}

#[test]
fn the_key_of_a_settled_question_says_how_it_ended() {
    let mut world = World::new();
    let (_hook, gone) = world.ask("s", "toolu_gone11", &[question("Which one?")]);
    let (_hook, other) = world.ask("s", "toolu_other2", &[question("What else?")]);
    world.answer(&gone, &json!({"Which one?": "A"})).expect(200);
    for stale in ["gone11", "toolu_gone11", "s__toolu_gone11"] {
        for command in
            [vec!["answer", stale], vec!["answer", stale, "B"], vec!["dismiss", stale], vec!["release", stale]]
        {
            let (_, said) = exits(&run(&world, &command), 1);
            assert!(said.contains("`Which one?` was answered by another program"), "{command:?}: {said}");
            assert!(said.contains("answerback history"), "{command:?}: {said}");
            assert!(is_open(&world, &other), "{command:?}");
        }
    }
    exits(&run(&world, &["dismiss", "other2"]), 0);
    // It does the same if no question is open.
    let (_, said) = exits(&run(&world, &["release", "other2"]), 1);
    assert!(said.contains("`What else?` was dismissed by another command"), "{said}");
    // It does the same if several questions are open.
    let (_hook, _) = world.ask("s", "toolu_a", &[question("A?")]);
    let (_hook, _) = world.ask("s", "toolu_b", &[question("B?")]);
    let said = refused(&world, &["gone11", "B"]);
    assert!(said.contains("`Which one?` was answered"), "{said}");
}

#[test]
fn an_answer_is_not_taken_for_a_key_when_several_questions_are_open() {
    let mut world = World::new();
    let options = choice("How many?", &["One", "Two", "Three"]);
    let (_hook, first) = world.ask("s", "toolu_x2x", std::slice::from_ref(&options));
    let (_hook, second) = world.ask("s", "toolu_yyy", std::slice::from_ref(&options));
    let said = refused(&world, &["2", "1"]);
    assert!(said.contains("2 questions are open"), "{said}");
    assert!(is_open(&world, &first) && is_open(&world, &second));
    accepted(&world, &["x2x", "1"]);
    assert_eq!(answers(&world, &first), json!({"How many?": "One"}));
    // If any text is an answer, a number is one too.
    let (_hook, third) = world.ask("s", "toolu_x5x", &[json!({"question": "How long?", "options": []})]);
    let said = refused(&world, &["5", "minutes"]);
    assert!(said.contains("2 questions are open"), "{said}");
    assert!(is_open(&world, &second) && is_open(&world, &third));
    accepted(&world, &["u_x5x", "5 minutes"]);
    assert_eq!(answers(&world, &third), json!({"How long?": "5 minutes"}));
}

#[test]
fn a_word_that_is_no_option_is_an_error() {
    let mut world = World::new();
    drop(world.daemon());
    let key = open(&world, &deploy());
    let said = refused(&world, &["Yess"]);
    assert!(said.contains("`Yess` is no option of `Deploy?`"), "{said}");
    assert!(said.contains("Did you mean `Yes`?") && said.contains("--text"), "{said}");
    for words in [
        vec!["4"],
        vec!["0"],
        vec!["maybe"],
        vec![""],
        vec!["Yes,"],
        vec!["Yes,", "No"],
        vec!["Yes", "No"],
        vec!["Later", "on"],
        vec!["-a", "1=Yess"],
        vec!["-a", "Deploy?=4"],
        vec!["-a", "1=Yes", "-a", "1=No"],
        vec!["Yes", "--text", "right now"],
    ] {
        let said = refused(&world, &words);
        assert!(said.contains("hint: "), "{words:?}: {said}");
        assert!(is_open(&world, &key), "{words:?}");
    }
    assert!(refused(&world, &["Yes", "No"]).contains("Give one of its options: 1 `Yes`"));
    assert!(refused(&world, &["Later", "on"]).contains("'Later on'"));
    accepted(&world, &["2"]);
    assert_eq!(answers(&world, &key), json!({"Deploy?": "No"}));
}

#[test]
fn an_option_is_its_label_its_number_or_the_beginning_of_its_label() {
    let mut world = World::new();
    drop(world.daemon());
    for (words, meant) in [
        (vec!["Yes"], "Yes"),
        (vec!["nO"], "No"),
        (vec!["later"], "Later on"),
        (vec!["LATER ON"], "Later on"),
        (vec!["3"], "Later on"),
        (vec!["-a", "1=y"], "Yes"),
        (vec!["-a", "Deploy?=3"], "Later on"),
        (vec!["--text", "not before noon, please"], "not before noon, please"),
        (vec!["-t", "a=b"], "a=b"),
    ] {
        let key = open(&world, &deploy());
        accepted(&world, &words);
        assert_eq!(answers(&world, &key), json!({"Deploy?": meant}), "{words:?}");
    }
}

#[test]
fn a_word_that_could_mean_two_options_is_an_error() {
    let mut world = World::new();
    drop(world.daemon());
    let key = open(&world, &json!([choice("What first?", &["Tests", "Templates", "Docs"])]));
    let said = refused(&world, &["te"]);
    assert!(said.contains("`Tests`") && said.contains("`Templates`") && !said.contains("`Docs`"), "{said}");
    accepted(&world, &["tes"]);
    assert_eq!(answers(&world, &key), json!({"What first?": "Tests"}));

    // A number that is a label means that label.
    let key = open(&world, &json!([choice("How many?", &["3", "2", "1"])]));
    accepted(&world, &["3"]);
    assert_eq!(answers(&world, &key), json!({"How many?": "3"}));
    // A number that is the beginning of another label could mean either option.
    let key = open(&world, &json!([choice("How many?", &["0 retries", "1 retry", "2 retries"])]));
    let said = refused(&world, &["2"]);
    assert!(said.contains("`1 retry`") && said.contains("`2 retries`"), "{said}");
    accepted(&world, &["3"]);
    assert_eq!(answers(&world, &key), json!({"How many?": "2 retries"}));
}

#[test]
fn a_list_of_labels_may_have_commas() {
    let mut world = World::new();
    drop(world.daemon());
    let labels = ["Tests", "Docs", "Lint, and format"];
    for (words, meant) in [
        (vec!["Tests,", "Docs"], "Tests, Docs"),
        (vec!["tests,docs"], "Tests, Docs"),
        (vec!["1,", "2,", "Lint, and format"], "Tests, Docs, Lint, and format"),
        (vec!["Tests", "1", "docs"], "Tests, Docs"),
        (vec!["Docs", "--text", "and the wiki"], "Docs, and the wiki"),
        (vec!["-a", "1=Tests, Docs"], "Tests, Docs"),
    ] {
        let key = open(&world, &json!([many("Which parts?", &labels)]));
        accepted(&world, &words);
        assert_eq!(answers(&world, &key), json!({"Which parts?": meant}), "{words:?}");
    }
    let key = open(&world, &json!([many("Which parts?", &labels)]));
    let said = refused(&world, &["Tests,", "Dosc"]);
    assert!(said.contains("`Dosc` is no option") && said.contains("Did you mean `Docs`?"), "{said}");
    refused(&world, &[","]);
    assert!(is_open(&world, &key));
}

#[test]
fn several_questions_take_options_and_words_of_ones_own() {
    let mut world = World::new();
    drop(world.daemon());
    let questions =
        json!([choice("Deploy?", &["Yes", "No"]), {"question": "When?"}, many("Where?", &["Here", "There"])]);
    let key = open(&world, &questions);
    let said = refused(&world, &["--text", "right now"]);
    assert!(said.contains("names no question") && said.contains("QUESTION=WORDS"), "{said}");
    assert!(is_open(&world, &key));
    accepted(&world, &["-a", "1=y", "-t", "When?=at noon", "-a", "3=here", "-t", "3=in the cloud"]);
    let expected = json!({"Deploy?": "Yes", "When?": "at noon", "Where?": "Here, in the cloud"});
    assert_eq!(answers(&world, &key), expected);
    let key = open(&world, &questions);
    accepted(&world, &["no", "whenever you like", "Here,"]);
    let expected = json!({"Deploy?": "No", "When?": "whenever you like", "Where?": "Here"});
    assert_eq!(answers(&world, &key), expected);
}

#[test]
fn an_answer_is_not_taken_for_a_key() {
    let mut world = World::new();
    let (first, _) = world.ask("s", "toolu_aaaabbbbcccc", &[question("Which?")]);
    let (_, stderr) = exits(&run(&world, &["answer", "cccc", "A"]), 1);
    assert!(stderr.contains("`cccc` may be the end of the key, but it is too short"), "{stderr}");
    assert!(stderr.contains("hint: Give at least six characters of it: bbcccc"), "{stderr}");
    let (second, _) = world.ask("s", "toolu_ddddeeeeffff", &[question("How?")]);
    let (_, stderr) = exits(&run(&world, &["answer", "B"]), 1);
    assert!(stderr.contains("2 questions are open, and `B` may be an answer to one: say which"), "{stderr}");
    exits(&run(&world, &["answer", "cccc", "A"]), 0);
    assert_eq!(first.reply()["updatedInput"]["answers"]["Which?"], "A");
    exits(&run(&world, &["answer", "B"]), 0);
    assert_eq!(second.reply()["updatedInput"]["answers"]["How?"], "B");
}
