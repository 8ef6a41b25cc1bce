// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "karaoke",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your own program: .package(url: "https://…/sluice", from: "0.2.0")
        .package(name: "sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "Karaoke",
            dependencies: [
                .product(name: "SluiceDownloads", package: "sluice"),
                .product(name: "SluiceFiles", package: "sluice"),
                .product(name: "SluiceHTTP", package: "sluice"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
