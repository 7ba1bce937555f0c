//! Makes the parts of the page as they are served, from the files in `src/page`: stripped of what only people need, with one style sheet
//! instead of many, and compressed. `src/http/page.rs` includes the list of them.

use std::collections::BTreeMap;
use std::env;
use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{css, javascript};

const SOURCE: &str = "src/page";
const INDEX: &str = "index.html";
const STYLE: &str = "style.css";
/// How a style sheet is linked in the index.
const LINK: (&str, &str) = ("    <link rel=\"stylesheet\" href=\"/page/", "\">\n");
/// More effort than this makes nothing smaller.
const MOST_EFFORT: Compression = Compression::new(10);

/// Why the page cannot be made.
pub struct Fault(String);

/// Cargo prints it like this.
impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Fault {
    fn new(file: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self(format!("{SOURCE}/{file}: {problem}"))
    }
}

/// Writes every part into the directory of the build, and the list of them as Rust.
pub fn build() -> Result<(), Fault> {
    // Cargo looks at every file in the directory, also at new ones.
    println!("cargo::rerun-if-changed={SOURCE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| Fault("there is no OUT_DIR".to_owned()))?);
    let write_error = |name: &str, error: io::Error| Fault(format!("{}: {error}", out.join(name).display()));
    let mut list = String::from("&[\n");
    for (name, content) in parts(read(Path::new(SOURCE))?)? {
        let path = if name == INDEX { "/".to_owned() } else { format!("/page/{name}") };
        let write = |name: &str, content: &[u8]| {
            fs::write(out.join(name), content).map_err(|error| write_error(name, error))?;
            Ok(format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\"))"))
        };
        let plain = write(&name, &content)?;
        let compressed = compress(&content).map_err(|error| Fault::new(&name, error))?;
        // An image is compressed already.
        let gzip = if compressed.len() < content.len() {
            format!("Some({})", write(&format!("{name}.gz"), &compressed)?)
        } else {
            "None".to_owned()
        };
        let part = writeln!(list, "    Part {{ path: {path:?}, plain: {plain}, gzip: {gzip} }},");
        part.map_err(|error| Fault::new(&name, error))?;
    }
    list.push(']');
    fs::write(out.join("page.rs"), list).map_err(|error| write_error("page.rs", error))
}

/// The files of the page by their names.
fn read(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(|error| Fault::new("", error))? {
        let path = entry.map_err(|error| Fault::new("", error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        // Only the type checker reads these.
        if !name.ends_with(".d.ts") {
            let content = fs::read(&path).map_err(|error| Fault::new(&name, error))?;
            files.insert(name, content);
        }
    }
    Ok(files)
}

/// The parts by their names, from the files by their names.
fn parts(files: BTreeMap<String, Vec<u8>>) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let mut parts = BTreeMap::new();
    let (mut styles, mut modules) = (BTreeMap::new(), Vec::new());
    for (name, content) in files {
        let text = || String::from_utf8(content.clone()).map_err(|error| Fault::new(&name, error));
        match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("css") => {
                let stripped = css::strip(&text()?).map_err(|problem| Fault::new(&name, problem))?;
                styles.insert(name, stripped);
            }
            Some("js") => {
                let stripped = javascript::strip(&text()?).map_err(|problem| Fault::new(&name, problem))?;
                modules.push(name.clone());
                parts.insert(name, stripped.into_bytes());
            }
            _ => drop(parts.insert(name, content)),
        }
    }
    let index = parts.remove(INDEX).ok_or_else(|| Fault::new(INDEX, "is missing"))?;
    let index = String::from_utf8(index).map_err(|error| Fault::new(INDEX, error))?;
    let (index, style) = with_one_style(&index, styles)?;
    parts.insert(STYLE.to_owned(), style.into_bytes());
    parts.insert(INDEX.to_owned(), with_preloads(&index, &modules)?.into_bytes());
    Ok(parts)
}

/// The index with one style sheet, and that style sheet: all of them, in the order of the index.
fn with_one_style(index: &str, mut styles: BTreeMap<String, String>) -> Result<(String, String), Fault> {
    let (begin, end) = LINK;
    let mut pieces = index.split(begin);
    let mut rest = pieces.next().unwrap_or_default().to_owned();
    let mut all = String::new();
    for piece in pieces {
        let (name, after) = piece.split_once(end).ok_or_else(|| Fault::new(INDEX, "a link is not as expected"))?;
        let style = styles.remove(name).ok_or_else(|| Fault::new(INDEX, format!("there is no {name}")))?;
        if all.is_empty() {
            rest.push_str(&format!("{begin}{STYLE}{end}"));
        }
        all.push_str(&style);
        rest.push_str(after);
    }
    match styles.keys().next() {
        None => Ok((rest, all)),
        Some(name) => Err(Fault::new(name, format!("{INDEX} does not link it"))),
    }
}

/// The index with a link to every module, so that the browser does not find them one after the other.
fn with_preloads(index: &str, modules: &[String]) -> Result<String, Fault> {
    let script = "    <script type=\"module\"";
    let (before, after) = index.split_once(script).ok_or_else(|| Fault::new(INDEX, "it has no script"))?;
    let link = |name: &String| format!("    <link rel=\"modulepreload\" href=\"/page/{name}\">\n");
    let links: String = modules.iter().map(link).collect();
    Ok(format!("{before}{links}{script}{after}"))
}

fn compress(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), MOST_EFFORT);
    encoder.write_all(content)?;
    encoder.finish()
}
