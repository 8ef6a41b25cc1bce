internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Memory that grows with what arrives, and becomes a `Data` without a copy.
///
/// It is malloc's, since realloc moves large blocks by their page tables (mremap) and nothing is filled with zeros first.
struct ReadBuffer: ~Copyable {
    private(set) var count = 0
    private var capacity: Int
    private var memory: UnsafeMutableRawPointer

    /// Whoever believes a size believes it up to here: /proc/kcore says 128 TiB.
    private static var mostBelieved: Int { 64 << 20 }
    private static var least: Int { 4096 }

    init(expected: Int) {
        capacity = max(Self.least, min(expected, Self.mostBelieved))
        memory = Self.resize(nil, to: capacity)
    }

    deinit { free(memory) }

    /// Lets `fill` write at the end and say how many bytes it wrote.
    @discardableResult
    mutating func append<Failure: Error>(
        atMost most: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        if count == capacity {
            // By half, so that what was read is at most copied a constant number of times. Never past what is wanted.
            capacity += min(max(capacity / 2, 64 << 10), most)
            memory = Self.resize(memory, to: capacity)
        }
        let filled = try fill(UnsafeMutableRawBufferPointer(start: memory + count, count: min(most, capacity - count)))
        count += filled
        return filled
    }

    /// The bytes, without a copy unless they are few.
    consuming func data() -> Data {
        if count < 256 {
            let data = Data(bytes: memory, count: count)
            _ = consume self
            return data
        }
        if capacity - count > capacity / 8 { memory = Self.resize(memory, to: count) }
        let data = Data(bytesNoCopy: memory, count: count, deallocator: .free)
        discard self  // the Data frees the memory now
        return data
    }

    private static func resize(_ memory: UnsafeMutableRawPointer?, to capacity: Int) -> UnsafeMutableRawPointer {
        guard let resized = realloc(memory, capacity) else {
            preconditionFailure("No memory for \(capacity) bytes that were read.")
        }
        return resized
    }
}
