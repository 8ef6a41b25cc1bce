#if PostgreSQL
// MARK: - Settlements

extension PostgresQueueSchema {
    /// Outcomes of jobs, and delays that are over.
    static let settlementFunctions: [String] = [
        // Records what an attempt at a job learned about its host: 1 reached, 2 busy, 3 unreachable. See HostHealth.
        """
        CREATE FUNCTION note_host(
            p_queue int8, p_now int8, p_job int8, p_report int8, p_limit int8, p_time int8
        ) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_host text := (SELECT host FROM job WHERE queue = p_queue AND id = p_job);
            v_until int8;
            v_failures int8;
            v_is_open bool;
        BEGIN
            IF v_host IS NULL THEN RETURN; END IF;
            SELECT until, failures, is_open INTO v_until, v_failures, v_is_open FROM host
                WHERE queue = p_queue AND name = v_host;
            IF NOT FOUND THEN
                -- The usual case: a host that is well was reached.
                IF p_report = 1 THEN RETURN; END IF;
                v_until := p_now; v_failures := 0; v_is_open := false;
            END IF;
            IF p_report = 3 THEN
                v_failures := v_failures + 1;
                IF v_failures >= p_limit THEN
                    v_is_open := true;
                    v_until := greatest(v_until, p_now + p_time);
                END IF;
            ELSE
                v_failures := 0; v_is_open := false;
                IF p_report = 2 THEN v_until := greatest(v_until, p_now + p_time); END IF;
            END IF;
            IF v_until <= p_now AND v_failures = 0 AND NOT v_is_open THEN
                DELETE FROM host WHERE queue = p_queue AND name = v_host;
            ELSE
                INSERT INTO host (queue, name, until, failures, is_open)
                    VALUES (p_queue, v_host, v_until, v_failures, v_is_open)
                    ON CONFLICT (queue, name) DO UPDATE
                        SET until = excluded.until, failures = excluded.failures, is_open = excluded.is_open;
            END IF;
        END $$
        """,
        // Records outcomes as the states that follow: done, failed, delayed (to retry), or ready (released or cancelled). A postponed job is
        // delayed too, but hasn't failed; an earlier version's outcome for that is delayed without a message. Returns the positions of
        // settlements whose leases are no longer valid. A released or postponed job may get a different host. p_again says that the same
        // settlements may already have been committed.
        """
        CREATE FUNCTION settle(
            p_queue int8, p_now int8, p_again bool, p_jobs int8[], p_tokens int8[], p_outcomes int8[], p_amounts int8[],
            p_messages text[], p_errors text[], p_hosts text[], p_reports int8[], p_limits int8[], p_times int8[]
        ) RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
            v_known int8[] := '{}';
            v_settled int8[];
            v_jobs int8[];
            v_states int8[];
            v_hosts text[];
            v_users text[];
        BEGIN
            -- The second settlement of a job sees what the first one did.
            IF (SELECT count(DISTINCT job) FROM unnest(p_jobs) AS job) < cardinality(p_jobs) THEN
                FOR i IN 1 .. cardinality(p_jobs) LOOP
                    RETURN QUERY SELECT i::int8 FROM settle(p_queue, v_now, p_again, p_jobs[i:i], p_tokens[i:i], p_outcomes[i:i],
                        p_amounts[i:i], p_messages[i:i], p_errors[i:i], p_hosts[i:i], p_reports[i:i], p_limits[i:i],
                        p_times[i:i]);
                END LOOP;
                RETURN;
            END IF;
            IF p_again THEN
                v_known := ARRAY(
                    SELECT position FROM unnest(p_jobs, p_tokens) WITH ORDINALITY AS settlement (job, token, position)
                    \(job("settlement.job")) WHERE job.token = settlement.token AND job.state <> \(running));
            END IF;
            -- The usual case is that hosts that are well were reached.
            IF EXISTS (SELECT FROM unnest(p_reports) AS report WHERE report > 1)
                OR EXISTS (SELECT FROM unnest(p_jobs) AS settlement (job) \(job("settlement.job")) CROSS JOIN LATERAL (
                    SELECT FROM host WHERE host.queue = p_queue AND host.name = job.host OFFSET 0) AS host)
            THEN
                FOR i IN 1 .. cardinality(p_jobs) LOOP
                    IF p_reports[i] > 0 AND i <> ALL (v_known) THEN
                        PERFORM note_host(p_queue, v_now, p_jobs[i], p_reports[i], p_limits[i], p_times[i]);
                    END IF;
                END LOOP;
            END IF;
            WITH held AS MATERIALIZED (
                SELECT settlement.job, CASE outcome WHEN \(postponed) THEN \(delayed) ELSE outcome END AS outcome, amount,
                    settlement.message, settlement.error, settlement.host, position,
                    outcome <> \(postponed) AND settlement.message IS NOT NULL AS has_failed,
                    job.queue, job.host AS old_host, job.charged, \(isPaused) AS is_paused
                FROM unnest(p_jobs, p_tokens, p_outcomes, p_amounts, p_messages, p_errors, p_hosts) WITH ORDINALITY
                    AS settlement (job, token, outcome, amount, message, error, host, position)
                \(job("settlement.job")) WHERE job.state = \(running) AND job.token = settlement.token),
            settled AS (
                UPDATE job SET
                        state = CASE
                            WHEN outcome IN (\(done), \(failed)) THEN outcome
                            -- A job that was cancelled while it failed isn't tried again.
                            WHEN is_cancelled THEN \(cancelled) WHEN held.is_paused THEN \(paused) ELSE outcome END,
                        host = coalesce(held.host, job.host),
                        ended = CASE WHEN outcome IN (\(done), \(failed)) OR is_cancelled THEN v_now END,
                        not_before = CASE WHEN outcome = \(delayed) AND NOT is_cancelled THEN v_now + amount END,
                        failures = failures + has_failed::int,
                        bytes = CASE WHEN outcome = \(done) THEN amount ELSE bytes END,
                        message = CASE outcome WHEN \(done) THEN NULL ELSE coalesce(held.message, job.message) END,
                        error = CASE outcome WHEN \(done) THEN NULL ELSE coalesce(held.error, job.error) END,
                        worker = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    FROM held WHERE job.queue = held.queue AND job.id = held.job
                    RETURNING held.position, job.id, job.state, held.old_host, held.charged)
            SELECT array_agg(position), array_agg(id), array_agg(state), array_agg(old_host), array_agg(charged)
                INTO v_settled, v_jobs, v_states, v_hosts, v_users FROM settled;
            IF v_jobs IS NOT NULL THEN
                PERFORM count_running(p_queue, v_hosts, v_users, -1);
                INSERT INTO event (queue, number, time, job, kind, user_name, batch, bytes, message)
                    SELECT p_queue, last.number + row_number() OVER (ORDER BY position), v_now, job,
                        CASE state WHEN \(done) THEN 'done' WHEN \(failed) THEN 'failed' WHEN \(cancelled) THEN 'cancelled' \
        WHEN \(paused) THEN 'paused'
                            WHEN \(delayed) THEN CASE
                                WHEN p_outcomes[position] = \(postponed) OR p_messages[position] IS NULL THEN 'released'
                                ELSE 'retrying' END
                            ELSE 'released' END,
                        '', '', CASE WHEN p_outcomes[position] = \(done) THEN p_amounts[position] END, p_messages[position]
                    FROM unnest(v_settled, v_jobs, v_states) AS settled (position, job, state),
                        (SELECT coalesce(\(lastEvent), 0) AS number) AS last;
                IF \(ready) = ANY (v_states) THEN
                    PERFORM join_lines(p_queue, ARRAY(
                        SELECT job FROM unnest(v_jobs, v_states) AS settled (job, state) WHERE state = \(ready)));
                END IF;
            END IF;
            IF coalesce(cardinality(v_settled), 0) < cardinality(p_jobs) THEN
                -- A crash of the server may have undone the claim of a worker that has published the file.
                UPDATE job SET may_be_published = true
                    FROM (SELECT p_queue AS queue, p_jobs[position] AS job
                        FROM generate_series(1, cardinality(p_jobs)::int8) AS position
                        WHERE p_outcomes[position] = \(done) AND position <> ALL (v_known || v_settled)) AS refused
                    WHERE job.queue = refused.queue AND job.id = refused.job AND state IN (\(waiting), \(paused));
                RETURN QUERY SELECT position FROM generate_series(1, cardinality(p_jobs)::int8) AS position
                    WHERE position <> ALL (v_known || v_settled);
            END IF;
        END $$
        """,
        // For workers of an earlier version, which only have the description of an error.
        """
        CREATE FUNCTION settle(
            p_queue int8, p_now int8, p_again bool, p_jobs int8[], p_tokens int8[], p_outcomes int8[], p_amounts int8[],
            p_messages text[], p_hosts text[], p_reports int8[], p_limits int8[], p_times int8[]
        ) RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        BEGIN
            RETURN QUERY SELECT * FROM settle(p_queue, p_now, p_again, p_jobs, p_tokens, p_outcomes, p_amounts, p_messages,
                array_fill(NULL::text, ARRAY[cardinality(p_jobs)]), p_hosts, p_reports, p_limits, p_times);
        END $$
        """,
        // Makes jobs ready whose delays are over.
        """
        CREATE FUNCTION admit_delayed(p_queue int8, p_now int8) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_jobs int8[];
        BEGIN
            v_jobs := ARRAY(
                SELECT id FROM job WHERE queue = p_queue AND not_before <= p_now ORDER BY not_before);
            IF cardinality(v_jobs) = 0 THEN RETURN; END IF;
            WITH ready AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(v_jobs) AS ready (id)),
            changed AS (
                UPDATE job SET state = CASE state WHEN \(delayed) THEN \(ready) ELSE state END, not_before = NULL
                    FROM ready WHERE job.queue = ready.queue AND job.id = ready.id RETURNING job.id, job.state)
            SELECT array_agg(id) INTO v_jobs FROM changed WHERE state = \(ready);
            IF v_jobs IS NOT NULL THEN PERFORM join_lines(p_queue, v_jobs); END IF;
        END $$
        """,
    ]
}

