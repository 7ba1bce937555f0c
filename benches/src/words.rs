//! English text in which some words are frequent and others are rare, as in real questions. It is the same in every run.

/// Frequent words first.
const VOCABULARY: &[&str] = &[
    "the",
    "should",
    "use",
    "which",
    "database",
    "for",
    "a",
    "test",
    "file",
    "we",
    "to",
    "in",
    "with",
    "server",
    "new",
    "and",
    "user",
    "page",
    "table",
    "error",
    "of",
    "this",
    "add",
    "keep",
    "one",
    "index",
    "name",
    "cache",
    "client",
    "request",
    "before",
    "after",
    "module",
    "version",
    "branch",
    "is",
    "query",
    "model",
    "build",
    "deploy",
    "run",
    "all",
    "only",
    "remove",
    "change",
    "public",
    "field",
    "key",
    "token",
    "login",
    "form",
    "list",
    "search",
    "order",
    "customer",
    "price",
    "invoice",
    "message",
    "queue",
    "worker",
    "retry",
    "timeout",
    "limit",
    "log",
    "format",
    "date",
    "zone",
    "default",
    "value",
    "option",
    "header",
    "column",
    "row",
    "schema",
    "migration",
    "backup",
    "restore",
    "release",
    "script",
    "command",
    "shell",
    "container",
    "image",
    "volume",
    "network",
    "address",
    "port",
    "socket",
    "stream",
    "event",
    "handler",
    "listener",
    "callback",
    "promise",
    "thread",
    "process",
    "memory",
    "disk",
    "sync",
    "commit",
    "merge",
    "rebase",
    "review",
    "comment",
    "style",
    "theme",
    "colour",
    "button",
    "dialog",
    "window",
    "screen",
    "phone",
    "browser",
    "cookie",
    "session",
    "password",
    "secret",
    "certificate",
    "proxy",
    "gateway",
    "router",
    "route",
    "controller",
    "service",
    "factory",
    "adapter",
    "parser",
    "printer",
    "reader",
    "writer",
    "encoder",
    "decoder",
    "compression",
    "checksum",
    "signature",
    "encryption",
    "permission",
    "role",
    "group",
    "tenant",
    "billing",
    "payment",
    "refund",
    "shipment",
    "warehouse",
    "inventory",
    "catalogue",
    "product",
    "variant",
    "discount",
    "voucher",
    "tax",
    "currency",
    "language",
    "translation",
    "locale",
    "plural",
    "sentence",
    "paragraph",
    "chapter",
    "manual",
    "tutorial",
    "example",
    "fixture",
    "snapshot",
    "benchmark",
    "profile",
    "metric",
    "counter",
    "gauge",
    "histogram",
    "dashboard",
    "alert",
    "incident",
    "rollback",
    "canary",
    "feature",
    "flag",
    "experiment",
    "cohort",
    "funnel",
    "report",
    "export",
    "import",
    "spreadsheet",
    "attachment",
    "thumbnail",
    "avatar",
    "gallery",
    "playlist",
    "podcast",
    "episode",
    "subtitle",
    "caption",
    "keyboard",
    "shortcut",
    "gesture",
    "animation",
    "transition",
    "gradient",
    "typography",
    "ligature",
    "kerning",
    "glyph",
    "bitmap",
    "vector",
    "polygon",
    "raster",
    "shader",
    "texture",
    "quaternion",
    "matrix",
    "tensor",
    "gradients",
    "epoch",
    "heuristic",
    "annealing",
    "lattice",
    "topology",
    "manifold",
];

const PROJECTS: &[&str] =
    &["shop", "site", "tools", "notes", "mail", "maps", "bank", "garden", "library", "weather", "music", "travel"];

/// Makes text.
#[derive(Debug)]
pub struct Words {
    state: u64,
}

impl Words {
    /// A word in many texts.
    pub const OFTEN: &str = "database";
    /// A word in exactly one text of a store.
    pub const ONCE: &str = "xylophone";
    /// A word in no text.
    pub const NEVER: &str = "zeppelin";

    /// Begins from the beginning.
    pub fn new() -> Self {
        Self { state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// A number from 0 up to 1 (xorshift).
    fn share(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A word. The words at the beginning of the vocabulary are the frequent ones.
    pub fn word(&mut self) -> &'static str {
        let share = self.share().powi(3);
        VOCABULARY[(share * VOCABULARY.len() as f64) as usize]
    }

    /// About this many words.
    pub fn sentence(&mut self, words: usize) -> String {
        let count = words / 2 + (self.share() * words as f64) as usize + 1;
        let mut sentence = String::with_capacity(8 * count);
        for index in 0..count {
            if index > 0 {
                sentence.push(' ');
            }
            sentence.push_str(self.word());
        }
        sentence
    }

    /// The name of a project.
    pub fn project(&mut self) -> &'static str {
        PROJECTS[(self.share() * PROJECTS.len() as f64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_words_are_frequent_and_some_are_rare() {
        let mut words = Words::new();
        let text = words.sentence(20_000);
        let count = |word: &str| text.split(' ').filter(|found| *found == word).count();
        assert!(count("the") > 20 * count("topology").max(1), "{} {}", count("the"), count("topology"));
        assert_eq!(Words::new().sentence(20), Words::new().sentence(20));
    }
}
