#if PostgreSQL
internal import SluiceDownloads

/// The tables of ``PostgresQueueStore``, and the functions that change them.
///
/// The tables resemble the SQLite store's. A **lane** is a pair of host and user, the two that limits apply to. Jobs that only some workers
/// may claim have separate lanes: jobs whose URLs have to be resolved, and the jobs of each machine. A lane's claimable jobs stand in its
/// **line**, in claim order, and the first of them is the lane's **head**. A claim reads the heads in order, no matter how many jobs are
/// waiting.
///
/// Thousands of jobs run on many machines, so claims don't count the running jobs. Instead, `running` holds a counter for each host and
/// user. Each function that starts or ends a job's run calls `count_running` under the queue's lock, and pruning recounts a few at a time.
/// Triggers count the jobs of each state in `tally`.
///
/// The functions run on the server, so an operation is one round trip and holds the queue's lock no longer than the work takes. Each relies
/// on the lock that the caller's transaction took in an earlier statement.
///
/// Lines are ordered by `rank`, the bitwise complement of the priority, because an index scan can start after a pair of values only if both
/// ascend.
///
/// **Migrations.** A new database gets the current `functions` with version 1, and an older one gets them with the last migration that has
/// `replacedFunctions`. So a PL/pgSQL function, which looks up tables and columns when it runs, may use tables and columns of later
/// versions; an SQL function may not. Workers of the previous version keep working after a migration: a function with new parameters exists
/// beside the old one, and a function with a new result type is dropped first. Types aren't replaced.
enum PostgresQueueSchema {
    static func schema(namespace: String) -> PostgresSchema {
        PostgresSchema(
            application: "queue", namespace: namespace,
            migrations: [
                version1, version2, version3, version4, version5, version6, version7, version8, version9, version10,
            ])
    }

    private static let version1 = tables + functions

    private static let functions =
        jobFunctions + settlementFunctions + laneFunctions + claimFunctions + enqueueFunctions + copyFunctions
        + controlFunctions

    /// The functions find jobs and events through indexes, such as a few failed jobs among many that are done, however long the history is
    /// and whatever the statistics say. A claim can avoid hosts.
    private static let version3 = [
        "CREATE INDEX job_to_retry ON job (queue, state, id) WHERE state IN (\(failed), \(cancelled))",
        // They have a new parameter.
        "DROP FUNCTION claim", "DROP FUNCTION open_lanes",
    ]

    /// The parts of the last error, as JSON. See `TransferError.stored`.
    private static let version4 = [
        "ALTER TABLE job ADD COLUMN error text",
        "CREATE OR REPLACE VIEW download AS \(download(and: ", error"))",
        // It returns a new column.
        "DROP FUNCTION change", changeFunction,
    ]

    /// Removing a job from its lines doesn't look at other lanes, whatever the statistics say.
    private static let version5 = ["DROP FUNCTION IF EXISTS claim"] + replacedFunctions

    /// The checksum that the file must have. Claims and changes return it.
    private static let version6 =
        [
            "ALTER TABLE job ADD COLUMN checksum text",
            "CREATE OR REPLACE VIEW download AS \(download(and: ", error, checksum"))",
            "DROP FUNCTION change", changeFunction, "DROP FUNCTION claim",
            setChecksumsFunction,
        ]

    /// Other URLs of the same file. Claims and changes return them.
    private static let version7 =
        [
            "ALTER TABLE job ADD COLUMN mirrors text",
            "CREATE OR REPLACE VIEW download AS \(download(and: ", error, checksum, mirrors"))",
            "DROP FUNCTION change", changeFunction, "DROP FUNCTION IF EXISTS claim",
        ] + replacedFunctions + [setDetailsFunction]

    /// The rates of all workers together.
    private static let version8 = [
        "ALTER TABLE queue ADD COLUMN maximum_rate int8, ADD COLUMN maximum_rate_per_host int8", setRatesFunction,
    ]

