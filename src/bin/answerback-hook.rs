//! The program Claude Code runs; everything it does is in the `answerback_hook` crate.

use answerback_hook::arena::Arena;

#[global_allocator]
static MEMORY: Arena = Arena::new();

fn main() -> std::process::ExitCode {
    answerback_hook::hook::main()
}
