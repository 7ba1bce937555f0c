//! The name of a directory, as text.

/// A directory under one name: without `.`, `..`, doubled slashes, and a slash at its end. Directories are compared by this name only, so
/// that nobody gets into another one by a detour. Links are not looked at: the directory may be on another machine.
pub fn one_name(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // Above the root there is nothing, but there is something above any other directory.
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_name() {
        for (path, name) in [
            ("/srv/a/../b", "/srv/b"),
            ("/srv//a/./", "/srv/a"),
            ("/../../etc", "/etc"),
            ("/", "/"),
            ("/..", "/"),
            ("", ""),
            ("shop/../../x", "../x"),
            ("../../x", "../../x"),
            ("/srv/a..b/...", "/srv/a..b/..."),
        ] {
            assert_eq!(one_name(path), name, "{path}");
        }
    }
}
