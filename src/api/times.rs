//! How times are written.

use jiff::Timestamp;
use serde::Serializer;

/// Writes a time with milliseconds always, so that the texts sort in the order of the times.
pub(super) fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.3}"))
}

pub(super) fn time_or_null<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => self::time(time, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_times_sort_in_the_order_of_the_times() {
        let text = |millis: i64| {
            let mut json = Vec::new();
            time(&Timestamp::from_millisecond(millis).unwrap(), &mut serde_json::Serializer::new(&mut json)).unwrap();
            String::from_utf8(json).unwrap()
        };
        assert_eq!(text(640), "\"1970-01-01T00:00:00.640Z\"");
        assert!(text(1000) < text(1638) && text(1638) < text(1640));
    }
}
