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
    , racing INTEGER NOT NULL DEFAULT 0, digest TEXT, receipt TEXT, asker TEXT, boot TEXT, expires_boot INTEGER, lifetime INTEGER, question_sum INTEGER, detail_sum INTEGER, outcome_sum INTEGER, kind TEXT NOT NULL DEFAULT 'question', subject TEXT, host TEXT) STRICT;
INSERT INTO asks VALUES(1,'s5__answered','s5','claude-code','/home/me/shop','[{"question":"Which?","header":"Pick","options":[{"label":"A","description":"first"},{"label":"B","description":"second"}],"multiSelect":false}]','{"client":{"attended":"0","entrypoint":"sdk-cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s5", "cwd": "/home/me/shop", "transcript_path": "/none.jsonl", "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]}]}, "tool_use_id": "answered"}}',1794869221820,NULL,'native',0,'{"kind":"answered","answers":{"Which?":"A"}}','{"channel":"socket","agent":"curl/8"}',1794869221960,0,'ff54abdb07603bba8d3de6029029d5a105bac2d1cbd619cfcc946e401763f919',NULL,'4711',NULL,NULL,NULL,-4039266582161125964,3969033091840507055,-146128630478262741,'question',NULL,'workstation');
INSERT INTO asks VALUES(2,'s5__permission','s5','claude-code','/home/me/shop','[{"question":"Allow Bash?\n\nnpm test","header":"Bash","options":[{"label":"Allow once","description":"Only this call."},{"label":"Always allow Bash(npm test)","description":"Writes Bash(npm test) to .claude/settings.local.json."},{"label":"Deny","description":"Words of your own deny the call too, and the agent reads them."}],"multiSelect":false}]','{"client":{"attended":"1","entrypoint":"cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s5", "cwd": "/home/me/shop", "transcript_path": "/none.jsonl", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "npm test", "description": "A test"}, "permission_suggestions": [{"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}]}]}}',1794869222080,NULL,'native',0,'{"kind":"answered","answers":{"Allow Bash?\n\nnpm test":"Allow once"},"edited":{"command":"npm test --quick"}}','{"channel":"socket","agent":"curl/8"}',1794869222214,1,'edc8fbd028decbbb91dc89289c1e5c82c940183f59e0c35416ccad5cda179a76',NULL,'4711',NULL,NULL,NULL,-1921018268520872422,7949391238755905140,-5441390469359120109,'permission','{"tool":"Bash","input":{"command":"npm test","description":"A test"},"directory":"/home/me/shop","command":"npm test","grants":[{"label":"Always allow Bash(npm test)","rules":["Bash(npm test)"],"file":".claude/settings.local.json"}]}','workstation');
INSERT INTO asks VALUES(3,'s5__plan','s5','claude-code','/home/me/shop','[{"question":"Approve this plan?\n\n# Add a search\n\n1. Index","header":"Plan","options":[{"label":"Approve, accept edits","description":"The agent edits files in this session without asking."},{"label":"Approve, ask before each edit","description":"The agent asks before it edits a file."},{"label":"Keep planning","description":"Words of your own send the plan back too, and the agent reads them."}],"multiSelect":false}]','{"client":{"attended":"1","entrypoint":"cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s5", "cwd": "/home/me/shop", "transcript_path": "/none.jsonl", "hook_event_name": "PreToolUse", "tool_name": "ExitPlanMode", "tool_input": {"plan": "# Add a search\n\n1. Index", "planFilePath": "/home/me/.claude/plans/a.md"}, "tool_use_id": "plan"}}',1794869222308,NULL,'native',0,'{"kind":"answered","answers":{"Approve this plan?\n\n# Add a search\n\n1. Index":"tests first"}}','{"channel":"socket","agent":"curl/8"}',1794869222511,1,'2f5c4ec121dc21c92a301af3df967e4aa9f2e886d7e3888061729e9c6bba5d2f',NULL,'4711',NULL,NULL,NULL,6575369213855676940,3621340003468101631,-2148356475767196020,'plan','{"plan":"# Add a search\n\n1. Index","file":"/home/me/.claude/plans/a.md"}','workstation');
INSERT INTO asks VALUES(4,'s5__open','s5','claude-code','/home/me/shop','[{"question":"Allow Bash?\n\nnpm run build","header":"Bash","options":[{"label":"Allow once","description":"Only this call."},{"label":"Always allow Bash(npm run build)","description":"Writes Bash(npm run build) to .claude/settings.local.json."},{"label":"Deny","description":"Words of your own deny the call too, and the agent reads them."}],"multiSelect":false}]','{"client":{"attended":"1","entrypoint":"cli","agent":"claude-code_2-1-325_harness","agent_pid":"4711"},"hook":{"session_id": "s5", "cwd": "/home/me/shop", "transcript_path": "/none.jsonl", "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {"command": "npm run build", "description": "A test"}, "permission_suggestions": [{"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": "Bash", "ruleContent": "npm run build"}]}]}}',1794869230386,NULL,'native',0,'{"kind":"withdrawn"}',NULL,1794892223154,1,'88ee34db1e78b6f59844850ba6017a3c7de0b3768b6ad974220f28972784c05d',NULL,'4711',NULL,NULL,NULL,-1639067028494829224,4727584478700888062,-2319917159697125956,'permission','{"tool":"Bash","input":{"command":"npm run build","description":"A test"},"directory":"/home/me/shop","command":"npm run build","grants":[{"label":"Always allow Bash(npm run build)","rules":["Bash(npm run build)"],"file":".claude/settings.local.json"}]}','workstation');
INSERT INTO asks VALUES(5,'program-543bb399fe1f__0ac7e5d67654','program-543bb399fe1f','program','/home/me/site','[{"question":"Deploy?","header":"","options":[{"label":"Yes","description":""},{"label":"No","description":""}],"multiSelect":false}]','',1794869230468,NULL,'native',0,'{"kind":"dismissed","reason":"Not today: ÄRGER with the 鍵"}','{"channel":"socket","agent":"answerback/0.1.0"}',1794892225831,0,NULL,NULL,NULL,NULL,NULL,NULL,5517064539447335551,9190228413496348444,2351099241261439244,'question',NULL,'workstation');
CREATE TABLE events (
        seq  INTEGER PRIMARY KEY AUTOINCREMENT,
        ask  INTEGER NOT NULL REFERENCES asks (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        at   INTEGER NOT NULL
    ) STRICT;
INSERT INTO events VALUES(1,1,'ask.opened',1794869221820);
INSERT INTO events VALUES(2,1,'ask.settled',1794869221960);
INSERT INTO events VALUES(3,2,'ask.opened',1794869222080);
INSERT INTO events VALUES(4,2,'ask.settled',1794869222214);
INSERT INTO events VALUES(5,3,'ask.opened',1794869222308);
INSERT INTO events VALUES(6,3,'ask.settled',1794869222511);
INSERT INTO events VALUES(7,4,'ask.opened',1794869230386);
INSERT INTO events VALUES(8,5,'ask.opened',1794869230468);
INSERT INTO events VALUES(9,4,'ask.settled',1794892223154);
INSERT INTO events VALUES(10,5,'ask.settled',1794892225831);
CREATE TABLE devices (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        name         TEXT NOT NULL,
        kind         TEXT NOT NULL,
        token_hash   BLOB NOT NULL UNIQUE,
        created_at   INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL
    ) STRICT;
CREATE TABLE away (
        project TEXT,                                   -- a directory; NULL for every ask
        words   TEXT NOT NULL,
        kinds   TEXT NOT NULL,                          -- JSON
        since   INTEGER NOT NULL,
        until   INTEGER NOT NULL,
        set_by  TEXT,                                   -- JSON; NULL if it is not known
        sum     INTEGER NOT NULL                        -- a checksum: these words become answers
    ) STRICT;
INSERT INTO away VALUES(NULL,'Ask me on Monday','["question"]',1794892213231,1794921013231,'{"channel":"socket","agent":"answerback/0.1.0"}',4022674136438117627);
CREATE TABLE waiting (                              -- filled when the file is opened
        ask      INTEGER PRIMARY KEY REFERENCES asks (id) ON DELETE CASCADE,
        text     TEXT NOT NULL,                         -- what is searched, in lower case
        is_large INTEGER NOT NULL DEFAULT 0             -- it has too many words for the index, and stays here
    ) STRICT;
INSERT INTO waiting VALUES(1,'which?'||char(31)||'a',0);
INSERT INTO waiting VALUES(2,replace('allow bash?\n\nnpm test'||char(31)||'allow once','\n',char(10)),0);
INSERT INTO waiting VALUES(3,replace('approve this plan?\n\n# add a search\n\n1. index'||char(31)||'tests first','\n',char(10)),0);
INSERT INTO waiting VALUES(4,replace('allow bash?\n\nnpm run build','\n',char(10)),0);
INSERT INTO waiting VALUES(5,'deploy?'||char(31)||'not today: ärger with the 鍵',0);
CREATE TABLE gone (                                 -- asks that were deleted and are still in the index
        ask INTEGER PRIMARY KEY
    ) STRICT;
CREATE TABLE texts (
        ask       INTEGER PRIMARY KEY REFERENCES asks (id) ON DELETE CASCADE,
        text      TEXT NOT NULL,
        project   TEXT,                                 -- NULL also for a probe
        opened_at INTEGER NOT NULL
    ) STRICT;
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','grams','grams',0,'CREATE VIRTUAL TABLE grams USING fts5 (words, content='''', contentless_delete=1, detail=none, tokenize=''ascii'')');
CREATE TABLE IF NOT EXISTS 'grams_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO grams_data VALUES(1,X'');
INSERT INTO grams_data VALUES(10,X'00000002ff000001000000');
CREATE TABLE IF NOT EXISTS 'grams_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS 'grams_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);
CREATE TABLE IF NOT EXISTS 'grams_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO grams_config VALUES('automerge',0);
INSERT INTO grams_config VALUES('crisismerge',1000);
INSERT INTO grams_config VALUES('version',4);
CREATE TABLE milestones (                           -- what has happened at least once; filled when the file is opened
        name TEXT PRIMARY KEY
    ) STRICT, WITHOUT ROWID;
INSERT INTO milestones VALUES('answer');
INSERT INTO milestones VALUES('hook-call');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('devices',0);
INSERT INTO sqlite_sequence VALUES('asks',5);
INSERT INTO sqlite_sequence VALUES('events',10);
CREATE UNIQUE INDEX asks_open ON asks (key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON asks (session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON asks (key, id);
CREATE INDEX asks_settled ON asks (settled_at) WHERE outcome IS NOT NULL;
CREATE INDEX events_ask ON events (ask);
CREATE INDEX asks_digest ON asks (session, digest, id) WHERE digest IS NOT NULL;
CREATE INDEX texts_project ON texts (project) WHERE project IS NOT NULL;
CREATE INDEX texts_opened ON texts (opened_at);
PRAGMA writable_schema=OFF;
COMMIT;
PRAGMA application_id = 1095652183;
PRAGMA user_version = 8;
