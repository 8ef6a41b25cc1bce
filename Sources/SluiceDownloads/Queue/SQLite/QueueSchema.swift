import GRDB
import SluiceDatabase

/// The tables of ``SQLiteQueueStore``.
///
/// A **lane** is a pair of host and user, by which the limits count. The jobs of a lane that can be claimed are consecutive entries of an
/// index, in the order in which they are claimed. A claim therefore needs a few seeks for each lane, regardless of the number of waiting
/// jobs. Running jobs are counted for each claim instead of keeping a counter: there are never more than the limit, and the count can't
/// become wrong.
enum QueueSchema {
    static let current = DatabaseSchema(application: 0x534C_4451 /* SLDQ */, migrations: [version1])

    /// The number in the column `state` for jobs that wait for a delay. The other states use the raw values of ``QueuedDownload.State``.
    static let delayed = 5

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
}
