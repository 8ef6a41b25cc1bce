/// Every row that runs to its end (`DownloadRows` does not yet), in the order of the table. A new group adds its line here, a new row one to its group.
enum Catalogue {
    static var rows: [Row] {
        LimiterRows.all + QueueRows.all + FileRows.all + CacheRows.all
    }
}
