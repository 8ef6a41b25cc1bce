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
/// Prefer the scoped forms, `URL.withFileForReading` and `URL.withFileForWriting`: a stream can't be copied, and so it can't be
/// closed in a `defer`.
///
/// Reading exists only where the mode is ``ReadMode``, writing only where it is ``WriteMode``. One operation is one job of
/// the `FileIO` that opened the stream, and no thread of the cooperative pool blocks.
///
/// ## Moving a stream to another task
///
/// A stream has one position and one owner. It isn't `Sendable`: two tasks can't share it, and the compiler refuses that.
/// It can be moved, in two ways. For many tasks in one file, open a ``RandomAccessFile``.
///
/// A `consuming sending` parameter moves it into a function, an actor or another isolation:
///
///     actor Journal {
///         private var stream: AsyncFileStream<WriteMode>?
///
///         init(_ stream: consuming sending AsyncFileStream<WriteMode>) { self.stream = consume stream }
///
///         func close() async throws { try await stream.take()?.close() }
///     }
///
///     let journal = Journal(try await url.openForWriting(existing: .append))
///     try await journal.close()
///
/// `Optional.take()` moves it out of a property, as above, or into a task's closure, which can't consume what it captures:
///
///     var source: AsyncFileStream<ReadMode>? = try await url.openForReading()
///     let reading = Task {
///         guard let stream = source.take() else { return Data() }
///         let data = try await stream.readToEnd()
///         try await stream.close()
///         return data
///     }
///     let data = try await reading.value
///
/// A stream that is dropped without ``close()`` is closed on a worker, and errors of that close are lost.
public struct AsyncFileStream<Mode>: ~Copyable {
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
