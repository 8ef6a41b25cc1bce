/// The mode of a stream for reading.
public enum ReadMode: Sendable {}

/// The mode of a stream for writing.
public enum WriteMode: Sendable {}

/// An open file that is read or written from start to end.
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
/// Prefer the scoped forms `URL.withFileForReading` and `URL.withFileForWriting`. A stream can't be copied, so you can't close it
/// in a `defer`. A stream that is dropped without ``close()`` is closed on a worker, and errors of the close are lost.
///
/// Only a stream in ``ReadMode`` has methods for reading, and only one in ``WriteMode`` has methods for writing.
///
/// ## Moving a stream to another task
///
/// A stream has one position and one owner. It isn't `Sendable`: the compiler refuses code in which two tasks share it. To use a
/// file from several tasks, open a ``RandomAccessFile``. You can move a stream to another task in two ways.
///
/// A `consuming sending` parameter moves the stream into a function, an actor or another isolation domain:
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
/// `Optional.take()` moves it out of a property, as above, or into the closure of a task, which can't consume a captured value:
///
///     var source: AsyncFileStream<ReadMode>? = try await url.openForReading()
///     let reading = Task {
///         guard let stream = source.take() else { return Data() }
///         let data = try await stream.readToEnd()
///         try await stream.close()
///         return data
///     }
///     let data = try await reading.value
public struct AsyncFileStream<Mode>: ~Copyable {
    let file: OpenFile

    init(_ file: OpenFile) { self.file = file }

    /// The path that the stream was opened with.
    public var path: String { file.path }

    /// Closes the file. Throws errors of the close, including those of delayed writes. See close(2).
    ///
    /// - Cancellation: Runs even if the task is cancelled, and doesn't throw `CancellationError`.
    /// - Failure: A ``FileError``. The file is closed in any case.
    public consuming func close() async throws {
        try await file.close()
    }
}
