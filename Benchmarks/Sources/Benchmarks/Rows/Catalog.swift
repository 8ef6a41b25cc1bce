/// Every row, in the order of the table. Add a line here for a new group, and a line in its group for a new row.
///
/// `SLUICE_ONLY` selects the groups of one module, and `SLUICE_TRAITS=PostgreSQL,Cairo,GdkPixbuf` adds three; see `Package.swift` of this package.
enum Catalog {
    static var rows: [Row] { concurrency + files + upperLayers + postgres + drawing + images }

    /// Returns whether the group of this row is built.
    static func isBuilt(_ name: String) -> Bool {
        let group = name.prefix { $0 != "/" }
        return switch group {
        case "limiter", "queue", "condition", "broadcast": withConcurrency
        case "files": withFiles
        case "postgres": withPostgres
        case "drawing": withCairo
        case "images": withPixbuf
        default: withAll
        }
    }

    #if WITH_CONCURRENCY
    private static let withConcurrency = true
    private static var concurrency: [Row] { LimiterRows.all + QueueRows.all + ConditionRows.all + BroadcastRows.all }
    #else
    private static let withConcurrency = false
    private static var concurrency: [Row] { [] }
    #endif

    #if WITH_FILES
    private static let withFiles = true
    private static var files: [Row] { FileRows.all }
    #else
    private static let withFiles = false
    private static var files: [Row] { [] }
    #endif

    #if WITH_ALL
    private static let withAll = true
    private static var upperLayers: [Row] {
        CacheRows.all + DownloadRows.all + StoreRows.all + PageRows.all + MarkdownRows.all
    }
    #else
    private static let withAll = false
    private static var upperLayers: [Row] { [] }
    #endif

    #if WITH_POSTGRES
    private static let withPostgres = true
    private static var postgres: [Row] { PostgresRows.all }
    #else
    private static let withPostgres = false
    private static var postgres: [Row] { [] }
    #endif

    #if WITH_CAIRO
    private static let withCairo = true
    private static var drawing: [Row] { DrawingRows.all }
    #else
    private static let withCairo = false
    private static var drawing: [Row] { [] }
    #endif

    #if WITH_PIXBUF
    private static let withPixbuf = true
    private static var images: [Row] { ImageRows.all }
    #else
    private static let withPixbuf = false
    private static var images: [Row] { [] }
    #endif
}