    /// What workers report about themselves and the progress of their jobs, for display.
    private static let version9 = [
        """
        CREATE TABLE presence (
            queue int8 NOT NULL,
            worker text COLLATE "C" NOT NULL,
            machine text COLLATE "C" NOT NULL,
            process int8 NOT NULL,
            began int8 NOT NULL,
            seen int8 NOT NULL,
            total int8 NOT NULL,
            per_host int8,
            per_user int8,
            resolves bool NOT NULL,
            PRIMARY KEY (queue, worker)
        )
        """,
        """
        CREATE TABLE progress (
            queue int8 NOT NULL,
            job int8 NOT NULL,
            worker text COLLATE "C" NOT NULL,
            received int8 NOT NULL,
            total int8,
            PRIMARY KEY (queue, job)
        )
        """,
        // For what the queue has done in the last hour.
        "CREATE INDEX event_ended ON event (queue, time) WHERE kind IN ('done', 'failed')",
        reportFunction, "DROP FUNCTION detach", detachFunction,
    ]

    /// A postponed job keeps the reason, and a worker that has failed tells why.
    private static let version10 =
        settleFunctions.map(replacing) + ["ALTER TABLE presence ADD COLUMN failure text", replacing(reportFunction)]

    private static let replacedFunctions =
        functions.filter { $0.contains("CREATE FUNCTION") }.map(replacing)

    static func replacing(_ function: String) -> String {
        function.replacing("CREATE FUNCTION", with: "CREATE OR REPLACE FUNCTION")
    }

    /// Settings of the functions that operations call. Plans are made once per session, and must be good even without statistics
    /// or with those of an empty queue: the planner then assumes that a whole queue is one row. So each statement can run only one way.
    ///
    /// - A lookup has an equality for each column of a key, and no other index begins with one of these columns.
    /// - Tables are joined with `CROSS JOIN LATERAL (… OFFSET 0)`, which the planner doesn't reorder.
    /// - Whatever an UPDATE or DELETE joins has the queue's number as a column, so that nothing else can be searched first.
    /// - An UPDATE or DELETE of a table without the queue in its key joins nothing: it finds rows by an array, and values by subqueries.
    /// - An index range is read with the index's ORDER BY, because only that index has the order.
    static let planning = """
        SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
        SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
        """

    /// The number of the last event. For a queue that it thinks is empty, the planner might compute `max(number)` from all events.
    static let lastEvent = "(SELECT number FROM event WHERE queue = p_queue ORDER BY number DESC LIMIT 1)"

    /// What two requests for one target must have in common; see `DownloadRequest.resource(of:)`.
    static func resource(_ url: String) -> String { "regexp_replace(\(url), '^sluice-id://[^/]*', '')" }

    /// One value for a queue and a machine (the column `place`), for an index that doesn't begin with the queue.
    static func machine(_ queue: String, _ machine: String) -> String { "(\(queue)::text || '/' || \(machine))" }

    /// The states, as the functions name them. See ``JobState``.
    static let (ready, running, delayed, paused) = (JobState.ready, JobState.running, JobState.delayed, JobState.paused)
    static let (done, failed, cancelled) = (JobState.done, JobState.failed, JobState.cancelled)
    /// The outcome of a postponed job, which is delayed afterward.
    static let postponed = 20
    static let (waiting, ended, unfinished) = (JobState.waiting, JobState.ended, JobState.unfinished)

