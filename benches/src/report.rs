//! What a measurement hands back.

use std::collections::BTreeMap;

use crate::markdown::{Table, wrap};
use crate::svg::Plot;

/// A part of a section.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A plot, and the name of its file.
    Plot(&'static str, Plot),
}

/// A section of the page.
#[derive(Debug, Clone)]
pub struct Section {
    title: &'static str,
    blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: &'static str) -> Self {
        Self { title, blocks: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a plot.
    pub fn plot(&mut self, file: &'static str, plot: Plot) {
        self.blocks.push(Block::Plot(file, plot));
    }

    /// The plots, with the names of their files.
    pub fn plots(&self) -> impl Iterator<Item = (&'static str, &Plot)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Plot(file, plot) => Some((*file, plot)),
            Block::Text(_) | Block::Table(_) => None,
        })
    }

    /// As Markdown.
    pub fn render(&self) -> String {
        let mut page = format!("## {}\n", self.title);
        for block in &self.blocks {
            page.push('\n');
            match block {
                Block::Text(text) => page.push_str(&format!("{}\n", wrap(text, ""))),
                Block::Table(table) => page.push_str(&table.render()),
                Block::Plot(file, plot) => page.push_str(&format!("![{}](images/{file})\n", plot.title)),
            }
        }
        page
    }
}

/// The numbers that the targets are compared with, and that other sections need.
#[derive(Debug, Default)]
pub struct Facts(BTreeMap<String, f64>);

impl Facts {
    /// Keeps a number, if there is one.
    pub fn set(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.0.insert(name.into(), value);
        }
    }

    /// A number that was measured in this run.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// One number divided by another.
    pub fn ratio(&self, name: &str, base: &str) -> Option<f64> {
        Some(self.get(name)? / self.get(base)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::{Scale, Series};

    #[test]
    fn a_section_is_markdown() {
        let mut section = Section::new("Hooks");
        section.text("One sentence.");
        section.table(Table::new(["a", "b"]));
        let series = vec![Series { name: "s".into(), points: vec![] }];
        section
            .plot("p.svg", Plot { title: "Growth".into(), x: "n".into(), y: "ms".into(), scale: Scale::Log, series });
        assert_eq!(section.render(), "## Hooks\n\nOne sentence.\n\n| a | b |\n|---|---|\n\n![Growth](images/p.svg)\n");
        assert_eq!(section.plots().count(), 1);
    }

    #[test]
    fn a_fact_that_is_missing_makes_no_ratio() {
        let mut facts = Facts::default();
        facts.set("a", Some(6.0));
        facts.set("b", None);
        assert_eq!((facts.ratio("a", "b"), facts.ratio("a", "a")), (None, Some(1.0)));
    }
}
