internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Memory that grows with the bytes that arrive and becomes a `Data` without a copy. It isn't zero-filled first.
///
/// A file's reported size is trusted only if that costs nothing:
///
/// ```text
/// up to 4 MiB    malloc(3), which reuses freed memory together with its pages
/// above          address space aligned for huge pages. The kernel backs the parts that are written to, with one page fault for
///                2 MiB instead of 512. A file that reports 128 TiB, such as /proc/kcore, gets no more memory than it fills. Up to
///                32 MiB, the memory of an earlier read is used again (IdleMemory).
/// ```
///
/// To grow, a small buffer is copied, and a large one is moved by remapping its pages. See mmap(2), madvise(2), mremap(2).
package struct ReadBuffer: ~Copyable {
    package private(set) var count = 0
    private var memory: UnsafeMutableRawPointer?
    private var capacity: Int
    private var isMapped = false
    private let reserve: Reserve
    private let mayReuse: Bool

    /// Returns `count` bytes of aligned address space, or `nil`.
    package typealias Reserve = @Sendable (_ count: Int) -> UnsafeMutableRawPointer?

    /// The size above which a page fault per 4 KiB costs more than returning memory to the kernel each time.
    package static var minimumMapped: Int { 4 << 20 }
    /// The largest address space to reserve at first. More is reserved as the bytes arrive.
    package static var maximumReserved: Int { 64 << 30 }
    /// The reservation for a large file of unknown size, and the fallback if the system refuses a larger one.
    private static var reservedUnknown: Int { 64 << 20 }
    /// The largest number of bytes that one call fills, so that a cancelled job stops soon.
    package static var maximumGrowth: Int { 32 << 20 }
    private static var least: Int { 4096 }

    /// Creates a buffer for about `expected` bytes. Allocates nothing.
    package init(expected: Int, reserving reserve: Reserve? = nil) {
        capacity = max(Self.least, min(expected, Self.maximumReserved))
        self.reserve = reserve ?? Self.addressSpace
        mayReuse = reserve == nil
    }

    deinit {
        if let memory { Self.free(memory, capacity, isMapped) }
    }

    /// Calls `fill` to write at the end of the buffer and return the number of bytes it wrote, and returns that number. If the system has
    /// no more memory, returns `nil` without calling `fill`, and keeps the bytes.
    @discardableResult
    package mutating func append<Failure: Error>(
        atMost most: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int? {
        guard makeRoom(atMost: most), let memory else { return nil }
        let room = min(most, capacity - count, Self.maximumGrowth)
        let filled = try fill(UnsafeMutableRawBufferPointer(start: memory + count, count: room))
        count += filled
        return filled
    }

    /// Returns the bytes. They are copied only if they fill a small part of their memory.
    package consuming func data() -> Data {
        guard let memory else { return Data() }
        if count < (isMapped ? Self.minimumMapped / 4 : 256) { return Data(bytes: memory, count: count) }
        self.memory = nil  // The Data frees it now.
        if isMapped {
            // The kernel rounds lengths up to whole pages.
            var size = capacity
            let kept = Self.wholePages(count)
            if size - kept > kept / 8 {
                csluice_memory_release(memory + kept, size - kept)
                size = kept
            }
            let block = IdleMemory.Block(start: memory, size: size)
            return Data(
                bytesNoCopy: memory, count: count, deallocator: .custom { _, _ in IdleMemory.shared.give(block) })
        }
        let isTooLarge = capacity - count > capacity / 8
        let fitting = isTooLarge ? realloc(memory, count) ?? memory : memory
        return Data(bytesNoCopy: fitting, count: count, deallocator: .free)
    }

    // MARK: Memory

    var room: Int { memory == nil ? 0 : capacity - count }

    /// Makes room for at least one more byte. Returns false if the system has no memory for it.
    private mutating func makeRoom(atMost most: Int) -> Bool {
        guard let memory else { return allocate(capacity) }
        guard count == capacity else { return true }
        if isMapped { return move(memory, to: capacity + min(capacity, most)) }
        // Grows by half, so that each byte is copied a bounded number of times on average, and never beyond `most`.
        let grown = capacity + min(max(capacity / 2, 64 << 10), most)
        if grown > Self.minimumMapped,
            copy(memory, toMapped: min(capacity + min(most, Self.reservedUnknown), Self.reservedUnknown))
        {
            return true
        }
        guard let resized = realloc(memory, grown) else { return false }
        self.memory = resized
        capacity = grown
        return true
    }

    private mutating func allocate(_ wanted: Int) -> Bool {
        if wanted > Self.minimumMapped {
            if mayReuse, let block = IdleMemory.shared.take(Self.wholePages(wanted)) {
                set(block.start, block.size)
                return true
            }
            for size in [wanted, min(wanted, Self.reservedUnknown)] {
                guard let reserved = reserve(Self.wholePages(size)) else { continue }
                set(reserved, Self.wholePages(size))
                return true
            }
        }
        capacity = min(wanted, Self.minimumMapped)
        memory = malloc(capacity)
        return memory != nil
    }

    private mutating func copy(_ small: UnsafeMutableRawPointer, toMapped size: Int) -> Bool {
        guard size > capacity, let reserved = reserve(Self.wholePages(size)) else { return false }
        reserved.copyMemory(from: small, byteCount: count)
        Self.free(small, capacity, false)
        set(reserved, Self.wholePages(size))
        return true
    }

    private mutating func move(_ old: UnsafeMutableRawPointer, to size: Int) -> Bool {
        let size = Self.wholePages(size)
        guard let reserved = reserve(size) else { return false }
        csluice_memory_move(old, capacity, reserved)
        set(reserved, size)
        return true
    }

    private mutating func set(_ mapped: UnsafeMutableRawPointer, _ size: Int) {
        memory = mapped
        capacity = size
        isMapped = true
    }

    private static func free(_ memory: UnsafeMutableRawPointer, _ capacity: Int, _ isMapped: Bool) {
        if isMapped { csluice_memory_release(memory, capacity) } else { CSluiceFiles.free(memory) }
    }

    private static let pageSize = sysconf(CInt(_SC_PAGESIZE))

    private static func wholePages(_ count: Int) -> Int { (count + pageSize - 1) / pageSize * pageSize }

    package static let addressSpace: Reserve = { csluice_memory_reserve($0) }
}
