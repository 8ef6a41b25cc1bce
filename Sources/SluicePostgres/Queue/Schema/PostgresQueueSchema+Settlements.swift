#if PostgreSQL
extension PostgresQueueSchema {
    /// Outcomes of jobs, and delays that are over.
    static let settlementFunctions = [
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
        // Records outcomes: 2 done, 3 failed, 5 tried again after a delay, or only postponed if there is no message, 0 released or cancelled.
        // Returns the positions of those whose leases are no longer valid. A released or postponed job may get another host. p_again says
        // that the same settlements may have been committed before.
        """
        CREATE FUNCTION settle(
            p_queue int8, p_now int8, p_again bool, p_jobs int8[], p_tokens int8[], p_outcomes int8[], p_amounts int8[],
            p_messages text[], p_hosts text[], p_reports int8[], p_limits int8[], p_times int8[]
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
                        p_amounts[i:i], p_messages[i:i], p_hosts[i:i], p_reports[i:i], p_limits[i:i], p_times[i:i]);
                END LOOP;
                RETURN;
            END IF;
            IF p_again THEN
                v_known := ARRAY(
                    SELECT position FROM unnest(p_jobs, p_tokens) WITH ORDINALITY AS settlement (job, token, position)
                    \(job("settlement.job")) WHERE job.token = settlement.token AND job.state <> 1);
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
                SELECT settlement.*, job.queue, job.host AS old_host, job.charged, \(isPaused) AS is_paused
                FROM unnest(p_jobs, p_tokens, p_outcomes, p_amounts, p_messages, p_hosts) WITH ORDINALITY
                    AS settlement (job, token, outcome, amount, message, host, position)
                \(job("settlement.job")) WHERE job.state = 1 AND job.token = settlement.token),
            settled AS (
                UPDATE job SET
                        state = CASE
                            WHEN outcome IN (2, 3) THEN outcome
                            -- A job that was cancelled while it failed isn't tried again.
                            WHEN is_cancelled THEN 4 WHEN held.is_paused THEN 6 ELSE outcome END,
                        host = coalesce(held.host, job.host),
                        ended = CASE WHEN outcome IN (2, 3) OR is_cancelled THEN v_now END,
                        not_before = CASE WHEN outcome = 5 AND NOT is_cancelled THEN v_now + amount END,
                        failures = failures + CASE WHEN outcome IN (3, 5) AND held.message IS NOT NULL THEN 1 ELSE 0 END,
                        bytes = CASE WHEN outcome = 2 THEN amount ELSE bytes END,
                        message = CASE outcome WHEN 2 THEN NULL ELSE coalesce(held.message, job.message) END,
                        worker = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    FROM held WHERE job.queue = held.queue AND job.id = held.job
                    RETURNING held.position, job.id, job.state, held.old_host, held.charged)
            SELECT array_agg(position), array_agg(id), array_agg(state), array_agg(old_host), array_agg(charged)
                INTO v_settled, v_jobs, v_states, v_hosts, v_users FROM settled;
            IF v_jobs IS NOT NULL THEN
                PERFORM count_running(p_queue, v_hosts, v_users, -1);
                INSERT INTO event (queue, number, time, job, kind, user_name, batch, bytes, message)
                    SELECT p_queue, last.number + row_number() OVER (ORDER BY position), v_now, job,
                        CASE state WHEN 2 THEN 'done' WHEN 3 THEN 'failed' WHEN 4 THEN 'cancelled' WHEN 6 THEN 'paused'
                            WHEN 5 THEN CASE WHEN p_messages[position] IS NULL THEN 'released' ELSE 'retrying' END
                            ELSE 'released' END,
                        '', '', CASE WHEN p_outcomes[position] = 2 THEN p_amounts[position] END, p_messages[position]
                    FROM unnest(v_settled, v_jobs, v_states) AS settled (position, job, state),
                        (SELECT coalesce(max(number), 0) AS number FROM event WHERE queue = p_queue) AS last;
                IF 0 = ANY (v_states) THEN
                    PERFORM join_lines(p_queue, ARRAY(
                        SELECT job FROM unnest(v_jobs, v_states) AS settled (job, state) WHERE state = 0));
                END IF;
            END IF;
            IF coalesce(cardinality(v_settled), 0) < cardinality(p_jobs) THEN
                -- A crash of the server may have undone the claim of a worker that has published the file.
                UPDATE job SET may_be_published = true
                    FROM (SELECT p_queue AS queue, p_jobs[position] AS job
                        FROM generate_series(1, cardinality(p_jobs)::int8) AS position
                        WHERE p_outcomes[position] = 2 AND position <> ALL (v_known || v_settled)) AS refused
                    WHERE job.queue = refused.queue AND job.id = refused.job AND state IN (0, 5, 6);
                RETURN QUERY SELECT position FROM generate_series(1, cardinality(p_jobs)::int8) AS position
                    WHERE position <> ALL (v_known || v_settled);
            END IF;
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
                UPDATE job SET state = CASE state WHEN 5 THEN 0 ELSE state END, not_before = NULL
                    FROM ready WHERE job.queue = ready.queue AND job.id = ready.id RETURNING job.id, job.state)
            SELECT array_agg(id) INTO v_jobs FROM changed WHERE state = 0;
            IF v_jobs IS NOT NULL THEN PERFORM join_lines(p_queue, v_jobs); END IF;
        END $$
        """,
    ]
}
#endif
