import Dispatch
import Foundation
import NIOCore
import SluiceFiles
import _NIOFileSystem

/// Blocks of 4 KiB at random offsets of one open, cached file.
extension FileRows {
    static var random: [Row] {
        [
            row(against: "NIOFileSystem", .atMost(1 / 6.0)) { url, offsets in
                try await FileSystem.shared.withFileHandle(forReadingAt: FilePath(url.path)) { handle in
                    var sum = 0
                    for offset in offsets {
                        let block = try await handle.readChunk(
                            fromAbsoluteOffset: Int64(offset), length: .bytes(Int64(block)))
                        sum &+= summary(block.readableBytes, block.getInteger(at: block.readerIndex, as: UInt8.self))
                    }
                    return sum
                }
            },
            row(against: "DispatchIO") { url, offsets in
                let channel = DispatchIO(
                    type: .random, path: url.path, oflag: O_RDONLY, mode: 0, queue: .global(), cleanupHandler: { _ in })!
                defer { channel.close() }
                var sum = 0
                for offset in offsets { sum &+= try await channel.summary(at: offset, count: block) }
                return sum
            },
        ]
    }

    private static let block = 4 << 10

    private static func row(
        against peer: String, _ figure: Figure? = nil,
        _ read: @escaping @Sendable (URL, [Int]) async throws -> Int
    ) -> Row {
        Row("files/block of 4 KiB of an open file, cached", .microseconds, against: peer, figure: figure) {
            stage, rounds in
            try await stage.withDirectoryOnDisk { directory in
                let blocks = 4096
                let bytes = Data(
                    (0..<blocks).flatMap { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: block) })
                let url = directory.appending(path: "file")
                try await bytes.asyncWrite(to: url, options: .init(durability: .none))
                var random = SystemRandomNumberGenerator()
                let offsets = (0..<stage.count(20_000, quick: 4_000)).map { _ in
                    Int.random(in: 0..<blocks, using: &random) * block
                }
                let expected = offsets.reduce(0) { $0 &+ summary(block, UInt8(truncatingIfNeeded: $1 / block)) }
                try await rounds(
                    {
                        try await timed(offsets.count, bytes: offsets.count * block, expecting: expected) {
                            try await url.withRandomAccessFile { file in
                                var sum = 0
                                for offset in offsets {
                                    let data = try await file.read(at: Int64(offset), upToCount: block)
                                    sum &+= summary(data.count, data.first)
                                }
                                return sum
                            }
                        }
                    },
                    {
                        try await timed(offsets.count, bytes: offsets.count * block, expecting: expected) {
                            try await read(url, offsets)
                        }
                    })
            }
        }
    }

    fileprivate static func summary(_ count: Int, _ first: UInt8?) -> Int { Reader.summary(count, first) }
}

extension DispatchIO {
    /// Reads a block and returns a summary of its length and first byte.
    fileprivate func summary(at offset: Int, count: Int) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            nonisolated(unsafe) var length = 0
            nonisolated(unsafe) var first: UInt8?
            // The handler is called serially, on one queue.
            read(offset: off_t(offset), length: count, queue: .global()) { isDone, data, error in
                if let data, !data.isEmpty {
                    if first == nil { first = data.first }
                    length += data.count
                }
                guard isDone else { return }
                if error != 0 {
                    continuation.resume(throwing: POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO))
                } else {
                    continuation.resume(returning: FileRows.summary(length, first))
                }
            }
        }
    }
}
