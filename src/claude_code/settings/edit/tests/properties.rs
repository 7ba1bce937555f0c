//! What holds for any settings, however they are laid out.

use proptest::prelude::*;

use super::*;

/// A document, and choices of layout for each of its containers.
fn document() -> impl Strategy<Value = (Value, Vec<u8>)> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from)
    ];
    let any_value = scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-c\"é]{0,2}", inner), 0..3).prop_map(Value::from_iter),
        ]
    });
    let command = prop_oneof![
        4 => "[a-z]{1,4}( -x)?",
        1 => Just("answerback-hook".to_owned()),
        1 => Just("exec '/a b/answerback-hook'".to_owned()),
        1 => Just("/a b/answerback-hook".to_owned()),
        1 => Just(HOOK.to_owned()),
    ];
    let handler = (command, any::<bool>(), prop::option::of(any_value.clone())).prop_map(|(command, args, extra)| {
        let mut handler = json!({"type": "command", "command": command});
        if args {
            handler["args"] = json!([]);
        }
        if let Some(extra) = extra {
            handler["extra"] = extra;
        }
        handler
    });
    let matcher = prop::option::of(prop_oneof![
        Just("AskUserQuestion".to_owned()),
        Just(wanted()[0].matcher.clone().unwrap()),
        Just("*".to_owned())
    ]);
    let group = (matcher, prop::collection::vec(handler, 1..4)).prop_map(|(matcher, handlers)| match matcher {
        Some(matcher) => json!({"matcher": matcher, "hooks": handlers}),
        None => json!({"hooks": handlers}),
    });
    let event = prop_oneof![Just("PreToolUse"), Just("Stop"), Just("PermissionRequest"), Just("Other")];
    let hooks = prop::collection::vec((event, prop::collection::vec(group, 0..4)), 0..4)
        .prop_map(|events| Value::from_iter(events.into_iter().map(|(event, groups)| (event, Value::from(groups)))));
    let root =
        (prop::collection::vec(("[a-c$]{1,3}|\\$schema", any_value), 0..4), prop::option::of((0..4usize, hooks)));
    let root = root.prop_map(|(mut members, hooks)| {
        if let Some((at, hooks)) = hooks {
            members.insert(at.min(members.len()), ("hooks".to_owned(), hooks));
        }
        Value::from_iter(members)
    });
    (root, prop::collection::vec(any::<u8>(), 1..30))
}

/// Writes a document down in an odd way that the choices decide.
fn write(value: &Value, newline: &str, unit: &str, depth: usize, choices: &mut impl Iterator<Item = u8>) -> String {
    let (open, close, items): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(members) => ('{', '}', members.iter().map(|(key, value)| (Some(key), value)).collect()),
        Value::Array(elements) => ('[', ']', elements.iter().map(|value| (None, value)).collect()),
        scalar => return scalar.to_string(),
    };
    let choice = choices.next().unwrap_or(0);
    let line = |depth: usize| format!("{newline}{}", unit.repeat(depth));
    let (before, between, after) = match choice % 8 {
        0..=4 => (line(depth + 1), line(depth + 1), line(depth)),
        5 => (" ".into(), " ".into(), " ".into()),
        6 => (String::new(), String::new(), String::new()),
        _ => (" ".into(), format!("{newline}{}", line(depth + 2)), String::new()),
    };
    let colon = ["\": ", "\":", "\" : "][usize::from(choice / 8 % 3)];
    let items: Vec<_> = items
        .into_iter()
        .map(|(key, value)| {
            let key = key.map_or(String::new(), |key| {
                let key = Value::from(key.as_str()).to_string();
                format!("{}{colon}", key.strip_suffix('"').unwrap())
            });
            key + &write(value, newline, unit, depth + 1, choices)
        })
        .collect();
    if items.is_empty() {
        return format!("{open}{}{close}", if choice.is_multiple_of(2) { "" } else { &after });
    }
    format!("{open}{before}{}{after}{close}", items.join(&format!(",{between}")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_settings_keep_what_is_not_ours(
        (value, choices) in document(),
        newline in prop_oneof![Just("\n"), Just("\r\n")],
        unit in prop_oneof![Just("  "), Just("\t"), Just("   "), Just("")],
        end in prop_oneof![Just(""), Just("\n"), Just("\r\n \n")],
        several in any::<bool>(),
        hook in prop_oneof![
            Just(Invocation::Exec(HOOK.into())),
            Just(Invocation::Exec("/a b/answerback-hook".into())),
            Just(Invocation::Shell("'/a b/answerback-hook'".into())),
        ],
        mode in prop_oneof![Just(Mode::Auto), Just(Mode::Native)],
    ) {
        let text = write(&value, newline, unit, 0, &mut choices.into_iter().cycle()) + end;
        let entries = if several { many(&hook) } else { entries(&hook, mode) };
        let new = install(&text, &entries).unwrap();
        assert_installed(&text, &new, &entries);

        let clean = uninstall(&text).unwrap();
        prop_assert_eq!(others(&clean), others(&text));
        prop_assert!(!is_installed(&clean).unwrap());
        // From here on there was nothing of ours.
        let new = install(&clean, &entries).unwrap();
        assert_installed(&clean, &new, &entries);
        if !has_empty_containers(&clean, &entries) {
            prop_assert_eq!(uninstall(&new).unwrap(), clean.clone());
            let one = install(&clean, &wanted()).unwrap();
            let before = clean.bytes().zip(one.bytes()).take_while(|(old, new)| old == new).count();
            let after = clean.bytes().rev().zip(one.bytes().rev()).take_while(|(old, new)| old == new).count();
            prop_assert!(before + after >= clean.len(), "more than one insertion:\n{}\n{}", clean, one);
        }
    }

    /// Whatever is in the file, the answer is a new text or a refusal.
    #[test]
    fn nothing_makes_it_panic(text in r#"([ \n{}\[\]:,"]|"hooks":|"PreToolUse":|"command":|"answerback-hook"|\{|\}){0,16}"#) {
        if let Ok(new) = install(&text, &many(&Invocation::Exec(HOOK.into()))) {
            prop_assert!(is_installed(&new).unwrap());
        }
        drop(uninstall(&text));
    }
}
