import GRDB
import SluiceDatabase

/// The tables of ``SQLiteQueueStore``.
///
/// A **lane** is a pair of host and user, the two that limits apply to. The lane's claimable jobs stand in its **line**, in claim order,
/// and the lane stores the first of them, its head. A claim reads the heads in order, no matter how many jobs are waiting. A lane exists as
/// long as its line isn't empty. There is no counter of running jobs. Each claim counts them: there are never more than the limit, and the
/// count can't get out of sync. Triggers count the jobs of each state in `tally`, because there can be millions.
///
/// The claimable jobs of a batch also stand in the line of the **batch**, for claims that want only its jobs.
///
/// Lines are ordered by `rank`, the bitwise complement of the priority, because SQLite can seek past a pair of values in an index only if
/// both ascend.
enum QueueSchema {
    static let current = DatabaseSchema(
        application: 0x534C_4451 /* SLDQ */,
        migrations: [version1, version2, version3, version4, version5, version6, version7, version8, version9])

    private static let version1: @Sendable (Database) throws -> Void = { database in
        try database.execute(
            sql: """
                CREATE TABLE lane (
                    id INTEGER PRIMARY KEY,
                    host TEXT NOT NULL,
                    user TEXT NOT NULL,
                    UNIQUE (host, user)
                );

                CREATE TABLE job (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    url TEXT NOT NULL,
                    folder TEXT NOT NULL,
                    name TEXT NOT NULL,
                    target BLOB NOT NULL,
                    lane INTEGER NOT NULL REFERENCES lane (id),
                    priority INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    failures INTEGER NOT NULL DEFAULT 0,
                    not_before INTEGER,
                    -- The lease of a running job.
                    worker TEXT,
                    token INTEGER,
                    lease_until INTEGER,
                    -- Whether its worker must cancel it.
                    is_cancelled INTEGER NOT NULL DEFAULT 0,
                    -- Whether a lost worker may have published the file.
                    may_be_published INTEGER NOT NULL DEFAULT 0,
                    bytes INTEGER,
                    message TEXT,
                    created INTEGER NOT NULL,
                    ended INTEGER
                );
                CREATE UNIQUE INDEX job_key ON job (target, url);
                CREATE INDEX job_in_lane ON job (lane, priority DESC, id) WHERE state = 0;
                CREATE INDEX job_in_line ON job (priority DESC, id) WHERE state IN (0, 5);
                CREATE INDEX job_delayed ON job (not_before) WHERE state = 5;
                CREATE INDEX job_running ON job (worker, id) WHERE state = 1;
                CREATE INDEX job_ended ON job (ended, id, state) WHERE state IN (2, 3, 4);

                -- The batches that a job belongs to; the empty name stands for requests without a batch.
                CREATE TABLE membership (
                    batch TEXT NOT NULL,
                    job INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
                    PRIMARY KEY (batch, job)
                ) WITHOUT ROWID;
                CREATE INDEX membership_of_job ON membership (job);

                -- The workers that hold a file lock. A worker with a free lock has died.
                CREATE TABLE worker (name TEXT PRIMARY KEY) WITHOUT ROWID;
                """)
    }

