/// The memory of several regions that were parsed together: one allocation instead of one for each region.
///
/// A text of a megabyte has thousands of regions. The C library returns many small pieces of memory to the system when they are released,
/// and the next parse would pay for new pages. The memory is released with the last region in it. Only the parse that creates it takes
/// parts of it; after that it is immutable, so regions can be shared by threads.
final class RegionMemory: @unchecked Sendable {
    static let maximumSize = 4 << 20

    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0

    init(size: Int) {
        memory = .allocate(byteCount: size, alignment: MemoryLayout<NodeRecord>.alignment)
    }

    deinit { memory.deallocate() }

    func hasRoom(for size: Int) -> Bool { used + size <= memory.count }

    /// Returns the next part. The memory must have room for it.
    func take(_ size: Int) -> UnsafeMutableRawBufferPointer {
        precondition(hasRoom(for: size))
        let part = UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + size])
        let alignment = MemoryLayout<NodeRecord>.alignment
        used = min(memory.count, (used + size + alignment - 1) / alignment * alignment)
        return part
    }
}
