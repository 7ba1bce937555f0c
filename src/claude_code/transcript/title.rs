//! The title of a session. Claude Code writes a record when a person names the session, and another kind of record when the model does. It
//! repeats both near the end of the file. A session without a title is known by the first thing that the person wanted.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A longer title is cut, in characters.
const MAX_TITLE: usize = 80;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    session_id: Option<String>,
    /// An empty one takes the title back.
    custom_title: Option<String>,
    ai_title: Option<String>,
    summary: Option<String>,
    /// The last record of the conversation that a summary is about.
    leaf_uuid: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// The title, from parts of a transcript in their order. A person's own title counts more than an automatic one, and a newer one more than
/// an older one.
pub(super) fn of(parts: &[&str], session: &str) -> Option<String> {
    let (mut custom, mut automatic, mut prompt) = (None, None, None);
    for line in parts.iter().flat_map(|part| part.lines()) {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else { continue };
        let is_own = record.session_id.as_deref().is_none_or(|of| of == session);
        match record.kind.as_deref() {
            Some("custom-title") if is_own => custom = record.custom_title.as_deref().and_then(bounded),
            Some("ai-title") if is_own => automatic = record.ai_title.as_deref().and_then(bounded),
            // Older versions also write summaries of other sessions into the file.
            Some("summary") if record.leaf_uuid.as_deref().is_some_and(|leaf| has_record(parts, leaf)) => {
                automatic = record.summary.as_deref().and_then(bounded);
            }
            Some("user") if prompt.is_none() => prompt = first_line(&record),
            _ => {}
        }
    }
    custom.or(automatic).or(prompt)
}

fn has_record(parts: &[&str], uuid: &str) -> bool {
    let field = format!("\"uuid\":\"{uuid}\"");
    parts.iter().any(|part| part.contains(&field))
}

/// The first line of what a person typed. Records of the user are also the results of tools, and what Claude Code says in the user's name.
fn first_line(record: &Record<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        content: Value,
    }
    if record.is_sidechain || record.is_meta || record.is_compact_summary {
        return None;
    }
    match serde_json::from_str::<Message>(record.message?.get()).ok()?.content {
        Value::String(text) => typed(&text),
        Value::Array(blocks) => {
            let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
            let mut texts = of_kind("text").filter_map(|block| block["text"].as_str());
            if of_kind("tool_result").next().is_some() { None } else { texts.find_map(typed) }
        }
        _ => None,
    }
}

/// Commands, their output and reminders are written between tags.
fn typed(text: &str) -> Option<String> {
    let text = text.trim_start();
    let is_tag = text.strip_prefix('<').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_lowercase()));
    if is_tag || text.starts_with("[Request interrupted by user") { None } else { bounded(text) }
}

/// The first line of a text that is not blank, cut if it is long.
fn bounded(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    match line.char_indices().nth(MAX_TITLE) {
        None => Some(line.to_owned()),
        Some(_) => {
            let kept: String = line.chars().take(MAX_TITLE - 1).collect();
            Some(format!("{}…", kept.trim_end()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn title(records: &[Value]) -> Option<String> {
        let lines = records.iter().map(|record| format!("{record}\n")).collect::<String>();
        of(&["", &format!("cut line\"}}\n{lines}")], "s")
    }

    fn custom(title: &str) -> Value {
        json!({"type": "custom-title", "customTitle": title, "sessionId": "s"})
    }

    fn automatic(title: &str) -> Value {
        json!({"type": "ai-title", "aiTitle": title, "sessionId": "s"})
    }

    fn user(content: Value) -> Value {
        json!({"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": content}})
    }

    #[test]
    fn a_persons_own_title_counts_most_and_the_newest_counts() {
        let prompt = user(json!("Add a search"));
        assert_eq!(title(&[prompt.clone(), custom("One"), custom("Two"), automatic("Auto")]).as_deref(), Some("Two"));
        assert_eq!(title(&[custom("One"), automatic("Auto"), custom("")]).as_deref(), Some("Auto"));
        assert_eq!(title(&[automatic("Old"), prompt.clone(), automatic("New")]).as_deref(), Some("New"));
        assert_eq!(title(&[automatic(" "), prompt]).as_deref(), Some("Add a search"));
        let of_another = json!({"type": "custom-title", "customTitle": "Another", "sessionId": "t"});
        assert_eq!(title(&[of_another]), None);
        assert_eq!(of(&[&custom("Early").to_string(), &custom("Late").to_string()], "s").as_deref(), Some("Late"));
    }

    #[test]
    fn a_summary_counts_if_it_is_about_this_session() {
        let summary = |leaf: &str| json!({"type": "summary", "summary": "Search", "leafUuid": leaf});
        let prompt = user(json!("Add a search"));
        assert_eq!(title(&[summary("u1"), prompt.clone()]).as_deref(), Some("Search"));
        assert_eq!(title(&[summary("u2"), prompt]).as_deref(), Some("Add a search"));
    }

    #[test]
    fn without_a_title_it_is_the_first_line_that_the_person_typed() {
        let mut meta = user(json!("Caveat: the messages below"));
        meta["isMeta"] = json!(true);
        let mut sidechain = user(json!("You are a subagent"));
        sidechain["isSidechain"] = json!(true);
        let mut continued = user(json!("This session is being continued"));
        continued["isCompactSummary"] = json!(true);
        let others = [
            meta,
            sidechain,
            continued,
            user(json!("<command-name>/model</command-name>")),
            user(json!("<local-command-stdout>Set model</local-command-stdout>")),
            user(json!([{"type": "tool_result", "content": "ok"}, {"type": "text", "text": "of a tool"}])),
            user(json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}])),
            user(json!([{"type": "image"}])),
            user(json!(3)),
            json!({"type": "user"}),
        ];
        assert_eq!(title(&others), None);
        let opened = json!({"type": "text", "text": "<ide_opened_file>a.rs</ide_opened_file>"});
        let first = user(json!([opened, {"type": "text", "text": "\n  Fix the cart \nand more"}]));
        let records = [&others[..], &[first, user(json!("Now the checkout"))]].concat();
        assert_eq!(title(&records).as_deref(), Some("Fix the cart"));
        assert_eq!(title(&[user(json!("3 < 4 and <Cart> is empty"))]).as_deref(), Some("3 < 4 and <Cart> is empty"));
    }

    #[test]
    fn a_long_title_is_cut_with_a_sign() {
        let long = "ä".repeat(81);
        let cut = title(&[custom(&long)]).unwrap();
        assert_eq!((cut.chars().count(), cut.ends_with("ä…")), (80, true));
        let fits = "ä".repeat(80);
        assert_eq!(title(&[user(json!(fits))]), Some(fits));
    }
}
