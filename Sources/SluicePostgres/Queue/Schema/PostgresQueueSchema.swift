#if PostgreSQL
/// The tables of ``PostgresQueueStore``, and the functions that change them.
///
/// The tables are like those of the store on SQLite. A **lane** is a pair of host and user, by which the limits count; jobs that not every
/// worker may claim have lanes of their own: those whose URLs have to be resolved, and those of each machine. The jobs of a lane that
/// can be claimed stand in its **line**, in the order in which they are claimed, and the first of them is the lane's **head**. A claim
/// reads the heads in order, regardless of the number of waiting jobs.
///
/// Jobs run by the thousand on many machines, so the running jobs of each host and user are counted in `running` instead of for each claim.
/// Each function that starts or ends a job's run calls `count_running` under the queue's lock, and pruning counts again, a few at a time.
/// The jobs of each state are counted in `tally`, by triggers.
///
/// The functions run on the server, so that an operation is one round trip and the queue's lock is held no longer than the work takes.
/// Each relies on the lock that the caller's transaction has taken in an earlier statement.
///
/// Lines are ordered by `rank`, the bitwise complement of the priority, because a scan of an index can start behind a pair of values only
/// if both ascend.
enum PostgresQueueSchema {
    static func schema(namespace: String) -> PostgresSchema {
        PostgresSchema(application: "queue", namespace: namespace, migrations: [version1, version2, version3])
    }

    private static let version1 =
        tables + jobFunctions + settlementFunctions + laneFunctions + claimFunctions + enqueueFunctions
        + copyFunctions + controlFunctions

    /// Changes find their jobs by indexes, however long the history is. A few failed jobs are looked for among many that are done. A claim
    /// can avoid hosts.
    private static let version3 =
        [
            "CREATE INDEX job_to_retry ON job (queue, state, id) WHERE state IN (3, 4)",
            // They have another parameter.
            "DROP FUNCTION claim", "DROP FUNCTION open_lanes",
        ]
        + (laneFunctions + claimFunctions + controlFunctions).filter { $0.contains("CREATE FUNCTION") }
        .map { $0.replacing("CREATE FUNCTION", with: "CREATE OR REPLACE FUNCTION") }

    /// Settings of the functions that operations call. The plans are made once for each session, and must be right for tables that have no
    /// statistics, or those of an empty queue: the planner then takes one row for a whole queue. So each statement has one way to run.
    ///
    /// - A lookup has an equality for each column of a key, and no other index begins with one of them.
    /// - Tables are joined by `CROSS JOIN LATERAL (… OFFSET 0)`, which the planner doesn't turn around.
    /// - What an UPDATE or DELETE joins brings the number of the queue as a column, so that nothing else can be searched first.
    /// - A range of an index is read with its ORDER BY, because only that index has the order.
    static let planning = """
        SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
        SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan
        """

    /// One value for a queue and a place, for an index that doesn't begin with the queue.
    static func machine(_ queue: String, _ place: String) -> String { "(\(queue)::text || '/' || \(place))" }

    private static let tables = [
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
            state int8 NOT NULL DEFAULT 0,
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
        // A path and a URL may be longer than an entry of an index.
        "CREATE INDEX job_target ON job (sha256(target), \(machine("queue", "place")))",
        "CREATE INDEX job_in_line ON job (queue, rank, id) WHERE state IN (0, 5)",
        "CREATE INDEX job_paused ON job (queue, rank, id) WHERE state = 6",
        "CREATE INDEX job_delayed ON job (queue, not_before) WHERE not_before IS NOT NULL",
        "CREATE INDEX job_of_worker ON job (queue, worker, id) WHERE state = 1",
        "CREATE INDEX job_lease ON job (queue, lease_until) WHERE state = 1",
        "CREATE INDEX job_ended ON job (queue, ended, id, state) WHERE state IN (2, 3, 4)",
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
        // The heads of the lanes. They repeat the columns of the lanes, which are searched by a key of their own.
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
        // The numbers of running jobs: all of the queue (kind 0), of a host (1), and charged to a user (2).
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
        // The hosts that aren't known to be well.
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
        """
        CREATE VIEW download AS
            SELECT queue, id, url, directory, name, rank, state, failures, not_before, bytes, message, charged, is_cancelled, ended,
                (SELECT json_agg(json_build_object('user', user_name, 'batch', batch, 'priority', priority,
                        'isPaused', is_paused) ORDER BY position)
                    FROM member WHERE member.queue = job.queue AND member.job = job.id) AS members
            FROM job
        """,
    ]
}
#endif
