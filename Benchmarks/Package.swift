// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the peers stay out of the graph of a package that uses Sluice. The root is named, because its
// directory may be called anything.

/// `SLUICE_ONLY=SluiceConcurrency` or `SLUICE_ONLY=SluiceFiles` leaves the rows of that module, and what they need: one or
/// two minutes to build instead of ten. The root reads it too.
let only = Context.environment["SLUICE_ONLY"]
let withConcurrency = only != "SluiceFiles"
let withFiles = only != "SluiceConcurrency"
let withAll = only == nil

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
    .product(name: "NativeMark", package: "sluice"),
]

let excluded =
    (withConcurrency ? [] : ["Rows/Broadcast", "Rows/Condition", "Rows/Limiter", "Rows/Queue"])
    + (withFiles ? [] : ["External", "Rows/Files"])
    + (withAll ? [] : ["Rows/Cache", "Rows/Downloads", "Rows/Markdown"])
    + (withAll || !withFiles ? [] : ["External/Download.swift", "External/Loopback.swift", "External/Nginx.swift"])

let package = Package(
    name: "sluice-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ]
        + (withConcurrency
            ? [
                .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
                // Peers.
                .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
            ] : []) + (withFiles ? [.package(url: "https://github.com/apple/swift-nio", from: "2.101.0")] : []),
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")]
                + (withConcurrency ? concurrency : [])
                + (withFiles ? files + ["RawLoops"] : []) + (withAll ? upperLayers : []),
            exclude: excluded,
            swiftSettings: settings),
        // The best that C does with the system calls alone: what reading and writing is measured against.
        .target(name: "RawLoops"),
        // Beside the executable: the small program that starts children whose memory is measured.
        .executableTarget(name: "ChildUsage"),
    ]
        // And the one whose memory is measured beside cmark.
        + (withAll
            ? [
                .executableTarget(
                    name: "MarkdownToHTML", dependencies: [.product(name: "NativeMark", package: "sluice")],
                    swiftSettings: settings)
            ] : []),
    swiftLanguageModes: [.v6]
)
