internal import CSluiceFiles

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Memory that grows with what arrives, and becomes a `Data` without a copy.
///
/// Nothing is filled with zeros first, and a size is believed only as far as that costs nothing:
///
/// ```text
/// up to 4 MiB     malloc's, which hands out again what was freed, with its pages
/// from there on   address space aligned for huge pages, of which the kernel backs what is written to: one page fault
///                 for 2 MiB instead of 512. A file that says 128 TiB, as /proc/kcore does, gets no more than it fills.
/// ```
///
/// To grow, small memory is copied, and large memory is moved by its page tables. See mmap(2), madvise(2), mremap(2).
package struct ReadBuffer: ~Copyable {
    package private(set) var count = 0
    private var memory: UnsafeMutableRawPointer?
    private var capacity: Int
    private var isMapped = false
    private let reserve: Reserve

    /// Gives so many bytes of aligned address space, or nil.
    package typealias Reserve = @Sendable (_ count: Int) -> UnsafeMutableRawPointer?

    /// From here on a page fault for every 4 KiB costs more than giving memory back to the kernel each time.
    package static var minimumMapped: Int { 4 << 20 }
    /// The most address space that is asked for at first: more comes with the bytes.
    package static var maximumReserved: Int { 64 << 30 }
    /// What an unknown amount gets when it turns out large, and what is tried where the system has rules against more.
    private static var reservedUnknown: Int { 64 << 20 }
    /// The most that one call fills, so that a job that was cancelled stops soon.
    package static var maximumAtOnce: Int { 32 << 20 }
    private static var least: Int { 4096 }

    /// Makes a buffer for about as many bytes; allocates nothing.
    package init(expected: Int, reserving reserve: @escaping Reserve = Self.addressSpace) {
        capacity = max(Self.least, min(expected, Self.maximumReserved))
        self.reserve = reserve
    }

    deinit {
        if let memory { Self.free(memory, capacity, isMapped) }
    }

    /// Lets `fill` write at the end and say how many bytes it wrote.
    ///
    /// - Returns: That number, or nil if the system has no memory for any more: then `fill` wasn't called, and the bytes that are
    ///   there stay.
    @discardableResult
    package mutating func append<Failure: Error>(
        atMost most: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int? {
        guard makeRoom(atMost: most), let memory else { return nil }
        let room = min(most, capacity - count, Self.maximumAtOnce)
        let filled = try fill(UnsafeMutableRawBufferPointer(start: memory + count, count: room))
        count += filled
        return filled
    }

    /// The bytes, without a copy unless they are few for what holds them.
    package consuming func data() -> Data {
        guard let memory else { return Data() }
        if count < (isMapped ? Self.minimumMapped / 4 : 256) { return Data(bytes: memory, count: count) }
        self.memory = nil  // the Data frees it now
        if isMapped {
            // The kernel takes a length for the pages that it touches.
            let kept = Self.wholePages(count)
            if kept < capacity { csluice_memory_release(memory + kept, capacity - kept) }
            return Data(
                bytesNoCopy: memory, count: count, deallocator: .custom { csluice_memory_release($0, $1) })
        }
        let isTooLarge = capacity - count > capacity / 8
        let fitting = isTooLarge ? realloc(memory, count) ?? memory : memory
        return Data(bytesNoCopy: fitting, count: count, deallocator: .free)
    }

    // MARK: Memory

    /// How many bytes the next ``append(atMost:_:)`` has room for without more memory.
    var room: Int { memory == nil ? 0 : capacity - count }

    /// Makes room for at least one byte more, if it is to have any. False if the system has no memory for it.
    private mutating func makeRoom(atMost most: Int) -> Bool {
        guard let memory else { return allocate(capacity) }
        guard count == capacity else { return true }
        if isMapped { return move(memory, to: capacity + min(capacity, most)) }
        // By half, so that what was read is at most copied a constant number of times. Never past what is wanted.
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

    /// The system's own.
    package static let addressSpace: Reserve = { csluice_memory_reserve($0) }
}
