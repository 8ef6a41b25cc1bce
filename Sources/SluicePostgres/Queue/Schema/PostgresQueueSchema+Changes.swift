#if PostgreSQL
// MARK: - New jobs

extension PostgresQueueSchema {
    /// Requests that become jobs or members.
    static let enqueueFunctions: [String] = [
        // Writes the ranks, states, charges and lines of unfinished jobs whose members have changed. The jobs must already have left their
        // lines. Returns the events.
        """
        CREATE FUNCTION members_changed(p_queue int8, p_jobs int8[]) RETURNS draft[] LANGUAGE plpgsql AS $$
        DECLARE
            v_drafts draft[];
            v_job record;
            v_user text;
        BEGIN
            WITH now AS MATERIALIZED (
                SELECT job.queue, job.id, job.state AS old, member.rank,
                    -- A paused job with a delay waits for the rest of it.
                    CASE WHEN job.state = \(running) THEN \(running) WHEN member.are_paused THEN \(paused) \
        WHEN not_before IS NULL THEN \(ready) ELSE \(delayed) END AS state
                FROM unnest(p_jobs) AS changing (id) \(job("changing.id")) CROSS JOIN LATERAL (
                    SELECT min(~priority) AS rank, bool_and(is_paused) AS are_paused FROM member
                    WHERE member.queue = p_queue AND member.job = job.id) AS member),
            changed AS (
                UPDATE job SET rank = now.rank, state = now.state FROM now
                    WHERE job.queue = now.queue AND job.id = now.id AND (job.rank, job.state) <> (now.rank, now.state)
                    RETURNING job.id, job.state, now.old)
            SELECT array_agg(ROW(id, 1000000, CASE state WHEN \(paused) THEN 'paused' ELSE 'resumed' END, '', '')::draft)
                INTO v_drafts FROM changed WHERE (state = \(paused)) <> (old = \(paused));
            PERFORM join_lines(p_queue, p_jobs);
            -- A running job whose charged member has left is charged to the user with the fewest running jobs.
            FOR v_job IN SELECT job.id, charged FROM unnest(p_jobs) AS changed (id) \(job("changed.id"))
                WHERE state = \(running) AND NOT is_cancelled ORDER BY job.id
            LOOP
                SELECT user_name INTO v_user FROM member
                    WHERE queue = p_queue AND job = v_job.id AND NOT is_paused
                    ORDER BY user_name <> v_job.charged, coalesce((SELECT number FROM running
                        WHERE running.queue = p_queue AND kind = 2 AND name = user_name), 0), position LIMIT 1;
                IF FOUND AND v_user <> v_job.charged THEN
                    UPDATE job SET charged = v_user WHERE queue = p_queue AND id = v_job.id;
                    PERFORM count_running(p_queue, '{}', ARRAY[v_job.charged], -1);
                    PERFORM count_running(p_queue, '{}', ARRAY[v_user], 1);
                END IF;
            END LOOP;
            RETURN v_drafts;
        END $$
        """,
        // Adds a member to each job. If there already is a member with the same user and batch, it gets the higher priority and is resumed
        // instead.
        """
        CREATE FUNCTION join_members(p_queue int8, p_batch text, p_jobs int8[], p_users text[], p_priorities int8[])
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            WITH request AS MATERIALIZED (
                SELECT p_queue AS queue, * FROM unnest(p_jobs, p_users, p_priorities) AS request (job, user_name, priority))
            UPDATE member SET priority = greatest(member.priority, request.priority), is_paused = false FROM request
                WHERE member.queue = request.queue AND member.job = request.job AND member.user_name = request.user_name
                    AND batch || '' = p_batch AND (member.priority < request.priority OR is_paused);
            INSERT INTO member (queue, job, position, user_name, batch, priority)
                SELECT p_queue, job, (SELECT coalesce(max(position), -1) + 1 FROM member
                        WHERE member.queue = p_queue AND member.job = request.job), user_name, p_batch, priority
                FROM unnest(p_jobs, p_users, p_priorities) AS request (job, user_name, priority)
                WHERE (SELECT count(*) FROM member WHERE member.queue = p_queue AND member.job = request.job
                    AND member.user_name = request.user_name AND member.batch || '' = p_batch) = 0;
        END $$
        """,
        // Adds members to unfinished jobs. No other request in the call is for one of these jobs.
        """
        CREATE FUNCTION join_jobs(
            p_queue int8, p_now int8, p_batch text, p_jobs int8[], p_users text[], p_priorities int8[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            -- Members that join leave the jobs in the lines of the others, at the same position unless the priority rises.
            PERFORM leave_lines(p_queue, array_agg(id)) FROM unnest(p_jobs, p_priorities) AS request (job, priority)
                \(job("request.job")) WHERE ~request.priority < rank;
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, last.number + position, p_now, job, 'joined', user_name, p_batch
                FROM unnest(p_jobs, p_users) WITH ORDINALITY AS request (job, user_name, position),
                    (SELECT coalesce(\(lastEvent), 0) AS number) AS last;
            PERFORM join_members(p_queue, p_batch, p_jobs, p_users, p_priorities);
            PERFORM record_all(p_queue, p_now, members_changed(p_queue, p_jobs));
        END $$
        """,
        // Deletes ended jobs.
        """
        CREATE FUNCTION delete_jobs(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            WITH gone AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(p_jobs) AS gone (id))
            DELETE FROM member USING gone WHERE member.queue = gone.queue AND member.job = gone.id;
            WITH gone AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(p_jobs) AS gone (id))
            DELETE FROM job USING gone WHERE job.queue = gone.queue AND job.id = gone.id;
        END $$
        """,
        // Adds one request as the job p_new, or to another job. The outcomes: 0 added, 1 joined, 2 kept, 3 conflict.
        """
        CREATE FUNCTION enqueue_one(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_new int8, p_url text, p_directory text,
            p_name text, p_target bytea, p_host text, p_place text, p_is_unresolved bool, p_user text, p_priority int8,
            OUT id int8, OUT outcome int8, OUT other text
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_state int8;
            v_is_cancelled bool;
        BEGIN
            outcome := 3;
            SELECT job.id, url INTO id, other FROM job
                WHERE sha256(target) = sha256(p_target) AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND \(resource("url")) <> \(resource("p_url")) AND state IN (\(unfinished)) LIMIT 1;
            IF FOUND THEN RETURN; END IF;
            SELECT job.id, state, is_cancelled INTO id, v_state, v_is_cancelled FROM job
                WHERE sha256(target) = sha256(p_target) AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND \(resource("url")) = \(resource("p_url")) LIMIT 1;
            IF v_state IN (\(unfinished)) THEN
                outcome := 1;
                IF v_is_cancelled THEN
                    -- The cancelled members have left. Enqueuing the job again revokes the cancellation.
                    DELETE FROM member WHERE queue = p_queue AND job = enqueue_one.id;
                    UPDATE job SET is_cancelled = false WHERE queue = p_queue AND job.id = enqueue_one.id;
                END IF;
                PERFORM join_jobs(p_queue, p_now, p_batch, ARRAY[id], ARRAY[p_user], ARRAY[p_priority]);
                RETURN;
            END IF;
            IF v_state = \(done) AND p_keeps_finished THEN
                outcome := 2;
                PERFORM join_members(p_queue, p_batch, ARRAY[id], ARRAY[p_user], ARRAY[p_priority]);
                UPDATE job SET rank = least(rank, ~p_priority) WHERE queue = p_queue AND job.id = enqueue_one.id;
                PERFORM record(p_queue, p_now, id, 'joined', p_user, p_batch);
                RETURN;
            END IF;
            IF v_state IS NOT NULL THEN
                PERFORM record(p_queue, p_now, id, 'removed');
                PERFORM delete_jobs(p_queue, ARRAY[id]);
            END IF;
            outcome := 0;
            id := p_new;
            INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, created)
                VALUES (p_queue, p_new, p_url, p_directory, p_name, p_target, p_host, p_place, p_is_unresolved, ~p_priority, p_now);
            INSERT INTO member (queue, job, position, user_name, batch, priority)
                VALUES (p_queue, p_new, 0, p_user, p_batch, p_priority);
            PERFORM enter_lines(p_queue, ARRAY[p_new], ARRAY[~p_priority], ARRAY[p_host], ARRAY[p_user], ARRAY[p_place],
                ARRAY[p_is_unresolved]);
            PERFORM record(p_queue, p_now, p_new, 'added', p_user, p_batch);
        END $$
        """,
        // Adds requests as if one after another. In a long list, requests with new targets are added together, and so are requests that
        // join a job. The events of both come first.
        """
        CREATE FUNCTION enqueue(
            p_queue int8, p_now int8, p_batch text, p_keeps_finished bool, p_urls text[], p_directories text[],
            p_names text[], p_targets bytea[], p_hosts text[], p_places text[], p_unresolved bool[], p_users text[],
            p_priorities int8[]
        ) RETURNS TABLE (id int8, outcome int8, other text) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_last int8 := (SELECT last_job FROM queue WHERE number = p_queue);
            v_count int4 := cardinality(p_urls);
            v_is_short bool := v_count < 16;
            v_kinds int8[];
            v_ids int8[];
            v_outcomes int8[];
            v_others text[] := array_fill(NULL::text, ARRAY[v_count]);
            v_request record;
            v_one record;
        BEGIN
            IF v_count = 0 THEN RETURN; END IF;
            -- The kinds are the outcomes 0 and 1 if no other request has the target, and there is no job with it, or only an unfinished one
            -- for the same URL. The others have the kind 2. Each but the joining ones has the number of a new job.
            SELECT array_agg(kind), array_agg(CASE kind WHEN 1 THEN job ELSE v_last + number END), v_last + max(number)
                INTO v_kinds, v_ids, v_last FROM (
                    SELECT *, count(*) FILTER (WHERE kind <> 1) OVER (ORDER BY position) AS number FROM (
                        SELECT position, found.job, CASE
                            WHEN v_is_short OR count(*) OVER (PARTITION BY place, target) > 1 THEN 2
                            WHEN found.number = 0 THEN 0 WHEN found.number = 1 AND found.is_open THEN 1 ELSE 2 END AS kind
                        FROM unnest(p_urls, p_targets, p_places) WITH ORDINALITY AS request (url, target, place, position)
                        CROSS JOIN LATERAL (
                            SELECT count(*) AS number, min(job.id) AS job,
                                bool_and(\(resource("job.url")) = \(resource("request.url")) AND state IN (\(unfinished)) AND NOT is_cancelled) AS is_open
                            FROM job WHERE sha256(job.target) = sha256(request.target) AND job.target = request.target
                                AND \(machine("job.queue", "job.place")) = \(machine("p_queue", "request.place"))
                            ) AS found) AS request
                    ORDER BY position) AS request;
            v_outcomes := v_kinds;
            IF 0 = ANY (v_kinds) THEN
                WITH request AS MATERIALIZED (
                    SELECT * FROM unnest(v_kinds, v_ids, p_urls, p_directories, p_names, p_targets, p_hosts, p_places,
                        p_unresolved, p_users, p_priorities) AS request (kind, id, url, directory, name, target, host, place,
                        is_unresolved, user_name, priority) WHERE kind = 0),
                new_job AS (
                    INSERT INTO job (queue, id, url, directory, name, target, host, place, is_unresolved, rank, created)
                        SELECT p_queue, id, url, directory, name, target, host, place, is_unresolved, ~priority, v_now
                        FROM request),
                new_member AS (
                    INSERT INTO member (queue, job, position, user_name, batch, priority)
                        SELECT p_queue, id, 0, user_name, p_batch, priority FROM request)
                INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                    SELECT p_queue, last.number + row_number() OVER (ORDER BY id), v_now, id, 'added', user_name, p_batch
                    FROM request, (SELECT coalesce(\(lastEvent), 0) AS number) AS last;
                PERFORM enter_lines(p_queue, array_agg(id), array_agg(~priority), array_agg(host), array_agg(user_name),
                        array_agg(place), array_agg(is_unresolved))
                    FROM unnest(v_kinds, v_ids, p_priorities, p_hosts, p_users, p_places, p_unresolved)
                        AS request (kind, id, priority, host, user_name, place, is_unresolved) WHERE kind = 0;
            END IF;
            IF 1 = ANY (v_kinds) THEN
                PERFORM join_jobs(p_queue, v_now, p_batch, array_agg(id), array_agg(user_name), array_agg(priority))
                    FROM unnest(v_kinds, v_ids, p_users, p_priorities) AS request (kind, id, user_name, priority)
                    WHERE kind = 1;
            END IF;
            IF 2 = ANY (v_kinds) THEN
                IF v_is_short THEN v_last := v_last - v_count; END IF;
                FOR v_request IN
                    SELECT * FROM unnest(v_kinds, v_ids, p_urls, p_directories, p_names, p_targets, p_hosts, p_places,
                        p_unresolved, p_users, p_priorities) WITH ORDINALITY AS request (kind, id, url, directory, name, target,
                        host, place, is_unresolved, user_name, priority, position) WHERE kind = 2 ORDER BY position
                LOOP
                    v_one := enqueue_one(p_queue, v_now, p_batch, p_keeps_finished,
                        CASE WHEN v_is_short THEN v_last + 1 ELSE v_request.id END, v_request.url, v_request.directory,
                        v_request.name, v_request.target, v_request.host, v_request.place, v_request.is_unresolved,
                        v_request.user_name, v_request.priority);
                    IF v_is_short AND v_one.outcome = 0 THEN v_last := v_last + 1; END IF;
                    v_ids[v_request.position] := v_one.id;
                    v_outcomes[v_request.position] := v_one.outcome;
                    v_others[v_request.position] := v_one.other;
                END LOOP;
            END IF;
            UPDATE queue SET last_job = v_last WHERE number = p_queue;
            IF 0 = ANY (v_outcomes) OR 1 = ANY (v_outcomes) THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT * FROM unnest(v_ids, v_outcomes, v_others);
        END $$
        """,
    ]
}

