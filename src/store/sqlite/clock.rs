//! Deadlines across restarts. Somebody may have set the wall clock meanwhile. Nobody can set the time since the machine was started.

use jiff::Timestamp;
use rusqlite::{Connection, named_params};

/// How long the machine has been running, and in which run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing makes one there"))]
pub(super) struct Uptime {
    /// Names this run of the machine.
    pub(super) boot: String,
    /// Milliseconds since it began, with the time it was asleep.
    pub(super) milliseconds: i64,
}

impl Uptime {
    /// `None` where the operating system does not tell.
    #[cfg(target_os = "linux")]
    pub(super) fn now() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Some(Self { boot, milliseconds: time.tv_sec * 1000 + time.tv_nsec / 1_000_000 })
    }

    /// `None` where the operating system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn now() -> Option<Self> {
        None
    }

    /// Converts a time of the wall clock to uptime, given the wall clock now.
    pub(super) fn at(&self, moment: Timestamp, now: Timestamp) -> i64 {
        self.milliseconds + (moment.as_millisecond() - now.as_millisecond())
    }
}

/// Two clocks that differ by less than this are the same. They are never in step to the millisecond.
const IN_STEP: i64 = 1000;

/// Gives every open ask the time it had left, whatever happened to the wall clock. If the machine was started again since, only the
/// wall clock is left; but then no ask gets more time than it had in the first place.
pub(super) fn go_on(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let uptime = Uptime::now();
    let values = named_params! {
        ":now": now.as_millisecond(),
        ":boot": uptime.as_ref().map(|uptime| &uptime.boot),
        ":uptime": uptime.as_ref().map(|uptime| uptime.milliseconds),
    };
    let deadline = format!(
        "CASE WHEN boot = :boot AND expires_boot IS NOT NULL
             THEN iif(abs(:now + expires_boot - :uptime - expires_at) < {IN_STEP}, expires_at, :now + expires_boot - :uptime)
         ELSE min(expires_at, :now + coalesce(lifetime, max(expires_at - opened_at, 0))) END"
    );
    // A row that stays as it is must not be written: then the start need not wait for the disk.
    connection.execute(
        &format!(
            "UPDATE asks SET expires_at = {deadline}
             WHERE outcome IS NULL AND expires_at IS NOT NULL AND expires_at IS NOT {deadline}"
        ),
        values,
    )?;
    // From here on, deadlines count in this run of the machine.
    connection.execute(
        "UPDATE asks SET boot = :boot, expires_boot = :uptime + (expires_at - :now)
         WHERE outcome IS NULL AND expires_at IS NOT NULL AND boot IS NOT :boot",
        values,
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left after a restart with the wall clock at `now`, of an ask that was opened at 1,000,000 with ten seconds.
    fn left(now: i64, boot: Option<&str>, expires_boot: Option<i64>) -> i64 {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE asks (outcome TEXT, opened_at INTEGER, expires_at INTEGER, boot TEXT, expires_boot INTEGER, lifetime INTEGER)",
            )
            .unwrap();
        connection
            .execute("INSERT INTO asks VALUES (NULL, 1000000, 1010000, ?1, ?2, 10000)", (boot, expires_boot))
            .unwrap();
        go_on(&connection, Timestamp::from_millisecond(now).unwrap()).unwrap();
        let expires_at: i64 = connection.query_row("SELECT expires_at FROM asks", [], |row| row.get(0)).unwrap();
        expires_at - now
    }

    #[test]
    fn the_wall_clock_does_not_count_while_the_machine_runs() {
        let Some(uptime) = Uptime::now() else { return };
        for now in [1_000_000, 1_000_000 + 86_400_000, 1_000_000 - 86_400_000 + 90_000_000] {
            let left = left(now, Some(&uptime.boot), Some(uptime.milliseconds + 7_000));
            assert!((5_000..=7_000).contains(&left), "{left}");
        }
    }

    #[test]
    fn after_another_start_of_the_machine_the_wall_clock_counts_once() {
        let Some(uptime) = Uptime::now() else { return };
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE asks (outcome TEXT, opened_at INTEGER, expires_at INTEGER, boot TEXT, expires_boot INTEGER, lifetime INTEGER);
                 INSERT INTO asks VALUES (NULL, 1000000, 1010000, 'another', 5, 10000)",
            )
            .unwrap();
        go_on(&connection, Timestamp::from_millisecond(1_004_000).unwrap()).unwrap();
        let (boot, expires_boot): (String, i64) = connection
            .query_row("SELECT boot, expires_boot FROM asks", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(boot, uptime.boot);
        assert!((5_000..=7_000).contains(&(expires_boot - uptime.milliseconds)), "{expires_boot}");
    }

    #[test]
    fn after_another_start_of_the_machine_nobody_gets_more_time_than_before() {
        assert_eq!(left(1_004_000, Some("another"), Some(5)), 6_000);
        assert_eq!(left(1_020_000, Some("another"), Some(5)), -10_000);
        // The clock was set back by a day.
        assert_eq!(left(90_000_000 - 86_400_000, None, None), 1_010_000 - 3_600_000);
        assert_eq!(left(500_000, None, None), 10_000);
    }
}