    /// Members, lines and paused jobs. The jobs move to a new table, because SQLite can't drop a column that references another table.
    private static let version2: @Sendable (Database) throws -> Void = { database in
        try database.execute(
            sql: """
                CREATE TABLE job_2 (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    url TEXT NOT NULL,
                    folder TEXT NOT NULL,
                    name TEXT NOT NULL,
                    target BLOB NOT NULL,
                    host TEXT NOT NULL,
                    -- Whether the URL has to be resolved.
                    is_unresolved INTEGER NOT NULL DEFAULT 0,
                    -- The highest of the members.
                    priority INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    failures INTEGER NOT NULL DEFAULT 0,
                    -- The end of a delay, also of a paused job.
                    not_before INTEGER,
                    -- The lease of a running job.
                    worker TEXT,
                    token INTEGER,
                    lease_until INTEGER,
                    -- The user that a running job is charged to.
                    charged TEXT,
                    -- Whether its worker must cancel it.
                    is_cancelled INTEGER NOT NULL DEFAULT 0,
                    -- Whether a lost worker may have published the file.
                    may_be_published INTEGER NOT NULL DEFAULT 0,
                    bytes INTEGER,
                    message TEXT,
                    created INTEGER NOT NULL,
                    ended INTEGER
                );
                INSERT INTO job_2
                    SELECT job.id, url, folder, name, target, host, 0, priority, state, failures, not_before, worker, token,
                        lease_until, iif(state = 1, user, NULL), is_cancelled, may_be_published, bytes, message, created, ended
                    FROM job JOIN lane ON lane.id = job.lane;

                -- Without a foreign key, which would be checked for each of the many jobs that are removed. The empty name stands for a
                -- request without a user or batch.
                CREATE TABLE member (
                    job INTEGER NOT NULL,
                    place INTEGER NOT NULL,
                    user TEXT NOT NULL,
                    batch TEXT NOT NULL,
                    priority INTEGER NOT NULL,
                    is_paused INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (job, place)
                ) WITHOUT ROWID;
                INSERT INTO member
                    SELECT job, row_number() OVER (PARTITION BY job ORDER BY batch) - 1, user, batch, priority, 0
                    FROM membership JOIN job ON job.id = membership.job JOIN lane ON lane.id = job.lane;
                CREATE INDEX member_of_batch ON member (batch, job);

                -- The new table goes on with the numbers of the old one, whose last jobs may have been removed.
                INSERT INTO sqlite_sequence (name, seq)
                    SELECT 'job_2', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'job_2');
                UPDATE sqlite_sequence
                    SET seq = ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'job'), 0) WHERE name = 'job_2';
                DROP TABLE membership;
                DROP TABLE job;
                DROP TABLE lane;
                ALTER TABLE job_2 RENAME TO job;

                CREATE UNIQUE INDEX job_key ON job (target, url);
                CREATE INDEX job_in_line ON job (priority DESC, id) WHERE state IN (0, 5);
                CREATE INDEX job_paused ON job (priority DESC, id) WHERE state = 6;
                CREATE INDEX job_delayed ON job (not_before) WHERE not_before IS NOT NULL;
                CREATE INDEX job_running ON job (worker, id) WHERE state = 1;
                CREATE INDEX job_ended ON job (ended, id, state) WHERE state IN (2, 3, 4);

                CREATE TABLE lane (
                    id INTEGER PRIMARY KEY,
                    host TEXT NOT NULL,
                    user TEXT NOT NULL,
                    is_unresolved INTEGER NOT NULL DEFAULT 0,
                    head_rank INTEGER NOT NULL,
                    head_job INTEGER NOT NULL,
                    UNIQUE (host, user, is_unresolved)
                );
                CREATE TABLE line (
                    lane INTEGER NOT NULL,
                    rank INTEGER NOT NULL,
                    job INTEGER NOT NULL,
                    PRIMARY KEY (lane, rank, job)
                ) WITHOUT ROWID;
                INSERT INTO lane (host, user, head_rank, head_job)
                    SELECT DISTINCT host, user, 0, 0 FROM job JOIN member ON member.job = job.id WHERE state = 0;
                INSERT INTO line
                    SELECT DISTINCT lane.id, ~job.priority, job.id
                    FROM job JOIN member ON member.job = job.id
                    JOIN lane ON lane.host = job.host AND lane.user = member.user WHERE state = 0;
                UPDATE lane SET (head_rank, head_job) =
                    (SELECT rank, job FROM line WHERE line.lane = lane.id ORDER BY rank, job LIMIT 1);
                CREATE TABLE event (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    time INTEGER NOT NULL,
                    job INTEGER NOT NULL,
                    kind TEXT NOT NULL,
                    user TEXT NOT NULL,
                    batch TEXT NOT NULL,
                    bytes INTEGER,
                    message TEXT
                );

                -- The hosts that aren't known to be well.
                CREATE TABLE host (
                    name TEXT PRIMARY KEY,
                    until INTEGER NOT NULL,
                    failures INTEGER NOT NULL,
                    is_open INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX lane_head ON lane (head_rank, head_job);
                CREATE INDEX lane_of_host ON lane (host, head_rank, head_job);
                CREATE INDEX lane_of_user ON lane (user, head_rank, head_job);
                """)
    }

