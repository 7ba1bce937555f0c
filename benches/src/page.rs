//! The page docs/performance.md.

use crate::machine::Machine;
use crate::markdown::wrap;
use crate::report::{Facts, Section};
use crate::targets;

/// Puts the page together. `notes` is what a person wrote about targets that are missed.
pub fn render(machine: &Machine, sections: &[Section], facts: &Facts, notes: &str) -> String {
    let mut page = String::from(
        "# Performance\n\nThis page is for people who want to know what Answerback costs in time and memory.\n\n",
    );
    let Machine { cores, kernel, filesystem, date } = machine;
    paragraph(
        &mut page,
        &format!(
            "The numbers come from one run of the benchmark on {date}, with the real programs, on a machine with {cores} cores, \
             Linux {kernel} and the filesystem {filesystem}. Each table compares Answerback with the least that the task can cost \
             (\"the limit\"), and with other programs that do the same task. All of them took turns in the same run. You can \
             repeat it:"
        ),
    );
    page.push_str("```console\n$ benches/run.sh\n```\n\n");
    paragraph(
        &mut page,
        "This builds everything, installs what is missing, measures, and writes this page. On two cores, it takes about 13 minutes, and 5 \
         more to build everything for the first time. `benches/run.sh --help` tells how to measure only a part.",
    );
    paragraph(
        &mut page,
        "Times differ from machine to machine and from run to run, so the ratios matter more. Nothing was turned off for the \
         measurement: every answer is written to the disk, and all limits and security checks are on. A KB has 1,024 bytes, and \
         99 of 100 values are not above p99.",
    );
    page.push_str("## The short version\n\n");
    let (table, all_met) = targets::table(facts);
    let words = if all_met {
        "Each line is a target that we set before the measurement. \"A / B\" is A divided by B, and \"ours\" is Answerback."
    } else {
        "Each line is a target that we set before the measurement. \"A / B\" is A divided by B, and \"ours\" is Answerback. Some \
         targets are missed."
    };
    paragraph(&mut page, words);
    page.push_str(&table.render());
    for section in sections {
        page.push('\n');
        page.push_str(&section.render());
    }
    if !all_met && !notes.trim().is_empty() {
        page.push_str("\n## What the hardest targets are up against\n\n");
        page.push_str(notes.trim());
        page.push('\n');
    }
    page
}

fn paragraph(page: &mut String, text: &str) {
    page.push_str(&wrap(text, ""));
    page.push_str("\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::Table;

    fn machine() -> Machine {
        let (kernel, filesystem, date) = ("6.1.0".to_owned(), "ext4".to_owned(), "17 November 2026".to_owned());
        Machine { cores: 2, kernel, filesystem, date }
    }

    #[test]
    fn the_page_says_for_whom_it_is_and_fits() {
        let mut section = Section::new("One hook call");
        section.table(Table::new(["a", "b"]));
        let page = render(&machine(), &[section], &Facts::default(), "");
        assert!(page.lines().nth(2).unwrap().starts_with("This page is for people "), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        assert!(page.contains("## One hook call\n") && page.ends_with('\n') && !page.ends_with("\n\n"), "{page}");
    }

    #[test]
    fn notes_appear_only_if_a_target_is_missed() {
        let mut facts = Facts::default();
        facts.set("cold.fresh", Some(0.001));
        assert!(!render(&machine(), &[], &facts, "Because.").contains("Because."));
        facts.set("cold.fresh", Some(1.0));
        assert!(
            render(&machine(), &[], &facts, "Because.\n")
                .ends_with("## What the hardest targets are up against\n\nBecause.\n")
        );
    }
}
