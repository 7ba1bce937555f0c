//! `answerback people`: the people of a team, and what each of them may do.

use std::io::{self, IsTerminal, Write};

use anstream::eprintln;
use anstyle::Style;

use crate::api::{GrantsRequest, PairingRequest, PersonRequest, PersonView};
use crate::client::Client;
use crate::store::{Grant, Role};
use crate::text::{counted, one_line, style};

use super::exit::Exit;
use super::explain::hinted;
use super::settle::refuse_inside_agent;
use super::{client, pair, print_json, refuse_on_edge, table, time};

/// Say who of a team may see and answer which questions
///
/// A person has devices of their own and may do what they are granted there, and nothing else. Without people, everybody who is let in
/// sees and answers everything: one person alone needs none of this.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    answerback people\n  \
    answerback people add Anna --role answer --project '/srv/shop*'\n  \
    answerback people invite Anna         # let a device of Anna in\n  \
    answerback people grant Anna --role view\n  \
    answerback people revoke Anna"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON, as `GET /v1/people` gives it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a person
    Add(AddArgs),
    /// Let a device of a person in: it shows a QR code, as `answerback pair` does
    Invite(InviteArgs),
    /// Let a person do more, or something else
    Grant(GrantArgs),
    /// Remove a person, and sign out all their devices at once
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback people add Anna --role answer\n  \
    answerback people add Ben --role view --project '/srv/*' --project 'ci-*:/*'\n  \
    answerback people add Carla --role admin")]
