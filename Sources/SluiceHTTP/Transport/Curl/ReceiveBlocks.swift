#if !canImport(Darwin) || os(macOS)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import SluiceLock

/// The memory of long bodies: blocks of one size that are used again.
///
/// A piece of a body is allocated on one thread and freed on another. glibc then gives its pages back to the system again and again, and
/// an eighth of the processor time of a long download went into page faults.
final class ReceiveBlocks: Sendable {
    /// The bytes of a block: as many as libcurl receives at a time.
    static let size = 64 << 10
    /// More blocks than that are not kept for later.
    private static let mostIdle = 32

    /// Memory that nothing refers to but the pool.
    private struct Block: @unchecked Sendable {
        // It is in the pool, or it was taken and is not: never both.
        var start: UnsafeMutableRawPointer
    }

    private let idle = Lock<[Block]>([])

    deinit {
        for block in idle.withLock({ $0 }) { block.start.deallocate() }
    }

    /// Memory for `size` bytes, which are not initialized.
    func take() -> UnsafeMutableRawPointer {
        idle.withLock { $0.popLast() }?.start ?? .allocate(byteCount: Self.size, alignment: 16)
    }

    /// The first bytes of a block, which comes back to the pool when the last copy of the data has gone.
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
