import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum InputFile {
    /// Reads a file, or standard input if the name is `-`. Throws `FileError`, also if the input is longer than `limit` bytes;
    /// `CancellationError`.
    static func read(_ name: String, limit: Int, using files: FileIO = .shared) async throws -> Data {
        name == "-"
            ? try await files.readToEnd(descriptor: 0, name: "standard input", maximumSize: limit)
            : try await Data(asyncContentsOf: URL(filePath: name), maximumSize: limit, using: files)
    }
}
