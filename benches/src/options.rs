//! What `benches/run.sh` asks this program to do.

use std::path::PathBuf;

use crate::costs;
use crate::lab::{Length, Programs};
use crate::measures;

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Measure.
    Measure(Options),
    /// Measure costs that are not times, and compare them with the recorded ones.
    Costs {
        /// Where the programs are.
        programs: Programs,
        /// What to do with them.
        task: costs::Task,
        /// The recorded costs.
        file: PathBuf,
    },
    /// Hold parked calls for another process of this program.
    Park {
        /// The daemon's socket.
        socket: String,
        /// The number of the first call.
        first: String,
    },
}

/// What to measure, with what.
#[derive(Debug)]
pub struct Options {
    /// Where the programs are.
    pub programs: Programs,
    /// Only these measurements. All, if it is empty.
    pub only: Vec<String>,
    /// Where to write the page. Without it, the tables are printed.
    pub out: Option<PathBuf>,
    /// How thorough the run is.
    pub length: Length,
}

impl Command {
    /// Reads the arguments.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        if let [command, socket, first] = arguments
            && command == "park"
        {
            return Ok(Self::Park { socket: socket.clone(), first: first.clone() });
        }
        let is_about_costs = arguments.first().is_some_and(|command| command == "costs");
        let mut arguments = arguments.iter().skip(usize::from(is_about_costs));
        let (mut only, mut out, mut length) = (Vec::new(), None, Length::Real);
        let (mut task, mut file) = (costs::Task::Check, None);
        let (mut dynamic, mut static_hook, mut limits, mut peers) = (None, None, None, None);
        let (mut python, mut node, mut scratch, mut launcher) = (None, None, None, None);
        while let Some(argument) = arguments.next() {
            if let Some(chosen) = Length::of_option(argument) {
                length = chosen;
                continue;
            }
            if argument == "--record" {
                task = costs::Task::Record;
                continue;
            }
            if !argument.starts_with("--") {
                only.push(known(argument)?);
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} needs a value"))?;
            let path = Some(PathBuf::from(value));
            match argument.as_str() {
                "--bin-dir" => dynamic = path,
                "--static-hook" => static_hook = path,
                "--limits" => limits = path,
                "--peers" => peers = path,
                "--python" => python = path,
                "--node" => node = path,
                "--scratch" => scratch = path,
                "--launcher" => launcher = path,
                "--out" => out = path,
                "--recorded" => file = path,
                "--self-test" => task = costs::Task::SelfTest(PathBuf::from(value)),
                "--repeat" => {
                    let times = value.parse().map_err(|_| format!("{argument} needs a number"))?;
                    task = costs::Task::Repeat(times);
                }
                _ => return Err(format!("there is no option {argument}")),
            }
        }
        let need = |path: Option<PathBuf>, name: &str| path.ok_or_else(|| format!("{name} is missing"));
        let programs = Programs {
            dynamic: need(dynamic, "--bin-dir")?,
            static_hook,
            limits,
            peers: need(peers, "--peers")?,
            python,
            node,
            scratch: need(scratch, "--scratch")?,
            launcher,
        };
        if is_about_costs {
            return Ok(Self::Costs { programs, task, file: need(file, "--recorded")? });
        }
        Ok(Self::Measure(Options { programs, only, out, length }))
    }
}

fn known(name: &str) -> Result<String, String> {
    if measures::ALL.iter().any(|(known, ..)| *known == name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = measures::ALL.iter().map(|(name, ..)| *name).collect();
    Err(format!("there is no measurement called {name} ({})", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, String> {
        Command::parse(&line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_part_can_be_chosen() {
        let Ok(Command::Measure(options)) = parse("--bin-dir a --peers b --scratch c --quick hooks cold") else {
            panic!("not understood");
        };
        assert_eq!(options.only, ["hooks", "cold"]);
        assert!(options.length == Length::Quick && options.out.is_none() && options.programs.node.is_none());
    }

    #[test]
    fn what_does_not_exist_is_refused() {
        for (line, error) in [
            ("--bin-dir a --peers b --scratch c nothing", "there is no measurement called nothing"),
            ("--fast 1", "there is no option --fast"),
            ("--bin-dir", "--bin-dir needs a value"),
            ("--peers b --scratch c", "--bin-dir is missing"),
        ] {
            let refused = parse(line).unwrap_err();
            assert!(refused.starts_with(error), "{line}: {refused}");
        }
    }
}
