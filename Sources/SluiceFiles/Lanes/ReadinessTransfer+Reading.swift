internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension ReadinessTransfer {
    /// Reads the available bytes, up to `count`, or waits until there are some. Returns an empty `Data` only at the end.
    func readSome(upToCount count: Int) async throws -> Data {
        if count == 0 { return Data() }
        var buffer = ReadBuffer(expected: min(count, Self.maximumPerCall))
        _ = try await append(atMost: count, to: &buffer)
        return buffer.data()
    }

    /// Reads up to `count` bytes, of which `start` holds the first. Stops earlier only at the end. After an error or a cancellation,
    /// `start` has all bytes that were read.
    func read(upToCount count: Int, after start: inout Data) async throws {
        if start.count >= count { return }
        var buffer = ReadBuffer(expected: min(count - start.count, Self.maximumPerCall))
        let wanted = count - start.count
        var failure: (any Error)?
        do {
            while buffer.count < wanted {
                if try await append(atMost: wanted - buffer.count, to: &buffer) == 0 { break }
            }
        } catch {
            failure = error
        }
        if start.isEmpty { start = buffer.data() } else { start += buffer.data() }
        if let failure { throw failure }
    }

    func readToEnd(limit: Int, after start: inout Data) async throws {
        // One byte more than the limit shows an excess.
        try await read(upToCount: limit == .max ? limit : limit + 1, after: &start)
        if start.count > limit { throw Kernel.excess(over: limit, path) }
    }

    /// Appends the available bytes, or waits until there are some. Returns their number, 0 only at the end.
    private func append(atMost most: Int, to buffer: inout ReadBuffer) async throws -> Int {
        let most = min(most, Self.maximumPerCall)
        let calls = io.kernel.calls.readiness
        try await takeTurns()
        while true {
            var result = -Int(EAGAIN)
            var isLeftToPool = false
            let filled = buffer.append(atMost: most) { free in
                guard let found = attempt({ calls.read($0, free, $1) }) else {
                    isLeftToPool = true
                    return 0
                }
                result = found
                return max(0, found)
            }
            guard filled != nil else { throw Kernel.outOfMemory(path) }
            if isLeftToPool { result = try await appendOnceReady(atMost: min(most, buffer.room), to: &buffer) }
            if result > 0 {
                count(result)
                return result
            }
            if try isEnd(result) { return 0 }
            try await wait()
        }
    }

    /// Waits until bytes are available, and reads them on a thread of the pool. The caller limits `most` to the room in the buffer, so that
    /// no byte is lost.
    private func appendOnceReady(atMost most: Int, to buffer: inout ReadBuffer) async throws -> Int {
        try await wait()
        let (data, result) = try await io.run { [kernel = io.kernel, descriptor] _ in
            var piece = ReadBuffer(expected: most)
            var result = -Int(ENOMEM)
            piece.append(atMost: most) { free in
                result = kernel.retrying { kernel.calls.readiness.read(descriptor, free, .plain) }
                return max(0, result)
            }
            return (piece.data(), result)
        }
        var rest = data[...]
        while !rest.isEmpty {
            let copied = buffer.append(atMost: rest.count) { free in rest.copyBytes(to: free, count: free.count) }
            guard let copied else { throw Kernel.outOfMemory(path) }
            rest = rest.dropFirst(copied)
        }
        return result
    }

    /// Returns whether a result of 0 or less is the end. If it isn't, the caller must wait for the descriptor.
    ///
    /// A read of a FIFO also returns 0 before the first writer has opened it, where a blocking open would wait. poll(2) reports no hang-up
    /// then. After a result of 0 it may report bytes of a writer that came and went in between. On Linux, a terminal fails with EIO when
    /// its other side has gone. See fifo(7), poll(2).
    private func isEnd(_ result: Int) throws(FileError) -> Bool {
        switch result {
        case 0:
            guard kind == CInt(S_IFIFO) else { return true }
            let now = try readinessNow(for: "read")
            return now.contains(.hungUp) && !now.contains(.reading)
        case -Int(EAGAIN):
            return false
        case -Int(EIO) where kind == CInt(S_IFCHR):
            if try readinessNow(for: "read").contains(.hungUp) { return true }
            throw FileError(operation: "read", path: path, systemError: EIO)
        default:
            throw FileError(operation: "read", path: path, systemError: CInt(-result))
        }
    }
}
