// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "localized",
    platforms: [.macOS(.v15)],
    dependencies: [
        // In a program of your own: .package(url: "https://…/sluice", from: "0.1.0")
        .package(name: "sluice", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "Localized",
            dependencies: [.product(name: "NativeMark", package: "sluice")],
            // As it is: only Xcode compiles it.
            resources: [.copy("Localizable.xcstrings")])
    ],
    swiftLanguageModes: [.v6]
)
