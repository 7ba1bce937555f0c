//! `answerback away` and `answerback back`: what is said to what is asked while nobody is there.

use std::path::{Path, PathBuf};

use anstream::eprintln;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::api::{AwayRequest, AwayView};
use crate::ask::Kind;
use crate::claude_code::settings::coverage::list;
use crate::client::Client;
use crate::text::one_line;

use super::exit::Exit;
use super::explain::hinted;
use super::history::real_name;
use super::settle::refuse_inside_agent;
use super::{client, hub, print_json, refuse_on_edge, time};

/// Leave words that answer what is asked while you are away
///
/// Each question that is asked from now on gets your words as its answer, until the time is over or you run `answerback back`.
/// Questions that are open already are left alone. So are questions that take only their options, and forms.
///
/// Your words never approve anything. With `--kind permission`, they deny every permission request. With `--kind plan`, they send every
/// plan back as feedback.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback away 'Decide yourself, and list what you decided' --for 8h\n  \
    answerback away 'Do not deploy today' --for 2d --project ~/shop\n  \
    answerback away 'Go on without it' --for 90m --kind question --kind permission")]
pub(super) struct Args {
    /// What to say
    words: String,
    /// For how long: 90m, 8h, 2d; 30 days at most
    #[arg(long = "for", value_name = "TIME", value_parser = time::parse_duration)]
    time: SignedDuration,
    /// Only for questions of this directory and of those below
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// What gets the words; may be given more than once
    #[arg(long = "kind", value_name = "KIND", value_enum, default_value = "question")]
    kinds: Vec<AwayKind>,
    /// Print JSON, as `PUT /v1/away` gives it
    #[arg(long)]
    json: bool,
}

/// Take back the words of `answerback away`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback back\n  \
    answerback back --project ~/shop")]
pub(super) struct BackArgs {
    /// Only those for this directory
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print JSON, as `DELETE /v1/away` gives it: what was on until now
    #[arg(long)]
    json: bool,
}

/// The kinds that words can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AwayKind {
    /// Questions: your words are the answer
    Question,
    /// Plans: your words are the feedback, and the agent keeps planning
    Plan,
    /// Permission requests: your words deny them
    Permission,
}

impl From<AwayKind> for Kind {
    fn from(kind: AwayKind) -> Self {
        match kind {
            AwayKind::Question => Self::Question,
            AwayKind::Plan => Self::Plan,
            AwayKind::Permission => Self::Permission,
        }
    }
}

pub(super) fn leave(args: &Args) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("this is said")?;
    let request = AwayRequest {
        words: args.words.clone(),
        // More than the daemon takes is refused there, with the limit.
        for_seconds: u32::try_from(args.time.as_secs()).unwrap_or(u32::MAX),
        project: args.project.as_deref().map(directory).transpose()?,
        kinds: args.kinds.iter().map(|kind| Kind::from(*kind)).collect(),
    };
    let note = client()?.set_away(&request)?;
    if args.json {
        print_json(&note)?;
    } else {
        eprintln!("Away {}", sentence(&note, time::now()));
        eprintln!("When you are back, run: answerback back");
    }
    Ok(Exit::Success)
}

pub(super) fn come_back(args: &BackArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    refuse_on_edge("this is said")?;
    let project = args.project.as_deref().map(directory).transpose()?;
    let client = client()?;
    let ended = client.end_away(project.as_deref())?;
    if args.json {
        print_json(&ended)?;
        return Ok(Exit::Success);
    }
    let (left, now) = (client.away()?.away, time::now());
    match (ended.away.is_empty(), left.as_slice()) {
        (true, []) => eprintln!("You were not away."),
        (false, []) => eprintln!("Welcome back. From now on, questions wait for you."),
        (true, _) => eprintln!("There are no words to take back for {}.", one_line(&project.unwrap_or_default())),
        (false, _) => eprintln!(
            "Taken back: {}",
            ended.away.iter().map(|note| one_line(&note.words)).collect::<Vec<_>>().join(", ")
        ),
    }
    for note in &left {
        eprintln!("You are still away {}", sentence(note, now));
    }
    if !left.is_empty() {
        eprintln!("To end that, too, run: answerback back");
    }
    Ok(Exit::Success)
}

fn directory(dir: &Path) -> anyhow::Result<String> {
    match dir.to_str() {
        Some(_) => real_name(dir, "or leave --project out"),
        None => Err(hinted(format!("{}: its name is not UTF-8", dir.display()), "Leave --project out.")),
    }
}

/// Reminds a person who looks that they are away. Empty if they are not.
pub(super) fn reminder(client: &Client) -> anyhow::Result<String> {
    // An edge leaves this to its hub.
    let notes = if hub().is_some() { Vec::new() } else { client.away()?.away };
    let lines: String = notes.iter().map(|note| format!("You are away {}\n", sentence(note, time::now()))).collect();
    Ok(if lines.is_empty() { lines } else { lines + "When you are back, run: answerback back\n" })
}

/// When it is over, what it is for, and the words.
pub(super) fn sentence(note: &AwayView, now: Timestamp) -> String {
    let kinds: Vec<_> = note.kinds.iter().map(|kind| format!("{}s", kind.noun())).collect();
    let project = note.project.as_deref().map_or_else(String::new, |project| format!(" of {}", one_line(project)));
    let until = clock(note.until, now, &TimeZone::system());
    format!("until {until}: {}{project} get “{}”", list(&kinds), one_line(&note.words))
}

/// A time of day, with its date unless that is today.
fn clock(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (time, now) = (time.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = if time.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    time.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_another_day_has_its_date() {
        let now: Timestamp = "2026-11-16T20:00:00Z".parse().unwrap();
        for (hours, text) in [(3, "23:00"), (4, "2026-11-17 00:00"), (24, "2026-11-17 20:00")] {
            assert_eq!(clock(now + SignedDuration::from_hours(hours), now, &TimeZone::UTC), text);
        }
    }

    #[test]
    fn a_sentence_says_what_it_is_for() {
        let now: Timestamp = "2026-11-16T20:00:00Z".parse().unwrap();
        let note = AwayView {
            project: Some("/home/me/shop".into()),
            words: "Wait\nfor me".into(),
            kinds: vec![Kind::Question, Kind::Permission],
            since: now,
            until: now,
            by: None,
        };
        let said = sentence(&note, now);
        assert!(said.ends_with(": questions and permission requests of /home/me/shop get “Wait for me”"), "{said}");
    }
}
