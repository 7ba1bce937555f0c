PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE asks (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        key        TEXT NOT NULL,
        session    TEXT NOT NULL,
        origin     TEXT NOT NULL,
        project    TEXT,
        questions  TEXT NOT NULL,               -- JSON
        detail     TEXT NOT NULL,               -- what the origin needs for its reply
        opened_at  INTEGER NOT NULL,            -- milliseconds since 1970, as all times
        expires_at INTEGER,
        on_timeout TEXT NOT NULL,
        deferred   INTEGER NOT NULL DEFAULT 0,
        outcome    TEXT,                        -- JSON; NULL while open
        settled_by TEXT,                        -- JSON; NULL where nobody did
        settled_at INTEGER
    , racing INTEGER NOT NULL DEFAULT 0, digest TEXT, receipt TEXT) STRICT;
INSERT INTO "asks" VALUES(1,'s2__answered','s2','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{},"hook":{"session_id":"s2","transcript_path":"/none.jsonl","cwd":"/home/me/shop","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"answered","tool_input":{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]}]}}}',1794812884421,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"A"},"notes":{"Which?":"a note"}}','{"channel":"page","agent":"browser/1.0"}',1794812884942,0,'ff54abdb07603bba8d3de6029029d5a105bac2d1cbd619cfcc946e401763f919','{"answers":{"Which?":"A"},"as_sent":true,"at":"2026-11-16T07:08:04.96508145Z"}');
INSERT INTO "asks" VALUES(2,'program-9ada23589ed5__0b9919c5876d','program-9ada23589ed5','program',NULL,'[{"question":"Open?","header":"","options":[],"multiSelect":false}]','',1794812885001,NULL,'native',0,NULL,NULL,NULL,0,NULL,NULL);
CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
INSERT INTO "events" VALUES(1,1,'ask.opened',1794812884421);
INSERT INTO "events" VALUES(2,1,'ask.settled',1794812884942);
INSERT INTO "events" VALUES(3,1,'ask.receipt',1794812884965);
INSERT INTO "events" VALUES(4,2,'ask.opened',1794812885001);
CREATE TABLE page_sessions (
        token_hash BLOB PRIMARY KEY,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
INSERT INTO "page_sessions" VALUES(X'C9A90C4D4DDA71423D6AD667668DB18E54CF22FB0886EE8BCE1FE6898948B1FE',1794812884378);
CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON asks (key, id);
CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX events_ask ON events (ask);
CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('asks',2);
INSERT INTO "sqlite_sequence" VALUES('events',4);
COMMIT;
PRAGMA application_id = 1095652183;
PRAGMA user_version = 2;
