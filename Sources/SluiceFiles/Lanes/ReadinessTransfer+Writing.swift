internal import CSluiceFiles

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Bytes that stay where they are, or are kept, while they are written.
enum BytesToWrite: Sendable {
    case data(Data)
    case borrowed(BorrowedBytes)

    /// The pieces that they are in, one after the other.
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

    /// A part of one piece.
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
    /// Writes all bytes.
    ///
    /// What was put out before a failure is in the error. A cancelled write throws `CancellationError` if that is nothing, and else a
    /// ``FileError`` with ``FileError/Code/cancelled``.
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
                remedy: "The rest was not written, as the task was cancelled.", bytesWritten: written)
        } catch let error as FileError {
            throw FileError(
                code: error.code, operation: error.operation, path: error.subject, systemError: error.systemError,
                remedy: error.remedy, bytesWritten: written)
        }
    }

    /// Puts out as much of a piece as there is room for, at least one byte; waits for that first if need be.
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

    /// Waits until there is room, and has a thread of the pool fill it: of a pipe that is ready, at least so much. See pipe(7).
    private func putOnceReady(_ piece: BytesToWrite, from start: Int) async throws -> Int {
        try await wait()
        return try await io.run { [kernel = io.kernel, descriptor] _ in
            piece.withBytes(from: start, atMost: Self.maximumPerPoolWrite) { bytes in
                kernel.retrying { kernel.calls.readiness.write(descriptor, bytes, .plain) }
            }
        }
    }

    /// PIPE_BUF of Linux, and that of POSIX elsewhere.
    private static var maximumPerPoolWrite: Int {
        #if os(Linux)
        4096
        #else
        512
        #endif
    }
}

extension [Data] {
    /// The same bytes in fewer pieces: small ones are put together, since each is a system call.
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