// MARK: - The lanes from which a claim takes jobs

extension PostgresQueueSchema {
    // MARK: Room under the limits

    /// How many more jobs from a host may run, not counting the array `taken`. None for the hosts in `p_avoided`.
    private static func hostRoom(_ name: String, taken: String? = nil) -> String {
        """
        CASE WHEN \(name) = ANY (p_avoided) THEN 0 ELSE
            coalesce((SELECT CASE WHEN until > p_now THEN 0 WHEN is_open THEN least(1, p_per_host) END
                FROM host WHERE host.queue = p_queue AND host.name = \(name)), p_per_host)
            - coalesce((SELECT number FROM running
                WHERE running.queue = p_queue AND running.kind = 1 AND running.name = \(name)), 0)
            \(taken.map { "- cardinality(array_positions(\($0), \(name)))" } ?? "") END
        """
    }

    /// How many more jobs charged to a user may run, not counting the array `taken`.
    private static func userRoom(_ name: String, taken: String? = nil) -> String {
        """
        CASE WHEN \(name) = '' THEN 4611686018427387904 ELSE p_per_user
            - coalesce((SELECT number FROM running
                WHERE running.queue = p_queue AND running.kind = 2 AND running.name = \(name)), 0)
            \(taken.map { "- cardinality(array_positions(\($0), \(name)))" } ?? "") END
        """
    }

