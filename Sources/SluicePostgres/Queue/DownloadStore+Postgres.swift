#if PostgreSQL
public import SluiceDownloads
public import SluiceFiles

extension DownloadStore {
    /// A queue in a PostgreSQL database, which many machines can share.
    ///
    ///     let downloads = DownloadCoordinator(
    ///         store: .postgres("postgres://sluice@db.example/queue"), limits: .init(total: 100, perHost: 4))
    ///
    /// The first operation connects, and creates the tables if they are missing. The article <doc:FromOneMachineToMany> describes the
    /// privileges, what is exact, and what happens when a part fails.
    ///
    /// **Limits** hold exactly for all workers of the queue together, on all machines. All of them must use the same limits.
    ///
    /// **Durability.** Enqueued jobs and recorded outcomes are on the server's disk when the operation returns. A crash of the server may
    /// undo the last claims, and then the jobs are claimed again.
    ///
    /// **Secrets.** URLs are stored unchanged, and header fields aren't stored. Errors and logs never contain the password of `url`.
    ///
    /// - Parameters:
    ///   - url: The URL of the database, as libpq reads it. What it leaves out comes from the environment (`PGHOST`, `PGPASSWORD`) and from
    ///     the password file.
    ///   - queue: The name of the queue. A database can have several, each with its own jobs and limits.
    ///   - namespace: The PostgreSQL schema of the tables, which is created if it is missing.
    ///   - files: The engine that waits for the connections.
    public static func postgres(
        _ url: String, queue: String = "default", namespace: String = "sluice", using files: FileIO = .shared
    ) -> DownloadStore {
        DownloadStore(PostgresQueueStore(url, queue: queue, namespace: namespace, using: files))
    }
}
#endif