    private static let tables: [String] = [
        """
        CREATE TABLE queue (
            number int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE,
            -- The channel of NOTIFY.
            channel text NOT NULL,
            last_job int8 NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE job (
            queue int8 NOT NULL,
            id int8 NOT NULL,
            url text COLLATE "C" NOT NULL,
            directory text COLLATE "C" NOT NULL,
            name text COLLATE "C" NOT NULL,
            target bytea NOT NULL,
            host text COLLATE "C" NOT NULL,
            -- The machine that the target belongs to, or empty.
            place text COLLATE "C" NOT NULL,
            -- Whether the URL has to be resolved.
            is_unresolved bool NOT NULL,
            -- The lowest of the members.
            rank int8 NOT NULL,
            -- 0 can be claimed, 1 running, 2 done, 3 failed, 4 cancelled, 5 waits for a delay, 6 paused.
            state int8 NOT NULL DEFAULT \(ready),
            failures int8 NOT NULL DEFAULT 0,
            -- The end of a delay, also of a paused job.
            not_before int8,
            -- The lease of a running job. The token stays when a worker settles the job.
            worker text COLLATE "C",
            token int8,
            lease_until int8,
            -- The user that a running job is charged to.
            charged text COLLATE "C",
            -- Whether its worker must cancel it.
            is_cancelled bool NOT NULL DEFAULT false,
            -- Whether a lost worker may have published the file.
            may_be_published bool NOT NULL DEFAULT false,
            bytes int8,
            message text,
            created int8 NOT NULL,
            ended int8,
            PRIMARY KEY (queue, id)
        )
        """,
        // A path or a URL may be longer than an index entry can be.
        "CREATE INDEX job_target ON job (sha256(target), \(machine("queue", "place")))",
        "CREATE INDEX job_in_line ON job (queue, rank, id) WHERE state IN (\(waiting))",
        "CREATE INDEX job_paused ON job (queue, rank, id) WHERE state = \(paused)",
        "CREATE INDEX job_delayed ON job (queue, not_before) WHERE not_before IS NOT NULL",
        "CREATE INDEX job_of_worker ON job (queue, worker, id) WHERE state = \(running)",
        "CREATE INDEX job_lease ON job (queue, lease_until) WHERE state = \(running)",
        "CREATE INDEX job_ended ON job (queue, ended, id, state) WHERE state IN (\(ended))",
        // The empty name stands for a request without a user or batch.
        """
        CREATE TABLE member (
            queue int8 NOT NULL,
            job int8 NOT NULL,
            position int8 NOT NULL,
            user_name text COLLATE "C" NOT NULL,
            batch text COLLATE "C" NOT NULL,
            priority int8 NOT NULL,
            is_paused bool NOT NULL DEFAULT false,
            PRIMARY KEY (queue, job, position)
        )
        """,
        "CREATE INDEX member_of_batch ON member (batch, queue, job)",
        // A lane may have no waiting job.
        """
        CREATE TABLE lane (
            id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            queue int8 NOT NULL,
            host text COLLATE "C" NOT NULL,
            user_name text COLLATE "C" NOT NULL,
            place text COLLATE "C" NOT NULL,
            is_unresolved bool NOT NULL,
            UNIQUE (queue, host, user_name, place, is_unresolved)
        )
        """,
        """
        CREATE TABLE line (
            queue int8 NOT NULL,
            lane int8 NOT NULL,
            rank int8 NOT NULL,
            job int8 NOT NULL,
            PRIMARY KEY (lane, rank, job)
        )
        """,
        "CREATE INDEX line_of_job ON line (job, queue)",
        // The heads of the lanes. They repeat the columns of the lanes, which are looked up by a separate key.
        """
        CREATE TABLE head (
            lane int8 PRIMARY KEY,
            queue int8 NOT NULL,
            host text COLLATE "C" NOT NULL,
            user_name text COLLATE "C" NOT NULL,
            place text COLLATE "C" NOT NULL,
            is_unresolved bool NOT NULL,
            rank int8 NOT NULL,
            job int8 NOT NULL
        )
        """,
        "CREATE INDEX head_in_order ON head (queue, place, is_unresolved, rank, job)",
        "CREATE INDEX head_of_host ON head (queue, place, is_unresolved, host, rank, job)",
        "CREATE INDEX head_of_user ON head (queue, place, is_unresolved, user_name, rank, job)",
        // The number of running jobs: in the whole queue (kind 0), from a host (1), and charged to a user (2).
        """
        CREATE TABLE running (
            queue int8 NOT NULL,
            kind int8 NOT NULL,
            name text COLLATE "C" NOT NULL,
            number int8 NOT NULL,
            PRIMARY KEY (queue, kind, name)
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE event (
            queue int8 NOT NULL,
            number int8 NOT NULL,
            time int8 NOT NULL,
            job int8 NOT NULL,
            kind text NOT NULL,
            user_name text NOT NULL,
            batch text NOT NULL,
            bytes int8,
            message text,
            PRIMARY KEY (queue, number)
        )
        """,
        // The hosts that may be unhealthy.
        """
        CREATE TABLE host (
            queue int8 NOT NULL,
            name text COLLATE "C" NOT NULL,
            until int8 NOT NULL,
            failures int8 NOT NULL,
            is_open bool NOT NULL,
            PRIMARY KEY (queue, name)
        )
        """,
        "CREATE VIEW download AS \(download())",
    ]

