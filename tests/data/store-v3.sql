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
INSERT INTO "asks" VALUES(1,'s3__open','s3','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"agent_pid":"4711"},"hook":{"session_id":"s3","hook_event_name":"PreToolUse","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_use_id":"open","tool_input":{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]}]}}}',1794850385439,NULL,'native',0,NULL,NULL,NULL,0,'ff54abdb07603bba8d3de6029029d5a105bac2d1cbd619cfcc946e401763f919',NULL);
INSERT INTO "asks" VALUES(2,'s3__answered','s3','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"agent_pid":"4711"},"hook":{"session_id":"s3","hook_event_name":"PreToolUse","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_use_id":"answered","tool_input":{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]}]}}}',1794850385445,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"A"},"notes":{"Which?":"a note"}}','{"channel":"token","agent":"curl/7.88.1"}',1794850386759,0,'ff54abdb07603bba8d3de6029029d5a105bac2d1cbd619cfcc946e401763f919',NULL);
INSERT INTO "asks" VALUES(3,'doctor-1234__round-trip','doctor-1234','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{},"hook":{"session_id":"doctor-1234","hook_event_name":"PreToolUse","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_use_id":"round-trip","tool_input":{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"first"},{"label":"B","description":"second"}]}]}}}',1794850385445,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"B"}}','{"channel":"token","agent":"curl/7.88.1"}',1794850386779,0,'ff54abdb07603bba8d3de6029029d5a105bac2d1cbd619cfcc946e401763f919',NULL);
INSERT INTO "asks" VALUES(4,'program-2c0b43d5ef97__4c44cf43647a','program-2c0b43d5ef97','program',NULL,'[{"question":"Deploy?","header":"","options":[{"label":"Yes","description":""},{"label":"No","description":""}],"multiSelect":false}]','',1794850386807,7258118400000,'native',0,NULL,NULL,NULL,0,NULL,NULL);
CREATE TABLE devices (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        name         TEXT NOT NULL,
        kind         TEXT NOT NULL,
        token_hash   BLOB NOT NULL UNIQUE,
        created_at   INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL
    ) STRICT;
CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
INSERT INTO "events" VALUES(1,1,'ask.opened',1794850385439);
INSERT INTO "events" VALUES(2,2,'ask.opened',1794850385445);
INSERT INTO "events" VALUES(3,3,'ask.opened',1794850385445);
INSERT INTO "events" VALUES(4,2,'ask.settled',1794850386759);
INSERT INTO "events" VALUES(5,3,'ask.settled',1794850386779);
INSERT INTO "events" VALUES(6,4,'ask.opened',1794850386807);
CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON asks (key, id);
CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX events_ask ON events (ask);
CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('devices',0);
INSERT INTO "sqlite_sequence" VALUES('asks',4);
INSERT INTO "sqlite_sequence" VALUES('events',6);
COMMIT;
PRAGMA application_id = 1095652183;
PRAGMA user_version = 3;
