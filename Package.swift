// swift-tools-version: 6.2
import PackageDescription

// Contents: switches of a build; packages and products; targets, lowest layer first; programs and libraries of the tests; tests;
// SLUICE_ONLY; settings of every target.

// MARK: Switches of a build, all off by default

/// `SLUICE_ONLY=SluiceConcurrency swift test` builds one module with its dependencies and tests, and fetches nothing else. That takes
/// seconds instead of minutes for a lower layer. The sanitizer checks use it too.
let only = Context.environment["SLUICE_ONLY"]

/// `SLUICE_WARNINGS_AS_ERRORS=1` turns warnings in our targets into errors, but not those in the dependencies.
let warningsAreErrors = Context.environment["SLUICE_WARNINGS_AS_ERRORS"] == "1"

/// `swift build --traits PostgreSQL` compiles the queue's store on PostgreSQL and links libpq. Without it, SluicePostgres is empty.
let postgres = "PostgreSQL"

/// `swift build --traits Cairo` compiles NativeMark's drawing with Cairo and links libpango. Without it, NativeMarkCairo is empty.
let cairo = "Cairo"

/// `swift build --traits GdkPixbuf` compiles the cache's image decoding on Linux and links libgdk_pixbuf. Without it, `PlatformImage` exists
/// only on Apple platforms.
let gdkPixbuf = "GdkPixbuf"

/// `SLUICE_TRAITS=PostgreSQL,Cairo,GdkPixbuf` turns traits on by default. The checks use it for packages that depend on this one, such as the
/// examples: `--traits` doesn't apply to dependencies, and our modules would be compiled again for them.
let defaultTraits = Set((Context.environment["SLUICE_TRAITS"] ?? "").split(separator: ",").map(String.init))

// MARK: Packages and products

let libraries = [
    "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceCache", "SluiceDownloads", "SluiceService",
    "SluicePostgres", "NativeMark", "NativeMarkCairo",
]

