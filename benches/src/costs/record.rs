//! The recorded costs, and how measured ones compare with them.

use std::fmt;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::Cost;

/// A cost that is this much smaller than its margin allows it to be larger is no chance any more: the record must be tightened.
const FAR_BELOW: f64 = 2.0;

/// What the counts depend on besides our source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    rustc: String,
    target: String,
    libc: String,
}

impl Platform {
    /// What this machine has.
    pub fn of_this_machine() -> Self {
        let said = |program: &str, argument: &str| {
            let output = Command::new(program).arg(argument).output();
            output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = said("rustc", "-vV");
        let field =
            |name: &str| version.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown").to_owned();
        let libc = said("ldd", "--version");
        let libc = libc.lines().next().and_then(|line| line.split(' ').next_back()).unwrap_or("unknown").to_owned();
        Self { rustc: field("release: "), target: field("host: "), libc }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {} for {} with C library {}", self.rustc, self.target, self.libc)
    }
}

/// The recorded costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Where they were measured.
    pub platform: Platform,
    costs: Vec<Recorded>,
}

#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    name: String,
    value: f64,
    unit: String,
    margin: f64,
}

impl Record {
    /// A record of these costs. Margins that a person has chosen are kept.
    pub fn new(platform: Platform, costs: &[Cost], old: Option<&Self>) -> Self {
        let margin = |cost: &Cost| {
            let old = old.and_then(|old| old.costs.iter().find(|recorded| recorded.name == cost.name));
            old.map_or(cost.margin, |recorded| recorded.margin)
        };
        let recorded = |cost: &Cost| Recorded {
            name: cost.name.clone(),
            value: cost.value,
            unit: cost.unit.to_owned(),
            margin: margin(cost),
        };
        Self { platform, costs: costs.iter().map(recorded).collect() }
    }

    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let word = |value: &Value| value.as_str().map(ToOwned::to_owned).ok_or("a text is missing".to_owned());
        let platform =
            Platform { rustc: word(&json["rustc"])?, target: word(&json["target"])?, libc: word(&json["libc"])? };
        let costs = json["costs"].as_object().ok_or("there are no costs")?;
        let recorded = |(name, cost): (&String, &Value)| {
            let number = |field: &str| cost[field].as_f64().ok_or(format!("{name} has no {field}"));
            let (value, margin) = (number("value")?, number("margin_percent")?);
            Ok::<_, String>(Recorded { name: name.clone(), value, unit: word(&cost["unit"])?, margin })
        };
        Ok(Self { platform, costs: costs.iter().map(recorded).collect::<Result<_, _>>()? })
    }

    /// Writes it.
    pub fn render(&self) -> String {
        let cost = |cost: &Recorded| {
            let entry = json!({"value": cost.value as u64, "unit": cost.unit, "margin_percent": cost.margin});
            (cost.name.clone(), entry)
        };
        let costs: Map<String, Value> = self.costs.iter().map(cost).collect();
        let Platform { rustc, target, libc } = &self.platform;
        let json = json!({"rustc": rustc, "target": target, "libc": libc, "costs": costs});
        format!("{json:#}\n")
    }

    /// A recorded cost.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.costs.iter().find(|recorded| recorded.name == name).map(|recorded| recorded.value)
    }

    /// How far a cost may be above or, with a negative direction, below the record.
    pub fn margin(&self, name: &str, direction: f64) -> f64 {
        let margin = self.costs.iter().find(|recorded| recorded.name == name).map_or(0.0, |recorded| recorded.margin);
        if direction < 0.0 { margin * FAR_BELOW } else { margin }
    }

    /// Compares measured costs with the recorded ones. A cost that is not recorded has grown from nothing.
    pub fn compare(&self, costs: &[Cost]) -> Vec<Verdict> {
        let verdict = |cost: &Cost| Verdict {
            cost: cost.clone(),
            recorded: self.value(&cost.name),
            above: self.margin(&cost.name, 1.0),
            below: self.margin(&cost.name, -1.0),
        };
        costs.iter().map(verdict).collect()
    }
}

/// A cost beside its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    cost: Cost,
    recorded: Option<f64>,
    above: f64,
    below: f64,
}

impl Verdict {
    fn change(&self) -> f64 {
        self.recorded.map_or(f64::INFINITY, |recorded| 100.0 * (self.cost.value - recorded) / recorded)
    }

    /// Whether the cost has grown by more than its margin.
    pub fn is_grown(&self) -> bool {
        self.change() > self.above
    }

    fn is_shrunk(&self) -> bool {
        self.change() < -self.below
    }

    /// How many have grown.
    pub fn grown(verdicts: &[Self]) -> usize {
        verdicts.iter().filter(|verdict| verdict.is_grown()).count()
    }

    /// How many are far below the record.
    pub fn shrunk(verdicts: &[Self]) -> usize {
        verdicts.iter().filter(|verdict| verdict.is_shrunk()).count()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.is_grown(), self.is_shrunk()) {
            (true, _) => "GROWN",
            (_, true) => "SHRUNK",
            _ => "ok",
        };
        let Cost { name, value, unit, .. } = &self.cost;
        write!(f, "{word:<7} {name:<32} measured {value:>10.0} {unit:<12}")?;
        match self.recorded {
            Some(recorded) => {
                write!(f, " recorded {recorded:>10.0}, {:+.1} %, margin +{:.0} %", self.change(), self.above)
            }
            None => write!(f, " not recorded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(value: f64) -> Cost {
        Cost { name: "hook".into(), value, unit: "instructions", margin: 5.0 }
    }

    fn record(value: f64) -> Record {
        let platform = Platform { rustc: "1.95.0".into(), target: "x86_64".into(), libc: "2.36".into() };
        Record::new(platform, &[cost(value)], None)
    }

    #[test]
    fn a_growth_beyond_the_margin_is_noticed_and_one_within_is_not() {
        for (measured, grown, shrunk) in [(1050.0, 0, 0), (1051.0, 1, 0), (900.0, 0, 0), (899.0, 0, 1)] {
            let verdicts = record(1000.0).compare(&[cost(measured)]);
            assert_eq!((Verdict::grown(&verdicts), Verdict::shrunk(&verdicts)), (grown, shrunk), "{measured}");
        }
    }

    #[test]
    fn a_cost_without_a_record_is_noticed() {
        let new = Cost { name: "new".into(), ..cost(1.0) };
        let verdicts = record(1000.0).compare(&[new]);
        assert!(verdicts[0].is_grown() && verdicts[0].to_string().ends_with("not recorded"));
    }

    #[test]
    fn a_record_survives_its_file_and_keeps_chosen_margins() {
        let mut first = record(1000.0);
        first.costs[0].margin = 7.5;
        let read = Record::parse(&first.render()).unwrap();
        assert_eq!(read, first);
        let again = Record::new(read.platform.clone(), &[cost(2000.0)], Some(&read));
        assert_eq!((again.costs[0].margin, again.costs[0].value), (7.5, 2000.0));
    }

    #[test]
    fn a_broken_record_is_refused() {
        for text in ["", "{}", r#"{"rustc":"1","target":"t","libc":"2","costs":{"a":{"unit":"x"}}}"#] {
            assert!(Record::parse(text).is_err(), "{text}");
        }
    }
}
