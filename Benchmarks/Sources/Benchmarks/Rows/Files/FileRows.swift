import Foundation
import NIOCore
import RawLoops
import SluiceFiles
import _NIOFileSystem

enum FileRows {
    static var all: [Row] { serial + random + manyTasks + growth + writing + heartbeat }
}

/// The code that reads a whole, cached file.
enum Reader: String {
    case sluice = "Data(asyncContentsOf:)"
    case nio = "NIOFileSystem"
    /// Blocks the calling thread, which Sluice avoids. The fastest call of Foundation.
    case foundation = "Foundation (blocks its thread)"
    /// Only the system calls, on the calling thread.
    case raw = "a loop in C (blocks its thread)"

    /// Reads the file and returns its length and its last byte in one number.
    func read(_ url: URL) async throws -> Int {
        switch self {
        case .sluice:
            let data = try await Data(asyncContentsOf: url)
            return Self.summary(data.count, data.last)
        case .nio:
            let buffer = try await ByteBuffer(contentsOf: FilePath(url.path), maximumSizeAllowed: .gibibytes(1))
            let last = buffer.getInteger(at: buffer.writerIndex - 1, as: UInt8.self)
            return Self.summary(buffer.readableBytes, last)
        case .foundation:
            let data = try Data(contentsOf: url)
            return Self.summary(data.count, data.last)
        case .raw:
            return Int(raw_read_whole(url.path))
        }
    }

    /// The result of ``read(_:)`` for a file.
    static func summary(_ count: Int, _ last: UInt8?) -> Int { count &* 256 &+ Int(last ?? 0) }
}

/// Files of one size with different last bytes.
struct ReadableFiles: Sendable {
    let urls: [URL]
    let size: Int

    init(_ count: Int, of size: Int, in directory: URL) async throws {
        self.size = size
        urls = (0..<count).map { directory.appending(path: "\($0)") }
        var data = Data(count: size)
        for (index, url) in urls.enumerated() {
            data[size - 1] = UInt8(truncatingIfNeeded: index)
            try await data.asyncWrite(to: url, options: .init(durability: .none))
        }
    }

    /// The sum of the results of reading each file once.
    var summary: Int {
        urls.indices.reduce(0) { $0 &+ Reader.summary(size, UInt8(truncatingIfNeeded: $1)) }
    }
}