let package = Package(
    name: "sluice",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: libraries.map { .library(name: $0, targets: [$0]) }
        + [.executable(name: "sluice", targets: ["sluice"])],
    traits: [
        .trait(name: postgres, description: "The download queue on PostgreSQL, which needs libpq."),
        .trait(name: cairo, description: "Markdown as PDF, PNG and SVG, which needs libpango."),
        .trait(name: gdkPixbuf, description: "Decoded and scaled images on Linux, which need libgdk-pixbuf."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    swiftLanguageModes: [.v6]
)

let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let cairoDrawing = Target.Dependency.target(name: "NativeMarkCairo", condition: .when(traits: [cairo]))
let postgresQueue = Target.Dependency.target(name: "SluicePostgres", condition: .when(traits: [postgres]))

// MARK: Targets, lowest layer first (here and below, a target comes after its dependencies)

package.targets = [
    // Not a product: the lock of all modules. One switch replaces it with a lock that ThreadSanitizer knows.
    .target(name: "SluiceLock"),
    .target(name: "SluiceConcurrency", dependencies: ["SluiceLock", collections, heap]),
    .target(name: "CSluiceFiles"),
    // Lifetimes is experimental. Only this feature expresses that the span of a mapped file must not outlive the file.
    .target(
        name: "SluiceFiles", dependencies: ["SluiceLock", "SluiceConcurrency", "CSluiceFiles", collections],
        swiftSettings: [.enableExperimentalFeature("Lifetimes")]),
    .target(name: "NativeMark", exclude: ["README.md"]),
    // Empty without its trait, because a trait doesn't remove targets.
    .systemLibrary(
        name: "CPangoCairo", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"]), .brew(["pango"])]),
    .target(
        name: "NativeMarkCairo",
        dependencies: [
            "NativeMark", "SluiceLock", .target(name: "CPangoCairo", condition: .when(traits: [cairo])),
        ]),
    .target(
        name: "CSluiceHTTP",
        linkerSettings: [
            .linkedLibrary("curl", .when(platforms: [.linux, .android, .openbsd, .macOS])),
            .linkedLibrary("crypto", .when(platforms: [.linux, .android, .openbsd])),
        ]),
    .target(name: "SluiceHTTP", dependencies: ["SluiceLock", "SluiceFiles", "CSluiceHTTP", httpTypes]),
    // Not a product: the layers above open SQLite with it.
    .target(name: "SluiceDatabase", dependencies: ["SluiceLock", "SluiceFiles", grdb, sqlite]),
    // Unused without its trait, because a trait doesn't remove targets.
    .systemLibrary(
        name: "CGdkPixbuf", pkgConfig: "gdk-pixbuf-2.0",
        providers: [.apt(["libgdk-pixbuf-2.0-dev"]), .brew(["gdk-pixbuf"])]),
    .target(
        name: "SluiceCache",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase", httpTypes, grdb, sqlite,
            .target(name: "CGdkPixbuf", condition: .when(platforms: [.linux], traits: [gdkPixbuf])),
        ]),
    .target(
        name: "SluiceDownloads",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase", collections, heap,
            httpTypes, grdb,
        ]),
    // Not a product: the HTTP server of `sluice queue serve`, whose parser and connections the origin uses too.
    .target(
        name: "SluiceServer",
        dependencies: ["SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "CSluiceFiles", httpTypes]),
    // The only target that depends on the packages for servers.
    .target(
        name: "SluiceService",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceHTTP", "SluiceDownloads", httpTypes, lifecycle, logging, metrics,
        ],
        // In the program, so that a page needs no files beside it.
        resources: ["queue.js", "queue.css", "icon.svg", "openapi.json"].map { .embedInCode("Page/Resources/\($0)") }),
    // A trait doesn't remove targets, so these two are empty without it.
    .target(
        name: "CSluicePostgres", cSettings: [.define("SLUICE_POSTGRESQL", .when(traits: [postgres]))],
        linkerSettings: [.linkedLibrary("pq", .when(traits: [postgres]))]),
    .target(
        name: "SluicePostgres",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDownloads",
            .target(name: "CSluicePostgres", condition: .when(traits: [postgres])),
        ]),
    // Not a layer: the HTTP server on loopback that `sluice demo` and the tests download from.
    .target(
        name: "LoopbackOrigin",
        dependencies: ["SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceServer", httpTypes]),
    .target(
        name: "SluiceCommands",
        dependencies: [
            "SluiceDownloads", "SluiceService", "SluiceServer", "SluiceCache", "SluiceFiles", "SluiceHTTP",
            "SluiceConcurrency", "SluiceLock", "NativeMark", "LoopbackOrigin", cairoDrawing, postgresQueue, httpTypes,
            arguments,
        ]),
    .executableTarget(name: "sluice", dependencies: ["SluiceCommands"]),
]

// MARK: Programs and libraries of the tests

package.targets += [
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(name: "TestSupport", dependencies: ["CTestSupport"], path: "Tests/TestSupport"),
    // Runs races for minutes, unlike `swift test`; see Scripts/stress.sh.
    .executableTarget(
        name: "ConcurrencyStress", dependencies: ["SluiceConcurrency", "TestSupport"], path: "Tests/Stress"),
    // Two child processes for tests: one dies during a write or has few descriptors, one denies system calls to another program.
    .executableTarget(name: "FileWorker", dependencies: ["SluiceFiles", "CSluiceFiles"], path: "Tests/FileWorker"),
    .executableTarget(name: "CallDenial", path: "Tests/CallDenial"),
    // Renders many documents in one process; see Scripts/checks/commonmark.py and Scripts/checks/markdown-fuzz.py.
    .executableTarget(name: "MarkdownWorker", dependencies: ["NativeMark"], path: "Tests/MarkdownWorker"),
    // The parsers of untrusted bytes, with their rules; and a program that libFuzzer drives; see Scripts/checks/fuzz.py.
    .target(
        name: "FuzzTargets",
        dependencies: ["SluiceCommands", "SluiceDownloads", "SluiceHTTP", "SluiceServer", httpTypes],
        path: "Tests/FuzzTargets"),
    .executableTarget(name: "FuzzWorker", dependencies: ["FuzzTargets"], path: "Tests/FuzzWorker"),
    // The engine of iOS, tvOS, watchOS and visionOS, for the transport tests.
    .target(
        name: "URLSessionOnLinux", dependencies: ["SluiceHTTP", "SluiceLock", httpTypes],
        path: "Tests/URLSessionOnLinux", swiftSettings: [.define("SLUICE_URLSESSION")]),
    // A process that uses a cache and checks every body; tests run several on one directory and kill them.
    .executableTarget(
        name: "CacheWorker",
        dependencies: ["SluiceCache", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", httpTypes],
        path: "Tests/CacheWorker"),
    // A process that dies or stops at a chosen step. ClockShift sets its wall clock.
    .target(name: "ClockShift", path: "Tests/ClockShift"),
    .executableTarget(
        name: "CrashWorker",
        dependencies: ["ClockShift", "SluiceDownloads", "SluiceFiles", "SluiceHTTP", httpTypes, postgresQueue],
        path: "Tests/CrashWorker"),
]

// MARK: Tests

package.targets += [
    .testTarget(name: "SluiceConcurrencyTests", dependencies: ["SluiceConcurrency", "SluiceLock", "TestSupport"]),
    .testTarget(
        name: "SluiceFilesTests",
        dependencies: ["SluiceFiles", "SluiceConcurrency", "TestSupport", "FileWorker", "CallDenial"]),
    .testTarget(name: "NativeMarkTests", dependencies: ["NativeMark", "TestSupport", "MarkdownWorker"]),
    .testTarget(name: "NativeMarkCairoTests", dependencies: ["NativeMark", "NativeMarkCairo", "TestSupport"]),
    .testTarget(
        name: "SluiceHTTPTests",
        dependencies: [
            "SluiceHTTP", "SluiceFiles", "SluiceServer", "LoopbackOrigin", "TestSupport", "CTestSupport",
            "URLSessionOnLinux", httpTypes,
        ]),
    .testTarget(
        name: "SluiceServerTests",
        dependencies: ["SluiceServer", "SluiceConcurrency", "SluiceFiles", "TestSupport", httpTypes]),
    .testTarget(name: "SluiceDatabaseTests", dependencies: ["SluiceDatabase", "SluiceFiles", "TestSupport", grdb]),
    .testTarget(
        name: "SluiceCacheTests",
        dependencies: [
            "SluiceCache", "SluiceConcurrency", "SluiceDatabase", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin",
            "TestSupport", "CacheWorker", grdb,
        ]),
    // The suites of all stores also test the one on PostgreSQL.
    .testTarget(
        name: "SluiceDownloadsTests",
        dependencies: [
            "SluiceDownloads", "SluiceConcurrency", "SluiceDatabase", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin",
            "TestSupport", httpTypes, grdb, postgresQueue,
        ]),
    .testTarget(
        name: "SluiceServiceTests",
        dependencies: [
            "SluiceService", "SluiceDownloads", "SluiceFiles", "SluiceHTTP", "TestSupport", httpTypes, lifecycle,
            logging, metrics,
            .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            .product(name: "InMemoryLogging", package: "swift-log"),
            .product(name: "MetricsTestKit", package: "swift-metrics"),
        ]),
    // Empty without the trait. Scripts/checks/postgres.sh starts the servers that they need.
    .testTarget(
        name: "SluicePostgresTests",
        dependencies: [
            "SluicePostgres", "SluiceConcurrency", "SluiceDownloads", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin",
            "TestSupport",
        ]),
    .testTarget(
        name: "CrashTests",
        dependencies: [
            "SluiceDownloads", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin", "TestSupport",
            "CrashWorker", "sluice", httpTypes, grdb, postgresQueue,
        ]),
    .testTarget(
        name: "SluiceCommandsTests",
        dependencies: [
            "SluiceCommands", "SluiceCache", "SluiceConcurrency", "SluiceDownloads", "SluiceFiles", "SluiceHTTP",
            "NativeMark", "LoopbackOrigin", "TestSupport", "FuzzTargets", "sluice", httpTypes,
        ]),
]

// MARK: SLUICE_ONLY

// A target comes after its dependencies, so one pass from the end finds the targets and the packages that the module and its tests need.
if let only {
    var needed: Set = [only, "\(only)Tests"]
    if only == "SluiceConcurrency" { needed.insert("ConcurrencyStress") }
    for target in package.targets.reversed() where needed.contains(target.name) {
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): needed.insert(name)
            case .productItem(_, let package, _, _): needed.insert(package ?? "")
            default: break
            }
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { !needed.contains($0.name) }
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
        return !needed.contains { location.hasSuffix("/\($0)") }
    }
}

// MARK: Settings of every target

for target in package.targets where target.type != .system {
    target.swiftSettings =
        [
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .enableUpcomingFeature("InferIsolatedConformances"),
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
        ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : []) + (target.swiftSettings ?? [])
}
