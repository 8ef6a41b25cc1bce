/// The mode of a stream that reads.
public enum ReadMode: Sendable {}

/// The mode of a stream that writes.
public enum WriteMode: Sendable {}

/// An open file, read or written from its start to its end.
///
///     let count = try await url.withFileForReading { stream in               // closes on every path
///         try await stream.read(upToCount: 512).count
///     }
///
///     let stream = try await url.openForReading()
///     let header = try await stream.read(upToCount: 512)
///     let rest = try await stream.readToEnd()
///     try await stream.close()                                               // use after close does not compile
///
/// Prefer the scoped forms, `URL.withFileForReading` and `URL.withFileForWriting`: a stream cannot be copied, and so cannot
/// be closed in a `defer`, consumed in a `Task { }` or used in a task group.
///
/// Reading exists only where the mode is ``ReadMode``, writing only where it is ``WriteMode``. One operation is one job of
/// the `FileIO` that opened the stream, and no thread of the cooperative pool blocks. Operations of one stream come one
/// after the other; where a class shares it among tasks, the order of operations that overlap is not defined.
///
/// A stream that is dropped without ``close()`` is closed on a worker, and what close reports is lost.
public struct AsyncFileStream<Mode>: ~Copyable, Sendable {
    let file: OpenFile

    init(_ file: OpenFile) { self.file = file }

    /// The path that the stream was opened with.
    public var path: String { file.path }

    /// Closes the file and reports what that reports, delayed write errors among them. See close(2).
    ///
    /// - Cancellation: closes also when the task is cancelled, and does not throw `CancellationError`.
    /// - Failure: a ``FileError``; the file is closed all the same.
    public consuming func close() async throws {
        try await file.close()
    }
}
