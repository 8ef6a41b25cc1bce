internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension ReadinessTransfer {
    /// What is there, up to `count` bytes; waits for the first of them. None only at the end.
    func readSome(upToCount count: Int) async throws -> Data {
        if count == 0 { return Data() }
        var buffer = ReadBuffer(expected: min(count, Self.maximumPerCall))
        _ = try await append(atMost: count, to: &buffer)
        return buffer.data()
    }

    /// Reads up to `count` bytes, fewer only at the end.
    ///
    /// - Parameter start: What was read before. If this fails or is cancelled, it is all that was read.
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

    /// Reads to the end, and throws when there is more than `limit`.
    func readToEnd(limit: Int, after start: inout Data) async throws {
        // One byte more than the limit tells the end from an excess.
        try await read(upToCount: limit == .max ? limit : limit + 1, after: &start)
        if start.count > limit { throw Kernel.excess(over: limit, path) }
    }

    /// Appends what is there, and waits for it first if need be. Returns the number of bytes, 0 only at the end.
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

    /// Waits until something is there, and has a thread of the pool take it: no more than the buffer has room for, since nothing
    /// that was taken may be lost.
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

    /// Whether a result that is no bytes is the end; if not, the descriptor is to be waited for.
    ///
    /// A FIFO gives 0 also before its first writer has come, where a blocking open would wait: then poll(2) does not say that anyone
    /// has hung up. After 0 it may say that there is something again, of a writer that came and went in between. A terminal whose
    /// other side has gone gives EIO on Linux. See fifo(7), poll(2).
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
