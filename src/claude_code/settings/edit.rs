//! Settings text in, settings text out. Pure: no files here.
//!
//! Whatever is not ours keeps every byte. An edit is a series of small splices, each decided on the text the one before
//! it left, until nothing is left to decide; so an edit of a finished text changes nothing.

use serde_json::Value;

use super::entry::{Entry, is_own};
use super::json::{self, Member, Node, Problem, Refusal};
use super::layout::{Layout, Splice};

/// Every handler is an edit of its own, so many more would take too long. Nobody needs a tenth of this.
const MAX_OWN: usize = 100;

/// What `hooks/hooks.json` shows while a question waits.
const STATUS: &str = "Waiting for your answer: answerback open";

/// The text with exactly these entries of ours in it: missing ones are added, others corrected where they are or removed.
pub fn install(text: &str, entries: &[Entry]) -> Result<String, Refusal> {
    let mut text = if is_blank(text) { "{}\n".to_owned() } else { text.to_owned() };
    loop {
        let document = Document::parse(&text)?;
        document.check(entries)?;
        match document.towards(entries) {
            Some(splice) => text = splice.apply(&text),
            None => return Ok(text),
        }
    }
}

/// The text without any entry of ours, and without what only held such entries.
pub fn uninstall(text: &str) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    while !is_blank(&text) {
        let document = Document::parse(&text)?;
        document.check_count()?;
        match document.own().first() {
            Some(own) => text = document.remove(own).apply(&text),
            None => break,
        }
    }
    Ok(text)
}

/// Whether there is an entry of ours in the text.
pub fn is_installed(text: &str) -> Result<bool, Refusal> {
    Ok(!is_blank(text) && !Document::parse(text)?.own().is_empty())
}

/// A handler of ours as it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// On which event.
    pub event: String,
    /// In a group with this matcher.
    pub matcher: Option<String>,
    /// What it says.
    pub handler: Value,
}

/// What there is of ours in a text, beside what [`install`] would make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// For each entry, the handler that [`install`] would correct; none where it would add one.
    pub handlers: Vec<Option<Placed>>,
    /// The handlers that [`install`] would take out.
    pub surplus: Vec<Placed>,
}

/// Compares what there is of ours with these entries.
pub fn compare(text: &str, entries: &[Entry]) -> Result<Comparison, Refusal> {
    if is_blank(text) {
        return Ok(Comparison { handlers: vec![None; entries.len()], surplus: Vec::new() });
    }
    let document = Document::parse(text)?;
    document.check_count()?;
    let own = document.own();
    let pairs = pair(entries, &own);
    let placed = |own: &Own<'_>| Placed {
        event: own.name.to_owned(),
        matcher: own.matcher.clone(),
        handler: own.node.value(text),
    };
    let surplus = (0..own.len()).filter(|at| !pairs.contains(&Some(*at))).map(|at| placed(&own[at])).collect();
    Ok(Comparison { handlers: pairs.iter().map(|at| at.map(|at| placed(&own[at]))).collect(), surplus })
}

/// Claude Code takes an empty file for an empty object.
fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\t', '\n', '\r']).is_empty()
}

struct Document<'a> {
    text: &'a str,
    root: Node,
    layout: Layout<'a>,
}

/// A handler of ours.
struct Own<'d> {
    event: usize,
    name: &'d str,
    group: usize,
    handler: usize,
    group_node: &'d Node,
    node: &'d Node,
    matcher: Option<String>,
    /// Nobody else's handler is in its group.
    alone: bool,
}

impl<'a> Document<'a> {
    fn parse(text: &'a str) -> Result<Self, Refusal> {
        let root = json::parse(text)?;
        let layout = Layout::of(text, &root);
        Ok(Self { text, root, layout })
    }

    fn hooks(&self) -> Option<&Node> {
        self.root.get("hooks")
    }

    /// Everything on the way to where these entries go must be what Claude Code expects there.
    fn check(&self, entries: &[Entry]) -> Result<(), Refusal> {
        let wrong = |node: &Node, what: &str, wanted| {
            Err(json::refuse(self.text, node.span.start, Problem::WrongType { what: what.to_owned(), wanted }))
        };
        if self.root.members().is_none() {
            return wrong(&self.root, "the whole file", "an object");
        }
        let Some(hooks) = self.hooks() else { return Ok(()) };
        if hooks.members().is_none() {
            return wrong(hooks, "\"hooks\"", "an object");
        }
        for event in entries.iter().filter_map(|entry| Some((&entry.event, hooks.get(&entry.event)?))) {
            let (name, groups) = event;
            let Some(groups) = groups.elements() else { return wrong(groups, &format!("{name:?}"), "an array") };
            for group in groups {
                if group.members().is_none() {
                    return wrong(group, &format!("everything in {name:?}"), "an object");
                }
                if let Some(handlers) = group.get("hooks").filter(|handlers| handlers.elements().is_none()) {
                    return wrong(handlers, &format!("\"hooks\" in {name:?}"), "an array");
                }
            }
        }
        self.check_count()
    }

    fn check_count(&self) -> Result<(), Refusal> {
        match self.own().get(MAX_OWN) {
            Some(own) => Err(json::refuse(self.text, own.node.span.start, Problem::TooMany(MAX_OWN))),
            None => Ok(()),
        }
    }

