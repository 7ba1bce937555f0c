-- The tables of schema 1. Times are milliseconds since 1970, except where the engine alone uses them. What is compared or sorted has the
-- collation "C": the order of its bytes, everywhere.

CREATE SCHEMA IF NOT EXISTS answerback;

-- Which versions may use the tables. It has one row.
CREATE TABLE answerback.meta (
    is_only    boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    schema     integer NOT NULL,
    min_reader integer NOT NULL,
    min_writer integer NOT NULL
);

-- The newest change of each namespace. Whoever writes changes locks the row first and keeps it locked until the commit. So the order of
-- commits is the order of cursors. Cursors up to the floor are gone.
CREATE TABLE answerback.heads (
    namespace text COLLATE "C" PRIMARY KEY,
    cursor    bigint NOT NULL DEFAULT 0,
    tag       bigint NOT NULL DEFAULT 0,
    floor     bigint NOT NULL DEFAULT 0,
    open      integer NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

CREATE SEQUENCE answerback.ask_ids;

-- An ask stands if the same key asked again finds it. It is lasting if its answer can stand at all.
CREATE TABLE answerback.asks (
    id           bigint PRIMARY KEY,
    namespace    text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL,
    session      text COLLATE "C" NOT NULL,
    host         text COLLATE "C" NOT NULL,
    origin       text COLLATE "C" NOT NULL,
    project      text COLLATE "C",
    kind         text COLLATE "C" NOT NULL,
    subject      text,
    questions    text NOT NULL,
    detail       text NOT NULL,
    opened_at    bigint NOT NULL,
    expires_at   bigint,
    on_timeout   text COLLATE "C" NOT NULL,
    racing       boolean NOT NULL,
    digest       text COLLATE "C",
    asker        text COLLATE "C",
    asked_by     text COLLATE "C",
    deferred     boolean NOT NULL DEFAULT false,
    lasting      boolean NOT NULL,
    stands       boolean NOT NULL DEFAULT true,
    outcome      text,
    outcome_kind text COLLATE "C",
    settled_by   text,
    settled_at   bigint,
    receipt      text,
    searched     text COLLATE "C" NOT NULL
);
-- A key has at most one life that is open.
CREATE UNIQUE INDEX asks_open ON answerback.asks (namespace, key) WHERE outcome IS NULL;
CREATE INDEX asks_open_session ON answerback.asks (namespace, session) WHERE outcome IS NULL;
CREATE INDEX asks_key ON answerback.asks (namespace, key, id);
CREATE INDEX asks_session ON answerback.asks (namespace, session, id);
-- The entries of an index are short. A longer path is found without it.
CREATE INDEX asks_project ON answerback.asks (namespace, project, id)
    WHERE project IS NOT NULL AND origin <> 'probe' AND octet_length(project) <= 1024;
CREATE INDEX asks_host ON answerback.asks (namespace, host, id);
CREATE INDEX asks_host_project ON answerback.asks (namespace, host, (coalesce(project, '')))
    WHERE origin <> 'probe' AND octet_length(coalesce(project, '')) <= 1024;
CREATE INDEX asks_kind ON answerback.asks (namespace, kind, id);
CREATE INDEX asks_outcome ON answerback.asks (namespace, outcome_kind, id) WHERE outcome IS NOT NULL;
CREATE INDEX asks_settled ON answerback.asks (namespace, settled_at) WHERE outcome IS NOT NULL;

-- The changes, in a partition for each day. A tag names the command that made the change.
CREATE TABLE answerback.events (
    namespace text COLLATE "C" NOT NULL,
    cursor    bigint NOT NULL,
    day       date NOT NULL,
    ask       bigint NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    tag       bigint NOT NULL,
    PRIMARY KEY (namespace, cursor, day)
) PARTITION BY RANGE (day);

-- The daemons. A daemon that does not renew its lease is taken for dead. A name belongs to the instance that was started last. An edge has no
-- instance: the hub that it is linked with renews its lease.
CREATE TABLE answerback.hosts (
    namespace text COLLATE "C" NOT NULL,
    host      text COLLATE "C" NOT NULL,
    instance  text NOT NULL,
    started   bigint NOT NULL,
    version   text NOT NULL,
    schema    integer NOT NULL,
    leased_to timestamptz NOT NULL,
    PRIMARY KEY (namespace, host)
) WITH (fillfactor = 10);

-- How many asks of each host are open. It is apart from the leases: a writer keeps its rows locked until a standby has its commit, and no
-- lease may end because of that.
CREATE TABLE answerback.counts (
    namespace text COLLATE "C" NOT NULL,
    host      text COLLATE "C" NOT NULL,
    open      integer NOT NULL,
    PRIMARY KEY (namespace, host)
) WITH (fillfactor = 10);

-- The people of a team. What they may do is JSON. Its revision is larger after every change, also if the newest ones were lost.
CREATE TABLE answerback.people (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    grants     text NOT NULL,
    revision   bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    created_at bigint NOT NULL,
    UNIQUE (namespace, name)
);

-- A device without a person belongs to nobody and may see everything. So no device stays when its person is deleted.
CREATE TABLE answerback.devices (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace    text COLLATE "C" NOT NULL,
    name         text NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    token_hash   bytea NOT NULL,
    created_at   bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    person       bigint REFERENCES answerback.people (id) ON DELETE CASCADE,
    UNIQUE (namespace, token_hash)
);
CREATE INDEX devices_person ON answerback.devices (person);
-- No two machines have the same name.
CREATE UNIQUE INDEX devices_host ON answerback.devices (namespace, name) WHERE kind = 'host';

-- What people say while they are away. The note without a project is for every project.
CREATE TABLE answerback.away (
    namespace text COLLATE "C" NOT NULL,
    project   text COLLATE "C",
    words     text NOT NULL,
    kinds     text NOT NULL,
    since     bigint NOT NULL,
    until     bigint NOT NULL,
    set_by    text,
    UNIQUE NULLS NOT DISTINCT (namespace, project)
);

CREATE TABLE answerback.milestones (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- Short texts that all daemons of a namespace see.
CREATE TABLE answerback.boards (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    text      text NOT NULL,
    PRIMARY KEY (namespace, name)
);

-- What one daemon alone does: the first that puts its name here.
CREATE TABLE answerback.firsts (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, name)
);
CREATE INDEX firsts_at ON answerback.firsts (namespace, at);

-- What all daemons of a namespace must share and nobody else may know.
CREATE TABLE answerback.secrets (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    value     bytea NOT NULL,
    PRIMARY KEY (namespace, name)
);

INSERT INTO answerback.meta (schema, min_reader, min_writer) VALUES (1, 1, 1);
