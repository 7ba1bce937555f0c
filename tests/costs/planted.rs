//! A hook that does needless work before its own: it connects once more, and formats 20 kB. `tests/costs/run.sh --self-test` builds it, and
//! the check must notice it.

use std::fmt::Write;
use std::os::unix::net::UnixStream;

fn main() -> std::process::ExitCode {
    if let Some(home) = std::env::var_os("HOME") {
        let socket = std::path::Path::new(&home).join(".local/state/answerback/daemon.sock");
        let _needless = UnixStream::connect(socket);
    }
    let mut text = String::new();
    for number in 0..2000 {
        let _ = write!(text, "{number:>10}");
    }
    std::hint::black_box(text);
    answerback_hook::hook::main()
}
