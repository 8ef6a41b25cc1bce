internal import CSluiceFiles

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FileIO {
    /// Creates a directory and, unless `withIntermediates` is false, the missing directories above it. Does nothing if it exists.
    ///
    /// - Cancellation: A queued call throws `CancellationError` immediately.
    /// - Failure: A ``FileError``. If a file is in the way, the error names it. Directories that were created before the error
    ///   stay. See mkdir(2).
    public func createDirectory(
        at url: URL, withIntermediates: Bool = true, permissions: FilePermissions = .newDirectory
    ) async throws {
        let path = try Path.of(url, for: "create directory")
        try await run { [system] _ in
            if withIntermediates {
                try system.makeDirectories(path, permissions.rawValue)
            } else {
                try system.createDirectory(path, permissions.rawValue)
            }
        }
    }
}

extension SystemInterface {
    func createDirectory(_ path: String, _ permissions: UInt32) throws(FileError) {
        let made = path.withCString { path in retrying { calls.createDirectory(path, permissions) } }
        if made == -EEXIST, try status(of: path)?.isDirectory == true { return }
        try check(made, "create directory", path)
    }

    /// Creates a directory and the missing ones above it. Starts with the last name, because usually only that one is missing.
    func makeDirectories(_ path: String, _ permissions: UInt32) throws(FileError) {
        var missing = [path]
        do {
            while let current = missing.last {
                do {
                    try createDirectory(current, permissions)
                    missing.removeLast()
                    break
                } catch  where error.code == .notFound && Path.directory(of: current) != current {
                    missing.append(Path.directory(of: current))
                }
            }
            // From here on, ENOENT is an error: /proc returns it for any name, even though /proc exists.
            while let next = missing.popLast() { try createDirectory(next, permissions) }
        } catch  where error.code == .notDirectory {
            throw error.with(operation: error.operation, path: try file(inTheWayOf: path) ?? error.subject)
        }
    }

    private func file(inTheWayOf path: String) throws(FileError) -> String? {
        var current = path
        while Path.directory(of: current) != current {
            if let status = try status(of: current) { return status.isDirectory ? nil : current }
            current = Path.directory(of: current)
        }
        return nil
    }
}
