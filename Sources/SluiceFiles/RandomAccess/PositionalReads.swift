internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

// Every positional read goes through here: the one place that chooses its lane.
extension FileIO {
    func read(_ file: OpenFile, at offset: Int64, upToCount count: Int) async throws -> Data {
        try FileIO.checkCancellation()
        let start = readInline(file, upToCount: count, at: offset)
        if start.count == count { return start }
        let (place, rest) = (offset + Int64(start.count), count - start.count)
        let end = try await run { [kernel] cancellation in
            let bytes = try kernel.read(file.descriptor, at: place, upToCount: rest, file.path, cancellation)
            return bytes.data()
        }
        return start.isEmpty ? end : start + end
    }

    func read(_ file: OpenFile, at offset: Int64, into memory: BorrowedMemory) async throws -> Int {
        try FileIO.checkCancellation()
        let start = readInline(file, into: memory.bytes, at: offset)
        if start == memory.bytes.count { return start }
        return start
            + (try await run { [kernel] cancellation in
                let free = UnsafeMutableRawBufferPointer(rebasing: memory.bytes[start...])
                return try kernel.read(file.descriptor, at: offset + Int64(start), into: free, file.path, cancellation)
            })
    }
}

struct BorrowedMemory: @unchecked Sendable {
    // No lock: the value is immutable, and one job writes to the memory while the owner's exclusive borrow lasts.
    let bytes: UnsafeMutableRawBufferPointer
}

extension Kernel {
    /// For reads up to this size, memory is allocated without querying the file's size.
    private static var smallRead: Int { 256 << 10 }

    func read(
        _ descriptor: CInt, at offset: Int64, upToCount count: Int, _ path: String,
        _ cancellation: borrowing Cancellation
    ) throws -> ReadBuffer {
        // No byte is behind the largest offset, and a request that reaches beyond it fails with EINVAL.
        let count = min(count, Int(clamping: .max - offset))
        var expected = count
        if count > Self.smallRead {
            let rest = max(offset, try status(ofDescriptor: descriptor, path).size) - offset
            expected = max(Self.smallRead, Int(clamping: rest.addingOrMaximum(1)))
        }
        var buffer = ReadBuffer(expected: min(count, expected))
        while buffer.count < count {
            try cancellation.check()
            let (wanted, place) = (count - buffer.count, offset + Int64(buffer.count))
            let read = try buffer.append(atMost: wanted) { (free) throws(FileError) in
                try self.read(descriptor, at: place, into: free, path)
            }
            guard let read else { throw Self.outOfMemory(path) }
            if read == 0 { break }
        }
        return buffer
    }

    func read(
        _ descriptor: CInt, at offset: Int64, into memory: UnsafeMutableRawBufferPointer, _ path: String,
        _ cancellation: borrowing Cancellation
    ) throws -> Int {
        let count = min(memory.count, Int(clamping: .max - offset))
        var done = 0
        while done < count {
            try cancellation.check()
            let free = UnsafeMutableRawBufferPointer(rebasing: memory[done..<count])
            let read = try read(descriptor, at: offset + Int64(done), into: free, path)
            if read == 0 { break }
            done += read
        }
        return done
    }

    private func read(
        _ descriptor: CInt, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, _ path: String
    ) throws(FileError) -> Int {
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.largestTransfer))
        let result = retrying { calls.randomAccess.readAt(descriptor, piece, offset) }
        try check(result, "read", path)
        return result
    }
}
