//! The terminal. Only this module touches it, and it restores it in every case.
//!
//! Keys are read from the descriptor as soon as it has some, so that a terminal that goes away is noticed and a line that
//! is slow does not turn an arrow into an Esc.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use anstyle::Style;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::{SigId, low_level};

use super::keys::{Decoder, Key};
use super::view::{Frame, Line, Size};

/// Alternate screen, no wrapping at the edge, pasted text marked as such.
const ENTER: &str = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?2004l\x1b[?7h\x1b[?1049l";
/// A terminal that knows these shows what is between them at once; others ignore them.
const BEGIN_UPDATE: &str = "\x1b[?2026h\x1b[?25l";
const END_UPDATE: &str = "\x1b[?2026l";
/// How long the rest of a sequence may take.
const ESCAPE: Duration = Duration::from_millis(60);

/// How the terminal was before a thread took it; `None` while nobody has. There is one terminal, and one set of signal
/// handlers.
static TAKEN: Mutex<Option<(Termios, ThreadId)>> = Mutex::new(None);
static ON_THE_WAY_OUT: Once = Once::new();

/// Why a wait ended.
#[derive(Debug)]
pub(super) enum Event {
    Keys(Vec<Key>),
    /// The size may have changed, or somebody wrote to the waker.
    Woken,
}

/// The terminal while it is ours.
#[derive(Debug)]
pub(super) struct Screen {
    decoder: Decoder,
    woken: UnixStream,
    waker: UnixStream,
    resize: SigId,
    has_colours: bool,
    /// What was drawn, and on what size.
    shown: Vec<String>,
    size: Option<Size>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn open() -> io::Result<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        if is_dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "there is no terminal to choose in"));
        }
        prepare_the_ways_out()?;
        let (woken, waker) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let resize = low_level::pipe::register(SIGWINCH, waker.try_clone()?)?;
        let has_colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        // From here on, dropping the screen restores the terminal.
        let screen =
            Self { decoder: Decoder::default(), woken, waker, resize, has_colours, shown: Vec::new(), size: None };
        take()?;
        Ok(screen)
    }

    /// One byte on it makes [`Self::wait`] return.
    pub(super) fn waker(&self) -> io::Result<UnixStream> {
        self.waker.try_clone()
    }

    pub(super) fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(io::stdout())?;
        // Some terminals do not know, and say 0.
        let or = |cells: u16, usual: usize| if cells == 0 { usual } else { usize::from(cells) };
        Ok(Size { columns: or(size.ws_col, 80), rows: or(size.ws_row, 24) })
    }

    /// Shows a frame: the lines that changed, in one write.
    pub(super) fn draw(&mut self, frame: &Frame, size: Size) -> io::Result<()> {
        let mut out = String::from(BEGIN_UPDATE);
        if self.size != Some(size) {
            out.push_str("\x1b[2J");
            self.shown.clear();
            self.size = Some(size);
        }
        let lines: Vec<_> = (0..size.rows).map(|row| self.paint(frame.lines.get(row))).collect();
        for (row, line) in lines.iter().enumerate() {
            if self.shown.get(row) != Some(line) {
                out.push_str(&format!("\x1b[{};1H\x1b[0m\x1b[K{line}", row + 1));
            }
        }
        if let Some((row, column)) = frame.cursor {
            out.push_str(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1));
        }
        out.push_str(END_UPDATE);
        self.shown = lines;
        // Nothing may be drawn after somebody else has given the terminal back.
        let taken = taken();
        if taken.is_some() { write(&out) } else { Ok(()) }
    }

    fn paint(&self, line: Option<&Line>) -> String {
        let mut out = String::new();
        let mut end = 0;
        for span in line.map_or(&[][..], |line| &line.spans) {
            if span.column != end {
                out.push_str(&format!("\x1b[{}G", span.column + 1));
            }
            let style = if self.has_colours { span.style } else { Style::new().effects(span.style.get_effects()) };
            out.push_str(&format!("{style}{}{style:#}", span.text));
            end = span.end();
        }
        out
    }

    /// Waits for keys or to be woken.
    pub(super) fn wait(&mut self) -> io::Result<Event> {
        loop {
            let limit = self.decoder.is_undecided().then_some(ESCAPE);
            let limit = limit.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
            let stdin = io::stdin();
            let mut descriptors = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
            match poll(&mut descriptors, limit.as_ref()) {
                // A signal interrupted the wait. If it matters, its handler has written to the waker.
                Err(Errno::INTR) => continue,
                result => drop(result?),
            }
            let [keys, woken] = descriptors.map(|descriptor| descriptor.revents());
            if !woken.is_empty() {
                while self.woken.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
                return Ok(Event::Woken);
            }
            if keys.is_empty() {
                if let Some(key) = self.decoder.decide() {
                    return Ok(Event::Keys(vec![key]));
                }
                continue;
            }
            let mut bytes = [0; 4096];
            let length = match rustix::io::read(&stdin, &mut bytes) {
                Err(Errno::INTR) => continue,
                result => result?,
            };
            if length == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal is gone"));
            }
            let keys = self.decoder.feed(&bytes[..length]);
            if !keys.is_empty() {
                return Ok(Event::Keys(keys));
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        low_level::unregister(self.resize);
        give_back();
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn taken() -> MutexGuard<'static, Option<(Termios, ThreadId)>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take() -> io::Result<()> {
    let mut taken = taken();
    let before = tcgetattr(io::stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    *taken = Some((before, thread::current().id()));
    // Drop the keys that were typed before anything was shown.
    tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
    write(ENTER)
}

/// Restores the terminal. Calling it again does nothing. Keys that were not read are dropped: they were not meant for the shell.
fn give_back() {
    let mut taken = taken();
    if let Some((before, _)) = taken.take() {
        // Ignore failures: the terminal may be gone.
        let _ = write(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
    }
}

/// Restores the terminal before a panic is reported, and before a signal ends the program.
fn prepare_the_ways_out() -> io::Result<()> {
    let mut result = Ok(());
    ON_THE_WAY_OUT.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A panic on another thread does not end the picker.
            let is_ours = taken().as_ref().is_some_and(|(_, taker)| *taker == thread::current().id());
            if is_ours {
                give_back();
            }
            tell(info);
        }));
        result = end_on_signals();
    });
    result
}

fn end_on_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let end = move || {
        for signal in signals.forever() {
            give_back();
            let _ = low_level::emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals".into()).spawn(end).map(drop)
}