    /// - Parameter columns: Columns of later versions, each preceded by a comma. Columns can only be added at the end of a view.
    private static func download(and columns: String = "") -> String {
        """
        SELECT queue, id, url, directory, name, rank, state, failures, not_before, bytes, message, charged, is_cancelled, ended,
            (SELECT json_agg(json_build_object('user', user_name, 'batch', batch, 'priority', priority,
                    'isPaused', is_paused) ORDER BY position)
                FROM member WHERE member.queue = job.queue AND member.job = job.id) AS members\(columns)
        FROM job
        """
    }
}

// MARK: - Jobs

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

    /// The running jobs of the worker `p_worker`, ordered by number.
    static let jobsOfWorker = """
        SELECT * FROM job WHERE queue = p_queue AND state = \(running) AND worker >= p_worker AND worker <= p_worker
        ORDER BY worker, id
        """

    /// The first job in the line of `head`'s lane.
    private static let firstInLine = """
        SELECT rank, job FROM line WHERE line.lane = head.lane ORDER BY rank, job LIMIT 1
        """

    /// Functions that others use: time, events, lines, counts, and putting jobs back to waiting.
    static let jobFunctions: [String] = [
        // The time of an operation in milliseconds since 1970. Tests pass their own.
        """
        CREATE FUNCTION moment(p_now int8) RETURNS int8 LANGUAGE sql AS $$
            SELECT coalesce(p_now, (extract(epoch FROM clock_timestamp()) * 1000)::int8)
        $$
        """,
        // An event from an operation that changes many jobs, before it has a number.
        "CREATE TYPE draft AS (job int8, position int8, kind text, user_name text, batch text)",
        // Gives events the next numbers. prune keeps the last event, so we always know the next number.
        """
        CREATE FUNCTION record_all(p_queue int8, p_now int8, p_drafts draft[]) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_last int8 := \(lastEvent);
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
            v_last int8 := \(lastEvent);
        BEGIN
            INSERT INTO event (queue, number, time, job, kind, user_name, batch, bytes, message)
                VALUES (p_queue, coalesce(v_last, 0) + 1, p_now, p_job, p_kind, p_user, p_batch, p_bytes, p_message);
        END $$
        """,
        // Jobs enter lines: each element is one job in one lane. A job that is already in the line stays there.
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
        // Claimable jobs enter the lines of their active members' users.
        """
        CREATE FUNCTION join_lines(p_queue int8, p_jobs int8[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM enter_lines(p_queue, array_agg(job.id), array_agg(job.rank), array_agg(job.host),
                    array_agg(member.user_name), array_agg(job.place), array_agg(job.is_unresolved))
                FROM unnest(p_jobs) AS joining (id) \(job("joining.id")) \(members(of: "job.id"))
                WHERE job.state = \(ready) AND NOT member.is_paused;
        END $$
        """,
        // Jobs leave the lines before their members, ranks or states change. Their lanes then get new heads or none.
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
            -- One table in each statement: a join could begin with all heads, if the planner takes them for few.
            DELETE FROM head WHERE lane = ANY (v_lanes) AND (SELECT job FROM line WHERE line.lane = head.lane LIMIT 1) IS NULL;
            UPDATE head SET (rank, job) = (\(firstInLine))
                WHERE lane = ANY (v_lanes) AND (rank, job) <> (\(firstInLine));
        END $$
        """,
        // Adds to or subtracts from the numbers of running jobs. p_hosts has the host of each job that starts or ends its run, and p_users
        // the users that are or were charged.
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
        // Takes back running jobs. They go back to waiting, or are cancelled if that was requested. Returns whether one can be claimed.
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
                FROM unnest(p_jobs) AS lost (id) \(job("lost.id")) WHERE job.state = \(running)),
            taken AS (
                UPDATE job SET
                        state = CASE WHEN is_cancelled THEN \(cancelled) WHEN held.is_paused THEN \(paused) ELSE \(ready) END,
                        ended = CASE WHEN is_cancelled THEN p_now END, may_be_published = true, worker = NULL,
                        token = NULL, lease_until = NULL, charged = NULL, is_cancelled = false
                    FROM held WHERE job.queue = held.queue AND job.id = held.id
                    RETURNING job.id, job.state, held.host, held.charged)
            SELECT array_agg(id) FILTER (WHERE state = \(ready)), array_agg(host), array_agg(charged),
                    array_agg(ROW(id, 0, CASE state WHEN \(cancelled) THEN 'cancelled' WHEN \(paused) THEN 'paused' ELSE 'released' END,
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
        // Wakes up other processes' workers when the transaction is committed.
        """
        CREATE FUNCTION wake(p_queue int8, p_news text DEFAULT 'jobs') RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify(channel, p_news) FROM queue WHERE number = p_queue;
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

    /// Replaces what a worker has said about itself and its running jobs. A worker that hasn't reported for a day is forgotten, and so is one
    /// that had failed before this one began on the same machine.
    static let reportFunction = """
        CREATE FUNCTION report(
            p_queue int8, p_now int8, p_worker text, p_machine text, p_process int8, p_began int8, p_total int8, p_per_host int8,
            p_per_user int8, p_resolves bool, p_failure text, p_jobs int8[], p_received int8[], p_totals int8[]
        ) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        DECLARE
            v_now int8 := moment(p_now);
        BEGIN
            DELETE FROM presence WHERE queue = p_queue
                AND (seen < v_now - 86400000 OR failure IS NOT NULL AND machine = p_machine AND seen < p_began);
            INSERT INTO presence (queue, worker, machine, process, began, seen, total, per_host, per_user, resolves, failure)
                VALUES (p_queue, p_worker, p_machine, p_process, p_began, v_now, p_total, p_per_host, p_per_user, p_resolves, p_failure)
                ON CONFLICT (queue, worker) DO UPDATE SET seen = v_now, total = p_total, per_host = p_per_host,
                    per_user = p_per_user, resolves = p_resolves, failure = p_failure;
            DELETE FROM progress WHERE queue = p_queue AND worker = p_worker;
            INSERT INTO progress (queue, job, worker, received, total)
                SELECT p_queue, job, p_worker, received, total
                FROM unnest(p_jobs, p_received, p_totals) AS one (job, received, total)
                ON CONFLICT (queue, job) DO UPDATE SET worker = p_worker, received = excluded.received, total = excluded.total;
        END $$
        """

    /// The same as before version 9, and forgets what the worker has reported.
    static let detachFunction = """
        CREATE FUNCTION detach(p_queue int8, p_now int8, p_worker text) RETURNS void LANGUAGE plpgsql \(planning) AS $$
        BEGIN
            DELETE FROM presence WHERE queue = p_queue AND worker = p_worker;
            DELETE FROM progress WHERE queue = p_queue AND worker = p_worker;
            IF take_back(p_queue, moment(p_now), ARRAY(SELECT id FROM (\(jobsOfWorker)) AS held))
            THEN PERFORM wake(p_queue); END IF;
        END $$
        """
}
#endif
