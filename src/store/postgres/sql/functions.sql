-- The functions of schema 1. Their names carry its number: daemons of two versions may use the same tables, each with its own functions.

-- The day of the engine's clock.
CREATE FUNCTION answerback.today_1() RETURNS date LANGUAGE sql STABLE AS $$
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date
$$;

-- Makes the partitions of today and of the next days. A table that is made apart and then attached keeps nobody waiting, neither a writer nor
-- a backup. A partition that is made in its place would wait for all of them, and all others would wait for it.
CREATE FUNCTION answerback.make_days_1() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first date;
    name  text;
BEGIN
    FOR ahead IN 0..3 LOOP
        first := answerback.today_1() + ahead;
        name := 'events_' || to_char(first, 'YYYYMMDD');
        IF to_regclass('answerback.' || name) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('answerback.days', 0));
            -- Another daemon may have made it meanwhile.
            IF to_regclass('answerback.' || name) IS NULL THEN
                PERFORM set_config('synchronous_commit', 'off', true);
                EXECUTE format('CREATE TABLE answerback.%I (LIKE answerback.events INCLUDING ALL)', name);
                EXECUTE format('ALTER TABLE answerback.events ATTACH PARTITION answerback.%I FOR VALUES FROM (%L) TO (%L)',
                    name, first, first + 1);
            END IF;
        END IF;
    END LOOP;
END
$$;

