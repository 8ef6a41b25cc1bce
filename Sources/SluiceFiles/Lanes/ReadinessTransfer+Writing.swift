internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The bytes of a write. They aren't moved or freed while they are written.
enum BytesToWrite: Sendable {
    case data(Data)
    case borrowed(BorrowedBytes)

    var pieces: [BytesToWrite] {
        switch self {
        case .data: [self]
        case .borrowed(let bytes): bytes.pieces.map { .borrowed(BorrowedBytes(pieces: [$0])) }
        }
    }

    var count: Int {
        switch self {
        case .data(let data): data.count
        case .borrowed(let bytes): bytes.pieces.reduce(0) { $0 + $1.count }
        }
    }

    fileprivate func withBytes<R>(from start: Int, atMost most: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        func part(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start).prefix(most))
        }
        switch self {
        case .data(let data): return data.withUnsafeBytes { body(part($0)) }
        case .borrowed(let bytes): return body(part(bytes.pieces[0]))
        }
    }
}

extension ReadinessTransfer {
    /// Writes all bytes. An error counts the bytes that were written. A cancelled write throws `CancellationError` if it wrote none,
    /// otherwise a ``FileError`` with ``FileError/Code/cancelled``.
    func write(_ bytes: [BytesToWrite]) async throws {
        var written = 0
        do {
            for piece in bytes.lazy.flatMap(\.pieces) {
                let count = piece.count
                var done = 0
                while done < count {
                    let result = try await put(piece, from: done)
                    done += result
                    written += result
                }
            }
        } catch let error as CancellationError {
            if written == 0 { throw error }
            throw FileError(
                code: .cancelled, operation: "write", path: path,
                remedy: "Write the remaining bytes if they are still needed.", bytesWritten: written)
        } catch let error as FileError {
            throw FileError(
                code: error.code, operation: error.operation, path: error.subject, systemError: error.systemError,
                remedy: error.remedy, bytesWritten: written)
        }
    }

    /// Writes as much of a piece as there is room for, at least one byte. Waits for room if there is none.
    private func put(_ piece: BytesToWrite, from start: Int) async throws -> Int {
        let calls = io.kernel.calls.readiness
        try await takeTurns()
        while true {
            let attempted: Int? = piece.withBytes(from: start, atMost: Self.maximumPerCall) { bytes in
                attempt { calls.write($0, bytes, $1) }
            }
            let result: Int
            if let attempted { result = attempted } else { result = try await putOnceReady(piece, from: start) }
            if result > 0 {
                count(result)
                return result
            }
            if result != -Int(EAGAIN) {
                throw FileError(operation: "write", path: path, systemError: result == 0 ? EIO : CInt(-result))
            }
            try await wait()
        }
    }

    /// Waits until there is room, and writes on a thread of the pool. A pipe that is ready has room for at least PIPE_BUF bytes. See
    /// pipe(7).
    private func putOnceReady(_ piece: BytesToWrite, from start: Int) async throws -> Int {
        try await wait()
        return try await io.run { [kernel = io.kernel, descriptor] _ in
            piece.withBytes(from: start, atMost: Self.maximumPerPoolWrite) { bytes in
                kernel.retrying { kernel.calls.readiness.write(descriptor, bytes, .plain) }
            }
        }
    }

    /// PIPE_BUF of Linux; elsewhere, the minimum that POSIX guarantees.
    private static var maximumPerPoolWrite: Int {
        #if os(Linux)
        4096
        #else
        512
        #endif
    }
}

extension [Data] {
    /// The same bytes in fewer pieces. Small ones are joined, because each piece is a system call.
    var piecesToWrite: [BytesToWrite] {
        var pieces: [BytesToWrite] = []
        var small = Data()
        for chunk in self {
            if small.count + chunk.count > 64 << 10, !small.isEmpty {
                pieces.append(.data(small))
                small = Data()
            }
            if chunk.count > 16 << 10 {
                if !small.isEmpty { pieces.append(.data(small)) }
                small = Data()
                pieces.append(.data(chunk))
            } else {
                small += chunk
            }
        }
        if !small.isEmpty { pieces.append(.data(small)) }
        return pieces
    }
}
