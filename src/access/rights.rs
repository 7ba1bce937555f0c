//! What a caller may see and do, in which projects.
//!
//! A caller who belongs to no person may see and do everything that their credential allows. A person has grants: each is a role in the
//! projects that fit a pattern. Everything here is about text, so it can be tried without a store.

use std::sync::Arc;

use tokio::sync::watch;

use crate::ask::{Ask, Host, one_name};
use crate::store::{Grant, Role};

/// Stands for any text in a pattern.
const ANY: char = '*';
/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 4096;
/// The most grants of one person.
const MAX_GRANTS: usize = 64;

/// Why grants cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// There is none.
    #[error("A person needs at least one grant.")]
    None,
    /// There are too many.
    #[error("A person can have {MAX_GRANTS} grants.")]
    TooMany,
    /// A pattern is empty.
    #[error("The pattern of a project is empty.")]
    EmptyPattern,
    /// A pattern is too long.
    #[error("The pattern of a project is over {MAX_PATTERN} bytes.")]
    LongPattern,
    /// An admin manages people, hosts and devices, and these belong to no project.
    #[error("The role admin is for all projects.")]
    AdminOfProject,
}

/// Checks grants before they are given to somebody.
pub(super) fn check(grants: &[Grant]) -> Result<(), GrantError> {
    if grants.is_empty() {
        return Err(GrantError::None);
    }
    if grants.len() > MAX_GRANTS {
        return Err(GrantError::TooMany);
    }
    for Grant { role, project } in grants {
        match project.as_deref() {
            None => {}
            Some(_) if *role == Role::Admin => return Err(GrantError::AdminOfProject),
            Some(pattern) if pattern.trim().is_empty() => return Err(GrantError::EmptyPattern),
            Some(pattern) if pattern.len() > MAX_PATTERN => return Err(GrantError::LongPattern),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The grants of a person at some time.
#[derive(Debug, Clone, Default)]
pub(super) struct Granted {
    /// See [`crate::store::Person::revision`].
    pub(super) revision: i64,
    pub(super) grants: Arc<[Grant]>,
}

/// What a caller may see and do. If the grants of a person are changed, everybody who holds their rights notices.
#[derive(Debug, Clone)]
pub struct Rights(Extent);

#[derive(Debug, Clone)]
enum Extent {
    Everything,
    Nothing,
    OfPerson(watch::Receiver<Granted>),
}

impl Rights {
    /// The rights of a caller who belongs to no person.
    pub const EVERYTHING: Self = Self(Extent::Everything);
    /// The rights of a caller who has no business with the asks that people see.
    pub const NOTHING: Self = Self(Extent::Nothing);

    pub(super) fn of_person(granted: watch::Receiver<Granted>) -> Self {
        Self(Extent::OfPerson(granted))
    }

    fn any(&self, is_it: impl Fn(&Grant) -> bool) -> bool {
        match &self.0 {
            Extent::Everything => true,
            Extent::Nothing => false,
            Extent::OfPerson(granted) => granted.borrow().grants.iter().any(is_it),
        }
    }

    /// Whether they are those of a person.
    pub(super) fn are_of_person(&self) -> bool {
        matches!(self.0, Extent::OfPerson(_))
    }

    /// Whether they include a role for this ask.
    pub fn cover(&self, role: Role, ask: &Ask) -> bool {
        self.allow(role, &ask.host, ask.project.as_deref())
    }

    /// Whether they include a role in a project of a host. An ask without a project fits the patterns that fit an empty path.
    pub fn allow(&self, role: Role, host: &Host, project: Option<&str>) -> bool {
        let project = one_name(project.unwrap_or_default());
        self.any(|grant| grant.role >= role && Pattern::of(grant).fits(host.as_str(), &project))
    }

    /// Whether they include a role in all projects.
    pub fn allow_everywhere(&self, role: Role) -> bool {
        self.any(|grant| grant.role >= role && Pattern::of(grant) == Pattern::EVERYTHING)
    }

    /// Whether they include a role in any project at all.
    pub fn allow_somewhere(&self, role: Role) -> bool {
        self.any(|grant| grant.role >= role)
    }

    /// Whether they include a role in this directory, on at least one host that there may be.
    pub fn allow_on_some_host(&self, role: Role, project: &str) -> bool {
        let project = one_name(project);
        self.any(|grant| grant.role >= role && fits(Pattern::of(grant).path, &project))
    }

    /// Whether they include a role in this directory, on every host that there may be.
    pub fn allow_on_every_host(&self, role: Role, project: &str) -> bool {
        let project = one_name(project);
        let is_it = |pattern: Pattern<'_>| pattern.host == Pattern::EVERYTHING.host && fits(pattern.path, &project);
        self.any(|grant| grant.role >= role && is_it(Pattern::of(grant)))
    }

    /// Larger after every change of them; `None` if they never change.
    pub fn revision(&self) -> Option<i64> {
        match &self.0 {
            Extent::Everything | Extent::Nothing => None,
            Extent::OfPerson(granted) => Some(granted.borrow().revision),
        }
    }

    /// Returns when they have changed.
    pub async fn changed(&mut self) {
        let has_changed = match &mut self.0 {
            Extent::Everything | Extent::Nothing => false,
            Extent::OfPerson(granted) => granted.changed().await.is_ok(),
        };
        // Otherwise they never change, or the daemon is gone.
        if !has_changed {
            std::future::pending().await
        }
    }
}

/// Which projects a grant is about. A pattern without a colon is about the path, on every host.
#[derive(Debug, PartialEq, Eq)]
struct Pattern<'a> {
    host: &'a str,
    path: &'a str,
}

impl<'a> Pattern<'a> {
    const EVERYTHING: Self = Self { host: "*", path: "*" };

    fn of(grant: &'a Grant) -> Self {
        match grant.project.as_deref() {
            None => Self::EVERYTHING,
            // The name of a host has no colon and no slash. The two parts are compared one by one, so that no path can pass for a host.
            Some(pattern) => match pattern.split_once(':') {
                Some((host, path)) if !host.contains('/') => Self { host, path },
                _ => Self { host: "*", path: pattern },
            },
        }
    }

    fn fits(&self, host: &str, path: &str) -> bool {
        fits(self.host, host) && fits(self.path, path)
    }
}

/// Whether a text fits a pattern. The parts between the stars must come in their order.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANY) else { return pattern == text };
    let (middle, end) = rest.rsplit_once(ANY).unwrap_or(("", rest));
    let Some(left) = text.strip_prefix(start).and_then(|left| left.strip_suffix(end)) else { return false };
    let mut left = left;
    // Each part is taken where it comes first, which leaves the most for the others.
    middle.split(ANY).all(|part| match left.find(part) {
        Some(at) => {
            left = &left[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::samples::ask;

    fn rights(grants: &[(Role, Option<&str>)]) -> Rights {
        let (sender, granted) = watch::channel(Granted { revision: 1, grants: of(grants).into() });
        drop(sender);
        Rights::of_person(granted)
    }

    fn of(grants: &[(Role, Option<&str>)]) -> Vec<Grant> {
        grants.iter().map(|(role, project)| Grant { role: *role, project: project.map(Into::into) }).collect()
    }

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("/srv/shop", "/srv/shop", true),
            ("/srv/shop", "/srv/shop2", false),
            ("/srv/shop", "/srv", false),
            ("/srv/*", "/srv/shop", true),
            ("/srv/*", "/srv/", true),
            ("/srv/*", "/srv", false),
            ("*/shop", "/home/me/shop", true),
            ("*/shop", "/home/me/shop/api", false),
            ("*shop*", "/home/me/shop/api", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*bc*c", "abc", false),
            ("a*a", "a", false),
            ("a**a", "aa", true),
            ("*ab*ab*", "abab", true),
            ("*ab*ab*", "aba", false),
            ("*", "", true),
            ("**", "anything", true),
            ("", "", true),
            ("", "x", false),
            ("*.é*", "/a.é/ü", true),
            ("[a-z]?", "b1", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn a_pattern_is_about_a_host_and_a_path() {
        for (pattern, host, path, expected) in [
            (None, "box", "/srv/shop", true),
            (None, "box", "", true),
            (Some("*"), "box", "", true),
            (Some("/srv/*"), "box", "/srv/shop", true),
            (Some("/srv/*"), "box", "", false),
            (Some("box:/srv/*"), "box", "/srv/shop", true),
            (Some("box:/srv/*"), "box2", "/srv/shop", false),
            (Some("box*:/srv/*"), "box2", "/srv/shop", true),
            (Some("box:*"), "box", "", true),
            (Some("*:/srv/shop"), "box", "/srv/shop", true),
            // A directory with a colon in its name cannot pass for a host.
            (Some("ci*:/srv/shop"), "ci-evil", "/tmp/x:/srv/shop", false),
            (Some("box:/srv/a:b"), "box", "/srv/a:b", true),
            (Some("box"), "box", "/srv", false),
            // Nobody gets into another directory by another name for it.
            (Some("/srv/a*"), "box", "/srv/a/../b", false),
            (Some("/srv/b"), "box", "/srv/a/.././b/", true),
            (Some("/srv/*"), "box", "/srv/../etc", false),
            (Some("/srv/*"), "box", "//srv//shop", true),
            (Some("shop/*"), "box", "shop/../../x", false),
        ] {
            let rights = rights(&[(Role::View, pattern)]);
            let project = Some(path).filter(|path| !path.is_empty());
            assert_eq!(rights.allow(Role::View, &Host::new(host), project), expected, "{pattern:?} {host} {path}");
        }
    }

    #[test]
    fn a_role_includes_the_lower_ones_and_is_for_its_projects() {
        let shop = ask(1, "s__t", "shop", 1);
        let other = ask(2, "s__u", "other", 1);
        let rights = rights(&[(Role::View, Some("*")), (Role::Answer, Some("*/shop"))]);
        assert!(rights.cover(Role::View, &shop) && rights.cover(Role::View, &other));
        assert!(rights.cover(Role::Answer, &shop) && !rights.cover(Role::Answer, &other));
        assert!(!rights.cover(Role::Admin, &shop));
        assert!(rights.allow_everywhere(Role::View) && !rights.allow_everywhere(Role::Answer));
        assert!(rights.allow_somewhere(Role::Answer) && !rights.allow_somewhere(Role::Admin));
        assert!(Rights::EVERYTHING.cover(Role::Answer, &other) && Rights::EVERYTHING.allow_everywhere(Role::Admin));
        let nothing = self::rights(&[]);
        for nothing in [nothing, Rights::NOTHING] {
            assert!(!nothing.cover(Role::View, &shop) && !nothing.allow_somewhere(Role::View));
        }
    }

    #[test]
    fn a_directory_may_be_seen_on_some_host() {
        let rights = rights(&[(Role::View, Some("box:/srv/*"))]);
        assert!(rights.allow_on_some_host(Role::View, "/srv/shop"));
        assert!(!rights.allow_on_every_host(Role::View, "/srv/shop"));
        assert!(!rights.allow_on_some_host(Role::View, "/srv/../home"));
        let everywhere = self::rights(&[(Role::View, Some("/srv/*"))]);
        assert!(everywhere.allow_on_every_host(Role::View, "/srv/shop"));
        assert!(!everywhere.allow_on_every_host(Role::View, "/srv/../home"));
        assert!(!rights.allow_on_some_host(Role::View, "/home") && !rights.allow_on_some_host(Role::Answer, "/srv/a"));
    }

    #[test]
    fn grants_are_checked_before_they_are_given() {
        let long = "x".repeat(MAX_PATTERN + 1);
        for (grants, expected) in [
            (of(&[(Role::View, None)]), Ok(())),
            (of(&[(Role::Admin, None), (Role::View, Some("/srv/*"))]), Ok(())),
            (of(&[]), Err(GrantError::None)),
            (of(&[(Role::Admin, Some("/srv/*"))]), Err(GrantError::AdminOfProject)),
            (of(&[(Role::View, Some(" "))]), Err(GrantError::EmptyPattern)),
            (of(&[(Role::View, Some(&long))]), Err(GrantError::LongPattern)),
            (of(&[(Role::View, None); MAX_GRANTS + 1]), Err(GrantError::TooMany)),
        ] {
            assert_eq!(check(&grants), expected, "{} grants", grants.len());
        }
    }
}