-- Drops the partitions of days before a day, and moves the floors to the newest change in them. Yesterday always stays. It takes the locks
-- in the same order as writers do: first the heads, then the changes.
CREATE FUNCTION answerback.drop_days_1(before date) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    part    record;
    dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('answerback.days', 0));
    PERFORM 1 FROM answerback.heads ORDER BY namespace FOR UPDATE;
    FOR part IN
        SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'answerback.events'::regclass AND relname ~ '^events_[0-9]{8}$'
          AND to_date(substr(relname, 8), 'YYYYMMDD') < least(before, answerback.today_1() - 1)
        ORDER BY relname
    LOOP
        -- The newest change of each namespace is found by the index: writers wait meanwhile.
        EXECUTE format('UPDATE answerback.heads SET floor = greatest(floor,
            (SELECT max(cursor) FROM answerback.%I AS gone WHERE gone.namespace = heads.namespace))', part.name);
        EXECUTE format('DROP TABLE answerback.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

-- Takes the name of a host for an instance that starts, or renews its lease. `my_start` is 0 for an instance that starts, and what it was
-- told then later on. An instance whose name was taken by a later one gets no rows. One that is not known any more, because an older copy
-- of the tables took the place of these, gets its name back.
CREATE FUNCTION answerback.lease_1(ns text, me text, my_instance text, my_version text, my_start bigint, lease_ms bigint)
RETURNS TABLE (clock_us bigint, start bigint) LANGUAGE plpgsql AS $$
DECLARE
    until_then timestamptz := clock_timestamp() + lease_ms * interval '1 millisecond';
BEGIN
    -- Nobody waits for a standby because of a lease. If it is lost, the next one follows within seconds.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE answerback.hosts SET leased_to = until_then WHERE namespace = ns AND host = me AND instance = my_instance;
    IF NOT FOUND THEN
        -- With the lock, no command of the older instance can come after this.
        PERFORM 1 FROM answerback.heads WHERE namespace = ns FOR UPDATE;
        IF my_start = 0 THEN
            my_start := (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
            my_start := greatest(my_start, (SELECT started + 1 FROM answerback.hosts WHERE namespace = ns AND host = me));
        END IF;
        INSERT INTO answerback.hosts AS before (namespace, host, instance, started, version, schema, leased_to)
        VALUES (ns, me, my_instance, my_start, my_version, 1, until_then)
        ON CONFLICT (namespace, host) DO UPDATE
            SET instance = my_instance, started = my_start, version = my_version, schema = 1, leased_to = until_then
            WHERE before.started < my_start;
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
        SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, started
        FROM answerback.hosts WHERE namespace = ns AND host = me;
END
$$;

-- Renews the leases of edges. A name that a daemon has is left alone. The rows are locked in the same order by everybody.
CREATE FUNCTION answerback.keep_hosts_1(ns text, edges text[], lease_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO answerback.hosts AS before (namespace, host, instance, started, version, schema, leased_to)
    SELECT ns, edge, '', 0, '', 1, clock_timestamp() + lease_ms * interval '1 millisecond' FROM unnest(edges) AS edge ORDER BY edge
    ON CONFLICT (namespace, host) DO UPDATE SET leased_to = excluded.leased_to WHERE before.instance = '';
END
$$;

-- The other hosts with open asks that have been dead for longer than this. An edge whose link was lost at once may have no lease.
CREATE FUNCTION answerback.dead_hosts_1(ns text, me text, grace_ms bigint) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT counts.host FROM answerback.counts LEFT JOIN answerback.hosts USING (namespace, host)
    WHERE counts.namespace = ns AND counts.host <> me AND counts.open > 0
      AND coalesce(leased_to, (
          SELECT to_timestamp(max(opened_at) / 1000.0) FROM answerback.asks
          WHERE asks.namespace = ns AND asks.host = counts.host AND asks.outcome IS NULL
      )) + grace_ms * interval '1 millisecond' < clock_timestamp()
$$;

-- Continues the order of changes beyond everything that anybody has seen, unless it is whole: somebody has seen a change that is not there.
-- Ids go on beyond the lost ones, too.
CREATE FUNCTION answerback.leap_1(ns text, seen bigint, seen_tag bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    head   answerback.heads;
    margin bigint := 1000000;
BEGIN
    INSERT INTO answerback.heads (namespace) VALUES (ns) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT head FROM answerback.heads WHERE namespace = ns FOR UPDATE;
    IF head.floor >= seen OR EXISTS (
        SELECT 1 FROM answerback.events WHERE namespace = ns AND cursor = seen AND tag = seen_tag AND seen <= head.cursor
    ) THEN
        RETURN;
    END IF;
    UPDATE answerback.heads SET cursor = greatest(head.cursor, seen) + margin, floor = greatest(head.cursor, seen) + margin, tag = 0
    WHERE namespace = ns;
    PERFORM setval('answerback.ask_ids', nextval('answerback.ask_ids') + margin);
END
$$;

-- Runs a batch of commands. It is one statement, so nothing is sent or awaited while the head is locked, and its commit is the end of the
-- statement. The head is always written: so the reply waits for the standby, also if an earlier commit is reported whose reply was lost.
--
-- The rows are small, so that a client that does not read them cannot keep the lock. The last row has no number: it is the new head.
CREATE FUNCTION answerback.apply_1(ns text, me text, my_instance text, known bigint,
    max_open integer, max_open_of_host integer, commands text)
RETURNS TABLE (n integer, status text, ask bigint, place bigint, detail text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    head    answerback.heads;
    c       record;
    life    record;
    my_open integer := 0;
    was_open integer;
    owner   text;
    of_host integer;
    change  text;
    day     date := answerback.today_1();
    -- The tags of the changes that were made since `known`.
    done_since bigint[];
    -- How many more bytes of details there may be in the rows.
    room    integer := 65536;
BEGIN
    SELECT * INTO STRICT head FROM answerback.heads WHERE namespace = ns FOR UPDATE;
    -- Whoever takes a name locks the head, too.
    IF NOT EXISTS (SELECT 1 FROM answerback.hosts WHERE namespace = ns AND host = me AND instance = my_instance) THEN
        RAISE EXCEPTION 'another daemon has taken the name %', me USING ERRCODE = 'AB001';
    END IF;
    -- A command may come again, because its reply was lost. The first sending may even come after the second.
    IF head.cursor > known THEN
        SELECT array_agg(tag) INTO done_since FROM answerback.events WHERE namespace = ns AND events.cursor > known;
    END IF;
    SELECT coalesce(max(open), 0) INTO was_open FROM answerback.counts WHERE namespace = ns AND host = me;
    my_open := was_open;
    FOR c IN
        SELECT * FROM json_to_recordset(commands::json) AS command (
            n integer, tag bigint, verb text, at bigint, id bigint, dead_for bigint, milestone text,
            host text, key text, session text, origin text, project text, kind text, subject text, questions text, detail text, expires_at bigint,
            on_timeout text, racing boolean, digest text, asker text, asked_by text, lasting boolean, per_session bigint,
            outcome text, outcome_kind text, stands boolean, settled_by text, receipt text, searched text
        ) ORDER BY n
    LOOP
        n := c.n;
        status := 'nothing';
        ask := c.id;
        place := NULL;
        detail := NULL;
        change := NULL;
        IF c.tag = ANY (done_since) THEN
            SELECT events.ask, events.cursor INTO STRICT ask, place FROM answerback.events
            WHERE namespace = ns AND events.cursor > known AND tag = c.tag;
            status := 'done';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF c.verb = 'open' THEN
            -- An edge asks through a hub.
            owner := coalesce(c.host, me);
            of_host := CASE WHEN owner = me THEN my_open
                ELSE coalesce((SELECT counts.open FROM answerback.counts WHERE namespace = ns AND counts.host = owner), 0) END;
            SELECT id, stands INTO life FROM answerback.asks
            WHERE namespace = ns AND key = c.key ORDER BY id DESC LIMIT 1;
            IF FOUND AND life.stands THEN
                status := 'known';
                ask := life.id;
            ELSIF head.open >= max_open OR of_host >= max_open_of_host OR c.per_session <= (
                SELECT count(*) FROM answerback.asks WHERE namespace = ns AND session = c.session AND host = owner AND outcome IS NULL
            ) THEN
                status := 'full';
            ELSE
                ask := nextval('answerback.ask_ids');
                INSERT INTO answerback.asks (id, namespace, key, session, host, origin, project, kind, subject, questions, detail,
                    opened_at, expires_at, on_timeout, racing, digest, asker, asked_by, lasting, searched)
                VALUES (ask, ns, c.key, c.session, owner, c.origin, c.project, c.kind, c.subject, c.questions, c.detail,
                    c.at, c.expires_at, c.on_timeout, c.racing, c.digest, c.asker, c.asked_by, c.lasting, c.searched);
                head.open := head.open + 1;
                IF owner = me THEN
                    my_open := my_open + 1;
                ELSE
                    INSERT INTO answerback.counts AS before (namespace, host, open) VALUES (ns, owner, 1)
                    ON CONFLICT (namespace, host) DO UPDATE SET open = before.open + 1;
                END IF;
                change := 'ask.opened';
            END IF;
        ELSIF c.verb = 'settle' THEN
            -- What is settled because its host is dead is left alone if the host is back.
            UPDATE answerback.asks SET outcome = c.outcome, outcome_kind = c.outcome_kind, stands = lasting AND c.stands,
                settled_by = c.settled_by, settled_at = c.at,
                searched = CASE WHEN c.searched = '' THEN searched ELSE searched || chr(31) || c.searched END
            WHERE id = c.id AND namespace = ns AND outcome IS NULL AND (c.dead_for IS NULL OR NOT EXISTS (
                SELECT 1 FROM answerback.hosts WHERE namespace = ns AND hosts.host = asks.host
                    AND leased_to + c.dead_for * interval '1 millisecond' >= clock_timestamp()))
            RETURNING host, origin, CASE WHEN octet_length(asks.detail) <= room THEN asks.detail END AS detail INTO life;
            IF FOUND THEN
                detail := life.detail;
                room := room - coalesce(octet_length(detail), 0);
                head.open := head.open - 1;
                IF life.host = me THEN
                    my_open := my_open - 1;
                ELSE
                    UPDATE answerback.counts SET open = open - 1 WHERE namespace = ns AND host = life.host;
                END IF;
                -- The doctor's own questions prove nothing.
                IF life.origin = 'probe' THEN
                    c.milestone := NULL;
                END IF;
                change := 'ask.settled';
            ELSIF EXISTS (SELECT 1 FROM answerback.asks WHERE id = c.id AND namespace = ns) THEN
                status := 'lost';
            ELSE
                status := 'missing';
            END IF;
        ELSIF c.verb = 'receive' THEN
            UPDATE answerback.asks SET receipt = c.receipt WHERE id = c.id AND namespace = ns AND receipt IS NULL;
            change := CASE WHEN FOUND THEN 'ask.receipt' END;
        ELSE
            UPDATE answerback.asks SET deferred = (c.verb = 'defer'), expires_at = c.expires_at
            WHERE id = c.id AND namespace = ns AND outcome IS NULL;
            change := CASE WHEN FOUND THEN CASE c.verb WHEN 'defer' THEN 'ask.deferred' ELSE 'ask.resumed' END END;
        END IF;
        IF change IS NOT NULL THEN
            status := 'done';
            head.cursor := head.cursor + 1;
            head.tag := c.tag;
            place := head.cursor;
            INSERT INTO answerback.events (namespace, cursor, day, ask, kind, at, tag)
            VALUES (ns, place, day, ask, change, c.at, c.tag);
            IF c.milestone IS NOT NULL THEN
                INSERT INTO answerback.milestones (namespace, name) VALUES (ns, c.milestone) ON CONFLICT DO NOTHING;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE answerback.heads SET cursor = head.cursor, tag = head.tag, open = head.open WHERE namespace = ns;
    IF my_open <> was_open THEN
        INSERT INTO answerback.counts (namespace, host, open) VALUES (ns, me, my_open)
        ON CONFLICT (namespace, host) DO UPDATE SET open = my_open;
    END IF;
    n := NULL;
    status := 'head';
    ask := NULL;
    detail := NULL;
    place := head.cursor;
    RETURN NEXT;
END
$$;