struct AddArgs {
    /// The name of the person. No two people have the same name
    name: String,
    #[command(flatten)]
    granted: Granted,
    /// Print JSON, as `POST /v1/people` gives it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback people invite Anna\n  \
    answerback people invite Anna --name 'Work phone'")]
struct InviteArgs {
    /// The name of the person, as `answerback people` lists it
    person: String,
    /// The name of the device [default: the name it gives itself]
    #[arg(long)]
    name: Option<String>,
    /// Print one line of JSON for each step; the digits are still read from stdin
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback people grant Anna --role view          # also see all projects\n  \
    answerback people grant Anna --role answer --project '/srv/site'\n  \
    answerback people grant Anna --role view --only   # and nothing else any more")]
struct GrantArgs {
    /// The name of the person, as `answerback people` lists it
    name: String,
    #[command(flatten)]
    granted: Granted,
    /// Take back everything that was granted before
    #[arg(long)]
    only: bool,
    /// Print JSON, as `PUT /v1/people/{id}/grants` gives it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    answerback people revoke Anna\n  \
    answerback people revoke Anna --yes   # without a question")]
struct RevokeArgs {
    /// The name of the person, as `answerback people` lists it
    name: String,
    /// Do not ask whether this is meant
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
struct Granted {
    /// What the person may do
    #[arg(long, value_enum)]
    role: RoleName,
    /// Only in projects that fit: PATH or HOST:PATH, where * stands for any text; may be given more than once [default: all projects]
    #[arg(long = "project", value_name = "PATTERN")]
    projects: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RoleName {
    /// See questions and answers
    View,
    /// Answer, dismiss and release them, too
    Answer,
    /// Manage people, hosts and devices, too; always for all projects
    Admin,
}

impl Granted {
    fn grants(&self) -> Vec<Grant> {
        let role = match self.role {
            RoleName::View => Role::View,
            RoleName::Answer => Role::Answer,
            RoleName::Admin => Role::Admin,
        };
        if self.projects.is_empty() {
            return vec![Grant { role, project: None }];
        }
        self.projects.iter().map(|project| Grant { role, project: Some(project.clone()) }).collect()
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    refuse_on_edge("people are managed")?;
    let client = client()?;
    match &args.command {
        None => {
            let list = client.people()?;
            if args.json {
                print_json(&list)?
            } else {
                show(&list.people)?
            }
            Ok(Exit::Success)
        }
        Some(Command::Add(args)) => add(&client, args),
        Some(Command::Invite(args)) => invite(&client, args),
        Some(Command::Grant(args)) => grant(&client, args),
        Some(Command::Revoke(args)) => revoke(&client, args),
    }
}

fn show(people: &[PersonView]) -> anyhow::Result<()> {
    if people.is_empty() {
        outln!("Nobody was added, so whoever is let in sees and answers everything.");
        outln!("Add somebody with: answerback people add NAME --role answer");
    }
    let rows: Vec<[String; 4]> = people.iter().map(row).collect();
    table::print(&rows, [style::STRONG, Style::new(), Style::new(), style::FAINT])
}

fn row(person: &PersonView) -> [String; 4] {
    let devices = counted(person.devices, "device", "devices");
    let since = format!("since {}", time::local(person.created_at));
    [one_line(&person.name), may(&person.grants), devices, since]
}

/// What a person may do, in words.
fn may(grants: &[Grant]) -> String {
    let words = grants.iter().map(|Grant { role, project }| match (role, project) {
        (Role::Admin, _) => "admin".to_owned(),
        (Role::View, None) => "view everything".to_owned(),
        (Role::Answer, None) => "answer everything".to_owned(),
        (Role::View, Some(project)) => format!("view {}", one_line(project)),
        (Role::Answer, Some(project)) => format!("answer {}", one_line(project)),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn add(client: &Client, args: &AddArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let person = client.add_person(&PersonRequest { name: args.name.clone(), grants: args.granted.grants() })?;
    if args.json {
        print_json(&person)?;
    }
    let name = one_line(&person.name);
    eprintln!("Added: {name}, {}.", may(&person.grants));
    eprintln!("Let a device of {name} in with: answerback people invite {}", quoted(&name));
    Ok(Exit::Success)
}

/// As it is typed in a shell.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter));
    if is_plain { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

fn invite(client: &Client, args: &InviteArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let person = find(client, &args.person)?;
    let name = one_line(&person.name);
    let request = PairingRequest { name: args.name.clone(), person: Some(person.id) };
    let words = pair::Words {
        done: format!("belongs to {name} now ({})", may(&person.grants)),
        again: format!("answerback people invite {}", quoted(&name)),
    };
    pair::let_in(client, &request, args.json, &words)
}

fn grant(client: &Client, args: &GrantArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let person = find(client, &args.name)?;
    let new = args.granted.grants();
    // A pattern has one role: the one that was granted last.
    let is_kept = |grant: &Grant| !args.only && new.iter().all(|new| new.project != grant.project);
    let grants: Vec<Grant> = person.grants.into_iter().filter(is_kept).chain(new.iter().cloned()).collect();
    let person = client.set_grants(person.id, &GrantsRequest { grants })?;
    if args.json {
        print_json(&person)?;
    }
    eprintln!("{} may now: {}.", one_line(&person.name), may(&person.grants));
    Ok(Exit::Success)
}

fn revoke(client: &Client, args: &RevokeArgs) -> anyhow::Result<Exit> {
    refuse_inside_agent()?;
    let person = find(client, &args.name)?;
    let name = one_line(&person.name);
    let devices = counted(person.devices, "device", "devices");
    if !args.yes {
        if !io::stdin().is_terminal() {
            return Err(hinted(format!("nobody is here to confirm that {name} is removed"), "Add --yes."));
        }
        let mut stderr = anstream::stderr();
        write!(stderr, "Remove {name}, and sign out {devices}? Type yes: ")?;
        stderr.flush()?;
        let mut typed = String::new();
        io::stdin().read_line(&mut typed)?;
        if typed.trim() != "yes" {
            return Err(hinted(format!("{name} was not removed"), "Type yes, or add --yes."));
        }
    }
    client.revoke_person(person.id)?;
    eprintln!("Removed: {name}. Signed out: {devices}.");
    Ok(Exit::Success)
}

fn find(client: &Client, name: &str) -> anyhow::Result<PersonView> {
    let people = client.people()?.people;
    let found = people.into_iter().find(|person| one_line(&person.name) == one_line(name));
    found.ok_or_else(|| hinted(format!("there is no person {}", one_line(name)), "answerback people lists them."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_where_a_shell_needs_it() {
        for (name, expected) in [("Anna", "Anna"), ("Anna B", "'Anna B'"), ("O'Neill", "'O'\\''Neill'"), ("Zoë", "Zoë")]
        {
            assert_eq!(quoted(name), expected);
        }
    }
}
