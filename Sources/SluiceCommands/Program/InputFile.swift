import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a command is told to read.
enum InputFile {
    /// The bytes of a file, or of standard input for `-`.
    ///
    /// - Throws: `FileError`, also if there is more than `limit`; `CancellationError`.
    static func read(_ name: String, limit: Int, using files: FileIO = .shared) async throws -> Data {
        name == "-"
            ? try await files.readToEnd(descriptor: 0, name: "standard input", limit: limit)
            : try await Data(asyncContentsOf: URL(filePath: name), limit: limit, using: files)
    }
}