// MARK: - Checksums and mirrors

extension PostgresQueueSchema {
    /// Sets the checksums and mirrors of unfinished jobs, which are found by what identifies them. An empty text changes nothing.
    static let setDetailsFunction = """
        CREATE FUNCTION set_details(
            p_queue int8, p_now int8, p_urls text[], p_targets bytea[], p_places text[], p_checksums text[], p_mirrors text[]
        ) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_one record;
        BEGIN
            FOR v_one IN SELECT * FROM unnest(p_urls, p_targets, p_places, p_checksums, p_mirrors)
                AS one (url, target, place, checksum, mirrors)
            LOOP
                UPDATE job SET checksum = coalesce(nullif(v_one.checksum, ''), checksum),
                    mirrors = coalesce(nullif(v_one.mirrors, ''), mirrors)
                WHERE sha256(target) = sha256(v_one.target)
                    AND \(machine("queue", "place")) = \(machine("p_queue", "v_one.place")) AND target = v_one.target
                    AND \(resource("url")) = \(resource("v_one.url")) AND state IN (\(unfinished));
            END LOOP;
        END $$
        """

    /// Sets the rates of all workers together. Workers read them when they are told that something has changed.
    static let setRatesFunction = """
        CREATE FUNCTION set_rates(p_queue int8, p_now int8, p_rate int8, p_per_host int8) RETURNS void
        LANGUAGE plpgsql \(planning) AS $$
        BEGIN
            UPDATE queue SET maximum_rate = p_rate, maximum_rate_per_host = p_per_host WHERE number = p_queue;
            PERFORM wake(p_queue, 'stops');
        END $$
        """

