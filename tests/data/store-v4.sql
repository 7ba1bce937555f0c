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
    , racing INTEGER NOT NULL DEFAULT 0, digest TEXT, receipt TEXT, asker TEXT, boot TEXT, expires_boot INTEGER, lifetime INTEGER, question_sum INTEGER, detail_sum INTEGER, outcome_sum INTEGER) STRICT;
INSERT INTO asks VALUES(1,'s4__answered','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "answered"}}',1794856034113,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"A"},"notes":{"Which?":"a note"}}','{"channel":"page","agent":"browser/1.0","device":"Anna''s phone"}',1794856034132,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c','{"answers":{"Which?":"A"},"as_sent":true,"at":"2026-11-16T19:07:14.139040077Z"}','4711',NULL,NULL,NULL,4852810496940189163,-2930137975013661718,-5532791377555530433);
INSERT INTO asks VALUES(2,'s4__terminal','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"1","entrypoint":"cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "terminal"}}',1794856034142,NULL,'native',0,'{"kind":"answered_in_terminal","answers":{"Which?":"B"}}','{"channel":"terminal"}',1794856034649,1,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c','{"answers":{"Which?":"B"},"as_sent":true,"at":"2026-11-16T19:07:14.65700962Z"}','4711',NULL,NULL,NULL,4999955301839328331,8501164496748711392,5452472238517387232);
INSERT INTO asks VALUES(3,'s4__dismissed','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "dismissed"}}',1794856034662,NULL,'native',0,'{"kind":"dismissed","reason":"not today"}','{"channel":"page","agent":"browser/1.0","device":"Firefox on Linux"}',1794856034684,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c',NULL,'4711',NULL,NULL,NULL,6924358669290233981,979301555329857740,-7652674437034017166);
INSERT INTO asks VALUES(4,'s4__released','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "released"}}',1794856034688,NULL,'native',0,'{"kind":"released"}','{"channel":"socket"}',1794856034711,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c',NULL,'4711',NULL,NULL,NULL,-7688912392316781062,4351370019803279246,-8242051202121441467);
INSERT INTO asks VALUES(5,'s4__withdrawn','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "withdrawn"}}',1794856034717,NULL,'native',0,'{"kind":"withdrawn"}',NULL,1794856037043,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c',NULL,'4711',NULL,NULL,NULL,-2890734053091652066,427371124238381761,-4272796935024978663);
INSERT INTO asks VALUES(6,'program-ccf159e950de__c7cbf1f1e31a','program-ccf159e950de','program',NULL,'[{"question":"Soon?","header":"","options":[{"label":"Yes","description":""},{"label":"No","description":""}],"multiSelect":false,"freeText":false}]','',1794856037066,1794856038066,'native',0,'{"kind":"expired"}',NULL,1794856038067,0,NULL,NULL,NULL,'3f0a3a0e-6d0b-4b52-9c7e-0a4f1d2b7c55',12510582,1000,-439436144868823608,-2191435630230108034,5699688813791435919);
INSERT INTO asks VALUES(7,'s4__deferred','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711","mode":"defer"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "deferred"}}',1794856038097,NULL,'defer',1,NULL,NULL,NULL,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c',NULL,'4711',NULL,NULL,NULL,3500781334878669663,-2271715692515896656,NULL);
INSERT INTO asks VALUES(8,'program-2d2a2ac61aee__b7146bdfe63e','program-2d2a2ac61aee','program','/home/me/site','[{"question":"Deploy?","header":"","options":[{"label":"Yes","description":""},{"label":"No","description":""}],"multiSelect":false}]','',1794856038103,6089823333103,'native',0,NULL,NULL,NULL,0,NULL,NULL,NULL,'3f0a3a0e-6d0b-4b52-9c7e-0a4f1d2b7c55',4294979805618,4294967295000,5401456269300654052,-8820255259314665507,NULL);
INSERT INTO asks VALUES(9,'s4__open','s4','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first","preview":"look"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s4", "hook_event_name": "PreToolUse", "cwd": "/home/me/shop", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first", "preview": "look"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "open"}}',1794856038113,NULL,'native',0,NULL,NULL,NULL,0,'c1881bc2c1e6caf0e99024ad71c7699be94d1cf1e21f726c671257455605456c',NULL,'4711',NULL,NULL,NULL,6327500284580134411,6072903315517301927,NULL);
CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
INSERT INTO events VALUES(1,1,'ask.opened',1794856034113);
INSERT INTO events VALUES(2,1,'ask.settled',1794856034132);
INSERT INTO events VALUES(3,1,'ask.receipt',1794856034139);
INSERT INTO events VALUES(4,2,'ask.opened',1794856034142);
INSERT INTO events VALUES(5,2,'ask.settled',1794856034649);
INSERT INTO events VALUES(6,2,'ask.receipt',1794856034657);
INSERT INTO events VALUES(7,3,'ask.opened',1794856034662);
INSERT INTO events VALUES(8,3,'ask.settled',1794856034684);
INSERT INTO events VALUES(9,4,'ask.opened',1794856034688);
INSERT INTO events VALUES(10,4,'ask.settled',1794856034711);
INSERT INTO events VALUES(11,5,'ask.opened',1794856034717);
INSERT INTO events VALUES(12,5,'ask.settled',1794856037043);
INSERT INTO events VALUES(13,6,'ask.opened',1794856037066);
INSERT INTO events VALUES(14,6,'ask.settled',1794856038067);
INSERT INTO events VALUES(15,7,'ask.opened',1794856038097);
INSERT INTO events VALUES(16,7,'ask.deferred',1794856038099);
INSERT INTO events VALUES(17,8,'ask.opened',1794856038103);
INSERT INTO events VALUES(18,9,'ask.opened',1794856038113);
CREATE TABLE devices (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        name         TEXT NOT NULL,
        kind         TEXT NOT NULL,
        token_hash   BLOB NOT NULL UNIQUE,
        created_at   INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL
    ) STRICT;
INSERT INTO devices VALUES(1,'Firefox on Linux','page',X'456a36217112b49543028da67f585b24bcff5365453ffbd93b0937314e21d001',1794856034099,1794856034099);
INSERT INTO devices VALUES(2,'Anna''s phone','paired',X'3c039203212f998302b2a51bb11348d7422f02e2e47677a491b54e408cd471d2',1794856034103,1794856034103);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('devices',2);
INSERT INTO sqlite_sequence VALUES('asks',9);
INSERT INTO sqlite_sequence VALUES('events',18);
CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON asks (key, id);
CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX events_ask ON events (ask);
CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
COMMIT;
PRAGMA application_id = 1095652183;
PRAGMA user_version = 4;
