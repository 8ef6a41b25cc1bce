#if PostgreSQL
extension PostgresQueueSchema {
    /// Stores those jobs of a query in `v_candidates` that a claim for the batch `p_batch` may take: the first `v_count` in order.
    private static func candidates(of jobs: String) -> String {
        """
        SELECT array_agg(ROW(rank, id, host, host_room, users, user_rooms, NULL)::candidate) INTO v_candidates FROM (
            SELECT rank, id, host, \(hostRoom("job.host")) AS host_room, member.* FROM (\(jobs)) AS job
            CROSS JOIN LATERAL (
                SELECT array_agg(user_name ORDER BY position) AS users,
                    array_agg(\(userRoom("member.user_name")) ORDER BY position) AS user_rooms,
                    bool_or(batch = p_batch) AND max(\(userRoom("member.user_name", taken: "v_users"))) > 0 AS fits
                FROM member WHERE member.queue = p_queue AND member.job = job.id AND NOT is_paused) AS member
            WHERE state = 0 AND (p_resolves OR NOT is_unresolved) AND place = ANY (v_places) AND fits
                AND \(hostRoom("job.host", taken: "v_hosts")) > 0
            ORDER BY rank, id LIMIT v_count) AS listed
        """
    }

    /// Claims, and what a worker waits for when there is nothing to claim.
    static let claimFunctions = [
        // A job that a claim may take. The rooms are those of its host and of the users of its active members, in the order of the members.
        // More jobs than the listed ones may follow it in the lines of limited_users.
        """
        CREATE TYPE candidate AS (
            rank int8, job int8, host text, host_room int8, users text[], user_rooms int8[], limited_users text[])
        """,
        // Takes back expired leases, admits delayed jobs and hands out jobs under the limits, none from the hosts p_avoided. The tokens of
        // their leases follow p_token.
        """
        CREATE FUNCTION claim(
            p_queue int8, p_now int8, p_again bool, p_worker text, p_count int8, p_total int8, p_per_host int8,
            p_per_user int8, p_lease int8, p_batch text, p_resolves bool, p_place text, p_token int8,
            p_avoided text[] DEFAULT '{}'
        ) RETURNS TABLE (
            id int8, token int8, url text, directory text, name text, host text, rank int8, failures int8, may_be_published bool,
            charged text
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
                UPDATE job SET lease_until = p_now + p_lease WHERE queue = p_queue AND state = 1
                    AND lease_until > p_now + greatest(600000, 10 * least(p_lease, 1125899906842624));
            END IF;
            v_jobs := ARRAY(
                SELECT id FROM job WHERE queue = p_queue AND state = 1 AND lease_until <= p_now ORDER BY lease_until);
            IF cardinality(v_jobs) > 0 THEN PERFORM take_back(p_queue, p_now, v_jobs); END IF;
            v_jobs := '{}';
            PERFORM admit_delayed(p_queue, p_now);
            IF p_again THEN
                RETURN QUERY SELECT id, token, url, directory, name, host, rank, failures, may_be_published, charged
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
                        SELECT * FROM job WHERE queue = p_queue AND state IN (0, 5) AND (rank, id) > (v_rank, v_job)
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
                    (SELECT coalesce(max(number), 0) AS number FROM event WHERE queue = p_queue) AS last;
            RETURN QUERY
                WITH taken AS MATERIALIZED (
                    SELECT p_queue AS queue, * FROM unnest(v_jobs, v_users) WITH ORDINALITY AS taken (job, user_name, position)),
                started AS (
                    UPDATE job SET state = 1, worker = p_worker, token = p_token + position,
                            lease_until = p_now + p_lease, charged = user_name
                        FROM taken WHERE job.queue = taken.queue AND job.id = taken.job
                        RETURNING job.id, job.token, job.url, job.directory, job.name, job.host, job.rank, job.failures,
                            job.may_be_published, job.charged)
                SELECT * FROM started ORDER BY token;
        END $$
        """,
        // The hosts from which no job is claimed now.
        """
        CREATE FUNCTION held_back_hosts(p_queue int8, p_now int8)
        RETURNS TABLE (name text, until int8, is_open bool) LANGUAGE sql STABLE AS $$
            SELECT name, until, is_open FROM host
            WHERE queue = p_queue AND (is_open OR until > moment(p_now))
        $$
        """,
        // The time until the next delay, lease or pause of a host ends, and whether a job waits or runs.
        """
        CREATE FUNCTION outlook(p_queue int8, p_now int8, p_batch text, OUT due int8, OUT has_open bool)
        LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
        BEGIN
            due := least(
                (SELECT not_before FROM job WHERE queue = p_queue AND not_before IS NOT NULL ORDER BY not_before LIMIT 1),
                (SELECT lease_until FROM job WHERE queue = p_queue AND state = 1 ORDER BY lease_until LIMIT 1),
                (SELECT min(until) FROM host WHERE queue = p_queue AND until > v_now)) - v_now;
            IF due < 0 THEN due := 0; END IF;
            IF p_batch IS NULL THEN
                has_open := coalesce((SELECT number > 0 FROM running WHERE queue = p_queue AND kind = 0 AND name = ''), false)
                    OR coalesce((SELECT true FROM job
                        WHERE queue = p_queue AND state IN (0, 5) ORDER BY rank, id LIMIT 1), false);
            ELSE
                has_open := EXISTS (
                    SELECT FROM (
                        SELECT * FROM member WHERE queue = p_queue AND batch >= p_batch AND batch <= p_batch
                        ORDER BY batch, queue, job) AS member
                    \(job("member.job")) WHERE NOT is_paused AND state IN (0, 1, 5));
            END IF;
        END $$
        """,
    ]
}
#endif