    /// What workers of version 6 call.
    static let setChecksumsFunction = """
        CREATE FUNCTION set_checksums(
            p_queue int8, p_now int8, p_urls text[], p_targets bytea[], p_places text[], p_checksums text[]
        ) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_one record;
        BEGIN
            FOR v_one IN SELECT * FROM unnest(p_urls, p_targets, p_places, p_checksums) AS one (url, target, place, checksum)
                WHERE one.checksum <> ''
            LOOP
                UPDATE job SET checksum = v_one.checksum WHERE sha256(target) = sha256(v_one.target)
                    AND \(machine("queue", "place")) = \(machine("p_queue", "v_one.place")) AND target = v_one.target
                    AND \(resource("url")) = \(resource("v_one.url")) AND state IN (\(unfinished));
            END LOOP;
        END $$
        """
}

// MARK: - Jobs of another queue

extension PostgresQueueSchema {
    /// Jobs that come from another queue.
    static let copyFunctions: [String] = [
        // Adds a job with its members, or adds its members to another job. Members that the other job already has aren't changed.
        """
        CREATE FUNCTION copy_one(
            p_queue int8, p_now int8, p_new int8, p_url text, p_directory text, p_name text, p_target bytea, p_host text,
            p_place text, p_is_unresolved bool, p_failures int8, p_users text[], p_batches text[], p_priorities int8[],
            p_paused bool[], OUT id int8, OUT outcome int8, OUT other text
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_known member[];
            v_one member;
        BEGIN
            SELECT array_agg(member) INTO v_known FROM (
                SELECT job.id FROM job WHERE sha256(target) = sha256(p_target)
                    AND \(machine("queue", "place")) = \(machine("p_queue", "p_place"))
                    AND target = p_target AND \(resource("url")) = \(resource("p_url")) AND state IN (\(unfinished)) AND NOT is_cancelled) AS same
                CROSS JOIN LATERAL (SELECT * FROM member WHERE queue = p_queue AND job = same.id OFFSET 0) AS member;
            v_known := coalesce(v_known, '{}');
            SELECT added.id, added.outcome, added.other INTO id, outcome, other FROM enqueue_one(
                p_queue, p_now, p_batches[1], true, p_new, p_url, p_directory, p_name, p_target, p_host, p_place,
                p_is_unresolved, p_users[1], p_priorities[1]) AS added;
            IF outcome > 1 THEN RETURN; END IF;
            PERFORM leave_lines(p_queue, ARRAY[id]);
            FOR i IN 1 .. cardinality(p_users) LOOP
                CONTINUE WHEN EXISTS (
                    SELECT FROM unnest(v_known) AS known WHERE known.user_name = p_users[i] AND known.batch = p_batches[i]);
                -- Enqueuing has recorded the first one.
                IF i > 1 THEN
                    PERFORM join_members(p_queue, p_batches[i], ARRAY[id], ARRAY[p_users[i]], ARRAY[p_priorities[i]]);
                    PERFORM record(p_queue, p_now, id, 'joined', p_users[i], p_batches[i]);
                END IF;
                UPDATE member SET priority = p_priorities[i], is_paused = p_paused[i]
                    WHERE queue = p_queue AND job = copy_one.id AND user_name = p_users[i] AND batch || '' = p_batches[i];
            END LOOP;
            -- Enqueuing resumes a member.
            FOREACH v_one IN ARRAY v_known LOOP
                UPDATE member SET priority = v_one.priority, is_paused = v_one.is_paused
                    WHERE queue = p_queue AND job = copy_one.id AND position = v_one.position;
            END LOOP;
            PERFORM record_all(p_queue, p_now, members_changed(p_queue, ARRAY[id]));
            IF outcome = 0 THEN
                UPDATE job SET failures = p_failures WHERE queue = p_queue AND job.id = copy_one.id;
            END IF;
        END $$
        """,
        // Adds jobs in order. The members of all jobs are concatenated; p_counts has the number for each job.
        """
        CREATE FUNCTION copy(
            p_queue int8, p_now int8, p_urls text[], p_directories text[], p_names text[], p_targets bytea[], p_hosts text[],
            p_places text[], p_unresolved bool[], p_failures int8[], p_counts int8[], p_users text[], p_batches text[],
            p_priorities int8[], p_paused bool[]
        ) RETURNS TABLE (id int8, outcome int8, other text) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_last int8 := (SELECT last_job FROM queue WHERE number = p_queue);
            v_from int8 := 1;
            v_to int8;
            v_gains bool := false;
        BEGIN
            FOR i IN 1 .. cardinality(p_urls) LOOP
                v_to := v_from + p_counts[i] - 1;
                SELECT one.id, one.outcome, one.other INTO id, outcome, other FROM copy_one(
                    p_queue, v_now, v_last + 1, p_urls[i], p_directories[i], p_names[i], p_targets[i], p_hosts[i], p_places[i],
                    p_unresolved[i], p_failures[i], p_users[v_from:v_to], p_batches[v_from:v_to],
                    p_priorities[v_from:v_to], p_paused[v_from:v_to]) AS one;
                IF outcome = 0 THEN v_last := v_last + 1; END IF;
                v_gains := v_gains OR outcome < 2;
                v_from := v_to + 1;
                RETURN NEXT;
            END LOOP;
            UPDATE queue SET last_job = v_last WHERE number = p_queue;
            IF v_gains THEN PERFORM wake(p_queue); END IF;
        END $$
        """,
    ]
}