    /// Counts of jobs, and lines for batches, so that snapshots, pruning and batches don't have to read all jobs.
    private static let version3: @Sendable (Database) throws -> Void = { database in
        try database.execute(
            sql: """
                CREATE TABLE tally (state INTEGER PRIMARY KEY, number INTEGER NOT NULL);
                INSERT INTO tally (state, number) VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0);
                UPDATE tally SET number = counted.number
                    FROM (SELECT state, count(*) AS number FROM job GROUP BY state) AS counted
                    WHERE tally.state = counted.state;
                CREATE TRIGGER job_came AFTER INSERT ON job BEGIN
                    UPDATE tally SET number = number + 1 WHERE state = NEW.state;
                END;
                CREATE TRIGGER job_went AFTER DELETE ON job BEGIN
                    UPDATE tally SET number = number - 1 WHERE state = OLD.state;
                END;
                CREATE TRIGGER job_changed AFTER UPDATE OF state ON job WHEN OLD.state <> NEW.state BEGIN
                    UPDATE tally SET number = number - 1 WHERE state = OLD.state;
                    UPDATE tally SET number = number + 1 WHERE state = NEW.state;
                END;

                CREATE TABLE batch_line (
                    batch TEXT NOT NULL,
                    rank INTEGER NOT NULL,
                    job INTEGER NOT NULL,
                    host TEXT NOT NULL,
                    PRIMARY KEY (batch, rank, job)
                ) WITHOUT ROWID;
                INSERT INTO batch_line (batch, rank, job, host)
                    SELECT DISTINCT batch, ~job.priority, job.id, host FROM job CROSS JOIN member ON member.job = job.id
                    WHERE state = 0 AND NOT is_paused AND batch <> '';

                CREATE INDEX host_until ON host (until);
                """)
    }

    /// The parts of the last error, as JSON. See ``SluiceHTTP/TransferError/stored``.
    private static let version4: @Sendable (Database) throws -> Void = { database in
        try database.execute(sql: "ALTER TABLE job ADD COLUMN error TEXT")
    }

    /// The checksum that the file must have, such as `sha256:9f86…`.
    private static let version5: @Sendable (Database) throws -> Void = { database in
        try database.execute(sql: "ALTER TABLE job ADD COLUMN checksum TEXT")
    }

    /// Other URLs of the same file, one per line.
    private static let version6: @Sendable (Database) throws -> Void = { database in
        try database.execute(sql: "ALTER TABLE job ADD COLUMN mirrors TEXT")
    }

    /// The rates of all workers together: one row, or none if there is no limit.
    private static let version7: @Sendable (Database) throws -> Void = { database in
        try database.execute(
            sql: "CREATE TABLE rate (id INTEGER PRIMARY KEY CHECK (id = 1), total INTEGER, per_host INTEGER)")
    }

    /// What workers report about themselves and the progress of their jobs, for display.
    private static let version8: @Sendable (Database) throws -> Void = { database in
        try database.execute(
            sql: """
                ALTER TABLE job ADD COLUMN received INTEGER;
                ALTER TABLE job ADD COLUMN total INTEGER;
                CREATE TABLE presence (
                    worker TEXT PRIMARY KEY,
                    machine TEXT NOT NULL,
                    process INTEGER NOT NULL,
                    began INTEGER NOT NULL,
                    seen INTEGER NOT NULL,
                    total INTEGER NOT NULL,
                    per_host INTEGER,
                    per_user INTEGER,
                    resolves INTEGER NOT NULL
                ) WITHOUT ROWID;
                """)
    }

    /// Why a worker ended.
    private static let version9: @Sendable (Database) throws -> Void = { database in
        try database.execute(sql: "ALTER TABLE presence ADD COLUMN failure TEXT")
    }
}