    // MARK: Lanes

    /// The first lanes after a position in each stream, a group of lanes that an index keeps in order.
    private static func lanes(of streams: String, where condition: String = "true", atMost count: String) -> String {
        """
        SELECT head.* FROM \(streams) CROSS JOIN LATERAL (
            SELECT * FROM head WHERE queue = p_queue AND place = stream.place
                AND is_unresolved = stream.is_unresolved AND (rank, job) > (p_rank, p_job) AND \(condition)
            ORDER BY rank, job LIMIT \(count)) AS head
        """
    }

    /// The first `p_count` lanes after a position for each of the names in `v_names`.
    private static func lanes(by column: String, where condition: String, andName nameCondition: String) -> String {
        """
        SELECT head.* FROM unnest(v_places, v_unresolved, v_names) AS stream (place, is_unresolved, name) CROSS JOIN LATERAL (
            SELECT * FROM head WHERE queue = p_queue AND place = stream.place AND is_unresolved = stream.is_unresolved
                AND (\(column), rank, job) > (stream.name, p_rank, p_job) AND \(column) <= stream.name AND \(condition)
            ORDER BY \(column), rank, job LIMIT p_count) AS head
        WHERE \(nameCondition) ORDER BY rank, job
        """
    }

    private static let allStreams = "unnest(p_places, p_unresolved) AS stream (place, is_unresolved)"

