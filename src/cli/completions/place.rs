//! Which place of a command line is completed.

use clap::{Arg, Command};

/// Where the cursor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The command.
    pub(super) command: String,
    /// The words before the cursor that belong to no option.
    pub(super) words: Vec<String>,
    /// The options before the cursor that have a value: the name of the field, and the value.
    pub(super) given: Vec<(String, String)>,
    /// The name of the option whose value is completed. `None` if it is a word of its own.
    pub(super) field: Option<String>,
    /// An option that is in the same word, as in `--answer=`. Otherwise empty.
    pub(super) option: String,
    /// What stands there already, without the option.
    pub(super) begun: String,
}

impl Place {
    /// The place at the end of these words, the first of which is the program. `None` if an option is completed, or a command.
    pub(super) fn of(program: &Command, words: &[String]) -> Option<Self> {
        let (current, before) = words.get(1..)?.split_last()?;
        let mut words = before.iter();
        let command = program.find_subcommand(words.next()?)?;
        let mut place = Self {
            command: command.get_name().to_owned(),
            words: Vec::new(),
            given: Vec::new(),
            field: None,
            option: String::new(),
            begun: current.clone(),
        };
        let mut options_are_over = false;
        while let Some(word) = words.next() {
            match option(command, word).filter(|_| !options_are_over) {
                Some((name, None)) => match words.next() {
                    Some(value) => place.given.push((name, value.clone())),
                    None => place.field = Some(name),
                },
                Some((name, Some(value))) => place.given.push((name, value.to_owned())),
                None if word == "--" && !options_are_over => options_are_over = true,
                // A switch.
                None if word.starts_with('-') && !options_are_over => {}
                None => place.words.push(word.clone()),
            }
        }
        if options_are_over || place.field.is_some() {
            return Some(place);
        }
        match option(command, current) {
            Some((name, Some(value))) if current.starts_with("--") => {
                place.option = current[..current.len() - value.len()].to_owned();
                (place.field, place.begun) = (Some(name), value.to_owned());
                Some(place)
            }
            _ => (!current.starts_with('-')).then_some(place),
        }
    }
}

/// The field of an option that takes a value, and the value if it is in the same word.
fn option<'a>(command: &Command, word: &'a str) -> Option<(String, Option<&'a str>)> {
    let find = |fits: &dyn Fn(&Arg) -> bool| {
        let mut options = command.get_arguments().filter(|argument| argument.get_action().takes_values());
        options.find(|argument| fits(argument)).map(|argument| argument.get_id().to_string())
    };
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        return Some((find(&|argument| argument.get_long() == Some(name))?, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    let value = Some(letters.as_str()).filter(|value| !value.is_empty());
    Some((find(&|argument| argument.get_short() == Some(letter))?, value))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::super::Cli;
    use super::*;

    fn place(line: &str) -> Option<Place> {
        let words: Vec<_> = line.split(' ').map(ToOwned::to_owned).collect();
        Place::of(&Cli::command(), &words)
    }

    #[test]
    fn words_and_values_are_told_apart() {
        for (line, words, field, begun) in [
            ("answerback answer ", &[][..], None, ""),
            ("answerback answer 3f", &[], None, "3f"),
            ("answerback answer 3fa2c1 --partial -n x ", &["3fa2c1"], None, ""),
            ("answerback answer 3fa2c1 -a ", &["3fa2c1"], Some("answers"), ""),
            ("answerback answer 3fa2c1 -a -x", &["3fa2c1"], Some("answers"), "-x"),
            ("answerback answer --answer 1=a --text 2=b -ny 3fa2c1 Y", &["3fa2c1"], None, "Y"),
            ("answerback answer --answer=1=a", &[], Some("answers"), "1=a"),
            ("answerback answer -- -x -a ", &["-x", "-a"], None, ""),
            ("answerback show --json ", &[], None, ""),
        ] {
            let place = place(line).unwrap();
            assert_eq!((place.words, place.field.as_deref()), (words.iter().map(|w| (*w).to_owned()).collect(), field));
            assert_eq!(place.begun, begun, "{line}");
        }
        let place = place("answerback answer --answer=1=a -a2=b -t c --answer=3=").unwrap();
        let given = [("answers", "1=a"), ("answers", "2=b"), ("texts", "c")];
        assert_eq!(place.given, given.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(place.option, "--answer=");
    }

    #[test]
    fn options_and_commands_are_not_ours() {
        for line in
            ["answerback", "answerback ", "answerback sh", "answerback show --", "answerback answer -a1", "", "x y z"]
        {
            assert_eq!(place(line), None, "{line}");
        }
    }
}
