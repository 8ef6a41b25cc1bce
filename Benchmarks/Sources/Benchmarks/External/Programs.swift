import Foundation

/// Programs outside the package.
enum Programs {
    /// Finds a program in `PATH` or in the directories where servers are installed.
    static func found(_ name: String) throws -> URL {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for directory in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"] {
            let url = URL(filePath: directory).appending(path: name)
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw RowFailure.missing("\(name) is missing; run Scripts/install-system-packages.sh")
    }

    /// The root of this project.
    static let project = (0..<5).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    static func existing(_ url: URL, remedy: String) throws -> URL {
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw RowFailure.missing("\(url.path) is missing; \(remedy)")
        }
        return url
    }
}