// MARK: - Changes of jobs

extension PostgresQueueSchema {
    /// Whether the selection includes this member of a selected job.
    private static let isMeant = """
        CASE p_kind WHEN 'user' THEN member.user_name = p_name WHEN 'batch' THEN member.batch = p_name ELSE true END
        """

    private static let selection = "p_states int8[], p_kind text, p_name text, p_ids int8[]"
    private static let selected = "selected(p_queue, p_states, p_kind, p_name, p_ids)"

    /// The numbers in an array as a common table expression, for UPDATE or DELETE to join.
    private static func set(_ name: String, of array: String) -> String {
        "\(name) AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(\(array)) AS \(name) (id))"
    }

    /// The jobs with the numbers in an array, in its order.
    private static func jobs(in array: String) -> String {
        "unnest(\(array)) AS listed (number) \(job("listed.number"))"
    }

    /// Whether the row `job` has a member with this property.
    private static func hasMember(_ property: String) -> String {
        "EXISTS (SELECT FROM member WHERE member.queue = p_queue AND member.job = job.id AND \(property) OFFSET 0)"
    }

    /// The operations on selected jobs. All of them work on sets, because a selection can have a hundred thousand jobs.
    static let controlFunctions: [String] = [
        // The selected jobs in some states, ordered by number; with p_ids, only jobs in p_ids.
        """
        CREATE FUNCTION selected(p_queue int8, \(selection)) RETURNS int8[] LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_ids int8[];
        BEGIN
            IF p_kind = 'ids' OR cardinality(p_ids) > 0 THEN
                v_ids := ARRAY(SELECT id FROM (SELECT DISTINCT unnest(p_ids) AS number) AS named \(job("named.number"))
                    WHERE state = ANY (p_states) AND (p_kind <> 'host' OR host = p_name));
            ELSIF p_kind = 'batch' THEN
                v_ids := ARRAY(SELECT id FROM (
                        SELECT DISTINCT job FROM (
                            SELECT job FROM member WHERE queue = p_queue AND batch >= p_name AND batch <= p_name
                            ORDER BY batch, queue, job) AS member) AS member
                    \(job("member.job")) WHERE state = ANY (p_states));
            ELSE
                -- A few jobs are found among many others by the indexes of their states.
                v_ids := ARRAY(
                    SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (\(waiting))
                            AND p_states && ARRAY[\(waiting)]::int8[] AND state = ANY (p_states) ORDER BY rank, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state = \(paused)
                            AND \(paused) = ANY (p_states) ORDER BY rank, id) AS job WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state = \(running)
                            AND \(running) = ANY (p_states) ORDER BY worker, id) AS job WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (\(ended))
                            AND \(done) = ANY (p_states) AND state = ANY (p_states) ORDER BY ended, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name
                    UNION ALL SELECT id FROM (SELECT id, host FROM job WHERE queue = p_queue AND state IN (\(failed), \(cancelled))
                            AND NOT \(done) = ANY (p_states) AND state = ANY (p_states) ORDER BY state, id) AS job
                        WHERE p_kind <> 'host' OR host = p_name);
            END IF;
            IF p_kind IN ('user', 'batch') THEN
                v_ids := ARRAY(SELECT id FROM unnest(v_ids) AS listed (id) WHERE EXISTS (
                    SELECT FROM member WHERE queue = p_queue AND job = listed.id
                        AND CASE p_kind WHEN 'user' THEN user_name ELSE batch END = p_name OFFSET 0));
            END IF;
            RETURN ARRAY(SELECT unnest(v_ids) ORDER BY 1);
        END $$
        """,
        // Ends members. Returns the jobs with the effect on each: 0 stopped, 1 its worker cancels it, 2 its worker pauses it, 3 it
        // continues.
        """
        CREATE FUNCTION cancel(p_queue int8, p_now int8, \(selection))
        RETURNS TABLE (job int8, effect int8) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_jobs int8[] := \(selected);
            v_kept int8[];
            v_running int8[];
            v_pausing int8[];
            v_drafts draft[];
        BEGIN
            v_kept := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT is_cancelled AND \(hasMember("NOT \(isMeant)")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("kept", of: "v_kept")), gone AS (
                DELETE FROM member USING kept WHERE member.queue = kept.queue AND member.job = kept.id AND \(isMeant)
                RETURNING member.job, position, user_name, batch)
            SELECT array_agg(ROW(job, position, 'left', user_name, batch)::draft) INTO v_drafts FROM gone;
            v_drafts := v_drafts || members_changed(p_queue, v_kept);
            v_jobs := ARRAY(SELECT unnest(v_jobs) EXCEPT SELECT unnest(v_kept) ORDER BY 1);
            v_running := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE state = \(running));
            WITH \(set("running", of: "v_running"))
            UPDATE job SET is_cancelled = true FROM running WHERE job.queue = running.queue AND job.id = running.id;
            v_jobs := ARRAY(SELECT unnest(v_jobs) EXCEPT SELECT unnest(v_running) ORDER BY 1);
            WITH \(set("stopped", of: "v_jobs"))
            UPDATE job SET state = \(cancelled), ended = v_now, not_before = NULL FROM stopped
                WHERE job.queue = stopped.queue AND job.id = stopped.id;
            PERFORM record_all(p_queue, v_now, v_drafts || ARRAY(
                SELECT ROW(id, 0, 'cancelled', '', '')::draft FROM unnest(v_jobs) AS stopped (id)));
            v_pausing := ARRAY(SELECT id FROM \(jobs(in: "v_kept"))
                WHERE state = \(running) AND NOT \(hasMember("NOT member.is_paused")));
            IF cardinality(v_running) + cardinality(v_pausing) > 0 THEN PERFORM wake(p_queue, 'stops'); END IF;
            RETURN QUERY SELECT unnest(v_jobs), 0::int8 UNION ALL SELECT unnest(v_running), 1::int8
                UNION ALL SELECT unnest(v_pausing), 2::int8 UNION ALL SELECT unnest(v_kept), 3::int8;
        END $$
        """,
        // Pauses members. Returns the jobs with the effect on each, like cancel.
        """
        CREATE FUNCTION pause(p_queue int8, p_now int8, \(selection))
        RETURNS TABLE (job int8, effect int8) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            v_jobs := ARRAY(SELECT id FROM \(jobs(in: "v_jobs"))
                WHERE NOT is_cancelled AND \(hasMember("NOT member.is_paused")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("pausing", of: "v_jobs"))
            UPDATE member SET is_paused = true FROM pausing
                WHERE member.queue = pausing.queue AND member.job = pausing.id AND NOT is_paused AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            RETURN QUERY SELECT id, CASE WHEN state = \(paused) THEN 0::int8
                    WHEN \(hasMember("NOT member.is_paused")) THEN 3::int8 ELSE 2::int8 END
                FROM \(jobs(in: "v_jobs"));
            IF EXISTS (SELECT FROM \(jobs(in: "v_jobs")) WHERE state = \(running)) THEN
                PERFORM wake(p_queue, 'stops');
            END IF;
        END $$
        """,
        // Resumes members, and returns the jobs that are no longer paused.
        """
        CREATE FUNCTION resume(p_queue int8, p_now int8, \(selection))
        RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
            v_resumed int8[];
        BEGIN
            v_jobs := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT is_cancelled);
            v_resumed := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT \(hasMember("NOT member.is_paused")));
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("resuming", of: "v_jobs"))
            UPDATE member SET is_paused = false FROM resuming
                WHERE member.queue = resuming.queue AND member.job = resuming.id AND is_paused AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            IF cardinality(v_jobs) > 0 THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT unnest(v_resumed);
        END $$
        """,
        // Changes the priority of members, and returns the number of jobs.
        """
        CREATE FUNCTION prioritize(p_queue int8, p_now int8, p_priority int8, \(selection))
        RETURNS int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            PERFORM leave_lines(p_queue, v_jobs);
            WITH \(set("changing", of: "v_jobs"))
            UPDATE member SET priority = p_priority FROM changing
                WHERE member.queue = changing.queue AND member.job = changing.id AND priority <> p_priority AND \(isMeant);
            PERFORM record_all(p_queue, moment(p_now), members_changed(p_queue, v_jobs));
            RETURN cardinality(v_jobs);
        END $$
        """,
        // Moves ended jobs back to waiting, and returns them. If several write the same file, only the first one is retried.
        """
        CREATE FUNCTION retry(p_queue int8, p_now int8, \(selection))
        RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
        BEGIN
            v_jobs := ARRAY(SELECT min(id) FROM \(jobs(in: "v_jobs"))
                WHERE NOT EXISTS (SELECT FROM job AS other
                    WHERE sha256(other.target) = sha256(job.target)
                        AND \(machine("other.queue", "other.place")) = \(machine("job.queue", "job.place"))
                        AND other.target = job.target AND other.state IN (\(unfinished)) OFFSET 0)
                GROUP BY place, target ORDER BY 1);
            WITH \(set("retried", of: "v_jobs"))
            UPDATE job SET state = \(ready), failures = 0, message = NULL, error = NULL, ended = NULL FROM retried
                WHERE job.queue = retried.queue AND job.id = retried.id;
            WITH \(set("retried", of: "v_jobs"))
            UPDATE member SET is_paused = false FROM retried
                WHERE member.queue = retried.queue AND member.job = retried.id AND is_paused;
            PERFORM join_lines(p_queue, v_jobs);
            PERFORM record_all(p_queue, moment(p_now), ARRAY(
                SELECT ROW(id, 0, 'retried', '', '')::draft FROM unnest(v_jobs) AS retried (id)));
            IF cardinality(v_jobs) > 0 THEN PERFORM wake(p_queue); END IF;
            RETURN QUERY SELECT unnest(v_jobs);
        END $$
        """,
        // Removes members of ended jobs, and the jobs that have no others. Returns the number of jobs with removed members.
        """
        CREATE FUNCTION remove(p_queue int8, p_now int8, \(selection))
        RETURNS int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_jobs int8[] := \(selected);
            v_gone int8[];
        BEGIN
            v_gone := ARRAY(SELECT id FROM \(jobs(in: "v_jobs")) WHERE NOT \(hasMember("NOT \(isMeant)")));
            PERFORM delete_jobs(p_queue, v_gone);
            WITH \(set("listed", of: "v_jobs"))
            DELETE FROM member USING listed
                WHERE member.queue = listed.queue AND member.job = listed.id AND \(isMeant);
            WITH now AS MATERIALIZED (
                SELECT p_queue AS queue, listed.id, min(~member.priority) AS rank
                FROM unnest(v_jobs) AS listed (id) \(members(of: "listed.id")) GROUP BY listed.id)
            UPDATE job SET rank = now.rank FROM now
                WHERE job.queue = now.queue AND job.id = now.id AND job.rank <> now.rank;
            PERFORM record_all(p_queue, moment(p_now), ARRAY(
                SELECT ROW(id, 0, 'removed', '', '')::draft FROM unnest(v_gone) AS gone (id)));
            RETURN cardinality(v_jobs);
        END $$
        """,
    ]
}
#endif
