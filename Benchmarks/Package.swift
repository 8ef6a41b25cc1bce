// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that packages that use Sluice don't depend on the peers. The root package is named explicitly, because its
// directory can have any name.

/// `SLUICE_ONLY=SluiceConcurrency` or `SLUICE_ONLY=SluiceFiles` builds only the rows of that module and their dependencies, in one or two
/// minutes instead of ten. The root package reads this variable, too.
let only = Context.environment["SLUICE_ONLY"]
let withConcurrency = only != "SluiceFiles"
let withFiles = only != "SluiceConcurrency"
let withAll = only == nil
/// `SLUICE_TRAITS=PostgreSQL` adds the rows for the queue in PostgreSQL, which need libpq, `SLUICE_TRAITS=Cairo` those for drawing, which need
/// libpango, and `SLUICE_TRAITS=GdkPixbuf` those for images, which need libgdk-pixbuf.
let traits = (Context.environment["SLUICE_TRAITS"] ?? "").split(separator: ",").map(String.init)
let withPostgres = withAll && traits.contains("PostgreSQL")
let withCairo = withAll && traits.contains("Cairo")
let withPixbuf = withAll && traits.contains("GdkPixbuf")

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
if withConcurrency { settings.append(.define("WITH_CONCURRENCY")) }
if withFiles { settings.append(.define("WITH_FILES")) }
if withAll { settings.append(.define("WITH_ALL")) }
if withPostgres { settings.append(.define("WITH_POSTGRES")) }
if withCairo { settings.append(.define("WITH_CAIRO")) }
if withPixbuf { settings.append(.define("WITH_PIXBUF")) }

let concurrency: [Target.Dependency] = [
    .product(name: "SluiceConcurrency", package: "sluice"),
    .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
    .product(name: "DequeModule", package: "swift-collections"),
]
let files: [Target.Dependency] = [
    .product(name: "SluiceFiles", package: "sluice"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "_NIOFileSystem", package: "swift-nio"),
]
let upperLayers: [Target.Dependency] = [
    .product(name: "SluiceCache", package: "sluice"), .product(name: "SluiceDownloads", package: "sluice"),
    .product(name: "SluiceHTTP", package: "sluice"), .product(name: "SluiceService", package: "sluice"),
    .product(name: "NativeMark", package: "sluice"),
    .product(name: "HTTPTypes", package: "swift-http-types"), "MD4CPeer",
    // For the rows whose index is filled by SQL.
    .product(name: "GRDB", package: "GRDB.swift"),
]
let postgres: [Target.Dependency] = [.product(name: "SluicePostgres", package: "sluice")]
let cairo: [Target.Dependency] = [.product(name: "NativeMarkCairo", package: "sluice")]

// One expression would take the compiler too long.
var excluded: [String] = []
if !withConcurrency { excluded += ["Rows/Broadcast", "Rows/Condition", "Rows/Limiter", "Rows/Queue"] }
if !withFiles { excluded += ["External", "Rows/Files"] }
if !withAll { excluded += ["Rows/Cache", "Rows/Downloads", "Rows/Markdown"] }
if !withPostgres { excluded += ["Rows/Postgres"] }
if !withCairo { excluded += ["Rows/Drawing"] }
if !withPixbuf { excluded += ["Rows/Images"] }
if !withAll, withFiles {
    excluded += ["Download", "Loopback", "Nginx", "Server"].map { "External/\($0).swift" }
}

var targets: [Target] = [
    // A loop of system calls in C: the peer of the rows that read whole files.
    .target(name: "RawLoops"),
    // A small program that starts child processes and measures their memory.
    .executableTarget(name: "ChildUsage"),
]
if withAll {
    // A call of md4c in C: a peer of the rows for Markdown.
    targets.append(.target(name: "MD4CPeer"))
    // The program whose memory is compared with cmark's.
    targets.append(
        .executableTarget(
            name: "MarkdownToHTML", dependencies: [.product(name: "NativeMark", package: "sluice")],
            swiftSettings: settings))
}
if withCairo {
    // The program that is compared with pandoc.
    targets.append(
        .executableTarget(
            name: "MarkdownToPDF", dependencies: [.product(name: "NativeMark", package: "sluice")] + cairo,
            swiftSettings: settings))
}
if withPixbuf {
    // Calls of gdk-pixbuf in C: the peer of the rows for images.
    targets += [
        .systemLibrary(name: "CPixbuf", pkgConfig: "gdk-pixbuf-2.0"),
        .target(name: "PixbufPeer", dependencies: ["CPixbuf"]),
    ]
}

let package = Package(
    name: "sluice-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "..", traits: [.defaults]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ]
        + (withConcurrency
            ? [
                .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
                // Peers.
                .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
            ] : []) + (withFiles ? [.package(url: "https://github.com/apple/swift-nio", from: "2.101.0")] : [])
        + (withAll
            ? [
                .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
                .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
            ] : []),
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")]
                + (withConcurrency ? concurrency : [])
                + (withFiles ? files + ["RawLoops"] : []) + (withAll ? upperLayers : [])
                + (withPostgres ? postgres : []) + (withCairo ? cairo : []) + (withPixbuf ? ["PixbufPeer"] : []),
            exclude: excluded,
            swiftSettings: settings)
    ] + targets,
    swiftLanguageModes: [.v6]
)
