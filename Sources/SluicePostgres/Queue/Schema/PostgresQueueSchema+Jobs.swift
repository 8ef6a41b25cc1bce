#if PostgreSQL
extension PostgresQueueSchema {
    /// The job with this number.
    static func job(_ id: String) -> String {
        "CROSS JOIN LATERAL (SELECT * FROM job WHERE queue = p_queue AND id = \(id) OFFSET 0) AS job"
    }

    /// The members of the job with this number.
    static func members(of job: String) -> String {
        "CROSS JOIN LATERAL (SELECT * FROM member WHERE queue = p_queue AND job = \(job) OFFSET 0) AS member"
    }

    /// Whether all members of `job` are paused.
    static let isPaused = """
        (SELECT bool_and(member.is_paused) FROM member WHERE member.queue = p_queue AND member.job = job.id)
        """

    /// The running jobs of the worker `p_worker`, in the order of their numbers.
    static let jobsOfWorker = """
        SELECT * FROM job WHERE queue = p_queue AND state = 1 AND worker >= p_worker AND worker <= p_worker
        ORDER BY worker, id
        """

    /// The functions that others use: time, events, lines, counts, and jobs that wait again.
    static let jobFunctions = [
        // The time of an operation in milliseconds since 1970. Tests pass their own.
        """
        CREATE FUNCTION moment(p_now int8) RETURNS int8 LANGUAGE sql AS $$
            SELECT coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000)::int8)
        $$
        """,
        // An event of an operation that changes many jobs, before it has a number.
        "CREATE TYPE draft AS (job int8, position int8, kind text, user_name text, batch text)",
        // Gives events the next numbers. prune keeps the last event, so that the number after it is always known.
        """
        CREATE FUNCTION record_all(p_queue int8, p_now int8, p_drafts draft[]) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_last int8 := (SELECT max(number) FROM event WHERE queue = p_queue);
        BEGIN
            INSERT INTO event (queue, number, time, job, kind, user_name, batch)
                SELECT p_queue, coalesce(v_last, 0) + row_number() OVER (ORDER BY job, position), p_now, job, kind,
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
        // Jobs enter lines: each element is one job in one lane. A job that is in the line already stays there.
        """
        CREATE FUNCTION enter_lines(
            p_queue int8, p_jobs int8[], p_ranks int8[], p_hosts text[], p_users text[], p_places text[], p_unresolved bool[]
        ) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO lane (queue, host, user_name, place, is_unresolved)
                SELECT DISTINCT p_queue, host, user_name, place, is_unresolved
                FROM unnest(p_hosts, p_users, p_places, p_unresolved) AS entry (host, user_name, place, is_unresolved)
                ON CONFLICT DO NOTHING;
            WITH come AS (
                INSERT INTO line (queue, lane, rank, job)
                    SELECT p_queue, lane.id, rank, job
                    FROM unnest(p_jobs, p_ranks, p_hosts, p_users, p_places, p_unresolved)
                        AS entry (job, rank, host, user_name, place, is_unresolved)
                    CROSS JOIN LATERAL (SELECT id FROM lane
                        WHERE queue = p_queue AND lane.host = entry.host AND lane.user_name = entry.user_name
                            AND lane.place = entry.place AND lane.is_unresolved = entry.is_unresolved OFFSET 0) AS lane
                    ON CONFLICT DO NOTHING RETURNING lane, rank, job)
            INSERT INTO head (lane, queue, host, user_name, place, is_unresolved, rank, job)
                SELECT lane.id, p_queue, host, user_name, place, is_unresolved, first.rank, first.job
                FROM (SELECT DISTINCT ON (lane) lane, rank, job FROM come ORDER BY lane, rank, job) AS first
                CROSS JOIN LATERAL (SELECT * FROM lane WHERE id = first.lane OFFSET 0) AS lane
                ON CONFLICT (lane) DO UPDATE SET rank = excluded.rank, job = excluded.job
                    WHERE (excluded.rank, excluded.job) < (head.rank, head.job);
        END $$
        """,
        // Jobs that can be claimed enter the lines of their active members' users.
        """
        CREATE FUNCTION join_lines(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM enter_lines(p_queue, array_agg(job.id), array_agg(job.rank), array_agg(job.host),
                    array_agg(member.user_name), array_agg(job.place), array_agg(job.is_unresolved))
                FROM unnest(p_jobs) AS joining (id) \(job("joining.id")) \(members(of: "job.id"))
                WHERE job.state = 0 AND NOT member.is_paused;
        END $$
        """,
        // Jobs leave the lines, before their members, ranks or states change. Then their lanes get new heads or none.
        """
        CREATE FUNCTION leave_lines(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_lanes int8[];
        BEGIN
            WITH leaving AS MATERIALIZED (SELECT p_queue AS queue, id FROM unnest(p_jobs) AS leaving (id)),
            gone AS (
                DELETE FROM line USING leaving WHERE line.queue = leaving.queue AND line.job = leaving.id RETURNING lane)
            SELECT array_agg(DISTINCT lane) INTO v_lanes FROM gone;
            IF v_lanes IS NULL THEN RETURN; END IF;
            WITH next AS MATERIALIZED (
                SELECT left_lane.id, first.rank, first.job FROM unnest(v_lanes) AS left_lane (id)
                LEFT JOIN LATERAL (
                    SELECT rank, job FROM line WHERE line.lane = left_lane.id ORDER BY rank, job LIMIT 1) AS first ON true),
            empty AS (DELETE FROM head USING next WHERE head.lane = next.id AND next.job IS NULL)
            UPDATE head SET rank = next.rank, job = next.job FROM next
                WHERE head.lane = next.id AND (head.rank, head.job) < (next.rank, next.job);
        END $$
        """,
        // Adds to the numbers of running jobs, or subtracts from them: p_hosts has the host of each job that starts or ends its run, and
        // p_users the users that are or were charged.
        """
        CREATE FUNCTION count_running(p_queue int8, p_hosts text[], p_users text[], p_change int8)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO running (queue, kind, name, number)
                SELECT p_queue, kind, name, p_change * count(*)
                FROM (
                    SELECT 0 AS kind, '' AS name FROM unnest(p_hosts)
                    UNION ALL SELECT 1, host FROM unnest(p_hosts) AS host
                    UNION ALL SELECT 2, user_name FROM unnest(p_users) AS user_name WHERE user_name <> '') AS change
                GROUP BY kind, name
                ON CONFLICT (queue, kind, name) DO UPDATE SET number = running.number + excluded.number;
        END $$
        """,
        // Takes back running jobs: they wait again, or are cancelled if that was requested. Returns whether one can be claimed.
        """
        CREATE FUNCTION take_back(p_queue int8, p_now int8, p_jobs int8[]) RETURNS bool LANGUAGE plpgsql AS $$
        DECLARE
            v_waiting int8[];
            v_hosts text[];
            v_users text[];
            v_drafts draft[];
        BEGIN
            WITH held AS MATERIALIZED (
                SELECT job.queue, job.id, job.host, job.charged, \(isPaused) AS is_paused
                FROM unnest(p_jobs) AS lost (id) \(job("lost.id")) WHERE job.state = 1),
            taken AS (
                UPDATE job SET
                        state = CASE WHEN is_cancelled THEN 4 WHEN held.is_paused THEN 6 ELSE 0 END,
                        ended = CASE WHEN is_cancelled THEN p_now END, may_be_published = true, worker = NULL,
                        token = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    FROM held WHERE job.queue = held.queue AND job.id = held.id
                    RETURNING job.id, job.state, held.host, held.charged)
            SELECT array_agg(id) FILTER (WHERE state = 0), array_agg(host), array_agg(charged),
                    array_agg(ROW(id, 0, CASE state WHEN 4 THEN 'cancelled' WHEN 6 THEN 'paused' ELSE 'released' END,
                        '', '')::draft)
                INTO v_waiting, v_hosts, v_users, v_drafts FROM taken;
            IF v_hosts IS NULL THEN RETURN false; END IF;
            PERFORM count_running(p_queue, v_hosts, v_users, -1);
            PERFORM record_all(p_queue, p_now, v_drafts);
            IF v_waiting IS NULL THEN RETURN false; END IF;
            PERFORM join_lines(p_queue, v_waiting);
            RETURN true;
        END $$
        """,
        // Wakes the workers of other processes when the transaction is committed.
        """
        CREATE FUNCTION wake(p_queue int8) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify(channel, '') FROM queue WHERE number = p_queue;
        END $$
        """,
        """
        CREATE FUNCTION detach(p_queue int8, p_now int8, p_worker text) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        BEGIN
            IF take_back(p_queue, moment(p_now), ARRAY(SELECT id FROM (\(jobsOfWorker)) AS held))
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
            RETURN QUERY
                WITH held AS MATERIALIZED (SELECT job.queue, job.id, \(isPaused) AS is_paused FROM (\(jobsOfWorker)) AS job)
                UPDATE job SET lease_until = v_until FROM held WHERE job.queue = held.queue AND job.id = held.id
                    RETURNING job.id, job.token, job.is_cancelled, held.is_paused;
        END $$
        """,
    ]
}
#endif