    private static let freeOfHost = hostRoom("head.host", taken: "p_hosts")
    private static let freeOfUser = userRoom("head.user_name", taken: "p_users")

    /// Stores a query's first `p_count` lanes that have room in `lanes`.
    private static func openLanes(of query: String) -> String {
        """
        SELECT array_agg(ROW(lane, host, user_name, room, rank, job)::open_lane) INTO lanes FROM (
            SELECT * FROM (
                SELECT *, least(\(freeOfHost), \(freeOfUser)) AS room FROM (\(query)) AS head OFFSET 0) AS head
            WHERE room > 0 ORDER BY rank, job LIMIT p_count) AS open
        """
    }

    /// Stores the values of a column of `head` in `v_names`, and their streams in `v_places` and `v_unresolved`: all, or 64. Each step
    /// jumps from one value to the next in an index.
    private static func distinct(_ column: String) -> String {
        """
        WITH RECURSIVE found (place, is_unresolved, name) AS (
            SELECT place, is_unresolved, (SELECT \(column) FROM head
                WHERE queue = p_queue AND head.place = stream.place AND head.is_unresolved = stream.is_unresolved
                ORDER BY \(column), rank, job LIMIT 1) FROM \(allStreams)
            UNION ALL
            SELECT place, is_unresolved, (SELECT \(column) FROM head WHERE queue = p_queue AND head.place = found.place
                    AND head.is_unresolved = found.is_unresolved AND \(column) > found.name
                ORDER BY \(column), rank, job LIMIT 1) FROM found WHERE found.name IS NOT NULL)
        SELECT array_agg(place), array_agg(is_unresolved), array_agg(name) INTO v_places, v_unresolved, v_names
            FROM (SELECT * FROM found WHERE name IS NOT NULL LIMIT 64) AS listed
        """
    }

    // MARK: Functions

    static let laneFunctions: [String] = [
        // A lane with room for this number of jobs, and its head.
        """
        CREATE TYPE open_lane AS (lane int8, host text, user_name text, room int8, rank int8, job int8)
        """,
        // The first lanes with room after a position, at most p_count. Up to the position of last_rank and last_job, no other lane has
        // room. It looks at 64 lanes in order. If all are full, it looks at the first lanes of each host or each user, if there are fewer
        // than 64 of them: a full host may have ten thousand users before the first lane with room, but there are never more full users
        // than running jobs. The jobs that the claim has taken so far have the hosts p_hosts and are charged to p_users.
        """
        CREATE FUNCTION open_lanes(
            p_queue int8, p_now int8, p_places text[], p_unresolved bool[], p_per_host int8, p_per_user int8,
            p_hosts text[], p_users text[], p_rank int8, p_job int8, p_count int8, p_avoided text[],
            OUT lanes open_lane[], OUT last_rank int8, OUT last_job int8
        ) LANGUAGE plpgsql AS $$
        #variable_conflict use_column
        DECLARE
            v_places text[];
            v_unresolved bool[];
            v_names text[];
        BEGIN
            last_rank := 9223372036854775807; last_job := 9223372036854775807;
            \(openLanes(of: lanes(of: allStreams, atMost: "64") + " ORDER BY rank, job LIMIT 64"));
            IF cardinality(lanes) < p_count OR lanes IS NULL THEN
                SELECT rank, job INTO last_rank, last_job FROM (
                    \(lanes(of: allStreams, atMost: "64"))) AS lane
                    ORDER BY rank, job OFFSET 63 LIMIT 1;
                IF NOT FOUND THEN
                    last_rank := 9223372036854775807; last_job := 9223372036854775807;
                    RETURN;
                END IF;
                IF lanes IS NOT NULL THEN RETURN; END IF;
                last_rank := 9223372036854775807; last_job := 9223372036854775807;
                \(distinct("host"));
                IF cardinality(v_names) < 64 THEN
                    \(openLanes(of: lanes(
                        by: "host", where: "\(freeOfUser) > 0",
                        andName: "\(hostRoom("stream.name", taken: "p_hosts")) > 0")));
                ELSE
                    \(distinct("user_name"));
                    IF cardinality(v_names) < 64 THEN
                        \(openLanes(of: lanes(
                            by: "user_name", where: "\(freeOfHost) > 0",
                            andName: "\(userRoom("stream.name", taken: "p_users")) > 0")));
                    ELSE
                        \(openLanes(of: lanes(of: allStreams, where: "\(freeOfHost) > 0 AND \(freeOfUser) > 0", atMost: "p_count")
                            + " ORDER BY rank, job"));
                    END IF;
                END IF;
            END IF;
            IF cardinality(lanes) = p_count THEN
                last_rank := lanes[p_count].rank; last_job := lanes[p_count].job;
            END IF;
        END $$
        """,
    ]
}

