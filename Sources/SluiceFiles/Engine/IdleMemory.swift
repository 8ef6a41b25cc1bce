internal import CSluiceFiles
internal import SluiceLock

/// Memory of large reads that was freed lately, for the next ones. The kernel finds and clears the pages of new memory, which takes longer
/// than copying a file into them.
///
/// The kernel takes idle pages back when it needs memory (MADV_FREE, madvise(2)), although they count as the process's until then.
package final class IdleMemory: Sendable {
    package static let shared = IdleMemory()

    /// Larger blocks are returned to the kernel.
    package static var largest: Int { 32 << 20 }
    /// The number of blocks that are kept.
    package static var most: Int { 2 }

    package struct Block: @unchecked Sendable, Equatable {
        // No lock: a block has one owner at a time, a reader or the list below.
        package var start: UnsafeMutableRawPointer
        package var size: Int

        package init(start: UnsafeMutableRawPointer, size: Int) { (self.start, self.size) = (start, size) }
    }

    private let blocks = Lock<[Block]>([])

    package init() {}

    deinit {
        for block in blocks.withLock({ $0 }) { csluice_memory_release(block.start, block.size) }
    }

    /// Returns a block of at least `size` bytes that isn't much larger, or `nil`. It contains old bytes or zeros.
    package func take(_ size: Int) -> Block? {
        blocks.withLock { blocks in
            let index = blocks.firstIndex { $0.size >= size && $0.size - size <= size / 4 }
            return index.map { blocks.remove(at: $0) }
        }
    }

    /// Keeps a block, or returns it to the kernel.
    package func give(_ block: Block) {
        guard block.size <= Self.largest, csluice_memory_idle(block.start, block.size) == 0 else {
            return csluice_memory_release(block.start, block.size)
        }
        let oldest = blocks.withLock { blocks -> Block? in
            blocks.append(block)
            return blocks.count > Self.most ? blocks.removeFirst() : nil
        }
        if let oldest { csluice_memory_release(oldest.start, oldest.size) }
    }
}
