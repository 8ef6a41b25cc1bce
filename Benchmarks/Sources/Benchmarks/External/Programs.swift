import Foundation

/// Programs outside the package.
enum Programs {
    /// Looks in `PATH`, and where servers are.
    static func found(_ name: String) throws -> URL {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for folder in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin"] {
            let url = URL(filePath: folder).appending(path: name)
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw RowFailure.missing("\(name) is missing; run Scripts/install-system-packages.sh")
    }

    static func existing(_ url: URL, remedy: String) throws -> URL {
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw RowFailure.missing("\(url.path) is missing; \(remedy)")
        }
        return url
    }
}
