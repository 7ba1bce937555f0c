//! Rows with columns that stand below each other.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Prints rows. The last column is as wide as it is.
pub(super) fn print<const N: usize>(rows: &[[String; N]], styles: [Style; N]) -> anyhow::Result<()> {
    let widths: [usize; N] = std::array::from_fn(|index| rows.iter().map(|row| row[index].width()).max().unwrap_or(0));
    for row in rows {
        let mut line = String::new();
        for (index, (cell, style)) in row.iter().zip(styles).enumerate() {
            let padding = if index + 1 == N { 0 } else { widths[index] - cell.width() + 2 };
            line.push_str(&format!("{style}{cell}{style:#}{}", " ".repeat(padding)));
        }
        outln!("{}", line.trim_end());
    }
    Ok(())
}
