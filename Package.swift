// swift-tools-version: 6.2
import PackageDescription

// MARK: Switches of a build, all off by default

/// `SLUICE_ONLY=SluiceConcurrency swift test` builds one module with its dependencies and tests, and fetches nothing else. That takes seconds
/// instead of minutes for a lower layer. The sanitizer checks use it too.
let only = Context.environment["SLUICE_ONLY"]

/// `SLUICE_WARNINGS_AS_ERRORS=1` turns warnings in our targets into errors, but not those in the dependencies.
let warningsAreErrors = Context.environment["SLUICE_WARNINGS_AS_ERRORS"] == "1"

// MARK: Settings of every Swift target

/// They are applied at the end of this file.
let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])

/// `swift build --traits PostgreSQL` compiles the queue's store on PostgreSQL and links libpq. Without it, SluicePostgres is empty.
let postgres = "PostgreSQL"

/// `SLUICE_TRAITS=PostgreSQL` turns the trait on by default. The checks use it for packages that depend on this one, such as the examples:
/// `--traits` doesn't apply to dependencies, and our modules would be compiled again for them.
let defaultTraits: Set<String> = Context.environment["SLUICE_TRAITS"] == postgres ? [postgres] : []

// MARK: Targets, lowest layer first (a target imports only targets above it in this list)

let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")

