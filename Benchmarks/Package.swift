// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the peers stay out of the graph of those who use Sluice. The root is named, because its
// folder may be called anything.

/// `SLUICE_ONLY=SluiceConcurrency` leaves the rows of that module, and what they need: a minute to build instead of ten.
/// The root reads it too.
let onlyConcurrency = Context.environment["SLUICE_ONLY"] == "SluiceConcurrency"

var settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
if onlyConcurrency { settings.append(.define("ONLY_CONCURRENCY")) }

let upperLayers: [Target.Dependency] = [
    .product(name: "SluiceFiles", package: "sluice"),
    .product(name: "SluiceCache", package: "sluice"),
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "_NIOFileSystem", package: "swift-nio"),
]

let package = Package(
    name: "sluice-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // Peers.
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
    ] + (onlyConcurrency ? [] : [.package(url: "https://github.com/apple/swift-nio", from: "2.101.0")]),
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "SluiceConcurrency", package: "sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "DequeModule", package: "swift-collections"),
            ] + (onlyConcurrency ? [] : upperLayers),
            exclude: onlyConcurrency ? ["External", "Rows/Files", "Rows/Cache", "Rows/Downloads"] : [],
            swiftSettings: settings),
        // Beside the executable: the small program that starts children whose memory is measured.
        .executableTarget(name: "ChildUsage"),
    ],
    swiftLanguageModes: [.v6]
)
