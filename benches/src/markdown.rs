//! Text for the page: numbers, tables and wrapped paragraphs.

/// The longest line of the page.
const WIDTH: usize = 100;

/// What a cell shows if there is no value.
pub const NOT_MEASURED: &str = "not measured";

/// A time in seconds, with three digits at most.
pub fn time(seconds: f64) -> String {
    let micros = seconds * 1e6;
    match micros {
        ..100.0 => format!("{micros:.0} us"),
        ..10_000.0 => format!("{:.2} ms", micros / 1e3),
        ..100_000.0 => format!("{:.1} ms", micros / 1e3),
        ..1_000_000.0 => format!("{:.0} ms", micros / 1e3),
        _ => format!("{seconds:.1} s"),
    }
}

/// A ratio, with about three digits.
pub fn ratio(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A number of bytes. A KB has 1,024 of them.
pub fn bytes(count: f64) -> String {
    match count {
        ..1024.0 => format!("{count:.0} bytes"),
        ..1_048_576.0 => format!("{:.1} KB", count / 1024.0),
        _ => format!("{:.1} MB", count / 1_048_576.0),
    }
}

/// A whole number with commas.
pub fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A value as text, or that there is none.
pub fn or_not(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), show)
}

/// One value divided by another, or nothing if one of them is missing.
pub fn ratio_of(value: Option<f64>, base: Option<f64>) -> String {
    match (value, base) {
        (Some(value), Some(base)) if base > 0.0 => ratio(value / base),
        _ => String::new(),
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { head: head.map(ToOwned::to_owned).to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.head.len());
        self.rows.push(cells.to_vec());
    }

    /// Adds a row for something that is not installed here.
    pub fn not_measured(&mut self, name: &str) {
        let mut row = vec![String::new(); self.head.len()];
        row[0] = name.to_owned();
        row[1] = NOT_MEASURED.to_owned();
        self.rows.push(row);
    }

    /// As Markdown.
    pub fn render(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}|{}\n{rows}", line(&self.head), "---|".repeat(self.head.len()))
    }
}

/// Breaks a paragraph into lines. `indent` is put before every line but the first.
pub fn wrap(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > WIDTH {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_few_digits() {
        assert_eq!([12e-6, 0.00094, 0.0123, 0.256, 4.25].map(time), ["12 us", "0.94 ms", "12.3 ms", "256 ms", "4.2 s"]);
        assert_eq!([0.668, 12.34, 256.4].map(ratio), ["0.67", "12.3", "256"]);
        assert_eq!([512.0, 4608.0, 13_249_904.0].map(bytes), ["512 bytes", "4.5 KB", "12.6 MB"]);
        assert_eq!([7.0, 1000.0, 1_234_567.0].map(count), ["7", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_missing_value_is_said_not_invented() {
        assert_eq!(or_not(None, time), "not measured");
        assert_eq!(ratio_of(Some(1.0), None), "");
        assert_eq!(ratio_of(Some(3.0), Some(2.0)), "1.50");
    }

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new(["program", "median"]);
        table.row(["`/bin/true`".to_owned(), time(0.001)]);
        assert_eq!(table.render(), "| program | median |\n|---|---|\n| `/bin/true` | 1.00 ms |\n");
        table.not_measured("curl");
        assert!(table.render().ends_with("| curl | not measured |\n"));
    }

    #[test]
    fn paragraphs_fit() {
        let text = "word ".repeat(60);
        let wrapped = wrap(&text, "  ");
        assert!(wrapped.lines().all(|line| line.chars().count() <= WIDTH) && wrapped.lines().count() > 2);
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("  word")));
        assert_eq!(wrapped.split_whitespace().count(), 60);
    }
}
