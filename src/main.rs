//! The `answerback` command.

fn main() -> std::process::ExitCode {
    answerback::cli::run()
}
