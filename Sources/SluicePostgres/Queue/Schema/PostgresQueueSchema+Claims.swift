#if PostgreSQL
extension PostgresQueueSchema {
    /// Settlements and claims.
    static let claimFunctions = [
        // Records what an attempt of a job found out about its host: 1 reached, 2 busy, 3 unreachable. See HostHealth.
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
        // Records outcomes: 2 done, 3 failed, 5 tried again after a delay, 0 released or cancelled. Returns the places of those whose
        // leases are no longer valid. A released job may get another host. p_again says that the same settlements may have been committed before.
        """
        CREATE FUNCTION settle(
            p_queue int8, p_now int8, p_again bool, p_jobs int8[], p_tokens int8[], p_outcomes int8[], p_amounts int8[],
            p_messages text[], p_hosts text[], p_reports int8[], p_limits int8[], p_times int8[]
        ) RETURNS SETOF int8 LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
            v_state int8;
        BEGIN
            FOR i IN 1 .. cardinality(p_jobs) LOOP
                IF p_again AND EXISTS (SELECT FROM job WHERE queue = p_queue AND id = p_jobs[i]
                    AND token = p_tokens[i] AND state <> 1) THEN CONTINUE; END IF;
                IF p_reports[i] > 0 THEN
                    PERFORM note_host(p_queue, v_now, p_jobs[i], p_reports[i], p_limits[i], p_times[i]);
                END IF;
                UPDATE job SET
                        state = CASE
                            WHEN p_outcomes[i] IN (2, 3) THEN p_outcomes[i]
                            -- A job that was cancelled while it failed isn't tried again.
                            WHEN is_cancelled THEN 4 ELSE p_outcomes[i] END,
                        host = coalesce(p_hosts[i], host),
                        ended = CASE WHEN p_outcomes[i] IN (2, 3) OR is_cancelled THEN v_now END,
                        not_before = CASE WHEN p_outcomes[i] = 5 AND NOT is_cancelled THEN v_now + p_amounts[i] END,
                        failures = failures + CASE WHEN p_outcomes[i] IN (3, 5) THEN 1 ELSE 0 END,
                        bytes = CASE WHEN p_outcomes[i] = 2 THEN p_amounts[i] ELSE bytes END,
                        message = CASE p_outcomes[i] WHEN 0 THEN message ELSE p_messages[i] END,
                        worker = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    WHERE queue = p_queue AND id = p_jobs[i] AND state = 1 AND token = p_tokens[i];
                IF NOT FOUND THEN
                    -- A crash of the server may have undone the claim of a worker that has published the file.
                    IF p_outcomes[i] = 2 THEN
                        UPDATE job SET may_be_published = true
                            WHERE queue = p_queue AND id = p_jobs[i] AND state IN (0, 5, 6);
                    END IF;
                    RETURN NEXT i::int8;
                    CONTINUE;
                END IF;
                v_state := wait_again(p_queue, p_jobs[i]);
                PERFORM record(p_queue, v_now, p_jobs[i],
                    CASE v_state WHEN 2 THEN 'done' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 6 THEN 'paused'
                        WHEN 5 THEN 'retrying' ELSE 'released' END,
                    p_bytes => CASE WHEN p_outcomes[i] = 2 THEN p_amounts[i] END, p_message => p_messages[i]);
            END LOOP;
        END $$
        """,
        // Makes jobs ready whose delays are over.
        """
        CREATE FUNCTION admit_delayed(p_queue int8, p_now int8) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_jobs int8[];
        BEGIN
            WITH over AS (
                UPDATE job SET state = CASE state WHEN 5 THEN 0 ELSE state END, not_before = NULL
                    WHERE queue = p_queue AND not_before <= p_now RETURNING id, state)
            SELECT array_agg(id) INTO v_jobs FROM over WHERE state = 0;
            IF v_jobs IS NOT NULL THEN PERFORM join_lines(p_queue, v_jobs); END IF;
        END $$
        """,
        // The first lane with room behind a position. It looks at 64 lanes in order. If all are full, it looks at the first lanes of each
        // host or of each user, if there are fewer than 64 of them: a full host may have ten thousand users before the first lane with
        // room, but no more users are full than jobs run.
        """
        CREATE FUNCTION next_lane(
            p_queue int8, p_hosts text[], p_users text[], p_resolves bool, INOUT p_rank int8, INOUT p_job int8
        ) LANGUAGE plpgsql AS $$
        DECLARE
            v_rank int8 := p_rank;
            v_job int8 := p_job;
            v_passed int8;
            v_names text[];
        BEGIN
            SELECT head_rank, head_job INTO p_rank, p_job
                FROM (SELECT * FROM lane WHERE queue = p_queue AND (head_rank, head_job) > (v_rank, v_job)
                    ORDER BY head_rank, head_job LIMIT 64) AS page
                WHERE host <> ALL (p_hosts) AND user_name <> ALL (p_users) AND (p_resolves OR NOT is_unresolved)
                ORDER BY head_rank, head_job LIMIT 1;
            IF FOUND THEN RETURN; END IF;
            SELECT count(*) INTO v_passed FROM (SELECT FROM lane
                WHERE queue = p_queue AND (head_rank, head_job) > (v_rank, v_job) LIMIT 64) AS page;
            IF v_passed < 64 THEN RETURN; END IF;
            -- Each step jumps in the index from one name to the next.
            WITH RECURSIVE found (name) AS (
                SELECT min(host) FROM lane WHERE queue = p_queue
                UNION ALL
                SELECT (SELECT min(host) FROM lane WHERE queue = p_queue AND host > found.name) FROM found
                    WHERE found.name IS NOT NULL)
            SELECT array_agg(name) INTO v_names FROM (SELECT name FROM found WHERE name IS NOT NULL LIMIT 64) AS listed;
            IF cardinality(v_names) < 64 THEN
                SELECT head_rank, head_job INTO p_rank, p_job
                    FROM unnest(v_names) AS open (name) CROSS JOIN LATERAL (
                        SELECT head_rank, head_job FROM lane
                        WHERE queue = p_queue AND host = open.name AND (head_rank, head_job) > (v_rank, v_job)
                            AND user_name <> ALL (p_users) AND (p_resolves OR NOT is_unresolved)
                        ORDER BY head_rank, head_job LIMIT 1) AS first
                    WHERE open.name <> ALL (p_hosts) ORDER BY head_rank, head_job LIMIT 1;
                RETURN;
            END IF;
            WITH RECURSIVE found (name) AS (
                SELECT min(user_name) FROM lane WHERE queue = p_queue
                UNION ALL
                SELECT (SELECT min(user_name) FROM lane WHERE queue = p_queue AND user_name > found.name) FROM found
                    WHERE found.name IS NOT NULL)
            SELECT array_agg(name) INTO v_names FROM (SELECT name FROM found WHERE name IS NOT NULL LIMIT 64) AS listed;
            IF cardinality(v_names) < 64 THEN
                SELECT head_rank, head_job INTO p_rank, p_job
                    FROM unnest(v_names) AS open (name) CROSS JOIN LATERAL (
                        SELECT head_rank, head_job FROM lane
                        WHERE queue = p_queue AND user_name = open.name AND (head_rank, head_job) > (v_rank, v_job)
                            AND host <> ALL (p_hosts) AND (p_resolves OR NOT is_unresolved)
                        ORDER BY head_rank, head_job LIMIT 1) AS first
                    WHERE open.name <> ALL (p_users) ORDER BY head_rank, head_job LIMIT 1;
                RETURN;
            END IF;
            SELECT head_rank, head_job INTO p_rank, p_job FROM lane
                WHERE queue = p_queue AND (head_rank, head_job) > (v_rank, v_job)
                    AND host <> ALL (p_hosts) AND user_name <> ALL (p_users) AND (p_resolves OR NOT is_unresolved)
                ORDER BY head_rank, head_job LIMIT 1;
        END $$
        """,
        // Takes back expired leases, admits delayed jobs and hands out jobs under the limits. The tokens of their leases follow p_token.
        """
        CREATE FUNCTION claim(
            p_queue int8, p_now int8, p_again bool, p_worker text, p_count int8, p_total int8, p_per_host int8,
            p_per_user int8, p_lease int8, p_batch text, p_resolves bool, p_token int8
        ) RETURNS TABLE (
            id int8, token int8, url text, directory text, name text, host text, rank int8, failures int8, may_be_published bool,
            charged text
        ) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_now int8 := moment(p_now);
            v_claimed int8[] := '{}';
            v_running int8;
            v_full_hosts text[];
            v_full_users text[];
            v_rank int8 := -9223372036854775808;
            v_job int8 := -1;
            v_host text;
            v_user text;
        BEGIN
            PERFORM take_back(p_queue, v_now, ARRAY(
                SELECT id FROM job WHERE queue = p_queue AND state = 1 AND lease_until <= v_now ORDER BY id));
            PERFORM admit_delayed(p_queue, v_now);
            IF p_again THEN
                v_claimed := ARRAY(SELECT id FROM job WHERE queue = p_queue AND state = 1 AND worker = p_worker
                    AND token > p_token AND token <= p_token + p_count ORDER BY token);
            END IF;
            v_running := (SELECT count(*) FROM job WHERE queue = p_queue AND state = 1);
            v_full_hosts := ARRAY(
                SELECT host FROM job WHERE queue = p_queue AND state = 1 GROUP BY host HAVING count(*) >= p_per_host
                UNION ALL
                SELECT name FROM host WHERE queue = p_queue AND (until > v_now OR is_open AND EXISTS (
                    SELECT FROM job WHERE job.queue = p_queue AND state = 1 AND job.host = host.name)));
            v_full_users := ARRAY(
                SELECT charged FROM job WHERE queue = p_queue AND state = 1 AND charged <> ''
                GROUP BY charged HAVING count(*) >= p_per_user);
            WHILE cardinality(v_claimed) < p_count AND v_running < p_total LOOP
                IF p_batch IS NULL THEN
                    SELECT lane.p_rank, lane.p_job INTO v_rank, v_job
                        FROM next_lane(p_queue, v_full_hosts, v_full_users, p_resolves, v_rank, v_job) AS lane;
                ELSE
                    SELECT rank, id INTO v_rank, v_job FROM job
                        WHERE queue = p_queue AND state IN (0, 5) AND state = 0 AND (rank, id) > (v_rank, v_job)
                            AND host <> ALL (v_full_hosts) AND (p_resolves OR NOT is_unresolved)
                            AND EXISTS (SELECT FROM member WHERE member.queue = p_queue AND member.job = job.id
                                AND batch = p_batch AND NOT is_paused)
                            AND EXISTS (SELECT FROM member WHERE member.queue = p_queue AND member.job = job.id
                                AND NOT is_paused AND user_name <> ALL (v_full_users))
                        ORDER BY rank, id LIMIT 1;
                END IF;
                EXIT WHEN v_job IS NULL;
                v_user := (SELECT user_name FROM member WHERE queue = p_queue AND job = v_job AND NOT is_paused
                    AND user_name <> ALL (v_full_users) ORDER BY place LIMIT 1);
                PERFORM leave_lines(p_queue, ARRAY[v_job]);
                v_claimed := v_claimed || v_job;
                v_running := v_running + 1;
                UPDATE job SET state = 1, worker = p_worker, token = p_token + cardinality(v_claimed),
                        lease_until = v_now + p_lease, charged = v_user
                    WHERE queue = p_queue AND id = v_job RETURNING host INTO v_host;
                PERFORM record(p_queue, v_now, v_job, 'started', v_user);
                IF (SELECT count(*) FROM job WHERE queue = p_queue AND state = 1 AND host = v_host)
                    >= least(p_per_host, (SELECT 1 FROM host WHERE queue = p_queue AND name = v_host AND is_open))
                THEN v_full_hosts := v_full_hosts || v_host; END IF;
                IF v_user <> '' AND (SELECT count(*) FROM job WHERE queue = p_queue AND state = 1 AND charged = v_user)
                    >= p_per_user
                THEN v_full_users := v_full_users || v_user; END IF;
            END LOOP;
            RETURN QUERY
                SELECT job.id, job.token, job.url, job.directory, job.name, job.host, job.rank, job.failures,
                    job.may_be_published, job.charged
                FROM unnest(v_claimed) WITH ORDINALITY AS claimed (id, place)
                JOIN job ON job.queue = p_queue AND job.id = claimed.id ORDER BY claimed.place;
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
                (SELECT min(not_before) FROM job WHERE queue = p_queue AND not_before IS NOT NULL),
                (SELECT min(lease_until) FROM job WHERE queue = p_queue AND state = 1),
                (SELECT min(until) FROM host WHERE queue = p_queue AND until > v_now)) - v_now;
            IF due < 0 THEN due := 0; END IF;
            IF p_batch IS NULL THEN
                has_open := EXISTS (SELECT FROM job WHERE queue = p_queue AND state IN (0, 5))
                    OR EXISTS (SELECT FROM job WHERE queue = p_queue AND state = 1);
            ELSE
                has_open := EXISTS (
                    SELECT FROM member JOIN job ON job.queue = member.queue AND job.id = member.job
                    WHERE member.queue = p_queue AND member.batch = p_batch AND NOT is_paused
                        AND job.state IN (0, 1, 5));
            END IF;
        END $$
        """,
    ]
}
#endif
