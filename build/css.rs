//! Takes comments, line breaks and needless spaces out of CSS. It knows strings and comments, and nothing else about the language.

/// A space after one of these separates nothing.
const BEFORE: &[u8] = b"{};,>:";
/// A space before one of these separates nothing. A colon is none of them: `a :hover` is not `a:hover`.
const AFTER: &[u8] = b"{};,>";

/// The rules without what only people need.
pub fn strip(source: &str) -> Result<String, String> {
    let mut stripped = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.bytes().next() {
        let gap = gap(rest)?;
        let token;
        if gap > 0 {
            rest = &rest[gap..];
            let (before, after) = (stripped.bytes().last(), rest.bytes().next());
            let is_needed = before.is_some_and(|before| !BEFORE.contains(&before))
                && after.is_some_and(|after| !AFTER.contains(&after));
            token = if is_needed { " " } else { "" };
        } else {
            let length = match next {
                b'"' | b'\'' => end_of_string(rest, next).ok_or("a string has no end")?,
                b'\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                _ => rest.chars().next().map_or(0, char::len_utf8),
            };
            (token, rest) = rest.split_at(length);
        }
        // The last declaration of a block needs no semicolon.
        if token == "}" && stripped.ends_with(';') {
            stripped.pop();
        }
        stripped.push_str(token);
    }
    Ok(stripped)
}

/// The length of the spaces and comments that a text begins with.
fn gap(text: &str) -> Result<usize, String> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(comment) = rest.strip_prefix("/*") else { return Ok(text.len() - rest.len()) };
        rest = comment.split_once("*/").ok_or("a comment has no end")?.1;
    }
}

/// The length of the string that a text begins with. It ends in the same line. `None` if it does not.
fn end_of_string(text: &str, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'\n' => return None,
            b'\\' => at += 1,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
}
