// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "report-server",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your own program: .package(url: "https://…/sluice", from: "0.2.0")
        .package(name: "sluice", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "ReportServer", dependencies: [.product(name: "SluiceConcurrency", package: "sluice")])
    ],
    swiftLanguageModes: [.v6]
)
