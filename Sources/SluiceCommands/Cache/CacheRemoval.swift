import SluiceCache
import SluiceDownloads
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a command has removed from a cache.
struct CacheRemoval: Sendable {
    /// The number of removed responses.
    var removed = 0
    /// The number of arguments that matched no response.
    var missing = 0

    private struct Report: Encodable {
        var removed: Int
        var entries: Int
        var bytes: Int64
    }

    /// Removes responses with `body`, and prints how many and what is left.
    static func run(
        _ location: CacheLocation, isJSON: Bool, _ console: Console,
        _ body: (CacheDirectory) async throws -> CacheRemoval
    ) async throws -> ExitStatus {
        let (removal, left) = try await location.withDirectory { directory in
            (try await body(directory), try await directory.size())
        }
        if isJSON {
            let report = Report(removed: removal.removed, entries: left.entries, bytes: left.bytes)
            await console.writeWhole(try CommandJSON.line(report), to: .output)
        } else {
            let removed = Format.count(removal.removed, "response")
            let rest = left.entries == 0 ? "none is left" : "\(left.entries) with \(Format.bytes(left.bytes)) left"
            await console.writeWhole("Removed \(removed), \(rest).\n", to: .output)
        }
        return removal.missing == 0 ? .success : .other
    }
}