let targets: [Target] = [
    // Not a product: the lock of all modules. One switch replaces it with a lock that ThreadSanitizer knows.
    .target(name: "SluiceLock"),
    .target(name: "SluiceConcurrency", dependencies: ["SluiceLock", collections, heap]),
    .target(name: "CSluiceFiles"),
    // Lifetimes is experimental. Only this feature expresses that the span of a mapped file must not outlive the file.
    .target(
        name: "SluiceFiles", dependencies: ["SluiceLock", "SluiceConcurrency", "CSluiceFiles", collections],
        swiftSettings: [.enableExperimentalFeature("Lifetimes")]),
    .target(name: "NativeMark"),
    .target(
        name: "CSluiceHTTP",
        linkerSettings: [
            .linkedLibrary("curl", .when(platforms: [.linux, .android, .openbsd, .macOS])),
            .linkedLibrary("crypto", .when(platforms: [.linux, .android, .openbsd])),
        ]),
    .target(name: "SluiceHTTP", dependencies: ["SluiceLock", "SluiceFiles", "CSluiceHTTP", httpTypes]),
    // Not a product: the layers above open SQLite with it.
    .target(
        name: "SluiceDatabase", dependencies: ["SluiceLock", "SluiceFiles", grdb]),
    .target(
        name: "SluiceCache",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase", httpTypes, grdb, sqlite,
        ]),
    .target(
        name: "SluiceDownloads",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase", collections, heap,
            httpTypes,
            grdb,
        ]),
    // The only target that depends on the packages for servers.
    .target(
        name: "SluiceService",
        dependencies: ["SluiceLock", "SluiceHTTP", "SluiceDownloads", httpTypes, lifecycle, logging, metrics]),
    // A trait doesn't remove targets, so these two are empty without it.
    .target(
        name: "CSluicePostgres",
        cSettings: [.define("SLUICE_POSTGRESQL", .when(traits: [postgres]))],
        linkerSettings: [.linkedLibrary("pq", .when(traits: [postgres]))]),
    .target(
        name: "SluicePostgres",
        dependencies: [
            "SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceDownloads",
            .target(name: "CSluicePostgres", condition: .when(traits: [postgres])),
        ]),
    // Not a layer: the HTTP server on loopback that `sluice demo` and the tests download from.
    .target(
        name: "LoopbackOrigin",
        dependencies: ["SluiceLock", "SluiceConcurrency", "SluiceFiles", "CSluiceFiles", httpTypes]),
    .target(
        name: "SluiceCommands",
        dependencies: [
            "SluiceDownloads", "SluiceCache", "SluiceFiles", "SluiceHTTP", "SluiceConcurrency", "SluiceLock",
            "NativeMark", "LoopbackOrigin",
            .target(name: "SluicePostgres", condition: .when(traits: [postgres])),
            httpTypes,
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ]),
    .executableTarget(name: "sluice", dependencies: ["SluiceCommands"]),

    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(
        name: "TestSupport", dependencies: ["CTestSupport"], path: "Tests/TestSupport"),
    .testTarget(
        name: "SluiceConcurrencyTests", dependencies: ["SluiceConcurrency", "SluiceLock", "TestSupport"]),
    // Runs races for minutes, unlike `swift test`; see Scripts/stress.sh.
    .executableTarget(
        name: "ConcurrencyStress", dependencies: ["SluiceConcurrency", "TestSupport"], path: "Tests/Stress"),
    .testTarget(
        name: "SluiceFilesTests",
        dependencies: ["SluiceFiles", "SluiceConcurrency", "TestSupport", "FileWorker", "CallDenial"]),
    // Two child processes for tests: one dies during a write or has few descriptors, one denies system calls to another program.
    .executableTarget(
        name: "FileWorker", dependencies: ["SluiceFiles", "CSluiceFiles"], path: "Tests/FileWorker"),
    .executableTarget(name: "CallDenial", path: "Tests/CallDenial"),
    // Renders many documents in one process; see Scripts/checks/commonmark.py and Scripts/checks/markdown-fuzz.py.
    .executableTarget(
        name: "MarkdownWorker", dependencies: ["NativeMark"], path: "Tests/MarkdownWorker"),
    .testTarget(
        name: "NativeMarkTests", dependencies: ["NativeMark", "TestSupport", "MarkdownWorker"]),
    // The engine of iOS, tvOS, watchOS and visionOS, for the transport tests.
    .target(
        name: "URLSessionOnLinux", dependencies: ["SluiceHTTP", "SluiceLock", httpTypes],
        path: "Tests/URLSessionOnLinux",
        swiftSettings: [.define("SLUICE_URLSESSION")]),
    .testTarget(
        name: "SluiceHTTPTests",
        dependencies: [
            "SluiceHTTP", "LoopbackOrigin", "TestSupport", "CTestSupport", "URLSessionOnLinux", httpTypes,
        ]),
    .testTarget(
        name: "SluiceDatabaseTests", dependencies: ["SluiceDatabase", "SluiceFiles", "TestSupport", grdb]),
    // A process that uses a cache and checks every body; tests run several on one directory and kill them.
    .executableTarget(
        name: "CacheWorker",
        dependencies: ["SluiceCache", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", httpTypes],
        path: "Tests/CacheWorker"),
    .testTarget(
        name: "SluiceCacheTests",
        dependencies: [
            "SluiceCache", "SluiceConcurrency", "SluiceDatabase", "SluiceFiles", "SluiceHTTP",
            "LoopbackOrigin", "TestSupport", "CacheWorker", grdb,
        ]),
    .testTarget(
        name: "SluiceDownloadsTests",
        dependencies: [
            "SluiceDownloads", "SluiceConcurrency", "SluiceDatabase", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin",
            "TestSupport", httpTypes, grdb,
            // The suites of all stores also test the one on PostgreSQL.
            .target(name: "SluicePostgres", condition: .when(traits: [postgres])),
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
    // A process that dies or stops at a chosen step, and its tests.
    .target(name: "ClockShift", path: "Tests/ClockShift"),
    .executableTarget(
        name: "CrashWorker",
        dependencies: [
            "ClockShift", "SluiceDownloads", "SluiceFiles", "SluiceHTTP", httpTypes,
            .target(name: "SluicePostgres", condition: .when(traits: [postgres])),
        ],
        path: "Tests/CrashWorker"),
    .testTarget(
        name: "CrashTests",
        dependencies: [
            "SluiceDownloads", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "LoopbackOrigin", "TestSupport",
            "CrashWorker", "sluice", httpTypes, grdb,
            .target(name: "SluicePostgres", condition: .when(traits: [postgres])),
        ]),
    .testTarget(
        name: "SluiceCommandsTests",
        dependencies: [
            "SluiceCommands", "SluiceCache", "SluiceConcurrency", "SluiceDownloads", "SluiceFiles", "SluiceHTTP",
            "NativeMark",
            "LoopbackOrigin", "TestSupport", "sluice", httpTypes,
        ]),
]

let libraries = [
    "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceCache", "SluiceDownloads", "SluiceService",
    "SluicePostgres", "NativeMark",
]

let dependencies: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
]

// MARK: The package

/// The targets that `SLUICE_ONLY` selects, and the packages that they need.
let kept = only.map { closure(of: $0, in: targets) } ?? targets
let keptNames = Set(kept.map(\.name))
let keptPackages = Set(kept.flatMap(\.dependencies).compactMap(packageName))

let package = Package(
    name: "sluice",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: libraries.filter(keptNames.contains).map { .library(name: $0, targets: [$0]) }
        + (keptNames.contains("sluice") ? [.executable(name: "sluice", targets: ["sluice"])] : []),
    traits: [
        .trait(name: postgres, description: "The download queue on PostgreSQL, which needs libpq."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: only == nil ? dependencies : dependencies.filter { keptPackages.contains(identity(of: $0)) },
    targets: kept,
    swiftLanguageModes: [.v6]
)

for target in package.targets { target.swiftSettings = settings + (target.swiftSettings ?? []) }

func closure(of module: String, in targets: [Target]) -> [Target] {
    var wanted: Set = [module, module + "Tests"]
    if module == "SluiceConcurrency" { wanted.insert("ConcurrencyStress") }
    if module == "SluiceFiles" { wanted.formUnion(["FileWorker", "CallDenial"]) }
    var grown = true
    while grown {
        let needed = targets.filter { wanted.contains($0.name) }.flatMap(\.dependencies).compactMap(targetName)
        grown = !wanted.isSuperset(of: needed)
        wanted.formUnion(needed)
    }
    return targets.filter { wanted.contains($0.name) }
}

func targetName(_ dependency: Target.Dependency) -> String? {
    switch dependency {
    case .targetItem(let name, _), .byNameItem(let name, _): name
    default: nil
    }
}

func packageName(_ dependency: Target.Dependency) -> String? {
    guard case .productItem(_, let package, _, _) = dependency else { return nil }
    return package
}

func identity(of dependency: Package.Dependency) -> String {
    guard case .sourceControl(_, let location, _) = dependency.kind else { return "" }
    return location.split(separator: "/").last.map(String.init) ?? ""
}
