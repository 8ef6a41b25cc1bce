// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "localized",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In your own program: .package(url: "https://…/sluice", from: "0.2.0")
        .package(name: "sluice", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Localized",
            dependencies: [.product(name: "NativeMark", package: "sluice")],
            // Copied, because only Xcode compiles a string catalog.
            resources: [.copy("Localizable.xcstrings")])
    ],
    swiftLanguageModes: [.v6]
)