    /// All handlers of ours, whatever event they are on.
    fn own(&self) -> Vec<Own<'_>> {
        let mut found = Vec::new();
        let events = self.hooks().and_then(Node::members).unwrap_or_default();
        for (event, Member { key: name, value: groups, .. }) in events.iter().enumerate() {
            for (group, group_node) in groups.elements().unwrap_or_default().iter().enumerate() {
                let handlers = group_node.get("hooks").and_then(Node::elements).unwrap_or_default();
                let ours = |handler: &Node| is_own(&handler.value(self.text));
                let alone = handlers.iter().all(ours);
                for (handler, node) in handlers.iter().enumerate().filter(|(_, node)| ours(node)) {
                    let matcher = group_node.get("matcher").map(|matcher| matcher.value(self.text));
                    let matcher = matcher.as_ref().and_then(Value::as_str).map(str::to_owned);
                    found.push(Own { event, name, group, handler, group_node, node, matcher, alone });
                }
            }
        }
        found
    }

    /// The next splice on the way to exactly these entries; `None` at the end of it.
    fn towards(&self, entries: &[Entry]) -> Option<Splice> {
        let own = self.own();
        let pairs = pair(entries, &own);
        let corrected = pairs.iter().zip(entries).find_map(|(at, entry)| self.correct(&own[(*at)?], entry));
        let needless = || {
            let needless = (0..own.len()).find(|at| !pairs.contains(&Some(*at)))?;
            Some(self.remove(&own[needless]))
        };
        // Each goes before what is there, so the last one first.
        let missing = || {
            let missing = pairs.iter().rposition(Option::is_none)?;
            Some(self.add(&entries[missing]))
        };
        corrected.or_else(needless).or_else(missing)
    }

    /// Fields that are not ours stay: somebody wanted them there.
    fn correct(&self, own: &Own<'_>, entry: &Entry) -> Option<Splice> {
        if own.matcher != entry.matcher {
            return self.set(own.group_node, "matcher", entry.matcher.as_deref().map(Value::from).as_ref());
        }
        // After each splice it must still be known as ours. A path with spaces is only known beside arguments, so these come
        // before it and go after it.
        let args = entry.handler.get("args");
        let first = args.and_then(|args| self.set(own.node, "args", Some(args)));
        let fields = || entry.handler.iter().find_map(|(key, value)| self.set(own.node, key, Some(value)));
        first.or_else(fields).or_else(|| self.set(own.node, "args", args)).or_else(|| self.drop_status(own.node, entry))
    }

    /// Takes our status out of an entry that is to have none. A status in other words stays.
    fn drop_status(&self, handler: &Node, entry: &Entry) -> Option<Splice> {
        let is_ours = handler.get("statusMessage").is_some_and(|there| there.value(self.text) == STATUS);
        let is_wanted = entry.handler.contains_key("statusMessage");
        if is_ours && !is_wanted { self.set(handler, "statusMessage", None) } else { None }
    }

    /// Gives a member this value, or takes it out; `None` if it is so already.
    fn set(&self, object: &Node, key: &str, value: Option<&Value>) -> Option<Splice> {
        let members = object.members().unwrap_or_default();
        let index = members.iter().position(|member| member.key == key);
        match (index, value) {
            (Some(index), Some(value)) => {
                let there = &members[index].value;
                (there.value(self.text) != *value).then(|| self.layout.replace(there, value))
            }
            (Some(index), None) => Some(self.layout.remove(object, index)),
            (None, Some(value)) => Some(self.layout.insert(object, members.len(), Some(key), value)),
            (None, None) => None,
        }
    }

    fn add(&self, entry: &Entry) -> Splice {
        let group = entry.group();
        let Some(hooks) = self.hooks() else {
            // A schema is the first thing in a file by habit.
            let first = self.root.members().and_then(<[_]>::first);
            let index = usize::from(first.is_some_and(|member| member.key == "$schema"));
            let hooks = serde_json::json!({ entry.event.as_str(): [group] });
            return self.layout.insert(&self.root, index, Some("hooks"), &hooks);
        };
        match hooks.get(&entry.event) {
            Some(groups) => self.layout.insert(groups, 0, None, &group),
            None => self.layout.insert(hooks, 0, Some(&entry.event), &Value::Array(vec![group])),
        }
    }

    /// Takes a handler out, with everything that holds nothing else.
    fn remove(&self, own: &Own<'_>) -> Splice {
        let Some((hooks, events)) = self.hooks().and_then(|hooks| Some((hooks, hooks.members()?))) else {
            unreachable!("what was found in the hooks has hooks around it");
        };
        let groups = &events[own.event].value;
        match own.group_node.get("hooks") {
            Some(handlers) if handlers.items().len() > 1 => self.layout.remove(handlers, own.handler),
            _ if groups.items().len() > 1 => self.layout.remove(groups, own.group),
            _ if events.len() > 1 => self.layout.remove(hooks, own.event),
            _ => {
                let members = self.root.members().unwrap_or_default();
                let index = members.iter().position(|member| member.key == "hooks").unwrap_or_default();
                self.layout.remove(&self.root, index)
            }
        }
    }
}

/// For each entry the handler that is to become it.
fn pair(entries: &[Entry], own: &[Own<'_>]) -> Vec<Option<usize>> {
    let find = |entry: &Entry, fits: &dyn Fn(&Own<'_>) -> bool| {
        own.iter().position(|own| own.name == entry.event && fits(own))
    };
    let mut pairs: Vec<_> = entries.iter().map(|entry| find(entry, &|own| own.matcher == entry.matcher)).collect();
    // An older matcher can be corrected where it stands if nothing else goes by it.
    let place = |own: &Own<'_>| (own.event, own.group);
    for (index, entry) in entries.iter().enumerate() {
        if pairs[index].is_none() {
            let taken: Vec<_> = pairs.iter().flatten().map(|&at: &usize| place(&own[at])).collect();
            pairs[index] = find(entry, &|own| own.alone && !taken.contains(&place(own)));
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
