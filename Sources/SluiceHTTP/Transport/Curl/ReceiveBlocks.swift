#if !canImport(Darwin) || os(macOS)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceLock

/// A pool of memory blocks of one size for long bodies. A block is allocated on one thread and freed on another. Without the pool, glibc
/// repeatedly returns the pages to the system, and page faults took an eighth of the processor time of a long download.
final class ReceiveBlocks: Sendable {
    /// The size of a block in bytes, which is also the size of libcurl's receive buffer.
    static let size = 64 << 10
    private static let mostIdle = 32

    private struct Block: @unchecked Sendable {
        // The pool's lock protects it. Only the pool refers to a block that is in the pool.
        var start: UnsafeMutableRawPointer
    }

    private let idle = Lock<[Block]>([])

    deinit {
        for block in idle.withLock({ $0 }) { block.start.deallocate() }
    }

    func take() -> UnsafeMutableRawPointer {
        idle.withLock { $0.popLast() }?.start ?? .allocate(byteCount: Self.size, alignment: 16)
    }

    /// Returns the first `count` bytes of a block. The block returns to the pool when the last copy of the data is dropped.
    func data(_ start: UnsafeMutableRawPointer, count: Int) -> Data {
        Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in self.give(start) })
    }

    private func give(_ start: UnsafeMutableRawPointer) {
        let block = Block(start: start)
        let isKept = idle.withLock { idle in
            guard idle.count < Self.mostIdle else { return false }
            idle.append(block)
            return true
        }
        if !isKept { start.deallocate() }
    }
}
#endif
