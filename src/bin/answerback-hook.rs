//! The program Claude Code runs; everything it does is in the `answerback_hook` crate.

fn main() -> std::process::ExitCode {
    answerback_hook::hook::main()
}
