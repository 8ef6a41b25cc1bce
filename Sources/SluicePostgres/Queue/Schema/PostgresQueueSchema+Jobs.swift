#if PostgreSQL
extension PostgresQueueSchema {
    /// The functions that others use: time, events, lines, and jobs that wait again.
    static let jobFunctions = [
        // The time of an operation in milliseconds since 1970. Tests pass their own.
        """
        CREATE FUNCTION moment(p_now int8) RETURNS int8 LANGUAGE sql AS $$
            SELECT coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000)::int8)
        $$
        """,
        // An event of an operation that changes many jobs, before it has a number.
        "CREATE TYPE draft AS (job int8, place int8, kind text, user_name text, batch text)",
        // Gives events the next numbers. prune keeps the last event, so that the number after it is always known.
        """
        CREATE FUNCTION record_all(p_queue int8, p_now int8, p_drafts draft[]) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_last int8 := (SELECT max(number) FROM event WHERE queue = p_queue);
        BEGIN
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, coalesce(v_last, 0) + row_number() OVER (ORDER BY job, place), p_now, job, kind,
                    coalesce(user_name, ''), coalesce(batch, '')
                FROM unnest(p_drafts);
        END $$
        """,
        """
        CREATE FUNCTION record(
            p_queue int8, p_now int8, p_job int8, p_kind text, p_user text DEFAULT '', p_batch text DEFAULT '',
            p_bytes int8 DEFAULT NULL, p_message text DEFAULT NULL
        ) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_last int8 := (SELECT max(number) FROM event WHERE queue = p_queue);
        BEGIN
            INSERT INTO event (queue, number, time, job, kind, user_name, batch, bytes, message)
                VALUES (p_queue, coalesce(v_last, 0) + 1, p_now, p_job, p_kind, p_user, p_batch, p_bytes, p_message);
        END $$
        """,
        // Jobs that can be claimed enter the lines of their active members' users.
        """
        CREATE FUNCTION join_lines(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            WITH come AS (
                INSERT INTO line (queue, host, user_name, is_unresolved, rank, job)
                    SELECT DISTINCT p_queue, job.host, member.user_name, job.is_unresolved, job.rank, job.id
                    FROM job JOIN member ON member.queue = job.queue AND member.job = job.id
                    WHERE job.queue = p_queue AND job.id = ANY (p_jobs) AND job.state = 0 AND NOT member.is_paused
                    RETURNING host, user_name, is_unresolved, rank, job)
            INSERT INTO lane (queue, host, user_name, is_unresolved, head_rank, head_job)
                SELECT DISTINCT ON (host, user_name, is_unresolved) p_queue, host, user_name, is_unresolved, rank, job
                FROM come ORDER BY host, user_name, is_unresolved, rank, job
                ON CONFLICT (queue, host, user_name, is_unresolved) DO UPDATE
                    SET head_rank = excluded.head_rank, head_job = excluded.head_job
                    WHERE (excluded.head_rank, excluded.head_job) < (lane.head_rank, lane.head_job);
        END $$
        """,
        // Jobs leave the lines, before their members, ranks or states change. Then their lanes get new heads or end.
        """
        CREATE FUNCTION leave_lines(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_hosts text[];
            v_users text[];
            v_unresolved bool[];
        BEGIN
            WITH gone AS (
                DELETE FROM line
                    USING job JOIN member ON member.queue = job.queue AND member.job = job.id
                    WHERE job.queue = p_queue AND job.id = ANY (p_jobs)
                        AND line.queue = p_queue AND line.host = job.host AND line.user_name = member.user_name
                        AND line.is_unresolved = job.is_unresolved AND line.rank = job.rank AND line.job = job.id
                    RETURNING line.host, line.user_name, line.is_unresolved)
            SELECT array_agg(host), array_agg(user_name), array_agg(is_unresolved)
                INTO v_hosts, v_users, v_unresolved
                FROM (SELECT DISTINCT host, user_name, is_unresolved FROM gone) AS touched;
            IF v_hosts IS NULL THEN RETURN; END IF;
            WITH head AS (
                SELECT touched.host, touched.user_name, touched.is_unresolved, first.rank, first.job
                FROM unnest(v_hosts, v_users, v_unresolved) AS touched (host, user_name, is_unresolved)
                LEFT JOIN LATERAL (
                    SELECT rank, job FROM line
                    WHERE queue = p_queue AND line.host = touched.host AND line.user_name = touched.user_name
                        AND line.is_unresolved = touched.is_unresolved
                    ORDER BY rank, job LIMIT 1) AS first ON true),
            ended AS (
                DELETE FROM lane USING head
                    WHERE lane.queue = p_queue AND lane.host = head.host AND lane.user_name = head.user_name
                        AND lane.is_unresolved = head.is_unresolved AND head.job IS NULL)
            UPDATE lane SET head_rank = head.rank, head_job = head.job FROM head
                WHERE lane.queue = p_queue AND lane.host = head.host AND lane.user_name = head.user_name
                    AND lane.is_unresolved = head.is_unresolved AND head.job IS NOT NULL
                    AND (lane.head_rank, lane.head_job) IS DISTINCT FROM (head.rank, head.job);
        END $$
        """,
        // Makes a job without a lease and in the state 0 or 5 wait, or pauses it if all its members are paused. Returns its state.
        """
        CREATE FUNCTION wait_again(p_queue int8, p_job int8) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            v_state int8 := (SELECT state FROM job WHERE queue = p_queue AND id = p_job);
        BEGIN
            IF v_state NOT IN (0, 5) THEN RETURN v_state; END IF;
            IF NOT EXISTS (SELECT FROM member WHERE queue = p_queue AND job = p_job AND NOT is_paused) THEN
                UPDATE job SET state = 6 WHERE queue = p_queue AND id = p_job;
                RETURN 6;
            END IF;
            IF v_state = 0 THEN PERFORM join_lines(p_queue, ARRAY[p_job]); END IF;
            RETURN v_state;
        END $$
        """,
        // Takes back running jobs: they wait again, or are cancelled if that was requested. Returns whether one can be claimed.
        """
        CREATE FUNCTION take_back(p_queue int8, p_now int8, p_jobs int8[]) RETURNS bool LANGUAGE plpgsql AS $$
        DECLARE
            v_job int8;
            v_state int8;
            v_gains bool := false;
        BEGIN
            FOREACH v_job IN ARRAY p_jobs LOOP
                UPDATE job SET state = CASE WHEN is_cancelled THEN 4 ELSE 0 END,
                        ended = CASE WHEN is_cancelled THEN p_now END, may_be_published = true, worker = NULL,
                        token = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    WHERE queue = p_queue AND id = v_job AND state = 1;
                v_state := wait_again(p_queue, v_job);
                v_gains := v_gains OR v_state = 0;
                PERFORM record(p_queue, p_now, v_job,
                    CASE v_state WHEN 4 THEN 'cancelled' WHEN 6 THEN 'paused' ELSE 'released' END);
            END LOOP;
            RETURN v_gains;
        END $$
        """,
        // Wakes the workers of other processes when the transaction is committed.
        """
        CREATE FUNCTION wake(p_queue int8, p_news text DEFAULT 'jobs') RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify(channel, p_news) FROM queue WHERE number = p_queue;
        END $$
        """,
        """
        CREATE FUNCTION detach(p_queue int8, p_now int8, p_worker text) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        BEGIN
            IF take_back(p_queue, moment(p_now), ARRAY(
                SELECT id FROM job WHERE queue = p_queue AND state = 1 AND worker = p_worker ORDER BY id))
            THEN PERFORM wake(p_queue); END IF;
        END $$
        """,
        """
        CREATE FUNCTION renew(p_queue int8, p_now int8, p_worker text, p_lease int8)
        RETURNS TABLE (job int8, token int8, is_cancelled bool, is_paused bool) LANGUAGE plpgsql \(planning) AS $$
        #variable_conflict use_column
        DECLARE
            v_until int8 := moment(p_now) + p_lease;
        BEGIN
            RETURN QUERY UPDATE job SET lease_until = v_until
                WHERE job.queue = p_queue AND job.state = 1 AND job.worker = p_worker
                RETURNING job.id, job.token, job.is_cancelled,
                    NOT EXISTS (SELECT FROM member
                        WHERE member.queue = p_queue AND member.job = job.id AND NOT member.is_paused);
        END $$
        """,
    ]
}
#endif