// MARK: - Claims

extension PostgresQueueSchema {
    /// Stores a query's first `v_count` jobs that a claim for the batch `p_batch` may take in `v_candidates`.
    private static func candidates(of jobs: String) -> String {
        """
        SELECT array_agg(ROW(rank, id, host, host_room, users, user_rooms, NULL)::candidate) INTO v_candidates FROM (
            SELECT rank, id, host, \(hostRoom("job.host")) AS host_room, member.* FROM (\(jobs)) AS job
            CROSS JOIN LATERAL (
                SELECT array_agg(user_name ORDER BY position) AS users,
                    array_agg(\(userRoom("member.user_name")) ORDER BY position) AS user_rooms,
                    bool_or(batch = p_batch) AND max(\(userRoom("member.user_name", taken: "v_users"))) > 0 AS fits
                FROM member WHERE member.queue = p_queue AND member.job = job.id AND NOT is_paused) AS member
            WHERE state = \(ready) AND (p_resolves OR NOT is_unresolved) AND place = ANY (v_places) AND fits
                AND \(hostRoom("job.host", taken: "v_hosts")) > 0
            ORDER BY rank, id LIMIT v_count) AS listed
        """
    }

    /// Claims, and what a worker waits for if there is nothing to claim.
    static let claimFunctions: [String] = [
        // A job that a claim may take, with the room of its host and of its active members' users, in the order of the members. In the
        // lines of limited_users, more jobs than the listed ones may follow it.
        """
        CREATE TYPE candidate AS (
            rank int8, job int8, host text, host_room int8, users text[], user_rooms int8[], limited_users text[])
        """,
        // Takes back expired leases, admits delayed jobs, and hands out jobs under the limits, none of them from the hosts p_avoided. The
        // tokens of their leases follow p_token.
        """
        CREATE FUNCTION claim(
            p_queue int8, p_now int8, p_again bool, p_worker text, p_count int8, p_total int8, p_per_host int8,
            p_per_user int8, p_lease int8, p_batch text, p_resolves bool, p_place text, p_token int8,
            p_avoided text[] DEFAULT '{}'
        ) RETURNS TABLE (
            id int8, token int8, url text, directory text, name text, host text, rank int8, failures int8, may_be_published bool,
            charged text, checksum text, mirrors text
        ) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_places text[] := CASE WHEN p_place = '' THEN ARRAY[''] ELSE ARRAY['', p_place] END;
            v_unresolved bool[] := array_fill(false, ARRAY[cardinality(v_places)]);
            v_jobs int8[] := '{}';
            v_hosts text[] := '{}';
            v_users text[] := '{}';
            v_wanted int8 := p_count;
            v_count int8;
            v_open record;
            v_candidates candidate[];
            v_one candidate;
            v_rank int8 := -9223372036854775808;
            v_job int8 := -1;
        BEGIN
            p_now := moment(p_now);
            IF p_resolves THEN
                v_unresolved := v_unresolved || array_fill(true, ARRAY[cardinality(v_places)]);
                v_places := v_places || v_places;
            END IF;
            p_per_host := coalesce(p_per_host, 4611686018427387904);
            p_per_user := coalesce(p_per_user, 4611686018427387904);
            -- A lease that ends in the far future is from before the clock was set back. A claim of nothing has no lease.
            IF p_lease > 0 THEN
                UPDATE job SET lease_until = p_now + p_lease WHERE queue = p_queue AND state = \(running)
                    AND lease_until > p_now + greatest(600000, 10 * least(p_lease, 1125899906842624));
            END IF;
            v_jobs := ARRAY(
                SELECT id FROM job WHERE queue = p_queue AND state = \(running) AND lease_until <= p_now ORDER BY lease_until);
            IF cardinality(v_jobs) > 0 THEN PERFORM take_back(p_queue, p_now, v_jobs); END IF;
            v_jobs := '{}';
            PERFORM admit_delayed(p_queue, p_now);
            IF p_again THEN
                RETURN QUERY SELECT id, token, url, directory, name, host, rank, failures, may_be_published, charged, checksum, mirrors
                    FROM (\(jobsOfWorker)) AS held WHERE token > p_token AND token <= p_token + p_count ORDER BY token;
                GET DIAGNOSTICS v_count = ROW_COUNT;
                p_token := p_token + v_count;
                v_wanted := v_wanted - v_count;
            END IF;
            v_wanted := least(v_wanted, p_total - coalesce(
                (SELECT number FROM running WHERE queue = p_queue AND kind = 0 AND name = ''), 0));
            -- Each round lists the first jobs with room and takes them, up to one for which the list may no longer be complete.
            WHILE cardinality(v_jobs) < v_wanted LOOP
                v_count := v_wanted - cardinality(v_jobs);
                IF p_batch IS NULL THEN
                    SELECT lanes, last_rank, last_job INTO v_open
                        FROM open_lanes(p_queue, p_now, v_places, v_unresolved, p_per_host, p_per_user, v_hosts, v_users,
                            v_rank, v_job, v_count, p_avoided);
                    EXIT WHEN v_open.lanes IS NULL;
                    SELECT array_agg(ROW(rank, job, host, host_room, users, user_rooms, limited_users)::candidate)
                        INTO v_candidates FROM (
                            SELECT listed.*, \(hostRoom("listed.host")) AS host_room, member.* FROM (
                                -- Before the lane at a position there are the heads of the earlier ones.
                                SELECT line.rank, line.job, min(lane.host) AS host,
                                    array_agg(lane.user_name) FILTER (WHERE line.position = lane.most) AS limited_users
                                FROM (SELECT *, least(room, v_count + 1 - position) AS most
                                    FROM unnest(v_open.lanes) WITH ORDINALITY AS lane
                                        (id, host, user_name, room, rank, job, position)) AS lane
                                CROSS JOIN LATERAL (
                                    SELECT *, row_number() OVER () AS position FROM (
                                        SELECT rank, job FROM line WHERE line.lane = lane.id
                                        ORDER BY rank, job LIMIT lane.most) AS line) AS line
                                -- A scan of the index wouldn't end at this position.
                                WHERE (line.rank, line.job) <= (v_open.last_rank, v_open.last_job)
                                GROUP BY line.rank, line.job ORDER BY line.rank, line.job LIMIT v_count) AS listed
                            CROSS JOIN LATERAL (
                                SELECT array_agg(user_name ORDER BY position) AS users,
                                    array_agg(\(userRoom("member.user_name")) ORDER BY position) AS user_rooms
                                FROM member WHERE queue = p_queue AND member.job = listed.job AND NOT is_paused) AS member
                            ORDER BY rank, job) AS listed;
                ELSE
                    -- The next jobs of the queue; if none of many is of the batch, the jobs of the batch.
                    \(candidates(of: """
                        SELECT * FROM job WHERE queue = p_queue AND state IN (\(waiting)) AND (rank, id) > (v_rank, v_job)
                        ORDER BY rank, id LIMIT 256
                        """));
                    IF v_candidates IS NULL THEN
                        \(candidates(of: """
                            SELECT job.* FROM (
                                SELECT DISTINCT job FROM (
                                    SELECT job FROM member WHERE queue = p_queue AND batch >= p_batch AND batch <= p_batch
                                    ORDER BY batch, queue, job) AS member) AS member
                            \(job("member.job")) WHERE (rank, id) > (v_rank, v_job)
                            """));
                    END IF;
                    EXIT WHEN v_candidates IS NULL;
                END IF;
                v_count := cardinality(v_jobs);
                <<taking>> FOREACH v_one IN ARRAY v_candidates LOOP
                    v_rank := v_one.rank; v_job := v_one.job;
                    CONTINUE WHEN v_one.host_room <= cardinality(array_positions(v_hosts, v_one.host));
                    FOR i IN 1 .. cardinality(v_one.users) LOOP
                        IF v_one.user_rooms[i] > cardinality(array_positions(v_users, v_one.users[i])) THEN
                            v_jobs := v_jobs || v_one.job;
                            v_hosts := v_hosts || v_one.host;
                            v_users := v_users || v_one.users[i];
                            EXIT taking WHEN cardinality(v_jobs) = v_wanted;
                            EXIT;
                        END IF;
                    END LOOP;
                    CONTINUE WHEN v_one.limited_users IS NULL
                        OR v_one.host_room <= cardinality(array_positions(v_hosts, v_one.host));
                    FOR i IN 1 .. cardinality(v_one.users) LOOP
                        -- A job that isn't listed may be the next one.
                        EXIT taking WHEN v_one.users[i] = ANY (v_one.limited_users)
                            AND v_one.user_rooms[i] > cardinality(array_positions(v_users, v_one.users[i]));
                    END LOOP;
                END LOOP;
                PERFORM leave_lines(p_queue, v_jobs[v_count + 1:]);
            END LOOP;
            IF cardinality(v_jobs) = 0 THEN RETURN; END IF;
            PERFORM count_running(p_queue, v_hosts, v_users, 1);
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, last.number + position, p_now, job, 'started', user_name, ''
                FROM unnest(v_jobs, v_users) WITH ORDINALITY AS taken (job, user_name, position),
                    (SELECT coalesce(\(lastEvent), 0) AS number) AS last;
            RETURN QUERY
                WITH taken AS MATERIALIZED (
                    SELECT p_queue AS queue, * FROM unnest(v_jobs, v_users) WITH ORDINALITY AS taken (job, user_name, position)),
                started AS (
                    UPDATE job SET state = \(running), worker = p_worker, token = p_token + position,
                            lease_until = p_now + p_lease, charged = user_name
                        FROM taken WHERE job.queue = taken.queue AND job.id = taken.job
                        RETURNING job.id, job.token, job.url, job.directory, job.name, job.host, job.rank, job.failures,
                            job.may_be_published, job.charged, job.checksum, job.mirrors)
                SELECT * FROM started ORDER BY token;
        END $$
        """,
        // The hosts whose jobs can't be claimed right now.
        """
        CREATE FUNCTION held_back_hosts(p_queue int8, p_now int8)
        RETURNS TABLE (name text, until int8, is_open bool) LANGUAGE sql STABLE AS $$
            SELECT name, until, is_open FROM host
            WHERE queue = p_queue AND (is_open OR until > moment(p_now))
        $$
        """,
        // The time until the next delay, lease or host pause ends, and whether any job is waiting or running.
        """
        CREATE FUNCTION outlook(p_queue int8, p_now int8, p_batch text, OUT due int8, OUT has_open bool)
        LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
        BEGIN
            due := least(
                (SELECT not_before FROM job WHERE queue = p_queue AND not_before IS NOT NULL ORDER BY not_before LIMIT 1),
                (SELECT lease_until FROM job WHERE queue = p_queue AND state = \(running) ORDER BY lease_until LIMIT 1),
                (SELECT min(until) FROM host WHERE queue = p_queue AND until > v_now)) - v_now;
            IF due < 0 THEN due := 0; END IF;
            IF p_batch IS NULL THEN
                has_open := coalesce((SELECT number > 0 FROM running WHERE queue = p_queue AND kind = 0 AND name = ''), false)
                    OR coalesce((SELECT true FROM job
                        WHERE queue = p_queue AND state IN (\(waiting)) ORDER BY rank, id LIMIT 1), false);
            ELSE
                has_open := EXISTS (
                    SELECT FROM (
                        SELECT * FROM member WHERE queue = p_queue AND batch >= p_batch AND batch <= p_batch
                        ORDER BY batch, queue, job) AS member
                    \(job("member.job")) WHERE NOT is_paused AND state IN (\(ready), \(running), \(delayed)));
            END IF;
        END $$
        """,
    ]
}
#endif
