//! Times and durations for people.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The clock of this machine. It is only for what a person reads: a daemon may have another clock.
#[expect(clippy::disallowed_methods, reason = "nothing is decided with it")]
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// How long ago, in one unit.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time in the time zone of this machine.
pub(super) fn local(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// An upper limit that keeps the arithmetic in range.
const MAX_DAYS: i64 = 100 * 366;

/// `90s`, `10m`, `2h 30m`, `1d`: for clap.
pub(super) fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<i64>().ok());
    let duration = match days {
        // A day is always 24 hours here, also when the clocks change.
        Some(days) => SignedDuration::from_hours(days.clamp(0, MAX_DAYS) * 24),
        None => text.parse::<SignedDuration>().map_err(|_| "a duration is like 90s, 10m, 2h or 7d".to_owned())?,
    };
    if duration > SignedDuration::ZERO { Ok(duration) } else { Err("a duration is longer than nothing".to_owned()) }
}

/// A duration back from now, or a date: for clap.
pub(super) fn parse_since(text: &str) -> Result<Timestamp, String> {
    if let Ok(duration) = parse_duration(text) {
        return now().checked_sub(duration).map_err(|error| error.to_string());
    }
    let date: jiff::civil::Date = text.parse().map_err(|_| "a time is like 7d, 12h or 2026-11-16".to_owned())?;
    date.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let then = Timestamp::UNIX_EPOCH;
        for (seconds, text) in [(-5, "0 s"), (0, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (200_000, "2 d")] {
            assert_eq!(age(then, then + SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn durations_are_written_as_people_write_them() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("2h 30m", 9000), ("1d", 86_400), ("1h", 3600)] {
            assert_eq!(parse_duration(text), Ok(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "10", "soon", "-5m", "0s", "0d", "-9223372036854775808d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert!(parse_since("9223372036854775807d").is_ok());
        assert!(parse_since("2026-11-16").is_ok() && parse_since("7d").is_ok() && parse_since("monday").is_err());
    }
}
