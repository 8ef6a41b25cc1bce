/// Every row, in the order of the table. A new group adds its line here, a new row one to its group.
enum Catalogue {
    static var rows: [Row] {
        LimiterRows.all + QueueRows.all + FileRows.all + CacheRows.all + DownloadRows.all
    }
}
