/// Every row, in the order of the table. A new group adds its line here, a new row one to its group.
enum Catalogue {
    static var rows: [Row] { concurrency + others }

    /// Of SluiceConcurrency; `SLUICE_ONLY=SluiceConcurrency` leaves these alone.
    private static var concurrency: [Row] {
        LimiterRows.all + QueueRows.all + ConditionRows.all + BroadcastRows.all
    }

    /// Whether a row of this name belongs to a group that is built.
    static func isBuilt(_ name: String) -> Bool {
        #if ONLY_CONCURRENCY
        ["limiter/", "queue/", "condition/", "broadcast/"].contains { name.hasPrefix($0) }
        #else
        true
        #endif
    }

    #if ONLY_CONCURRENCY
    private static var others: [Row] { [] }
    #else
    private static var others: [Row] { FileRows.all + CacheRows.all + DownloadRows.all }
    #endif
}
