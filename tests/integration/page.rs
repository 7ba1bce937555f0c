//! The page as it is served: made of the files in `src/page`, without what only people need, and compressed. tests/browser compares what
//! the modules mean.

#[path = "../../build/css.rs"]
mod css;
#[path = "../../build/javascript.rs"]
mod javascript;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::http::{Reply, Request};
use crate::world::World;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page");

fn get(world: &World, path: &str, encoding: Option<&str>) -> Reply {
    let mut headers = vec![("host".to_owned(), world.address())];
    headers.extend(encoding.map(|encoding| ("accept-encoding".to_owned(), encoding.to_owned())));
    Request { line: &format!("GET {path}"), headers, body: b"" }.over_tcp(&world.address()).unwrap().expect(200)
}

fn gunzip(compressed: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    gzip.stdin.take().unwrap().write_all(compressed).unwrap();
    let output = gzip.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// The files of the page, by their names. Only the type checker reads the rest.
fn files() -> BTreeMap<String, Vec<u8>> {
    let names = fs::read_dir(SOURCE).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files = names.filter(|name| !name.ends_with(".d.ts"));
    files.map(|name| (name.clone(), fs::read(Path::new(SOURCE).join(name)).unwrap())).collect()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[test]
fn every_file_of_the_page_is_served() {
    let mut world = World::new();
    drop(world.daemon());
    let index = get(&world, "/", None);
    let index = text(&index.body);
    let style = get(&world, "/page/style.css", None);
    let style = text(&style.body);
    let mut files = files();
    let source = String::from_utf8(files.remove("index.html").unwrap()).unwrap();
    let mut length = 0;
    let mut places = Vec::new();
    for (name, content) in &files {
        match name.rsplit_once('.').unwrap().1 {
            "css" => {
                let stripped = css::strip(text(content)).unwrap();
                let link = format!("href=\"/page/{name}\"");
                assert!(!index.contains(&link), "{name} is linked");
                places.push((source.find(&link).unwrap(), style.find(&stripped).unwrap()));
                length += stripped.len();
            }
            "js" => {
                let served = get(&world, &format!("/page/{name}"), None);
                assert_eq!(text(&served.body), javascript::strip(text(content)).unwrap(), "{name}");
                let preload = format!("<link rel=\"modulepreload\" href=\"/page/{name}\">");
                assert_eq!(index.matches(&preload).count(), 1, "{name}");
            }
            _ => assert_eq!(get(&world, &format!("/page/{name}"), None).body, *content, "{name}"),
        }
    }
    assert_eq!(style.len(), length, "the style sheet has something else in it");
    // The later of two rules counts, so their order does.
    places.sort_unstable();
    assert!(places.len() > 1 && places.is_sorted_by_key(|(_, served)| *served), "{places:?}");
    assert_eq!(index.matches("rel=\"stylesheet\"").count(), 1);
    let rest = |index: &str| -> Vec<String> {
        let links = ["rel=\"stylesheet\"", "rel=\"modulepreload\""];
        let lines = index.lines().filter(|line| !links.iter().any(|link| line.contains(link)));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(rest(index), rest(&source));
}

#[test]
fn the_page_is_compressed_for_those_who_can_read_it() {
    let mut world = World::new();
    drop(world.daemon());
    for path in ["/", "/page/main.js", "/page/style.css", "/page/icon.svg"] {
        let plain = get(&world, path, None);
        let gzip = get(&world, path, Some("deflate, gzip;q=0.8, br"));
        assert_eq!((plain.header("content-encoding"), gzip.header("content-encoding")), (None, Some("gzip")), "{path}");
        assert_eq!(gunzip(&gzip.body), plain.body, "{path}");
        assert!(gzip.body.len() < plain.body.len(), "{path}");
        assert_eq!(get(&world, path, Some("gzip;q=0")).body, plain.body, "{path}");
        for reply in [&plain, &gzip] {
            assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path}");
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
            let policy = reply.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        }
        assert_eq!(gzip.header("content-type"), plain.header("content-type"), "{path}");
    }
}

#[test]
fn javascript_loses_comments_and_spaces_and_nothing_else() {
    for (source, expected) in [
        ("// one\n/** two\n * three */\nlet a = 1; // four\n\n  let b = /* five */ 2;\n", "let a=1;\nlet b=2;"),
        // A comment that was between two words or two lines still separates them.
        ("let/* x */a\nlet b/*\n*/let c", "let a\nlet b\nlet c"),
        ("a + +b - -c; a++ + ++b; a in b; typeof a", "a + +b - -c;a++ + ++b;a in b;typeof a"),
        ("static #a = 1; get b() {}", "static #a=1;get b(){}"),
        // What is in quotes stays, and so does what only looks like a comment there.
        (r#"x = "a  //  b" + 'it''s  /* c */';"#, r#"x="a  //  b"+'it''s  /* c */';"#),
        (r#"x = "\"  //" + '\\'  // y"#, r#"x="\"  //"+'\\'"#),
        (
            "x = `  // a\n  ${ b + `${ /* c */ { d: 1 } }  // e` }  /* f */`  // g",
            "x=`  // a\n  ${b +`${{d:1}}  // e`}  /* f */`",
        ),
        (r"x = `\`  \${  // a`", r"x=`\`  \${  // a`"),
        // A slash divides after a value, and begins a regular expression elsewhere.
        ("a = b / c / d; // e", "a=b / c / d;"),
        ("a = (b) / 2 /* / */ / 3", "a=(b)/ 2 / 3"),
        ("a[0] / 2; f(/[/'\"]  \\/  /g, 1) // b", "a[0]/ 2;f(/[/'\"]  \\/  /g,1)"),
        ("return /  '  /.test(a)", "return /  '  /.test(a)"),
        ("if (a) /  '  /.test(b)", "if(a)/  '  /.test(b)"),
        ("a.of / 2; a++ / 2; `${a}` / 2", "a.of / 2;a++ / 2;`${a}`/ 2"),
        ("a = b\n  ? /  \"/\n  : 1", "a=b\n?/  \"/\n:1"),
        // A line stays a line, because a semicolon may be missing at its end.
        ("a = b\n\n   \n(c)", "a=b\n(c)"),
        ("ä = “ö”  ", "ä=“ö”"),
        ("", ""),
    ] {
        let stripped = javascript::strip(source);
        assert_eq!(stripped.as_deref(), Ok(expected), "{source}");
        assert_eq!(javascript::strip(expected).as_deref(), Ok(expected), "twice: {source}");
    }
}

#[test]
fn javascript_that_is_not_understood_is_refused() {
    for (source, reason) in [
        ("a\nb = 'c\n'", "line 2: a string has no end"),
        ("a = `${b", "something is not closed"),
        ("a = `b", "line 1: a template has no end"),
        ("/* a", "line 1: a comment has no end"),
        ("a = /b\n/", "line 1: a regular expression has no end"),
        ("a = {} / 2", "line 1: put parentheses around what is before this slash"),
        ("(a]", "line 1: another bracket is open"),
        ("a)", "line 1: something is closed that was not open"),
    ] {
        assert_eq!(javascript::strip(source), Err(reason.to_owned()), "{source}");
    }
}

#[test]
fn css_loses_comments_and_spaces_and_nothing_else() {
    for (source, expected) in [
        ("/* a */\n.b > c,\n.d {\n  color: red; /* e */\n  margin: 0 1px;\n}\n", ".b>c,.d{color:red;margin:0 1px}"),
        (".a :is(b, c)  .d:hover + e{}", ".a :is(b,c) .d:hover + e{}"),
        (
            "@media (min-width: 3px) and (max-width: 9px) {\n  a { b: calc(1px + 2px) !important }\n}",
            "@media (min-width:3px) and (max-width:9px){a{b:calc(1px + 2px) !important}}",
        ),
        ("a::before { content: \"  /* ; } \\\" \"; }", "a::before{content:\"  /* ; } \\\" \"}"),
        ("a/**/b { }", "a b{}"),
        (".\\31 0 { --x: ' ä ' }", ".\\31 0{--x:' ä '}"),
    ] {
        assert_eq!(css::strip(source).as_deref(), Ok(expected), "{source}");
    }
    assert_eq!(css::strip("a { content: 'b\n' }"), Err("a string has no end".to_owned()));
    assert_eq!(css::strip("a /* b"), Err("a comment has no end".to_owned()));
}
