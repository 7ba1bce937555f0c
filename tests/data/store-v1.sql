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
    ) STRICT;
INSERT INTO asks VALUES(1,'s1__answered','s1','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X"},{"label":"Y"}],"multiSelect":true}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"hook_event_name":"PreToolUse","session_id":"s1","tool_use_id":"answered","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X","description":""},{"label":"Y","description":""}],"multiSelect":true}]}}}',1794803422177,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"A","Many?":"X, Y"},"notes":{"Which?":"a note"}}','{"channel":"token","agent":"companion/1.0"}',1794803422866);
INSERT INTO asks VALUES(2,'s1__dismissed','s1','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X"},{"label":"Y"}],"multiSelect":true}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"hook_event_name":"PreToolUse","session_id":"s1","tool_use_id":"dismissed","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X","description":""},{"label":"Y","description":""}],"multiSelect":true}]}}}',1794803422877,NULL,'native',0,'{"kind":"dismissed","reason":"not today"}','{"channel":"token","agent":"companion/1.0"}',1794803423555);
INSERT INTO asks VALUES(3,'s1__withdrawn','s1','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X"},{"label":"Y"}],"multiSelect":true}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"hook_event_name":"PreToolUse","session_id":"s1","tool_use_id":"withdrawn","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X","description":""},{"label":"Y","description":""}],"multiSelect":true}]}}}',1794803423563,NULL,'native',0,'{"kind":"withdrawn"}',NULL,1794803426235);
INSERT INTO asks VALUES(4,'s1__deferred','s1','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X"},{"label":"Y"}],"multiSelect":true}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"hook_event_name":"PreToolUse","session_id":"s1","tool_use_id":"deferred","cwd":"/home/me/shop","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false},{"question":"Many?","header":"Pick","options":[{"label":"X","description":""},{"label":"Y","description":""}],"multiSelect":true}]}}}',1794803427194,NULL,'defer',1,NULL,NULL,NULL);
CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
INSERT INTO events VALUES(1,1,'ask.opened',1794803422177);
INSERT INTO events VALUES(2,1,'ask.settled',1794803422866);
INSERT INTO events VALUES(3,2,'ask.opened',1794803422877);
INSERT INTO events VALUES(4,2,'ask.settled',1794803423555);
INSERT INTO events VALUES(5,3,'ask.opened',1794803423563);
INSERT INTO events VALUES(6,3,'ask.settled',1794803426235);
INSERT INTO events VALUES(7,4,'ask.opened',1794803427194);
INSERT INTO events VALUES(8,4,'ask.deferred',1794803428195);
CREATE TABLE page_sessions (
        token_hash BLOB PRIMARY KEY,
        created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('asks',4);
INSERT INTO sqlite_sequence VALUES('events',8);
CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON asks (key, id);
CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX events_ask ON events (ask);
COMMIT;
PRAGMA application_id = 1095652183;
PRAGMA user_version = 1;
