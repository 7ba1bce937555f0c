//! The machines that have asks, and their projects. The table `hosts` is a part of the search index: it has the machine and the project of
//! every ask in the index, in short rows. So a list of one machine does not have to read the asks of the others.

use rusqlite::Connection;

use crate::store::HostProjects;

/// Writes the machine of an ask that is put into the index.
pub(super) fn write(connection: &Connection, id: i64, host: &str, project: Option<&str>) -> rusqlite::Result<()> {
    connection.prepare_cached("INSERT OR REPLACE INTO hosts (ask, host, project) VALUES (?1, ?2, ?3)")?.execute((
        id,
        host,
        project.unwrap_or_default(),
    ))?;
    Ok(())
}

/// Writes the machines of all asks that an older schema has in its index. A probe is in no list of projects, so it is not here.
pub(super) fn write_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO hosts (ask, host, project)
         SELECT ask, host, coalesce(texts.project, '') FROM texts CROSS JOIN asks ON asks.id = ask
         WHERE host IS NOT NULL AND origin <> 'probe'",
        [],
    )?;
    Ok(())
}

/// The machines that have asks, in alphabetical order, each with its projects. Of the asks in the index, it goes from one project to the
/// next, not from ask to ask. It reads the few others.
pub(super) fn projects(connection: &Connection) -> rusqlite::Result<Vec<HostProjects>> {
    let mut statement = connection.prepare_cached(PROJECTS)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()?;
    Ok(HostProjects::from_rows(rows))
}

pub(super) const PROJECTS: &str = "
    WITH RECURSIVE found (ask) AS (
        SELECT (SELECT ask FROM hosts ORDER BY host, project LIMIT 1)
        UNION ALL
        SELECT (SELECT next.ask FROM hosts AS next WHERE (next.host, next.project) > (hosts.host, hosts.project)
                ORDER BY next.host, next.project LIMIT 1)
        FROM found CROSS JOIN hosts ON hosts.ask = found.ask
    )
    SELECT host, project FROM found CROSS JOIN hosts ON hosts.ask = found.ask
    UNION
    SELECT host, coalesce(project, '') FROM waiting CROSS JOIN asks ON asks.id = ask
    WHERE host IS NOT NULL AND origin <> 'probe'
    UNION
    SELECT host, coalesce(project, '') FROM asks INDEXED BY asks_open
    WHERE outcome IS NULL AND host IS NOT NULL AND origin <> 'probe'
    ORDER BY host, project";
